//! An operator settles what nobody knows (U6).

use super::*;

fn settlements() -> [Settlement; 3] {
    [
        Settlement::Succeeded(outcome(201)),
        Settlement::DidNotHappen,
        Settlement::TryAgain,
    ]
}

/// Each settlement, under token 9, gets this answer; whether it changes anything goes with it.
#[track_caller]
fn check_each(record: Option<&Record>, now: i64, expected: Settle) {
    for settlement in settlements() {
        let (settle, change) = settle(record.cloned(), token(9), settlement, &park(), t(now));
        assert_eq!(settle, expected);
        assert_eq!(
            change == Change::Keep,
            settle != Settle::Settled,
            "{change:?}"
        );
    }
}

/// Attempt 2 took over from attempt 1, and nobody knows of either.
fn unknown_after_a_take_over() -> Record {
    let cause = UnknownCause::Timeout;
    saved(
        suspend(
            Some(taken_over()),
            token(2),
            cause,
            None,
            &resume(),
            t(31_000),
        )
        .1,
    )
}

fn try_again(record: Record, policy: &Policy, now: i64) -> Record {
    let (settle, change) = settle(Some(record), token(9), Settlement::TryAgain, policy, t(now));
    assert_eq!(settle, Settle::Settled);
    saved(change)
}

#[test]
fn u6_nothing_is_settled_while_an_attempt_may_be_working() {
    for record in [running(), suspended()] {
        let lease_until = t(30_000);
        let record = Some(&record);
        check_each(record, 29_999, Settle::Running { lease_until });
        check_each(record, 30_000, Settle::Settled); // also before the alarm wrote it down
    }
    let lease_until = t(60_000);
    check_each(Some(&taken_over()), 59_999, Settle::Running { lease_until });
    check_each(Some(&asked()), 30_001, Settle::Settled); // who only asks does not work
}

#[test]
fn u6_what_an_attempt_or_the_origin_said_and_what_is_not_there_is_not_settled() {
    let finding = Finding::Final(outcome(201));
    let probed = saved(probed(Some(asked()), token(3), finding, &probe(), t(31_000)).1);
    let expired = 40_000 + i64::try_from(RETENTION.get()).unwrap();
    check_each(None, 40_000, Settle::NothingToSettle);
    check_each(Some(&completed()), 40_000, Settle::NothingToSettle);
    check_each(Some(&probed), 40_000, Settle::NothingToSettle);
    check_each(Some(&settled()), expired, Settle::NothingToSettle);
}

#[test]
fn u6_what_succeeded_is_replayed_and_what_was_let_run_before_is_fenced_off() {
    let record = settled();
    let expires_at = Some(t(40_000).plus(RETENTION));
    assert_eq!(
        record.state,
        State::Completed {
            at: t(40_000),
            by: SettledBy::Operator,
            expires_at,
            outcome: outcome(201)
        }
    );
    assert_eq!((record.attempt, record.number), (token(9), n(1)));
    assert_eq!(record.superseded, [token(1)]);
    let timeout = Ending::Unknown(UnknownCause::Timeout);
    assert_eq!(
        last_ending(&record),
        Some(timeout),
        "the attempt itself said nothing new"
    );
    let replay = Begin::Replay(Replay {
        outcome: outcome(201),
        expires_at,
        changed: false,
    });
    check_begin(Some(record.clone()), &ask(2, A), &park(), 50_000, &replay);

    let (late, now) = (|| Some(record.clone()), t(50_000));
    let retention = park().retention();
    let completed = complete(late(), token(1), outcome(200), None, retention, now);
    assert_eq!(completed, (Complete::Superseded, Change::Keep));
    let released = release(late(), token(1), None, &park(), now);
    assert_eq!(released, (Release::Superseded, Change::Keep));
    let suspended = suspend(late(), token(1), UnknownCause::Timeout, None, &park(), now);
    assert_eq!(suspended, (Suspend::Superseded, Change::Keep));
    for finding in [
        Finding::Final(outcome(500)),
        Finding::NotRun,
        Finding::Unknown,
    ] {
        let probed = probed(late(), token(3), finding, &probe(), now);
        assert_eq!(probed, (Probed::Superseded, Change::Keep));
    }
}

#[test]
fn u6_what_did_not_happen_is_forgotten_and_the_next_request_runs_with_a_higher_number() {
    for record in [running(), suspended(), asked(), suspended_with_point()] {
        let not_happened = Settlement::DidNotHappen;
        let (settle, change) = settle(Some(record), token(9), not_happened, &park(), t(40_000));
        assert_eq!((settle, change), (Settle::Settled, Change::Forget(n(1))));
    }
}

#[test]
fn u6_an_operator_corrects_what_an_operator_said() {
    let otherwise = Settlement::Succeeded(outcome(409));
    let (answer, change) = settle(Some(settled()), token(8), otherwise, &park(), t(50_000));
    assert_eq!(answer, Settle::Settled);
    let record = saved(change);
    let (at, by) = (t(50_000), SettledBy::Operator);
    let expires_at = Some(at.plus(RETENTION));
    let outcome = outcome(409);
    let expected = State::Completed {
        at,
        by,
        expires_at,
        outcome,
    };
    assert_eq!(record.state, expected);
    assert_eq!(record.superseded, [token(1), token(9)]);
    let not_happened = Settlement::DidNotHappen;
    let corrected = settle(Some(settled()), token(8), not_happened, &park(), t(50_000));
    assert_eq!(corrected, (Settle::Settled, Change::Forget(n(1))));
    let again = settle(
        Some(settled()),
        token(8),
        Settlement::TryAgain,
        &park(),
        t(50_000),
    );
    assert_eq!(again, (Settle::NothingToSettle, Change::Keep));
}

#[test]
fn u6_try_again_lets_the_next_retry_run_where_the_route_would_not() {
    let timeout = unknown_1(100, UnknownCause::Timeout);
    for policy in [park(), probe(), rerun()] {
        for record in [suspended(), asked()] {
            let record = try_again(record, &policy, 40_000);
            assert_eq!((next(&record), record.due()), (Next::Retry, None));
            assert!(!record.is_left_alone());
            let again = execute(2, 80_000, Some(timeout), false);
            check_begin(Some(record.clone()), &ask(2, A), &policy, 50_000, &again);
            check_begin(
                Some(record),
                &ask(1, A),
                &policy,
                50_000,
                &Begin::Unknown {
                    unknown: timeout,
                    retry_at: None,
                },
            ); // L7: its token is spent
        }
    }
}

#[test]
fn u6_that_the_last_attempt_did_not_run_takes_nothing_from_what_an_operator_allowed() {
    let allowed = try_again(unknown_after_a_take_over(), &park(), 70_000);
    let (release, change) = release(Some(allowed), token(2), Some(400), &park(), t(70_001));
    assert!(matches!(release, Release::StillUnknown(_)), "{release:?}");
    let (begin, _) = begin(Some(saved(change)), n(0), &ask(3, A), &park(), t(70_002));
    assert!(matches!(begin, Begin::Execute(_)), "{begin:?}");
}

#[test]
fn u6_try_again_on_resume_makes_the_resolver_come_now_as_if_it_never_had() {
    let mut spent = suspended();
    spent.tries = 8;
    spent.state = State::Indeterminate {
        unknown: unknown_1(100, UnknownCause::Timeout),
        lease_until: t(30_000),
        next: Next::Nobody,
    };
    let record = try_again(spent, &resume(), 40_000);
    assert_eq!(next(&record), Next::Resolver(t(40_000)));
    assert_eq!((record.due(), record.tries), (Some(t(40_000)), 0));
    let (pursue, _) = pursue(record, token(5), Resend::Possible, &resume(), t(40_000));
    assert!(matches!(pursue, Pursue::Send(_)), "{pursue:?}");
}

#[test]
fn l3_after_try_again_the_last_token_counts_until_somebody_takes_over() {
    let retention = park().retention();
    let record = try_again(suspended(), &park(), 40_000);
    let late = complete(
        Some(record.clone()),
        token(1),
        outcome(201),
        None,
        retention,
        t(41_000),
    );
    assert!(matches!(late.0, Complete::Recorded { .. }), "{late:?}");
    let (_, change) = begin(Some(record), n(0), &ask(2, A), &park(), t(41_000));
    let taken_over = Some(saved(change));
    let late = complete(
        taken_over,
        token(1),
        outcome(201),
        None,
        retention,
        t(42_000),
    );
    assert_eq!(late, (Complete::Superseded, Change::Keep));
}

#[test]
fn u6_the_answer_to_a_question_that_was_out_changes_no_settlement() {
    for settlement in settlements() {
        let (_, change) = settle(Some(asked()), token(9), settlement, &probe(), t(31_000));
        let after = match change {
            Change::Save(record) => Some(record),
            Change::Forget(_) => None,
            Change::Keep => panic!("not settled"),
        };
        for finding in [
            Finding::Final(outcome(200)),
            Finding::NotRun,
            Finding::Unknown,
        ] {
            let probed = probed(after.clone(), token(3), finding, &probe(), t(32_000));
            assert_eq!(probed, (Probed::Superseded, Change::Keep));
        }
    }
}
