//! `coverage`: how many lines of the rule its own tests run, held to a minimum.
//!
//! By the compiler's own instrumentation and LLVM's tools of the same major version: rustup's llvm-tools if they
//! are there, else the system's (Debian: llvm-22).

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::process::{self, on_path, run, say};
use crate::repo::{Repo, files_under, remove_folder};
use crate::setup::debian;
use crate::test::cargo;

/// Lines of `shared` that its tests must run, in percent.
const LINES_MIN: f64 = 95.0;

const TESTS: [&str; 6] = [
    "test",
    "--package",
    "shared",
    "--all-features",
    "--lib",
    "--tests",
];

/// Runs the tests of `shared` with instrumentation, prints the table, and fails below the minimum.
pub(crate) fn coverage(repo: &Repo) -> Result<()> {
    let tools = llvm_tools()?;
    let target = repo.at("target/coverage");
    let profiles = target.join("profiles");
    remove_folder(&profiles)?;
    let instrumented = |command: &mut Command| {
        command
            .env("CARGO_TARGET_DIR", &target)
            // Counters slow the exhaustive tests down many times; optimising changes no line's count.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "2")
            .env("RUSTFLAGS", "-Cinstrument-coverage")
            .env("LLVM_PROFILE_FILE", profiles.join("%p-%m.profraw"));
    };
    say("coverage: cargo test -p shared with instrumentation");
    let mut tests = cargo(repo);
    tests.args(TESTS);
    instrumented(&mut tests);
    run(&mut tests, "")?;

    let merged = target.join("shared.profdata");
    let raw = files_under(&profiles)?;
    let mut merge = Command::new(tools.join("llvm-profdata"));
    run(
        merge
            .args(["merge", "-sparse", "-o"])
            .arg(&merged)
            .args(&raw),
        "",
    )?;

    let mut list = cargo(repo);
    list.args(TESTS).args(["--no-run", "--message-format=json"]);
    instrumented(&mut list);
    let programs = test_programs(&process::output(&mut list)?)?;
    report(repo, &tools, &merged, &programs)
}

fn report(repo: &Repo, tools: &Path, merged: &Path, programs: &[PathBuf]) -> Result<()> {
    let Some((first, others)) = programs.split_first() else {
        return Err(Failure::new("cargo named no test program of shared"));
    };
    let llvm_cov = |mode: &str| {
        let mut command = Command::new(tools.join("llvm-cov"));
        command
            .arg(mode)
            .arg(format!("--instr-profile={}", merged.display()))
            .arg(first);
        command.args(
            others
                .iter()
                .flat_map(|other| ["--object".into(), other.clone().into_os_string()]),
        );
        command.arg(r"--ignore-filename-regex=(tests\.rs$|/\.cargo/|/rustc/|/shared/tests/)");
        command.arg("--sources").arg(repo.at("shared/src"));
        command
    };
    run(
        llvm_cov("report").args(["--show-region-summary=false", "--show-branch-summary=false"]),
        "",
    )?;
    let summary = process::output(llvm_cov("export").arg("--summary-only"))?;
    let percent = line_percent(&summary)?;
    say(format!(
        "coverage: {percent:.2} % of shared's lines (minimum {LINES_MIN} %)"
    ));
    if percent >= LINES_MIN {
        return Ok(());
    }
    Err(
        Failure::new(format!("only {percent:.2} % of shared's lines are tested"))
            .remedy("the table above names the files; add rows to their tests"),
    )
}

/// The folder with llvm-profdata and llvm-cov of the compiler's major version.
fn llvm_tools() -> Result<PathBuf> {
    let verbose = process::output(Command::new("rustc").arg("-vV"))?;
    let major = verbose
        .lines()
        .find_map(|line| {
            line.strip_prefix("LLVM version: ")?
                .split('.')
                .next()
                .map(str::to_owned)
        })
        .ok_or_else(|| Failure::new("rustc -vV names no LLVM version"))?;
    let there = |folder: &PathBuf| folder.join("llvm-cov").is_file();
    let sysroot = process::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let host = verbose
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap_or_default();
    let rustup = Path::new(&sysroot)
        .join("lib/rustlib")
        .join(host)
        .join("bin");
    let debian = PathBuf::from(format!("/usr/lib/llvm-{major}/bin"));
    if let Some(folder) = [rustup, debian.clone()].into_iter().find(there) {
        return Ok(folder);
    }
    let package = format!("llvm-{major}");
    let remedy = format!("`rustup component add llvm-tools`, or your system's {package}");
    if on_path("apt-get").is_none() {
        return Err(Failure::new(format!("no llvm-cov of LLVM {major}")).remedy(remedy));
    }
    debian::install("coverage", &[&package])?;
    Some(debian)
        .filter(there)
        .ok_or_else(|| Failure::new(format!("{package} brought no llvm-cov")).remedy(remedy))
}

/// The programs in cargo's JSON messages.
fn test_programs(messages: &str) -> Result<Vec<PathBuf>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let message: serde_json::Value = serde_json::from_str(line).map_err(|error| {
            Failure::new(format!("failed to read cargo's message {line:?}: {error}"))
        })?;
        if message["profile"]["test"] == true
            && let Some(program) = message["executable"].as_str()
        {
            programs.push(program.into());
        }
    }
    Ok(programs)
}

fn line_percent(summary: &str) -> Result<f64> {
    let summary: serde_json::Value = serde_json::from_str(summary)
        .map_err(|error| Failure::new(format!("failed to read llvm-cov's summary: {error}")))?;
    summary["data"][0]["totals"]["lines"]["percent"]
        .as_f64()
        .ok_or_else(|| Failure::new("llvm-cov's summary has no percentage of lines"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_programs_are_taken_from_cargo() {
        let messages = "{\"reason\":\"x\",\"profile\":{\"test\":true},\"executable\":\"/t/a\"}\n\
                        {\"profile\":{\"test\":false},\"executable\":\"/t/b\"}\n{\"success\":true}";
        assert_eq!(test_programs(messages).unwrap(), [PathBuf::from("/t/a")]);
        assert!(test_programs("no json").is_err());
    }

    #[test]
    fn the_percentage_is_read_or_missed() {
        let summary = "{\"data\":[{\"totals\":{\"lines\":{\"percent\":97.5}}}]}";
        assert!(line_percent(summary).is_ok_and(|percent| (percent - 97.5).abs() < f64::EPSILON));
        assert!(line_percent("{}").is_err());
    }
}
