//! The operations: search, filters, pages.

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};
use shared::time::Timestamp;
use shared::wire::OperationPage;

use crate::app::Names;
use crate::components::filter_bar::FilterBar;
use crate::components::freshness::{Silent, Stale, Updated};
use crate::components::operations_table::OperationsTable;
use crate::components::pager::Pager;
use crate::components::status::{Failed, FirstCommand, Loading};
use crate::live::{Dated, Phase, use_live};
use crate::view::filter::{OperationFilter, OverviewFilter};
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
        Memo::new(move |_| query.with(|query| OperationFilter::read(|name| query.get(name))));
    let live = use_live(filter, api::operations);
    let phase = live.phase();
    let retry = Callback::new(move |()| live.start());
    let navigate = use_navigate();
    let choose = Callback::new(move |filter: OperationFilter| {
        let options = NavigateOptions {
            resolve: false,
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate(&filter.href(), options);
    });
    let stale = move || {
        let failure = live
            .failure()
            .get()
            .filter(|_| phase.get() == Phase::Ready)?;
        Some(view! { <Stale failure age=live.age() retry/> })
    };
    let content = move || match phase.get() {
        Phase::Loading => view! { <Loading/> }.into_any(),
        Phase::Failed(failure) => view! { <Failed failure retry/> }.into_any(),
        Phase::Ready => live
            .value()
            .map(|page| view! { <Content page filter now=live.now()/> })
            .into_any(),
    };
    view! {
        <div class="head">
            <h1>"Operations"</h1>
            <Updated age=live.age() failure=live.failure()/>
        </div>
        <FilterBar filter names=names_to_choose() choose/>
        {stale}
        <div class="content" class:pending=live.is_pending() aria-busy=move || live.is_pending().get().to_string()>
            {content}
        </div>
    }
}

/// The names to filter by: from the overview if it was open before, else asked for once.
fn names_to_choose() -> Signal<Names> {
    let names: RwSignal<Option<Names>> = expect_context();
    if names.with_untracked(Option::is_none) {
        spawn_local(async move {
            // Without an answer the filters offer what the address names; the list says what is wrong.
            if let Ok(overview) = api::overview(OverviewFilter::default()).await {
                let known = Names {
                    routes: overview.routes,
                    tenants: overview.tenants,
                };
                names.try_set(Some(known));
            }
        });
    }
    Signal::derive(move || names.get().unwrap_or_default())
}

#[component]
fn Content(
    page: Memo<OperationPage>,
    filter: Memo<OperationFilter>,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let rows = Memo::new(move |_| page.with(|page| page.operations.clone()));
    let next = Memo::new(move |_| page.with(|page| page.next.clone()));
    let empty = Memo::new(move |_| rows.with(Vec::is_empty));
    let list = move || match (empty.get(), filter.with(OperationFilter::narrows)) {
        (false, _) => view! { <OperationsTable rows now/> }.into_any(),
        (true, true) => view! { <NoMatch/> }.into_any(),
        (true, false) => view! { <FirstCommand title="No operations yet".to_owned()/> }.into_any(),
    };
    view! {
        <Silent
            objects=Signal::derive(move || page.with(|page| page.objects_silent))
            missing="Their operations are missing from the list."
        />
        {list}
        <Pager filter next/>
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
