//! Links to the pages before and after; links, because a page is an address.

use leptos::prelude::*;
use shared::wire::OperationPage;

use crate::live::Latest;
use crate::view::filter::OperationFilter;

/// The links.
#[component]
pub(crate) fn Pager(
    /// The page shown.
    filter: Memo<OperationFilter>,
    /// What came, for the next page's cursor.
    page: Latest<OperationPage>,
) -> impl IntoView {
    let earlier = move || filter.get().previous_page().map(|page| page.href());
    let later = move || {
        let cursor = page.with(|page| page.next.clone())?;
        Some(filter.get().next_page(cursor).href())
    };
    let number = move || filter.with(|filter| filter.trail.len() + 1);
    view! {
        <nav class="pager" aria-label="Pages of the list">
            {move || Some(leaf(earlier(), "← Newer", "prev", "prev-page"))}
            <span>{move || format!("Page {}", number())}</span>
            {move || Some(leaf(later(), "Older →", "next", "next-page"))}
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
