//! Which handler answers a request: a plain match on its path, as the platform gives it.
//!
//! A path that is not protected as it stands, but by another spelling, is refused and never passed on (A5).

use shared::config::Found;
use shared::policy::RouteKind;
use shared::problem::Code;
use worker::Response;

use crate::body;
use crate::handlers::{
    api, assets, attempts, client, metrics, operator, passing, problems, webhook,
};
use crate::login;
use crate::request::Inbound;
use crate::respond;
use crate::site::Site;

/// The gateway's own paths begin so.
const OWN: &str = "/_oncegate";

/// Answers a request.
pub(crate) async fn route(inbound: Inbound, site: &Site) -> Response {
    if is_below(&inbound.path, OWN) {
        return own(inbound, site).await;
    }
    let refusal = match site.settings.routes.find(&inbound.method, &inbound.path) {
        Found::Route(route) => {
            return match route.kind() {
                RouteKind::Api(api) => api::handle(inbound, route, api, site).await,
                RouteKind::Webhook(webhook) => webhook::handle(inbound, route, webhook, site).await,
            };
        }
        Found::NotCanonical(route) => {
            body::drain(inbound.body).await;
            let detail = format!(
                "{} {} is another spelling of a request to {}",
                inbound.method,
                inbound.path,
                route.path()
            );
            return respond::problem(Code::PathNotCanonical, &detail); // A5
        }
        Found::WrongMethod(methods) => {
            let allowed: Vec<&str> = methods.iter().map(|method| method.as_str()).collect();
            respond::method_not_allowed(&inbound.method, &allowed.join(", "))
        }
        Found::None => respond::not_found(),
    };
    if let Some(origin) = site.settings.fallback_origin() {
        return passing::fallback(inbound, origin.as_str()).await;
    }
    body::drain(inbound.body).await;
    refusal
}

/// The gateway's own pages and interfaces.
async fn own(mut inbound: Inbound, site: &Site) -> Response {
    #[cfg(feature = "testing")]
    if let Some(answer) = crate::testing::handle(&inbound, site).await {
        return answer;
    }
    let path = inbound.path.as_str();
    if path == "/_oncegate/health" {
        let list = [
            ("content-type", "application/json"),
            ("cache-control", "no-store"),
        ];
        return respond::with_headers(200, &list, br#"{"status":"ok"}"#.to_vec());
    }
    if is_below(path, problems::INDEX) {
        body::drain(inbound.body.take()).await;
        return problems::handle(&inbound);
    }
    if path.starts_with(operator::PREFIX) {
        return operator::handle(inbound, site).await;
    }
    if is_below(path, attempts::PATH) {
        return attempts::handle(inbound, site).await;
    }
    if is_below(path, client::PATH) && !is_navigation(&inbound, site) {
        return client::handle(inbound, site).await;
    }
    body::drain(inbound.body.take()).await;
    if inbound.path == metrics::PATH {
        return metrics::handle(&inbound, site).await;
    }
    assets::handle(&inbound, site).await
}

/// A browser that opens one of the dashboard's pages: its addresses of operations are also those of A3.
fn is_navigation(inbound: &Inbound, site: &Site) -> bool {
    let accepts = inbound.header("accept").unwrap_or_default();
    accepts.contains("text/html") && login::is_operator_host(inbound, site)
}

fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
