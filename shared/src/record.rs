//! What is remembered of one operation, and in which states it can be.
//!
//! Not the transitions (those are all in `decide`) and not the form at rest (`stored`).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::fingerprint::Fingerprint;
use crate::time::Timestamp;

/// The most attempts that a record keeps the history of; older ones are dropped first (X5).
pub const HISTORY_MAX: usize = 16;

/// The fencing token of one attempt: 128 random bits, because a counter starts again once its record is forgotten.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId([u8; 16]);

/// Which attempt it is, as the origin sees it. It only ever rises, also across release and expiry (L4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptNumber(u64);

/// All that is remembered of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What the first request looked like; another one under the same key is refused (A) or shown (F5).
    pub fingerprint: Fingerprint,
    /// The token of the last attempt that was let run.
    pub attempt: AttemptId,
    /// The number of that attempt.
    pub number: AttemptNumber,
    /// When the key was first claimed.
    pub created_at: Timestamp,
    /// Where the operation stands.
    pub state: State,
    /// What is unknown of an attempt before the last one: it may have had its effect, whatever the last one says (U4).
    pub unknown_before: Option<Unknown>,
    /// The attempts of this record, oldest first, at most [`HISTORY_MAX`].
    pub history: Vec<PastAttempt>,
}

/// Where an operation stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// An attempt holds the lease, or held it until it ran out without a word.
    InProgress {
        /// Held while `now < lease_until` (L2).
        lease_until: Timestamp,
    },
    /// Nobody knows what an attempt did (U2).
    Indeterminate {
        /// When, why, and after which attempt.
        unknown: Unknown,
        /// No other attempt starts before the lease of the last dispatch has run out (U3).
        lease_until: Timestamp,
    },
    /// The outcome is known and replayed.
    Completed {
        /// When it became known.
        at: Timestamp,
        /// Live while `now < expires_at`; none is forever (P5, P6).
        expires_at: Option<Timestamp>,
        /// What is replayed.
        outcome: Outcome,
    },
}

/// When an outcome became unknown, why, and after which attempt (U2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Since when.
    pub since: Timestamp,
    /// Why.
    pub cause: UnknownCause,
    /// The attempt after which nobody knew.
    pub number: AttemptNumber,
}

/// Why an outcome is unknown (U1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownCause {
    /// The origin did not answer within the deadline.
    Timeout,
    /// The line to the origin broke before its answer was complete.
    BrokenLine,
    /// The origin answered with a status that proves nothing.
    Status(u16),
    /// The origin said that it does not know.
    OriginSaid,
    /// The origin works on and will say later.
    Pending,
    /// The lease ran out with no word of how the attempt ended.
    LeaseRanOut,
}

/// The answer that is kept: an empty one is one too (P1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The HTTP status.
    pub status: u16,
    /// The stored headers, in the origin's order (A1).
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
}

/// The stored body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// All of it, as bytes.
    Kept(Vec<u8>),
    /// It was larger than the route keeps; the operation is done all the same (A2).
    Omitted {
        /// How large it was.
        bytes: u64,
    },
}

/// One attempt in a record's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastAttempt {
    /// Its number.
    pub number: AttemptNumber,
    /// When it was let run.
    pub started_at: Timestamp,
    /// How it ended; none while nobody has said.
    pub end: Option<AttemptEnd>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptEnd {
    /// When that became known.
    pub at: Timestamp,
    /// The ending.
    pub ending: Ending,
}

/// The three outcomes of an attempt (U1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Final, with this status.
    Final(u16),
    /// Not run; the status where the origin gave one.
    NotRun(Option<u16>),
    /// Unknown.
    Unknown(UnknownCause),
}

impl AttemptId {
    /// The token with these bits. The caller draws them at random.
    #[must_use]
    pub const fn from_bytes(bits: [u8; 16]) -> Self {
        Self(bits)
    }

    /// The bits.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Reads the 32 hex digits that [`Display`](fmt::Display) writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bits = [0; 16];
        hex::decode_to_slice(text, &mut bits).ok()?;
        Some(Self(bits))
    }
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttemptId({self})")
    }
}

impl AttemptNumber {
    /// The number `number`.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// As a plain number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for AttemptNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for UnknownCause {
    /// A fragment that fits "the outcome is unknown: …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("the origin did not answer in time"),
            Self::BrokenLine => {
                f.write_str("the line to the origin broke before its answer was complete")
            }
            Self::Status(status) => write!(f, "the origin answered {status}, which proves nothing"),
            Self::OriginSaid => f.write_str("the origin said that it does not know"),
            Self::Pending => f.write_str("the origin said that it works on"),
            Self::LeaseRanOut => {
                f.write_str("the attempt's lease ran out with no word of how it ended")
            }
        }
    }
}

impl Unknown {
    /// What is unknown of an attempt of which nothing was heard until its lease ended.
    #[must_use]
    pub const fn lease_ran_out(lease_until: Timestamp, number: AttemptNumber) -> Self {
        Self {
            since: lease_until,
            cause: UnknownCause::LeaseRanOut,
            number,
        }
    }

    /// Whether the last attempt itself, or an earlier one before it, gave the reason; a lease that ran out is nobody's word.
    #[must_use]
    pub fn is_said_by(&self, last: AttemptNumber) -> bool {
        self.number != last || self.cause != UnknownCause::LeaseRanOut
    }
}

impl Record {
    /// Whether the record still counts at `now`; an expired one is as good as none (P5, R1).
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        match self.state {
            State::Completed {
                expires_at: Some(end),
                ..
            } => now < end,
            State::Completed {
                expires_at: None, ..
            }
            | State::InProgress { .. }
            | State::Indeterminate { .. } => true, // U2: the unknown is not forgotten by retention
        }
    }

    /// What is unknown at `now`, a lease that ran out without a word included (U3).
    #[must_use]
    pub fn unknown(&self, now: Timestamp) -> Option<Unknown> {
        match self.state {
            State::InProgress { lease_until } if lease_until <= now => {
                Some(Unknown::lease_ran_out(lease_until, self.number))
            }
            State::Indeterminate { unknown, .. } => Some(unknown),
            State::InProgress { .. } | State::Completed { .. } => None,
        }
    }

    /// Whether an attempt before the one whose outcome is kept may have had its effect too.
    #[must_use]
    pub const fn may_have_run_twice(&self) -> bool {
        self.unknown_before.is_some()
    }
}
