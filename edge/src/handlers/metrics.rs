//! `GET /_oncegate/metrics`: contract M for a collector, which signs in by an operator's token or session.

use shared::openmetrics::{MEDIA_TYPE, Objects, render};
use shared::wire::Role;
use worker::Response;

use crate::fan_out::{self, Filter};
use crate::login;
use crate::message_operator::OperatorMessage;
use crate::overview::labelled;
use crate::request::Inbound;
use crate::respond;
use crate::site::Site;
use crate::telemetry::{Level, event};

/// The path of the metrics.
pub(crate) const PATH: &str = "/_oncegate/metrics";

/// Answers a collector.
pub(crate) async fn handle(inbound: &Inbound, site: &Site) -> Response {
    if !login::is_operator_host(inbound, site) {
        return respond::not_found();
    }
    if !matches!(inbound.method.as_str(), "GET" | "HEAD") {
        return respond::method_not_allowed(&inbound.method, "GET, HEAD");
    }
    if login::bearer(inbound, site).is_none()
        && let Err(refusal) = login::session(inbound, site, Role::Viewer).await
    {
        return refusal.into_response();
    }
    match fan_out::ask(&site.objects, Filter::default(), &OperatorMessage::Totals).await {
        Ok(answers) => {
            let answered = u64::try_from(answers.answers.len()).unwrap_or(u64::MAX);
            let (rows, silent) = labelled(answers);
            let silent = u64::from(silent);
            let text = render(&rows, Objects { answered, silent });
            let headers = [("content-type", MEDIA_TYPE), ("cache-control", "no-store")];
            respond::with_headers(200, &headers, text.into_bytes())
        }
        Err(error) => {
            event(Level::Error, "fleet_silent", &[("error", &error)]);
            respond::unavailable("the fleet did not say which objects there are")
        }
    }
}
