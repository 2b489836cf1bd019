use alloc::string::{String, ToString};
use alloc::vec;

use super::*;
use crate::fingerprint::{Fingerprint, RECIPE};
use crate::record::{AttemptEnd, AttemptId, AttemptNumber, Next, SettledBy};

const LEASE_END: Timestamp = Timestamp::from_millis(30_000);
const BEFORE: Timestamp = Timestamp::from_millis(29_999);

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn named(kind: Kind, on_unknown: OnUnknown) -> Named<'static> {
    Named {
        id: "op",
        tenant: "acme",
        route: "orders",
        key: "order-1",
        kind,
        on_unknown,
    }
}

fn record(state: State, end: Option<Ending>) -> Record {
    let number = AttemptNumber::new(1);
    let end = end.map(|ending| AttemptEnd {
        at: at(500),
        ending,
    });
    Record {
        fingerprint: Fingerprint {
            recipe: RECIPE,
            digest: [7; 32],
        },
        attempt: AttemptId::from_bytes([1; 16]),
        number,
        created_at: at(0),
        state,
        unknown_before: None,
        history: vec![PastAttempt {
            number,
            started_at: at(10),
            end,
        }],
        superseded: vec![],
        point: None,
        reference: None,
        tries: 0,
    }
}

fn running() -> Record {
    record(
        State::InProgress {
            lease_until: LEASE_END,
        },
        None,
    )
}

fn unknown(cause: UnknownCause) -> Record {
    let unknown = Unknown {
        since: at(500),
        cause,
        number: AttemptNumber::new(1),
    };
    let state = State::Indeterminate {
        unknown,
        lease_until: LEASE_END,
        next: Next::Nobody,
    };
    record(state, Some(Ending::Unknown(cause)))
}

fn done(body: Body, expires_at: Option<Timestamp>) -> Record {
    let outcome = Outcome {
        status: 201,
        headers: vec![("a".into(), "b".into())],
        body,
    };
    record(
        State::Completed {
            at: at(500),
            by: SettledBy::Attempt,
            expires_at,
            outcome,
        },
        Some(Ending::Final(201)),
    )
}

#[track_caller]
fn check_row(record: &Record, now: Timestamp, expected: (OperationState, bool, i64, Option<u16>)) {
    let row = row(&named(Kind::Api, OnUnknown::Park), record, now);
    assert_eq!(
        (row.state, row.stuck, row.since.as_millis(), row.status),
        expected
    );
    assert_eq!((row.kind, row.attempts), (RouteKind::Api, 1));
}

#[test]
fn a_row_says_where_it_stands_and_since_when() {
    check_row(
        &running(),
        BEFORE,
        (OperationState::InProgress, false, 10, None),
    );
    check_row(
        &running(),
        LEASE_END,
        (OperationState::Indeterminate, true, 30_000, None),
    );
    let timeout = unknown(UnknownCause::Timeout);
    check_row(
        &timeout,
        BEFORE,
        (OperationState::Indeterminate, false, 500, None),
    );
    let empty = done(Body::Kept(vec![]), None);
    check_row(
        &empty,
        LEASE_END,
        (OperationState::Completed, false, 500, Some(201)),
    );
}

#[test]
fn to_its_client_a_lease_that_ran_out_is_unknown() {
    let named = named(Kind::Api, OnUnknown::Park);
    let before = status(&named, &running(), BEFORE);
    assert_eq!(
        (before.state, before.since),
        (OperationState::InProgress, at(10))
    );
    let after = status(&named, &running(), LEASE_END);
    assert_eq!(
        (after.state, after.since),
        (OperationState::Indeterminate, LEASE_END)
    );
    let done = status(
        &named,
        &done(Body::Omitted { bytes: 9 }, Some(at(900))),
        BEFORE,
    );
    assert_eq!(
        (done.expires_at, done.outcome_status),
        (Some(at(900)), Some(201))
    );
}

#[track_caller]
fn check_attempt(record: &Record, now: Timestamp, expected: (AttemptEnding, Option<u16>)) {
    let shown = attempts(record, now);
    assert_eq!(
        shown
            .iter()
            .map(|a| (a.ending, a.status))
            .collect::<Vec<_>>(),
        [expected]
    );
}

#[test]
fn attempts_say_how_they_ended() {
    check_attempt(&running(), BEFORE, (AttemptEnding::Running, None));
    check_attempt(&running(), LEASE_END, (AttemptEnding::LeaseRanOut, None));
    for cause in [
        UnknownCause::Timeout,
        UnknownCause::BrokenLine,
        UnknownCause::OriginSaid,
        UnknownCause::Partly,
    ] {
        check_attempt(&unknown(cause), BEFORE, (AttemptEnding::Unknown, None));
    }
    let status = unknown(UnknownCause::Status(500));
    check_attempt(&status, BEFORE, (AttemptEnding::Unknown, Some(500)));
    let lease = unknown(UnknownCause::LeaseRanOut);
    check_attempt(&lease, LEASE_END, (AttemptEnding::LeaseRanOut, None));
    let done = done(Body::Kept(vec![]), None);
    check_attempt(&done, BEFORE, (AttemptEnding::Completed, Some(201)));
    let mut refused = unknown(UnknownCause::Timeout);
    refused.history[0].end = Some(AttemptEnd {
        at: at(1),
        ending: Ending::NotRun(Some(400)),
    });
    check_attempt(&refused, BEFORE, (AttemptEnding::Released, Some(400)));
}

#[track_caller]
fn check_next(kind: Kind, on_unknown: OnUnknown, record: &Record, now: Timestamp, parts: &[&str]) {
    let next = next(&named(kind, on_unknown), record, now);
    for part in parts {
        assert!(next.contains(part), "{part:?} is not in {next:?}");
    }
}

#[test]
fn what_a_retry_meets_is_said() {
    let lease_end = LEASE_END.to_string();
    let (api, webhook) = (Kind::Api, Kind::Webhook);
    let (park, resume, rerun) = (OnUnknown::Park, OnUnknown::Resume, OnUnknown::Rerun);
    check_next(
        api,
        park,
        &running(),
        BEFORE,
        &["409 in_progress", &lease_end],
    );
    check_next(
        webhook,
        park,
        &running(),
        BEFORE,
        &["503 in_progress", "delivery"],
    );
    check_next(
        api,
        park,
        &running(),
        LEASE_END,
        &["409 outcome_unknown: nothing runs"],
    );
    let lost = unknown(UnknownCause::BrokenLine);
    check_next(
        api,
        resume,
        &lost,
        BEFORE,
        &["Until", &lease_end, "409", "same operation id"],
    );
    check_next(api, resume, &lost, LEASE_END, &["The next retry"]);
    check_next(webhook, rerun, &lost, LEASE_END, &["may have run twice"]);
    let kept = done(Body::Kept(vec![]), Some(at(90_000)));
    check_next(
        api,
        park,
        &kept,
        at(89_999),
        &["1970-01-01T00:01:30", "201"],
    );
    check_next(api, park, &kept, at(90_000), &["expired"]);
    check_next(
        api,
        park,
        &done(Body::Kept(vec![]), None),
        BEFORE,
        &["forever"],
    );
}

#[track_caller]
fn check_body(body: Body, expected: (u64, Option<&str>, bool, bool)) {
    let detail = detail(
        &named(Kind::Api, OnUnknown::Park),
        &done(body, None),
        vec![],
        &[],
        BEFORE,
    );
    let view = detail
        .outcome
        .expect("a completed operation has an outcome");
    let shown = (
        view.body_bytes,
        view.body_text.as_deref(),
        view.body_cut,
        view.body_omitted,
    );
    assert_eq!(shown, expected);
    assert_eq!(view.headers, [(String::from("a"), String::from("b"))]);
}

#[test]
fn bodies_are_shown_as_text_or_not_at_all() {
    check_body(Body::Kept(vec![]), (0, Some(""), false, false));
    check_body(Body::Kept(b"ok".to_vec()), (2, Some("ok"), false, false));
    check_body(Body::Kept(vec![0xff, 0x00]), (2, None, false, false));
    check_body(Body::Kept(b"a\0b".to_vec()), (3, None, false, false));
    check_body(
        Body::Omitted { bytes: 300_000 },
        (300_000, None, false, true),
    );
    let long = "a".repeat(BODY_SHOWN_BYTES_MAX - 1) + "é";
    let shown = "a".repeat(BODY_SHOWN_BYTES_MAX - 1);
    check_body(
        Body::Kept(long.into_bytes()),
        (65_537, Some(&shown), true, false),
    );
}

#[test]
fn a_detail_names_what_is_unknown_and_what_may_have_run_twice() {
    let named = named(Kind::Api, OnUnknown::Park);
    let mut lost = unknown(UnknownCause::Timeout);
    let shown = detail(&named, &lost, vec![], &[], BEFORE);
    let why = shown.unknown.map(|unknown| unknown.why);
    assert_eq!(why.as_deref(), Some("The origin did not answer in time."));
    assert_eq!(
        (shown.lease_until, shown.may_have_run_twice),
        (Some(LEASE_END), false)
    );
    lost.unknown_before = lost.unknown(BEFORE);
    assert!(detail(&named, &lost, vec![], &[], BEFORE).may_have_run_twice);
    assert_eq!(sentence(""), "");
}
