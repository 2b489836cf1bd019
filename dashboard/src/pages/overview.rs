//! What came in and how it ended, and first of all what needs somebody.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};
use shared::time::Timestamp;
use shared::wire::Overview;

use crate::app::{Announcer, Names};
use crate::components::attention::Attention;
use crate::components::chart::CallsChart;
use crate::components::exceptions::Exceptions;
use crate::components::field::Choice;
use crate::components::freshness::{Silent, Updated};
use crate::components::living::Living;
use crate::components::numbers::Numbers;
use crate::components::route_table::RouteTable;
use crate::components::status::FirstCommand;
use crate::live::{Dated, Latest, use_live};
use crate::view::filter::{OperationFilter, OverviewFilter, Range};
use crate::view::number::plural;
use crate::{api, browser};

impl Dated for Overview {
    fn gateway_now(&self) -> Option<Timestamp> {
        Some(self.now)
    }
}

/// The page.
#[component]
pub(crate) fn OverviewPage() -> impl IntoView {
    browser::set_title("Overview · Oncegate");
    let query = use_query_map();
    let filter =
        Memo::new(move |_| query.with(|query| OverviewFilter::read(|name| query.get(name))));
    let (poll, overview) = use_live(Memo::new(move |_| filter.with(api::overview)));
    keep_names(overview);
    call_when_it_gets_worse(overview);
    let now = poll.now();
    let ready = Arc::new(move || view! { <Content overview filter now/> }.into_any());
    view! {
        <div class="head">
            <h1>"Overview"</h1>
            <Controls filter/>
            <Updated poll/>
        </div>
        <Living poll ready/>
    }
}

/// Range, route and tenant.
#[component]
fn Controls(filter: Memo<OverviewFilter>) -> impl IntoView {
    let names: RwSignal<Option<Names>> = expect_context();
    let navigate = use_navigate();
    let go = Callback::new(move |filter: OverviewFilter| {
        let options = NavigateOptions {
            resolve: false,
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate(&filter.href(), options);
    });
    let ranges = Range::ALL.map(|range| {
        view! {
            <a
                href=move || OverviewFilter { range, ..filter.get() }.href()
                aria-current=move || (filter.get().range == range).then_some("true")
                data-noscroll=""
                data-test=format!("range-{}", range.name())
            >
                {range.name()}
            </a>
        }
        .into_any()
    });
    let offer = move |pick: fn(&Names) -> &Vec<String>| {
        Signal::derive(move || {
            names.with(|names| {
                names
                    .as_ref()
                    .map(|names| pick(names).clone())
                    .unwrap_or_default()
            })
        })
    };
    view! {
        <div class="ranges" role="group" aria-label="Range">{ranges.collect_view()}</div>
        <div class="narrow" role="group" aria-label="Filters">
            <Choice
                label="Route"
                test="filter-route"
                all="All routes"
                options=offer(|names| &names.routes)
                value=Signal::derive(move || filter.get().route)
                choose=Callback::new(move |route| {
                    go.run(OverviewFilter { route, ..filter.get_untracked() });
                })
            />
            <Choice
                label="Tenant"
                test="filter-tenant"
                all="All tenants"
                options=offer(|names| &names.tenants)
                value=Signal::derive(move || filter.get().tenant)
                choose=Callback::new(move |tenant| {
                    go.run(OverviewFilter { tenant, ..filter.get_untracked() });
                })
            />
        </div>
    }
}

#[component]
fn Content(
    overview: Latest<Overview>,
    filter: Memo<OverviewFilter>,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let empty = Memo::new(move |_| {
        let all = filter.with(|filter| filter.route.is_empty() && filter.tenant.is_empty());
        all && overview.with(|overview| overview.totals.calls() == 0 && overview.live.tracked == 0)
    });
    let silent =
        Signal::derive(move || overview.with(|overview| u64::from(overview.objects_silent)));
    let traffic = move || {
        if empty.get() {
            let title = format!("Nothing came in during {}", filter.get().range.words());
            view! { <FirstCommand title/> }.into_any()
        } else {
            view! { <Traffic overview filter now/> }.into_any()
        }
    };
    view! {
        <Silent objects=silent missing="Their numbers are missing from the sums."/>
        <Attention overview filter now/>
        {move || traffic()}
        <Exceptions overview/>
    }
}

#[component]
fn Traffic(
    overview: Latest<Overview>,
    filter: Memo<OverviewFilter>,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let navigate = use_navigate();
    let open = Callback::new(move |(from, to): (Timestamp, Timestamp)| {
        let OverviewFilter {
            route,
            tenant,
            range: _,
        } = filter.get_untracked();
        let (from, to) = (Some(from), Some(to));
        let filter = OperationFilter {
            route,
            tenant,
            from,
            to,
            ..OperationFilter::default()
        };
        navigate(
            &filter.href(),
            NavigateOptions {
                resolve: false,
                ..NavigateOptions::default()
            },
        );
    });
    let covers = Signal::derive(move || filter.get().range.words());
    view! {
        <Numbers overview/>
        <CallsChart overview covers open/>
        <RouteTable overview now/>
    }
}

/// The names to filter by, for this page and the operations'.
fn keep_names(overview: Latest<Overview>) {
    let names: RwSignal<Option<Names>> = expect_context();
    Effect::new(move |_| {
        let known = overview.with(|overview| {
            Some(Names {
                routes: overview.routes.clone(),
                tenants: overview.tenants.clone(),
            })
        });
        if known.is_some() && names.with_untracked(|names| *names != known) {
            names.set(known);
        }
    });
}

/// The tab's title counts what needs somebody, and a rise is announced.
fn call_when_it_gets_worse(overview: Latest<Overview>) {
    let announcer: Announcer = expect_context();
    Effect::new(move |earlier: Option<Option<(u64, u64)>>| {
        let now = overview.with(|overview| Some((overview.live.unknown, overview.live.stuck)));
        let (unknown, stuck) = now?;
        browser::set_title(&match unknown + stuck {
            0 => "Overview · Oncegate".to_owned(),
            sum => format!("({sum}) Overview · Oncegate"),
        });
        if let Some((unknown_then, stuck_then)) = earlier.flatten()
            && (unknown > unknown_then || stuck > stuck_then)
        {
            let unknown = plural(unknown, "unknown outcome", "unknown outcomes");
            announcer.say(&format!("{unknown}, {stuck} stuck"));
        }
        now
    });
}
