//! The machine is lost while origins report about attempts that they work on (L5). An origin that has not heard repeats
//! what it said, and what it has heard holds.

use crate::operation::{Client, Ended, Operation};
use crate::scene::{clients, ends};
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

/// What an origin says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// It came this far.
    Point,
    /// It needs longer.
    Longer,
    /// It is done.
    Done,
    /// It did not do it.
    NotRun,
}

/// What an origin is at.
struct Work {
    operation: Operation,
    attempt: Attempt,
    number: u64,
}

pub(crate) async fn lose(world: &'static World, place: &str, report: Report) -> Vec<Ended> {
    let before = world.times_reached(place);
    // Here the gateway is lost before it has heard that the origin works on.
    let is_early = place.ends_with("-pending");
    if is_early {
        world.arm(place).await;
    }
    let plan = match report {
        Report::NotRun => Plan::pending(),
        Report::Point | Report::Longer | Report::Done => {
            Plan::status(202).with_header("Oncegate-Outcome", "pending")
        }
    };
    let clients = clients(world, &MAIN, &plan);
    let mut works = Vec::new();
    for client in &clients {
        works.push(taken_on(world, client).await);
    }
    let extended_at = Instant::now();
    if report == Report::Longer {
        for work in &works {
            heard(&said(world, work, report), 200).await;
        }
    }
    if !is_early {
        world.arm(place).await;
        for work in &works {
            let call = said(world, work, report);
            tokio::spawn(async move { call.try_send().await.is_ok() });
        }
    }
    world.reached(place, before, works.len()).await;
    world.lose("").await;
    let mut points = Vec::new();
    match report {
        Report::Longer => {
            let left = LONGER.saturating_sub(extended_at.elapsed() + Duration::from_secs(1));
            holds("nobody runs while the lease is extended", left, || {
                works.iter().all(|work| attempts(world, work) == 1)
            })
            .await;
        }
        Report::Point => {
            for work in &works {
                let answer = answered(&said(world, work, report)).await;
                points.push(answer.status == 204);
            }
        }
        Report::Done | Report::NotRun => {
            for work in &works {
                let answer = answered(&said(world, work, report)).await;
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

fn said(world: &World, work: &Work, report: Report) -> Call {
    let attempt = &work.attempt;
    match report {
        Report::Point => {
            let form = json!({ "name": POINT, "data": "" });
            attempt.call("PUT", "recovery-point").json(&form)
        }
        Report::Longer => {
            let form = json!({ "lease_ms": LONGER.as_millis() });
            attempt.call("POST", "extend").json(&form)
        }
        Report::NotRun => attempt.call("POST", "release"),
        Report::Done => {
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
