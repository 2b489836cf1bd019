//! Where an operation stands, as a coloured word.

use leptos::prelude::*;

use crate::kept::Kept;
use crate::view::filter::Standing;
use crate::view::words;

/// The word; nothing while the state is not known.
#[component]
pub(crate) fn StatePill(
    /// The state.
    standing: Kept<Option<Standing>>,
    /// The hook for tests, where there is one of it.
    #[prop(optional)]
    test: Option<&'static str>,
) -> impl IntoView {
    let say = move |word: fn(Standing) -> &'static str| standing.get().map_or("", word);
    view! {
        <span
            class=move || say(tone)
            title=move || say(words::standing_meaning)
            data-test=test
            data-value=move || say(Standing::name)
        >
            {move || say(words::standing)}
        </span>
    }
}

const fn tone(standing: Standing) -> &'static str {
    match standing {
        Standing::InProgress => "pill busy",
        Standing::Stuck | Standing::Unknown => "pill bad",
        Standing::Completed => "pill good",
    }
}
