//! The published partition of calls (P8) as the overview names, colours and stacks it.
//!
//! Every counter of `Counts` is in exactly one series, so that the stack's height is the number of calls.

use shared::wire::Counts;

/// One colour of the chart, one tile of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    /// Ran, and the outcome is kept.
    Applied,
    /// Answered from the record.
    Replayed,
    /// Ran at the origin without effect; nothing is kept.
    Released,
    /// Met the same request still running.
    Conflicts,
    /// Named another request by the same key.
    Mismatches,
    /// Webhooks that the origin failed.
    Failed,
    /// Ended with nobody knowing.
    Unknown,
    /// The rest: refused at the door, expired keys, unprotected, superseded.
    Other,
}

impl Series {
    /// All, from the bottom of the stack to its top: the ordinary at the bottom, what needs a look on top.
    pub(crate) const ALL: [Self; 8] = [
        Self::Applied,
        Self::Replayed,
        Self::Released,
        Self::Other,
        Self::Conflicts,
        Self::Mismatches,
        Self::Failed,
        Self::Unknown,
    ];

    /// All, in the order of numbers and columns: what needs a look before the rest.
    pub(crate) const SHOWN: [Self; 8] = [
        Self::Applied,
        Self::Replayed,
        Self::Conflicts,
        Self::Mismatches,
        Self::Failed,
        Self::Released,
        Self::Unknown,
        Self::Other,
    ];

    /// How many calls of `counts` are in it.
    pub(crate) const fn of(self, counts: &Counts) -> u64 {
        match self {
            Self::Applied => counts.applied,
            Self::Replayed => counts.replayed,
            Self::Released => counts.released,
            Self::Conflicts => counts.conflicts,
            Self::Mismatches => counts.mismatches,
            Self::Failed => counts.failed,
            Self::Unknown => counts.unknown,
            Self::Other => counts.expired + counts.refused + counts.unprotected + counts.superseded,
        }
    }

    /// Its name on the page.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Applied => "Applied",
            Self::Replayed => "Replayed",
            Self::Released => "Released",
            Self::Conflicts => "Conflicts",
            Self::Mismatches => "Mismatches",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
            Self::Other => "Other",
        }
    }

    /// What it counts, for those who meet the word for the first time.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Applied => "ran at the origin; the outcome is kept",
            Self::Replayed => "answered from the record, nothing ran",
            Self::Released => "the origin did not do the work; nothing is kept",
            Self::Conflicts => "the same request was still running (409 or 503)",
            Self::Mismatches => "the key named another request (422)",
            Self::Failed => "webhooks that the origin failed; the next delivery runs again",
            Self::Unknown => "ended with nobody knowing the outcome, or met such an operation",
            Self::Other => "refused at the door, expired keys, unprotected, superseded",
        }
    }

    /// The classes of its little square of colour.
    pub(crate) fn swatch(self) -> String {
        format!("swatch c-{}", self.name())
    }

    /// Its name in class names and test hooks.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Replayed => "replayed",
            Self::Released => "released",
            Self::Conflicts => "conflicts",
            Self::Mismatches => "mismatches",
            Self::Failed => "failed",
            Self::Unknown => "unknown-calls",
            Self::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_in_exactly_one_series() {
        let counts = Counts {
            applied: 1,
            replayed: 2,
            conflicts: 4,
            mismatches: 8,
            released: 16,
            failed: 32,
            unknown: 64,
            expired: 128,
            refused: 256,
            unprotected: 512,
            superseded: 1_024,
        };
        let sum: u64 = Series::ALL.iter().map(|series| series.of(&counts)).sum();
        assert_eq!(sum, counts.calls());
    }

    #[test]
    fn names_are_distinct() {
        for (index, one) in Series::ALL.iter().enumerate() {
            assert!(Series::SHOWN.contains(one));
            for other in &Series::ALL[index + 1..] {
                assert_ne!(one.name(), other.name());
                assert_ne!(one.label(), other.label());
            }
        }
    }
}
