//! Which requests are protected, which are refused, which pass, and what a wrong configuration does to all of them.

use tests::client::{Answer, Client};
use tests::keys::key;
use tests::raw::exchange;
use tests::session::Session;
use tests::settings::{Settings, api_key, api_route, webhook_route};
use tokio::sync::OnceCell;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| Session::start(routes("routing")))
        .await
}

fn routes(name: &str) -> Settings {
    Settings::new(name)
        .route("orders", &api_route("/v1/orders", ""))
        .route("capture", &api_route("/v1/orders/{id}/capture", ""))
        .route(
            "stripe",
            &webhook_route("/webhooks/stripe", "stripe", "STRIPE_WEBHOOK_SECRET", ""),
        )
}

// Through a raw socket, because a library would normalise the path.
async fn status_of(session: &Session, path: &str) -> (Option<u16>, String) {
    let bytes = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX-Api-Key: {}\r\nIdempotency-Key: \"{}\"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}",
        session.port(),
        api_key("acme"),
        key("path")
    );
    let answer = exchange(
        session.port(),
        bytes.as_bytes(),
        std::time::Duration::from_secs(8),
    )
    .await;
    (answer.status(), answer.text())
}

const ALIASES: [&str; 9] = [
    "//v1/orders",
    "/v1//orders",
    "/v1/orders/",
    "/v1/orders//",
    "/v1/%6frders",
    "/v1/orders%2f",
    "/v1%2forders",
    "/v1/orders/7/capture/",
    "/v1/orders/7%2fcapture",
];

#[test]
fn another_spelling_of_a_protected_path_is_refused() {
    // A5
    tests::run(async {
        let session = gateway().await;
        for path in ALIASES {
            let before = session.origin.requests();
            let (status, text) = status_of(session, path).await;
            assert_eq!(status, Some(400), "{path}: {text}");
            assert!(text.contains("path_not_canonical"), "{path}: {text}");
            assert_eq!(session.origin.requests(), before, "{path}");
        }
    });
}

#[test]
fn an_unmatched_path_is_not_found() {
    tests::run(async {
        let session = gateway().await;
        for (method, path) in [
            ("POST", "/v1/other"),
            ("GET", "/"),
            ("GET", "/v1/orders/7"),
            ("DELETE", "/v2/orders"),
        ] {
            let answer = session.client("acme").call(method, path).send().await;
            answer.assert_problem(404, "not_found", "never");
            assert_eq!(
                session.origin.seen(answer.number).len(),
                0,
                "{method} {path}"
            );
        }
    });
}

#[test]
fn a_protected_path_takes_its_methods_only() {
    tests::run(async {
        let session = gateway().await;
        for method in ["GET", "PUT", "DELETE", "PATCH"] {
            let answer = session
                .client("acme")
                .call(method, "/v1/orders")
                .key(&key("method"))
                .send()
                .await;
            answer.assert_problem(405, "method_not_allowed", "never");
            assert_eq!(answer.header("allow"), Some("POST"));
            assert_eq!(session.origin.seen(answer.number).len(), 0, "{method}");
        }
    });
}

#[test]
fn a_fallback_origin_gets_what_no_route_takes_and_nothing_else() {
    // A5
    tests::run(async {
        let session = Session::start(routes("fallback").var("FALLBACK_ORIGIN", "sample")).await;
        for (method, path) in [
            ("GET", "/"),
            ("POST", "/v1/other?a=1"),
            ("GET", "/v1/orders/7"),
            ("DELETE", "/v2/orders"),
        ] {
            let answer = session.client("acme").call(method, path).send().await;
            assert_eq!(answer.status, 201, "{method} {path}: {}", answer.text());
            let seen = session.origin.seen(answer.number);
            assert_eq!(
                (seen.len(), &*seen[0].method, &*seen[0].target),
                (1, method, path)
            );
            assert_eq!(
                seen[0].header("oncegate-operation"),
                None,
                "what is not protected is not named"
            );
        }
        for path in ALIASES {
            let before = session.origin.requests();
            let (status, text) = status_of(&session, path).await;
            assert_eq!(status, Some(400), "{path}: {text}");
            assert_eq!(session.origin.requests(), before, "{path}: never passed on");
        }
        let ours = session
            .client("acme")
            .get("/_oncegate/nothing")
            .send()
            .await;
        assert_eq!(ours.status, 404, "{}", ours.text());
        assert_eq!(
            session.origin.seen(ours.number).len(),
            0,
            "our own paths are never passed on"
        );
    });
}

#[test]
fn a_wrong_configuration_lets_nothing_through() {
    // A: 503 misconfigured on every path, fallback included
    tests::run(async {
        let mistakes = [
            (
                "lease",
                routes("wrong").route(
                    "bad",
                    &api_route("/v1/bad", "timeout = \"20s\"\nlease = \"10s\""),
                ),
            ),
            (
                "secret",
                routes("wrong").without_secret("STRIPE_WEBHOOK_SECRET"),
            ),
            (
                "keys",
                routes("wrong").secret("API_KEYS", "{\"not a digest\":\"acme\"}"),
            ),
        ];
        for (what, settings) in mistakes {
            let session = Session::start_unready(settings.var("FALLBACK_ORIGIN", "sample")).await;
            let client = session.client("acme");
            let calls = [
                client.post("/v1/orders").key(&key("wrong")),
                client.post("/webhooks/stripe"),
                client.get("/elsewhere"),
                client.get("/_oncegate/health"),
            ];
            for call in calls {
                let answer = call.send().await;
                answer.assert_problem(503, "misconfigured", "same-key");
                assert_eq!(
                    session.origin.seen(answer.number).len(),
                    0,
                    "{what}: {call:?}"
                );
                assert!(!answer.text().contains("whsec_"), "X4");
            }
        }
    });
}

#[test]
fn every_problem_has_a_page() {
    // A: `type` is a page that the gateway serves
    tests::run(async {
        let session = gateway().await;
        let codes = [
            "idempotency_key_reused",
            "in_progress",
            "outcome_unknown",
            "idempotency_key_expired",
            "idempotency_key_missing",
            "idempotency_key_malformed",
            "unauthenticated",
            "signature_invalid",
            "event_unreadable",
            "request_malformed",
            "body_too_large",
            "path_not_canonical",
            "not_found",
            "method_not_allowed",
            "operation_not_found",
            "forbidden",
            "store_unavailable",
            "misconfigured",
            "internal",
        ];
        for code in codes {
            let page = session
                .http()
                .get(&format!("/_oncegate/problems/{code}"))
                .send()
                .await;
            assert_page(&page, code);
        }
        let none = session
            .http()
            .get("/_oncegate/problems/no_such_problem")
            .send()
            .await;
        none.assert_problem(404, "not_found", "never");
    });
}

#[track_caller]
fn assert_page(page: &Answer, code: &str) {
    assert_eq!(page.status, 200, "{code}: {}", page.text());
    assert!(
        page.header("content-type")
            .is_some_and(|media| media.starts_with("text/html")),
        "{:?}",
        page.headers
    );
    assert!(page.text().contains(code), "{code}: {}", page.text());
    assert!(
        page.header("content-security-policy").is_some(),
        "X3: {:?}",
        page.headers
    );
}

#[test]
fn health_is_told_without_a_credential() {
    tests::run(async {
        let session = gateway().await;
        let health = Client::new(session.http().base())
            .get("/_oncegate/health")
            .send()
            .await;
        assert_eq!(
            (health.status, health.json()),
            (200, serde_json::json!({ "status": "ok" }))
        );
    });
}
