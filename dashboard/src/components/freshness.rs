//! How old the shown numbers are, and a warning when they stopped coming.

use leptos::prelude::*;
use shared::time::Millis;

use crate::api::Failure;
use crate::app::Announcer;
use crate::view::number::plural;
use crate::view::{age, words};

/// `updated 2 s ago`. Not announced: it changes every second.
#[component]
pub(crate) fn Updated(
    /// The answer's age, once there is one.
    #[prop(into)]
    age: Signal<Option<Millis>>,
    /// Why the latest question failed.
    #[prop(into)]
    failure: Signal<Option<Failure>>,
) -> impl IntoView {
    let text = move || {
        age.get()
            .map(|span| format!("updated {} ago", age::age(span)))
    };
    view! {
        <span class="updated" class:stale=move || failure.with(Option::is_some) data-test="updated">
            {text}
        </span>
    }
}

/// The numbers below are old, and why.
#[component]
pub(crate) fn Stale(
    /// Why the latest question failed.
    failure: Failure,
    /// The shown answer's age.
    #[prop(into)]
    age: Signal<Option<Millis>>,
    /// Called to ask again.
    retry: Callback<()>,
) -> impl IntoView {
    let old = move || age.get().map(age::age).unwrap_or_default();
    let why = format!(
        "{}: {}",
        failure.title(),
        words::sentence(&failure.detail())
    );
    // The notice counts seconds, so it is no live region itself.
    let announcer: Announcer = expect_context();
    announcer.say(&format!("Not updating. {why}"));
    on_cleanup(move || announcer.say("Updating again."));
    view! {
        <div class="notice warn" data-test="stale">
            <p>
                <strong>"Not updating. "</strong>
                {why}
                " What you see is "
                {old}
                " old."
            </p>
            <button type="button" on:click=move |_| retry.run(())>"Try again now"</button>
        </div>
    }
}

/// Some objects did not answer.
#[component]
pub(crate) fn Silent(
    /// How many.
    #[prop(into)]
    objects: Signal<u32>,
    /// What is missing because of it.
    missing: &'static str,
) -> impl IntoView {
    view! {
        <Show when=move || objects.get() != 0>
            <div class="notice warn" data-test="objects-silent">
                <p>
                    <strong>
                        {move || plural(u64::from(objects.get()), "object", "objects")}
                        " did not answer. "
                    </strong>
                    {missing}
                </p>
            </div>
        </Show>
    }
}
