//! A Worker between a client, the store and the origin; and the object's resolver, which is one without a client.
//!
//! It mimics `edge`: *begin*, then the origin, then a report, each message sent again a few times, and then the client's
//! answer. It may die between any two of these.

use shared::decide::{Begin, Complete, Lease, Look, Probed, Question, Release, Suspend};
use shared::processor::Asker;
use shared::record::{AttemptId, UnknownCause};
use shared::time::{Millis, Timestamp};

use crate::invariant::Held;
use crate::message::{Answer, Call, Dispatch, Message, Op, OriginAnswer, Waited, WorkerId};
use crate::plan::{LEASE, TIMEOUT};
use crate::situation::Situation;
use crate::world::{Event, World};

/// How long a Worker waits for the store.
const STORE_TIMEOUT: Millis = Millis::from_secs(3);
/// How often it sends a message once more.
const RESENDS_MAX: u8 = 1;

/// One request's way through the gateway.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) op: Op,
    pub(crate) fingerprint: u8,
    pub(crate) minted_at: Option<Timestamp>,
    pub(crate) role: Role,
    token: AttemptId,
    began_at: Timestamp,
    stage: Stage,
    /// Rises with the stage: a timer of an earlier one means nothing.
    turn: u32,
    resends: u8,
}

/// For whom it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Resolver,
}

#[derive(Clone, Debug)]
enum Stage {
    Beginning(Message),
    WaitingForTwin,
    Dispatched,
    Asking,
    Reporting(Message),
    Looking(Message),
}

/// What reaches a Worker.
#[derive(Clone, Debug)]
pub(crate) enum Incoming {
    Store(Answer),
    Origin(OriginAnswer),
    Timer(u32),
}

impl World {
    /// A client's request arrives.
    pub(crate) fn request(&mut self, op: Op, fingerprint: u8, minted_at: Option<Timestamp>) {
        let token = self.draw_token();
        self.start(op, fingerprint, minted_at, token);
    }

    fn start(&mut self, op: Op, fingerprint: u8, minted_at: Option<Timestamp>, token: AttemptId) {
        let id = self.next_worker();
        let call = Call::Begin {
            fingerprint,
            minted_at,
        };
        let message = self.message(op, token, call, Some(id));
        let worker = Worker {
            op,
            fingerprint,
            minted_at,
            role: Role::Client,
            token,
            began_at: self.now,
            stage: Stage::Beginning(message.clone()),
            turn: 0,
            resends: 0,
        };
        self.workers.insert(id, worker);
        self.to_store(message);
        self.timer(id, STORE_TIMEOUT);
    }

    /// The object sends an operation again by itself (U5).
    pub(crate) fn resolver_sends(
        &mut self,
        op: Op,
        token: AttemptId,
        fingerprint: u8,
        lease: &Lease,
    ) {
        let id = self.resolver(op, token, fingerprint, Stage::Dispatched);
        self.dispatch(id, lease);
    }

    /// The object asks the origin by itself (U5).
    pub(crate) fn resolver_asks(&mut self, op: Op, token: AttemptId, question: &Question) {
        let id = self.resolver(op, token, 0, Stage::Asking);
        self.ask(id, question);
    }

    fn resolver(&mut self, op: Op, token: AttemptId, fingerprint: u8, stage: Stage) -> WorkerId {
        let id = self.next_worker();
        let worker = Worker {
            op,
            fingerprint,
            minted_at: None,
            role: Role::Resolver,
            token,
            began_at: self.now,
            stage,
            turn: 0,
            resends: 0,
        };
        self.workers.insert(id, worker);
        id
    }

    /// Something reaches a Worker; one that has died or ended hears nothing.
    pub(crate) fn reaches(&mut self, id: WorkerId, incoming: Incoming) -> Held {
        let Some(worker) = self.workers.get(&id).cloned() else {
            return Ok(());
        };
        match (incoming, worker.stage.clone()) {
            (Incoming::Timer(turn), stage) if turn == worker.turn => {
                self.waited_long(id, &worker, stage)
            }
            (Incoming::Timer(_), _) => Ok(()),
            (Incoming::Store(Answer::Begin(begin)), Stage::Beginning(_)) => {
                self.may_begin(id, &worker, begin)
            }
            (Incoming::Store(Answer::Look(look)), Stage::Looking(_)) => {
                self.has_looked(id, &worker, look)
            }
            (Incoming::Store(answer), Stage::Reporting(message)) => {
                self.has_reported(id, &worker, message.call, &answer)
            }
            (Incoming::Origin(answer), Stage::Dispatched) => {
                self.origin_answered(id, answer);
                Ok(())
            }
            (Incoming::Origin(OriginAnswer::Found(finding)), Stage::Asking) => {
                let asker = match worker.role {
                    Role::Client => Asker::Caller,
                    Role::Resolver => Asker::Resolver,
                };
                self.report(id, Call::Probed(finding, asker));
                Ok(())
            }
            // Late, or a second time: this was dealt with.
            (
                Incoming::Store(_) | Incoming::Origin(_),
                Stage::Beginning(_)
                | Stage::WaitingForTwin
                | Stage::Dispatched
                | Stage::Asking
                | Stage::Reporting(_)
                | Stage::Looking(_),
            ) => Ok(()),
        }
    }

    fn may_begin(&mut self, id: WorkerId, worker: &Worker, begin: Begin) -> Held {
        match begin {
            Begin::Execute(lease) => {
                let margin = Millis::from_secs(2);
                if self.now.plus(margin) >= worker.began_at.plus(LEASE) {
                    self.ledger.seen.note(Situation::GaveBackTooLate);
                    self.report(id, Call::Release(None)); // L2
                } else {
                    self.dispatch(id, &lease);
                }
                Ok(())
            }
            Begin::Replay(replay) => {
                self.workers.remove(&id);
                self.ledger
                    .answered(worker.op, worker.fingerprint, &replay.outcome)
            }
            Begin::Wait { .. } => {
                self.stage(id, Stage::WaitingForTwin);
                self.timer(id, Millis::from_secs(1));
                Ok(())
            }
            Begin::Ask(question) => {
                self.ask(id, &question);
                Ok(())
            }
            Begin::Mismatch
            | Begin::Unknown { .. }
            | Begin::Expired
            | Begin::FromTheFuture
            | Begin::Abandoned => {
                self.workers.remove(&id);
                Ok(())
            }
        }
    }

    fn dispatch(&mut self, id: WorkerId, lease: &Lease) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let dispatch = Dispatch {
            op: worker.op,
            worker: id,
            token: worker.token,
            number: lease.number,
            fingerprint: worker.fingerprint,
        };
        self.stage(id, Stage::Dispatched);
        self.to_origin(dispatch);
        self.timer(id, TIMEOUT);
    }

    fn ask(&mut self, id: WorkerId, question: &Question) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let asks = Event::Asked {
            op: worker.op,
            worker: id,
            number: question.unknown.number,
        };
        self.stage(id, Stage::Asking);
        self.send(asks);
        self.timer(id, TIMEOUT);
    }

    fn origin_answered(&mut self, id: WorkerId, answer: OriginAnswer) {
        let call = match answer {
            OriginAnswer::Final(outcome, reference) => Call::Complete(outcome, reference),
            OriginAnswer::NotRun(status) => Call::Release(Some(status)),
            OriginAnswer::Status(status) => Call::Suspend(UnknownCause::Status(status)),
            OriginAnswer::Cut => Call::Suspend(UnknownCause::BrokenLine),
            OriginAnswer::Pending(reference) => Call::Refer(reference),
            OriginAnswer::Found(_) => return,
        };
        self.report(id, call);
    }

    fn report(&mut self, id: WorkerId, call: Call) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let (op, token) = (worker.op, worker.token);
        let message = self.message(op, token, call, Some(id));
        self.stage(id, Stage::Reporting(message.clone()));
        self.to_store(message);
        self.timer(id, STORE_TIMEOUT);
    }

    fn look(&mut self, id: WorkerId, waited: Waited) {
        let Some(worker) = self.workers.get(&id) else {
            return;
        };
        let call = Call::Look {
            fingerprint: worker.fingerprint,
            waited,
        };
        let (op, token) = (worker.op, worker.token);
        let message = self.message(op, token, call, Some(id));
        self.stage(id, Stage::Looking(message.clone()));
        self.to_store(message);
        self.timer(id, STORE_TIMEOUT);
    }

    /// Nothing came within the time.
    fn waited_long(&mut self, id: WorkerId, worker: &Worker, stage: Stage) -> Held {
        match stage {
            Stage::Beginning(message) if worker.resends == RESENDS_MAX => {
                self.workers.remove(&id);
                let abandon = self.message(worker.op, message.token, Call::Abandon, None);
                self.to_store(abandon); // L7
            }
            Stage::Reporting(_) | Stage::Looking(_) if worker.resends == RESENDS_MAX => {
                self.workers.remove(&id);
            }
            Stage::Beginning(message) | Stage::Reporting(message) | Stage::Looking(message) => {
                self.again(id);
                self.to_store(message);
                self.timer(id, STORE_TIMEOUT);
            }
            Stage::WaitingForTwin => self.look(id, Waited::ForItsTwin),
            Stage::Dispatched => self.report(id, Call::Suspend(UnknownCause::Timeout)),
            Stage::Asking => {
                let asker = match worker.role {
                    Role::Client => Asker::Caller,
                    Role::Resolver => Asker::Resolver,
                };
                self.report(id, Call::Probed(shared::decide::Finding::Unknown, asker));
            }
        }
        Ok(())
    }

    fn has_looked(&mut self, id: WorkerId, worker: &Worker, look: Look) -> Held {
        self.workers.remove(&id);
        match look {
            Look::Done(replay) if worker.role == Role::Client => {
                self.ledger
                    .answered(worker.op, worker.fingerprint, &replay.outcome)
            }
            Look::Done(_)
            | Look::Absent
            | Look::Running { .. }
            | Look::Unknown(_)
            | Look::Mismatch => Ok(()),
        }
    }

    /// Only now does the client get its answer.
    fn has_reported(&mut self, id: WorkerId, worker: &Worker, call: Call, answer: &Answer) -> Held {
        match answer {
            Answer::Complete(Complete::Superseded)
            | Answer::Release(Release::Superseded)
            | Answer::Suspend(Suspend::Superseded)
            | Answer::Probed(Probed::Superseded) => {
                self.look(id, Waited::NotAtAll); // L3: and never claims again
                Ok(())
            }
            // The caller begins anew: nothing was sent yet (A4). Under another token, since this one has asked.
            Answer::Probed(Probed::NotRun) if worker.role == Role::Client => {
                self.workers.remove(&id);
                self.request(worker.op, worker.fingerprint, worker.minted_at);
                Ok(())
            }
            Answer::Complete(_) | Answer::Probed(_) | Answer::Release(_) | Answer::Suspend(_) => {
                self.workers.remove(&id);
                match call {
                    Call::Complete(outcome, _)
                    | Call::Probed(shared::decide::Finding::Final(outcome), Asker::Caller) => self
                        .ledger
                        .answered(worker.op, worker.fingerprint, &outcome),
                    Call::Probed(..)
                    | Call::Release(_)
                    | Call::Suspend(_)
                    | Call::Begin { .. }
                    | Call::Look { .. }
                    | Call::Abandon
                    | Call::Refer(_)
                    | Call::Extend(_)
                    | Call::Checkpoint(_)
                    | Call::Settle(_) => Ok(()),
                }
            }
            Answer::Done => {
                self.workers.remove(&id);
                Ok(())
            }
            Answer::Begin(_)
            | Answer::Look(_)
            | Answer::Extend(_)
            | Answer::Checkpoint(_)
            | Answer::Settle(_) => Ok(()), // late, of an earlier stage
        }
    }

    fn stage(&mut self, id: WorkerId, stage: Stage) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.stage = stage;
            worker.turn += 1;
            worker.resends = 0;
        }
    }

    /// Whether a timer of this turn still means something.
    pub(crate) fn is_at(&self, id: WorkerId, turn: u32) -> bool {
        self.workers
            .get(&id)
            .is_some_and(|worker| worker.turn == turn)
    }

    fn again(&mut self, id: WorkerId) {
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.turn += 1;
            worker.resends += 1;
        }
    }

    fn timer(&mut self, id: WorkerId, span: Millis) {
        if let Some(worker) = self.workers.get(&id) {
            let turn = worker.turn;
            self.schedule(span, Event::Timer { worker: id, turn });
        }
    }
}
