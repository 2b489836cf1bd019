//! What the holder of an attempt's token reports: that it ended, or how it comes along (L3, L5, U1).

use alloc::string::String;

use super::{Change, end_attempt, held, unknown};
use crate::policy::{Policy, Retention};
use crate::record::{
    AttemptId, Ending, Next, Outcome, REFERENCE_BYTES_MAX, Record, RecoveryPoint, SettledBy, State,
    Unknown, UnknownCause,
};
use crate::time::{Millis, Timestamp};

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
    /// The token is not the last one that was let run, or it completed with another outcome before: nothing changed (L3).
    Superseded,
}

/// The answer to *release*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// The record is forgotten; the next request runs.
    Released,
    /// This attempt did not run, but an earlier one may have, or a step of it did: the record stays, unknown (U4).
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

/// The answer to *extend* (L5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extend {
    /// The lease now ends then, which is never earlier than before and never later than the longest allowed.
    Until(Timestamp),
    /// The attempt's lease is over, or it has ended: nothing is left to extend.
    Ended,
    /// The token is not the last one that was let run: nothing changed (L3).
    Superseded,
}

/// The answer to *checkpoint* (L5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoint {
    /// The point is kept, now or since an earlier message.
    Saved,
    /// The attempt completed before.
    Ended,
    /// The token is not the last one that was let run: nothing changed (L3).
    Superseded,
}

/// The attempt ended with a final outcome (P4: written after the work returned, never before).
///
/// The last token may complete even after its lease, and from the unknown, as long as nobody took over (L3).
#[must_use]
pub fn complete(
    record: Option<Record>,
    token: AttemptId,
    outcome: Outcome,
    reference: Option<&str>,
    retention: Retention,
    now: Timestamp,
) -> (Complete, Change) {
    let Some(mut record) = held(record, token, now) else {
        return (Complete::Superseded, Change::Keep);
    };
    if let State::Completed {
        expires_at,
        outcome: recorded,
        ..
    } = &record.state
    {
        // A1: of two outcomes that one attempt reports the first one counts, for its own caller, too.
        let complete = if *recorded == outcome {
            let expires_at = *expires_at;
            Complete::AlreadyRecorded { expires_at }
        } else {
            Complete::Superseded
        };
        return (complete, Change::Keep);
    }
    let expires_at = retention.expires_at(now);
    keep_reference(&mut record, reference);
    end_attempt(&mut record, Ending::Final(outcome.status), now);
    record.state = State::Completed {
        at: now,
        by: SettledBy::Attempt,
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
    policy: &Policy,
    now: Timestamp,
) -> (Release, Change) {
    let Some(record) = record.filter(|record| record.is_live(now)) else {
        return (Release::AlreadyReleased, Change::Keep);
    };
    let Some(mut record) = held(Some(record), token, now) else {
        return (Release::Superseded, Change::Keep);
    };
    let (lease_until, next) = match record.state {
        State::Completed { .. } => return (Release::AlreadyRecorded, Change::Keep),
        State::Indeterminate { unknown, .. }
            if unknown.number != record.number || unknown.cause == UnknownCause::Partly =>
        {
            return (Release::AlreadyReleased, Change::Keep);
        }
        // An operator has let it run once more; that this attempt did not run takes nothing from that (U6).
        State::Indeterminate {
            lease_until,
            next: Next::Retry,
            ..
        } => (lease_until, Next::Retry),
        State::InProgress { lease_until } | State::Indeterminate { lease_until, .. } => {
            (lease_until, unknown::next_of(&record, policy, now))
        }
    };
    // U4: what came before this attempt, or what it did before it gave up.
    let partly = record.point.is_some().then_some(Unknown {
        since: now,
        cause: UnknownCause::Partly,
        number: record.number,
    });
    match record.unknown_before.take().or(partly) {
        None => (Release::Released, Change::Forget(record.number)),
        Some(unknown) => {
            end_attempt(&mut record, Ending::NotRun(status), now);
            record.state = State::Indeterminate {
                unknown,
                lease_until,
                next,
            };
            (Release::StillUnknown(unknown), Change::Save(record))
        }
    }
}

/// Nobody knows what the attempt did (U1, U2).
#[must_use]
pub fn suspend(
    record: Option<Record>,
    token: AttemptId,
    cause: UnknownCause,
    reference: Option<&str>,
    policy: &Policy,
    now: Timestamp,
) -> (Suspend, Change) {
    let Some(mut record) = held(record, token, now) else {
        return (Suspend::Superseded, Change::Keep);
    };
    let (lease_until, next) = match record.state {
        State::Completed { .. } => return (Suspend::AlreadyRecorded, Change::Keep),
        State::Indeterminate { unknown, .. } if unknown.is_said_by(record.number) => {
            return (Suspend::AlreadySuspended(unknown), Change::Keep);
        }
        State::InProgress { lease_until } => (lease_until, unknown::next_of(&record, policy, now)),
        // The alarm saw the lease end first: the attempt's own word says more.
        State::Indeterminate {
            lease_until, next, ..
        } => (lease_until, next),
    };
    let since = record.unknown(now).map_or(now, |unknown| unknown.since);
    let unknown = Unknown {
        since,
        cause,
        number: record.number,
    };
    keep_reference(&mut record, reference);
    end_attempt(&mut record, Ending::Unknown(cause), now);
    record.state = State::Indeterminate {
        unknown,
        lease_until,
        next,
    };
    (Suspend::Suspended(unknown), Change::Save(record))
}

/// The attempt needs longer: `span` from now, and no longer after its start than the route allows (L5).
#[must_use]
pub fn extend(
    record: Option<Record>,
    token: AttemptId,
    span: Millis,
    policy: &Policy,
    now: Timestamp,
) -> (Extend, Change) {
    let Some(mut record) = held(record, token, now) else {
        return (Extend::Superseded, Change::Keep);
    };
    let latest = record.last_dispatch().plus(policy.max_lease());
    match &mut record.state {
        State::InProgress { lease_until } if now < *lease_until => {
            let until = now.plus(span).min(latest).max(*lease_until);
            if until == *lease_until {
                return (Extend::Until(until), Change::Keep);
            }
            *lease_until = until;
            (Extend::Until(until), Change::Save(record))
        }
        State::InProgress { .. } | State::Indeterminate { .. } | State::Completed { .. } => {
            (Extend::Ended, Change::Keep)
        }
    }
}

/// The attempt came this far (L5). What the origin knows counts also after its lease, as long as nobody took over.
#[must_use]
pub fn checkpoint(
    record: Option<Record>,
    token: AttemptId,
    point: RecoveryPoint,
    now: Timestamp,
) -> (Checkpoint, Change) {
    let Some(mut record) = held(record, token, now) else {
        return (Checkpoint::Superseded, Change::Keep);
    };
    match record.state {
        State::Completed { .. } => (Checkpoint::Ended, Change::Keep),
        State::InProgress { .. } | State::Indeterminate { .. } => {
            if record.point.as_ref() == Some(&point) {
                return (Checkpoint::Saved, Change::Keep);
            }
            record.point = Some(point);
            (Checkpoint::Saved, Change::Save(record))
        }
    }
}

/// The origin works on, and named what it makes (U3): that is kept, so that it can be asked by this name.
#[must_use]
pub fn refer(record: Option<Record>, token: AttemptId, reference: &str, now: Timestamp) -> Change {
    let Some(mut record) = held(record, token, now) else {
        return Change::Keep;
    };
    if keep_reference(&mut record, Some(reference)) {
        Change::Save(record)
    } else {
        Change::Keep
    }
}

/// Keeps the origin's name for what it made, if it is short enough; whether that changed anything.
fn keep_reference(record: &mut Record, reference: Option<&str>) -> bool {
    match reference {
        Some(reference)
            if !reference.is_empty()
                && reference.len() <= REFERENCE_BYTES_MAX
                && record.reference.as_deref() != Some(reference) =>
        {
            record.reference = Some(String::from(reference));
            true
        }
        Some(_) | None => false,
    }
}
