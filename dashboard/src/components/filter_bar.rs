//! The filters of the operations list. The search is in the header.

use leptos::prelude::*;

use super::field::{Choice, Moment};
use crate::app::Names;
use crate::kept::Kept;
use crate::view::filter::{OperationFilter, Standing};
use crate::view::{link, words};

/// The filters.
#[component]
pub(crate) fn FilterBar(
    /// What is chosen.
    filter: Kept<OperationFilter>,
    /// What can be chosen.
    names: Signal<Names>,
    /// Called with a new choice.
    choose: Callback<OperationFilter>,
) -> impl IntoView {
    let change = move |edit: &dyn Fn(&mut OperationFilter)| {
        let mut changed = filter.get_untracked().first_page();
        edit(&mut changed);
        choose.run(changed);
    };
    let standings = Standing::ALL.map(|standing| standing.name().to_owned());
    let standing = move || {
        filter.with(|filter| {
            filter
                .standing
                .map(Standing::name)
                .unwrap_or_default()
                .to_owned()
        })
    };
    view! {
        <div class="filters" role="group" aria-label="Filters">
            <Choice
                label="State"
                test="filter-state"
                all="Any state"
                options=Signal::stored(standings.to_vec())
                label_of=standing_label
                value=Signal::derive(standing)
                choose=Callback::new(move |chosen: String| {
                    change(&|filter| filter.standing = Standing::parse(&chosen));
                })
            />
            <Choice
                label="Route"
                test="filter-route"
                all="All routes"
                options=Signal::derive(move || names.get().routes)
                value=Signal::derive(move || filter.get().route)
                choose=Callback::new(move |chosen: String| {
                    change(&|filter| filter.route.clone_from(&chosen));
                })
            />
            <Choice
                label="Tenant"
                test="filter-tenant"
                all="All tenants"
                options=Signal::derive(move || names.get().tenants)
                value=Signal::derive(move || filter.get().tenant)
                choose=Callback::new(move |chosen: String| {
                    change(&|filter| filter.tenant.clone_from(&chosen));
                })
            />
            <Moment
                label="First seen from (UTC)"
                test="filter-from"
                value=Signal::derive(move || filter.get().from)
                choose=Callback::new(move |chosen| change(&|filter| filter.from = chosen))
            />
            <Moment
                label="before (UTC)"
                test="filter-to"
                value=Signal::derive(move || filter.get().to)
                choose=Callback::new(move |chosen| change(&|filter| filter.to = chosen))
            />
            {move || filter.with(OperationFilter::narrows).then(clear)}
        </div>
    }
}

fn clear() -> AnyView {
    view! {
        <a class="button" href=link::OPERATIONS data-test="filter-clear">"Clear all"</a>
    }
    .into_any()
}

fn standing_label(name: &str) -> &str {
    match Standing::parse(name) {
        Some(standing) => words::standing(standing),
        None => name,
    }
}
