//! A sender's delivery at a webhook route: signature first, over the raw bytes, then the event's id (contract W, B).
//!
//! Nothing is written before the signature holds. What becomes of the event then is `attempt`'s.

use shared::fingerprint::Fingerprint;
use shared::placement::Place;
use shared::policy::{Route, WebhookRoute};
use shared::problem::Code;
use shared::webhook::{Delivery, Event, Refusal};
use worker::Response;

use super::api::{note, too_large};
use crate::attempt::{self, Attempt, Outgoing};
use crate::body::{self, Body};
use crate::headers;
use crate::message::Ended;
use crate::request::Inbound;
use crate::respond;
use crate::site::Site;
use crate::telemetry::{Level, event};

/// Answers a delivery at this route.
pub(crate) async fn handle(
    mut inbound: Inbound,
    route: &Route,
    webhook: &WebhookRoute,
    site: &Site,
) -> Response {
    let body = match body::read(inbound.body.take(), route.request_body_max()).await {
        Body::Whole(body) => body,
        Body::TooLarge(_) => return too_large(route.request_body_max()),
        Body::Broken(_) => {
            return respond::problem(Code::RequestMalformed, "the body ended before it was whole");
        }
    };
    let event = match read(&inbound, &body, route, webhook, site) {
        Ok(event) => event,
        Err(Refusal::Signature(problem)) => {
            return respond::problem(Code::SignatureInvalid, &problem.to_string());
        }
        Err(Refusal::Event(problem)) => {
            note(site, route, &webhook.tenant, Ended::Refused, false);
            return respond::problem(Code::EventUnreadable, &problem.to_string());
        }
    };
    let Some(origin) = site.settings.origin_of(route) else {
        self::event(Level::Error, "origin_missing", &[("route", route.name())]);
        return respond::internal(); // the configuration's check lets no such route pass
    };
    #[cfg(feature = "testing")]
    let fault = crate::testing::fault(&inbound);
    #[cfg(not(feature = "testing"))]
    let fault = None;
    let place = Place::of(&webhook.tenant, route.name(), route.shards(), &event.id);
    let fingerprint = Fingerprint::of_body(&body); // F5: another body under the same id is shown, and never decides
    let outgoing = Outgoing {
        target: inbound.target(),
        origin: origin.to_string(),
        method: inbound.method,
        headers: headers::to_origin(inbound.headers, None),
        body,
    };
    attempt::run(Attempt {
        site,
        route,
        place,
        key: event.id,
        fingerprint,
        minted_at: None,
        patience: None,
        outgoing,
        fault,
    })
    .await
}

/// W1: the signature, judged on arrival, and only then the event.
fn read(
    inbound: &Inbound,
    body: &[u8],
    route: &Route,
    webhook: &WebhookRoute,
    site: &Site,
) -> Result<Event, Refusal> {
    let headers: Vec<(&str, &[u8])> = inbound
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let delivery = Delivery {
        headers: &headers,
        body,
        arrived: site.now,
    };
    let secrets = site.settings.webhook_secrets(route);
    webhook
        .scheme
        .verify(&delivery, secrets, webhook.tolerance)?
        .event()
}
