//! How a record is shown: to a client that asks for its own operation (A3), and to operators (M).
//!
//! Not what a caller is answered (`decide` says that) and not the form at rest (`stored`). A record is shown as
//! it stands at `now`: once a lease ran out with no word the outcome is unknown, whether or not that was written
//! down yet (U3).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::audit::{Act, By, Entry};
use crate::policy::{Kind, OnUnknown};
use crate::record::{
    Body, Ending, Next, Outcome, PastAttempt, Record, SettledBy, State, Unknown, UnknownCause,
};
use crate::time::Timestamp;
use crate::wire::{
    Attempt, AttemptEnding, AuditEntry, NextStep, OperationDetail, OperationRow, OperationState,
    OperationStatus, OtherFingerprint, OutcomeView, PointView, RouteKind, UnknownRow, UnknownView,
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
        outcome: outcome(record).map(outcome_view),
        unknown: record
            .unknown(now)
            .map(|unknown| sentence(&unknown.cause.to_string())),
        next: next(named, record, now),
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
        unknown: record
            .unknown(now)
            .map(|unknown| unknown_row(named, record, unknown)),
    }
}

/// What the origin last said of an unknown operation, as one word that many share.
#[must_use]
pub fn last_answer(cause: UnknownCause) -> String {
    String::from(match cause {
        UnknownCause::Status(status) => return status.to_string(),
        UnknownCause::Timeout => "timeout",
        UnknownCause::BrokenLine => "broken-line",
        UnknownCause::OriginSaid => "unknown",
        UnknownCause::LeaseRanOut => "silence",
        UnknownCause::Partly => "recovery-point",
    })
}

fn unknown_row(named: &Named<'_>, record: &Record, unknown: Unknown) -> UnknownRow {
    let (lease_until, next) = match record.state {
        State::Indeterminate {
            lease_until, next, ..
        } => (lease_until, next),
        State::InProgress { lease_until } => (lease_until, Next::Nobody),
        State::Completed { at, .. } => (at, Next::Nobody),
    };
    UnknownRow {
        why: sentence(&unknown.cause.to_string()),
        last_answer: last_answer(unknown.cause),
        tries: record.tries,
        next: match next {
            Next::Resolver(_) => NextStep::Resolver,
            Next::Asking { .. } => NextStep::Asking,
            Next::Retry => NextStep::Retry,
            Next::Nobody => match named.on_unknown {
                OnUnknown::Rerun => NextStep::Retry,
                OnUnknown::Resume | OnUnknown::Probe | OnUnknown::Park => NextStep::Person,
            },
        },
        due: record.due(),
        lease_until: Some(lease_until),
        point: record.point.as_ref().map(|point| point.name().to_string()),
        reference: record.reference.clone(),
    }
}

/// One entry of the audit log, of the operation `named`.
#[must_use]
pub fn audit(named: &Named<'_>, entry: &Entry) -> AuditEntry {
    let (act, status, contradicts) = match entry.act {
        Act::Succeeded(status) => ("succeeded", Some(status), false),
        Act::DidNotHappen => ("did_not_happen", None, false),
        Act::TryAgain => ("try_again", None, false),
        Act::LateFinal {
            status,
            contradicts,
        } => ("late_final", Some(status), contradicts),
    };
    AuditEntry {
        at: entry.at,
        who: match &entry.by {
            By::Operator(name) => name.clone(),
            By::Probe => String::from("probe"),
            By::Attempt => String::from("attempt"),
        },
        act: String::from(act),
        status,
        contradicts,
        operation: named.id.to_string(),
        tenant: named.tenant.to_string(),
        route: named.route.to_string(),
        key: named.key.to_string(),
        reason: entry.reason.clone(),
        before: entry.before.clone(),
        after: entry.after.clone(),
    }
}

/// Everything that is known of one operation. `others` are the fingerprints that came beside the bound one, `log` what was
/// logged of it.
#[must_use]
pub fn detail(
    named: &Named<'_>,
    record: &Record,
    others: Vec<OtherFingerprint>,
    log: &[Entry],
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
        settled_by: match record.state {
            State::Completed { by, .. } => Some(String::from(match by {
                SettledBy::Attempt => "attempt",
                SettledBy::Probe => "probe",
                SettledBy::Operator => "operator",
            })),
            State::InProgress { .. } | State::Indeterminate { .. } => None,
        },
        point: record.point.as_ref().map(|point| PointView {
            name: point.name().to_string(),
            data: point.data().to_string(),
        }),
        reference: record.reference.clone(),
        log: log.iter().map(|entry| audit(named, entry)).collect(),
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
        State::InProgress { lease_until } => {
            next_of_unknown(named, *lease_until, Next::Nobody, retry, now)
        }
        State::Indeterminate {
            lease_until, next, ..
        } => next_of_unknown(named, *lease_until, *next, retry, now),
    }
}

fn next_of_unknown(
    named: &Named<'_>,
    lease_until: Timestamp,
    next: Next,
    retry: &str,
    now: Timestamp,
) -> String {
    let status = waiting_status(named.kind);
    let then = match named.on_unknown {
        _ if next == Next::Retry => format!("the next {retry} runs it once more"),
        OnUnknown::Park => {
            format!("every {retry} gets {status} outcome_unknown: nothing runs it again by itself")
        }
        OnUnknown::Probe => format!(
            "the next {retry} asks the origin what became of it, and is answered what the origin says"
        ),
        OnUnknown::Resume => format!(
            "the next {retry} sends it to the origin again under the same operation id, by which the origin dedupes"
        ),
        OnUnknown::Rerun => format!(
            "the next {retry} runs again, and the operation is shown as one that may have run twice"
        ),
    };
    let by_itself = match next {
        Next::Resolver(at) => format!(" The resolver comes to it at {}.", at.max(lease_until)),
        Next::Asking { until, .. } => {
            format!(" The origin is being asked; its answer is waited for until {until}.")
        }
        Next::Nobody | Next::Retry => String::new(),
    };
    if now < lease_until {
        format!(
            "Until {lease_until} a {retry} gets {status} outcome_unknown; after that {then}.{by_itself}"
        )
    } else {
        sentence(&then) + &by_itself
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
            | UnknownCause::Partly,
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
    let mut sentence = String::from(fragment);
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
        sentence.push('.');
    }
    sentence
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
mod tests;
