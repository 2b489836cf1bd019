//! What an origin reports about its running attempt, taken by the object that keeps the operation (L5).
//!
//! The token alone authorises. Whoever has none that counts is told the same, whether or not there is such an operation (X1).

use std::rc::Rc;

use shared::decide::{Checkpoint, Complete, Extend, Release};
use shared::placement::KeyDigest;
use shared::policy::{Policy, Route};
use shared::record::{AttemptId, RecoveryPoint};
use shared::scope::{OperationKey, PhaseName};
use shared::time::Timestamp;

use super::Inside;
use super::ledger::{Ledger, TICK};
use crate::config;
use crate::message_attempt::{AttemptReport, ReportAnswer, Said};
use crate::sql::SqlError;

/// An operation of this object and what its route promises.
struct Operation {
    key: OperationKey,
    policy: Policy,
}

impl Inside {
    /// Takes one report: one transaction.
    pub(super) fn report(
        self: &Rc<Self>,
        mut report: AttemptReport,
        mut body: Vec<u8>,
        now: Timestamp,
    ) -> Result<ReportAnswer, SqlError> {
        let mut bits = [0; 16];
        if hex::decode_to_slice(&report.digest, &mut bits).is_err() {
            return Ok(ReportAnswer::Superseded);
        }
        let digest = KeyDigest::from_bytes(bits);
        let mut refusal = None;
        match &mut report.said {
            Said::Checkpoint { name, .. } => {
                refusal = self
                    .on_route(now, |route| refuse_phase(route, name))?
                    .flatten();
            }
            // A2: a body over the route's cap is not kept, and the outcome is one all the same.
            Said::Complete(outcome) => {
                let fits = |route: &Route| body.len() <= route.outcome_body_max();
                if !self.on_route(now, fits)?.unwrap_or(true) {
                    outcome.omitted = Some(u64::try_from(body.len()).unwrap_or(u64::MAX));
                    body = Vec::new();
                }
            }
            Said::Extend(_) | Said::ReadPoint | Said::Release => {}
        }
        let token = report.token.0;
        let answer = self.with_ledger(now, |ledger| {
            let Some(operation) = operation(ledger, &digest, now)? else {
                return Ok(ReportAnswer::Superseded);
            };
            match (report.said, refusal) {
                // X1: what is wrong with a report is for those to hear who may make one.
                (Said::Checkpoint { .. }, _) if !holds(ledger, &digest, token, now)? => {
                    Ok(ReportAnswer::Superseded)
                }
                (_, Some(refusal)) => Ok(refusal),
                (said, None) => take(ledger, &operation, token, said, body, now),
            }
        })?;
        if ends_waiting(&answer) {
            self.waiters.wake(&digest);
        }
        self.arm(now.plus(TICK));
        Ok(answer)
    }

    /// What the route of this object says, as it is configured now; nothing if it is not.
    fn on_route<T>(
        &self,
        now: Timestamp,
        read: impl FnOnce(&Route) -> T,
    ) -> Result<Option<T>, SqlError> {
        let identity = self.with_ledger(now, |ledger| Ok(ledger.identity().cloned()))?;
        let Some((identity, settings)) = identity.zip(config::settings(&self.env)) else {
            return Ok(None);
        };
        let route = settings.routes.named(identity.place.route.as_str());
        Ok(route.map(read))
    }
}

/// Whether those who wait for the operation have something else to be told from now on.
const fn ends_waiting(answer: &ReportAnswer) -> bool {
    match answer {
        ReportAnswer::Recorded | ReportAnswer::Released | ReportAnswer::StillUnknown => true,
        ReportAnswer::Extended(_)
        | ReportAnswer::Saved
        | ReportAnswer::Point(_)
        | ReportAnswer::Superseded
        | ReportAnswer::Ended
        | ReportAnswer::Refused(_)
        | ReportAnswer::Failed(_) => false,
    }
}

/// A recovery point that is none of the phases that the route declares, if it declares any (L5).
fn refuse_phase(route: &Route, name: &str) -> Option<ReportAnswer> {
    let phases = route.phases();
    if phases.is_empty() || phases.iter().any(|phase| phase.as_str() == name) {
        return None;
    }
    let declared: Vec<&str> = phases.iter().map(PhaseName::as_str).collect();
    let found = shared::quote::quoted(name.as_bytes());
    Some(ReportAnswer::Refused(format!(
        "recovery point {found} is none of the phases of its route: {}",
        declared.join(", ")
    )))
}

fn operation(
    ledger: &mut Ledger,
    digest: &KeyDigest,
    now: Timestamp,
) -> Result<Option<Operation>, SqlError> {
    let policy = ledger.identity().map(|known| known.policy);
    let key = match ledger.find(digest, now)? {
        Some((key, _record)) => Some(key),
        // Late reports may contradict what was settled, although the record is gone (L3).
        None => ledger.settled_key(digest)?,
    };
    Ok(key
        .zip(policy)
        .map(|(key, policy)| Operation { key, policy }))
}

/// Whether the token is that of the last attempt that was let run.
fn holds(
    ledger: &mut Ledger,
    digest: &KeyDigest,
    token: AttemptId,
    now: Timestamp,
) -> Result<bool, SqlError> {
    let found = ledger.find(digest, now)?;
    Ok(found.is_some_and(|(_, record)| record.attempt == token))
}

fn take(
    ledger: &mut Ledger,
    Operation { key, policy }: &Operation,
    token: AttemptId,
    said: Said,
    body: Vec<u8>,
    now: Timestamp,
) -> Result<ReportAnswer, SqlError> {
    Ok(match said {
        Said::Extend(span) => match ledger.processor().extend(key, token, span, policy, now)? {
            Extend::Until(until) => ReportAnswer::Extended(until),
            Extend::Ended => ReportAnswer::Ended,
            Extend::Superseded => ReportAnswer::Superseded,
        },
        Said::Checkpoint { name, data } => match RecoveryPoint::new(name, data) {
            Ok(point) => match ledger.processor().checkpoint(key, token, point, now)? {
                Checkpoint::Saved => ReportAnswer::Saved,
                Checkpoint::Ended => ReportAnswer::Ended,
                Checkpoint::Superseded => ReportAnswer::Superseded,
            },
            Err(error) => ReportAnswer::Refused(error.to_string()),
        },
        Said::ReadPoint => match ledger.find(&KeyDigest::of(key), now)? {
            Some((_, record)) if record.attempt == token => {
                let point = record.point.as_ref();
                let text = |text: &str| String::from(text);
                ReportAnswer::Point(point.map(|point| (text(point.name()), text(point.data()))))
            }
            Some(_) | None => ReportAnswer::Superseded,
        },
        Said::Complete(outcome) => {
            let outcome = outcome.with(body);
            match ledger
                .processor()
                .complete(key, token, outcome, None, policy, now)?
            {
                Complete::Recorded { .. } | Complete::AlreadyRecorded { .. } => {
                    ReportAnswer::Recorded
                }
                Complete::Superseded => ReportAnswer::Superseded,
            }
        }
        // A record that is gone has nothing to release; a token that never counted is not told so.
        Said::Release if ledger.find(&KeyDigest::of(key), now)?.is_none() => {
            ReportAnswer::Superseded
        }
        Said::Release => match ledger
            .processor()
            .release_by_origin(key, token, policy, now)?
        {
            Release::Released | Release::AlreadyReleased => ReportAnswer::Released,
            Release::StillUnknown(_) => ReportAnswer::StillUnknown,
            Release::AlreadyRecorded => ReportAnswer::Ended,
            Release::Superseded => ReportAnswer::Superseded,
        },
    })
}
