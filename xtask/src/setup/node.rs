//! Node and the npm packages that package-lock.json pins: wrangler, esbuild, binaryen, axe, providers' libraries.

use std::path::PathBuf;
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::process::{self, run, say};
use crate::repo::{Repo, read};
use crate::stamp::Stamp;

/// wrangler 4.86 runs on this and later: its package.json, `engines`.
const NODE_MIN: (u32, u32) = (20, 3);

/// Checks Node and installs the pinned packages unless they are there.
pub(crate) fn packages(repo: &Repo) -> Result<()> {
    check_node()?;
    let stamp = Stamp::of(repo, "npm", &["package.json", "package-lock.json"], &[])?;
    if stamp.holds(&repo.npm_bin("wrangler")) {
        return Ok(());
    }
    say("npm packages: npm ci installs wrangler, esbuild, binaryen, axe-core (once)");
    run(
        Command::new("npm")
            .args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(repo.root()),
        "check the network and run this again; npm's own lines are above",
    )?;
    stamp.save()
}

/// The esbuild that came with wrangler.
pub(crate) fn esbuild(repo: &Repo) -> Result<PathBuf> {
    let folder = repo.at("node_modules/@esbuild");
    let platforms = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut programs = platforms.map(|entry| entry.path().join("bin/esbuild"));
    programs.find(|program| program.is_file()).ok_or_else(|| {
        Failure::new(format!("no esbuild under {}", folder.display()))
            .remedy("remove node_modules and run this again")
    })
}

/// The version of a pinned package, for stamps and messages.
pub(crate) fn version(repo: &Repo, package: &str) -> Result<String> {
    let manifest = read(&repo.at("node_modules").join(package).join("package.json"))?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).map_err(|error| {
        Failure::new(format!("failed to read {package}'s package.json: {error}"))
    })?;
    Ok(manifest["version"].as_str().unwrap_or("unknown").to_owned())
}

fn check_node() -> Result<()> {
    let (major, minor) = NODE_MIN;
    let remedy =
        format!("install Node {major} or newer (https://nodejs.org, or your system's nodejs)");
    let version = process::output(Command::new("node").arg("--version"))
        .map_err(|_| Failure::new("`node` is not installed").remedy(&remedy))?;
    if parse(&version).is_some_and(|found| found >= NODE_MIN) {
        return Ok(());
    }
    Err(Failure::new(format!("node is {version}, older than {major}.{minor}")).remedy(remedy))
}

/// Major and minor of `v20.20.2`.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.strip_prefix('v')?.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_versions_are_compared_as_numbers() {
        assert!(parse("v20.20.2").unwrap() >= NODE_MIN);
        assert!(parse("v20.2.0").unwrap() < NODE_MIN);
        assert!(parse("v9.99.0").unwrap() < NODE_MIN);
        assert_eq!(parse("20.20.2"), None);
    }
}
