//! The origin is asked what became of an operation (U3, probe).

use super::*;

fn timeout() -> Unknown {
    unknown_1(100, UnknownCause::Timeout)
}

fn question(unknown: Unknown, until: i64, since_dispatch: u64) -> Question {
    Question {
        unknown,
        number: unknown.number,
        until: t(until),
        since_dispatch: Millis::new(since_dispatch),
        reference: None,
        point: None,
    }
}

/// A retry under `name` asks; what is saved says so, and fences nobody off.
#[track_caller]
fn check_ask(record: Record, name: u8, now: i64, expected: Question) -> Record {
    let attempt = record.attempt;
    let until = expected.until;
    let (begin, change) = begin(Some(record), n(0), &ask(name, A), &probe(), t(now));
    assert_eq!(begin, Begin::Ask(expected));
    let record = saved(change);
    assert_eq!(record.asking(), Some(token(name)));
    assert_eq!((record.due(), record.tries), (Some(until), 0));
    assert_eq!((record.attempt, record.superseded.len()), (attempt, 0));
    record
}

#[track_caller]
fn check_probed(record: Option<Record>, name: u8, finding: Finding, now: i64, expected: Probed) {
    let (probed, change) = probed(record, token(name), finding, &probe(), t(now));
    assert_eq!((probed, change), (expected, Change::Keep));
}

fn findings() -> [Finding; 3] {
    [
        Finding::Final(outcome(200)),
        Finding::NotRun,
        Finding::Unknown,
    ]
}

fn settled_by_probe() -> Record {
    let finding = Finding::Final(outcome(201));
    saved(probed(Some(asked()), token(3), finding, &probe(), t(31_000)).1)
}

#[test]
fn u3_a_retry_asks_once_the_lease_is_over_and_not_before() {
    let early = Begin::Unknown {
        unknown: timeout(),
        retry_at: Some(t(30_000)),
    };
    check_begin(Some(suspended()), &ask(3, A), &probe(), 29_999, &early);
    let wait = Begin::Wait {
        lease_until: t(30_000),
    };
    check_begin(Some(running()), &ask(3, A), &probe(), 29_999, &wait);

    let record = check_ask(suspended(), 3, 30_000, question(timeout(), 60_000, 30_000));
    assert_eq!(record.unknown(t(30_000)), Some(timeout()));
    let ran_out = unknown_1(30_000, UnknownCause::LeaseRanOut);
    let record = check_ask(running(), 3, 30_000, question(ran_out, 60_000, 30_000));
    assert_eq!(record.unknown(t(30_000)), Some(ran_out));
}

#[test]
fn u3_one_asks_at_a_time_and_the_next_asks_once_the_question_is_given_up() {
    let wait = Begin::Wait {
        lease_until: t(60_000),
    };
    for now in [30_000, 59_999] {
        check_begin(Some(asked()), &ask(4, A), &probe(), now, &wait);
    }
    check_ask(asked(), 4, 60_000, question(timeout(), 90_000, 60_000));
    check_begin(
        Some(asked()),
        &ask(4, B),
        &probe(),
        60_000,
        &Begin::Mismatch,
    );
}

#[test]
fn l7_the_asker_whose_begin_comes_again_asks_and_does_not_wait_for_itself() {
    let again = Begin::Ask(question(timeout(), 60_000, 45_000));
    check_begin(Some(asked()), &ask(3, A), &probe(), 45_000, &again);
}

#[test]
fn l7_a_token_that_was_let_run_is_spent_and_asks_nothing() {
    let unknown = Begin::Unknown {
        unknown: timeout(),
        retry_at: None,
    };
    check_begin(Some(suspended()), &ask(1, A), &probe(), 30_000, &unknown);
    check_begin(Some(asked()), &ask(1, A), &probe(), 60_000, &unknown);
}

#[test]
fn u3_the_question_carries_what_the_origin_said_of_its_work() {
    let mut record = suspended_with_point();
    record.reference = Some(String::from("ch_1"));
    let mut expected = question(timeout(), 60_000, 30_000);
    expected.reference = Some(String::from("ch_1"));
    expected.point = Some(point("charged"));
    check_ask(record, 3, 30_000, expected);
}

#[test]
fn u3_an_origin_that_says_final_settles_it_and_fences_off_what_was_let_run() {
    let finding = Finding::Final(outcome(201));
    let (probed, change) = probed(Some(asked()), token(3), finding, &probe(), t(31_000));
    let expires_at = Some(t(31_000).plus(RETENTION));
    assert_eq!(probed, Probed::Recorded { expires_at });
    let record = saved(change);
    assert_eq!(
        record.state,
        State::Completed {
            at: t(31_000),
            by: SettledBy::Probe,
            expires_at,
            outcome: outcome(201)
        }
    );
    assert_eq!((record.attempt, record.number), (token(3), n(1)));
    assert_eq!(record.superseded, [token(1)]);
    assert_eq!(last_ending(&record), Some(Ending::Final(201)));
    let retention = probe().retention();
    let (late, change) = complete(
        Some(record),
        token(1),
        outcome(200),
        None,
        retention,
        t(32_000),
    );
    assert_eq!((late, change), (Complete::Superseded, Change::Keep)); // L3
}

#[test]
fn u3_an_answer_that_comes_after_its_time_counts_if_nobody_else_asks() {
    let finding = Finding::Final(outcome(201));
    let (probed, change) = probed(Some(asked()), token(3), finding, &probe(), t(99_000));
    assert!(matches!(probed, Probed::Recorded { .. }), "{probed:?}");
    assert!(matches!(change, Change::Save(_)), "{change:?}");
}

#[test]
fn u3_what_did_not_run_is_forgotten_and_its_number_is_not_given_out_again() {
    let (probed, change) = probed(
        Some(asked()),
        token(3),
        Finding::NotRun,
        &probe(),
        t(31_000),
    );
    assert_eq!((probed, change), (Probed::NotRun, Change::Forget(n(1))));
    // L4: the origin refuses number 1 from here on, so the next one is higher.
    let (next, _) = begin(None, n(1), &ask(4, A), &probe(), t(31_000));
    assert_eq!(next, execute(2, 61_000, None, false));
}

#[test]
fn u4_what_did_not_run_to_its_end_goes_on_from_its_recovery_point() {
    let (_, change) = begin(
        Some(suspended_with_point()),
        n(0),
        &ask(3, A),
        &probe(),
        t(30_000),
    );
    let asked = Some(saved(change));
    let (probed, change) = probed(asked, token(3), Finding::NotRun, &probe(), t(31_000));
    assert_eq!(probed, Probed::NotRun);
    let record = saved(change);
    assert_eq!((next(&record), record.due()), (Next::Retry, None));
    assert_eq!(last_ending(&record), Some(Ending::NotRun(None)));

    // The retry runs, although the route would have it ask.
    let (again, change) = begin(Some(record), n(0), &ask(4, A), &probe(), t(32_000));
    let lease = Lease {
        number: n(2),
        until: t(62_000),
        took_over: Some(timeout()),
        point: Some(point("charged")),
        repeated: false,
    };
    assert_eq!(again, Begin::Execute(lease));
    assert_eq!(saved(change).point, Some(point("charged")));
}

#[test]
fn u3_an_origin_that_does_not_know_leaves_it_unknown_and_moves_the_resolvers_moment() {
    let (probed, change) = probed(
        Some(asked()),
        token(3),
        Finding::Unknown,
        &probe(),
        t(31_000),
    );
    assert_eq!(probed, Probed::Unknown(timeout()));
    let record = saved(change);
    assert_eq!(record.unknown(t(31_000)), Some(timeout()));
    // Five minutes, longer by what the attempt's token draws.
    assert_eq!(next(&record), Next::Resolver(t(31_000 + 300_000 + 292)));
    assert_eq!(
        record.tries, 0,
        "a caller's question is none of the resolver's tries"
    );
    check_ask(record, 4, 31_001, question(timeout(), 61_001, 31_001));
}

#[test]
fn l3_a_slow_attempt_that_reports_while_the_question_is_out_counts_for_more() {
    let retention = probe().retention();
    let (slow, change) = complete(
        Some(asked()),
        token(1),
        outcome(201),
        None,
        retention,
        t(31_000),
    );
    assert!(matches!(slow, Complete::Recorded { .. }), "{slow:?}");
    let completed = saved(change);
    let (slow, change) = release(Some(asked()), token(1), None, &probe(), t(31_000));
    assert_eq!((slow, change), (Release::Released, Change::Forget(n(1))));
    for finding in findings() {
        let completed = Some(completed.clone());
        check_probed(completed, 3, finding.clone(), 32_000, Probed::Superseded);
        check_probed(None, 3, finding, 32_000, Probed::Superseded);
    }
}

#[test]
fn l3_an_attempt_whose_word_is_only_that_it_does_not_know_leaves_the_question_out() {
    let mut record = running();
    record = saved(begin(Some(record), n(0), &ask(3, A), &probe(), t(30_000)).1);
    let cause = UnknownCause::BrokenLine;
    let (slow, change) = suspend(Some(record), token(1), cause, None, &probe(), t(31_000));
    assert_eq!(slow, Suspend::Suspended(unknown_1(30_000, cause)));
    assert_eq!(saved(change).asking(), Some(token(3)));
}

#[test]
fn l7_an_answer_that_comes_again_changes_nothing() {
    let expires_at = Some(t(31_000).plus(RETENTION));
    let recorded = Probed::Recorded { expires_at };
    let finding = Finding::Final(outcome(500));
    check_probed(Some(settled_by_probe()), 3, finding, 40_000, recorded);
    let (_, change) = probed(
        Some(asked()),
        token(3),
        Finding::Unknown,
        &probe(),
        t(31_000),
    );
    let unknown = Some(saved(change));
    check_probed(unknown, 3, Finding::Unknown, 31_001, Probed::Superseded);
    check_probed(None, 3, Finding::NotRun, 31_001, Probed::Superseded);
}

#[test]
fn l3_who_is_not_asking_any_more_says_nothing() {
    let again = check_ask(asked(), 4, 60_000, question(timeout(), 90_000, 60_000));
    let expired = 31_000 + i64::try_from(RETENTION.get()).unwrap();
    for finding in findings() {
        for (record, name) in [
            (again.clone(), 3),
            (asked(), 1),
            (asked(), 9),
            (suspended(), 3),
            (suspended(), 1),
            (running(), 1),
            (taken_over(), 3),
            (completed(), 3),
            (settled(), 3),
        ] {
            check_probed(
                Some(record),
                name,
                finding.clone(),
                61_000,
                Probed::Superseded,
            );
        }
        let gone = Some(settled_by_probe());
        check_probed(gone, 3, finding, expired, Probed::Superseded);
    }
}
