//! How old the shown numbers are, and a warning when they stopped coming.

use leptos::prelude::*;
use shared::time::Millis;

use crate::api::Failure;
use crate::app::Announcer;
use crate::live::Poll;
use crate::view::number::plural;
use crate::view::{age, words};

/// `updated 2 s ago`. Not announced: it changes every second.
#[component]
pub(crate) fn Updated(
    /// The asking.
    poll: Poll,
) -> impl IntoView {
    view! {
        <span class="updated" class:stale=move || poll.failure().is_some() data-test="updated">
            {move || poll.age().map(|span| format!("updated {} ago", age::age(span))).unwrap_or_default()}
        </span>
    }
}

/// The numbers below are old, and why.
#[component]
pub(crate) fn Stale(
    /// Why the latest question failed.
    failure: Failure,
    /// The shown answer's age.
    age: Signal<Option<Millis>>,
    /// Called to ask again.
    retry: Callback<()>,
) -> impl IntoView {
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
                {move || age.get().map(age::age).unwrap_or_default()}
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
    objects: Signal<u64>,
    /// What is missing because of it.
    missing: &'static str,
) -> impl IntoView {
    let notice = move || {
        let who = plural(objects.get(), "object", "objects");
        view! {
            <div class="notice warn" data-test="objects-silent">
                <p>
                    <strong>{who} " did not answer. "</strong>
                    {missing}
                </p>
            </div>
        }
        .into_any()
    };
    view! { {move || (objects.get() != 0).then(notice)} }
}
