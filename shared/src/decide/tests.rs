//! Every transition as a row: state, message, answer, and what the record is afterwards.

use alloc::vec;

use super::*;
use crate::policy::{PolicyParts, Retention};
use crate::record::{Body, SettledBy, UnknownCause};

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

#[test]
fn l1_the_first_request_claims_and_its_twin_waits() {
    check_begin(
        None,
        &ask(1, A),
        &park(),
        0,
        &execute(1, 30_000, None, false),
    );
    let wait = Begin::Wait {
        lease_until: t(30_000),
    };
    check_begin(Some(running()), &ask(2, A), &park(), 1, &wait);
    check_begin(Some(running()), &ask(2, A), &park(), 29_999, &wait);
    let claimed = running();
    assert_eq!(claimed.created_at, t(0));
    assert_eq!(
        claimed.history,
        [PastAttempt {
            number: n(1),
            started_at: t(0),
            end: None
        }]
    );
}

#[test]
fn l7_a_begin_repeated_by_the_holder_runs_and_does_not_wait_for_itself() {
    check_begin(
        Some(running()),
        &ask(1, A),
        &park(),
        1,
        &execute(1, 30_000, None, true),
    );
    // Its lease over, or its outcome unknown, the token is spent.
    let ran_out = unknown_1(30_000, UnknownCause::LeaseRanOut);
    for policy in [park(), resume()] {
        let unknown = Begin::Unknown {
            unknown: ran_out,
            retry_at: None,
        };
        check_begin(Some(running()), &ask(1, A), &policy, 30_000, &unknown);
    }
    let again = execute(2, 60_000, Some(unknown_1(100, UnknownCause::Timeout)), true);
    check_begin(Some(taken_over()), &ask(2, A), &resume(), 30_001, &again);
}

#[test]
fn a_another_request_under_the_key_is_refused_before_anything_else_about_the_record() {
    for record in [running(), suspended(), completed(), taken_over()] {
        for now in [200, 29_999, 30_000, 90_000] {
            check_begin(
                Some(record.clone()),
                &ask(9, B),
                &resume(),
                now,
                &Begin::Mismatch,
            );
        }
    }
    check_begin(Some(running()), &ask(1, B), &resume(), 1, &Begin::Mismatch); // the holder's token too
}

#[test]
fn f5_a_webhook_with_another_body_is_a_duplicate_shown_as_changed() {
    check_begin(Some(completed()), &ask(2, B), &rerun(), 200, &replay(true));
    check_begin(Some(completed()), &ask(2, A), &rerun(), 200, &replay(false));
    let wait = Begin::Wait {
        lease_until: t(30_000),
    };
    check_begin(Some(running()), &ask(2, B), &rerun(), 200, &wait);
}

#[test]
fn p5_an_outcome_is_replayed_until_just_before_its_end_and_gone_at_it() {
    let end = 100 + i64::try_from(RETENTION.get()).unwrap();
    check_begin(
        Some(completed()),
        &ask(2, A),
        &resume(),
        end - 1,
        &replay(false),
    );
    check_begin(
        Some(completed()),
        &ask(2, A),
        &resume(),
        end,
        &execute(2, end + 30_000, None, false),
    );
    check_begin(
        Some(completed()),
        &ask(2, B),
        &resume(),
        end,
        &execute(2, end + 30_000, None, false),
    );
    let look_at = |now| look(Some(completed()), Some(&A), Kind::Api, t(now));
    assert!(matches!(look_at(end - 1), Look::Done(_)));
    assert_eq!(look_at(end), Look::Absent);
}

#[test]
fn p6_without_a_ttl_an_outcome_is_kept_forever() {
    let (complete, change) = complete(
        Some(running()),
        token(1),
        outcome(200),
        None,
        Retention::FOREVER,
        t(100),
    );
    assert_eq!(complete, Complete::Recorded { expires_at: None });
    let record = saved(change);
    assert!(record.is_live(Timestamp::from_millis(i64::MAX)));
}

#[test]
fn u3_an_unknown_outcome_is_met_as_the_route_says_and_never_before_the_lease_ends() {
    let timeout = unknown_1(100, UnknownCause::Timeout);
    let ran_out = unknown_1(30_000, UnknownCause::LeaseRanOut);
    for policy in [park(), resume(), rerun()] {
        let early = Begin::Unknown {
            unknown: timeout,
            retry_at: Some(t(30_000)),
        };
        check_begin(Some(suspended()), &ask(2, A), &policy, 29_999, &early);
    }
    for (record, unknown) in [(suspended(), timeout), (running(), ran_out)] {
        let parked = Begin::Unknown {
            unknown,
            retry_at: None,
        };
        check_begin(Some(record.clone()), &ask(2, A), &park(), 30_000, &parked);
        for policy in [resume(), rerun()] {
            let again = execute(2, 60_000, Some(unknown), false);
            check_begin(Some(record.clone()), &ask(2, A), &policy, 30_000, &again);
        }
    }
}

#[test]
fn l3_a_take_over_has_a_new_token_a_higher_number_and_the_whole_history() {
    let record = taken_over();
    assert_eq!((record.attempt, record.number), (token(2), n(2)));
    assert_eq!(record.created_at, t(0));
    assert_eq!(
        record.unknown_before,
        Some(unknown_1(100, UnknownCause::Timeout))
    );
    let first_end = AttemptEnd {
        at: t(100),
        ending: Ending::Unknown(UnknownCause::Timeout),
    };
    assert_eq!(
        record.history,
        [
            PastAttempt {
                number: n(1),
                started_at: t(0),
                end: Some(first_end)
            },
            PastAttempt {
                number: n(2),
                started_at: t(30_000),
                end: None
            },
        ]
    );
}

#[test]
fn x5_the_history_is_bounded_and_keeps_the_newest_and_the_earliest_unknown() {
    let mut record = suspended();
    let earliest = record.unknown(t(100));
    for round in 1..=40_u8 {
        let now = t(i64::from(round) * 30_000);
        let (_, change) = begin(Some(record), n(0), &ask(round + 1, A), &resume(), now);
        record = saved(change);
    }
    assert_eq!(record.history.len(), HISTORY_MAX);
    assert_eq!(record.history.last().map(|last| last.number), Some(n(41)));
    assert_eq!(record.unknown_before, earliest);
}

#[test]
fn k5_a_key_older_than_the_memory_of_it_is_refused_and_one_from_the_future_too() {
    let minted = |before_now: i64| Ask {
        minted_at: Some(t(-before_now)),
        ..ask(1, A)
    };
    let hours = |hours: i64| hours * 3_600_000;
    let limit = hours(72) - 300_000;
    check_begin(
        None,
        &minted(limit),
        &park(),
        0,
        &execute(1, 30_000, None, false),
    );
    check_begin(None, &minted(limit + 1), &park(), 0, &Begin::Expired);
    check_begin(
        None,
        &minted(-300_000),
        &park(),
        0,
        &execute(1, 30_000, None, false),
    );
    check_begin(None, &minted(-300_001), &park(), 0, &Begin::FromTheFuture);
    // As long as there is a record it answers, however old the key is.
    check_begin(
        Some(completed()),
        &minted(hours(1_000)),
        &park(),
        200,
        &replay(false),
    );
    // A retention shorter than the margin takes keys for half of it.
    let mut parts = PolicyParts::defaults(Kind::Api, OnUnknown::Park);
    parts.retention = Retention::of(Millis::from_secs(60)).unwrap();
    let short = Policy::new(parts).unwrap();
    check_begin(
        None,
        &minted(30_000),
        &short,
        0,
        &execute(1, 30_000, None, false),
    );
    check_begin(None, &minted(30_001), &short, 0, &Begin::Expired);
    parts.retention = Retention::FOREVER;
    let forever = Policy::new(parts).unwrap();
    check_begin(
        None,
        &minted(hours(99_999)),
        &forever,
        0,
        &execute(1, 30_000, None, false),
    );
    check_begin(None, &minted(-300_001), &forever, 0, &Begin::FromTheFuture);
}

#[test]
fn l4_the_number_only_rises_across_release_and_expiry() {
    let (begun, change) = begin(None, n(7), &ask(1, A), &park(), t(0));
    assert_eq!(begun, execute(8, 30_000, None, false));
    let (_, change) = release(Some(saved(change)), token(1), None, &park(), t(1));
    assert_eq!(change, Change::Forget(n(8)));
    let mut expired = completed();
    expired.number = n(5);
    let (begun, _) = begin(
        Some(expired),
        n(3),
        &ask(2, A),
        &park(),
        t(0).plus(Millis::from_hours(99)),
    );
    assert!(
        matches!(begun, Begin::Execute(Lease { number, .. }) if number == n(6)),
        "{begun:?}"
    );
}

#[track_caller]
fn check_complete(record: Option<Record>, name: u8, now: i64, expected: Complete, writes: bool) {
    let (complete, change) = complete(
        record,
        token(name),
        outcome(200),
        None,
        resume().retention(),
        t(now),
    );
    assert_eq!(complete, expected);
    assert_eq!(matches!(change, Change::Save(_)), writes);
    assert!(!matches!(change, Change::Forget(_)));
}

#[test]
fn l3_only_the_last_token_completes_and_it_may_be_late() {
    let until = |now: i64| Some(t(now).plus(RETENTION));
    let recorded = |now| Complete::Recorded {
        expires_at: until(now),
    };
    check_complete(Some(running()), 1, 10, recorded(10), true);
    check_complete(Some(running()), 1, 30_000, recorded(30_000), true);
    check_complete(Some(suspended()), 1, 40_000, recorded(40_000), true);
    check_complete(Some(taken_over()), 2, 40_000, recorded(40_000), true);
    check_complete(Some(taken_over()), 1, 40_000, Complete::Superseded, false);
    check_complete(Some(running()), 9, 10, Complete::Superseded, false);
    check_complete(None, 1, 10, Complete::Superseded, false);
    let already = Complete::AlreadyRecorded {
        expires_at: until(100),
    };
    check_complete(Some(completed()), 1, 500, already, false); // L7
    check_complete(Some(completed()), 9, 500, Complete::Superseded, false);
}

#[test]
fn p7_a_repeated_completion_keeps_the_first_outcome_and_moves_no_time() {
    let record = completed();
    let (_, change) = complete(
        Some(record.clone()),
        token(1),
        outcome(500),
        None,
        resume().retention(),
        t(999),
    );
    assert_eq!(change, Change::Keep);
    let State::Completed {
        at,
        by,
        expires_at,
        outcome: kept,
    } = record.state
    else {
        panic!("not completed: {record:?}");
    };
    assert_eq!(
        (at, by, expires_at, kept),
        (
            t(100),
            SettledBy::Attempt,
            Some(t(100).plus(RETENTION)),
            outcome(201)
        )
    );
}

#[track_caller]
fn check_release(record: Option<Record>, name: u8, expected: Release, change: &Change) {
    let (release, changed) = release(record, token(name), Some(429), &park(), t(31_000));
    assert_eq!(release, expected);
    assert_eq!(changed, *change);
}

#[test]
fn u4_a_release_speaks_of_one_attempt() {
    let timeout = unknown_1(100, UnknownCause::Timeout);
    let forget = Change::Forget(n(1));
    check_release(Some(running()), 1, Release::Released, &forget);
    check_release(Some(suspended()), 1, Release::Released, &forget);
    check_release(None, 1, Release::AlreadyReleased, &Change::Keep);
    check_release(Some(running()), 9, Release::Superseded, &Change::Keep);
    check_release(
        Some(completed()),
        1,
        Release::AlreadyRecorded,
        &Change::Keep,
    );
    check_release(Some(taken_over()), 1, Release::Superseded, &Change::Keep);

    // The earlier unknown attempt may have had its effect: nothing is forgotten.
    let mut still = taken_over();
    still.state = State::Indeterminate {
        unknown: timeout,
        lease_until: t(60_000),
        next: Next::Nobody,
    };
    still.unknown_before = None;
    still.history[1].end = Some(AttemptEnd {
        at: t(31_000),
        ending: Ending::NotRun(Some(429)),
    });
    let released = Release::StillUnknown(timeout);
    check_release(
        Some(taken_over()),
        2,
        released,
        &Change::Save(still.clone()),
    );
    check_release(
        Some(still.clone()),
        2,
        Release::AlreadyReleased,
        &Change::Keep,
    ); // L7

    // The next attempt takes over from the same unknown, not from nothing.
    let again = execute(3, 90_000, Some(timeout), false);
    check_begin(Some(still.clone()), &ask(3, A), &resume(), 60_000, &again);
    let parked = Begin::Unknown {
        unknown: timeout,
        retry_at: None,
    };
    check_begin(Some(still), &ask(3, A), &park(), 60_000, &parked);
}

#[test]
fn u4_an_attempt_that_was_unknown_and_says_later_that_it_did_not_run_leaves_the_earlier_one() {
    let second = suspend(
        Some(taken_over()),
        token(2),
        UnknownCause::BrokenLine,
        None,
        &park(),
        t(30_500),
    )
    .1;
    let (release, change) = release(Some(saved(second)), token(2), None, &park(), t(31_000));
    assert_eq!(
        release,
        Release::StillUnknown(unknown_1(100, UnknownCause::Timeout))
    );
    assert!(matches!(change, Change::Save(_)));
}

#[track_caller]
fn check_suspend(record: Option<Record>, name: u8, expected: Suspend, writes: bool) {
    let (suspend, change) = suspend(
        record,
        token(name),
        UnknownCause::BrokenLine,
        None,
        &park(),
        t(200),
    );
    assert_eq!(suspend, expected);
    assert_eq!(matches!(change, Change::Save(_)), writes);
}

#[test]
fn u2_an_unknown_outcome_is_stored_with_when_why_and_after_which_attempt() {
    let broken = unknown_1(200, UnknownCause::BrokenLine);
    check_suspend(Some(running()), 1, Suspend::Suspended(broken), true);
    let first = unknown_1(100, UnknownCause::Timeout);
    check_suspend(
        Some(suspended()),
        1,
        Suspend::AlreadySuspended(first),
        false,
    ); // L7
    check_suspend(Some(completed()), 1, Suspend::AlreadyRecorded, false);
    check_suspend(Some(taken_over()), 1, Suspend::Superseded, false);
    check_suspend(None, 1, Suspend::Superseded, false);
    let record = saved(
        suspend(
            Some(running()),
            token(1),
            UnknownCause::BrokenLine,
            None,
            &park(),
            t(200),
        )
        .1,
    );
    assert!(
        record.is_live(Timestamp::from_millis(i64::MAX)),
        "U2: retention does not forget it"
    );
}

#[test]
fn u2_a_lease_that_ran_out_is_stored_as_unknown_once() {
    assert_eq!(expire(running(), &park(), t(29_999)), Change::Keep);
    let record = saved(expire(running(), &park(), t(30_000)));
    let ran_out = unknown_1(30_000, UnknownCause::LeaseRanOut);
    assert_eq!(record.unknown(t(40_000)), Some(ran_out));
    assert_eq!(expire(record, &park(), t(50_000)), Change::Keep);
    assert_eq!(expire(completed(), &park(), t(50_000)), Change::Keep);
}

#[test]
fn l3_a_look_answers_from_the_record_and_never_claims() {
    let timeout = unknown_1(100, UnknownCause::Timeout);
    let rows = [
        (None, 0, Look::Absent),
        (
            Some(running()),
            29_999,
            Look::Running {
                lease_until: t(30_000),
            },
        ),
        (
            Some(running()),
            30_000,
            Look::Unknown(unknown_1(30_000, UnknownCause::LeaseRanOut)),
        ),
        (Some(suspended()), 200, Look::Unknown(timeout)),
    ];
    for (record, now, expected) in rows {
        assert_eq!(look(record, Some(&A), Kind::Api, t(now)), expected);
    }
    assert_eq!(
        look(Some(completed()), Some(&B), Kind::Api, t(200)),
        Look::Mismatch
    );
    for (fingerprint, changed) in [(Some(&B), true), (Some(&A), false), (None, false)] {
        let Look::Done(replay) = look(Some(completed()), fingerprint, Kind::Webhook, t(200)) else {
            panic!("not done");
        };
        assert_eq!((replay.changed, replay.outcome), (changed, outcome(201)));
    }
}
