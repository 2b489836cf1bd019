//! The suite that every store passes: the memory twin natively, a store over SQL inside a real object.
//!
//! A case gets an empty store and says what went against the port's promise, if anything did.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use super::RecordStore;
use crate::fingerprint::Fingerprint;
use crate::placement::KeyDigest;
use crate::record::{
    AttemptId, AttemptNumber, Body, Next, Outcome, Record, SettledBy, State, Unknown, UnknownCause,
};
use crate::scope::{OperationKey, ScopeError};
use crate::time::Timestamp;

/// A case: its name says what must hold.
pub type Case<S> = (&'static str, fn(&mut S) -> Result<(), String>);

/// All cases.
#[must_use]
pub fn cases<S: Fallible>() -> Vec<Case<S>> {
    Vec::from([
        (
            "what was never saved is absent",
            absent as fn(&mut S) -> Result<(), String>,
        ),
        ("what was saved is found whole, in each state", saved),
        ("a save stands in place of the one before", replaced),
        ("an empty outcome is a record (P1)", empty_outcome),
        (
            "what is forgotten is absent and its number is remembered (L4)",
            forgotten,
        ),
        ("the floor never falls (L4)", floor),
        ("a failed transaction keeps nothing", rolled_back),
        (
            "abandoned tokens are known until their time (L7)",
            abandoned,
        ),
        ("leases run out at their end, not before (L2)", leases),
        ("the next due moment is the first of all records", next_due),
        (
            "a sweep forgets what has expired, at its very end (P5)",
            swept_at_the_end,
        ),
        (
            "a sweep leaves what is not settled (U2, R1)",
            unsettled_stays,
        ),
        (
            "a sweep is bounded and its round reaches everything (R1)",
            round,
        ),
    ])
}

/// A store of which the suite can make a transaction fail half-way.
pub trait Fallible: RecordStore<Error: Debug> {
    /// Any error of this store.
    fn failure() -> Self::Error;
}

type Verdict = Result<(), String>;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn key(name: &str) -> Result<OperationKey, String> {
    OperationKey::parse(name).map_err(|error: ScopeError| format!("{error}"))
}

fn record(number: u64, state: State) -> Record {
    Record {
        fingerprint: Fingerprint {
            recipe: 1,
            digest: [1; 32],
        },
        attempt: AttemptId::from_bytes([2; 16]),
        number: AttemptNumber::new(number),
        created_at: at(1_000),
        state,
        unknown_before: None,
        history: Vec::new(),
        superseded: Vec::new(),
        point: None,
        reference: None,
        tries: 0,
    }
}

fn running(lease_until: i64) -> State {
    State::InProgress {
        lease_until: at(lease_until),
    }
}

fn unknown(lease_until: i64) -> State {
    let unknown = Unknown {
        since: at(2_000),
        cause: UnknownCause::Timeout,
        number: AttemptNumber::new(1),
    };
    State::Indeterminate {
        unknown,
        lease_until: at(lease_until),
        next: Next::Nobody,
    }
}

fn completed(expires_at: Option<i64>, body: Body) -> State {
    let headers = Vec::from([(String::from("content-type"), String::from("text/plain"))]);
    let outcome = Outcome {
        status: 201,
        headers,
        body,
    };
    State::Completed {
        at: at(2_000),
        by: SettledBy::Attempt,
        expires_at: expires_at.map(at),
        outcome,
    }
}

fn kept(expires_at: i64) -> State {
    completed(Some(expires_at), Body::Kept(Vec::from(*b"done")))
}

fn ok<T, E: Debug>(result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("the store failed: {error:?}"))
}

fn same<T: PartialEq + Debug>(found: &T, expected: &T) -> Verdict {
    if found == expected {
        Ok(())
    } else {
        Err(format!("found {found:?}, expected {expected:?}"))
    }
}

fn save<S: RecordStore<Error: Debug>>(store: &mut S, name: &str, record: &Record) -> Verdict {
    let key = key(name)?;
    ok(store.save(&key, record, None))
}

fn load<S: RecordStore<Error: Debug>>(store: &mut S, name: &str) -> Result<Option<Record>, String> {
    let digest = KeyDigest::of(&key(name)?);
    ok(store.load(&digest))
}

fn absent<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    save(store, "a", &record(1, running(5_000)))?;
    same(&load(store, "b")?, &None)
}

fn saved<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    let states = [
        running(5_000),
        unknown(5_000),
        kept(9_000),
        completed(None, Body::Kept(Vec::from([0, 159, 146, 150, 255]))),
        completed(Some(9_000), Body::Omitted { bytes: 1 << 40 }),
    ];
    for (index, state) in states.into_iter().enumerate() {
        let (name, record) = (format!("key-{index} ü"), record(1, state));
        save(store, &name, &record)?;
        same(&load(store, &name)?, &Some(record))?;
    }
    Ok(())
}

fn replaced<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    for state in [
        running(5_000),
        unknown(5_000),
        running(8_000),
        kept(9_000),
        running(9_500),
    ] {
        let record = record(1, state);
        save(store, "a", &record)?;
        same(&load(store, "a")?, &Some(record))?;
    }
    Ok(())
}

fn empty_outcome<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    let outcome = Outcome {
        status: 0,
        headers: Vec::new(),
        body: Body::Kept(Vec::new()),
    };
    let record = record(
        1,
        State::Completed {
            at: at(0),
            by: SettledBy::Attempt,
            expires_at: None,
            outcome,
        },
    );
    save(store, "a", &record)?;
    same(&load(store, "a")?, &Some(record))
}

fn forgotten<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    for (name, state) in [("a", running(5_000)), ("b", kept(9_000)), ("c", unknown(1))] {
        save(store, name, &record(4, state))?;
        ok(store.forget(&KeyDigest::of(&key(name)?), AttemptNumber::new(4)))?;
        same(&load(store, name)?, &None)?;
    }
    same(&ok(store.floor())?, &AttemptNumber::new(4))
}

fn floor<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    same(&ok(store.floor())?, &AttemptNumber::new(0))?;
    for (number, expected) in [(3, 3), (2, 3), (7, 7)] {
        ok(store.forget(&KeyDigest::of(&key("a")?), AttemptNumber::new(number)))?;
        same(&ok(store.floor())?, &AttemptNumber::new(expected))?;
    }
    Ok(())
}

fn rolled_back<S: Fallible>(store: &mut S) -> Verdict {
    save(store, "a", &record(1, running(5_000)))?;
    let (a, b) = (key("a")?, key("b")?);
    let result: Result<(), S::Error> = store.transaction(|store| {
        store.save(&a, &record(1, kept(9_000)), None)?;
        store.save(&b, &record(1, running(5_000)), None)?;
        store.forget(&KeyDigest::of(&a), AttemptNumber::new(9))?;
        Err(S::failure())
    });
    if result.is_ok() {
        return Err(String::from("the failure was swallowed"));
    }
    same(&load(store, "a")?, &Some(record(1, running(5_000))))?;
    same(&load(store, "b")?, &None)?;
    same(&ok(store.floor())?, &AttemptNumber::new(0))
}

fn abandoned<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    let (token, other) = (
        AttemptId::from_bytes([3; 16]),
        AttemptId::from_bytes([4; 16]),
    );
    same(&ok(store.is_abandoned(&token))?, &false)?;
    ok(store.abandon(&token, at(10)))?;
    ok(store.abandon(&token, at(20)))?;
    ok(store.sweep(at(19), 1))?;
    same(&ok(store.is_abandoned(&token))?, &true)?;
    same(&ok(store.is_abandoned(&other))?, &false)?;
    ok(store.sweep(at(20), 1))?;
    same(&ok(store.is_abandoned(&token))?, &false)
}

fn leases<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    save(store, "first", &record(1, running(10)))?;
    save(store, "second", &record(1, running(20)))?;
    save(store, "unknown", &record(1, unknown(5)))?;
    save(store, "done", &record(1, kept(5)))?;
    for (now, limit, expected) in [(9, 9, 0), (10, 9, 1), (20, 9, 2), (20, 1, 1)] {
        let found = ok(store.leases_run_out(at(now), limit))?;
        same(&found.len(), &expected)?;
    }
    let found = ok(store.leases_run_out(at(10), 9))?;
    same(
        &found,
        &Vec::from([(key("first")?, record(1, running(10)))]),
    )
}

fn next_due<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    same(&ok(store.next_due())?, &None)?;
    save(store, "unknown", &record(1, unknown(5)))?;
    save(store, "done", &record(1, kept(5)))?;
    same(&ok(store.next_due())?, &None)?;
    save(store, "late", &record(1, running(20)))?;
    save(store, "early", &record(1, running(10)))?;
    same(&ok(store.next_due())?, &Some(at(10)))
}

fn swept_at_the_end<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    save(store, "a", &record(6, kept(100)))?;
    save(
        store,
        "forever",
        &record(1, completed(None, Body::Kept(Vec::new()))),
    )?;
    ok(store.sweep(at(99), 10))?;
    same(&load(store, "a")?.is_some(), &true)?;
    let swept = ok(store.sweep(at(100), 10))?;
    same(&(swept.forgotten, swept.round_ended), &(1, true))?;
    same(&load(store, "a")?, &None)?;
    same(&load(store, "forever")?.is_some(), &true)?;
    same(&ok(store.floor())?, &AttemptNumber::new(6))
}

fn unsettled_stays<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    save(store, "running", &record(1, running(1)))?;
    save(store, "unknown", &record(1, unknown(1)))?;
    let swept = ok(store.sweep(at(i64::from(u32::MAX)), 10))?;
    same(&swept.forgotten, &0)?;
    same(&load(store, "running")?.is_some(), &true)?;
    same(&load(store, "unknown")?.is_some(), &true)
}

fn round<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    for index in 0..10 {
        save(store, &format!("expired-{index}"), &record(1, kept(100)))?;
        save(store, &format!("live-{index}"), &record(1, kept(900)))?;
    }
    let (mut forgotten, mut calls) = (0, 0);
    loop {
        let swept = ok(store.sweep(at(100), 3))?;
        forgotten += swept.forgotten;
        calls += 1;
        if swept.looked_at > 3 {
            return Err(format!("one call looked at {} records", swept.looked_at));
        }
        if swept.round_ended {
            break;
        }
        if calls > 20 {
            return Err(String::from("the round does not end"));
        }
    }
    same(&forgotten, &10)?;
    let again = ok(store.sweep(at(900), 100))?;
    same(&again.forgotten, &10) // a new round starts at the beginning
}
