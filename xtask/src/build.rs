//! Builds what is deployed: the Worker under `build/edge`, the dashboard under `build/assets`. And, for the suites and
//! the curious, the example that embeds the rule.

mod dashboard;
mod edge;
mod optimise;
mod probe;
mod sizes;

use std::path::PathBuf;
use std::time::Instant;

use crate::failure::{Failure, Result};
use crate::process::say;
use crate::repo::Repo;
use crate::setup::{self, Toolchain};

/// A Worker that can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    /// Its name on the terminal.
    what: &'static str,
    /// Its crate, in the checkout.
    source: &'static str,
    /// What is built of it, in the checkout.
    folder: &'static str,
    /// Whether the test suites' hooks are in it.
    hooks: bool,
    /// Whether wasm-opt makes it small, which takes longer than all else.
    optimised: bool,
}

impl Worker {
    /// The gateway that is deployed.
    pub(crate) const EDGE: Self = Self {
        what: "edge",
        source: "edge",
        folder: "build/edge",
        hooks: false,
        optimised: true,
    };
    /// The gateway with the test suites' hooks.
    const EDGE_TESTING: Self = Self {
        what: "edge (testing)",
        folder: "build/edge-testing",
        hooks: true,
        ..Self::EDGE
    };
    /// The example with its effect in the object.
    const EMBEDDED: Self = Self {
        what: "embedded",
        source: "docs/examples/embedded",
        folder: "build/embedded",
        hooks: false,
        optimised: false,
    };
    /// The example with the test suite's hooks.
    const EMBEDDED_TESTING: Self = Self {
        what: "embedded (testing)",
        folder: "build/embedded-testing",
        hooks: true,
        ..Self::EMBEDDED
    };
}

/// What to build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The Workers, in this order.
    pub(crate) workers: Vec<Worker>,
    pub(crate) dashboard: bool,
}

impl Plan {
    /// What `deploy`, `dev` and `demo` need.
    pub(crate) fn deployed() -> Self {
        Self {
            workers: vec![Worker::EDGE],
            dashboard: true,
        }
    }

    /// What the test suites need.
    pub(crate) fn tested() -> Self {
        Self {
            workers: vec![Worker::EDGE_TESTING, Worker::EDGE, Worker::EMBEDDED_TESTING],
            dashboard: true,
        }
    }

    /// Reads `[--testing] [--edge|--dashboard|--embedded]`.
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let mut testing = false;
        let (mut edge, mut dashboard, mut embedded) = (false, false, false);
        for word in words {
            match word.as_str() {
                "--testing" => testing = true,
                "--edge" => edge = true,
                "--dashboard" => dashboard = true,
                "--embedded" => embedded = true,
                other => {
                    return Err(Failure::new(format!("build does not know {other:?}"))
                        .remedy("cargo xtask build [--testing] [--edge|--dashboard|--embedded]"));
                }
            }
        }
        if !(edge || dashboard || embedded) {
            (edge, dashboard) = (true, true);
        }
        let mut workers = Vec::new();
        for (wanted, plain, hooked) in [
            (edge, Worker::EDGE, Worker::EDGE_TESTING),
            (embedded, Worker::EMBEDDED, Worker::EMBEDDED_TESTING),
        ] {
            if wanted {
                workers.push(if testing { hooked } else { plain });
            }
        }
        Ok(Self { workers, dashboard })
    }
}

/// Sets up what is missing, builds what has changed, prints the sizes and holds them to their limits.
pub(crate) fn build(repo: &Repo, plan: &Plan) -> Result<()> {
    let _lock = repo.lock()?;
    let toolchain = setup::toolchain(repo)?;
    for &worker in &plan.workers {
        timed(worker.what, || edge::build(repo, &toolchain, worker))?;
    }
    if plan.dashboard {
        timed("dashboard", || dashboard::build(repo, &toolchain))?;
    }
    sizes::check(repo, plan)
}

/// Compiles the rule alone for wasm32 and answers the module's path.
pub(crate) fn probe(repo: &Repo) -> Result<PathBuf> {
    let _lock = repo.lock()?;
    probe::build(repo, &setup::toolchain(repo)?)
}

/// Whether a step had anything to do.
enum Made {
    Now,
    Before,
}

fn timed(what: &str, step: impl FnOnce() -> Result<Made>) -> Result<()> {
    let start = Instant::now();
    match step()? {
        Made::Now => say(format!(
            "{what}: built in {:.1} s",
            start.elapsed().as_secs_f64()
        )),
        Made::Before => say(format!("{what}: up to date")),
    }
    Ok(())
}

/// The settings of a build that are in no file of the checkout.
fn settings(toolchain: &Toolchain) -> [&str; 2] {
    [&toolchain.compiler.version, &toolchain.tools.versions]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], workers: &[Worker], dashboard: bool) {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        assert_eq!(
            Plan::parse(&words).unwrap(),
            Plan {
                workers: workers.to_vec(),
                dashboard
            }
        );
    }

    #[test]
    fn words_choose_what_is_built() {
        check(&[], &[Worker::EDGE], true);
        check(&["--testing"], &[Worker::EDGE_TESTING], true);
        check(&["--edge"], &[Worker::EDGE], false);
        check(&["--edge", "--testing"], &[Worker::EDGE_TESTING], false);
        check(&["--dashboard"], &[], true);
        check(&["--edge", "--dashboard"], &[Worker::EDGE], true);
        check(&["--embedded"], &[Worker::EMBEDDED], false);
        check(
            &["--embedded", "--testing"],
            &[Worker::EMBEDDED_TESTING],
            false,
        );
        assert!(Plan::parse(&["--all".to_owned()]).is_err());
    }
}
