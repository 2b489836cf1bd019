//! What the Worker and the operations object say to each other.
//!
//! A message is a JSON head behind its length in four bytes, big-endian, and then the body of an outcome as it is: never
//! base64 inside JSON. During a deploy a new Worker talks to an old object for some minutes: a field
//! that is missing has a default, an unknown one is passed over, and the literals in the tests below pin
//! what is on the way already.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use shared::decide::Replay;
use shared::fingerprint::Fingerprint;
use shared::json;
use shared::placement::Place;
use shared::policy::Policy;
use shared::record::{AttemptId, Body, Outcome, UnknownCause};
use shared::scope::{OperationKey, RouteName, TenantId};
use shared::time::{Millis, Timestamp};

/// The version of these forms; a receiver that needs to tell senders apart looks at it.
pub(crate) const VERSION: u16 = 1;

/// The Worker asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "CallForm", into = "CallForm")]
pub(crate) struct Call {
    /// [`VERSION`] of the sender.
    pub(crate) v: u16,
    /// Whose operation, through which route.
    pub(crate) tenant: TenantId,
    /// The route.
    pub(crate) route: RouteName,
    /// Which of the route's objects this is.
    pub(crate) shard: u16,
    /// What the route promises now.
    pub(crate) policy: Option<Policy>,
    /// What is asked.
    pub(crate) ask: Ask,
    /// A fault that a test asks for; nothing in a production build reads it.
    pub(crate) fault: Option<String>,
}

/// What the Worker asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// May this request run? What the resolver would send follows the head, where the route lets it (U5).
    Begin {
        /// The operation's key.
        key: OperationKey,
        /// The attempt's token.
        token: Token,
        /// What the request looks like.
        fingerprint: Fingerprint,
        /// When the key was minted, where it says so.
        minted_at: Option<Timestamp>,
        /// How long the caller waits for a running twin.
        wait: Millis,
    },
    /// It ended with this outcome; its body follows the head.
    Complete {
        /// The operation's key.
        key: OperationKey,
        /// The attempt's token.
        token: Token,
        /// What is kept.
        outcome: OutcomeHead,
        /// The origin's own name for what it made.
        reference: Option<String>,
        /// How long the origin took.
        latency: Millis,
    },
    /// It did not run.
    Release {
        /// The operation's key.
        key: OperationKey,
        /// The attempt's token.
        token: Token,
        /// The origin's status, where it gave one.
        status: Option<u16>,
        /// How long the origin took, where it was asked.
        latency: Option<Millis>,
    },
    /// Nobody knows what it did.
    Suspend {
        /// The operation's key.
        key: OperationKey,
        /// The attempt's token.
        token: Token,
        /// Why.
        cause: Cause,
        /// The origin's own name for what it made.
        reference: Option<String>,
        /// How long the origin took.
        latency: Option<Millis>,
    },
    /// The origin works on and completes later; the caller waits for that (L5).
    Pending {
        /// The operation's key.
        key: OperationKey,
        /// The attempt's token.
        token: Token,
        /// The origin's own name for what it makes.
        reference: Option<String>,
        /// How long the caller waits.
        wait: Millis,
    },
    /// The origin was asked (U3); the body of an outcome follows the head.
    Probed {
        /// The operation's key.
        key: OperationKey,
        /// The token of the question.
        token: Token,
        /// What it said.
        finding: Finding,
    },
    /// The caller gave up on *begin* and sent nothing.
    Abandon {
        /// The operation's key.
        key: OperationKey,
        /// The attempt's token.
        token: Token,
    },
    /// What is there? Changes nothing.
    Look {
        /// The operation's key.
        key: OperationKey,
        /// What the request looks like.
        fingerprint: Option<Fingerprint>,
    },
    /// What may a client know of its operation (A3)?
    Status {
        /// The digest of the operation's key, as in its id.
        digest: String,
    },
    /// A call ended without a record.
    Note {
        /// How.
        ended: Ended,
        /// Whether it brought no key.
        key_missing: bool,
    },
}

/// How a call ended that no record was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ended {
    /// Refused.
    Refused,
    /// Passed on unprotected (K3).
    Unprotected,
}

/// The object answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// Run it.
    Execute {
        /// The attempt's number.
        number: u64,
        /// How long the lease still runs, by the object's clock: two machines' clocks are never compared.
        lease: Millis,
        /// Whether it takes over from an attempt whose outcome is unknown.
        #[serde(default)]
        took_over: bool,
        /// The name of the recovery point that an attempt before saved (L4).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        point: Option<String>,
    },
    /// Ask the origin what became of it (U3).
    Ask(Question),
    /// It is done; the body follows the head.
    Replay {
        /// What was answered the first time.
        outcome: OutcomeHead,
        /// Until when it is kept.
        #[serde(default)]
        expires_at: Option<Timestamp>,
        /// Whether the request looked different (webhooks, F5).
        #[serde(default)]
        changed: bool,
    },
    /// The same request is still running.
    Running {
        /// How long its lease still runs.
        #[serde(default)]
        lease: Millis,
    },
    /// The key names another request.
    Mismatch,
    /// Nobody knows what happened.
    Unknown {
        /// Why.
        cause: Cause,
        /// After how long a retry may meet something else, where the rule knows.
        #[serde(default)]
        retry: Option<Millis>,
    },
    /// The key is older than the memory of it.
    Expired,
    /// The key claims to be from the future.
    FromTheFuture,
    /// The token was given up.
    Abandoned,
    /// The outcome is kept, now or since an earlier message.
    Recorded {
        /// Until when.
        #[serde(default)]
        expires_at: Option<Timestamp>,
    },
    /// Nothing is kept of the attempt.
    Released,
    /// It is remembered as unknown.
    Suspended,
    /// Another attempt took over, or this one had ended otherwise: look.
    Superseded,
    /// There is no record.
    Absent,
    /// What a client may know, in the form that it is told; it follows the head.
    Status,
    /// It is noted, or nothing was to be said.
    Done,
    /// The object could not do what was asked.
    Failed {
        /// Why, for the log.
        why: String,
    },
}

/// What it takes to ask an origin about an operation (U3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// The last attempt that was let run: the question is about it and all before it.
    pub(crate) number: u64,
    /// How long nobody else asks, by the object's clock.
    pub(crate) lease: Millis,
    /// How long ago the origin was last sent the operation.
    pub(crate) since_dispatch: Millis,
    /// The origin's own name for what it made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<String>,
    /// What the origin keeps with its recovery point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) point: Option<String>,
}

/// What an origin said when it was asked, on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Finding {
    /// It took effect, with this outcome.
    Final(OutcomeHead),
    /// It did not run.
    NotRun,
    /// Nothing that settles it.
    Unknown,
}

/// A token on its way: 32 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Token(pub(crate) AttemptId);

/// An outcome without the bytes of its body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutcomeHead {
    /// The status.
    pub(crate) status: u16,
    /// The headers.
    #[serde(default)]
    pub(crate) headers: Vec<(String, String)>,
    /// The size of a body that was not kept; without it the body is what follows the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) omitted: Option<u64>,
}

/// Why an outcome is unknown, on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cause {
    /// No answer in time.
    Timeout,
    /// The line broke.
    BrokenLine,
    /// A status that proves nothing.
    Status(u16),
    /// The origin said so.
    OriginSaid,
    /// The lease ran out.
    LeaseRanOut,
    /// It ended without an outcome after it had saved a recovery point.
    Partly,
}

mod call;
use call::CallForm;

/// A message that is none.
#[derive(Debug)]
pub(crate) struct Unreadable(pub(crate) String);

impl Call {
    /// Where the operation lives.
    pub(crate) fn place(&self) -> Place {
        Place {
            tenant: self.tenant.clone(),
            route: self.route.clone(),
            shard: self.shard,
        }
    }
}

impl Answer {
    /// A replay and the bytes that follow it.
    pub(crate) fn replay(replay: Replay) -> (Self, Vec<u8>) {
        let (outcome, body) = OutcomeHead::of(replay.outcome);
        let (expires_at, changed) = (replay.expires_at, replay.changed);
        (
            Self::Replay {
                outcome,
                expires_at,
                changed,
            },
            body,
        )
    }
}

impl Finding {
    /// Puts it together with the bytes that followed.
    pub(crate) fn with(self, body: Vec<u8>) -> shared::decide::Finding {
        match self {
            Self::Final(outcome) => shared::decide::Finding::Final(outcome.with(body)),
            Self::NotRun => shared::decide::Finding::NotRun,
            Self::Unknown => shared::decide::Finding::Unknown,
        }
    }
}

impl OutcomeHead {
    /// Takes an outcome apart.
    pub(crate) fn of(outcome: Outcome) -> (Self, Vec<u8>) {
        let (omitted, body) = match outcome.body {
            Body::Kept(bytes) => (None, bytes),
            Body::Omitted { bytes } => (Some(bytes), Vec::new()),
        };
        let head = Self {
            status: outcome.status,
            headers: outcome.headers,
            omitted,
        };
        (head, body)
    }

    /// Puts it together again.
    pub(crate) fn with(self, body: Vec<u8>) -> Outcome {
        let body = match self.omitted {
            None => Body::Kept(body),
            Some(bytes) => Body::Omitted { bytes },
        };
        Outcome {
            status: self.status,
            headers: self.headers,
            body,
        }
    }
}

impl From<UnknownCause> for Cause {
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

impl From<Cause> for UnknownCause {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Timeout => Self::Timeout,
            Cause::BrokenLine => Self::BrokenLine,
            Cause::Status(status) => Self::Status(status),
            Cause::OriginSaid => Self::OriginSaid,
            Cause::LeaseRanOut => Self::LeaseRanOut,
            Cause::Partly => Self::Partly,
        }
    }
}

impl From<Token> for String {
    fn from(token: Token) -> Self {
        token.0.to_string()
    }
}

impl TryFrom<String> for Token {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // Not repeated in the error: a token is a secret while its lease runs (X4).
        AttemptId::parse(&text)
            .map(Self)
            .ok_or("the token is not 32 hex digits")
    }
}

/// The message as bytes.
pub(crate) fn encode<T: Serialize>(head: &T, body: &[u8]) -> Result<Vec<u8>, Unreadable> {
    let head = serde_json::to_vec(head).map_err(|error| Unreadable(error.to_string()))?;
    let length = u32::try_from(head.len()).map_err(|error| Unreadable(error.to_string()))?;
    Ok([&length.to_be_bytes(), head.as_slice(), body].concat())
}

/// The message in these bytes.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, Vec<u8>), Unreadable> {
    let short = || Unreadable(format!("{} bytes are less than a head", bytes.len()));
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
    let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_narrow| short())?;
    let (head, body) = rest.split_at_checked(length).ok_or_else(short)?;
    let head = json::read(head).map_err(|error| Unreadable(error.to_string()))?;
    Ok((head, body.to_vec()))
}

#[cfg(test)]
mod tests;
