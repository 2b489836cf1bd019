//! The fleet: one object that knows which operations objects exist, and which operators are signed in.
//!
//! Not on the path of a protected request: an operations object registers once, at its first claim, and goes on
//! when the fleet does not answer. One message is one synchronous section.

#![expect(
    missing_docs,
    reason = "the attribute of an object makes functions that have none"
)]

use std::cell::RefCell;
use std::panic::RefUnwindSafe;

use shared::json;
use shared::time::Timestamp;
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

use crate::body::{self, Body};
use crate::clock;
use crate::fleet_store::FleetStore;
use crate::message_fleet::{FleetAnswer, FleetMessage, OpenSession};
use crate::sql::{Sql, SqlError};
use crate::telemetry::{Level, event};
use crate::throttle::Throttle;

/// The most bytes of a message (X5): names and digests.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// The object; there is one of it.
#[durable_object(fetch)]
pub struct Fleet {
    sql: Sql,
    throttle: RefCell<Throttle>,
}

/// A panic leaves nothing half-done behind: writes are transactions, and counts of failures are only counts.
impl RefUnwindSafe for Fleet {}

impl DurableObject for Fleet {
    fn new(state: State, _env: Env) -> Self {
        Self {
            sql: Sql::of(&state),
            throttle: RefCell::default(),
        }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        let answered = self.take(request);
        #[cfg(feature = "testing")]
        let answered = crate::testing::within_object(answered);
        answered.await
    }
}

impl Fleet {
    async fn take(&self, request: Request) -> Result<Response> {
        let bytes = match body::read(request.inner().body(), MESSAGE_BYTES_MAX).await {
            Body::Whole(bytes) => bytes,
            Body::TooLarge(_) => return Response::error("the message is too large", 413),
            Body::Broken(why) => return Response::error(why, 400),
        };
        let message: FleetMessage = match json::read(&bytes) {
            Ok(message) => message,
            Err(error) => {
                event(
                    Level::Error,
                    "fleet_message_unreadable",
                    &[("error", &error)],
                );
                return Response::error("unreadable message", 400);
            }
        };
        match self.answer(message, clock::now()) {
            Ok(answer) => Response::from_json(&answer),
            Err(error) => {
                event(Level::Error, "fleet_store_failed", &[("error", &error)]);
                Response::error("store failed", 500)
            }
        }
    }

    fn answer(&self, message: FleetMessage, now: Timestamp) -> Result<FleetAnswer, SqlError> {
        let store = FleetStore::open(&self.sql, now)?;
        match message {
            FleetMessage::Register(object) => {
                store.register(&object, now).map(|()| FleetAnswer::Done)
            }
            FleetMessage::List(list) => store.list(&list).map(FleetAnswer::Objects),
            FleetMessage::Find { name } => store.find(&name).map(FleetAnswer::Object),
            FleetMessage::Tenants => store.tenants().map(FleetAnswer::Tenants),
            FleetMessage::OpenSession(open) => self.open_session(&store, &open, now),
            FleetMessage::LookUpSession { session } => {
                store.session(&session, now).map(FleetAnswer::Session)
            }
            FleetMessage::CloseSession { session } => {
                store.close_session(&session).map(|()| FleetAnswer::Done)
            }
        }
    }

    /// Whether the token was right is not looked at while its address waits, so that waiting can't be cut short.
    fn open_session(
        &self,
        store: &FleetStore<'_>,
        open: &OpenSession,
        now: Timestamp,
    ) -> Result<FleetAnswer, SqlError> {
        let mut throttle = self.throttle.borrow_mut();
        if let Some(retry_at) = throttle.blocked_until(&open.from, now) {
            let retry = retry_at.since(now);
            return Ok(FleetAnswer::Throttled { retry });
        }
        let Some(token) = &open.token else {
            throttle.failed(&open.from, now);
            return Ok(FleetAnswer::Refused);
        };
        let expires_at = store.open_session(open, token, now)?;
        throttle.succeeded(&open.from);
        let life = expires_at.since(now);
        Ok(FleetAnswer::Opened { life })
    }
}
