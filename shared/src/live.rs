//! What is so now, as opposed to what was counted: how many records there are, and how old what hangs is.
//!
//! Not sums over time (`metrics`): these numbers rise and fall (P8).

use serde::{Deserialize, Serialize};

use crate::metrics::AGE_BOUNDS;
use crate::policy::OnUnknown;
use crate::present::is_stuck;
use crate::record::{Record, State};
use crate::time::Timestamp;
use crate::wire;

/// How many age buckets there are: one within each of [`AGE_BOUNDS`], and one above them all.
pub const AGE_BUCKETS: usize = AGE_BOUNDS.len() + 1;

/// The names of the age buckets, as metrics label them.
pub const AGE_NAMES: [&str; AGE_BUCKETS] = ["1m", "5m", "1h", "24h", "7d", "over_7d"];

/// The records of one object, or of several, as they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveState {
    /// Records kept.
    pub tracked: u64,
    /// Attempts under a live lease.
    pub running: u64,
    /// Those of the unknown whose lease ran out with no word.
    pub stuck: Ages,
    /// Operations whose outcome nobody knows.
    pub unknown: Ages,
    /// Of these: those that nothing happens to by itself (U5).
    pub needs_a_person: u64,
}

/// How many there are of something by age, and since when the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ages {
    /// How many fell within each bucket.
    pub counts: [u64; AGE_BUCKETS],
    /// Since when the oldest is what it is.
    pub oldest: Option<Timestamp>,
}

impl LiveState {
    /// Takes in one record that is not completed; `tracked` is counted apart, since it needs no look at them.
    pub fn observe(&mut self, record: &Record, on_unknown: OnUnknown, now: Timestamp) {
        match record.unknown(now) {
            Some(unknown) => {
                self.unknown.observe(unknown.since, now);
                self.needs_a_person += u64::from(record.needs_a_person(on_unknown));
                if is_stuck(record, now) {
                    self.stuck.observe(unknown.since, now);
                }
            }
            None => self.running += u64::from(matches!(record.state, State::InProgress { .. })),
        }
    }

    /// Adds what another object holds.
    pub fn add(&mut self, other: &Self) {
        self.tracked += other.tracked;
        self.running += other.running;
        self.stuck.add(&other.stuck);
        self.unknown.add(&other.unknown);
        self.needs_a_person += other.needs_a_person;
    }

    /// As the dashboard is told.
    #[must_use]
    pub fn to_wire(&self) -> wire::Live {
        wire::Live {
            tracked: self.tracked,
            running: self.running,
            stuck: self.stuck.count(),
            stuck_oldest: self.stuck.oldest,
            unknown: self.unknown.count(),
            unknown_oldest: self.unknown.oldest,
            needs_a_person: self.needs_a_person,
        }
    }
}

impl Ages {
    /// Takes in one that is so since `since`.
    pub fn observe(&mut self, since: Timestamp, now: Timestamp) {
        let age = now.since(since);
        let above = AGE_BOUNDS.iter().filter(|bound| age > **bound).count();
        if let Some(count) = self.counts.get_mut(above) {
            *count += 1;
        }
        self.see(Some(since));
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
        self.see(other.oldest);
    }

    fn see(&mut self, since: Option<Timestamp>) {
        self.oldest = match (self.oldest, since) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::fingerprint::{Fingerprint, RECIPE};
    use crate::record::{
        AttemptId, AttemptNumber, Body, Next, Outcome, SettledBy, Unknown, UnknownCause,
    };
    use crate::time::Millis;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);

    fn record(state: State) -> Record {
        Record {
            fingerprint: Fingerprint {
                recipe: RECIPE,
                digest: [7; 32],
            },
            attempt: AttemptId::from_bytes([1; 16]),
            number: AttemptNumber::new(1),
            created_at: NOW,
            state,
            unknown_before: None,
            history: vec![],
            superseded: vec![],
            point: None,
            reference: None,
            tries: 0,
        }
    }

    fn unknown(age: Millis, cause: UnknownCause) -> Record {
        let since = NOW.minus(age);
        let unknown = Unknown {
            since,
            cause,
            number: AttemptNumber::new(1),
        };
        record(State::Indeterminate {
            unknown,
            lease_until: NOW,
            next: Next::Nobody,
        })
    }

    #[test]
    fn a_record_is_running_or_unknown_and_perhaps_stuck() {
        let mut live = LiveState::default();
        live.observe(
            &record(State::InProgress {
                lease_until: NOW.plus(Millis::new(1)),
            }),
            OnUnknown::Park,
            NOW,
        );
        live.observe(
            &record(State::InProgress { lease_until: NOW }),
            OnUnknown::Park,
            NOW,
        );
        live.observe(
            &unknown(Millis::from_hours(2), UnknownCause::Timeout),
            OnUnknown::Park,
            NOW,
        );
        live.observe(
            &unknown(Millis::from_hours(1), UnknownCause::LeaseRanOut),
            OnUnknown::Rerun, // the next delivery runs it
            NOW,
        );
        let outcome = Outcome {
            status: 200,
            headers: vec![],
            body: Body::Kept(vec![]),
        };
        live.observe(
            &record(State::Completed {
                at: NOW,
                by: SettledBy::Attempt,
                expires_at: None,
                outcome,
            }),
            OnUnknown::Park,
            NOW,
        );
        let wire = live.to_wire();
        assert_eq!((wire.running, wire.stuck, wire.unknown), (1, 2, 3));
        assert_eq!(wire.needs_a_person, 1);
        assert_eq!(wire.stuck_oldest, Some(NOW.minus(Millis::from_hours(1))));
        assert_eq!(wire.unknown_oldest, Some(NOW.minus(Millis::from_hours(2))));
        assert_eq!(live.unknown.counts, [1, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn objects_add_up_and_the_oldest_stays_the_oldest() {
        let mut sum = LiveState {
            tracked: 2,
            ..LiveState::default()
        };
        sum.add(&LiveState::default());
        assert_eq!(sum.to_wire().unknown_oldest, None);
        let mut other = LiveState {
            tracked: 3,
            running: 1,
            ..LiveState::default()
        };
        other.observe(
            &unknown(Millis::from_hours(200), UnknownCause::OriginSaid),
            OnUnknown::Park,
            NOW,
        );
        sum.add(&other);
        other.unknown.oldest = Some(NOW);
        sum.add(&other);
        let wire = sum.to_wire();
        assert_eq!((wire.tracked, wire.running, wire.unknown), (8, 2, 2));
        assert_eq!(
            wire.unknown_oldest,
            Some(NOW.minus(Millis::from_hours(200)))
        );
        assert_eq!(sum.unknown.counts, [0, 0, 0, 0, 0, 2]);
    }
}
