//! The whole space of each promise, walked.
//!
//! Within the limits stated here: each of three clients begins once, under either key; the clock goes two leases far, which
//! is one retention; an operator settles once where the space stays small enough to be walked in minutes. Without
//! optimising the clock goes one lease far.

use model::{Limits, Space};
use shared::policy::OnUnknown;
use stateright::{Checker, Model};

#[track_caller]
fn check(on_unknown: OnUnknown, settlements: u8, states_min: usize) {
    let limits = Limits {
        ticks: if cfg!(debug_assertions) { 1 } else { 2 },
        begins: 1,
        settlements: if cfg!(debug_assertions) {
            0
        } else {
            settlements
        },
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
    check(OnUnknown::Park, 1, 250_000);
}

#[test]
fn what_may_never_be_is_not_reached_where_the_origin_is_asked() {
    check(OnUnknown::Probe, 1, 1_000_000);
}

#[test]
fn what_may_never_be_is_not_reached_where_a_retry_resumes() {
    check(OnUnknown::Resume, 0, 1_000_000);
}

#[test]
fn what_may_never_be_is_not_reached_where_a_webhook_reruns() {
    check(OnUnknown::Rerun, 0, 50_000);
}
