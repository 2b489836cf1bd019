//! Contract B and W on the wire, with deliveries that the senders' own libraries signed.

use serde_json::{Value, json};
use std::time::Duration;
use tests::client::{Answer, Call};
use tests::deadline::eventually;
use tests::keys::key;
use tests::plan::{Body, Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, webhook_route};
use tests::signatures::{Delivery, Job, sign, sign_all};
use tokio::sync::OnceCell;

const OLD_SECRET: &str = "whsec_e2e_stripe_endpoint_secret_before_its_rotation";

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let stripe = |path, more| webhook_route(path, "stripe", "STRIPE_WEBHOOK_SECRET", more);
    let hasty = "timeout = \"1s\"\nlease = \"3s\"\nwait = \"0s\"";
    let parked = "timeout = \"1s\"\nlease = \"3s\"\non_unknown = \"park\"";
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("webhooks")
                    .route(
                        "stripe",
                        &stripe("/webhooks/stripe", "tolerance = \"300s\""),
                    )
                    .route("hasty", &stripe("/webhooks/hasty", hasty))
                    .route("parked", &stripe("/webhooks/parked", parked))
                    .route(
                        "rotating",
                        &stripe(
                            "/webhooks/rotating",
                            "secrets = [\"STRIPE_WEBHOOK_SECRET\", \"STRIPE_WEBHOOK_SECRET_OLD\"]",
                        ),
                    )
                    .route(
                        "standard",
                        &webhook_route(
                            "/webhooks/standard",
                            "standard-webhooks",
                            "STANDARD_WEBHOOK_SECRET",
                            "",
                        ),
                    )
                    .secret("STRIPE_WEBHOOK_SECRET_OLD", OLD_SECRET),
            )
        })
        .await
}

fn event_id() -> String {
    key("evt").replace('-', "_")
}

fn event(id: &str) -> Value {
    json!({ "id": id, "object": "event", "type": "charge.succeeded", "data": { "object": { "id": "ch_1", "amount": 100 } } })
}

fn deliver_to(session: &Session, path: &str, delivery: &Delivery) -> Call {
    session
        .http()
        .post(path)
        .body(delivery.payload.clone(), "application/json")
        .headers(&delivery.headers)
}

fn deliver(session: &Session, delivery: &Delivery) -> Call {
    deliver_to(session, "/webhooks/stripe", delivery)
}

async fn stripe() -> Delivery {
    let id = event_id();
    sign(Job::stripe(&id, &event(&id))).await
}

#[track_caller]
fn assert_duplicate(answer: &Answer, first: &Answer) {
    assert_eq!(
        answer.header("idempotent-replayed"),
        Some("true"),
        "{} {}",
        answer.status,
        answer.text()
    );
    assert_eq!((answer.status, &answer.body), (first.status, &first.body));
}

#[test]
fn an_applied_event_is_done_once() {
    // B, P2
    tests::run(async {
        let session = gateway().await;
        let signed = sign_all(vec![
            Job::stripe("evt_a", &event("evt_a")),
            Job::standard("msg_a", &event("ignored")),
        ])
        .await;
        for (path, delivery) in ["/webhooks/stripe", "/webhooks/standard"]
            .into_iter()
            .zip(&signed)
        {
            let call = deliver_to(session, path, delivery);
            let first = call.send().await;
            assert_eq!(first.status, 201, "the origin's answer: {}", first.text());
            let seen = &session.origin.seen(first.number)[0];
            assert_eq!(
                seen.body,
                delivery.payload.as_bytes(),
                "the origin gets the raw bytes"
            );
            assert!(seen.attempt_number() >= 1, "L4");
            let again = call.send().await;
            assert_duplicate(&again, &first);
            assert_eq!(session.origin.seen(again.number).len(), 0);
        }
    });
}

#[test]
fn an_answer_without_content_is_an_answer() {
    // P1
    tests::run(async {
        let session = gateway().await;
        for plan in [
            Plan {
                body: Some(Body::Empty),
                ..Plan::status(200)
            },
            Plan {
                body: Some(Body::Empty),
                ..Plan::status(204)
            },
            Plan {
                body: Some(Body::Text("null".to_owned())),
                ..Plan::status(200)
            },
            Plan {
                body: Some(Body::Text("false".to_owned())),
                ..Plan::status(200)
            },
            Plan {
                body: Some(Body::Text("0".to_owned())),
                ..Plan::status(200)
            },
        ] {
            let call = deliver(session, &stripe().await).plan(&plan);
            let first = call.send().await;
            let again = call.send().await;
            assert_duplicate(&again, &first);
            assert_eq!(session.origin.seen(again.number).len(), 0, "{plan:?}");
        }
    });
}

#[test]
fn a_failure_passes_through_and_the_next_delivery_runs() {
    // P3, B
    tests::run(async {
        let session = gateway().await;
        for status in [302, 400, 402, 404, 409, 410, 422, 429, 500, 502, 503, 504] {
            let call = deliver(session, &stripe().await);
            let failing = Plan {
                body: Some(Body::Text(format!("failed: {status}"))),
                ..Plan::refuse(status)
            };
            for _ in 0..2 {
                let failed = call
                    .clone()
                    .plan(&failing.clone().with_header("Retry-After", "7"))
                    .send()
                    .await;
                assert_eq!(
                    (failed.status, failed.text()),
                    (status, format!("failed: {status}")),
                    "unchanged"
                );
                assert_eq!(failed.header("retry-after"), Some("7"), "unchanged");
                assert_eq!(
                    session.origin.seen(failed.number).len(),
                    1,
                    "each delivery runs"
                );
            }
            let applied = call.send().await;
            assert_eq!(
                (applied.status, session.origin.effects_of(applied.number)),
                (201, 1),
                "{status}"
            );
            assert_duplicate(&call.send().await, &applied);
        }
    });
}

#[test]
fn a_running_event_is_never_answered_as_done() {
    // P4, B
    tests::run(async {
        let session = gateway().await;
        let gate = key("gate");
        let call = deliver(session, &stripe().await).plan(&Plan::gate(&gate));
        let first = call.start();
        session.origin.arrived(first.number).await;
        let second = call.send().await;
        second.assert_problem(503, "in_progress", "same-key");
        assert!(second.header("retry-after").is_some());
        session.origin.open(&gate);
        let first = first.answer().await;
        assert_eq!(first.status, 201);
        assert_duplicate(&call.send().await, &first);
    });
}

#[test]
fn an_unknown_run_is_run_again_by_a_delivery_after_the_lease() {
    // U3 rerun
    tests::run(async {
        let session = gateway().await;
        for plan in [Plan::cut(Cut::AfterEffect), Plan::delay_ms(1500)] {
            let call = deliver_to(session, "/webhooks/hasty", &stripe().await);
            let found = call.clone().plan(&plan).send().await;
            found.assert_problem(503, "outcome_unknown", "same-key");
            let applied = eventually(
                "a delivery runs after the lease",
                Duration::from_secs(12),
                || async {
                    let answer = call.send().await;
                    if answer.status == 503 {
                        assert_eq!(session.origin.seen(answer.number).len(), 0);
                        return None;
                    }
                    Some(answer)
                },
            )
            .await;
            assert_eq!(
                (applied.status, session.origin.effects_of(applied.number)),
                (201, 1)
            );
            let number = |number| session.origin.seen(number)[0].attempt_number();
            assert!(
                number(applied.number) > number(found.number),
                "L4: it only ever rises"
            );
            assert_duplicate(&call.send().await, &applied);
        }
    });
}

#[test]
fn a_failure_after_an_unknown_run_is_passed_on_without_saying_that_nothing_is_remembered() {
    // P3, U4
    tests::run(async {
        let session = gateway().await;
        let call = deliver_to(session, "/webhooks/hasty", &stripe().await);
        let found = call.clone().plan(&Plan::cut(Cut::AfterEffect)).send().await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let failing = call.plan(&Plan::refuse(500));
        let failed = eventually("a delivery fails", Duration::from_secs(12), || async {
            let answer = failing.send().await;
            (answer.status == 500).then_some(answer)
        })
        .await;
        assert_eq!(session.origin.seen(failed.number).len(), 1);
        assert_eq!(failed.header("idempotency-status"), None);
        let again = failing.send().await;
        again.assert_problem(503, "outcome_unknown", "same-key"); // the record stays
    });
}

#[test]
fn a_parked_event_is_never_run_again_nor_called_done() {
    // U3 park
    tests::run(async {
        let session = gateway().await;
        let call = deliver_to(session, "/webhooks/parked", &stripe().await);
        call.clone()
            .plan(&Plan::cut(Cut::AfterEffect))
            .send()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
        let began = std::time::Instant::now();
        eventually("the lease is over", Duration::from_secs(15), || async {
            let again = call.send().await;
            again.assert_problem(503, "outcome_unknown", "same-key");
            assert_eq!(session.origin.seen(again.number).len(), 0);
            (began.elapsed() > Duration::from_secs(4)).then_some(())
        })
        .await;
    });
}

#[test]
fn what_is_not_signed_is_refused_and_leaves_no_trace() {
    // W1
    tests::run(async {
        let session = gateway().await;
        let good = stripe().await;
        let id = event_id();
        let forged = sign_all(vec![
            Job::stripe(&id, &event(&id)).secret("whsec_of_somebody_else"),
            Job::stripe(&id, &event(&id)).aged(-310),
            Job::stripe(&id, &event(&id)).aged(310),
            Job::stripe(&id, &event(&id)).secret(OLD_SECRET),
        ])
        .await;
        let mut calls: Vec<Call> = forged
            .iter()
            .map(|delivery| deliver(session, delivery))
            .collect();
        let bare = session
            .http()
            .post("/webhooks/stripe")
            .body(good.payload.clone(), "application/json");
        calls.push(bare.clone());
        for header in [
            "",
            "t=1",
            "t=,v1=",
            "v1=00",
            "t=1700000000,v1=zz",
            "t=1,t=2,v1=00",
            "nonsense",
        ] {
            calls.push(bare.clone().header("Stripe-Signature", header));
        }
        // One byte of the body changed, and a v0 signature in place of v1.
        calls.push(
            deliver(session, &good)
                .body(good.payload.replace("100", "900"), "application/json")
                .headers(&good.headers),
        );
        let v0 = good.headers[0].1.replace("v1=", "v0=");
        calls.push(bare.header("Stripe-Signature", &v0));
        for call in calls {
            let refused = call.send().await;
            refused.assert_problem(401, "signature_invalid", "never");
            assert_eq!(session.origin.seen(refused.number).len(), 0, "{call:?}");
        }
        // Nothing was written: the same ids are still free.
        let first = deliver(session, &good).send().await;
        assert_eq!(
            (first.status, session.origin.effects_of(first.number)),
            (201, 1)
        );
        let late = deliver(
            session,
            &sign(Job::stripe(&id, &event(&id)).aged(-290)).await,
        )
        .send()
        .await;
        assert_eq!(
            (late.status, session.origin.effects_of(late.number)),
            (201, 1),
            "within the tolerance"
        );
    });
}

#[test]
fn a_duplicate_is_looked_for_only_after_the_signature() {
    // W1
    tests::run(async {
        let session = gateway().await;
        let id = event_id();
        let jobs = vec![
            Job::stripe(&id, &event(&id)),
            Job::stripe(&id, &event(&id)).secret("whsec_forged"),
        ];
        let signed = sign_all(jobs).await;
        assert_eq!(deliver(session, &signed[0]).send().await.status, 201);
        deliver(session, &signed[1])
            .send()
            .await
            .assert_problem(401, "signature_invalid", "never");
    });
}

#[test]
fn a_rotated_secret_is_still_taken() {
    // W1
    tests::run(async {
        let session = gateway().await;
        let (one, other) = (event_id(), event_id());
        let jobs = vec![
            Job::stripe(&one, &event(&one)),
            Job::stripe(&other, &event(&other)).secret(OLD_SECRET),
        ];
        for delivery in sign_all(jobs).await {
            let answer = deliver_to(session, "/webhooks/rotating", &delivery)
                .send()
                .await;
            assert_eq!(answer.status, 201, "{}", answer.text());
        }
        // While rotating, the sender signs with both at once; one good one is enough.
        let good = stripe().await;
        let both = format!("{},v1={}", good.headers[0].1, "0".repeat(64));
        let answer = deliver(session, &good)
            .header("Stripe-Signature", &both)
            .send()
            .await;
        assert_eq!(answer.status, 201, "{}", answer.text());
    });
}

#[test]
fn signatures_are_over_the_raw_bytes() {
    // W1
    tests::run(async {
        let session = gateway().await;
        let payloads = [
            (
                r#"{ "id" : "ID" , "amount": 1.0,"amount":2 }"#,
                "spaces and a member twice",
            ),
            (
                "{\"id\":\"ID\",\"text\":\"\\u00e9 \u{e9} \u{1f980}\"}\n",
                "escapes and a line end",
            ),
            ("\t{\"id\":\"ID\",\"n\":1e400}", "a number beyond a double"),
        ];
        for (payload, what) in payloads {
            let id = event_id();
            let delivery = sign(Job::stripe_text(&id, payload.replace("ID", &id))).await;
            let answer = deliver(session, &delivery).send().await;
            assert_eq!(answer.status, 201, "{what}: {}", answer.text());
            assert_eq!(
                session.origin.seen(answer.number)[0].body,
                delivery.payload.as_bytes(),
                "{what}"
            );
        }
    });
}

#[test]
fn an_event_without_an_id_is_refused_and_two_of_them_do_not_collapse() {
    // B, W3's "a missing value is no key, never \"\""
    tests::run(async {
        let session = gateway().await;
        for payload in [
            "",
            "{",
            "[]",
            "null",
            "\"evt_1\"",
            "{}",
            r#"{"id":null}"#,
            r#"{"id":""}"#,
            r#"{"id":7}"#,
        ] {
            let delivery = sign(Job::stripe_text("none", payload.to_owned())).await;
            let refused = deliver(session, &delivery).send().await;
            refused.assert_problem(400, "event_unreadable", "never");
            assert_eq!(session.origin.seen(refused.number).len(), 0, "{payload}");
        }
    });
}

#[test]
fn the_id_alone_makes_a_duplicate() {
    // P2, F5
    tests::run(async {
        let session = gateway().await;
        let (id, other) = (event_id(), event_id());
        let changed = json!({ "id": id, "object": "event", "type": "charge.refunded", "data": {}, "pending_webhooks": 0 });
        let jobs = vec![
            Job::stripe(&id, &event(&id)),
            Job::stripe(&id, &changed),
            Job::stripe(&other, &event(&other)),
        ];
        let signed = sign_all(jobs).await;
        let first = deliver(session, &signed[0]).send().await;
        let redelivered = deliver(session, &signed[1]).send().await;
        assert_duplicate(&redelivered, &first);
        assert_eq!(
            session.origin.seen(redelivered.number).len(),
            0,
            "another body is never refused, and never run"
        );
        let other = deliver(session, &signed[2]).send().await;
        assert_eq!(
            session.origin.effects_of(other.number),
            1,
            "the same content under another id is another event"
        );
    });
}

#[test]
fn the_standard_schemes_id_is_signed() {
    // W1, W2
    tests::run(async {
        let session = gateway().await;
        let delivery = sign(Job::standard(&key("msg"), &event("x"))).await;
        let call = deliver_to(session, "/webhooks/standard", &delivery);
        call.clone()
            .header("webhook-id", &key("msg"))
            .send()
            .await
            .assert_problem(401, "signature_invalid", "never");
        let signature = delivery
            .headers
            .iter()
            .find(|(name, _)| name == "webhook-signature")
            .expect("the library signs")
            .1
            .clone();
        call.clone()
            .header("webhook-signature", &signature.replace("v1,", "v2,"))
            .send()
            .await
            .assert_problem(401, "signature_invalid", "never");
        let several = format!("v1,bm90IHRoZSBvbmU= v2,whatever {signature}");
        let answer = call.header("webhook-signature", &several).send().await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        for offset in [-310, 310] {
            let old = sign(Job::standard(&key("msg"), &event("x")).aged(offset)).await;
            deliver_to(session, "/webhooks/standard", &old)
                .send()
                .await
                .assert_problem(401, "signature_invalid", "never");
        }
    });
}

#[test]
fn a_store_that_fails_lets_nothing_through() {
    // A (fail closed), B
    tests::run(async {
        let session = gateway().await;
        let call = deliver(session, &stripe().await);
        let refused = call
            .clone()
            .header("Oncegate-Test", "begin-fails")
            .send()
            .await;
        refused.assert_problem(503, "store_unavailable", "same-key");
        assert_eq!(session.origin.seen(refused.number).len(), 0);
        let applied = call.send().await;
        assert_eq!(
            (applied.status, session.origin.effects_of(applied.number)),
            (201, 1)
        );
    });
}

#[test]
fn another_method_or_a_keyless_get_is_no_delivery() {
    tests::run(async {
        let session = gateway().await;
        let answer = session.http().get("/webhooks/stripe").send().await;
        answer.assert_problem(405, "method_not_allowed", "never");
        assert_eq!(session.origin.seen(answer.number).len(), 0);
    });
}
