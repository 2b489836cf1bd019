//! What states and endings are called on the page.

use shared::wire::{AttemptEnding, RouteKind};

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

/// A fragment such as problems' details, as a sentence of its own.
pub(crate) fn sentence(fragment: &str) -> String {
    let mut letters = fragment.trim().chars();
    let mut sentence: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect();
    if !sentence.is_empty() && !sentence.ends_with(['.', '!', '?', ':']) {
        sentence.push('.');
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_become_sentences() {
        for (fragment, shown) in [
            ("", ""),
            ("no answer within 5 s", "No answer within 5 s."),
            ("Sign in again.", "Sign in again."),
            ("\u{e4}hnlich?", "\u{c4}hnlich?"),
        ] {
            assert_eq!(sentence(fragment), shown);
        }
    }
}
