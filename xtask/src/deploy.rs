//! `deploy`: check, build, `wrangler deploy`.

use std::process::Command;

use crate::build::{self, Plan};
use crate::check;
use crate::failure::{Failure, Result};
use crate::process::{run, say};
use crate::repo::Repo;

/// Publishes the Worker, or with `--dry-run` does everything but that.
pub(crate) fn deploy(repo: &Repo, words: &[String]) -> Result<()> {
    let dry = match words {
        [] => false,
        [word] if word == "--dry-run" => true,
        _ => {
            return Err(
                Failure::new(format!("deploy does not know {:?}", words.join(" ")))
                    .remedy("cargo xtask deploy [--dry-run]"),
            );
        }
    };
    check::check_own(repo)?;
    build::build(repo, &Plan::deployed())?;
    let mut wrangler = Command::new(repo.npm_bin("wrangler"));
    wrangler
        .arg("deploy")
        .current_dir(repo.root())
        .env("WRANGLER_SEND_METRICS", "false");
    if dry {
        wrangler
            .arg("--dry-run")
            .arg("--outdir")
            .arg(repo.cache("dry-run"));
    }
    say(if dry {
        "wrangler deploy --dry-run"
    } else {
        "wrangler deploy"
    });
    run(
        &mut wrangler,
        "wrangler's own lines are above; `npx wrangler login` signs in",
    )
}
