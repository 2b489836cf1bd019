//! The audit log: who settled what and why, and what came too late. Contradictions are told in words and by a sign.

use leptos::prelude::*;
use shared::wire::AuditEntry;

use super::icon;
use super::table::{Head, table};
use crate::kept::Kept;
use crate::view::{age, link, words};

const HEADS: [Head; 5] = [
    ("When (UTC)", "", ""),
    ("What and by whom", "", ""),
    ("Reason", "", ""),
    ("Before → after", "", ""),
    ("Operation", "", ""),
];

/// Whose log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Log {
    /// Everybody's: each entry names its operation.
    Whole,
    /// One operation's.
    OneOperation,
}

/// The table.
#[component]
pub(crate) fn AuditTable(
    /// What is shown, in its order.
    entries: Kept<Vec<AuditEntry>>,
    /// Whose it is.
    log: Log,
) -> impl IntoView {
    let rows = move || {
        entries.with(|entries| {
            let rows = entries.iter().map(|entry| row(entry, log));
            rows.collect_view().into_any()
        })
    };
    let heads = match log {
        Log::Whole => &HEADS[..],
        Log::OneOperation => &HEADS[..HEADS.len() - 1],
    };
    let rows = (move || Some(rows())).into_any();
    table("Audit log", "audit-table", None, heads, rows)
}

fn row(entry: &AuditEntry, log: Log) -> AnyView {
    let operation = (log == Log::Whole).then(|| {
        view! {
            <td class="key">
                <a href=link::operation(&entry.operation) title=entry.key.clone()>{entry.key.clone()}</a>
                <span class="under">{format!("{} · {}", entry.route, entry.tenant)}</span>
            </td>
        }
        .into_any()
    });
    let contradicts = entry.contradicts.then(|| {
        view! {
            <span class="pill bad" data-test="contradicts">
                {icon::warning()} "Contradicts what was settled"
            </span>
        }
        .into_any()
    });
    let class = if entry.contradicts { "alarming" } else { "" };
    view! {
        <tr class=class data-test="audit-row" data-id=entry.operation.clone() data-value=entry.act.clone()>
            <td class="time">{age::moment(entry.at)}</td>
            <th scope="row">
                {words::act(entry)}
                <span class="under">"by " {words::who(&entry.who).to_owned()}</span>
                {contradicts}
            </th>
            <td class="prose">{entry.reason.clone()}</td>
            <td class="prose wide">
                <span class="under">{entry.before.clone()}</span>
                "→ "
                {entry.after.clone()}
            </td>
            {operation}
        </tr>
    }
    .into_any()
}
