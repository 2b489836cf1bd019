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

use reports::Report;
use scene::Scene;
use world::World;

/// The places, and what brings operations to them: three gateways beside each other, whose leases run out meanwhile.
const PLACES: [(&str, &[(&str, Scene)]); 3] = [
    (
        "failpoints-attempt",
        &[
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
            ("before-suspend", Scene::Unheard),
            ("after-suspend", Scene::Unheard),
            ("before-prune", Scene::Pruned),
            ("after-prune", Scene::Pruned),
        ],
    ),
    (
        "failpoints-reports",
        &[
            ("before-pending", Scene::Reported(Report::Done)),
            ("after-pending", Scene::Reported(Report::Done)),
            ("before-checkpoint", Scene::Reported(Report::Point)),
            ("after-checkpoint", Scene::Reported(Report::Point)),
            ("before-extend", Scene::Reported(Report::Longer)),
            ("after-extend", Scene::Reported(Report::Longer)),
            ("before-callback-complete", Scene::Reported(Report::Done)),
            ("after-callback-complete", Scene::Reported(Report::Done)),
            ("before-callback-release", Scene::Reported(Report::NotRun)),
            ("after-callback-release", Scene::Reported(Report::NotRun)),
            ("before-probed", Scene::Asked),
            ("after-probed", Scene::Asked),
        ],
    ),
    (
        "failpoints-unknown",
        &[
            ("before-settle", Scene::Settled),
            ("after-settle", Scene::Settled),
            ("before-resolver-send", Scene::Pursued),
            // After the send there is nothing before this: the two are one place.
            ("before-resolver-complete", Scene::Pursued),
            ("after-resolver-complete", Scene::Pursued),
            ("before-resolver-ask", Scene::Inquired),
            ("after-resolver-ask", Scene::Inquired),
            ("after-resolver-told", Scene::Inquired),
        ],
    ),
];

#[test]
fn a_machine_that_is_lost_loses_nothing_acknowledged_and_does_nothing_twice() {
    tests::run(async {
        tests::at_once(PLACES.map(|(name, places)| lost_at_each(name, places))).await;
    });
}

/// Kills at each place: three, or as many as `cargo xtask test --full` asks for.
fn kills() -> usize {
    let asked = std::env::var("ONCEGATE_KILLS").ok();
    asked.map_or(3, |text| text.parse().expect("ONCEGATE_KILLS is a number"))
}

async fn lost_at_each(name: &'static str, places: &'static [(&str, Scene)]) {
    let world = World::start(name).await;
    let (began, kills) = (Instant::now(), kills());
    let mut kept = Vec::new();
    for run in 1..=kills {
        for (place, scene) in places {
            let from = Instant::now();
            kept.extend(scene::lose(world, place, *scene).await);
            println!("{place}: kill {run} of {kills}, {:.1?}", from.elapsed());
        }
    }
    // Whatever was acknowledged since the first kill is still there after the last.
    for ended in &kept {
        ended.replays(world).await;
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
