//! The stored answer, as text whatever it is (X4): nothing in it is ever markup or script here.

use leptos::prelude::*;
use shared::wire::{OperationDetail, OutcomeView};

use crate::kept::Kept;
use crate::live::Latest;
use crate::view::number::bytes;

/// The answer, or that there is none yet.
#[component]
pub(crate) fn StoredAnswer(
    /// The operation.
    detail: Latest<OperationDetail>,
) -> impl IntoView {
    let outcome = Kept::new(move |_| detail.with(|detail| detail.outcome.clone()));
    view! {
        {move || {
            Some(match outcome.get() {
                Some(outcome) => shown(&outcome),
                None => view! { <p class="faint">"None is stored."</p> }.into_any(),
            })
        }}
    }
}

fn shown(outcome: &OutcomeView) -> AnyView {
    let mut headers = String::new();
    for (name, value) in &outcome.headers {
        for part in [
            name, ": ", value, "
",
        ] {
            headers.push_str(part);
        }
    }
    let body = outcome.body_text.clone().unwrap_or_default();
    view! {
        <p>
            "Status " <b data-test="outcome-status">{outcome.status.to_string()}</b>
            <span class="faint">" · " {note(outcome)}</span>
        </p>
        {block(headers, "headers", "Stored headers", "outcome-headers")}
        {block(body, "body", "Stored body", "outcome-body")}
    }
    .into_any()
}

fn block(
    text: String,
    class: &'static str,
    label: &'static str,
    hook: &'static str,
) -> Option<AnyView> {
    (!text.is_empty()).then(|| {
        view! {
            <pre class=class tabindex="0" role="region" aria-label=label data-test=hook>
                {text}
            </pre>
        }
        .into_any()
    })
}

fn note(outcome: &OutcomeView) -> String {
    let size = bytes(outcome.body_bytes);
    if outcome.body_omitted {
        format!(
            "The body ({size}) was over the route's cap: replays carry status and headers only."
        )
    } else if outcome.body_bytes == 0 {
        "The body is empty.".to_owned()
    } else if outcome.body_text.is_none() {
        format!("The body ({size}) is not text; replays carry it byte for byte.")
    } else if outcome.body_cut {
        format!("The beginning of {size}; replays carry all of it.")
    } else {
        size
    }
}
