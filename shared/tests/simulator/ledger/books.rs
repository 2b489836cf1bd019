//! What is compared after every step: each record with its life in the books, the log, the alarm, and what the origin did.

use shared::audit::{Act, Entry};
use shared::policy::{Kind, OnUnknown};
use shared::record::{AttemptId, Next, Outcome, Record, State};
use shared::time::{Millis, Timestamp};

use super::{EFFECT, Ledger, Life, Made, Standing};
use crate::invariant::{self as says, Held, must};
use crate::message::Op;
use crate::situation::Situation;

/// The alarm need not come earlier than this after the one before.
pub(crate) const TICK: Millis = Millis::from_secs(1);

impl Ledger {
    /// The record that is there is the one that the answers speak of.
    pub(crate) fn judge(
        &self,
        op: Op,
        record: Option<&Record>,
        request_is_kept: bool,
        now: Timestamp,
    ) -> Held {
        let life = self.life(op).filter(|life| life.is_live(now));
        let record = record.filter(|record| record.is_live(now));
        match (life, record) {
            (None, None) => Ok(()),
            (None, Some(record)) => must(false, says::HALF_OPEN, || format!("{op:?}: {record:?}")),
            (Some(life), None) if life.is_settled() => must(false, says::HALF_OPEN, || {
                format!("{op:?}: {life:?} is gone")
            }),
            (Some(life), None) => must(false, says::NOT_FORGOTTEN, || format!("{op:?}: {life:?}")),
            (Some(life), Some(record)) => {
                let told = || format!("{op:?}: {record:?} is not {life:?}");
                must(
                    record.fingerprint.digest[0] == life.fingerprint,
                    says::OTHER_REQUEST,
                    told,
                )?;
                must(record.attempt == life.holder, says::STALE, told)?;
                must(record.number.get() == life.number, says::NUMBER_RISES, told)?;
                must(record.point == life.point, says::POINT_GOES_ON, told)?;
                let twice =
                    !life.earlier_unknown || life.said_not_run || record.may_have_run_twice();
                must(twice, says::NOT_FORGOTTEN, told)?;
                let kept = life.request_is_kept && !life.is_settled();
                must(kept == request_is_kept, says::REQUEST_KEPT, told)?;
                judge_standing(op, life, record, now)?;
                self.judge_due(op, life, record, request_is_kept)
            }
        }
    }

    /// What is not settled goes on by itself, or says why not (U5).
    fn judge_due(&self, op: Op, life: &Life, record: &Record, request_is_kept: bool) -> Held {
        let told = || format!("{op:?}: {record:?}");
        let next = match record.state {
            State::InProgress { .. } => {
                return must(record.due().is_some(), says::HAS_A_DUE_MOMENT, told);
            }
            State::Completed { .. } => return Ok(()),
            State::Indeterminate { next, .. } => next,
        };
        let policy = self.plan.policy;
        match next {
            Next::Resolver(_) | Next::Asking { .. } => {
                must(record.due().is_some(), says::HAS_A_DUE_MOMENT, told)
            }
            Next::Retry => must(life.retry_allowed, says::NOT_RETRIED, told),
            Next::Nobody => {
                let spent = record.tries >= policy.resolve_tries();
                let may = match policy.on_unknown() {
                    OnUnknown::Park | OnUnknown::Rerun => true,
                    OnUnknown::Resume => spent || !request_is_kept,
                    OnUnknown::Probe => spent,
                };
                must(may, says::GIVES_UP_LAST, told)
            }
        }
    }

    /// The log has grown by what was done, and by evidence (U6, L3).
    pub(crate) fn judge_log(&self, op: Op, before: &[Entry], after: &[Entry]) -> Held {
        let kept = after.len() >= before.len() && after[..before.len()] == *before;
        must(kept, says::LOG_APPENDED, || format!("{op:?}: {after:?}"))?;
        let acts = after.iter().filter(|entry| match entry.act {
            Act::Succeeded(_) | Act::DidNotHappen | Act::TryAgain => true,
            Act::LateFinal { .. } => false,
        });
        let (found, expected) = (acts.count(), self.operations[&op].acts);
        must(found == expected, says::LOG_APPENDED, || {
            format!("{op:?}: {found} acts are logged, {expected} were done: {after:?}")
        })
    }

    /// A report under a token that a settlement fenced off is evidence, and raises an alarm if it says otherwise (L3).
    pub(crate) fn judge_evidence(&mut self, token: AttemptId, status: u16, log: &[Entry]) -> Held {
        let entry = log.iter().find(|entry| entry.id == token);
        let said = self.denied.get(&token).copied();
        let first = self.late.insert(token);
        if entry.is_some() && first {
            self.seen.note(Situation::LateFinalKept);
        }
        let Some(said) = said.filter(|_| first) else {
            return Ok(());
        };
        let contradicts = said != Some(status);
        let flagged = entry.map(|entry| match entry.act {
            Act::LateFinal { contradicts, .. } => contradicts,
            Act::Succeeded(_) | Act::DidNotHappen | Act::TryAgain => false,
        });
        if contradicts {
            self.seen.note(Situation::Contradiction);
        }
        must(
            flagged == Some(contradicts),
            says::CONTRADICTION_SEEN,
            || format!("{token} reported {status} after {said:?}: {log:?}"),
        )
    }

    /// The alarm that is set comes no later than the first due moment (U5).
    pub(crate) fn judge_alarm(
        due: Option<Timestamp>,
        armed: Option<Timestamp>,
        now: Timestamp,
    ) -> Held {
        let Some(due) = due else {
            return Ok(());
        };
        let in_time = armed.is_some_and(|armed| armed <= due.max(now.plus(TICK)));
        must(in_time, says::ALARM_ARMED, || {
            format!("due {due}, armed {armed:?}")
        })
    }

    /// The origin did it: under the word that this token was let run by, or under none. The effect's own number.
    pub(crate) fn effect(&mut self, op: Op, epoch: u32, fingerprint: u8) -> (String, Held) {
        let number = (self.made.len() + 1).to_string();
        let made = Made {
            op,
            fingerprint: Some(fingerprint),
        };
        self.made.insert(number.clone(), made);
        let effects = self.operation(op).effects.entry(epoch).or_default();
        *effects += 1;
        let one = *effects == 1 || !self.plan.promises_one_effect();
        let held = must(one, says::ONE_EFFECT, || {
            format!("{op:?}: effect {number}, epoch {epoch}")
        });
        (number, held)
    }

    /// A number for an outcome that an operator makes up.
    pub(crate) fn made_up(&mut self, op: Op) -> String {
        let number = (self.made.len() + 1).to_string();
        let made = Made {
            op,
            fingerprint: None,
        };
        self.made.insert(number.clone(), made);
        number
    }

    /// What a client is shown was made for its tenant, its key and its request (X1, A).
    pub(crate) fn answered(&mut self, op: Op, fingerprint: u8, outcome: &Outcome) -> Held {
        self.seen.note(Situation::ClientAnswered);
        let number = outcome.headers.iter().find(|(name, _)| name == EFFECT);
        let Some(made) = number.and_then(|(_, number)| self.made.get(number)) else {
            return must(false, says::SAME_BYTES, || {
                format!("nobody made {outcome:?}")
            });
        };
        must(made.op == op, says::TENANTS_APART, || {
            format!("{op:?} was shown {:?}'s", made.op)
        })?;
        let own = made
            .fingerprint
            .is_none_or(|made_for| made_for == fingerprint)
            || self.plan.policy.kind() == Kind::Webhook;
        must(own, says::OTHER_REQUEST, || {
            format!("{op:?}: {outcome:?} for {fingerprint}")
        })
    }

    /// A client was promised these bytes until then (A1).
    pub(super) fn promise(
        &mut self,
        op: Op,
        outcome: &Outcome,
        expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Held {
        let promised = &mut self.operation(op).promised;
        if let Some((before, until)) = promised
            && now < *until
        {
            return must(before == outcome, says::SAME_BYTES, || {
                format!("{op:?}: {outcome:?} in place of {before:?}")
            });
        }
        *promised = expires_at.map(|until| (outcome.clone(), until));
        Ok(())
    }
}

fn judge_standing(op: Op, life: &Life, record: &Record, now: Timestamp) -> Held {
    let told = || format!("{op:?}: {record:?} is not {life:?}");
    match (&life.standing, &record.state) {
        (
            Standing::Settled {
                outcome,
                expires_at,
                by,
            },
            State::Completed {
                outcome: kept,
                expires_at: until,
                by: word,
                ..
            },
        ) => must(
            (outcome, expires_at, by) == (kept, until, word),
            says::SETTLED_STAYS,
            told,
        ),
        (Standing::Settled { .. }, State::InProgress { .. } | State::Indeterminate { .. }) => {
            must(false, says::SETTLED_STAYS, told)
        }
        (Standing::Open | Standing::Unknown, State::Completed { .. }) => {
            must(false, says::NOT_FORGOTTEN, told)
        }
        (
            Standing::Open | Standing::Unknown,
            State::InProgress { lease_until } | State::Indeterminate { lease_until, .. },
        ) => {
            must(*lease_until == life.lease_until, says::ONE_LEASE, told)?;
            must(
                life.is_running(now) != record.unknown(now).is_some(),
                says::NOT_FORGOTTEN,
                told,
            )
        }
    }
}
