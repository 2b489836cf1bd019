//! What an attempt reports while it runs: that it needs longer, how far it came, what it makes (L5, U4).

use super::*;
use crate::record::REFERENCE_BYTES_MAX;

#[track_caller]
fn check_extend(
    record: Option<Record>,
    name: u8,
    span: u64,
    now: i64,
    expected: Extend,
    to: Option<i64>,
) {
    let (extend, change) = extend(record, token(name), Millis::new(span), &park(), t(now));
    assert_eq!(extend, expected);
    let lease_until = match change {
        Change::Save(record) => record.due(),
        Change::Keep => None,
        Change::Forget(_) => panic!("forgotten"),
    };
    assert_eq!(lease_until, to.map(t));
}

fn extended(span: u64, now: i64) -> Record {
    saved(
        extend(
            Some(running()),
            token(1),
            Millis::new(span),
            &park(),
            t(now),
        )
        .1,
    )
}

#[test]
fn l5_a_live_lease_is_extended_from_now_never_shortened_and_never_beyond_the_longest() {
    let until = |end| Extend::Until(t(end));
    check_extend(
        Some(running()),
        1,
        60_000,
        10_000,
        until(70_000),
        Some(70_000),
    );
    check_extend(Some(running()), 1, 5_000, 10_000, until(30_000), None);
    check_extend(Some(running()), 1, 0, 10_000, until(30_000), None);
    check_extend(
        Some(running()),
        1,
        900_000,
        29_999,
        until(600_000),
        Some(600_000),
    );
    check_extend(
        Some(running()),
        1,
        u64::MAX,
        0,
        until(600_000),
        Some(600_000),
    );
    check_extend(
        Some(extended(900_000, 0)),
        1,
        10,
        599_999,
        until(600_000),
        None,
    );
    check_extend(Some(extended(60_000, 0)), 1, 60_000, 0, until(60_000), None); // L7
    // The longest is counted from the start of this attempt, not of the operation.
    check_extend(
        Some(taken_over()),
        2,
        900_000,
        40_000,
        until(630_000),
        Some(630_000),
    );
}

#[test]
fn l5_what_is_over_is_not_extended_and_who_was_fenced_off_extends_nothing() {
    check_extend(Some(running()), 1, 60_000, 30_000, Extend::Ended, None);
    check_extend(Some(suspended()), 1, 60_000, 200, Extend::Ended, None);
    check_extend(Some(asked()), 1, 60_000, 31_000, Extend::Ended, None);
    check_extend(Some(completed()), 1, 60_000, 200, Extend::Ended, None);
    check_extend(
        Some(taken_over()),
        1,
        60_000,
        31_000,
        Extend::Superseded,
        None,
    );
    check_extend(Some(asked()), 3, 60_000, 31_000, Extend::Superseded, None);
    check_extend(Some(running()), 9, 60_000, 200, Extend::Superseded, None);
    check_extend(None, 1, 60_000, 200, Extend::Superseded, None);
}

#[test]
fn l5_until_its_extended_end_a_lease_holds_everybody_off() {
    let record = || Some(extended(60_000, 10_000));
    let wait = Begin::Wait {
        lease_until: t(70_000),
    };
    check_begin(record(), &ask(2, A), &resume(), 69_999, &wait);
    let again = execute(1, 70_000, None, true);
    check_begin(record(), &ask(1, A), &resume(), 69_999, &again);
    let ran_out = unknown_1(70_000, UnknownCause::LeaseRanOut);
    let over = execute(2, 100_000, Some(ran_out), false);
    check_begin(record(), &ask(2, A), &resume(), 70_000, &over);
}

#[track_caller]
fn check_checkpoint(record: Option<Record>, name: u8, expected: Checkpoint, writes: bool) {
    let (checkpoint, change) = checkpoint(record, token(name), point("charged"), t(40_000));
    assert_eq!(checkpoint, expected);
    match change {
        Change::Save(record) => assert_eq!((record.point, writes), (Some(point("charged")), true)),
        Change::Keep => assert!(!writes, "not kept"),
        Change::Forget(_) => panic!("forgotten"),
    }
}

#[test]
fn l5_a_recovery_point_is_kept_for_the_last_token_also_after_its_lease() {
    let mut shipped = suspended_with_point();
    shipped.point = Some(point("shipped"));
    check_checkpoint(Some(extended(60_000, 0)), 1, Checkpoint::Saved, true);
    check_checkpoint(Some(running()), 1, Checkpoint::Saved, true); // its lease is over
    check_checkpoint(Some(suspended()), 1, Checkpoint::Saved, true);
    check_checkpoint(Some(asked()), 1, Checkpoint::Saved, true);
    check_checkpoint(Some(shipped), 1, Checkpoint::Saved, true);
    check_checkpoint(Some(suspended_with_point()), 1, Checkpoint::Saved, false); // L7
    check_checkpoint(Some(completed()), 1, Checkpoint::Ended, false);
    check_checkpoint(Some(taken_over()), 1, Checkpoint::Superseded, false);
    check_checkpoint(Some(asked()), 3, Checkpoint::Superseded, false);
    check_checkpoint(Some(settled()), 1, Checkpoint::Superseded, false);
    check_checkpoint(None, 1, Checkpoint::Superseded, false);
}

#[test]
fn l4_a_take_over_goes_on_from_the_recovery_point_and_hears_of_it_again() {
    let (first, change) = begin(
        Some(suspended_with_point()),
        n(0),
        &ask(2, A),
        &resume(),
        t(30_000),
    );
    let lease = |repeated| {
        Begin::Execute(Lease {
            number: n(2),
            until: t(60_000),
            took_over: Some(unknown_1(100, UnknownCause::Timeout)),
            point: Some(point("charged")),
            repeated,
        })
    };
    assert_eq!(first, lease(false));
    let record = saved(change);
    check_begin(Some(record), &ask(2, A), &resume(), 30_001, &lease(true)); // L7
}

/// A release at `t(31_000)` of what came as far as its recovery point.
#[track_caller]
fn check_partly(record: Record, policy: &Policy, name: u8, expected: Unknown) -> Record {
    let (released, change) = release(Some(record), token(name), Some(429), policy, t(31_000));
    assert_eq!(released, Release::StillUnknown(expected));
    let record = saved(change);
    assert_eq!(record.unknown(t(31_000)), Some(expected));
    assert_eq!(record.point, Some(point("charged")));
    assert_eq!(last_ending(&record), Some(Ending::NotRun(Some(429))));

    let (again, change) = release(
        Some(record.clone()),
        token(name),
        Some(429),
        policy,
        t(32_000),
    );
    assert_eq!((again, change), (Release::AlreadyReleased, Change::Keep)); // L7
    let cause = UnknownCause::Timeout;
    let (late, change) = suspend(
        Some(record.clone()),
        token(name),
        cause,
        None,
        policy,
        t(32_000),
    );
    assert_eq!(
        (late, change),
        (Suspend::AlreadySuspended(expected), Change::Keep)
    );
    record
}

#[test]
fn u4_a_release_after_a_recovery_point_leaves_it_unknown_with_fingerprint_number_and_point() {
    let partly = unknown_1(31_000, UnknownCause::Partly);
    let (_, change) = checkpoint(Some(running()), token(1), point("charged"), t(10));
    let with_point = saved(change);
    let parked = check_partly(with_point.clone(), &park(), 1, partly);
    assert_eq!(next(&parked), Next::Nobody);
    assert_eq!((parked.fingerprint, parked.number), (A, n(1)));
    check_partly(suspended_with_point(), &park(), 1, partly);
    let resumed = check_partly(with_point, &resume(), 1, partly);
    assert_eq!(next(&resumed), Next::Resolver(t(31_000 + 300_000 + 292)));

    // The next attempt takes over from there; if it does not run either, the first one's step still stands.
    let (begun, change) = begin(Some(resumed), n(0), &ask(2, A), &resume(), t(32_000));
    let lease = Lease {
        number: n(2),
        until: t(62_000),
        took_over: Some(partly),
        point: Some(point("charged")),
        repeated: false,
    };
    assert_eq!(begun, Begin::Execute(lease));
    check_partly(saved(change), &resume(), 2, partly);
}

#[test]
fn u4_of_an_unknown_attempt_and_a_recovery_point_the_earlier_one_is_named() {
    let mut record = taken_over();
    record.point = Some(point("charged"));
    check_partly(record, &park(), 2, unknown_1(100, UnknownCause::Timeout));
}

#[track_caller]
fn check_refer(record: Option<Record>, name: u8, reference: &str, kept: bool) {
    match refer(record, token(name), reference, t(200)) {
        Change::Save(record) => {
            assert_eq!((record.reference.as_deref(), kept), (Some(reference), true));
        }
        Change::Keep => assert!(!kept, "not kept"),
        Change::Forget(_) => panic!("forgotten"),
    }
}

#[test]
fn u3_the_origins_name_for_what_it_makes_is_kept_from_the_holder_if_it_is_short_enough() {
    let mut named = running();
    named.reference = Some(String::from("ch_1"));
    check_refer(Some(running()), 1, "ch_1", true);
    check_refer(Some(suspended()), 1, "ch_1", true);
    check_refer(Some(named.clone()), 1, "ch_2", true);
    check_refer(Some(named.clone()), 1, "ch_1", false);
    check_refer(Some(running()), 1, "", false);
    check_refer(Some(running()), 1, &"c".repeat(REFERENCE_BYTES_MAX), true);
    check_refer(
        Some(running()),
        1,
        &"c".repeat(REFERENCE_BYTES_MAX + 1),
        false,
    );
    check_refer(Some(running()), 9, "ch_1", false);
    check_refer(Some(taken_over()), 1, "ch_1", false);
    check_refer(None, 1, "ch_1", false);

    let long = "c".repeat(REFERENCE_BYTES_MAX + 1);
    for (given, expected) in [
        (Some("ch_2"), "ch_2"),
        (Some(&long), "ch_1"),
        (None, "ch_1"),
    ] {
        let cause = UnknownCause::Timeout;
        let named = Some(named.clone());
        let (_, change) = suspend(named.clone(), token(1), cause, given, &park(), t(200));
        assert_eq!(saved(change).reference.as_deref(), Some(expected));
        let retention = park().retention();
        let (_, change) = complete(named, token(1), outcome(200), given, retention, t(200));
        assert_eq!(saved(change).reference.as_deref(), Some(expected));
    }
}
