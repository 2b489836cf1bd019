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
    /// And the planted bugs, and many more lost machines.
    Full,
}

/// How often the machine is lost at each place in a full run; the suite has its own number for all others.
const KILLS_FULL: &str = "25";

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
        Extent::Quick => return Ok(()),
        Extent::Usual => {}
        Extent::Full => planted::planted(repo, &[])?,
    }
    exhaustive(repo)?;
    build::build(repo, &Plan::tested())?;
    probe(repo)?;
    end_to_end(repo, extent)
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
    // What only the test suites' Workers have in them.
    let hooks = "--features=edge/testing,embedded/testing";
    clippy(&["--package", "edge", "--package", "embedded", hooks])
}

/// Tests that run as ordinary programs.
fn native(repo: &Repo) -> Result<()> {
    say("native tests: cargo test");
    let packages = ["shared", "dashboard", "edge", "xtask"];
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    let mut tests = cargo(repo);
    tests
        .arg("test")
        .args(packages)
        .arg("--features=shared/contract");
    run(&mut tests, "")?;
    // The harness itself; its suites need a gateway.
    run(
        cargo(repo).args(["test", "--package", "tests", "--lib", "--bins"]),
        "",
    )
}

/// The rule's longest walks, one message longer than without optimising; the simulator's 20,000 seeds, and the model check.
fn exhaustive(repo: &Repo) -> Result<()> {
    say("exhaustive tests of the rule: walks, simulator and model check, cargo test --release");
    let mut tests = cargo(repo);
    tests.args([
        "test",
        "--release",
        "--package",
        "shared",
        "--package",
        "model",
        "--all-features",
        "--tests",
    ]);
    run(&mut tests, "")
}

/// The rule asks its platform for nothing: the module that links only it has no imports.
fn probe(repo: &Repo) -> Result<()> {
    say("probe: the rule alone, as a module without imports");
    let module = build::probe(repo)?;
    let mut test = cargo(repo);
    test.args(["test", "--release", "--package", "shared", "--all-features"]);
    test.args(["--test", "no_std_probe", "--", "--ignored"])
        .env("ONCEGATE_PROBE", module);
    run(
        &mut test,
        "shared must not reach for std, a clock or randomness",
    )
}

/// The suites of the `tests` crate, against the Worker with its hooks and the one that is deployed.
fn end_to_end(repo: &Repo, extent: Extent) -> Result<()> {
    setup::browser::chromium()?;
    say("end-to-end and browser tests: cargo test -p tests");
    let mut suites = cargo(repo);
    suites.args([
        "test",
        "--no-fail-fast",
        "--package",
        "tests",
        "--test",
        "*",
    ]);
    if extent == Extent::Full {
        suites.env("ONCEGATE_KILLS", KILLS_FULL);
    }
    run(
        &mut suites,
        "logs and state of each session are under target/sessions",
    )
}

/// The cargo that runs this program, in the checkout.
pub(crate) fn cargo(repo: &Repo) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(repo.root());
    command
}
