//! The audit log: who settled what, when and why, and what came too late. Newest first; nothing is ever taken out.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use shared::time::Timestamp;
use shared::wire::AuditPage as Page;

use crate::app::{names_to_choose, use_go};
use crate::components::audit_table::{AuditTable, Log};
use crate::components::field::RouteAndTenant;
use crate::components::freshness::{Silent, Updated};
use crate::components::living::Living;
use crate::components::pager::Pager;
use crate::kept::Kept;
use crate::live::{Dated, Latest, use_live};
use crate::view::filter::AuditFilter;
use crate::{api, browser};

impl Dated for Page {
    fn gateway_now(&self) -> Option<Timestamp> {
        self.now
    }
}

/// The page.
#[component]
pub(crate) fn AuditPage() -> impl IntoView {
    browser::set_title("Audit log · Oncegate");
    let query = use_query_map();
    let filter = Kept::new(move |_| query.with(|query| AuditFilter::read(|name| query.get(name))));
    let (poll, page) = use_live(Kept::new(move |_| filter.with(api::audit)));
    let go = use_go();
    let ready = Arc::new(move || view! { <Content page filter/> }.into_any());
    view! {
        <div class="head">
            <h1>"Audit log"</h1>
            <RouteAndTenant
                names=names_to_choose()
                route=Signal::derive(move || filter.get().route)
                tenant=Signal::derive(move || filter.get().tenant)
                choose=Callback::new(move |(route, tenant)| {
                    go.run(AuditFilter { route, tenant, before: String::new() }.href());
                })
            />
            <Updated poll/>
        </div>
        <Living poll ready/>
    }
}

#[component]
fn Content(page: Latest<Page>, filter: Kept<AuditFilter>) -> impl IntoView {
    let entries = Kept::new(move |_| page.with(|page| page.entries.clone()));
    let empty = Kept::new(move |_| entries.with(Vec::is_empty));
    let silent = Signal::derive(move || page.with(|page| u64::from(page.objects_silent)));
    let list = move || {
        if empty.get() {
            nothing()
        } else {
            view! { <AuditTable entries log=Log::Whole/> }.into_any()
        }
    };
    let newest = move || {
        let older = filter.with(|filter| !filter.before.is_empty());
        older.then(|| filter.get().page(String::new()).href())
    };
    let older = move || {
        let before = page.with(|page| page.next.clone())?;
        Some(filter.get().page(before).href())
    };
    view! {
        <Silent objects=silent missing="Their entries are missing from the log."/>
        {move || list()}
        <Pager
            newer=Signal::derive(newest)
            label="← Newest"
            place=Signal::stored(String::new())
            older=Signal::derive(older)
        />
    }
}

fn nothing() -> AnyView {
    view! {
        <section class="empty" data-test="state-empty">
            <h2>"Nothing is logged here"</h2>
            <p>
                "What operators settle by hand is logged with their name and reason, and so is every answer of the origin that came too late."
            </p>
        </section>
    }
    .into_any()
}
