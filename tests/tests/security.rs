//! X on the wire: tenants apart, origins shielded, operators known.

use serde_json::json;
use tests::client::Answer;
use tests::keys::key;
use tests::session::Session;
use tests::settings::{
    OPERATOR_TOKEN, Settings, VIEWER_TOKEN, api_key, api_route, digest, webhook_route,
};
use tokio::sync::OnceCell;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| {
            let fronted = r#"tenant = { from = "header", header = "X-Tenant", secret_header = "X-Front-Secret", secret = "FRONT_SECRET" }"#;
            let credential = r#"tenant = { from = "credential-digest", header = "Authorization", static = true }"#;
            Session::start(
                Settings::new("security")
                    .route("orders", &api_route("/v1/orders", ""))
                    .route("fronted", &api_route("/v1/fronted", fronted))
                    .route("credential", &api_route("/v1/credential", credential))
                    .route("stripe", &webhook_route("/webhooks/stripe", "stripe", "STRIPE_WEBHOOK_SECRET", ""))
                    .secret("FRONT_SECRET", "front-secret-of-the-test"),
            )
        })
        .await
}

// What may differ between two answers of the same kind.
fn shape(answer: &Answer) -> (u16, String, Vec<String>) {
    let mut names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
    names.sort();
    (answer.status, answer.text(), names)
}

#[test]
fn a_foreign_an_unknown_and_a_malformed_id_get_the_same_answer() {
    // X1
    tests::run(async {
        let session = gateway().await;
        let created = session
            .client("globex")
            .post("/v1/orders")
            .key(&key("foreign"))
            .send()
            .await;
        created.assert_created();
        let foreign = created.operation();
        let last = if foreign.ends_with('A') { 'B' } else { 'A' };
        let unknown = format!("{}{last}", &foreign[..foreign.len() - 1]);
        let acme = session.client("acme");
        let ask = |id: &str| {
            let call = acme.get(&format!("/_oncegate/operations/{id}"));
            async move { call.send().await }
        };
        let reference = ask(&foreign).await;
        reference.assert_problem(404, "operation_not_found", "never");
        for id in [
            &*unknown,
            "x",
            "op_",
            &"a".repeat(500),
            &foreign.to_uppercase(),
            "%20",
        ] {
            assert_eq!(shape(&ask(id).await), shape(&reference), "{id}");
        }
        let own = session
            .client("globex")
            .get(&format!("/_oncegate/operations/{foreign}"))
            .send()
            .await;
        assert_eq!(own.status, 200, "{}", own.text());
        let anonymous = session
            .http()
            .get(&format!("/_oncegate/operations/{foreign}"))
            .send()
            .await;
        assert!(
            matches!(anonymous.status, 401 | 404),
            "{}",
            anonymous.text()
        );
    });
}

#[test]
fn a_foreign_key_cannot_be_asked_for() {
    // X1, A3
    tests::run(async {
        let session = gateway().await;
        let name = key("foreign");
        session
            .client("globex")
            .post("/v1/orders")
            .key(&name)
            .send()
            .await
            .assert_created();
        let path = "/_oncegate/operations?route=orders";
        let acme = |name: &str| session.client("acme").get(path).key(name);
        let (foreign, unknown) = (acme(&name).send().await, acme(&key("unknown")).send().await);
        assert_eq!(shape(&foreign), shape(&unknown));
        assert_eq!(
            session
                .client("globex")
                .get(path)
                .key(&name)
                .send()
                .await
                .status,
            200
        );
    });
}

#[test]
fn a_client_sets_none_of_our_headers_and_no_forwarding() {
    // X2, L4
    tests::run(async {
        let session = gateway().await;
        let mut call = session
            .client("acme")
            .post("/v1/orders")
            .key(&key("headers"));
        let names = [
            "Oncegate-Operation",
            "Oncegate-Attempt",
            "Oncegate-Attempt-Number",
            "Oncegate-Tenant",
            "Oncegate-Recovery-Point",
            "Oncegate-Anything",
            "Forwarded",
        ];
        for name in names {
            call = call.header(name, "forged");
        }
        let answer = call
            .header("X-Request-Id", "kept")
            .header("Authorization", "Basic YTpi")
            .send()
            .await;
        answer.assert_created();
        let seen = &session.origin.seen(answer.number)[0];
        assert!(
            seen.headers.iter().all(|(_, value)| value != "forged"),
            "{:?}",
            seen.headers
        );
        assert_eq!(
            (seen.header("x-request-id"), seen.header("oncegate-tenant")),
            (Some("kept"), Some("acme"))
        );
        let origin_host = session.origin.url().replace("http://", "");
        assert_eq!(
            seen.all("host"),
            [origin_host],
            "X2: the client's host is not passed on"
        );
    });
}

#[test]
fn a_fronts_header_counts_only_with_its_secret() {
    // K6
    tests::run(async {
        let session = gateway().await;
        let call = session
            .http()
            .post("/v1/fronted")
            .key(&key("fronted"))
            .header("X-Tenant", "acme");
        call.send()
            .await
            .assert_problem(401, "unauthenticated", "same-key");
        call.clone()
            .header("X-Front-Secret", "wrong")
            .send()
            .await
            .assert_problem(401, "unauthenticated", "same-key");
        let answer = call
            .header("X-Front-Secret", "front-secret-of-the-test")
            .send()
            .await;
        answer.assert_created();
        let seen = &session.origin.seen(answer.number)[0];
        assert_eq!(seen.header("oncegate-tenant"), Some("acme"));
        assert_eq!(
            seen.header("x-front-secret"),
            None,
            "X4: the front's secret ends here"
        );
    });
}

#[test]
fn a_static_credential_is_a_tenant_of_its_own() {
    // K6
    tests::run(async {
        let session = gateway().await;
        let name = key("credential");
        let call = |token: &str| {
            session
                .http()
                .post("/v1/credential")
                .key(&name)
                .header("Authorization", token)
        };
        let first = call("Bearer one").send().await;
        first.assert_created();
        call("Bearer two").send().await.assert_created();
        call("Bearer one").send().await.assert_replay_of(&first);
        session
            .http()
            .post("/v1/credential")
            .key(&name)
            .send()
            .await
            .assert_problem(401, "unauthenticated", "same-key");
    });
}

#[test]
fn a_session_is_a_strict_cookie_that_no_script_reads() {
    // X3
    tests::run(async {
        let session = gateway().await;
        let answer = session.login(OPERATOR_TOKEN).await;
        assert_eq!(answer.status, 204, "{}", answer.text());
        let cookie = answer.header("set-cookie").expect("a session");
        for attribute in [
            "oncegate_session=",
            "HttpOnly",
            "SameSite=Strict",
            "Path=/_oncegate/",
        ] {
            assert!(cookie.contains(attribute), "{attribute}: {cookie}");
        }
        assert!(
            !cookie.contains(OPERATOR_TOKEN),
            "the cookie is not the token"
        );
        for (token, role) in [(OPERATOR_TOKEN, "operator"), (VIEWER_TOKEN, "viewer")] {
            let who = session
                .operator(token)
                .await
                .get("/_oncegate/operator/session")
                .send()
                .await;
            assert_eq!((who.status, &who.json()["role"]), (200, &json!(role)));
            let name = format!("token {}", &digest(token)[..8]);
            assert_eq!(who.json()["name"], json!(name)); // its entry gives it none
        }
    });
}

#[test]
fn a_wrong_token_opens_nothing() {
    // X3
    tests::run(async {
        let session = gateway().await;
        for token in ["", "wrong", &api_key("acme")] {
            let answer = session.login(token).await;
            answer.assert_problem(401, "unauthenticated", "same-key");
            assert_eq!(answer.header("set-cookie"), None);
        }
        for body in ["", "{", "[]", "{\"token\":7}", "{\"tokn\":\"a\"}"] {
            let operators = session.operators();
            let call = operators
                .post("/_oncegate/operator/login")
                .body(body, "application/json");
            let answer = call
                .header("Origin", operators.base())
                .header("Oncegate-Operator", "1")
                .send()
                .await;
            assert!(
                (400..500).contains(&answer.status),
                "{body}: {} {}",
                answer.status,
                answer.text()
            );
        }
        let query = format!("/_oncegate/operator/login?token={OPERATOR_TOKEN}");
        let answer = session
            .operators()
            .call("POST", &query)
            .header("Origin", session.operators().base())
            .send()
            .await;
        assert!(
            (400..500).contains(&answer.status),
            "a token is never taken from a query: {}",
            answer.status
        );
    });
}

const OPERATOR_PATHS: [&str; 5] = [
    "/_oncegate/operator/session",
    "/_oncegate/operator/overview?range=1h",
    "/_oncegate/operator/operations",
    "/_oncegate/operator/operations/x",
    "/_oncegate/metrics",
];

#[test]
fn operators_doors_need_a_session() {
    // X3
    tests::run(async {
        let session = gateway().await;
        for path in OPERATOR_PATHS {
            for client in [
                session.operators(),
                session
                    .operators()
                    .with_header("Cookie", "oncegate_session=forged"),
                session
                    .operators()
                    .with_header("X-Api-Key", &api_key("acme")),
            ] {
                client
                    .get(path)
                    .send()
                    .await
                    .assert_problem(401, "unauthenticated", "same-key");
            }
        }
    });
}

#[test]
fn operators_doors_are_on_their_host_alone() {
    // X3
    tests::run(async {
        let session = gateway().await;
        let cookie = session
            .login(OPERATOR_TOKEN)
            .await
            .header("set-cookie")
            .expect("a session")
            .to_owned();
        let cookie = cookie.split(';').next().unwrap_or_default();
        let elsewhere = session.http().with_header("Cookie", cookie);
        for path in OPERATOR_PATHS {
            let answer = elsewhere
                .get(path)
                .header("Authorization", &format!("Bearer {OPERATOR_TOKEN}"))
                .send()
                .await;
            answer.assert_problem(404, "not_found", "never");
        }
        let login = elsewhere
            .post("/_oncegate/operator/login")
            .json(&json!({ "token": OPERATOR_TOKEN }));
        login
            .header("Origin", elsewhere.base())
            .send()
            .await
            .assert_problem(404, "not_found", "never");
        let page = elsewhere
            .get("/_oncegate/")
            .header("Accept", "text/html")
            .send()
            .await;
        assert_eq!(
            page.status,
            404,
            "the dashboard is on the operators' host alone: {}",
            page.text()
        );
    });
}

#[test]
fn changes_need_our_header_and_our_origin() {
    // X3
    tests::run(async {
        let session = gateway().await;
        let client = session.operator(OPERATOR_TOKEN).await;
        let logout = || client.call("POST", "/_oncegate/operator/logout");
        let ours = client.base().to_owned();
        let foreign = [
            logout(),
            logout()
                .header("Oncegate-Operator", "1")
                .header("Origin", "https://evil.example"),
            logout()
                .header("Oncegate-Operator", "1")
                .header("Origin", "null"),
            logout().header("Origin", &ours),
        ];
        for call in foreign {
            call.send().await.assert_problem(403, "forbidden", "never");
        }
        assert_eq!(
            client
                .get("/_oncegate/operator/session")
                .send()
                .await
                .status,
            200,
            "still signed in"
        );
        let out = logout()
            .header("Oncegate-Operator", "1")
            .header("Origin", &ours)
            .send()
            .await;
        assert_eq!(out.status, 204, "{}", out.text());
        // Sessions are stored, so one that ended is ended, whoever kept the cookie.
        client
            .get("/_oncegate/operator/session")
            .send()
            .await
            .assert_problem(401, "unauthenticated", "same-key");
    });
}

#[test]
fn the_dashboards_page_is_under_a_strict_policy() {
    // X3
    tests::run(async {
        let session = gateway().await;
        let page = session
            .operators()
            .get("/_oncegate/")
            .header("Accept", "text/html")
            .send()
            .await;
        assert_eq!(page.status, 200, "{}", page.text());
        let policy = page.header("content-security-policy").expect("a policy");
        for directive in [
            "default-src 'none'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "connect-src 'self'",
        ] {
            assert!(policy.contains(directive), "{directive}: {policy}");
        }
        for unsafe_word in ["'unsafe-inline'", "'unsafe-eval'", "http:", "*"] {
            assert!(!policy.contains(unsafe_word), "{unsafe_word}: {policy}");
        }
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    });
}

#[test]
fn secrets_and_payloads_never_reach_the_log() {
    // X4
    tests::run(async {
        let session = gateway().await;
        let secret = key("payload-that-nobody-may-read");
        let call = session
            .client("acme")
            .post("/v1/orders")
            .key(&key("log"))
            .json(&json!({ "card": secret }));
        call.send().await.assert_created();
        call.clone()
            .header("Oncegate-Test", "panic-in-object")
            .send()
            .await;
        call.header("Oncegate-Test", "complete-fails").send().await;
        let log = session.log();
        assert!(!log.is_empty());
        for hidden in [
            &*secret,
            &api_key("acme"),
            OPERATOR_TOKEN,
            tests::signatures::STRIPE_SECRET,
            "front-secret-of-the-test",
        ] {
            assert!(!log.contains(hidden), "{hidden} is in the log");
        }
    });
}
