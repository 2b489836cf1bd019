//! Many at once: equal requests, and shuffled deliveries. Effects are counted at the origin.

use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tests::client::Answer;
use tests::keys::key;
use tests::session::Session;
use tests::settings::{Settings, api_route, webhook_route};
use tests::signatures::{Delivery, Job, sign_all};
use tokio::sync::{OnceCell, Semaphore};

const KEYS: usize = 50;
const EQUAL: usize = 200;
const DELIVERIES: usize = 2000;
const DUPLICATES: usize = DELIVERIES * 3 / 10;
/// Connections that the webhook sender keeps open at once.
const SENDERS: usize = 32;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| {
            let stripe = webhook_route(
                "/webhooks/stripe",
                "stripe",
                "STRIPE_WEBHOOK_SECRET",
                "tolerance = \"900s\"",
            );
            Session::start(
                Settings::new("bulk")
                    .quiet()
                    .route("orders", &api_route("/v1/orders", ""))
                    .route("stripe", &stripe),
            )
        })
        .await
}

#[test]
fn two_hundred_equal_requests_at_once_have_one_effect_for_each_of_fifty_keys() {
    // L1
    tests::run(async {
        let session = gateway().await;
        let client = session.client("acme");
        for _ in 0..KEYS {
            let name = key("bulk");
            let call = client.post("/v1/orders").key(&name);
            let flights: Vec<_> = (0..EQUAL)
                .map(|_| {
                    let call = call.clone();
                    tokio::spawn(async move { call.send_until_heard().await })
                })
                .collect();
            let mut answers = Vec::new();
            for flight in flights {
                answers.push(flight.await.expect("a caller is answered"));
            }
            check_equal(&name, &answers);
        }
        let effects = session.origin.effects_by_key("bulk");
        assert_eq!(effects.len(), KEYS);
        assert_eq!(effects.values().sum::<usize>(), KEYS, "{effects:?}");
    });
}

// Every caller got the same bytes, or 409.
#[track_caller]
fn check_equal(name: &str, answers: &[Answer]) {
    let bodies: BTreeSet<&[u8]> = answers
        .iter()
        .filter(|answer| answer.status == 201)
        .map(|answer| &*answer.body)
        .collect();
    assert_eq!(bodies.len(), 1, "{name}: {bodies:?}");
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        answer.assert_problem(409, "in_progress", "same-key");
    }
    let created = answers
        .iter()
        .filter(|answer| answer.verdict() == Some("created"))
        .count();
    assert!(
        created <= 1,
        "{name}: {created} callers were told that they were the first"
    );
}

#[test]
fn shuffled_deliveries_with_duplicates_have_one_effect_for_each_id() {
    // P2, F5, B
    tests::run(async {
        let session = gateway().await;
        let prefix = key("evt_bulk").replace('-', "_");
        let distinct = DELIVERIES - DUPLICATES;
        let event = |id: &str, version: usize| json!({ "id": id, "object": "event", "type": "charge.succeeded", "pending_webhooks": version });
        let mut jobs = Vec::new();
        for at in 0..distinct {
            let id = format!("{prefix}_{at}");
            jobs.push(Job::stripe(&id, &event(&id, 1)));
        }
        for at in 0..DUPLICATES {
            let id = format!("{prefix}_{}", fastrand::usize(..distinct));
            // Every other duplicate is serialised afresh.
            jobs.push(Job::stripe(&id, &event(&id, 1 + at % 2)));
        }
        fastrand::shuffle(&mut jobs);
        let mut pending = sign_all(jobs).await;
        let mut rounds = 0;
        let mut applied: BTreeMap<String, BTreeSet<Vec<u8>>> = BTreeMap::new();
        // A delivery that met its twin is told 503 and comes again, as a sender's would.
        while !pending.is_empty() {
            rounds += 1;
            assert!(
                rounds <= 10,
                "{} deliveries are still refused",
                pending.len()
            );
            let mut again = Vec::new();
            for (delivery, answer) in deliver_all(session, pending).await {
                if answer.status == 201 {
                    applied.entry(delivery.id).or_default().insert(answer.body);
                } else {
                    answer.assert_problem(503, "in_progress", "same-key");
                    again.push(delivery);
                }
            }
            pending = again;
        }
        assert_eq!(applied.len(), distinct);
        assert!(
            applied.values().all(|bodies| bodies.len() == 1),
            "each id has one answer"
        );
        let effects = session.origin.effects();
        let ours = effects
            .iter()
            .filter(|effect| String::from_utf8_lossy(&effect.seen.body).contains(&prefix));
        assert_eq!(ours.count(), distinct, "effects are distinct ids");
    });
}

async fn deliver_all(session: &Session, deliveries: Vec<Delivery>) -> Vec<(Delivery, Answer)> {
    let places = Arc::new(Semaphore::new(SENDERS));
    let client = session.http();
    let flights: Vec<_> = deliveries
        .into_iter()
        .map(|delivery| {
            let (places, client) = (Arc::clone(&places), client.clone());
            tokio::spawn(async move {
                let _place = places.acquire().await;
                let call = client
                    .post("/webhooks/stripe")
                    .body(delivery.payload.clone(), "application/json");
                let answer = call.headers(&delivery.headers).send_until_heard().await;
                (delivery, answer)
            })
        })
        .collect();
    let mut answers = Vec::new();
    for flight in flights {
        answers.push(flight.await.expect("a delivery is answered"));
    }
    answers
}
