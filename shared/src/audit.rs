//! What is logged of an operation beside its record: who settled it, and which late reports came afterwards (U6, L3).
//!
//! Append-only. Not the record itself, which says where the operation stands, and not the log of the process. An
//! entry is written in the transaction of the change that it tells of.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::record::{AttemptId, AttemptNumber, Record, State};
use crate::time::Timestamp;

/// The most characters of a reason (X5).
pub const REASON_CHARS_MAX: usize = 500;

/// One act or event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What names this entry: the token of the settlement, or of the late report. The same one is logged once (L7).
    pub id: AttemptId,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: By,
    /// What.
    pub act: Act,
    /// Why, in the words of who did it.
    pub reason: String,
    /// Where the operation stood before, in a sentence.
    pub before: String,
    /// Where it stands after.
    pub after: String,
    /// The last attempt that it speaks of.
    pub number: AttemptNumber,
    /// The tokens that were let run and that this act fenced off: what they report later contradicts it.
    pub fenced: Vec<AttemptId>,
}

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// An operator of this name.
    Operator(String),
    /// The origin, when it was asked.
    Probe,
    /// An attempt that had been fenced off.
    Attempt,
}

/// What was done or reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It took effect: this status is replayed.
    Succeeded(u16),
    /// It did not happen: the record is forgotten.
    DidNotHappen,
    /// It may run once more.
    TryAgain,
    /// An attempt that was fenced off reported this final status: kept as evidence (L3).
    LateFinal {
        /// The status it reported.
        status: u16,
        /// Whether that contradicts a release or a settlement: somebody has to look.
        contradicts: bool,
    },
}

/// Where an operation stands, as the log says it.
#[must_use]
pub fn standing(record: Option<&Record>, now: Timestamp) -> String {
    let Some(record) = record.filter(|record| record.is_live(now)) else {
        return String::from("no record: the next request runs");
    };
    let number = record.number;
    if let Some(unknown) = record.unknown(now) {
        let (since, cause) = (unknown.since, unknown.cause);
        let next = if record.may_run_again(now) {
            "; it may run once more"
        } else {
            ""
        };
        return format!("unknown since {since}, attempt {number}: {cause}{next}");
    }
    match &record.state {
        State::Completed { outcome, .. } => {
            format!("completed with status {}, attempt {number}", outcome.status)
        }
        State::InProgress { lease_until } | State::Indeterminate { lease_until, .. } => {
            format!("attempt {number} runs until {lease_until}")
        }
    }
}
