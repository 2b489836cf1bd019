//! Answers to callers: refusals as problem documents (RFC 9457), outcomes with the headers of contract A.
//!
//! It knows no rule: who calls it has decided. Every answer is built here, so that none can be one that the platform refuses.

use serde::Serialize;
use shared::placement::OperationId;
use shared::problem::Code;
use shared::record::{Body, Outcome};
use shared::time::{Millis, Timestamp};
use shared::wire::ProblemDocument;
use worker::{Headers, Response, ResponseBody, ResponseBuilder};

use crate::headers::{self, HeaderList};
use crate::telemetry::{Level, event};

/// Where the pages are that explain refusals.
pub(crate) const PROBLEMS: &str = "/_oncegate/problems/";

/// A refusal that is being put together.
pub(crate) struct Problem {
    code: Code,
    status: u16,
    detail: String,
    operation: Option<OperationId>,
    headers: Vec<(&'static str, String)>,
}

impl Problem {
    /// A refusal with the usual status of its code. `detail` is for the caller: no secrets, no payloads (X4).
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        let status = code.status();
        Self {
            code,
            status,
            detail: detail.into(),
            operation: None,
            headers: Vec::new(),
        }
    }

    /// With another status than usual.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// About this operation.
    pub(crate) fn about(mut self, operation: &OperationId) -> Self {
        self.operation = Some(*operation);
        self.header(headers::OPERATION, operation.to_string())
    }

    /// With a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With the time after which to try again, in whole seconds and never none.
    pub(crate) fn retry_after(self, span: Millis) -> Self {
        self.header("retry-after", span.get().div_ceil(1_000).max(1).to_string())
    }

    /// With the address at which the operation's state can be asked for (A3).
    pub(crate) fn located(self, operation: &OperationId) -> Self {
        self.header("location", format!("/_oncegate/operations/{operation}"))
    }

    /// The answer.
    pub(crate) fn response(self) -> Response {
        let document = ProblemDocument {
            type_: format!("{PROBLEMS}{}", self.code),
            title: String::from(self.code.title()),
            status: self.status,
            detail: self.detail,
            code: self.code.to_string(),
            operation: self.operation.map(|operation| operation.to_string()),
            retry: self.code.retry().to_string(),
        };
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut list = vec![
            ("content-type", "application/problem+json"),
            ("cache-control", "no-store"),
        ];
        list.extend(
            self.headers
                .iter()
                .map(|(name, value)| (*name, value.as_str())),
        );
        with_headers(self.status, &list, body)
    }
}

/// A refusal with nothing beside its detail.
pub(crate) fn problem(code: Code, detail: &str) -> Response {
    Problem::new(code, detail).response()
}

/// A refusal with some headers.
pub(crate) fn problem_with(code: Code, detail: &str, extra: &[(&'static str, &str)]) -> Response {
    let bare = Problem::new(code, detail);
    let add = |problem: Problem, (name, value): &(&'static str, &str)| problem.header(name, *value);
    extra.iter().fold(bare, add).response()
}

/// No route takes this path. What is not there and what the caller may not see look the same (X1).
pub(crate) fn not_found() -> Response {
    problem(Code::NotFound, "no route takes this path")
}

/// The path does not take this method.
pub(crate) fn method_not_allowed(method: &str, allow: &str) -> Response {
    let detail = format!(
        "{} is not among {allow}",
        shared::quote::quoted(method.as_bytes())
    );
    Problem::new(Code::MethodNotAllowed, detail)
        .header("allow", allow)
        .response()
}

/// The store did not answer, and nothing was done.
pub(crate) fn unavailable(detail: &str) -> Response {
    Problem::new(Code::StoreUnavailable, detail)
        .retry_after(Millis::from_secs(1))
        .response()
}

/// Something failed that should not; the log says what.
pub(crate) fn internal() -> Response {
    problem(Code::Internal, "the gateway failed; its log says why")
}

/// An answer of the gateway's own.
pub(crate) fn with_headers(status: u16, list: &[(&str, &str)], body: Vec<u8>) -> Response {
    built(status, list.iter().copied(), body)
}

/// An answer of the gateway's own whose body is a stream.
pub(crate) fn streamed(status: u16, list: &[(&str, &str)], body: ResponseBody) -> Response {
    let headers = header_map(list.iter().copied());
    let builder = ResponseBuilder::new()
        .with_status(status)
        .with_headers(headers);
    if is_bodiless(status) {
        builder.empty()
    } else {
        builder.body(body)
    }
}

/// An origin's answer, as its first caller hears it. `ours` are the gateway's headers.
pub(crate) fn origin_answer(
    status: u16,
    list: &HeaderList,
    ours: &[(&str, &str)],
    body: Vec<u8>,
) -> Response {
    let all = list
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    built(status, all.chain(ours.iter().copied()), body)
}

/// A kept outcome, as every later caller hears it (A1, A2).
pub(crate) fn replay(
    outcome: Outcome,
    expires_at: Option<Timestamp>,
    operation: &OperationId,
) -> Response {
    let (operation, expires) = (operation.to_string(), expires_at.map(|at| at.to_string()));
    let mut ours = vec![
        (headers::REPLAYED, "true"),
        (headers::STATUS, "replayed"),
        (headers::OPERATION, operation.as_str()),
    ];
    ours.extend(expires.as_deref().map(|at| (headers::EXPIRES, at)));
    let body = match outcome.body {
        Body::Kept(bytes) => bytes,
        Body::Omitted { .. } => {
            ours.push((headers::BODY, "omitted"));
            Vec::new()
        }
    };
    origin_answer(outcome.status, &outcome.headers, &ours, body)
}

/// JSON that nobody may keep.
pub(crate) fn json(status: u16, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => json_bytes(status, bytes),
        Err(error) => {
            event(Level::Error, "answer_unwritable", &[("error", &error)]);
            internal()
        }
    }
}

/// The same, written already.
pub(crate) fn json_bytes(status: u16, json: Vec<u8>) -> Response {
    let list = [
        ("content-type", "application/json"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
    ];
    with_headers(status, &list, json)
}

/// The origin works on (L5): where to ask for the outcome, and when.
pub(crate) fn accepted(operation: &OperationId) -> Response {
    let (location, operation) = (
        format!("/_oncegate/operations/{operation}"),
        operation.to_string(),
    );
    let list = [
        ("location", location.as_str()),
        ("retry-after", "1"),
        (headers::STATUS, "pending"),
        (headers::OPERATION, operation.as_str()),
    ];
    with_headers(202, &list, Vec::new())
}

fn built<'a>(
    status: u16,
    list: impl Iterator<Item = (&'a str, &'a str)>,
    body: Vec<u8>,
) -> Response {
    let builder = ResponseBuilder::new()
        .with_status(status)
        .with_headers(header_map(list));
    if body.is_empty() || is_bodiless(status) {
        builder.empty()
    } else {
        builder.fixed(body)
    }
}

fn header_map<'a>(list: impl Iterator<Item = (&'a str, &'a str)>) -> Headers {
    let headers = Headers::new();
    for (name, value) in list {
        // Only a name or value that the platform gave itself gets here, so none is refused.
        let _accepted = headers.append(name, value);
    }
    headers
}

/// Statuses for which the platform takes no body, not even an empty one.
const fn is_bodiless(status: u16) -> bool {
    matches!(status, 101 | 204 | 205 | 304)
}
