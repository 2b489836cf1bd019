//! A list whose items keep their place in the page while what they show changes.
//!
//! Leptos' own `For` with all types fixed: items are named by text, so that the browser downloads its code once.

use std::sync::Arc;

use leptos::prelude::*;

/// Draws the item of a name, once; the item follows its data itself.
pub(crate) type Item = Arc<dyn Fn(&str) -> AnyView + Send + Sync>;

/// The list.
#[component]
pub(crate) fn Keyed(
    /// The items' names, each once, in their order.
    names: Signal<Vec<String>>,
    /// Draws one.
    item: Item,
) -> impl IntoView {
    view! {
        <For each=move || names.get() key=Clone::clone let(name)>
            {item(&name)}
        </For>
    }
}
