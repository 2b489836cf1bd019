//! Oncegate's developer commands. `cargo xtask help` lists them.
//!
//! Not part of the product: nothing here is deployed, and nothing here decides anything about a request.

mod build;
mod failure;
mod process;
mod repo;
mod setup;
mod stamp;

use std::process::ExitCode;

use failure::{Failure, Result};
use repo::Repo;

const HELP: &str = "\
cargo xtask COMMAND

  build [--testing] [--edge|--dashboard]
                        set up what is missing, build the Worker and the dashboard, print their sizes
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match command(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn command(words: &[String]) -> Result<()> {
    let Some((command, rest)) = words.split_first() else {
        print!("{HELP}");
        return Ok(());
    };
    match command.as_str() {
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        "build" => build::build(&Repo::find()?, &build::Plan::parse(rest)?),
        other => Err(Failure::new(format!("there is no command {other:?}"))
            .remedy("cargo xtask help")),
    }
}
