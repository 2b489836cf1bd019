//! What brings operations to a place, and what follows after the machine was lost there.

use crate::operation::{Client, Ended, Operation};
use crate::reports::{self, Report};
use crate::world::{MAIN, Route, World};
use std::time::{Duration, Instant};
use tests::client::Answer;
use tests::deadline::{eventually, eventually_each};
use tests::keys::key;
use tests::origin::Seen;
use tests::plan::{Cut, Plan};

/// So long may the object take to bring an operation to its end by itself: a lease, pauses, and an alarm's tick.
const RESOLVED: Duration = Duration::from_secs(45);
/// Longer than a brief record lives.
const BEYOND_BRIEF: Duration = Duration::from_millis(2_600);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scene {
    /// An ordinary request.
    Order,
    /// The origin has it and has not begun; it does its work when the gateway is gone.
    BeforeEffect,
    /// The origin has done it and not answered.
    AfterEffect,
    /// The origin refuses it once.
    Refused,
    /// The origin does it, and the line breaks.
    Unheard,
    /// So does this, and the next retry asks the origin.
    Asked,
    /// And this, and the operator settles it.
    Settled,
    /// And this, and the resolver sends it again.
    Pursued,
    /// And this, and the resolver asks the origin.
    Inquired,
    /// The origin works on, and reports about it.
    Reported(Report),
    /// Records are past their time.
    Pruned,
}

/// Brings operations to the place, loses the machine there, and sees all of them to their end.
pub(crate) async fn lose(world: &'static World, place: &str, scene: Scene) -> Vec<Ended> {
    match scene {
        Scene::Order => at_place(world, place, &MAIN, &Plan::default()).await,
        Scene::Refused => at_place(world, place, &MAIN, &Plan::refuse(429)).await,
        Scene::Unheard => at_place(world, place, &MAIN, &Plan::cut(Cut::AfterEffect)).await,
        Scene::Asked => {
            let routes = [Route::Probed; 2];
            at_place(world, place, &routes, &Plan::cut(Cut::AfterEffect)).await
        }
        Scene::Settled => settled(world, place).await,
        Scene::BeforeEffect => at_origin(world, Plan::gate, seen).await,
        Scene::AfterEffect => at_origin(world, Plan::answer_gate, done).await,
        Scene::Pursued => by_itself(world, place, Route::Pursued).await,
        Scene::Inquired => by_itself(world, place, Route::Inquired).await,
        Scene::Reported(report) => reports::lose(world, place, report).await,
        Scene::Pruned => pruned(world, place).await,
    }
}

/// A client for an operation on each of these routes.
pub(crate) fn clients(world: &'static World, routes: &[Route], plan: &Plan) -> Vec<Client> {
    let operations = routes.iter().map(|route| Operation::new(world, *route));
    operations
        .map(|operation| operation.start(world, plan))
        .collect()
}

/// Clients of operations that are under way, wherever they are when the machine is lost.
fn others(world: &'static World) -> Vec<Client> {
    clients(world, &MAIN, &Plan::delay_ms(30))
}

/// Waits for the end of each.
pub(crate) async fn ends(world: &World, clients: Vec<Client>) -> Vec<Ended> {
    let mut ended = Vec::with_capacity(clients.len());
    for client in clients {
        ended.push(client.end(world).await);
    }
    ended
}

async fn at_place(world: &'static World, place: &str, routes: &[Route], plan: &Plan) -> Vec<Ended> {
    let before = world.times_reached(place);
    world.arm(place).await;
    let mut clients = clients(world, routes, plan);
    clients.extend(others(world));
    world.reached(place, before, routes.len()).await;
    world.lose("").await;
    ends(world, clients).await
}

async fn settled(world: &'static World, place: &str) -> Vec<Ended> {
    let routes = [Route::Parked; 2];
    let ended = at_place(world, place, &routes, &Plan::cut(Cut::AfterEffect)).await;
    for settled in &ended[..routes.len()] {
        // U6: logged once, whether the first order was heard of or not.
        let logged = world.desk.audit("acme", &settled.answer.operation()).await;
        let acts: Vec<&str> = logged
            .iter()
            .filter_map(|one| one["act"].as_str())
            .collect();
        assert_eq!(
            acts,
            ["succeeded"],
            "{}: {logged:?}",
            settled.operation.name
        );
    }
    ended
}

async fn at_origin(
    world: &'static World,
    plan: fn(&str) -> Plan,
    is_there: fn(&World, &Operation) -> bool,
) -> Vec<Ended> {
    let gate = key("gate");
    let mut clients = clients(world, &MAIN, &plan(&gate));
    for client in &clients {
        let what = "the origin has the request";
        eventually(what, Duration::from_secs(20), || async {
            is_there(world, &client.operation).then_some(())
        })
        .await;
    }
    clients.extend(others(world));
    world.lose(&gate).await;
    ends(world, clients).await
}

fn seen(world: &World, operation: &Operation) -> bool {
    operation.id(world).is_some()
}

fn done(world: &World, operation: &Operation) -> bool {
    let effects = |id: String| world.origin(operation.route).effects_of_operation(&id);
    operation.id(world).map(effects) == Some(1)
}

/// The object goes on by itself: no client asks until it has an end.
async fn by_itself(world: &'static World, place: &str, route: Route) -> Vec<Ended> {
    let before = world.times_reached(place);
    world.arm(place).await;
    let operations: Vec<Operation> = (0..2).map(|_| Operation::new(world, route)).collect();
    let plan = Plan::cut(Cut::AfterEffect).then(Plan::default());
    let mut ids = Vec::new();
    for operation in &operations {
        let unheard = operation.call.clone().plan(&plan).send().await;
        unheard.assert_problem(503, "outcome_unknown", "same-key");
        ids.push(unheard.operation());
    }
    world.reached(place, before, operations.len()).await;
    world.lose("").await;
    for id in &ids {
        let path = format!("/_oncegate/operations/{id}");
        let status = world.session.client("acme").get(&path);
        let what = format!("{id} is brought to its end by its object");
        eventually(&what, RESOLVED, || async {
            let status = status.send_until_heard().await;
            (status.json()["state"] == "completed").then_some(())
        })
        .await;
    }
    let started = operations.into_iter();
    let clients = started.map(|operation| operation.start(world, &Plan::default()));
    ends(world, clients.collect()).await
}

/// Records are past their time, a lease of another object too, and an alarm is about to see to it, or has just done so.
async fn pruned(world: &'static World, place: &str) -> Vec<Ended> {
    let before = world.times_reached(place);
    let parked = clients(world, &[Route::Parked], &Plan::cut(Cut::AfterEffect));
    let (began, mut brief) = (Instant::now(), Vec::new());
    let pause = Duration::from_millis(200);
    eventually_each(pause, "records get old", BEYOND_BRIEF * 2, || {
        let operation = Operation::new(world, Route::Brief);
        let brief = &mut brief;
        let call = operation.call.clone();
        brief.push(operation);
        async move {
            call.send_until_heard().await.assert_created();
            (began.elapsed() > BEYOND_BRIEF).then_some(())
        }
    })
    .await;
    world.arm(place).await;
    world.reached(place, before, 1).await;
    world.lose("").await;
    for operation in &brief {
        forgotten(world, operation).await;
    }
    ends(world, parked).await
}

/// P5, L4: a key that is past its time runs again, as a later attempt; one that is not is replayed.
async fn forgotten(world: &World, operation: &Operation) {
    let again: Answer = operation.call.send_until_heard().await;
    let verdict = again.verdict().map(String::from);
    let runs = match verdict.as_deref() {
        Some("created") => 2,
        Some("replayed") => 1,
        _ => panic!("{}: {} {}", operation.name, again.status, again.text()),
    };
    let seen = world.origin(Route::Brief).seen_with_key(&operation.name);
    assert_eq!(seen.len(), runs, "{operation:?}");
    let numbers: Vec<u64> = seen.iter().map(Seen::attempt_number).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
}
