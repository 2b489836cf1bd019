//! The dashboard: cargo, wasm-bindgen and wasm-opt, then files whose names carry their content's hash.
//!
//! `dashboard/index.html` is the page, with `{{js}}`, `{{wasm}}` and `{{css}}` where the addresses belong. The
//! content security policy allows no inline script, so a small module of its own starts the program.

use std::fs;
use std::path::Path;

use super::{Made, settings};
use crate::failure::{Context, Failure, Result};
use crate::process::{run, say, without_toolchain};
use crate::repo::{Repo, make_folder, read, read_bytes, remove_folder, write};
use crate::setup::Toolchain;
use crate::stamp::{Stamp, content_hash};

const INPUTS: [&str; 5] = ["Cargo.toml", "Cargo.lock", "shared", "dashboard", "xtask/src/build"];

/// Where the Worker serves the files: below the gateway's own path.
const BASE: &str = "/_oncegate/";
const OUTPUT: &str = "build/assets/_oncegate";

pub(super) fn build(repo: &Repo, toolchain: &Toolchain) -> Result<Made> {
    let output = repo.at(OUTPUT);
    let stamp = Stamp::of(repo, "dashboard", &INPUTS, &settings(toolchain))?;
    if stamp.holds(&output.join("index.html")) {
        return Ok(Made::Before);
    }
    say(format!("dashboard: cargo build with {}", toolchain.compiler.version));
    let bound = repo.at("target/dashboard/bound");
    remove_folder(&bound)?;
    compile(repo, toolchain, &bound)?;
    remove_folder(&output)?;
    make_folder(&output)?;
    lay_out(repo, &bound, &output)?;
    stamp.save()?;
    Ok(Made::Now)
}

/// Leaves dashboard.js and dashboard_bg.wasm in `bound`.
fn compile(repo: &Repo, toolchain: &Toolchain, bound: &Path) -> Result<()> {
    let target = repo.at("target/dashboard");
    let mut cargo = toolchain.compiler.command(toolchain.compiler.cargo())?;
    cargo
        .current_dir(repo.root())
        .args(["build", "--package", "dashboard", "--profile", "wasm"])
        .args(["--target", "wasm32-unknown-unknown", "-Z", "build-std=std,panic_abort"])
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", "-Cpanic=abort");
    run(&mut cargo, "the compiler's own lines are above")?;

    let module = target.join("wasm32-unknown-unknown/wasm/dashboard.wasm");
    let mut bindgen = without_toolchain(&toolchain.tools.wasm_bindgen);
    bindgen.arg(&module).args(["--target", "web", "--no-typescript", "--out-dir"]).arg(bound);
    run(&mut bindgen, "dashboard must be a program (src/main.rs) or a cdylib")?;

    let wasm = bound.join("dashboard_bg.wasm");
    let features = [
        "bulk-memory",
        "multivalue",
        "mutable-globals",
        "nontrapping-float-to-int",
        "reference-types",
        "sign-ext",
    ];
    let mut optimiser = without_toolchain(&toolchain.tools.wasm_opt);
    optimiser.args(["-Oz", "--strip-debug", "--strip-producers"]);
    optimiser.args(features.map(|feature| format!("--enable-{feature}")));
    optimiser.arg(&wasm).arg("-o").arg(&wasm);
    run(&mut optimiser, "")
}

/// Copies everything under names that change with the content, and the page that names them.
fn lay_out(repo: &Repo, bound: &Path, output: &Path) -> Result<()> {
    let wasm = hashed(output, "dashboard", "wasm", &read_bytes(&bound.join("dashboard_bg.wasm"))?)?;
    let glue = hashed(output, "dashboard", "js", &read_bytes(&bound.join("dashboard.js"))?)?;
    let boot = format!(
        "import init from \"./{glue}\";\n\
         await init({{ module_or_path: new URL(\"./{wasm}\", import.meta.url) }});\n"
    );
    let boot = hashed(output, "boot", "js", boot.as_bytes())?;
    let css = hashed(output, "style", "css", &read_bytes(&repo.at("dashboard/style.css"))?)?;
    copy_snippets(&bound.join("snippets"), &output.join("snippets"))?;
    let template = read(&repo.at("dashboard/index.html"))?;
    write(&output.join("index.html"), page(&template, &boot, &wasm, &css)?)
}

/// Writes `name-HASH.extension` and returns that name.
fn hashed(output: &Path, name: &str, extension: &str, content: &[u8]) -> Result<String> {
    let name = format!("{name}-{}.{extension}", content_hash(content));
    write(&output.join(&name), content)?;
    Ok(name)
}

/// The page with absolute addresses, since it is served on paths of several depths.
fn page(template: &str, js: &str, wasm: &str, css: &str) -> Result<String> {
    let mut page = template.to_owned();
    for (place, file) in [("{{js}}", js), ("{{wasm}}", wasm), ("{{css}}", css)] {
        page = page.replace(place, &format!("{BASE}{file}"));
    }
    match page.find("{{").or_else(|| page.find(&format!("{BASE}{}", &BASE[1..]))) {
        None if page.contains(js) && page.contains(css) => Ok(page),
        None => Err(Failure::new("dashboard/index.html does not name {{js}} and {{css}}")),
        Some(at) => {
            let found: String = page[at..].chars().take(40).collect();
            Err(Failure::new(format!("dashboard/index.html has {found:?}"))
                .remedy("use {{js}}, {{wasm}} and {{css}} as whole addresses"))
        }
    }
}

/// wasm-bindgen's own small modules, in their folders, whose names carry a hash already.
fn copy_snippets(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for file in crate::repo::files_under(from)? {
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

    #[test]
    fn the_page_names_its_files_by_whole_addresses() {
        let page = page("<a {{css}}><b {{js}}><i {{wasm}}>", "b-1.js", "d-2.wasm", "s-3.css");
        assert_eq!(
            page.unwrap(),
            "<a /_oncegate/s-3.css><b /_oncegate/b-1.js><i /_oncegate/d-2.wasm>"
        );
    }

    #[test]
    fn an_unknown_or_missing_place_is_refused() {
        assert!(page("{{js}} {{css}} {{title}}", "b.js", "d.wasm", "s.css").is_err());
        assert!(page("{{js}}", "b.js", "d.wasm", "s.css").is_err());
        assert!(page("/_oncegate/{{js}} {{css}}", "b.js", "d.wasm", "s.css").is_err());
    }
}
