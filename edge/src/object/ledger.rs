//! The synchronous heart of an operations object: a message in, an answer out, and what is due next.
//!
//! No await in here, so nothing else happens between load, decide and save (platform: the input gate stays shut). It
//! decides nothing itself; `shared::processor` does. One message is one transaction.

use std::rc::Rc;

use shared::decide::{
    self, Ask as Asking, Begin, Complete, Finding, Look, Probed, Pursue, Release, Replay, Settle,
    Suspend,
};
use shared::fingerprint::Fingerprint;
use shared::metrics::Call as Counted;
use shared::placement::KeyDigest;
use shared::policy::{Kind, Policy};
use shared::present::{self, Named};
use shared::processor::{Asker, Processor, Settling};
use shared::record::{AttemptId, Record};
use shared::scope::OperationKey;
use shared::store::RecordStore;
use shared::time::{Millis, Timestamp};

use super::counts::Saved;
use super::identity::Identity;
use super::{fingerprints, sweep};
use crate::message::{Answer, Ask, Call, Ended, Question};
use crate::message_operator::Preview;
use crate::migrations::migrate;
use crate::sql::{Sql, SqlError};
use crate::sql_store::{MIGRATIONS, SqlStore};

/// The most leases that one alarm turns into unknown outcomes (X5); more are left to the next, at once.
pub(crate) const LEASES_MAX: usize = 200;
/// How far apart alarms are while calls come.
pub(crate) const TICK: Millis = Millis::from_secs(1);

/// The records, the sums and what the object knows about itself.
pub(crate) struct Ledger {
    sql: Rc<Sql>,
    processor: Processor<SqlStore>,
    saved: Saved,
    identity: Option<Identity>,
    sweep: sweep::Pace,
    /// Whether a message came since the last alarm.
    called: bool,
}

/// What the object does with a message.
pub(crate) enum Step {
    /// Answers, with the bytes that follow the head.
    Answer(Answer, Vec<u8>),
    /// Waits for the running twin, and then looks.
    Wait {
        /// The operation.
        operation: KeyDigest,
        /// At most this long.
        span: Millis,
    },
}

/// What is remembered of a caller while it waits: of a *begin* for its twin, or of an attempt for the origin that works on.
pub(crate) struct Waiting {
    key: OperationKey,
    /// None for an attempt's own caller: it has been let run, and is counted when the origin completes.
    fingerprint: Option<Fingerprint>,
    policy: Option<Policy>,
}

impl Waiting {
    /// What is worth remembering of this call, if it may have to wait.
    pub(crate) fn of(call: &Call) -> Option<Self> {
        match &call.ask {
            Ask::Begin {
                key, fingerprint, ..
            } => Some(Self {
                key: key.clone(),
                fingerprint: Some(*fingerprint),
                policy: call.policy,
            }),
            Ask::Pending { key, .. } => Some(Self {
                key: key.clone(),
                fingerprint: None,
                policy: call.policy,
            }),
            Ask::Complete { .. }
            | Ask::Release { .. }
            | Ask::Suspend { .. }
            | Ask::Probed { .. }
            | Ask::Abandon { .. }
            | Ask::Look { .. }
            | Ask::Status { .. }
            | Ask::Note { .. } => None,
        }
    }
}

impl Ledger {
    /// Opens the tables, bringing them to their present form.
    pub(crate) fn open(sql: &Rc<Sql>, now: Timestamp) -> Result<Self, SqlError> {
        migrate(sql, MIGRATIONS, now)?;
        let saved = Saved::load(sql)?;
        let store = SqlStore::open(Rc::clone(sql), saved.completed())?;
        Ok(Self {
            sql: Rc::clone(sql),
            processor: Processor::new(store, saved.sums().clone()),
            saved,
            identity: Identity::load(sql)?,
            sweep: sweep::Pace::default(),
            called: false,
        })
    }

    /// Takes one message: one transaction.
    pub(crate) fn take(
        &mut self,
        call: Call,
        body: Vec<u8>,
        now: Timestamp,
    ) -> Result<Step, SqlError> {
        self.called = true;
        let sql = Rc::clone(&self.sql);
        let written = || sql.cost().rows_written;
        let before = written();
        sql.transaction(|| {
            let policy = self.recognise(&call)?;
            let step = self.answer(call.ask, body, &policy, now)?;
            #[cfg(feature = "testing")]
            crate::testing::while_taking(call.fault.as_deref());
            // A transaction that writes waits for the disk anyway; one that only reads must not begin to.
            if written() > before && self.counts_due().is_some_and(|due| due <= now) {
                self.save_counts(now)?;
            }
            Ok(step)
        })
    }

    /// A caller has waited; it is answered from what is there now, and never runs.
    pub(crate) fn after_waiting(
        &mut self,
        waiting: &Waiting,
        now: Timestamp,
    ) -> Result<(Answer, Vec<u8>), SqlError> {
        let known = self.identity.as_ref().map(|known| known.policy);
        let policy = waiting.policy.or(known);
        let kind = policy.map_or(Kind::Api, Policy::kind);
        let look = self
            .processor
            .look(&waiting.key, waiting.fingerprint.as_ref(), kind, now)?;
        if waiting.fingerprint.is_some() {
            self.processor.waited(&look);
        }
        self.looked(look, &waiting.key, policy.as_ref(), now)
    }

    /// The alarm: what is due is done, a bounded piece of it. Which operations became unknown.
    pub(crate) fn alarm(&mut self, now: Timestamp) -> Result<Vec<KeyDigest>, SqlError> {
        let expired = match self.identity.as_ref().map(|known| known.policy) {
            Some(policy) => self.processor.expire_leases(&policy, now, LEASES_MAX)?,
            None => Vec::new(),
        };
        if self.processor.store().needs_sweep() && self.sweep.is_due(now) {
            let retention = self
                .identity
                .as_ref()
                .and_then(|known| known.policy.retention().span());
            self.sweep.run(&mut self.processor, retention, now)?;
        }
        if self.counts_due().is_some_and(|due| due <= now) {
            self.save_counts(now)?;
        }
        Ok(expired.iter().map(KeyDigest::of).collect())
    }

    /// When the next alarm is needed after one. While calls come it ticks: setting it for each moment that comes nearer would
    /// cost a row each.
    pub(crate) fn next_alarm(&mut self, now: Timestamp) -> Result<Option<Timestamp>, SqlError> {
        if core::mem::take(&mut self.called) {
            return Ok(Some(now.plus(TICK)));
        }
        self.next_due()
    }

    /// When something is next due, all things considered.
    pub(crate) fn next_due(&mut self) -> Result<Option<Timestamp>, SqlError> {
        let sweep = self
            .processor
            .store()
            .needs_sweep()
            .then(|| self.sweep.due())
            .flatten();
        let record = self.processor.store().next_due()?;
        let counts = self.counts_due();
        Ok([sweep, record, counts].into_iter().flatten().min())
    }

    /// When a record is next due that is not yet.
    pub(crate) fn next_due_after(&mut self, now: Timestamp) -> Result<Option<Timestamp>, SqlError> {
        self.processor.store().next_due_after(now)
    }

    /// What the resolver does about the records that are due, one for each token (U5).
    pub(crate) fn pursue(
        &mut self,
        tokens: &[AttemptId],
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Vec<(OperationKey, AttemptId, Pursue)>, SqlError> {
        self.processor.pursue(tokens, policy, now)
    }

    /// The request that the resolver sends again.
    pub(crate) fn request(&mut self, key: &OperationKey) -> Result<Option<Vec<u8>>, SqlError> {
        self.processor.store().request(&KeyDigest::of(key))
    }

    /// The key and the record under this digest, if there is a live one.
    pub(crate) fn find(
        &mut self,
        digest: &KeyDigest,
        now: Timestamp,
    ) -> Result<Option<(OperationKey, Record)>, SqlError> {
        let store = self.processor.store();
        let record = store.load(digest)?.filter(|record| record.is_live(now));
        Ok(store.key(digest)?.zip(record))
    }

    /// The key under this digest of an operation that was settled, although its record is gone.
    pub(crate) fn settled_key(
        &mut self,
        digest: &KeyDigest,
    ) -> Result<Option<OperationKey>, SqlError> {
        self.processor.store().logged_key(digest)
    }

    /// The rule, for those who bring messages of their own.
    pub(crate) const fn processor(&mut self) -> &mut Processor<SqlStore> {
        &mut self.processor
    }

    /// An operator settles an operation, or asks what would become of it (U6).
    pub(crate) fn settle(
        &mut self,
        key: &OperationKey,
        settling: Settling,
        preview: Preview,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Settle, SqlError> {
        match preview {
            Preview::Only => self
                .processor
                .would_settle(key, settling.settlement, policy, now),
            Preview::No => self.processor.settle(key, settling, policy, now),
        }
    }

    /// When the sums must be saved, if they must.
    pub(crate) fn counts_due(&mut self) -> Option<Timestamp> {
        let completed = self.processor.store().completed();
        self.saved.due(self.processor.sums(), completed)
    }

    /// What the object knows about itself.
    pub(crate) const fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// The fleet knows this object: it need not be told again.
    pub(crate) fn registered(&mut self) -> Result<(), SqlError> {
        match &mut self.identity {
            Some(identity) if !identity.registered => {
                identity.registered = true;
                identity.save(&self.sql)
            }
            Some(_) | None => Ok(()),
        }
    }

    fn save_counts(&mut self, now: Timestamp) -> Result<(), SqlError> {
        let completed = self.processor.store().completed();
        self.saved
            .save(&self.sql, self.processor.sums(), completed, now)
    }

    /// The promise that counts for this call. What the route promises anew is remembered at its next claim.
    fn recognise(&mut self, call: &Call) -> Result<Policy, SqlError> {
        let place = call.place();
        if self
            .identity
            .as_ref()
            .is_some_and(|known| known.place != place)
        {
            return Err(SqlError::unreadable("the message is for another object"));
        }
        let known = self.identity.as_ref().map(|known| known.policy);
        let policy = call.policy.or(known);
        let policy = policy.ok_or_else(|| SqlError::unreadable("the message brings no policy"))?;
        if matches!(call.ask, Ask::Begin { .. } | Ask::Note { .. }) && known != Some(policy) {
            let registered = self.identity.as_ref().is_some_and(|known| known.registered);
            let identity = Identity {
                place,
                policy,
                registered,
            };
            identity.save(&self.sql)?;
            self.identity = Some(identity);
        }
        Ok(policy)
    }

    fn answer(
        &mut self,
        ask: Ask,
        body: Vec<u8>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Step, SqlError> {
        let (answer, body) = match ask {
            Ask::Begin {
                key,
                token,
                fingerprint,
                minted_at,
                wait,
            } => {
                let asking = Asking {
                    token: token.0,
                    fingerprint,
                    minted_at,
                };
                let request = (!body.is_empty()).then_some(body.as_slice());
                return self.begin(&key, &asking, request, policy, wait, now);
            }
            Ask::Complete {
                key,
                token,
                outcome,
                reference,
                latency,
            } => {
                self.processor.sums_mut().origin_latency.observe(latency);
                let (outcome, reference) = (outcome.with(body), reference.as_deref());
                let complete = self
                    .processor
                    .complete(&key, token.0, outcome, reference, policy, now)?;
                (completed(complete), Vec::new())
            }
            Ask::Release {
                key,
                token,
                status,
                latency,
            } => {
                self.observe(latency);
                let release = self.processor.release(&key, token.0, status, policy, now)?;
                (self.released(release, &key, policy, now)?, Vec::new())
            }
            Ask::Suspend {
                key,
                token,
                cause,
                reference,
                latency,
            } => {
                self.observe(latency);
                let reference = reference.as_deref();
                let suspend =
                    self.processor
                        .suspend(&key, token.0, cause.into(), reference, policy, now)?;
                (suspended(suspend), Vec::new())
            }
            Ask::Pending {
                key,
                token,
                reference,
                wait,
            } => {
                if let Some(reference) = reference {
                    self.processor.refer(&key, token.0, &reference, now)?;
                }
                return self.pending(&key, policy, wait, now);
            }
            Ask::Probed {
                key,
                token,
                finding,
            } => {
                let finding = finding.with(body);
                self.probed(&key, token.0, finding, policy, now)?
            }
            Ask::Abandon { key, token } => {
                self.processor.abandon(&key, token.0, policy, now)?;
                (Answer::Done, Vec::new())
            }
            Ask::Look { key, fingerprint } => {
                let look = self
                    .processor
                    .look(&key, fingerprint.as_ref(), policy.kind(), now)?;
                self.looked(look, &key, Some(policy), now)?
            }
            Ask::Status { digest } => self.status(&digest, policy, now)?,
            Ask::Note { ended, key_missing } => {
                let sums = self.processor.sums_mut();
                sums.keys_missing += u64::from(key_missing);
                sums.count(match ended {
                    Ended::Refused => Counted::Refused,
                    Ended::Unprotected => Counted::Unprotected,
                });
                (Answer::Done, Vec::new())
            }
        };
        Ok(Step::Answer(answer, body))
    }

    fn begin(
        &mut self,
        key: &OperationKey,
        asking: &Asking,
        request: Option<&[u8]>,
        policy: &Policy,
        wait: Millis,
        now: Timestamp,
    ) -> Result<Step, SqlError> {
        let begin = self.processor.begin(key, asking, request, policy, now)?;
        let operation = KeyDigest::of(key);
        let other = matches!(
            begin,
            Begin::Mismatch | Begin::Replay(Replay { changed: true, .. })
        );
        if other {
            fingerprints::note(&self.sql, &operation, &asking.fingerprint, now)?;
        }
        let answer = match begin {
            Begin::Execute(lease) => Answer::Execute {
                number: lease.number.get(),
                lease: lease.until.since(now),
                took_over: lease.took_over.is_some(),
                point: lease.point.map(|point| String::from(point.name())),
            },
            Begin::Ask(question) => Answer::Ask(asked(question, now)),
            Begin::Replay(replay) => {
                let (answer, body) = Answer::replay(replay);
                return Ok(Step::Answer(answer, body));
            }
            Begin::Wait { lease_until } => {
                let span = wait.min(policy.wait()).min(lease_until.since(now));
                return Ok(Step::Wait { operation, span });
            }
            Begin::Mismatch => Answer::Mismatch,
            Begin::Unknown { unknown, retry_at } => Answer::Unknown {
                cause: unknown.cause.into(),
                retry: retry_at.map(|at| at.since(now)),
            },
            Begin::Expired => Answer::Expired,
            Begin::FromTheFuture => Answer::FromTheFuture,
            Begin::Abandoned => Answer::Abandoned,
        };
        Ok(Step::Answer(answer, Vec::new()))
    }

    /// The origin works on: its caller waits for the outcome, and is answered from the record (L5).
    fn pending(
        &mut self,
        key: &OperationKey,
        policy: &Policy,
        wait: Millis,
        now: Timestamp,
    ) -> Result<Step, SqlError> {
        match self.processor.look(key, None, policy.kind(), now)? {
            Look::Running { lease_until } => Ok(Step::Wait {
                operation: KeyDigest::of(key),
                span: wait.min(policy.wait()).min(lease_until.since(now)),
            }),
            look @ (Look::Absent | Look::Unknown(_) | Look::Done(_) | Look::Mismatch) => {
                let (answer, body) = self.looked(look, key, Some(policy), now)?;
                Ok(Step::Answer(answer, body))
            }
        }
    }

    fn probed(
        &mut self,
        key: &OperationKey,
        token: AttemptId,
        finding: Finding,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<(Answer, Vec<u8>), SqlError> {
        let asker = Asker::Caller;
        let probed = self
            .processor
            .probed(key, token, finding, asker, policy, now)?;
        let answer = match probed {
            Probed::Recorded { expires_at } => Answer::Recorded { expires_at },
            Probed::NotRun => Answer::Released,
            Probed::Unknown(unknown) => Answer::Unknown {
                cause: unknown.cause.into(),
                retry: self.retry(key, Some(policy), now)?,
            },
            Probed::Superseded => Answer::Superseded,
        };
        Ok((answer, Vec::new()))
    }

    fn released(
        &mut self,
        release: Release,
        key: &OperationKey,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Answer, SqlError> {
        Ok(match release {
            Release::Released | Release::AlreadyReleased => Answer::Released,
            Release::StillUnknown(unknown) => Answer::Unknown {
                cause: unknown.cause.into(),
                retry: self.retry(key, Some(policy), now)?,
            },
            Release::AlreadyRecorded | Release::Superseded => Answer::Superseded,
        })
    }

    fn looked(
        &mut self,
        look: Look,
        key: &OperationKey,
        policy: Option<&Policy>,
        now: Timestamp,
    ) -> Result<(Answer, Vec<u8>), SqlError> {
        let answer = match look {
            Look::Absent => Answer::Absent,
            Look::Running { lease_until } => Answer::Running {
                lease: lease_until.since(now),
            },
            Look::Unknown(unknown) => Answer::Unknown {
                cause: unknown.cause.into(),
                retry: self.retry(key, policy, now)?,
            },
            Look::Done(replay) => return Ok(Answer::replay(replay)),
            Look::Mismatch => Answer::Mismatch,
        };
        Ok((answer, Vec::new()))
    }

    /// After how long a retry of an unknown operation may meet something else, where the rule knows.
    fn retry(
        &mut self,
        key: &OperationKey,
        policy: Option<&Policy>,
        now: Timestamp,
    ) -> Result<Option<Millis>, SqlError> {
        let record = self.processor.store().load(&KeyDigest::of(key))?;
        let retry_at = record
            .zip(policy)
            .and_then(|(record, policy)| decide::retry_at(&record, policy, now));
        Ok(retry_at.map(|at| at.since(now)))
    }

    fn observe(&mut self, latency: Option<Millis>) {
        if let Some(latency) = latency {
            self.processor.sums_mut().origin_latency.observe(latency);
        }
    }

    /// A3: what a client may know. What it may not know and what is not there look the same.
    fn status(
        &mut self,
        digest: &str,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<(Answer, Vec<u8>), SqlError> {
        let absent = || Ok((Answer::Absent, Vec::new()));
        let mut bits = [0; 16];
        if hex::decode_to_slice(digest, &mut bits).is_err() {
            return absent();
        }
        let operation = KeyDigest::from_bytes(bits);
        let record = self.processor.store().load(&operation)?;
        let record = record.filter(|record| record.is_live(now));
        let (Some(record), Some(identity)) = (record, &self.identity) else {
            return absent();
        };
        let id = shared::placement::OperationId {
            object: identity.place.object(),
            key: operation,
        };
        let named = Named {
            id: &id.to_string(),
            tenant: identity.place.tenant.as_str(),
            route: identity.place.route.as_str(),
            key: "",
            kind: policy.kind(),
            on_unknown: policy.on_unknown(),
        };
        let status = serde_json::to_vec(&present::status(&named, &record, now));
        Ok((Answer::Status, status.map_err(SqlError::unreadable)?))
    }
}

/// A question as the Worker, or the resolver, puts it.
pub(crate) fn asked(question: shared::decide::Question, now: Timestamp) -> Question {
    Question {
        number: question.number.get(),
        lease: question.until.since(now),
        since_dispatch: question.since_dispatch,
        reference: question.reference,
        point: question.point.map(|point| String::from(point.data())),
    }
}

fn completed(complete: Complete) -> Answer {
    match complete {
        Complete::Recorded { expires_at } | Complete::AlreadyRecorded { expires_at } => {
            Answer::Recorded { expires_at }
        }
        Complete::Superseded => Answer::Superseded,
    }
}

fn suspended(suspend: Suspend) -> Answer {
    match suspend {
        Suspend::Suspended(_) | Suspend::AlreadySuspended(_) => Answer::Suspended,
        Suspend::AlreadyRecorded | Suspend::Superseded => Answer::Superseded,
    }
}
