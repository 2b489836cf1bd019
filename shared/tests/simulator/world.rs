//! The world of one seed: its clock, its network, who acts next, and what happens then.
//!
//! All chance comes from one generator and all order from one queue, so that a seed is a history.

use std::collections::BTreeMap;

use fastrand::Rng;
use shared::decide::{Pursue, Settlement};
use shared::placement::{KeyDigest, ObjectName, Place};
use shared::record::{AttemptId, AttemptNumber};
use shared::scope::{OperationKey, RouteName, TenantId};
use shared::time::{Millis, Timestamp};

use crate::gateway::{Incoming, Role, Worker};
use crate::invariant::{Broken, Held};
use crate::ledger::{KEYS, Ledger, TENANTS, operations};
use crate::message::{Answer, Call, Dispatch, Message, Op, OriginAnswer, WorkerId};
use crate::object::Object;
use crate::origin::{Later, Origin, Work, outcome};
use crate::plan::{LEASE, Plan};
use crate::situation::Situation;

/// Everything that one seed made.
pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) ledger: Ledger,
    pub(crate) workers: BTreeMap<WorkerId, Worker>,
    pub(crate) trace: Option<Vec<String>>,
    rng: Rng,
    plan: Plan,
    objects: BTreeMap<ObjectName, Object>,
    places: Vec<(ObjectName, OperationKey, KeyDigest)>,
    origin: Origin,
    events: BTreeMap<(Timestamp, u32), Event>,
    sequence: u32,
    minted: BTreeMap<Op, Timestamp>,
}

/// Something on its way.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Store(Message),
    Worker(WorkerId, Incoming),
    Origin(Dispatch),
    Asked {
        op: Op,
        worker: WorkerId,
        number: AttemptNumber,
    },
    Later(Later),
    Timer {
        worker: WorkerId,
        turn: u32,
    },
    Alarm(ObjectName, Timestamp),
}

impl World {
    pub(crate) fn new(seed: u64, traces: Traces) -> Self {
        let mut rng = Rng::with_seed(seed);
        let plan = Plan::draw(&mut rng);
        let places: Vec<_> = operations().map(place).collect();
        let objects = places
            .iter()
            .map(|(name, ..)| (*name, Object::new()))
            .collect();
        let mut world = Self {
            now: Timestamp::from_millis(1_700_000_000_000),
            ledger: Ledger::new(plan.clone()),
            workers: BTreeMap::new(),
            trace: match traces {
                Traces::Kept => Some(Vec::new()),
                Traces::Not => None,
            },
            origin: Origin::new(plan.origin),
            rng,
            plan,
            objects,
            places,
            events: BTreeMap::new(),
            sequence: 0,
            minted: BTreeMap::new(),
        };
        world.tell(|world| format!("{:?}", world.plan));
        world
    }

    /// One step: something arrives, or somebody acts; then everything must hold.
    pub(crate) fn step(&mut self) -> Held {
        let faults = self.plan.faults;
        if self.chance(faults.worker_dies) {
            self.worker_dies();
        } else if self.chance(faults.object_dies) {
            self.object_dies();
        } else if !self.events.is_empty() && self.chance(faults.arrivals) {
            self.arrives()?;
        } else {
            self.somebody_acts();
        }
        self.judge()
    }

    fn arrives(&mut self) -> Held {
        let Some((at, event)) = self.next_event() else {
            return Ok(());
        };
        self.now = self.now.max(at);
        self.tell(|world| format!("{} {event:?}", world.now.as_millis() % 10_000_000));
        match event {
            Event::Store(message) => self.store_takes(message),
            Event::Worker(worker, incoming) => self.reaches(worker, incoming),
            Event::Timer { worker, turn } => self.reaches(worker, Incoming::Timer(turn)),
            Event::Origin(dispatch) => {
                let faults = self.plan.faults;
                let work = self
                    .origin
                    .runs(dispatch, &mut self.ledger, faults, &mut self.rng);
                self.works(work);
                Ok(())
            }
            Event::Asked { op, worker, number } => {
                let life = self.ledger.lives(op);
                let finding =
                    self.origin
                        .is_asked(op, life, number.get(), &mut self.ledger, &mut self.rng);
                let answer = Incoming::Origin(OriginAnswer::Found(finding));
                self.send(Event::Worker(worker, answer));
                Ok(())
            }
            Event::Later(Later::Acts(run)) => {
                let late = self
                    .ledger
                    .grant(run.token())
                    .is_some_and(|grant| grant.lease_until <= self.now);
                if late {
                    self.ledger.seen.note(Situation::EffectAfterTheLease);
                }
                let (work, held) = self.origin.acts(run, &mut self.ledger, &mut self.rng);
                self.works(work);
                held
            }
            Event::Later(Later::Answers(run, answer)) => {
                self.send(Event::Worker(run.dispatch.worker, Incoming::Origin(answer)));
                Ok(())
            }
            Event::Later(Later::Calls(run, call)) => {
                let message = self.message(run.dispatch.op, run.token(), call, None);
                self.to_store(message);
                Ok(())
            }
            Event::Alarm(name, set) => self.alarm(name, set),
        }
    }

    /// The next thing that somebody is there for; what means nothing any more costs no step.
    fn next_event(&mut self) -> Option<(Timestamp, Event)> {
        loop {
            let ((at, _), event) = self.events.pop_first()?;
            let matters = match &event {
                Event::Timer { worker, turn } => self.is_at(*worker, *turn),
                Event::Worker(worker, _) => self.workers.contains_key(worker),
                Event::Alarm(name, set) => self
                    .objects
                    .get(name)
                    .is_some_and(|object| object.armed == Some(*set)),
                Event::Store(_) | Event::Origin(_) | Event::Asked { .. } | Event::Later(_) => true,
            };
            if matters {
                return Some((at, event));
            }
        }
    }

    fn works(&mut self, work: Work) {
        for (span, later) in work {
            self.schedule(span, Event::Later(later));
        }
    }

    /// The store takes a message, answers, and is armed for what it made due.
    fn store_takes(&mut self, message: Message) -> Held {
        let (name, key, digest) = self.place_of(message.op);
        let (policy, now) = (self.plan.policy, self.now);
        let Some(object) = self.objects.get_mut(&name) else {
            return Ok(());
        };
        let before = object.logged(&digest);
        let (answer, counted) = object.take(&key, &message, &policy, now);
        let after = object.logged(&digest);
        self.tell(|_| format!("    {answer:?}"));
        counted?;
        self.ledger.took(&message, &answer, now)?;
        self.ledger.judge_log(message.op, &before, &after)?;
        if let (
            Call::Complete(outcome, _),
            Answer::Complete(shared::decide::Complete::Superseded),
        ) = (&message.call, &answer)
        {
            self.ledger
                .judge_evidence(message.token, outcome.status, &after)?;
        }
        self.arm(name, now);
        if let Some(worker) = message.from {
            self.answer(worker, answer);
        }
        Ok(())
    }

    /// *Done but unheard*, where the answer is lost.
    fn answer(&mut self, worker: WorkerId, answer: Answer) {
        if self.chance(self.plan.faults.lost / 2) {
            self.ledger.seen.note(Situation::AnswerLost);
            return;
        }
        self.send(Event::Worker(worker, Incoming::Store(answer)));
    }

    fn arm(&mut self, name: ObjectName, earliest: Timestamp) {
        let now = self.now;
        let set = self
            .objects
            .get_mut(&name)
            .and_then(|object| object.arm(earliest, now));
        let Some(set) = set else {
            return;
        };
        let late = self.chance(self.plan.faults.alarm / 2);
        let mut comes = set;
        if late {
            self.ledger.seen.note(Situation::AlarmLate);
            comes = set.plus(Millis::new(self.rng.u64(1_000..120_000)));
        }
        self.at(comes, Event::Alarm(name, set));
    }

    /// The alarm comes: once, twice, or never.
    fn alarm(&mut self, name: ObjectName, set: Timestamp) -> Held {
        let Some(object) = self.objects.get_mut(&name) else {
            return Ok(());
        };
        if object.armed != Some(set) {
            return Ok(()); // set anew since
        }
        if self.chance(self.plan.faults.alarm / 4) {
            self.ledger.seen.note(Situation::AlarmLost);
            if let Some(object) = self.objects.get_mut(&name) {
                object.lose_alarm();
            }
            self.resolvers_die(name);
            return Ok(());
        }
        self.on_alarm(name)?;
        if self.chance(self.plan.faults.alarm / 2) {
            self.ledger.seen.note(Situation::AlarmTwice);
            self.on_alarm(name)?;
        }
        Ok(())
    }

    /// A bounded piece of what is due: leases that ran out, what the resolver pursues, the sweep (U5, R1).
    fn on_alarm(&mut self, name: ObjectName) -> Held {
        let (policy, now) = (self.plan.policy, self.now);
        let tokens: [AttemptId; 4] = core::array::from_fn(|_| self.draw_token());
        let Some(object) = self.objects.get_mut(&name) else {
            return Ok(());
        };
        object.alarm_comes();
        let expired = object.processor.expire_leases(&policy, now, 2).unwrap();
        let pursued = object.processor.pursue(&tokens, &policy, now).unwrap();
        let swept = object.processor.sweep(now, 2).unwrap();
        for _ in &expired {
            self.ledger.seen.note(Situation::LeaseExpiredByAlarm);
        }
        for _ in 0..swept.forgotten {
            self.ledger.seen.note(Situation::SweptAway);
        }
        for (key, token, pursue) in pursued {
            self.tell(|_| format!("    {key} {token} {pursue:?}"));
            let Some(op) = self.op_of(name, &key) else {
                continue;
            };
            self.ledger.pursued(op, token, &pursue, now)?;
            match pursue {
                Pursue::Send(lease) => {
                    let (_, _, digest) = self.place_of(op);
                    let kept = self
                        .objects
                        .get_mut(&name)
                        .map(|object| object.request(&digest));
                    let fingerprint = kept.flatten().unwrap_or(0);
                    self.resolver_sends(op, token, fingerprint, &lease);
                }
                Pursue::Ask(question) => self.resolver_asks(op, token, &question),
                Pursue::Nothing | Pursue::NeedsAPerson => {}
            }
        }
        self.arm(name, now.plus(Millis::from_secs(1)));
        Ok(())
    }

    fn somebody_acts(&mut self) {
        let faults = self.plan.faults;
        if self.chance(faults.standstills) {
            let retention = self.plan.policy.retention().span().unwrap_or(LEASE);
            let span = match self.rng.u8(0..4) {
                0 => retention,
                1 => self.until_next_end(),
                _ => Millis::new(self.rng.u64(1_000..2 * LEASE.get())),
            };
            self.time_passes(span);
        } else if self.chance(faults.operators) {
            self.operator_settles();
        } else {
            self.client_asks();
        }
    }

    /// To the very moment at which a lease, a pause or a retention ends: all of them are half-open.
    fn until_next_end(&mut self) -> Millis {
        let now = self.now;
        let due = self.objects.values_mut().filter_map(Object::next_due);
        let ends = due.chain(self.ledger.ends()).filter(|end| *end > now);
        ends.min().map_or(LEASE, |end| end.since(now))
    }

    /// What is on its way comes late then: a Worker that stood still.
    fn time_passes(&mut self, span: Millis) {
        self.now = self.now.plus(span);
        self.tell(|world| format!("{} time passes", world.now.as_millis() % 10_000_000));
    }

    fn client_asks(&mut self) {
        let idle = self.ledger.not_running(self.now);
        let looks = self.rng.u8(0..4) != 0;
        let chosen = if looks {
            self.rng.choice(&idle).copied()
        } else {
            None
        };
        let op = chosen.unwrap_or_else(|| self.draw_op());
        let fingerprint = if self.rng.u8(0..8) == 0 { 2 } else { 1 };
        let minted_at = self.plan.keys_tell_their_age.then(|| self.minted_at(op));
        self.request(op, fingerprint, minted_at);
        if self.rng.u8(0..4) == 0 {
            self.request(op, fingerprint, minted_at); // L1: at once
        }
    }

    /// A key is minted once, at its first request; now and then its clock is wrong.
    fn minted_at(&mut self, op: Op) -> Timestamp {
        let ahead = if self.rng.bool() {
            self.rng.u64(0..400_000)
        } else {
            0
        };
        let first = self.now.plus(Millis::new(ahead));
        *self.minted.entry(op).or_insert(first)
    }

    /// A person says what happened, and is wrong now and then (U6).
    fn operator_settles(&mut self) {
        let unknown = self.ledger.unknown(self.now);
        let looks = self.rng.u8(0..4) != 0;
        let listed = if looks {
            self.rng.choice(&unknown).copied()
        } else {
            None
        };
        let op = listed.unwrap_or_else(|| self.draw_op());
        let token = self.draw_token();
        let settlement = match self.rng.u8(0..3) {
            0 => {
                let number = self.ledger.made_up(op);
                Settlement::Succeeded(outcome(number, &mut self.rng))
            }
            1 => Settlement::DidNotHappen,
            _ => Settlement::TryAgain,
        };
        let wrong = self.ledger.has_effect(op) && !matches!(settlement, Settlement::Succeeded(_));
        if wrong {
            self.ledger.seen.note(Situation::SettledWrongly);
        }
        let message = self.message(op, token, Call::Settle(settlement), None);
        self.to_store(message);
    }

    fn worker_dies(&mut self) {
        let clients = self
            .workers
            .iter()
            .filter(|(_, worker)| worker.role == Role::Client);
        let living: Vec<WorkerId> = clients.map(|(id, _)| *id).collect();
        if let Some(id) = self.rng.choice(&living) {
            self.workers.remove(id);
            self.ledger.seen.note(Situation::WorkerDied);
            let id = *id;
            self.tell(|_| format!("worker {id} dies"));
        }
    }

    fn object_dies(&mut self) {
        let tenant = self.rng.usize(0..TENANTS);
        let (name, ..) = self.place_of(Op { tenant, key: 0 });
        if let Some(object) = self.objects.get_mut(&name) {
            object.die();
        }
        self.resolvers_die(name);
        self.ledger.seen.note(Situation::ObjectDied);
        self.tell(|_| format!("object {name} dies"));
    }

    /// They live in the object's memory.
    fn resolvers_die(&mut self, name: ObjectName) {
        let places = self.places.clone();
        self.workers
            .retain(|_, worker| worker.role == Role::Client || places[index(worker.op)].0 != name);
    }

    /// Everything that must hold after every step.
    fn judge(&mut self) -> Held {
        let now = self.now;
        for op in operations() {
            let (name, _, digest) = &self.places[index(op)];
            let Some(object) = self.objects.get_mut(name) else {
                continue;
            };
            let (record, request_is_kept) = object.kept(digest);
            self.ledger
                .judge(op, record.as_ref(), request_is_kept, now)?;
            if !object.alarm_is_lost {
                let due = record.and_then(|record| record.due());
                Ledger::judge_alarm(due, object.armed, now)?;
            }
        }
        Ok(())
    }

    /// Sends a message to the store: it may be lost, late, or come twice.
    pub(crate) fn to_store(&mut self, message: Message) {
        if self.chance(self.plan.faults.lost / 2) {
            self.ledger.seen.note(Situation::MessageLost);
            return;
        }
        if self.chance(self.plan.faults.doubled) {
            self.ledger.seen.note(Situation::MessageTwice);
            self.send(Event::Store(message.clone()));
        }
        self.send(Event::Store(message));
    }

    /// Sends a request to the origin, which may be lost.
    pub(crate) fn to_origin(&mut self, dispatch: Dispatch) {
        if self.chance(self.plan.faults.lost / 2) {
            self.ledger.seen.note(Situation::MessageLost);
            return;
        }
        self.send(Event::Origin(dispatch));
    }

    /// Puts it on the line, where it takes its time.
    pub(crate) fn send(&mut self, event: Event) {
        let slow = self.chance(self.plan.faults.slow);
        let span = if slow {
            self.rng.u64(1_000..LEASE.get() * 3 / 2)
        } else {
            self.rng.u64(0..150)
        };
        self.schedule(Millis::new(span), event);
    }

    pub(crate) fn schedule(&mut self, span: Millis, event: Event) {
        self.at(self.now.plus(span), event);
    }

    fn at(&mut self, moment: Timestamp, event: Event) {
        self.sequence += 1;
        self.events.insert((moment, self.sequence), event);
    }

    pub(crate) fn message(
        &mut self,
        op: Op,
        token: AttemptId,
        call: Call,
        from: Option<WorkerId>,
    ) -> Message {
        self.sequence += 1;
        Message {
            number: self.sequence,
            op,
            token,
            call,
            from,
        }
    }

    pub(crate) fn next_worker(&mut self) -> WorkerId {
        self.sequence += 1;
        self.sequence
    }

    /// A token, drawn at random.
    pub(crate) fn draw_token(&mut self) -> AttemptId {
        AttemptId::from_bytes(self.rng.u128(..).to_be_bytes())
    }

    fn draw_op(&mut self) -> Op {
        Op {
            tenant: self.rng.usize(0..TENANTS),
            key: self.rng.usize(0..KEYS),
        }
    }

    fn chance(&mut self, percent: u8) -> bool {
        percent > 0 && self.rng.u8(0..100) < percent
    }

    fn place_of(&self, op: Op) -> (ObjectName, OperationKey, KeyDigest) {
        self.places[index(op)].clone()
    }

    fn op_of(&self, name: ObjectName, key: &OperationKey) -> Option<Op> {
        operations().find(|op| {
            let (place, known, _) = &self.places[index(*op)];
            *place == name && known == key
        })
    }

    fn tell(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.trace.is_some() {
            let line = line(self);
            if let Some(trace) = &mut self.trace {
                trace.push(line);
            }
        }
    }

    /// The last lines of the trace.
    pub(crate) fn last_lines(&self, count: usize) -> String {
        let lines = self.trace.as_deref().unwrap_or_default();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}

/// Whether a world writes down what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traces {
    Kept,
    Not,
}

/// Runs a seed to its end, or to the first step after which something does not hold.
pub(crate) fn run(seed: u64, steps: usize, traces: Traces) -> (World, Result<(), (usize, Broken)>) {
    let mut world = World::new(seed, traces);
    for step in 0..steps {
        if let Err(broken) = world.step() {
            return (world, Err((step, broken)));
        }
    }
    (world, Ok(()))
}

const fn index(op: Op) -> usize {
    op.tenant * KEYS + op.key
}

fn place(op: Op) -> (ObjectName, OperationKey, KeyDigest) {
    let tenant = TenantId::parse(&format!("tenant-{}", op.tenant)).unwrap();
    let route = RouteName::parse("orders").unwrap();
    let key = OperationKey::parse(&format!("an-operation-key-{}", op.key)).unwrap();
    let object = Place::of(&tenant, &route, 1, &key).object();
    let digest = KeyDigest::of(&key);
    (object, key, digest)
}
