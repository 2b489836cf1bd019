//! There is no such page.

use leptos::prelude::*;

use crate::browser;
use crate::view::link;

/// The page.
#[component]
pub(crate) fn NotFoundPage() -> impl IntoView {
    browser::set_title("Not found · Oncegate");
    view! {
        <section class="empty" data-test="not-found">
            <h1>"There is no such page"</h1>
            <p>
                "Perhaps the address was cut. Search for a key or an operation's id above, or go to the "
                <a href=link::OVERVIEW>"overview"</a> "."
            </p>
        </section>
    }
}
