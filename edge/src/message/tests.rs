//! The forms on the way are pinned: what a deployed version sends must be read by the next one.

use shared::policy::{Kind, OnUnknown, PolicyParts};
use shared::record::AttemptNumber;

use super::*;

fn key() -> OperationKey {
    OperationKey::parse("order-0000000001").unwrap()
}

fn token() -> Token {
    Token(AttemptId::from_bytes([0xab; 16]))
}

fn call(ask: Ask) -> Call {
    Call {
        v: VERSION,
        tenant: TenantId::parse("acme").unwrap(),
        route: RouteName::parse("orders").unwrap(),
        shard: 0,
        policy: None,
        ask,
        fault: None,
    }
}

#[track_caller]
fn check<T>(head: &T, literal: &str)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    assert_eq!(serde_json::to_string(head).unwrap(), literal);
    assert_eq!(&serde_json::from_str::<T>(literal).unwrap(), head);
}

const HEAD: &str = r#"{"v":1,"tenant":"acme","route":"orders","shard":0,"ask":"#;
const ATTEMPT: &str = r#""key":"order-0000000001","token":"abababababababababababababababab""#;

#[test]
fn begin_is_pinned() {
    let begin = Ask::Begin {
        key: key(),
        token: token(),
        fingerprint: Fingerprint {
            recipe: 1,
            digest: [1; 32],
        },
        minted_at: Some(Timestamp::from_millis(5)),
        wait: Millis::new(1_000),
    };
    let parts = PolicyParts::defaults(Kind::Api, OnUnknown::Park);
    let policy = Some(Policy::new(parts).unwrap());
    let literal = [
        HEAD,
        r#""begin","policy":{"kind":"api","lease":30000,"wait":1000,"#,
        r#""retention":{"for_ms":259200000},"on_unknown":"park","#,
        r#""max_lease":600000,"resolve_after":300000,"resolve_tries":8},"#,
        ATTEMPT,
        r#","fingerprint":"v1:0101010101010101010101010101010101010101010101010101010101010101","#,
        r#""minted_at":5,"wait":1000}"#,
    ];
    check(
        &Call {
            policy,
            ..call(begin)
        },
        &literal.concat(),
    );
}

#[test]
fn what_an_attempt_reports_is_pinned() {
    let (key, token) = (key(), token());
    let outcome = OutcomeHead {
        status: 201,
        headers: vec![(String::from("etag"), String::from("1"))],
        omitted: None,
    };
    let latency = Millis::new(7);
    let with_attempt = |before: &str, after: &str| [HEAD, before, ",", ATTEMPT, after].concat();
    let rows = [
        (
            Ask::Complete {
                key: key.clone(),
                token,
                outcome,
                reference: Some(String::from("/o/1")),
                latency,
            },
            with_attempt(
                r#""complete""#,
                r#","outcome":{"status":201,"headers":[["etag","1"]]},"reference":"/o/1","latency":7}"#,
            ),
        ),
        (
            Ask::Release {
                key: key.clone(),
                token,
                status: Some(400),
                latency: None,
            },
            with_attempt(r#""release""#, r#","status":400}"#),
        ),
        (
            Ask::Suspend {
                key: key.clone(),
                token,
                cause: Cause::Status(500),
                reference: None,
                latency: None,
            },
            with_attempt(r#""suspend""#, r#","cause":{"status":500}}"#),
        ),
        (
            Ask::Pending {
                key: key.clone(),
                token,
                reference: Some(String::from("/o/1")),
                wait: Millis::new(9),
            },
            with_attempt(r#""pending""#, r#","wait":9,"reference":"/o/1"}"#),
        ),
        (
            Ask::Probed {
                key: key.clone(),
                token,
                finding: Finding::NotRun,
            },
            with_attempt(r#""probed""#, r#","finding":"not_run"}"#),
        ),
        (
            Ask::Abandon { key, token },
            with_attempt(r#""abandon""#, "}"),
        ),
        (
            Ask::Status {
                digest: String::from("ab"),
            },
            [HEAD, r#""status","digest":"ab"}"#].concat(),
        ),
        (
            Ask::Note {
                ended: Ended::Unprotected,
                key_missing: true,
            },
            [HEAD, r#""note","ended":"unprotected","key_missing":true}"#].concat(),
        ),
    ];
    for (ask, literal) in rows {
        check(&call(ask), &literal);
    }
}

#[test]
fn answers_are_pinned() {
    let lease = Millis::new(30_000);
    let number = AttemptNumber::new(3).get();
    check(
        &Answer::Execute {
            number,
            lease,
            took_over: false,
            point: None,
        },
        r#"{"execute":{"number":3,"lease":30000,"took_over":false}}"#,
    );
    check(
        &Answer::Execute {
            number,
            lease,
            took_over: true,
            point: Some(String::from("charged")),
        },
        r#"{"execute":{"number":3,"lease":30000,"took_over":true,"point":"charged"}}"#,
    );
    check(
        &Answer::Ask(Question {
            number,
            lease,
            since_dispatch: Millis::new(7),
            reference: None,
            point: None,
        }),
        r#"{"ask":{"number":3,"lease":30000,"since_dispatch":7}}"#,
    );
    let outcome = OutcomeHead {
        status: 200,
        headers: vec![],
        omitted: Some(9),
    };
    check(
        &Answer::Replay {
            outcome,
            expires_at: None,
            changed: true,
        },
        r#"{"replay":{"outcome":{"status":200,"headers":[],"omitted":9},"expires_at":null,"changed":true}}"#,
    );
    let retry = Some(Millis::new(5));
    check(
        &Answer::Unknown {
            cause: Cause::LeaseRanOut,
            retry,
        },
        r#"{"unknown":{"cause":"lease_ran_out","retry":5}}"#,
    );
    check(&Answer::Running { lease }, r#"{"running":{"lease":30000}}"#);
    check(
        &Answer::Recorded { expires_at: None },
        r#"{"recorded":{"expires_at":null}}"#,
    );
    check(&Answer::Mismatch, r#""mismatch""#);
}

#[test]
fn what_an_older_sender_leaves_out_has_a_default() {
    let literal =
        r#"{"tenant":"acme","route":"orders","ask":"look","key":"order-0000000001","later":1}"#;
    let ask = Ask::Look {
        key: key(),
        fingerprint: None,
    };
    assert_eq!(
        serde_json::from_str::<Call>(literal).unwrap(),
        Call { v: 0, ..call(ask) }
    );
    let literal = r#"{"execute":{"number":1,"lease":5,"later":{}}}"#;
    let lease = Millis::new(5);
    let answer = Answer::Execute {
        number: 1,
        lease,
        took_over: false,
        point: None,
    };
    assert_eq!(serde_json::from_str::<Answer>(literal).unwrap(), answer);
}

#[test]
fn a_body_follows_its_head_as_it_is() {
    let bytes = encode(&Answer::Mismatch, &[0, 255, b'"']).unwrap();
    assert_eq!(bytes, b"\0\0\0\x0a\"mismatch\"\0\xff\"");
    let (head, body) = decode::<Answer>(&bytes).unwrap();
    assert_eq!((head, body), (Answer::Mismatch, vec![0, 255, b'"']));
}

#[test]
fn what_is_cut_short_is_no_message() {
    for bytes in [
        &b""[..],
        b"\0\0\0",
        b"\0\0\0\x0b\"mismatch\"",
        b"\xff\xff\xff\xff",
    ] {
        assert!(decode::<Answer>(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn a_token_is_never_repeated_in_an_error() {
    let literal =
        r#"{"tenant":"acme","route":"orders","ask":"abandon","key":"k","token":"not-a-token"}"#;
    let error = serde_json::from_str::<Call>(literal)
        .unwrap_err()
        .to_string();
    assert!(!error.contains("not-a-token"), "{error}");
}

#[test]
fn a_question_without_what_it_needs_is_none() {
    for ask in [
        "begin", "complete", "release", "suspend", "abandon", "look", "status", "note",
    ] {
        let literal = format!(r#"{{"tenant":"acme","route":"orders","ask":"{ask}"}}"#);
        let error = serde_json::from_str::<Call>(&literal)
            .unwrap_err()
            .to_string();
        assert!(error.contains("lacks a member"), "{ask}: {error}");
    }
}
