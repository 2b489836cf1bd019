//! What is counted, and how sums of several objects become one.
//!
//! Not live state (how many records there are now), which is asked of the store, and not the text format.
//! Sums only ever rise (P8), so the difference of two is what happened between them.

use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// How a call ended. Every call lands in exactly one: the published partition (P8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// Its work ran and the outcome is kept.
    Applied,
    /// Answered from the record.
    Replayed,
    /// The same request was still running.
    Conflict,
    /// The key named another request.
    Mismatch,
    /// It did not run: nothing is kept.
    Released,
    /// A webhook's work failed: nothing is kept, the next delivery runs.
    Failed,
    /// Nobody knows the outcome.
    Unknown,
    /// The key was older than the memory of it.
    Expired,
    /// Refused before any record was looked at.
    Refused,
    /// Passed on without protection.
    Unprotected,
    /// Its attempt had been taken over: what it brought changed nothing.
    Superseded,
}

/// The sums over the calls of one object, or of several.
///
/// This is also their form at rest: JSON, in which a field that is missing is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sums {
    /// [`Call::Applied`].
    pub applied: u64,
    /// [`Call::Replayed`].
    pub replayed: u64,
    /// [`Call::Conflict`].
    pub conflicts: u64,
    /// [`Call::Mismatch`].
    pub mismatches: u64,
    /// [`Call::Released`].
    pub released: u64,
    /// [`Call::Failed`].
    pub failed: u64,
    /// [`Call::Unknown`].
    pub unknown: u64,
    /// [`Call::Expired`].
    pub expired: u64,
    /// [`Call::Refused`].
    pub refused: u64,
    /// [`Call::Unprotected`].
    pub unprotected: u64,
    /// [`Call::Superseded`].
    pub superseded: u64,
    /// Of the refused and the unprotected: those that brought no key.
    pub keys_missing: u64,
    /// Of the replayed: webhook deliveries with another body under the same event id (F5).
    pub changed: u64,
    /// Attempts that took over from an unknown one (L3).
    pub takeovers: u64,
    /// Operations that an operator settled (U6).
    pub settled_by_operator: u64,
    /// Operations that the origin settled when it was asked (U3).
    pub settled_by_probe: u64,
    /// What the resolver sent or asked by itself (U5).
    pub resolver_sends: u64,
    /// Operations that the resolver gave up: from then on they need a person (U5).
    pub resolver_gave_up: u64,
    /// Final reports of attempts that had been fenced off, kept as evidence (L3).
    pub late_finals: u64,
    /// Of these: those that contradict a release or a settlement.
    pub contradictions: u64,
    /// How old keys that carry a timestamp were when they came.
    pub key_age: Histogram<KEY_AGE_BUCKETS>,
    /// How long origins took.
    pub origin_latency: Histogram<LATENCY_BUCKETS>,
}

/// How many bounds [`KEY_AGE_BOUNDS`] has.
pub const KEY_AGE_BUCKETS: usize = 8;
/// How many bounds [`LATENCY_BOUNDS`] has.
pub const LATENCY_BUCKETS: usize = 9;

/// Upper bounds of the key ages, inclusive: a retry within seconds, minutes, an offline queue's hours and days.
pub const KEY_AGE_BOUNDS: [Millis; KEY_AGE_BUCKETS] = [
    Millis::from_secs(1),
    Millis::from_secs(10),
    Millis::from_mins(1),
    Millis::from_mins(10),
    Millis::from_hours(1),
    Millis::from_hours(24),
    Millis::from_hours(72),
    Millis::from_hours(168),
];

/// Upper bounds of the origins' latencies, inclusive.
pub const LATENCY_BOUNDS: [Millis; LATENCY_BUCKETS] = [
    Millis::new(10),
    Millis::new(50),
    Millis::new(100),
    Millis::new(250),
    Millis::new(500),
    Millis::from_secs(1),
    Millis::from_secs(5),
    Millis::from_secs(10),
    Millis::from_secs(25),
];

/// Upper bounds of the ages of what is stuck or unknown, inclusive; S1 pages at five minutes and an hour.
pub const AGE_BOUNDS: [Millis; 5] = [
    Millis::from_mins(1),
    Millis::from_mins(5),
    Millis::from_hours(1),
    Millis::from_hours(24),
    Millis::from_hours(168),
];

/// Observations by upper bound, and their sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram<const N: usize> {
    /// How many fell within each bound and above the one before; the last is above all bounds.
    within: [u64; N],
    above: u64,
    sum_ms: u64,
}

impl Sums {
    /// Counts one call.
    pub const fn count(&mut self, call: Call) {
        let sum = match call {
            Call::Applied => &mut self.applied,
            Call::Replayed => &mut self.replayed,
            Call::Conflict => &mut self.conflicts,
            Call::Mismatch => &mut self.mismatches,
            Call::Released => &mut self.released,
            Call::Failed => &mut self.failed,
            Call::Unknown => &mut self.unknown,
            Call::Expired => &mut self.expired,
            Call::Refused => &mut self.refused,
            Call::Unprotected => &mut self.unprotected,
            Call::Superseded => &mut self.superseded,
        };
        *sum += 1;
    }

    /// All calls: the sum of the partition (P8).
    #[must_use]
    pub fn calls(&self) -> u64 {
        wire_counts(self).calls()
    }

    /// Adds what another object counted.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, u64::saturating_add);
    }

    /// What came since `earlier`, which is an older state of the same sums.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = self.clone();
        difference.combine(earlier, u64::saturating_sub);
        difference
    }

    fn combine(&mut self, other: &Self, with: fn(u64, u64) -> u64) {
        for (mine, theirs) in [
            (&mut self.applied, other.applied),
            (&mut self.replayed, other.replayed),
            (&mut self.conflicts, other.conflicts),
            (&mut self.mismatches, other.mismatches),
            (&mut self.released, other.released),
            (&mut self.failed, other.failed),
            (&mut self.unknown, other.unknown),
            (&mut self.expired, other.expired),
            (&mut self.refused, other.refused),
            (&mut self.unprotected, other.unprotected),
            (&mut self.superseded, other.superseded),
            (&mut self.keys_missing, other.keys_missing),
            (&mut self.changed, other.changed),
            (&mut self.takeovers, other.takeovers),
            (&mut self.settled_by_operator, other.settled_by_operator),
            (&mut self.settled_by_probe, other.settled_by_probe),
            (&mut self.resolver_sends, other.resolver_sends),
            (&mut self.resolver_gave_up, other.resolver_gave_up),
            (&mut self.late_finals, other.late_finals),
            (&mut self.contradictions, other.contradictions),
        ] {
            *mine = with(*mine, theirs);
        }
        self.key_age.combine(&other.key_age, with);
        self.origin_latency.combine(&other.origin_latency, with);
    }
}

/// What became of unknown outcomes, and what came too late.
#[must_use]
pub const fn settled_counts(sums: &Sums) -> crate::wire::SettledCounts {
    crate::wire::SettledCounts {
        by_operator: sums.settled_by_operator,
        by_probe: sums.settled_by_probe,
        resolver_sends: sums.resolver_sends,
        resolver_gave_up: sums.resolver_gave_up,
        late_finals: sums.late_finals,
        contradictions: sums.contradictions,
    }
}

/// The published partition of these sums.
#[must_use]
pub const fn wire_counts(sums: &Sums) -> crate::wire::Counts {
    crate::wire::Counts {
        applied: sums.applied,
        replayed: sums.replayed,
        conflicts: sums.conflicts,
        mismatches: sums.mismatches,
        released: sums.released,
        failed: sums.failed,
        unknown: sums.unknown,
        expired: sums.expired,
        refused: sums.refused,
        unprotected: sums.unprotected,
        superseded: sums.superseded,
    }
}

impl<const N: usize> Default for Histogram<N> {
    fn default() -> Self {
        Self {
            within: [0; N],
            above: 0,
            sum_ms: 0,
        }
    }
}

impl<const N: usize> Histogram<N> {
    /// Takes in one observation, with the bounds that belong to this histogram.
    fn observe_within(&mut self, value: Millis, bounds: &[Millis; N]) {
        self.sum_ms = self.sum_ms.saturating_add(value.get());
        let slot = bounds
            .iter()
            .zip(&mut self.within)
            .find(|(bound, _)| value <= **bound);
        match slot {
            Some((_, count)) => *count += 1,
            None => self.above += 1,
        }
    }

    /// How many observations there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.within.iter().sum::<u64>() + self.above
    }

    /// The sum of all observations.
    #[must_use]
    pub const fn sum(&self) -> Millis {
        Millis::new(self.sum_ms)
    }

    /// For each bound, how many observations were at most that: the form of `OpenMetrics`' `le`.
    #[must_use]
    pub fn cumulative(&self) -> [u64; N] {
        let mut sum = 0;
        self.within.map(|count| {
            sum += count;
            sum
        })
    }

    fn combine(&mut self, other: &Self, with: fn(u64, u64) -> u64) {
        for (mine, theirs) in self.within.iter_mut().zip(other.within) {
            *mine = with(*mine, theirs);
        }
        self.above = with(self.above, other.above);
        self.sum_ms = with(self.sum_ms, other.sum_ms);
    }
}

impl Histogram<KEY_AGE_BUCKETS> {
    /// Takes in one key's age.
    pub fn observe(&mut self, age: Millis) {
        self.observe_within(age, &KEY_AGE_BOUNDS);
    }
}

impl Histogram<LATENCY_BUCKETS> {
    /// Takes in one answer's latency.
    pub fn observe(&mut self, latency: Millis) {
        self.observe_within(latency, &LATENCY_BOUNDS);
    }
}

/// At rest a histogram is `[sum_ms, above, within…]`; bounds that were added since have counted nothing.
impl<const N: usize> Serialize for Histogram<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq([self.sum_ms, self.above].iter().chain(&self.within))
    }
}

impl<'de, const N: usize> Deserialize<'de> for Histogram<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut numbers = alloc::vec::Vec::<u64>::deserialize(deserializer)?.into_iter();
        let (sum_ms, above) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let within = core::array::from_fn(|_| numbers.next().unwrap_or(0));
        Ok(Self {
            within,
            above,
            sum_ms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Call; 11] = [
        Call::Applied,
        Call::Replayed,
        Call::Conflict,
        Call::Mismatch,
        Call::Released,
        Call::Failed,
        Call::Unknown,
        Call::Expired,
        Call::Refused,
        Call::Unprotected,
        Call::Superseded,
    ];

    #[test]
    fn every_call_lands_in_exactly_one_sum_p8() {
        let mut sums = Sums::default();
        for (times, call) in ALL.into_iter().enumerate() {
            let before = sums.calls();
            sums.count(call);
            assert_eq!(sums.calls(), before + 1, "{call:?} is call number {times}");
        }
        assert_eq!(sums.applied, 1);
        assert_eq!(sums.superseded, 1);
    }

    #[test]
    fn sums_add_up_and_differ_by_what_came_between() {
        let mut earlier = Sums::default();
        earlier.count(Call::Applied);
        earlier.key_age.observe(Millis::from_secs(2));
        let mut later = earlier.clone();
        later.count(Call::Replayed);
        later.changed += 1;
        later.origin_latency.observe(Millis::from_hours(1));
        let between = later.since(&earlier);
        assert_eq!(
            (between.applied, between.replayed, between.changed),
            (0, 1, 1)
        );
        assert_eq!(
            (between.key_age.count(), between.origin_latency.count()),
            (0, 1)
        );
        let mut again = earlier;
        again.add(&between);
        assert_eq!(again, later);
    }

    #[test]
    fn a_histogram_counts_a_bound_within_and_what_is_above_all_bounds() {
        let mut ages = Histogram::<KEY_AGE_BUCKETS>::default();
        for age in [0, 1_000, 1_001, u64::MAX] {
            ages.observe(Millis::new(age));
        }
        assert_eq!(ages.cumulative(), [2, 3, 3, 3, 3, 3, 3, 3]);
        assert_eq!(ages.count(), 4);
        assert_eq!(
            ages.sum(),
            Millis::new(u64::MAX),
            "a sum stops, it does not start again"
        );
    }

    #[test]
    fn the_form_at_rest_is_pinned_and_tolerant() {
        let mut sums = Sums::default();
        sums.count(Call::Applied);
        sums.origin_latency.observe(Millis::new(7));
        assert_eq!(
            serde_json::to_string(&sums).unwrap(),
            r#"{"applied":1,"replayed":0,"conflicts":0,"mismatches":0,"released":0,"failed":0,"unknown":0,"#
                .to_owned()
                + r#""expired":0,"refused":0,"unprotected":0,"superseded":0,"keys_missing":0,"changed":0,"takeovers":0,"settled_by_operator":0,"#
                + r#""settled_by_probe":0,"resolver_sends":0,"resolver_gave_up":0,"late_finals":0,"contradictions":0,"#
                + r#""key_age":[0,0,0,0,0,0,0,0,0,0],"origin_latency":[7,0,1,0,0,0,0,0,0,0,0]}"#
        );
        let old: Sums =
            serde_json::from_str(r#"{"applied":3,"key_age":[5,1,2],"later":1}"#).unwrap();
        assert_eq!((old.applied, old.key_age.count(), old.replayed), (3, 3, 0));
    }

    use alloc::borrow::ToOwned;
}
