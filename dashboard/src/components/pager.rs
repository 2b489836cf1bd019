//! Links to the pages before and after; links, because a page is an address.

use leptos::prelude::*;

/// The links.
#[component]
pub(crate) fn Pager(
    /// The address of what is newer, where there is any.
    newer: Signal<Option<String>>,
    /// What that link is called.
    label: &'static str,
    /// Where one is.
    place: Signal<String>,
    /// The address of what is older, where there is any.
    older: Signal<Option<String>>,
) -> impl IntoView {
    view! {
        <nav class="pager" aria-label="Pages of the list">
            {move || Some(leaf(newer.get(), label, "prev", "prev-page"))}
            <span>{move || place.get()}</span>
            {move || Some(leaf(older.get(), "Older →", "next", "next-page"))}
        </nav>
    }
}

fn leaf(
    href: Option<String>,
    label: &'static str,
    rel: &'static str,
    test: &'static str,
) -> AnyView {
    match href {
        Some(href) => {
            view! { <a class="button" rel=rel data-test=test href=href>{label}</a> }.into_any()
        }
        None => view! { <span class="button off" aria-hidden="true">{label}</span> }.into_any(),
    }
}
