//! The numbers by route and tenant, each leading to its operations.

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::RouteCounts;

use crate::view::age;
use crate::view::filter::{OperationFilter, Standing};
use crate::view::number::{count, ratio};
use crate::view::series::Series;

/// The columns of the partition, in the order of the tiles above.
const COLUMNS: [Series; 8] = [
    Series::Applied,
    Series::Replayed,
    Series::Conflicts,
    Series::Mismatches,
    Series::Failed,
    Series::Released,
    Series::Unknown,
    Series::Other,
];

/// The table.
#[component]
pub(crate) fn RouteTable(
    /// Its rows, largest first.
    #[prop(into)]
    rows: Signal<Vec<RouteCounts>>,
    /// What ages are measured by.
    #[prop(into)]
    now: Signal<Timestamp>,
) -> impl IntoView {
    let names = move || {
        let name = |row: &RouteCounts| (row.route.clone(), row.tenant.clone());
        rows.with(|rows| rows.iter().map(name).collect::<Vec<_>>())
    };
    view! {
        <section class="panel">
            <h2 id="by-route">"By route and tenant"</h2>
            <div class="scroll" role="region" tabindex="0" aria-labelledby="by-route">
                <table class="dense" data-test="route-table">
                    <thead>
                        <tr>
                            <th scope="col">"Route"</th>
                            <th scope="col">"Tenant"</th>
                            <th scope="col" class="num">"Unknown now"</th>
                            <th scope="col" class="num">"Stuck now"</th>
                            <th scope="col" class="num">"Calls"</th>
                            <th scope="col" class="num" title="replayed, of all calls">"Replay ratio"</th>
                            {COLUMNS
                                .map(|series| {
                                    view! {
                                        <th scope="col" class="num" title=series.meaning()>{heading(series)}</th>
                                    }
                                })
                                .collect_view()}
                            <th scope="col" class="num" title="redelivered with another body under the same event id">
                                "Changed"
                            </th>
                            <th scope="col" class="num" title="attempts that took over after a lease">
                                "Take-overs"
                            </th>
                        </tr>
                    </thead>
                    <tbody>
                        <For each=names key=Clone::clone let((route, tenant))>
                            <Row rows route tenant now/>
                        </For>
                    </tbody>
                </table>
            </div>
        </section>
    }
}

const fn heading(series: Series) -> &'static str {
    match series {
        // "Unknown now" is the state; this is how calls ended.
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

/// A row keeps its place in the page while its numbers change.
#[component]
fn Row(
    rows: Signal<Vec<RouteCounts>>,
    route: String,
    tenant: String,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let within = OperationFilter {
        route: route.clone(),
        tenant: tenant.clone(),
        ..OperationFilter::default()
    };
    let row = {
        let (route, tenant) = (route.clone(), tenant.clone());
        Memo::new(move |earlier: Option<&Option<RouteCounts>>| {
            rows.with(|rows| {
                rows.iter()
                    .find(|row| row.route == route && row.tenant == tenant)
                    .cloned()
            })
            .or_else(|| earlier.cloned().flatten())
        })
    };
    let of = move |pick: fn(&RouteCounts) -> u64| {
        Signal::derive(move || row.with(|row| row.as_ref().map_or(0, pick)))
    };
    let oldest = move |pick: fn(&RouteCounts) -> Option<Timestamp>| {
        Signal::derive(move || row.with(|row| row.as_ref().and_then(pick)))
    };
    let calls = of(|row| row.counts.calls());
    let replayed = of(|row| row.counts.replayed);
    let cells = COLUMNS.map(|series| {
        let number = Signal::derive(move || {
            row.with(|row| row.as_ref().map_or(0, |row| series.of(&row.counts)))
        });
        view! { <Number number/> }
    });
    view! {
        <tr data-test="route-row" data-route=route data-tenant=tenant>
            <th scope="row">
                <a href=within.href()>{route.clone()}</a>
            </th>
            <td class="name" title=tenant.clone()>{tenant.clone()}</td>
            <LiveCell
                number=of(|row| row.live.unknown)
                oldest=oldest(|row| row.live.unknown_oldest)
                standing=Standing::Unknown
                within=within.clone()
                now
            />
            <LiveCell
                number=of(|row| row.live.stuck)
                oldest=oldest(|row| row.live.stuck_oldest)
                standing=Standing::Stuck
                within
                now
            />
            <Number number=calls/>
            <td class="num">{move || ratio(replayed.get(), calls.get())}</td>
            {cells.collect_view()}
            <Number number=of(|row| row.changed)/>
            <Number number=of(|row| row.takeovers)/>
        </tr>
    }
}

#[component]
fn Number(number: Signal<u64>) -> impl IntoView {
    view! { <td class="num" class:zero=move || number.get() == 0>{move || count(number.get())}</td> }
}

/// How many stand so now, with the oldest's age; a link where there are any.
#[component]
fn LiveCell(
    number: Signal<u64>,
    oldest: Signal<Option<Timestamp>>,
    standing: Standing,
    within: OperationFilter,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let href = OperationFilter {
        standing: Some(standing),
        ..within
    }
    .href();
    let some = Memo::new(move |_| number.get() != 0);
    let old = move || {
        oldest
            .get()
            .map(|at| format!(" {}", age::age(now.get().since(at))))
    };
    let cell = move || {
        if some.get() {
            let href = href.clone();
            view! {
                <a class="alarm" href=href>
                    <b>{move || count(number.get())}</b>
                    <span class="old">{old}</span>
                </a>
            }
            .into_any()
        } else {
            "0".into_any()
        }
    };
    view! { <td class="num" class:zero=move || !some.get()>{cell}</td> }
}
