//! What came in and how it ended, and first of all what needs somebody.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};
use shared::time::Timestamp;
use shared::wire::Overview;

use crate::app::{Announcer, Names, use_go};
use crate::components::attention::Attention;
use crate::components::chart::CallsChart;
use crate::components::exceptions::Exceptions;
use crate::components::field::RouteAndTenant;
use crate::components::freshness::{Silent, Updated};
use crate::components::living::Living;
use crate::components::numbers::Numbers;
use crate::components::route_table::RouteTable;
use crate::components::status::FirstCommand;
use crate::kept::Kept;
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
        Kept::new(move |_| query.with(|query| OverviewFilter::read(|name| query.get(name))));
    let (poll, overview) = use_live(Kept::new(move |_| filter.with(api::overview)));
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
fn Controls(filter: Kept<OverviewFilter>) -> impl IntoView {
    let names: RwSignal<Option<Names>> = expect_context();
    let go = use_go();
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
    view! {
        <div class="ranges" role="group" aria-label="Range">{ranges.collect_view()}</div>
        <RouteAndTenant
            names=Signal::derive(move || names.get().unwrap_or_default())
            route=Signal::derive(move || filter.get().route)
            tenant=Signal::derive(move || filter.get().tenant)
            choose=Callback::new(move |(route, tenant)| {
                go.run(OverviewFilter { route, tenant, ..filter.get_untracked() }.href());
            })
        />
    }
}

#[component]
fn Content(
    overview: Latest<Overview>,
    filter: Kept<OverviewFilter>,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let empty = Kept::new(move |_| {
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
    filter: Kept<OverviewFilter>,
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
    Effect::new(move |earlier: Option<Option<[u64; 3]>>| {
        let now = overview.with(|overview| {
            let (live, settled) = (&overview.live, &overview.settled);
            Some([live.unknown, live.needs_a_person, settled.contradictions])
        });
        // Stuck ones are among the unknown.
        let [unknown, person, contradictions] = now?;
        browser::set_title(&match unknown + contradictions {
            0 => "Overview · Oncegate".to_owned(),
            sum => format!("({sum}) Overview · Oncegate"),
        });
        let rises = |(now, then): (&u64, &u64)| now > then;
        if let (Some(then), Some(now)) = (earlier.flatten(), now)
            && now.iter().zip(&then).any(rises)
        {
            let unknown = plural(unknown, "unknown outcome", "unknown outcomes");
            let contradictions = plural(contradictions, "contradiction", "contradictions");
            announcer.say(&format!(
                "{unknown}, {person} need a person, {contradictions}"
            ));
        }
        now
    });
}
