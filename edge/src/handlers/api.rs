//! A client's request at a protected API route: whose it is, under which key, and what it looks like (contract K, F).
//!
//! What is wrong with it is said before anything is claimed: first that it is nobody's (401), then its key, then its
//! size. What becomes of it then is `attempt`'s.

use shared::fingerprint::{Fingerprint, RequestShape};
use shared::key::{IdempotencyKey, KeyReading};
use shared::placement::Place;
use shared::policy::{ApiRoute, Route};
use shared::problem::Code;
use shared::scope::{OperationKey, TenantId};
use shared::time::Millis;
use worker::Response;

use super::{passing, tenant};
use crate::attempt::{self, Attempt, Outgoing};
use crate::body::{self, Body};
use crate::headers;
use crate::message::{Ask, Call, Ended, VERSION};
use crate::object_client::PATIENCE;
use crate::request::Inbound;
use crate::respond::{self, Problem};
use crate::site::Site;
use crate::telemetry::{Level, event};

/// Answers a request at this route.
pub(crate) async fn handle(
    inbound: Inbound,
    route: &Route,
    api: &ApiRoute,
    site: &Site,
) -> Response {
    let Some(tenant) = tenant::of(&inbound, api, &site.settings) else {
        body::drain(inbound.body).await;
        let detail = "the credential that names the tenant is missing or unknown";
        let refused = Problem::new(Code::Unauthenticated, detail);
        return refused.header("www-authenticate", "Bearer").response();
    };
    let lines: Vec<&[u8]> = inbound
        .header(headers::KEY)
        .map(str::as_bytes)
        .into_iter()
        .collect();
    let key_missing = lines.is_empty();
    let (code, detail) = match api.key.read(&lines) {
        KeyReading::Key(key) => return keyed(inbound, route, api, site, tenant, key).await,
        KeyReading::Unprotected => {
            note(site, route, &tenant, Ended::Unprotected, key_missing);
            return passing::unprotected(inbound, route, api, site).await;
        }
        KeyReading::Missing => (
            Code::KeyMissing,
            String::from("the idempotency-key header is missing"),
        ),
        KeyReading::Malformed { reason } => (Code::KeyMalformed, reason),
    };
    body::drain(inbound.body).await;
    note(site, route, &tenant, Ended::Refused, key_missing);
    Problem::new(code, detail).response()
}

async fn keyed(
    mut inbound: Inbound,
    route: &Route,
    api: &ApiRoute,
    site: &Site,
    tenant: TenantId,
    key: IdempotencyKey,
) -> Response {
    let patience = match patience(&inbound) {
        Ok(patience) => patience,
        Err(refusal) => {
            body::drain(inbound.body).await;
            note(site, route, &tenant, Ended::Refused, false);
            return refusal;
        }
    };
    let body = match body::read(inbound.body.take(), route.request_body_max()).await {
        Body::Whole(body) => body,
        Body::TooLarge(_) => {
            note(site, route, &tenant, Ended::Refused, false);
            return too_large(route.request_body_max());
        }
        Body::Broken(_) => {
            note(site, route, &tenant, Ended::Refused, false);
            return respond::problem(Code::RequestMalformed, "the body ended before it was whole");
        }
    };
    let Some(origin) = site.settings.origin_of(route) else {
        event(Level::Error, "origin_missing", &[("route", route.name())]);
        return respond::internal(); // the configuration's check lets no such route pass
    };
    let target = inbound.target();
    let fingerprint = Fingerprint::of_request(&RequestShape {
        method: &inbound.method,
        path_and_query: &target,
        content_type: inbound.header("content-type").map(str::as_bytes),
        body: &body,
        exclusions: &api.exclusions,
    });
    let minted_at = key.minted_at();
    let key = OperationKey::from(key);
    #[cfg(feature = "testing")]
    let fault = crate::testing::fault(&inbound);
    #[cfg(not(feature = "testing"))]
    let fault = None;
    let outgoing = Outgoing {
        method: inbound.method,
        origin: origin.to_string(),
        target,
        headers: headers::to_origin(inbound.headers, tenant::front_secret(api)),
        body,
    };
    let place = Place::of(&tenant, route.name(), route.shards(), &key);
    attempt::run(Attempt {
        site,
        route,
        place,
        key,
        fingerprint,
        minted_at,
        patience,
        outgoing,
        fault,
    })
    .await
}

/// The refusal of a body with more bytes than the route takes; nothing was claimed (A).
pub(crate) fn too_large(bytes_max: usize) -> Response {
    let detail = format!("the body has more than the {bytes_max} bytes that the route takes");
    respond::problem(Code::BodyTooLarge, &detail)
}

/// How long the client says that it waits (A4).
fn patience(inbound: &Inbound) -> Result<Option<Millis>, Response> {
    let Some(text) = inbound.header(headers::DEADLINE) else {
        return Ok(None);
    };
    text.parse()
        .map(|left| Some(Millis::new(left)))
        .map_err(|_not_a_number| {
            let found = shared::quote::quoted(text.as_bytes());
            let detail = format!("oncegate-deadline {found} is not a number of milliseconds");
            respond::problem(Code::RequestMalformed, &detail)
        })
}

/// Counts a call that no record is asked for, at the route's first object. Nobody waits for it.
pub(crate) fn note(site: &Site, route: &Route, tenant: &TenantId, ended: Ended, key_missing: bool) {
    let call = Call {
        v: VERSION,
        tenant: tenant.clone(),
        route: route.name().clone(),
        shard: 0,
        policy: Some(route.policy()),
        ask: Ask::Note { ended, key_missing },
        fault: None,
    };
    let objects = site.objects.clone();
    site.go_on(async move {
        if let Err(error) = objects.ask(&call, &[], PATIENCE).await {
            event(
                Level::Warn,
                "not_counted",
                &[("route", &call.route), ("error", &error)],
            );
        }
    });
}
