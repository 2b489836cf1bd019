//! What an origin says about the attempt that it is working on (L5): longer, this far, done, or not run.
//!
//! `/_oncegate/attempts/{operation}/…`, with the attempt's token in `Oncegate-Attempt`, as the origin was given both. The
//! token alone authorises; one that does not count gets 409, whether or not there is such an operation (X1).

use serde::{Deserialize, Serialize};
use shared::placement::OperationId;
use shared::policy::{MAX_LEASE_MAX, OUTCOME_BODY_MAX};
use shared::problem::Code;
use shared::record::{AttemptId, POINT_DATA_BYTES_MAX};
use shared::time::{Millis, Timestamp};
use worker::Response;

use crate::body::{self, Body};
use crate::headers::{self, HeaderList};
use crate::message::{self, OutcomeHead, Token};
use crate::message_attempt::{AttemptReport, ReportAnswer, Said};
use crate::object_client::PATIENCE;
use crate::probing::outcome_status;
use crate::request::Inbound;
use crate::respond;
use crate::site::Site;
use crate::telemetry::{Level, event};

/// Where origins report.
pub(crate) const PATH: &str = "/_oncegate/attempts";
/// The most bytes of a JSON report (X5): a recovery point's data, each byte escaped, and its name.
const JSON_BYTES_MAX: usize = 6 * POINT_DATA_BYTES_MAX + 1024;

/// `PUT …/recovery-point` and the answer to `GET …/recovery-point`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointForm {
    name: String,
    #[serde(default)]
    data: String,
}

/// `POST …/extend`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExtendForm {
    /// How much longer from now, in milliseconds.
    lease_ms: u64,
}

/// The answer to `POST …/extend`.
#[derive(Serialize)]
struct Extended {
    lease_until: Timestamp,
}

/// Answers a report.
pub(crate) async fn handle(mut inbound: Inbound, site: &Site) -> Response {
    let body = body::read(inbound.body.take(), OUTCOME_BODY_MAX).await;
    match read(&inbound, body) {
        Ok((id, report, body)) => tell(&id, &report, &body, site).await,
        Err(refusal) => refusal,
    }
}

/// Which operation, what is said of it, and the outcome's bytes.
fn read(inbound: &Inbound, body: Body) -> Result<(OperationId, AttemptReport, Vec<u8>), Response> {
    let body = match body {
        Body::Whole(body) => body,
        Body::TooLarge(_) => {
            let detail = format!("a report has {OUTCOME_BODY_MAX} bytes at most");
            return Err(respond::problem(Code::BodyTooLarge, &detail));
        }
        Body::Broken(_) => return Err(malformed("the body ended before it was whole")),
    };
    let rest = inbound.path.strip_prefix(PATH).unwrap_or_default();
    let rest = rest.strip_prefix('/').unwrap_or_default();
    let (id, what) = rest.split_once('/').ok_or_else(respond::not_found)?;
    let token = inbound.header(headers::ATTEMPT).and_then(AttemptId::parse);
    let (Some(id), Some(token)) = (OperationId::parse(id), token) else {
        return Err(superseded()); // X1
    };
    let (said, body) = match (what, inbound.method.as_str()) {
        ("extend", "POST") => (extend(&body)?, Vec::new()),
        ("recovery-point", "PUT") => (checkpoint(&body)?, Vec::new()),
        ("recovery-point", "GET") => (Said::ReadPoint, Vec::new()),
        ("complete", "POST") => (complete(inbound)?, body),
        ("release", "POST") => (Said::Release, Vec::new()),
        ("extend" | "complete" | "release", method) => {
            return Err(respond::method_not_allowed(method, "POST"));
        }
        ("recovery-point", method) => {
            return Err(respond::method_not_allowed(method, "GET, PUT"));
        }
        _ => return Err(respond::not_found()),
    };
    let report = AttemptReport {
        digest: id.key.to_string(),
        token: Token(token),
        said,
    };
    Ok((id, report, body))
}

fn extend(body: &[u8]) -> Result<Said, Response> {
    let form: ExtendForm = shared::json::read(body)
        .map_err(|error| malformed(&format!("the body is not {{\"lease_ms\": …}}: {error}")))?;
    let span = Millis::new(form.lease_ms);
    if span.get() == 0 || span > MAX_LEASE_MAX {
        let (found, most) = (span.get(), MAX_LEASE_MAX.get());
        let detail = format!("lease_ms {found} is not within 1 and {most}");
        return Err(malformed(&detail));
    }
    Ok(Said::Extend(span))
}

fn checkpoint(body: &[u8]) -> Result<Said, Response> {
    if body.len() > JSON_BYTES_MAX {
        let detail = format!("a recovery point's data has {POINT_DATA_BYTES_MAX} bytes at most");
        return Err(respond::problem(Code::BodyTooLarge, &detail));
    }
    let form: PointForm = shared::json::read(body).map_err(|error| {
        malformed(&format!(
            "the body is not {{\"name\": …, \"data\": \"…\"}}: {error}"
        ))
    })?;
    let PointForm { name, data } = form;
    Ok(Said::Checkpoint { name, data })
}

/// The outcome is what would have been the answer: its status beside it, its headers and body as they are.
fn complete(inbound: &Inbound) -> Result<Said, Response> {
    let status = inbound.header(headers::OUTCOME_STATUS).unwrap_or_default();
    let Some(status) = outcome_status(status) else {
        let found = shared::quote::quoted(status.as_bytes());
        let detail = format!("oncegate-outcome-status {found} is not a status from 200 to 599");
        return Err(malformed(&detail));
    };
    Ok(Said::Complete(OutcomeHead {
        status,
        headers: outcome_headers(&inbound.headers),
        omitted: None,
    }))
}

/// Of a request's headers those that describe the outcome and not the request.
fn outcome_headers(sent: &[(String, String)]) -> HeaderList {
    let describes = |name: &str| {
        name.starts_with("content-") && name != "content-length"
            || matches!(name, "etag" | "last-modified" | "link" | "location")
    };
    let kept = sent.iter().filter(|(name, _)| describes(name));
    headers::to_record(headers::to_caller(kept.cloned().collect()))
}

async fn tell(id: &OperationId, report: &AttemptReport, body: &[u8], site: &Site) -> Response {
    let Ok(encoded) = message::encode(report, body) else {
        return respond::internal();
    };
    let told = site
        .objects
        .operations(&id.object, "/attempt", &encoded, PATIENCE)
        .await;
    let answer = told.map_err(|error| error.to_string()).and_then(|bytes| {
        shared::json::read::<ReportAnswer>(&bytes).map_err(|error| error.to_string())
    });
    match answer {
        Ok(ReportAnswer::Extended(lease_until)) => respond::json(200, &Extended { lease_until }),
        Ok(ReportAnswer::Point(Some((name, data)))) => {
            respond::json(200, &PointForm { name, data })
        }
        Ok(ReportAnswer::Point(None)) => respond::problem(
            Code::NotFound,
            "no attempt of this operation has saved a recovery point",
        ),
        Ok(
            ReportAnswer::Saved
            | ReportAnswer::Recorded
            | ReportAnswer::Released
            | ReportAnswer::StillUnknown,
        ) => respond::with_headers(204, &[], Vec::new()),
        Ok(ReportAnswer::Superseded) => superseded(),
        Ok(ReportAnswer::Ended) => respond::problem(
            Code::AttemptSuperseded,
            "the attempt's lease is over, or the attempt has ended",
        ),
        Ok(ReportAnswer::Refused(why)) => malformed(&why),
        Ok(ReportAnswer::Failed(error)) | Err(error) => {
            event(
                Level::Error,
                "report_unanswered",
                &[("operation", id), ("error", &error)],
            );
            respond::unavailable("the object that keeps the operation did not answer")
        }
    }
}

fn superseded() -> Response {
    respond::problem(
        Code::AttemptSuperseded,
        "no attempt under this token counts for this operation; nothing changed",
    )
}

fn malformed(detail: &str) -> Response {
    respond::problem(Code::RequestMalformed, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_has_the_headers_that_describe_it() {
        let sent: HeaderList = [
            "accept",
            "authorization",
            "content-length",
            "content-type",
            "etag",
            "location",
            "oncegate-attempt",
            "user-agent",
        ]
        .map(|name| (String::from(name), String::from("x")))
        .to_vec();
        let kept: Vec<String> = outcome_headers(&sent)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(kept, ["content-type", "etag", "location"]);
    }
}
