//! Vectors of the senders' documentation and libraries, and what is refused with which words.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// Made with `generateTestHeaderString` of Stripe's own library.
const STRIPE_BODY: &[u8] = br#"{"id":"evt_1","type":"charge.succeeded"}"#;
const STRIPE_SECRET: &str = "whsec_test_secret";
const STRIPE_AT: i64 = 1_492_774_577;
const STRIPE_V1: &str = "4ee5e8d695c9619e003fd480d3d51700d924e29697337d379a6ef6e06e703ab4";

/// The example of Svix's documentation, which its libraries test with.
const SVIX_BODY: &[u8] = br#"{"test": 2432232314}"#;
const SVIX_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SVIX_ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const SVIX_AT: i64 = 1_614_265_330;
const SVIX_V1: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
/// The same message signed by OpenSSL with the key of RFC 8032 §7.1, test 1.
const ED25519_KEY: &str = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
const ED25519_V1A: &str =
    "v1a,fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELIxbzEHoVmAb2ADpkJK7zgPePmPsle0zV9jSeGlHFG2NVAw==";

/// One delivery in the making; the only place here that knows how a delivery is verified.
#[derive(Clone)]
struct Case {
    scheme: Scheme,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    secrets: Vec<&'static str>,
    arrived: Timestamp,
}

impl Case {
    fn stripe(header: &str) -> Self {
        Self {
            scheme: Scheme::Stripe,
            headers: Vec::from([("Stripe-Signature", header.to_string())]),
            body: STRIPE_BODY.to_vec(),
            secrets: Vec::from([STRIPE_SECRET]),
            arrived: Timestamp::from_millis(STRIPE_AT * 1_000),
        }
    }

    fn standard(prefix: [&'static str; 3], signature: &str) -> Self {
        let [id, timestamp, name] = prefix;
        Self {
            scheme: Scheme::StandardWebhooks,
            headers: Vec::from([
                (id, SVIX_ID.to_string()),
                (timestamp, SVIX_AT.to_string()),
                (name, signature.to_string()),
            ]),
            body: SVIX_BODY.to_vec(),
            secrets: Vec::from([SVIX_SECRET]),
            arrived: Timestamp::from_millis(SVIX_AT * 1_000),
        }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn event(&self) -> Result<Event, Refusal> {
        let headers: Vec<(&str, &[u8])> = self
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_bytes()))
            .collect();
        let secrets: Vec<Secret> = self
            .secrets
            .iter()
            .map(|text| self.scheme.secret(text).unwrap())
            .collect();
        let delivery = Delivery {
            headers: &headers,
            body: &self.body,
            arrived: self.arrived,
        };
        self.scheme
            .verify(&delivery, &secrets, TOLERANCE_DEFAULT)?
            .event()
    }
}

const NAMES: [&str; 3] = ["webhook-id", "Webhook-Timestamp", "WEBHOOK-SIGNATURE"];
const SVIX_NAMES: [&str; 3] = ["svix-id", "svix-timestamp", "svix-signature"];

fn stripe() -> Case {
    Case::stripe(&format!("t={STRIPE_AT},v1={STRIPE_V1}"))
}

fn standard() -> Case {
    Case::standard(NAMES, SVIX_V1)
}

#[track_caller]
fn accepted(case: &Case, id: &str, kind: Option<&str>) {
    let event = case.event().unwrap();
    assert_eq!((event.id.as_str(), event.kind.as_deref()), (id, kind));
}

#[track_caller]
fn refused(case: &Case, message: &str) {
    let refusal = case.event().unwrap_err();
    assert_eq!(refusal.to_string(), message);
    assert!(!refusal.remedy().is_empty());
    // X4
    let shown = format!("{refusal} {refusal:?} {}", refusal.remedy());
    for hidden in case.secrets.iter().chain(&[STRIPE_V1, &SVIX_V1[3..]]) {
        assert!(!shown.contains(hidden), "{shown}");
    }
}

#[test]
fn a_stripe_delivery_is_its_bodys_event() {
    accepted(&stripe(), "evt_1", Some("charge.succeeded"));
}

#[test]
fn several_stripe_signatures_and_secrets_are_tried() {
    let old = "0".repeat(64);
    let header = format!("t={STRIPE_AT}, v0=ff,v1={old},v1={STRIPE_V1} ,v1=xyz,v2=1,foo");
    accepted(&Case::stripe(&header), "evt_1", Some("charge.succeeded"));
    let rotating = stripe().with(|case| case.secrets = Vec::from(["whsec_new", STRIPE_SECRET]));
    accepted(&rotating, "evt_1", Some("charge.succeeded"));
    let upper = format!("t={STRIPE_AT},v1={}", STRIPE_V1.to_uppercase());
    accepted(&Case::stripe(&upper), "evt_1", Some("charge.succeeded"));
}

#[test]
fn a_stripe_header_that_is_none_is_refused() {
    let check = |header: &str, message: &str| refused(&Case::stripe(header), message);
    check("", "header stripe-signature has no t=");
    check(
        &format!("v1={STRIPE_V1}"),
        "header stripe-signature has no t=",
    );
    check(
        &format!("t={STRIPE_AT}"),
        "header stripe-signature has no v1= signature",
    );
    check(
        &format!("t={STRIPE_AT},v0={STRIPE_V1}"),
        "header stripe-signature has no v1= signature",
    );
    let no_seconds = "header stripe-signature has no t= in seconds since 1970";
    for time in ["", "-1", "+1", "1e9", "1492774577.0", "9999999999999", "٣"] {
        check(&format!("t={time},v1={STRIPE_V1}"), no_seconds);
    }
    check(
        &format!("t=1,t={STRIPE_AT},v1={STRIPE_V1}"),
        "header stripe-signature has no single t=",
    );
    let many = format!("t={STRIPE_AT}") + &format!(",v1={STRIPE_V1}").repeat(17);
    check(
        &many,
        "header stripe-signature has 17 signatures, more than 16",
    );
    let absent = stripe().with(|case| case.headers.clear());
    refused(&absent, "header stripe-signature is missing");
    let twice = stripe().with(|case| case.headers.extend(case.headers.clone()));
    refused(&twice, "header stripe-signature is there more than once");
}

#[test]
fn what_was_not_signed_with_a_secret_of_the_route_is_refused() {
    let no_match = "none of 1 signatures was made with any of 1 secrets";
    refused(&stripe().with(|case| case.body.push(b'\n')), no_match);
    refused(
        &stripe().with(|case| case.secrets = Vec::from(["whsec_other"])),
        no_match,
    );
    let later = format!("t={},v1={STRIPE_V1}", STRIPE_AT + 1);
    refused(&Case::stripe(&later), no_match);
    for signature in ["", &STRIPE_V1[2..], &format!("{STRIPE_V1}00"), "zz"] {
        refused(
            &Case::stripe(&format!("t={STRIPE_AT},v1={signature}")),
            no_match,
        );
    }
    let none = "none of 1 signatures was made with any of 0 secrets";
    refused(&stripe().with(|case| case.secrets.clear()), none);
}

#[test]
fn the_tolerance_is_judged_on_arrival_in_both_directions() {
    for case in [stripe(), standard()] {
        let signed = case.arrived;
        for (millis, accepted) in [
            (300_000, true),
            (300_001, false),
            (-300_000, true),
            (-300_001, false),
        ] {
            let arrived = Timestamp::from_millis(signed.as_millis() + millis);
            let event = case.clone().with(|case| case.arrived = arrived).event();
            let tolerance = TOLERANCE_DEFAULT;
            let outside = SignatureProblem::OutsideTolerance {
                signed_at: signed,
                arrived,
                tolerance,
            };
            assert_eq!(
                event.err(),
                (!accepted).then_some(Refusal::Signature(outside))
            );
        }
    }
    let late = stripe().with(|case| case.arrived = case.arrived.plus(Millis::from_secs(301)));
    refused(
        &late,
        "signed at 2017-04-21T11:36:17.000Z, which is more than 300000 ms from the arrival at \
         2017-04-21T11:41:18.000Z",
    );
}

#[test]
fn a_standard_delivery_is_its_signed_headers_event() {
    accepted(&standard(), SVIX_ID, None);
    accepted(&Case::standard(SVIX_NAMES, SVIX_V1), SVIX_ID, None);
}

#[test]
fn several_standard_signatures_and_secrets_are_tried() {
    let several = format!("v1,AAAA v2,x {ED25519_V1A} v1,%  {SVIX_V1}");
    accepted(&Case::standard(NAMES, &several), SVIX_ID, None);
    let other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let rotating = standard().with(|case| case.secrets = Vec::from([other, SVIX_SECRET]));
    accepted(&rotating, SVIX_ID, None);
    let bare = standard().with(|case| case.secrets = Vec::from([&SVIX_SECRET[6..]]));
    accepted(&bare, SVIX_ID, None);
}

#[test]
fn a_public_key_verifies_v1a_alone() {
    let public = |signature: &str| {
        Case::standard(NAMES, signature).with(|case| case.secrets = Vec::from([ED25519_KEY]))
    };
    accepted(&public(ED25519_V1A), SVIX_ID, None);
    accepted(&public(&format!("{SVIX_V1} {ED25519_V1A}")), SVIX_ID, None);
    let no_match = "none of 1 signatures was made with any of 1 secrets";
    refused(&public(SVIX_V1), no_match);
    refused(&public(&ED25519_V1A.replace("v1a", "v1")), no_match);
    refused(
        &public(ED25519_V1A).with(|case| case.body.push(b' ')),
        no_match,
    );
    refused(&Case::standard(NAMES, ED25519_V1A), no_match);
    refused(
        &Case::standard(NAMES, &SVIX_V1.replace("v1,", "v1a,")),
        no_match,
    );
}

#[test]
fn standard_headers_that_are_none_are_refused() {
    let without = |at: usize| {
        standard().with(|case| {
            case.headers.remove(at);
        })
    };
    refused(&without(0), "header webhook-id is missing");
    refused(&without(1), "header webhook-timestamp is missing");
    refused(&without(2), "header webhook-signature is missing");
    refused(
        &standard().with(|case| case.headers.clear()),
        "header webhook-id is missing",
    );
    let set =
        |at: usize, value: &str| standard().with(|case| case.headers[at].1 = value.to_string());
    refused(
        &set(1, "2021-02-25"),
        "header webhook-timestamp has no seconds since 1970",
    );
    refused(
        &set(2, "v2,x"),
        "header webhook-signature has no v1, or v1a, signature",
    );
    refused(
        &set(2, &"v1,x ".repeat(17)),
        "header webhook-signature has 17 signatures, more than 16",
    );
    let twice = standard().with(|case| case.headers.extend(case.headers.clone()));
    refused(&twice, "header webhook-id is there more than once");
    // The two sets of names are not mixed.
    let mixed = standard().with(|case| case.headers[2].0 = "svix-signature");
    refused(&mixed, "header webhook-signature is missing");
}

#[test]
fn an_id_that_could_be_cut_elsewhere_is_refused() {
    // The same signed bytes: the end of the id could be taken for the time.
    let case = standard().with(|case| case.headers[0].1 = format!("{SVIX_ID}.{SVIX_AT}"));
    refused(
        &case,
        "header webhook-id is \"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330\", which contains a \".\" and so is not \
         told apart from the time behind it",
    );
}

/// Signs `body` as Stripe does, to see what is read behind a good signature.
fn signed_stripe(body: &str) -> Case {
    use hmac::{KeyInit, Mac};
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(STRIPE_SECRET.as_bytes()).unwrap();
    mac.update(format!("{STRIPE_AT}.{body}").as_bytes());
    let signature = hex::encode(mac.finalize().into_bytes());
    Case::stripe(&format!("t={STRIPE_AT},v1={signature}"))
        .with(|case| case.body = body.as_bytes().to_vec())
}

/// Signs `body` under `id` as Standard Webhooks does.
fn signed_standard(id: &str, body: &str) -> Case {
    use hmac::{KeyInit, Mac};
    let key = secret::from_base64(&SVIX_SECRET.as_bytes()[6..]).unwrap();
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{id}.{SVIX_AT}.{body}").as_bytes());
    let signature = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD_NO_PAD,
        mac.finalize().into_bytes(),
    );
    standard().with(|case| {
        case.headers[0].1 = id.to_string();
        case.headers[2].1 = format!("v1,{signature}");
        case.body = body.as_bytes().to_vec();
    })
}

#[test]
fn the_id_is_a_text_that_is_there_once() {
    accepted(&signed_stripe(r#"{"id":"evt_1"}"#), "evt_1", None);
    accepted(
        &signed_stripe(r#"{"type":7,"data":{"id":"x"},"id":"évt 1"}"#),
        "évt 1",
        None,
    );
    let once = |place: &str| {
        format!("the body is not a json object whose id and type are there once ({place})")
    };
    refused(
        &signed_stripe(r#"{"id":"a","id":"b"}"#),
        &once("line 1, column 14"),
    );
    refused(
        &signed_stripe(r#"{"id":"a","type":"b","type":"c"}"#),
        &once("line 1, column 27"),
    );
    refused(&signed_stripe("not json"), &once("line 1, column 2"));
    refused(
        &signed_stripe("{\"id\":\"a\"}{"),
        &once("line 1, column 11"),
    );
    refused(
        &signed_stripe(r#"{"id":"\ud800"}"#),
        &once("line 1, column 14"),
    );
    refused(&signed_stripe(""), &once("line 1, column 0"));
    refused(&signed_stripe("{}"), "the body has no id");
    refused(&signed_stripe(r#"{"id":null}"#), "the body has no id");
    refused(
        &signed_stripe(r#"{"id":17}"#),
        "the body's id is a number instead of a string",
    );
    refused(
        &signed_stripe(r#"{"id":true}"#),
        "the body's id is a boolean instead of a string",
    );
    refused(
        &signed_stripe(r#"{"id":[]}"#),
        "the body's id is an array instead of a string",
    );
    refused(
        &signed_stripe(r#"{"id":{}}"#),
        "the body's id is an object instead of a string",
    );
    refused(
        &signed_stripe(r#"{"id":""}"#),
        "the event's id is none: key \"\" is not 1 to 512 bytes without control characters",
    );
}

#[test]
fn deep_bodies_do_not_overflow_the_stack() {
    let deep = format!(
        r#"{{"id":"evt_1","data":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(matches!(
        signed_stripe(&deep).event(),
        Ok(_) | Err(Refusal::Event(_))
    ));
}

#[test]
fn a_standard_type_is_read_where_there_is_one() {
    accepted(
        &signed_standard("m1", r#"{"type":"contact.created","id":"other"}"#),
        "m1",
        Some("contact.created"),
    );
    accepted(&signed_standard("m1", "no json"), "m1", None);
    accepted(&signed_standard("m1", r#"{"type":{}}"#), "m1", None);
    accepted(
        &signed_standard("m1", &format!(r#"{{"type":"{}"}}"#, "a".repeat(257))),
        "m1",
        None,
    );
    refused(
        &signed_standard("", "{}"),
        "the event's id is none: key \"\" is not 1 to 512 bytes without control characters",
    );
}

#[test]
fn secrets_are_read_as_their_sender_shows_them() {
    #[track_caller]
    fn check(scheme: Scheme, text: &str, expected: Result<&str, SecretError>) {
        let secret = scheme.secret(text);
        assert_eq!(
            secret.map(|secret| format!("{secret:?}")),
            expected.map(String::from)
        );
    }
    let standard = Scheme::StandardWebhooks;
    check(Scheme::Stripe, STRIPE_SECRET, Ok("Secret(shared)"));
    check(Scheme::Stripe, "", Err(SecretError::Empty));
    check(Scheme::Stripe, "whsec_x\n", Err(SecretError::Space));
    check(standard, SVIX_SECRET, Ok("Secret(shared)"));
    check(standard, ED25519_KEY, Ok("Secret(public)"));
    check(standard, "", Err(SecretError::Empty));
    check(standard, "whsec_", Err(SecretError::Empty));
    check(standard, " whsec_AAAA", Err(SecretError::Space));
    let shared = "\"whsec_\" and the base64 of the secret, or \"whpk_\" and that of the public key";
    check(
        standard,
        "whsec_%",
        Err(SecretError::Form { expected: shared }),
    );
    check(
        standard,
        "whsk_AAAA",
        Err(SecretError::Form { expected: shared }),
    );
    let public = "\"whpk_\" and the base64 of an ed25519 public key of 32 bytes";
    check(
        standard,
        "whpk_AAAA",
        Err(SecretError::Form { expected: public }),
    );
    let weak = "whpk_AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    check(standard, weak, Err(SecretError::Form { expected: public }));
}

#[test]
fn retention_defaults_outlive_every_senders_resends() {
    for &scheme in Scheme::ALL {
        assert!(
            scheme.resend_horizon() < crate::policy::RETENTION_WEBHOOK_DEFAULT,
            "{scheme}"
        ); // W5
        assert!(scheme.resend_source().contains("https://"));
        assert!(!scheme.signature_headers().is_empty());
        assert_eq!(
            serde_json::to_string(&scheme).unwrap(),
            format!("\"{scheme}\"")
        );
    }
}

proptest! {
    #[test]
    fn any_header_and_body_are_read_without_panic(header in prop::collection::vec(any::<u8>(), 0..60), body in prop::collection::vec(any::<u8>(), 0..40)) {
        let headers = [
            ("stripe-signature", header.as_slice()),
            ("webhook-id", header.as_slice()),
            ("webhook-timestamp", b"1"),
            ("webhook-signature", header.as_slice()),
        ];
        let delivery = Delivery { headers: &headers, body: &body, arrived: Timestamp::from_millis(0) };
        for &scheme in Scheme::ALL {
            let secret = scheme.secret("AAAA").unwrap();
            prop_assert!(scheme.verify(&delivery, &[secret], TOLERANCE_DEFAULT).is_err());
        }
    }

    #[test]
    fn every_bit_of_a_signature_counts(bit in 0..256_usize) {
        let mut signature = hex::decode(STRIPE_V1).unwrap();
        signature[bit / 8] ^= 1 << (bit % 8);
        let case = Case::stripe(&format!("t={STRIPE_AT},v1={}", hex::encode(signature)));
        prop_assert!(case.event().is_err());
    }
}
