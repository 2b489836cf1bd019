//! A page's content as its poll has it: loading, failed, ready, and ready but old.

use std::sync::Arc;

use leptos::prelude::*;

use super::freshness::Stale;
use super::status::{Failed, Loading};
use crate::live::{Phase, Poll};

/// Draws a part of the page.
pub(crate) type Drawing = Arc<dyn Fn() -> AnyView + Send + Sync>;

/// The content.
#[component]
pub(crate) fn Living(
    /// The asking.
    poll: Poll,
    /// Draws the answer; called once there is one.
    ready: Drawing,
    /// Draws that there is no such thing, where that is an answer.
    #[prop(optional, into)]
    gone: Option<Drawing>,
) -> impl IntoView {
    let phase = poll.phase();
    let retry = Callback::new(move |()| poll.ask());
    let may_be_gone = gone.is_some();
    let stale = move || {
        let failure = poll
            .failure()
            .filter(|_| phase.with(|phase| *phase == Phase::Ready))?;
        Some(if may_be_gone && failure.is_not_found() {
            view! { <Forgotten/> }.into_any()
        } else {
            let age = Signal::derive(move || poll.age());
            view! { <Stale failure age retry/> }.into_any()
        })
    };
    let content = move || match (phase.get(), &gone) {
        (Phase::Loading, _) => view! { <Loading/> }.into_any(),
        (Phase::Failed(failure), Some(gone)) if failure.is_not_found() => gone(),
        (Phase::Failed(failure), _) => view! { <Failed failure retry/> }.into_any(),
        (Phase::Ready, _) => ready(),
    };
    view! {
        {move || stale()}
        <div
            class="content"
            class:pending=move || poll.is_pending()
            aria-busy=move || poll.is_pending().to_string()
        >
            {move || content()}
        </div>
    }
}

/// What is shown was forgotten meanwhile.
#[component]
fn Forgotten() -> impl IntoView {
    view! {
        <div class="notice warn" data-test="forgotten">
            <p>
                <strong>"This record is gone."</strong>
                " Its retention is over, or it was settled as not happened; below is what was last known of it."
            </p>
        </div>
    }
}
