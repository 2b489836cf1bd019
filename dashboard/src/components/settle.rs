//! Settling by hand (U6): the buttons, and the dialog that asks for a reason, shows what would happen, and only then
//! does it.
//!
//! The confirming button belongs to the request that was previewed: with the next letter typed it is gone.

use leptos::ev;
use leptos::prelude::*;
use shared::audit::REASON_CHARS_MAX;
use shared::wire::{SettleAs, SettlementResult, SettlementWord, Settlements, SettlementsDone};

use super::icon;
use crate::api::Failure;
use crate::app::MAIN;
use crate::browser;
use crate::kept::Kept;
use crate::view::settle::{self, Chosen, Form};
use crate::view::words;

const DIALOG: &str = "settle";
/// What takes the focus when an answer has come.
const TOLD: &str = "settle-told";
const TITLE: &str = "settle-title";

/// The ways to settle, with their hooks for tests.
const WAYS: [(SettleAs, &str); 3] = [
    (SettleAs::Succeeded, "settle-succeeded"),
    (SettleAs::DidNotHappen, "settle-did-not-happen"),
    (SettleAs::TryAgain, "settle-try-again"),
];

/// What the dialog was opened for.
#[derive(Clone)]
pub(crate) struct Opened {
    /// How it is to be settled.
    pub(crate) settle_as: SettleAs,
    /// Which operations.
    pub(crate) chosen: Chosen,
    /// The same in words.
    pub(crate) subject: String,
}

/// How far it is.
#[derive(Clone)]
pub(crate) enum Stage {
    /// The form is being filled in.
    Filling,
    /// The gateway has been asked.
    Asking,
    /// It refused, or did not answer.
    Failed(Settlements, Failure),
    /// It said what would happen.
    Previewed(Settlements, SettlementsDone),
    /// It is done.
    Done(SettlementsDone),
}

/// A button for each way to settle.
#[component]
pub(crate) fn SettleButtons(
    /// Whether there is nothing to settle.
    disabled: Signal<bool>,
    /// Called with the way.
    open: Callback<SettleAs>,
) -> impl IntoView {
    let buttons = WAYS.map(|(settle_as, test)| {
        view! {
            <button
                type="button"
                aria-haspopup="dialog"
                data-test=test
                prop:disabled=move || disabled.get()
                on:click=move |_| open.run(settle_as)
            >
                {settle::name(settle_as)}
                "…"
            </button>
        }
        .into_any()
    });
    view! { {buttons.collect_view()} }
}

/// The dialog; nothing until it is opened.
#[component]
pub(crate) fn SettleDialog(
    /// What it is opened for.
    opened: RwSignal<Option<Opened>>,
    /// How far it is.
    stage: RwSignal<Stage>,
    /// Called with what to ask of the gateway.
    send: Callback<Settlements>,
) -> impl IntoView {
    view! { {move || opened.get().map(|open| view! { <Dialog open opened stage send/> }.into_any())} }
}

#[component]
fn Dialog(
    open: Opened,
    opened: RwSignal<Option<Opened>>,
    stage: RwSignal<Stage>,
    send: Callback<Settlements>,
) -> impl IntoView {
    let Opened {
        settle_as,
        chosen,
        subject,
    } = open;
    Effect::new(|_| browser::show_dialog(DIALOG));
    let closed = move |_| {
        opened.set(None);
        // The button that opened it may be gone with what was settled.
        if browser::has_lost_focus() {
            browser::focus(MAIN);
        }
    };
    let form = StoredValue::new(Form::new(settle_as));
    let edited = move |_| {
        if stage.with_untracked(|stage| !matches!(stage, Stage::Filling)) {
            stage.set(Stage::Filling);
        }
    };
    let preview = move |event: ev::SubmitEvent| {
        event.prevent_default();
        send.run(form.with_value(|form| form.preview(&chosen)));
    };
    let asking = Kept::new(move |_| stage.with(|stage| matches!(stage, Stage::Asking)));
    let has_preview = Kept::new(move |_| stage.with(|stage| matches!(stage, Stage::Previewed(..))));
    let done = Kept::new(move |_| stage.with(|stage| matches!(stage, Stage::Done(_))));
    // Nothing has been changed yet by then, and nobody wants to type it again.
    let kept = move |event: ev::Event| {
        if asking.get_untracked() {
            event.prevent_default();
        }
    };
    let outcome = (settle_as == SettleAs::Succeeded).then(|| outcome(form));
    let tone = match settle_as {
        SettleAs::Succeeded => "notice",
        SettleAs::DidNotHappen | SettleAs::TryAgain => "notice warn",
    };
    view! {
        <dialog id=DIALOG class="settle" aria-labelledby=TITLE data-test="settle-dialog" on:close=closed on:cancel=kept>
            <h2 id=TITLE>{settle::name(settle_as)}</h2>
            <p class="subject" data-test="settle-subject">{subject}</p>
            <form hidden=move || done.get() on:submit=preview on:input=edited>
                <div class=tone data-test="settle-consequence">
                    <p>{icon::warning()} {settle::consequence(settle_as)}</p>
                </div>
                <fieldset prop:disabled=move || asking.get()>
                    {outcome}
                    <label class="field">
                        <span>"Reason, for the audit log"</span>
                        <textarea
                            rows="2"
                            required
                            maxlength=REASON_CHARS_MAX.to_string()
                            autofocus=settle_as != SettleAs::Succeeded
                            data-test="settle-reason"
                            on:input=move |event| form.update_value(|form| form.reason = event_target_value(&event))
                        ></textarea>
                    </label>
                    <div class="buttons">
                        <button type="submit" class:primary=move || !has_preview.get() data-test="settle-preview">"Preview"</button>
                        <button type="button" data-test="settle-cancel" on:click=move |_| browser::close_dialog(DIALOG)>
                            "Cancel"
                        </button>
                        <span class="faint">"A preview changes nothing."</span>
                    </div>
                </fieldset>
            </form>
            {move || {
                stage.with(|stage| match stage {
                    Stage::Filling => None,
                    Stage::Asking => {
                        Some(view! { <p class="faint" role="status">"Asking the gateway …"</p> }.into_any())
                    }
                    Stage::Failed(asked, failure) => Some(failed(asked, failure)),
                    Stage::Previewed(asked, told) => Some(previewed(asked, told, send)),
                    Stage::Done(told) => Some(finished(told)),
                })
            }}
        </dialog>
    }
}

/// The fields of the outcome to replay.
fn outcome(form: StoredValue<Form>) -> AnyView {
    view! {
        <div class="narrow">
            <label class="field">
                <span>"Status"</span>
                <input
                    type="number"
                    min="200"
                    max="599"
                    required
                    autofocus
                    value=settle::STATUS.to_string()
                    data-test="settle-status"
                    on:input=move |event| form.update_value(|form| form.status = event_target_value(&event))
                />
            </label>
            <label class="field">
                <span>"Content type"</span>
                <input
                    value=form.with_value(|form| form.content_type.clone())
                    autocapitalize="off"
                    spellcheck="false"
                    data-test="settle-content-type"
                    on:input=move |event| form.update_value(|form| form.content_type = event_target_value(&event))
                />
            </label>
        </div>
        <label class="field">
            <span>"Body, as every retry gets it"</span>
            <textarea
                class="body"
                rows="3"
                spellcheck="false"
                data-test="settle-body"
                on:input=move |event| form.update_value(|form| form.body = event_target_value(&event))
            ></textarea>
        </label>
    }
    .into_any()
}

fn failed(asked: &Settlements, failure: &Failure) -> AnyView {
    // A refusal says that nothing was done; silence says nothing.
    let perhaps = match failure {
        Failure::Problem(_) | Failure::SignedOut(_) => false,
        Failure::Offline(_) | Failure::Unreadable { .. } => !asked.preview,
    };
    let perhaps = perhaps.then(|| {
        view! { <p>"It may have been done all the same. Preview again: what is settled shows as such."</p> }
            .into_any()
    });
    let told = view! {
        <div class="notice bad block" role="alert" data-test="settle-failed">
            <h3 id=TOLD tabindex="-1">{failure.title()}</h3>
            <p>{words::sentence(&failure.detail())}</p>
            {failure.code().map(|code| view! { <p class="faint"><code>{code}</code></p> }.into_any())}
            {perhaps}
        </div>
    };
    view! { <Told told=told.into_any()/> }.into_any()
}

fn previewed(asked: &Settlements, told: &SettlementsDone, send: Callback<Settlements>) -> AnyView {
    let confirm = settle::confirmed(asked, told).map(|confirmed| {
        let danger = asked.settle_as == SettleAs::DidNotHappen;
        let act = settle::act(&confirmed);
        view! {
            <div class="buttons">
                <button
                    type="button"
                    class=if danger { "danger" } else { "primary" }
                    data-test="settle-confirm"
                    on:click=move |_| send.run(confirmed.clone())
                >
                    {act}
                </button>
            </div>
        }
        .into_any()
    });
    let told = view! { {results(told, true)} {confirm} };
    view! { <Told told=told.into_any()/> }.into_any()
}

fn finished(told: &SettlementsDone) -> AnyView {
    let told = view! {
        {results(told, false)}
        <div class="buttons">
            <button type="button" class="primary" data-test="settle-close" on:click=move |_| browser::close_dialog(DIALOG)>
                "Close"
            </button>
        </div>
    };
    view! { <Told told=told.into_any()/> }.into_any()
}

/// An answer; it takes the focus, so that it is read out and the next key goes on from there.
#[component]
fn Told(told: AnyView) -> impl IntoView {
    Effect::new(|_| browser::focus(TOLD));
    told
}

fn results(told: &SettlementsDone, preview: bool) -> AnyView {
    let rows = settle::in_order(told).map(|each| result(each, preview));
    let notes = [
        (
            settle::is_partial(told),
            "More match than are taken at once: settle these, then preview again.",
        ),
        (
            told.objects_silent != 0,
            "Some objects did not answer; what they keep is not among these.",
        ),
    ];
    let notes = notes.into_iter().filter(|(applies, _)| *applies);
    let note = |(_, text)| view! { <p>{icon::warning()} {text}</p> }.into_any();
    view! {
        <h3 id=TOLD tabindex="-1" data-test="settle-summary">{settle::summary(told, preview)}</h3>
        {notes.map(note).collect_view()}
        <div class="scroll" role="region" tabindex="0" aria-label="One by one">
            <table data-test="settle-results">
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn result(each: &SettlementResult, preview: bool) -> AnyView {
    let (tone, word) = match each.result {
        SettlementWord::Settled if preview => ("pill", "would be settled"),
        SettlementWord::Settled => ("pill good", "settled"),
        SettlementWord::Running => ("pill warn", "may still run"),
        SettlementWord::NothingToSettle => ("pill warn", "nothing to settle"),
        SettlementWord::Failed => ("pill bad", "failed"),
    };
    let key = if each.key.is_empty() {
        each.operation.clone()
    } else {
        each.key.clone()
    };
    view! {
        <tr data-test="settle-result" data-id=each.operation.clone()>
            <th scope="row" class="key" title=key.clone()>{key.clone()}</th>
            <td>
                <span class=tone>{word}</span>
            </td>
            <td class="prose">{each.detail.clone()}</td>
        </tr>
    }
    .into_any()
}
