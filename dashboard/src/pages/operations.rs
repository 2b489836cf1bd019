//! The operations: search, filters, pages.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use shared::time::Timestamp;
use shared::wire::OperationPage;

use crate::app::{names_to_choose, use_go};
use crate::components::filter_bar::FilterBar;
use crate::components::freshness::{Silent, Updated};
use crate::components::living::Living;
use crate::components::operations_table::OperationsTable;
use crate::components::pager::Pager;
use crate::components::status::FirstCommand;
use crate::kept::Kept;
use crate::live::{Dated, Latest, use_live};
use crate::view::filter::OperationFilter;
use crate::view::link;
use crate::{api, browser};

impl Dated for OperationPage {
    fn gateway_now(&self) -> Option<Timestamp> {
        self.now
    }
}

/// The page.
#[component]
pub(crate) fn OperationsPage() -> impl IntoView {
    browser::set_title("Operations · Oncegate");
    let query = use_query_map();
    let filter =
        Kept::new(move |_| query.with(|query| OperationFilter::read(|name| query.get(name))));
    let (poll, page) = use_live(Kept::new(move |_| filter.with(api::operations)));
    let go = use_go();
    let choose = Callback::new(move |filter: OperationFilter| go.run(filter.href()));
    let now = poll.now();
    let ready = Arc::new(move || view! { <Content page filter now/> }.into_any());
    view! {
        <div class="head">
            <h1>"Operations"</h1>
            <Updated poll/>
        </div>
        <FilterBar filter names=names_to_choose() choose/>
        <Living poll ready/>
    }
}

#[component]
fn Content(
    page: Latest<OperationPage>,
    filter: Kept<OperationFilter>,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let empty = Kept::new(move |_| page.with(|page| page.operations.is_empty()));
    let silent = Signal::derive(move || page.with(|page| u64::from(page.objects_silent)));
    let list = move || match (
        empty.get(),
        filter.with(|filter| filter.narrows() || !filter.cursor.is_empty()),
    ) {
        (false, _) => view! { <OperationsTable page now/> }.into_any(),
        (true, true) => view! { <NoMatch/> }.into_any(),
        (true, false) => view! { <FirstCommand title="No operations yet".to_owned()/> }.into_any(),
    };
    let newer = move || filter.get().previous_page().map(|page| page.href());
    let older = move || {
        let cursor = page.with(|page| page.next.clone())?;
        Some(filter.get().next_page(cursor).href())
    };
    let number = move || format!("Page {}", filter.with(|filter| filter.trail.len() + 1));
    view! {
        <Silent objects=silent missing="Their operations are missing from the list."/>
        {move || list()}
        <Pager
            newer=Signal::derive(newer)
            label="← Newer"
            place=Signal::derive(number)
            older=Signal::derive(older)
        />
    }
}

#[component]
fn NoMatch() -> impl IntoView {
    view! {
        <section class="empty" data-test="state-empty">
            <h2>"No operation matches"</h2>
            <p>
                "Keys are searched as they were sent; records past their retention are gone. "
                <a href=link::OPERATIONS>"Show all operations"</a>
            </p>
        </section>
    }
}
