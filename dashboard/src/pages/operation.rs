//! One operation: where it stands, what a retry will meet, and how it came to this.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use shared::time::Timestamp;
use shared::wire::{OperationDetail, PointView, Role, SettleAs, UnknownView};

use crate::app::use_role;
use crate::components::answer::StoredAnswer;
use crate::components::attempts::Attempts;
use crate::components::audit_table::{AuditTable, Log};
use crate::components::fingerprints::Fingerprints;
use crate::components::freshness::Updated;
use crate::components::living::{Drawing, Living};
use crate::components::settle::{Opened, SettleButtons, SettleDialog};
use crate::components::state::StatePill;
use crate::components::timeline::Timeline;
use crate::kept::Kept;
use crate::live::{Dated, Latest, use_live};
use crate::pages::settling::{Settling, use_settling};
use crate::view::filter::{OperationFilter, Standing};
use crate::view::settle::Chosen;
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
    let (poll, detail) = use_live(Kept::new(move |_| api::operation(&id())));
    let now = poll.now();
    let settling = use_settling(poll, Callback::new(|_| ()));
    let Settling {
        opened,
        stage,
        send,
        ..
    } = settling;
    let ready = Arc::new(move || view! { <Content detail settling now/> }.into_any());
    let gone: Drawing = Arc::new(move || view! { <Gone id=id()/> }.into_any());
    view! {
        <div class="head">
            <a class="up" href=link::OPERATIONS>"Operations"</a>
            <Updated poll/>
        </div>
        <Living poll ready gone/>
        <SettleDialog opened stage send/>
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
                ". Its record may be past its retention or settled as not happened (then the "
                <a href=link::AUDIT>"audit log"</a>
                " has it), or the address was cut."
            </p>
        </section>
    }
}

#[component]
fn Content(
    detail: Latest<OperationDetail>,
    settling: Settling,
    now: Signal<Timestamp>,
) -> impl IntoView {
    let key = move || detail.with(|detail| detail.row.key.clone());
    Effect::new(move |_| browser::set_title(&format!("{} · Oncegate", key())));
    let standing = Kept::new(move |_| {
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
        <ByHand detail settling standing/>
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
        <Logged detail/>
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
    let unknown = Kept::new(move |_| detail.with(|detail| detail.unknown.clone()));
    let twice = Kept::new(move |_| detail.with(|detail| detail.may_have_run_twice));
    view! {
        {move || unknown.get().map(|unknown| why_unknown(unknown, now))}
        {move || twice.get().then(may_have_run_twice)}
    }
}

/// Settling it, for those who may, while there is anything to settle.
#[component]
fn ByHand(
    detail: Latest<OperationDetail>,
    settling: Settling,
    standing: Kept<Option<Standing>>,
) -> impl IntoView {
    let role = use_role();
    let open = Callback::new(move |settle_as: SettleAs| {
        let (ids, subject) = untrack(|| {
            detail.with(|detail| {
                let row = &detail.row;
                let subject = format!("{} · {} · {}", row.key, row.route, row.tenant);
                (vec![row.id.clone()], subject)
            })
        });
        settling.open(Opened {
            settle_as,
            chosen: Chosen::These(ids),
            subject,
        });
    });
    let offered = Kept::new(move |_| {
        let unknown = matches!(standing.get(), Some(Standing::Unknown | Standing::Stuck));
        role.get().filter(|_| unknown)
    });
    let draw = move |role| {
        match role {
        Role::Operator => view! {
            <div class="bar" role="group" aria-label="Settle it by hand">
                <p>"Settle it by hand:"</p>
                <SettleButtons disabled=Signal::stored(false) open/>
            </div>
        }
        .into_any(),
        Role::Viewer => view! {
            <p class="faint" data-test="viewer-hint">"Settling it by hand takes the operator role."</p>
        }
        .into_any(),
    }
    };
    view! { {move || offered.get().map(draw)} }
}

/// What was logged of it, once there is anything.
#[component]
fn Logged(detail: Latest<OperationDetail>) -> impl IntoView {
    let entries = Kept::new(move |_| detail.with(|detail| detail.log.clone()));
    let any = Kept::new(move |_| entries.with(|entries| !entries.is_empty()));
    let draw = move || {
        view! {
            <section class="panel" data-test="operation-log">
                <h2>"Audit log"</h2>
                <AuditTable entries log=Log::OneOperation/>
            </section>
        }
        .into_any()
    };
    view! { {move || any.get().then(draw)} }
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
            <Settled detail now/>
        </dl>
    }
}

/// By whose word it is known, or how far it came and what is being tried; each only where there is something to say.
#[component]
fn Settled(detail: Latest<OperationDetail>, now: Signal<Timestamp>) -> impl IntoView {
    let by = move || {
        let by = detail.with(|detail| detail.settled_by.clone())?;
        Some(fact("Known by", "settled-by", words::who(&by).to_owned()))
    };
    let next = move || {
        let unknown = detail.with(|detail| detail.row.unknown.clone())?;
        let next = words::next_step(&unknown, now.get());
        let told = match unknown.tries {
            0 => next,
            tries => format!("{next} (resolver tried {tries} ×)"),
        };
        Some(fact("What happens next", "next-step", told))
    };
    let reference = move || {
        let reference = detail.with(|detail| detail.reference.clone())?;
        Some(fact("Origin's reference", "reference", reference))
    };
    let point = Kept::new(move |_| detail.with(|detail| detail.point.clone()));
    view! {
        {move || by()}
        {move || next()}
        {move || reference()}
        {move || point.get().map(recovery_point)}
    }
}

fn fact(name: &'static str, test: &'static str, value: String) -> AnyView {
    view! {
        <dt>{name}</dt>
        <dd class="wrap" data-test=test>{value}</dd>
    }
    .into_any()
}

fn recovery_point(point: PointView) -> AnyView {
    let data = (!point.data.is_empty()).then(|| {
        view! { <pre tabindex="0" role="region" aria-label="What the origin keeps with it">{point.data}</pre> }
            .into_any()
    });
    view! {
        <dt>"Recovery point"</dt>
        <dd data-test="recovery-point">{point.name} {data}</dd>
    }
    .into_any()
}
