//! The published partition of calls as numbers; their colours are the chart's legend.

use leptos::prelude::*;
use shared::wire::{Counts, Live};

use crate::view::number::{count, ratio};
use crate::view::series::Series;

/// The order on the page: the same as the stack's, but what needs a look before the rest.
const SHOWN: [Series; 8] = [
    Series::Applied,
    Series::Replayed,
    Series::Conflicts,
    Series::Mismatches,
    Series::Failed,
    Series::Released,
    Series::Unknown,
    Series::Other,
];

/// All tiles.
#[component]
pub(crate) fn Numbers(
    /// The sums over the range.
    #[prop(into)]
    counts: Signal<Counts>,
    /// Live state.
    #[prop(into)]
    live: Signal<Live>,
) -> impl IntoView {
    let calls = Memo::new(move |_| counts.get().calls());
    let tiles = SHOWN.map(|series| {
        let number = Memo::new(move |_| series.of(&counts.get()));
        view! { <Tile series number calls/> }
    });
    view! {
        <dl class="numbers">
            <div class="tile whole" title="all calls: the sum of the others">
                <dt>"Calls"</dt>
                <dd data-test="metric-calls" data-value=calls>{move || count(calls.get())}</dd>
                <dd class="sub">
                    {move || format!("{} running now", count(live.get().running))}
                </dd>
            </div>
            {tiles.collect_view()}
        </dl>
        <Show when=move || Series::Other.of(&counts.get()) != 0>
            <p class="others faint">"Other: " {move || others(&counts.get())}</p>
        </Show>
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
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts
        .map(|(number, what)| format!("{} {what}", count(*number)))
        .collect();
    parts.join(" · ")
}

#[component]
fn Tile(series: Series, number: Memo<u64>, calls: Memo<u64>) -> impl IntoView {
    let ratio_test = matches!(series, Series::Replayed).then_some("metric-replay-ratio");
    view! {
        <div class="tile" class:zero=move || number.get() == 0 title=series.meaning()>
            <dt>
                <span class=format!("swatch c-{}", series.name()) aria-hidden="true"></span>
                {series.label()}
            </dt>
            <dd data-test=format!("metric-{}", series.name()) data-value=number>
                {move || count(number.get())}
            </dd>
            <dd class="sub" data-test=ratio_test>{move || ratio(number.get(), calls.get())}</dd>
        </div>
    }
}
