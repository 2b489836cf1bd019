//! What nobody knows, as the processor handles it: asked, sent again, settled, and reported late (U3, U5, U6, L3, P8).

use super::*;

/// The lease of the default policy.
const LEASE: i64 = 30_000;

fn bench(on_unknown: OnUnknown) -> Bench {
    Bench {
        processor: Processor::new(MemoryStore::new(), Sums::default()),
        policy: Policy::new(PolicyParts::defaults(Kind::Api, on_unknown)).unwrap(),
        tokens: 0,
    }
}

fn id(name: u8) -> AttemptId {
    AttemptId::from_bytes([name; 16])
}

impl Bench {
    fn begin(&mut self, name: &str, now: i64) -> (AttemptId, Begin) {
        let ask = self.ask(b"{}");
        let sent = Some(b"sent".as_slice());
        let begin = self
            .processor
            .begin(&key(name), &ask, sent, &self.policy, at(now));
        (ask.token, begin.unwrap())
    }

    #[track_caller]
    fn run(&mut self, name: &str, now: i64) -> AttemptId {
        let (token, begin) = self.begin(name, now);
        assert!(matches!(begin, Begin::Execute(_)), "{begin:?}");
        token
    }

    /// An attempt is let run at 0, and at 100 nobody knows what it did.
    fn run_unknown(&mut self, name: &str) -> AttemptId {
        let token = self.run(name, 0);
        let cause = UnknownCause::Timeout;
        let suspend = self
            .processor
            .suspend(&key(name), token, cause, None, &self.policy, at(100));
        assert!(matches!(suspend, Ok(Suspend::Suspended(_))), "{suspend:?}");
        token
    }

    #[track_caller]
    fn question(&mut self, name: &str, now: i64) -> AttemptId {
        let (token, begin) = self.begin(name, now);
        assert!(matches!(begin, Begin::Ask(_)), "{begin:?}");
        token
    }

    fn complete(&mut self, token: AttemptId, now: i64) -> Complete {
        let policy = self.policy;
        self.processor
            .complete(&key(KEY), token, outcome(b"late"), None, &policy, at(now))
            .unwrap()
    }

    fn probed(&mut self, token: AttemptId, finding: Finding, asker: Asker, now: i64) -> Probed {
        let policy = self.policy;
        self.processor
            .probed(&key(KEY), token, finding, asker, &policy, at(now))
            .unwrap()
    }

    fn settle(&mut self, token: u8, settlement: Settlement, now: i64) -> Settle {
        let settling = Settling {
            token: id(token),
            settlement,
            operator: String::from("ada"),
            reason: String::from("it is in the ledger"),
        };
        let policy = self.policy;
        self.processor
            .settle(&key(KEY), settling, &policy, at(now))
            .unwrap()
    }

    fn pursue(&mut self, tokens: &[u8], now: i64) -> Vec<(OperationKey, AttemptId, Pursue)> {
        let tokens: Vec<_> = tokens.iter().copied().map(id).collect();
        self.processor
            .pursue(&tokens, &self.policy, at(now))
            .unwrap()
    }

    fn logged(&mut self) -> Vec<Entry> {
        let digest = KeyDigest::of(&key(KEY));
        self.processor.store().logged(&digest).unwrap()
    }

    fn record(&mut self, name: &str) -> Option<Record> {
        let digest = KeyDigest::of(&key(name));
        self.processor.store().load(&digest).unwrap()
    }

    /// The act, before and after of the last entry, of as many.
    #[track_caller]
    fn check_last_entry(&mut self, count: usize, act: Act, before: &str, after: &str) -> Entry {
        let logged = self.logged();
        assert_eq!(logged.len(), count, "{logged:?}");
        let entry = logged.last().cloned().unwrap();
        assert_eq!(entry.act, act);
        assert!(entry.before.contains(before), "{}", entry.before);
        assert!(entry.after.contains(after), "{}", entry.after);
        entry
    }
}

#[test]
fn u6_a_settlement_is_logged_before_and_after_once() {
    let mut bench = bench(OnUnknown::Park);
    let attempt = bench.run_unknown(KEY);
    let succeeded = || Settlement::Succeeded(outcome(b"settled"));
    let running = bench.settle(101, succeeded(), LEASE - 1);
    assert!(matches!(running, Settle::Running { .. }), "{running:?}");
    assert_eq!(bench.logged(), [], "what changed nothing is not logged");

    assert_eq!(bench.settle(101, succeeded(), LEASE), Settle::Settled);
    let act = Act::Succeeded(200);
    let entry = bench.check_last_entry(
        1,
        act,
        "did not answer in time",
        "completed with status 200",
    );
    assert_eq!((entry.id, entry.at), (id(101), at(LEASE)));
    assert_eq!(entry.by, By::Operator(String::from("ada")));
    assert_eq!(entry.reason, "it is in the ledger");
    assert_eq!((entry.number.get(), entry.fenced), (1, vec![attempt]));

    // L7: the same message again is no second settlement.
    for now in [LEASE, LEASE + 1] {
        let again = bench.settle(101, succeeded(), now);
        assert_eq!(again, Settle::AlreadySettled);
    }
    let now = LEASE + 2;
    let (_, begin) = bench.begin(KEY, now);
    let Begin::Replay(replay) = begin else {
        panic!("not replayed: {begin:?}");
    };
    assert_eq!(replay.outcome, outcome(b"settled"));
    let correction = bench.settle(102, Settlement::DidNotHappen, now);
    assert_eq!(correction, Settle::Settled);
    let act = Act::DidNotHappen;
    let entry = bench.check_last_entry(2, act, "completed with status 200", "no record");
    assert_eq!(entry.fenced, [attempt, id(101)]);
    assert_eq!(bench.record(KEY), None);
    let again = bench.settle(102, Settlement::DidNotHappen, now);
    assert_eq!(again, Settle::AlreadySettled, "the log outlives the record");
    let other = bench.settle(103, Settlement::DidNotHappen, now);
    assert_eq!((other, bench.logged().len()), (Settle::NothingToSettle, 2));
    assert_eq!(bench.processor.sums().settled_by_operator, 2);
}

#[test]
fn u6_try_again_is_logged_and_the_next_retry_runs() {
    let mut bench = bench(OnUnknown::Park);
    bench.run_unknown(KEY);
    let settle = bench.settle(101, Settlement::TryAgain, LEASE);
    assert_eq!(settle, Settle::Settled);
    bench.check_last_entry(1, Act::TryAgain, "unknown since", "unknown since");
    let again = bench.settle(101, Settlement::TryAgain, LEASE);
    assert_eq!(again, Settle::AlreadySettled);
    bench.run(KEY, LEASE);
    // Sent again after the retry took it up, the old message does not let a third one run.
    let again = bench.settle(101, Settlement::TryAgain, 3 * LEASE);
    assert_eq!(again, Settle::AlreadySettled);
    let (_, begin) = bench.begin(KEY, 3 * LEASE);
    assert!(matches!(begin, Begin::Unknown { .. }), "{begin:?}");
}

#[test]
fn u6_what_a_settlement_would_be_answered_can_be_asked_and_changes_nothing() {
    let mut bench = bench(OnUnknown::Park);
    bench.run_unknown(KEY);
    let before = bench.record(KEY);
    for (now, expected) in [
        (
            LEASE - 1,
            Settle::Running {
                lease_until: at(LEASE),
            },
        ),
        (LEASE, Settle::Settled),
    ] {
        let policy = bench.policy;
        let would = Settlement::DidNotHappen;
        let found = bench
            .processor
            .would_settle(&key(KEY), would, &policy, at(now));
        assert_eq!(found, Ok(expected));
    }
    assert_eq!((bench.record(KEY), bench.logged()), (before, vec![]));
    assert_eq!(bench.processor.sums().settled_by_operator, 0);
}

#[test]
fn u5_two_rounds_of_the_resolver_never_take_one_record() {
    let mut bench = bench(OnUnknown::Resume);
    let names = ["evt_1", "evt_2", "evt_3"];
    for name in names {
        bench.run_unknown(name);
    }
    let due = 400_000;
    let mut sent = Vec::new();
    for tokens in [[101, 102], [103, 104], [105, 106]] {
        for (found, token, pursue) in bench.pursue(&tokens, due) {
            assert!(matches!(pursue, Pursue::Send(_)), "{pursue:?}");
            let record = bench.record(found.as_str()).unwrap();
            assert_eq!(record.attempt, token, "it is saved before it is told");
            sent.push(found);
        }
    }
    sent.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    assert_eq!(sent, names.map(key), "each of them once");
    for name in names {
        let digest = KeyDigest::of(&key(name));
        let request = bench.processor.store().request(&digest);
        assert_eq!(request, Ok(Some(b"sent".to_vec())), "for the next try");
    }
    let sums = bench.processor.sums();
    assert_eq!((sums.resolver_sends, sums.takeovers), (3, 3));
    assert_eq!(
        sums.calls(),
        3,
        "P8: the resolver's sends are nobody's calls"
    );
}

#[test]
fn u5_no_tokens_take_nothing_and_without_a_request_a_person_is_needed() {
    let mut bench = bench(OnUnknown::Resume);
    let ask = bench.ask(b"{}");
    let (policy, cause) = (bench.policy, UnknownCause::Timeout);
    let processor = &mut bench.processor;
    processor
        .begin(&key(KEY), &ask, None, &policy, at(0))
        .unwrap();
    processor
        .suspend(&key(KEY), ask.token, cause, None, &policy, at(1))
        .unwrap();
    assert_eq!(bench.pursue(&[], 400_000), []);
    let person = (key(KEY), id(101), Pursue::NeedsAPerson);
    assert_eq!(bench.pursue(&[101], 400_000), [person]);
    assert_eq!(bench.pursue(&[102], 900_000), []);
    let sums = bench.processor.sums();
    assert_eq!((sums.resolver_gave_up, sums.resolver_sends), (1, 0));
}

/// The origin is asked once by `asker` and answers; what is counted of it, and the record that is left.
#[track_caller]
fn check_counts(
    finding: &Finding,
    asker: Asker,
    (applied, unknown, by_probe): (u64, u64, u64),
) -> Option<Record> {
    let mut bench = bench(OnUnknown::Probe);
    bench.run_unknown(KEY);
    let token = match asker {
        Asker::Caller => bench.question(KEY, LEASE),
        Asker::Resolver => bench.pursue(&[101], 400_000)[0].1,
    };
    let before = bench.processor.sums().clone();
    bench.probed(token, finding.clone(), asker, 400_001);
    let sums = bench.processor.sums().since(&before);
    assert_eq!(
        (sums.applied, sums.unknown, sums.settled_by_probe),
        (applied, unknown, by_probe)
    );
    assert_eq!(sums.calls(), applied + unknown);
    bench.record(KEY)
}

#[test]
fn p8_a_callers_question_ends_its_call_and_the_resolvers_is_nobodys() {
    let succeeded = Finding::Final(outcome(b"found"));
    check_counts(&succeeded, Asker::Caller, (1, 0, 1)).unwrap();
    check_counts(&succeeded, Asker::Resolver, (0, 0, 1)).unwrap();
    // Then the caller begins anew, and is counted by what it meets.
    assert_eq!(
        check_counts(&Finding::NotRun, Asker::Caller, (0, 0, 1)),
        None
    );
    assert_eq!(
        check_counts(&Finding::NotRun, Asker::Resolver, (0, 0, 1)),
        None
    );
    check_counts(&Finding::Unknown, Asker::Caller, (0, 1, 0)).unwrap();
    check_counts(&Finding::Unknown, Asker::Resolver, (0, 0, 0)).unwrap();
}

#[test]
fn l7_an_origins_answer_that_comes_again_is_counted_once() {
    let mut bench = bench(OnUnknown::Probe);
    bench.run_unknown(KEY);
    let token = bench.question(KEY, LEASE);
    let finding = Finding::Final(outcome(b"found"));
    let first = bench.probed(token, finding.clone(), Asker::Caller, LEASE + 1);
    assert!(matches!(first, Probed::Recorded { .. }), "{first:?}");
    let again = bench.probed(token, finding, Asker::Caller, LEASE + 2);
    assert_eq!(again, first);
    let sums = bench.processor.sums();
    assert_eq!((sums.applied, sums.settled_by_probe), (1, 1));
    assert_eq!(
        sums.calls(),
        2,
        "P8: the call that found it unknown, and the one that asked"
    );
}

#[test]
fn p8_every_call_is_in_one_counter_whatever_became_of_its_question() {
    let mut bench = bench(OnUnknown::Probe);
    bench.run_unknown(KEY); // one: unknown
    let first = bench.question(KEY, LEASE);
    let (_, wait) = bench.begin(KEY, LEASE);
    assert!(matches!(wait, Begin::Wait { .. }), "{wait:?}");
    let policy = bench.policy;
    let look = bench
        .processor
        .look(&key(KEY), None, policy.kind(), at(LEASE));
    bench.processor.waited(&look.unwrap()); // two: unknown
    bench.probed(first, Finding::Unknown, Asker::Caller, LEASE + 1); // three: unknown
    let second = bench.question(KEY, LEASE + 2);
    bench.probed(second, Finding::NotRun, Asker::Caller, LEASE + 3);
    let anew = bench.run(KEY, LEASE + 4);
    bench.complete(anew, LEASE + 5); // four: applied, the one that asked
    bench.probed(first, Finding::Unknown, Asker::Caller, LEASE + 6); // five: superseded
    let sums = bench.processor.sums();
    assert_eq!((sums.unknown, sums.applied, sums.superseded), (3, 1, 1));
    assert_eq!(sums.calls(), 5);
}

#[test]
fn l3_what_a_fenced_off_attempt_brings_is_evidence_once() {
    let mut bench = bench(OnUnknown::Resume);
    let slow = bench.run_unknown(KEY);
    let taken_over = bench.run(KEY, LEASE);
    for now in [LEASE + 1, LEASE + 2] {
        assert_eq!(bench.complete(slow, now), Complete::Superseded);
    }
    let act = Act::LateFinal {
        status: 200,
        contradicts: false,
    };
    let entry = bench.check_last_entry(1, act, "attempt 2 runs until", "attempt 2 runs until");
    assert_eq!((entry.id, entry.by), (slow, By::Attempt));
    assert_eq!(bench.complete(id(99), LEASE + 3), Complete::Superseded); // made up
    assert_eq!(bench.logged().len(), 1);
    bench.complete(taken_over, LEASE + 4);
    let sums = bench.processor.sums();
    assert_eq!((sums.late_finals, sums.contradictions), (1, 0));
    assert_eq!((sums.unknown, sums.superseded, sums.applied), (1, 3, 1));
    assert_eq!(sums.calls(), 5);
}

#[test]
fn l3_a_late_report_contradicts_the_operator_who_said_that_it_did_not_happen() {
    let mut bench = bench(OnUnknown::Park);
    let slow = bench.run_unknown(KEY);
    bench.settle(101, Settlement::DidNotHappen, LEASE);
    for now in [LEASE + 1, LEASE + 2] {
        assert_eq!(bench.complete(slow, now), Complete::Superseded);
    }
    let act = Act::LateFinal {
        status: 200,
        contradicts: true,
    };
    bench.check_last_entry(2, act, "no record", "no record");
    let sums = bench.processor.sums();
    assert_eq!((sums.late_finals, sums.contradictions), (1, 1));
}

#[test]
fn l3_a_late_report_contradicts_the_origin_that_said_it_had_not_run() {
    let mut bench = bench(OnUnknown::Probe);
    let slow = bench.run_unknown(KEY);
    let asker = bench.question(KEY, LEASE);
    bench.probed(asker, Finding::NotRun, Asker::Caller, LEASE + 1);
    let before = "did not answer in time";
    let entry = bench.check_last_entry(1, Act::DidNotHappen, before, "no record");
    assert_eq!((entry.id, entry.by), (asker, By::Probe));
    assert_eq!(entry.fenced, [slow, asker]);
    let anew = bench.run(KEY, LEASE + 2);
    assert_eq!(bench.complete(slow, LEASE + 3), Complete::Superseded);
    let act = Act::LateFinal {
        status: 200,
        contradicts: true,
    };
    bench.check_last_entry(2, act, "attempt 2 runs until", "attempt 2 runs until");
    let recorded = bench.complete(anew, LEASE + 4);
    assert!(
        matches!(recorded, Complete::Recorded { .. }),
        "{recorded:?}"
    );
}

#[test]
fn l3_the_origins_word_that_comes_after_a_settlement_is_evidence() {
    let mut bench = bench(OnUnknown::Probe);
    bench.run_unknown(KEY);
    let asker = bench.question(KEY, LEASE);
    bench.settle(101, Settlement::DidNotHappen, LEASE + 1);
    let finding = Finding::Final(outcome(b"found"));
    for now in [LEASE + 2, LEASE + 3] {
        let late = bench.probed(asker, finding.clone(), Asker::Resolver, now);
        assert_eq!(late, Probed::Superseded);
    }
    let act = Act::LateFinal {
        status: 200,
        contradicts: true,
    };
    bench.check_last_entry(2, act, "no record", "no record");
    assert_eq!(bench.processor.sums().contradictions, 1);
}

#[test]
fn l5_what_an_attempt_reports_while_it_runs_is_kept_and_counted_as_no_call() {
    let mut bench = bench(OnUnknown::Resume);
    let token = bench.run(KEY, 0);
    let (policy, key) = (bench.policy, key(KEY));
    let point = RecoveryPoint::new(String::from("charged"), String::from("{}")).unwrap();
    let processor = &mut bench.processor;
    let span = Millis::from_mins(1);
    let extend = processor.extend(&key, token, span, &policy, at(10));
    assert_eq!(extend, Ok(Extend::Until(at(60_010))));
    let checkpoint = processor.checkpoint(&key, token, point.clone(), at(20));
    assert_eq!(checkpoint, Ok(Checkpoint::Saved));
    processor.refer(&key, token, "ch_1", at(30)).unwrap();
    let late = processor.checkpoint(&key, id(99), point.clone(), at(40));
    assert_eq!(late, Ok(Checkpoint::Superseded));
    assert_eq!(processor.sums().calls(), 0);
    let record = bench.record(KEY).unwrap();
    assert_eq!(record.due(), Some(at(60_010)));
    assert_eq!(
        (record.point, record.reference.as_deref()),
        (Some(point), Some("ch_1"))
    );
}

#[test]
fn u5_what_the_resolver_gives_up_is_counted_however_its_last_try_ended() {
    let mut parts = PolicyParts::defaults(Kind::Api, OnUnknown::Probe);
    parts.resolve_tries = 1;
    for on_unknown in [OnUnknown::Probe, OnUnknown::Resume] {
        parts.on_unknown = on_unknown;
        let mut bench = bench(on_unknown);
        bench.policy = Policy::new(parts).unwrap();
        bench.run_unknown(KEY);
        let [(_, token, _)] = bench.pursue(&[101], 400_000)[..] else {
            panic!("not pursued");
        };
        assert_eq!(bench.processor.sums().resolver_gave_up, 0);
        if on_unknown == OnUnknown::Probe {
            bench.probed(token, Finding::Unknown, Asker::Resolver, 400_001);
        } else {
            let policy = bench.policy;
            let run_out = bench.processor.expire_leases(&policy, at(500_000), 9);
            assert_eq!(run_out, Ok(vec![key(KEY)]));
        }
        let record = bench.record(KEY).unwrap();
        assert!(record.is_left_alone(), "{record:?}");
        assert_eq!(bench.processor.sums().resolver_gave_up, 1, "{on_unknown:?}");
        bench.probed(token, Finding::Unknown, Asker::Resolver, 500_001);
        assert_eq!(bench.processor.sums().resolver_gave_up, 1, "{on_unknown:?}");
    }
}

#[test]
fn l3_the_origins_own_release_is_logged_with_what_it_forgets_and_a_later_success_contradicts_it() {
    let mut bench = bench(OnUnknown::Park);
    let token = bench.run("op", 0);
    let (key, policy) = (key("op"), bench.policy);
    let processor = &mut bench.processor;
    let release = processor.release_by_origin(&key, token, &policy, at(10));
    assert_eq!(release, Ok(Release::Released));
    assert_eq!(processor.sums().released, 1);
    let late = processor.complete(&key, token, outcome(b"done"), None, &policy, at(20));
    assert_eq!(late, Ok(Complete::Superseded));
    let logged = processor.store().logged(&KeyDigest::of(&key)).unwrap();
    let acts: Vec<_> = logged.iter().map(|entry| entry.act).collect();
    let late = Act::LateFinal {
        status: 200,
        contradicts: true,
    };
    assert_eq!(acts, [Act::DidNotHappen, late]);
    assert_eq!(processor.sums().contradictions, 1);
}
