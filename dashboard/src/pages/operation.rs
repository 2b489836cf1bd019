//! One operation: where it stands, what a retry will meet, and how it came to this.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use shared::time::Timestamp;
use shared::wire::{OperationDetail, UnknownView};

use crate::components::answer::StoredAnswer;
use crate::components::attempts::Attempts;
use crate::components::fingerprints::Fingerprints;
use crate::components::freshness::Updated;
use crate::components::living::{Drawing, Living};
use crate::components::state::StatePill;
use crate::components::timeline::Timeline;
use crate::live::{Dated, Latest, use_live};
use crate::view::filter::{OperationFilter, Standing};
use crate::view::{age, link, words};
use crate::{api, browser};

impl Dated for OperationDetail {
    fn gateway_now(&self) -> Option<Timestamp> {
        self.now
    }
}

/// The page.
#[component]
pub(crate) fn OperationPage() -> impl IntoView {
    browser::set_title("Operation · Oncegate");
    let params = use_params_map();
    let id = move || params.with(|params| params.get("id").unwrap_or_default());
    let (poll, detail) = use_live(Memo::new(move |_| api::operation(&id())));
    let now = poll.now();
    let ready = Arc::new(move || view! { <Content detail now/> }.into_any());
    let gone: Drawing = Arc::new(move || view! { <Gone id=id()/> }.into_any());
    view! {
        <div class="head">
            <a class="up" href=link::OPERATIONS>"Operations"</a>
            <Updated poll/>
        </div>
        <Living poll ready gone/>
    }
}

#[component]
fn Gone(id: String) -> impl IntoView {
    view! {
        <section class="empty" data-test="state-empty">
            <h1>"There is no such operation"</h1>
            <p>
                "Nothing is kept under "
                <code class="wrap">{id}</code>
                ". Its record may be past its retention, or the address was cut."
            </p>
        </section>
    }
}

#[component]
fn Content(detail: Latest<OperationDetail>, now: Signal<Timestamp>) -> impl IntoView {
    let key = move || detail.with(|detail| detail.row.key.clone());
    Effect::new(move |_| browser::set_title(&format!("{} · Oncegate", key())));
    let standing = Memo::new(move |_| {
        detail.with(|detail| Some(Standing::of(detail.row.state, detail.row.stuck)))
    });
    let since = move || {
        let since = detail.with(|detail| Some(detail.row.since));
        since
            .map(|at| format!("for {}", age::age(now.get().since(at))))
            .unwrap_or_default()
    };
    view! {
        <div class="title">
            <p class="faint">
                {move || detail.with(|detail| words::key(detail.row.kind).to_owned())}
            </p>
            <h1 class="key">{move || key()}</h1>
            <p class="standing">
                <StatePill standing test="operation-state"/>
                <span class="faint">{move || since()}</span>
            </p>
        </div>
        <Warnings detail now/>
        <div class="notice next">
            <p>
                <strong>"What a retry will meet: "</strong>
                <span data-test="next">{move || detail.with(|detail| detail.next.clone())}</span>
            </p>
        </div>
        <div class="columns">
            <section class="panel">
                <h2>"Timeline " <span class="faint">"UTC"</span></h2>
                <Timeline detail now/>
            </section>
            <div>
                <section class="panel">
                    <h2>"Facts"</h2>
                    <Facts detail now/>
                </section>
                <section class="panel">
                    <h2>"Attempts"</h2>
                    <Attempts detail now/>
                </section>
            </div>
        </div>
        <section class="panel">
            <h2>"Fingerprint"</h2>
            <Fingerprints detail/>
        </section>
        <section class="panel">
            <h2>"Stored answer"</h2>
            <StoredAnswer detail/>
        </section>
    }
}

/// Why the outcome is unknown, and whether the work may have been done twice.
#[component]
fn Warnings(detail: Latest<OperationDetail>, now: Signal<Timestamp>) -> impl IntoView {
    let unknown = Memo::new(move |_| detail.with(|detail| detail.unknown.clone()));
    let twice = Memo::new(move |_| detail.with(|detail| detail.may_have_run_twice));
    view! {
        {move || unknown.get().map(|unknown| why_unknown(unknown, now))}
        {move || twice.get().then(may_have_run_twice)}
    }
}

fn why_unknown(unknown: UnknownView, now: Signal<Timestamp>) -> AnyView {
    let since = unknown.since;
    let age = move || age::age(now.get().since(since));
    view! {
        <div class="notice bad" data-test="why-unknown">
            <p>
                <strong>{format!("Unknown since attempt {}: ", unknown.number)}</strong>
                {unknown.why}
                <span class="faint">
                    {format!(" ({} UTC, ", age::moment(since))} {move || age()} " ago)"
                </span>
            </p>
        </div>
    }
    .into_any()
}

fn may_have_run_twice() -> AnyView {
    view! {
        <div class="notice warn" data-test="may-have-run-twice">
            <p>
                <strong>"May have run twice."</strong>
                " An earlier attempt whose outcome nobody knows may have had its effect too."
            </p>
        </div>
    }
    .into_any()
}

#[component]
fn Facts(detail: Latest<OperationDetail>, now: Signal<Timestamp>) -> impl IntoView {
    let id = move || detail.with(|detail| detail.row.id.clone());
    let route = move || detail.with(|detail| detail.row.route.clone());
    let tenant = move || detail.with(|detail| detail.row.tenant.clone());
    let of_route = move || {
        OperationFilter {
            route: route(),
            ..OperationFilter::default()
        }
        .href()
    };
    let of_tenant = move || {
        OperationFilter {
            tenant: tenant(),
            ..OperationFilter::default()
        }
        .href()
    };
    let lease = move || match detail.with(|detail| detail.lease_until) {
        None => "–".to_owned(),
        // L2: held while now < lease_until.
        Some(at) if now.get() < at => {
            format!("{} (in {})", age::moment(at), age::age(at.since(now.get())))
        }
        Some(at) => format!(
            "{} ({} ago)",
            age::moment(at),
            age::age(now.get().since(at))
        ),
    };
    let forgotten = move || match detail.with(|detail| detail.expires_at) {
        None => "not while unsettled".to_owned(),
        Some(at) => age::moment(at),
    };
    let copied = RwSignal::new(false);
    let copy = move |_| {
        browser::copy(&untrack(id));
        copied.set(true);
    };
    view! {
        <dl class="facts">
            <dt>"Operation"</dt>
            <dd>
                <code class="wrap" data-test="operation-id">{move || id()}</code>
                " "
                <button type="button" class="quiet small" on:click=copy>
                    {move || if copied.get() { "Copied" } else { "Copy" }}
                </button>
            </dd>
            <dt>"Route"</dt>
            <dd>
                <a href=move || of_route()>{move || route()}</a>
                " "
                <span class="faint">
                    {move || detail.with(|detail| words::kind(detail.row.kind).to_owned())}
                </span>
            </dd>
            <dt>"Tenant"</dt>
            <dd>
                <a href=move || of_tenant()>{move || tenant()}</a>
            </dd>
            <dt>"First seen"</dt>
            <dd>{move || detail.with(|detail| age::moment(detail.row.created_at))}</dd>
            <dt>"Lease until"</dt>
            <dd>{move || lease()}</dd>
            <dt>"Forgotten at"</dt>
            <dd>{move || forgotten()}</dd>
        </dl>
    }
}
