//! What somebody may have to act on, first and loud when there is any: operations that nothing happens to by itself, late
//! answers that contradict what was settled; then, less loud, what is unknown or stuck and still being worked on.

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::Overview;

use crate::kept::Kept;
use crate::live::Latest;
use crate::view::age;
use crate::view::filter::{AuditFilter, OperationFilter, OverviewFilter, Standing, UnknownFilter};
use crate::view::number::count;

/// How many, and since when the oldest.
type Seen = (u64, Option<Timestamp>);

/// The cards.
#[component]
pub(crate) fn Attention(
    /// What they count.
    overview: Latest<Overview>,
    /// The route and tenant that the page is narrowed to, for the links.
    filter: Kept<OverviewFilter>,
    /// What ages are measured by.
    now: Signal<Timestamp>,
) -> impl IntoView {
    view! {
        <section class="attention" aria-label="Needs attention">
            <Card
                title="Need a person"
                calm="nothing waits"
                test="metric-person"
                tone="card loud"
                pick=|overview| (overview.live.needs_a_person, None)
                link=unknown
                overview
                filter
                now
            />
            <Card
                title="Contradictions"
                calm="none"
                test="metric-contradictions"
                tone="card loud"
                pick=|overview| (overview.settled.contradictions, None)
                link=audit
                overview
                filter
                now
            />
            <Card
                title="Unknown outcomes"
                calm="all are known"
                test="metric-unknown"
                tone="card warn"
                pick=|overview| (overview.live.unknown, overview.live.unknown_oldest)
                link=unknown
                overview
                filter
                now
            />
            <Card
                title="Stuck"
                calm="none"
                test="metric-stuck"
                tone="card warn"
                pick=|overview| (overview.live.stuck, overview.live.stuck_oldest)
                link=stuck
                overview
                filter
                now
            />
        </section>
    }
}

fn unknown(filter: OverviewFilter) -> String {
    let OverviewFilter {
        route,
        tenant,
        range: _,
    } = filter;
    UnknownFilter {
        route,
        tenant,
        last_answer: String::new(),
    }
    .href()
}

fn audit(filter: OverviewFilter) -> String {
    let OverviewFilter {
        route,
        tenant,
        range: _,
    } = filter;
    AuditFilter {
        route,
        tenant,
        before: String::new(),
    }
    .href()
}

fn stuck(filter: OverviewFilter) -> String {
    let OverviewFilter {
        route,
        tenant,
        range: _,
    } = filter;
    OperationFilter {
        standing: Some(Standing::Stuck),
        route,
        tenant,
        ..OperationFilter::default()
    }
    .href()
}

#[component]
fn Card(
    title: &'static str,
    calm: &'static str,
    test: &'static str,
    tone: &'static str,
    pick: fn(&Overview) -> Seen,
    link: fn(OverviewFilter) -> String,
    overview: Latest<Overview>,
    filter: Kept<OverviewFilter>,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let seen = move || overview.with(pick);
    let class = move || if seen().0 == 0 { "card" } else { tone };
    let note = move || match seen() {
        (0, _) => calm.to_owned(),
        (_, None) => "see which".to_owned(),
        (_, Some(at)) => format!("oldest {}", age::age(now.get().since(at))),
    };
    view! {
        <a class=move || class() href=move || link(filter.get())>
            <span class="what">{title}</span>
            <strong data-test=test data-value=move || seen().0.to_string()>
                {move || count(seen().0)}
            </strong>
            <span class="note">{move || note()}</span>
        </a>
    }
}
