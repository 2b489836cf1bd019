//! Running other programs: their output on our terminal, their refusal as one clear line.

use std::env;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::{Context, Failure, Result};

/// Says on a line of its own what happens next.
pub(crate) fn say(what: impl AsRef<str>) {
    println!("xtask: {}", what.as_ref());
}

/// Runs the command with its output on our terminal; `remedy` is what helps when it refuses.
pub(crate) fn run(command: &mut Command, remedy: &str) -> Result<()> {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    if status.success() {
        return Ok(());
    }
    let failure = Failure::new(format!("`{}` ended with {status}", shown(command)));
    Err(if remedy.is_empty() {
        failure
    } else {
        failure.remedy(remedy)
    })
}

/// What the command prints, without the white space around it.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(command, &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().last().unwrap_or_default();
    Err(Failure::new(format!(
        "`{}` ended with {}: {last}",
        shown(command),
        output.status
    )))
}

/// The first file of that name on the PATH.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// The PATH with `folder` before everything else.
pub(crate) fn path_with(folder: &Path) -> Result<std::ffi::OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(env::split_paths(&path));
    env::join_paths(folders).while_doing(|| format!("put {} on the PATH", folder.display()))
}

/// A command that does not inherit the toolchain that `cargo run` chose for this process.
pub(crate) fn without_toolchain(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let ours = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"]
            .iter()
            .any(|start| name.starts_with(start))
            || [
                "CARGO",
                "LD_LIBRARY_PATH",
                "RUSTUP_TOOLCHAIN",
                "RUSTC",
                "RUSTDOC",
            ]
            .contains(&name)
    };
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(ours) {
            command.env_remove(name);
        }
    }
    command
}

/// The command as one would type it, without its environment.
pub(crate) fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let words = std::iter::once(name).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    let program = command.get_program().to_string_lossy().into_owned();
    if error.kind() == ErrorKind::NotFound {
        return Failure::new(format!("`{program}` is not installed"))
            .remedy(format!("install `{program}` and put it on the PATH"));
    }
    Failure::new(format!("failed to start `{program}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_remedy() {
        let failure = run(&mut Command::new("no-such-program"), "").unwrap_err();
        assert_eq!(
            failure.to_string(),
            "error: `no-such-program` is not installed\n  try: install `no-such-program` and put it on the PATH"
        );
    }

    #[test]
    fn a_refusal_shows_the_command_and_its_remedy() {
        let failure = run(Command::new("sh").args(["-c", "exit 3"]), "ask again").unwrap_err();
        assert_eq!(
            failure.to_string(),
            "error: `sh -c exit 3` ended with exit status: 3\n  try: ask again"
        );
    }
}
