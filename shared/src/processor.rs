//! Load, decide, save: one transaction for each message, and its call counted once it is answered.
//!
//! Not the rule (`decide`) and not the place where records are kept (`store`).

use alloc::string::String;
use alloc::vec::Vec;

use crate::audit::{self, Act, By, Entry};
use crate::decide::{
    self, Ask, Begin, Change, Checkpoint, Complete, Extend, Finding, Lease, Look, Probed, Pursue,
    Release, Replay, Resend, Settle, Settlement, Suspend,
};
use crate::fingerprint::Fingerprint;
use crate::metrics::{Call, Sums};
use crate::placement::KeyDigest;
use crate::policy::{Kind, LEASE_MAX, Policy};
use crate::record::{AttemptId, Outcome, Record, RecoveryPoint, UnknownCause};
use crate::scope::OperationKey;
use crate::store::{RecordStore, Swept};
use crate::time::{Millis, Timestamp};

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

/// Who asked the origin what became of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A caller's retry.
    Caller,
    /// The resolver.
    Resolver,
}

/// What an operator brings to *settle* (U6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settling {
    /// The settlement's token, drawn at random: it fences off what was let run before.
    pub token: AttemptId,
    /// How it is settled.
    pub settlement: Settlement,
    /// The operator's name.
    pub operator: String,
    /// Why.
    pub reason: String,
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
    ///
    /// `request` is what the resolver would send, where the route lets it (U5): kept with the claim.
    pub fn begin(
        &mut self,
        key: &OperationKey,
        ask: &Ask,
        request: Option<&[u8]>,
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
            match change {
                Change::Save(record) => store.save(key, &record, request)?,
                change @ (Change::Keep | Change::Forget(_)) => keep(store, key, change)?,
            }
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

    /// The attempt ended with a final outcome (P4), for which the origin may have a name of its own.
    ///
    /// A report under a token that does not count any more changes nothing and is kept as evidence (L3).
    pub fn complete(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        outcome: Outcome,
        reference: Option<&str>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Complete, S::Error> {
        let status = outcome.status;
        let complete = self.change(key, |record| {
            decide::complete(record, token, outcome, reference, policy.retention(), now)
        })?;
        match complete {
            Complete::Recorded { .. } => self.sums.count(Call::Applied),
            Complete::AlreadyRecorded { .. } => {}
            Complete::Superseded => {
                self.sums.count(Call::Superseded);
                self.keep_evidence(key, token, status, now)?;
            }
        }
        Ok(complete)
    }

    /// The attempt did not run: nothing of it is kept (P3, U1).
    pub fn release(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        status: Option<u16>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Release, S::Error> {
        let release = self.change(key, |record| {
            decide::release(record, token, status, policy, now)
        })?;
        self.count_release(release, policy.kind());
        Ok(release)
    }

    /// The origin itself releases its attempt (L5).
    pub fn release_by_origin(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Release, S::Error> {
        let release = self.change_on_word(key, token, By::Attempt, now, |record| {
            decide::release(record, token, None, policy, now)
        })?;
        self.count_release(release, policy.kind());
        Ok(release)
    }

    /// Nobody knows what the attempt did (U1, U2).
    pub fn suspend(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        cause: UnknownCause,
        reference: Option<&str>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Suspend, S::Error> {
        let suspend = self.change(key, |record| {
            decide::suspend(record, token, cause, reference, policy, now)
        })?;
        match suspend {
            Suspend::Suspended(_) => self.sums.count(Call::Unknown),
            Suspend::AlreadySuspended(_) | Suspend::AlreadyRecorded => {}
            Suspend::Superseded => self.sums.count(Call::Superseded),
        }
        Ok(suspend)
    }

    /// The origin works on after its answer, and may have named what it makes (L5, U3).
    pub fn refer(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        reference: &str,
        now: Timestamp,
    ) -> Result<(), S::Error> {
        self.change(key, |record| {
            ((), decide::refer(record, token, reference, now))
        })
    }

    /// The attempt needs longer (L5).
    pub fn extend(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        span: Millis,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Extend, S::Error> {
        self.change(key, |record| {
            decide::extend(record, token, span, policy, now)
        })
    }

    /// The attempt came this far (L5).
    pub fn checkpoint(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        point: RecoveryPoint,
        now: Timestamp,
    ) -> Result<Checkpoint, S::Error> {
        self.change(key, |record| decide::checkpoint(record, token, point, now))
    }

    /// The resolver takes what is due, one record for each of `tokens`, and is told what to do about each (U5).
    ///
    /// What it may do is saved before it is told, so that two alarms never take one record.
    pub fn pursue(
        &mut self,
        tokens: &[AttemptId],
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Vec<(OperationKey, AttemptId, Pursue)>, S::Error> {
        let pursued = self.store.transaction(|store| {
            let due = store.unknown_due(now, tokens.len())?;
            let mut pursued = Vec::with_capacity(due.len());
            for ((key, record), token) in due.into_iter().zip(tokens) {
                let resend = match store.request(&KeyDigest::of(&key))? {
                    Some(_) => Resend::Possible,
                    None => Resend::Impossible,
                };
                let (pursue, change) = decide::pursue(record, *token, resend, policy, now);
                keep(store, &key, change)?;
                pursued.push((key, *token, pursue));
            }
            Ok(pursued)
        })?;
        for (_, _, pursue) in &pursued {
            match pursue {
                Pursue::Send(_) => {
                    self.sums.takeovers += 1;
                    self.sums.resolver_sends += 1;
                }
                Pursue::Ask(_) => self.sums.resolver_sends += 1,
                Pursue::NeedsAPerson => self.sums.resolver_gave_up += 1,
                Pursue::Nothing => {}
            }
        }
        Ok(pursued)
    }

    /// The origin was asked, and this is what it said (U3).
    pub fn probed(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        finding: Finding,
        asker: Asker,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Probed, S::Error> {
        let found = match &finding {
            Finding::Final(outcome) => Some(outcome.status),
            Finding::NotRun | Finding::Unknown => None,
        };
        let (probed, repeated, forgot) =
            self.change_on_word(key, token, By::Probe, now, |record| {
                let (probed, change) = decide::probed(record, token, finding, policy, now);
                let forgot = matches!(change, Change::Forget(_));
                ((probed, change == Change::Keep, forgot), change)
            })?;
        let call = match probed {
            Probed::Recorded { .. } if repeated => None, // L7
            Probed::Recorded { .. } => {
                self.sums.settled_by_probe += 1;
                Some(Call::Applied)
            }
            Probed::NotRun => {
                self.sums.settled_by_probe += u64::from(forgot); // with a recovery point it stays unknown
                None // the caller begins anew, and is counted then
            }
            Probed::Unknown(_) => Some(Call::Unknown),
            Probed::Superseded => {
                if let Some(status) = found {
                    self.keep_evidence(key, token, status, now)?;
                }
                Some(Call::Superseded)
            }
        };
        if let (Some(call), Asker::Caller) = (call, asker) {
            self.sums.count(call);
        }
        Ok(probed)
    }

    /// An operator settles it; the log entry is one transaction with the change (U6).
    pub fn settle(
        &mut self,
        key: &OperationKey,
        settling: Settling,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Settle, S::Error> {
        let digest = KeyDigest::of(key);
        let act = match &settling.settlement {
            Settlement::Succeeded(outcome) => Act::Succeeded(outcome.status),
            Settlement::DidNotHappen => Act::DidNotHappen,
            Settlement::TryAgain => Act::TryAgain,
        };
        let settle = self.store.transaction(|store| {
            let mut logged = store.logged(&digest)?.into_iter();
            if logged.any(|entry| entry.id == settling.token) {
                return Ok(Settle::AlreadySettled); // L7
            }
            let Some(record) = store.load(&digest)? else {
                return Ok(Settle::NothingToSettle);
            };
            let by = By::Operator(settling.operator);
            let mut entry = settled(&record, settling.token, by, act, now);
            let (settle, change) = decide::settle(
                Some(record),
                settling.token,
                settling.settlement,
                policy,
                now,
            );
            if settle == Settle::Settled {
                entry.reason = settling.reason;
                entry.after = match &change {
                    Change::Save(record) => audit::standing(Some(record), now),
                    Change::Keep | Change::Forget(_) => audit::standing(None, now),
                };
                store.log(key, &entry)?;
                keep(store, key, change)?;
            }
            Ok(settle)
        })?;
        let settles = act != Act::TryAgain && settle == Settle::Settled; // else it stays unknown
        self.sums.settled_by_operator += u64::from(settles);
        Ok(settle)
    }

    /// What *settle* would answer now; nothing changes.
    pub fn would_settle(
        &mut self,
        key: &OperationKey,
        settlement: Settlement,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Settle, S::Error> {
        let record = self.store.load(&KeyDigest::of(key))?;
        let nobody = AttemptId::from_bytes([0; 16]);
        Ok(decide::settle(record, nobody, settlement, policy, now).0)
    }

    /// The caller gave up on its *begin* without having sent anything: if that claim stands it is released, and
    /// one that still comes under this token is refused (L7).
    pub fn abandon(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<(), S::Error> {
        let digest = KeyDigest::of(key);
        self.store.transaction(|store| {
            store.abandon(&token, now.plus(LEASE_MAX))?;
            let (_, change) = decide::release(store.load(&digest)?, token, None, policy, now);
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
        match self.begin(key, ask, None, policy, now)? {
            Begin::Execute(_) => match work() {
                Ok(outcome) => {
                    self.complete(key, ask.token, outcome.clone(), None, policy, now)?;
                    Ok(Run::Applied(outcome))
                }
                Err(failure) => {
                    self.release(key, ask.token, None, policy, now)?;
                    Ok(Run::Failed(failure))
                }
            },
            Begin::Replay(replay) => Ok(Run::Duplicate(replay)),
            refusal @ (Begin::Wait { .. }
            | Begin::Mismatch
            | Begin::Unknown { .. }
            | Begin::Ask(_)
            | Begin::Expired
            | Begin::FromTheFuture
            | Begin::Abandoned) => Ok(Run::NotRun(refusal)),
        }
    }

    /// Stores as unknown up to `limit` leases that ran out without a word (U2), and returns their keys.
    pub fn expire_leases(
        &mut self,
        policy: &Policy,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<OperationKey>, S::Error> {
        let (keys, gave_up) = self.store.transaction(|store| {
            let run_out = store.leases_run_out(now, limit)?;
            let mut keys = Vec::with_capacity(run_out.len());
            let mut gave_up = 0;
            for (key, record) in run_out {
                let pursued = was_pursued(Some(&record));
                let change = decide::expire(record, policy, now);
                gave_up += u64::from(pursued && is_left_alone(&change));
                keep(store, &key, change)?;
                keys.push(key);
            }
            Ok((keys, gave_up))
        })?;
        self.sums.resolver_gave_up += gave_up;
        Ok(keys)
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
        self.change_with(key, |_store, record| Ok(decide(record)))
    }

    /// The same, where a record that is forgotten by the origin's word is logged with it: what those report later who had
    /// been let run contradicts that word (L3).
    fn change_on_word<T>(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        by: By,
        now: Timestamp,
        decide: impl FnOnce(Option<Record>) -> (T, Change),
    ) -> Result<T, S::Error> {
        self.change_with(key, |store, record| {
            let before = record.clone();
            let (answer, change) = decide(record);
            if let (Change::Forget(_), Some(before)) = (&change, before) {
                let entry = settled(&before, token, by, Act::DidNotHappen, now);
                store.log(key, &entry)?;
            }
            Ok((answer, change))
        })
    }

    fn change_with<T>(
        &mut self,
        key: &OperationKey,
        decide: impl FnOnce(&mut S, Option<Record>) -> Result<(T, Change), S::Error>,
    ) -> Result<T, S::Error> {
        let digest = KeyDigest::of(key);
        let (answer, gave_up) = self.store.transaction(|store| {
            let record = store.load(&digest)?;
            let pursued = was_pursued(record.as_ref());
            let (answer, change) = decide(store, record)?;
            let gave_up = pursued && is_left_alone(&change);
            keep(store, key, change)?;
            Ok((answer, gave_up))
        })?;
        self.sums.resolver_gave_up += u64::from(gave_up);
        Ok(answer)
    }

    /// Logs a final report that came under a token which does not count any more, once (L3).
    fn keep_evidence(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        status: u16,
        now: Timestamp,
    ) -> Result<(), S::Error> {
        let digest = KeyDigest::of(key);
        let entry = self.store.transaction(|store| {
            let (record, logged) = (store.load(&digest)?, store.logged(&digest)?);
            let entry = decide::stale(record.as_ref(), &logged, token, status, now);
            if let Some(entry) = &entry {
                store.log(key, entry)?;
            }
            Ok(entry)
        })?;
        if let Some(Act::LateFinal { contradicts, .. }) = entry.map(|entry| entry.act) {
            self.sums.late_finals += 1;
            self.sums.contradictions += u64::from(contradicts);
        }
        Ok(())
    }

    fn count_release(&mut self, release: Release, kind: Kind) {
        match release {
            Release::Released | Release::StillUnknown(_) => self.sums.count(match kind {
                Kind::Api => Call::Released,
                Kind::Webhook => Call::Failed,
            }),
            Release::AlreadyReleased | Release::AlreadyRecorded => {}
            Release::Superseded => self.sums.count(Call::Superseded),
        }
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
            Begin::Wait { .. } | Begin::Ask(_) | Begin::Abandoned => {}
        }
    }
}

fn keep<S: RecordStore>(store: &mut S, key: &OperationKey, change: Change) -> Result<(), S::Error> {
    match change {
        Change::Keep => Ok(()),
        Change::Save(record) => store.save(key, &record, None),
        Change::Forget(number) => store.forget(&KeyDigest::of(key), number),
    }
}

/// Whether the resolver has tried at least once and not given up yet.
fn was_pursued(record: Option<&Record>) -> bool {
    record.is_some_and(|record| record.tries > 0 && !record.is_left_alone())
}

/// Whether nothing happens by itself after this change.
fn is_left_alone(change: &Change) -> bool {
    match change {
        Change::Save(record) => record.is_left_alone(),
        Change::Keep | Change::Forget(_) => false,
    }
}

/// The log entry of a settlement of `record`, from which the reason is still missing.
fn settled(record: &Record, id: AttemptId, by: By, act: Act, now: Timestamp) -> Entry {
    let mut fenced = record.superseded.clone();
    fenced.push(record.attempt);
    if let Some(asking) = record.asking() {
        fenced.push(asking);
    }
    Entry {
        id,
        at: now,
        by,
        act,
        reason: String::new(),
        before: audit::standing(Some(record), now),
        after: audit::standing(None, now),
        number: record.number,
        fenced,
    }
}

#[cfg(test)]
mod tests;
