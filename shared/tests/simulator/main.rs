//! The rule in a bad world: seeds of clients, Workers, objects, an origin and operators, with all that goes wrong between.
//!
//! A virtual clock; a network that loses, doubles, delays and reorders; Workers and objects that die anywhere;
//! alarms that come late, twice or never; an origin that is slow, fails after the effect, or lies; operators who
//! settle in each way, also wrongly. After every step the invariants hold, each of them a sentence (`invariant`),
//! judged by books that only see answers and effects (`ledger`). The same seed is the same history.
//!
//! Not the platform itself, whose faults are tested end to end, and not every interleaving: that is the model check's.
//!
//! `ONCEGATE_SEED=17 cargo test -p shared --test simulator` runs one seed and prints its trace.

#![expect(
    unused_crate_dependencies,
    reason = "the dev-dependencies of the other tests"
)]

mod gateway;
mod invariant;
mod ledger;
mod message;
mod object;
mod origin;
mod plan;
mod situation;
mod world;

use situation::Coverage;
use world::{Traces, run};

const SEEDS: u64 = if cfg!(debug_assertions) {
    2_000
} else {
    20_000
};
const STEPS: usize = 200;
/// How often each situation happens at least, over all seeds of a run.
const LEAST: u64 = if cfg!(debug_assertions) { 1 } else { 40 };

#[track_caller]
fn check(seed: u64, coverage: &mut Coverage) {
    let (world, result) = run(seed, STEPS, Traces::Not);
    coverage.add(&world.ledger.seen);
    if result.is_err() {
        let (told, again) = run(seed, STEPS, Traces::Kept);
        let (step, broken) = again.unwrap_err();
        panic!(
            "seed {seed}, step {step}: it does not hold any more that {}: {}\n{}",
            broken.sentence,
            broken.detail,
            told.last_lines(60)
        );
    }
}

#[test]
fn the_invariants_hold_on_every_seed_and_nothing_interesting_is_rare() {
    let mut coverage = Coverage::new();
    let one = std::env::var("ONCEGATE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    if let Some(seed) = one {
        check(seed, &mut coverage);
        let (world, _) = run(seed, STEPS, Traces::Kept);
        println!("{}", world.last_lines(usize::MAX));
        return;
    }
    for seed in 0..SEEDS {
        check(seed, &mut coverage);
    }
    println!("{SEEDS} seeds of {STEPS} steps:\n{}", coverage.table());
    assert_eq!(
        coverage.rare(LEAST),
        0,
        "the workload has rotted:\n{}",
        coverage.table()
    );
}

#[test]
fn the_same_seed_is_the_same_history() {
    for seed in 0..50 {
        let (one, _) = run(seed, STEPS, Traces::Kept);
        let (two, _) = run(seed, STEPS, Traces::Kept);
        assert_eq!(one.trace, two.trace, "seed {seed}");
        assert_eq!(one.ledger.seen, two.ledger.seen, "seed {seed}");
    }
    let (one, _) = run(1, STEPS, Traces::Kept);
    let (two, _) = run(2, STEPS, Traces::Kept);
    assert_ne!(one.trace, two.trace);
}
