//! What is true of one operation, in the fewest words: the rule told a second time.

use shared::decide::{Begin, Complete, Extend, Lease, Pursue, Question, Replay};
use shared::policy::{Kind, OnUnknown, Policy};
use shared::record::{AttemptId, AttemptNumber, Body, Next, Outcome, RecoveryPoint, Unknown};
use shared::time::{Millis, Timestamp};

pub(crate) const LEASE: Millis = Millis::from_secs(30);
pub(crate) const RETENTION: Millis = Millis::from_hours(1);
/// What an attempt asks for when it needs longer.
pub(crate) const EXTENSION: Millis = Millis::from_secs(60);
pub(crate) const MAX_LEASE: Millis = Millis::from_secs(90);
/// So short that what it draws with a token is nothing, and that it is over whenever time passes.
pub(crate) const RESOLVE_AFTER: Millis = Millis::new(1);
pub(crate) const RESOLVE_TRIES: u16 = 2;

/// Where an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is known of it.
    Free,
    /// The last attempt runs, or ran until its lease ended.
    Running,
    /// It was written down that the last attempt's lease ended.
    Lapsed,
    /// The last attempt said that it does not know.
    Unknown,
    /// The last attempt did not run, and nobody knows of one before, or of a step of its own.
    EarlierUnknown,
    /// Done, with the outcome of this token, until then.
    Done {
        by: u8,
        expires_at: Timestamp,
        by_operator: bool,
    },
}

/// How the origin answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Final,
    NotRun,
    Unknown,
}

/// How an operator settles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Succeeded,
    DidNotHappen,
    TryAgain,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) policy: Policy,
    pub(crate) phase: Phase,
    pub(crate) fingerprint: u8,
    /// The token that counts; 0 before the first.
    pub(crate) last: u8,
    /// Those that do not count any more.
    pub(crate) fenced: Vec<u8>,
    pub(crate) started_at: Timestamp,
    pub(crate) lease_until: Timestamp,
    pub(crate) earlier_unknown: bool,
    /// What happens by itself, while it is unknown.
    pub(crate) next: Next,
    /// Who asked last; 0 before the first.
    pub(crate) asker: u8,
    pub(crate) tries: u16,
    pub(crate) has_point: bool,
    pub(crate) has_request: bool,
    /// The tokens of all settlements.
    pub(crate) settled: Vec<u8>,
    /// The highest number given out.
    pub(crate) number: u64,
    /// How many calls got their last answer.
    pub(crate) answered: u64,
}

impl Model {
    pub(crate) fn new(policy: Policy, now: Timestamp) -> Self {
        Self {
            policy,
            phase: Phase::Free,
            fingerprint: 0,
            last: 0,
            fenced: Vec::new(),
            started_at: now,
            lease_until: now,
            earlier_unknown: false,
            next: Next::Nobody,
            asker: 0,
            tries: 0,
            has_point: false,
            has_request: false,
            settled: Vec::new(),
            number: 0,
            answered: 0,
        }
    }

    pub(crate) fn at(&self, now: Timestamp) -> Phase {
        let is_over = matches!(self.phase, Phase::Done { expires_at, .. } if now >= expires_at);
        if is_over { Phase::Free } else { self.phase } // P5
    }

    /// When it needs attention although nobody calls.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        match (self.phase, self.next) {
            (Phase::Free | Phase::Done { .. }, _) => None,
            (Phase::Running, _) => Some(self.lease_until),
            (_, Next::Resolver(at)) => Some(at.max(self.lease_until)),
            (_, Next::Asking { until, .. }) => Some(until),
            (_, Next::Nobody | Next::Retry) => None,
        }
    }

    pub(crate) fn begin(
        &mut self,
        token: u8,
        fingerprint: u8,
        brings_request: bool,
        now: Timestamp,
    ) -> Begin {
        let phase = self.at(now);
        let changed = fingerprint != self.fingerprint;
        if phase != Phase::Free && changed && self.policy.kind() == Kind::Api {
            self.answered += 1;
            return Begin::Mismatch;
        }
        match phase {
            Phase::Free => {
                self.fingerprint = fingerprint;
                self.fenced.clear();
                self.earlier_unknown = false;
                self.tries = 0;
                self.has_point = false;
                self.has_request = brings_request;
                self.run(token, now)
            }
            Phase::Done { by, expires_at, .. } => {
                self.answered += 1;
                Begin::Replay(Replay {
                    outcome: outcome(by),
                    expires_at: Some(expires_at),
                    changed,
                })
            }
            Phase::Running if now < self.lease_until && token == self.last => {
                Begin::Execute(self.lease(true)) // L7
            }
            Phase::Running if now < self.lease_until => Begin::Wait {
                lease_until: self.lease_until,
            },
            Phase::Running | Phase::Lapsed | Phase::Unknown | Phase::EarlierUnknown => {
                self.meet_unknown(token, brings_request, now)
            }
        }
    }

    /// U3, and who lets a retry run whatever the route says (U6, U4).
    fn meet_unknown(&mut self, token: u8, brings_request: bool, now: Timestamp) -> Begin {
        let is_spent = token == self.last || self.fenced.contains(&token);
        if now < self.lease_until || is_spent {
            self.answered += 1;
            return any_unknown();
        }
        let runs = match (self.next, self.policy.on_unknown()) {
            (
                Next::Asking {
                    token: asker,
                    until,
                },
                _,
            ) if now < until => {
                return if asker == id(token) {
                    Begin::Ask(self.question(until)) // L7
                } else {
                    Begin::Wait { lease_until: until }
                };
            }
            (Next::Retry, _) | (_, OnUnknown::Resume | OnUnknown::Rerun) => true,
            (_, OnUnknown::Probe) => false,
            (_, OnUnknown::Park) => {
                self.answered += 1;
                return any_unknown();
            }
        };
        self.has_request |= brings_request;
        if runs {
            self.take_over(token, now)
        } else {
            Begin::Ask(self.ask(token, now))
        }
    }

    fn take_over(&mut self, token: u8, now: Timestamp) -> Begin {
        self.earlier_unknown = true;
        self.fenced.push(self.last);
        self.run(token, now)
    }

    fn run(&mut self, token: u8, now: Timestamp) -> Begin {
        self.phase = Phase::Running;
        self.next = Next::Nobody;
        self.last = token;
        self.number += 1;
        self.started_at = now;
        self.lease_until = now.plus(LEASE);
        Begin::Execute(self.lease(false))
    }

    fn lease(&self, repeated: bool) -> Lease {
        Lease {
            number: AttemptNumber::new(self.number),
            until: self.lease_until,
            took_over: None,
            point: self.point(),
            repeated,
        }
    }

    fn ask(&mut self, token: u8, now: Timestamp) -> Question {
        self.lapse(now);
        let until = now.plus(LEASE);
        self.asker = token;
        self.next = Next::Asking {
            token: id(token),
            until,
        };
        self.question(until)
    }

    fn question(&self, until: Timestamp) -> Question {
        Question {
            unknown: nothing_known(),
            number: AttemptNumber::new(self.number),
            until,
            since_dispatch: Millis::new(0),
            reference: None,
            point: self.point(),
        }
    }

    fn point(&self) -> Option<RecoveryPoint> {
        self.has_point.then(point)
    }

    /// A lease that ran out is written down (U2).
    pub(crate) fn lapse(&mut self, now: Timestamp) {
        if self.phase == Phase::Running && now >= self.lease_until {
            self.phase = Phase::Lapsed;
            self.next = self.next_of(now);
        }
    }

    /// Who pursues what is unknown from now on (U5).
    fn next_of(&self, now: Timestamp) -> Next {
        match self.policy.on_unknown() {
            OnUnknown::Resume | OnUnknown::Probe if self.tries < RESOLVE_TRIES => {
                Next::Resolver(now.plus(Millis::new(RESOLVE_AFTER.get() << self.tries)))
            }
            OnUnknown::Resume | OnUnknown::Probe | OnUnknown::Park | OnUnknown::Rerun => {
                Next::Nobody
            }
        }
    }

    fn done(&mut self, by: u8, by_operator: bool, now: Timestamp) -> Timestamp {
        let expires_at = now.plus(RETENTION);
        if by != self.last {
            self.fenced.push(self.last);
            self.last = by;
        }
        self.phase = Phase::Done {
            by,
            expires_at,
            by_operator,
        };
        self.has_request = false;
        expires_at
    }

    fn forget(&mut self) {
        self.phase = Phase::Free;
        self.has_request = false;
    }

    fn is_fenced_off(&self, token: u8, now: Timestamp) -> bool {
        self.at(now) == Phase::Free || token != self.last
    }

    pub(crate) fn complete(&mut self, token: u8, now: Timestamp) -> Complete {
        if self.is_fenced_off(token, now) {
            self.answered += 1;
            return Complete::Superseded;
        }
        if let Phase::Done { expires_at, .. } = self.phase {
            let expires_at = Some(expires_at);
            return Complete::AlreadyRecorded { expires_at };
        }
        self.answered += 1;
        let expires_at = Some(self.done(token, false, now));
        Complete::Recorded { expires_at }
    }

    pub(crate) fn release(&mut self, token: u8, now: Timestamp) -> &'static str {
        match self.at(now) {
            Phase::Free => "already released",
            _ if token != self.last => {
                self.answered += 1;
                "superseded"
            }
            Phase::Done { .. } => "already recorded",
            Phase::EarlierUnknown => "already released",
            Phase::Running | Phase::Lapsed | Phase::Unknown => {
                self.answered += 1;
                if self.earlier_unknown || self.has_point {
                    if self.phase == Phase::Running || self.next != Next::Retry {
                        self.next = self.next_of(now);
                    }
                    self.phase = Phase::EarlierUnknown; // U4
                    "still unknown"
                } else {
                    self.forget();
                    "released"
                }
            }
        }
    }

    pub(crate) fn suspend(&mut self, token: u8, now: Timestamp) -> &'static str {
        if self.is_fenced_off(token, now) {
            self.answered += 1;
            return "superseded";
        }
        match self.phase {
            Phase::Free | Phase::Done { .. } => "already recorded",
            Phase::Unknown | Phase::EarlierUnknown => "already suspended",
            Phase::Running | Phase::Lapsed => {
                self.answered += 1;
                if self.phase == Phase::Running {
                    self.next = self.next_of(now);
                }
                self.phase = Phase::Unknown; // the attempt explains what was only missed
                "suspended"
            }
        }
    }

    pub(crate) fn extend(&mut self, token: u8, now: Timestamp) -> Extend {
        if self.is_fenced_off(token, now) {
            return Extend::Superseded;
        }
        if self.phase != Phase::Running || now >= self.lease_until {
            return Extend::Ended;
        }
        let longest = self.started_at.plus(MAX_LEASE);
        let wanted = now.plus(EXTENSION).min(longest);
        self.lease_until = self.lease_until.max(wanted);
        Extend::Until(self.lease_until)
    }

    pub(crate) fn checkpoint(&mut self, token: u8, now: Timestamp) -> &'static str {
        if self.is_fenced_off(token, now) {
            return "superseded";
        }
        if matches!(self.phase, Phase::Done { .. }) {
            return "ended";
        }
        self.has_point = true;
        "saved"
    }

    pub(crate) fn probed(&mut self, token: u8, said: Said, now: Timestamp) -> &'static str {
        let is_asking =
            matches!(self.next, Next::Asking { token: asker, .. } if asker == id(token));
        match self.at(now) {
            Phase::Lapsed | Phase::Unknown | Phase::EarlierUnknown if is_asking => {}
            Phase::Done { by, .. } if by == token => return "recorded", // L7
            Phase::Free
            | Phase::Running
            | Phase::Lapsed
            | Phase::Unknown
            | Phase::EarlierUnknown
            | Phase::Done { .. } => {
                self.answered += 1;
                return "superseded";
            }
        }
        match said {
            Said::Final => {
                self.answered += 1;
                self.done(token, false, now);
                "recorded"
            }
            Said::NotRun => {
                if self.has_point {
                    self.next = Next::Retry; // U4
                } else {
                    self.forget();
                }
                "not run"
            }
            Said::Unknown => {
                self.answered += 1;
                self.next = self.next_of(now);
                "unknown"
            }
        }
    }

    pub(crate) fn settle(&mut self, token: u8, how: How, now: Timestamp) -> &'static str {
        if self.settled.contains(&token) {
            return "already settled"; // L7
        }
        match (self.at(now), how) {
            (Phase::Free, _) => return "nothing to settle",
            (Phase::Done { by_operator, .. }, how) => {
                if !by_operator || how == How::TryAgain {
                    return "nothing to settle";
                }
            }
            _ if now < self.lease_until => return "running",
            _ => self.lapse(now),
        }
        self.settled.push(token);
        match how {
            How::Succeeded => {
                self.done(token, true, now);
            }
            How::DidNotHappen => self.forget(),
            How::TryAgain => {
                self.tries = 0;
                self.next = match self.policy.on_unknown() {
                    OnUnknown::Resume => Next::Resolver(now),
                    OnUnknown::Probe | OnUnknown::Park | OnUnknown::Rerun => Next::Retry,
                };
            }
        }
        "settled"
    }

    pub(crate) fn pursue(&mut self, token: u8, now: Timestamp) -> Pursue {
        let is_due = self.due().is_some_and(|due| due <= now);
        if self.phase == Phase::Running || !is_due {
            return Pursue::Nothing;
        }
        let probes = self.policy.on_unknown() == OnUnknown::Probe;
        if self.tries >= RESOLVE_TRIES || !(probes || self.has_request) {
            self.next = Next::Nobody;
            return Pursue::NeedsAPerson;
        }
        self.tries += 1;
        if probes {
            return Pursue::Ask(self.ask(token, now));
        }
        self.take_over(token, now);
        Pursue::Send(self.lease(false))
    }
}

/// The answer that says "unknown", without which and until when: that is in the tables of `decide`.
pub(crate) fn any_unknown() -> Begin {
    Begin::Unknown {
        unknown: nothing_known(),
        retry_at: None,
    }
}

pub(crate) fn nothing_known() -> Unknown {
    Unknown::lease_ran_out(Timestamp::from_millis(0), AttemptNumber::new(0))
}

pub(crate) fn id(token: u8) -> AttemptId {
    AttemptId::from_bytes([token; 16])
}

pub(crate) fn point() -> RecoveryPoint {
    RecoveryPoint::new(String::from("charged"), String::new()).unwrap()
}

/// Every token's outcome is its own, so that one standing in for another shows.
pub(crate) fn outcome(token: u8) -> Outcome {
    Outcome {
        status: 200,
        headers: Vec::new(),
        body: Body::Kept(vec![token]),
    }
}
