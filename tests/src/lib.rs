//! End to end: a local `wrangler dev`, an origin on loopback that counts what it does, real signatures and a real
//! browser. The suites lie in `tests/`, one file a subject, and meet the gateway over HTTP alone.
//!
//! Not here: the rule (its tables live beside it in `shared`), and anything that reaches past loopback.
//!
//! How effects are counted: every request carries a number of its own, which the origin notes together with the
//! operation it was told. An effect done twice shows as two notes of one operation, whoever asked for it.

#![expect(
    clippy::missing_panics_doc,
    reason = "a harness fails by panicking, with a message that says what went wrong"
)]

pub mod attempt;
pub mod browser;
pub mod client;
pub mod deadline;
pub mod desk;
pub mod keys;
pub mod local;
pub mod origin;
pub mod plan;
pub mod process;
pub mod raw;
pub mod session;
pub mod settings;
pub mod signatures;
pub mod traffic;

use std::future::Future;
use std::path::PathBuf;
use std::sync::LazyLock;
use tokio::runtime::Runtime;

// One runtime for the whole test process: a session and its origin outlive the test that started them.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap_or_else(|error| panic!("failed to start the runtime: {error}"))
});

/// Runs one test on the runtime that all tests of this process share.
pub fn run<F: Future>(test: F) -> F::Output {
    RUNTIME.block_on(test)
}

/// Runs all of them at once, and answers what came of each, in order. The first that fails is the failure of all.
///
/// # Panics
/// When one of them does.
pub async fn at_once<F>(jobs: impl IntoIterator<Item = F>) -> Vec<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    let started: Vec<_> = jobs.into_iter().map(tokio::spawn).collect();
    let mut done = Vec::with_capacity(started.len());
    for job in started {
        match job.await {
            Ok(output) => done.push(output),
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
    }
    done
}

/// The repository's root.
#[must_use]
pub fn repository() -> PathBuf {
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    crate_folder
        .parent()
        .map_or_else(|| crate_folder.clone(), PathBuf::from)
}
