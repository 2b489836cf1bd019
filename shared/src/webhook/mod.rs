//! Webhook deliveries: is the signature the sender's, and which event is it (W1, W2).
//!
//! Not what is done with the event (`decide`). Schemes differ only in data and in one file each; facts about
//! senders stand here in one place, with their source. The signature comes first: nothing of a body is read, and
//! nothing is written, before it holds.

mod envelope;
mod refusal;
mod secret;
mod standard;
mod stripe;

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use self::envelope::Envelope;
pub use self::refusal::{EventProblem, Refusal, SignatureProblem};
pub use self::secret::{Secret, SecretError};
use crate::scope::OperationKey;
use crate::time::{Millis, Timestamp};

/// The most signatures of one delivery that are looked at (X5): senders send two while they rotate a secret.
pub const SIGNATURES_MAX: usize = 16;
/// The most bytes of an event's type (X5): it is shown, and never decides.
pub const EVENT_TYPE_BYTES_MAX: usize = 256;
/// W1: how far a delivery's own time may be from its arrival, either way, when the route says nothing: as in the
/// libraries of both schemes.
pub const TOLERANCE_DEFAULT: Millis = Millis::from_secs(300);

/// How a sender signs, and where it puts the event's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// <https://docs.stripe.com/webhooks#verify-manually>
    Stripe,
    /// <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>, and the same
    /// under the header names of Svix: <https://docs.svix.com/receiving/verifying-payloads/how-manual>
    StandardWebhooks,
}

/// A delivery as it came in.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// Each header line: name in any case, and value.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The raw body.
    pub body: &'a [u8],
    /// When it came in, before any queue or wait (W1).
    pub arrived: Timestamp,
}

/// A delivery whose signature holds; its event may be read now.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a> {
    body: &'a [u8],
    id: EventId<'a>,
}

/// Where a scheme puts the event's id.
#[derive(Clone, Copy, Debug)]
enum EventId<'a> {
    InBody,
    /// A signed header's value.
    Signed(&'a str),
}

/// What a delivery is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event's id: the key of the operation, and nothing else is (P2).
    pub id: OperationKey,
    /// The event's type, where the body says one; it is shown and never decides.
    pub kind: Option<String>,
}

impl Scheme {
    /// All schemes.
    pub const ALL: &[Self] = &[Self::Stripe, Self::StandardWebhooks];

    /// The name in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stripe => "stripe",
            Self::StandardWebhooks => "standard-webhooks",
        }
    }

    /// Reads a secret in the form in which the sender shows it.
    pub fn secret(self, text: &str) -> Result<Secret, SecretError> {
        match self {
            Self::Stripe => stripe::secret(text),
            Self::StandardWebhooks => standard::secret(text),
        }
    }

    /// Whether one of `secrets` made one of the signatures, at most `tolerance` before or after the arrival.
    ///
    /// All pairs of secret and signature are compared, in constant time each.
    pub fn verify<'a>(
        self,
        delivery: &Delivery<'a>,
        secrets: &[Secret],
        tolerance: Millis,
    ) -> Result<Verified<'a>, Refusal> {
        let verified = match self {
            Self::Stripe => stripe::verify(delivery, secrets, tolerance),
            Self::StandardWebhooks => standard::verify(delivery, secrets, tolerance),
        };
        verified.map_err(Refusal::Signature)
    }

    /// The longest after an event that its sender may send it again; a retention must be longer (W5).
    #[must_use]
    pub const fn resend_horizon(self) -> Millis {
        match self {
            Self::Stripe => Millis::from_hours(30 * 24),
            // The last try of the specification's schedule starts 75 h 35 min 5 s after the first.
            Self::StandardWebhooks => Millis::from_hours(76),
        }
    }

    /// Where [`Self::resend_horizon`] comes from.
    #[must_use]
    pub const fn resend_source(self) -> &'static str {
        match self {
            Self::Stripe => {
                "Stripe resends for 3 days by itself, for 15 from its dashboard and for 30 by its CLI: \
                 https://docs.stripe.com/webhooks#retries"
            }
            Self::StandardWebhooks => {
                "the schedule of the specification ends after 75 h 35 min: \
                 https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md"
            }
        }
    }

    /// The headers that carry the signature and what is signed beside the body, in lower case.
    #[must_use]
    pub const fn signature_headers(self) -> &'static [&'static str] {
        match self {
            Self::Stripe => &[stripe::SIGNATURE],
            Self::StandardWebhooks => &standard::HEADERS,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'a> Delivery<'a> {
    /// The value of a header that has to be there once.
    fn header(&self, name: &'static str) -> Result<&'a [u8], SignatureProblem> {
        self.optional_header(name)?
            .ok_or(SignatureProblem::HeaderMissing { name })
    }

    /// The value of a header that may be there once.
    fn optional_header(&self, name: &'static str) -> Result<Option<&'a [u8]>, SignatureProblem> {
        let mut lines = self
            .headers
            .iter()
            .filter(|(found, _)| found.eq_ignore_ascii_case(name));
        match (lines.next(), lines.next()) {
            (None, _) => Ok(None),
            (Some((_, value)), None) => Ok(Some(value.trim_ascii())),
            (Some(_), Some(_)) => Err(SignatureProblem::HeaderTwice { name }),
        }
    }

    /// W1: judged on arrival, either way.
    fn within(&self, tolerance: Millis, signed_at: Timestamp) -> Result<(), SignatureProblem> {
        let distance = self
            .arrived
            .since(signed_at)
            .max(signed_at.since(self.arrived));
        if distance <= tolerance {
            return Ok(());
        }
        Err(SignatureProblem::OutsideTolerance {
            signed_at,
            arrived: self.arrived,
            tolerance,
        })
    }
}

/// Seconds since the epoch: digits and nothing else, few enough to be a moment in milliseconds.
fn seconds(text: &[u8]) -> Option<Timestamp> {
    const DIGITS_MAX: usize = 12;
    if !(1..=DIGITS_MAX).contains(&text.len()) {
        return None;
    }
    let mut seconds = 0_i64;
    for &byte in text {
        let digit = char::from(byte).to_digit(10)?;
        seconds = seconds * 10 + i64::from(digit);
    }
    Some(Timestamp::from_millis(seconds * 1_000))
}

impl Verified<'_> {
    /// The event that the delivery is about.
    pub fn event(&self) -> Result<Event, Refusal> {
        self.read_event().map_err(Refusal::Event)
    }

    fn read_event(&self) -> Result<Event, EventProblem> {
        let envelope = Envelope::read(self.body);
        match self.id {
            EventId::InBody => {
                let envelope = envelope.map_err(|error| EventProblem::not_an_envelope(&error))?;
                let id = match envelope.id {
                    Some(serde_json::Value::String(id)) => id,
                    Some(found) => return Err(EventProblem::id_not_text(&found)),
                    None => return Err(EventProblem::IdMissing),
                };
                Ok(Event {
                    id: key(&id)?,
                    kind: kind(envelope.kind),
                })
            }
            // What is not JSON has no type that could be read, and is an event all the same.
            EventId::Signed(id) => Ok(Event {
                id: key(id)?,
                kind: envelope.ok().and_then(|body| kind(body.kind)),
            }),
        }
    }
}

fn key(id: &str) -> Result<OperationKey, EventProblem> {
    OperationKey::parse(id).map_err(EventProblem::IdInvalid)
}

fn kind(found: Option<serde_json::Value>) -> Option<String> {
    match found {
        Some(serde_json::Value::String(kind))
            if (1..=EVENT_TYPE_BYTES_MAX).contains(&kind.len()) =>
        {
            Some(kind)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
