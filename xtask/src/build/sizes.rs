//! What an isolate loads and a browser downloads, compressed, and the limits.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Plan, Worker};
use crate::failure::{Context, Failure, Result};
use crate::process::say;
use crate::repo::{Repo, files_under, read_bytes};

/// Kilobytes are 1,000 bytes here. A Worker may have 3 MB; what each cold start loads is to stay an eighth of that.
/// <https://developers.cloudflare.com/workers/platform/limits/#worker-size>
const EDGE_KB_MAX: f64 = 390.0;
const DASHBOARD_KB_MAX: f64 = 250.0;

/// Prints the size of each part of the plan, and fails when one is too large.
pub(super) fn check(repo: &Repo, plan: &Plan) -> Result<()> {
    for &worker in &plan.workers {
        let folder = repo.at(worker.folder);
        let files = [folder.join("index.js"), folder.join("index_bg.wasm")];
        let size = gzipped_kb(&files)?;
        // What is not deployed may weigh what it likes.
        let limit = (worker == Worker::EDGE).then_some(EDGE_KB_MAX);
        hold(worker.what, worker.folder, size, limit)?;
    }
    if plan.dashboard {
        let folder = "build/assets";
        let size = gzipped_kb(&files_under(&repo.at(folder))?)?;
        hold("dashboard", folder, size, Some(DASHBOARD_KB_MAX))?;
    }
    Ok(())
}

fn hold(what: &str, folder: &str, kb: f64, limit: Option<f64>) -> Result<()> {
    let Some(limit) = limit else {
        say(format!("{what}: {kb:.1} kB gzip in {folder}"));
        return Ok(());
    };
    say(format!(
        "{what}: {kb:.1} kB gzip in {folder} (limit {limit:.0} kB)"
    ));
    if kb <= limit {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{what} is {kb:.1} kB gzip, more than {limit:.0} kB"
    ))
    .remedy("look for a new dependency or a generic function compiled many times (`twiggy top`)"))
}

fn gzipped_kb(files: &[PathBuf]) -> Result<f64> {
    let mut bytes = 0_u32;
    for file in files {
        bytes += gzipped(file)?;
    }
    Ok(f64::from(bytes) / 1_000.0)
}

fn gzipped(file: &Path) -> Result<u32> {
    let doing = || format!("compress {}", file.display());
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&read_bytes(file)?).while_doing(doing)?;
    let compressed = encoder.finish().while_doing(doing)?;
    u32::try_from(compressed.len()).while_doing(doing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_itself_is_allowed() {
        assert!(hold("edge", "build/edge", 300.0, Some(300.0)).is_ok());
        assert!(hold("edge", "build/edge", 300.1, Some(300.0)).is_err());
        assert!(hold("edge (testing)", "build/edge-testing", 900.0, None).is_ok());
    }
}
