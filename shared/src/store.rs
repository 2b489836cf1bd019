//! The port to the place where records are kept, and its twin in memory.
//!
//! Not the rule: a store keeps and finds, and decides nothing. Calls are synchronous, so that load, decide and
//! save are one step with nothing between them. The safe direction to fail is to lose nothing that was saved;
//! a store that can't say whether it saved must answer with an error, and the caller then fails closed.

use crate::audit::Entry;
use crate::placement::KeyDigest;
use crate::record::{AttemptId, AttemptNumber, Record, State};
use crate::scope::OperationKey;
use crate::time::Timestamp;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

#[cfg(any(test, feature = "contract"))]
pub mod contract;

/// Where records are kept. One store holds the operations of one (tenant, route, shard).
pub trait RecordStore {
    /// Why the store could not do what was asked.
    type Error;

    /// Runs `work` so that all of its changes are kept or none.
    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Self::Error>,
    ) -> Result<T, Self::Error>;

    /// The record under this key, expired or not.
    fn load(&mut self, digest: &KeyDigest) -> Result<Option<Record>, Self::Error>;

    /// The key of which this is the digest, if there is a record under it.
    fn key(&mut self, digest: &KeyDigest) -> Result<Option<OperationKey>, Self::Error>;

    /// Keeps `record` in place of what was there. A `request` is kept beside it in place of one that was there, until the
    /// record is completed or forgotten (U5).
    fn save(
        &mut self,
        key: &OperationKey,
        record: &Record,
        request: Option<&[u8]>,
    ) -> Result<(), Self::Error>;

    /// The request that is kept beside the record.
    fn request(&mut self, digest: &KeyDigest) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Forgets the record, and remembers that `number` was given out (L4).
    fn forget(&mut self, digest: &KeyDigest, number: AttemptNumber) -> Result<(), Self::Error>;

    /// The highest attempt number of all records that were ever forgotten.
    fn floor(&mut self) -> Result<AttemptNumber, Self::Error>;

    /// Remembers until `until` that this token was given up (L7).
    fn abandon(&mut self, token: &AttemptId, until: Timestamp) -> Result<(), Self::Error>;

    /// Whether this token was given up.
    fn is_abandoned(&mut self, token: &AttemptId) -> Result<bool, Self::Error>;

    /// Up to `limit` records in progress whose lease ended at `now` or before.
    fn leases_run_out(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(OperationKey, Record)>, Self::Error>;

    /// Up to `limit` records whose outcome is unknown and that are due at `now` or before, longest due first (U5).
    fn unknown_due(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(OperationKey, Record)>, Self::Error>;

    /// The earliest moment at which a record is due ([`Record::due`]).
    fn next_due(&mut self) -> Result<Option<Timestamp>, Self::Error>;

    /// Appends to the log of what was settled and reported late (U6).
    fn log(&mut self, key: &OperationKey, entry: &Entry) -> Result<(), Self::Error>;

    /// What was logged of this operation, oldest first. It outlives the record.
    fn logged(&mut self, digest: &KeyDigest) -> Result<Vec<Entry>, Self::Error>;

    /// Looks at up to `batch` completed records, going on where the last call stopped, and forgets those that
    /// have expired (R1), with abandoned tokens whose time is over. A sweep is a place in a round over all records.
    fn sweep(&mut self, now: Timestamp, batch: usize) -> Result<Swept, Self::Error>;
}

/// What one call of [`RecordStore::sweep`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many records were looked at.
    pub looked_at: usize,
    /// How many of them had expired and are forgotten.
    pub forgotten: usize,
    /// Whether the round over all records ended; the next call starts a new one.
    pub round_ended: bool,
}

/// What the memory store fails with: only a transaction's own work can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the transaction's work gave up")]
pub struct GaveUp;

/// The store's twin in memory: for tests, the simulator, and processes that may forget all when they stop.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    kept: Kept,
    sweep_after: Option<KeyDigest>,
}

/// What a transaction keeps or gives back.
#[derive(Clone, Debug, Default)]
struct Kept {
    records: BTreeMap<KeyDigest, (OperationKey, Record)>,
    requests: BTreeMap<KeyDigest, Vec<u8>>,
    log: Vec<(KeyDigest, Entry)>,
    floor: AttemptNumber,
    abandoned: BTreeMap<AttemptId, Timestamp>,
}

impl MemoryStore {
    /// A store with nothing in it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many records are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.records.len()
    }

    /// Whether no record is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.records.is_empty()
    }
}

impl RecordStore for MemoryStore {
    type Error = GaveUp;

    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, GaveUp>,
    ) -> Result<T, GaveUp> {
        let before = self.kept.clone();
        let result = work(self);
        if result.is_err() {
            self.kept = before;
        }
        result
    }

    fn load(&mut self, digest: &KeyDigest) -> Result<Option<Record>, GaveUp> {
        Ok(self
            .kept
            .records
            .get(digest)
            .map(|(_, record)| record.clone()))
    }

    fn key(&mut self, digest: &KeyDigest) -> Result<Option<OperationKey>, GaveUp> {
        Ok(self.kept.records.get(digest).map(|(key, _)| key.clone()))
    }

    fn save(
        &mut self,
        key: &OperationKey,
        record: &Record,
        request: Option<&[u8]>,
    ) -> Result<(), GaveUp> {
        let digest = KeyDigest::of(key);
        if matches!(record.state, State::Completed { .. }) {
            self.kept.requests.remove(&digest);
        } else if let Some(request) = request {
            self.kept.requests.insert(digest, request.to_vec());
        }
        let entry = (key.clone(), record.clone());
        self.kept.records.insert(digest, entry);
        Ok(())
    }

    fn request(&mut self, digest: &KeyDigest) -> Result<Option<Vec<u8>>, GaveUp> {
        Ok(self.kept.requests.get(digest).cloned())
    }

    fn forget(&mut self, digest: &KeyDigest, number: AttemptNumber) -> Result<(), GaveUp> {
        self.kept.records.remove(digest);
        self.kept.requests.remove(digest);
        self.kept.floor = self.kept.floor.max(number);
        Ok(())
    }

    fn floor(&mut self) -> Result<AttemptNumber, GaveUp> {
        Ok(self.kept.floor)
    }

    fn abandon(&mut self, token: &AttemptId, until: Timestamp) -> Result<(), GaveUp> {
        self.kept.abandoned.insert(*token, until);
        Ok(())
    }

    fn is_abandoned(&mut self, token: &AttemptId) -> Result<bool, GaveUp> {
        Ok(self.kept.abandoned.contains_key(token))
    }

    fn leases_run_out(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(OperationKey, Record)>, GaveUp> {
        let run_out = self.kept.records.values().filter(|(_, record)| {
            matches!(record.state, State::InProgress { lease_until } if lease_until <= now)
        });
        Ok(run_out.take(limit).cloned().collect())
    }

    fn unknown_due(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(OperationKey, Record)>, GaveUp> {
        let records = self.kept.records.values().filter(|(_, record)| {
            matches!(record.state, State::Indeterminate { .. })
                && record.due().is_some_and(|due| due <= now)
        });
        let mut due: Vec<_> = records.cloned().collect();
        due.sort_by_key(|(_, record)| record.due());
        due.truncate(limit);
        Ok(due)
    }

    fn next_due(&mut self) -> Result<Option<Timestamp>, GaveUp> {
        let records = self.kept.records.values();
        Ok(records.filter_map(|(_, record)| record.due()).min())
    }

    fn log(&mut self, key: &OperationKey, entry: &Entry) -> Result<(), GaveUp> {
        self.kept.log.push((KeyDigest::of(key), entry.clone()));
        Ok(())
    }

    fn logged(&mut self, digest: &KeyDigest) -> Result<Vec<Entry>, GaveUp> {
        let of_this = self.kept.log.iter().filter(|(known, _)| known == digest);
        Ok(of_this.map(|(_, entry)| entry.clone()).collect())
    }

    fn sweep(&mut self, now: Timestamp, batch: usize) -> Result<Swept, GaveUp> {
        self.kept.abandoned.retain(|_, until| now < *until);
        let after = self.sweep_after.take();
        let completed: Vec<(KeyDigest, AttemptNumber, bool)> = self
            .kept
            .records
            .iter()
            .filter(|(digest, _)| after.is_none_or(|after| **digest > after))
            .filter(|(_, (_, record))| matches!(record.state, State::Completed { .. }))
            .map(|(digest, (_, record))| (*digest, record.number, record.is_live(now)))
            .take(batch)
            .collect();
        let expired = completed.iter().filter(|(_, _, live)| !live);
        let mut swept = Swept {
            looked_at: completed.len(),
            forgotten: 0,
            round_ended: completed.len() < batch,
        };
        for (digest, number, _) in expired {
            self.forget(digest, *number)?;
            swept.forgotten += 1;
        }
        if !swept.round_ended {
            self.sweep_after = completed.last().map(|(digest, _, _)| *digest);
        }
        Ok(swept)
    }
}

#[cfg(any(test, feature = "contract"))]
impl contract::Fallible for MemoryStore {
    fn failure() -> GaveUp {
        GaveUp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_store_keeps_the_ports_promises() {
        for (name, case) in contract::cases::<MemoryStore>() {
            assert_eq!(case(&mut MemoryStore::new()), Ok(()), "{name}");
        }
    }
}
