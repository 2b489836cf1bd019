//! The origin: what it does with what it is sent, and what it says of it.
//!
//! Its effects go into the books under the run that they belong to, whatever anybody was answered.

use std::collections::BTreeMap;

use fastrand::Rng;
use shared::decide::Finding;
use shared::record::{AttemptId, Body, Outcome, RecoveryPoint};
use shared::time::Millis;

use crate::invariant::Held;
use crate::ledger::{EFFECT, Grant, Ledger};
use crate::message::{Call, Dispatch, Op, OriginAnswer};
use crate::plan::{Faults, OriginKind};
use crate::situation::Situation;

/// Something that an origin does a while after it was asked to.
#[derive(Clone, Debug)]
pub(crate) enum Later {
    /// It has its effect, or not.
    Acts(Run),
    /// It answers its caller.
    Answers(Run, OriginAnswer),
    /// It calls the gateway with the token (L5).
    Calls(Run, Call),
}

/// One run of one attempt.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) dispatch: Dispatch,
    grant: Grant,
    ending: Ending,
    answers_after: Millis,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Final,
    NotRun,
    StatusAfter,
    StatusBefore,
    CutAfter,
    CutBefore,
    /// Nothing is heard of it, and nothing was done.
    Silent,
    /// It answers that it works on, and completes later.
    Pending,
    /// It answers that it works on, and then does not run.
    PendingNotRun,
}

/// What it has done.
pub(crate) struct Origin {
    kind: OriginKind,
    /// By operation id, what its unique constraint holds.
    unique: BTreeMap<Op, (u8, Outcome)>,
    /// By operation and life, what was made.
    made: BTreeMap<(Op, u32), Outcome>,
    /// The highest attempt number that it said did not run.
    denied: BTreeMap<Op, u64>,
}

/// What an origin does now, and after how long it does more.
pub(crate) type Work = Vec<(Millis, Later)>;

impl Origin {
    pub(crate) const fn new(kind: OriginKind) -> Self {
        Self {
            kind,
            unique: BTreeMap::new(),
            made: BTreeMap::new(),
            denied: BTreeMap::new(),
        }
    }

    /// A dispatch arrives.
    pub(crate) fn runs(
        &self,
        dispatch: Dispatch,
        ledger: &mut Ledger,
        faults: Faults,
        rng: &mut Rng,
    ) -> Work {
        let Some(grant) = ledger.grant(dispatch.token) else {
            panic!("{dispatch:?} was sent without a lease");
        };
        let ending = draw_ending(faults.origin, rng);
        let slow = rng.u8(0..100) < faults.origin_slow;
        let acts_after = if slow {
            rng.u64(10_000..70_000)
        } else {
            rng.u64(5..2_000)
        };
        let run = Run {
            dispatch,
            grant,
            ending,
            answers_after: Millis::new(rng.u64(1..200)),
        };
        let mut work = Work::new();
        if rng.u8(0..4) == 0 {
            let name = format!("step{}", rng.u8(0..3));
            let point = RecoveryPoint::new(name, run.dispatch.number.to_string()).unwrap();
            work.push((
                Millis::new(acts_after / 3),
                Later::Calls(run.clone(), Call::Checkpoint(point)),
            ));
        }
        if slow && rng.bool() {
            let span = Millis::new(rng.u64(1_000..100_000));
            let at = Millis::new(acts_after / 2);
            work.push((at, Later::Calls(run.clone(), Call::Extend(span))));
        }
        if matches!(ending, Ending::Pending | Ending::PendingNotRun) {
            let pending = OriginAnswer::Pending("its-own-name");
            work.push((
                Millis::new(acts_after / 4),
                Later::Answers(run.clone(), pending),
            ));
        }
        work.push((Millis::new(acts_after), Later::Acts(run)));
        work
    }

    /// The moment at which it has its effect, or does not.
    pub(crate) fn acts(&mut self, run: Run, ledger: &mut Ledger, rng: &mut Rng) -> (Work, Held) {
        if self.refuses(&run) {
            ledger.seen.note(Situation::OriginRefused);
            return (says(run, OriginAnswer::NotRun(409)), Ok(()));
        }
        let effect = match run.ending {
            Ending::Final | Ending::StatusAfter | Ending::CutAfter | Ending::Pending => true,
            Ending::NotRun
            | Ending::StatusBefore
            | Ending::CutBefore
            | Ending::Silent
            | Ending::PendingNotRun => false,
        };
        if !effect {
            return (ends(run, None), Ok(()));
        }
        let (outcome, held) = self.effect(&run, ledger, rng);
        let Some(outcome) = outcome else {
            return (says(run, OriginAnswer::NotRun(422)), held);
        };
        if self.kind == OriginKind::Lying && rng.u8(0..3) == 0 {
            ledger.seen.note(Situation::OriginLied);
            return (says(run, OriginAnswer::NotRun(409)), held);
        }
        if matches!(run.ending, Ending::StatusAfter | Ending::CutAfter) {
            ledger.seen.note(Situation::EffectUnheard);
        }
        (ends(run, Some(outcome)), held)
    }

    /// An origin that fences refuses the attempts that it once denied (U3).
    fn refuses(&self, run: &Run) -> bool {
        let denied = self.denied.get(&run.dispatch.op).copied().unwrap_or(0);
        self.kind == OriginKind::Fencing && run.dispatch.number.get() <= denied
    }

    /// None where another request has the operation's id already.
    fn effect(&mut self, run: &Run, ledger: &mut Ledger, rng: &mut Rng) -> (Option<Outcome>, Held) {
        let (op, fingerprint) = (run.dispatch.op, run.dispatch.fingerprint);
        if let (OriginKind::Deduping, Some((first, outcome))) = (self.kind, self.unique.get(&op)) {
            ledger.seen.note(Situation::OriginDeduped);
            return ((*first == fingerprint).then(|| outcome.clone()), Ok(()));
        }
        let (number, held) = ledger.effect(op, run.grant.epoch, fingerprint);
        let outcome = outcome(number, rng);
        self.unique.insert(op, (fingerprint, outcome.clone()));
        self.made.insert((op, run.grant.life), outcome.clone());
        (Some(outcome), held)
    }

    /// It is asked what became of an operation, in its present life, up to this attempt (U3).
    pub(crate) fn is_asked(
        &mut self,
        op: Op,
        life: u32,
        number: u64,
        ledger: &mut Ledger,
        rng: &mut Rng,
    ) -> Finding {
        if rng.u8(0..4) == 0 {
            return Finding::Unknown;
        }
        let lies = self.kind == OriginKind::Lying && rng.bool();
        match self.made.get(&(op, life)) {
            Some(outcome) if !lies => Finding::Final(outcome.clone()),
            found => {
                if found.is_some() {
                    ledger.seen.note(Situation::OriginLied);
                }
                let denied = self.denied.entry(op).or_default();
                *denied = number.max(*denied);
                Finding::NotRun
            }
        }
    }
}

fn draw_ending(fails: u8, rng: &mut Rng) -> Ending {
    if rng.u8(0..100) >= fails {
        return Ending::Final;
    }
    match rng.u8(0..10) {
        0..=2 => Ending::NotRun,
        3 => Ending::StatusAfter,
        4 => Ending::StatusBefore,
        5 => Ending::CutAfter,
        6 => Ending::CutBefore,
        7 => Ending::Silent,
        8 => Ending::Pending,
        _ => Ending::PendingNotRun,
    }
}

/// What the caller hears in the end, or the gateway when the caller has had its answer.
fn ends(run: Run, outcome: Option<Outcome>) -> Work {
    match (run.ending, outcome) {
        (Ending::Pending, Some(outcome)) => {
            let call = Call::Complete(outcome, Some("its-own-name"));
            Vec::from([(run.answers_after, Later::Calls(run, call))])
        }
        (Ending::PendingNotRun, _) => {
            let call = Call::Release(None);
            Vec::from([(run.answers_after, Later::Calls(run, call))])
        }
        (Ending::Final, Some(outcome)) => says(run, OriginAnswer::Final(outcome, None)),
        (Ending::NotRun, _) => says(run, OriginAnswer::NotRun(429)),
        (Ending::StatusAfter | Ending::StatusBefore, _) => says(run, OriginAnswer::Status(500)),
        (Ending::CutAfter | Ending::CutBefore, _) => says(run, OriginAnswer::Cut),
        (Ending::Silent | Ending::Final | Ending::Pending, _) => Work::new(),
    }
}

/// It answers its caller, or the gateway when its caller was told to wait.
fn says(run: Run, answer: OriginAnswer) -> Work {
    let pending = matches!(run.ending, Ending::Pending | Ending::PendingNotRun);
    let later = match &answer {
        OriginAnswer::NotRun(status) if pending => {
            Later::Calls(run.clone(), Call::Release(Some(*status)))
        }
        OriginAnswer::Final(..)
        | OriginAnswer::NotRun(_)
        | OriginAnswer::Status(_)
        | OriginAnswer::Cut
        | OriginAnswer::Pending(_)
        | OriginAnswer::Found(_) => Later::Answers(run.clone(), answer),
    };
    Vec::from([(run.answers_after, later)])
}

/// An outcome that no other effect has; sometimes an empty one, which is one too (P1).
pub(crate) fn outcome(number: String, rng: &mut Rng) -> Outcome {
    let body = if rng.u8(0..4) == 0 {
        Vec::new()
    } else {
        number.clone().into_bytes()
    };
    Outcome {
        status: *rng.choice(&[200, 201, 402]).unwrap_or(&200),
        headers: Vec::from([(String::from(EFFECT), number)]),
        body: Body::Kept(body),
    }
}

impl Run {
    pub(crate) fn token(&self) -> AttemptId {
        self.dispatch.token
    }
}
