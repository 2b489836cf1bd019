//! Waiting for something to become true: asking again until a deadline, never sleeping for a fixed time and hoping.

use std::future::Future;
use std::time::{Duration, Instant};

/// How often a question is asked again.
const PAUSE: Duration = Duration::from_millis(25);

/// Asks until the answer is there.
///
/// # Panics
/// When `within` has passed without one; the message names `what` was awaited.
pub async fn eventually<T, F, R>(what: &str, within: Duration, ask: F) -> T
where
    F: FnMut() -> R,
    R: Future<Output = Option<T>>,
{
    eventually_each(PAUSE, what, within, ask).await
}

/// The same with a pause of its own: many that ask at once would be all that the gateway does.
///
/// # Panics
/// As [`eventually`].
pub async fn eventually_each<T, F, R>(
    pause: Duration,
    what: &str,
    within: Duration,
    mut ask: F,
) -> T
where
    F: FnMut() -> R,
    R: Future<Output = Option<T>>,
{
    let deadline = Instant::now() + within;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "not within {within:?}: {what}");
        tokio::time::sleep(pause).await;
    }
}

/// Waits for a future, but not longer than `within`.
///
/// # Panics
/// When it is not done by then; the message names `what` hung.
pub async fn within<T>(what: &str, within: Duration, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(within, future).await;
    done.unwrap_or_else(|_elapsed| panic!("hung for {within:?}: {what}"))
}

/// Watches that something stays as it is for a while: the only way to see that a thing does not happen.
///
/// # Panics
/// When it changes; the message names `what` should have held.
pub async fn holds(what: &str, span: Duration, is_so: impl Fn() -> bool) {
    let end = Instant::now() + span;
    while Instant::now() < end {
        assert!(is_so(), "did not hold for {span:?}: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
