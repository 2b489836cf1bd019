//! The list of operations, newest first.

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::OperationRow;

use super::state::StatePill;
use crate::view::filter::Standing;
use crate::view::number::count;
use crate::view::{age, link, words};

/// The table.
#[component]
pub(crate) fn OperationsTable(
    /// Its rows.
    #[prop(into)]
    rows: Signal<Vec<OperationRow>>,
    /// What ages are measured by.
    #[prop(into)]
    now: Signal<Timestamp>,
) -> impl IntoView {
    let ids = move || rows.with(|rows| rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>());
    view! {
        <div class="scroll" role="region" tabindex="0" aria-label="Operations">
            <table class="dense list" data-test="operations-table">
                <thead>
                    <tr>
                        <th scope="col">"Key or event id"</th>
                        <th scope="col">"State"</th>
                        <th scope="col" class="num">"Status"</th>
                        <th scope="col">"Route"</th>
                        <th scope="col">"Tenant"</th>
                        <th scope="col" class="num">"Attempts"</th>
                        <th scope="col">"In this state for"</th>
                        <th scope="col">"First seen (UTC)"</th>
                        <th scope="col">"Operation"</th>
                    </tr>
                </thead>
                <tbody>
                    <For each=ids key=Clone::clone let(id)>
                        <Row rows id now/>
                    </For>
                </tbody>
            </table>
        </div>
    }
}

/// A row keeps its place, and the focus in it, while its contents change.
#[component]
fn Row(rows: Signal<Vec<OperationRow>>, id: String, now: Signal<Timestamp>) -> impl IntoView {
    let href = link::operation(&id);
    let shown_id = id.clone();
    let row = Memo::new(move |earlier: Option<&Option<OperationRow>>| {
        rows.with(|rows| rows.iter().find(|row| row.id == id).cloned())
            .or_else(|| earlier.cloned().flatten())
    });
    let text = move |pick: fn(&OperationRow) -> String| {
        Memo::new(move |_| row.with(|row| row.as_ref().map(pick).unwrap_or_default()))
    };
    let key = text(|row| row.key.clone());
    let standing =
        Memo::new(move |_| row.with(|row| row.as_ref().map(|row| (row.state, row.stuck))));
    let alarming = move || {
        standing.get().is_some_and(|(state, stuck)| {
            matches!(
                Standing::of(state, stuck),
                Standing::Unknown | Standing::Stuck
            )
        })
    };
    let since = move || {
        row.with(|row| row.as_ref().map(|row| row.since))
            .map(|at| age::age(now.get().since(at)))
    };
    let tenant = text(|row| row.tenant.clone());
    let status = text(|row| {
        row.status
            .map_or_else(|| "–".to_owned(), |status| status.to_string())
    });
    view! {
        <tr data-test="operation-row" data-id=shown_id class:alarming=alarming>
            <th scope="row" class="key">
                <a href=href title=key>{key}</a>
            </th>
            <td>
                {move || standing.get().map(|(state, stuck)| view! { <StatePill state stuck/> })}
            </td>
            <td class="num">{status}</td>
            <td>
                {text(|row| row.route.clone())}
                <span class="faint kind">
                    {text(|row| match row.kind {
                        shared::wire::RouteKind::Api => String::new(),
                        shared::wire::RouteKind::Webhook => words::kind(row.kind).to_owned(),
                    })}
                </span>
            </td>
            <td class="name" title=tenant>{tenant}</td>
            <td class="num">{text(|row| count(u64::from(row.attempts)))}</td>
            <td class="time">{since}</td>
            <td class="time">{text(|row| age::moment(row.created_at))}</td>
            <td class="id" title=shown_id.clone()>{shown_id.clone()}</td>
        </tr>
    }
}
