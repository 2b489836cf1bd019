//! What an origin reports about its running attempt, taken by the object that keeps the operation (L5).
//!
//! The token alone authorises. Whoever has none that counts is told the same, whether or not there is such an operation (X1).

use std::rc::Rc;

use shared::decide::{Checkpoint, Complete, Extend, Release};
use shared::placement::KeyDigest;
use shared::policy::Policy;
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
        report: AttemptReport,
        body: Vec<u8>,
        now: Timestamp,
    ) -> Result<ReportAnswer, SqlError> {
        let mut bits = [0; 16];
        if hex::decode_to_slice(&report.digest, &mut bits).is_err() {
            return Ok(ReportAnswer::Superseded);
        }
        let digest = KeyDigest::from_bytes(bits);
        if let Said::Checkpoint { name, .. } = &report.said
            && let Some(refusal) = self.refuse_phase(name, now)?
        {
            return Ok(refusal);
        }
        let token = report.token.0;
        let answer = self.with_ledger(now, |ledger| {
            let Some(operation) = operation(ledger, &digest, now)? else {
                return Ok(ReportAnswer::Superseded);
            };
            take(ledger, &operation, token, report.said, body, now)
        })?;
        self.waiters.wake(&digest);
        self.arm(now.plus(TICK));
        Ok(answer)
    }

    /// A recovery point that is none of the phases that the route declares, if it declares any (L5).
    fn refuse_phase(&self, name: &str, now: Timestamp) -> Result<Option<ReportAnswer>, SqlError> {
        let identity = self.with_ledger(now, |ledger| Ok(ledger.identity().cloned()))?;
        let Some((identity, settings)) = identity.zip(config::settings(&self.env)) else {
            return Ok(None);
        };
        let phases = settings
            .routes
            .named(identity.place.route.as_str())
            .map_or(&[][..], |route| route.phases());
        if phases.is_empty() || phases.iter().any(|phase| phase.as_str() == name) {
            return Ok(None);
        }
        let declared: Vec<&str> = phases.iter().map(PhaseName::as_str).collect();
        let found = shared::quote::quoted(name.as_bytes());
        Ok(Some(ReportAnswer::Refused(format!(
            "recovery point {found} is none of the phases of its route: {}",
            declared.join(", ")
        ))))
    }
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
        Said::Release => match ledger.processor().release(key, token, None, policy, now)? {
            Release::Released | Release::AlreadyReleased => ReportAnswer::Released,
            Release::StillUnknown(_) => ReportAnswer::StillUnknown,
            Release::AlreadyRecorded => ReportAnswer::Ended,
            Release::Superseded => ReportAnswer::Superseded,
        },
    })
}
