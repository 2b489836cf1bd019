//! What one seed stands for before its first step: the route's promise, the origin behind it, and how bad the day is.
//!
//! Not the steps themselves (`world`). A day on which all goes wrong at once hides what happens when one thing does,
//! so each fault has a rate of its own, and many days have none of it.

use fastrand::Rng;
use shared::policy::{Kind, OnUnknown, Policy, PolicyParts, Retention};
use shared::time::Millis;

pub(crate) const LEASE: Millis = Millis::from_secs(30);
/// How long a Worker waits for the origin; with the margin it is within the lease (L2).
pub(crate) const TIMEOUT: Millis = Millis::from_secs(20);

/// What a seed decides once.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) policy: Policy,
    pub(crate) origin: OriginKind,
    /// Whether the keys tell when they were made (K5).
    pub(crate) keys_tell_their_age: bool,
    pub(crate) faults: Faults,
}

/// Which promise the origin keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginKind {
    /// One effect for each operation id, whatever it is sent.
    Deduping,
    /// It runs what it is sent, tells the truth, and refuses an attempt that it once denied.
    Fencing,
    /// It runs what it is sent, and tells the truth.
    Plain,
    /// It says *not run* of what it did, now and then.
    Lying,
}

/// Rates in percent of the occasions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Faults {
    /// Messages that never arrive: half of them *not done*, half *done but unheard*.
    pub(crate) lost: u8,
    /// Messages that arrive twice.
    pub(crate) doubled: u8,
    /// Messages that take seconds or longer than a lease.
    pub(crate) slow: u8,
    /// Steps at which a Worker dies.
    pub(crate) worker_dies: u8,
    /// Steps at which an object loses its memory.
    pub(crate) object_dies: u8,
    /// Alarms that come late, twice, or never.
    pub(crate) alarm: u8,
    /// Runs at the origin that do not end well.
    pub(crate) origin: u8,
    /// Runs at the origin that take longer than anybody waits.
    pub(crate) origin_slow: u8,
    /// Steps at which what is on its way arrives, and nobody acts anew.
    pub(crate) arrivals: u8,
    /// Acts at which everybody stands still for a while, and what is on its way comes late.
    pub(crate) standstills: u8,
    /// Acts of operators.
    pub(crate) operators: u8,
}

impl Plan {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let (kind, on_unknown, origin) = promise(rng);
        let mut parts = PolicyParts::defaults(kind, on_unknown);
        parts.lease = LEASE;
        parts.max_lease = Millis::from_secs(if rng.bool() { 90 } else { 30 });
        parts.resolve_after = Millis::from_secs(rng.u64(5..120));
        parts.resolve_tries = rng.u16(0..4);
        let retention = Millis::from_mins(if rng.bool() { 4 } else { 120 });
        parts.retention = Retention::of(retention).unwrap();
        let mut rate = |most: u8| if rng.bool() { rng.u8(0..=most) } else { 0 };
        let faults = Faults {
            lost: rate(30),
            doubled: rate(40),
            slow: rate(30),
            worker_dies: rate(6),
            object_dies: rate(4),
            alarm: rate(50),
            origin: 20 + rate(70),
            origin_slow: 5 + rate(60),
            arrivals: 75 + rate(20),
            standstills: rate(16),
            operators: 10 + rate(25),
        };
        Self {
            policy: Policy::new(parts).unwrap(),
            origin,
            keys_tell_their_age: rng.u8(0..4) == 0,
            faults,
        }
    }

    /// Whether what the origin says of itself is true.
    pub(crate) fn is_truthful(&self) -> bool {
        self.origin != OriginKind::Lying
    }

    /// Whether an effect may happen once only, unless a person lets it happen again (G, U3).
    pub(crate) fn promises_one_effect(&self) -> bool {
        self.is_truthful() && self.policy.on_unknown() != OnUnknown::Rerun
    }
}

/// The pairs of a promise and an origin that make sense, and each of them with one that lies.
fn promise(rng: &mut Rng) -> (Kind, OnUnknown, OriginKind) {
    let kind = if rng.u8(0..5) == 0 {
        Kind::Webhook
    } else {
        Kind::Api
    };
    let (kind, on_unknown, origin) = match rng.u8(0..7) {
        0 | 1 => (kind, OnUnknown::Park, OriginKind::Plain),
        2 | 3 => (kind, OnUnknown::Resume, OriginKind::Deduping),
        4 | 5 => (kind, OnUnknown::Probe, OriginKind::Fencing),
        _ => (Kind::Webhook, OnUnknown::Rerun, OriginKind::Plain),
    };
    let lies = rng.u8(0..10) == 0 && origin != OriginKind::Deduping;
    (
        kind,
        on_unknown,
        if lies { OriginKind::Lying } else { origin },
    )
}
