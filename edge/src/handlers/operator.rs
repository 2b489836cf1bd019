//! What the dashboard asks for: sessions, the overview, operations, what is unknown, and the log. JSON in the types of
//! `shared::wire`.
//!
//! Only on the operator host, and only with a session (X3). What changes an operation is in `settlements`.

use shared::placement::OperationId;
use shared::problem::Code;
use shared::series::Range;
use shared::wire::Role;
use worker::Response;

use super::settlements;
use crate::body;
use crate::fan_out::{self, Answers, Filter};
use crate::listing;
use crate::login::{self, Refusal};
use crate::message_fleet::{FleetAnswer, FleetMessage, Registration};
use crate::message_operator::{ListOperations, OperatorMessage};
use crate::object_client::{CallError, PATIENCE};
use crate::overview;
use crate::request::Inbound;
use crate::respond;
use crate::site::Site;
use crate::telemetry::{Level, event};

/// The path under which operators' questions lie.
pub(crate) const PREFIX: &str = "/_oncegate/operator/";

/// Answers one question of an operator.
pub(crate) async fn handle(inbound: Inbound, site: &Site) -> Response {
    if !login::is_operator_host(&inbound, site) {
        body::drain(inbound.body).await;
        return respond::not_found();
    }
    let path = inbound.path.clone();
    let method = inbound.method.clone();
    match (
        path.strip_prefix(PREFIX).unwrap_or_default(),
        method.as_str(),
    ) {
        ("login", "POST") => login::sign_in(inbound, site).await,
        ("logout", "POST") => login::sign_out(inbound, site).await,
        ("settlements", "POST") => match settle(inbound, site).await {
            Ok(response) | Err(response) => response,
        },
        ("login" | "logout" | "settlements", _) => refused_method(inbound, "POST").await,
        (what, "GET") => match read(what, &inbound, site).await {
            Ok(response) | Err(response) => response,
        },
        ("session" | "overview" | "operations" | "unknown" | "audit", _) => {
            refused_method(inbound, "GET").await
        }
        (what, _) if what.starts_with("operations/") => refused_method(inbound, "GET").await,
        _ => {
            body::drain(inbound.body).await;
            respond::not_found()
        }
    }
}

async fn refused_method(inbound: Inbound, allow: &str) -> Response {
    body::drain(inbound.body).await;
    respond::method_not_allowed(&inbound.method, allow)
}

/// X3: the role, our own page, and only then the body.
async fn settle(mut inbound: Inbound, site: &Site) -> Result<Response, Response> {
    let allowed = match login::check_own_page(&inbound) {
        Ok(()) => login::session(&inbound, site, Role::Operator).await,
        Err(refusal) => Err(refusal),
    };
    match allowed {
        Ok(session) => settlements::handle(inbound, &session, site).await,
        Err(refusal) => {
            body::drain(inbound.body.take()).await;
            Err(refusal.into_response())
        }
    }
}

/// Both sides of the result are answers; the right one ends the way early.
async fn read(what: &str, inbound: &Inbound, site: &Site) -> Result<Response, Response> {
    let session = login::session(inbound, site, Role::Viewer).await;
    let session = session.map_err(Refusal::into_response)?;
    match what {
        "session" => Ok(respond::json(200, &session)),
        "unknown" => read_unknown(inbound, site).await,
        "audit" => read_audit(inbound, site).await,
        "overview" => read_overview(inbound, site).await,
        "operations" => read_operations(inbound, site).await,
        _ => match what.strip_prefix("operations/") {
            Some(id) => read_operation(id, site).await,
            None => Err(respond::not_found()),
        },
    }
}

async fn read_overview(inbound: &Inbound, site: &Site) -> Result<Response, Response> {
    let range = match inbound.parameter("range").as_deref() {
        None | Some("") => Range::default(),
        Some(text) => Range::parse(text).ok_or_else(|| {
            respond::problem(Code::RequestMalformed, "range is none of 1h, 24h and 7d")
        })?,
    };
    let window = range.until(site.now);
    let question = OperatorMessage::Overview { window };
    let answers = fan_out::ask(&site.objects, filter(inbound), &question)
        .await
        .map_err(|error| fleet_silent(&error))?;
    let mut overview = overview::overview(answers, window, site.now);
    let FleetAnswer::Tenants(tenants) = ask_fleet(site, &FleetMessage::Tenants).await? else {
        return Err(fleet_silent(&fan_out::unexpected()));
    };
    overview.tenants = tenants;
    overview.routes = site.settings.route_names();
    overview.exceptions = site.settings.exceptions(site.now);
    Ok(respond::json(200, &overview))
}

async fn read_unknown(inbound: &Inbound, site: &Site) -> Result<Response, Response> {
    let last_answer = given(inbound, "last_answer");
    let question = OperatorMessage::Unknown { last_answer };
    let answers = fan_out::ask(&site.objects, filter(inbound), &question)
        .await
        .map_err(|error| fleet_silent(&error))?;
    Ok(respond::json(200, &listing::unknown(answers, site.now)))
}

async fn read_audit(inbound: &Inbound, site: &Site) -> Result<Response, Response> {
    let before = listing::place(inbound, "before")
        .map_err(|why| respond::problem(Code::RequestMalformed, &why))?;
    let limit = listing::LIMIT;
    let question = OperatorMessage::Audit { before, limit };
    let answers = fan_out::ask(&site.objects, filter(inbound), &question)
        .await
        .map_err(|error| fleet_silent(&error))?;
    Ok(respond::json(200, &listing::audit(answers, site.now)))
}

async fn read_operations(inbound: &Inbound, site: &Site) -> Result<Response, Response> {
    let list =
        listing::asked(inbound).map_err(|why| respond::problem(Code::RequestMalformed, &why))?;
    if let Some(id) = list.key.as_deref().and_then(OperationId::parse) {
        // An id tells where its operation lives; other filters could only hide it.
        let answers = match object_of(&id, site).await? {
            Some(object) => {
                let question = OperatorMessage::List(ListOperations {
                    limit: 1,
                    key: Some(id.to_string()),
                    ..ListOperations::default()
                });
                let answer = fan_out::ask_one(&site.objects, &object, &question).await;
                let silent = u32::from(answer.is_none());
                let answers = answer.map(|answer| (object, answer)).into_iter().collect();
                Answers { answers, silent }
            }
            None => Answers {
                answers: Vec::new(),
                silent: 0,
            },
        };
        return Ok(respond::json(200, &listing::page(answers, site.now)));
    }
    let question = OperatorMessage::List(list);
    let answers = fan_out::ask(&site.objects, filter(inbound), &question)
        .await
        .map_err(|error| fleet_silent(&error))?;
    Ok(respond::json(200, &listing::page(answers, site.now)))
}

async fn read_operation(id: &str, site: &Site) -> Result<Response, Response> {
    let missing = || {
        respond::problem(
            Code::OperationNotFound,
            "no operation has this id, or its record has expired",
        )
    };
    let id = OperationId::parse(id).ok_or_else(missing)?;
    object_of(&id, site).await?.ok_or_else(missing)?;
    let question = id.to_string();
    let asked = site
        .objects
        .operations(&id.object, "/detail", question.as_bytes(), PATIENCE);
    match asked.await {
        Ok(detail) if detail.is_empty() => Err(missing()),
        Ok(detail) => Ok(respond::json_bytes(200, detail)),
        Err(error) => {
            event(
                Level::Warn,
                "object_silent",
                &[("operation", &id), ("error", &error)],
            );
            let detail = "the object that keeps the operation did not answer";
            Err(respond::unavailable(detail))
        }
    }
}

/// Asking an object that does not exist would make it.
pub(super) async fn object_of(
    id: &OperationId,
    site: &Site,
) -> Result<Option<Registration>, Response> {
    let question = FleetMessage::Find {
        name: id.object.to_string(),
    };
    let FleetAnswer::Object(object) = ask_fleet(site, &question).await? else {
        return Err(fleet_silent(&fan_out::unexpected()));
    };
    Ok(object)
}

async fn ask_fleet(site: &Site, question: &FleetMessage) -> Result<FleetAnswer, Response> {
    site.objects
        .fleet(question)
        .await
        .map_err(|error| fleet_silent(&error))
}

pub(super) fn fleet_silent(error: &CallError) -> Response {
    event(Level::Error, "fleet_silent", &[("error", error)]);
    respond::unavailable("the fleet did not say which objects there are")
}

fn filter(inbound: &Inbound) -> Filter {
    Filter {
        tenant: given(inbound, "tenant"),
        route: given(inbound, "route"),
    }
}

fn given(inbound: &Inbound, name: &str) -> Option<String> {
    inbound.parameter(name).filter(|value| !value.is_empty())
}
