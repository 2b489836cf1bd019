//! The books of an observer: what every answer of the store allows to be true, and what the origin really did.
//!
//! Not the rule: it decides nothing and never sees a record before it judges it. It knows each operation's *life*, from
//! the claim to the moment at which it may be forgotten, by the answers alone, and says which answer may not be.

use std::collections::{BTreeMap, BTreeSet};

use shared::decide::{
    Begin, Complete, Extend, Lease, Look, Probed, Pursue, Release, Replay, Settle, Settlement,
    Suspend,
};
use shared::policy::{Kind, LEASE_MAX, OnUnknown};
use shared::record::{AttemptId, Outcome, RecoveryPoint, SettledBy};
use shared::time::Timestamp;

use crate::invariant::{self as says, Held, must};
use crate::message::{Answer, Call, Message, Op};
use crate::plan::Plan;
use crate::situation::{Coverage, Situation};

mod books;

pub(crate) const TENANTS: usize = 2;
pub(crate) const KEYS: usize = 2;

/// The header that numbers an outcome's effect: one that stands in for another shows.
pub(crate) const EFFECT: &str = "x-effect";

/// The books.
pub(crate) struct Ledger {
    pub(crate) plan: Plan,
    pub(crate) seen: Coverage,
    operations: BTreeMap<Op, Operation>,
    /// Every outcome that somebody made, by its number.
    made: BTreeMap<String, Made>,
    /// What a token was let run for, last.
    granted: BTreeMap<AttemptId, Grant>,
    /// Which tokens were given up, and until when a message may still be on its way under them (L7).
    abandoned: BTreeMap<AttemptId, Timestamp>,
    /// Of whom a person or the origin said that it did not run, or how it ended: what it reports later is evidence (L3).
    denied: BTreeMap<AttemptId, Option<u16>>,
    /// Who reported late.
    late: BTreeSet<AttemptId>,
}

/// Who made an outcome.
struct Made {
    op: Op,
    /// None for an operator's word.
    fingerprint: Option<u8>,
}

/// Which run a token was let do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grant {
    /// Rises whenever a person, or the end of a retention, lets an operation run once more.
    pub(crate) epoch: u32,
    pub(crate) life: u32,
    pub(crate) lease_until: Timestamp,
}

#[derive(Default)]
struct Operation {
    life: Option<Life>,
    lives: u32,
    epoch: u32,
    number: u64,
    effects: BTreeMap<u32, u32>,
    /// What clients were answered, and until when they may count on it.
    promised: Option<(Outcome, Timestamp)>,
    was_kept: bool,
    acts: usize,
}

/// One operation from its claim until it may be forgotten.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is believed of a life is several facts that don't exclude each other"
)]
pub(crate) struct Life {
    fingerprint: u8,
    holder: AttemptId,
    number: u64,
    dispatched_at: Timestamp,
    lease_until: Timestamp,
    standing: Standing,
    earlier_unknown: bool,
    said_not_run: bool,
    retry_allowed: bool,
    point: Option<RecoveryPoint>,
    request_is_kept: bool,
    asking: Option<(AttemptId, Timestamp)>,
    let_run: BTreeSet<AttemptId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// The holder has not said how it ended.
    Open,
    /// Somebody said that nobody knows.
    Unknown,
    /// The outcome is kept.
    Settled {
        outcome: Outcome,
        expires_at: Option<Timestamp>,
        by: SettledBy,
    },
}

impl Life {
    fn is_running(&self, now: Timestamp) -> bool {
        self.standing == Standing::Open && now < self.lease_until
    }

    fn is_unknown(&self, now: Timestamp) -> bool {
        match self.standing {
            Standing::Open => self.lease_until <= now,
            Standing::Unknown => true,
            Standing::Settled { .. } => false,
        }
    }

    fn is_settled(&self) -> bool {
        matches!(self.standing, Standing::Settled { .. })
    }

    fn is_live(&self, now: Timestamp) -> bool {
        match self.standing {
            Standing::Settled {
                expires_at: Some(end),
                ..
            } => now < end,
            Standing::Settled {
                expires_at: None, ..
            }
            | Standing::Open
            | Standing::Unknown => true,
        }
    }

    fn is_asking(&self, now: Timestamp) -> bool {
        self.asking.is_some_and(|(_, until)| now < until)
    }
}

impl Ledger {
    pub(crate) fn new(plan: Plan) -> Self {
        Self {
            plan,
            seen: Coverage::new(),
            operations: operations().map(|op| (op, Operation::default())).collect(),
            made: BTreeMap::new(),
            granted: BTreeMap::new(),
            abandoned: BTreeMap::new(),
            denied: BTreeMap::new(),
            late: BTreeSet::new(),
        }
    }

    /// What this token was last let run for.
    pub(crate) fn grant(&self, token: AttemptId) -> Option<Grant> {
        self.granted.get(&token).copied()
    }

    /// How many lives the operation has had.
    pub(crate) fn lives(&self, op: Op) -> u32 {
        self.operations[&op].lives
    }

    /// When leases and retentions end.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Timestamp> {
        let lives = self
            .operations
            .values()
            .filter_map(|operation| operation.life.as_ref());
        lives.filter_map(|life| match life.standing {
            Standing::Settled { expires_at, .. } => expires_at,
            Standing::Open | Standing::Unknown => Some(life.lease_until),
        })
    }

    /// The operations that operators are shown as unknown.
    pub(crate) fn unknown(&self, now: Timestamp) -> Vec<Op> {
        let lives = self.operations.iter().filter(|(_, operation)| {
            let life = operation.life.as_ref();
            life.is_some_and(|life| life.is_unknown(now) && life.lease_until <= now)
        });
        lives.map(|(op, _)| *op).collect()
    }

    /// The operations that are not running: a request for one that is mostly waits.
    pub(crate) fn not_running(&self, now: Timestamp) -> Vec<Op> {
        let idle = self.operations.iter().filter(|(_, operation)| {
            let life = operation.life.as_ref();
            life.is_none_or(|life| !life.is_running(now))
        });
        idle.map(|(op, _)| *op).collect()
    }

    /// Whether its present run had an effect: who says otherwise is wrong.
    pub(crate) fn has_effect(&self, op: Op) -> bool {
        let operation = &self.operations[&op];
        operation.effects.contains_key(&operation.epoch)
    }

    /// The store took a message and answered.
    pub(crate) fn took(&mut self, message: &Message, answer: &Answer, now: Timestamp) -> Held {
        let op = message.op;
        self.end_of_retention(op, now);
        match (&message.call, answer) {
            (
                Call::Begin {
                    fingerprint,
                    minted_at,
                },
                Answer::Begin(begin),
            ) => self.begun(op, message.token, *fingerprint, *minted_at, begin, now),
            (Call::Look { fingerprint, .. }, Answer::Look(look)) => {
                self.looked(op, *fingerprint, look, now)
            }
            (Call::Abandon, Answer::Done) => {
                self.abandon(op, message.token, now);
                Ok(())
            }
            (Call::Complete(outcome, _), Answer::Complete(complete)) => {
                self.completed(op, message.token, outcome, *complete, now)
            }
            (Call::Release(_), Answer::Release(release)) => {
                self.released(op, message.token, *release)
            }
            (Call::Suspend(_), Answer::Suspend(suspend)) => {
                self.suspended(op, message.token, *suspend, now)
            }
            (Call::Extend(_), Answer::Extend(extend)) => {
                self.extended(op, message.token, *extend, now)
            }
            (Call::Checkpoint(point), Answer::Checkpoint(checkpoint)) => {
                self.checkpointed(op, message.token, point, *checkpoint)
            }
            (Call::Probed(finding, _), Answer::Probed(probed)) => {
                self.probed(op, message.token, finding, *probed, now)
            }
            (Call::Settle(settlement), Answer::Settle(settle)) => {
                self.settled(op, message.token, settlement, *settle, now)
            }
            (Call::Refer(_), _) => Ok(()),
            (call, answer) => panic!("{call:?} was answered {answer:?}"),
        }
    }

    /// The resolver was told what to do (U5).
    pub(crate) fn pursued(
        &mut self,
        op: Op,
        token: AttemptId,
        pursue: &Pursue,
        now: Timestamp,
    ) -> Held {
        self.end_of_retention(op, now);
        match pursue {
            Pursue::Send(lease) => {
                self.seen.note(Situation::TakenOverByResolver);
                let resumes = self.plan.policy.on_unknown() == OnUnknown::Resume;
                must(resumes, says::NOT_RETRIED, || {
                    format!("{op:?}: sent by itself")
                })?;
                let fingerprint = self.life(op).map_or(0, |life| life.fingerprint);
                self.executed(op, token, fingerprint, lease, now)
            }
            Pursue::Ask(question) => {
                self.seen.note(Situation::ResolverAsks);
                self.asks(op, token, question.until, now)
            }
            Pursue::NeedsAPerson => {
                self.seen.note(Situation::ResolverGaveUp);
                if let Some(life) = &mut self.operation(op).life {
                    life.asking = None; // its time was over
                }
                Ok(())
            }
            Pursue::Nothing => Ok(()),
        }
    }

    fn life(&self, op: Op) -> Option<&Life> {
        self.operations[&op].life.as_ref()
    }

    fn operation(&mut self, op: Op) -> &mut Operation {
        self.operations.entry(op).or_default()
    }

    /// An outcome may be forgotten once its retention has passed (R1); what runs then is another operation.
    fn end_of_retention(&mut self, op: Op, now: Timestamp) {
        let operation = self.operation(op);
        if operation
            .life
            .as_ref()
            .is_some_and(|life| !life.is_live(now))
        {
            operation.life = None;
            operation.epoch += 1;
        }
    }

    fn begun(
        &mut self,
        op: Op,
        token: AttemptId,
        fingerprint: u8,
        minted_at: Option<Timestamp>,
        begin: &Begin,
        now: Timestamp,
    ) -> Held {
        let api = self.plan.policy.kind() == Kind::Api;
        let life = self.life(op).cloned();
        let other = life
            .as_ref()
            .is_some_and(|life| life.fingerprint != fingerprint);
        if api && other {
            let refused = matches!(begin, Begin::Mismatch | Begin::Abandoned);
            must(refused, says::OTHER_REQUEST, || {
                format!("{op:?}: {begin:?}")
            })?;
        }
        match begin {
            Begin::Execute(lease) => self.executed(op, token, fingerprint, lease, now),
            Begin::Replay(replay) => self.replayed(op, replay, now),
            Begin::Wait { .. } => {
                self.seen.note(Situation::WaitedForTwin);
                let busy = life.is_some_and(|life| life.is_running(now) || life.is_asking(now));
                must(busy, says::ONE_LEASE, || {
                    format!("{op:?}: waits for nobody")
                })
            }
            Begin::Mismatch => {
                self.seen.note(Situation::OtherRequestRefused);
                must(api && other, says::OTHER_REQUEST, || {
                    format!("{op:?}: refused the same request")
                })
            }
            Begin::Unknown { .. } => {
                self.seen.note(Situation::UnknownAnswered);
                let unknown = life.is_some_and(|life| life.is_unknown(now));
                must(unknown, says::NO_FALSE_UNKNOWN, || {
                    format!("{op:?}: {begin:?}")
                })
            }
            Begin::Ask(question) => {
                self.seen.note(Situation::CallerAsks);
                self.asks(op, token, question.until, now)?;
                if let Some(life) = &mut self.operation(op).life {
                    life.request_is_kept |= request_is_kept(token);
                }
                Ok(())
            }
            Begin::Expired => {
                self.seen.note(Situation::KeyExpired);
                let old = life.is_none() && minted_at.is_some();
                must(old, says::NOT_FORGOTTEN, || format!("{op:?}: expired"))
            }
            Begin::FromTheFuture => {
                self.seen.note(Situation::KeyFromTheFuture);
                must(life.is_none(), says::NOT_FORGOTTEN, || {
                    format!("{op:?}: from the future")
                })
            }
            Begin::Abandoned => {
                self.seen.note(Situation::BeganAbandoned);
                let given_up = self.abandoned.contains_key(&token);
                must(given_up, says::ABANDONED, || {
                    format!("{op:?}: {token} was not given up")
                })
            }
        }
    }

    /// The right to run was given: to the first (L1), or to one that takes over (L3).
    fn executed(
        &mut self,
        op: Op,
        token: AttemptId,
        fingerprint: u8,
        lease: &Lease,
        now: Timestamp,
    ) -> Held {
        let given_up = self.abandoned.get(&token).is_some_and(|until| now < *until);
        must(!given_up, says::ABANDONED, || {
            format!("{op:?}: {token} runs")
        })?;
        if lease.repeated {
            return self.repeated(op, token, lease, now);
        }
        let life = self.life(op).cloned();
        let highest = self.operations[&op].number;
        let number = lease.number.get();
        must(number > highest, says::NUMBER_RISES, || {
            format!("{op:?}: {number} after {highest}")
        })?;
        match &life {
            None => self.claimed(op, lease)?,
            Some(life) => self.took_over(op, life, fingerprint, lease, now)?,
        }
        let operation = self.operation(op);
        operation.number = number;
        let mut let_run = life
            .as_ref()
            .map_or_else(BTreeSet::new, |life| life.let_run.clone());
        let_run.insert(token);
        operation.life = Some(Life {
            fingerprint: life.as_ref().map_or(fingerprint, |life| life.fingerprint),
            holder: token,
            number,
            dispatched_at: now,
            lease_until: lease.until,
            standing: Standing::Open,
            earlier_unknown: life.is_some(),
            said_not_run: false,
            retry_allowed: false,
            request_is_kept: request_is_kept(token)
                || life.as_ref().is_some_and(|life| life.request_is_kept),
            point: life.and_then(|life| life.point),
            asking: None,
            let_run,
        });
        let grant = Grant {
            epoch: operation.epoch,
            life: operation.lives,
            lease_until: lease.until,
        };
        if self.granted.insert(token, grant).is_some() {
            self.seen.note(Situation::ClaimedAgainByACopy);
        }
        self.denied.remove(&token);
        Ok(())
    }

    fn claimed(&mut self, op: Op, lease: &Lease) -> Held {
        self.seen.note(Situation::Claimed);
        let tells_age = self.plan.keys_tell_their_age;
        let operation = self.operation(op);
        operation.lives += 1;
        let second = tells_age && operation.was_kept;
        must(!second, says::NO_SECOND_LIFE, || format!("{op:?}"))?;
        must(lease.took_over.is_none(), says::NO_FALSE_UNKNOWN, || {
            format!("{op:?}: {lease:?}")
        })
    }

    fn took_over(
        &mut self,
        op: Op,
        life: &Life,
        fingerprint: u8,
        lease: &Lease,
        now: Timestamp,
    ) -> Held {
        let policy = self.plan.policy;
        must(!life.is_settled(), says::SETTLED_STAYS, || {
            format!("{op:?}: ran again")
        })?;
        must(now >= life.lease_until, says::ONE_LEASE, || {
            format!(
                "{op:?}: runs while the last lease is live until {}",
                life.lease_until
            )
        })?;
        let same = policy.kind() == Kind::Webhook || life.fingerprint == fingerprint;
        must(same, says::OTHER_REQUEST, || {
            format!("{op:?}: runs {fingerprint}")
        })?;
        let by_itself = match policy.on_unknown() {
            OnUnknown::Resume | OnUnknown::Rerun => true,
            OnUnknown::Park | OnUnknown::Probe => false,
        };
        must(by_itself || life.retry_allowed, says::NOT_RETRIED, || {
            format!("{op:?}: {lease:?}")
        })?;
        must(lease.took_over.is_some(), says::NOT_FORGOTTEN, || {
            format!("{op:?}: not told")
        })?;
        must(lease.point == life.point, says::POINT_GOES_ON, || {
            format!("{op:?}: {:?}, not {:?}", lease.point, life.point)
        })?;
        if life.point.is_some() {
            self.seen.note(Situation::RunFromAPoint);
        }
        self.seen.note(if by_itself {
            Situation::TakenOverByRetry
        } else {
            Situation::RunOnAPersonsWord
        });
        Ok(())
    }

    /// The holder's *begin* came once more (L7).
    fn repeated(&mut self, op: Op, token: AttemptId, lease: &Lease, now: Timestamp) -> Held {
        self.seen.note(Situation::BegunTwice);
        let holds = self.life(op).is_some_and(|life| {
            life.holder == token
                && life.is_running(now)
                && life.number == lease.number.get()
                && life.lease_until == lease.until
        });
        must(holds, says::ONE_LEASE, || {
            format!("{op:?}: {token} does not hold it: {lease:?}")
        })
    }

    fn replayed(&mut self, op: Op, replay: &Replay, now: Timestamp) -> Held {
        self.seen.note(if replay.changed {
            Situation::ReplayedChanged
        } else {
            Situation::Replayed
        });
        let kept = self.life(op).is_some_and(|life| match &life.standing {
            Standing::Settled {
                outcome,
                expires_at,
                ..
            } => *outcome == replay.outcome && *expires_at == replay.expires_at,
            Standing::Open | Standing::Unknown => false,
        });
        must(kept, says::SAME_BYTES, || format!("{op:?}: {replay:?}"))?;
        let live = replay.expires_at.is_none_or(|end| now < end);
        must(live, says::HALF_OPEN, || format!("{op:?}: {replay:?}"))?;
        self.promise(op, &replay.outcome, replay.expires_at, now)
    }

    fn looked(&mut self, op: Op, fingerprint: u8, look: &Look, now: Timestamp) -> Held {
        let life = self.life(op).cloned();
        match (look, life) {
            (Look::Done(replay), _) => self.replayed(op, replay, now),
            (Look::Mismatch, Some(life)) => {
                must(life.fingerprint != fingerprint, says::OTHER_REQUEST, || {
                    format!("{op:?}")
                })
            }
            (Look::Running { .. }, Some(life)) => {
                must(life.is_running(now), says::ONE_LEASE, || {
                    format!("{op:?}: {look:?}")
                })
            }
            (Look::Unknown(_), Some(life)) => {
                must(life.is_unknown(now), says::NO_FALSE_UNKNOWN, || {
                    format!("{op:?}: {look:?}")
                })
            }
            (Look::Absent, None) => Ok(()),
            (Look::Absent, Some(life)) => {
                must(false, says::NOT_FORGOTTEN, || format!("{op:?}: {life:?}"))
            }
            (Look::Mismatch | Look::Running { .. } | Look::Unknown(_), None) => {
                must(false, says::HALF_OPEN, || format!("{op:?}: {look:?}"))
            }
        }
    }

    /// Somebody was let ask the origin (U3).
    fn asks(&mut self, op: Op, token: AttemptId, until: Timestamp, now: Timestamp) -> Held {
        let probes = self.plan.policy.on_unknown() == OnUnknown::Probe;
        let free = self.life(op).is_some_and(|life| {
            let mine = life.asking.is_some_and(|(asking, _)| asking == token);
            life.is_unknown(now) && now >= life.lease_until && (mine || !life.is_asking(now))
        });
        must(probes && free, says::ONE_QUESTION, || {
            format!("{op:?}: {token} asks")
        })?;
        if let Some(life) = &mut self.operation(op).life {
            life.standing = Standing::Unknown;
            life.retry_allowed = false;
            life.asking = Some((token, until));
        }
        Ok(())
    }

    fn abandon(&mut self, op: Op, token: AttemptId, now: Timestamp) {
        self.seen.note(Situation::Abandoned);
        self.abandoned.insert(token, now.plus(LEASE_MAX));
        let operation = self.operation(op);
        let Some(life) = operation.life.as_mut().filter(|life| life.holder == token) else {
            return;
        };
        if life.is_settled() || life.said_not_run {
            return;
        }
        if life.earlier_unknown || life.point.is_some() {
            life.standing = Standing::Unknown;
            life.said_not_run = true;
            life.asking = None;
        } else {
            operation.life = None;
        }
    }

    fn completed(
        &mut self,
        op: Op,
        token: AttemptId,
        outcome: &Outcome,
        complete: Complete,
        now: Timestamp,
    ) -> Held {
        let life = self.life(op).cloned();
        let holds = life.as_ref().is_some_and(|life| life.holder == token);
        let settled = life.as_ref().is_some_and(Life::is_settled);
        match complete {
            Complete::Recorded { expires_at } => {
                must(holds, says::STALE, || format!("{op:?}: {token} completed"))?;
                must(!settled, says::SETTLED_STAYS, || {
                    format!("{op:?}: completed again")
                })?;
                let late = life.is_some_and(|life| life.is_unknown(now));
                self.seen.note(if late {
                    Situation::CompletedLate
                } else {
                    Situation::Completed
                });
                self.keep(op, token, outcome, expires_at, SettledBy::Attempt)?;
                self.promise(op, outcome, expires_at, now)
            }
            Complete::AlreadyRecorded { .. } => {
                self.seen.note(Situation::CompletedTwice);
                must(holds && settled, says::STALE, || {
                    format!("{op:?}: {complete:?}")
                })
            }
            Complete::Superseded => {
                self.seen.note(Situation::CompletedSuperseded);
                must(!holds, says::NO_FALSE_UNKNOWN, || {
                    format!("{op:?}: its holder is refused")
                })
            }
        }
    }

    fn keep(
        &mut self,
        op: Op,
        token: AttemptId,
        outcome: &Outcome,
        expires_at: Option<Timestamp>,
        by: SettledBy,
    ) -> Held {
        let operation = self.operation(op);
        operation.was_kept = true;
        let Some(life) = &mut operation.life else {
            return must(false, says::NOT_FORGOTTEN, || {
                format!("{op:?}: {by:?} settles nothing")
            });
        };
        life.holder = token;
        life.asking = None;
        life.standing = Standing::Settled {
            outcome: outcome.clone(),
            expires_at,
            by,
        };
        Ok(())
    }

    fn released(&mut self, op: Op, token: AttemptId, release: Release) -> Held {
        let life = self.life(op).cloned();
        let holds = life.as_ref().is_some_and(|life| life.holder == token);
        let settled = life.as_ref().is_some_and(Life::is_settled);
        let remembers = life
            .as_ref()
            .is_some_and(|life| life.earlier_unknown || life.point.is_some());
        match release {
            Release::Released => {
                self.seen.note(Situation::Released);
                must(holds, says::STALE, || format!("{op:?}: {token} released"))?;
                must(!settled, says::SETTLED_STAYS, || {
                    format!("{op:?}: released")
                })?;
                must(!remembers, says::RELEASE_IS_ONE, || {
                    format!("{op:?}: {life:?}")
                })?;
                self.operation(op).life = None;
            }
            Release::StillUnknown(_) => {
                let partly = life.is_some_and(|life| !life.earlier_unknown);
                self.seen.note(if partly {
                    Situation::ReleasedPartly
                } else {
                    Situation::ReleasedStillUnknown
                });
                must(holds && !settled, says::STALE, || {
                    format!("{op:?}: {token} released")
                })?;
                must(remembers, says::RELEASE_IS_ONE, || {
                    format!("{op:?}: unknown of nobody")
                })?;
                if let Some(life) = &mut self.operation(op).life {
                    life.standing = Standing::Unknown;
                    life.said_not_run = true;
                    life.asking = None;
                }
            }
            Release::AlreadyReleased => self.seen.note(Situation::ReleasedTwice),
            Release::AlreadyRecorded => {
                must(holds && settled, says::STALE, || {
                    format!("{op:?}: {release:?}")
                })?;
            }
            Release::Superseded => {
                self.seen.note(Situation::ReleasedSuperseded);
                must(!holds, says::NO_FALSE_UNKNOWN, || {
                    format!("{op:?}: its holder is refused")
                })?;
            }
        }
        Ok(())
    }

    fn suspended(&mut self, op: Op, token: AttemptId, suspend: Suspend, now: Timestamp) -> Held {
        let life = self.life(op).cloned();
        let holds = life.as_ref().is_some_and(|life| life.holder == token);
        let settled = life.as_ref().is_some_and(Life::is_settled);
        match suspend {
            Suspend::Suspended(_) => {
                let after = life.is_some_and(|life| life.is_unknown(now));
                self.seen.note(if after {
                    Situation::SuspendedAfterTheAlarm
                } else {
                    Situation::Suspended
                });
                must(holds, says::STALE, || format!("{op:?}: {token} suspended"))?;
                must(!settled, says::SETTLED_STAYS, || {
                    format!("{op:?}: suspended")
                })?;
                if let Some(life) = &mut self.operation(op).life {
                    life.standing = Standing::Unknown;
                }
                Ok(())
            }
            Suspend::AlreadySuspended(_) => {
                self.seen.note(Situation::SuspendedTwice);
                must(holds && !settled, says::STALE, || {
                    format!("{op:?}: {suspend:?}")
                })
            }
            Suspend::AlreadyRecorded => must(holds && settled, says::STALE, || {
                format!("{op:?}: {suspend:?}")
            }),
            Suspend::Superseded => {
                self.seen.note(Situation::SuspendedSuperseded);
                must(!holds, says::NO_FALSE_UNKNOWN, || {
                    format!("{op:?}: its holder is refused")
                })
            }
        }
    }

    fn extended(&mut self, op: Op, token: AttemptId, extend: Extend, now: Timestamp) -> Held {
        let max_lease = self.plan.policy.max_lease();
        match extend {
            Extend::Until(until) => {
                self.seen.note(Situation::Extended);
                let Some(life) = &mut self.operation(op).life else {
                    return must(false, says::STALE, || format!("{op:?}: extended"));
                };
                let running = life.holder == token && life.is_running(now);
                must(running, says::STALE, || format!("{op:?}: {token} extended"))?;
                let latest = life.dispatched_at.plus(max_lease);
                let bounded = until >= life.lease_until && until <= latest;
                must(bounded, says::EXTENSION_BOUNDED, || {
                    format!("{op:?}: {until}")
                })?;
                life.lease_until = until;
                if let Some(grant) = self.granted.get_mut(&token) {
                    grant.lease_until = until;
                }
                Ok(())
            }
            Extend::Ended | Extend::Superseded => {
                self.seen.note(Situation::ExtendedTooLate);
                let running = self
                    .life(op)
                    .is_some_and(|life| life.holder == token && life.is_running(now));
                must(!running, says::NO_FALSE_UNKNOWN, || {
                    format!("{op:?}: {extend:?}")
                })
            }
        }
    }

    fn checkpointed(
        &mut self,
        op: Op,
        token: AttemptId,
        point: &RecoveryPoint,
        checkpoint: shared::decide::Checkpoint,
    ) -> Held {
        use shared::decide::Checkpoint;
        let holds = self.life(op).is_some_and(|life| life.holder == token);
        match checkpoint {
            Checkpoint::Saved => {
                self.seen.note(Situation::PointSaved);
                must(holds, says::STALE, || {
                    format!("{op:?}: {token} saved a point")
                })?;
                if let Some(life) = &mut self.operation(op).life {
                    life.point = Some(point.clone());
                }
                Ok(())
            }
            Checkpoint::Ended => Ok(()),
            Checkpoint::Superseded => {
                self.seen.note(Situation::PointSuperseded);
                must(!holds, says::NO_FALSE_UNKNOWN, || {
                    format!("{op:?}: its holder is refused")
                })
            }
        }
    }

    fn probed(
        &mut self,
        op: Op,
        token: AttemptId,
        finding: &shared::decide::Finding,
        probed: Probed,
        now: Timestamp,
    ) -> Held {
        use shared::decide::Finding;
        let life = self.life(op).cloned();
        let asks = life
            .as_ref()
            .is_some_and(|life| life.asking.is_some_and(|(asking, _)| asking == token));
        let recorded = life
            .as_ref()
            .is_some_and(|life| life.is_settled() && life.holder == token);
        match (probed, finding) {
            (Probed::Recorded { .. }, _) if recorded => Ok(()), // L7
            (Probed::Recorded { expires_at }, Finding::Final(outcome)) => {
                self.seen.note(Situation::ProbeFoundFinal);
                must(asks, says::STALE, || {
                    format!("{op:?}: {token} does not ask")
                })?;
                self.keep(op, token, outcome, expires_at, SettledBy::Probe)
            }
            (Probed::NotRun, Finding::NotRun) => {
                must(asks, says::STALE, || {
                    format!("{op:?}: {token} does not ask")
                })?;
                let stepped = life.is_some_and(|life| life.point.is_some());
                self.seen.note(if stepped {
                    Situation::ProbeFoundNotRunButAStep
                } else {
                    Situation::ProbeFoundNotRun
                });
                if let (false, Some(life)) = (stepped, self.life(op).cloned()) {
                    self.denied
                        .extend(life.let_run.iter().map(|token| (*token, None)));
                }
                let operation = self.operation(op);
                if !stepped {
                    operation.life = None;
                    operation.acts += 1;
                } else if let Some(life) = &mut operation.life {
                    life.retry_allowed = true;
                    life.asking = None;
                }
                Ok(())
            }
            (Probed::Unknown(_), Finding::Unknown) => {
                self.seen.note(Situation::ProbeFoundNothing);
                must(asks, says::STALE, || {
                    format!("{op:?}: {token} does not ask")
                })?;
                if let Some(life) = &mut self.operation(op).life {
                    life.asking = None;
                }
                Ok(())
            }
            (Probed::Superseded, _) => {
                self.seen.note(Situation::ProbeSuperseded);
                let in_time = asks && life.is_some_and(|life| life.is_unknown(now));
                must(!in_time, says::NO_FALSE_UNKNOWN, || {
                    format!("{op:?}: who asks is refused")
                })
            }
            (Probed::Recorded { .. } | Probed::NotRun | Probed::Unknown(_), _) => {
                must(false, says::NOT_RETRIED, || {
                    format!("{op:?}: {finding:?} became {probed:?}")
                })
            }
        }
    }

    fn settled(
        &mut self,
        op: Op,
        token: AttemptId,
        settlement: &Settlement,
        settle: Settle,
        now: Timestamp,
    ) -> Held {
        let life = self.life(op).cloned();
        match settle {
            Settle::Settled => {
                let Some(life) = life else {
                    return must(false, says::SETTLED_STAYS, || {
                        format!("{op:?}: nothing to settle")
                    });
                };
                let idle = life.is_settled() || now >= life.lease_until;
                must(idle, says::NOT_WHILE_RUNNING, || {
                    format!("{op:?}: {life:?}")
                })?;
                self.settled_by_hand(op, token, settlement, &life, now)
            }
            Settle::AlreadySettled => {
                self.seen.note(Situation::SettledTwice);
                Ok(())
            }
            Settle::Running { .. } => {
                self.seen.note(Situation::SettleRefusedWhileRunning);
                let busy = life.is_some_and(|life| !life.is_settled() && now < life.lease_until);
                must(busy, says::NOT_WHILE_RUNNING, || {
                    format!("{op:?}: nobody runs")
                })
            }
            Settle::NothingToSettle => {
                self.seen.note(Situation::SettleFoundNothing);
                let open = life.is_some_and(|life| life.is_unknown(now) && now >= life.lease_until);
                must(!open, says::NOT_FORGOTTEN, || {
                    format!("{op:?}: it is unknown")
                })
            }
        }
    }

    fn settled_by_hand(
        &mut self,
        op: Op,
        token: AttemptId,
        settlement: &Settlement,
        life: &Life,
        now: Timestamp,
    ) -> Held {
        if let Standing::Settled { by, .. } = life.standing {
            self.seen.note(Situation::SettledAgain);
            let own = by == SettledBy::Operator;
            must(own, says::SETTLED_STAYS, || {
                format!("{op:?}: {by:?} had settled it")
            })?;
        }
        let resumes = self.plan.policy.on_unknown() == OnUnknown::Resume;
        let said = match settlement {
            Settlement::Succeeded(outcome) => Some(Some(outcome.status)),
            Settlement::DidNotHappen => Some(None),
            Settlement::TryAgain => None,
        };
        if let Some(said) = said {
            self.denied
                .extend(life.let_run.iter().map(|token| (*token, said)));
        }
        let expires_at = self.plan.policy.retention().expires_at(now);
        let operation = self.operation(op);
        operation.acts += 1;
        operation.promised = None;
        match settlement {
            Settlement::Succeeded(outcome) => {
                self.seen.note(Situation::SettledSucceeded);
                self.keep(op, token, outcome, expires_at, SettledBy::Operator)
            }
            Settlement::DidNotHappen => {
                operation.life = None;
                operation.epoch += 1;
                operation.was_kept = false; // a person let it run again
                self.seen.note(Situation::SettledDidNotHappen);
                Ok(())
            }
            Settlement::TryAgain => {
                operation.epoch += 1;
                if let Some(life) = &mut operation.life {
                    life.retry_allowed = !resumes;
                    life.standing = Standing::Unknown;
                    life.asking = None;
                }
                self.seen.note(Situation::SettledTryAgain);
                Ok(())
            }
        }
    }
}

/// A route that resumes keeps the request with each claim (U5); one in eight is too large for that.
pub(crate) fn request_is_kept(token: AttemptId) -> bool {
    !token.as_bytes()[0].is_multiple_of(8)
}

/// All operations: the same keys under each tenant (K4).
pub(crate) fn operations() -> impl Iterator<Item = Op> {
    (0..TENANTS).flat_map(|tenant| (0..KEYS).map(move |key| Op { tenant, key }))
}
