//! Load, decide, save: one transaction for each message, and its call counted once it is answered.
//!
//! Not the rule (`decide`) and not the place where records are kept (`store`).

use alloc::vec::Vec;

use crate::decide::{self, Ask, Begin, Change, Complete, Lease, Look, Release, Replay, Suspend};
use crate::fingerprint::Fingerprint;
use crate::metrics::{Call, Sums};
use crate::placement::KeyDigest;
use crate::policy::{Kind, LEASE_MAX, Policy};
use crate::record::{AttemptId, Outcome, Record, UnknownCause};
use crate::scope::OperationKey;
use crate::store::{RecordStore, Swept};
use crate::time::Timestamp;

/// The operations of one (tenant, route, shard) and the sums over their calls.
#[derive(Clone, Debug)]
pub struct Processor<S> {
    store: S,
    sums: Sums,
}

/// How [`Processor::run`] ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Run<E> {
    /// The work ran, and its outcome is kept.
    Applied(Outcome),
    /// It had run before: this is what came of it (P7).
    Duplicate(Replay),
    /// The work failed and is not recorded: the next call runs again. The failure is the work's own (P3).
    Failed(E),
    /// It did not run, for the reason that the answer to *begin* gives.
    NotRun(Begin),
}

impl<S: RecordStore> Processor<S> {
    /// A processor over what `store` keeps, which goes on counting from `sums`.
    pub const fn new(store: S, sums: Sums) -> Self {
        Self { store, sums }
    }

    /// The sums over all calls.
    pub const fn sums(&self) -> &Sums {
        &self.sums
    }

    /// The same, to note what did not come by a message of this processor.
    pub const fn sums_mut(&mut self) -> &mut Sums {
        &mut self.sums
    }

    /// The store.
    pub const fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// A request asks to run (L1). A call that must wait is counted when its waiting ends: see [`Self::waited`].
    pub fn begin(
        &mut self,
        key: &OperationKey,
        ask: &Ask,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Begin, S::Error> {
        let digest = KeyDigest::of(key);
        let begin = self.store.transaction(|store| {
            if store.is_abandoned(&ask.token)? {
                return Ok(Begin::Abandoned); // L7
            }
            let (record, floor) = (store.load(&digest)?, store.floor()?);
            let (begin, change) = decide::begin(record, floor, ask, policy, now);
            keep(store, key, change)?;
            Ok(begin)
        })?;
        self.count_begin(&begin, ask, now);
        Ok(begin)
    }

    /// Looks, and changes and counts nothing.
    pub fn look(
        &mut self,
        key: &OperationKey,
        fingerprint: Option<&Fingerprint>,
        kind: Kind,
        now: Timestamp,
    ) -> Result<Look, S::Error> {
        let record = self.store.load(&KeyDigest::of(key))?;
        Ok(decide::look(record, fingerprint, kind, now))
    }

    /// A call that waited for its running twin ends, with what a look shows now.
    pub fn waited(&mut self, look: &Look) {
        let call = match look {
            Look::Done(replay) => {
                self.sums.changed += u64::from(replay.changed);
                Call::Replayed
            }
            Look::Absent | Look::Running { .. } => Call::Conflict,
            Look::Unknown(_) => Call::Unknown,
            Look::Mismatch => Call::Mismatch,
        };
        self.sums.count(call);
    }

    /// The attempt ended with a final outcome (P4).
    pub fn complete(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        outcome: Outcome,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Complete, S::Error> {
        let complete = self.change(key, |record| {
            decide::complete(record, token, outcome, policy.retention(), now)
        })?;
        match complete {
            Complete::Recorded { .. } => self.sums.count(Call::Applied),
            Complete::AlreadyRecorded { .. } => {}
            Complete::Superseded => self.sums.count(Call::Superseded),
        }
        Ok(complete)
    }

    /// The attempt did not run: nothing of it is kept (P3, U1).
    pub fn release(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        status: Option<u16>,
        kind: Kind,
        now: Timestamp,
    ) -> Result<Release, S::Error> {
        let release = self.change(key, |record| decide::release(record, token, status, now))?;
        match release {
            Release::Released | Release::StillUnknown(_) => self.sums.count(match kind {
                Kind::Api => Call::Released,
                Kind::Webhook => Call::Failed,
            }),
            Release::AlreadyReleased | Release::AlreadyRecorded => {}
            Release::Superseded => self.sums.count(Call::Superseded),
        }
        Ok(release)
    }

    /// Nobody knows what the attempt did (U1, U2).
    pub fn suspend(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        cause: UnknownCause,
        now: Timestamp,
    ) -> Result<Suspend, S::Error> {
        let suspend = self.change(key, |record| decide::suspend(record, token, cause, now))?;
        match suspend {
            Suspend::Suspended(_) => self.sums.count(Call::Unknown),
            Suspend::AlreadySuspended(_) | Suspend::AlreadyRecorded => {}
            Suspend::Superseded => self.sums.count(Call::Superseded),
        }
        Ok(suspend)
    }

    /// The caller gave up on its *begin* without having sent anything: if that claim stands it is released, and
    /// one that still comes under this token is refused (L7).
    pub fn abandon(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        now: Timestamp,
    ) -> Result<(), S::Error> {
        let digest = KeyDigest::of(key);
        self.store.transaction(|store| {
            store.abandon(&token, now.plus(LEASE_MAX))?;
            let (_, change) = decide::release(store.load(&digest)?, token, None, now);
            keep(store, key, change)
        })
    }

    /// Runs `work` once for this key: the embedded form, for effects that live where the record lives.
    ///
    /// The record is written after the work returned, and only then (P3, P4).
    pub fn run<E>(
        &mut self,
        key: &OperationKey,
        ask: &Ask,
        policy: &Policy,
        now: Timestamp,
        work: impl FnOnce() -> Result<Outcome, E>,
    ) -> Result<Run<E>, S::Error> {
        match self.begin(key, ask, policy, now)? {
            Begin::Execute(_) => match work() {
                Ok(outcome) => {
                    self.complete(key, ask.token, outcome.clone(), policy, now)?;
                    Ok(Run::Applied(outcome))
                }
                Err(failure) => {
                    self.release(key, ask.token, None, policy.kind(), now)?;
                    Ok(Run::Failed(failure))
                }
            },
            Begin::Replay(replay) => Ok(Run::Duplicate(replay)),
            refusal @ (Begin::Wait { .. }
            | Begin::Mismatch
            | Begin::Unknown { .. }
            | Begin::Expired
            | Begin::FromTheFuture
            | Begin::Abandoned) => Ok(Run::NotRun(refusal)),
        }
    }

    /// Stores as unknown up to `limit` leases that ran out without a word (U2), and returns their keys.
    pub fn expire_leases(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<OperationKey>, S::Error> {
        self.store.transaction(|store| {
            let run_out = store.leases_run_out(now, limit)?;
            let mut keys = Vec::with_capacity(run_out.len());
            for (key, record) in run_out {
                keep(store, &key, decide::expire(record, now))?;
                keys.push(key);
            }
            Ok(keys)
        })
    }

    /// Looks at up to `batch` records and forgets those that have expired (R1).
    pub fn sweep(&mut self, now: Timestamp, batch: usize) -> Result<Swept, S::Error> {
        self.store.transaction(|store| store.sweep(now, batch))
    }

    /// One transaction of load, decide, save.
    fn change<T>(
        &mut self,
        key: &OperationKey,
        decide: impl FnOnce(Option<Record>) -> (T, Change),
    ) -> Result<T, S::Error> {
        let digest = KeyDigest::of(key);
        self.store.transaction(|store| {
            let (answer, change) = decide(store.load(&digest)?);
            keep(store, key, change)?;
            Ok(answer)
        })
    }

    fn count_begin(&mut self, begin: &Begin, ask: &Ask, now: Timestamp) {
        if matches!(
            begin,
            Begin::Abandoned | Begin::Execute(Lease { repeated: true, .. })
        ) {
            return; // the same call once more
        }
        if let Some(minted_at) = ask.minted_at {
            self.sums.key_age.observe(now.since(minted_at));
        }
        match begin {
            // The call is counted when it ends.
            Begin::Execute(lease) => self.sums.takeovers += u64::from(lease.took_over.is_some()),
            Begin::Replay(replay) => {
                self.sums.changed += u64::from(replay.changed);
                self.sums.count(Call::Replayed);
            }
            Begin::Mismatch => self.sums.count(Call::Mismatch),
            Begin::Unknown { .. } => self.sums.count(Call::Unknown),
            Begin::Expired => self.sums.count(Call::Expired),
            Begin::FromTheFuture => self.sums.count(Call::Refused),
            Begin::Wait { .. } | Begin::Abandoned => {}
        }
    }
}

fn keep<S: RecordStore>(store: &mut S, key: &OperationKey, change: Change) -> Result<(), S::Error> {
    match change {
        Change::Keep => Ok(()),
        Change::Save(record) => store.save(key, &record),
        Change::Forget(number) => store.forget(&KeyDigest::of(key), number),
    }
}

#[cfg(test)]
mod tests;
