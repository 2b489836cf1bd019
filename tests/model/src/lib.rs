//! Every interleaving of three clients on two keys, with crashes, leases that run out, late reports and settlements.
//!
//! The decisions are `shared::decide`'s own; a state holds the records as they are, and beside them what an observer
//! may believe (`life`), by which each step is judged. Not a sample: the space within [`Limits`] is walked whole. Not
//! the faults of a network, which only reorder what can happen in any order here; those are the simulator's.

mod breach;
mod life;
mod moves;
mod world;

pub use breach::Breach;
use moves::Move;
use shared::policy::{Kind, OnUnknown, Policy, PolicyParts, Retention};
use shared::time::Millis;
use stateright::{Model, Property};
pub use world::World;

/// How long a tick of the model's clock is: a lease lasts for one.
pub(crate) const TICK: Millis = Millis::from_secs(60);
/// How many ticks an outcome is kept.
const RETENTION_TICKS: u64 = 2;

/// What bounds the space.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How far the clock goes.
    pub ticks: u8,
    /// How often each client sends a request.
    pub begins: u8,
    /// How often operators settle, over both keys.
    pub settlements: u8,
}

/// The space of one promise.
#[derive(Clone, Debug)]
pub struct Space {
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
}

impl Space {
    /// The space of an API route, or of a webhook route that reruns.
    ///
    /// # Panics
    ///
    /// If the promise contradicts itself, which this one does not.
    #[must_use]
    pub fn of(on_unknown: OnUnknown, limits: Limits) -> Self {
        let kind = match on_unknown {
            OnUnknown::Rerun => Kind::Webhook,
            OnUnknown::Park | OnUnknown::Resume | OnUnknown::Probe => Kind::Api,
        };
        let mut parts = PolicyParts::defaults(kind, on_unknown);
        parts.lease = TICK;
        parts.max_lease = TICK;
        parts.resolve_after = TICK;
        parts.resolve_tries = 1;
        let policy =
            Retention::of(Millis::new(TICK.get() * RETENTION_TICKS)).and_then(|retention| {
                parts.retention = retention;
                Policy::new(parts)
            });
        match policy {
            Ok(policy) => Self { policy, limits },
            Err(wrong) => unreachable!("{wrong}"),
        }
    }
}

impl Model for Space {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        Vec::from([World::default()])
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        if world.breach.is_none() {
            moves::possible(self, world, moves);
        }
    }

    fn next_state(&self, world: &World, step: Move) -> Option<World> {
        let mut next = world.clone();
        moves::take(self, &mut next, step);
        next.judge(self);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = breach::properties();
        properties.extend([
            Property::sometimes("both keys are settled", |_, world: &World| {
                world.keys.iter().all(|key| key.is_settled())
            }),
            Property::sometimes(
                "an effect comes from an attempt adrift",
                |_, world: &World| {
                    world
                        .keys
                        .iter()
                        .any(|key| key.adrift.iter().any(|attempt| attempt.acted))
                },
            ),
            Property::sometimes("the clock ends", |space: &Self, world: &World| {
                world.now == space.limits.ticks
            }),
            Property::sometimes(
                "operators have had their say",
                |space: &Self, world: &World| world.settlements == space.limits.settlements,
            ),
        ]);
        properties
    }
}
