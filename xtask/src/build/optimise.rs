//! wasm-opt, set for what is downloaded: the gzip of a module, not the module.
//!
//! worker-build's own optimising keeps the names of functions, which are a third of the size. Here they last until
//! the functions are sorted by them: what was compiled from one source lies side by side then, and within gzip's
//! reach.

use std::path::Path;

use crate::failure::Result;
use crate::process::{run, without_toolchain};
use crate::setup::tools::Tools;

/// Nothing is inlined: functions with many locals shrink the module and grow its gzip, by a tenth.
const OPTIMISE: [&str; 5] = [
    "-O2",
    "--debuginfo",
    "--one-caller-inline-max-function-size=0",
    "--always-inline-max-function-size=0",
    "--flexible-inline-max-function-size=0",
];
const SORT: [&str; 2] = ["--debuginfo", "--reorder-functions-by-name"];
const STRIP: [&str; 2] = ["--strip-debug", "--strip-producers"];
/// The features that rustc's modules use, and no later ones, which workerd may not know.
const FEATURES: [&str; 7] = [
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-reference-types",
    "--enable-exception-handling",
];

/// Optimises the module in its place.
pub(super) fn optimise(tools: &Tools, module: &Path) -> Result<()> {
    for passes in [OPTIMISE.as_slice(), &SORT, &STRIP] {
        let mut command = without_toolchain(&tools.wasm_opt);
        command
            .args(FEATURES)
            .args(passes)
            .arg(module)
            .arg("-o")
            .arg(module);
        run(&mut command, "the optimiser's own lines are above")?;
    }
    Ok(())
}
