//! What happens by itself to what nobody knows (U5).

use super::*;
use crate::policy::RESOLVE_PAUSE_MAX;

/// When the resolver first acts on [`suspended`]: five minutes, longer by what the attempt's token draws.
const DUE: i64 = 100 + 300_000 + 292;

fn timeout() -> Unknown {
    unknown_1(100, UnknownCause::Timeout)
}

/// A policy whose resolver tries this often.
fn tries(on_unknown: OnUnknown, resolve_tries: u16) -> Policy {
    let mut parts = PolicyParts::from(policy(Kind::Api, on_unknown));
    parts.resolve_tries = resolve_tries;
    Policy::new(parts).unwrap()
}

fn with_next(next: Next) -> Record {
    let mut record = suspended();
    record.state = State::Indeterminate {
        unknown: timeout(),
        lease_until: t(30_000),
        next,
    };
    record
}

#[track_caller]
fn check_pursue(
    record: Record,
    resend: Resend,
    policy: &Policy,
    now: i64,
    expected: &Pursue,
) -> Change {
    let (pursue, change) = pursue(record, token(5), resend, policy, t(now));
    assert_eq!(pursue, *expected);
    if pursue == Pursue::Nothing {
        assert_eq!(change, Change::Keep);
    }
    change
}

fn send(number: u64, until: i64) -> Pursue {
    Pursue::Send(Lease {
        number: n(number),
        until: t(until),
        took_over: Some(timeout()),
        point: None,
        repeated: false,
    })
}

fn question(until: i64, since_dispatch: u64) -> Pursue {
    Pursue::Ask(Question {
        unknown: timeout(),
        number: timeout().number,
        until: t(until),
        since_dispatch: Millis::new(since_dispatch),
        reference: None,
        point: None,
    })
}

#[test]
fn u5_the_resolver_comes_only_where_the_route_lets_it_send_or_ask() {
    for (policy, expected) in [
        (park(), Next::Nobody),
        (rerun(), Next::Nobody),
        (resume(), Next::Resolver(t(DUE))),
        (probe(), Next::Resolver(t(DUE))),
        (tries(OnUnknown::Resume, 0), Next::Nobody),
        (tries(OnUnknown::Probe, 0), Next::Nobody),
    ] {
        let cause = UnknownCause::Timeout;
        let (_, change) = suspend(Some(running()), token(1), cause, None, &policy, t(100));
        let record = saved(change);
        assert_eq!(next(&record), expected, "{policy:?}");
        assert_eq!(record.is_left_alone(), expected == Next::Nobody);
        // A lease that ran out is pursued alike, from when it was written down.
        let record = saved(expire(running(), &policy, t(30_000)));
        let moved = match expected {
            Next::Resolver(_) => Next::Resolver(t(30_000 + 300_000 + 292)),
            next @ (Next::Nobody | Next::Asking { .. } | Next::Retry) => next,
        };
        assert_eq!(next(&record), moved, "{policy:?}");
    }
}

#[test]
fn u5_pauses_double_up_to_a_bound_and_are_up_to_a_quarter_longer() {
    let mut policy = PolicyParts::from(resume());
    policy.resolve_tries = 32;
    let mut record = suspended();
    let mut pause = |tries, drawn| {
        record.tries = tries;
        record.attempt = token(drawn);
        match unknown::next_of(&record, &Policy::new(policy).unwrap(), t(0)) {
            Next::Resolver(at) => at.since(t(0)).get(),
            next @ (Next::Nobody | Next::Asking { .. } | Next::Retry) => panic!("{next:?}"),
        }
    };
    let bound = RESOLVE_PAUSE_MAX.get();
    for (tries, expected) in [
        (0, 300_000),
        (1, 600_000),
        (2, 1_200_000),
        (6, 19_200_000),
        (7, bound),
        (31, bound),
    ] {
        assert_eq!(pause(tries, 0), expected);
        let longest = pause(tries, 255);
        assert!(longest > expected + expected / 5, "{longest}");
        assert!(longest < expected + expected / 4, "{longest}");
    }
}

#[test]
fn u5_resume_sends_the_kept_request_under_a_new_token_when_it_is_due_and_not_before() {
    let nothing = Pursue::Nothing;
    check_pursue(suspended(), Resend::Possible, &resume(), DUE - 1, &nothing);
    let expected = send(2, DUE + 30_000);
    let change = check_pursue(suspended(), Resend::Possible, &resume(), DUE, &expected);
    let record = saved(change);
    assert_eq!((record.attempt, record.tries), (token(5), 1));
    assert_eq!(record.superseded, [token(1)]);
    assert_eq!(record.due(), Some(t(DUE + 30_000)));
}

#[test]
fn u5_without_a_request_nothing_is_sent_and_a_person_is_needed_but_a_retry_still_runs() {
    let person = Pursue::NeedsAPerson;
    let change = check_pursue(suspended(), Resend::Impossible, &resume(), DUE, &person);
    let record = saved(change);
    assert!(record.is_left_alone());
    assert_eq!((record.due(), record.tries), (None, 0));
    let again = execute(2, DUE + 30_000, Some(timeout()), false);
    check_begin(Some(record), &ask(6, A), &resume(), DUE, &again);
}

#[test]
fn u5_probe_asks_with_or_without_a_request_and_fences_nobody_off() {
    for resend in [Resend::Possible, Resend::Impossible] {
        let expected = question(DUE + 30_000, u64::try_from(DUE).unwrap());
        let record = saved(check_pursue(suspended(), resend, &probe(), DUE, &expected));
        assert_eq!(
            (record.asking(), record.attempt),
            (Some(token(5)), token(1))
        );
        assert_eq!((record.tries, record.due()), (1, Some(t(DUE + 30_000))));
    }
}

#[test]
fn u3_the_resolver_too_never_comes_before_the_lease_of_the_last_dispatch_ends() {
    let mut record = suspended();
    record.state = State::Indeterminate {
        unknown: timeout(),
        lease_until: t(500_000),
        next: Next::Resolver(t(DUE)),
    };
    for policy in [resume(), probe()] {
        let nothing = Pursue::Nothing;
        check_pursue(record.clone(), Resend::Possible, &policy, 499_999, &nothing);
    }
    let expected = send(2, 530_000);
    check_pursue(record, Resend::Possible, &resume(), 500_000, &expected);
}

#[test]
fn u5_a_question_that_was_given_up_is_asked_again() {
    check_pursue(
        asked(),
        Resend::Impossible,
        &probe(),
        59_999,
        &Pursue::Nothing,
    );
    let expected = question(90_000, 60_000);
    let change = check_pursue(asked(), Resend::Impossible, &probe(), 60_000, &expected);
    assert_eq!(saved(change).asking(), Some(token(5)));
}

#[test]
fn u5_only_what_is_unknown_and_due_is_pursued_and_never_under_a_spent_token() {
    let end_of_time = 1_000_000_000_000;
    for policy in [resume(), probe(), park()] {
        for record in [
            running(), // its alarm writes it down first
            completed(),
            settled(),
            with_next(Next::Nobody),
            with_next(Next::Retry),
        ] {
            check_pursue(
                record,
                Resend::Possible,
                &policy,
                end_of_time,
                &Pursue::Nothing,
            );
        }
        let mut spent = suspended();
        spent.attempt = token(5);
        check_pursue(
            spent,
            Resend::Possible,
            &policy,
            end_of_time,
            &Pursue::Nothing,
        );
        let mut spent = suspended();
        spent.superseded.push(token(5));
        check_pursue(
            spent,
            Resend::Possible,
            &policy,
            end_of_time,
            &Pursue::Nothing,
        );
    }
}

#[test]
fn u5_a_route_that_parks_or_reruns_now_is_not_pursued_any_more() {
    for policy in [park(), rerun()] {
        for record in [suspended(), asked()] {
            let person = Pursue::NeedsAPerson;
            let change = check_pursue(record, Resend::Possible, &policy, DUE, &person);
            assert_eq!(next(&saved(change)), Next::Nobody);
        }
    }
}

#[test]
fn u5_after_its_tries_the_resolver_gives_up_and_pauses_grow_until_then() {
    let policy = tries(OnUnknown::Resume, 2);
    let (mut record, mut now) = (suspended(), t(DUE));
    // Twice the first pause, longer by what token 20 draws.
    for (name, pause) in [(20, Some(600_000 + 11_718)), (21, None)] {
        let (pursue, change) = pursue(record, token(name), Resend::Possible, &policy, now);
        assert!(matches!(pursue, Pursue::Send(_)), "{pursue:?}");
        let cause = UnknownCause::BrokenLine;
        let sent = Some(saved(change));
        record = saved(suspend(sent, token(name), cause, None, &policy, now).1);
        let expected = pause.map_or(Next::Nobody, |pause| {
            Next::Resolver(now.plus(Millis::new(pause)))
        });
        assert_eq!(next(&record), expected);
        now = record.due().unwrap_or(now);
    }
    assert!(record.is_left_alone());
}

#[test]
fn u5_a_last_question_without_an_answer_needs_a_person_once_it_is_given_up() {
    let policy = tries(OnUnknown::Probe, 1);
    let expected = question(DUE + 30_000, u64::try_from(DUE).unwrap());
    let record = saved(check_pursue(
        suspended(),
        Resend::Impossible,
        &policy,
        DUE,
        &expected,
    ));
    let person = Pursue::NeedsAPerson;
    let change = check_pursue(
        record.clone(),
        Resend::Impossible,
        &policy,
        DUE + 30_000,
        &person,
    );
    assert!(saved(change).is_left_alone());
    // And at once, if the answer is that the origin does not know.
    let now = t(DUE + 1);
    let (_, change) = probed(Some(record), token(5), Finding::Unknown, &policy, now);
    assert!(saved(change).is_left_alone());
}

#[test]
fn u3_a_retry_is_told_when_it_may_meet_something_else() {
    let lease_until = Some(t(30_000));
    for (policy, then) in [
        (park(), None),
        (probe(), Some(t(40_000))),
        (resume(), Some(t(30_000))),
        (rerun(), Some(t(30_000))),
    ] {
        let record = suspended();
        assert_eq!(retry_at(&record, &policy, t(29_999)), lease_until);
        assert_eq!(retry_at(&record, &policy, t(30_000)), then);
    }
    let allowed = settle(
        Some(suspended()),
        token(9),
        Settlement::TryAgain,
        &park(),
        t(30_000),
    );
    let allowed = saved(allowed.1);
    assert_eq!(retry_at(&allowed, &park(), t(30_000)), Some(t(31_000)));
    assert_eq!(retry_at(&completed(), &park(), t(30_000)), None);
}
