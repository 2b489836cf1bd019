//! What is remembered of one operation, and in which states it can be.
//!
//! Not the transitions (those are all in `decide`) and not the form at rest (`stored`).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::fingerprint::Fingerprint;
use crate::policy::OnUnknown;
use crate::time::Timestamp;

/// The most attempts that a record keeps the history of; older ones are dropped first (X5).
pub const HISTORY_MAX: usize = 16;

/// The most characters of a recovery point's name (X5).
pub const POINT_NAME_BYTES_MAX: usize = 64;
/// The most bytes of a recovery point's data (L5).
pub const POINT_DATA_BYTES_MAX: usize = 8 * 1024;
/// The most bytes of the origin's own reference for what it made (X5): a longer one is not kept.
pub const REFERENCE_BYTES_MAX: usize = 1024;

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
    /// The tokens that were let run once and are fenced off now (L3), oldest first, at most [`HISTORY_MAX`].
    pub superseded: Vec<AttemptId>,
    /// How far the origin said it came, for the attempt that takes over (L5).
    pub point: Option<RecoveryPoint>,
    /// The origin's own name for what it made, by which it can be asked (U3).
    pub reference: Option<String>,
    /// How often the resolver has sent or asked (U5).
    pub tries: u16,
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
        /// What happens to it by itself.
        next: Next,
    },
    /// The outcome is known and replayed.
    Completed {
        /// When it became known.
        at: Timestamp,
        /// By whose word.
        by: SettledBy,
        /// Live while `now < expires_at`; none is forever (P5, P6).
        expires_at: Option<Timestamp>,
        /// What is replayed.
        outcome: Outcome,
    },
}

/// What happens by itself to an operation whose outcome is unknown (U3, U5, U6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The resolver sends it again or asks the origin, not before this moment.
    Resolver(Timestamp),
    /// The origin is being asked; nobody else asks or sends before `until`.
    Asking {
        /// The token of the question.
        token: AttemptId,
        /// When its answer is no longer waited for.
        until: Timestamp,
    },
    /// Nothing: a retry runs it, where the route lets it, or a person settles it.
    Nobody,
    /// The next retry runs it, whatever the route says: an operator, or a recovery point without an effect, lets it.
    Retry,
}

/// By whose word an outcome is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettledBy {
    /// The attempt's own.
    Attempt,
    /// The origin's, when it was asked (U3).
    Probe,
    /// An operator's (U6).
    Operator,
}

/// How far an attempt came, in the origin's own words (L5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryPoint {
    name: String,
    data: String,
}

/// A recovery point that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointError {
    /// X5: no name, a long one, or one that no header or list could carry.
    #[error(
        "the name of a recovery point has 1 to {POINT_NAME_BYTES_MAX} characters of A-Z, a-z, 0-9, \".\", \"_\" and \"-\""
    )]
    Name,
    /// X5, L5: more than a record carries.
    #[error("{found} bytes of data are more than {POINT_DATA_BYTES_MAX}")]
    Data {
        /// The offending number.
        found: usize,
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
    /// The lease ran out with no word of how the attempt ended.
    LeaseRanOut,
    /// The attempt did not run to its end, and had saved a recovery point before (U4).
    Partly,
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
            Self::LeaseRanOut => {
                f.write_str("the attempt's lease ran out with no word of how it ended")
            }
            Self::Partly => f.write_str(
                "the attempt ended without an outcome after it had saved a recovery point",
            ),
        }
    }
}

impl RecoveryPoint {
    /// The point `name` with the origin's own `data`, if both are within their bounds.
    pub fn new(name: String, data: String) -> Result<Self, PointError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if name.is_empty() || name.len() > POINT_NAME_BYTES_MAX || !name.bytes().all(plain) {
            return Err(PointError::Name);
        }
        let found = data.len();
        if found > POINT_DATA_BYTES_MAX {
            return Err(PointError::Data { found });
        }
        Ok(Self { name, data })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the origin keeps with it.
    #[must_use]
    pub fn data(&self) -> &str {
        &self.data
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

    /// When the record needs attention although nobody calls: a lease ends, the resolver acts, a question is given up.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        match self.state {
            State::InProgress { lease_until } => Some(lease_until),
            State::Indeterminate {
                lease_until, next, ..
            } => match next {
                Next::Resolver(at) => Some(at.max(lease_until)),
                Next::Asking { until, .. } => Some(until),
                Next::Nobody | Next::Retry => None,
            },
            State::Completed { .. } => None,
        }
    }

    /// Whether nothing happens by itself to its unknown outcome.
    #[must_use]
    pub const fn is_left_alone(&self) -> bool {
        matches!(
            self.state,
            State::Indeterminate {
                next: Next::Nobody,
                ..
            }
        )
    }

    /// Whether somebody has to bring it to an end (U5): nothing happens to it by itself, nor with a sender's next delivery.
    #[must_use]
    pub fn needs_a_person(&self, on_unknown: OnUnknown) -> bool {
        match self.state {
            State::Indeterminate { next, .. } => match next {
                Next::Nobody | Next::Retry => on_unknown != OnUnknown::Rerun,
                Next::Resolver(_) | Next::Asking { .. } => false,
            },
            State::InProgress { .. } | State::Completed { .. } => false,
        }
    }

    /// Whether it is let run once more already, by a retry or by the resolver that is due at `now` (U6).
    #[must_use]
    pub fn may_run_again(&self, now: Timestamp) -> bool {
        match self.state {
            State::Indeterminate { next, .. } => match next {
                Next::Retry => true,
                Next::Resolver(at) => at <= now,
                Next::Asking { .. } | Next::Nobody => false,
            },
            State::InProgress { .. } | State::Completed { .. } => false,
        }
    }

    /// The token under which the origin is being asked.
    #[must_use]
    pub const fn asking(&self) -> Option<AttemptId> {
        match self.state {
            State::Indeterminate {
                next: Next::Asking { token, .. },
                ..
            } => Some(token),
            State::Indeterminate { .. } | State::InProgress { .. } | State::Completed { .. } => {
                None
            }
        }
    }

    /// When the last attempt was let run.
    #[must_use]
    pub fn last_dispatch(&self) -> Timestamp {
        self.history
            .last()
            .map_or(self.created_at, |attempt| attempt.started_at)
    }

    /// Whether `token` was let run once and is fenced off now.
    #[must_use]
    pub fn has_superseded(&self, token: AttemptId) -> bool {
        self.superseded.contains(&token)
    }

    /// Whether an attempt before the one whose outcome is kept may have had its effect too.
    #[must_use]
    pub const fn may_have_run_twice(&self) -> bool {
        self.unknown_before.is_some()
    }
}
