//! The compiler for wasm32 with the standard library's sources, from rustup or from Debian.
//!
//! `edge` is compiled with `panic=unwind`, so the standard library is built with it: that takes the unstable
//! `build-std`, hence a nightly (pinned by date), or Debian's stable compiler told to accept it.
//! worker-build calls `cargo +nightly`, `rustc +nightly` and `rustup`; three shims at the head of the PATH
//! answer these names with the compiler that was found.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::debian;
use crate::failure::{Context, Failure, Result};
use crate::process::{self, on_path, say, without_toolchain};
use crate::repo::{Repo, make_folder, write};

/// The nightly whose std sources and wasm32 code are known to work here.
const NIGHTLY: &str = "nightly-2026-05-20";
/// What Debian 12 has instead (rustc 1.96; `-web` because browsers are built with it).
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-22"];
const DEBIAN_SOURCES: &str = "/usr/lib/rustlib/src/rust/library/std/src/lib.rs";
const DEBIAN_LINKER: &str = "/usr/bin/wasm-ld-22";
/// Set to `rustup` or `debian` to take that one without trying the other.
const CHOICE: &str = "ONCEGATE_WASM_COMPILER";

/// A compiler that can build std for wasm32.
#[derive(Clone, Debug)]
pub(crate) struct WasmCompiler {
    /// For stamps and for people, e.g. `rustc 1.96.0 (ac68faa20 2026-05-25)`.
    pub(crate) version: String,
    /// The folder with the shims of those names.
    shims: PathBuf,
    linker: Option<&'static str>,
}

impl WasmCompiler {
    /// A command of this compiler's `cargo` or of a tool that calls `cargo`; std can be built with it.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Result<Command> {
        let mut command = without_toolchain(program);
        command
            .env("PATH", process::path_with(&self.shims)?)
            .env("RUSTC_BOOTSTRAP", "1");
        if let Some(linker) = self.linker {
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
        Ok(command)
    }

    /// The shim that stands for this compiler's cargo.
    pub(crate) fn cargo(&self) -> PathBuf {
        self.shims.join("cargo")
    }
}

/// Finds the compiler, installing it if need be: rustup's first, then Debian's.
pub(crate) fn wasm(repo: &Repo) -> Result<WasmCompiler> {
    let choice = env::var(CHOICE).unwrap_or_default();
    let (bin, linker) = match choice.as_str() {
        "rustup" => (
            rustup().or_else(install_rustup).ok_or_else(no_rustup)?,
            None,
        ),
        "debian" => (
            debian().map_or_else(install_debian, Ok)?,
            Some(DEBIAN_LINKER),
        ),
        "" => first_that_works()?,
        other => {
            return Err(Failure::new(format!(
                "{CHOICE} is {other:?}, not rustup or debian"
            )));
        }
    };
    let version = process::output(without_toolchain(bin.join("rustc")).arg("--version"))?;
    let shims = write_shims(repo, &bin)?;
    Ok(WasmCompiler {
        version,
        shims,
        linker,
    })
}

fn first_that_works() -> Result<(PathBuf, Option<&'static str>)> {
    if let Some(bin) = rustup() {
        return Ok((bin, None));
    }
    if let Some(bin) = debian() {
        return Ok((bin, Some(DEBIAN_LINKER)));
    }
    if let Some(bin) = install_rustup() {
        return Ok((bin, None));
    }
    Ok((install_debian()?, Some(DEBIAN_LINKER)))
}

/// The pinned nightly's `bin`, if it is there with its sources.
fn rustup() -> Option<PathBuf> {
    on_path("rustup")?;
    // `+` would install it; the toolchain's own folder is where rustup says that its others are.
    let home = process::output(without_toolchain("rustup").args(["show", "home"])).ok()?;
    let toolchains = fs::read_dir(Path::new(&home).join("toolchains")).ok()?;
    let named = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(NIGHTLY))
    };
    let folder = toolchains.flatten().map(|entry| entry.path()).find(named)?;
    let sources = folder.join("lib/rustlib/src/rust/library/std/src/lib.rs");
    let bin = folder.join("bin");
    (sources.is_file() && bin.join("cargo").is_file()).then_some(bin)
}

fn install_rustup() -> Option<PathBuf> {
    on_path("rustup")?;
    say(format!(
        "wasm compiler: rustup installs {NIGHTLY} with rust-src (once)"
    ));
    let installed = without_toolchain("rustup")
        .args([
            "toolchain",
            "install",
            NIGHTLY,
            "--profile",
            "minimal",
            "--no-self-update",
        ])
        .args([
            "--component",
            "rust-src",
            "--target",
            "wasm32-unknown-unknown",
        ])
        .status();
    if installed.is_ok_and(|status| status.success()) {
        return rustup();
    }
    say("wasm compiler: rustup cannot download; taking Debian's compiler instead");
    None
}

fn no_rustup() -> Failure {
    Failure::new(format!("rustup has no {NIGHTLY} and cannot install it")).remedy(format!(
        "check the network, or unset {CHOICE} to use Debian's compiler"
    ))
}

/// Debian's `bin`, if compiler, sources and linker are there.
fn debian() -> Option<PathBuf> {
    let there = [
        "/usr/bin/cargo",
        "/usr/bin/rustc",
        DEBIAN_SOURCES,
        DEBIAN_LINKER,
    ];
    let recent = || {
        let version = process::output(Command::new("/usr/bin/rustc").arg("--version"));
        version.is_ok_and(|version| minor_version(&version).is_some_and(|minor| minor >= 95))
    };
    (there.iter().all(|path| Path::new(path).is_file()) && recent()).then(|| "/usr/bin".into())
}

fn install_debian() -> Result<PathBuf> {
    debian::install("wasm compiler", &DEBIAN_PACKAGES).map_err(|failure| {
        failure.remedy(format!(
            "`rustup toolchain install {NIGHTLY} --component rust-src` with a network, \
             or as root `apt-get install --no-install-recommends {}`",
            DEBIAN_PACKAGES.join(" ")
        ))
    })?;
    debian().ok_or_else(|| {
        Failure::new(format!(
            "{DEBIAN_SOURCES} is missing after installing rust-web-src"
        ))
    })
}

/// The 96 of `rustc 1.96.0 (…)`.
fn minor_version(version: &str) -> Option<u32> {
    version
        .strip_prefix("rustc 1.")?
        .split('.')
        .next()?
        .parse()
        .ok()
}

fn write_shims(repo: &Repo, bin: &Path) -> Result<PathBuf> {
    let shims = repo.cache("shims");
    make_folder(&shims)?;
    let bin = bin.display();
    let drop_toolchain = "case \"$1\" in +*) shift ;; esac\n";
    let cargo = format!(
        "#!/bin/sh\n{drop_toolchain}export RUSTC_BOOTSTRAP=1 RUSTC='{bin}/rustc'\nexec '{bin}/cargo' \"$@\"\n"
    );
    // worker-build looks for a precompiled std of the target, which build-std makes needless.
    let rustc = format!(
        "#!/bin/sh\n{drop_toolchain}case \"$*\" in *'--print target-libdir') echo '{}'; exit ;; esac\n\
         export RUSTC_BOOTSTRAP=1\nexec '{bin}/rustc' \"$@\"\n",
        shims.display()
    );
    let rustup = "#!/bin/sh\necho 'rust-src (installed)'\n".to_owned();
    for (name, text) in [("cargo", cargo), ("rustc", rustc), ("rustup", rustup)] {
        let path = shims.join(name);
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .while_doing(|| format!("make {} executable", path.display()))?;
    }
    Ok(shims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minor_version_is_read_or_refused() {
        assert_eq!(
            minor_version("rustc 1.96.0 (ac68faa20 2026-05-25)"),
            Some(96)
        );
        assert_eq!(minor_version("clang 1.96.0"), None);
    }
}
