//! The numbers by route and tenant, each leading to its operations.

use std::sync::Arc;

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::{Live, Overview, RouteCounts};

use super::keyed::Keyed;
use super::table::{Head, table};
use crate::kept::Kept;
use crate::live::Latest;
use crate::view::age;
use crate::view::filter::{OperationFilter, Standing, UnknownFilter};
use crate::view::number::{count, ratio};
use crate::view::series::Series;

/// Parts route and tenant in a row's name; neither can have it.
const SEPARATOR: char = '\n';

/// The columns before the partition's, and after, each with its meaning.
const HEADS_BEFORE: [Head; 6] = [
    ("Route", "", ""),
    ("Tenant", "", ""),
    (
        "Unknown",
        "num",
        "operations whose outcome nobody knows now",
    ),
    (
        "Stuck",
        "num",
        "attempts whose lease ran out with no word until now",
    ),
    ("Calls", "num", "all calls"),
    ("Replay ratio", "num", "replayed, of all calls"),
];
const HEADS_AFTER: [Head; 2] = [
    (
        "Changed",
        "num",
        "redelivered with another body under the same event id",
    ),
    ("Take-overs", "num", "attempts that took over after a lease"),
];

/// The table.
#[component]
pub(crate) fn RouteTable(
    /// Whose routes are shown, largest first.
    overview: Latest<Overview>,
    /// What ages are measured by.
    now: Signal<Timestamp>,
) -> impl IntoView {
    let names = Signal::derive(move || {
        let name = |row: &RouteCounts| format!("{}{SEPARATOR}{}", row.route, row.tenant);
        overview.with(|overview| overview.by_route.iter().map(name).collect())
    });
    let item = Arc::new(move |name: &str| {
        let (route, tenant) = name.split_once(SEPARATOR).unwrap_or((name, ""));
        let (route, tenant) = (route.to_owned(), tenant.to_owned());
        view! { <Row overview route tenant now/> }.into_any()
    });
    let partition = Series::SHOWN.map(|series| (label(series), "num", series.meaning()));
    let heads = [&HEADS_BEFORE[..], &partition, &HEADS_AFTER].concat();
    let rows = view! { <Keyed names item/> };
    view! {
        <section class="panel">
            <h2>"By route and tenant"</h2>
            {table("By route and tenant", "route-table", None, &heads, rows.into_any())}
        </section>
    }
}

const fn label(series: Series) -> &'static str {
    match series {
        // "Unknown" is the state; this is how calls ended.
        Series::Unknown => "Met unknown",
        Series::Applied
        | Series::Replayed
        | Series::Released
        | Series::Conflicts
        | Series::Mismatches
        | Series::Failed
        | Series::Other => series.label(),
    }
}

/// One row's numbers in the latest overview.
#[derive(Clone)]
struct Place {
    overview: Latest<Overview>,
    route: String,
    tenant: String,
}

impl Place {
    fn with<T: Default>(&self, pick: impl FnOnce(&RouteCounts) -> T) -> T {
        self.overview.with(|overview| {
            let mut rows = overview.by_route.iter();
            let row = rows.find(|row| row.route == self.route && row.tenant == self.tenant);
            row.map(pick).unwrap_or_default()
        })
    }

    fn filter(&self, standing: Option<Standing>) -> OperationFilter {
        let (route, tenant) = (self.route.clone(), self.tenant.clone());
        OperationFilter {
            standing,
            route,
            tenant,
            ..OperationFilter::default()
        }
    }
}

/// A row keeps its place in the page while its numbers change.
#[component]
fn Row(
    overview: Latest<Overview>,
    route: String,
    tenant: String,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let place = Place {
        overview,
        route: route.clone(),
        tenant: tenant.clone(),
    };
    let number = |pick: Box<dyn Fn(&RouteCounts) -> u64 + Send + Sync>| {
        let place = place.clone();
        let number = Signal::derive(move || place.with(&pick));
        view! { <Number number/> }.into_any()
    };
    let calls = number(Box::new(|row| row.counts.calls()));
    let partition = Series::SHOWN.map(|series| number(Box::new(move |row| series.of(&row.counts))));
    let changed = number(Box::new(|row| row.changed));
    let takeovers = number(Box::new(|row| row.takeovers));
    let replays = {
        let place = place.clone();
        move || place.with(|row| ratio(row.counts.replayed, row.counts.calls()))
    };
    let href = place.filter(None).href();
    let stuck = place.filter(Some(Standing::Stuck)).href();
    let unknown = UnknownFilter {
        route: route.clone(),
        tenant: tenant.clone(),
        last_answer: String::new(),
    }
    .href();
    view! {
        <tr data-test="route-row" data-route=route.clone() data-tenant=tenant.clone()>
            <th scope="row">
                <a href=href>{route.clone()}</a>
            </th>
            <td class="name" title=tenant.clone()>
                {tenant.clone()}
            </td>
            <LiveCell
                place=place.clone()
                href=unknown
                pick=|live| (live.unknown, live.unknown_oldest)
                now
            />
            <LiveCell
                place
                href=stuck
                pick=|live| (live.stuck, live.stuck_oldest)
                now
            />
            {calls}
            <td class="num">{move || replays()}</td>
            {partition.collect_view()}
            {changed}
            {takeovers}
        </tr>
    }
}

#[component]
fn Number(number: Signal<u64>) -> impl IntoView {
    view! {
        <td class="num" class:zero=move || number.get() == 0>
            {move || count(number.get())}
        </td>
    }
}

/// How many stand so now, with the oldest's age; a link where there are any.
#[component]
fn LiveCell(
    place: Place,
    href: String,
    pick: fn(&Live) -> (u64, Option<Timestamp>),
    now: Signal<Timestamp>,
) -> impl IntoView {
    let seen = Kept::new(move |_| place.with(|row| pick(&row.live)));
    let number = move || count(seen.get().0);
    let old = move || {
        seen.get()
            .1
            .map(|at| age::age(now.get().since(at)))
            .unwrap_or_default()
    };
    view! {
        <td class="num" class:zero=move || seen.get().0 == 0>
            <a
                class="alarm"
                href=move || (seen.get().0 != 0).then(|| href.clone())
            >
                {move || number()}
                <span class="old">{move || old()}</span>
            </a>
        </td>
    }
}
