//! The object that keeps one tenant's operations, as the platform runs it: a transaction for each message, and one alarm.
//!
//! It mimics `edge`'s object and decides nothing: it arms the alarm when the next due moment comes nearer, asks the
//! platform what is armed when it has lost its memory, and does bounded pieces of work in the alarm.

use std::collections::{BTreeMap, BTreeSet};

use shared::audit::Entry;
use shared::decide::{Ask, Begin, Lease};
use shared::fingerprint::Fingerprint;
use shared::metrics::Sums;
use shared::placement::KeyDigest;
use shared::policy::Policy;
use shared::processor::{Processor, Settling};
use shared::record::{AttemptId, Record};
use shared::scope::OperationKey;
use shared::store::{MemoryStore, RecordStore};
use shared::time::{Millis, Timestamp};

use crate::invariant::{self as says, Held, must};
use crate::ledger::request_is_kept;
use crate::message::{Answer, Call, Message, Waited};

/// An alarm that is overdue by this much was given up by the platform.
const GIVEN_UP_AFTER: Millis = Millis::from_secs(30);

/// What the object remembers of its alarm.
#[derive(Clone, Copy, Debug)]
enum Known {
    NotAsked,
    For(Option<Timestamp>),
}

/// One object.
pub(crate) struct Object {
    pub(crate) processor: Processor<MemoryStore>,
    known: Known,
    /// What the platform will do.
    pub(crate) armed: Option<Timestamp>,
    /// Whether the platform has given up on the alarm, and nothing has come since by which the object could know.
    pub(crate) alarm_is_lost: bool,
    /// Which reports had their effect, and for which of their token's claims (L7).
    taken: BTreeSet<(u32, u32)>,
    /// How often a token was let run: a *begin* that comes once more after its own release claims again.
    claims: BTreeMap<AttemptId, u32>,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self {
            processor: Processor::new(MemoryStore::new(), Sums::default()),
            known: Known::NotAsked,
            armed: None,
            alarm_is_lost: false,
            taken: BTreeSet::new(),
            claims: BTreeMap::new(),
        }
    }

    /// All that was in memory is gone; what was stored is not, and the sums were saved with it.
    pub(crate) fn die(&mut self) {
        self.known = Known::NotAsked;
    }

    /// The alarm has come and is spent.
    pub(crate) fn alarm_comes(&mut self) {
        self.armed = None;
        self.known = Known::For(None);
    }

    /// The platform gave up on the alarm, and restarts the object.
    pub(crate) fn lose_alarm(&mut self) {
        self.armed = None;
        self.alarm_is_lost = true;
        self.known = Known::NotAsked;
    }

    /// Sets the alarm if what is due next is earlier than what it is set for. The moment, if it was set.
    pub(crate) fn arm(&mut self, earliest: Timestamp, now: Timestamp) -> Option<Timestamp> {
        if let Known::NotAsked = self.known {
            self.known = Known::For(self.armed.filter(|at| at.plus(GIVEN_UP_AFTER) > now));
            self.alarm_is_lost = false;
        }
        let due = self.processor.store().next_due().unwrap()?.max(earliest);
        if let Known::For(Some(set)) = self.known
            && set <= due
        {
            return None;
        }
        self.known = Known::For(Some(due));
        self.armed = Some(due);
        Some(due)
    }

    /// What was logged of this operation.
    pub(crate) fn logged(&mut self, digest: &KeyDigest) -> Vec<Entry> {
        self.processor.store().logged(digest).unwrap()
    }

    /// The record, and whether a request is kept beside it.
    pub(crate) fn kept(&mut self, digest: &KeyDigest) -> (Option<Record>, bool) {
        let store = self.processor.store();
        let request = store.request(digest).unwrap().is_some();
        (store.load(digest).unwrap(), request)
    }

    /// What the resolver would send, told apart by its one byte.
    pub(crate) fn request(&mut self, digest: &KeyDigest) -> Option<u8> {
        let kept = self.processor.store().request(digest).unwrap();
        kept.and_then(|bytes| bytes.first().copied())
    }

    /// When something is due next.
    pub(crate) fn next_due(&mut self) -> Option<Timestamp> {
        self.processor.store().next_due().unwrap()
    }

    /// Takes a message and answers it; a copy of one that had its effect counts nothing (L7, P8).
    pub(crate) fn take(
        &mut self,
        key: &OperationKey,
        message: &Message,
        policy: &Policy,
        now: Timestamp,
    ) -> (Answer, Held) {
        let before = self.processor.sums().clone();
        let answer = self.answer(key, message, policy, now);
        let after = self.processor.sums();
        let rises = after.since(&before).calls() == after.calls() - before.calls();
        let mut held = must(rises, says::COUNTED_ONCE, || {
            format!("{message:?}: a count fell")
        });
        let counted = after.calls() - before.calls() + after.settled_by_probe
            - before.settled_by_probe
            + after.settled_by_operator
            - before.settled_by_operator;
        if let Answer::Begin(Begin::Execute(Lease {
            repeated: false, ..
        })) = answer
        {
            *self.claims.entry(message.token).or_default() += 1;
        }
        if let Some(fresh) = had_its_effect(&answer) {
            let claim = self.claims.get(&message.token).copied().unwrap_or(0);
            let again = fresh && !self.taken.insert((message.number, claim));
            if again || !fresh {
                held = held.and(must(counted == 0, says::COUNTED_ONCE, || {
                    format!("{message:?} came again, and {answer:?} counted {counted}")
                }));
            }
        }
        (answer, held)
    }

    fn answer(
        &mut self,
        key: &OperationKey,
        message: &Message,
        policy: &Policy,
        now: Timestamp,
    ) -> Answer {
        let processor = &mut self.processor;
        let token = message.token;
        match message.call.clone() {
            Call::Begin {
                fingerprint,
                minted_at,
            } => {
                let ask = Ask {
                    token,
                    fingerprint: print(fingerprint),
                    minted_at,
                };
                let kept = [fingerprint];
                let request = request_is_kept(token).then_some(kept.as_slice());
                Answer::Begin(processor.begin(key, &ask, request, policy, now).unwrap())
            }
            Call::Look {
                fingerprint,
                waited,
            } => {
                let print = print(fingerprint);
                let look = processor
                    .look(key, Some(&print), policy.kind(), now)
                    .unwrap();
                match waited {
                    Waited::ForItsTwin => processor.waited(&look),
                    Waited::NotAtAll => {}
                }
                Answer::Look(look)
            }
            Call::Abandon => {
                processor.abandon(key, token, policy, now).unwrap();
                Answer::Done
            }
            Call::Settle(settlement) => {
                Answer::Settle(self.settle(key, token, settlement, policy, now))
            }
            call @ (Call::Complete(..)
            | Call::Release(_)
            | Call::Suspend(_)
            | Call::Refer(_)
            | Call::Extend(_)
            | Call::Checkpoint(_)
            | Call::Probed(..)) => self.report(key, token, call, policy, now),
        }
    }

    fn report(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        call: Call,
        policy: &Policy,
        now: Timestamp,
    ) -> Answer {
        let processor = &mut self.processor;
        match call {
            Call::Complete(outcome, reference) => Answer::Complete(
                processor
                    .complete(key, token, outcome, reference, policy, now)
                    .unwrap(),
            ),
            Call::Release(status) => {
                Answer::Release(processor.release(key, token, status, policy, now).unwrap())
            }
            Call::Suspend(cause) => Answer::Suspend(
                processor
                    .suspend(key, token, cause, None, policy, now)
                    .unwrap(),
            ),
            Call::Refer(reference) => {
                processor.refer(key, token, reference, now).unwrap();
                Answer::Done
            }
            Call::Extend(span) => {
                Answer::Extend(processor.extend(key, token, span, policy, now).unwrap())
            }
            Call::Checkpoint(point) => {
                Answer::Checkpoint(processor.checkpoint(key, token, point, now).unwrap())
            }
            Call::Probed(finding, asker) => Answer::Probed(
                processor
                    .probed(key, token, finding, asker, policy, now)
                    .unwrap(),
            ),
            Call::Begin { .. } | Call::Look { .. } | Call::Abandon | Call::Settle(_) => {
                unreachable!("these report nothing")
            }
        }
    }

    fn settle(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        settlement: shared::decide::Settlement,
        policy: &Policy,
        now: Timestamp,
    ) -> shared::decide::Settle {
        let settling = Settling {
            token,
            settlement,
            operator: String::from("an operator"),
            reason: String::from("a reason"),
        };
        self.processor.settle(key, settling, policy, now).unwrap()
    }
}

/// Whether this answer says that a report counts, now (`true`) or since an earlier one (`false`); nothing if it says neither.
fn had_its_effect(answer: &Answer) -> Option<bool> {
    use shared::decide::{Complete, Probed, Release, Settle, Suspend};
    match answer {
        Answer::Complete(Complete::Recorded { .. })
        | Answer::Release(Release::Released | Release::StillUnknown(_))
        | Answer::Suspend(Suspend::Suspended(_))
        | Answer::Probed(Probed::Recorded { .. } | Probed::NotRun)
        | Answer::Settle(Settle::Settled) => Some(true),
        Answer::Complete(Complete::AlreadyRecorded { .. })
        | Answer::Release(Release::AlreadyReleased | Release::AlreadyRecorded)
        | Answer::Suspend(Suspend::AlreadySuspended(_) | Suspend::AlreadyRecorded)
        | Answer::Settle(Settle::AlreadySettled) => Some(false),
        Answer::Complete(Complete::Superseded)
        | Answer::Release(Release::Superseded)
        | Answer::Suspend(Suspend::Superseded)
        | Answer::Probed(Probed::Superseded | Probed::Unknown(_))
        | Answer::Settle(Settle::Running { .. } | Settle::NothingToSettle)
        | Answer::Begin(_)
        | Answer::Look(_)
        | Answer::Extend(_)
        | Answer::Checkpoint(_)
        | Answer::Done => None,
    }
}

/// The fingerprint of a request that is told apart by one byte.
pub(crate) fn print(name: u8) -> Fingerprint {
    Fingerprint {
        recipe: 1,
        digest: [name; 32],
    }
}
