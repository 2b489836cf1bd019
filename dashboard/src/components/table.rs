//! The frame of every table: it scrolls by itself, also by keyboard, and has a name.

use leptos::prelude::*;

/// A column's heading, its class and its meaning; the latter two may be empty.
pub(crate) type Head = (&'static str, &'static str, &'static str);

/// The frame around `rows`; `first` stands before the headings.
pub(crate) fn table(
    name: &'static str,
    test: &'static str,
    first: Option<AnyView>,
    heads: &[Head],
    rows: AnyView,
) -> AnyView {
    let heads: Vec<AnyView> = heads.iter().map(head).collect();
    view! {
        <div class="scroll" role="region" tabindex="0" aria-label=name>
            <table data-test=test>
                <thead>
                    <tr>{first} {heads}</tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn head((label, class, meaning): &Head) -> AnyView {
    let meaning = (!meaning.is_empty()).then_some(*meaning);
    view! { <th scope="col" class=*class title=meaning>{*label}</th> }.into_any()
}
