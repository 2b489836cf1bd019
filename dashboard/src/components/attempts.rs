//! The attempts at the origin.

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::{Attempt, AttemptEnding, OperationDetail};

use super::table::{Head, table};
use crate::kept::Kept;
use crate::live::Latest;
use crate::view::number::plural;
use crate::view::{age, words};

const HEADS: [Head; 5] = [
    ("Attempt", "", ""),
    ("Ended", "", ""),
    ("Origin said", "num", ""),
    ("Started (UTC)", "", ""),
    ("Took", "num", ""),
];

/// The table.
#[component]
pub(crate) fn Attempts(
    /// Whose attempts are shown, oldest first.
    detail: Latest<OperationDetail>,
    /// What a running attempt's time is measured by.
    now: Signal<Timestamp>,
) -> impl IntoView {
    let attempts = Kept::new(move |_| detail.with(|detail| detail.attempts.clone()));
    let rows = move || {
        attempts.with(|attempts| {
            attempts
                .iter()
                .map(|attempt| row(attempt, now))
                .collect_view()
                .into_any()
        })
    };
    view! {
        {table("Attempts", "attempts-table", None, &HEADS, (move || Some(rows())).into_any())}
        {move || detail.with(missing)}
    }
}

/// That the first attempts are no longer kept. Their numbers do not tell: these also rise over records that are gone
/// (L4).
fn missing(detail: &OperationDetail) -> Option<AnyView> {
    let kept = u64::try_from(detail.attempts.len()).unwrap_or(u64::MAX);
    let earlier = u64::from(detail.row.attempts).saturating_sub(kept);
    (earlier > 0).then(|| {
        let earlier = plural(earlier, "earlier attempt is", "earlier attempts are");
        view! { <p class="faint">{earlier} " no longer kept."</p> }.into_any()
    })
}

fn row(attempt: &Attempt, now: Signal<Timestamp>) -> AnyView {
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
    let said = attempt
        .status
        .map_or_else(|| "–".to_owned(), |status| status.to_string());
    view! {
        <tr data-test="attempt-row">
            <th scope="row">{attempt.number.to_string()}</th>
            <td>
                <span class=tone>{words::ending(attempt.ending)}</span>
            </td>
            <td class="num">{said}</td>
            <td class="time">{age::moment(started)}</td>
            <td class="num">{move || took()}</td>
        </tr>
    }
    .into_any()
}
