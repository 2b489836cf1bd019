//! The attempts at the origin.

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::{Attempt, AttemptEnding};

use crate::view::number::plural;
use crate::view::{age, words};

/// The table.
#[component]
pub(crate) fn Attempts(
    /// Oldest first.
    #[prop(into)]
    attempts: Signal<Vec<Attempt>>,
    /// What a running attempt's time is measured by.
    #[prop(into)]
    now: Signal<Timestamp>,
) -> impl IntoView {
    let missing = move || {
        let first = attempts.with(|attempts| attempts.first().map_or(1, |attempt| attempt.number));
        (first > 1).then(|| {
            let earlier = plural(first - 1, "earlier attempt is", "earlier attempts are");
            view! { <p class="faint">{format!("{earlier} no longer kept.")}</p> }
        })
    };
    view! {
        <div class="scroll" role="region" tabindex="0" aria-label="Attempts">
            <table class="dense" data-test="attempts-table">
                <thead>
                    <tr>
                        <th scope="col">"Attempt"</th>
                        <th scope="col">"Ended"</th>
                        <th scope="col" class="num">"Origin said"</th>
                        <th scope="col">"Started (UTC)"</th>
                        <th scope="col" class="num">"Took"</th>
                    </tr>
                </thead>
                <tbody>
                    {move || attempts.get().into_iter().map(|attempt| row(&attempt, now)).collect_view()}
                </tbody>
            </table>
        </div>
        {missing}
    }
}

fn row(attempt: &Attempt, now: Signal<Timestamp>) -> impl IntoView + use<> {
    let tone = match attempt.ending {
        AttemptEnding::Running => "pill busy",
        AttemptEnding::Completed => "pill good",
        AttemptEnding::Released => "pill",
        AttemptEnding::Unknown | AttemptEnding::LeaseRanOut => "pill bad",
    };
    let (started, ended) = (attempt.started_at, attempt.ended_at);
    let took = move || match ended {
        Some(at) => age::duration(at.since(started)),
        None => format!("{} so far", age::age(now.get().since(started))),
    };
    view! {
        <tr data-test="attempt-row">
            <th scope="row">{attempt.number}</th>
            <td><span class=tone>{words::ending(attempt.ending)}</span></td>
            <td class="num">{attempt.status.map_or_else(|| "–".to_owned(), |status| status.to_string())}</td>
            <td class="time">{age::moment(started)}</td>
            <td class="num">{took}</td>
        </tr>
    }
}
