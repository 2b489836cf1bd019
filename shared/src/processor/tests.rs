//! The processor of S0, rule by rule, over the store in memory.

use alloc::string::{String, ToString};
use alloc::vec;

use super::*;
use crate::policy::{OnUnknown, PolicyParts, Retention};
use crate::record::{Body, State};
use crate::store::MemoryStore;
use crate::time::Millis;

mod unknown;

const TTL: Millis = Millis::from_secs(100);
const KEY: &str = "evt_1";

struct Bench {
    processor: Processor<MemoryStore>,
    policy: Policy,
    tokens: u8,
}

fn bench() -> Bench {
    let mut parts = PolicyParts::defaults(Kind::Webhook, OnUnknown::Rerun);
    parts.retention = Retention::of(TTL).unwrap();
    Bench {
        processor: Processor::new(MemoryStore::new(), Sums::default()),
        policy: Policy::new(parts).unwrap(),
        tokens: 0,
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn key(text: &str) -> OperationKey {
    OperationKey::parse(text).unwrap()
}

fn outcome(body: &[u8]) -> Outcome {
    Outcome {
        status: 200,
        headers: vec![],
        body: Body::Kept(body.to_vec()),
    }
}

impl Bench {
    fn ask(&mut self, body: &[u8]) -> Ask {
        self.tokens += 1;
        Ask {
            token: AttemptId::from_bytes([self.tokens; 16]),
            fingerprint: Fingerprint::of_body(body),
            minted_at: None,
        }
    }

    /// One delivery of `KEY` whose work returns `result`.
    fn deliver(&mut self, now: i64, body: &[u8], result: Result<Outcome, String>) -> Run<String> {
        let ask = self.ask(body);
        self.processor
            .run(&key(KEY), &ask, &self.policy, at(now), || result)
            .unwrap()
    }

    #[track_caller]
    fn check_applied(&mut self, now: i64) {
        let run = self.deliver(now, b"{}", Ok(outcome(b"done")));
        assert_eq!(run, Run::Applied(outcome(b"done")));
    }

    #[track_caller]
    fn check_duplicate(&mut self, now: i64, body: &[u8], changed: bool) {
        let run = self.deliver(now, body, Ok(outcome(b"must not run")));
        let Run::Duplicate(replay) = run else {
            panic!("not a duplicate: {run:?}");
        };
        assert_eq!(
            (replay.outcome, replay.changed),
            (outcome(b"done"), changed)
        );
    }
}

#[test]
fn p1_an_outcome_that_is_empty_is_an_outcome() {
    for empty in [
        outcome(b""),
        outcome(b"null"),
        outcome(b"0"),
        outcome(b"false"),
        Outcome {
            status: 0,
            headers: vec![],
            body: Body::Omitted { bytes: 0 },
        },
    ] {
        let mut bench = bench();
        assert_eq!(
            bench.deliver(0, b"", Ok(empty.clone())),
            Run::Applied(empty.clone())
        );
        match bench.deliver(1, b"", Ok(outcome(b"second"))) {
            Run::Duplicate(replay) => assert_eq!(replay.outcome, empty),
            run @ (Run::Applied(_) | Run::Failed(_) | Run::NotRun(_)) => panic!("{run:?}"),
        }
    }
}

#[test]
fn p3_a_failure_is_not_recorded_and_reaches_the_caller_unchanged() {
    let mut bench = bench();
    for now in 0..3 {
        let failure = now.to_string();
        assert_eq!(
            bench.deliver(now, b"", Err(failure.clone())),
            Run::Failed(failure)
        );
    }
    bench.check_applied(3);
    bench.check_duplicate(4, b"{}", false);
    assert_eq!(
        (
            bench.processor.sums().failed,
            bench.processor.sums().applied
        ),
        (3, 1)
    );
}

#[test]
fn p4_until_the_work_returned_there_is_a_claim_and_it_is_no_duplicate() {
    let mut bench = bench();
    let (first, second) = (bench.ask(b""), bench.ask(b""));
    let begin = bench
        .processor
        .begin(&key(KEY), &first, None, &bench.policy, at(0))
        .unwrap();
    assert!(matches!(begin, Begin::Execute(_)));
    let begin = bench
        .processor
        .begin(&key(KEY), &second, None, &bench.policy, at(1))
        .unwrap();
    assert!(matches!(begin, Begin::Wait { .. }), "{begin:?}");
    let look = bench
        .processor
        .look(&key(KEY), None, Kind::Webhook, at(1))
        .unwrap();
    assert!(matches!(look, Look::Running { .. }), "{look:?}");
}

#[test]
fn p5_p7_a_duplicate_moves_no_time_so_the_window_ends_where_it_began_to() {
    let mut bench = bench();
    bench.check_applied(0);
    for now in [1, 50_000, 99_999] {
        bench.check_duplicate(now, b"{}", false);
    }
    bench.check_applied(100_000);
}

#[test]
fn p6_without_a_ttl_it_is_a_duplicate_forever() {
    let mut bench = bench();
    let mut parts = PolicyParts::from(bench.policy);
    parts.retention = Retention::FOREVER;
    bench.policy = Policy::new(parts).unwrap();
    bench.check_applied(0);
    bench.processor.sweep(at(i64::MAX), 10).unwrap();
    bench.check_duplicate(i64::MAX, b"{}", false);
}

#[test]
fn p8_counters_only_rise_and_tracked_falls_with_pruning() {
    let mut bench = bench();
    bench.check_applied(0);
    for now in 1..=4 {
        bench.check_duplicate(now, b"{}", false);
    }
    assert_eq!(
        (
            bench.processor.sums().replayed,
            bench.processor.store().len()
        ),
        (4, 1)
    );
    assert!(!bench.processor.store().is_empty());
    bench.processor.sweep(at(100_000), 10).unwrap();
    assert_eq!(
        (
            bench.processor.sums().applied,
            bench.processor.store().len()
        ),
        (1, 0)
    );
    assert_eq!(bench.processor.sums().calls(), 5);
}

#[test]
fn f5_a_redelivery_with_another_body_is_a_duplicate_counted_as_changed() {
    let mut bench = bench();
    bench.check_applied(0);
    bench.check_duplicate(1, b"{\"sent_at\":2}", true);
    bench.check_duplicate(2, b"{}", false);
    assert_eq!(
        (
            bench.processor.sums().changed,
            bench.processor.sums().replayed
        ),
        (1, 2)
    );
}

#[test]
fn l7_a_begin_that_comes_after_its_caller_gave_up_is_refused() {
    let mut bench = bench();
    let ask = bench.ask(b"");
    bench
        .processor
        .abandon(&key(KEY), ask.token, &bench.policy, at(0))
        .unwrap();
    let late = bench
        .processor
        .begin(&key(KEY), &ask, None, &bench.policy, at(1))
        .unwrap();
    assert_eq!(late, Begin::Abandoned);
    bench.check_applied(2); // nothing is held
    // And one that came before is let go.
    let (ask, other) = (bench.ask(b""), key("evt_2"));
    bench
        .processor
        .begin(&other, &ask, None, &bench.policy, at(3))
        .unwrap();
    bench
        .processor
        .abandon(&other, ask.token, &bench.policy, at(4))
        .unwrap();
    let look = bench
        .processor
        .look(&other, None, Kind::Webhook, at(5))
        .unwrap();
    assert_eq!(look, Look::Absent);
    assert_eq!(
        bench.processor.sums().calls(),
        1,
        "what was given up was answered elsewhere"
    );
}

#[test]
fn u2_a_lease_that_ran_out_is_written_down_by_the_alarm() {
    let mut bench = bench();
    let ask = bench.ask(b"");
    bench
        .processor
        .begin(&key(KEY), &ask, None, &bench.policy, at(0))
        .unwrap();
    assert_eq!(
        bench
            .processor
            .expire_leases(&bench.policy, at(29_999), 9)
            .unwrap(),
        []
    );
    assert_eq!(
        bench
            .processor
            .expire_leases(&bench.policy, at(30_000), 9)
            .unwrap(),
        [key(KEY)]
    );
    assert_eq!(
        bench
            .processor
            .expire_leases(&bench.policy, at(30_001), 9)
            .unwrap(),
        []
    );
    let record = bench
        .processor
        .store()
        .load(&KeyDigest::of(&key(KEY)))
        .unwrap()
        .unwrap();
    assert!(
        matches!(record.state, State::Indeterminate { .. }),
        "{record:?}"
    );
    let run = bench.deliver(30_002, b"", Ok(outcome(b"done")));
    assert_eq!(run, Run::Applied(outcome(b"done")));
    assert_eq!(bench.processor.sums().takeovers, 1);
}

#[test]
fn p8_a_call_that_waited_is_counted_by_what_it_was_answered() {
    let mut bench = bench();
    let replay = |changed| {
        Look::Done(Replay {
            outcome: outcome(b""),
            expires_at: None,
            changed,
        })
    };
    let unknown =
        crate::record::Unknown::lease_ran_out(at(0), crate::record::AttemptNumber::new(1));
    for look in [
        replay(true),
        replay(false),
        Look::Absent,
        Look::Running { lease_until: at(0) },
        Look::Unknown(unknown),
        Look::Mismatch,
    ] {
        bench.processor.waited(&look);
    }
    let sums = bench.processor.sums();
    assert_eq!((sums.replayed, sums.changed, sums.conflicts), (2, 1, 2));
    assert_eq!((sums.unknown, sums.mismatches, sums.calls()), (1, 1, 6));
}
