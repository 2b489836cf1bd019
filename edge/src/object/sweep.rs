//! How fast the rotating sweep over completed records goes (R1).
//!
//! A round over all records takes about a tenth of the retention, so that a record outlives its time by no more than
//! that, in batches that a single alarm can do. What a late or slow round leaves behind is seen by nobody: expiry is
//! decided from the time at each read.

use shared::processor::Processor;
use shared::time::{Millis, Timestamp};

use crate::entropy;
use crate::sql::SqlError;
use crate::sql_store::SqlStore;

/// Records that one transaction looks at.
const BATCH: usize = 200;
/// Transactions that one alarm runs.
const BATCHES_MAX: u64 = 10;
/// The shortest pause between two alarms of the sweep.
const PAUSE_MIN: Millis = Millis::from_secs(1);
/// The longest, also where records are kept forever and only abandoned tokens are swept.
const PAUSE_MAX: Millis = Millis::from_hours(24);

/// When the sweep goes on.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// None while the object has not swept since it started.
    due: Option<Timestamp>,
}

impl Pace {
    /// Whether it is time. An object that was woken by its alarm does not know, and sweeps.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.due.is_none_or(|due| due <= now)
    }

    /// When it is time; nothing while that is not known.
    pub(crate) const fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// Looks at some batches and says when to go on.
    pub(crate) fn run(
        &mut self,
        processor: &mut Processor<SqlStore>,
        retention: Option<Millis>,
        now: Timestamp,
    ) -> Result<(), SqlError> {
        let records = processor.store().completed();
        let per_alarm = BATCHES_MAX * u64::try_from(BATCH).unwrap_or(u64::MAX);
        if self.due.is_none() && records > per_alarm {
            // The place of the last round went with the object's memory: go on anywhere.
            if let Ok(anywhere) = entropy::random() {
                processor.store().sweep_from(anywhere);
            }
        }
        for _ in 0..BATCHES_MAX {
            if processor.sweep(now, BATCH)?.round_ended {
                break;
            }
        }
        let records = processor.store().completed();
        self.due = Some(now.plus(pause(records, per_alarm, retention)));
        Ok(())
    }
}

fn pause(records: u64, per_alarm: u64, retention: Option<Millis>) -> Millis {
    let round = retention.map_or(PAUSE_MAX, |span| Millis::new(span.get() / 10));
    let alarms = records.div_ceil(per_alarm).max(1);
    Millis::new(round.get() / alarms).clamp(PAUSE_MIN, PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(records: u64, retention: Option<Millis>, expected: Millis) {
        assert_eq!(pause(records, 2_000, retention), expected);
    }

    #[test]
    fn a_round_takes_a_tenth_of_the_retention() {
        let retention = Some(Millis::from_hours(70));
        check(0, retention, Millis::from_hours(7));
        check(2_000, retention, Millis::from_hours(7));
        check(2_001, retention, Millis::from_mins(210));
        check(14_000, retention, Millis::from_hours(1));
        check(u64::MAX, retention, PAUSE_MIN);
        check(1, Some(Millis::new(5)), PAUSE_MIN);
        check(1, Some(Millis::from_hours(24_000)), PAUSE_MAX);
        check(1, None, PAUSE_MAX);
    }
}
