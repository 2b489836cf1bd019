//! What stands in place of data: loading, failed, empty. Always drawn, never a blank page.

use leptos::prelude::*;

use crate::api::Failure;
use crate::browser;
use crate::view::words;

/// The first answer is on its way.
#[component]
pub(crate) fn Loading() -> impl IntoView {
    view! {
        <div class="loading" role="status" data-test="state-loading">
            <span class="hidden">"Loading"</span>
            <span class="bone wide"></span>
            <span class="bone"></span>
            <span class="bone"></span>
        </div>
    }
}

/// There is nothing to show, and why.
#[component]
pub(crate) fn Failed(
    /// Why.
    failure: Failure,
    /// Called to ask again.
    retry: Callback<()>,
) -> impl IntoView {
    view! {
        <section class="notice bad block" role="alert" data-test="state-failed">
            <h2>{failure.title()}</h2>
            <p>{words::sentence(&failure.detail())}</p>
            {failure.code().map(|code| view! { <p class="faint"><code>{code}</code></p> })}
            <button type="button" on:click=move |_| retry.run(())>"Try again"</button>
        </section>
    }
}

/// Nothing has come in yet: what to run first.
#[component]
pub(crate) fn FirstCommand(
    /// What is empty.
    title: String,
) -> impl IntoView {
    let command = format!(
        "curl -i {}/v1/orders \\\n  -H 'X-Api-Key: <your API key>' \\\n  -H 'Idempotency-Key: \"first-order-0001\"' \\\n  -H 'Content-Type: application/json' \\\n  -d '{{\"amount\": 1200}}'",
        browser::origin()
    );
    view! {
        <section class="empty" data-test="state-empty">
            <h2>{title}</h2>
            <p>"Send a first request to a protected route, then the same one again: the second is a replay."</p>
            <pre tabindex="0" aria-label="First command"><code>{command}</code></pre>
            <p class="faint">
                <code>"cargo xtask dev"</code>
                " prints this command with its key and path filled in; "
                <code>"cargo xtask demo"</code>
                " sends a stream of made-up traffic."
            </p>
        </section>
    }
}
