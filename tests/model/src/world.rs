//! A state: the clock, the two keys, the three clients, and the first breach if there was one.

use std::hash::{Hash, Hasher};

use shared::decide::Change;
use shared::record::{AttemptId, AttemptNumber, Body, Next, Outcome, Record, State};
use shared::time::{Millis, Timestamp};

use crate::breach::Breach;
use crate::life::{Life, Standing};
use crate::{Space, TICK};

pub(crate) const CLIENTS: usize = 3;
pub(crate) const KEYS: usize = 2;
/// When the clock shows zero.
const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// A state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct World {
    pub(crate) now: u8,
    pub(crate) keys: [Key; KEYS],
    pub(crate) clients: [Client; CLIENTS],
    pub(crate) settlements: u8,
    pub(crate) breach: Option<Breach>,
}

/// One key: what is remembered, and what is true.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) record: Remembered,
    pub(crate) floor: AttemptNumber,
    pub(crate) highest: u64,
    pub(crate) life: Option<Life>,
    /// Rises with a person's word and the end of a retention: from then on a second effect is another one.
    pub(crate) epoch: u8,
    pub(crate) effects: u8,
    /// The token of the effect that the present life had.
    pub(crate) made: Option<u8>,
    /// Attempts whose client is gone: the origin may still act, and report.
    pub(crate) adrift: Vec<Attempt>,
    /// The token of the resolver's question.
    pub(crate) resolver_asks: Option<u8>,
    pub(crate) resolver_tokens: u8,
}

/// A record, hashed by all that it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remembered(pub(crate) Option<Record>);

/// One attempt at the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Attempt {
    pub(crate) token: u8,
    pub(crate) number: u64,
    pub(crate) epoch: u8,
    pub(crate) acted: bool,
    /// The origin promised that it does not run.
    pub(crate) refused: bool,
}

/// A client, behind a Worker of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Client {
    pub(crate) begins: u8,
    pub(crate) stage: Stage,
}

/// What a client does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// Nothing, or it has had its answer.
    #[default]
    Idle,
    /// Its attempt is at the origin.
    Running { key: usize, attempt: Attempt },
    /// It asks the origin.
    Asking { key: usize, token: u8 },
}

impl Hash for Remembered {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Some(record) = &self.0 else {
            return 0_u8.hash(hasher);
        };
        (
            record.attempt,
            record.number,
            record.created_at,
            record.tries,
        )
            .hash(hasher);
        (record.fingerprint.digest, &record.superseded).hash(hasher);
        record
            .unknown_before
            .map(|unknown| (unknown.since, unknown.number))
            .hash(hasher);
        for past in &record.history {
            let end = past.end.map(|end| end.at);
            (past.number, past.started_at, end).hash(hasher);
        }
        hash_state(&record.state, hasher);
    }
}

/// Two records that differ in what is left out are compared in full after all; they only share a bucket.
fn hash_state<H: Hasher>(state: &State, hasher: &mut H) {
    match state {
        State::InProgress { lease_until } => (1_u8, lease_until).hash(hasher),
        State::Indeterminate {
            unknown,
            lease_until,
            next,
        } => {
            (
                2_u8,
                lease_until,
                unknown.since,
                unknown.number,
                unknown.cause.to_string(),
            )
                .hash(hasher);
            match next {
                Next::Resolver(at) => (1_u8, at).hash(hasher),
                Next::Asking { token, until } => (2_u8, token, until).hash(hasher),
                Next::Nobody => 3_u8.hash(hasher),
                Next::Retry => 4_u8.hash(hasher),
            }
        }
        State::Completed {
            at,
            expires_at,
            outcome,
            by,
        } => {
            let body = match &outcome.body {
                Body::Kept(bytes) => bytes.first().copied(),
                Body::Omitted { .. } => None,
            };
            (3_u8, at, expires_at, body, *by as u8).hash(hasher);
        }
    }
}

impl Key {
    pub(crate) fn is_settled(&self) -> bool {
        self.life.as_ref().is_some_and(Life::is_settled)
    }

    /// Does to the record what a decision says.
    pub(crate) fn keep(&mut self, change: Change) {
        match change {
            Change::Keep => {}
            Change::Save(record) => self.record = Remembered(Some(record)),
            Change::Forget(number) => {
                self.record = Remembered(None);
                self.floor = self.floor.max(number);
            }
        }
    }

    /// An outcome may be forgotten once its retention has passed; what runs then is another operation.
    pub(crate) fn end_of_retention(&mut self, now: u8) {
        if self.life.as_ref().is_some_and(|life| !life.is_live(now)) {
            self.life = None;
            self.new_epoch();
        }
    }

    pub(crate) fn new_epoch(&mut self) {
        self.epoch += 1;
        self.effects = 0;
    }
}

impl World {
    pub(crate) fn must(&mut self, holds: bool, breach: Breach) {
        if !holds && self.breach.is_none() {
            self.breach = Some(breach);
        }
    }

    /// The records are what the answers allow to be believed.
    pub(crate) fn judge(&mut self, space: &Space) {
        let now = self.now;
        for place in 0..KEYS {
            if let Some(breach) = self.keys[place].breach(space, now) {
                self.must(false, breach);
            }
        }
    }
}

impl Key {
    fn breach(&self, space: &Space, now: u8) -> Option<Breach> {
        let life = self.life.as_ref().filter(|life| life.is_live(now));
        let record = self
            .record
            .0
            .as_ref()
            .filter(|record| record.is_live(at(now)));
        let (life, record) = match (life, record) {
            (None, None) => return None,
            (None, Some(_)) => return Some(Breach::SettledStays),
            (Some(life), None) if life.is_settled() => return Some(Breach::SameBytes),
            (Some(_), None) => return Some(Breach::NotForgotten),
            (Some(life), Some(record)) => (life, record),
        };
        if record.fingerprint.digest[0] != life.print {
            return Some(Breach::OtherRequest);
        }
        if record.attempt != id(life.holder) {
            return Some(Breach::StaleChangesNothing);
        }
        if life.earlier_unknown && !life.said_not_run && !record.may_have_run_twice() {
            return Some(Breach::NotForgotten);
        }
        standing(life, record, now).or_else(|| due(space, life, record))
    }
}

fn standing(life: &Life, record: &Record, now: u8) -> Option<Breach> {
    match (&life.standing, &record.state) {
        (
            Standing::Settled {
                outcome: token,
                until,
                ..
            },
            State::Completed {
                outcome: kept,
                expires_at,
                ..
            },
        ) => {
            let same = *kept == outcome(*token) && *expires_at == Some(at(*until));
            (!same).then_some(Breach::SettledStays)
        }
        (Standing::Settled { .. }, State::InProgress { .. } | State::Indeterminate { .. }) => {
            Some(Breach::SettledStays)
        }
        (Standing::Open | Standing::Unknown, State::Completed { .. }) => Some(Breach::NotForgotten),
        (
            Standing::Open | Standing::Unknown,
            State::InProgress { lease_until } | State::Indeterminate { lease_until, .. },
        ) => {
            if *lease_until != at(life.lease_until) {
                return Some(Breach::OneLease);
            }
            let told = record.unknown(at(now)).is_some();
            (life.is_running(now) == told).then_some(Breach::NotForgotten)
        }
    }
}

fn due(space: &Space, life: &Life, record: &Record) -> Option<Breach> {
    use shared::policy::OnUnknown;
    let State::Indeterminate { next, .. } = record.state else {
        let settled = life.is_settled();
        return (!settled && record.due().is_none()).then_some(Breach::HasADueMoment);
    };
    let fine = match next {
        Next::Resolver(_) | Next::Asking { .. } => record.due().is_some(),
        Next::Retry => life.retry_allowed,
        Next::Nobody => match space.policy.on_unknown() {
            OnUnknown::Park | OnUnknown::Rerun => true,
            OnUnknown::Resume | OnUnknown::Probe => record.tries >= space.policy.resolve_tries(),
        },
    };
    (!fine).then_some(Breach::HasADueMoment)
}

/// The moment at which the clock shows this.
pub(crate) fn at(ticks: u8) -> Timestamp {
    START.plus(Millis::new(TICK.get() * u64::from(ticks)))
}

/// What the clock shows at this moment.
pub(crate) fn ticks(moment: Timestamp) -> u8 {
    u8::try_from(moment.since(START).get() / TICK.get()).unwrap_or(u8::MAX)
}

/// A token; the last byte is what stretches pauses, and stays zero.
pub(crate) fn id(token: u8) -> AttemptId {
    let mut bits = [0; 16];
    bits[0] = token;
    AttemptId::from_bytes(bits)
}

/// Every attempt's outcome is its own.
pub(crate) fn outcome(token: u8) -> Outcome {
    Outcome {
        status: 200,
        headers: Vec::new(),
        body: Body::Kept(Vec::from([token])),
    }
}
