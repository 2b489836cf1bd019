use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Form {
    whole: u64,
    signed: i64,
    #[serde(default)]
    absent: Option<u16>,
    flag: bool,
    pairs: Vec<(String, u32)>,
    table: BTreeMap<String, Variant>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Variant {
    Bare,
    Wrapped(u16),
    Optional(Option<u16>),
    Named { text: String },
}

#[track_caller]
fn check(json: &str) {
    let expected: Form = serde_json::from_str(json).unwrap();
    assert_eq!(read::<Form>(json.as_bytes()).as_ref(), Ok(&expected));
}

#[test]
fn a_form_is_read_as_the_parser_itself_would() {
    check(
        r#"{"whole":18446744073709551615,"signed":-9223372036854775808,"absent":7,"flag":true,
            "pairs":[["a",1],["b",4294967295]],
            "table":{"a":"bare","b":{"wrapped":7},"c":{"named":{"text":"é"}},"d":{"optional":null}}}"#,
    );
    check(
        r#"{"whole":0,"signed":5,"absent":null,"flag":false,"pairs":[],"table":{},"later":[1.5]}"#,
    );
}

#[track_caller]
fn check_refused(json: &str, expected: &str) {
    let refused = read::<Form>(json.as_bytes()).unwrap_err();
    assert!(alloc::format!("{refused}").contains(expected), "{refused}");
}

#[test]
fn what_is_no_form_is_said_without_its_values() {
    check_refused(r#"{"whole":1"#, "EOF");
    check_refused("[1]", "an object was wanted");
    check_refused(r#"{"whole":-1}"#, "whole number");
    check_refused(r#"{"whole":1.5}"#, "whole number");
    check_refused(r#"{"whole":"secret"}"#, "whole number");
    check_refused(r#"{"absent":70000}"#, "u16");
    check_refused(r#"{"flag":1}"#, "true or false");
    check_refused(r#"{"pairs":{}}"#, "an array");
    check_refused(r#"{"pairs":[["a"]]}"#, "tuple");
    check_refused(
        r#"{"table":{"a":"secret"}}"#,
        "one of bare, wrapped, optional, named",
    );
    check_refused(r#"{"table":{"a":{"bare":1,"wrapped":2}}}"#, "one variant");
    check_refused(r#"{"table":{"a":{"bare":1}}}"#, "a bare variant");
    check_refused("{}", "a member whole");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4).prop_map(|members| {
                Value::from(members.into_iter().collect::<serde_json::Map<_, _>>())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_what_a_parser_reads(value in value()) {
        let written = text(&value);
        let again: Value = serde_json::from_str(&written).unwrap();
        // A double may be written as a whole number, and then is read as one; their text is the same.
        prop_assert_eq!(text(&again), written);
        prop_assert_eq!(read_value::<Value>(value.clone()).map(|value| text(&value)), Ok(text(&value)));
    }
}
