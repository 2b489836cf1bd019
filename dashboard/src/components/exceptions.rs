//! The exceptions that routes take from the full promise (G), those past their time first and flagged.

use leptos::prelude::*;
use shared::wire::{Exception, Overview};

use super::table::{Head, table};
use crate::kept::Kept;
use crate::live::Latest;
use crate::view::age;
use crate::view::number::plural;

const HEADS: [Head; 4] = [
    ("Until", "", ""),
    ("Route", "", ""),
    ("Exception", "", ""),
    ("Reason", "", ""),
];

/// The list; nothing when there are none.
#[component]
pub(crate) fn Exceptions(
    /// Whose exceptions are shown.
    overview: Latest<Overview>,
) -> impl IntoView {
    let exceptions = Kept::new(move |_| overview.with(|overview| overview.exceptions.clone()));
    view! {
        {move || {
            let exceptions = exceptions.get();
            (!exceptions.is_empty()).then(|| panel(&exceptions))
        }}
    }
}

fn panel(exceptions: &[Exception]) -> AnyView {
    let (overdue, granted): (Vec<_>, Vec<_>) =
        exceptions.iter().partition(|exception| exception.overdue);
    let flag = (!overdue.is_empty()).then(|| {
        let number = u64::try_from(overdue.len()).unwrap_or(u64::MAX);
        let text = plural(number, "past its date", "past their dates");
        view! { <span class="pill warn" data-test="exceptions-overdue">{text}</span> }.into_any()
    });
    let rows: Vec<AnyView> = overdue.into_iter().chain(granted).map(row).collect();
    let rows = rows.into_any();
    view! {
        <section class="panel">
            <h2>"Exceptions from the full promise " {flag}</h2>
            {table("Exceptions", "exceptions", None, &HEADS, rows)}
        </section>
    }
    .into_any()
}

fn row(exception: &Exception) -> AnyView {
    let past = exception
        .overdue
        .then(|| view! { <span class="pill warn">"past"</span> }.into_any());
    view! {
        <tr>
            <td class="time">{age::date(exception.until)} " " {past}</td>
            <th scope="row">{exception.route.clone()}</th>
            <td>{exception.what.clone()}</td>
            <td class="prose">{exception.reason.clone()}</td>
        </tr>
    }
    .into_any()
}
