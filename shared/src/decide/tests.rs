//! Every transition as a row: state, message, answer, and what the record is afterwards.
//!
//! Here is what all rows are made of.

use alloc::vec;

use super::*;
use crate::policy::{PolicyParts, Retention};
use crate::record::{Body, SettledBy, UnknownCause};

mod begin;
mod late;
mod probe;
mod progress;
mod report;
mod resolve;
mod settle;

const LEASE: u64 = 30_000;
const RETENTION: Millis = Millis::from_hours(72);
const A: Fingerprint = Fingerprint {
    recipe: 1,
    digest: [0xa; 32],
};
const B: Fingerprint = Fingerprint {
    recipe: 1,
    digest: [0xb; 32],
};
/// When the record of these rows was claimed.
const T0: i64 = 1_700_000_000_000;

fn t(after_ms: i64) -> Timestamp {
    Timestamp::from_millis(T0 + after_ms)
}

fn token(name: u8) -> AttemptId {
    AttemptId::from_bytes([name; 16])
}

fn n(number: u64) -> AttemptNumber {
    AttemptNumber::new(number)
}

fn policy(kind: Kind, on_unknown: OnUnknown) -> Policy {
    let mut parts = PolicyParts::defaults(kind, on_unknown);
    parts.retention = Retention::of(RETENTION).unwrap();
    Policy::new(parts).unwrap()
}

fn park() -> Policy {
    policy(Kind::Api, OnUnknown::Park)
}

fn resume() -> Policy {
    policy(Kind::Api, OnUnknown::Resume)
}

fn rerun() -> Policy {
    policy(Kind::Webhook, OnUnknown::Rerun)
}

fn probe() -> Policy {
    policy(Kind::Api, OnUnknown::Probe)
}

fn ask(name: u8, fingerprint: Fingerprint) -> Ask {
    Ask {
        token: token(name),
        fingerprint,
        minted_at: None,
    }
}

fn outcome(status: u16) -> Outcome {
    Outcome {
        status,
        headers: vec![],
        body: Body::Kept(vec![1, 2, 3]),
    }
}

/// Attempt 1 under token 1, claimed at `t(0)`.
fn running() -> Record {
    let (begin, change) = begin(None, n(0), &ask(1, A), &resume(), t(0));
    assert!(matches!(begin, Begin::Execute(_)));
    saved(change)
}

fn completed() -> Record {
    saved(
        complete(
            Some(running()),
            token(1),
            outcome(201),
            None,
            resume().retention(),
            t(100),
        )
        .1,
    )
}

fn suspended() -> Record {
    saved(
        suspend(
            Some(running()),
            token(1),
            UnknownCause::Timeout,
            None,
            &resume(),
            t(100),
        )
        .1,
    )
}

/// Attempt 2 under token 2 took over from the unknown attempt 1.
fn taken_over() -> Record {
    let lease = i64::try_from(LEASE).unwrap();
    let (begin, change) = begin(Some(suspended()), n(0), &ask(2, A), &resume(), t(lease));
    assert!(matches!(begin, Begin::Execute(_)), "{begin:?}");
    saved(change)
}

/// Under token 3 the origin is asked what became of attempt 1, from the end of its lease until `t(60_000)`.
fn asked() -> Record {
    let (begin, change) = begin(Some(suspended()), n(0), &ask(3, A), &probe(), t(30_000));
    assert!(matches!(begin, Begin::Ask(_)), "{begin:?}");
    saved(change)
}

/// Attempt 1 came as far as [`point`], and nobody knows what it did then.
fn suspended_with_point() -> Record {
    saved(checkpoint(Some(suspended()), token(1), point("charged"), t(200)).1)
}

/// An operator said at `t(40_000)` that it took effect, under token 9.
fn settled() -> Record {
    let succeeded = Settlement::Succeeded(outcome(201));
    saved(settle(Some(suspended()), token(9), succeeded, &park(), t(40_000)).1)
}

fn point(name: &str) -> RecoveryPoint {
    RecoveryPoint::new(String::from(name), String::from("{}")).unwrap()
}

fn next(record: &Record) -> Next {
    let State::Indeterminate { next, .. } = record.state else {
        panic!("not unknown: {record:?}");
    };
    next
}

fn last_ending(record: &Record) -> Option<Ending> {
    let last = record.history.last().and_then(|attempt| attempt.end);
    last.map(|end| end.ending)
}

#[track_caller]
fn saved(change: Change) -> Record {
    match change {
        Change::Save(record) => record,
        Change::Keep | Change::Forget(_) => panic!("nothing was saved: {change:?}"),
    }
}

#[track_caller]
fn check_begin(record: Option<Record>, ask: &Ask, policy: &Policy, now: i64, expected: &Begin) {
    let (begin, change) = begin(record, n(0), ask, policy, t(now));
    assert_eq!(begin, *expected);
    if !matches!(
        begin,
        Begin::Execute(Lease {
            repeated: false,
            ..
        })
    ) {
        assert_eq!(change, Change::Keep, "what does not run is a read (P7)");
    }
}

fn execute(number: u64, until: i64, took_over: Option<Unknown>, repeated: bool) -> Begin {
    let until = t(until);
    Begin::Execute(Lease {
        number: n(number),
        until,
        took_over,
        point: None,
        repeated,
    })
}

fn unknown_1(since: i64, cause: UnknownCause) -> Unknown {
    Unknown {
        since: t(since),
        cause,
        number: n(1),
    }
}

fn replay(changed: bool) -> Begin {
    let expires_at = Some(t(100).plus(RETENTION));
    Begin::Replay(Replay {
        outcome: outcome(201),
        expires_at,
        changed,
    })
}
