//! The published partition of calls as numbers; their colours are the chart's legend.

use leptos::prelude::*;
use shared::wire::{Counts, Overview};

use crate::live::Latest;
use crate::view::number::{count, ratio};
use crate::view::series::Series;

/// All tiles.
#[component]
pub(crate) fn Numbers(
    /// The sums over the range.
    overview: Latest<Overview>,
) -> impl IntoView {
    let calls = move || overview.with(|overview| overview.totals.calls());
    let others = move || {
        let text = overview.with(|overview| others(&overview.totals));
        (!text.is_empty())
            .then(|| view! { <p class="others faint">"Other: " {text}</p> }.into_any())
    };
    view! {
        <dl class="numbers">
            <div class="tile whole" title="all calls: the sum of the others">
                <dt>"Calls"</dt>
                <dd data-test="metric-calls" data-value=move || calls().to_string()>
                    {move || count(calls())}
                </dd>
                <dd class="sub">
                    {move || format!("{} running now", count(overview.with(|overview| overview.live.running)))}
                </dd>
            </div>
            {Series::SHOWN.map(|series| view! { <Tile series overview/> }.into_any()).collect_view()}
        </dl>
        {move || others()}
    }
}

/// What the last series is made of; what is zero is left out.
fn others(counts: &Counts) -> String {
    let parts = [
        (
            counts.refused,
            "refused at the door (key missing or malformed, body too large)",
        ),
        (counts.expired, "with an expired key (410)"),
        (counts.unprotected, "passed on unprotected"),
        (counts.superseded, "of attempts that had been taken over"),
    ];
    let mut text = String::new();
    for (number, what) in parts.iter().filter(|(number, _)| *number > 0) {
        if !text.is_empty() {
            text.push_str(" · ");
        }
        text.push_str(&count(*number));
        text.push(' ');
        text.push_str(what);
    }
    text
}

#[component]
fn Tile(series: Series, overview: Latest<Overview>) -> impl IntoView {
    let ratio_test = matches!(series, Series::Replayed).then_some("metric-replay-ratio");
    let number = move || overview.with(|overview| series.of(&overview.totals));
    let part = move || ratio(number(), overview.with(|overview| overview.totals.calls()));
    view! {
        <div class="tile" class:zero=move || number() == 0 title=series.meaning()>
            <dt>
                <span class=series.swatch() aria-hidden="true"></span>
                {series.label()}
            </dt>
            <dd data-test=format!("metric-{}", series.name()) data-value=move || number().to_string()>
                {move || count(number())}
            </dd>
            <dd class="sub" data-test=ratio_test>{move || part()}</dd>
        </div>
    }
}
