//! Builds what is deployed: the Worker under `build/edge`, the dashboard under `build/assets`.

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

/// Which Worker: the one that is deployed, or the one with the test suites' hooks in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Production,
    Testing,
}

/// What to build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The Workers, in this order.
    pub(crate) edges: Vec<Edge>,
    pub(crate) dashboard: bool,
}

impl Plan {
    /// What `deploy`, `dev` and `demo` need.
    pub(crate) fn deployed() -> Self {
        Self {
            edges: vec![Edge::Production],
            dashboard: true,
        }
    }

    /// What the test suites need.
    pub(crate) fn tested() -> Self {
        Self {
            edges: vec![Edge::Testing, Edge::Production],
            dashboard: true,
        }
    }

    /// Reads `[--testing] [--edge|--dashboard]`.
    pub(crate) fn parse(words: &[String]) -> Result<Self> {
        let mut edge = Edge::Production;
        let (mut only_edge, mut only_dashboard) = (false, false);
        for word in words {
            match word.as_str() {
                "--testing" => edge = Edge::Testing,
                "--edge" => only_edge = true,
                "--dashboard" => only_dashboard = true,
                other => {
                    return Err(Failure::new(format!("build does not know {other:?}"))
                        .remedy("cargo xtask build [--testing] [--edge|--dashboard]"));
                }
            }
        }
        let both = only_edge == only_dashboard;
        let edges = if both || only_edge {
            vec![edge]
        } else {
            Vec::new()
        };
        Ok(Self {
            edges,
            dashboard: both || only_dashboard,
        })
    }
}

/// Sets up what is missing, builds what has changed, prints the sizes and holds them to their limits.
pub(crate) fn build(repo: &Repo, plan: &Plan) -> Result<()> {
    let _lock = repo.lock()?;
    let toolchain = setup::toolchain(repo)?;
    for &edge in &plan.edges {
        timed(edge.what(), || edge::build(repo, &toolchain, edge))?;
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

impl Edge {
    /// Its name on the terminal.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Production => "edge",
            Self::Testing => "edge (testing)",
        }
    }

    /// Its folder in the checkout.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Production => "build/edge",
            Self::Testing => "build/edge-testing",
        }
    }
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
    fn check(words: &[&str], edges: &[Edge], dashboard: bool) {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        assert_eq!(
            Plan::parse(&words).unwrap(),
            Plan {
                edges: edges.to_vec(),
                dashboard
            }
        );
    }

    #[test]
    fn words_choose_what_is_built() {
        check(&[], &[Edge::Production], true);
        check(&["--testing"], &[Edge::Testing], true);
        check(&["--edge"], &[Edge::Production], false);
        check(&["--edge", "--testing"], &[Edge::Testing], false);
        check(&["--dashboard"], &[], true);
        check(&["--edge", "--dashboard"], &[Edge::Production], true);
        assert!(Plan::parse(&["--all".to_owned()]).is_err());
    }
}
