//! Labelled fields of the filters.

use leptos::prelude::*;
use shared::time::Timestamp;

use crate::view::age;

/// A choice among names that are known while the page lives.
#[component]
pub(crate) fn Choice(
    /// What is chosen.
    label: &'static str,
    /// The hook for tests, and the field's id.
    test: &'static str,
    /// The entry that leaves all in.
    all: &'static str,
    /// Values with their labels.
    options: Signal<Vec<(String, String)>>,
    /// The chosen value; empty for all.
    value: Signal<String>,
    /// Called with a new choice.
    choose: Callback<String>,
) -> impl IntoView {
    // A value from the address stays choosable before the names are known, and when its name is gone.
    let offered = move || {
        let mut offered = options.get();
        let value = value.get();
        if !value.is_empty() && !offered.iter().any(|(known, _)| *known == value) {
            offered.push((value.clone(), value));
        }
        offered.insert(0, (String::new(), all.to_owned()));
        offered
    };
    view! {
        <label class="field">
            <span>{label}</span>
            <select data-test=test on:change=move |event| choose.run(event_target_value(&event))>
                <For each=offered key=Clone::clone let((name, shown))>
                    <Choosable name shown value/>
                </For>
            </select>
        </label>
    }
}

#[component]
fn Choosable(name: String, shown: String, value: Signal<String>) -> impl IntoView {
    let this = name.clone();
    view! {
        <option value=name prop:selected=move || value.with(|value| *value == this)>
            {shown}
        </option>
    }
}

/// A moment in UTC.
#[component]
pub(crate) fn Moment(
    /// Which moment.
    label: &'static str,
    /// The hook for tests.
    test: &'static str,
    /// The chosen moment.
    value: Signal<Option<Timestamp>>,
    /// Called with a new choice.
    choose: Callback<Option<Timestamp>>,
) -> impl IntoView {
    let shown = move || value.get().map(age::to_field).unwrap_or_default();
    view! {
        <label class="field">
            <span>{label}</span>
            <input
                type="datetime-local"
                step="1"
                data-test=test
                prop:value=move || shown()
                on:change=move |event| choose.run(age::from_field(&event_target_value(&event)))
            />
        </label>
    }
}
