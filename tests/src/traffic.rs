//! Generated traffic: clients and senders as they behave on a good and on a bad day, so that the dashboard shows life.
//!
//! Not a load test: a handful of scenes a second, a bounded number at once, and every effect at the sample origin.

use crate::client::{Answer, Call, Client};
use crate::keys;
use crate::local::Credentials;
use crate::plan::{Cut, Plan};
use crate::signatures::{Delivery, Job, sign_all};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The pause between two scenes; a scene sends about one and a half requests.
const PAUSE: Duration = Duration::from_millis(220);
/// So many scenes at once; a slow origin then slows the play and not the machine.
const SCENES_MAX: usize = 12;
/// So many events are signed in one run of node.
const EVENTS_SIGNED: usize = 24;

/// Scenes of API clients, each as often as it is listed.
const API_SCENES: [Scene; 20] = [
    Scene::Order,
    Scene::Order,
    Scene::Order,
    Scene::Order,
    Scene::Order,
    Scene::Order,
    Scene::Order,
    Scene::Capture,
    Scene::Capture,
    Scene::Retried,
    Scene::Retried,
    Scene::Retried,
    Scene::Twins,
    Scene::Twins,
    Scene::Reused,
    Scene::Slow,
    Scene::Declined,
    Scene::Refused,
    Scene::Failing,
    Scene::CutOff,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scene {
    Order,
    Capture,
    Retried,
    Twins,
    Reused,
    Slow,
    Declined,
    Refused,
    Failing,
    CutOff,
}

/// Plays until it is dropped.
pub async fn play(gateway: &str, credentials: &Credentials) -> Infallible {
    let clients: Vec<Client> = credentials
        .api_keys
        .values()
        .map(|key| Client::new(gateway).with_header("X-Api-Key", key))
        .collect();
    let senders = senders(Client::new(gateway), credentials.clone());
    let customers = customers(clients);
    tokio::select! {
        never = customers => never,
        never = senders => never,
    }
}

async fn customers(clients: Vec<Client>) -> Infallible {
    let places = Arc::new(Semaphore::new(SCENES_MAX));
    // Dropped with the play, and its scenes with it.
    let mut scenes = JoinSet::new();
    loop {
        tokio::time::sleep(PAUSE).await;
        while scenes.try_join_next().is_some() {}
        let (Some(scene), Some(client)) =
            (fastrand::choice(API_SCENES), fastrand::choice(&clients))
        else {
            continue;
        };
        let client = client.clone();
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            continue;
        };
        scenes.spawn(async move {
            let told = perform(scene, &client).await;
            println!("generated  {told}");
            drop(place);
        });
    }
}

async fn perform(scene: Scene, client: &Client) -> String {
    let call = order(client);
    match scene {
        Scene::Order => told("order", &[call.try_send().await.ok()]),
        Scene::Capture => {
            let path = format!("/v1/orders/{}/capture", fastrand::u32(1000..9999));
            told("capture", &[call.path(&path).try_send().await.ok()])
        }
        Scene::Retried => {
            let first = call.try_send().await.ok();
            pause(300).await;
            told("order, retried", &[first, call.try_send().await.ok()])
        }
        Scene::Twins => {
            let call = call.plan(&Plan::delay_ms(fastrand::u64(200..1500)));
            let (one, other) = tokio::join!(call.try_send(), call.try_send());
            told("order, twice at once", &[one.ok(), other.ok()])
        }
        Scene::Reused => {
            let first = call.try_send().await.ok();
            let other = call.json(&json!({ "sku": "milk", "quantity": 2 }));
            told(
                "key reused for another order",
                &[first, other.try_send().await.ok()],
            )
        }
        Scene::Slow => told(
            "order, slow origin",
            &[call.plan(&Plan::delay_ms(3000)).try_send().await.ok()],
        ),
        Scene::Declined => told(
            "order, card declined",
            &[call.plan(&Plan::status(402)).try_send().await.ok()],
        ),
        Scene::Refused => {
            let first = call.clone().plan(&Plan::refuse(409)).try_send().await.ok();
            told(
                "order, refused and then taken",
                &[first, call.try_send().await.ok()],
            )
        }
        Scene::Failing => {
            let first = call.clone().plan(&Plan::refuse(503)).try_send().await.ok();
            told(
                "order, origin failing",
                &[first, call.try_send().await.ok()],
            )
        }
        Scene::CutOff => {
            let first = call
                .clone()
                .plan(&Plan::cut(Cut::AfterEffect))
                .try_send()
                .await
                .ok();
            told(
                "order, line cut after the work",
                &[first, call.try_send().await.ok()],
            )
        }
    }
}

fn order(client: &Client) -> Call {
    let sku = fastrand::choice(["tea", "coffee", "milk", "bread"]).unwrap_or("tea");
    client
        .post("/v1/orders")
        .json(&json!({ "sku": sku, "quantity": fastrand::u32(1..9) }))
        .key(&keys::key("order"))
}

async fn senders(client: Client, credentials: Credentials) -> Infallible {
    let mut scenes = JoinSet::new();
    loop {
        while scenes.try_join_next().is_some() {}
        for (path, deliveries) in events(&credentials).await {
            let (client, changed) = (client.clone(), deliveries.len() > 1);
            scenes.spawn(async move {
                let told = deliver(&client, path, &deliveries, changed).await;
                println!("generated  {told}");
            });
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
    }
}

async fn events(credentials: &Credentials) -> Vec<(&'static str, Vec<Delivery>)> {
    let mut jobs = Vec::new();
    for at in 0..EVENTS_SIGNED {
        let id = keys::key("evt").replace('-', "_");
        let payload = event(&id, 0);
        if at % 2 == 0 {
            jobs.push(Job::stripe(&id, &payload).secret(&credentials.stripe_secret));
            // Every fourth event comes again, serialised afresh (F5).
            if at % 8 == 0 {
                jobs.push(Job::stripe(&id, &event(&id, 1)).secret(&credentials.stripe_secret));
            }
        } else {
            jobs.push(Job::standard(&id, &payload).secret(&credentials.standard_secret));
        }
    }
    let mut events: Vec<(&'static str, Vec<Delivery>)> = Vec::new();
    for delivery in sign_all(jobs).await {
        let is_stripe = delivery
            .headers
            .iter()
            .any(|(name, _)| name == "Stripe-Signature");
        match events.last_mut() {
            Some((_, deliveries))
                if deliveries.last().is_some_and(|last| last.id == delivery.id) =>
            {
                deliveries.push(delivery);
            }
            Some(_) | None => events.push((
                if is_stripe {
                    "/webhooks/stripe"
                } else {
                    "/webhooks/standard"
                },
                vec![delivery],
            )),
        }
    }
    events
}

fn event(id: &str, pending_webhooks: u32) -> Value {
    let kind = fastrand::choice(["invoice.paid", "charge.succeeded", "customer.updated"])
        .unwrap_or("invoice.paid");
    json!({ "id": id, "object": "event", "type": kind, "pending_webhooks": pending_webhooks, "data": { "object": { "id": "in_1" } } })
}

async fn deliver(client: &Client, path: &str, deliveries: &[Delivery], changed: bool) -> String {
    let mut answers = Vec::new();
    let fails_first = fastrand::u32(..6) == 0;
    if let Some(first) = deliveries.first()
        && fails_first
    {
        answers.push(
            delivery(client, path, first)
                .plan(&Plan::refuse(500))
                .try_send()
                .await
                .ok(),
        );
        pause(500).await;
    }
    for each in deliveries {
        answers.push(delivery(client, path, each).try_send().await.ok());
        pause(300).await;
    }
    if fastrand::bool()
        && let Some(again) = deliveries.last()
    {
        answers.push(delivery(client, path, again).try_send().await.ok());
    }
    told(
        if changed {
            "event, changed on redelivery"
        } else {
            "event"
        },
        &answers,
    )
}

fn delivery(client: &Client, path: &str, delivery: &Delivery) -> Call {
    client
        .post(path)
        .body(delivery.payload.clone(), "application/json")
        .headers(&delivery.headers)
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

fn told(what: &str, answers: &[Option<Answer>]) -> String {
    let answers: Vec<String> = answers
        .iter()
        .map(|answer| match answer {
            Some(answer) => format!("{} {}", answer.status, answer.verdict().unwrap_or("-")),
            None => "no answer".to_owned(),
        })
        .collect();
    format!("{what}: {}", answers.join(", "))
}
