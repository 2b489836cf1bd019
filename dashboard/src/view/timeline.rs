//! An operation's story, in the order of time, from what its record keeps.
//!
//! Replays and refused twins are not in it: they write no row (P7), only counts.

use shared::time::Timestamp;
use shared::wire::{Attempt, AttemptEnding, AuditEntry, OperationDetail, OperationState};

use super::{age, words};

/// How much an event should catch the eye.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should go.
    Plain,
    /// The outcome.
    Good,
    /// Worth a look.
    Warn,
    /// Somebody has to act.
    Bad,
    /// Has not happened yet.
    Ahead,
}

impl Tone {
    /// The name in class names.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
            Self::Ahead => "ahead",
        }
    }
}

/// One line of the story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// When.
    pub(crate) at: Timestamp,
    /// What.
    pub(crate) what: String,
    /// How much it matters.
    pub(crate) tone: Tone,
}

/// All lines, oldest first; of equal moments in the order in which they must have happened.
pub(crate) fn events(detail: &OperationDetail, now: Timestamp) -> Vec<Event> {
    let mut events = vec![event(
        detail.row.created_at,
        "Key first claimed",
        Tone::Plain,
    )];
    let attempts = detail
        .attempts
        .iter()
        .flat_map(|attempt| [Some(began(attempt)), ended(attempt)]);
    let others = detail.others.iter().map(|other| {
        Some(event(
            other.first_at,
            words::other_request(detail.row.kind),
            Tone::Warn,
        ))
    });
    let rest = [
        found_unknown(detail),
        lease(detail, now),
        forgotten(detail, now),
    ];
    let log = detail.log.iter().map(|entry| Some(logged(entry)));
    for event in attempts.chain(others).chain(log).chain(rest).flatten() {
        let place = events.partition_point(|earlier| earlier.at <= event.at);
        events.insert(place, event);
    }
    events
}

/// The time between an event and the one before it.
pub(crate) fn gap(before: Option<&Event>, event: &Event) -> String {
    before.map_or_else(String::new, |before| {
        format!("+{}", age::duration(event.at.since(before.at)))
    })
}

fn event(at: Timestamp, what: impl Into<String>, tone: Tone) -> Event {
    Event {
        at,
        what: what.into(),
        tone,
    }
}

fn began(attempt: &Attempt) -> Event {
    let what = format!("Attempt {} sent to the origin", attempt.number);
    event(attempt.started_at, what, Tone::Plain)
}

fn ended(attempt: &Attempt) -> Option<Event> {
    let number = attempt.number;
    let said = attempt
        .status
        .map_or_else(String::new, |status| format!(" with {status}"));
    let (what, tone) = match attempt.ending {
        AttemptEnding::Running => return None,
        AttemptEnding::Completed => (
            format!("Attempt {number} ended{said}: the outcome is kept"),
            Tone::Good,
        ),
        AttemptEnding::Released => (
            format!("Attempt {number} ended{said}: not run, nothing kept"),
            Tone::Plain,
        ),
        AttemptEnding::Unknown => (
            format!("Attempt {number} ended{said}: nobody knows what it did"),
            Tone::Bad,
        ),
        AttemptEnding::LeaseRanOut => (
            format!("Lease of attempt {number} ran out with no word"),
            Tone::Bad,
        ),
    };
    attempt.ended_at.map(|at| event(at, what, tone))
}

/// The moment it became unknown, unless the attempt's own end says so already.
fn found_unknown(detail: &OperationDetail) -> Option<Event> {
    let unknown = detail.unknown.as_ref()?;
    let told = detail.attempts.iter().any(|attempt| {
        attempt.number == unknown.number && attempt.ended_at.is_some_and(|at| at == unknown.since)
    });
    let what = format!("Unknown after attempt {}", unknown.number);
    (!told).then(|| event(unknown.since, what, Tone::Bad))
}

/// What somebody settled, or what came too late.
fn logged(entry: &AuditEntry) -> Event {
    let act = words::act(entry);
    let (what, tone) = match &*entry.who {
        _ if entry.contradicts => (format!("{act}: contradicts what was settled"), Tone::Bad),
        "attempt" => (act, Tone::Warn),
        who => (format!("{act} by {}", words::who(who)), Tone::Plain),
    };
    event(entry.at, what, tone)
}

fn lease(detail: &OperationDetail, now: Timestamp) -> Option<Event> {
    let running = matches!(detail.row.state, OperationState::InProgress);
    let told = detail
        .attempts
        .last()
        .is_some_and(|last| last.ending == AttemptEnding::LeaseRanOut);
    let at = detail.lease_until.filter(|_| running && !told)?;
    // L2: held while now < lease_until.
    Some(if now < at {
        event(at, "The lease runs out", Tone::Ahead)
    } else {
        event(at, "The lease ran out with no word", Tone::Bad)
    })
}

fn forgotten(detail: &OperationDetail, now: Timestamp) -> Option<Event> {
    let at = detail.expires_at?;
    // P5: gone at exactly the end of its retention.
    Some(if now < at {
        event(at, "The record is forgotten", Tone::Ahead)
    } else {
        event(
            at,
            "Retention over: the record goes with the next pruning",
            Tone::Plain,
        )
    })
}

#[cfg(test)]
mod tests {
    use shared::wire::{OperationRow, OtherFingerprint, RouteKind, UnknownView};

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn attempt(number: u64, started: i64, ended: Option<i64>, ending: AttemptEnding) -> Attempt {
        Attempt {
            number,
            started_at: at(started),
            ended_at: ended.map(at),
            ending,
            status: None,
        }
    }

    fn detail(state: OperationState, attempts: Vec<Attempt>) -> OperationDetail {
        let row = OperationRow {
            id: "op".to_owned(),
            tenant: "acme".to_owned(),
            route: "orders".to_owned(),
            kind: RouteKind::Api,
            key: "key".to_owned(),
            state,
            stuck: false,
            created_at: at(0),
            since: at(0),
            attempts: 1,
            status: None,
            unknown: None,
        };
        let text = serde_json::json!({
            "row": row, "fingerprint": "v1:00", "attempts": attempts, "next": "",
        });
        serde_json::from_value(text).expect("the wire form reads what it wrote")
    }

    #[track_caller]
    fn check(detail: &OperationDetail, now: i64, expected: &[(i64, &str, Tone)]) {
        let events = events(detail, at(now));
        let events: Vec<(i64, &str, Tone)> = events
            .iter()
            .map(|event| (event.at.as_millis(), event.what.as_str(), event.tone))
            .collect();
        assert_eq!(events, expected);
    }

    #[test]
    fn a_completed_operation_tells_its_attempts_and_when_it_goes() {
        let mut attempts = vec![
            attempt(1, 0, Some(10), AttemptEnding::Released),
            attempt(2, 20, Some(90), AttemptEnding::Completed),
        ];
        attempts[1].status = Some(201);
        let mut detail = detail(OperationState::Completed, attempts);
        detail.expires_at = Some(at(1_000));
        detail.others = vec![OtherFingerprint {
            fingerprint: "v1:ff".to_owned(),
            first_at: at(50),
        }];
        detail.lease_until = Some(at(30_000));
        check(
            &detail,
            100,
            &[
                (0, "Key first claimed", Tone::Plain),
                (0, "Attempt 1 sent to the origin", Tone::Plain),
                (10, "Attempt 1 ended: not run, nothing kept", Tone::Plain),
                (20, "Attempt 2 sent to the origin", Tone::Plain),
                (
                    50,
                    "Another request with this key: refused (422)",
                    Tone::Warn,
                ),
                (
                    90,
                    "Attempt 2 ended with 201: the outcome is kept",
                    Tone::Good,
                ),
                (1_000, "The record is forgotten", Tone::Ahead),
            ],
        );
        assert_eq!(
            events(&detail, at(1_000)).last().map(|event| event.tone),
            Some(Tone::Plain)
        );
    }

    #[test]
    fn a_lease_is_ahead_until_its_very_end() {
        let running = vec![attempt(1, 0, None, AttemptEnding::Running)];
        let mut detail = detail(OperationState::InProgress, running);
        detail.lease_until = Some(at(30));
        let last = |now| events(&detail, at(now)).last().map(|event| event.tone);
        assert_eq!(last(29), Some(Tone::Ahead));
        assert_eq!(last(30), Some(Tone::Bad));
    }

    #[test]
    fn unknown_is_told_once() {
        let unknown = |since| {
            Some(UnknownView {
                since: at(since),
                number: 1,
                why: String::new(),
            })
        };
        let ended = vec![attempt(1, 0, Some(20), AttemptEnding::Unknown)];
        let mut detail = detail(OperationState::Indeterminate, ended);
        detail.unknown = unknown(20);
        assert_eq!(events(&detail, at(99)).len(), 3);
        detail.unknown = unknown(30);
        assert_eq!(events(&detail, at(99)).len(), 4);
        detail.attempts = vec![attempt(1, 0, Some(30), AttemptEnding::LeaseRanOut)];
        assert_eq!(events(&detail, at(99)).len(), 3);
    }

    #[test]
    fn settlements_and_late_answers_are_part_of_the_story() {
        let entry = |at_ms, who: &str, act: &str, contradicts| AuditEntry {
            at: at(at_ms),
            who: who.to_owned(),
            act: act.to_owned(),
            status: Some(201),
            contradicts,
            operation: "op".to_owned(),
            tenant: "acme".to_owned(),
            route: "orders".to_owned(),
            key: "key".to_owned(),
            reason: String::new(),
            before: String::new(),
            after: String::new(),
        };
        let mut detail = detail(OperationState::Completed, Vec::new());
        detail.log = vec![
            entry(10, "kim", "succeeded", false),
            entry(20, "attempt", "late_final", false),
            entry(30, "attempt", "late_final", true),
        ];
        check(
            &detail,
            99,
            &[
                (0, "Key first claimed", Tone::Plain),
                (10, "Settled as succeeded with 201 by kim", Tone::Plain),
                (20, "Late answer with 201 from the origin", Tone::Warn),
                (
                    30,
                    "Late answer with 201 from the origin: contradicts what was settled",
                    Tone::Bad,
                ),
            ],
        );
    }

    #[test]
    fn gaps_are_between_neighbours() {
        let event = |ms| Event {
            at: at(ms),
            what: String::new(),
            tone: Tone::Plain,
        };
        assert_eq!(gap(None, &event(5)), "");
        assert_eq!(gap(Some(&event(5)), &event(89)), "+84 ms");
    }
}
