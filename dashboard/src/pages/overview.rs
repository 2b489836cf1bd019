//! What came in and how it ended, and first of all what needs somebody.

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
use crate::components::filter_bar::pairs;
use crate::components::freshness::{Silent, Stale, Updated};
use crate::components::numbers::Numbers;
use crate::components::route_table::RouteTable;
use crate::components::status::{Failed, FirstCommand, Loading};
use crate::live::{Dated, Phase, use_live};
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
    let query = use_query_map();
    let filter =
        Memo::new(move |_| query.with(|query| OverviewFilter::read(|name| query.get(name))));
    let live = use_live(filter, api::overview);
    let phase = live.phase();
    let retry = Callback::new(move |()| live.start());
    let stale = move || {
        let failure = live
            .failure()
            .get()
            .filter(|_| phase.get() == Phase::Ready)?;
        Some(view! { <Stale failure age=live.age() retry/> })
    };
    let content = move || match phase.get() {
        Phase::Loading => {
            browser::set_title("Overview · Oncegate");
            view! { <Loading/> }.into_any()
        }
        Phase::Failed(failure) => view! { <Failed failure retry/> }.into_any(),
        Phase::Ready => live
            .value()
            .map(|overview| view! { <Content overview filter now=live.now()/> })
            .into_any(),
    };
    view! {
        <div class="head">
            <h1>"Overview"</h1>
            <Controls filter/>
            <Updated age=live.age() failure=live.failure()/>
        </div>
        {stale}
        <div class="content" class:pending=live.is_pending() aria-busy=move || live.is_pending().get().to_string()>
            {content}
        </div>
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
        let href = move || OverviewFilter { range, ..filter.get() }.href();
        let chosen = move || filter.with(|filter| filter.range == range).then_some("true");
        view! {
            <a href=href aria-current=chosen data-noscroll="" data-test=format!("range-{}", range.name())>
                {range.name()}
            </a>
        }
    });
    let routes = move || {
        names
            .get()
            .map(|names| pairs(&names.routes))
            .unwrap_or_default()
    };
    let tenants = move || {
        names
            .get()
            .map(|names| pairs(&names.tenants))
            .unwrap_or_default()
    };
    view! {
        <div class="ranges" role="group" aria-label="Range">{ranges.collect_view()}</div>
        <div class="narrow" role="group" aria-label="Filters">
            <Choice
                label="Route"
                test="filter-route"
                all="All routes"
                options=Signal::derive(routes)
                value=Signal::derive(move || filter.get().route)
                choose=Callback::new(move |route| {
                    go.run(OverviewFilter { route, ..filter.get_untracked() });
                })
            />
            <Choice
                label="Tenant"
                test="filter-tenant"
                all="All tenants"
                options=Signal::derive(tenants)
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
    overview: Memo<Overview>,
    filter: Memo<OverviewFilter>,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let names: RwSignal<Option<Names>> = expect_context();
    Effect::new(move |_| {
        let known = overview.with(|overview| Names {
            routes: overview.routes.clone(),
            tenants: overview.tenants.clone(),
        });
        if names.with_untracked(|names| names.as_ref() != Some(&known)) {
            names.set(Some(known));
        }
    });
    alert_when_it_changes(overview);

    let live = Memo::new(move |_| overview.with(|overview| overview.live));
    let within = Memo::new(move |_| {
        let OverviewFilter {
            route,
            tenant,
            range: _,
        } = filter.get();
        OperationFilter {
            route,
            tenant,
            ..OperationFilter::default()
        }
    });
    let empty = Memo::new(move |_| {
        let all = filter.with(|filter| filter.route.is_empty() && filter.tenant.is_empty());
        all && overview.with(|overview| overview.totals.calls() == 0 && overview.live.tracked == 0)
    });
    view! {
        <Silent
            objects=Signal::derive(move || overview.with(|overview| overview.objects_silent))
            missing="Their numbers are missing from the sums."
        />
        <Attention live now within/>
        {move || {
            if empty.get() {
                let title = format!("Nothing came in during {}", filter.get().range.words());
                view! { <FirstCommand title/> }.into_any()
            } else {
                view! { <Traffic overview filter within now/> }.into_any()
            }
        }}
        <Exceptions exceptions=Memo::new(move |_| overview.with(|overview| overview.exceptions.clone()))/>
    }
}

#[component]
fn Traffic(
    overview: Memo<Overview>,
    filter: Memo<OverviewFilter>,
    within: Memo<OperationFilter>,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let navigate = use_navigate();
    let open = Callback::new(move |(from, to): (Timestamp, Timestamp)| {
        let filter = OperationFilter {
            from: Some(from),
            to: Some(to),
            ..within.get_untracked()
        };
        navigate(
            &filter.href(),
            NavigateOptions {
                resolve: false,
                ..NavigateOptions::default()
            },
        );
    });
    view! {
        <Numbers
            counts=Memo::new(move |_| overview.with(|overview| overview.totals))
            live=Memo::new(move |_| overview.with(|overview| overview.live))
        />
        <CallsChart
            series=Memo::new(move |_| overview.with(|overview| overview.series.clone()))
            step_ms=Memo::new(move |_| overview.with(|overview| overview.step_ms))
            covers=Signal::derive(move || filter.get().range.words())
            open
        />
        <RouteTable rows=Memo::new(move |_| overview.with(|overview| overview.by_route.clone())) now/>
    }
}

/// The tab's title counts what needs somebody, and a rise is announced.
fn alert_when_it_changes(overview: Memo<Overview>) {
    let announcer: Announcer = expect_context();
    Effect::new(move |earlier: Option<(u64, u64)>| {
        let (unknown, stuck) =
            overview.with(|overview| (overview.live.unknown, overview.live.stuck));
        let sum = unknown + stuck;
        browser::set_title(&if sum == 0 {
            "Overview · Oncegate".to_owned()
        } else {
            format!("({sum}) Overview · Oncegate")
        });
        if earlier
            .is_some_and(|(then_unknown, then_stuck)| unknown > then_unknown || stuck > then_stuck)
        {
            let unknown = plural(unknown, "unknown outcome", "unknown outcomes");
            announcer.say(&format!("{unknown}, {stuck} stuck"));
        }
        (unknown, stuck)
    });
}
