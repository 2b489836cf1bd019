//! What travels: to the store, back to a Worker, to an origin and back.

use shared::decide::{
    Begin, Checkpoint, Complete, Extend, Finding, Look, Probed, Release, Settle, Settlement,
    Suspend,
};
use shared::processor::Asker;
use shared::record::{AttemptId, AttemptNumber, Outcome, RecoveryPoint, UnknownCause};
use shared::time::{Millis, Timestamp};

/// An operation: a tenant and a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Op {
    pub(crate) tenant: usize,
    pub(crate) key: usize,
}

/// A Worker's, or a resolver's, place among those that live.
pub(crate) type WorkerId = u32;

/// One message to the store. A copy of it has the same number.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) number: u32,
    pub(crate) op: Op,
    pub(crate) token: AttemptId,
    pub(crate) call: Call,
    /// Who is answered.
    pub(crate) from: Option<WorkerId>,
}

/// What is asked of the store.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    Begin {
        fingerprint: u8,
        minted_at: Option<Timestamp>,
    },
    Look {
        fingerprint: u8,
        waited: Waited,
    },
    Abandon,
    Complete(Outcome, Option<&'static str>),
    Release(Option<u16>),
    Suspend(UnknownCause),
    Refer(&'static str),
    Extend(Millis),
    Checkpoint(RecoveryPoint),
    Probed(Finding, Asker),
    Settle(Settlement),
}

/// Why somebody looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// It waited for its running twin, and is counted now.
    ForItsTwin,
    /// Its token was superseded (L3).
    NotAtAll,
}

/// What the store says.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Begin(Begin),
    Look(Look),
    Complete(Complete),
    Release(Release),
    Suspend(Suspend),
    Extend(Extend),
    Checkpoint(Checkpoint),
    Probed(Probed),
    Settle(Settle),
    Done,
}

/// One request to the origin.
#[derive(Clone, Debug)]
pub(crate) struct Dispatch {
    pub(crate) op: Op,
    pub(crate) worker: WorkerId,
    pub(crate) token: AttemptId,
    pub(crate) number: AttemptNumber,
    pub(crate) fingerprint: u8,
}

/// What the origin says, as the Worker classifies it (U1, U3).
#[derive(Clone, Debug)]
pub(crate) enum OriginAnswer {
    Final(Outcome, Option<&'static str>),
    NotRun(u16),
    Status(u16),
    Cut,
    Pending(&'static str),
    Found(Finding),
}
