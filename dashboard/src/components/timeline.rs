//! An operation's story, oldest first.

use leptos::prelude::*;
use shared::time::Timestamp;
use shared::wire::OperationDetail;

use crate::kept::Kept;
use crate::live::Latest;
use crate::view::age;
use crate::view::timeline::{self, Event};

/// The story.
#[component]
pub(crate) fn Timeline(
    /// The operation.
    detail: Latest<OperationDetail>,
    /// What is ahead and what is past is measured by.
    now: Signal<Timestamp>,
) -> impl IntoView {
    let events = Kept::new(move |_| detail.with(|detail| timeline::events(detail, now.get())));
    view! {
        <ol class="timeline" data-test="timeline">
            {move || Some(events.with(|events| lines(events)))}
        </ol>
    }
}

fn lines(events: &[Event]) -> AnyView {
    let day = |event: Option<&Event>| event.map(|event| age::date(event.at));
    let days_differ = day(events.first()) != day(events.last());
    let before = std::iter::once(None).chain(events.iter().map(Some));
    let lines = events.iter().zip(before).map(|(event, before)| {
        let new_day = days_differ && day(before) != day(Some(event));
        line(event, before, new_day.then(|| age::date(event.at)))
    });
    lines.collect_view().into_any()
}

fn line(event: &Event, before: Option<&Event>, day: Option<String>) -> AnyView {
    let exact = age::rfc_3339(event.at);
    view! {
        <li class=event.tone.name()>
            <time datetime=exact.clone() title=exact.clone()>
                <span class="day">{day.unwrap_or_default()}</span>
                {age::clock_ms(event.at)}
            </time>
            <span class="what">{event.what.clone()}</span>
            <span class="gap">{timeline::gap(before, event)}</span>
        </li>
    }
    .into_any()
}
