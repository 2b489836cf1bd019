//! L5 on the wire: what an origin reports about the attempt that it is working on, and what its callers hear of it.

use std::time::Duration;
use tests::attempt::Attempt;
use tests::client::{Answer, Call, Client};
use tests::deadline::eventually;
use tests::desk::Desk;
use tests::keys::{key, now_ms};
use tests::plan::{Body, Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route, webhook_route};
use tests::signatures::{Job, sign_all};
use tokio::sync::OnceCell;

/// The first lease of an attempt, and the longest that it gets with all its extensions.
const LEASE_MS: u64 = 3_000;
const MAX_LEASE_MS: u64 = 7_000;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let brief = "timeout = \"1s\"\nlease = \"3s\"\nmax_lease = \"7s\"";
    let resumed = format!("{brief}\non_unknown = \"resume\"\norigin_dedupes = true");
    let phased =
        format!("{brief}\nphases = [\"charged\", \"shipped\"]\noutcome_body_max = \"1KiB\"");
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("callbacks")
                    .route("works", &api_route("/v1/works", brief))
                    .route(
                        "hasty",
                        &api_route("/v1/hasty", &format!("{brief}\nwait = \"0s\"")),
                    )
                    .route("resumed", &api_route("/v1/resumed", &resumed))
                    .route(
                        "stripe",
                        &webhook_route(
                            "/webhooks/stripe",
                            "stripe",
                            "STRIPE_WEBHOOK_SECRET",
                            brief,
                        ),
                    )
                    .route("phased", &api_route("/v1/phased", &phased)),
            )
        })
        .await
}

fn call(session: &Session, path: &str) -> Call {
    session.client("acme").post(path).key(&key("callback"))
}

// A request whose origin works on, and the attempt that it is.
async fn pending(session: &Session, call: &Call) -> (tests::client::InFlight, Attempt) {
    let flight = call.clone().plan(&Plan::pending()).start();
    let seen = session.origin.arrived(flight.number).await;
    (flight, Attempt::of(session, &seen))
}

#[track_caller]
fn assert_superseded(answer: &Answer) {
    answer.assert_problem(409, "attempt_superseded", "never");
}

#[track_caller]
fn assert_accepted(answer: &Answer) {
    assert_eq!(
        (answer.status, answer.verdict()),
        (202, Some("pending")),
        "{}",
        answer.text()
    );
    let location = format!("/_oncegate/operations/{}", answer.operation());
    assert_eq!(answer.header("location"), Some(location.as_str()));
    assert_eq!(answer.header("retry-after"), Some("1"));
}

async fn status(client: &Client, operation: &str) -> serde_json::Value {
    let answer = client
        .get(&format!("/_oncegate/operations/{operation}"))
        .send()
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

// Waits until nobody may be working under a lease any more.
async fn unknown(client: &Client, operation: &str) {
    eventually("the lease is over", Duration::from_secs(20), || async {
        (status(client, operation).await["state"] == "indeterminate").then_some(())
    })
    .await;
}

#[test]
fn a_waiting_caller_gets_the_outcome_that_the_origin_reports() {
    // L5, A1
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/works");
        let (flight, attempt) = pending(session, &call).await;
        let body: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let done = attempt
            .call("POST", "complete")
            .header("Oncegate-Outcome-Status", "201")
            .header("Content-Language", "de")
            .header("Location", "/v1/works/7")
            .header("Set-Cookie", "a=b")
            .body(body.clone(), "application/octet-stream")
            .send()
            .await;
        assert_eq!((done.status, done.body.len()), (204, 0), "{}", done.text());
        let answer = flight.answer().await;
        assert_eq!((answer.status, &answer.body), (201, &body));
        let retry = call.send().await;
        retry.assert_replay_of(&answer);
        for (name, value) in [
            ("content-type", Some("application/octet-stream")),
            ("content-language", Some("de")),
            ("location", Some("/v1/works/7")),
            ("set-cookie", None),
            ("oncegate-outcome-status", None),
        ] {
            assert_eq!(answer.header(name), value, "{name}");
            assert_eq!(retry.header(name), value, "{name}");
        }
        assert_eq!(session.origin.seen_of(&attempt.operation).len(), 1);
    });
}

#[test]
fn the_first_of_two_outcomes_counts_for_its_own_caller_too() {
    // A1: the origin completes by a report, and then answers something else
    tests::run(async {
        let session = gateway().await;
        let gate = key("gate");
        let call = call(session, "/v1/works");
        let flight = call.clone().plan(&Plan::gate(&gate)).start();
        let attempt = Attempt::of(session, &session.origin.arrived(flight.number).await);
        let told = attempt.complete(202, "text/plain", "told first").await;
        assert_eq!(told.status, 204, "{}", told.text());
        session.origin.open(&gate);
        let first = flight.answer().await;
        assert_eq!((first.status, first.text()), (202, "told first".to_owned()));
        call.send().await.assert_replay_of(&first);
    });
}

#[test]
fn a_success_after_the_origins_own_release_is_evidence_and_contradicts_it() {
    // L3
    tests::run(async {
        let session = gateway().await;
        let desk = Desk::open(session).await;
        let gate = key("gate");
        let call = call(session, "/v1/works");
        let flight = call.clone().plan(&Plan::gate(&gate)).start();
        let attempt = Attempt::of(session, &session.origin.arrived(flight.number).await);
        assert_eq!(attempt.release().await.status, 204);
        session.origin.open(&gate);
        flight
            .answer()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
        let log = desk.audit("acme", &attempt.operation).await;
        let of_it: Vec<_> = log
            .iter()
            .map(|entry| (entry["act"].clone(), entry["contradicts"].clone()))
            .collect();
        assert_eq!(
            of_it,
            [
                ("late_final".into(), true.into()),
                ("did_not_happen".into(), false.into())
            ]
        );
    });
}

#[test]
fn a_caller_that_would_wait_longer_is_told_where_to_ask() {
    // L5, A3
    tests::run(async {
        let session = gateway().await;
        let client = session.client("acme");
        for path in ["/v1/works", "/v1/hasty"] {
            let call = call(session, path);
            let (flight, attempt) = pending(session, &call).await;
            let accepted = flight.answer().await;
            assert_accepted(&accepted);
            assert_eq!(accepted.operation(), attempt.operation);
            let twin = call.send().await;
            twin.assert_problem(409, "in_progress", "same-key");
            let asked = client
                .get(accepted.header("location").expect("where to ask"))
                .send()
                .await
                .json();
            assert_eq!(asked["state"], "in_progress", "{asked}");
            let body: Vec<u8> = (0..=255).rev().collect();
            let done = attempt
                .complete(202, "application/octet-stream", body.clone())
                .await;
            assert_eq!(done.status, 204, "{}", done.text());
            let asked = status(&client, &attempt.operation).await;
            assert_eq!(
                (&asked["state"], &asked["outcome_status"]),
                (&"completed".into(), &202.into()),
                "{asked}"
            );
            assert_eq!(asked["outcome"]["body_bytes"], 256, "{asked}");
            let retry = call.send().await;
            assert_eq!(
                (retry.status, retry.verdict(), &retry.body),
                (202, Some("replayed"), &body)
            );
            call.send().await.assert_replay_of(&retry);
        }
    });
}

#[test]
fn a_twin_that_waits_for_the_origin_gets_its_outcome_too() {
    // A, L5: what else the origin reports meanwhile does not end anybody's waiting.
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/works");
        let (flight, attempt) = pending(session, &call).await;
        let twin = call.start();
        for step in 0..3 {
            let saved = attempt.save_point(&format!("step-{step}"), "").await;
            assert_eq!(saved.status, 204, "{}", saved.text());
            assert_eq!(attempt.extend(LEASE_MS).await.status, 200);
        }
        assert!(!flight.is_answered() && !twin.is_answered(), "both wait on");
        assert_eq!(
            attempt.complete(201, "text/plain", "made").await.status,
            204
        );
        let (answer, twin) = (flight.answer().await, twin.answer().await);
        assert_eq!((answer.status, answer.text().as_str()), (201, "made"));
        assert_eq!((twin.status, twin.text().as_str()), (201, "made"));
    });
}

#[test]
fn an_origin_keeps_its_lease_past_the_first_one_and_not_beyond_the_longest() {
    // L5, L2
    tests::run(async {
        let session = gateway().await;
        let client = session.client("acme");
        let call = call(session, "/v1/hasty");
        let began = now_ms();
        let (flight, attempt) = pending(session, &call).await;
        assert_accepted(&flight.answer().await);
        let mut until = began;
        eventually("the first lease is over", Duration::from_secs(20), || {
            let (attempt, call) = (attempt.clone(), call.clone());
            async move {
                let extended = attempt.extend(2_000).await;
                assert_eq!(extended.status, 200, "{}", extended.text());
                let found = extended.json()["lease_until"]
                    .as_u64()
                    .expect("milliseconds");
                let twin = call.send().await;
                twin.assert_problem(409, "in_progress", "same-key");
                (found > began + LEASE_MS + 1_500).then_some(())
            }
        })
        .await;
        for _ in 0..2 {
            let extended = attempt.extend(60_000).await;
            assert_eq!(extended.status, 200, "{}", extended.text());
            let found = extended.json()["lease_until"]
                .as_u64()
                .expect("milliseconds");
            assert!(found >= until, "a lease only grows");
            until = found;
        }
        let span = until - began;
        assert!(
            (MAX_LEASE_MS..MAX_LEASE_MS + 1_000).contains(&span),
            "{span} ms in all"
        );
        unknown(&client, &attempt.operation).await;
        assert!(now_ms() >= until, "the lease was held to its end");
        assert_superseded(&attempt.extend(1_000).await);
        call.send()
            .await
            .assert_problem(409, "outcome_unknown", "same-key");
        // L3: nobody took over, so the attempt may still say what came of it.
        assert_eq!(
            attempt.complete(201, "text/plain", "made").await.status,
            204
        );
        assert_eq!(call.send().await.text(), "made");
        assert_eq!(session.origin.seen_of(&attempt.operation).len(), 1);
    });
}

#[test]
fn a_pending_attempt_whose_lease_ends_is_unknown() {
    // L5, U3
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/works");
        let (flight, attempt) = pending(session, &call).await;
        assert_accepted(&flight.answer().await);
        unknown(&session.client("acme"), &attempt.operation).await;
        call.send()
            .await
            .assert_problem(409, "outcome_unknown", "same-key");
        let unknown = Desk::open(session)
            .await
            .unknown("acme", &attempt.operation)
            .await;
        assert_eq!(unknown["last_answer"], "silence", "{unknown}");
        assert_eq!(session.origin.seen_of(&attempt.operation).len(), 1);
    });
}

#[test]
fn a_recovery_point_is_handed_to_the_attempt_that_takes_over() {
    // L4, L5
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/resumed");
        let (flight, first) = pending(session, &call).await;
        first
            .point()
            .await
            .assert_problem(404, "not_found", "never");
        assert_eq!(
            first.save_point("charged", "{\"charge\":7}").await.status,
            204
        );
        assert_eq!(first.save_point("shipped", "\u{fc}\n\0").await.status, 204);
        let point = first.point().await;
        assert_eq!(
            (point.status, &point.json()["name"], &point.json()["data"]),
            (200, &"shipped".into(), &"\u{fc}\n\0".into())
        );
        assert_accepted(&flight.answer().await);
        unknown(&session.client("acme"), &first.operation).await;
        let gate = key("gate");
        let second = call.clone().plan(&Plan::gate(&gate)).start();
        let seen = session.origin.arrived(second.number).await;
        assert_eq!(seen.header("oncegate-recovery-point"), Some("shipped"));
        let taken_over = Attempt::of(session, &seen);
        assert_eq!(taken_over.point().await.json(), point.json());
        assert_superseded(&first.point().await);
        assert_superseded(&first.save_point("lost", "").await);
        assert_eq!(
            taken_over.point().await.json(),
            point.json(),
            "nothing changed"
        );
        session.origin.open(&gate);
        second.answer().await.assert_created();
    });
}

#[test]
fn a_recovery_point_has_a_declared_name_and_a_bounded_size() {
    // L5, X5
    tests::run(async {
        let session = gateway().await;
        let (phased, free) = (call(session, "/v1/phased"), call(session, "/v1/works"));
        let (flight, attempt) = pending(session, &phased).await;
        let refused = attempt.save_point("packed", "").await;
        refused.assert_problem(400, "request_malformed", "never");
        for name in ["\"packed\"", "charged", "shipped"] {
            assert!(
                refused.text().contains(&name.replace('"', "\\\"")),
                "it names {name}: {}",
                refused.text()
            );
        }
        assert_eq!(attempt.point().await.status, 404, "nothing was kept");
        let stranger = attempt.with_token(&"5".repeat(32));
        assert_superseded(&stranger.save_point("packed", "").await);
        assert_eq!(attempt.save_point("charged", "").await.status, 204);
        let (other, attempt) = pending(session, &free).await;
        let data = |length: usize| "\u{1}".repeat(length);
        assert_eq!(
            attempt.save_point("most", &data(8 * 1024)).await.status,
            204
        );
        for (name, length) in [
            ("more", 8 * 1024 + 1),
            ("", 1),
            (&"x".repeat(65), 1),
            ("a b", 1),
            ("\u{fc}", 1),
        ] {
            let refused = attempt.save_point(name, &data(length)).await;
            refused.assert_problem(400, "request_malformed", "never");
        }
        let large = attempt.save_point("much", &data(64 * 1024)).await;
        large.assert_problem(413, "body_too_large", "never");
        assert_eq!(
            attempt.point().await.json()["name"],
            "most",
            "nothing changed"
        );
        for body in [
            "",
            "{}",
            "[]",
            "{\"name\":1}",
            "{\"name\":\"a\",\"dta\":\"\"}",
        ] {
            let call = attempt
                .call("PUT", "recovery-point")
                .body(body, "application/json");
            call.send()
                .await
                .assert_problem(400, "request_malformed", "never");
        }
        flight.answer().await;
        other.answer().await;
    });
}

#[test]
fn a_released_operation_is_forgotten_and_the_next_request_runs() {
    // L5, U1, L4
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/works");
        let (flight, attempt) = pending(session, &call).await;
        assert_eq!(attempt.release().await.status, 204);
        let caller = flight.answer().await;
        assert_eq!(
            caller.status,
            409,
            "it may send it again: {}",
            caller.text()
        );
        caller.assert_problem(409, "in_progress", "same-key");
        // The record is gone, and its token with it: what is not known is told the same (X1).
        assert_superseded(&attempt.release().await);
        assert_superseded(&attempt.complete(201, "text/plain", "made").await);
        let created = call.send().await;
        created.assert_created();
        let seen = session.origin.seen_of(&attempt.operation);
        assert!(seen.len() == 2 && seen[1].attempt_number() > seen[0].attempt_number());
        assert_superseded(&attempt.complete(201, "text/plain", "made").await);
        call.send().await.assert_replay_of(&created);
    });
}

#[test]
fn a_release_after_a_recovery_point_stays_unknown() {
    // U4: a step was done, whatever the attempt says of itself.
    tests::run(async {
        let session = gateway().await;
        let desk = Desk::open(session).await;
        for path in ["/v1/works", "/v1/resumed"] {
            let call = call(session, path);
            let (flight, attempt) = pending(session, &call).await;
            assert_eq!(attempt.save_point("charged", "7").await.status, 204);
            assert_eq!(attempt.release().await.status, 204);
            let caller = flight.answer().await;
            caller.assert_problem(409, "outcome_unknown", "same-key");
            assert_eq!(attempt.release().await.status, 204, "L7");
            let unknown = desk.unknown("acme", &attempt.operation).await;
            assert_eq!(
                (&unknown["last_answer"], &unknown["point"]),
                (&"recovery-point".into(), &"charged".into()),
                "{path}: {unknown}"
            );
            // The fingerprint is kept, too.
            let other = call
                .clone()
                .json(&serde_json::json!({ "amount": 1 }))
                .send()
                .await;
            other.assert_problem(422, "idempotency_key_reused", "new-key");
            if path == "/v1/resumed" {
                call.until_known().await.assert_created();
                let seen = session.origin.seen_of(&attempt.operation);
                assert_eq!(seen.len(), 2);
                assert_eq!(seen[1].header("oncegate-recovery-point"), Some("charged"));
            }
        }
    });
}

#[test]
fn whoever_has_no_token_that_counts_is_told_the_same_and_changes_nothing() {
    // L3, X1
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/resumed");
        let found = call
            .clone()
            .plan(&Plan::cut(Cut::BeforeEffect))
            .send()
            .await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let superseded = Attempt::of(session, &session.origin.seen(found.number)[0]);
        let gate = key("gate");
        let held = eventually("a retry takes over", Duration::from_secs(20), || async {
            let flight = call.clone().plan(&Plan::gate(&gate)).start();
            let arrived = eventually("it is sent or refused", Duration::from_secs(20), || async {
                let sent = !session.origin.seen(flight.number).is_empty();
                (sent || flight.is_answered()).then_some(sent)
            });
            arrived.await.then_some(flight)
        })
        .await;
        let other = Attempt::of(session, &session.origin.seen(held.number)[0]);
        let made_up = superseded.with_token(&"5".repeat(32));
        let nobody = format!("op_{}", "0".repeat(64));
        let foreign = session
            .client("globex")
            .post("/v1/works")
            .key(&key("foreign"))
            .send()
            .await;
        let doors = [
            ("superseded", superseded.clone()),
            ("made up", made_up.clone()),
            ("no token", superseded.with_token("nonsense")),
            (
                "another's token",
                other.with_operation(&foreign.operation()),
            ),
            ("no operation", other.with_operation(&nobody)),
            ("no id", other.with_operation("nonsense")),
            (
                "an id with more",
                other.with_operation(&format!("{}0", other.operation)),
            ),
        ];
        let mut told = std::collections::BTreeSet::new();
        for (door, attempt) in doors {
            let answers = [
                attempt.extend(1_000).await,
                attempt.save_point("stolen", "").await,
                attempt.save_point("no name", "").await,
                attempt.point().await,
                attempt.complete(200, "text/plain", "stolen").await,
                attempt.release().await,
            ];
            for answer in answers {
                assert_eq!(answer.status, 409, "{door}: {}", answer.text());
                assert_superseded(&answer);
                told.insert(answer.text());
            }
        }
        assert_eq!(told.len(), 1, "nothing tells them apart: {told:?}");
        assert_eq!(other.point().await.status, 404, "nothing was saved");
        session.origin.open(&gate);
        let created = held.answer().await;
        created.assert_created();
        call.send().await.assert_replay_of(&created);
    });
}

#[test]
fn a_report_may_come_twice() {
    // L7
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/works");
        let (flight, attempt) = pending(session, &call).await;
        for _ in 0..2 {
            assert_eq!(attempt.save_point("charged", "7").await.status, 204);
            assert_eq!(attempt.extend(1).await.status, 200);
        }
        for _ in 0..2 {
            assert_eq!(
                attempt.complete(201, "text/plain", "made").await.status,
                204
            );
        }
        assert_superseded(&attempt.complete(201, "text/plain", "made otherwise").await);
        assert_superseded(&attempt.release().await);
        assert_superseded(&attempt.extend(1_000).await);
        assert_superseded(&attempt.save_point("charged", "8").await);
        assert_eq!(flight.answer().await.text(), "made");
        assert_eq!(
            call.send().await.text(),
            "made",
            "what is done is not undone"
        );
    });
}

#[test]
fn a_report_that_makes_no_sense_is_refused() {
    // X5
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/works");
        let (flight, attempt) = pending(session, &call).await;
        for (method, what, allow) in [
            ("GET", "extend", "POST"),
            ("PUT", "complete", "POST"),
            ("DELETE", "release", "POST"),
            ("POST", "recovery-point", "GET, PUT"),
        ] {
            let refused = attempt.call(method, what).send().await;
            refused.assert_problem(405, "method_not_allowed", "never");
            assert_eq!(refused.header("allow"), Some(allow), "{what}");
        }
        for what in ["", "nonsense", "extend/more"] {
            attempt
                .call("POST", what)
                .send()
                .await
                .assert_problem(404, "not_found", "never");
        }
        for lease_ms in [0, 24 * 3_600_000 + 1] {
            attempt
                .extend(lease_ms)
                .await
                .assert_problem(400, "request_malformed", "never");
        }
        for status in ["", "abc", "99", "199", "600", "201.0"] {
            let done = attempt
                .call("POST", "complete")
                .header("Oncegate-Outcome-Status", status);
            done.send()
                .await
                .assert_problem(400, "request_malformed", "never");
        }
        let large = vec![b'x'; (1 << 20) + 1];
        let refused = attempt.complete(201, "text/plain", large).await;
        refused.assert_problem(413, "body_too_large", "never");
        assert_eq!(
            attempt.complete(201, "text/plain", "made").await.status,
            204,
            "nothing had changed"
        );
        assert_eq!(flight.answer().await.text(), "made");
    });
}

#[test]
fn a_reported_outcome_over_the_routes_cap_is_still_an_outcome() {
    // A2, L5
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/phased");
        let (flight, attempt) = pending(session, &call).await;
        let done = attempt.complete(201, "text/plain", vec![b'x'; 1025]).await;
        assert_eq!(done.status, 204, "{}", done.text());
        for answer in [flight.answer().await, call.send().await] {
            assert_eq!(
                (answer.status, answer.verdict(), answer.body.len()),
                (201, Some("replayed"), 0)
            );
            assert_eq!(answer.header("idempotency-body"), Some("omitted"));
        }
        let kept = self::call(session, "/v1/phased");
        let (flight, attempt) = pending(session, &kept).await;
        assert_eq!(
            attempt
                .complete(201, "text/plain", vec![b'x'; 1024])
                .await
                .status,
            204
        );
        assert_eq!(flight.answer().await.body.len(), 1024);
    });
}

#[test]
fn an_outcome_without_a_body_is_one_too() {
    // P1, A1
    tests::run(async {
        let session = gateway().await;
        for status in [200, 204] {
            let call = call(session, "/v1/works");
            let (flight, attempt) = pending(session, &call).await;
            let done = attempt
                .call("POST", "complete")
                .header("Oncegate-Outcome-Status", &status.to_string());
            assert_eq!(done.send().await.status, 204);
            let answer = flight.answer().await;
            assert_eq!((answer.status, answer.body.len()), (status, 0));
            call.send().await.assert_replay_of(&answer);
        }
    });
}

#[test]
fn the_origins_word_on_its_answer_decides_before_any_report() {
    // U1, L5: an origin that completes by itself and answers finally, in whichever order.
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/works");
        let gate = key("gate");
        let plan = Plan {
            gate: Some(gate.clone()),
            ..Plan::body(Body::Text("answered".to_owned()))
        };
        let flight = call.clone().plan(&plan).start();
        let attempt = Attempt::of(session, &session.origin.arrived(flight.number).await);
        assert_eq!(
            attempt.complete(202, "text/plain", "reported").await.status,
            204
        );
        session.origin.open(&gate);
        let _heard = flight.answer().await;
        let replay = call.send().await;
        assert_eq!(
            (replay.status, replay.text().as_str()),
            (202, "reported"),
            "what was kept first is kept"
        );
    });
}

#[test]
fn a_delivery_whose_origin_works_on_is_sent_again_until_it_is_done() {
    // B, L5: never 2xx before the work is done
    tests::run(async {
        let session = gateway().await;
        let event = key("evt").replace('-', "_");
        let body =
            serde_json::json!({ "id": event, "object": "event", "type": "charge.succeeded" });
        let signed = sign_all(vec![Job::stripe(&event, &body)]).await;
        let delivery = session
            .http()
            .post("/webhooks/stripe")
            .body(signed[0].payload.clone(), "application/json")
            .headers(&signed[0].headers);
        let (flight, attempt) = pending(session, &delivery).await;
        let told = flight.answer().await;
        told.assert_problem(503, "in_progress", "same-key");
        delivery
            .send()
            .await
            .assert_problem(503, "in_progress", "same-key");
        assert_eq!(
            attempt.complete(200, "text/plain", "applied").await.status,
            204
        );
        let again = delivery.send().await;
        assert_eq!(
            (
                again.status,
                again.text().as_str(),
                again.header("idempotent-replayed")
            ),
            (200, "applied", Some("true"))
        );
        assert_eq!(session.origin.seen_of(&attempt.operation).len(), 1);
    });
}
