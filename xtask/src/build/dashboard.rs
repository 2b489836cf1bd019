//! The dashboard: cargo, wasm-bindgen and wasm-opt, then files whose names carry their content's hash.
//!
//! `dashboard/index.html` is the page, with `{{js}}`, `{{wasm}}` and `{{css}}` where the addresses belong; the
//! files beside it (`boot.js`, `icon.svg`) are named by their address there. Every file but the page is served
//! under a name with a hash, so that a browser may keep it for good.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::optimise::optimise;
use super::{Made, settings};
use crate::failure::{Context, Failure, Result};
use crate::process::{run, say, without_toolchain};
use crate::repo::{Repo, files_under, make_folder, read, read_bytes, remove_folder, write};
use crate::setup::Toolchain;
use crate::stamp::{Stamp, content_hash};

const INPUTS: [&str; 5] = [
    "Cargo.toml",
    "Cargo.lock",
    "shared",
    "dashboard",
    "xtask/src/build",
];

/// Where the Worker serves the files: below the gateway's own path.
const BASE: &str = "/_oncegate/";
/// For size: a panic ends the program without a text; views of every shape share one code, as Leptos offers by its
/// `erase_components`; SHA-2 is not unrolled.
const RUSTFLAGS: &str = "-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none \
                         --cfg=erase_components --cfg=sha2_backend_soft=\"compact\"";
/// Where [`browser_cargo`] leaves its modules.
pub(super) const MODULES: &str = "target/dashboard/wasm32-unknown-unknown/wasm";
const OUTPUT: &str = "build/assets/_oncegate";

pub(super) fn build(repo: &Repo, toolchain: &Toolchain) -> Result<Made> {
    let output = repo.at(OUTPUT);
    let stamp = Stamp::of(repo, "dashboard", &INPUTS, &settings(toolchain))?;
    if stamp.holds(&output.join("index.html")) {
        return Ok(Made::Before);
    }
    say(format!(
        "dashboard: cargo build with {}",
        toolchain.compiler.version
    ));
    let bound = repo.at("target/dashboard/bound");
    remove_folder(&bound)?;
    compile(repo, toolchain, &bound)?;
    remove_folder(&output)?;
    make_folder(&output)?;
    lay_out(repo, &bound, &output)?;
    stamp.save()?;
    Ok(Made::Now)
}

/// Leaves `dashboard.js` and `dashboard_bg.wasm` in `bound`.
fn compile(repo: &Repo, toolchain: &Toolchain, bound: &Path) -> Result<()> {
    let mut cargo = browser_cargo(repo, toolchain)?;
    run(
        cargo.args(["--package", "dashboard"]),
        "the compiler's own lines are above",
    )?;

    let module = repo.at(MODULES).join("dashboard.wasm");
    let mut bindgen = without_toolchain(&toolchain.tools.wasm_bindgen);
    bindgen
        .arg(&module)
        .args(["--target", "web", "--no-typescript", "--out-dir"])
        .arg(bound);
    run(
        &mut bindgen,
        "dashboard must be a program (src/main.rs) or a cdylib",
    )?;

    optimise(&toolchain.tools, &bound.join("dashboard_bg.wasm"))
}

/// `cargo build` for wasm32 with a standard library that ends at a panic, optimised for size.
pub(super) fn browser_cargo(repo: &Repo, toolchain: &Toolchain) -> Result<Command> {
    let mut cargo = toolchain.compiler.command(toolchain.compiler.cargo())?;
    cargo
        .current_dir(repo.root())
        .args([
            "build",
            "--profile",
            "wasm",
            "--target",
            "wasm32-unknown-unknown",
        ])
        .args(["-Z", "build-std=std,panic_abort"])
        .args(["-Z", "build-std-features=optimize_for_size"])
        .env("CARGO_TARGET_DIR", repo.at("target/dashboard"))
        .env("RUSTFLAGS", RUSTFLAGS);
    Ok(cargo)
}

/// Copies everything under names that change with the content, and the page that names them.
fn lay_out(repo: &Repo, bound: &Path, output: &Path) -> Result<()> {
    let mut page = read(&repo.at("dashboard/index.html"))?;
    let sources = [
        ("{{js}}", bound.join("dashboard.js")),
        ("{{wasm}}", bound.join("dashboard_bg.wasm")),
        ("{{css}}", repo.at("dashboard/style.css")),
    ];
    for (place, file) in sources {
        page = page.replace(place, &hashed(output, &file)?);
    }
    for file in beside_the_page(repo)? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        page = page.replace(&format!("{BASE}{name}"), &hashed(output, &file)?);
    }
    copy_snippets(&bound.join("snippets"), &output.join("snippets"))?;
    check_page(&page)?;
    write(&output.join("index.html"), page)
}

/// Scripts and pictures that lie beside index.html and are named there by their address.
fn beside_the_page(repo: &Repo) -> Result<Vec<PathBuf>> {
    const KINDS: [&str; 6] = ["js", "svg", "png", "ico", "webmanifest", "woff2"];
    let folder = repo.at("dashboard");
    let mut files = files_under(&folder)?;
    files.retain(|file| {
        file.parent() == Some(&folder)
            && file
                .extension()
                .is_some_and(|kind| KINDS.contains(&&*kind.to_string_lossy()))
    });
    Ok(files)
}

/// Writes the file as `name-HASH.extension` and answers its address, which is absolute: the page is served on
/// paths of several depths.
fn hashed(output: &Path, file: &Path) -> Result<String> {
    let content = read_bytes(file)?;
    let part = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = (part(file.file_stem()), part(file.extension()));
    let name = format!(
        "{}-{}.{extension}",
        stem.trim_end_matches("_bg"),
        content_hash(&content)
    );
    write(&output.join(&name), content)?;
    Ok(format!("{BASE}{name}"))
}

/// Refuses a page with a place that nothing fills, or without its program or style.
fn check_page(page: &str) -> Result<()> {
    if let Some(at) = page.find("{{") {
        let found: String = page[at..]
            .chars()
            .take_while(|char| *char != '"')
            .take(40)
            .collect();
        return Err(Failure::new(format!(
            "dashboard/index.html has {found:?}, which nothing fills"
        ))
        .remedy("use {{js}}, {{wasm}} and {{css}} as whole addresses"));
    }
    for (place, start, extension) in [
        ("js", "dashboard-", ".js"),
        ("wasm", "dashboard-", ".wasm"),
        ("css", "style-", ".css"),
    ] {
        let named = |address: &str| address.starts_with(start) && address.ends_with(extension);
        if !page
            .split(['"', '\''])
            .filter_map(|word| word.strip_prefix(BASE))
            .any(named)
        {
            return Err(Failure::new(format!(
                "dashboard/index.html does not name {{{{{place}}}}}"
            )));
        }
    }
    Ok(())
}

/// wasm-bindgen's own small modules, in their folders, whose names carry a hash already.
fn copy_snippets(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for file in files_under(from)? {
        let target = to.join(file.strip_prefix(from).unwrap_or(&file));
        if let Some(folder) = target.parent() {
            make_folder(folder)?;
        }
        fs::copy(&file, &target).while_doing(|| format!("copy {}", file.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(page: &str, refused: Option<&str>) {
        let outcome = check_page(page).err().map(|failure| failure.to_string());
        match refused {
            None => assert_eq!(outcome, None),
            Some(why) => assert!(
                outcome.as_ref().is_some_and(|text| text.contains(why)),
                "{outcome:?}"
            ),
        }
    }

    #[test]
    fn a_page_names_its_program_and_style_and_nothing_unknown() {
        let page = "<a href=\"/_oncegate/style-1.css\"><b src='/_oncegate/dashboard-2.js' w='/_oncegate/dashboard-3.wasm'>";
        check(page, None);
        check(&format!("{page} \"{{{{title}}}}\""), Some("{{title}}"));
        check(&page.replace("style-1", "other"), Some("{{css}}"));
        check(&page.replace("-2.js", "-2.mjs"), Some("{{js}}"));
        check(&page.replace(".wasm", ".was"), Some("{{wasm}}"));
    }
}
