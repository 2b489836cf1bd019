//! A Worker: worker-build with `panic=unwind`, its entry point running to completion.
//!
//! All of them share one target folder and one set of flags, so that what they depend on is compiled once.

use super::optimise::optimise;
use super::{Made, Worker, settings};
use crate::failure::{Failure, Result};
use crate::process::{run, say};
use crate::repo::{Repo, make_folder, read};
use crate::setup::Toolchain;
use crate::stamp::Stamp;

const INPUTS: [&str; 4] = ["Cargo.toml", "Cargo.lock", "shared", "xtask/src/build"];

/// The exceptions that workerd knows; LLVM's newer encoding is refused there. Where in which file something panicked, and
/// how types look to their programmer, is not shipped: it is a tenth of the size.
const RUSTFLAGS: &str = "-Cllvm-args=-wasm-use-legacy-eh -Zlocation-detail=none -Zfmt-debug=none \
                         -Zinline-mir=no --cfg=sha2_backend_soft=\"compact\"";
/// A library compiled for size, as the rest is.
const STD_FEATURES: [&str; 3] = [
    "--",
    "--config",
    "unstable.build-std-features=[\"optimize_for_size\"]",
];

pub(super) fn build(repo: &Repo, toolchain: &Toolchain, worker: Worker) -> Result<Made> {
    let folder = repo.at(worker.folder);
    let entry = folder.join("index.js");
    let name = worker.folder.trim_start_matches("build/");
    let inputs = [INPUTS.as_slice(), &[worker.source]].concat();
    let stamp = Stamp::of(repo, name, &inputs, &settings(toolchain))?;
    if stamp.holds(&entry) {
        return Ok(Made::Before);
    }
    say(format!(
        "{}: worker-build with {}",
        worker.what, toolchain.compiler.version
    ));
    make_folder(&folder)?;
    let tools = &toolchain.tools;
    let mut command = toolchain.compiler.command(&tools.worker_build)?;
    command
        .current_dir(repo.at(worker.source))
        .args([
            "--profile",
            "wasm",
            "--panic-unwind",
            "--no-opt",
            "--out-dir",
        ])
        .arg(&folder)
        .env("CARGO_TARGET_DIR", repo.at("target/edge"))
        .env("RUSTFLAGS", RUSTFLAGS)
        .env("RUN_TO_COMPLETION", "1")
        .env("WASM_BINDGEN_BIN", &tools.wasm_bindgen)
        .env("WASM_OPT_BIN", &tools.wasm_opt)
        .env("ESBUILD_BIN", &tools.esbuild)
        .args(STD_FEATURES);
    if worker.hooks {
        command.args(["--features", "testing"]);
    }
    run(&mut command, "the compiler's own lines are above")?;
    if worker.optimised {
        optimise(tools, &folder.join("index_bg.wasm"))?;
    }
    check_entry(&read(&entry)?)?;
    stamp.save()?;
    Ok(Made::Now)
}

/// A request must run to its end although its caller has gone: the entry point hands it to `waitUntil`.
fn check_entry(script: &str) -> Result<()> {
    if script.contains("this.ctx.waitUntil(") {
        return Ok(());
    }
    Err(
        Failure::new("the built entry point does not call waitUntil on its response").remedy(
            "look how this worker-build honours RUN_TO_COMPLETION, in xtask/src/build/edge.rs",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_point_that_drops_its_work_is_refused() {
        assert!(check_entry("this.ctx.waitUntil(response);").is_ok());
        assert!(check_entry("return exports.fetch(request);").is_err());
    }
}
