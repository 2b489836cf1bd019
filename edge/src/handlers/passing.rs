//! What passes without protection: requests without a key where a route lets them (K3), and unmatched paths where an
//! origin is configured for them.
//!
//! Bodies pass as streams, unread. The same headers stay behind as on protected requests (X2).

use shared::policy::{ApiRoute, Route};
use shared::problem::Code;
use worker::Response;
use worker::web_sys::Response as RawResponse;

use super::tenant;
use crate::headers;
use crate::origin::{self, header_list};
use crate::request::Inbound;
use crate::respond::{self, Problem};
use crate::site::Site;
use crate::telemetry::{Level, event};

/// A request without a usable key, on a route that lets it pass.
pub(crate) async fn unprotected(
    inbound: Inbound,
    route: &Route,
    api: &ApiRoute,
    site: &Site,
) -> Response {
    let Some(origin) = site.settings.origin_of(route) else {
        event(Level::Error, "origin_missing", &[("route", route.name())]);
        return respond::internal();
    };
    pass(
        inbound,
        origin.as_str(),
        tenant::front_secret(api),
        &[(headers::STATUS, "unprotected")],
    )
    .await
}

/// A request that no route takes.
pub(crate) async fn fallback(inbound: Inbound, origin: &str) -> Response {
    pass(inbound, origin, None, &[]).await
}

async fn pass(
    inbound: Inbound,
    origin: &str,
    dropped: Option<&str>,
    ours: &[(&str, &str)],
) -> Response {
    let url = format!("{origin}{}", inbound.target());
    let sent = headers::to_origin(inbound.headers, dropped);
    match origin::pass(&url, &inbound.method, &sent, inbound.body).await {
        Ok(answer) => passed(&answer, ours),
        Err(error) => {
            event(Level::Warn, "pass_failed", &[("error", &error)]);
            unanswered().response()
        }
    }
}

/// What passed has no answer. 502 and not 503: no record says what a retry would meet.
pub(crate) fn unanswered() -> Problem {
    let detail = "the origin did not answer; whether the request took effect is not known";
    Problem::new(Code::OutcomeUnknown, detail).with_status(502)
}

fn passed(answer: &RawResponse, ours: &[(&str, &str)]) -> Response {
    let heard = headers::to_caller(header_list(&worker::Headers(answer.headers())));
    let mut list: Vec<(&str, &str)> = heard
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    list.extend(ours);
    let body = match answer.body() {
        Some(stream) => worker::ResponseBody::Stream(stream),
        None => worker::ResponseBody::Empty,
    };
    respond::streamed(answer.status(), &list, body)
}
