//! The probe: a module that links the rule and nothing else, for the test that counts its imports.

use std::path::PathBuf;

use super::dashboard::{MODULES, browser_cargo};
use crate::failure::Result;
use crate::process::run;
use crate::repo::Repo;
use crate::setup::Toolchain;

pub(super) fn build(repo: &Repo, toolchain: &Toolchain) -> Result<PathBuf> {
    let mut cargo = browser_cargo(repo, toolchain)?;
    run(
        cargo.args(["--package", "probe"]),
        "the compiler's own lines are above",
    )?;
    Ok(repo.at(MODULES).join("probe.wasm"))
}
