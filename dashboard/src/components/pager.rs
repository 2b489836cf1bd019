//! Links to the pages before and after; links, because a page is an address.

use leptos::prelude::*;

use crate::view::filter::OperationFilter;

/// The links.
#[component]
pub(crate) fn Pager(
    /// The page shown.
    filter: Memo<OperationFilter>,
    /// The next page's cursor.
    #[prop(into)]
    next: Signal<Option<String>>,
) -> impl IntoView {
    let earlier = Memo::new(move |_| filter.get().previous_page());
    let number = move || filter.with(|filter| filter.trail.len() + 1);
    view! {
        <nav class="pager" aria-label="Pages of the list">
            {move || match earlier.get() {
                Some(page) => {
                    view! { <a class="button" rel="prev" data-test="prev-page" href=page.href()>"← Newer"</a> }.into_any()
                }
                None => view! { <span class="button off" aria-hidden="true">"← Newer"</span> }.into_any(),
            }}
            <span>"Page " {number}</span>
            {move || match next.get() {
                Some(cursor) => {
                    let href = filter.get().next_page(cursor).href();
                    view! { <a class="button" rel="next" data-test="next-page" href=href>"Older →"</a> }.into_any()
                }
                None => view! { <span class="button off" aria-hidden="true">"Older →"</span> }.into_any(),
            }}
        </nav>
    }
}
