//! The resolver: what an object does by itself about outcomes that nobody knows (U5).
//!
//! It decides nothing: `shared::decide::pursue` says what is due and what may be done, `shared::resolver` how fast. What it
//! may do is saved before anything is sent, and what came of it goes through the same fenced transitions as every
//! caller's attempt.

use std::rc::Rc;

use shared::decide::Pursue;
use shared::placement::{KeyDigest, OperationId};
use shared::policy::{Policy, Route};
use shared::processor::Asker;
use shared::record::AttemptId;
use shared::scope::OperationKey;
use shared::time::{Millis, Timestamp};

use super::Inside;
use super::ledger::{Ledger, TICK, asked};
use crate::dispatch::{self, Judged, KeptRequest, Told};
use crate::message;
use crate::origin::{self, Arrival, Dispatch};
use crate::sql::SqlError;
use crate::telemetry::{Level, event};
use crate::{clock, config, entropy, probing};

/// When to look again where nothing can be done: the configuration is wrong, or has no such route any more.
const IDLE: Millis = Millis::from_mins(1);

impl Inside {
    /// Takes what is due, as much as the pace allows. When to look again for what had to be left.
    pub(super) fn resolve(self: &Rc<Self>, now: Timestamp) -> Result<Timestamp, SqlError> {
        let Some((policy, route_name)) = self.promise(now)? else {
            return Ok(now.plus(IDLE));
        };
        let mut pace = self.pace.get();
        let free = pace.sends(self.on_their_way.get(), now);
        let drawn: Result<Vec<AttemptId>, _> =
            (0..free).map(|_| entropy::attempt_token()).collect();
        let Ok(tokens) = drawn else {
            event(Level::Error, "no_entropy", &[]);
            return Ok(now.plus(IDLE));
        };
        let pursued = if tokens.is_empty() {
            Vec::new()
        } else {
            self.with_ledger(now, |ledger| ledger.pursue(&tokens, &policy, now))?
        };
        for (key, token, pursue) in pursued {
            match pursue {
                Pursue::Nothing => {}
                Pursue::NeedsAPerson => event(
                    Level::Warn,
                    "needs_a_person",
                    &[("route", &route_name), ("key", &KeyDigest::of(&key))],
                ),
                Pursue::Send(_) | Pursue::Ask(_) => {
                    pace.sent();
                    self.set_out(key, token, pursue);
                }
            }
        }
        self.pace.set(pace);
        Ok(pace.next(now).max(now.plus(TICK)))
    }

    /// What the route promises now, as it is configured.
    pub(super) fn promise(&self, now: Timestamp) -> Result<Option<(Policy, String)>, SqlError> {
        let identity = self.with_ledger(now, |ledger| Ok(ledger.identity().cloned()))?;
        let settings = config::settings(&self.env);
        Ok(identity.zip(settings).and_then(|(identity, settings)| {
            let name = identity.place.route;
            let route = settings.routes.named(name.as_str())?;
            Some((route.policy(), name.to_string()))
        }))
    }

    /// Goes on beside the alarm, which waits for no origin.
    fn set_out(self: &Rc<Self>, key: OperationKey, token: AttemptId, pursue: Pursue) {
        let inside = Rc::clone(self);
        self.on_their_way.set(self.on_their_way.get() + 1);
        let carried_out = async move {
            let done = inside.carry_out(&key, token, pursue).await;
            inside
                .on_their_way
                .set(inside.on_their_way.get().saturating_sub(1));
            if let Err(error) = done {
                // Its lease ends, and then it is due again.
                event(Level::Error, "resolver_failed", &[("error", &error)]);
            }
            inside.waiters.wake(&KeyDigest::of(&key));
            inside.arm(clock::now().plus(TICK));
        };
        #[cfg(feature = "testing")]
        let carried_out = crate::testing::within_object(carried_out);
        self.state.wait_until(carried_out);
    }

    async fn carry_out(
        &self,
        key: &OperationKey,
        token: AttemptId,
        pursue: Pursue,
    ) -> Result<(), SqlError> {
        let now = clock::now();
        let identity = self.with_ledger(now, |ledger| Ok(ledger.identity().cloned()))?;
        let Some((identity, settings)) = identity.zip(config::settings(&self.env)) else {
            return Ok(());
        };
        let Some(route) = settings.routes.named(identity.place.route.as_str()) else {
            return Ok(());
        };
        let id = OperationId::new(&identity.place, key);
        let tenant = &identity.place.tenant;
        match pursue {
            Pursue::Send(lease) => {
                let told = Told {
                    operation: id.to_string(),
                    attempt: Some((token, lease.number.get())),
                    deadline: route.time_within(lease.until.since(now)),
                    tenant: tenant.as_str(),
                    point: lease.point.as_ref().map(|point| String::from(point.name())),
                };
                let Some(base) = settings.origin_of(route) else {
                    return Ok(());
                };
                let kept = self.with_ledger(now, |ledger| ledger.request(key))?;
                let own = probing::own_headers(&settings, route);
                let dispatch = dispatch_of(kept, base.as_str(), told, own)?;
                #[cfg(feature = "testing")]
                crate::testing::pass_before("resolver-send").await;
                let arrival = origin::send(dispatch).await;
                #[cfg(feature = "testing")]
                crate::testing::pass_after("resolver-send").await;
                #[cfg(feature = "testing")]
                crate::testing::pass_before("resolver-complete").await;
                let concluded = self.conclude(key, token, route, &id, arrival);
                #[cfg(feature = "testing")]
                crate::testing::pass_after("resolver-complete").await;
                concluded
            }
            Pursue::Ask(question) => {
                let question = asked(question, now);
                #[cfg(feature = "testing")]
                crate::testing::pass_before("resolver-ask").await;
                let asked =
                    probing::ask(&settings, route, &id, tenant, &question, route.timeout()).await;
                #[cfg(feature = "testing")]
                crate::testing::pass_after("resolver-ask").await;
                let (finding, kept) = (asked.finding, asked.done.map(|done| done.kept));
                let kept = kept.unwrap_or_default();
                let now = clock::now();
                self.note_answer(asked.answered, now);
                let policy = route.policy();
                self.with_ledger(now, |ledger| {
                    let finding = finding.with(kept);
                    let processor = ledger.processor();
                    processor.probed(key, token, finding, Asker::Resolver, &policy, now)
                })?;
                #[cfg(feature = "testing")]
                crate::testing::pass_after("resolver-told").await;
                Ok(())
            }
            Pursue::Nothing | Pursue::NeedsAPerson => Ok(()),
        }
    }

    /// The record is told what came of a send.
    fn conclude(
        &self,
        key: &OperationKey,
        token: AttemptId,
        route: &Route,
        id: &OperationId,
        arrival: Arrival,
    ) -> Result<(), SqlError> {
        let judged = dispatch::judge(route, &id.to_string(), arrival);
        let (policy, now) = (route.policy(), clock::now());
        self.note_answer(!matches!(judged, Judged::Unknown { .. }), now);
        self.with_ledger(now, |ledger| {
            let processor = ledger.processor();
            match judged {
                Judged::Final(done) => {
                    let (outcome, reference) = (done.outcome.with(done.kept), done.reference);
                    let reference = reference.as_deref();
                    processor.complete(key, token, outcome, reference, &policy, now)?;
                }
                Judged::NotRun(answer) => {
                    processor.release(key, token, Some(answer.status), &policy, now)?;
                }
                Judged::Unknown { cause, reference } => {
                    processor.suspend(key, token, cause, reference.as_deref(), &policy, now)?;
                }
                Judged::Pending { reference } => {
                    if let Some(reference) = reference {
                        processor.refer(key, token, &reference, now)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// The breaker hears whether the origin answered.
    fn note_answer(&self, answered: bool, now: Timestamp) {
        let mut pace = self.pace.get();
        if answered {
            pace.answered();
        } else {
            pace.failed(now);
        }
        self.pace.set(pace);
    }

    /// A caller's attempt has ended: the breaker hears of it, too.
    pub(super) fn heard(&self, ask: &message::Ask, now: Timestamp) {
        use message::Ask;
        let mut pace = self.pace.get();
        match ask {
            Ask::Begin { .. } => pace.request(),
            Ask::Complete { .. }
            | Ask::Pending { .. }
            | Ask::Release {
                status: Some(_), ..
            } => pace.answered(),
            Ask::Suspend { .. } => pace.failed(now),
            Ask::Release { status: None, .. }
            | Ask::Probed { .. }
            | Ask::Abandon { .. }
            | Ask::Look { .. }
            | Ask::Status { .. }
            | Ask::Note { .. } => {}
        }
        self.pace.set(pace);
    }

    /// Somebody asks the object to see that its alarm is set: the cron's tick, or a request to an object without one.
    pub(super) fn repair(&self, now: Timestamp) -> Result<(), SqlError> {
        if let Some(due) = self.with_ledger(now, Ledger::next_due)? {
            self.arm(due.max(now.plus(TICK)));
        }
        Ok(())
    }
}

/// The request as it was kept, with what this attempt adds.
fn dispatch_of(
    kept: Option<Vec<u8>>,
    base: &str,
    told: Told<'_>,
    own: Vec<(String, String)>,
) -> Result<Dispatch, SqlError> {
    let kept = kept.ok_or_else(|| SqlError::unreadable("the request is not kept any more"))?;
    let (request, body) = message::decode::<KeptRequest>(&kept)
        .map_err(|unreadable| SqlError::unreadable(unreadable.0))?;
    let deadline = told.deadline;
    let mut headers = request.headers;
    headers.retain(|(name, _)| own.iter().all(|(known, _)| known != name));
    headers.extend(own);
    headers.extend(told.headers());
    Ok(Dispatch {
        url: format!("{base}{}", request.target),
        method: request.method,
        headers,
        body,
        deadline,
    })
}
