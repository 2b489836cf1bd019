//! `dev` and `demo`: everything built, then the gateway of the `tests` crate on this machine.
//!
//! Not the running itself: `tests/src/bin/local.rs` starts wrangler and the sample origin, and ends them. This
//! process becomes that one, so that Ctrl-C reaches exactly what was started.

use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::build::{self, Plan};
use crate::check;
use crate::failure::{Failure, Result};
use crate::process::{run, say};
use crate::repo::Repo;

/// Where the gateway listens unless `--port` says otherwise.
const PORT: u16 = 8787;

/// Which of the two commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    Dev,
    Demo,
}

/// Builds and starts the gateway; returns only when that failed.
pub(crate) fn dev(repo: &Repo, scene: Scene, words: &[String]) -> Result<()> {
    // Before minutes of building.
    check_port(port(words)?)?;
    check::check_own(repo)?;
    build::build(repo, &Plan::deployed())?;
    say("local gateway: cargo build");
    run(
        Command::new("cargo")
            .args(["build", "--quiet", "--package", "tests", "--bin", "local"])
            .current_dir(repo.root()),
        "the compiler's own lines are above",
    )?;
    let mut local = Command::new(repo.target().join("debug/local"));
    if !words.iter().any(|word| word.starts_with("--state")) {
        local.arg("--state").arg(repo.cache("state"));
    }
    match scene {
        Scene::Dev => {}
        Scene::Demo => {
            local.arg("--demo");
        }
    }
    let error = local.args(words).exec();
    Err(Failure::new(format!(
        "failed to start {}: {error}",
        local.get_program().display()
    )))
}

/// The port that the words ask for; other words are for `local` to judge.
fn port(words: &[String]) -> Result<u16> {
    let inline = words.iter().find_map(|word| word.strip_prefix("--port="));
    let next = words
        .iter()
        .position(|word| word == "--port")
        .and_then(|at| words.get(at + 1));
    let Some(text) = inline.or(next.map(String::as_str)) else {
        return Ok(PORT);
    };
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| {
        Failure::new(format!("--port {text:?} is no port"))
            .remedy("--port N with N from 1 to 65535")
    })
}

fn check_port(port: u16) -> Result<()> {
    match TcpListener::bind(("127.0.0.1", port)) {
        Ok(_free) => Ok(()),
        Err(error) => Err(
            Failure::new(format!("port {port} cannot be used: {error}")).remedy(format!(
                "stop what listens there, or take another: --port {}",
                port.checked_add(1).unwrap_or(PORT)
            )),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: Option<u16>) {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        assert_eq!(port(&words).ok(), expected);
    }

    #[test]
    fn the_port_is_read_in_both_spellings() {
        check(&[], Some(PORT));
        check(&["--port", "9000"], Some(9000));
        check(
            &["--origin", "http://127.0.0.1:3000", "--port=9001"],
            Some(9001),
        );
        check(&["--port", "0"], None);
        check(&["--port", "many"], None);
    }

    #[test]
    fn a_port_in_use_is_named_with_the_next_one() {
        let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let failure = check_port(port).unwrap_err().to_string();
        assert!(
            failure.contains(&port.to_string()) && failure.contains("--port"),
            "{failure}"
        );
    }
}
