//! The list of operations, newest first.

use std::sync::Arc;

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::{OperationPage, OperationRow, RouteKind};

use super::keyed::Keyed;
use super::state::StatePill;
use super::table::{Head, table};
use crate::kept::Kept;
use crate::live::Latest;
use crate::view::filter::Standing;
use crate::view::number::count;
use crate::view::{age, link, words};

const HEADS: [Head; 9] = [
    ("Key or event id", "", ""),
    ("State", "", ""),
    ("For", "", "how long in this state"),
    ("Status", "num", ""),
    ("Route", "", ""),
    ("Tenant", "", ""),
    ("Attempts", "num", ""),
    ("First seen (UTC)", "", ""),
    ("Operation", "", ""),
];

/// The table.
#[component]
pub(crate) fn OperationsTable(
    /// Whose operations are shown.
    page: Latest<OperationPage>,
    /// What ages are measured by.
    now: Signal<Timestamp>,
) -> impl IntoView {
    let ids = Signal::derive(move || {
        page.with(|page| page.operations.iter().map(|row| row.id.clone()).collect())
    });
    let item = Arc::new(move |id: &str| {
        let id = id.to_owned();
        view! { <Row page id now/> }.into_any()
    });
    let rows = view! { <Keyed names=ids item/> };
    table(
        "Operations",
        "operations-table",
        None,
        &HEADS,
        rows.into_any(),
    )
}

/// A row keeps its place, and the focus in it, while its contents change.
#[component]
fn Row(page: Latest<OperationPage>, id: String, now: Signal<Timestamp>) -> impl IntoView {
    let href = link::operation(&id);
    let shown_id = id.clone();
    let row = Kept::new(move |_| {
        page.with(|page| page.operations.iter().find(|row| row.id == id).cloned())
    });
    let text = move |pick: fn(&OperationRow) -> String| {
        row.with(|row| row.as_ref().map(pick).unwrap_or_default())
    };
    let standing = Kept::new(move |_| {
        row.with(|row| row.as_ref().map(|row| Standing::of(row.state, row.stuck)))
    });
    let alarming = move || matches!(standing.get(), Some(Standing::Unknown | Standing::Stuck));
    let since = move || {
        let since = row.with(|row| row.as_ref().map(|row| row.since));
        since
            .map(|at| age::age(now.get().since(at)))
            .unwrap_or_default()
    };
    let key = move || text(|row| row.key.clone());
    let tenant = move || text(|row| row.tenant.clone());
    view! {
        <tr data-test="operation-row" data-id=shown_id.clone() class:alarming=move || alarming()>
            <th scope="row" class="key">
                <a href=href title=move || key()>{move || key()}</a>
            </th>
            <td>
                <StatePill standing/>
            </td>
            <td class="time">{move || since()}</td>
            <td class="num">{move || text(status)}</td>
            <td>
                {move || text(|row| row.route.clone())}
                <span class="faint kind">{move || text(kind)}</span>
            </td>
            <td class="name" title=move || tenant()>{move || tenant()}</td>
            <td class="num">{move || text(|row| count(u64::from(row.attempts)))}</td>
            <td class="time">{move || text(|row| age::moment(row.created_at))}</td>
            <td class="id" title=shown_id.clone()>{shown_id.clone()}</td>
        </tr>
    }
}

fn status(row: &OperationRow) -> String {
    row.status
        .map_or_else(|| "–".to_owned(), |status| status.to_string())
}

/// Most are API requests: only the others are named.
fn kind(row: &OperationRow) -> String {
    match row.kind {
        RouteKind::Api => String::new(),
        RouteKind::Webhook => words::kind(row.kind).to_owned(),
    }
}
