//! The published vectors of RFC 8785, what F2 refuses, and a comparison with another implementation.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(body: &str, expected: Result<&str, NoCanonicalForm>) {
    let form = canonical_form(body.as_bytes(), &[]);
    assert_eq!(
        form.map(|form| String::from_utf8(form).unwrap()),
        expected.map(String::from)
    );
}

/// What RFC 8785 alone would make of it, whatever it loses.
fn lossy_form(body: &[u8]) -> Vec<u8> {
    let text = core::str::from_utf8(body).unwrap();
    // The one number of the vectors that no double has: what RFC 8785 makes of it is refused here (F2).
    let text = text.replace("333333333.33333329", "333333333.3333333");
    let canonicaliser = Canonicaliser {
        text: &text,
        at: 0,
        depth: 0,
        loss: Loss::Accepted,
        out: Vec::new(),
    };
    canonicaliser.document(&[]).unwrap()
}

macro_rules! vector {
    ($name:literal) => {
        (
            include_bytes!(concat!("../../testdata/rfc8785/", $name, ".input.json")).as_slice(),
            include_bytes!(concat!("../../testdata/rfc8785/", $name, ".output.json")).as_slice(),
        )
    };
}

#[test]
fn the_vectors_of_rfc_8785_hold() {
    let vectors = [
        vector!("arrays"),
        vector!("french"),
        vector!("structures"),
        vector!("unicode"),
        vector!("weird"),
    ];
    for (input, output) in vectors {
        assert_eq!(canonical_form(input, &[]).as_deref(), Ok(output));
    }
    // 333333333.33333329 is not what its double is written as: RFC 8785 rounds, F2 does not.
    let (input, output) = vector!("values");
    assert_eq!(lossy_form(input), output);
    assert_eq!(canonical_form(input, &[]), Err(NoCanonicalForm::Number));
    let exact = String::from_utf8(input.to_vec())
        .unwrap()
        .replace("33333329", "3333333");
    assert_eq!(canonical_form(exact.as_bytes(), &[]).as_deref(), Ok(output));
}

#[test]
fn the_numbers_of_rfc_8785_appendix_b_hold() {
    let rows = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];
    for (bits, text) in rows {
        check(text, Ok(text));
        assert_eq!(text.parse::<f64>(), Ok(f64::from_bits(bits)));
        // Another way to write the same decimal value.
        if !text.contains('e') {
            check(&format!("{text}e0"), Ok(text));
        }
    }
}

#[test]
fn numbers_are_the_same_when_their_decimal_values_are() {
    for one in [
        "1", "1.0", "1.00", "1e0", "1E+0", "10e-1", "0.1e1", "0.001e3",
    ] {
        check(one, Ok("1"));
    }
    for hundred in ["100", "1E2", "1e+2", "100.0", "1000e-1"] {
        check(hundred, Ok("100"));
    }
    for zero in [
        "0",
        "-0",
        "0.0",
        "-0.0e7",
        "0e99999999999999999999",
        "0e-99999999999999999999",
    ] {
        check(zero, Ok("0"));
    }
    check("0.1", Ok("0.1"));
    check("-12.50", Ok("-12.5"));
    check("9007199254740992", Ok("9007199254740992"));
    check("9007199254740994", Ok("9007199254740994"));
}

#[test]
fn numbers_that_a_double_does_not_hold_are_refused() {
    for number in [
        "9007199254740993",
        "-9007199254740993",
        "90071992547409930e-1",
        "0.1000000000000000055511151231257827",
        "0.30000000000000001",
        "12345678901234567890",
        "1e400",
        "-1e400",
        "1e99999999999999999999",
        "1e-400",
        "1e-99999999999999999999",
    ] {
        check(number, Err(NoCanonicalForm::Number));
        check(
            &format!("{{\"a\":[{number}]}}"),
            Err(NoCanonicalForm::Number),
        );
    }
}

#[test]
fn duplicate_names_are_refused_also_when_written_differently() {
    check(r#"{"a":1,"a":1}"#, Err(NoCanonicalForm::DuplicateName));
    check(
        r#"{"a":1,"b":2,"\u0061":3}"#,
        Err(NoCanonicalForm::DuplicateName),
    );
    check(
        r#"[{"x":{"":1,"":2}}]"#,
        Err(NoCanonicalForm::DuplicateName),
    );
    check(r#"{"a":{"a":1}}"#, Ok(r#"{"a":{"a":1}}"#));
}

#[test]
fn half_a_surrogate_pair_is_refused() {
    check(r#""\ud83d\ude00""#, Ok("\"😀\""));
    check(r#""\uD83D\uDE00""#, Ok("\"😀\""));
    for lone in [
        r"\ud83d",
        r"\ude00",
        r"\ude00\ud83d",
        r"\ud83dx",
        r"\ud83d\n",
        r"\ud83d\u0041",
    ] {
        check(&format!("\"{lone}\""), Err(NoCanonicalForm::LoneSurrogate));
        check(
            &format!("{{\"{lone}\":1}}"),
            Err(NoCanonicalForm::LoneSurrogate),
        );
    }
}

#[test]
fn strings_are_escaped_as_little_as_possible() {
    check(
        r#""\u0000\u001f\u007f\/\b\f\n\r\t\"\\""#,
        Ok("\"\\u0000\\u001f\u{7f}/\\b\\f\\n\\r\\t\\\"\\\\\""),
    );
    check(r#""é\u00e9""#, Ok("\"éé\""));
}

#[test]
fn names_are_sorted_by_utf_16() {
    // U+10000 is D800 DC00 in UTF-16 and so comes before U+E000, unlike in UTF-8.
    check(
        "{\"\u{e000}\":1,\"\u{10000}\":2}",
        Ok("{\"\u{10000}\":2,\"\u{e000}\":1}"),
    );
    check(
        r#" { "b" : [ 1 , 2 ] , "a" : { "d" : 1 , "c" : { } } } "#,
        Ok(r#"{"a":{"c":{},"d":1},"b":[1,2]}"#),
    );
}

#[test]
fn what_is_not_json_is_refused() {
    for body in [
        "",
        " ",
        "{",
        "}",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{\"a\" 1}",
        "{1:1}",
        "01",
        "-",
        "-a",
        "+1",
        "1.",
        ".5",
        "1e",
        "1e+",
        "0x1",
        "NaN",
        "Infinity",
        "tru",
        "nul",
        "falsey",
        "1 2",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u",
        "\"\n\"",
        "\"\t\"",
        "[1}",
        "{\"a\":1]",
        "\u{feff}1",
        "// c\n1",
        "[1]x",
    ] {
        check(body, Err(NoCanonicalForm::NotJson));
    }
    assert_eq!(
        canonical_form(b"\"\xff\"", &[]),
        Err(NoCanonicalForm::NotJson)
    );
    assert_eq!(
        canonical_form(b"\"\xed\xa0\x80\"", &[]),
        Err(NoCanonicalForm::NotJson)
    );
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    check(&nested(64), Ok(&nested(64)));
    check(&nested(65), Err(NoCanonicalForm::TooDeep));
    check(&"[".repeat(1_000_000), Err(NoCanonicalForm::TooDeep));
    check(&"{\"a\":".repeat(500_000), Err(NoCanonicalForm::TooDeep));
    // Depth counts what is open, not what was.
    let wide = "[[],".to_string() + &"{},".repeat(100) + "[]]";
    check(&wide, Ok(&wide));
    let large = alloc::vec![b' '; CANONICAL_BYTES_MAX + 1];
    assert_eq!(canonical_form(&large, &[]), Err(NoCanonicalForm::TooLarge));
}

#[track_caller]
fn check_left_out(body: &str, pointers: &[&str], expected: Result<&str, NoCanonicalForm>) {
    let pointers: Vec<Pointer> = pointers
        .iter()
        .map(|text| Pointer::parse(text).unwrap())
        .collect();
    let pointers: Vec<&Pointer> = pointers.iter().collect();
    let form = canonical_form(body.as_bytes(), &pointers);
    assert_eq!(
        form.map(|form| String::from_utf8(form).unwrap()),
        expected.map(String::from)
    );
}

#[test]
fn members_and_elements_can_be_left_out() {
    let body = r#"{"b":[{"t":1,"u":2},5,6],"a":{"t":3},"t":4}"#;
    check_left_out(
        body,
        &["/t"],
        Ok(r#"{"a":{"t":3},"b":[{"t":1,"u":2},5,6]}"#),
    );
    check_left_out(
        body,
        &["/a/t", "/b/0/t"],
        Ok(r#"{"a":{},"b":[{"u":2},5,6],"t":4}"#),
    );
    check_left_out(
        body,
        &["/b/0", "/b/2"],
        Ok(r#"{"a":{"t":3},"b":[5],"t":4}"#),
    );
    check_left_out(
        body,
        &["/b/1"],
        Ok(r#"{"a":{"t":3},"b":[{"t":1,"u":2},6],"t":4}"#),
    );
    check_left_out(body, &["/a", "/b", "/t"], Ok("{}"));
    check_left_out("[1]", &["/0"], Ok("[]"));
    // What is not there changes nothing.
    for absent in [
        "/c", "/a/t/x", "/b/3", "/b/00", "/b/-", "/b/+1", "/b/01", "/",
    ] {
        check_left_out(
            r#"{"b":[1,2],"a":{"t":3}}"#,
            &[absent],
            Ok(r#"{"a":{"t":3},"b":[1,2]}"#),
        );
    }
    check_left_out(
        r#"{"a/b":1,"m~n":2,"":3,"c":4}"#,
        &["/a~1b", "/m~0n", "/"],
        Ok(r#"{"c":4}"#),
    );
}

#[test]
fn what_is_left_out_may_be_what_a_form_would_lose() {
    check_left_out(
        r#"{"a":1,"at":1893456000000000001}"#,
        &["/at"],
        Ok(r#"{"a":1}"#),
    );
    check_left_out(
        r#"{"a":1,"at":{"x":1,"x":"\ud800"}}"#,
        &["/at"],
        Ok(r#"{"a":1}"#),
    );
    check_left_out(
        r#"{"a":1e400,"at":1}"#,
        &["/at"],
        Err(NoCanonicalForm::Number),
    );
    check_left_out(
        r#"{"at":1e400,"b":1e400}"#,
        &["/at"],
        Err(NoCanonicalForm::Number),
    );
    check_left_out(r#"{"a":1,"at":x}"#, &["/at"], Err(NoCanonicalForm::NotJson));
    // Which of the two was meant?
    check_left_out(
        r#"{"a":1,"at":1,"at":2}"#,
        &["/at"],
        Err(NoCanonicalForm::DuplicateName),
    );
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i32>().prop_map(serde_json::Value::from),
        prop::num::f64::NORMAL.prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..60)) {
        let _form = canonical_form(&body, &[]);
    }

    #[test]
    fn near_json_is_read_as_serde_json_reads_it(body in r#"[\[\]{}:,"\\u0d8aeE1.+\- ]{0,12}"#) {
        let ours = canonical_form(body.as_bytes(), &[]) != Err(NoCanonicalForm::NotJson);
        let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&body).is_ok();
        prop_assert_eq!(ours, theirs, "{}", body);
    }

    #[test]
    fn the_form_is_that_of_serde_json_canonicalizer(value in any_json()) {
        let body = serde_json::to_vec_pretty(&value).unwrap();
        let theirs = serde_json_canonicalizer::to_vec(&value).unwrap();
        prop_assert_eq!(canonical_form(&body, &[]), Ok(theirs));
    }

    #[test]
    fn a_canonical_form_is_its_own(value in any_json()) {
        let form = canonical_form(&serde_json::to_vec(&value).unwrap(), &[]).unwrap();
        prop_assert_eq!(canonical_form(&form, &[]), Ok(form));
    }

    #[test]
    fn whole_numbers_keep_their_value_or_are_refused(number in any::<i128>(), shift in 0..127_u32) {
        let number = number >> shift;
        let form = canonical_form(number.to_string().as_bytes(), &[]);
        match form {
            Ok(form) => {
                let form = core::str::from_utf8(&form).unwrap();
                prop_assert_eq!(Decimal::of(form), Decimal::of(&number.to_string()));
            }
            Err(error) => {
                prop_assert_eq!(error, NoCanonicalForm::Number);
                prop_assert!(number.unsigned_abs() > 1 << 53);
            }
        }
    }
}
