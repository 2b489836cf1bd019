//! What an attempt came to, told to the object that owns the operation.
//!
//! A report that is not answered is repeated in the background until the attempt's lease ends: the object takes a
//! repeat for what it is (L7), and after the lease an outcome that nobody heard of is unknown.

use std::time::Duration;

use shared::time::Millis;

use super::{Attempt, Held};
use crate::clock;
use crate::message::{Answer, Call};
use crate::object_client::{CallError, PATIENCE};
use crate::site::Site;
use crate::telemetry::{Level, event};

/// The first pause between two tries; it doubles.
const PAUSE_MIN: Millis = Millis::from_secs(1);
/// The longest pause between two tries.
const PAUSE_MAX: Millis = Millis::from_secs(8);

/// Tells the object. Without an answer it goes on in the background, and the caller is told what is known: nothing.
pub(super) async fn report(
    attempt: &Attempt<'_>,
    held: &Held,
    call: Call,
    body: Vec<u8>,
) -> Result<(Answer, Vec<u8>), CallError> {
    #[cfg(feature = "testing")]
    crate::testing::maybe_twice(attempt, &call, &body, "complete-twice").await;
    let told = attempt.site.objects.ask(&call, &body, PATIENCE).await;
    if let Err(error) = &told {
        let id = attempt.id();
        event(
            Level::Error,
            "report_unanswered",
            &[("operation", &id), ("error", error)],
        );
        let left = held.lease.saturating_sub(clock::now().since(held.since));
        in_background_with(attempt.site, call, body, left);
    }
    told
}

/// Tells the object after the answer, for as long as `span`.
pub(super) fn in_background(site: &Site, call: Call, span: Millis) {
    in_background_with(site, call, Vec::new(), span);
}

fn in_background_with(site: &Site, mut call: Call, body: Vec<u8>, span: Millis) {
    call.fault = None; // a planted fault is for the first try
    let (objects, end) = (site.objects.clone(), clock::now().plus(span));
    site.go_on(async move {
        let mut pause = PAUSE_MIN;
        while let Err(error) = objects.ask(&call, &body, PATIENCE).await {
            if clock::now().plus(pause) >= end {
                event(Level::Error, "report_given_up", &[("error", &error)]);
                return;
            }
            worker::Delay::from(Duration::from_millis(pause.get())).await;
            pause = Millis::new(pause.get() * 2).min(PAUSE_MAX);
        }
    });
}
