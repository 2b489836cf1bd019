//! A client asks for the state of its operation (A3): by its id, or, never having got an answer, by route and key.
//!
//! Its own credential decides. Unknown, foreign and malformed look the same (X1): each is looked for among all
//! that the caller's credentials could own, by the same work.

use shared::key::KeyReading;
use shared::placement::{KeyDigest, OperationId, Place};
use shared::policy::{ApiRoute, Route, RouteKind};
use shared::problem::Code;
use shared::scope::{OperationKey, TenantId};
use worker::Response;

use super::tenant;
use crate::body;
use crate::headers;
use crate::message::{Answer, Ask, Call, VERSION};
use crate::object_client::PATIENCE;
use crate::request::Inbound;
use crate::respond::{self, Problem};
use crate::site::Site;
use crate::telemetry::{Level, event};

/// Where operations are asked for.
pub(crate) const PATH: &str = "/_oncegate/operations";

/// Answers a question at [`PATH`] or below it.
pub(crate) async fn handle(mut inbound: Inbound, site: &Site) -> Response {
    body::drain(inbound.body.take()).await;
    if !matches!(inbound.method.as_str(), "GET" | "HEAD") {
        return respond::method_not_allowed(&inbound.method, "GET, HEAD");
    }
    let owned = owned(&inbound, site);
    if owned.is_empty() {
        let detail = "the credential that names the tenant is missing or unknown";
        let refused = Problem::new(Code::Unauthenticated, detail);
        return refused.header("www-authenticate", "Bearer").response();
    }
    let rest = inbound.path.strip_prefix(PATH).unwrap_or_default();
    let found = match rest.strip_prefix('/') {
        Some(id) if !id.is_empty() => by_id(id, &owned),
        Some(_) | None => match by_key(&inbound, &owned) {
            Ok(found) => found,
            Err(refusal) => return refusal,
        },
    };
    match found {
        Some((place, route, operation)) => status(&place, route, operation, site).await,
        None => not_found(),
    }
}

type Found<'a> = (Place, &'a Route, KeyDigest);

/// The routes on which the caller is somebody, and who.
fn owned<'a>(inbound: &Inbound, site: &'a Site) -> Vec<(&'a Route, &'a ApiRoute, TenantId)> {
    let mut owned = Vec::new();
    for route in site.settings.routes.iter() {
        if let RouteKind::Api(api) = route.kind()
            && let Some(tenant) = tenant::of(inbound, api, &site.settings)
        {
            owned.push((route, api, tenant));
        }
    }
    owned
}

fn by_id<'a>(id: &str, owned: &[(&'a Route, &'a ApiRoute, TenantId)]) -> Option<Found<'a>> {
    let id = OperationId::parse(id)?;
    let mut found = None;
    for (route, _, tenant) in owned {
        if let Some(place) = Place::find(&id, tenant, [(route.name(), route.shards())]) {
            found = Some((place, *route, id.key));
        }
    }
    found
}

fn by_key<'a>(
    inbound: &Inbound,
    owned: &[(&'a Route, &'a ApiRoute, TenantId)],
) -> Result<Option<Found<'a>>, Response> {
    let Some(name) = inbound.parameter("route") else {
        let detail =
            "name the operation by its id in the path, or by ?route= and its idempotency-key";
        return Err(respond::problem(Code::RequestMalformed, detail));
    };
    let Some((route, api, tenant)) = owned
        .iter()
        .find(|(route, ..)| route.name().as_str() == name)
    else {
        return Ok(None);
    };
    let lines: Vec<&[u8]> = inbound
        .header(headers::KEY)
        .map(str::as_bytes)
        .into_iter()
        .collect();
    let key = match api.key.read(&lines) {
        KeyReading::Key(key) => OperationKey::from(key),
        KeyReading::Malformed { reason } => {
            return Err(respond::problem(Code::KeyMalformed, &reason));
        }
        KeyReading::Missing | KeyReading::Unprotected => {
            let detail = "the idempotency-key header names no operation";
            return Err(respond::problem(Code::KeyMissing, detail));
        }
    };
    let place = Place::of(tenant, route.name(), route.shards(), &key);
    Ok(Some((place, *route, KeyDigest::of(&key))))
}

async fn status(place: &Place, route: &Route, operation: KeyDigest, site: &Site) -> Response {
    let call = Call {
        v: VERSION,
        tenant: place.tenant.clone(),
        route: place.route.clone(),
        shard: place.shard,
        policy: Some(route.policy()),
        ask: Ask::Status {
            digest: operation.to_string(),
        },
        fault: None,
    };
    match site.objects.ask(&call, &[], PATIENCE).await {
        Ok((Answer::Status, status)) => {
            let list = [
                ("content-type", "application/json"),
                ("cache-control", "no-store"),
            ];
            respond::with_headers(200, &list, status)
        }
        Ok(_absent) => not_found(),
        Err(error) => {
            event(Level::Error, "status_unanswered", &[("error", &error)]);
            respond::unavailable("the object that keeps the operation did not answer")
        }
    }
}

fn not_found() -> Response {
    respond::problem(
        Code::OperationNotFound,
        "no operation of this credential has this id or key",
    )
}
