//! Debian packages, when this process may install them.

use std::process::Command;

use crate::failure::{Failure, Result};
use crate::process::{self, on_path, run, say};

/// Installs the packages; `what` says on the terminal what they are for.
pub(crate) fn install(what: &str, packages: &[&str]) -> Result<()> {
    let names = packages.join(" ");
    let by_hand = format!("`apt-get install --no-install-recommends {names}` as root");
    if on_path("apt-get").is_none() {
        let failure = Failure::new(format!("{what}: no apt-get here to install {names}"));
        return Err(failure.remedy(format!("install what your system calls {names}")));
    }
    if process::output(Command::new("id").arg("-u"))? != "0" {
        let failure = Failure::new(format!("{what}: only root may install {names}"));
        return Err(failure.remedy(by_hand));
    }
    say(format!("{what}: apt-get installs {names} (once)"));
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-q");
        command
    };
    run(
        apt().arg("update"),
        "check the network, then run this again",
    )?;
    run(
        apt()
            .args(["install", "--yes", "--no-install-recommends"])
            .args(packages),
        &by_hand,
    )
}
