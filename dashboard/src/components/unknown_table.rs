//! The unknown outcomes, longest unknown first, each to be chosen.
//!
//! While something is chosen the list stands still: what is settled meanwhile stays in its place, marked, and what is
//! new comes at the end, so that no row moves away from under a hand.

use std::sync::Arc;

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::{NextStep, OperationRow, UnknownPage, UnknownRow};

use super::keyed::Keyed;
use super::selection::Selection;
use super::table::{Head, table};
use crate::kept::Kept;
use crate::live::Latest;
use crate::view::number::plural;
use crate::view::{age, link, words};

const HEADS: [Head; 6] = [
    ("Key or event id", "", ""),
    ("For", "", "how long nobody has known"),
    ("The origin last said", "", ""),
    ("Tried", "", ""),
    ("What happens next", "", ""),
    (
        "Point and reference",
        "",
        "how far the origin said it came, and its own name for what it made",
    ),
];

/// The ids of the rows, in their order.
pub(crate) fn rows(page: Latest<UnknownPage>, selection: Selection) -> Kept<Vec<String>> {
    Kept::new(move |shown: Option<&Vec<String>>| {
        let fresh: Vec<String> =
            page.with(|page| page.operations.iter().map(|row| row.id.clone()).collect());
        match shown {
            Some(shown) if selection.len() > 0 => {
                let mut rows = shown.clone();
                rows.extend(fresh.into_iter().filter(|id| !shown.contains(id)));
                rows
            }
            Some(_) | None => fresh,
        }
    })
}

/// The table.
#[component]
pub(crate) fn UnknownTable(
    /// Whose operations are shown.
    page: Latest<UnknownPage>,
    /// The ids of the rows.
    rows: Kept<Vec<String>>,
    /// What is chosen.
    selection: Selection,
    /// What ages are measured by.
    now: Signal<Timestamp>,
) -> impl IntoView {
    let item = Arc::new(move |id: &str| {
        let id = id.to_owned();
        view! { <Row page id selection now/> }.into_any()
    });
    let all = Kept::new(move |_| rows.with(|rows| rows.iter().all(|id| selection.has(id))));
    let some = move || !all.get() && selection.len() > 0;
    let choose_all = move |_| {
        selection.set(if all.get_untracked() {
            Vec::new()
        } else {
            rows.get_untracked()
        });
    };
    let first = view! {
        <td class="pick">
            <label>
                <input
                    type="checkbox"
                    aria-label="Choose all shown"
                    data-test="choose-all"
                    prop:checked=move || all.get()
                    prop:indeterminate=move || some()
                    on:change=choose_all
                />
            </label>
        </td>
    };
    let keyed = view! { <Keyed names=rows.into() item/> };
    let first = Some(first.into_any());
    table(
        "Unknown outcomes",
        "unknown-table",
        first,
        &HEADS,
        keyed.into_any(),
    )
}

/// A row keeps its place, and what was last known, while it is shown.
#[component]
fn Row(
    page: Latest<UnknownPage>,
    id: String,
    selection: Selection,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let href = link::operation(&id);
    let found = {
        let id = id.clone();
        Kept::new(move |_| {
            page.with(|page| page.operations.iter().find(|row| row.id == id).cloned())
        })
    };
    let row = Kept::new(move |before: Option<&Option<OperationRow>>| {
        found.get().or_else(|| before.cloned().flatten())
    });
    let left = Kept::new(move |_| found.with(Option::is_none));
    let text = move |pick: fn(&OperationRow) -> String| {
        row.with(|row| row.as_ref().map(pick).unwrap_or_default())
    };
    let said = move |pick: fn(&UnknownRow) -> String| {
        row.with(|row| {
            let unknown = row.as_ref().and_then(|row| row.unknown.as_ref());
            unknown.map(pick).unwrap_or_default()
        })
    };
    let since = move || {
        let since = row.with(|row| row.as_ref().map(|row| row.since));
        since
            .map(|at| age::age(now.get().since(at)))
            .unwrap_or_default()
    };
    let unknown = move || row.with(|row| row.as_ref().and_then(|row| row.unknown.clone()));
    let next = move || match unknown() {
        _ if left.get() => "No longer in this list".to_owned(),
        Some(unknown) => words::next_step(&unknown, now.get()),
        None => String::new(),
    };
    let alone =
        move || !left.get() && unknown().is_some_and(|unknown| unknown.next == NextStep::Person);
    let key = move || text(|row| row.key.clone());
    let choose = {
        let id = id.clone();
        move |_| selection.toggle(&id)
    };
    let shown_id = id.clone();
    let chosen = Kept::new(move |_| selection.has(&id));
    view! {
        <tr
            data-test="unknown-row"
            data-id=shown_id
            class:chosen=move || chosen.get()
            class:left=move || left.get()
            class:alarming=move || alone()
        >
            <td class="pick">
                <label>
                    <input
                        type="checkbox"
                        aria-label=move || format!("Choose {}", key())
                        data-test="choose"
                        prop:checked=move || chosen.get()
                        on:change=choose
                    />
                </label>
            </td>
            <th scope="row" class="key">
                <a href=href title=move || key()>{move || key()}</a>
                <span class="under">
                    {move || text(|row| format!("{} · {}", row.route, row.tenant))}
                </span>
            </th>
            <td class="time">{move || since()}</td>
            <td class="prose">
                <b data-test="last-answer">
                    {move || said(|unknown| words::last_answer(&unknown.last_answer).to_owned())}
                </b>
                <span class="under">{move || said(|unknown| unknown.why.clone())}</span>
            </td>
            <td>
                {move || text(|row| plural(u64::from(row.attempts), "attempt", "attempts"))}
                <span class="under">{move || said(tries)}</span>
            </td>
            <td class="next">{move || next()}</td>
            <td class="name">
                {move || said(|unknown| unknown.point.clone().unwrap_or_default())}
                <span class="under">
                    {move || said(|unknown| unknown.reference.clone().unwrap_or_default())}
                </span>
            </td>
        </tr>
    }
}

fn tries(unknown: &UnknownRow) -> String {
    match unknown.tries {
        0 => String::new(),
        tries => format!("resolver {tries} ×"),
    }
}
