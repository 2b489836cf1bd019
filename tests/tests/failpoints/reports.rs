//! The machine is lost while origins report about attempts that they work on (L5). An origin that has not heard repeats
//! what it said, and what it has heard holds.

use crate::operation::{Client, Ended, Operation};
use crate::scene::{Scene, clients, ends};
use crate::world::{MAIN, World};
use serde_json::json;
use std::time::{Duration, Instant};
use tests::attempt::Attempt;
use tests::client::{Answer, Call};
use tests::deadline::{eventually, holds};
use tests::plan::Plan;

/// How much longer an origin says that it needs: longer than the gateway takes to come back.
const LONGER: Duration = Duration::from_secs(7);
/// A name for how far it came.
const POINT: &str = "charged";

/// What an origin is at.
struct Work {
    operation: Operation,
    attempt: Attempt,
    number: u64,
}

pub(crate) async fn lose(world: &'static World, place: &str, scene: Scene) -> Vec<Ended> {
    let before = world.times_reached(place);
    // Here the gateway is lost before it has heard that the origin works on.
    let is_early = place.ends_with("-pending");
    if is_early {
        world.arm(place).await;
    }
    let plan = match scene {
        Scene::Release => Plan::pending(),
        _ => Plan::status(202).with_header("Oncegate-Outcome", "pending"),
    };
    let clients = clients(world, &MAIN, &plan);
    let mut works = Vec::new();
    for client in &clients {
        works.push(taken_on(world, client).await);
    }
    let extended_at = Instant::now();
    if scene == Scene::Extend {
        for work in &works {
            heard(&report(world, work, scene), 200).await;
        }
    }
    if !is_early {
        world.arm(place).await;
        for work in &works {
            let call = report(world, work, scene);
            tokio::spawn(async move { call.try_send().await.is_ok() });
        }
    }
    world.reached(place, before, works.len()).await;
    world.lose("").await;
    let mut points = Vec::new();
    match scene {
        Scene::Extend => {
            let left = (LONGER - Duration::from_secs(1)).saturating_sub(extended_at.elapsed());
            holds("nobody runs while the lease is extended", left, || {
                works.iter().all(|work| attempts(world, work) == 1)
            })
            .await;
        }
        Scene::Checkpoint => {
            for work in &works {
                let answer = answered(&report(world, work, scene)).await;
                points.push(answer.status == 204);
            }
        }
        _ => {
            for work in &works {
                let answer = answered(&report(world, work, scene)).await;
                assert!(
                    matches!(answer.status, 204 | 409),
                    "{} {}",
                    answer.status,
                    answer.text()
                );
            }
        }
    }
    let ended = ends(world, clients).await;
    for (work, _) in works.iter().zip(points).filter(|(_, is_saved)| *is_saved) {
        let seen = world.origin(work.operation.route);
        let later = seen.seen_of(&work.attempt.operation).into_iter();
        for later in later.filter(|seen| seen.attempt_number() > work.number) {
            let told = later.header("oncegate-recovery-point");
            assert_eq!(told, Some(POINT), "{:?}", work.operation);
        }
    }
    ended
}

async fn taken_on(world: &World, client: &Client) -> Work {
    let operation = client.operation.clone();
    let what = "the origin takes it on";
    let seen = eventually(what, Duration::from_secs(20), || async {
        let seen = world.origin(operation.route).seen_with_key(&operation.name);
        seen.into_iter().next()
    })
    .await;
    Work {
        attempt: Attempt::of(&world.session, &seen),
        number: seen.attempt_number(),
        operation,
    }
}

fn attempts(world: &World, work: &Work) -> usize {
    let origin = world.origin(work.operation.route);
    origin.seen_of(&work.attempt.operation).len()
}

fn report(world: &World, work: &Work, scene: Scene) -> Call {
    let attempt = &work.attempt;
    match scene {
        Scene::Checkpoint => {
            let form = json!({ "name": POINT, "data": "" });
            attempt.call("PUT", "recovery-point").json(&form)
        }
        Scene::Extend => {
            let form = json!({ "lease_ms": LONGER.as_millis() });
            attempt.call("POST", "extend").json(&form)
        }
        Scene::Release => attempt.call("POST", "release"),
        _ => {
            let outcome = world.origin(work.operation.route);
            let outcome = outcome.outcome_of(&attempt.operation).unwrap_or_default();
            let call = attempt.call("POST", "complete");
            call.header("Oncegate-Outcome-Status", "201")
                .body(outcome, "application/json")
        }
    }
}

/// Says it until it is heard, as an origin does.
async fn answered(call: &Call) -> Answer {
    eventually("a report is heard", Duration::from_secs(30), || async {
        let answer = call.try_send().await.ok()?;
        (answer.status != 503).then_some(answer)
    })
    .await
}

async fn heard(call: &Call, status: u16) {
    let answer = answered(call).await;
    assert_eq!(answer.status, status, "{}", answer.text());
}
