//! What an attempt sends to the origin beside the request, and what the origin's answer means for the record.
//!
//! For attempts of callers and of the resolver alike. It does not send (`origin`) and does not report (`attempt`, `object`).

use serde::{Deserialize, Serialize};
use shared::classify::{OriginAnswer, Verdict, classify};
use shared::policy::{Route, RouteKind, TenantSource};
use shared::record::{AttemptId, REFERENCE_BYTES_MAX, UnknownCause};
use shared::time::Millis;

use crate::headers::{self, HeaderList};
use crate::message::{self, OutcomeHead};
use crate::origin::{self, Arrival};
use crate::telemetry::{Level, event};

/// The most bytes of a request, its head included, that are kept for the resolver (X5): a row takes 2 MB. A larger one is
/// sent again by its caller's retry alone. <https://developers.cloudflare.com/durable-objects/platform/limits/>
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// What the origin is told of an attempt (L4).
pub(crate) struct Told<'a> {
    /// The operation's id.
    pub(crate) operation: String,
    /// The attempt's token and number; without a claim there is none to name (G).
    pub(crate) attempt: Option<(AttemptId, u64)>,
    /// How long the origin has.
    pub(crate) deadline: Millis,
    /// Whose operation it is.
    pub(crate) tenant: &'a str,
    /// How far an attempt before said it came.
    pub(crate) point: Option<String>,
}

impl Told<'_> {
    /// The headers that say it.
    pub(crate) fn headers(self) -> HeaderList {
        let (token, number) = self.attempt.unzip();
        let mut list = HeaderList::new();
        for (name, value) in [
            (headers::OPERATION, Some(self.operation)),
            (headers::ATTEMPT, token.map(|token| token.to_string())),
            (
                headers::ATTEMPT_NUMBER,
                number.map(|number| number.to_string()),
            ),
            (headers::DEADLINE, Some(self.deadline.get().to_string())),
            (headers::TENANT, Some(String::from(self.tenant))),
            (headers::RECOVERY_POINT, self.point),
        ] {
            list.extend(value.map(|value| (String::from(name), value)));
        }
        list
    }
}

/// A request as it is kept for the resolver: this head, and then the body (U5).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct KeptRequest {
    /// In upper case.
    pub(crate) method: String,
    /// The path and the query.
    pub(crate) target: String,
    /// The headers that the origin was sent, without any credential of the caller.
    pub(crate) headers: HeaderList,
}

/// The bytes to keep of a request, if its route lets the resolver send it and it is not too large.
pub(crate) fn to_keep(
    route: &Route,
    method: &str,
    target: &str,
    sent: &[(String, String)],
    body: &[u8],
) -> Vec<u8> {
    if !route.policy().keeps_requests() {
        return Vec::new();
    }
    let credential = match route.kind() {
        RouteKind::Api(api) => match &api.tenant {
            TenantSource::CredentialDigest { header } => Some(header.as_str()),
            TenantSource::ApiKey | TenantSource::Header { .. } => None,
        },
        RouteKind::Webhook(_) => None,
    };
    let mut headers = sent.to_vec();
    headers.retain(|(name, _)| {
        !matches!(name.as_str(), "authorization" | "cookie" | "x-api-key")
            && credential != Some(name.as_str())
    });
    let kept = KeptRequest {
        method: String::from(method),
        target: String::from(target),
        headers,
    };
    match message::encode(&kept, body) {
        Ok(bytes) if bytes.len() <= KEPT_BYTES_MAX => bytes,
        Ok(_) | Err(_) => Vec::new(),
    }
}

/// What an attempt came to, as the record is told.
pub(crate) enum Judged {
    /// It is done.
    Final(Final),
    /// It did not run, or (for a webhook) it failed.
    NotRun(origin::Answer),
    /// Nobody knows.
    Unknown {
        /// Why.
        cause: UnknownCause,
        /// The origin's own name for what it made.
        reference: Option<String>,
    },
    /// The origin works on.
    Pending {
        /// The origin's own name for what it makes.
        reference: Option<String>,
    },
}

/// An outcome, for the record and for the first caller.
pub(crate) struct Final {
    /// What the record keeps.
    pub(crate) outcome: OutcomeHead,
    /// The bytes that the record keeps.
    pub(crate) kept: Vec<u8>,
    /// What the first caller hears.
    pub(crate) heard: HeaderList,
    /// The body that the first caller gets; without it, it was larger than a Worker holds.
    pub(crate) body: Option<Vec<u8>>,
    /// The origin's own name for what it made.
    pub(crate) reference: Option<String>,
}

/// Judges what came of sending `operation` (U1).
pub(crate) fn judge(route: &Route, operation: &str, arrival: Arrival) -> Judged {
    let unknown = |cause| Judged::Unknown {
        cause,
        reference: None,
    };
    let answer = match arrival {
        Arrival::Answered(answer) => answer,
        Arrival::Timeout => return unknown(UnknownCause::Timeout),
        Arrival::BrokenLine(why) => {
            note_broken_line(operation, &why);
            return unknown(UnknownCause::BrokenLine);
        }
    };
    let reference = reference(route, &answer);
    let judged = OriginAnswer {
        status: answer.status,
        outcome: header(&answer, headers::OUTCOME),
    };
    let kind = route.policy().kind();
    match classify(kind, judged, route.verdict_moved(answer.status)) {
        Verdict::Final => Judged::Final(outcome(route, answer, reference)),
        Verdict::NotRun => Judged::NotRun(answer),
        Verdict::Unknown(cause) => Judged::Unknown { cause, reference },
        Verdict::Pending => Judged::Pending { reference },
    }
}

/// Why a line broke is for the log alone: the platform's words tell a caller nothing.
pub(crate) fn note_broken_line(operation: &str, why: &str) {
    event(
        Level::Warn,
        "broken_line",
        &[("operation", &operation), ("error", &why)],
    );
}

/// The outcome in an answer, its body only as far as the route keeps it (A2).
pub(crate) fn outcome(route: &Route, answer: origin::Answer, reference: Option<String>) -> Final {
    let heard = headers::to_caller(answer.headers);
    let bytes = answer
        .body
        .as_ref()
        .map_or(origin::ANSWER_BYTES_MAX, Vec::len);
    let fits = answer.body.is_some() && bytes <= route.outcome_body_max();
    let outcome = OutcomeHead {
        status: answer.status,
        headers: headers::to_record(heard.clone()),
        omitted: (!fits).then(|| u64::try_from(bytes).unwrap_or(u64::MAX)),
    };
    let kept = if fits {
        answer.body.clone().unwrap_or_default()
    } else {
        Vec::new()
    };
    Final {
        outcome,
        kept,
        heard,
        body: answer.body,
        reference,
    }
}

/// The origin's own name for what it made (U3), if it gave one that is short enough to keep.
fn reference(route: &Route, answer: &origin::Answer) -> Option<String> {
    header(answer, route.reference_header().as_str())
        .filter(|reference| reference.len() <= REFERENCE_BYTES_MAX)
        .map(String::from)
}

/// The value of a header of an answer.
pub(crate) fn header<'a>(answer: &'a origin::Answer, name: &str) -> Option<&'a str> {
    let found = answer.headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}
