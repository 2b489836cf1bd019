//! How a record is shown: to a client that asks for its own operation (A3), and to operators (M).
//!
//! Not what a caller is answered (`decide` says that) and not the form at rest (`stored`). A record is shown as
//! it stands at `now`: once a lease ran out with no word the outcome is unknown, whether or not that was written
//! down yet (U3).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::policy::{Kind, OnUnknown};
use crate::record::{Body, Ending, Outcome, PastAttempt, Record, State, Unknown, UnknownCause};
use crate::time::Timestamp;
use crate::wire::{
    Attempt, AttemptEnding, OperationDetail, OperationRow, OperationState, OperationStatus,
    OtherFingerprint, OutcomeView, RouteKind, UnknownView,
};

/// The most bytes of a stored body that an operator is shown as text (X5): more is for a retry to fetch.
pub const BODY_SHOWN_BYTES_MAX: usize = 64 * 1024;

/// Which operation it is, and what its route promises about unknown outcomes.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The operation's id.
    pub id: &'a str,
    /// Whose it is.
    pub tenant: &'a str,
    /// Through which route it came.
    pub route: &'a str,
    /// The idempotency key or event id.
    pub key: &'a str,
    /// An API route or a webhook.
    pub kind: Kind,
    /// U3, as the route is configured now.
    pub on_unknown: OnUnknown,
}

/// What a client may know of its own operation (A3).
#[must_use]
pub fn status(named: &Named<'_>, record: &Record, now: Timestamp) -> OperationStatus {
    OperationStatus {
        operation: named.id.to_string(),
        route: named.route.to_string(),
        state: state(record, now),
        since: since(record, now),
        expires_at: expires_at(record),
        outcome_status: outcome(record).map(|outcome| outcome.status),
    }
}

/// One line of a list.
#[must_use]
pub fn row(named: &Named<'_>, record: &Record, now: Timestamp) -> OperationRow {
    OperationRow {
        id: named.id.to_string(),
        tenant: named.tenant.to_string(),
        route: named.route.to_string(),
        kind: match named.kind {
            Kind::Api => RouteKind::Api,
            Kind::Webhook => RouteKind::Webhook,
        },
        key: named.key.to_string(),
        state: state(record, now),
        stuck: is_stuck(record, now),
        created_at: record.created_at,
        since: since(record, now),
        attempts: u32::try_from(record.history.len()).unwrap_or(u32::MAX),
        status: outcome(record).map(|outcome| outcome.status),
    }
}

/// Everything that is known of one operation. `others` are the fingerprints that came beside the bound one.
#[must_use]
pub fn detail(
    named: &Named<'_>,
    record: &Record,
    others: Vec<OtherFingerprint>,
    now: Timestamp,
) -> OperationDetail {
    OperationDetail {
        now: Some(now),
        row: row(named, record, now),
        fingerprint: record.fingerprint.to_string(),
        others,
        attempts: attempts(record, now),
        lease_until: match record.state {
            State::InProgress { lease_until } | State::Indeterminate { lease_until, .. } => {
                Some(lease_until)
            }
            State::Completed { .. } => None,
        },
        unknown: record.unknown(now).map(unknown_view),
        next: next(named, record, now),
        expires_at: expires_at(record),
        outcome: outcome(record).map(outcome_view),
        may_have_run_twice: record.may_have_run_twice(),
    }
}

/// Whether an attempt's lease ran out with no word of how it ended.
#[must_use]
pub fn is_stuck(record: &Record, now: Timestamp) -> bool {
    record
        .unknown(now)
        .is_some_and(|unknown| unknown.cause == UnknownCause::LeaseRanOut)
}

/// What a retry will meet now, in a sentence or two.
#[must_use]
pub fn next(named: &Named<'_>, record: &Record, now: Timestamp) -> String {
    let retry = match named.kind {
        Kind::Api => "retry with the same key and request",
        Kind::Webhook => "delivery of this event",
    };
    match &record.state {
        State::Completed {
            outcome,
            expires_at,
            ..
        } => match expires_at {
            Some(end) if *end <= now => format!(
                "The record expired at {end} and is about to be forgotten; the next request under this key is a new one."
            ),
            Some(end) => format!(
                "Until {end} every {retry} is answered from the record with status {}; nothing runs again.",
                outcome.status
            ),
            None => format!(
                "Every {retry} is answered from the record with status {}; it is kept forever.",
                outcome.status
            ),
        },
        State::InProgress { lease_until } if now < *lease_until => {
            let status = waiting_status(named.kind);
            format!(
                "An attempt is running. A {retry} waits a moment for it and then gets {status} in_progress. Its lease ends at {lease_until}."
            )
        }
        State::InProgress { lease_until } | State::Indeterminate { lease_until, .. } => {
            next_of_unknown(named, *lease_until, retry, now)
        }
    }
}

fn next_of_unknown(
    named: &Named<'_>,
    lease_until: Timestamp,
    retry: &str,
    now: Timestamp,
) -> String {
    let status = waiting_status(named.kind);
    let then = match named.on_unknown {
        OnUnknown::Park => {
            format!("every {retry} gets {status} outcome_unknown: nothing runs it again by itself")
        }
        OnUnknown::Resume => format!(
            "the next {retry} sends it to the origin again under the same operation id, by which the origin dedupes"
        ),
        OnUnknown::Rerun => format!(
            "the next {retry} runs again, and the operation is shown as one that may have run twice"
        ),
    };
    if now < lease_until {
        format!("Until {lease_until} a {retry} gets {status} outcome_unknown; after that {then}.")
    } else {
        sentence(&then)
    }
}

const fn waiting_status(kind: Kind) -> u16 {
    match kind {
        Kind::Api => 409,
        Kind::Webhook => 503,
    }
}

/// Where it stands at `now`.
#[must_use]
pub fn state(record: &Record, now: Timestamp) -> OperationState {
    match record.state {
        State::InProgress { lease_until } if now < lease_until => OperationState::InProgress,
        State::InProgress { .. } | State::Indeterminate { .. } => OperationState::Indeterminate,
        State::Completed { .. } => OperationState::Completed,
    }
}

fn since(record: &Record, now: Timestamp) -> Timestamp {
    if let Some(unknown) = record.unknown(now) {
        return unknown.since;
    }
    match &record.state {
        State::Completed { at, .. } => *at,
        State::InProgress { .. } | State::Indeterminate { .. } => record
            .history
            .last()
            .map_or(record.created_at, |attempt| attempt.started_at),
    }
}

const fn expires_at(record: &Record) -> Option<Timestamp> {
    match record.state {
        State::Completed { expires_at, .. } => expires_at,
        State::InProgress { .. } | State::Indeterminate { .. } => None,
    }
}

const fn outcome(record: &Record) -> Option<&Outcome> {
    match &record.state {
        State::Completed { outcome, .. } => Some(outcome),
        State::InProgress { .. } | State::Indeterminate { .. } => None,
    }
}

fn attempts(record: &Record, now: Timestamp) -> Vec<Attempt> {
    let running = match record.state {
        State::InProgress { lease_until } => now < lease_until,
        State::Indeterminate { .. } | State::Completed { .. } => false,
    };
    record
        .history
        .iter()
        .map(|past| attempt(past, running && past.number == record.number))
        .collect()
}

fn attempt(past: &PastAttempt, running: bool) -> Attempt {
    let (ending, status) = match past.end.map(|end| end.ending) {
        None if running => (AttemptEnding::Running, None),
        None | Some(Ending::Unknown(UnknownCause::LeaseRanOut)) => {
            (AttemptEnding::LeaseRanOut, None)
        }
        Some(Ending::Final(status)) => (AttemptEnding::Completed, Some(status)),
        Some(Ending::NotRun(status)) => (AttemptEnding::Released, status),
        Some(Ending::Unknown(UnknownCause::Status(status))) => {
            (AttemptEnding::Unknown, Some(status))
        }
        Some(Ending::Unknown(
            UnknownCause::Timeout
            | UnknownCause::BrokenLine
            | UnknownCause::OriginSaid
            | UnknownCause::Pending,
        )) => (AttemptEnding::Unknown, None),
    };
    Attempt {
        number: past.number.get(),
        started_at: past.started_at,
        ended_at: past.end.map(|end| end.at),
        ending,
        status,
    }
}

fn unknown_view(unknown: Unknown) -> UnknownView {
    UnknownView {
        since: unknown.since,
        number: unknown.number.get(),
        why: sentence(&unknown.cause.to_string()),
    }
}

/// A fragment as a sentence of its own.
fn sentence(fragment: &str) -> String {
    let mut chars = fragment.chars();
    chars
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + chars.as_str() + ".")
        .unwrap_or_default()
}

fn outcome_view(outcome: &Outcome) -> OutcomeView {
    let view = OutcomeView {
        status: outcome.status,
        headers: outcome.headers.clone(),
        body_bytes: 0,
        body_text: None,
        body_cut: false,
        body_omitted: false,
    };
    match &outcome.body {
        Body::Omitted { bytes } => OutcomeView {
            body_bytes: *bytes,
            body_omitted: true,
            ..view
        },
        Body::Kept(bytes) => {
            let text = text_start(bytes);
            OutcomeView {
                body_bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
                body_cut: text.is_some_and(|text| text.len() < bytes.len()),
                body_text: text.map(ToString::to_string),
                ..view
            }
        }
    }
}

/// The beginning of `bytes` as text, if all of them are: cut between two characters, never shown as bytes (X4).
fn text_start(bytes: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(bytes).ok()?;
    if text.contains('\0') {
        return None;
    }
    text.get(..text.floor_char_boundary(BODY_SHOWN_BYTES_MAX))
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};
    use alloc::vec;

    use super::*;
    use crate::fingerprint::{Fingerprint, RECIPE};
    use crate::record::{AttemptEnd, AttemptId, AttemptNumber};

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
                expires_at,
                outcome,
            },
            Some(Ending::Final(201)),
        )
    }

    #[track_caller]
    fn check_row(
        record: &Record,
        now: Timestamp,
        expected: (OperationState, bool, i64, Option<u16>),
    ) {
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
            UnknownCause::Pending,
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
    fn check_next(
        kind: Kind,
        on_unknown: OnUnknown,
        record: &Record,
        now: Timestamp,
        parts: &[&str],
    ) {
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
        let shown = detail(&named, &lost, vec![], BEFORE);
        let why = shown.unknown.map(|unknown| unknown.why);
        assert_eq!(why.as_deref(), Some("The origin did not answer in time."));
        assert_eq!(
            (shown.lease_until, shown.may_have_run_twice),
            (Some(LEASE_END), false)
        );
        lost.unknown_before = lost.unknown(BEFORE);
        assert!(detail(&named, &lost, vec![], BEFORE).may_have_run_twice);
        assert_eq!(sentence(""), "");
    }
}
