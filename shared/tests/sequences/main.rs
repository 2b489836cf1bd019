//! Every short sequence of messages to one operation, beside a model of a few lines.
//!
//! The alphabet has two fingerprints, what an attempt reports (also one that does not count any more), what an
//! origin says when it is asked, what an operator says, the resolver's round, time past the lease and past the
//! retention with pruning, and the last message once more. From a state that was reached before, by other messages,
//! the same number of further steps or more is walked once only: it would be the same again. Eight steps deep in
//! release, seven in debug, under each choice of `on_unknown`.

mod model;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash as _, Hasher as _};

use shared::decide::{
    Ask, Begin, Checkpoint, Finding, Lease, Look, Probed, Pursue, Question, Release, Replay,
    Settle, Settlement, Suspend,
};
use shared::fingerprint::Fingerprint;
use shared::metrics::Sums;
use shared::placement::KeyDigest;
use shared::policy::{Kind, OnUnknown, Policy, PolicyParts, Retention};
use shared::processor::{Asker, Processor, Settling};
use shared::record::UnknownCause;
use shared::scope::OperationKey;
use shared::store::{MemoryStore, RecordStore as _};
use shared::time::{Millis, Timestamp};

use model::{
    EXTENSION, How, LEASE, MAX_LEASE, Model, Phase, RESOLVE_AFTER, RESOLVE_TRIES, RETENTION, Said,
    any_unknown, id, nothing_known, outcome, point,
};

/// One message, or time that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A new caller asks to run the first request, or to know what became of it.
    BeginA,
    /// A new caller asks to run another request under the same key, one that can't be sent by itself.
    BeginB,
    /// The last attempt that was let run completes.
    CompleteHolder,
    /// An attempt that is not the last one completes.
    CompleteGhost,
    /// The last attempt says that it did not run.
    Release,
    /// The last attempt does not know.
    Suspend,
    /// The last attempt needs longer.
    Extend,
    /// The last attempt has come so far.
    Checkpoint,
    /// The origin answers the last question.
    Probed(Said),
    /// An operator settles it.
    Settle(How),
    /// The resolver makes a round.
    Pursue,
    /// The lease of whoever runs now ends, if it was not extended.
    PassLease,
    /// The retention of whatever is done now ends, and the alarm writes down leases and prunes.
    PassRetention,
    /// The last message comes once more.
    Again,
}

const ALPHABET: [Step; 18] = [
    Step::BeginA,
    Step::BeginB,
    Step::CompleteHolder,
    Step::CompleteGhost,
    Step::Release,
    Step::Suspend,
    Step::Extend,
    Step::Checkpoint,
    Step::Probed(Said::Final),
    Step::Probed(Said::NotRun),
    Step::Probed(Said::Unknown),
    Step::Settle(How::Succeeded),
    Step::Settle(How::DidNotHappen),
    Step::Settle(How::TryAgain),
    Step::Pursue,
    Step::PassLease,
    Step::PassRetention,
    Step::Again,
];

/// A message as it was sent, so that it can come twice.
#[derive(Clone, Copy, Debug)]
enum Message {
    Begin { token: u8, fingerprint: u8 },
    Complete { token: u8 },
    Release { token: u8 },
    Suspend { token: u8 },
    Extend { token: u8 },
    Checkpoint { token: u8 },
    Probed { token: u8, said: Said },
    Settle { token: u8, how: How },
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
    /// How many steps were walked from a state that was reached.
    walked: HashMap<u64, usize>,
    steps: u64,
    /// What was answered at least once.
    answers: BTreeSet<&'static str>,
}

impl World {
    fn new_token(&mut self) -> u8 {
        self.tokens += 1;
        self.tokens
    }

    /// All that decides what comes next; not what was counted, which only rises.
    fn state(&mut self) -> u64 {
        let mut model = self.model.clone();
        model.answered = 0;
        let (now, tokens, last) = (self.now, self.tokens, self.last_message);
        let store = self.processor.store();
        let mut hasher = DefaultHasher::new();
        format!("{now:?} {tokens} {last:?} {model:?} {store:?}").hash(&mut hasher);
        hasher.finish()
    }
}

impl Walk {
    fn down(&mut self, world: &mut World, depth: usize) {
        let walked = self.walked.entry(world.state()).or_default();
        if *walked >= depth {
            return;
        }
        *walked = depth;
        for step in ALPHABET {
            let mut next = world.clone();
            self.path.push(step);
            self.take(&mut next, step);
            self.invariants(&mut next);
            self.steps += 1;
            if depth > 1 {
                self.down(&mut next, depth - 1);
            }
            self.path.pop();
        }
    }

    fn take(&mut self, world: &mut World, step: Step) {
        let last = world.model.last;
        let message = match step {
            Step::BeginA => Message::Begin {
                token: world.new_token(),
                fingerprint: 0xa,
            },
            Step::BeginB => Message::Begin {
                token: world.new_token(),
                fingerprint: 0xb,
            },
            Step::CompleteHolder => Message::Complete { token: last },
            // The one before the last where there is one, else one that never was.
            Step::CompleteGhost => Message::Complete {
                token: last.wrapping_sub(1),
            },
            Step::Release => Message::Release { token: last },
            Step::Suspend => Message::Suspend { token: last },
            Step::Extend => Message::Extend { token: last },
            Step::Checkpoint => Message::Checkpoint { token: last },
            Step::Probed(said) => Message::Probed {
                token: world.model.asker,
                said,
            },
            Step::Settle(how) => Message::Settle {
                token: world.new_token(),
                how,
            },
            Step::Pursue => return self.pursue(world),
            Step::PassLease => {
                world.now = world.now.plus(LEASE);
                return;
            }
            Step::PassRetention => {
                world.now = world.now.plus(RETENTION);
                let processor = &mut world.processor;
                processor.expire_leases(&self.policy, world.now, 9).unwrap();
                processor.sweep(world.now, 9).unwrap();
                world.model.lapse(world.now);
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

    fn send(&mut self, world: &mut World, message: Message) {
        let (key, now, policy) = (&self.key, world.now, &self.policy);
        let (processor, model) = (&mut world.processor, &mut world.model);
        match message {
            Message::Begin { token, fingerprint } => {
                let ask = Ask {
                    token: id(token),
                    fingerprint: print(fingerprint),
                    minted_at: None,
                };
                let request = (fingerprint == 0xa).then_some(b"sent".as_slice());
                let found = processor.begin(key, &ask, request, policy, now).unwrap();
                let found = without_reasons(found);
                let expected = model.begin(token, fingerprint, request.is_some(), now);
                self.same(&found, &expected);
                self.answers.insert(name(&found));
            }
            Message::Complete { token } => {
                let done = outcome(token);
                let found = processor.complete(key, id(token), done, None, policy, now);
                self.same(&found, &Ok(model.complete(token, now)));
            }
            Message::Release { token } => {
                let found = match processor
                    .release(key, id(token), None, policy, now)
                    .unwrap()
                {
                    Release::StillUnknown(_) => "still unknown",
                    Release::Released => "released",
                    Release::AlreadyReleased => "already released",
                    Release::AlreadyRecorded => "already recorded",
                    Release::Superseded => "superseded",
                };
                self.answered(found, model.release(token, now));
            }
            Message::Suspend { token } => {
                let cause = UnknownCause::Timeout;
                let suspend = processor.suspend(key, id(token), cause, None, policy, now);
                let found = match suspend.unwrap() {
                    Suspend::Suspended(_) => "suspended",
                    Suspend::AlreadySuspended(_) => "already suspended",
                    Suspend::AlreadyRecorded => "already recorded",
                    Suspend::Superseded => "superseded",
                };
                self.answered(found, model.suspend(token, now));
            }
            Message::Extend { token } => {
                let found = processor.extend(key, id(token), EXTENSION, policy, now);
                self.same(&found, &Ok(model.extend(token, now)));
            }
            Message::Checkpoint { token } => {
                let found = match processor.checkpoint(key, id(token), point(), now).unwrap() {
                    Checkpoint::Saved => "saved",
                    Checkpoint::Ended => "ended",
                    Checkpoint::Superseded => "superseded",
                };
                self.answered(found, model.checkpoint(token, now));
            }
            Message::Probed { token, said } => {
                let finding = match said {
                    Said::Final => Finding::Final(outcome(token)),
                    Said::NotRun => Finding::NotRun,
                    Said::Unknown => Finding::Unknown,
                };
                let asker = Asker::Caller;
                let probed = processor.probed(key, id(token), finding, asker, policy, now);
                let found = match probed.unwrap() {
                    Probed::Recorded { .. } => "recorded",
                    Probed::NotRun => "not run",
                    Probed::Unknown(_) => "unknown",
                    Probed::Superseded => "superseded",
                };
                self.answered(found, model.probed(token, said, now));
            }
            Message::Settle { token, how } => {
                let settling = Settling {
                    token: id(token),
                    settlement: match how {
                        How::Succeeded => Settlement::Succeeded(outcome(token)),
                        How::DidNotHappen => Settlement::DidNotHappen,
                        How::TryAgain => Settlement::TryAgain,
                    },
                    operator: String::new(),
                    reason: String::new(),
                };
                let found = match processor.settle(key, settling, policy, now).unwrap() {
                    Settle::Settled => "settled",
                    Settle::AlreadySettled => "already settled",
                    Settle::Running { .. } => "running",
                    Settle::NothingToSettle => "nothing to settle",
                };
                self.answered(found, model.settle(token, how, now));
            }
        }
    }

    fn pursue(&mut self, world: &mut World) {
        let token = world.new_token();
        let (tokens, now) = ([id(token)], world.now);
        let pursued = world.processor.pursue(&tokens, &self.policy, now).unwrap();
        let found = match pursued.into_iter().next() {
            None | Some((_, _, Pursue::Nothing)) => Pursue::Nothing,
            Some((_, _, Pursue::Send(lease))) => Pursue::Send(without_take_over(lease)),
            Some((_, _, Pursue::Ask(question))) => Pursue::Ask(without_unknown(question)),
            Some((_, _, Pursue::NeedsAPerson)) => Pursue::NeedsAPerson,
        };
        self.same(&found, &world.model.pursue(token, now));
        self.answers.insert(match found {
            Pursue::Send(_) => "resolver sends",
            Pursue::Ask(_) => "resolver asks",
            Pursue::NeedsAPerson => "needs a person",
            Pursue::Nothing => "nothing is due",
        });
    }

    /// What must hold after every step.
    fn invariants(&self, world: &mut World) {
        let (now, model) = (world.now, &world.model);
        self.same(&world.processor.sums().calls(), &model.answered); // P8: every answered call in exactly one sum
        let store = world.processor.store();
        self.same(&store.next_due(), &Ok(model.due())); // U5: nothing that is due is slept through
        let request = store.request(&KeyDigest::of(&self.key)).unwrap();
        self.same(&request.is_some(), &model.has_request);
        let kind = self.policy.kind();
        let found = world.processor.look(&self.key, None, kind, now).unwrap();
        let expected = match model.at(now) {
            Phase::Free => Look::Absent,
            Phase::Done { by, expires_at, .. } => Look::Done(Replay {
                outcome: outcome(by), // the same bytes for the whole retention
                expires_at: Some(expires_at),
                changed: false,
            }),
            Phase::Running if now < model.lease_until => Look::Running {
                lease_until: model.lease_until,
            },
            Phase::Running | Phase::Lapsed | Phase::Unknown | Phase::EarlierUnknown => {
                match found {
                    Look::Unknown(unknown) => Look::Unknown(unknown), // U2: it is never forgotten
                    Look::Absent | Look::Running { .. } | Look::Done(_) | Look::Mismatch => {
                        panic!(
                            "an unknown outcome was lost to {found:?} by {:?}",
                            self.path
                        )
                    }
                }
            }
        };
        self.same(&found, &expected);
    }

    #[track_caller]
    fn answered(&mut self, found: &'static str, expected: &'static str) {
        self.same(&found, &expected);
        self.answers.insert(found);
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

fn without_reasons(begin: Begin) -> Begin {
    match begin {
        Begin::Unknown { .. } => any_unknown(),
        Begin::Execute(lease) => Begin::Execute(without_take_over(lease)),
        Begin::Ask(question) => Begin::Ask(without_unknown(question)),
        Begin::Replay(_)
        | Begin::Wait { .. }
        | Begin::Mismatch
        | Begin::Expired
        | Begin::FromTheFuture
        | Begin::Abandoned => begin,
    }
}

fn without_take_over(lease: Lease) -> Lease {
    Lease {
        took_over: None,
        ..lease
    }
}

fn without_unknown(question: Question) -> Question {
    Question {
        unknown: nothing_known(),
        since_dispatch: Millis::new(0),
        ..question
    }
}

fn name(begin: &Begin) -> &'static str {
    match begin {
        Begin::Execute(lease) if lease.repeated => "execute again",
        Begin::Execute(_) => "execute",
        Begin::Ask(_) => "ask",
        Begin::Replay(_) => "replay",
        Begin::Wait { .. } => "wait",
        Begin::Mismatch => "mismatch",
        Begin::Unknown { .. } => "outcome unknown",
        Begin::Expired | Begin::FromTheFuture | Begin::Abandoned => "refused",
    }
}

fn print(name: u8) -> Fingerprint {
    Fingerprint {
        recipe: 1,
        digest: [name; 32],
    }
}

/// Walks all sequences of `depth` steps; `answers` are among those that must have been met.
fn walk(kind: Kind, on_unknown: OnUnknown, depth: usize, answers: &[&str]) {
    let mut parts = PolicyParts::defaults(kind, on_unknown);
    parts.lease = LEASE;
    parts.max_lease = MAX_LEASE;
    parts.resolve_after = RESOLVE_AFTER;
    parts.resolve_tries = RESOLVE_TRIES;
    parts.retention = Retention::of(RETENTION).unwrap();
    let policy = Policy::new(parts).unwrap();
    let mut walk = Walk {
        policy,
        key: OperationKey::parse("an-operation-key").unwrap(),
        path: Vec::new(),
        walked: HashMap::new(),
        steps: 0,
        answers: BTreeSet::new(),
    };
    let now = Timestamp::from_millis(1_700_000_000_000);
    let mut world = World {
        processor: Processor::new(MemoryStore::new(), Sums::default()),
        model: Model::new(policy, now),
        now,
        tokens: 0,
        last_message: None,
    };
    walk.down(&mut world, depth);
    println!(
        "{on_unknown:?}: {depth} deep, {} states, {} steps",
        walk.walked.len(),
        walk.steps
    );
    let common = [
        "execute",
        "execute again",
        "replay",
        "wait",
        "outcome unknown",
        "still unknown",
        "already settled",
        "saved",
    ];
    for answer in common.iter().chain(answers) {
        assert!(walk.answers.contains(answer), "{answer:?} was never met");
    }
}

/// Deeper where the compiler was asked for a fast program.
const fn depth(debug: usize, release: usize) -> usize {
    if cfg!(debug_assertions) {
        debug
    } else {
        release
    }
}

#[test]
fn every_short_sequence_does_what_the_model_says_when_the_unknown_is_parked() {
    walk(Kind::Api, OnUnknown::Park, depth(7, 8), &["mismatch"]);
}

#[test]
fn every_short_sequence_does_what_the_model_says_when_it_is_sent_again() {
    let answers = ["mismatch", "resolver sends", "needs a person"];
    walk(Kind::Api, OnUnknown::Resume, depth(7, 8), &answers);
}

#[test]
fn every_short_sequence_does_what_the_model_says_when_the_origin_is_asked() {
    let answers = ["ask", "resolver asks", "recorded", "not run", "unknown"];
    walk(Kind::Api, OnUnknown::Probe, depth(7, 8), &answers);
}

#[test]
fn every_short_sequence_does_what_the_model_says_when_a_webhook_reruns() {
    walk(Kind::Webhook, OnUnknown::Rerun, depth(7, 8), &[]);
}
