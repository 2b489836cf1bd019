//! The stored answer, as text whatever it is (X4): nothing in it is ever markup or script here.

use leptos::prelude::*;
use shared::wire::OutcomeView;

use crate::view::number::bytes;

/// The answer, or that there is none yet.
#[component]
pub(crate) fn StoredAnswer(
    /// The answer.
    #[prop(into)]
    outcome: Signal<Option<OutcomeView>>,
) -> impl IntoView {
    move || match outcome.get() {
        Some(outcome) => shown(outcome).into_any(),
        None => view! { <p class="faint">"None is stored."</p> }.into_any(),
    }
}

fn shown(outcome: OutcomeView) -> impl IntoView {
    let headers: String = outcome
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    let size = bytes(outcome.body_bytes);
    let note = if outcome.body_omitted {
        format!(
            "The body ({size}) was over the route's cap: replays carry status and headers, and no body."
        )
    } else if outcome.body_bytes == 0 {
        "The body is empty.".to_owned()
    } else if outcome.body_text.is_none() {
        format!("The body ({size}) is not text; replays carry it byte for byte.")
    } else if outcome.body_cut {
        format!("The beginning of {size}; replays carry all of it.")
    } else {
        size
    };
    view! {
        <p>
            "Status " <b data-test="outcome-status">{outcome.status}</b>
            <span class="faint">" · " {note}</span>
        </p>
        {(!headers.is_empty()).then(|| view! { <pre class="headers" tabindex="0" aria-label="Stored headers">{headers}</pre> })}
        {outcome
            .body_text
            .filter(|text| !text.is_empty())
            .map(|text| view! { <pre class="body" tabindex="0" aria-label="Stored body" data-test="outcome-body">{text}</pre> })}
    }
}
