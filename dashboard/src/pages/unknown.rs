//! The outcomes that nobody knows: how long, why, what the origin last said, what was tried, and settling them by hand.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use shared::time::Timestamp;
use shared::wire::{Role, SettleAs, UnknownPage as Page};

use crate::app::{names_to_choose, use_go, use_role};
use crate::components::field::RouteAndTenant;
use crate::components::freshness::{Silent, Updated};
use crate::components::living::Living;
use crate::components::selection::Selection;
use crate::components::settle::{Opened, SettleButtons, SettleDialog};
use crate::components::unknown_table::{UnknownTable, rows};
use crate::kept::Kept;
use crate::live::{Dated, Latest, use_live};
use crate::pages::settling::{Settling, use_settling};
use crate::view::filter::UnknownFilter;
use crate::view::number::{count, plural};
use crate::view::settle::{Chosen, all_that_match};
use crate::view::{link, words};
use crate::{api, browser};

impl Dated for Page {
    fn gateway_now(&self) -> Option<Timestamp> {
        self.now
    }
}

/// The page.
#[component]
pub(crate) fn UnknownPage() -> impl IntoView {
    browser::set_title("Unknown outcomes · Oncegate");
    let query = use_query_map();
    let filter =
        Kept::new(move |_| query.with(|query| UnknownFilter::read(|name| query.get(name))));
    let (poll, page) = use_live(Kept::new(move |_| filter.with(api::unknown)));
    let go = use_go();
    let selection = Selection::new();
    // What was chosen in another list is not meant in this one.
    Effect::new(move |earlier: Option<()>| {
        filter.track();
        if earlier.is_some() {
            selection.set(Vec::new());
        }
    });
    let settling = use_settling(
        poll,
        Callback::new(move |settled: Vec<String>| selection.drop(&settled)),
    );
    let now = poll.now();
    let ready =
        Arc::new(move || view! { <Content page filter selection settling now/> }.into_any());
    let Settling {
        opened,
        stage,
        send,
        ..
    } = settling;
    view! {
        <div class="head">
            <h1>"Unknown outcomes"</h1>
            <RouteAndTenant
                names=names_to_choose()
                route=Signal::derive(move || filter.get().route)
                tenant=Signal::derive(move || filter.get().tenant)
                choose=Callback::new(move |(route, tenant)| {
                    go.run(UnknownFilter { route, tenant, ..filter.get_untracked() }.href());
                })
            />
            <Updated poll/>
        </div>
        <Living poll ready/>
        <SettleDialog opened stage send/>
    }
}

#[component]
fn Content(
    page: Latest<Page>,
    filter: Kept<UnknownFilter>,
    selection: Selection,
    settling: Settling,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let rows = rows(page, selection);
    let empty = Kept::new(move |_| rows.with(Vec::is_empty));
    let silent = Signal::derive(move || page.with(|page| u64::from(page.objects_silent)));
    let role = use_role();
    let may_settle = Signal::derive(move || role.get() == Some(Role::Operator));
    let list = move || {
        if empty.get() {
            let all = filter.with(|filter| *filter == UnknownFilter::default());
            return nothing(all);
        }
        view! {
            // One block, within which the bar can stay in sight.
            <div class="acting" class:viewing=move || !may_settle.get()>
                <Bar page filter rows selection settling may_settle/>
                <UnknownTable page rows selection now/>
            </div>
        }
        .into_any()
    };
    view! {
        <Silent objects=silent missing="Their operations are missing from the list."/>
        <Groups page filter/>
        {move || list()}
    }
}

fn nothing(all: bool) -> AnyView {
    let (title, more) = if all {
        (
            "Every outcome is known",
            "Nothing here waits for anybody.".into_any(),
        )
    } else {
        let show_all = view! {
            "There may be others: "
            <a href=link::UNKNOWN>"show all unknown outcomes"</a>
            "."
        };
        ("No unknown outcome matches", show_all.into_any())
    };
    view! {
        <section class="empty" data-test="state-empty">
            <h2>{title}</h2>
            <p>{more}</p>
        </section>
    }
    .into_any()
}

/// What the origin last said, each with how many there are of it.
#[component]
fn Groups(page: Latest<Page>, filter: Kept<UnknownFilter>) -> impl IntoView {
    let groups = Kept::new(move |_| {
        page.with(|page| {
            let mut groups: Vec<(String, u64)> = page
                .groups
                .iter()
                .map(|group| (group.last_answer.clone(), group.count))
                .collect();
            let all = groups.iter().map(|(_, count)| count).sum();
            groups.insert(0, (String::new(), all));
            groups
        })
    });
    let chips = move || {
        groups.with(|groups| {
            let chips = groups
                .iter()
                .map(|(answer, number)| chip(answer, *number, filter));
            chips.collect_view().into_any()
        })
    };
    view! {
        <nav class="chips" aria-label="What the origin last said">{move || Some(chips())}</nav>
    }
}

fn chip(answer: &str, number: u64, filter: Kept<UnknownFilter>) -> AnyView {
    let label = if answer.is_empty() {
        "All"
    } else {
        words::last_answer(answer)
    };
    let this = answer.to_owned();
    let current = move || filter.with(|filter| filter.last_answer == this);
    let last_answer = answer.to_owned();
    let href = move || {
        let last_answer = last_answer.clone();
        UnknownFilter {
            last_answer,
            ..filter.get()
        }
        .href()
    };
    view! {
        <a
            href=move || href()
            aria-current=move || current().then_some("true")
            data-noscroll=""
            data-test="group"
            data-value=answer.to_owned()
        >
            {label.to_owned()}
            " "
            <b>{count(number)}</b>
        </a>
    }
    .into_any()
}

/// What is chosen, and what can be done with it.
#[component]
fn Bar(
    page: Latest<Page>,
    filter: Kept<UnknownFilter>,
    rows: Kept<Vec<String>>,
    selection: Selection,
    settling: Settling,
    may_settle: Signal<bool>,
) -> impl IntoView {
    let role = use_role();
    let total = Kept::new(move |_| page.with(|page| page.total));
    let listed = move || rows.with(|rows| u64::try_from(rows.len()).unwrap_or(u64::MAX));
    // The list is as long as it may be, all of it is chosen, and more match.
    let offers_more = Kept::new(move |_| {
        let all = rows.with(|rows| rows.iter().all(|id| selection.has(id)));
        let matching = filter.with(UnknownFilter::matching)?;
        let more = total.get() > listed() && all && !selection.is_beyond();
        more.then(|| all_that_match(&matching, total.get()))
    });
    let subject = move || {
        if selection.is_beyond()
            && let Some(matching) = filter.with(UnknownFilter::matching)
        {
            let words = all_that_match(&matching, total.get());
            return (Chosen::Matching(matching), words);
        }
        let ids = selection.ids();
        let words = if let [one] = &*ids {
            key_of(page, one)
        } else {
            let many = u64::try_from(ids.len()).unwrap_or(u64::MAX);
            plural(many, "operation", "operations")
        };
        (Chosen::These(ids), words)
    };
    let chosen = move || match (selection.len(), selection.is_beyond()) {
        (_, true) => format!("{} chosen", subject().1),
        (0, _) => "Nothing chosen".to_owned(),
        (number, _) => format!("{number} chosen"),
    };
    let shown = move || {
        let (listed, total) = (listed(), total.get());
        if total > listed {
            format!(
                "the {} longest of {} are listed",
                count(listed),
                count(total)
            )
        } else {
            String::new()
        }
    };
    let open = Callback::new(move |settle_as: SettleAs| {
        let (chosen, subject) = untrack(subject);
        settling.open(Opened {
            settle_as,
            chosen,
            subject,
        });
    });
    let none = Signal::derive(move || selection.len() == 0);
    let acts = move || {
        view! {
            <p role="status">
                <b data-test="chosen">{move || chosen()}</b>
                " "
                <span class="faint">{move || shown()}</span>
            </p>
            {move || offers_more.get().map(|words| {
                view! {
                    <button
                        type="button"
                        class="small"
                        data-test="choose-matching"
                        on:click=move |_| selection.go_beyond()
                    >
                        "Choose: " {words}
                    </button>
                }
                .into_any()
            })}
            <SettleButtons disabled=none open/>
            <button
                type="button"
                class="quiet"
                data-test="choose-none"
                prop:disabled=move || none.get()
                on:click=move |_| selection.set(Vec::new())
            >
                "Clear"
            </button>
        }
        .into_any()
    };
    let hint = move || {
        view! {
            <p class="faint" data-test="viewer-hint">
                "You see these as a viewer. Settling them takes the operator role. " {move || shown()}
            </p>
        }
        .into_any()
    };
    view! {
        <div class="bar" role="group" aria-label="Settle what is chosen">
            {move || may_settle.get().then(acts)}
            {move || (role.get() == Some(Role::Viewer)).then(hint)}
        </div>
    }
}

fn key_of(page: Latest<Page>, id: &str) -> String {
    let key = page.with(|page| {
        let row = page.operations.iter().find(|row| row.id == id)?;
        Some(format!("{} · {} · {}", row.key, row.route, row.tenant))
    });
    key.unwrap_or_else(|| id.to_owned())
}
