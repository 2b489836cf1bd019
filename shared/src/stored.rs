//! The form of a record at rest: JSON with a version, beside which the body lies as bytes.
//!
//! Not the rule's own types and not what goes over the wire: a field added later has a default, and what an
//! older version wrote is read for as long as it can be kept. Pinned by literals below.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::fingerprint::Fingerprint;
use crate::json;
use crate::record::{
    AttemptEnd, AttemptId, AttemptNumber, Body, Ending, Next, Outcome, PastAttempt, Record,
    RecoveryPoint, SettledBy, State, Unknown, UnknownCause,
};
use crate::time::Timestamp;

pub mod entry;

/// The version that is written.
const VERSION: u16 = 1;

/// A stored form that can't be read. The record is kept as it is, and its operation is refused: it may have run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoredError {
    /// Not JSON, or not a record.
    #[error("stored record is unreadable: {reason}")]
    Unreadable {
        /// What the parser says.
        reason: String,
    },
    /// Written by a later version.
    #[error("stored record has version {found}, this is version {VERSION}")]
    Later {
        /// The version that was found.
        found: u16,
    },
}

/// The text form of `record`, and the body's bytes where it has one.
#[must_use]
pub fn write(record: &Record) -> (String, Option<&[u8]>) {
    let form = RecordForm::from(record);
    // A map with text keys and finite numbers always has a JSON form.
    let text = serde_json::to_string(&form).unwrap_or_default();
    let body = match &record.state {
        State::Completed {
            outcome:
                Outcome {
                    body: Body::Kept(bytes),
                    ..
                },
            ..
        } => Some(bytes.as_slice()),
        State::Completed { .. } | State::InProgress { .. } | State::Indeterminate { .. } => None,
    };
    (text, body)
}

/// Reads what [`write`] gave.
pub fn read(text: &str, body: Vec<u8>) -> Result<Record, StoredError> {
    let form: RecordForm = json::read(text.as_bytes()).map_err(unreadable)?;
    if form.version > VERSION {
        return Err(StoredError::Later {
            found: form.version,
        });
    }
    form.into_record(body)
}

#[derive(Serialize, Deserialize)]
struct RecordForm {
    #[serde(rename = "v")]
    version: u16,
    fingerprint: Fingerprint,
    attempt: Hex,
    number: u64,
    created_at: Timestamp,
    state: StateForm,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unknown_before: Option<UnknownForm>,
    #[serde(default)]
    history: Vec<PastForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<Hex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    point: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    tries: u16,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes fields by reference"
)]
const fn is_zero(tries: &u16) -> bool {
    *tries == 0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateForm {
    InProgress {
        lease_until: Timestamp,
    },
    Indeterminate {
        unknown: UnknownForm,
        lease_until: Timestamp,
        #[serde(default)]
        next: NextForm,
    },
    Completed {
        at: Timestamp,
        #[serde(default, skip_serializing_if = "ByForm::is_the_attempts")]
        by: ByForm,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        status: u16,
        headers: Vec<(String, String)>,
        /// The size of a body that was too large to keep.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        omitted: Option<u64>,
    },
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NextForm {
    Resolver(Timestamp),
    Asking {
        token: Hex,
        until: Timestamp,
    },
    /// What was stored before anything happened by itself.
    #[default]
    Nobody,
    Retry,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ByForm {
    #[default]
    Attempt,
    Probe,
    Operator,
}

impl ByForm {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes fields by reference"
    )]
    const fn is_the_attempts(&self) -> bool {
        matches!(self, Self::Attempt)
    }
}

/// A token as 32 hex digits.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Hex(AttemptId);

impl TryFrom<String> for Hex {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        AttemptId::parse(&text)
            .map(Self)
            .ok_or_else(|| alloc::format!("attempt \"{text}\" is not 32 hex digits"))
    }
}

impl From<Hex> for String {
    fn from(token: Hex) -> Self {
        token.0.to_string()
    }
}

#[derive(Serialize, Deserialize)]
struct UnknownForm {
    since: Timestamp,
    cause: CauseForm,
    number: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CauseForm {
    Timeout,
    BrokenLine,
    Status(u16),
    #[serde(alias = "pending")]
    OriginSaid,
    LeaseRanOut,
    Partly,
}

#[derive(Serialize, Deserialize)]
struct PastForm {
    number: u64,
    started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<EndForm>,
}

#[derive(Serialize, Deserialize)]
struct EndForm {
    at: Timestamp,
    ending: EndingForm,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EndingForm {
    Final(u16),
    NotRun(Option<u16>),
    Unknown(CauseForm),
}

impl From<&Record> for RecordForm {
    fn from(record: &Record) -> Self {
        Self {
            version: VERSION,
            fingerprint: record.fingerprint,
            attempt: Hex(record.attempt),
            number: record.number.get(),
            created_at: record.created_at,
            state: StateForm::from(&record.state),
            unknown_before: record.unknown_before.map(UnknownForm::from),
            history: record.history.iter().map(PastForm::from).collect(),
            superseded: record.superseded.iter().copied().map(Hex).collect(),
            point: record
                .point
                .as_ref()
                .map(|point| (point.name().to_string(), point.data().to_string())),
            reference: record.reference.clone(),
            tries: record.tries,
        }
    }
}

impl RecordForm {
    fn into_record(self, body: Vec<u8>) -> Result<Record, StoredError> {
        let point = match self.point {
            None => None,
            Some((name, data)) => Some(RecoveryPoint::new(name, data).map_err(unreadable)?),
        };
        Ok(Record {
            fingerprint: self.fingerprint,
            attempt: self.attempt.0,
            number: AttemptNumber::new(self.number),
            created_at: self.created_at,
            state: self.state.into_state(body),
            unknown_before: self.unknown_before.map(Unknown::from),
            history: self.history.into_iter().map(PastAttempt::from).collect(),
            superseded: self.superseded.into_iter().map(|token| token.0).collect(),
            point,
            reference: self.reference,
            tries: self.tries,
        })
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "this is the form that map_err takes"
)]
fn unreadable(reason: impl ToString) -> StoredError {
    StoredError::Unreadable {
        reason: reason.to_string(),
    }
}

impl From<&State> for StateForm {
    fn from(state: &State) -> Self {
        match state {
            State::InProgress { lease_until } => Self::InProgress {
                lease_until: *lease_until,
            },
            State::Indeterminate {
                unknown,
                lease_until,
                next,
            } => Self::Indeterminate {
                unknown: UnknownForm::from(*unknown),
                lease_until: *lease_until,
                next: NextForm::from(*next),
            },
            State::Completed {
                at,
                by,
                expires_at,
                outcome,
            } => Self::Completed {
                at: *at,
                by: match by {
                    SettledBy::Attempt => ByForm::Attempt,
                    SettledBy::Probe => ByForm::Probe,
                    SettledBy::Operator => ByForm::Operator,
                },
                expires_at: *expires_at,
                status: outcome.status,
                headers: outcome.headers.clone(),
                omitted: match outcome.body {
                    Body::Kept(_) => None,
                    Body::Omitted { bytes } => Some(bytes),
                },
            },
        }
    }
}

impl StateForm {
    fn into_state(self, body: Vec<u8>) -> State {
        match self {
            Self::InProgress { lease_until } => State::InProgress { lease_until },
            Self::Indeterminate {
                unknown,
                lease_until,
                next,
            } => State::Indeterminate {
                unknown: unknown.into(),
                lease_until,
                next: next.into(),
            },
            Self::Completed {
                at,
                by,
                expires_at,
                status,
                headers,
                omitted,
            } => {
                let body = omitted.map_or(Body::Kept(body), |bytes| Body::Omitted { bytes });
                State::Completed {
                    at,
                    by: match by {
                        ByForm::Attempt => SettledBy::Attempt,
                        ByForm::Probe => SettledBy::Probe,
                        ByForm::Operator => SettledBy::Operator,
                    },
                    expires_at,
                    outcome: Outcome {
                        status,
                        headers,
                        body,
                    },
                }
            }
        }
    }
}

impl From<Next> for NextForm {
    fn from(next: Next) -> Self {
        match next {
            Next::Resolver(at) => Self::Resolver(at),
            Next::Asking { token, until } => Self::Asking {
                token: Hex(token),
                until,
            },
            Next::Nobody => Self::Nobody,
            Next::Retry => Self::Retry,
        }
    }
}

impl From<NextForm> for Next {
    fn from(form: NextForm) -> Self {
        match form {
            NextForm::Resolver(at) => Self::Resolver(at),
            NextForm::Asking { token, until } => Self::Asking {
                token: token.0,
                until,
            },
            NextForm::Nobody => Self::Nobody,
            NextForm::Retry => Self::Retry,
        }
    }
}

impl From<Unknown> for UnknownForm {
    fn from(unknown: Unknown) -> Self {
        Self {
            since: unknown.since,
            cause: unknown.cause.into(),
            number: unknown.number.get(),
        }
    }
}

impl From<UnknownForm> for Unknown {
    fn from(form: UnknownForm) -> Self {
        Self {
            since: form.since,
            cause: form.cause.into(),
            number: AttemptNumber::new(form.number),
        }
    }
}

impl From<UnknownCause> for CauseForm {
    fn from(cause: UnknownCause) -> Self {
        match cause {
            UnknownCause::Timeout => Self::Timeout,
            UnknownCause::BrokenLine => Self::BrokenLine,
            UnknownCause::Status(status) => Self::Status(status),
            UnknownCause::OriginSaid => Self::OriginSaid,
            UnknownCause::LeaseRanOut => Self::LeaseRanOut,
            UnknownCause::Partly => Self::Partly,
        }
    }
}

impl From<CauseForm> for UnknownCause {
    fn from(form: CauseForm) -> Self {
        match form {
            CauseForm::Timeout => Self::Timeout,
            CauseForm::BrokenLine => Self::BrokenLine,
            CauseForm::Status(status) => Self::Status(status),
            CauseForm::OriginSaid => Self::OriginSaid,
            CauseForm::LeaseRanOut => Self::LeaseRanOut,
            CauseForm::Partly => Self::Partly,
        }
    }
}

impl From<&PastAttempt> for PastForm {
    fn from(past: &PastAttempt) -> Self {
        Self {
            number: past.number.get(),
            started_at: past.started_at,
            end: past.end.map(|end| EndForm {
                at: end.at,
                ending: match end.ending {
                    Ending::Final(status) => EndingForm::Final(status),
                    Ending::NotRun(status) => EndingForm::NotRun(status),
                    Ending::Unknown(cause) => EndingForm::Unknown(cause.into()),
                },
            }),
        }
    }
}

impl From<PastForm> for PastAttempt {
    fn from(form: PastForm) -> Self {
        Self {
            number: AttemptNumber::new(form.number),
            started_at: form.started_at,
            end: form.end.map(|end| AttemptEnd {
                at: end.at,
                ending: match end.ending {
                    EndingForm::Final(status) => Ending::Final(status),
                    EndingForm::NotRun(status) => Ending::NotRun(status),
                    EndingForm::Unknown(cause) => Ending::Unknown(cause.into()),
                },
            }),
        }
    }
}

#[cfg(test)]
mod tests;
