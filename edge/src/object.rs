//! The operations object: it keeps the operations of one (tenant, route, shard).
//!
//! A message is decoded, taken in one synchronous section (`ledger`), and answered once that is durable. The object never
//! waits for an origin on a caller's behalf; who must wait for a running twin waits here, on a channel of its own. Its
//! alarm saves sums, turns leases that ran out into unknown outcomes, lets the resolver set out and sweeps what has
//! expired. A panic is the caller's 500, and the object lives on: it reads its tables anew.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, catch_unwind};
use std::rc::Rc;

use shared::json;
use shared::placement::KeyDigest;
use shared::resolver::Pace;
use shared::time::{Millis, Timestamp};
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object};

use crate::body::{self, Body};
use crate::clock;
use crate::message::{self, Answer, Ask, Call};
use crate::message_attempt::ReportAnswer;
use crate::message_fleet::{FleetAnswer, FleetMessage, Registration};
use crate::message_operator::{OperatorAnswer, OperatorMessage};
use crate::object_client::Objects;
use crate::object_queries;
use crate::sql::{Sql, SqlError};
use crate::telemetry::{Level, event};

mod counts;
mod fingerprints;
mod identity;
mod ledger;
mod reports;
mod resolver;
mod settling;
mod sweep;
mod waiters;

pub(crate) use identity::Identity;
use ledger::{Ledger, Step, Waiting};
pub(crate) use settling::SETTLED_MAX;
use waiters::Waiters;

/// The most bytes of a message (X5): an outcome's body of 1 MiB, which is the most that a route may keep, with its head.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How soon an alarm that failed is tried again. The platform gives up after six failures, so it is never told of one.
const ALARM_PAUSE: Millis = Millis::from_secs(30);

/// The object.
#[durable_object(alarm)]
pub struct Operations {
    inside: Rc<Inside>,
}

/// What the object's events share.
pub(crate) struct Inside {
    state: State,
    env: Env,
    pub(crate) sql: Rc<Sql>,
    /// None before the first event, and after one that failed: it is then read anew.
    ledger: RefCell<Option<Ledger>>,
    waiters: Waiters,
    alarm: Cell<Alarm>,
    registering: Cell<bool>,
    /// How fast the resolver goes.
    pace: Cell<Pace>,
    /// How much of the resolver's is on its way to the origin.
    on_their_way: Cell<usize>,
}

/// What is known of the alarm.
#[derive(Clone, Copy)]
enum Alarm {
    /// The object has started and not asked yet.
    NotAsked,
    /// It is set for this moment, or not set.
    For(Option<Timestamp>),
}

/// A panic leaves nothing half-done behind: what was written is given back by its transaction, and the ledger, which
/// was taken out for the work, is read anew.
impl RefUnwindSafe for Operations {}

impl DurableObject for Operations {
    fn new(state: State, env: Env) -> Self {
        let sql = Rc::new(Sql::of(&state));
        let inside = Inside {
            state,
            env,
            sql,
            ledger: RefCell::default(),
            waiters: Waiters::default(),
            alarm: Cell::new(Alarm::NotAsked),
            registering: Cell::new(false),
            pace: Cell::default(),
            on_their_way: Cell::new(0),
        };
        Self {
            inside: Rc::new(inside),
        }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        let answered = self.answer(request);
        #[cfg(feature = "testing")]
        let answered = crate::testing::within_object(answered);
        answered.await
    }

    async fn alarm(&self) -> Result<Response> {
        #[cfg(feature = "testing")]
        for _again in 1..crate::testing::times() {
            crate::testing::within_object(self.ring()).await;
        }
        #[cfg(feature = "testing")]
        if crate::testing::times() == 0 {
            return Response::empty();
        }
        let rung = self.ring();
        #[cfg(feature = "testing")]
        let rung = crate::testing::within_object(rung);
        rung.await;
        Response::empty()
    }
}

impl Operations {
    async fn answer(&self, request: Request) -> Result<Response> {
        let inside = &self.inside;
        inside.ask_for_alarm().await;
        let bytes = match body::read(request.inner().body(), MESSAGE_BYTES_MAX).await {
            Body::Whole(bytes) => bytes,
            Body::TooLarge(_) => return Response::error("the message is too large", 413),
            Body::Broken(why) => return Response::error(why, 400),
        };
        match request.path().as_str() {
            "/message" => inside.message(&bytes).await,
            "/operator" => {
                #[cfg(feature = "testing")]
                let place = crate::testing::place_of_order(&bytes);
                #[cfg(feature = "testing")]
                crate::testing::pass_before(place).await;
                let answered = inside.operator(&bytes);
                #[cfg(feature = "testing")]
                crate::testing::pass_after(place).await;
                answered
            }
            "/detail" => inside.detail(&bytes),
            "/attempt" => {
                #[cfg(feature = "testing")]
                let place = crate::testing::place_of_report(&bytes);
                #[cfg(feature = "testing")]
                crate::testing::pass_before(place).await;
                let answered = inside.attempt(&bytes);
                #[cfg(feature = "testing")]
                crate::testing::pass_after(place).await;
                answered
            }
            #[cfg(feature = "testing")]
            path => crate::testing::in_object(inside, path),
            #[cfg(not(feature = "testing"))]
            _ => Response::error("no such message", 404),
        }
    }

    /// The alarm rings.
    #[cfg_attr(
        not(feature = "testing"),
        expect(clippy::unused_async, reason = "tests hold it up at its ends")
    )]
    async fn ring(&self) {
        #[cfg(feature = "testing")]
        crate::testing::pass_before("prune").await;
        let now = clock::now();
        let inside = &self.inside;
        inside.alarm.set(Alarm::For(None)); // this one is spent
        let done = catch_unwind(AssertUnwindSafe(|| {
            #[cfg(feature = "testing")]
            crate::testing::maybe_fail()?;
            inside.on_alarm(now)
        }));
        let failed = match done {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_panic) => Some(String::from("panic")),
        };
        if let Some(error) = failed {
            event(Level::Error, "alarm_failed", &[("error", &error)]);
            inside.arm(now.plus(ALARM_PAUSE));
        }
        #[cfg(feature = "testing")]
        crate::testing::pass_after("prune").await;
    }
}

impl Inside {
    async fn message(self: &Rc<Self>, bytes: &[u8]) -> Result<Response> {
        let (answer, body) = match message::decode::<Call>(bytes) {
            Ok((call, body)) => match self.take(call, body).await {
                Ok(answered) => answered,
                Err(error) if error.is_panic() => {
                    event(Level::Error, "message_panicked", &[("error", &error)]);
                    return Response::error("panic", 500);
                }
                Err(error) => {
                    event(Level::Error, "message_failed", &[("error", &error)]);
                    (
                        Answer::Failed {
                            why: error.to_string(),
                        },
                        Vec::new(),
                    )
                }
            },
            Err(unreadable) => {
                event(
                    Level::Error,
                    "message_unreadable",
                    &[("error", &unreadable.0)],
                );
                (Answer::Failed { why: unreadable.0 }, Vec::new())
            }
        };
        match message::encode(&answer, &body) {
            Ok(bytes) => Response::from_bytes(bytes),
            Err(unwritable) => Response::error(unwritable.0, 500),
        }
    }

    /// Takes one message, waiting for a running twin where the rule says so.
    async fn take(
        self: &Rc<Self>,
        call: Call,
        body: Vec<u8>,
    ) -> std::result::Result<(Answer, Vec<u8>), SqlError> {
        let now = clock::now();
        if matches!(call.ask, Ask::Look { .. } | Ask::Status { .. }) && !self.is_in_use() {
            return Ok((Answer::Absent, Vec::new()));
        }
        #[cfg(feature = "testing")]
        crate::testing::before_taking(&call)?;
        #[cfg(feature = "testing")]
        let place = crate::testing::place_of(&call.ask);
        #[cfg(feature = "testing")]
        crate::testing::pass_before(place).await;
        #[cfg(feature = "testing")]
        let (fault, is_begin, is_complete) = (
            call.fault.clone(),
            matches!(call.ask, Ask::Begin { .. }),
            matches!(call.ask, Ask::Complete { .. }),
        );
        let (settles, waiting) = (settled_by(&call.ask), Waiting::of(&call));
        self.heard(&call.ask, now);
        let step = self.with_ledger(now, |ledger| ledger.take(call, body, now))?;
        if let Some(operation) = settles {
            self.waiters.wake(&operation);
        }
        self.after(&step, now);
        #[cfg(feature = "testing")]
        crate::testing::pass_after(place).await;
        #[cfg(feature = "testing")]
        crate::testing::before_answering(fault.as_deref(), is_begin, is_complete).await;
        match (step, waiting) {
            (Step::Answer(answer, body), _) => Ok((answer, body)),
            (Step::Wait { operation, span }, Some(waiting)) => {
                if let Some(woken) = self.waiters.join(operation) {
                    let _woken_or_not = body::within(span, woken).await;
                }
                let now = clock::now(); // the record may be another one by now
                let look = |ledger: &mut Ledger| ledger.after_waiting(&waiting, now);
                let answered = self.with_ledger(now, look)?;
                self.arm_for_counts(now);
                Ok(answered)
            }
            (Step::Wait { .. }, None) => Err(SqlError::unreadable("only a begin waits")),
        }
    }

    /// What an origin reports about its running attempt.
    fn attempt(self: &Rc<Self>, bytes: &[u8]) -> Result<Response> {
        let answer = match message::decode(bytes) {
            Ok(_) if !self.is_in_use() => ReportAnswer::Superseded,
            Ok((report, body)) => self
                .report(report, body, clock::now())
                .unwrap_or_else(|error| {
                    event(Level::Error, "report_failed", &[("error", &error)]);
                    ReportAnswer::Failed(error.to_string())
                }),
            Err(unreadable) => ReportAnswer::Failed(unreadable.0),
        };
        Response::from_json(&answer)
    }

    fn operator(self: &Rc<Self>, bytes: &[u8]) -> Result<Response> {
        let message = match json::read(bytes) {
            Ok(message) => message,
            Err(error) => return Response::error(error.to_string(), 400),
        };
        let now = clock::now();
        match &message {
            OperatorMessage::Settle(order) => {
                let settled = self.settle(order, now);
                let answer =
                    settled.unwrap_or_else(|error| OperatorAnswer::Failed(error.to_string()));
                return Response::from_json(&answer);
            }
            OperatorMessage::Tick => {
                let repaired = self.repair(now).map(|()| OperatorAnswer::Ticked);
                let answer =
                    repaired.unwrap_or_else(|error| OperatorAnswer::Failed(error.to_string()));
                return Response::from_json(&answer);
            }
            OperatorMessage::Overview { .. }
            | OperatorMessage::Totals
            | OperatorMessage::List(_)
            | OperatorMessage::Unknown { .. }
            | OperatorMessage::Audit { .. } => {}
        }
        let identity = self.with_ledger(now, |ledger| Ok(ledger.identity().cloned()));
        let answer = match identity {
            Ok(Some(identity)) => object_queries::answer(&self.sql, message, &identity, now),
            Ok(None) => OperatorAnswer::Failed(String::from("the object has no record yet")),
            Err(error) => OperatorAnswer::Failed(error.to_string()),
        };
        Response::from_json(&answer)
    }

    /// One operation as operators are shown it, under its id; nothing if there is none. The Worker passes the bytes on.
    fn detail(&self, id: &[u8]) -> Result<Response> {
        let now = clock::now();
        let id = String::from_utf8_lossy(id);
        let identity = self.with_ledger(now, |ledger| Ok(ledger.identity().cloned()));
        let found = identity.and_then(|identity| match identity {
            Some(identity) => object_queries::detail(&self.sql, &id, &identity, now),
            None => Ok(None),
        });
        match found {
            Ok(Some(detail)) => Response::from_json(&detail),
            Ok(None) => Response::empty(),
            Err(error) => Response::error(error.to_string(), 500),
        }
    }

    fn on_alarm(self: &Rc<Self>, now: Timestamp) -> std::result::Result<(), SqlError> {
        let unknown = self.with_ledger(now, |ledger| ledger.alarm(now))?;
        for operation in &unknown {
            self.waiters.wake(operation);
        }
        self.waiters.tidy();
        let left = self.resolve(now)?;
        let left = if unknown.len() < ledger::LEASES_MAX {
            left
        } else {
            now.plus(ledger::TICK) // more leases wait, and not for the resolver
        };
        if let Some(due) = self.with_ledger(now, |ledger| ledger.next_alarm(now))? {
            let next = self.with_ledger(now, |ledger| ledger.next_due_after(now))?;
            let left = next.map_or(left, |next| next.min(left)); // what the pace holds up holds up no lease
            self.arm(if due <= now { left } else { due });
        }
        Ok(())
    }

    /// What follows a message: the alarm for what it made due, and the word to the fleet.
    fn after(self: &Rc<Self>, step: &Step, now: Timestamp) {
        if matches!(
            step,
            Step::Answer(Answer::Execute { .. } | Answer::Ask(_), _)
        ) {
            self.arm(now.plus(ledger::TICK)); // it finds the lease's end itself
        }
        self.arm_for_counts(now);
        self.register();
    }

    fn arm_for_counts(&self, now: Timestamp) {
        let due = self.with_ledger(now, |ledger| Ok(ledger.counts_due()));
        if let Ok(Some(due)) = due {
            self.arm(due.max(now.plus(ledger::TICK)));
        }
    }

    /// Sets the alarm if it is not set for an earlier moment: each setting is billed as a row.
    fn arm(&self, at: Timestamp) {
        if matches!(self.alarm.get(), Alarm::For(Some(set)) if set <= at) {
            return;
        }
        match self.sql.set_alarm(at) {
            Ok(()) => self.alarm.set(Alarm::For(Some(at))),
            Err(error) => event(Level::Error, "alarm_not_set", &[("error", &error)]),
        }
    }

    /// Asks once what the alarm is set for, and again when it is overdue: then the platform has given it up. One that is not
    /// set is set when something is due (U5).
    async fn ask_for_alarm(&self) {
        match self.alarm.get() {
            Alarm::For(Some(set)) if set.plus(ALARM_PAUSE) <= clock::now() => {
                self.alarm.set(Alarm::NotAsked);
            }
            Alarm::For(_) => return,
            Alarm::NotAsked => {}
        }
        let set = match self.sql.alarm().await {
            Ok(set) => set.filter(|at| at.plus(ALARM_PAUSE) > clock::now()),
            Err(error) => {
                event(Level::Error, "alarm_not_read", &[("error", &error)]);
                None
            }
        };
        if !matches!(self.alarm.get(), Alarm::NotAsked) {
            return;
        }
        self.alarm.set(Alarm::For(set));
        if set.is_none()
            && self.is_in_use()
            && let Err(error) = self.repair(clock::now())
        {
            event(Level::Error, "alarm_not_repaired", &[("error", &error)]);
        }
    }

    /// The alarm is lost, and was due long ago.
    #[cfg(feature = "testing")]
    pub(crate) fn lose_alarm(&self) -> std::result::Result<(), SqlError> {
        self.alarm.set(Alarm::For(Some(Timestamp::from_millis(0))));
        self.sql.lose_alarm()
    }

    /// Whether anything was ever kept here. Whoever asks an object that was never used must not make its tables.
    fn is_in_use(&self) -> bool {
        let tables = "SELECT 1 FROM sqlite_master WHERE name = 'meta'";
        self.ledger.borrow().is_some()
            || self
                .sql
                .exec(tables, &[])
                .is_ok_and(|found| !found.is_empty())
    }

    /// Tells the fleet that this object exists, until it has answered once. Nobody waits for it.
    fn register(self: &Rc<Self>) {
        let identity = self
            .ledger
            .borrow()
            .as_ref()
            .and_then(|ledger| ledger.identity().cloned());
        let Some(identity) = identity.filter(|known| !known.registered) else {
            return;
        };
        if self.registering.replace(true) {
            return;
        }
        let inside = Rc::clone(self);
        let told = async move {
            let place = &identity.place;
            let message = FleetMessage::Register(Registration {
                name: place.object().to_string(),
                tenant: place.tenant.to_string(),
                route: place.route.to_string(),
                shard: place.shard,
            });
            let told = Objects::of(&inside.env)
                .fleet::<_, FleetAnswer>(&message)
                .await;
            let noted = match told {
                Ok(_) => inside
                    .with_ledger(clock::now(), Ledger::registered)
                    .map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = noted {
                event(Level::Warn, "not_registered", &[("error", &error)]);
            }
            inside.registering.set(false);
        };
        #[cfg(feature = "testing")]
        let told = crate::testing::within_object(told);
        self.state.wait_until(told);
    }

    /// Lends out the ledger. After an error or a panic it is gone, and the next event reads the tables anew: what
    /// memory says may then differ from what was kept.
    fn with_ledger<T>(
        &self,
        now: Timestamp,
        work: impl FnOnce(&mut Ledger) -> std::result::Result<T, SqlError>,
    ) -> std::result::Result<T, SqlError> {
        let taken = self.ledger.borrow_mut().take();
        let mut ledger = match taken {
            Some(ledger) => ledger,
            None => Ledger::open(&self.sql, now)?,
        };
        let done = work(&mut ledger)?;
        *self.ledger.borrow_mut() = Some(ledger);
        Ok(done)
    }
}

/// The operation whose waiters must look again.
fn settled_by(ask: &Ask) -> Option<KeyDigest> {
    match ask {
        Ask::Complete { key, .. }
        | Ask::Release { key, .. }
        | Ask::Suspend { key, .. }
        | Ask::Probed { key, .. }
        | Ask::Abandon { key, .. } => Some(KeyDigest::of(key)),
        Ask::Begin { .. }
        | Ask::Pending { .. }
        | Ask::Look { .. }
        | Ask::Status { .. }
        | Ask::Note { .. } => None,
    }
}
