//! An operation's story, oldest first.

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::OperationDetail;

use crate::view::age;
use crate::view::timeline::{self, Event};

/// The story.
#[component]
pub(crate) fn Timeline(
    /// The operation.
    detail: Memo<OperationDetail>,
    /// What is ahead and what is past is measured by.
    #[prop(into)]
    now: Signal<Timestamp>,
) -> impl IntoView {
    let events = Memo::new(move |_| detail.with(|detail| timeline::events(detail, now.get())));
    let lines = move || {
        let events = events.get();
        let days_differ = events.first().map(|event| age::date(event.at))
            != events.last().map(|event| age::date(event.at));
        let before = std::iter::once(None).chain(events.iter().map(Some));
        events
            .iter()
            .zip(before)
            .map(|(event, before)| line(event, before, days_differ))
            .collect_view()
    };
    view! { <ol class="timeline" data-test="timeline">{lines}</ol> }
}

fn line(event: &Event, before: Option<&Event>, with_day: bool) -> impl IntoView + use<> {
    let new_day =
        with_day && before.is_none_or(|before| age::date(before.at) != age::date(event.at));
    view! {
        <li class=event.tone.name()>
            <time datetime=event.at.to_string() title=event.at.to_string()>
                {new_day.then(|| view! { <span class="day">{age::date(event.at)}</span> " " })}
                {age::clock_ms(event.at)}
            </time>
            <span class="what">{event.what.clone()}</span>
            <span class="gap">{timeline::gap(before, event)}</span>
        </li>
    }
}
