//! What somebody may have to act on, first and loud when there is any: unknown outcomes and stuck attempts.

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::Live;

use crate::view::age;
use crate::view::filter::{OperationFilter, Standing};
use crate::view::number::count;

/// Both cards.
#[component]
pub(crate) fn Attention(
    /// Live state.
    #[prop(into)]
    live: Signal<Live>,
    /// What ages are measured by.
    #[prop(into)]
    now: Signal<Timestamp>,
    /// The route and tenant that the page is narrowed to, for the links.
    #[prop(into)]
    within: Signal<OperationFilter>,
) -> impl IntoView {
    view! {
        <section class="attention" aria-label="Needs attention">
            <Card
                title="Unknown outcomes"
                calm="every outcome is known"
                test="metric-unknown"
                standing=Standing::Unknown
                number=Signal::derive(move || live.get().unknown)
                oldest=Signal::derive(move || live.get().unknown_oldest)
                now
                within
            />
            <Card
                title="Stuck"
                calm="no lease ran out unheard"
                test="metric-stuck"
                standing=Standing::Stuck
                number=Signal::derive(move || live.get().stuck)
                oldest=Signal::derive(move || live.get().stuck_oldest)
                now
                within
            />
        </section>
    }
}

#[component]
fn Card(
    title: &'static str,
    calm: &'static str,
    test: &'static str,
    standing: Standing,
    number: Signal<u64>,
    oldest: Signal<Option<Timestamp>>,
    now: Signal<Timestamp>,
    within: Signal<OperationFilter>,
) -> impl IntoView {
    let href = move || {
        OperationFilter {
            standing: Some(standing),
            ..within.get()
        }
        .href()
    };
    let loud = Memo::new(move |_| number.get() != 0);
    let note = move || match (loud.get(), oldest.get()) {
        (false, _) => calm.to_owned(),
        (true, None) => "see which".to_owned(),
        (true, Some(at)) => format!("oldest {}", age::age(now.get().since(at))),
    };
    view! {
        <a class="card" class:loud=loud href=href>
            <span class="what">{title}</span>
            <strong data-test=test data-value=move || number.get()>{move || count(number.get())}</strong>
            <span class="note">{note}</span>
        </a>
    }
}
