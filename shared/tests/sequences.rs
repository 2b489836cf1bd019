//! Every short sequence of messages to one operation, beside a model of a few lines.
//!
//! The alphabet has two fingerprints, completion by the holder and by a ghost, release, suspension, time past the lease
//! and past the retention with pruning, and the last message once more. Eight steps deep in release, seven in
//! debug, under each choice of `on_unknown`.

use shared::decide::{Ask, Begin, Complete, Lease, Look, Release, Replay, Suspend};
use shared::fingerprint::Fingerprint;
use shared::metrics::Sums;
use shared::policy::{Kind, OnUnknown, Policy, PolicyParts, Retention};
use shared::processor::Processor;
use shared::record::{AttemptId, AttemptNumber, Body, Outcome, Unknown, UnknownCause};
use shared::scope::OperationKey;
use shared::store::MemoryStore;
use shared::time::{Millis, Timestamp};

const DEPTH: usize = if cfg!(debug_assertions) { 7 } else { 8 };
const LEASE: Millis = Millis::from_secs(30);
const RETENTION: Millis = Millis::from_hours(1);

/// One message, or time that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A new caller asks to run the first request.
    BeginA,
    /// A new caller asks to run another request under the same key.
    BeginB,
    /// The last attempt that was let run completes.
    CompleteHolder,
    /// An attempt that is not the last one completes.
    CompleteGhost,
    /// The last attempt says that it did not run.
    Release,
    /// The last attempt does not know.
    Suspend,
    /// The lease of whoever runs now ends.
    PassLease,
    /// The retention of whatever is done now ends, and the store is pruned.
    PassRetention,
    /// The last message comes once more.
    Again,
}

const ALPHABET: [Step; 9] = [
    Step::BeginA,
    Step::BeginB,
    Step::CompleteHolder,
    Step::CompleteGhost,
    Step::Release,
    Step::Suspend,
    Step::PassLease,
    Step::PassRetention,
    Step::Again,
];

/// A message as it was sent, so that it can come twice.
#[derive(Clone, Copy)]
enum Message {
    Begin { token: u8, fingerprint: u8 },
    Complete { token: u8 },
    Release { token: u8 },
    Suspend { token: u8 },
}

/// What is true of the operation, in the fewest words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is known of it.
    Free,
    /// The last attempt runs, or ran until its lease ended.
    Running,
    /// Nobody knows of the last attempt.
    Unknown,
    /// The last attempt did not run, and nobody knows of one before.
    EarlierUnknown,
    /// Done by the attempt whose token is here, kept until then.
    Done { by: u8, expires_at: Timestamp },
}

#[derive(Clone)]
struct Model {
    phase: Phase,
    fingerprint: u8,
    /// The last token that was let run; 0 before the first.
    last: u8,
    lease_until: Timestamp,
    earlier_unknown: bool,
    /// The highest number given out.
    number: u64,
    answered: u64,
}

#[derive(Clone)]
struct World {
    processor: Processor<MemoryStore>,
    model: Model,
    now: Timestamp,
    tokens: u8,
    last_message: Option<Message>,
}

struct Walk {
    policy: Policy,
    key: OperationKey,
    path: Vec<Step>,
    sequences: u64,
}

impl Walk {
    fn down(&mut self, world: &World, depth: usize) {
        if depth == 0 {
            self.sequences += 1;
            return;
        }
        for step in ALPHABET {
            let mut next = world.clone();
            self.path.push(step);
            self.take(&mut next, step);
            self.invariants(&mut next);
            self.down(&next, depth - 1);
            self.path.pop();
        }
    }

    fn take(&self, world: &mut World, step: Step) {
        let message = match step {
            Step::BeginA | Step::BeginB => {
                world.tokens += 1;
                let fingerprint = if step == Step::BeginA { 0xa } else { 0xb };
                Message::Begin {
                    token: world.tokens,
                    fingerprint,
                }
            }
            Step::CompleteHolder => Message::Complete {
                token: world.model.last,
            },
            // The one before the last where there is one, else one that never was.
            Step::CompleteGhost => Message::Complete {
                token: world.model.last.wrapping_sub(1),
            },
            Step::Release => Message::Release {
                token: world.model.last,
            },
            Step::Suspend => Message::Suspend {
                token: world.model.last,
            },
            Step::PassLease => {
                world.now = world.now.plus(LEASE);
                return;
            }
            Step::PassRetention => {
                world.now = world.now.plus(RETENTION);
                world
                    .processor
                    .expire_leases(&self.policy, world.now, 9)
                    .unwrap();
                world.processor.sweep(world.now, 9).unwrap();
                return;
            }
            Step::Again => match world.last_message {
                Some(message) => message,
                None => return,
            },
        };
        world.last_message = Some(message);
        self.send(world, message);
    }

    fn send(&self, world: &mut World, message: Message) {
        let (key, now, policy) = (&self.key, world.now, &self.policy);
        match message {
            Message::Begin { token, fingerprint } => {
                let ask = Ask {
                    token: id(token),
                    fingerprint: print(fingerprint),
                    minted_at: None,
                };
                let found =
                    without_reasons(world.processor.begin(key, &ask, None, policy, now).unwrap());
                let expected = world.model.begin(token, fingerprint, policy, now);
                self.same(&found, &expected);
            }
            Message::Complete { token } => {
                let outcome = outcome(token);
                let found = world
                    .processor
                    .complete(key, id(token), outcome, None, policy, now)
                    .unwrap();
                let expected = world.model.complete(token, now);
                self.same(&found, &expected);
            }
            Message::Release { token } => {
                let found = world
                    .processor
                    .release(key, id(token), None, policy, now)
                    .unwrap();
                let found = match found {
                    Release::StillUnknown(_) => "still unknown",
                    Release::Released => "released",
                    Release::AlreadyReleased => "already released",
                    Release::AlreadyRecorded => "already recorded",
                    Release::Superseded => "superseded",
                };
                self.same(&found, &world.model.release(token, now));
            }
            Message::Suspend { token } => {
                let cause = UnknownCause::Timeout;
                let found = world
                    .processor
                    .suspend(key, id(token), cause, None, policy, now)
                    .unwrap();
                let found = match found {
                    Suspend::Suspended(_) => "suspended",
                    Suspend::AlreadySuspended(_) => "already suspended",
                    Suspend::AlreadyRecorded => "already recorded",
                    Suspend::Superseded => "superseded",
                };
                self.same(&found, &world.model.suspend(token, now));
            }
        }
    }

    /// What must hold after every step.
    fn invariants(&self, world: &mut World) {
        let now = world.now;
        let model = &world.model;
        self.same(&world.processor.sums().calls(), &model.answered); // P8: every answered call in exactly one sum
        let found = world
            .processor
            .look(&self.key, None, self.policy.kind(), now)
            .unwrap();
        let expected = match model.at(now) {
            Phase::Free => Look::Absent,
            Phase::Done { by, expires_at } => Look::Done(Replay {
                outcome: outcome(by), // the same bytes for the whole retention
                expires_at: Some(expires_at),
                changed: false,
            }),
            Phase::Running if now < model.lease_until => Look::Running {
                lease_until: model.lease_until,
            },
            Phase::Running | Phase::Unknown | Phase::EarlierUnknown => match found {
                Look::Unknown(unknown) => Look::Unknown(unknown), // U2: it is never forgotten
                Look::Absent | Look::Running { .. } | Look::Done(_) | Look::Mismatch => {
                    panic!(
                        "an unknown outcome was lost to {found:?} by {:?}",
                        self.path
                    )
                }
            },
        };
        self.same(&found, &expected);
    }

    #[track_caller]
    fn same<T: PartialEq + core::fmt::Debug>(&self, found: &T, expected: &T) {
        assert_eq!(
            found,
            expected,
            "{:?} after {:?}",
            self.policy.on_unknown(),
            self.path
        );
    }
}

impl Model {
    fn at(&self, now: Timestamp) -> Phase {
        if matches!(self.phase, Phase::Done { expires_at, .. } if now >= expires_at) {
            return Phase::Free; // P5
        }
        self.phase
    }

    fn begin(&mut self, token: u8, fingerprint: u8, policy: &Policy, now: Timestamp) -> Begin {
        let phase = self.at(now);
        let changed = fingerprint != self.fingerprint;
        if phase != Phase::Free && changed && policy.kind() == Kind::Api {
            self.answered += 1;
            return Begin::Mismatch;
        }
        match phase {
            Phase::Free => {
                self.fingerprint = fingerprint;
                self.earlier_unknown = false;
                self.run(token, now)
            }
            Phase::Done { by, expires_at } => {
                self.answered += 1;
                let expires_at = Some(expires_at);
                Begin::Replay(Replay {
                    outcome: outcome(by),
                    expires_at,
                    changed,
                })
            }
            Phase::Running if now < self.lease_until && token == self.last => self.lease(true),
            Phase::Running if now < self.lease_until => Begin::Wait {
                lease_until: self.lease_until,
            },
            Phase::Running | Phase::Unknown | Phase::EarlierUnknown
                if now < self.lease_until
                    || policy.on_unknown() == OnUnknown::Park
                    || token == self.last =>
            {
                self.answered += 1;
                any_unknown()
            }
            Phase::Running | Phase::Unknown | Phase::EarlierUnknown => {
                self.earlier_unknown = true;
                self.run(token, now)
            }
        }
    }

    fn run(&mut self, token: u8, now: Timestamp) -> Begin {
        self.phase = Phase::Running;
        self.last = token;
        self.number += 1;
        self.lease_until = now.plus(LEASE);
        self.lease(false)
    }

    fn lease(&self, repeated: bool) -> Begin {
        let number = AttemptNumber::new(self.number);
        Begin::Execute(Lease {
            number,
            until: self.lease_until,
            took_over: None,
            point: None,
            repeated,
        })
    }

    fn complete(&mut self, token: u8, now: Timestamp) -> Complete {
        let phase = self.at(now);
        if phase == Phase::Free || token != self.last || self.last == 0 {
            self.answered += 1;
            return Complete::Superseded;
        }
        if let Phase::Done { expires_at, .. } = phase {
            return Complete::AlreadyRecorded {
                expires_at: Some(expires_at),
            };
        }
        self.answered += 1;
        let expires_at = now.plus(RETENTION);
        self.phase = Phase::Done {
            by: token,
            expires_at,
        };
        Complete::Recorded {
            expires_at: Some(expires_at),
        }
    }

    fn release(&mut self, token: u8, now: Timestamp) -> &'static str {
        match self.at(now) {
            Phase::Free => "already released",
            _ if token != self.last => {
                self.answered += 1;
                "superseded"
            }
            Phase::Done { .. } => "already recorded",
            Phase::EarlierUnknown => "already released",
            Phase::Running | Phase::Unknown => {
                self.answered += 1;
                if self.earlier_unknown {
                    self.phase = Phase::EarlierUnknown; // U4
                    "still unknown"
                } else {
                    self.phase = Phase::Free;
                    "released"
                }
            }
        }
    }

    fn suspend(&mut self, token: u8, now: Timestamp) -> &'static str {
        match self.at(now) {
            Phase::Free => {
                self.answered += 1;
                "superseded"
            }
            _ if token != self.last => {
                self.answered += 1;
                "superseded"
            }
            Phase::Done { .. } => "already recorded",
            Phase::Unknown | Phase::EarlierUnknown => "already suspended",
            // Also when the alarm saw the lease end first: then the attempt explains what was only missed.
            Phase::Running => {
                self.answered += 1;
                self.phase = Phase::Unknown;
                "suspended"
            }
        }
    }
}

/// The answer that says "unknown", without which and until when: that is in the tables of `decide`.
fn any_unknown() -> Begin {
    let number = AttemptNumber::new(0);
    let unknown = Unknown::lease_ran_out(Timestamp::from_millis(0), number);
    Begin::Unknown {
        unknown,
        retry_at: None,
    }
}

fn without_reasons(begin: Begin) -> Begin {
    match begin {
        Begin::Unknown { .. } => any_unknown(),
        Begin::Execute(lease) => Begin::Execute(Lease {
            took_over: None,
            ..lease
        }),
        Begin::Replay(_)
        | Begin::Wait { .. }
        | Begin::Ask(_)
        | Begin::Mismatch
        | Begin::Expired
        | Begin::FromTheFuture
        | Begin::Abandoned => begin,
    }
}

fn id(token: u8) -> AttemptId {
    AttemptId::from_bytes([token; 16])
}

fn print(name: u8) -> Fingerprint {
    Fingerprint {
        recipe: 1,
        digest: [name; 32],
    }
}

/// Every attempt's outcome is its own, so that one standing in for another shows.
fn outcome(token: u8) -> Outcome {
    Outcome {
        status: 200,
        headers: Vec::new(),
        body: Body::Kept(vec![token]),
    }
}

fn walk(kind: Kind, on_unknown: OnUnknown) {
    let mut parts = PolicyParts::defaults(kind, on_unknown);
    parts.lease = LEASE;
    parts.retention = Retention::of(RETENTION).unwrap();
    let mut walk = Walk {
        policy: Policy::new(parts).unwrap(),
        key: OperationKey::parse("an-operation-key").unwrap(),
        path: Vec::new(),
        sequences: 0,
    };
    let now = Timestamp::from_millis(1_700_000_000_000);
    let model = Model {
        phase: Phase::Free,
        fingerprint: 0,
        last: 0,
        lease_until: now,
        earlier_unknown: false,
        number: 0,
        answered: 0,
    };
    let processor = Processor::new(MemoryStore::new(), Sums::default());
    let world = World {
        processor,
        model,
        now,
        tokens: 0,
        last_message: None,
    };
    walk.down(&world, DEPTH);
    let all = u64::try_from(ALPHABET.len())
        .unwrap()
        .pow(u32::try_from(DEPTH).unwrap());
    assert_eq!(walk.sequences, all);
}

#[test]
fn every_short_sequence_does_what_the_model_says_when_the_unknown_is_parked() {
    walk(Kind::Api, OnUnknown::Park);
}

#[test]
fn every_short_sequence_does_what_the_model_says_when_a_retry_resumes() {
    walk(Kind::Api, OnUnknown::Resume);
}

#[test]
fn every_short_sequence_does_what_the_model_says_when_a_webhook_reruns() {
    walk(Kind::Webhook, OnUnknown::Rerun);
}
