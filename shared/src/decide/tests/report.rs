//! What an attempt reports of its end: completed, not run, or unknown (L3, U1, U2, U4).

use super::*;

#[track_caller]
fn check_complete(record: Option<Record>, name: u8, now: i64, expected: Complete, writes: bool) {
    let (complete, change) = complete(
        record,
        token(name),
        outcome(201),
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
fn a1_of_two_outcomes_that_one_attempt_reports_the_first_counts() {
    let retention = resume().retention();
    let other = complete(
        Some(completed()),
        token(1),
        outcome(200),
        None,
        retention,
        t(500),
    );
    assert_eq!(other, (Complete::Superseded, Change::Keep));
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
