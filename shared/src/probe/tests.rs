//! What is asked, and what each answer proves, as rows.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use proptest::prelude::*;
use serde_json::json;

use super::*;

const QUIET: Millis = Millis::from_mins(5);
/// What load balancers and frameworks answer to a path that nobody serves.
const HTML: &[u8] = b"<html><body>404 Not Found</body></html>";

fn expected(status: u16, pointer: &str, equals: &Value) -> Expected {
    Expected::new(status, Pointer::parse(pointer).unwrap(), equals).unwrap()
}

fn template() -> Template {
    Template::parse("/v1/orders/{operation}").unwrap()
}

/// Found: 200 and `/order/state` is "made"; absent: 404 and `/error` says that there is no such one.
fn probe() -> Probe {
    let absent = Absent {
        expected: expected(404, "/error", &json!("no_such_operation")),
        quiet: QUIET,
    };
    let found = expected(200, "/order/state", &json!("made"));
    Probe::new(template(), Some(found), Some(absent), None).unwrap()
}

#[track_caller]
fn check_after(since: Millis, status: u16, outcome: Option<&str>, body: &[u8], expected: Finding) {
    let answer = ProbeAnswer {
        status,
        outcome,
        body,
    };
    assert_eq!(probe().judge(answer, since), expected, "{answer:?}");
}

#[track_caller]
fn check(status: u16, outcome: Option<&str>, body: &[u8], expected: Finding) {
    check_after(QUIET, status, outcome, body, expected);
}

const UNMATCHED: Finding = Finding::Unknown(Unproven::Unmatched);
const UNREADABLE: Finding = Finding::Unknown(Unproven::Unreadable);

#[test]
fn u3_the_origins_clear_word_settles_whatever_else_it_answers() {
    check(200, Some("final"), b"", Finding::Final);
    check(404, Some("final"), HTML, Finding::Final);
    check(404, Some(" Not-Run "), HTML, Finding::NotRun);
    check_after(Millis::new(0), 200, Some("not-run"), b"", Finding::NotRun);
}

#[test]
fn u3_an_unclear_word_switches_the_predicates_off() {
    let said = Finding::Unknown(Unproven::OriginSaid);
    let made = br#"{"order":{"state":"made"}}"#;
    for word in ["unknown", "pending", "maybe", "", "final, final", "not_run"] {
        check(200, Some(word), made, said);
        check(404, Some(word), br#"{"error":"no_such_operation"}"#, said);
    }
}

#[test]
fn u3_predicates_settle_by_status_and_member_together() {
    check(
        200,
        None,
        br#"{"order":{"state":"made"},"n":1.50}"#,
        Finding::Final,
    );
    check(
        404,
        None,
        br#"{"error":"no_such_operation"}"#,
        Finding::NotRun,
    );
    check(200, None, br#"{"error":"no_such_operation"}"#, UNMATCHED);
    check(404, None, br#"{"order":{"state":"made"}}"#, UNMATCHED);
    check(201, None, br#"{"order":{"state":"made"}}"#, UNMATCHED);
    check(200, None, br#"{"order":{"state":"making"}}"#, UNMATCHED);
    check(200, None, br#"{"order":{"state":["made"]}}"#, UNMATCHED);
    check(200, None, br#"{"order":"made"}"#, UNMATCHED);
    check(200, None, br#""made""#, UNMATCHED);
}

#[test]
fn u3_absence_proves_nothing_before_it_was_quiet_for_long_enough() {
    let absent: &[u8] = br#"{"error":"no_such_operation"}"#;
    let early = Finding::Unknown(Unproven::TooEarly);
    check_after(Millis::new(0), 404, None, absent, early);
    check_after(Millis::new(QUIET.get() - 1), 404, None, absent, early);
    check_after(QUIET, 404, None, absent, Finding::NotRun);
    let made = br#"{"order":{"state":"made"}}"#;
    check_after(Millis::new(0), 200, None, made, Finding::Final);
}

#[test]
fn u3_all_else_stays_unknown() {
    check(404, None, HTML, UNREADABLE); // a mistyped path
    check(404, None, br#"{"error":"not_found"}"#, UNMATCHED); // one of a framework that speaks JSON
    check(503, None, HTML, UNMATCHED); // a balancer without an origin
    check(502, None, b"", UNMATCHED);
    check(200, None, b"[]", UNMATCHED); // a search that found nothing
    check(200, None, br#"{"orders":[]}"#, UNMATCHED);
    check(401, None, br#"{"error":"unauthorized"}"#, UNMATCHED); // the probe's own credential
    check(403, None, br#"{"error":"no_such_operation"}"#, UNMATCHED);
    check(301, None, b"", UNMATCHED);
    check(302, None, br#"{"order":{"state":"made"}}"#, UNMATCHED);
    check(204, None, b"", UNMATCHED);
    check(200, None, b"", UNREADABLE);
    check(200, None, b"{\"order\":{\"state\":\"made\"", UNREADABLE);
    check(200, None, b"{\"order\":{\"state\":\"made\"}}x", UNREADABLE);
    check(200, None, b"\xff", UNREADABLE);
}

#[test]
fn u3_a_body_that_parsers_read_differently_proves_nothing() {
    let twice = br#"{"order":{"state":"failed","state":"made"}}"#;
    check(200, None, twice, UNREADABLE);
    let escaped = br#"{"order":{"st\u0061te":"failed","state":"made"}}"#;
    check(200, None, escaped, UNREADABLE);
    let digits = br#"{"order":{"state":"made"},"id":9007199254740993}"#;
    check(200, None, digits, UNREADABLE);
}

#[test]
fn x5_a_body_is_looked_into_up_to_its_bound() {
    let padded = |bytes: usize| {
        let mut body = br#"{"order":{"state":"made"}}"#.to_vec();
        body.resize(bytes, b' ');
        body
    };
    check(200, None, &padded(PROBE_BODY_BYTES_MAX), Finding::Final);
    let larger = padded(PROBE_BODY_BYTES_MAX + 1);
    check(200, None, &larger, Finding::Unknown(Unproven::TooLarge));
    check(200, Some("final"), &larger, Finding::Final); // the word needs no body
    check(500, None, &larger, UNMATCHED);
}

#[test]
fn an_answer_that_is_both_found_and_absent_proves_nothing() {
    let found = expected(200, "/made", &json!(1));
    let absent = Absent {
        expected: expected(200, "/orders", &Value::Null),
        quiet: QUIET,
    };
    let probe = Probe::new(template(), Some(found), Some(absent), None).unwrap();
    let judge = |body: &[u8]| {
        let answer = ProbeAnswer {
            status: 200,
            outcome: None,
            body,
        };
        probe.judge(answer, QUIET)
    };
    let both = Finding::Unknown(Unproven::Contradictory);
    assert_eq!(judge(br#"{"made":1,"orders":null}"#), both);
    assert_eq!(judge(br#"{"made":1}"#), Finding::Final);
    assert_eq!(judge(br#"{"orders":null}"#), Finding::NotRun);
    assert_eq!(judge(b"{}"), UNMATCHED); // a null that is not there is none
}

#[test]
fn without_predicates_only_the_word_settles() {
    let probe = Probe::new(template(), None, None, Some(201)).unwrap();
    assert_eq!((probe.status(), probe.quiet()), (Some(201), None));
    let judge = |outcome| {
        let answer = ProbeAnswer {
            status: 200,
            outcome,
            body: br#"{"order":{"state":"made"}}"#,
        };
        probe.judge(answer, QUIET)
    };
    assert_eq!(judge(None), UNMATCHED);
    assert_eq!(judge(Some("final")), Finding::Final);
    assert_eq!(judge(Some("not-run")), Finding::NotRun);
}

#[track_caller]
fn check_equal(equals: &Value, body: &str, pointer: &str, holds: bool) {
    let probe = Probe::new(template(), Some(expected(200, pointer, equals)), None, None).unwrap();
    let answer = ProbeAnswer {
        status: 200,
        outcome: None,
        body: body.as_bytes(),
    };
    let found = probe.judge(answer, QUIET) == Finding::Final;
    assert_eq!(found, holds, "{equals} {body} {pointer}");
}

#[test]
fn scalars_are_equal_by_type_and_value() {
    check_equal(&json!(1), r#"{"a":1.0}"#, "/a", true);
    check_equal(&json!(1.0), r#"{"a":1}"#, "/a", true);
    check_equal(&json!(1.5), r#"{"a":15e-1}"#, "/a", true);
    check_equal(&json!(1), r#"{"a":"1"}"#, "/a", false);
    check_equal(&json!(1), r#"{"a":true}"#, "/a", false);
    check_equal(&json!(true), r#"{"a":true}"#, "/a", true);
    check_equal(&json!(false), r#"{"a":null}"#, "/a", false);
    check_equal(&json!("é\n"), r#"{"a":"\u00e9\u000A"}"#, "/a", true);
    check_equal(&json!("null"), r#"{"a":null}"#, "/a", false);
    check_equal(
        &json!("made"),
        r#"{"a":[{"b/c":"made"}]}"#,
        "/a/0/b~1c",
        true,
    );
    check_equal(&json!("made"), r#"{"a":["x","made"]}"#, "/a/01", false);
    check_equal(&json!("made"), r#"{"a":["x","made"]}"#, "/a/+1", false);
    check_equal(&json!("made"), r#"{"a":["x","made"]}"#, "/a/-", false);
    check_equal(&json!("made"), r#"{"a":["x","made"]}"#, "/a/1", true);
    check_equal(&json!("made"), r#"{"":"made"}"#, "/", true);
}

#[test]
fn a_probe_is_made_of_parts_that_can_prove_something() {
    let pointer = || Pointer::parse("/a").unwrap();
    for found in [0, 199, 600] {
        let fault = ProbeFault::Status { found };
        assert_eq!(
            Expected::new(found, pointer(), &json!(1)),
            Err(fault.clone())
        );
        assert_eq!(Probe::new(template(), None, None, Some(found)), Err(fault));
    }
    for equals in [json!({}), json!([]), json!(9_007_199_254_740_993_u64)] {
        let found = json::text(&equals);
        let fault = ProbeFault::Equals { found };
        assert_eq!(Expected::new(200, pointer(), &equals), Err(fault));
    }
    let absent = |quiet| Absent {
        expected: expected(404, "/a", &json!(1)),
        quiet,
    };
    for found in [Millis::new(0), Millis::new(QUIET_MAX.get() + 1)] {
        let fault = Err(ProbeFault::Quiet { found });
        assert_eq!(
            Probe::new(template(), None, Some(absent(found)), None),
            fault
        );
    }
    let found = Some(expected(404, "/a", &json!(1.0)));
    let same = Probe::new(template(), found, Some(absent(QUIET)), None);
    assert_eq!(same, Err(ProbeFault::FoundIsAbsent));
}

#[track_caller]
fn check_template(text: &str, problem: &str) {
    let error = Template::parse(text).unwrap_err();
    assert_eq!(error.to_string(), format!("\"{text}\": {problem}"));
}

#[test]
fn a_template_is_a_path_that_names_an_operation() {
    for text in [
        "/{operation}",
        "/?operation={operation}",
        "/v1/orders/by-operation/{operation}",
        "/v1/orders/op-{operation}.json/",
        "/v1/orders/{reference}/state?a=b&operation={operation}",
        "/v1/{point:/order/id}/{point:/0}",
        "/v1/a%2Fb/{operation}",
    ] {
        assert!(Template::parse(text).is_ok(), "{text}");
    }
    let no_operation = "it has no placeholder, so it asks about no operation";
    check_template("/v1/orders", no_operation);
    check_template("/v1/orders?state=made", no_operation);
    let start = "it does not start with \"/\"";
    check_template("v1/{operation}", start);
    check_template("{operation}", start);
    check_template("https://other.example/{operation}", start); // X2
    let form =
        "its path is not in normal form (empty or dot segments, or needless percent-encoding)";
    for text in [
        "//other.example/{operation}",
        "/v1/../{operation}",
        "/v1/./{operation}",
        "/v1/%2e%2e/{operation}",
        "/v1/%6f/{operation}",
        "/v1/%zz/{operation}",
    ] {
        check_template(text, form);
    }
    let character = "it contains a character that an address has only percent-encoded";
    for text in [
        "/a b/{operation}",
        "/a#{operation}",
        "/{operation}}",
        "/{operation}?a b",
    ] {
        check_template(text, character);
    }
    check_template("/v1/{operation", "a \"{\" is not closed");
    let none = "is no placeholder; there are {operation}, {reference} and {point:/json/pointer}";
    check_template("/v1/{order}", &format!("\"{{order}}\" {none}"));
    check_template("/v1/{}", &format!("\"{{}}\" {none}"));
    check_template("/v1/{point}", &format!("\"{{point}}\" {none}"));
    check_template(
        "/v1/{point:}",
        "pointer \\\"\\\" names the whole document"
            .replace('\\', "")
            .as_str(),
    );
    let long = format!("/{}/{{operation}}", "a".repeat(TEMPLATE_BYTES_MAX));
    let error = Template::parse(&long).unwrap_err().to_string();
    assert!(error.ends_with("it is longer than 512 bytes"), "{error}");
}

#[track_caller]
fn check_expanded(template: &str, expected: Result<&str, &str>) {
    let point = r#"{"id":"ch/1?a=b","number":18446744073709551615,"big":1e30,"up":"..","none":"","list":[]}"#;
    let template = Template::parse(template).unwrap();
    let probe = Probe::new(template, None, None, None).unwrap();
    let expanded = probe.expand("op-1", Some("https://a/é"), Some(point));
    let expanded = expanded.map_err(|error| error.to_string());
    assert_eq!(expanded.as_deref().map_err(String::as_str), expected);
}

#[test]
fn values_take_the_place_of_a_segment_and_no_more() {
    check_expanded("/v1/{operation}/state", Ok("/v1/op-1/state"));
    check_expanded(
        "/by?ref={reference}&op={operation}",
        Ok("/by?ref=https%3A%2F%2Fa%2F%C3%A9&op=op-1"),
    );
    check_expanded("/v1/{point:/id}", Ok("/v1/ch%2F1%3Fa%3Db"));
    check_expanded("/v1/{point:/number}", Ok("/v1/18446744073709551615"));
    check_expanded("/v1/x{point:/up}", Ok("/v1/x.."));
    check_expanded("/v1?up={point:/up}", Ok("/v1?up=.."));
    let dots = "a segment of the path becomes \".\" or \"..\"";
    check_expanded("/v1/{point:/up}", Err(dots));
    check_expanded("/v1/{point:/up}/x", Err(dots));
    check_expanded(
        "/v1/{point:/none}",
        Err("the value of {point:/none} is empty"),
    );
    for name in ["big", "list", "missing"] {
        let error = format!("the recovery point has no text or whole number at /{name}");
        check_expanded(&format!("/v1/{{point:/{name}}}"), Err(&error));
    }
}

#[test]
fn what_is_missing_is_named() {
    let template = |text| Template::parse(text).unwrap();
    let reference = template("/v1/{reference}");
    assert_eq!(
        reference.expand("o", None, None),
        Err(ProbeError::NoReference)
    );
    let point = template("/v1/{point:/id}");
    assert_eq!(point.expand("o", None, None), Err(ProbeError::NoPoint));
    assert_eq!(
        point.expand("o", None, Some("{")),
        Err(ProbeError::PointUnreadable)
    );
    let plain = template("/v1/{operation}");
    assert_eq!(plain.expand("o", None, Some("{")), Ok("/v1/o".to_string()));
    let bytes = "/v1/".len() + TARGET_BYTES_MAX;
    assert_eq!(
        plain.expand(&"o".repeat(TARGET_BYTES_MAX), None, None),
        Err(ProbeError::TooLong { bytes })
    );
}

proptest! {
    #[test]
    fn any_template_is_read_without_panic(text in "/?[a-z{}:/?.%]{0,20}") {
        let _template = Template::parse(&text);
    }

    #[test]
    fn no_value_adds_a_segment_or_a_query(operation in any::<String>(), reference in "[./%?#&\\\\]{0,6}", id in any::<String>()) {
        let template = Template::parse("/a/{operation}/{reference}?b={point:/id}").unwrap();
        let point = json!({ "id": id }).to_string();
        if let Ok(target) = template.expand(&operation, Some(&reference), Some(&point)) {
            let count = |wanted: &str| target.matches(wanted).count();
            prop_assert_eq!((count("/"), count("?"), count("#"), count("&"), count("=")), (3, 1, 0, 0, 1));
            let (path, _) = target.split_once('?').unwrap();
            prop_assert_eq!(crate::path::normal_form(path), path);
            prop_assert!(target.is_ascii());
        }
    }

    #[test]
    fn any_answer_is_judged_without_panic(status in any::<u16>(), body in any::<Vec<u8>>(), word in proptest::option::of(".{0,9}")) {
        let answer = ProbeAnswer { status, outcome: word.as_deref(), body: &body };
        let _finding = probe().judge(answer, QUIET);
    }
}
