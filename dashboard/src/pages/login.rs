//! Signing in with an operator's token: from the address's fragment, or typed.

use leptos::ev;
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_query_map};

use crate::api::Failure;
use crate::view::{link, words};
use crate::{api, browser};

/// The page.
#[component]
pub(crate) fn LoginPage() -> impl IntoView {
    browser::set_title("Sign in · Oncegate");
    let busy = RwSignal::new(false);
    let failure = RwSignal::new(None::<Failure>);
    let field = NodeRef::<leptos::html::Input>::new();
    let query = use_query_map();
    let navigate = use_navigate();

    let sign_in = move |token: String| {
        let navigate = navigate.clone();
        busy.set(true);
        failure.set(None);
        spawn_local(async move {
            let result = api::login(token).await;
            busy.try_set(false);
            match result {
                Ok(()) => {
                    let next = query
                        .try_with_untracked(|query| query.get("next"))
                        .flatten();
                    let options = NavigateOptions {
                        resolve: false,
                        replace: true,
                        ..NavigateOptions::default()
                    };
                    navigate(link::come_back(&next.unwrap_or_default()), options);
                }
                Err(refused) => {
                    failure.try_set(Some(refused));
                }
            }
        });
    };
    let from_link = {
        let sign_in = sign_in.clone();
        move || {
            if let Some(token) = browser::take_token() {
                sign_in(token);
            }
        }
    };
    from_link();
    // The link may also be opened while this page is open: then only the fragment changes.
    let opened = window_event_listener_untyped("hashchange", move |_| from_link());
    on_cleanup(move || opened.remove());
    let submitted = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let token = field
            .get_untracked()
            .map(|field| field.value())
            .unwrap_or_default();
        sign_in(token.trim().to_owned());
    };
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            let _ = field.focus();
        }
    });
    let refused = move || failure.with(Option::is_some);
    view! {
        <div class="login">
            <h1>"Oncegate"</h1>
            <form on:submit=submitted>
                <label for="token">"Operator token"</label>
                <input
                    id="token"
                    node_ref=field
                    type="password"
                    autocomplete="current-password"
                    required
                    data-test="login-token"
                    aria-describedby="login-error login-hint"
                    aria-invalid=move || refused().then_some("true")
                />
                <p id="login-error" class="wrong" role="alert" data-test="login-error">
                    {move || failure.get().map(|failure| format!("{}. {}", failure.title(), words::sentence(&failure.detail())))}
                </p>
                <button type="submit" class="primary" data-test="login-submit" prop:disabled=move || busy.get()>
                    {move || if busy.get() { "Signing in …" } else { "Sign in" }}
                </button>
            </form>
            <p id="login-hint" class="faint">
                "In development, " <code>"cargo xtask dev"</code> " prints a link that signs you in."
            </p>
        </div>
    }
}
