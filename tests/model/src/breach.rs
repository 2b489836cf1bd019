//! What may never be, as sentences; the model's properties are that it never is.

use stateright::Property;

use crate::{Space, World};

/// A sentence that is not true any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Breach {
    /// L1, L2.
    OneLease,
    /// L3.
    StaleChangesNothing,
    /// L4.
    NumberRises,
    /// A1.
    SameBytes,
    /// A, F.
    OtherRequest,
    /// U2.
    NotForgotten,
    /// U3.
    NotRetried,
    /// U3.
    OneQuestion,
    /// U4.
    ReleaseIsOne,
    /// U5.
    HasADueMoment,
    /// U6.
    SettledStays,
    /// G.
    OneEffect,
}

/// Each breach is never reached.
pub(crate) fn properties() -> Vec<Property<Space>> {
    Vec::from([
        Property::always("at most one live lease per key", |_, world: &World| {
            world.breach != Some(Breach::OneLease)
        }),
        Property::always("a stale attempt changes nothing", |_, world: &World| {
            world.breach != Some(Breach::StaleChangesNothing)
        }),
        Property::always("an attempt's number only ever rises", |_, world: &World| {
            world.breach != Some(Breach::NumberRises)
        }),
        Property::always(
            "same key and request: same bytes for the whole retention",
            |_, world: &World| world.breach != Some(Breach::SameBytes),
        ),
        Property::always("another request never executes", |_, world: &World| {
            world.breach != Some(Breach::OtherRequest)
        }),
        Property::always("what is unknown is never forgotten", |_, world: &World| {
            world.breach != Some(Breach::NotForgotten)
        }),
        Property::always(
            "what is unknown is never silently retried",
            |_, world: &World| world.breach != Some(Breach::NotRetried),
        ),
        Property::always("one at a time asks the origin", |_, world: &World| {
            world.breach != Some(Breach::OneQuestion)
        }),
        Property::always("a release speaks of one attempt", |_, world: &World| {
            world.breach != Some(Breach::ReleaseIsOne)
        }),
        Property::always(
            "what is not settled has a due moment, unless only a person or a retry can act",
            |_, world: &World| world.breach != Some(Breach::HasADueMoment),
        ),
        Property::always(
            "a settled record changes only by an operator's act",
            |_, world: &World| world.breach != Some(Breach::SettledStays),
        ),
        Property::always(
            "no second effect without the word of a person, a release or a probe",
            |_, world: &World| world.breach != Some(Breach::OneEffect),
        ),
    ])
}
