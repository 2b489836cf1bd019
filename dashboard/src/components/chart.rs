//! Calls over time as stacked bars. A step can be pointed at, or walked to with the arrow keys; Enter or a click lists
//! the operations first claimed in it.

use leptos::ev;
use leptos::prelude::*;
use shared::time::{Millis, Timestamp};
use shared::wire::{Overview, Point};
use wasm_bindgen::JsCast;

use super::table::table;
use crate::kept::Kept;
use crate::live::Latest;
use crate::view::chart::{self, Chart, HEIGHT, WIDTH};
use crate::view::number::count;
use crate::view::series::Series;

/// The figure.
#[component]
pub(crate) fn CallsChart(
    /// Whose steps are drawn.
    overview: Latest<Overview>,
    /// What the chart covers, for its name.
    covers: Signal<&'static str>,
    /// Called with a step's beginning and end to list its operations.
    open: Callback<(Timestamp, Timestamp)>,
) -> impl IntoView {
    let drawn = Kept::new(move |_| {
        overview.with(|overview| Chart::draw(&overview.series, overview.step_ms))
    });
    let steps = move || overview.with(|overview| overview.series.len());
    let selected = RwSignal::new(None::<usize>);
    let point = move || selected.get().and_then(|index| step(overview, index));
    let open_selected = move || {
        let step = untrack(point);
        if let Some((point, step_ms)) = step {
            open.run((point.at, point.at.plus(Millis::new(step_ms))));
        }
    };
    let keyed = move |event: ev::KeyboardEvent| {
        let last = untrack(steps).saturating_sub(1);
        let now = selected.get_untracked();
        let next = match event.key().as_str() {
            "ArrowLeft" => Some(now.map_or(last, |index| index.saturating_sub(1))),
            "ArrowRight" => Some(now.map_or(last, |index| last.min(index + 1))),
            "Home" => Some(0),
            "End" => Some(last),
            "Escape" => None,
            "Enter" => return open_selected(),
            _ => return,
        };
        event.prevent_default();
        selected.set(next);
    };
    // A mouse points and then clicks; a finger does both at once, so its first tap only points.
    let armed = StoredValue::new(false);
    let pressed = move |event: ev::PointerEvent| {
        let step = step_under(&event, untrack(steps));
        armed.set_value(by_mouse(&event) || step == selected.get_untracked());
        selected.set(step);
    };
    let pointed = move |event: ev::PointerEvent| {
        let step = step_under(&event, untrack(steps));
        if by_mouse(&event) && selected.get_untracked() != step {
            selected.set(step);
        }
    };
    let left = move |event: ev::PointerEvent| {
        if by_mouse(&event) {
            selected.set(None);
        }
    };
    let clicked = move |_| {
        if armed.get_value() {
            open_selected();
        }
    };
    let name = move || {
        let (covers, steps) = (covers.get(), steps());
        format!(
            "Calls over {covers}, {steps} steps: arrow keys read a step, Enter lists its operations"
        )
    };
    view! {
        <figure class="chart" data-test="chart">
            <figcaption>"Calls over " {move || covers.get()}</figcaption>
            <p class="readout" role="status">{move || point().map(readout)}</p>
            <div class="plot">
                <div class="scale" aria-hidden="true">
                    <span>{move || count(drawn.with(|drawn| drawn.top))}</span>
                    <span>{move || count(drawn.with(|drawn| drawn.top) / 2)}</span>
                    <span>"0"</span>
                </div>
                <div
                    class="bars"
                    role="group"
                    tabindex="0"
                    aria-label=move || name()
                    on:keydown=keyed
                    on:pointerdown=pressed
                    on:pointermove=pointed
                    on:pointerleave=left
                    on:click=clicked
                >
                    <Bars drawn overview selected/>
                </div>
                <div class="times" aria-hidden="true">
                    {move || drawn.with(|drawn| drawn.times.iter().map(|at| time(at)).collect_view().into_any())}
                </div>
            </div>
            <Table overview/>
        </figure>
    }
}

/// A step, and the length of steps.
fn step(overview: Latest<Overview>, index: usize) -> Option<(Point, u64)> {
    overview.with(|overview| Some((overview.series.get(index).copied()?, overview.step_ms)))
}

fn by_mouse(event: &ev::PointerEvent) -> bool {
    event.pointer_type() == "mouse"
}

fn step_under(event: &ev::PointerEvent, steps: usize) -> Option<usize> {
    let plot: web_sys::Element = event.current_target()?.dyn_into().ok()?;
    chart::step_at(event.offset_x(), plot.client_width(), steps)
}

fn time(time: &str) -> AnyView {
    view! { <span>{time.to_owned()}</span> }.into_any()
}

#[component]
fn Bars(
    drawn: Kept<Chart>,
    overview: Latest<Overview>,
    selected: RwSignal<Option<usize>>,
) -> impl IntoView {
    let path =
        move |index: usize| drawn.with(|drawn| drawn.paths.get(index).cloned().unwrap_or_default());
    let paths = Series::ALL.iter().enumerate().map(|(index, series)| {
        view! { <path class=format!("c-{}", series.name()) d=move || path(index)></path> }
            .into_any()
    });
    let mark = move || {
        let Some(index) = selected.get() else {
            return String::new();
        };
        let (left, width) = chart::column(index, overview.with(|overview| overview.series.len()));
        format!("M{left} 0h{width}v{HEIGHT}h-{width}z")
    };
    let grid = format!(
        "M0 5H{WIDTH}M0 {}H{WIDTH}M0 {}H{WIDTH}",
        HEIGHT / 2,
        HEIGHT - 5
    );
    view! {
        <svg
            viewBox=format!("0 0 {WIDTH} {HEIGHT}")
            preserveAspectRatio="none"
            aria-hidden="true"
            focusable="false"
        >
            <path class="mark" d=move || mark()></path>
            <path class="grid" d=grid></path>
            {paths.collect_view()}
        </svg>
    }
}

/// The selected step in words; what is zero is left out.
fn readout((point, step_ms): (Point, u64)) -> AnyView {
    let parts = Series::ALL.iter().rev().filter_map(|series| {
        let number = series.of(&point.counts);
        (number > 0).then(|| {
            view! {
                <span class="part">
                    <span class=series.swatch() aria-hidden="true"></span>
                    {series.label()}
                    " "
                    <b>{count(number)}</b>
                </span>
            }
            .into_any()
        })
    });
    let none = if point.counts.calls() == 0 {
        " no calls"
    } else {
        ""
    };
    view! {
        <b>{chart::step_name(point.at, step_ms)}</b>
        {none}
        {parts.collect_view()}
    }
    .into_any()
}

/// The same numbers as a table, drawn when it is opened.
#[component]
fn Table(overview: Latest<Overview>) -> impl IntoView {
    let is_open = RwSignal::new(false);
    let toggled = move |event: ev::Event| {
        let details = event.current_target();
        let details = details.and_then(|details| details.dyn_into::<web_sys::Element>().ok());
        is_open.set(details.is_some_and(|details| details.has_attribute("open")));
    };
    view! {
        <details on:toggle=toggled>
            <summary>"As a table"</summary>
            {move || is_open.get().then(|| calls(overview))}
        </details>
    }
}

fn calls(overview: Latest<Overview>) -> AnyView {
    let series = Series::SHOWN.map(|series| (series.label(), "num", ""));
    let heads = [&[("Time (UTC)", "", "")][..], &series].concat();
    let rows = move || {
        overview.with(|overview| {
            let rows = overview
                .series
                .iter()
                .rev()
                .map(|point| row(point, overview.step_ms));
            Some(rows.collect_view().into_any())
        })
    };
    let rows = (move || rows()).into_any();
    table("Calls over time", "calls-table", None, &heads, rows)
}

fn row(point: &Point, step_ms: u64) -> AnyView {
    let cells = Series::SHOWN.map(|series| {
        let number = series.of(&point.counts);
        let class = if number == 0 { "num zero" } else { "num" };
        view! { <td class=class>{count(number)}</td> }.into_any()
    });
    view! {
        <tr>
            <th scope="row">{chart::step_name(point.at, step_ms)}</th>
            {cells.collect_view()}
        </tr>
    }
    .into_any()
}
