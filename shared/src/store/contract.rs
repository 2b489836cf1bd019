//! The suite that every store passes: the memory twin natively, a store over SQL inside a real object.
//!
//! A case gets an empty store and says what went against the port's promise, if anything did.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use super::RecordStore;
use crate::audit::{Act, By, Entry};
use crate::fingerprint::Fingerprint;
use crate::placement::KeyDigest;
use crate::record::{
    AttemptId, AttemptNumber, Body, Next, Outcome, PastAttempt, Record, RecoveryPoint, SettledBy,
    State, Unknown, UnknownCause,
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
        (
            "what a take-over goes on from is found whole (L3, L4)",
            saved_in_full,
        ),
        (
            "a key is known as long as its record and found by its digest",
            key_known,
        ),
        ("a save stands in place of the one before", replaced),
        ("an empty outcome is a record (P1)", empty_outcome),
        (
            "what is forgotten is absent and its number is remembered (L4)",
            forgotten,
        ),
        ("the floor never falls (L4)", floor),
        (
            "a request is kept beside its record, also over a save without one (U5)",
            request_kept,
        ),
        (
            "a request goes when its record is completed or forgotten (U5)",
            request_gone,
        ),
        ("a failed transaction keeps nothing", rolled_back),
        (
            "abandoned tokens are known until their time (L7)",
            abandoned,
        ),
        ("leases run out at their end, not before (L2)", leases),
        (
            "what nobody knows is due as its record says, longest due first (U5)",
            unknown_due,
        ),
        (
            "what nobody knows is never due before its lease ends (U3)",
            unknown_due_after_the_lease,
        ),
        (
            "the next due moment is the first of all records, whatever they wait for",
            next_due,
        ),
        (
            "the log keeps its order and outlives the record (U6)",
            logged,
        ),
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
    unknown_then(lease_until, Next::Nobody)
}

fn unknown_then(lease_until: i64, next: Next) -> State {
    let unknown = Unknown {
        since: at(2_000),
        cause: UnknownCause::Timeout,
        number: AttemptNumber::new(1),
    };
    State::Indeterminate {
        unknown,
        lease_until: at(lease_until),
        next,
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

fn saved_in_full<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    let mut full = record(3, running(5_000));
    full.unknown_before = Some(Unknown::lease_ran_out(at(900), AttemptNumber::new(2)));
    full.history = Vec::from([PastAttempt {
        number: AttemptNumber::new(3),
        started_at: at(1_000),
        end: None,
    }]);
    full.superseded = Vec::from([
        AttemptId::from_bytes([8; 16]),
        AttemptId::from_bytes([9; 16]),
    ]);
    full.point = RecoveryPoint::new(String::from("charged"), String::from("\"ü\" ' \n")).ok();
    full.reference = Some(String::from("ch_1 ü"));
    full.tries = 7;
    save(store, "a", &full)?;
    same(&load(store, "a")?, &Some(full))
}

fn key_known<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    let (known, other) = (key("a key ü")?, key("b")?);
    let digest = KeyDigest::of(&known);
    same(&ok(store.key(&digest))?, &None)?;
    for state in [running(5_000), unknown(5_000), kept(9_000)] {
        ok(store.save(&known, &record(1, state), None))?;
        same(&ok(store.key(&digest))?, &Some(known.clone()))?;
        same(&ok(store.key(&KeyDigest::of(&other)))?, &None)?;
    }
    ok(store.forget(&digest, AttemptNumber::new(1)))?;
    same(&ok(store.key(&digest))?, &None)
}

fn request<S: RecordStore<Error: Debug>>(
    store: &mut S,
    name: &str,
) -> Result<Option<Vec<u8>>, String> {
    let digest = KeyDigest::of(&key(name)?);
    ok(store.request(&digest))
}

fn save_with<S: RecordStore<Error: Debug>>(
    store: &mut S,
    name: &str,
    state: State,
    request: &[u8],
) -> Verdict {
    let key = key(name)?;
    ok(store.save(&key, &record(1, state), Some(request)))
}

fn request_kept<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    save(store, "a", &record(1, running(5_000)))?;
    same(&request(store, "a")?, &None)?;
    for sent in [b"one".as_slice(), &[0, 159, 146, 150, 255], b""] {
        save_with(store, "a", running(5_000), sent)?;
        for state in [running(8_000), unknown(8_000), running(9_000)] {
            save(store, "a", &record(1, state))?;
            same(&request(store, "a")?, &Some(sent.to_vec()))?; // an empty one is one too
        }
        same(&request(store, "b")?, &None)?;
    }
    Ok(())
}

fn request_gone<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    save_with(store, "done", running(5_000), b"one")?;
    save(store, "done", &record(1, kept(9_000)))?;
    same(&request(store, "done")?, &None)?;
    save_with(store, "forgotten", unknown(5_000), b"two")?;
    let digest = KeyDigest::of(&key("forgotten")?);
    ok(store.forget(&digest, AttemptNumber::new(1)))?;
    same(&request(store, "forgotten")?, &None)?;
    // And it does not come back with a later record under the same key.
    for name in ["done", "forgotten"] {
        save(store, name, &record(2, running(9_500)))?;
        same(&request(store, name)?, &None)?;
    }
    save_with(store, "at once", kept(9_000), b"three")?;
    same(&request(store, "at once")?, &None)
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
    save_with(store, "a", running(5_000), b"first")?;
    let (a, b) = (key("a")?, key("b")?);
    let result: Result<(), S::Error> = store.transaction(|store| {
        store.save(&a, &record(1, kept(9_000)), None)?;
        store.save(&b, &record(1, running(5_000)), None)?;
        store.forget(&KeyDigest::of(&a), AttemptNumber::new(9))?;
        store.save(&b, &record(1, running(5_000)), Some(b"sent"))?;
        store.log(&b, &entry(7, at(1)))?;
        store.abandon(&AttemptId::from_bytes([7; 16]), at(20))?;
        Err(S::failure())
    });
    if result.is_ok() {
        return Err(String::from("the failure was swallowed"));
    }
    same(&load(store, "a")?, &Some(record(1, running(5_000))))?;
    same(&request(store, "a")?, &Some(b"first".to_vec()))?;
    same(&load(store, "b")?, &None)?;
    same(&request(store, "b")?, &None)?;
    same(&ok(store.logged(&KeyDigest::of(&b)))?, &Vec::new())?;
    same(
        &ok(store.is_abandoned(&AttemptId::from_bytes([7; 16])))?,
        &false,
    )?;
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

/// Asked under token 6 until then.
fn asking(until: i64) -> Next {
    Next::Asking {
        token: AttemptId::from_bytes([6; 16]),
        until: at(until),
    }
}

fn unknown_due<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    for (name, state) in [
        ("running", running(5)),
        ("done", kept(5)),
        ("nobody", unknown_then(5, Next::Nobody)),
        ("retry", unknown_then(5, Next::Retry)),
        ("third", unknown_then(5, Next::Resolver(at(30)))),
        ("first", unknown_then(5, Next::Resolver(at(10)))),
        ("second", unknown_then(5, asking(20))),
    ] {
        save(store, name, &record(1, state))?;
    }
    for (now, limit, expected) in [
        (9, 9, [].as_slice()),
        (10, 9, &["first"]),
        (20, 9, &["first", "second"]),
        (99, 9, &["first", "second", "third"]),
        (99, 2, &["first", "second"]),
        (99, 0, &[]),
    ] {
        let mut names = Vec::new();
        for (found, record) in ok(store.unknown_due(at(now), limit))? {
            names.push(String::from(found.as_str()));
            same(&load(store, found.as_str())?, &Some(record))?;
        }
        same(
            &names,
            &expected.iter().copied().map(String::from).collect(),
        )?;
    }
    // Taken up, it is due no more.
    save(store, "first", &record(1, running(5)))?;
    save(store, "second", &record(1, kept(900)))?;
    let left = ok(store.unknown_due(at(99), 9))?;
    same(&left.len(), &1)
}

fn unknown_due_after_the_lease<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    save(
        store,
        "early",
        &record(1, unknown_then(50, Next::Resolver(at(10)))),
    )?;
    save(
        store,
        "other",
        &record(1, unknown_then(5, Next::Resolver(at(40)))),
    )?;
    same(&ok(store.next_due())?, &Some(at(40)))?;
    same(&ok(store.unknown_due(at(49), 9))?.len(), &1)?;
    let found = ok(store.unknown_due(at(50), 9))?;
    let keys: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
    same(&keys, &Vec::from([key("other")?, key("early")?]))
}

fn next_due<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    same(&ok(store.next_due())?, &None)?;
    for (name, state) in [
        ("nobody", unknown_then(5, Next::Nobody)),
        ("retry", unknown_then(5, Next::Retry)),
        ("done", kept(5)),
    ] {
        save(store, name, &record(1, state))?;
        same(&ok(store.next_due())?, &None)?;
    }
    // Each is sooner than all before it.
    for (name, state, due) in [
        ("resolved", unknown_then(5, Next::Resolver(at(40))), 40),
        ("running", running(30), 30),
        ("asked", unknown_then(5, asking(20)), 20),
        ("resolved soon", unknown_then(5, Next::Resolver(at(10))), 10),
    ] {
        save(store, name, &record(1, state))?;
        same(&ok(store.next_due())?, &Some(at(due)))?;
    }
    save(store, "resolved soon", &record(1, kept(900)))?;
    ok(store.forget(&KeyDigest::of(&key("asked")?), AttemptNumber::new(1)))?;
    same(&ok(store.next_due())?, &Some(at(30)))
}

fn entry(id: u8, at: Timestamp) -> Entry {
    Entry {
        id: AttemptId::from_bytes([id; 16]),
        at,
        by: By::Operator(String::from("ada ü")),
        act: Act::Succeeded(201),
        reason: String::from("it's in the \"ledger\""),
        before: String::from("unknown"),
        after: String::from("completed"),
        number: AttemptNumber::new(3),
        fenced: Vec::from([
            AttemptId::from_bytes([1; 16]),
            AttemptId::from_bytes([2; 16]),
        ]),
    }
}

fn logged<S: RecordStore<Error: Debug>>(store: &mut S) -> Verdict {
    let (a, b) = (key("a")?, key("b")?);
    let late = |status, contradicts| Act::LateFinal {
        status,
        contradicts,
    };
    let mut entries = Vec::new();
    save(store, "a", &record(3, unknown(5)))?;
    // Oldest first is the order in which they came, also where their clocks disagree.
    for (id, moment, by, act) in [
        (1, 50, By::Operator(String::from("ada ü")), Act::TryAgain),
        (2, 60, By::Probe, Act::DidNotHappen),
        (3, 60, By::Attempt, late(200, true)),
        (4, 40, By::Attempt, late(409, false)),
        (5, 70, By::Operator(String::new()), Act::Succeeded(201)),
    ] {
        let entry = Entry {
            by,
            act,
            ..entry(id, at(moment))
        };
        ok(store.log(&a, &entry))?;
        entries.push(entry);
        same(&ok(store.logged(&KeyDigest::of(&a)))?, &entries)?;
    }
    same(&ok(store.logged(&KeyDigest::of(&b)))?, &Vec::new())?;
    ok(store.log(&b, &entry(6, at(80))))?; // also without a record
    ok(store.forget(&KeyDigest::of(&a), AttemptNumber::new(3)))?;
    ok(store.sweep(at(i64::from(u32::MAX)), 10))?;
    same(&ok(store.logged(&KeyDigest::of(&a)))?, &entries)?;
    same(
        &ok(store.logged(&KeyDigest::of(&b)))?,
        &Vec::from([entry(6, at(80))]),
    )
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
