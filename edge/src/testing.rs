//! Faults that a request can ask for, and what a test wants to know of an object. Only in a build with the feature
//! `testing`; what is deployed has none of it.

mod alarms;
mod clocks;
mod failpoints;

use shared::placement::Place;
use shared::scope::{RouteName, TenantId};
use shared::store::contract::{Fallible, cases};
use worker::{Response, Result};

use crate::attempt::Attempt;
use crate::clock;
use crate::message::{Ask, Call};
use crate::migrations::migrate;
use crate::object::Inside;
use crate::object_client::PATIENCE;
use crate::request::Inbound;
use crate::respond;
use crate::site::Site;
use crate::sql::SqlError;
use crate::sql_store::{MIGRATIONS, SqlStore};

pub(crate) use alarms::{is_set, maybe_fail, times, to_set};
pub(crate) use clocks::{ahead, within_object};
pub(crate) use failpoints::{
    pass, pass_after, pass_before, place_of, place_of_order, place_of_report,
};

/// The request header that asks for a fault.
pub(crate) const HEADER: &str = "oncegate-test";

const ROWS: &str = "/_oncegate/test/rows";
const ARM: &str = "/_oncegate/test/arm";
const LOSE_ALARM: &str = "/_oncegate/test/lose-alarm";
const CLOCKS: &str = "/_oncegate/test/clocks";
const ALARMS: &str = "/_oncegate/test/alarms";
const STORE_CONTRACT: &str = "/_oncegate/test/store-contract";

/// The fault that a request asks for. One of them is the Worker's own.
pub(crate) fn fault(inbound: &Inbound) -> Option<String> {
    let fault = inbound.header(HEADER)?;
    assert!(fault != "panic-in-worker", "planted in the worker");
    Some(String::from(fault))
}

/// What the object does with a planted fault before it takes the message: not done.
pub(crate) fn before_taking(call: &Call) -> std::result::Result<(), SqlError> {
    match (call.fault.as_deref(), &call.ask) {
        (Some("begin-fails"), Ask::Begin { .. })
        | (Some("complete-fails"), Ask::Complete { .. }) => {
            Err(SqlError::unreadable("planted in the object"))
        }
        _ => Ok(()),
    }
}

/// What it does once the message is taken, inside its transaction.
pub(crate) fn while_taking(fault: Option<&str>) {
    assert!(fault != Some("panic-in-object"), "planted in the object");
}

/// What it does when the message is taken and kept: done, but unheard.
pub(crate) async fn before_answering(fault: Option<&str>, is_begin: bool, is_complete: bool) {
    let silent = match fault {
        Some("begin-unanswered") => is_begin,
        Some("complete-unanswered") => is_complete,
        _ => false,
    };
    if silent {
        worker::Delay::from(std::time::Duration::from_secs(20)).await;
    }
}

/// Sends a message once before it is sent again, where the fault says so (L7).
pub(crate) async fn maybe_twice(attempt: &Attempt<'_>, call: &Call, body: &[u8], fault: &str) {
    if attempt.fault.as_deref() == Some(fault) {
        let _first = attempt.site.objects.ask(call, body, PATIENCE).await;
    }
}

/// Answers the paths of tests; nothing for any other.
pub(crate) async fn handle(inbound: &Inbound, site: &Site) -> Option<Response> {
    let parameter = |name: &str| inbound.parameter(name);
    let (place, path) = match (inbound.method.as_str(), inbound.path.as_str()) {
        ("GET", ROWS) | ("POST", LOSE_ALARM) => {
            let place = Place {
                tenant: TenantId::parse(&parameter("tenant")?).ok()?,
                route: RouteName::parse(&parameter("route")?).ok()?,
                shard: parameter("shard")
                    .and_then(|shard| shard.parse().ok())
                    .unwrap_or(0),
            };
            let path = inbound.path.strip_prefix("/_oncegate/test");
            (place, path.unwrap_or_default())
        }
        ("POST", ARM) => {
            failpoints::arm(&parameter("place")?);
            return Some(respond::with_headers(204, &[], Vec::new()));
        }
        ("POST", CLOCKS) => {
            let ahead = |whose: &str| parameter(whose).map_or(Some(0), |text| text.parse().ok());
            clocks::set(clocks::Ahead {
                worker: ahead("worker")?,
                objects: ahead("objects")?,
            });
            return Some(respond::with_headers(204, &[], Vec::new()));
        }
        ("POST", ALARMS) => {
            alarms::set(alarms::Alarms::parse(&parameter("come")?)?);
            return Some(respond::with_headers(204, &[], Vec::new()));
        }
        ("POST", STORE_CONTRACT) => {
            let place = Place {
                tenant: TenantId::parse("store-contract").ok()?,
                route: RouteName::parse("store-contract").ok()?,
                shard: 0,
            };
            (place, "/store-contract")
        }
        _ => return None,
    };
    let answered = site
        .objects
        .operations(&place.object(), path, &[], PATIENCE)
        .await;
    Some(match answered {
        Ok(json) => respond::with_headers(200, &[("content-type", "application/json")], json),
        Err(error) => respond::with_headers(500, &[], error.to_string().into_bytes()),
    })
}

/// The same inside the object.
pub(crate) fn in_object(inside: &Inside, path: &str) -> Result<Response> {
    match path {
        "/rows" => {
            let cost = inside.sql.cost();
            Response::from_json(&serde_json::json!({
                "rows_written": cost.rows_written - cost.rows_written_counts,
                "rows_read": cost.rows_read,
                "rows_written_counts": cost.rows_written_counts,
                "alarms_set": cost.alarms_set,
            }))
        }
        "/lose-alarm" => match inside.lose_alarm() {
            Ok(()) => Response::from_json(&"lost"),
            Err(error) => Response::error(error.to_string(), 500),
        },
        "/store-contract" => match store_contract(inside) {
            Ok(passed) => Response::from_json(&passed),
            Err(failure) => Response::error(failure, 500),
        },
        _ => Response::error("no such message", 404),
    }
}

impl Fallible for SqlStore {
    fn failure() -> SqlError {
        SqlError::unreadable("planted in the store")
    }
}

fn store_contract(inside: &Inside) -> std::result::Result<Vec<&'static str>, String> {
    let text = |error: SqlError| error.to_string();
    migrate(&inside.sql, MIGRATIONS, clock::now()).map_err(text)?;
    let mut passed = Vec::new();
    for (name, case) in cases::<SqlStore>() {
        for table in [
            "meta",
            "open_operations",
            "completed_operations",
            "abandoned",
            "audit_log",
        ] {
            inside
                .sql
                .exec(&format!("DELETE FROM {table}"), &[])
                .map_err(text)?;
        }
        let mut store = SqlStore::open(inside.sql.clone(), 0).map_err(text)?;
        case(&mut store).map_err(|verdict| format!("{name}: {verdict}"))?;
        passed.push(name);
    }
    Ok(passed)
}
