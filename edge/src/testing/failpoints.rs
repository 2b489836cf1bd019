//! Places at the edges of synchronous sections where a test can have everything stop, to kill the process there.
//!
//! Not inside a section: what a section writes is one transaction, so a process dies before it or after it. Who waits
//! here keeps nothing shut: other messages are taken meanwhile, as they would be a moment before a machine is lost.

use std::cell::RefCell;
use std::time::Duration;

use crate::message::{self, Ask};
use crate::message_attempt::{AttemptReport, Said};
use crate::message_operator::OperatorMessage;
use crate::telemetry::{Level, event};

/// How long one wait lasts; it begins again. Without a timer the runtime would take the wait for code that hangs, and answer.
const WAIT: Duration = Duration::from_mins(10);

thread_local! {
    /// The place that is armed. The local runtime runs the Worker and its objects in one isolate, so all see it.
    static ARMED: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Arms a place, and disarms all others.
pub(crate) fn arm(place: &str) {
    ARMED.set(String::from(place));
}

/// Nothing goes on from a place that is armed, and the log says that it was reached.
pub(crate) async fn pass(place: &str) {
    if ARMED.with_borrow(|armed| armed == place) {
        event(Level::Warn, "failpoint", &[("place", &place)]);
        loop {
            worker::Delay::from(WAIT).await;
        }
    }
}

/// Before a synchronous section of this name.
pub(crate) async fn pass_before(section: &str) {
    pass(&format!("before-{section}")).await;
}

/// After it: what it wrote is on its way to the disk, and nobody has heard.
pub(crate) async fn pass_after(section: &str) {
    pass(&format!("after-{section}")).await;
}

/// The name of the section that takes a call.
pub(crate) const fn place_of(ask: &Ask) -> &'static str {
    match ask {
        Ask::Begin { .. } => "claim",
        Ask::Complete { .. } => "complete",
        Ask::Release { .. } => "release",
        Ask::Suspend { .. } => "suspend",
        Ask::Pending { .. } => "pending",
        Ask::Probed { .. } => "probed",
        Ask::Abandon { .. } => "abandon",
        Ask::Look { .. } | Ask::Status { .. } | Ask::Note { .. } => "look",
    }
}

/// The name of the section that takes an origin's report.
pub(crate) fn place_of_report(bytes: &[u8]) -> &'static str {
    match message::decode::<AttemptReport>(bytes).map(|(report, _)| report.said) {
        Ok(Said::Extend(_)) => "extend",
        Ok(Said::Checkpoint { .. }) => "checkpoint",
        Ok(Said::Complete(_)) => "callback-complete",
        Ok(Said::Release) => "callback-release",
        Ok(Said::ReadPoint) | Err(_) => "look",
    }
}

/// The name of the section that takes an operator's message.
pub(crate) fn place_of_order(bytes: &[u8]) -> &'static str {
    match shared::json::read(bytes) {
        Ok(OperatorMessage::Settle(_)) => "settle",
        Ok(_) | Err(_) => "look",
    }
}
