//! What becomes of an outcome that nobody knows: it is asked for, sent again, or settled by a person (U3, U5, U6).

use alloc::string::String;
use alloc::vec::Vec;

use super::{Change, Lease, Question, end_attempt, fence_off, question, start_asking, take_over};
use crate::audit::{self, Act, By, Entry};
use crate::policy::{OnUnknown, Policy, RESOLVE_PAUSE_MAX};
use crate::record::{AttemptId, Ending, Next, Outcome, Record, SettledBy, State, Unknown};
use crate::time::{Millis, Timestamp};

/// When to come back for an operation that may run once more.
const RUN_SOON: Millis = Millis::from_secs(1);
/// When a retry may ask the origin again that has just been asked in vain.
const ASKED_AGAIN: Millis = Millis::from_secs(10);

/// Whether the object has what it takes to send the operation again by itself (U5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// The request is kept.
    Possible,
    /// It is not: it was too large, or came by a route that keeps none.
    Impossible,
}

/// What the resolver does about one record (U5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pursue {
    /// It sends the request again, under this lease.
    Send(Lease),
    /// It asks the origin.
    Ask(Question),
    /// Nothing, or not now.
    Nothing,
    /// It has tried enough, or may not: a person is needed from here on.
    NeedsAPerson,
}

/// What an origin said when it was asked (U3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It took effect, with this outcome.
    Final(Outcome),
    /// It did not, and the origin refuses this attempt and all before it.
    NotRun,
    /// Nothing that settles it.
    Unknown,
}

/// The answer to *probed*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probed {
    /// The outcome is kept, now or since an earlier message.
    Recorded {
        /// Until when; none is forever.
        expires_at: Option<Timestamp>,
    },
    /// It did not run: the next request does.
    NotRun,
    /// Still unknown.
    Unknown(Unknown),
    /// Somebody else had the word meanwhile: look.
    Superseded,
}

/// How an operator settles it (U6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// It took effect, and this is what every retry is answered.
    Succeeded(Outcome),
    /// It did not happen: the next request runs.
    DidNotHappen,
    /// It may run once more, whatever the route says.
    TryAgain,
}

/// The answer to *settle*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// It is settled.
    Settled,
    /// It was, by this very settlement (L7).
    AlreadySettled,
    /// An attempt may still be working under its lease (U6).
    Running {
        /// When that lease ends.
        lease_until: Timestamp,
    },
    /// Its outcome is known, or there is no record.
    NothingToSettle,
}

/// A lease that ran out with no word is unknown from then on, and stored as that (U2, U3).
#[must_use]
pub fn expire(record: Record, policy: &Policy, now: Timestamp) -> Change {
    match record.state {
        State::InProgress { lease_until } if lease_until <= now => {
            Change::Save(expired(record, policy, now))
        }
        State::InProgress { .. } | State::Indeterminate { .. } | State::Completed { .. } => {
            Change::Keep
        }
    }
}

/// The record as it is once its lease has run out; any other as it is.
pub(super) fn expired(mut record: Record, policy: &Policy, now: Timestamp) -> Record {
    if let State::InProgress { lease_until } = record.state
        && lease_until <= now
    {
        let unknown = Unknown::lease_ran_out(lease_until, record.number);
        end_attempt(&mut record, Ending::Unknown(unknown.cause), lease_until);
        record.state = State::Indeterminate {
            unknown,
            lease_until,
            next: next_of(&record, policy, now),
        };
    }
    record
}

/// When a retry of an unknown operation may meet something else: when the lease of its last attempt ends (U3), or soon,
/// where it may run or ask; never by itself, where a person must look first.
#[must_use]
pub fn retry_at(record: &Record, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
    let lease_until = match record.state {
        State::InProgress { lease_until } | State::Indeterminate { lease_until, .. } => lease_until,
        State::Completed { .. } => return None,
    };
    if now < lease_until {
        return Some(lease_until);
    }
    match policy.on_unknown() {
        _ if record.may_run_again(now) => Some(now.plus(RUN_SOON)),
        OnUnknown::Park => None,
        OnUnknown::Probe => Some(now.plus(ASKED_AGAIN)),
        OnUnknown::Resume | OnUnknown::Rerun => Some(now),
    }
}

/// What happens by itself to a record that is unknown from `now` on (U5).
pub(super) fn next_of(record: &Record, policy: &Policy, now: Timestamp) -> Next {
    match policy.on_unknown() {
        OnUnknown::Park | OnUnknown::Rerun => Next::Nobody,
        OnUnknown::Resume | OnUnknown::Probe if record.tries >= policy.resolve_tries() => {
            Next::Nobody
        }
        OnUnknown::Resume | OnUnknown::Probe => Next::Resolver(now.plus(pause(record, policy))),
    }
}

/// Pauses double with each try, up to a bound, and are up to a quarter longer by a number drawn with the token.
fn pause(record: &Record, policy: &Policy) -> Millis {
    let doubled = policy
        .resolve_after()
        .get()
        .saturating_mul(1 << record.tries.min(32));
    let pause = doubled.min(RESOLVE_PAUSE_MAX.get());
    let [.., drawn] = *record.attempt.as_bytes();
    Millis::new(pause + pause * u64::from(drawn) / 1024)
}

/// The resolver comes to a record that is due (U5).
#[must_use]
pub fn pursue(
    record: Record,
    token: AttemptId,
    resend: Resend,
    policy: &Policy,
    now: Timestamp,
) -> (Pursue, Change) {
    let State::Indeterminate { unknown, .. } = record.state else {
        return (Pursue::Nothing, Change::Keep);
    };
    let is_due = record.due().is_some_and(|due| due <= now);
    if !is_due || record.attempt == token || record.has_superseded(token) {
        return (Pursue::Nothing, Change::Keep);
    }
    let spent = record.tries >= policy.resolve_tries();
    let may = match policy.on_unknown() {
        OnUnknown::Park | OnUnknown::Rerun => false,
        OnUnknown::Resume => resend == Resend::Possible,
        OnUnknown::Probe => true,
    };
    if spent || !may {
        return give_up(record);
    }
    let mut record = record;
    record.tries += 1;
    match policy.on_unknown() {
        OnUnknown::Probe => {
            let (record, until) = start_asking(record, token, policy, now);
            let question = question(&record, unknown, until, now);
            (Pursue::Ask(question), Change::Save(record))
        }
        OnUnknown::Resume | OnUnknown::Park | OnUnknown::Rerun => {
            let (lease, record) = take_over(record, unknown, token, policy, now);
            (Pursue::Send(lease), Change::Save(record))
        }
    }
}

fn give_up(mut record: Record) -> (Pursue, Change) {
    if let State::Indeterminate { next, .. } = &mut record.state {
        *next = Next::Nobody;
    }
    (Pursue::NeedsAPerson, Change::Save(record))
}

/// The origin was asked under `token`, and this is what it said (U3).
///
/// The last attempt's own report, if it came meanwhile, counts for more; so does a settlement.
#[must_use]
pub fn probed(
    record: Option<Record>,
    token: AttemptId,
    finding: Finding,
    policy: &Policy,
    now: Timestamp,
) -> (Probed, Change) {
    let Some(mut record) = record.filter(|record| record.is_live(now)) else {
        return (Probed::Superseded, Change::Keep);
    };
    let (unknown, lease_until) = match record.state {
        State::Indeterminate {
            unknown,
            lease_until,
            next: Next::Asking { token: asking, .. },
        } if asking == token => (unknown, lease_until),
        State::Completed { expires_at, .. } if record.attempt == token => {
            return (Probed::Recorded { expires_at }, Change::Keep); // L7
        }
        State::InProgress { .. } | State::Indeterminate { .. } | State::Completed { .. } => {
            return (Probed::Superseded, Change::Keep);
        }
    };
    match finding {
        Finding::Final(outcome) => {
            let expires_at = policy.retention().expires_at(now);
            end_attempt(&mut record, Ending::Final(outcome.status), now);
            fence_off(&mut record, token);
            record.state = State::Completed {
                at: now,
                by: SettledBy::Probe,
                expires_at,
                outcome,
            };
            (Probed::Recorded { expires_at }, Change::Save(record))
        }
        // With a recovery point a step was done all the same (U4): the next attempt goes on from there.
        Finding::NotRun if record.point.is_some() => {
            end_attempt(&mut record, Ending::NotRun(None), now);
            record.state = State::Indeterminate {
                unknown,
                lease_until,
                next: Next::Retry,
            };
            (Probed::NotRun, Change::Save(record))
        }
        Finding::NotRun => (Probed::NotRun, Change::Forget(record.number)),
        Finding::Unknown => {
            record.state = State::Indeterminate {
                unknown,
                lease_until,
                next: next_of(&record, policy, now),
            };
            (Probed::Unknown(unknown), Change::Save(record))
        }
    }
}

/// An operator settles it (U6), under a token of its own that fences off what was let run before.
#[must_use]
pub fn settle(
    record: Option<Record>,
    token: AttemptId,
    settlement: Settlement,
    policy: &Policy,
    now: Timestamp,
) -> (Settle, Change) {
    let Some(record) = record.filter(|record| record.is_live(now)) else {
        return (Settle::NothingToSettle, Change::Keep);
    };
    let mut record = expired(record, policy, now);
    match record.state {
        State::InProgress { lease_until } => {
            return (Settle::Running { lease_until }, Change::Keep);
        }
        State::Indeterminate { lease_until, .. } if now < lease_until => {
            return (Settle::Running { lease_until }, Change::Keep);
        }
        // What an operator said an operator may correct; what the origin said nobody may.
        State::Completed { by, .. } if by != SettledBy::Operator => {
            return (Settle::NothingToSettle, Change::Keep);
        }
        State::Indeterminate { .. } | State::Completed { .. } => {}
    }
    match settlement {
        Settlement::Succeeded(outcome) => {
            fence_off(&mut record, token);
            record.state = State::Completed {
                at: now,
                by: SettledBy::Operator,
                expires_at: policy.retention().expires_at(now),
                outcome,
            };
            (Settle::Settled, Change::Save(record))
        }
        Settlement::DidNotHappen => (Settle::Settled, Change::Forget(record.number)),
        Settlement::TryAgain => try_again(record, policy, now),
    }
}

fn try_again(mut record: Record, policy: &Policy, now: Timestamp) -> (Settle, Change) {
    let State::Indeterminate { next, .. } = &mut record.state else {
        return (Settle::NothingToSettle, Change::Keep);
    };
    *next = match policy.on_unknown() {
        OnUnknown::Resume => Next::Resolver(now),
        OnUnknown::Probe | OnUnknown::Park | OnUnknown::Rerun => Next::Retry,
    };
    record.tries = 0;
    (Settle::Settled, Change::Save(record))
}

/// A final report under a token that does not count any more: what is logged of it, if the token was ever let run (L3).
///
/// It contradicts a release, or a settlement, when it says that the work was done and they say otherwise.
#[must_use]
pub fn stale(
    record: Option<&Record>,
    entries: &[Entry],
    token: AttemptId,
    status: u16,
    now: Timestamp,
) -> Option<Entry> {
    let is_logged = |entry: &Entry| entry.id == token && matches!(entry.act, Act::LateFinal { .. });
    if entries.iter().any(is_logged) {
        return None; // once is enough
    }
    let settled = entries
        .iter()
        .rev()
        .find(|entry| entry.fenced.contains(&token));
    let known = record.filter(|record| record.has_superseded(token));
    if settled.is_none() && known.is_none() {
        return None; // anybody could have made it up
    }
    let contradicts = match settled.map(|entry| entry.act) {
        Some(Act::DidNotHappen) => true,
        Some(Act::Succeeded(said)) => said != status,
        Some(Act::TryAgain | Act::LateFinal { .. }) | None => {
            known.is_some_and(|record| says_not_run(record) || says_otherwise(record, status))
        }
    };
    Some(Entry {
        id: token,
        at: now,
        by: By::Attempt,
        act: Act::LateFinal {
            status,
            contradicts,
        },
        reason: String::new(),
        before: audit::standing(record, now),
        after: audit::standing(record, now),
        number: record.map_or_else(Default::default, |record| record.number),
        fenced: Vec::new(),
    })
}

/// Whether the origin, when it was asked, told another outcome.
fn says_otherwise(record: &Record, status: u16) -> bool {
    match &record.state {
        State::Completed {
            by: SettledBy::Probe,
            outcome,
            ..
        } => outcome.status != status,
        State::Completed { .. } | State::InProgress { .. } | State::Indeterminate { .. } => false,
    }
}

/// Whether the last that is known of a record is that its holder did not run.
fn says_not_run(record: &Record) -> bool {
    let last = record.history.last().and_then(|attempt| attempt.end);
    match record.state {
        State::Indeterminate { .. } => {
            last.is_some_and(|end| matches!(end.ending, Ending::NotRun(_)))
        }
        State::InProgress { .. } | State::Completed { .. } => false,
    }
}
