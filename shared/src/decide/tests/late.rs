//! A final report under a token that does not count any more is evidence, and perhaps a contradiction (L3).

use super::*;
use crate::audit::{Act, By, Entry};

fn entry(id: u8, act: Act, fenced: &[u8]) -> Entry {
    Entry {
        id: token(id),
        at: t(40_000),
        by: By::Operator(String::from("ada")),
        act,
        reason: String::from("looked it up"),
        before: String::new(),
        after: String::new(),
        number: n(1),
        fenced: fenced.iter().copied().map(token).collect(),
    }
}

/// What is logged when `name` reports status 200: nothing, or whether it contradicts.
#[track_caller]
fn check_late(record: Option<&Record>, entries: &[Entry], name: u8, expected: Option<bool>) {
    let late = stale(record, entries, token(name), 200, t(50_000));
    let contradicts = late.map(|entry| match entry.act {
        Act::LateFinal {
            status: 200,
            contradicts,
        } => contradicts,
        act @ (Act::LateFinal { .. } | Act::Succeeded(_) | Act::DidNotHappen | Act::TryAgain) => {
            panic!("{act:?}")
        }
    });
    assert_eq!(contradicts, expected);
}

/// Attempt 2, which took over, said that it did not run; nobody knows of attempt 1.
fn released() -> Record {
    saved(
        release(
            Some(taken_over()),
            token(2),
            Some(429),
            &resume(),
            t(31_000),
        )
        .1,
    )
}

#[test]
fn l3_a_token_that_was_never_let_run_is_no_evidence() {
    let settled = [entry(9, Act::DidNotHappen, &[1])];
    check_late(None, &[], 7, None);
    check_late(None, &settled, 7, None);
    for record in [running(), taken_over(), completed(), released()] {
        check_late(Some(&record), &[], 7, None);
        check_late(Some(&record), &settled, 7, None);
    }
}

#[test]
fn l3_who_was_fenced_off_and_reports_is_noted_once() {
    let record = taken_over();
    let late = stale(Some(&record), &[], token(1), 201, t(50_000)).unwrap();
    let status = 201;
    let contradicts = false;
    let act = Act::LateFinal {
        status,
        contradicts,
    };
    assert_eq!((late.id, late.at), (token(1), t(50_000)));
    assert_eq!((&late.by, late.act), (&By::Attempt, act));
    assert_eq!(
        (late.number, late.before.as_str()),
        (n(2), late.after.as_str())
    );
    assert!(late.before.contains("attempt 2"), "{}", late.before);
    check_late(Some(&record), &[late], 1, None);
    check_late(Some(&settled()), &[], 1, Some(false)); // its log is somewhere else
}

#[test]
fn l3_it_contradicts_what_the_origin_told_when_it_was_asked() {
    for (told, contradicts) in [(200, false), (201, true)] {
        let finding = Finding::Final(outcome(told));
        let probed = saved(probed(Some(asked()), token(3), finding, &probe(), t(31_000)).1);
        check_late(Some(&probed), &[], 1, Some(contradicts));
    }
}

#[test]
fn l3_what_the_token_is_logged_for_otherwise_is_no_late_report() {
    let by_itself = entry(1, Act::DidNotHappen, &[1]);
    check_late(None, &[by_itself], 1, Some(true));
}

#[test]
fn l3_it_contradicts_a_settlement_that_says_otherwise() {
    for (act, contradicts) in [
        (Act::DidNotHappen, true),
        (Act::Succeeded(200), false),
        (Act::Succeeded(201), true),
        (Act::TryAgain, false),
    ] {
        check_late(None, &[entry(9, act, &[1])], 1, Some(contradicts));
        let settled = settled();
        check_late(Some(&settled), &[entry(9, act, &[1])], 1, Some(contradicts));
        // The origin's word, which was asked, as an operator's.
        let mut asked = entry(3, act, &[1, 3]);
        asked.by = By::Probe;
        check_late(None, &[asked], 1, Some(contradicts));
    }
}

#[test]
fn l3_of_several_settlements_the_last_one_counts() {
    let corrected = [
        entry(9, Act::Succeeded(200), &[1]),
        entry(8, Act::DidNotHappen, &[1, 9]),
    ];
    check_late(None, &corrected, 1, Some(true));
    let corrected = [
        entry(9, Act::Succeeded(500), &[1]),
        entry(8, Act::Succeeded(200), &[1, 9]),
    ];
    check_late(None, &corrected, 1, Some(false));
    // One that fenced off somebody else says nothing of this token.
    let others = [
        entry(9, Act::Succeeded(200), &[1]),
        entry(8, Act::DidNotHappen, &[2]),
    ];
    check_late(None, &others, 1, Some(false));
}

#[test]
fn l3_it_contradicts_a_holder_that_said_it_did_not_run_until_another_runs() {
    check_late(Some(&released()), &[], 1, Some(true));
    let (_, change) = begin(Some(released()), n(0), &ask(3, A), &resume(), t(60_000));
    let running_again = saved(change);
    check_late(Some(&running_again), &[], 1, Some(false));
    check_late(Some(&running_again), &[], 2, Some(false));
}
