//! The forms of settling and of its log, pinned: scripts and dashboards of another version read and write them.

use alloc::borrow::ToOwned;
use alloc::vec;
use core::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;

#[track_caller]
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(form: &T, literal: &str) {
    assert_eq!(serde_json::to_string(form).unwrap(), literal);
    check_reads(literal, form);
}

#[track_caller]
fn check_reads<T: DeserializeOwned + PartialEq + Debug>(literal: &str, form: &T) {
    assert_eq!(&serde_json::from_str::<T>(literal).unwrap(), form);
}

fn unknown_row() -> UnknownRow {
    UnknownRow {
        why: "It broke.".to_owned(),
        last_answer: "502".to_owned(),
        tries: 2,
        next: NextStep::Person,
        due: None,
        lease_until: Some(Timestamp::from_millis(7)),
        point: Some("charged".to_owned()),
        reference: None,
    }
}

#[test]
fn settlements_name_operations_or_what_they_match() {
    let mut settlements = Settlements {
        settle_as: SettleAs::Succeeded,
        reason: "seen in the ledger".to_owned(),
        outcome: Some(GivenOutcome {
            status: 201,
            content_type: Some("application/json".to_owned()),
            body: "{}".to_owned(),
        }),
        operations: vec!["op_1".to_owned()],
        matching: None,
        preview: true,
    };
    check(
        &settlements,
        r#"{"as":"succeeded","reason":"seen in the ledger","outcome":{"status":201,"content_type":"application/json","body":"{}"},"operations":["op_1"],"preview":true}"#,
    );
    settlements.settle_as = SettleAs::DidNotHappen;
    settlements.outcome = None;
    settlements.operations.clear();
    settlements.matching = Some(Matching {
        tenant: Some("acme".to_owned()),
        route: None,
        last_answer: "502".to_owned(),
    });
    settlements.preview = false;
    check(
        &settlements,
        r#"{"as":"did_not_happen","reason":"seen in the ledger","where":{"tenant":"acme","last_answer":"502"},"preview":false}"#,
    );
    settlements.settle_as = SettleAs::TryAgain;
    settlements.matching = None;
    check_reads(
        r#"{"as":"try_again","reason":"seen in the ledger"}"#,
        &settlements,
    );
}

#[test]
fn what_became_of_each_is_a_word_and_a_sentence() {
    let words = [
        (SettlementWord::Settled, "settled"),
        (SettlementWord::Running, "running"),
        (SettlementWord::NothingToSettle, "nothing_to_settle"),
        (SettlementWord::Failed, "failed"),
    ];
    for (result, word) in words {
        let done = SettlementsDone {
            results: vec![SettlementResult {
                operation: "op_1".to_owned(),
                key: "k".to_owned(),
                result,
                detail: "d".to_owned(),
            }],
            more: true,
            objects_silent: 1,
        };
        let literal = alloc::format!(
            r#"{{"results":[{{"operation":"op_1","key":"k","result":"{word}","detail":"d"}}],"more":true,"objects_silent":1}}"#
        );
        check(&done, &literal);
    }
    check_reads(r#"{"results":[],"later":1}"#, &SettlementsDone::default());
}

#[test]
fn unknown_outcomes_are_told_with_what_comes_next() {
    check(
        &unknown_row(),
        r#"{"why":"It broke.","last_answer":"502","tries":2,"next":"person","due":null,"lease_until":7,"point":"charged","reference":null}"#,
    );
    for (next, word) in [
        (NextStep::Resolver, "\"resolver\""),
        (NextStep::Asking, "\"asking\""),
        (NextStep::Retry, "\"retry\""),
        (NextStep::Person, "\"person\""),
    ] {
        check(&next, word);
    }
    let page = UnknownPage {
        now: Some(Timestamp::from_millis(9)),
        total: 300,
        operations: Vec::new(),
        groups: vec![AnswerGroup {
            last_answer: "502".to_owned(),
            count: 300,
            oldest: Timestamp::from_millis(5),
        }],
        objects_silent: 0,
    };
    check(
        &page,
        r#"{"now":9,"total":300,"operations":[],"groups":[{"last_answer":"502","count":300,"oldest":5}],"objects_silent":0}"#,
    );
    check_reads(r#"{"total":0,"operations":[]}"#, &UnknownPage::default());
}

#[test]
fn the_log_says_who_what_and_why() {
    let page = AuditPage {
        now: Some(Timestamp::from_millis(9)),
        entries: vec![AuditEntry {
            at: Timestamp::from_millis(8),
            who: "kim".to_owned(),
            act: "late_final".to_owned(),
            status: Some(200),
            contradicts: true,
            operation: "op_1".to_owned(),
            tenant: "acme".to_owned(),
            route: "orders".to_owned(),
            key: "k".to_owned(),
            reason: "r".to_owned(),
            before: "b".to_owned(),
            after: "a".to_owned(),
        }],
        next: Some("c".to_owned()),
        objects_silent: 0,
    };
    check(
        &page,
        r#"{"now":9,"entries":[{"at":8,"who":"kim","act":"late_final","status":200,"contradicts":true,"operation":"op_1","tenant":"acme","route":"orders","key":"k","reason":"r","before":"b","after":"a"}],"next":"c","objects_silent":0}"#,
    );
    check_reads(r#"{"entries":[]}"#, &AuditPage::default());
}
