//! Oncegate's developer commands. `cargo xtask help` lists them.
//!
//! Not part of the product: nothing here is deployed, and nothing here decides anything about a request.

mod build;
mod check;
mod coverage;
mod deploy;
mod dev;
mod failure;
mod planted;
mod process;
mod repo;
mod setup;
mod stamp;
mod test;

use std::process::ExitCode;

use dev::Scene;
use failure::{Failure, Result};
use repo::Repo;

const HELP: &str = "\
cargo xtask COMMAND

  dev [--origin URL] [--port N]    a gateway on this machine, before a sample origin or your own service
  demo [--port N]                  the same with generated traffic
  test [--quick|--full]            formatting, lints, native tests, end-to-end and browser tests
  check [--config PATH]            every mistake in the configuration
  build [--testing] [--edge|--dashboard|--embedded]
                                   the Worker and the dashboard, and their sizes; or the example that embeds the rule
  deploy [--dry-run]               check, build, wrangler deploy
  coverage                         lines of the rule that its tests run
  planted [NAME...]                puts known bugs into a copy, and shows that the tests catch them
  setup                            only installs what is missing, browser included
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
    let repo = Repo::find()?;
    match command.as_str() {
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        "dev" => dev::dev(&repo, Scene::Dev, rest),
        "demo" => dev::dev(&repo, Scene::Demo, rest),
        "test" => test::test(&repo, rest),
        "check" => check::check(&repo, rest),
        "build" => build::build(&repo, &build::Plan::parse(rest)?),
        "deploy" => deploy::deploy(&repo, rest),
        "coverage" => coverage::coverage(&repo),
        "planted" => planted::planted(&repo, rest),
        "setup" => setup::everything(&repo),
        other => {
            Err(Failure::new(format!("there is no command {other:?}")).remedy("cargo xtask help"))
        }
    }
}
