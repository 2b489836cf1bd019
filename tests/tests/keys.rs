//! K and F on the wire: what names an operation, whose it is, and what makes two requests the same.

use serde_json::json;
use tests::client::Call;
use tests::keys::{key, uuid_v7};
use tests::session::Session;
use tests::settings::{Settings, api_route};
use tokio::sync::OnceCell;

const HOUR_MS: i64 = 3_600_000;
const MINUTE_MS: i64 = 60_000;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let excluding = r#"exclude = [{ pointer = "/sent_at", until = "2099-01-01", reason = "clients stamp each try" }]"#;
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("keys")
                    .route("orders", &api_route("/v1/orders", ""))
                    .route("invoices", &api_route("/v1/invoices", ""))
                    .route("strict", &api_route("/v1/strict", "strict = true"))
                    .route("report", &api_route("/v1/report", &excepted("report")))
                    .route(
                        "optional",
                        &api_route("/v1/optional", &excepted("optional")),
                    )
                    .route(
                        "short",
                        &api_route("/v1/short", "key_length_min = 1\nkey_length_max = 20"),
                    )
                    .route("excluding", &api_route("/v1/excluding", excluding)),
            )
        })
        .await
}

// G: what passes unprotected is an exception with an end and a reason.
fn excepted(key: &str) -> String {
    format!("key = {key:?}\nkey_until = \"2099-01-01\"\nkey_reason = \"clients are not ready\"")
}

fn order(session: &Session) -> Call {
    session.client("acme").post("/v1/orders").key(&key("order"))
}

#[test]
fn the_bare_and_the_quoted_form_name_the_same_key() {
    // K1
    tests::run(async {
        let session = gateway().await;
        let name = key("order");
        let call = session.client("acme").post("/v1/orders");
        let first = call.clone().key(&name).send().await;
        first.assert_created();
        let bare = call.header("Idempotency-Key", &name);
        bare.send().await.assert_replay_of(&first);
        bare.path("/v1/strict").send().await.assert_problem(
            400,
            "idempotency_key_malformed",
            "new-key",
        );
        session
            .client("acme")
            .post("/v1/strict")
            .key(&name)
            .send()
            .await
            .assert_created();
    });
}

#[test]
fn a_key_that_is_none_is_refused_and_nothing_is_sent() {
    // K2
    tests::run(async {
        let session = gateway().await;
        let call = session.client("acme").post("/v1/orders");
        let missing = call.send().await;
        missing.assert_problem(400, "idempotency_key_missing", "new-key");
        let long = "k".repeat(256);
        let rows: [&str; 12] = [
            "",
            "\"\"",
            "fifteen-letters",
            "\"fifteen-letters\"",
            &long,
            "\"0123456789abcdef\", \"0123456789abcdeg\"",
            "0123456789abcdef,0123456789abcdeg",
            "\"0123456789abcdef\";a=1",
            "\"0123456789abcdef",
            "\"0123456789\\abcdef\"",
            "0123456789 abcdef",
            "\"0123456789\u{e9}abcdef\"",
        ];
        for value in rows {
            let refused = call.clone().header("Idempotency-Key", value).send().await;
            let code = if value.is_empty() {
                "idempotency_key_m"
            } else {
                "idempotency_key_malformed"
            };
            assert_eq!(refused.status, 400, "{value:?}: {}", refused.text());
            let problem = refused.json();
            assert!(
                problem["code"]
                    .as_str()
                    .is_some_and(|found| found.starts_with(code)),
                "{value:?}: {problem}"
            );
            assert_eq!(session.origin.seen(refused.number).len(), 0, "{value:?}");
        }
        let two = call
            .header_too("Idempotency-Key", &key("one"))
            .header_too("Idempotency-Key", &key("other"));
        two.send()
            .await
            .assert_problem(400, "idempotency_key_malformed", "new-key");
    });
}

#[test]
fn the_bounds_of_a_key_are_its_routes() {
    // K2
    tests::run(async {
        let session = gateway().await;
        let (tag, acme) = (key(""), session.client("acme"));
        let sized = |length: usize| format!("{tag:x<length$}")[..length].to_owned();
        let rows = [
            ("/v1/orders", sized(30), true),
            ("/v1/orders", sized(255), true),
            ("/v1/orders", "k".repeat(256), false),
            ("/v1/short", sized(20), true),
            ("/v1/short", sized(21), false),
            ("/v1/short", "k".to_owned(), true),
        ];
        for (path, name, taken) in rows {
            let answer = acme.post(path).key(&name).send().await;
            if taken {
                answer.assert_created();
            } else {
                answer.assert_problem(400, "idempotency_key_malformed", "new-key");
            }
        }
    });
}

#[test]
fn a_key_older_than_the_memory_is_refused() {
    // K5
    tests::run(async {
        let session = gateway().await;
        let call = session.client("acme").post("/v1/orders");
        for (offset, expected) in [
            (-72 * HOUR_MS + 4 * MINUTE_MS, 410),
            (-72 * HOUR_MS + 7 * MINUTE_MS, 201),
            (-1000 * HOUR_MS, 410),
            (4 * MINUTE_MS, 201),
            (6 * MINUTE_MS, 400),
        ] {
            let answer = call.clone().key(&uuid_v7(offset)).send().await;
            match expected {
                410 => answer.assert_problem(410, "idempotency_key_expired", "never"),
                400 => answer.assert_problem(400, "idempotency_key_malformed", "new-key"),
                _ => answer.assert_created(),
            }
            let reached = usize::from(expected == 201);
            assert_eq!(
                session.origin.seen(answer.number).len(),
                reached,
                "{offset} ms"
            );
        }
    });
}

#[test]
fn what_passes_unprotected_says_so() {
    // K3
    tests::run(async {
        let session = gateway().await;
        let acme = session.client("acme");
        for path in ["/v1/report", "/v1/optional"] {
            for _ in 0..2 {
                let answer = acme.post(path).send().await;
                assert_eq!(
                    (answer.status, answer.verdict()),
                    (201, Some("unprotected")),
                    "{path}"
                );
                assert_eq!(
                    session.origin.effects_of(answer.number),
                    1,
                    "{path}: each one runs"
                );
            }
            let call = acme.post(path).key(&key("report"));
            let first = call.send().await;
            first.assert_created();
            call.send().await.assert_replay_of(&first);
        }
        let malformed = |path| acme.post(path).key("short");
        malformed("/v1/optional").send().await.assert_problem(
            400,
            "idempotency_key_malformed",
            "new-key",
        );
        let passed = malformed("/v1/report").send().await;
        assert_eq!(
            (passed.status, passed.verdict()),
            (201, Some("unprotected"))
        );
    });
}

#[test]
fn the_same_key_of_another_tenant_or_route_is_another_operation() {
    // K4, X1
    tests::run(async {
        let session = gateway().await;
        let name = key("shared");
        let post = |tenant: &str, path: &str| session.client(tenant).post(path).key(&name);
        let first = post("acme", "/v1/orders").send().await;
        let other_route = post("acme", "/v1/invoices").send().await;
        let other_tenant = post("globex", "/v1/orders")
            .json(&json!({ "amount": 2 }))
            .send()
            .await;
        for answer in [&first, &other_route, &other_tenant] {
            answer.assert_created();
        }
        assert_ne!(first.operation(), other_route.operation());
        assert_ne!(first.operation(), other_tenant.operation());
        post("acme", "/v1/orders")
            .send()
            .await
            .assert_replay_of(&first);
    });
}

#[test]
fn requests_are_compared_by_what_they_mean() {
    // F1, F2
    tests::run(async {
        let session = gateway().await;
        let json = "application/json";
        let same = [
            (
                r#"{"a":1,"b":[true,null]}"#,
                r#"{ "b": [true, null], "a": 1 }"#,
            ),
            (r#"{"a":1}"#, r#"{"a":1.0}"#),
            (r#"{"a":100}"#, r#"{"a":1e2}"#),
            (r#"{"a":"é"}"#, "{\"a\":\"\\u00e9\"}"),
        ];
        for (one, other) in same {
            let call = order(session);
            let first = call.clone().body(one, json).send().await;
            first.assert_created();
            let again = call.clone().body(other, json).send().await;
            again.assert_replay_of(&first);
            call.body(one, "Application/JSON; charset=utf-8")
                .send()
                .await
                .assert_replay_of(&first);
        }
        let different = [
            (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":"\ud800"}"#, r#"{"a":"\ud801"}"#),
            (r#"{"a":1}"#, r#"{"a":"1"}"#),
            (r#"{"a":null}"#, "{}"),
            (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#),
            ("{", "{ "),
            ("", "null"),
        ];
        for (one, other) in different {
            let call = order(session);
            call.clone().body(one, json).send().await.assert_created();
            let mismatch = call.body(other, json).send().await;
            assert_eq!(
                mismatch.status,
                422,
                "{one} is not {other}: {}",
                mismatch.text()
            );
        }
    });
}

#[test]
fn method_path_query_and_media_type_are_part_of_the_request() {
    // F1
    tests::run(async {
        let session = gateway().await;
        let call = order(session);
        let first = call.clone().path("/v1/orders?a=1&b=2").send().await;
        first.assert_created();
        assert_eq!(
            session.origin.seen(first.number)[0].target,
            "/v1/orders?a=1&b=2",
            "the query reaches the origin as it was"
        );
        call.clone()
            .path("/v1/orders?a=1&b=2")
            .send()
            .await
            .assert_replay_of(&first);
        for path in ["/v1/orders", "/v1/orders?b=2&a=1", "/v1/orders?a=1&b=2&"] {
            call.clone().path(path).send().await.assert_problem(
                422,
                "idempotency_key_reused",
                "new-key",
            );
        }
        let other_media = call
            .path("/v1/orders?a=1&b=2")
            .body(r#"{"amount":100}"#, "text/plain");
        other_media
            .send()
            .await
            .assert_problem(422, "idempotency_key_reused", "new-key");
    });
}

#[test]
fn a_multipart_boundary_is_no_difference() {
    // F2
    tests::run(async {
        let session = gateway().await;
        let form = |boundary: &str, amount: u32| {
            let body = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"amount\"\r\n\r\n{amount}\r\n--{boundary}--\r\n"
            );
            (body, format!("multipart/form-data; boundary={boundary}"))
        };
        let call = order(session);
        let send = |(body, media): (String, String)| {
            let call = call.clone().body(body, &media);
            async move { call.send().await }
        };
        let first = send(form("aaaaaaaaaaaa", 1)).await;
        first.assert_created();
        send(form("bbbbbbbbbbbb", 1)).await.assert_replay_of(&first);
        send(form("bbbbbbbbbbbb", 2)).await.assert_problem(
            422,
            "idempotency_key_reused",
            "new-key",
        );
    });
}

#[test]
fn an_excluded_member_is_no_difference() {
    // F3
    tests::run(async {
        let session = gateway().await;
        let call = session
            .client("acme")
            .post("/v1/excluding")
            .key(&key("excluding"));
        let send = |body| {
            let call = call.clone().json(&body);
            async move { call.send().await }
        };
        let first = send(json!({ "sent_at": 1, "amount": 5 })).await;
        first.assert_created();
        send(json!({ "sent_at": 2, "amount": 5 }))
            .await
            .assert_replay_of(&first);
        send(json!({ "sent_at": 2, "amount": 6 }))
            .await
            .assert_problem(422, "idempotency_key_reused", "new-key");
    });
}
