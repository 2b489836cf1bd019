//! The whole space of each promise, walked.

use model::{Limits, Space};
use shared::policy::OnUnknown;
use stateright::{Checker, Model};

/// How many states the walks of this run see at least, together.
const STATES_MIN: usize = if cfg!(debug_assertions) { 10_000 } else { 1_000_000 };

const LIMITS: Limits = if cfg!(debug_assertions) {
    Limits { ticks: 2, begins: 1, settlements: 1 }
} else {
    Limits { ticks: 2, begins: 1, settlements: 0 }
};

#[test]
fn nothing_that_may_never_be_is_reached_in_the_whole_space() {
    let promises = [OnUnknown::Park, OnUnknown::Resume, OnUnknown::Probe, OnUnknown::Rerun];
    let mut states = 0;
    for on_unknown in promises {
        let threads = std::thread::available_parallelism().map_or(1, Into::into);
        let start = std::time::Instant::now();
        let checker = Space::of(on_unknown, LIMITS).checker().threads(threads).timeout(std::time::Duration::from_secs(25)).spawn_dfs().join();
        println!(
            "{on_unknown:?}: {} states, {} generated, depth {}, {:.1} s",
            checker.unique_state_count(),
            checker.state_count(),
            checker.max_depth(),
            start.elapsed().as_secs_f32()
        );
        println!("{:?}", checker.discoveries().iter().map(|(n,p)| (n.to_string(), p.clone().into_actions())).collect::<Vec<_>>());
        states += checker.unique_state_count();
    }
    assert!(states >= STATES_MIN, "{states} states are no walk worth its name");
}
