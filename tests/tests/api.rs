//! Contract A on the wire: what a client of a protected API route is answered, and what the origin did meanwhile.

use std::time::Duration;
use tests::client::{Answer, Call};
use tests::deadline::{eventually, holds, within};
use tests::keys::key;
use tests::plan::{Body, Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_key, api_route};
use tokio::sync::OnceCell;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| {
            let small = "request_body_max = \"1KiB\"\noutcome_body_max = \"1KiB\"";
            Session::start(
                Settings::new("api")
                    .route("orders", &api_route("/v1/orders", ""))
                    .route("capture", &api_route("/v1/orders/{id}/capture", ""))
                    .route("small", &api_route("/v1/small", small))
                    .route("moved", &api_route("/v1/moved", MOVED))
                    .route(
                        "closed",
                        &api_route("/v1/closed", "origin = \"closed\"")
                            .replace("origin = \"sample\"\n", ""),
                    )
                    .var(
                        "ORIGIN_closed",
                        &format!("http://127.0.0.1:{}", tests::process::free_port()),
                    ),
            )
        })
        .await
}

const MOVED: &str = r#"statuses = [
    { status = 503, as = "not-run", until = "2099-01-01", reason = "the balancer's own" },
    { status = 404, as = "final", until = "2099-01-01", reason = "the origin answers 404 after its work" },
    { status = 202, as = "unknown", until = "2099-01-01", reason = "the origin answers before its work" },
]"#;

fn order(session: &Session) -> Call {
    session.client("acme").post("/v1/orders").key(&key("order"))
}

#[test]
fn a_first_request_is_created_and_its_retry_replayed() {
    tests::run(async {
        let session = gateway().await;
        let call = order(session);
        let first = call.send().await;
        assert_eq!(first.status, 201);
        first.assert_created();
        let retry = call.send().await;
        retry.assert_replay_of(&first);
        assert_eq!(session.origin.effects_of(first.number), 1);
        assert_eq!(
            session.origin.seen(retry.number).len(),
            0,
            "a replay never reaches the origin"
        );
        // P7: a duplicate is a read, so the expiry does not move.
        assert_eq!(
            retry.header("idempotency-expires"),
            first.header("idempotency-expires")
        );
    });
}

#[test]
fn replays_are_identical_to_the_byte() {
    // A1
    tests::run(async {
        let session = gateway().await;
        let large = Body::Large(200 * 1024);
        let rows = [
            Plan::body(Body::Empty),
            Plan::body(Body::Binary(1000)),
            Plan {
                chunked: true,
                ..Plan::body(Body::Binary(70_000))
            },
            Plan::body(large.clone()),
            Plan {
                chunked: true,
                ..Plan::body(large)
            },
            Plan {
                trickle_ms: Some(5),
                ..Plan::body(Body::Binary(640))
            },
            Plan::body(Body::Text("null".to_owned())),
            Plan::body(Body::Text("\u{feff}0".to_owned())),
            Plan {
                body: Some(Body::Empty),
                ..Plan::status(204)
            },
            Plan::default()
                .with_header("Content-Language", "de")
                .with_header("Location", "/v1/orders/7"),
        ];
        for plan in rows {
            let call = order(session).plan(&plan);
            let first = call.send().await;
            first.assert_created();
            let retry = call.send().await;
            retry.assert_replay_of(&first);
            for name in ["content-language", "location"] {
                assert_eq!(retry.header(name), first.header(name), "{plan:?}");
            }
            assert_eq!(session.origin.effects_of(first.number), 1, "{plan:?}");
        }
    });
}

#[test]
fn final_answers_are_outcomes() {
    // U1
    tests::run(async {
        let session = gateway().await;
        for status in [200, 201, 202, 204, 303, 402, 406, 410, 418, 451] {
            let call = order(session).plan(&Plan::status(status));
            let first = call.send().await;
            assert_eq!(first.status, status);
            first.assert_created();
            call.send().await.assert_replay_of(&first);
            assert_eq!(session.origin.effects_of(first.number), 1, "{status}");
        }
    });
}

#[test]
fn refusals_before_work_are_released_and_the_retry_runs() {
    // U1, A
    tests::run(async {
        let session = gateway().await;
        let statuses = [
            301, 302, 307, 308, 400, 401, 403, 404, 405, 407, 409, 411, 413, 414, 415, 417, 421,
            422, 423, 425, 426, 428, 429, 431,
        ];
        for status in statuses {
            let call = order(session);
            let plan = Plan {
                body: Some(Body::Text(format!("no: {status}"))),
                ..Plan::refuse(status)
            };
            let refused = call
                .clone()
                .plan(&plan.with_header("Location", "/elsewhere"))
                .send()
                .await;
            assert_eq!(
                (refused.status, refused.verdict()),
                (status, Some("released")),
                "{}",
                refused.text()
            );
            assert_eq!(
                refused.text(),
                format!("no: {status}"),
                "the origin's own answer"
            );
            assert_eq!(
                session.origin.seen(refused.number).len(),
                1,
                "X2: a redirect is not followed"
            );
            let retry = call.send().await;
            retry.assert_created();
            // L4: the number rises across a release, though nothing was kept.
            let number = |number| session.origin.seen(number)[0].attempt_number();
            assert!(number(retry.number) > number(refused.number), "{status}");
        }
    });
}

#[test]
fn an_unknown_outcome_is_neither_success_nor_failure() {
    // U1, U2
    tests::run(async {
        let session = gateway().await;
        let rows = [
            Plan::status(500),
            Plan::status(502),
            Plan::status(503),
            Plan::status(504),
            Plan::status(408),
            Plan::cut(Cut::BeforeEffect),
            Plan::cut(Cut::AfterEffect),
            Plan::cut(Cut::InsideHead),
            Plan::cut(Cut::InsideBody),
        ];
        for plan in rows {
            let call = order(session);
            let found = call.clone().plan(&plan).send().await;
            found.assert_problem(503, "outcome_unknown", "same-key");
            assert_eq!(found.header("retry-after"), Some("2"), "{plan:?}");
            assert_eq!(found.json()["operation"], found.operation());
            assert_eq!(
                session.origin.seen(found.number).len(),
                1,
                "A4: one dispatch, {plan:?}"
            );
            let retry = call.send().await;
            retry.assert_problem(409, "outcome_unknown", "same-key");
            assert!(retry.header("retry-after").is_some());
            assert_eq!(
                retry.header("location"),
                Some(&*format!("/_oncegate/operations/{}", found.operation()))
            );
            assert_eq!(
                session.origin.seen(retry.number).len(),
                0,
                "park: nothing runs again, {plan:?}"
            );
            let reused = call.json(&serde_json::json!({ "amount": 1 })).send().await;
            reused.assert_problem(422, "idempotency_key_reused", "new-key");
        }
    });
}

#[test]
fn a_route_may_move_single_statuses() {
    // U1
    tests::run(async {
        let session = gateway().await;
        let call = |plan: Plan| {
            session
                .client("acme")
                .post("/v1/moved")
                .key(&key("moved"))
                .plan(&plan)
        };
        let not_run = call(Plan::status(503)).send().await;
        assert_eq!(
            (not_run.status, not_run.verdict()),
            (503, Some("released")),
            "{}",
            not_run.text()
        );
        let last = call(Plan::status(404));
        let first = last.send().await;
        assert_eq!(first.status, 404);
        first.assert_created();
        last.send().await.assert_replay_of(&first);
        call(Plan::status(202))
            .send()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
        let as_usual = call(Plan::status(201)).send().await;
        as_usual.assert_created();
        let word = call(Plan::status(503).with_header("Oncegate-Outcome", "final"))
            .send()
            .await;
        assert_eq!(
            (word.status, word.verdict()),
            (503, Some("created")),
            "the origin's word wins"
        );
    });
}

#[test]
fn the_origins_own_word_wins_over_its_status() {
    // U1
    tests::run(async {
        let session = gateway().await;
        let say = |status, word| {
            order(session).plan(&Plan::status(status).with_header("Oncegate-Outcome", word))
        };
        let certain = say(500, "final");
        let first = certain.send().await;
        assert_eq!(first.status, 500);
        first.assert_created();
        certain.send().await.assert_replay_of(&first);
        let refused = say(200, "not-run").send().await;
        assert_eq!((refused.status, refused.verdict()), (200, Some("released")));
        say(200, "unknown")
            .send()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
    });
}

#[test]
fn a_reused_key_is_refused_before_anything_else_about_the_record() {
    // A: 422 before 409
    tests::run(async {
        let session = gateway().await;
        let gate = key("gate");
        let call = order(session);
        let held = call.clone().plan(&Plan::gate(&gate)).start();
        session.origin.arrived(held.number).await;
        let other = call
            .clone()
            .json(&serde_json::json!({ "amount": 2 }))
            .send()
            .await;
        other.assert_problem(422, "idempotency_key_reused", "new-key");
        assert!(
            other.took < Duration::from_millis(900),
            "a mismatch waits for nobody: {:?}",
            other.took
        );
        session.origin.open(&gate);
        held.answer().await.assert_created();
        call.json(&serde_json::json!({ "amount": 2 }))
            .send()
            .await
            .assert_problem(422, "idempotency_key_reused", "new-key");
    });
}

#[test]
fn a_twin_waits_for_the_running_one_and_is_answered_by_it() {
    tests::run(async {
        let session = gateway().await;
        let gate = key("gate");
        let call = order(session).plan(&Plan::gate(&gate));
        let first = call.start();
        session.origin.arrived(first.number).await;
        let twin = call.start();
        let waits = "a twin waits up to the route's wait, and does not run";
        holds(waits, Duration::from_millis(300), || {
            !twin.is_answered() && session.origin.seen(twin.number).is_empty()
        })
        .await;
        session.origin.open(&gate);
        let (first, twin) = (first.answer().await, twin.answer().await);
        first.assert_created();
        twin.assert_replay_of(&first);
        assert_eq!(
            session.origin.effects_of(first.number) + session.origin.effects_of(twin.number),
            1
        );
    });
}

#[test]
fn a_twin_that_waited_in_vain_is_told_to_come_again() {
    tests::run(async {
        let session = gateway().await;
        let gate = key("gate");
        let call = order(session).plan(&Plan::gate(&gate));
        let first = call.start();
        session.origin.arrived(first.number).await;
        let twin = call.send().await;
        twin.assert_problem(409, "in_progress", "same-key");
        assert_eq!(twin.header("retry-after"), Some("1"));
        assert_eq!(twin.json()["operation"], twin.operation());
        assert!(
            twin.took >= Duration::from_millis(900),
            "it waited {:?} of 1 s",
            twin.took
        );
        assert!(
            twin.took < Duration::from_secs(4),
            "it waited {:?} of 1 s",
            twin.took
        );
        session.origin.open(&gate);
        let first = first.answer().await;
        call.send().await.assert_replay_of(&first);
    });
}

#[test]
fn who_is_not_known_is_refused_first() {
    // K6
    tests::run(async {
        let session = gateway().await;
        let too_large = vec![b'x'; 2000];
        let rows: [(&str, &str); 4] = [
            ("X-Api-Key", "nobody"),
            ("X-Api-Key", ""),
            ("Authorization", "Bearer nobody"),
            ("Authorization", "Basic YTpi"),
        ];
        for (name, value) in rows {
            let call = session
                .http()
                .post("/v1/small")
                .header(name, value)
                .header("Idempotency-Key", "short");
            let answer = call.body(too_large.clone(), "text/plain").send().await;
            answer.assert_problem(401, "unauthenticated", "same-key");
            assert_eq!(session.origin.seen(answer.number).len(), 0);
        }
        session
            .http()
            .post("/v1/orders")
            .key(&key("order"))
            .send()
            .await
            .assert_problem(401, "unauthenticated", "same-key");
    });
}

#[test]
fn both_forms_of_an_api_key_are_one_tenant() {
    // K6
    tests::run(async {
        let session = gateway().await;
        let call = order(session);
        let first = call.send().await;
        first.assert_created();
        let bearer = session
            .http()
            .with_header("Authorization", &format!("Bearer {}", api_key("acme")));
        let key = session.origin.seen(first.number)[0]
            .key()
            .expect("the key reaches the origin");
        bearer
            .post("/v1/orders")
            .key(&key)
            .send()
            .await
            .assert_replay_of(&first);
    });
}

#[test]
fn a_body_over_the_cap_is_refused_before_a_claim() {
    tests::run(async {
        let session = gateway().await;
        let call = session.client("acme").post("/v1/small").key(&key("small"));
        let large = call
            .clone()
            .body(vec![b'x'; 1025], "text/plain")
            .send()
            .await;
        large.assert_problem(413, "body_too_large", "never");
        assert_eq!(session.origin.seen(large.number).len(), 0);
        // Nothing was claimed: the same key is free for another body.
        call.body(vec![b'x'; 1024], "text/plain")
            .send()
            .await
            .assert_created();
    });
}

#[test]
fn an_outcome_too_large_to_keep_never_runs_again() {
    // A2
    tests::run(async {
        let session = gateway().await;
        for (bytes, kept) in [(1024, true), (1025, false), (300_000, false)] {
            let plan = Plan::body(Body::Large(bytes))
                .with_header("X-Kept", "no")
                .with_header("Content-Language", "fr");
            let call = session
                .client("acme")
                .post("/v1/small")
                .key(&key("small"))
                .plan(&plan);
            let first = call.send().await;
            first.assert_created();
            assert_eq!(first.body.len(), bytes, "the first caller gets it all");
            let retry = call.send().await;
            assert_eq!((retry.status, retry.verdict()), (201, Some("replayed")));
            assert_eq!(
                retry.header("idempotency-body"),
                if kept { None } else { Some("omitted") }
            );
            assert_eq!(retry.body.len(), if kept { bytes } else { 0 });
            assert_eq!(retry.header("content-language"), Some("fr"));
            assert_eq!(
                session.origin.effects_of(first.number) + session.origin.seen(retry.number).len(),
                1
            );
        }
    });
}

#[test]
fn cookies_and_framing_are_not_replayed() {
    // A1
    tests::run(async {
        let session = gateway().await;
        let plan = Plan::default()
            .with_header("Set-Cookie", "a=1; Path=/")
            .with_header("Set-Cookie", "b=2; Path=/")
            .with_header("Keep-Alive", "timeout=5")
            .with_header("Oncegate-Operation", "forged")
            .with_header("Idempotency-Status", "forged");
        let call = order(session).plan(&plan);
        let first = call.send().await;
        first.assert_created();
        assert_eq!(
            first.headers.get_all("set-cookie").iter().count(),
            2,
            "the first caller gets both, unfolded"
        );
        assert_ne!(
            first.operation(),
            "forged",
            "an origin cannot name another operation"
        );
        let retry = call.send().await;
        retry.assert_replay_of(&first);
        assert_eq!(
            (retry.header("set-cookie"), retry.header("keep-alive")),
            (None, None)
        );
        let seen = session.origin.seen(first.number);
        assert_eq!(
            seen[0].header("accept-encoding"),
            Some("identity"),
            "A1: origins are asked for identity"
        );
    });
}

#[test]
fn a_clients_shorter_deadline_counts() {
    // A4
    tests::run(async {
        let session = gateway().await;
        let call = order(session)
            .header("Oncegate-Deadline", "500")
            .plan(&Plan::delay_ms(3000));
        let answer = call.send().await;
        answer.assert_problem(503, "outcome_unknown", "same-key");
        assert!(
            answer.took < Duration::from_millis(2500),
            "a deadline of 500 ms took {:?}",
            answer.took
        );
        let seen = session.origin.seen(answer.number);
        let left: u64 = seen[0]
            .header("oncegate-deadline")
            .and_then(|text| text.parse().ok())
            .expect("ms left");
        assert!(left <= 500, "the origin is told what is left: {left}");
        let longer = order(session)
            .header("Oncegate-Deadline", "60000")
            .send()
            .await;
        let seen = session.origin.seen(longer.number);
        let left: u64 = seen[0]
            .header("oncegate-deadline")
            .and_then(|text| text.parse().ok())
            .expect("ms left");
        assert!(left <= 5000, "the route's own 5 s are shorter: {left}");
    });
}

#[test]
fn u1_a_refused_connection_is_unknown_because_the_platform_tells_it_from_a_cut_line_by_nothing() {
    tests::run(async {
        let session = gateway().await;
        let answer = session
            .client("acme")
            .post("/v1/closed")
            .key(&key("closed"))
            .send()
            .await;
        answer.assert_problem(503, "outcome_unknown", "same-key");
    });
}

#[test]
fn a_store_that_does_not_answer_begin_lets_nothing_through() {
    tests::run(async {
        let session = gateway().await;
        for fault in ["begin-unanswered", "begin-fails"] {
            let call = order(session);
            let refused = call.clone().header("Oncegate-Test", fault).send().await;
            refused.assert_problem(503, "store_unavailable", "same-key");
            assert!(refused.header("retry-after").is_some(), "{fault}");
            assert_eq!(
                session.origin.seen(refused.number).len(),
                0,
                "{fault}: fail closed"
            );
            call.send().await.assert_created();
        }
    });
}

#[test]
fn a_store_that_does_not_answer_complete_leaves_it_unknown_until_it_does() {
    tests::run(async {
        let session = gateway().await;
        for fault in ["complete-unanswered", "complete-fails"] {
            let call = order(session);
            let found = call.clone().header("Oncegate-Test", fault).send().await;
            found.assert_problem(503, "outcome_unknown", "same-key");
            assert_eq!(session.origin.effects_of(found.number), 1, "{fault}");
            // Completing goes on in the background: a retry is answered from the record, and nothing runs again.
            let replay = eventually(
                "the background completes",
                Duration::from_secs(10),
                || async {
                    let retry = call.send().await;
                    (retry.verdict() == Some("replayed")).then_some(retry)
                },
            )
            .await;
            assert_eq!(replay.status, 201);
            assert_eq!(
                replay.json()["number"],
                found.number,
                "{fault}: the first effect's own answer"
            );
            assert_eq!(
                session.origin.seen_of(&replay.operation()).len(),
                1,
                "{fault}"
            );
        }
    });
}

#[test]
fn the_state_of_an_operation_can_be_asked_by_id_and_by_key() {
    // A3
    tests::run(async {
        let session = gateway().await;
        let gate = key("gate");
        let idempotency_key = key("order");
        let client = session.client("acme");
        let by_key = client
            .get("/_oncegate/operations?route=orders")
            .key(&idempotency_key);
        by_key
            .send()
            .await
            .assert_problem(404, "operation_not_found", "never");
        let held = client
            .post("/v1/orders")
            .key(&idempotency_key)
            .plan(&Plan::gate(&gate))
            .start();
        let seen = session.origin.arrived(held.number).await;
        let operation = seen
            .header("oncegate-operation")
            .expect("L4: the origin is told the operation")
            .to_owned();
        assert_state(&by_key.send().await, &operation, "in_progress");
        session.origin.open(&gate);
        held.answer().await.assert_created();
        assert_state(&by_key.send().await, &operation, "completed");
        let by_id = client.get(&format!("/_oncegate/operations/{operation}"));
        let status = by_id.send().await;
        assert_state(&status, &operation, "completed");
        assert_eq!(status.json()["outcome_status"], 201);
    });
}

#[track_caller]
fn assert_state(answer: &Answer, operation: &str, state: &str) {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let status = answer.json();
    assert_eq!(
        (&status["operation"], &status["state"]),
        (&operation.into(), &state.into()),
        "{status}"
    );
    assert_eq!(status["route"], "orders", "{status}");
}

#[test]
fn a_request_runs_to_its_end_when_the_client_hangs_up() {
    // A4
    tests::run(async {
        let session = gateway().await;
        let gate = key("gate");
        let call = order(session).plan(&Plan::gate(&gate));
        let hasty = call.start();
        let number = hasty.number;
        session.origin.arrived(number).await;
        hasty.abandon();
        session.origin.open(&gate);
        let retry = eventually(
            "the abandoned request completes",
            Duration::from_secs(10),
            || async {
                let retry = call.send().await;
                (retry.verdict() == Some("replayed")).then_some(retry)
            },
        )
        .await;
        assert_eq!(retry.json()["number"], number);
        assert_eq!(session.origin.seen_of(&retry.operation()).len(), 1);
    });
}

#[test]
fn every_parameter_of_a_path_is_part_of_the_request() {
    // F1
    tests::run(async {
        let session = gateway().await;
        let call = session
            .client("acme")
            .post("/v1/orders/1/capture")
            .key(&key("capture"));
        let first = call.send().await;
        first.assert_created();
        call.send().await.assert_replay_of(&first);
        call.path("/v1/orders/2/capture")
            .send()
            .await
            .assert_problem(422, "idempotency_key_reused", "new-key");
        assert_eq!(
            session.origin.seen(first.number)[0].target,
            "/v1/orders/1/capture"
        );
    });
}

#[test]
fn answers_come_although_the_origin_trickles() {
    tests::run(async {
        let session = gateway().await;
        let plan = Plan {
            trickle_ms: Some(60),
            ..Plan::body(Body::Large(16_000))
        };
        let answer = within("a trickling origin", Duration::from_secs(5), async {
            order(session).plan(&plan).send().await
        })
        .await;
        answer.assert_created();
        assert_eq!(answer.body.len(), 16_000);
    });
}
