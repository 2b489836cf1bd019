//! The machine is lost at each edge of the gateway's synchronous sections, and around the origin's effect, again and
//! again on one state folder (L1, L3, L7, U2–U6).
//!
//! Each time some operations have come to that very place, others are under way, and the whole tree is killed as a lost
//! machine is. Clients retry to their end, an operator settles what is parked by what the origin did, and then:
//! nothing acknowledged is lost, and nothing is done twice.

mod operation;
mod reports;
mod scene;
mod world;

use std::time::Instant;

use scene::Scene;
use world::World;

/// The places, by what brings operations to them.
const CALLS: [(&str, Scene); 10] = [
    ("before-claim", Scene::Order),
    ("after-claim", Scene::Order),
    ("before-dispatch", Scene::Order),
    ("before-effect", Scene::BeforeEffect),
    ("after-effect", Scene::AfterEffect),
    ("answer-received", Scene::Order),
    ("before-complete", Scene::Order),
    ("after-complete", Scene::Order),
    ("before-release", Scene::Refused),
    ("after-release", Scene::Refused),
];

const REPORTS: [(&str, Scene); 10] = [
    ("before-checkpoint", Scene::Checkpoint),
    ("after-checkpoint", Scene::Checkpoint),
    ("before-extend", Scene::Extend),
    ("after-extend", Scene::Extend),
    ("before-callback-complete", Scene::Complete),
    ("after-callback-complete", Scene::Complete),
    ("before-callback-release", Scene::Release),
    ("after-callback-release", Scene::Release),
    ("before-pending", Scene::Complete),
    ("after-pending", Scene::Complete),
];

// After the resolver's send there is nothing before its complete: the two are one place.
const UNKNOWN: [(&str, Scene); 12] = [
    ("before-suspend", Scene::Unheard),
    ("after-suspend", Scene::Unheard),
    ("before-probed", Scene::Asked),
    ("after-probed", Scene::Asked),
    ("before-settle", Scene::Settled),
    ("after-settle", Scene::Settled),
    ("before-resolver-send", Scene::Pursued),
    ("before-resolver-complete", Scene::Pursued),
    ("after-resolver-complete", Scene::Pursued),
    ("before-resolver-ask", Scene::Inquired),
    ("after-resolver-ask", Scene::Inquired),
    ("after-resolver-told", Scene::Inquired),
];

const ALARM: [(&str, Scene); 2] = [
    ("before-prune", Scene::Pruned),
    ("after-prune", Scene::Pruned),
];

#[test]
fn at_the_edges_of_a_callers_attempt() {
    tests::run(lost_at_each("failpoints-calls", &CALLS));
}

#[test]
fn at_the_edges_of_what_an_origin_reports() {
    tests::run(lost_at_each("failpoints-reports", &REPORTS));
}

#[test]
fn at_the_edges_of_what_follows_an_unknown_outcome() {
    tests::run(lost_at_each("failpoints-unknown", &UNKNOWN));
}

#[test]
fn at_the_edges_of_an_alarm() {
    tests::run(lost_at_each("failpoints-alarm", &ALARM));
}

/// Kills at each place: three, or as many as `cargo xtask test --full` asks for.
fn kills() -> usize {
    let asked = std::env::var("ONCEGATE_KILLS").ok();
    asked.map_or(3, |text| text.parse().expect("ONCEGATE_KILLS is a number"))
}

async fn lost_at_each(name: &str, places: &[(&'static str, Scene)]) {
    let world = World::start(name).await;
    let (began, kills) = (Instant::now(), kills());
    let mut kept = Vec::new();
    for run in 0..kills {
        for (place, scene) in places {
            let from = Instant::now();
            let ended = scene::lose(world, place, *scene).await;
            println!("{place}: kill {} of {kills}, {:.1?}", run + 1, from.elapsed());
            kept.extend(ended);
        }
    }
    // Whatever was acknowledged since the first kill is still there after the last.
    for operation in &kept {
        operation.replays(world).await;
    }
    println!(
        "{name}: {} kills at {} places, {} operations, {:.0?}",
        kills * places.len(),
        places.len(),
        kept.len(),
        began.elapsed()
    );
    world.session.kill().await;
}
