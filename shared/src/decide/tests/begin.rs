//! Requests that ask to run, or look: what they meet in each state (L1, L3, L7, A, F5, P5, K5).

use super::*;

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
fn l3_a_superseded_caller_never_claims_again() {
    let running = Begin::Wait {
        lease_until: t(60_000),
    };
    let unknown = Begin::Unknown {
        unknown: Unknown::lease_ran_out(t(60_000), n(2)),
        retry_at: None,
    };
    for policy in [park(), resume(), probe(), rerun()] {
        check_begin(Some(taken_over()), &ask(1, A), &policy, 59_999, &running);
        check_begin(Some(taken_over()), &ask(1, A), &policy, 60_000, &unknown);
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
