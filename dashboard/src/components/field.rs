//! Labelled fields of the filters.

use std::sync::Arc;

use leptos::prelude::*;
use shared::time::Timestamp;

use super::keyed::Keyed;
use crate::app::Names;
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
    /// The values.
    options: Signal<Vec<String>>,
    /// What a value is called; itself, if nothing else is said.
    #[prop(default = |name| name)]
    label_of: fn(&str) -> &str,
    /// The chosen value; empty for all.
    value: Signal<String>,
    /// Called with a new choice.
    choose: Callback<String>,
) -> impl IntoView {
    // A value from the address stays choosable before the names are known, and when its name is gone.
    let offered = Signal::derive(move || {
        let mut offered: Vec<String> = options.get();
        let value = value.get();
        if !offered.contains(&value) && !value.is_empty() {
            offered.push(value);
        }
        offered.insert(0, String::new());
        offered
    });
    let item = Arc::new(move |name: &str| {
        let shown = if name.is_empty() {
            all.to_owned()
        } else {
            label_of(name).to_owned()
        };
        let this = name.to_owned();
        let chosen = move || value.with(|value| *value == this);
        view! {
            <option value=name.to_owned() prop:selected=move || chosen()>
                {shown}
            </option>
        }
        .into_any()
    });
    view! {
        <label class="field">
            <span>{label}</span>
            <select data-test=test on:change=move |event| choose.run(event_target_value(&event))>
                <Keyed names=offered item/>
            </select>
        </label>
    }
}

/// The choice of a route and of a tenant, which most pages have.
#[component]
pub(crate) fn RouteAndTenant(
    /// What can be chosen.
    names: Signal<Names>,
    /// The chosen route; empty for all.
    route: Signal<String>,
    /// The chosen tenant; empty for all.
    tenant: Signal<String>,
    /// Called with a new choice of both.
    choose: Callback<(String, String)>,
) -> impl IntoView {
    view! {
        <div class="narrow" role="group" aria-label="Filters">
            <Choice
                label="Route"
                test="filter-route"
                all="All routes"
                options=Signal::derive(move || names.get().routes)
                value=route
                choose=Callback::new(move |route| choose.run((route, tenant.get_untracked())))
            />
            <Choice
                label="Tenant"
                test="filter-tenant"
                all="All tenants"
                options=Signal::derive(move || names.get().tenants)
                value=tenant
                choose=Callback::new(move |tenant| choose.run((route.get_untracked(), tenant)))
            />
        </div>
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
