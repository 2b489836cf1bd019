//! The harness itself: an origin that fails as it is told to, counts what it did, and signatures that node made.
//! Needs no gateway.

use std::time::Duration;
use tests::client::Client;
use tests::origin::Origin;
use tests::plan::{Body, Cut, Plan};
use tests::signatures::{Job, sign_all};

struct Bench {
    origin: Origin,
    client: Client,
}

async fn bench() -> Bench {
    let origin = Origin::start().await;
    let client = Client::new(&origin.url());
    Bench { origin, client }
}

#[test]
fn an_effect_is_noted_with_its_request() {
    tests::run(async {
        let Bench { origin, client } = bench().await;
        let answer = client
            .post("/v1/orders?a=b")
            .key("0123456789abcdef")
            .send()
            .await;
        assert_eq!(
            (answer.status, answer.json()["effect"].as_u64()),
            (201, Some(1))
        );
        let seen = origin.seen(answer.number);
        assert_eq!((seen.len(), seen[0].target.as_str()), (1, "/v1/orders?a=b"));
        assert_eq!(seen[0].key().as_deref(), Some("0123456789abcdef"));
        assert_eq!(
            origin
                .effects_by_key("0123")
                .values()
                .copied()
                .collect::<Vec<_>>(),
            [1]
        );
    });
}

#[test]
fn the_line_is_cut_where_the_plan_says() {
    tests::run(async {
        let Bench { origin, client } = bench().await;
        let rows = [
            (Cut::BeforeEffect, 0),
            (Cut::AfterEffect, 1),
            (Cut::InsideHead, 1),
            (Cut::InsideBody, 1),
        ];
        for (cut, effects) in rows {
            let before = origin.effects().len();
            let failed = client.post("/").plan(&Plan::cut(cut)).try_send().await;
            assert!(failed.is_err(), "{cut:?} gave {failed:?}");
            assert_eq!(origin.effects().len() - before, effects, "{cut:?}");
        }
    });
}

#[test]
fn bodies_come_as_planned() {
    tests::run(async {
        let Bench { client, .. } = bench().await;
        let binary: Vec<u8> = (0..=255_u8).cycle().take(1000).collect();
        let rows = [
            (Plan::body(Body::Empty), Vec::new()),
            (Plan::body(Body::Binary(1000)), binary.clone()),
            (
                Plan {
                    chunked: true,
                    ..Plan::body(Body::Binary(1000))
                },
                binary.clone(),
            ),
            (
                Plan {
                    trickle_ms: Some(1),
                    ..Plan::body(Body::Binary(1000))
                },
                binary,
            ),
            (
                Plan::body(Body::Text("ü".to_owned())),
                "ü".as_bytes().to_vec(),
            ),
            (Plan::body(Body::Echo), br#"{"amount":100}"#.to_vec()),
        ];
        for (plan, body) in rows {
            let answer = client.post("/").plan(&plan).send().await;
            assert_eq!((answer.status, answer.body), (201, body), "{plan:?}");
        }
    });
}

#[test]
fn a_gate_holds_until_it_is_opened() {
    tests::run(async {
        let Bench { origin, client } = bench().await;
        let held = client.post("/").plan(&Plan::gate("here")).start();
        origin.arrived(held.number).await;
        assert!(!held.is_answered());
        assert_eq!(
            origin.effects_of(held.number),
            0,
            "the effect lies behind the gate"
        );
        origin.open("here");
        let answer =
            tests::deadline::within("an opened gate", Duration::from_secs(5), held.answer()).await;
        assert_eq!((answer.status, origin.effects_of(answer.number)), (201, 1));
    });
}

#[test]
fn a_mistyped_plan_is_answered_and_has_no_effect() {
    tests::run(async {
        let Bench { origin, client } = bench().await;
        let answer = client
            .post("/")
            .header("Test-Plan", r#"{"stauts":1}"#)
            .send()
            .await;
        assert_eq!((answer.status, origin.effects_of(answer.number)), (400, 0));
    });
}

#[test]
fn the_senders_libraries_sign_in_order() {
    tests::run(async {
        let payload = serde_json::json!({ "id": "evt_1" });
        let signed = sign_all(vec![
            Job::stripe("evt_1", &payload),
            Job::standard("msg_2", &payload),
        ])
        .await;
        assert_eq!(signed.len(), 2);
        assert!(
            signed[0]
                .headers
                .iter()
                .any(|(name, value)| name == "Stripe-Signature" && value.starts_with("t="))
        );
        assert!(
            signed[1]
                .headers
                .contains(&("webhook-id".to_owned(), "msg_2".to_owned()))
        );
    });
}
