//! What an origin says about its running attempt, on its way from the Worker to the operations object (L5).
//!
//! The Worker knows no more than the operation's id and the token: the object knows the rest. The body of an outcome
//! follows the head, as in `message`.

use serde::{Deserialize, Serialize};
use shared::time::{Millis, Timestamp};

use crate::message::{OutcomeHead, Token};

/// An origin's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttemptReport {
    /// The digest of the operation's key, as in its id.
    pub(crate) digest: String,
    /// The attempt's token: it alone authorises.
    pub(crate) token: Token,
    /// What is reported.
    pub(crate) said: Said,
}

/// What is reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// It needs longer.
    Extend(Millis),
    /// It came this far.
    Checkpoint {
        /// The point's name.
        name: String,
        /// What the origin keeps with it.
        data: String,
    },
    /// How far did an attempt before come?
    ReadPoint,
    /// It ended with this outcome.
    Complete(OutcomeHead),
    /// It did not run.
    Release,
}

/// What the object answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportAnswer {
    /// The lease runs until then.
    Extended(Timestamp),
    /// The point is kept.
    Saved,
    /// The point that is kept, if there is one: its name and data.
    Point(Option<(String, String)>),
    /// The outcome is kept.
    Recorded,
    /// Nothing is kept of the attempt.
    Released,
    /// An attempt before may have run, or a step of this one did: it stays unknown (U4).
    StillUnknown,
    /// The token does not count, or not any more.
    Superseded,
    /// The attempt has ended.
    Ended,
    /// The report itself is wrong; why.
    Refused(String),
    /// The object could not do it.
    Failed(String),
}
