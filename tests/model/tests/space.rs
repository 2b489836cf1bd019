//! The whole space of each promise, walked.
//!
//! Within the limits stated here: each of three clients begins once, under either key; the clock goes two leases far, which
//! is one retention; an operator settles once. Without optimising the clock goes one lease far, and nobody settles.

use model::{Limits, Space};
use shared::policy::OnUnknown;
use stateright::{Checker, Model};

#[track_caller]
fn check(on_unknown: OnUnknown, states_min: usize) {
    let limits = Limits {
        ticks: if cfg!(debug_assertions) { 1 } else { 2 },
        begins: 1,
        settlements: u8::from(!cfg!(debug_assertions)),
    };
    let start = std::time::Instant::now();
    let checker = Space::of(on_unknown, limits).checker().spawn_dfs().join();
    let (states, took) = (checker.unique_state_count(), start.elapsed().as_secs_f32());
    println!("{on_unknown:?}: {states} states, {limits:?}, {took:.1} s");
    assert!(
        checker.is_done(),
        "{on_unknown:?}: the space was not walked whole"
    );
    if !cfg!(debug_assertions) {
        checker.assert_properties();
        assert!(
            states >= states_min,
            "{states} states are no walk worth its name"
        );
    }
    for (name, path) in checker.discoveries() {
        let example = checker.discovery_classification(name).to_string() == "example";
        assert!(
            example,
            "it does not hold that {name}: {:?}",
            path.into_actions()
        );
    }
}

#[test]
fn what_may_never_be_is_not_reached_where_the_unknown_is_parked() {
    check(OnUnknown::Park, 250_000);
}

#[test]
fn what_may_never_be_is_not_reached_where_the_origin_is_asked() {
    check(OnUnknown::Probe, 1_000_000);
}

#[test]
fn what_may_never_be_is_not_reached_where_a_retry_resumes() {
    check(OnUnknown::Resume, 5_000_000);
}

#[test]
fn what_may_never_be_is_not_reached_where_a_webhook_reruns() {
    check(OnUnknown::Rerun, 500_000);
}
