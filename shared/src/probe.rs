//! Asking an origin what became of an operation whose outcome nobody knows: what is asked, and what the answer
//! proves (U3).
//!
//! Not the asking, and not when it is due (U5). An answer proves something only by the origin's explicit word, or by a
//! status and a member of its body together. All else leaves the outcome unknown: a mistyped path, a balancer, an
//! expired credential and an empty list have statuses of their own, and settling by them would run work twice.

mod template;

use alloc::string::String;

use serde_json::Value;

pub use self::template::{
    ProbeError, TARGET_BYTES_MAX, TEMPLATE_BYTES_MAX, Template, TemplateError,
};
use crate::canonical::canonical_form;
use crate::classify::{Verdict, of_word};
use crate::json;
use crate::pointer::Pointer;
use crate::time::Millis;

/// The most bytes of a probe's answer that are looked into (X5): as many as an outcome keeps by default.
pub const PROBE_BODY_BYTES_MAX: usize = crate::policy::OUTCOME_BODY_DEFAULT;
/// The longest `quiet` that a route may ask for (X5): as long as an attempt may be extended.
pub const QUIET_MAX: Millis = crate::policy::MAX_LEASE_MAX;

/// How a route's origin is asked, and what settles an outcome beside its explicit word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    template: Template,
    found: Option<Expected>,
    absent: Option<Absent>,
    status: Option<u16>,
}

/// An answer that proves something: this status, and this scalar at this place of a JSON body. Never a status alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    status: u16,
    pointer: Pointer,
    /// The scalar in the one form that [`json::text`] gives it, in which equal ones are equal.
    equals: String,
}

/// The answer that proves that the work was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// What the answer has to be.
    pub expected: Expected,
    /// How long after the last dispatch it proves nothing yet: what was sent may still be under way.
    pub quiet: Millis,
}

/// Parts that make no probe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeFault {
    /// A status that no answer has.
    #[error("status {found} is not within 200 and 599")]
    Status {
        /// The offending status.
        found: u16,
    },
    /// An object, a list, or a number that no double holds, which many a JSON parser would change.
    #[error("{found} is no text, truth value or null, nor a number that a double holds")]
    Equals {
        /// The offending value as JSON.
        found: String,
    },
    /// No time at all, or so much that nothing would ever be settled.
    #[error("quiet of {} ms is not within 1 and {} ms", found.get(), QUIET_MAX.get())]
    Quiet {
        /// The offending span.
        found: Millis,
    },
    /// One answer that would prove both.
    #[error("the same answer would be both found and absent")]
    FoundIsAbsent,
}

/// The answer to a probe, as far as it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeAnswer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The value of `Oncegate-Outcome`, if there was one.
    pub outcome: Option<&'a str>,
    /// The body, decoded and whole.
    pub body: &'a [u8],
}

/// What an answer to a probe proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The work is done; the answer is its outcome.
    Final,
    /// The work was not done, and what was sent until now will not do it.
    NotRun,
    /// Nothing.
    Unknown(Unproven),
}

/// Why an answer proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unproven {
    /// The origin said so, or a word that is none.
    OriginSaid,
    /// Neither predicate is about this answer.
    Unmatched,
    /// Both are.
    Contradictory,
    /// It says that the work was not done, sooner after the last dispatch than that is believed.
    TooEarly,
    /// The body is over [`PROBE_BODY_BYTES_MAX`].
    TooLarge,
    /// The body is no JSON, or one that two parsers may read differently.
    Unreadable,
}

impl Unproven {
    /// In words, for operators.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OriginSaid => "the origin said that it does not know",
            Self::Unmatched => "the probe's answer is neither what found nor what absent expects",
            Self::Contradictory => "the probe's answer is both what found and what absent expects",
            Self::TooEarly => "the origin has no trace of it, but the last dispatch is too recent",
            Self::TooLarge => "the probe's answer is too large to look into",
            Self::Unreadable => "the probe's answer is not json with one meaning",
        }
    }
}

impl Expected {
    /// An answer with this status whose body has the scalar `equals` at `pointer`. Numbers are equal by value, so
    /// `1.0` is `1`.
    pub fn new(status: u16, pointer: Pointer, equals: &Value) -> Result<Self, ProbeFault> {
        if !(200..600).contains(&status) {
            return Err(ProbeFault::Status { found: status });
        }
        let is_scalar = !equals.is_object() && !equals.is_array();
        let equals = json::text(equals);
        if !is_scalar || canonical_form(equals.as_bytes(), &[]).is_err() {
            return Err(ProbeFault::Equals { found: equals });
        }
        Ok(Self {
            status,
            pointer,
            equals,
        })
    }

    fn holds(&self, status: u16, body: &Value) -> bool {
        let found = member(body, &self.pointer);
        self.status == status && found.is_some_and(|found| json::text(found) == self.equals)
    }
}

impl Probe {
    /// Checks the parts against each other. `status` is the one with which a found outcome is replayed where the
    /// probe's answer does not give one itself; without it, the status of that answer counts.
    pub fn new(
        template: Template,
        found: Option<Expected>,
        absent: Option<Absent>,
        status: Option<u16>,
    ) -> Result<Self, ProbeFault> {
        if let Some(found) = status.filter(|status| !(200..600).contains(status)) {
            return Err(ProbeFault::Status { found });
        }
        if let Some(absent) = &absent {
            let quiet = absent.quiet;
            if quiet.get() == 0 || quiet > QUIET_MAX {
                return Err(ProbeFault::Quiet { found: quiet });
            }
            if found.as_ref() == Some(&absent.expected) {
                return Err(ProbeFault::FoundIsAbsent);
            }
        }
        Ok(Self {
            template,
            found,
            absent,
            status,
        })
    }

    /// The path, with its query, at which the origin is asked. `reference` is the origin's own for what it made, `point`
    /// the data of the last recovery point; the error names what is missing of them.
    pub fn expand(
        &self,
        operation: &str,
        reference: Option<&str>,
        point: Option<&str>,
    ) -> Result<String, ProbeError> {
        self.template.expand(operation, reference, point)
    }

    /// How long after the last dispatch the absence of a trace proves nothing, where the route believes in it at all.
    #[must_use]
    pub fn quiet(&self) -> Option<Millis> {
        self.absent.as_ref().map(|absent| absent.quiet)
    }

    /// The status with which a found outcome is replayed, where the probe's answer does not give one itself.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        self.status
    }

    /// What an answer proves that came `since_dispatch` after the last dispatch. A word of the origin, clear or not, counts
    /// alone; only without one do the predicates.
    #[must_use]
    pub fn judge(&self, answer: ProbeAnswer<'_>, since_dispatch: Millis) -> Finding {
        match answer.outcome.map(of_word) {
            Some(Verdict::Final) => Finding::Final,
            Some(Verdict::NotRun) => Finding::NotRun,
            Some(Verdict::Unknown(_) | Verdict::Pending) => Finding::Unknown(Unproven::OriginSaid),
            None => self.judge_by_predicates(answer, since_dispatch),
        }
    }

    fn judge_by_predicates(&self, answer: ProbeAnswer<'_>, since_dispatch: Millis) -> Finding {
        let absent = self.absent.as_ref().map(|absent| &absent.expected);
        let mut expected = self.found.iter().chain(absent);
        if !expected.any(|expected| expected.status == answer.status) {
            return Finding::Unknown(Unproven::Unmatched);
        }
        if answer.body.len() > PROBE_BODY_BYTES_MAX {
            return Finding::Unknown(Unproven::TooLarge);
        }
        let Some(body) = read(answer.body) else {
            return Finding::Unknown(Unproven::Unreadable);
        };
        let holds = |expected: Option<&Expected>| {
            expected.is_some_and(|expected| expected.holds(answer.status, &body))
        };
        match (holds(self.found.as_ref()), holds(absent)) {
            (true, true) => Finding::Unknown(Unproven::Contradictory),
            (true, false) => Finding::Final,
            (false, true) if self.quiet().is_some_and(|quiet| since_dispatch >= quiet) => {
                Finding::NotRun
            }
            (false, true) => Finding::Unknown(Unproven::TooEarly),
            (false, false) => Finding::Unknown(Unproven::Unmatched),
        }
    }
}

/// A body that has one meaning for every parser: no member twice, no number that loses digits (as F2 has it).
fn read(body: &[u8]) -> Option<Value> {
    let canonical = canonical_form(body, &[]).ok()?;
    serde_json::from_slice(&canonical).ok()
}

/// What `pointer` names in `document` (RFC 6901 §4).
fn member<'a>(document: &'a Value, pointer: &Pointer) -> Option<&'a Value> {
    let mut here = document;
    for token in pointer.tokens() {
        here = match here {
            Value::Object(members) => members.get(token)?,
            Value::Array(items) => items.get(index(token)?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(here)
}

/// Digits without a leading zero.
fn index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit())
        && (token == "0" || !token.starts_with('0'));
    token.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests;
