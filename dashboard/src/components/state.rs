//! Where an operation stands, as a coloured word.

use leptos::prelude::*;
use shared::wire::OperationState;

use crate::view::filter::Standing;
use crate::view::words;

/// The word.
#[component]
pub(crate) fn StatePill(
    /// The state.
    state: OperationState,
    /// Whether its lease ran out unheard.
    stuck: bool,
    /// The hook for tests, where there is one of it.
    #[prop(optional)]
    test: Option<&'static str>,
) -> impl IntoView {
    let standing = Standing::of(state, stuck);
    let tone = match standing {
        Standing::InProgress => "pill busy",
        Standing::Stuck | Standing::Unknown => "pill bad",
        Standing::Completed => "pill good",
    };
    view! {
        <span
            class=tone
            title=words::standing_meaning(standing)
            data-test=test
            data-value=standing.name()
        >
            {words::standing(standing)}
        </span>
    }
}
