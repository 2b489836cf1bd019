//! Settling by hand, inside the object that keeps the operations (U6).

use std::rc::Rc;

use shared::decide::{Settle, Settlement};
use shared::placement::OperationId;
use shared::policy::Policy;
use shared::processor::Settling;
use shared::record::{Body, Outcome};
use shared::time::Timestamp;
use shared::wire::{SettlementResult, SettlementWord};

use super::Inside;
use super::ledger::TICK;
use crate::entropy;
use crate::message_operator::{OperatorAnswer, Order, Preview, SettleMany};
use crate::object_queries;
use crate::sql::SqlError;

/// Operations that one message settles (X5); more are left to the next.
pub(crate) const SETTLED_MAX: usize = 200;

impl Inside {
    /// Settles those that are named, or all that match, one transaction each.
    pub(super) fn settle(
        self: &Rc<Self>,
        order: &SettleMany,
        now: Timestamp,
    ) -> Result<OperatorAnswer, SqlError> {
        let identity = self.with_ledger(now, |ledger| Ok(ledger.identity().cloned()))?;
        let Some(identity) = identity else {
            return Ok(OperatorAnswer::Settled {
                results: Vec::new(),
                more: false,
            });
        };
        let mut digests = match &order.last_answer {
            Some(last_answer) => object_queries::unknown_digests(
                &self.sql,
                last_answer,
                SETTLED_MAX + 1,
                &order.order,
                &identity,
                now,
            )?,
            None => order
                .operations
                .iter()
                .filter_map(|id| OperationId::parse(id))
                .map(|id| id.key)
                .collect(),
        };
        // As the route is configured now; the promise of the last claim may be older.
        let policy = match self.promise(now)? {
            Some((policy, _route)) => policy,
            None => identity.policy,
        };
        let more = digests.len() > SETTLED_MAX;
        digests.truncate(SETTLED_MAX);
        let mut results = Vec::with_capacity(digests.len());
        for digest in digests {
            let id = OperationId {
                object: identity.place.object(),
                key: digest,
            };
            results.push(self.settle_one(&id, order, &policy, now)?);
            self.waiters.wake(&digest);
        }
        if order.preview == Preview::No {
            self.arm(now.plus(TICK));
        }
        Ok(OperatorAnswer::Settled { results, more })
    }

    fn settle_one(
        &self,
        id: &OperationId,
        order: &SettleMany,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<SettlementResult, SqlError> {
        let found = self.with_ledger(now, |ledger| ledger.find(&id.key, now))?;
        let Some((key, _record)) = found else {
            return Ok(result(id, "", Settle::NothingToSettle, &order.order));
        };
        let settling = Settling {
            token: entropy::attempt_token().map_err(|_none| SqlError::unreadable("no entropy"))?,
            settlement: settlement(&order.order),
            operator: order.operator.clone(),
            reason: order.reason.clone(),
        };
        let settled = self.with_ledger(now, |ledger| {
            ledger.settle(&key, settling, order.preview, policy, now)
        })?;
        Ok(result(id, &key.to_string(), settled, &order.order))
    }
}

fn settlement(order: &Order) -> Settlement {
    match order {
        Order::Succeeded(given) => {
            let content_type = given.content_type.as_ref();
            Settlement::Succeeded(Outcome {
                status: given.status,
                headers: content_type
                    .map(|media| (String::from("content-type"), media.clone()))
                    .into_iter()
                    .collect(),
                body: Body::Kept(given.body.clone().into_bytes()),
            })
        }
        Order::DidNotHappen => Settlement::DidNotHappen,
        Order::TryAgain => Settlement::TryAgain,
    }
}

fn result(id: &OperationId, key: &str, settled: Settle, order: &Order) -> SettlementResult {
    let (result, detail) = match settled {
        Settle::Settled | Settle::AlreadySettled => {
            (SettlementWord::Settled, String::from(follows(order)))
        }
        Settle::Running { lease_until } => (
            SettlementWord::Running,
            format!("An attempt may still be working until {lease_until}; settle it after that."),
        ),
        Settle::NothingToSettle => (
            SettlementWord::NothingToSettle,
            String::from("Its outcome is known, or there is no record of it."),
        ),
    };
    SettlementResult {
        operation: id.to_string(),
        key: String::from(key),
        result,
        detail,
    }
}

const fn follows(order: &Order) -> &'static str {
    match order {
        Order::Succeeded(_) => "Every retry is answered with this outcome; nothing runs again.",
        Order::DidNotHappen => "The record is forgotten, and the next request runs.",
        Order::TryAgain => {
            "It runs once more: by the resolver where the route resumes, else by the next retry."
        }
    }
}
