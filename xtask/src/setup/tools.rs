//! wasm-bindgen's and worker-build's command line programs, compiled once into `.oncegate/tools`.
//!
//! In the debug profile: they compile in a third of the time and are fast enough. worker-build would download
//! its helpers; it is told where they are instead.

use std::path::{Path, PathBuf};

use crate::failure::{Failure, Result};
use crate::process::{self, run, say, without_toolchain};
use crate::repo::{Repo, read, remove_folder};

/// The release that goes with the `worker` crate in edge/Cargo.toml.
const WORKER_BUILD: &str = "0.8.7";

/// Where the programs are.
pub(crate) struct Tools {
    pub(crate) worker_build: PathBuf,
    pub(crate) wasm_bindgen: PathBuf,
    pub(crate) wasm_opt: PathBuf,
    pub(crate) esbuild: PathBuf,
    /// All versions in one text, for stamps.
    pub(crate) versions: String,
}

/// Installs what is missing or of another version than Cargo.lock asks for.
pub(crate) fn build_tools(repo: &Repo) -> Result<Tools> {
    let root = repo.cache("tools");
    let bindgen = locked_version(&read(&repo.at("Cargo.lock"))?, "wasm-bindgen")?;
    let wasm_bindgen = root.join("bin/wasm-bindgen");
    let worker_build = root.join("bin/worker-build");
    let missing_bindgen = !is_version(&wasm_bindgen, &bindgen);
    let missing_worker_build = !is_version(&worker_build, WORKER_BUILD);
    if missing_worker_build {
        say(format!(
            "build tools: compiling worker-build {WORKER_BUILD} (some minutes, once)"
        ));
        install(repo, &root, &["worker-build", "--version", WORKER_BUILD])?;
    }
    if missing_bindgen {
        say(format!(
            "build tools: compiling wasm-bindgen {bindgen} (a minute or two, once)"
        ));
        // Without --locked: the lock file that this package ships does not resolve.
        install(
            repo,
            &root,
            &[
                "wasm-bindgen-cli",
                "--version",
                &bindgen,
                "--bin",
                "wasm-bindgen",
            ],
        )?;
    }
    remove_folder(&repo.cache("tools-target"))?;
    let binaryen = super::node::version(repo, "binaryen")?;
    Ok(Tools {
        versions: format!(
            "worker-build {WORKER_BUILD}, wasm-bindgen {bindgen}, binaryen {binaryen}"
        ),
        worker_build,
        wasm_bindgen,
        wasm_opt: repo.npm_bin("wasm-opt"),
        esbuild: super::node::esbuild(repo)?,
    })
}

fn install(repo: &Repo, root: &Path, package: &[&str]) -> Result<()> {
    let mut cargo = without_toolchain("cargo");
    cargo
        .arg("install")
        .args(package)
        .args(["--debug", "--force", "--root"])
        .arg(root);
    cargo
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_TARGET_DIR", repo.cache("tools-target"));
    // Outside the checkout's workspace and its lock.
    cargo.current_dir(repo.cache(""));
    run(
        &mut cargo,
        "check the network and run this again; cargo's own lines are above",
    )
}

fn is_version(program: &Path, version: &str) -> bool {
    let mut command = without_toolchain(program);
    let found = process::output(command.arg("--version"));
    found.is_ok_and(|found| found.split_whitespace().last() == Some(version))
}

/// The version of a package in a Cargo.lock.
fn locked_version(lock: &str, package: &str) -> Result<String> {
    let table: toml::Table = lock
        .parse()
        .map_err(|error| Failure::new(format!("failed to read Cargo.lock: {error}")))?;
    let packages = table
        .get("package")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten();
    let mut named =
        packages.filter(|entry| entry.get("name").and_then(toml::Value::as_str) == Some(package));
    let version = named
        .next()
        .and_then(|entry| entry.get("version")?.as_str().map(str::to_owned));
    version.ok_or_else(|| {
        Failure::new(format!("Cargo.lock has no package {package}"))
            .remedy("`git checkout Cargo.lock`, or `cargo metadata` to write it anew")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_version_is_found_by_the_whole_name() {
        let lock = "[[package]]\nname = \"wasm-bindgen-futures\"\nversion = \"0.4.1\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\n";
        assert_eq!(locked_version(lock, "wasm-bindgen").unwrap(), "0.2.130");
        assert!(locked_version(lock, "worker").is_err());
    }
}
