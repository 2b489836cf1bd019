//! All transitions of a record, and nothing else.
//!
//! Each function takes the record as it is, what is asked, the route's promise and the time, and says what to
//! answer and what to save. It saves nothing itself: the caller does both in one transaction. A repeat is an
//! answer of its own, never an error (L7).

use alloc::vec::Vec;

use crate::fingerprint::Fingerprint;
use crate::policy::{Kind, OnUnknown, Policy, Retention};
use crate::record::{
    AttemptEnd, AttemptId, AttemptNumber, Ending, HISTORY_MAX, Outcome, PastAttempt, Record, State,
    Unknown, UnknownCause,
};
use crate::time::{Millis, Timestamp};

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
    /// The key is older than the memory of it: running it might be a second time (K5).
    Expired,
    /// The key claims to be from the future (K5).
    FromTheFuture,
    /// The caller gave this token up before; it must not run under it (L7).
    Abandoned,
}

/// The right to run one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The attempt's number.
    pub number: AttemptNumber,
    /// Held while `now < until`.
    pub until: Timestamp,
    /// What was unknown of an attempt before, where this one takes over from it (L3).
    pub took_over: Option<Unknown>,
    /// Whether this is the answer to a repeated *begin* of the holder (L7).
    pub repeated: bool,
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

/// The answer to *complete*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complete {
    /// The outcome is kept.
    Recorded {
        /// Until when; none is forever.
        expires_at: Option<Timestamp>,
    },
    /// This attempt had completed already.
    AlreadyRecorded {
        /// Until when it is kept; none is forever.
        expires_at: Option<Timestamp>,
    },
    /// The token is not the last one that was let run: nothing changed (L3).
    Superseded,
}

/// The answer to *release*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The record is forgotten; the next request runs.
    Released,
    /// This attempt did not run, but an earlier one may have: the record stays, unknown (U4).
    StillUnknown(Unknown),
    /// There is nothing left to release.
    AlreadyReleased,
    /// This attempt completed before: what is done is not undone.
    AlreadyRecorded,
    /// The token is not the last one that was let run: nothing changed (L3).
    Superseded,
}

/// The answer to *suspend*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspend {
    /// The outcome is now unknown, and remembered as that.
    Suspended(Unknown),
    /// It was unknown already.
    AlreadySuspended(Unknown),
    /// This attempt completed before: what is known stays known.
    AlreadyRecorded,
    /// The token is not the last one that was let run: nothing changed (L3).
    Superseded,
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
                    repeated: true,
                };
                (Begin::Execute(lease), Change::Keep) // L7
            } else {
                (Begin::Wait { lease_until }, Change::Keep)
            }
        }
        State::InProgress { lease_until } => {
            let unknown = Unknown::lease_ran_out(lease_until, record.number);
            meet_unknown(record, unknown, lease_until, ask, policy, now)
        }
        State::Indeterminate {
            unknown,
            lease_until,
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

/// The attempt ended with a final outcome (P4: written after the work returned, never before).
///
/// The last token may complete even after its lease, and from the unknown, as long as nobody took over (L3).
#[must_use]
pub fn complete(
    record: Option<Record>,
    token: AttemptId,
    outcome: Outcome,
    retention: Retention,
    now: Timestamp,
) -> (Complete, Change) {
    let Some(mut record) = held(record, token, now) else {
        return (Complete::Superseded, Change::Keep);
    };
    if let State::Completed { expires_at, .. } = record.state {
        return (Complete::AlreadyRecorded { expires_at }, Change::Keep);
    }
    let expires_at = retention.expires_at(now);
    end_attempt(&mut record, Ending::Final(outcome.status), now);
    record.state = State::Completed {
        at: now,
        expires_at,
        outcome,
    };
    (Complete::Recorded { expires_at }, Change::Save(record))
}

/// The attempt did not run: nothing of it is kept. `status` is the origin's, where it gave one.
#[must_use]
pub fn release(
    record: Option<Record>,
    token: AttemptId,
    status: Option<u16>,
    now: Timestamp,
) -> (Release, Change) {
    let Some(record) = record.filter(|record| record.is_live(now)) else {
        return (Release::AlreadyReleased, Change::Keep);
    };
    let Some(mut record) = held(Some(record), token, now) else {
        return (Release::Superseded, Change::Keep);
    };
    let lease_until = match record.state {
        State::Completed { .. } => return (Release::AlreadyRecorded, Change::Keep),
        State::Indeterminate { unknown, .. } if unknown.number != record.number => {
            return (Release::AlreadyReleased, Change::Keep);
        }
        State::InProgress { lease_until } | State::Indeterminate { lease_until, .. } => lease_until,
    };
    match record.unknown_before.take() {
        None => (Release::Released, Change::Forget(record.number)),
        Some(unknown) => {
            end_attempt(&mut record, Ending::NotRun(status), now);
            record.state = State::Indeterminate {
                unknown,
                lease_until,
            };
            (Release::StillUnknown(unknown), Change::Save(record)) // U4
        }
    }
}

/// Nobody knows what the attempt did (U1, U2).
#[must_use]
pub fn suspend(
    record: Option<Record>,
    token: AttemptId,
    cause: UnknownCause,
    now: Timestamp,
) -> (Suspend, Change) {
    let Some(mut record) = held(record, token, now) else {
        return (Suspend::Superseded, Change::Keep);
    };
    match record.state {
        State::Completed { .. } => (Suspend::AlreadyRecorded, Change::Keep),
        State::Indeterminate { unknown, .. } if unknown.is_said_by(record.number) => {
            (Suspend::AlreadySuspended(unknown), Change::Keep)
        }
        // The alarm saw the lease end first: the attempt's own word says more.
        State::InProgress { lease_until } | State::Indeterminate { lease_until, .. } => {
            let since = record.unknown(now).map_or(now, |unknown| unknown.since);
            let unknown = Unknown {
                since,
                cause,
                number: record.number,
            };
            end_attempt(&mut record, Ending::Unknown(cause), now);
            record.state = State::Indeterminate {
                unknown,
                lease_until,
            };
            (Suspend::Suspended(unknown), Change::Save(record))
        }
    }
}

/// A lease that ran out with no word is unknown from then on, and stored as that (U2, U3).
#[must_use]
pub fn expire(mut record: Record, now: Timestamp) -> Change {
    match (&record.state, record.unknown(now)) {
        (State::InProgress { lease_until }, Some(unknown)) => {
            let lease_until = *lease_until;
            end_attempt(&mut record, Ending::Unknown(unknown.cause), unknown.since);
            record.state = State::Indeterminate {
                unknown,
                lease_until,
            };
            Change::Save(record)
        }
        (State::InProgress { .. } | State::Indeterminate { .. } | State::Completed { .. }, _) => {
            Change::Keep
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
    };
    let lease = Lease {
        number,
        until,
        took_over: None,
        repeated: false,
    };
    (Begin::Execute(lease), Change::Save(record))
}

/// A key of which no record is left may be too old to tell whether it was used, or claim to be from the future (K5).
fn judge_age(minted_at: Timestamp, policy: &Policy, now: Timestamp) -> Option<Begin> {
    if minted_at > now.plus(KEY_CLOCK_MARGIN) {
        return Some(Begin::FromTheFuture);
    }
    let retention = policy.retention().span()?;
    // A retention shorter than twice the margin would leave no key young enough.
    let margin = KEY_CLOCK_MARGIN.min(Millis::new(retention.get() / 2));
    (now.since(minted_at) > retention.saturating_sub(margin)).then_some(Begin::Expired)
}

/// A retry meets an outcome that nobody knows: U3 says whether it may run.
fn meet_unknown(
    record: Record,
    unknown: Unknown,
    lease_until: Timestamp,
    ask: &Ask,
    policy: &Policy,
    now: Timestamp,
) -> (Begin, Change) {
    if now < lease_until {
        let retry_at = Some(lease_until);
        return (Begin::Unknown { unknown, retry_at }, Change::Keep);
    }
    match policy.on_unknown() {
        OnUnknown::Park | OnUnknown::Probe => (
            Begin::Unknown {
                unknown,
                retry_at: None,
            },
            Change::Keep,
        ),
        // A token that ended unknown is spent: under it the holder would look like its own successor.
        OnUnknown::Resume | OnUnknown::Rerun if record.attempt == ask.token => (
            Begin::Unknown {
                unknown,
                retry_at: None,
            },
            Change::Keep,
        ),
        OnUnknown::Resume | OnUnknown::Rerun => take_over(record, unknown, ask, policy, now),
    }
}

/// A new attempt under a new token; the old one's reports change nothing from here on (L3).
fn take_over(
    mut record: Record,
    unknown: Unknown,
    ask: &Ask,
    policy: &Policy,
    now: Timestamp,
) -> (Begin, Change) {
    if let Change::Save(suspended) = expire(record.clone(), now) {
        record = suspended;
    }
    let number = record.number.next();
    let until = now.plus(policy.lease());
    let took_over = *record.unknown_before.get_or_insert(unknown);
    record.attempt = ask.token;
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
        repeated: false,
    };
    (Begin::Execute(lease), Change::Save(record))
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
