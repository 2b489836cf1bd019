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
    /// The status of the outcome, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_status: Option<u16>,
    /// The outcome, once there is one. A retry with the same key gives its body as bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeView>,
    /// Why the outcome is unknown, if it is, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// What a retry will meet now, in a sentence.
    #[serde(default)]
    pub next: String,
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
    /// What became of unknown outcomes over the asked range.
    #[serde(default)]
    pub settled: SettledCounts,
    /// How many objects did not answer; their numbers are missing from the sums.
    #[serde(default)]
    pub objects_silent: u32,
}

/// What became of unknown outcomes, and what came too late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettledCounts {
    /// Settled by an operator (U6).
    pub by_operator: u64,
    /// Settled by the origin, when it was asked (U3).
    pub by_probe: u64,
    /// Sent or asked by the resolver (U5).
    pub resolver_sends: u64,
    /// Given up by the resolver: they need a person.
    pub resolver_gave_up: u64,
    /// Final reports of attempts that had been fenced off, kept as evidence (L3).
    pub late_finals: u64,
    /// Of these: those that contradict a release or a settlement. Each wants a person's eyes.
    pub contradictions: u64,
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
    /// Of these: those that nothing happens to by itself (U5).
    pub needs_a_person: u64,
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
    /// What is known of its unknown outcome, if it is unknown.
    #[serde(default)]
    pub unknown: Option<UnknownRow>,
}

/// What a list says of an unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownRow {
    /// Why, in a sentence.
    pub why: String,
    /// What the origin last said, as one word that many share: a status such as `502`, or `timeout`, `broken-line`,
    /// `unknown`, `silence`, `recovery-point`.
    pub last_answer: String,
    /// How often the resolver has sent or asked.
    #[serde(default)]
    pub tries: u16,
    /// What happens to it by itself.
    pub next: NextStep,
    /// When that happens.
    #[serde(default)]
    pub due: Option<Timestamp>,
    /// Until when an attempt may still be working; before that nobody settles it.
    #[serde(default)]
    pub lease_until: Option<Timestamp>,
    /// How far the origin said it came.
    #[serde(default)]
    pub point: Option<String>,
    /// The origin's own name for what it made.
    #[serde(default)]
    pub reference: Option<String>,
}

/// What happens by itself to an operation whose outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextStep {
    /// The resolver sends it again, or asks the origin.
    Resolver,
    /// The origin is being asked right now.
    Asking,
    /// The next retry or delivery runs it.
    Retry,
    /// Nothing: a person has to settle it.
    Person,
}

/// `GET /_oncegate/operator/unknown`: what nobody knows, longest unknown first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownPage {
    /// The gateway's clock, so that ages do not depend on the reader's.
    #[serde(default)]
    pub now: Option<Timestamp>,
    /// How many there are that match.
    pub total: u64,
    /// The longest unknown of them.
    pub operations: Vec<OperationRow>,
    /// All that match but for the last answer, by what the origin last said.
    #[serde(default)]
    pub groups: Vec<AnswerGroup>,
    /// How many objects did not answer; their operations are missing.
    #[serde(default)]
    pub objects_silent: u32,
}

/// How many unknown outcomes there are after one last answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerGroup {
    /// [`UnknownRow::last_answer`].
    pub last_answer: String,
    /// How many.
    pub count: u64,
    /// Since when the oldest is unknown.
    pub oldest: Timestamp,
}

/// `POST /_oncegate/operator/settlements`: settles unknown outcomes, one or many (U6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)] // a slip of the pen must not settle more than was meant
pub struct Settlements {
    /// How they are settled.
    #[serde(rename = "as")]
    pub settle_as: SettleAs,
    /// Why; it is logged.
    pub reason: String,
    /// For `succeeded`: what every retry is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<GivenOutcome>,
    /// Which: their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<String>,
    /// Or which: all that match.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub matching: Option<Matching>,
    /// Says what would happen, and changes nothing.
    #[serde(default)]
    pub preview: bool,
}

/// How an unknown outcome is settled (U6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettleAs {
    /// It took effect: an outcome is given, which every retry is answered.
    Succeeded,
    /// It did not happen: the record is forgotten and the next request runs.
    DidNotHappen,
    /// It may run once more, whatever the route says.
    TryAgain,
}

/// An outcome as an operator gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)] // a slip of the pen must not settle more than was meant
pub struct GivenOutcome {
    /// The status, 200 to 599.
    pub status: u16,
    /// The media type of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The body, as text.
    #[serde(default)]
    pub body: String,
}

/// Which unknown outcomes to settle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Matching {
    /// Only this tenant's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Only this route's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Only those after which the origin last said this; see [`UnknownRow::last_answer`].
    pub last_answer: String,
}

/// The answer to [`Settlements`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettlementsDone {
    /// What became, or would become, of each.
    pub results: Vec<SettlementResult>,
    /// Whether more match than were taken at once: send it again.
    #[serde(default)]
    pub more: bool,
    /// How many objects did not answer; what they keep is not settled.
    #[serde(default)]
    pub objects_silent: u32,
}

/// What became of one operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettlementResult {
    /// Its id.
    pub operation: String,
    /// Its key, where there is a record.
    #[serde(default)]
    pub key: String,
    /// What became of it.
    pub result: SettlementWord,
    /// What follows, or why not, in a sentence.
    pub detail: String,
}

/// What became of one operation, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettlementWord {
    /// It is settled, or would be.
    Settled,
    /// An attempt may still be working: refused until its lease is over.
    Running,
    /// Its outcome is known, or there is no record of it.
    NothingToSettle,
    /// The object that keeps it did not do it.
    Failed,
}

/// `GET /_oncegate/operator/audit`: what was settled and what came late, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPage {
    /// The gateway's clock, so that ages do not depend on the reader's.
    #[serde(default)]
    pub now: Option<Timestamp>,
    /// At most a page of them.
    pub entries: Vec<AuditEntry>,
    /// What to pass as `before` for the next page; none on the last.
    #[serde(default)]
    pub next: Option<String>,
    /// How many objects did not answer; their entries are missing.
    #[serde(default)]
    pub objects_silent: u32,
}

/// One entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// Who: an operator's name, `probe`, or `attempt`.
    pub who: String,
    /// What: `succeeded`, `did_not_happen`, `try_again` or `late_final`.
    pub act: String,
    /// The status that was given or reported, where there was one.
    #[serde(default)]
    pub status: Option<u16>,
    /// Whether a late report contradicts a release or a settlement.
    #[serde(default)]
    pub contradicts: bool,
    /// The operation's id.
    pub operation: String,
    /// Whose.
    pub tenant: String,
    /// Through which route.
    pub route: String,
    /// The idempotency key or event id.
    pub key: String,
    /// Why, in the operator's words.
    pub reason: String,
    /// Where it stood before.
    pub before: String,
    /// Where it stood after.
    pub after: String,
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
    /// By whose word the outcome is known: `attempt`, `probe` or `operator`.
    #[serde(default)]
    pub settled_by: Option<String>,
    /// How far the origin said it came, and what it keeps with it.
    #[serde(default)]
    pub point: Option<PointView>,
    /// The origin's own name for what it made.
    #[serde(default)]
    pub reference: Option<String>,
    /// What was logged of it, oldest first.
    #[serde(default)]
    pub log: Vec<AuditEntry>,
}

/// A recovery point (L5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointView {
    /// Its name.
    pub name: String,
    /// What the origin keeps with it, as text.
    pub data: String,
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

#[cfg(test)]
mod tests;
