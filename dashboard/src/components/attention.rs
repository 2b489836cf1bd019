//! What somebody may have to act on, first and loud when there is any: unknown outcomes and stuck attempts.

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::{Live, Overview};

use crate::live::Latest;
use crate::view::age;
use crate::view::filter::{OperationFilter, OverviewFilter, Standing};
use crate::view::number::count;

/// Both cards.
#[component]
pub(crate) fn Attention(
    /// What they count.
    overview: Latest<Overview>,
    /// The route and tenant that the page is narrowed to, for the links.
    filter: Memo<OverviewFilter>,
    /// What ages are measured by.
    now: Signal<Timestamp>,
) -> impl IntoView {
    view! {
        <section class="attention" aria-label="Needs attention">
            <Card
                title="Unknown outcomes"
                calm="every outcome is known"
                test="metric-unknown"
                standing=Standing::Unknown
                pick=|live| (live.unknown, live.unknown_oldest)
                overview
                filter
                now
            />
            <Card
                title="Stuck"
                calm="no lease ran out unheard"
                test="metric-stuck"
                standing=Standing::Stuck
                pick=|live| (live.stuck, live.stuck_oldest)
                overview
                filter
                now
            />
        </section>
    }
}

#[component]
fn Card(
    title: &'static str,
    calm: &'static str,
    test: &'static str,
    standing: Standing,
    pick: fn(&Live) -> (u64, Option<Timestamp>),
    overview: Latest<Overview>,
    filter: Memo<OverviewFilter>,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let seen = move || overview.with(|overview| pick(&overview.live));
    let href = move || {
        let OverviewFilter {
            route,
            tenant,
            range: _,
        } = filter.get();
        let standing = Some(standing);
        OperationFilter {
            standing,
            route,
            tenant,
            ..OperationFilter::default()
        }
        .href()
    };
    let note = move || match seen() {
        (0, _) => calm.to_owned(),
        (_, None) => "see which".to_owned(),
        (_, Some(at)) => format!("oldest {}", age::age(now.get().since(at))),
    };
    view! {
        <a class="card" class:loud=move || seen().0 != 0 href=move || href()>
            <span class="what">{title}</span>
            <strong data-test=test data-value=move || seen().0.to_string()>
                {move || count(seen().0)}
            </strong>
            <span class="note">{move || note()}</span>
        </a>
    }
}
