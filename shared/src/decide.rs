//! All transitions of a record, and nothing else.
//!
//! Each function takes the record as it is, what is asked, the route's promise and the time, and says what to
//! answer and what to save. It saves nothing itself: the caller does both in one transaction. A repeat is an
//! answer of its own, never an error (L7). Requests that ask to run or look are here, what a running attempt reports
//! in `report`, and what happens to an unknown outcome in `unknown`.

use alloc::string::String;
use alloc::vec::Vec;

use crate::fingerprint::Fingerprint;
use crate::policy::{Kind, OnUnknown, Policy};
use crate::record::{
    AttemptEnd, AttemptId, AttemptNumber, Ending, HISTORY_MAX, Next, Outcome, PastAttempt, Record,
    RecoveryPoint, State, Unknown,
};
use crate::time::{Millis, Timestamp};

mod report;
mod unknown;

pub use self::report::{
    Checkpoint, Complete, Extend, Release, Suspend, checkpoint, complete, extend, refer, release,
    suspend,
};
pub use self::unknown::{
    Finding, Probed, Pursue, Resend, Settle, Settlement, expire, probed, pursue, retry_at, settle,
    stale,
};

/// How far a key's own timestamp may lie ahead, and how long before the retention's end a key without a record is
/// refused already (K5).
pub const KEY_CLOCK_MARGIN: Millis = Millis::from_mins(5);

/// What a caller brings to *begin*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The token under which it would run, drawn at random by the caller.
    pub token: AttemptId,
    /// What its request looks like.
    pub fingerprint: Fingerprint,
    /// When the key was minted, where the key says so (`UUIDv7`).
    pub minted_at: Option<Timestamp>,
}

/// What to do to the record; the decision and this are one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each message, and it is taken apart at once"
)]
pub enum Change {
    /// Nothing: the answer was a read (P7).
    Keep,
    /// Save this record in place of what was there.
    Save(Record),
    /// Forget the record, and never give out this number or a lower one again (L4).
    Forget(AttemptNumber),
}

/// The answer to *begin*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Run it: the lease is yours.
    Execute(Lease),
    /// It is done: answer with this.
    Replay(Replay),
    /// The same request is running under a live lease.
    Wait {
        /// When that lease ends.
        lease_until: Timestamp,
    },
    /// The key names another request.
    Mismatch,
    /// Nobody knows what happened, and this caller may not find out by running it.
    Unknown {
        /// What is unknown.
        unknown: Unknown,
        /// When a retry may meet something else, where the rule knows.
        retry_at: Option<Timestamp>,
    },
    /// Nobody knows what happened, and this caller asks the origin (U3).
    Ask(Question),
    /// The key is older than the memory of it: running it might be a second time (K5).
    Expired,
    /// The key claims to be from the future (K5).
    FromTheFuture,
    /// The caller gave this token up before; it must not run under it (L7).
    Abandoned,
}

/// The right to run one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The attempt's number.
    pub number: AttemptNumber,
    /// Held while `now < until`.
    pub until: Timestamp,
    /// What was unknown of an attempt before, where this one takes over from it (L3).
    pub took_over: Option<Unknown>,
    /// How far an attempt before came, where the origin said so (L4).
    pub point: Option<RecoveryPoint>,
    /// Whether this is the answer to a repeated *begin* of the holder (L7).
    pub repeated: bool,
}

/// The right to ask the origin what became of an operation (U3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What is unknown.
    pub unknown: Unknown,
    /// The last attempt that was let run: the question is about it and all before it.
    pub number: AttemptNumber,
    /// Nobody else asks or sends before this moment.
    pub until: Timestamp,
    /// How long ago the origin was last sent the operation.
    pub since_dispatch: Millis,
    /// The origin's own name for what it made, if it gave one.
    pub reference: Option<String>,
    /// How far it said it came, if it did.
    pub point: Option<RecoveryPoint>,
}

/// A kept outcome, with what a caller should hear about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// What was answered the first time.
    pub outcome: Outcome,
    /// Until when it is kept; none is forever.
    pub expires_at: Option<Timestamp>,
    /// Whether this request looked different (webhooks only, F5).
    pub changed: bool,
}

/// The answer to *look*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// There is no record.
    Absent,
    /// An attempt is running under a live lease.
    Running {
        /// When that lease ends.
        lease_until: Timestamp,
    },
    /// Nobody knows what happened.
    Unknown(Unknown),
    /// It is done.
    Done(Replay),
    /// The key names another request.
    Mismatch,
}

/// A request asks to run: exactly one of several equal ones at once may (L1).
///
/// `floor` is the highest attempt number that was ever forgotten here.
#[must_use]
pub fn begin(
    record: Option<Record>,
    floor: AttemptNumber,
    ask: &Ask,
    policy: &Policy,
    now: Timestamp,
) -> (Begin, Change) {
    let (live, floor) = match record {
        Some(record) if record.is_live(now) => (Some(record), floor),
        Some(expired) => (None, floor.max(expired.number)),
        None => (None, floor),
    };
    let Some(record) = live else {
        return claim(floor, ask, policy, now);
    };
    let changed = record.fingerprint != ask.fingerprint;
    if changed && policy.kind() == Kind::Api {
        return (Begin::Mismatch, Change::Keep); // A: before anything else about the record
    }
    match record.state {
        State::Completed {
            outcome,
            expires_at,
            ..
        } => {
            let replay = Replay {
                outcome,
                expires_at,
                changed,
            };
            (Begin::Replay(replay), Change::Keep)
        }
        State::InProgress { lease_until } if now < lease_until => {
            if record.attempt == ask.token {
                let number = record.number;
                let took_over = record.unknown_before;
                let lease = Lease {
                    number,
                    until: lease_until,
                    took_over,
                    point: record.point,
                    repeated: true,
                };
                (Begin::Execute(lease), Change::Keep) // L7
            } else {
                (Begin::Wait { lease_until }, Change::Keep)
            }
        }
        // What its alarm will do in a moment.
        State::InProgress { lease_until } => {
            let unknown = Unknown::lease_ran_out(lease_until, record.number);
            meet_unknown(record, unknown, lease_until, ask, policy, now)
        }
        State::Indeterminate {
            unknown,
            lease_until,
            ..
        } => meet_unknown(record, unknown, lease_until, ask, policy, now),
    }
}

/// Looks at the record and changes nothing. `fingerprint` is what the looker's request looks like.
#[must_use]
pub fn look(
    record: Option<Record>,
    fingerprint: Option<&Fingerprint>,
    kind: Kind,
    now: Timestamp,
) -> Look {
    let Some(record) = record.filter(|record| record.is_live(now)) else {
        return Look::Absent;
    };
    let changed = fingerprint.is_some_and(|asked| *asked != record.fingerprint);
    if changed && kind == Kind::Api {
        return Look::Mismatch;
    }
    if let Some(unknown) = record.unknown(now) {
        return Look::Unknown(unknown);
    }
    match record.state {
        State::Completed {
            outcome,
            expires_at,
            ..
        } => Look::Done(Replay {
            outcome,
            expires_at,
            changed,
        }),
        State::InProgress { lease_until } | State::Indeterminate { lease_until, .. } => {
            Look::Running { lease_until }
        }
    }
}

/// No record is left, or never was one.
fn claim(floor: AttemptNumber, ask: &Ask, policy: &Policy, now: Timestamp) -> (Begin, Change) {
    if let Some(refusal) = ask
        .minted_at
        .and_then(|minted_at| judge_age(minted_at, policy, now))
    {
        return (refusal, Change::Keep); // K5
    }
    let number = floor.next();
    let until = now.plus(policy.lease());
    let record = Record {
        fingerprint: ask.fingerprint,
        attempt: ask.token,
        number,
        created_at: now,
        state: State::InProgress { lease_until: until },
        unknown_before: None,
        history: Vec::from([PastAttempt {
            number,
            started_at: now,
            end: None,
        }]),
        superseded: Vec::new(),
        point: None,
        reference: None,
        tries: 0,
    };
    let lease = Lease {
        number,
        until,
        took_over: None,
        point: None,
        repeated: false,
    };
    (Begin::Execute(lease), Change::Save(record))
}

/// A key of which no record is left may be too old to tell whether it was used, or claim to be from the future (K5).
fn judge_age(minted_at: Timestamp, policy: &Policy, now: Timestamp) -> Option<Begin> {
    let Some(retention) = policy.retention().span() else {
        return (minted_at > now.plus(KEY_CLOCK_MARGIN)).then_some(Begin::FromTheFuture);
    };
    // A retention shorter than twice the margin would leave no key young enough, and would end before a key whose clock
    // is ahead by the margin had an age.
    let margin = KEY_CLOCK_MARGIN.min(Millis::new(retention.get() / 2));
    if minted_at > now.plus(margin) {
        return Some(Begin::FromTheFuture);
    }
    (now.since(minted_at) > retention.saturating_sub(margin)).then_some(Begin::Expired)
}

/// A retry meets an outcome that nobody knows: U3 says whether it may run, or ask.
fn meet_unknown(
    record: Record,
    unknown: Unknown,
    lease_until: Timestamp,
    ask: &Ask,
    policy: &Policy,
    now: Timestamp,
) -> (Begin, Change) {
    let still = |retry_at| (Begin::Unknown { unknown, retry_at }, Change::Keep);
    if now < lease_until {
        return still(Some(lease_until));
    }
    // A token that was let run and ended unknown is spent: under it the holder would look like its own successor.
    if record.attempt == ask.token || record.has_superseded(ask.token) {
        return still(None);
    }
    let next = match record.state {
        State::Indeterminate { next, .. } => next,
        State::InProgress { .. } | State::Completed { .. } => Next::Nobody,
    };
    match next {
        Next::Asking { token, until } if now < until => {
            if token == ask.token {
                let question = question(&record, unknown, until, now);
                return (Begin::Ask(question), Change::Keep); // L7
            }
            return (Begin::Wait { lease_until: until }, Change::Keep);
        }
        Next::Retry => {
            let (lease, record) = take_over(record, unknown, ask.token, policy, now);
            return (Begin::Execute(lease), Change::Save(record));
        }
        Next::Asking { .. } | Next::Resolver(_) | Next::Nobody => {}
    }
    match policy.on_unknown() {
        OnUnknown::Park => still(None),
        OnUnknown::Probe => {
            let (record, until) = start_asking(record, ask.token, policy, now);
            let question = question(&record, unknown, until, now);
            (Begin::Ask(question), Change::Save(record))
        }
        OnUnknown::Resume | OnUnknown::Rerun => {
            let (lease, record) = take_over(record, unknown, ask.token, policy, now);
            (Begin::Execute(lease), Change::Save(record))
        }
    }
}

/// The origin is asked under `token`; the last attempt may still report, and then what it says counts (L3).
fn start_asking(
    record: Record,
    token: AttemptId,
    policy: &Policy,
    now: Timestamp,
) -> (Record, Timestamp) {
    let until = now.plus(policy.lease());
    let mut record = unknown::expired(record, policy, now);
    if let State::Indeterminate { next, .. } = &mut record.state {
        *next = Next::Asking { token, until };
    }
    (record, until)
}

fn question(record: &Record, unknown: Unknown, until: Timestamp, now: Timestamp) -> Question {
    Question {
        unknown,
        number: record.number,
        until,
        since_dispatch: now.since(record.last_dispatch()),
        reference: record.reference.clone(),
        point: record.point.clone(),
    }
}

/// A new attempt under a new token; the old one's reports change nothing from here on (L3).
fn take_over(
    record: Record,
    unknown: Unknown,
    token: AttemptId,
    policy: &Policy,
    now: Timestamp,
) -> (Lease, Record) {
    let mut record = unknown::expired(record, policy, now);
    let number = record.number.next();
    let until = now.plus(policy.lease());
    let took_over = *record.unknown_before.get_or_insert(unknown);
    fence_off(&mut record, token);
    record.number = number;
    record.state = State::InProgress { lease_until: until };
    record.history.push(PastAttempt {
        number,
        started_at: now,
        end: None,
    });
    let excess = record.history.len().saturating_sub(HISTORY_MAX);
    record.history.drain(..excess);
    let lease = Lease {
        number,
        until,
        took_over: Some(took_over),
        point: record.point.clone(),
        repeated: false,
    };
    (lease, record)
}

/// `token` counts from here on, and what was let run before is fenced off (L3).
fn fence_off(record: &mut Record, token: AttemptId) {
    let before = core::mem::replace(&mut record.attempt, token);
    record.superseded.push(before);
    let excess = record.superseded.len().saturating_sub(HISTORY_MAX);
    record.superseded.drain(..excess);
}

/// The record, if it is live and `token` is the last one that was let run.
fn held(record: Option<Record>, token: AttemptId, now: Timestamp) -> Option<Record> {
    record.filter(|record| record.is_live(now) && record.attempt == token)
}

/// Notes in the history how the last attempt ended; what is learned later stands in place of what was thought before.
fn end_attempt(record: &mut Record, ending: Ending, at: Timestamp) {
    if let Some(last) = record.history.last_mut() {
        last.end = Some(AttemptEnd { at, ending });
    }
}

#[cfg(test)]
mod tests;
