//! What states and endings are called on the page.

use shared::time::Timestamp;
use shared::wire::{AttemptEnding, AuditEntry, NextStep, RouteKind, UnknownRow};

use super::age;
use super::filter::Standing;

/// A state's name.
pub(crate) const fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::InProgress => "In progress",
        Standing::Stuck => "Stuck",
        Standing::Unknown => "Unknown",
        Standing::Completed => "Completed",
    }
}

/// A state explained.
pub(crate) const fn standing_meaning(standing: Standing) -> &'static str {
    match standing {
        Standing::InProgress => "an attempt runs under a live lease",
        Standing::Stuck => "an attempt's lease ran out with no word of how it ended",
        Standing::Unknown => "nobody knows what an attempt did",
        Standing::Completed => "the outcome is kept and replayed",
    }
}

/// The kind of door that an operation came in by.
pub(crate) const fn kind(kind: RouteKind) -> &'static str {
    match kind {
        RouteKind::Api => "API request",
        RouteKind::Webhook => "webhook",
    }
}

/// What an operation's key is called.
pub(crate) const fn key(kind: RouteKind) -> &'static str {
    match kind {
        RouteKind::Api => "Idempotency key",
        RouteKind::Webhook => "Event id",
    }
}

/// How an attempt ended.
pub(crate) const fn ending(ending: AttemptEnding) -> &'static str {
    match ending {
        AttemptEnding::Running => "running",
        AttemptEnding::Completed => "completed",
        AttemptEnding::Released => "released",
        AttemptEnding::Unknown => "unknown",
        AttemptEnding::LeaseRanOut => "lease ran out",
    }
}

/// What another fingerprint under the same key led to.
pub(crate) const fn other_request(kind: RouteKind) -> &'static str {
    match kind {
        RouteKind::Api => "Another request with this key: refused (422)",
        RouteKind::Webhook => "Changed on redelivery: taken as a duplicate",
    }
}

/// What the origin last said of an unknown operation; a status, or a word that many share.
pub(crate) fn last_answer(word: &str) -> &str {
    match word {
        "broken-line" => "broken line",
        "unknown" => "\u{201c}unknown\u{201d}",
        "silence" => "no word",
        "recovery-point" => "recovery point",
        other => other,
    }
}

/// What happens by itself to an unknown operation, and when.
pub(crate) fn next_step(unknown: &UnknownRow, now: Timestamp) -> String {
    // L2: held while now < lease_until; before that nobody takes over and nobody settles.
    if let Some(end) = unknown.lease_until.filter(|end| now < *end) {
        return format!("An attempt may still run for {}", age::age(end.since(now)));
    }
    match (unknown.next, unknown.due) {
        (NextStep::Person, _) => "Needs a person".to_owned(),
        (NextStep::Asking, _) => "The origin is being asked".to_owned(),
        (NextStep::Retry, _) => "Runs with the next retry".to_owned(),
        (NextStep::Resolver, Some(due)) if now < due => {
            format!("Resolver in {}", age::age(due.since(now)))
        }
        (NextStep::Resolver, _) => "Resolver, due now".to_owned(),
    }
}

/// What an entry of the audit log tells of.
pub(crate) fn act(entry: &AuditEntry) -> String {
    let status = entry
        .status
        .map_or_else(String::new, |status| format!(" with {status}"));
    match &*entry.act {
        "succeeded" => format!("Settled as succeeded{status}"),
        "did_not_happen" => "Settled as not happened".to_owned(),
        "try_again" => "Let run once more".to_owned(),
        "late_final" => format!("Late answer{status} from the origin"),
        other => format!("{other}{status}"),
    }
}

/// By whose word something is known, or who did it.
pub(crate) fn who(word: &str) -> &str {
    match word {
        "probe" => "the origin, when asked",
        "attempt" => "an attempt at the origin",
        "operator" => "an operator",
        name => name,
    }
}

/// A fragment such as problems' details, as a sentence of its own.
pub(crate) fn sentence(fragment: &str) -> String {
    let mut sentence = fragment.trim().to_owned();
    // The gateway writes English; the table of all capitals is as large as a page.
    if let Some(first) = sentence.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    if !sentence.is_empty() && !sentence.ends_with(['.', '!', '?', ':']) {
        sentence.push('.');
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_next_waits_for_the_lease() {
        let at = |ms| Some(Timestamp::from_millis(ms));
        let unknown = |next, due| UnknownRow {
            why: String::new(),
            last_answer: "502".to_owned(),
            tries: 0,
            next,
            due,
            lease_until: at(5_000),
            point: None,
            reference: None,
        };
        for (next, due, now, said) in [
            (
                NextStep::Person,
                None,
                4_999,
                "An attempt may still run for 0 s",
            ),
            (NextStep::Person, None, 5_000, "Needs a person"),
            (
                NextStep::Asking,
                at(9_000),
                6_000,
                "The origin is being asked",
            ),
            (NextStep::Retry, None, 6_000, "Runs with the next retry"),
            (NextStep::Resolver, at(66_000), 6_000, "Resolver in 1 min"),
            (NextStep::Resolver, at(6_000), 6_000, "Resolver, due now"),
            (NextStep::Resolver, None, 6_000, "Resolver, due now"),
        ] {
            let now = Timestamp::from_millis(now);
            assert_eq!(next_step(&unknown(next, due), now), said);
        }
    }

    #[test]
    fn every_last_answer_has_words_and_unknown_words_stay() {
        for (word, said) in [
            ("502", "502"),
            ("timeout", "timeout"),
            ("broken-line", "broken line"),
            ("silence", "no word"),
            ("something-new", "something-new"),
        ] {
            assert_eq!(last_answer(word), said);
        }
    }

    #[test]
    fn acts_are_told_with_their_status() {
        for (act_, status, said) in [
            ("succeeded", Some(201), "Settled as succeeded with 201"),
            ("did_not_happen", None, "Settled as not happened"),
            ("try_again", None, "Let run once more"),
            (
                "late_final",
                Some(200),
                "Late answer with 200 from the origin",
            ),
            ("something_new", None, "something_new"),
        ] {
            let entry = serde_json::json!({
                "at": 0, "who": "kim", "act": act_, "status": status, "operation": "op", "tenant": "acme",
                "route": "orders", "key": "key", "reason": "", "before": "", "after": "",
            });
            let entry: AuditEntry = serde_json::from_value(entry).unwrap();
            assert_eq!(act(&entry), said);
        }
        assert_eq!(
            (who("kim"), who("probe")),
            ("kim", "the origin, when asked")
        );
    }

    #[test]
    fn fragments_become_sentences() {
        for (fragment, shown) in [
            ("", ""),
            ("no answer within 5 s", "No answer within 5 s."),
            ("Sign in again.", "Sign in again."),
            ("\u{e4}hnlich?", "\u{e4}hnlich?"),
        ] {
            assert_eq!(sentence(fragment), shown);
        }
    }
}
