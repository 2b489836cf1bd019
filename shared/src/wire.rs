//! The forms in which the gateway speaks to the dashboard, to clients and to scripts: JSON over HTTP.
//!
//! Not the forms at rest (`stored`), and not the rule's own types: these are versioned by being tolerant
//! (unknown fields are passed over, new ones have defaults) and pinned by literals below.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// Where an operation stands, as anyone outside may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationState {
    /// An attempt runs under a live lease.
    InProgress,
    /// Nobody knows what an attempt did (U2).
    Indeterminate,
    /// The outcome is kept and replayed.
    Completed,
}

/// Which kind of door an operation came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteKind {
    /// A mutating API request with an `Idempotency-Key`.
    Api,
    /// A webhook delivery with an event id.
    Webhook,
}

/// What an operator may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sees everything, changes nothing.
    Viewer,
    /// May do what changes state, too.
    Operator,
}

/// `POST /_oncegate/operator/login`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Login {
    /// The operator's token, as it was handed out.
    pub token: String,
}

/// `GET /_oncegate/operator/session`: who is signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// What the session may do.
    pub role: Role,
    /// Who it is, as the log of changes names them.
    #[serde(default)]
    pub name: String,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

/// `GET /_oncegate/operations/{id}` and `?route=`: what a client may know of its own operation (A3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationStatus {
    /// The operation's id.
    pub operation: String,
    /// The route's name.
    pub route: String,
    /// Where it stands.
    pub state: OperationState,
    /// Since when it stands there.
    pub since: Timestamp,
    /// When the record goes, for a completed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The status of the outcome, once there is one. A retry with the same key gives all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_status: Option<u16>,
}

/// `GET /_oncegate/operator/overview`: everything that the first page shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// The moment these numbers speak of.
    pub now: Timestamp,
    /// The sums over the asked range, all objects that match the filter together.
    pub totals: Counts,
    /// The same by (tenant, route), largest first.
    #[serde(default)]
    pub by_route: Vec<RouteCounts>,
    /// The same over time, oldest first, evenly spaced; `step_ms` apart.
    #[serde(default)]
    pub series: Vec<Point>,
    /// The distance between two points of the series, in milliseconds.
    #[serde(default)]
    pub step_ms: u64,
    /// Live state, not a sum.
    pub live: Live,
    /// All tenants that were ever seen, for the filter.
    #[serde(default)]
    pub tenants: Vec<String>,
    /// All configured routes, for the filter.
    #[serde(default)]
    pub routes: Vec<String>,
    /// Exceptions that routes took (G), with those past their `until` flagged.
    #[serde(default)]
    pub exceptions: Vec<Exception>,
    /// How many objects did not answer; their numbers are missing from the sums.
    #[serde(default)]
    pub objects_silent: u32,
}

/// Calls by how they ended: the published partition (P8). Only ever rises, so a difference is a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Work that ran and whose outcome was kept.
    pub applied: u64,
    /// Answered from the record.
    pub replayed: u64,
    /// Refused because the same request was still running (409, or 503 to a webhook sender).
    pub conflicts: u64,
    /// Refused because the key named another request (422).
    pub mismatches: u64,
    /// Ran and did not take effect: the origin said so, nothing is kept.
    pub released: u64,
    /// Webhooks that the origin answered with a failure; the next delivery runs again.
    pub failed: u64,
    /// Ended with nobody knowing the outcome, or met an operation in that state.
    pub unknown: u64,
    /// Refused because the key was older than the retention (410).
    pub expired: u64,
    /// Refused before any record was looked at: missing or malformed key, too large.
    pub refused: u64,
    /// Passed on without protection.
    pub unprotected: u64,
    /// Answers of attempts that had been taken over (L3).
    pub superseded: u64,
}

impl Counts {
    /// All calls: the sum of the partition.
    #[must_use]
    pub fn calls(&self) -> u64 {
        [
            self.applied,
            self.replayed,
            self.conflicts,
            self.mismatches,
            self.released,
            self.failed,
            self.unknown,
            self.expired,
            self.refused,
            self.unprotected,
            self.superseded,
        ]
        .iter()
        .sum()
    }
}

/// One row of the overview's table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteCounts {
    /// Whose calls.
    pub tenant: String,
    /// Through which route.
    pub route: String,
    /// How they ended, over the asked range.
    pub counts: Counts,
    /// Redeliveries with another body under the same event id (F5), over the asked range.
    #[serde(default)]
    pub changed: u64,
    /// Attempts that took over after a lease (L3), over the asked range.
    #[serde(default)]
    pub takeovers: u64,
    /// Live state.
    pub live: Live,
}

/// State, not history: it goes up and down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Live {
    /// Records kept.
    pub tracked: u64,
    /// Attempts under a live lease.
    pub running: u64,
    /// Attempts whose lease ran out with no word of how they ended.
    pub stuck: u64,
    /// When the oldest of those began.
    pub stuck_oldest: Option<Timestamp>,
    /// Operations whose outcome nobody knows.
    pub unknown: u64,
    /// Since when the oldest of those is unknown.
    pub unknown_oldest: Option<Timestamp>,
}

/// One point of the chart: the calls of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The step's beginning.
    pub at: Timestamp,
    /// The calls within it.
    pub counts: Counts,
}

/// An exception that a route's configuration takes from the full promise (G).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exception {
    /// The route.
    pub route: String,
    /// What is excepted, in words.
    pub what: String,
    /// Why.
    pub reason: String,
    /// Until when it was granted.
    pub until: Timestamp,
    /// Whether that moment is past.
    pub overdue: bool,
}

/// `GET /_oncegate/operator/operations`: newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationPage {
    /// The gateway's clock, so that ages do not depend on the reader's.
    #[serde(default)]
    pub now: Option<Timestamp>,
    /// At most a page of them.
    pub operations: Vec<OperationRow>,
    /// What to pass as `cursor` for the next page; none on the last.
    #[serde(default)]
    pub next: Option<String>,
    /// How many objects did not answer; their operations are missing.
    #[serde(default)]
    pub objects_silent: u32,
}

/// One operation in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRow {
    /// The operation's id.
    pub id: String,
    /// Whose.
    pub tenant: String,
    /// Through which route.
    pub route: String,
    /// An API request or a webhook.
    pub kind: RouteKind,
    /// The idempotency key or event id.
    pub key: String,
    /// Where it stands.
    pub state: OperationState,
    /// Whether the lease of an attempt ran out with no word of how it ended.
    #[serde(default)]
    pub stuck: bool,
    /// When the key was first claimed.
    pub created_at: Timestamp,
    /// Since when it stands where it stands.
    pub since: Timestamp,
    /// How many attempts this record has seen.
    pub attempts: u32,
    /// The outcome's status, once there is one.
    #[serde(default)]
    pub status: Option<u16>,
}

/// `GET /_oncegate/operator/operations/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationDetail {
    /// The gateway's clock, so that ages do not depend on the reader's.
    #[serde(default)]
    pub now: Option<Timestamp>,
    /// What the list shows too.
    pub row: OperationRow,
    /// The fingerprint that the key is bound to, as `v1:<hex>`.
    pub fingerprint: String,
    /// Other fingerprints that came under the same key, oldest first: 422 for an API request, changed on redelivery for a
    /// webhook (F5). Bounded.
    #[serde(default)]
    pub others: Vec<OtherFingerprint>,
    /// The attempts, oldest first; the newest ones when there were more than are kept.
    pub attempts: Vec<Attempt>,
    /// Until when the current or last attempt's lease runs or ran.
    #[serde(default)]
    pub lease_until: Option<Timestamp>,
    /// Why the outcome is unknown, if it is.
    #[serde(default)]
    pub unknown: Option<UnknownView>,
    /// What a retry will meet now, in a sentence.
    pub next: String,
    /// When the record is forgotten; none while it is not settled or kept forever.
    #[serde(default)]
    pub expires_at: Option<Timestamp>,
    /// The stored answer, once there is one.
    #[serde(default)]
    pub outcome: Option<OutcomeView>,
    /// Whether an earlier attempt may have had its effect too.
    #[serde(default)]
    pub may_have_run_twice: bool,
}

/// Another request that came under the same key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherFingerprint {
    /// `v1:<hex>`.
    pub fingerprint: String,
    /// When it was first seen.
    pub first_at: Timestamp,
}

/// One attempt at the origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number, as the origin saw it.
    pub number: u64,
    /// When it was claimed.
    pub started_at: Timestamp,
    /// When its end became known; none while it runs.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    pub ending: AttemptEnding,
    /// The origin's status, where there was one.
    #[serde(default)]
    pub status: Option<u16>,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnding {
    /// It has not.
    Running,
    /// With an outcome that is kept.
    Completed,
    /// It did not run: the origin said so.
    Released,
    /// Nobody knows.
    Unknown,
    /// Its lease ran out with no word.
    LeaseRanOut,
}

/// Why an outcome is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownView {
    /// Since when.
    pub since: Timestamp,
    /// The attempt after which nobody knew.
    pub number: u64,
    /// Why, in a sentence.
    pub why: String,
}

/// The stored answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeView {
    /// The status.
    pub status: u16,
    /// The stored headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body's size in bytes.
    pub body_bytes: u64,
    /// The beginning of the body as text; none when it is not text or was too large to keep.
    #[serde(default)]
    pub body_text: Option<String>,
    /// Whether `body_text` stops before the body's end.
    #[serde(default)]
    pub body_cut: bool,
    /// Whether the body was too large to keep (A2).
    #[serde(default)]
    pub body_omitted: bool,
}

/// RFC 9457, as every refusal of the gateway is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemDocument {
    /// A page that explains the code.
    #[serde(rename = "type")]
    pub type_: String,
    /// The code in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What was wrong this time, and what would do.
    pub detail: String,
    /// The code, for programs.
    pub code: String,
    /// The operation it is about, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// Whether and how to retry: `same-key`, `new-key` or `never`.
    pub retry: String,
}
