//! Why a delivery is refused, and what would do.
//!
//! Neither a secret nor a signature nor the body is repeated (X4): only header names, times and the event's id.

use alloc::string::String;

use crate::scope::ScopeError;
use crate::time::{Millis, Timestamp};

/// A delivery that is refused; nothing is written of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The signature does not hold: 401 `signature_invalid`.
    #[error(transparent)]
    Signature(SignatureProblem),
    /// The signature holds, but there is no event to be seen: 400 `event_unreadable`.
    #[error(transparent)]
    Event(EventProblem),
}

/// Why a signature does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureProblem {
    /// No such header.
    #[error("header {name} is missing")]
    HeaderMissing {
        /// Its name in lower case.
        name: &'static str,
    },
    /// Two lines of a header that is one.
    #[error("header {name} is there more than once")]
    HeaderTwice {
        /// Its name in lower case.
        name: &'static str,
    },
    /// A header that does not say what it should.
    #[error("header {name} has no {expected}")]
    HeaderMalformed {
        /// Its name in lower case.
        name: &'static str,
        /// What it should contain.
        expected: &'static str,
    },
    /// More signatures than any sender sends.
    #[error(
        "header {name} has {found} signatures, more than {}",
        super::SIGNATURES_MAX
    )]
    TooManySignatures {
        /// Its name in lower case.
        name: &'static str,
        /// How many.
        found: usize,
    },
    /// An id that could be cut elsewhere without changing what was signed.
    #[error(
        "header {name} is {found}, which contains a \".\" and so is not told apart from the time behind it"
    )]
    AmbiguousId {
        /// Its name in lower case.
        name: &'static str,
        /// The id, quoted.
        found: String,
    },
    /// No secret made any of the signatures.
    #[error("none of {signatures} signatures was made with any of {secrets} secrets")]
    NoMatch {
        /// How many signatures there were.
        signatures: usize,
        /// How many secrets the route has.
        secrets: usize,
    },
    /// Signed long before or after it came in.
    #[error("signed at {signed_at}, which is more than {} ms from the arrival at {arrived}", tolerance.get())]
    OutsideTolerance {
        /// When it says it was signed.
        signed_at: Timestamp,
        /// When it came in.
        arrived: Timestamp,
        /// How far the two may be apart.
        tolerance: Millis,
    },
}

/// Why a delivery has no event to be seen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventProblem {
    /// The body is not a JSON object with its members once.
    #[error(
        "the body is not a json object whose id and type are there once (line {line}, column {column})"
    )]
    NotAnEnvelope {
        /// The line of the body where that shows.
        line: usize,
        /// The column in that line.
        column: usize,
    },
    /// No id: a missing value is no key, never "".
    #[error("the body has no id")]
    IdMissing,
    /// An id that is not a text.
    #[error("the body's id is {found} instead of a string")]
    IdNotText {
        /// What kind of value it is.
        found: &'static str,
    },
    /// An id that cannot be a key.
    #[error("the event's id is none: {0}")]
    IdInvalid(ScopeError),
}

impl EventProblem {
    pub(super) fn not_an_envelope(error: &serde_json::Error) -> Self {
        Self::NotAnEnvelope {
            line: error.line(),
            column: error.column(),
        }
    }

    pub(super) fn id_not_text(found: &serde_json::Value) -> Self {
        let found = match found {
            serde_json::Value::Null => "null",
            serde_json::Value::Bool(_) => "a boolean",
            serde_json::Value::Number(_) => "a number",
            serde_json::Value::String(_) => "a string",
            serde_json::Value::Array(_) => "an array",
            serde_json::Value::Object(_) => "an object",
        };
        Self::IdNotText { found }
    }
}

impl Refusal {
    /// What the one who set up the sender or the route can do about it.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Signature(problem) => match problem {
                SignatureProblem::HeaderMissing { .. }
                | SignatureProblem::HeaderTwice { .. }
                | SignatureProblem::HeaderMalformed { .. }
                | SignatureProblem::TooManySignatures { .. } => {
                    "check that the route's scheme is that of the sender, and that no proxy drops or adds headers"
                }
                SignatureProblem::AmbiguousId { .. } => "let the sender use ids without \".\"",
                SignatureProblem::NoMatch { .. } => {
                    "check that the endpoint's secret at the sender is one of the route's, and that no proxy changes the body"
                }
                SignatureProblem::OutsideTolerance { .. } => {
                    "check the sender's clock, or send the event again so that it is signed anew"
                }
            },
            Self::Event(_) => "check that the route's scheme is that of the sender",
        }
    }
}
