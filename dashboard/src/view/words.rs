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
        RouteKind::Api => "another request with this key: refused (422)",
        RouteKind::Webhook => "changed on redelivery: taken as a duplicate",
    }
}
