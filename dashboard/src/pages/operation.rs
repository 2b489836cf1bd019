//! One operation: where it stands, what a retry will meet, and how it came to this.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use shared::time::Timestamp;
use shared::wire::{OperationDetail, UnknownView};

use crate::components::answer::StoredAnswer;
use crate::components::attempts::Attempts;
use crate::components::fingerprints::Fingerprints;
use crate::components::freshness::{Stale, Updated};
use crate::components::state::StatePill;
use crate::components::status::{Failed, Loading};
use crate::components::timeline::Timeline;
use crate::live::{Dated, Phase, use_live};
use crate::view::filter::OperationFilter;
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
    let id = Memo::new(move |_| params.with(|params| params.get("id").unwrap_or_default()));
    let live = use_live(id, api::operation);
    let phase = live.phase();
    let retry = Callback::new(move |()| live.start());
    let stale = move || {
        let failure = live
            .failure()
            .get()
            .filter(|_| phase.get() == Phase::Ready)?;
        // Settled records are forgotten after their retention: what is shown is the last that was known.
        Some(if failure.is_not_found() {
            view! { <div class="notice warn"><p><strong>"This record is gone."</strong> " It was forgotten after its retention; below is its last known state."</p></div> }.into_any()
        } else {
            view! { <Stale failure age=live.age() retry/> }.into_any()
        })
    };
    let content = move || match phase.get() {
        Phase::Loading => view! { <Loading/> }.into_any(),
        Phase::Failed(failure) if failure.is_not_found() => {
            view! { <Gone id=id.get()/> }.into_any()
        }
        Phase::Failed(failure) => view! { <Failed failure retry/> }.into_any(),
        Phase::Ready => live
            .value()
            .map(|detail| view! { <Content detail now=live.now()/> })
            .into_any(),
    };
    view! {
        <div class="head">
            <a class="up" href=link::OPERATIONS>"Operations"</a>
            <Updated age=live.age() failure=live.failure()/>
        </div>
        {stale}
        <div class="content" class:pending=live.is_pending() aria-busy=move || live.is_pending().get().to_string()>
            {content}
        </div>
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
fn Content(detail: Memo<OperationDetail>, now: Signal<Timestamp>) -> impl IntoView {
    let text = move |pick: fn(&OperationDetail) -> String| Memo::new(move |_| detail.with(pick));
    let key = text(|detail| detail.row.key.clone());
    Effect::new(move |_| browser::set_title(&format!("{} · Oncegate", key.get())));
    let standing = Memo::new(move |_| detail.with(|detail| (detail.row.state, detail.row.stuck)));
    let pill = move || {
        let (state, stuck) = standing.get();
        view! { <StatePill state stuck test="operation-state"/> }
    };
    let since = Memo::new(move |_| detail.with(|detail| detail.row.since));
    let unknown = Memo::new(move |_| detail.with(|detail| detail.unknown.clone()));
    let twice = Memo::new(move |_| detail.with(|detail| detail.may_have_run_twice));
    let attempts = Memo::new(move |_| detail.with(|detail| detail.attempts.clone()));
    let outcome = Memo::new(move |_| detail.with(|detail| detail.outcome.clone()));
    view! {
        <div class="title">
            <p class="faint">{text(|detail| words::key(detail.row.kind).to_owned())}</p>
            <h1 class="key">{key}</h1>
            <p class="standing">
                {pill}
                <span class="faint">"for " {move || age::age(now.get().since(since.get()))}</span>
            </p>
        </div>
        {move || unknown.get().map(|unknown| view! { <WhyUnknown unknown now/> })}
        <Show when=move || twice.get()>
            <div class="notice warn" data-test="may-have-run-twice">
                <p><strong>"May have run twice."</strong> " An earlier attempt whose outcome nobody knows may have had its effect too."</p>
            </div>
        </Show>
        <div class="notice next">
            <p><strong>"What a retry will meet: "</strong> <span data-test="next">{text(|detail| detail.next.clone())}</span></p>
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
                    <Attempts attempts now/>
                </section>
            </div>
        </div>
        <section class="panel">
            <h2>"Fingerprint"</h2>
            <Fingerprints detail/>
        </section>
        <section class="panel">
            <h2>"Stored answer"</h2>
            <StoredAnswer outcome/>
        </section>
    }
}

#[component]
fn WhyUnknown(unknown: UnknownView, now: Signal<Timestamp>) -> impl IntoView {
    let since = unknown.since;
    view! {
        <div class="notice bad" data-test="why-unknown">
            <p>
                <strong>{format!("Unknown since attempt {}: ", unknown.number)}</strong>
                {unknown.why}
                <span class="faint">
                    " (" {age::moment(since)} " UTC, " {move || age::age(now.get().since(since))} " ago)"
                </span>
            </p>
        </div>
    }
}

#[component]
fn Facts(detail: Memo<OperationDetail>, now: Signal<Timestamp>) -> impl IntoView {
    let text = move |pick: fn(&OperationDetail) -> String| Memo::new(move |_| detail.with(pick));
    let id = text(|detail| detail.row.id.clone());
    let route = text(|detail| detail.row.route.clone());
    let tenant = text(|detail| detail.row.tenant.clone());
    let of_route = move || {
        OperationFilter {
            route: route.get(),
            ..OperationFilter::default()
        }
        .href()
    };
    let of_tenant = move || {
        OperationFilter {
            tenant: tenant.get(),
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
    let copied = RwSignal::new(false);
    let copy = move |_| {
        browser::copy(&id.get_untracked());
        copied.set(true);
    };
    view! {
        <dl class="facts">
            <dt>"Operation"</dt>
            <dd>
                <code class="wrap" data-test="operation-id">{id}</code>
                " "
                <button type="button" class="quiet small" on:click=copy>
                    {move || if copied.get() { "Copied" } else { "Copy" }}
                </button>
            </dd>
            <dt>"Route"</dt>
            <dd><a href=of_route>{route}</a> " " <span class="faint">{text(|detail| words::kind(detail.row.kind).to_owned())}</span></dd>
            <dt>"Tenant"</dt>
            <dd><a href=of_tenant>{tenant}</a></dd>
            <dt>"First seen"</dt>
            <dd>{text(|detail| age::moment(detail.row.created_at))}</dd>
            <dt>"Lease until"</dt>
            <dd>{lease}</dd>
            <dt>"Forgotten at"</dt>
            <dd>{text(|detail| detail.expires_at.map_or_else(|| "not while unsettled".to_owned(), age::moment))}</dd>
        </dl>
    }
}
