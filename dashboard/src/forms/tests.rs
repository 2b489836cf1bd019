//! What is read here is what serde reads, of forms with every member and of forms with the fewest.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;

/// As the browser's parser gives it.
fn parsed(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Truth(*truth),
        Value::Number(number) => Json::Number(number.as_f64().expect("a number")),
        Value::String(text) => Json::Text(text.clone()),
        Value::Array(items) => Json::List(items.iter().map(parsed).collect()),
        Value::Object(members) => Json::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), parsed(value)))
                .collect(),
        ),
    }
}

#[track_caller]
fn check<T: Form + DeserializeOwned + PartialEq + Debug>(value: &Value) {
    let expected: T = serde_json::from_value(value.clone()).expect("serde reads it");
    assert_eq!(read::<T>(parsed(value)), Ok(expected));
}

/// Every member must be there, be passed over when unknown, and not be of another kind.
#[track_caller]
fn check_strictly<T: Form + DeserializeOwned + PartialEq + Debug>(fewest: &Value) {
    check::<T>(fewest);
    let mut more = fewest.clone();
    more["new_in_a_later_version"] = json!({ "a": [1] });
    check::<T>(&more);
    for name in fewest
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
    {
        let mut less = fewest.clone();
        less.as_object_mut().expect("an object").remove(name);
        assert!(read::<T>(parsed(&less)).is_err(), "without {name}");
        assert!(
            serde_json::from_value::<T>(less).is_err(),
            "serde, without {name}"
        );
        let mut odd = fewest.clone();
        odd[name] = Value::Null;
        assert!(read::<T>(parsed(&odd)).is_err(), "with null for {name}");
    }
}

fn counts() -> Value {
    json!({
        "applied": 1, "replayed": 2, "conflicts": 3, "mismatches": 4, "released": 5, "failed": 6, "unknown": 7,
        "expired": 8, "refused": 9, "unprotected": 10, "superseded": 11,
    })
}

fn live() -> Value {
    json!({
        "tracked": 1, "running": 2, "stuck": 3, "stuck_oldest": 4, "unknown": 5, "unknown_oldest": null,
        "needs_a_person": 6,
    })
}

fn row() -> Value {
    json!({
        "id": "op_1", "tenant": "acme", "route": "orders", "kind": "api", "key": "k", "state": "indeterminate",
        "created_at": 1, "since": 2, "attempts": 3,
    })
}

fn unknown_row() -> Value {
    json!({ "why": "It broke.", "last_answer": "502", "next": "person" })
}

fn entry() -> Value {
    json!({
        "at": 1, "who": "kim", "act": "succeeded", "operation": "op_1", "tenant": "acme", "route": "orders",
        "key": "k", "reason": "r", "before": "b", "after": "a",
    })
}

#[test]
fn forms_with_their_fewest_members() {
    check_strictly::<Session>(&json!({ "role": "viewer", "expires_at": 5 }));
    check_strictly::<Overview>(&json!({ "now": 1, "totals": {}, "live": {} }));
    check_strictly::<RouteCounts>(
        &json!({ "tenant": "a", "route": "b", "counts": {}, "live": {} }),
    );
    check_strictly::<Point>(&json!({ "at": 1, "counts": {} }));
    check_strictly::<Exception>(&json!({
        "route": "a", "what": "b", "reason": "c", "until": 1, "overdue": true,
    }));
    check_strictly::<OperationPage>(&json!({ "operations": [] }));
    check_strictly::<OperationRow>(&row());
    check_strictly::<UnknownRow>(&unknown_row());
    check_strictly::<UnknownPage>(&json!({ "total": 0, "operations": [] }));
    check_strictly::<AnswerGroup>(&json!({ "last_answer": "502", "count": 2, "oldest": 1 }));
    check_strictly::<SettlementsDone>(&json!({ "results": [] }));
    check_strictly::<SettlementResult>(
        &json!({ "operation": "a", "result": "failed", "detail": "d" }),
    );
    check_strictly::<AuditPage>(&json!({ "entries": [] }));
    check_strictly::<AuditEntry>(&entry());
    check_strictly::<OperationDetail>(&json!({
        "row": row(), "fingerprint": "v1:00", "attempts": [], "next": "n",
    }));
    check_strictly::<PointView>(&json!({ "name": "a", "data": "b" }));
    check_strictly::<OtherFingerprint>(&json!({ "fingerprint": "a", "first_at": 1 }));
    check_strictly::<Attempt>(&json!({ "number": 1, "started_at": 1, "ending": "running" }));
    check_strictly::<UnknownView>(&json!({ "since": 1, "number": 2, "why": "w" }));
    check_strictly::<OutcomeView>(&json!({ "status": 200, "headers": [], "body_bytes": 0 }));
    check_strictly::<ProblemDocument>(&json!({
        "type": "/t", "title": "T", "status": 409, "detail": "d", "code": "c", "retry": "never",
    }));
    check::<Counts>(&json!({}));
    check::<Live>(&json!({}));
    check::<SettledCounts>(&json!({}));
}

#[test]
fn forms_with_all_their_members() {
    check::<Session>(&json!({ "role": "operator", "name": "kim", "expires_at": 5 }));
    let mut unknown = unknown_row();
    for (name, value) in [
        ("tries", json!(3)),
        ("due", json!(9)),
        ("lease_until", json!(8)),
        ("point", json!("charged")),
        ("reference", json!("ch_1")),
    ] {
        unknown[name] = value;
    }
    let mut whole_row = row();
    whole_row["stuck"] = json!(true);
    whole_row["status"] = json!(201);
    whole_row["unknown"] = unknown;
    let mut whole_entry = entry();
    whole_entry["status"] = json!(200);
    whole_entry["contradicts"] = json!(true);
    check::<Overview>(&json!({
        "now": 1, "totals": counts(), "live": live(), "step_ms": 60_000,
        "by_route": [{
            "tenant": "a", "route": "b", "counts": counts(), "live": live(), "changed": 1, "takeovers": 2,
        }],
        "series": [{ "at": -1, "counts": counts() }], "tenants": ["a"], "routes": ["b", "c"],
        "exceptions": [{ "route": "a", "what": "b", "reason": "c", "until": 1, "overdue": false }],
        "settled": {
            "by_operator": 1, "by_probe": 2, "resolver_sends": 3, "resolver_gave_up": 4, "late_finals": 5,
            "contradictions": 6,
        },
        "objects_silent": 7,
    }));
    check::<OperationPage>(&json!({
        "now": 1, "operations": [whole_row, row()], "next": "c", "objects_silent": 1,
    }));
    check::<UnknownPage>(&json!({
        "now": 1, "total": 300, "operations": [whole_row], "objects_silent": 1,
        "groups": [{ "last_answer": "502", "count": 2, "oldest": 1 }],
    }));
    check::<SettlementsDone>(&json!({
        "results": [{ "operation": "a", "key": "k", "result": "settled", "detail": "d" }],
        "more": true, "objects_silent": 1,
    }));
    check::<AuditPage>(&json!({
        "now": 1, "entries": [whole_entry], "next": "c", "objects_silent": 1,
    }));
    check::<OperationDetail>(&json!({
        "now": 1, "row": whole_row, "fingerprint": "v1:00", "next": "n", "lease_until": 3, "expires_at": 4,
        "others": [{ "fingerprint": "v1:ff", "first_at": 2 }],
        "attempts": [{ "number": 2, "started_at": 1, "ended_at": 2, "ending": "lease_ran_out", "status": 504 }],
        "unknown": { "since": 1, "number": 2, "why": "w" },
        "outcome": {
            "status": 200, "headers": [["a", "b"], ["c", "d"]], "body_bytes": 9, "body_text": "t", "body_cut": true,
            "body_omitted": true,
        },
        "may_have_run_twice": true, "settled_by": "operator", "point": { "name": "a", "data": "b" },
        "reference": "ch_1", "log": [whole_entry],
    }));
    check::<ProblemDocument>(&json!({
        "type": "/t", "title": "T", "status": 409, "detail": "d", "code": "c", "operation": "op_1",
        "retry": "same-key",
    }));
}

#[test]
fn all_words_are_known_and_others_are_refused() {
    fn check_words<T: Form + DeserializeOwned + PartialEq + Debug>(words: &[&str]) {
        for word in words {
            check::<T>(&json!(word));
        }
        assert!(read::<T>(Json::Text("new_word".to_owned())).is_err());
        assert!(read::<T>(Json::Number(1.0)).is_err());
    }
    check_words::<Role>(&["viewer", "operator"]);
    check_words::<RouteKind>(&["api", "webhook"]);
    check_words::<OperationState>(&["in_progress", "indeterminate", "completed"]);
    check_words::<NextStep>(&["resolver", "asking", "retry", "person"]);
    check_words::<SettlementWord>(&["settled", "running", "nothing_to_settle", "failed"]);
    check_words::<AttemptEnding>(&[
        "running",
        "completed",
        "released",
        "unknown",
        "lease_ran_out",
    ]);
}

#[test]
fn what_is_no_form_says_what_was_wanted() {
    for (value, said) in [
        (json!([]), "an object was wanted"),
        (json!({}), "total was wanted"),
        (
            json!({ "total": -1, "operations": [] }),
            "a number in range was wanted",
        ),
        (
            json!({ "total": 1.5, "operations": [] }),
            "a whole number was wanted",
        ),
        (
            json!({ "total": 1e300, "operations": [] }),
            "a whole number was wanted",
        ),
        (
            json!({ "total": 1, "operations": {} }),
            "an array was wanted",
        ),
        (
            json!({ "total": 1, "operations": [], "objects_silent": 5_000_000_000_u64 }),
            "a number in range was wanted",
        ),
    ] {
        assert_eq!(read::<UnknownPage>(parsed(&value)), Err(said.to_owned()));
    }
}
