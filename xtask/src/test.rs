//! `test`: formatting, lints, native tests, then the suites against a local gateway and a browser.
//!
//! The quick checks come first, so that a slip is told within a minute. cargo's own summary lines stay visible:
//! they are what a reader, and CI, count.

use std::process::Command;

use crate::build::{self, Plan};
use crate::failure::{Failure, Result};
use crate::process::{run, say};
use crate::repo::Repo;
use crate::{planted, setup};

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Only what needs neither node nor network.
    Quick,
    /// And the gateway in its local runtime, and the browser.
    Usual,
    /// And the planted bugs, and the suites at their longest.
    Full,
}

/// Reads `[--quick|--full]` and tests.
pub(crate) fn test(repo: &Repo, words: &[String]) -> Result<()> {
    let extent = match words {
        [] => Extent::Usual,
        [word] if word == "--quick" => Extent::Quick,
        [word] if word == "--full" => Extent::Full,
        _ => {
            return Err(
                Failure::new(format!("test does not know {:?}", words.join(" ")))
                    .remedy("cargo xtask test [--quick|--full]"),
            );
        }
    };
    formatting(repo)?;
    lints(repo)?;
    native(repo)?;
    match extent {
        Extent::Quick => Ok(()),
        Extent::Usual => end_to_end(repo, false),
        Extent::Full => {
            planted::planted(repo, &[])?;
            end_to_end(repo, true)
        }
    }
}

fn formatting(repo: &Repo) -> Result<()> {
    say("formatting: cargo fmt --check");
    run(
        cargo(repo).args(["fmt", "--all", "--check"]),
        "cargo fmt --all",
    )
}

fn lints(repo: &Repo) -> Result<()> {
    say("lints: cargo clippy, warnings as errors");
    let clippy = |words: &[&str]| {
        let mut command = cargo(repo);
        command
            .args(["clippy", "--quiet"])
            .args(words)
            .args(["--", "-D", "warnings"]);
        run(&mut command, "clippy's own lines are above")
    };
    clippy(&["--workspace", "--all-targets"])?;
    // What only the test suites' Worker has in it.
    clippy(&["--package", "edge", "--features", "testing"])
}

/// Tests that run as ordinary programs.
fn native(repo: &Repo) -> Result<()> {
    say("native tests: cargo test");
    let packages = ["shared", "dashboard", "edge", "xtask"];
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    run(
        cargo(repo)
            .arg("test")
            .args(packages)
            .arg("--features=shared/contract"),
        "",
    )?;
    say("exhaustive tests of the rule: cargo test --release");
    run(
        cargo(repo).args(["test", "--release", "--package", "shared", "--all-features"]),
        "",
    )
}

/// The suites of the `tests` crate, against the Worker with its hooks and the one that is deployed.
fn end_to_end(repo: &Repo, long: bool) -> Result<()> {
    build::build(repo, &Plan::tested())?;
    setup::browser::chromium()?;
    say("end-to-end and browser tests: cargo test -p tests");
    let mut command = cargo(repo);
    command.args(["test", "--package", "tests"]);
    if long {
        command.env("ONCEGATE_LONG", "1");
    }
    run(
        &mut command,
        "logs and state of each session are under target/sessions",
    )
}

/// The cargo that runs this program, in the checkout.
pub(crate) fn cargo(repo: &Repo) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(repo.root());
    command
}
