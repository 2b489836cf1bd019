//! The exceptions that routes take from the full promise (G), those past their time first and flagged.

use leptos::prelude::*;
use shared::wire::Exception;

use crate::view::age;
use crate::view::number::plural;

/// The list; nothing when there are none.
#[component]
pub(crate) fn Exceptions(
    /// All of them.
    #[prop(into)]
    exceptions: Signal<Vec<Exception>>,
) -> impl IntoView {
    let sorted = Memo::new(move |_| {
        let mut sorted = exceptions.get();
        sorted.sort_by_key(|exception| (!exception.overdue, exception.until));
        sorted
    });
    let overdue = Memo::new(move |_| {
        sorted.with(|sorted| sorted.iter().filter(|exception| exception.overdue).count())
    });
    let flag = move || {
        let overdue = u64::try_from(overdue.get()).unwrap_or(u64::MAX);
        (overdue > 0).then(|| {
            view! {
                <span class="pill warn" data-test="exceptions-overdue">
                    {plural(overdue, "past its date", "past their dates")}
                </span>
            }
        })
    };
    view! {
        <Show when=move || !sorted.with(Vec::is_empty)>
            <section class="panel">
                <h2 id="exceptions">"Exceptions from the full promise " {flag}</h2>
                <div class="scroll" role="region" tabindex="0" aria-labelledby="exceptions">
                    <table class="dense" data-test="exceptions">
                        <thead>
                            <tr>
                                <th scope="col">"Until"</th>
                                <th scope="col">"Route"</th>
                                <th scope="col">"Exception"</th>
                                <th scope="col">"Reason"</th>
                            </tr>
                        </thead>
                        <tbody>
                            {move || sorted.get().into_iter().map(row).collect_view()}
                        </tbody>
                    </table>
                </div>
            </section>
        </Show>
    }
}

fn row(exception: Exception) -> impl IntoView {
    view! {
        <tr>
            <td class="time">
                {age::date(exception.until)}
                {exception.overdue.then(|| view! { " " <span class="pill warn">"past"</span> })}
            </td>
            <th scope="row">{exception.route}</th>
            <td>{exception.what}</td>
            <td class="prose">{exception.reason}</td>
        </tr>
    }
}
