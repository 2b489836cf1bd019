//! Calls over time as stacked bars. A step can be pointed at, or walked to with the arrow keys; Enter or a click lists
//! the operations first claimed in it.

use leptos::ev;
use leptos::prelude::*;
use shared::time::{Millis, Timestamp};
use shared::wire::Point;
use wasm_bindgen::JsCast;

use crate::view::chart::{self, Chart, HEIGHT, WIDTH};
use crate::view::number::count;
use crate::view::series::Series;

/// The figure.
#[component]
pub(crate) fn CallsChart(
    /// The steps, oldest first.
    #[prop(into)]
    series: Signal<Vec<Point>>,
    /// The length of a step.
    #[prop(into)]
    step_ms: Signal<u64>,
    /// What the chart covers, for its name.
    #[prop(into)]
    covers: Signal<&'static str>,
    /// Called with a step's beginning and end to list its operations.
    open: Callback<(Timestamp, Timestamp)>,
) -> impl IntoView {
    let drawn = Memo::new(move |_| series.with(|series| Chart::draw(series, step_ms.get())));
    let steps = Memo::new(move |_| series.with(Vec::len));
    let selected = RwSignal::new(None::<usize>);
    let point = Memo::new(move |_| {
        let index = selected.get()?;
        series.with(|series| series.get(index).copied())
    });
    let open_selected = move || {
        if let Some(point) = point.get_untracked() {
            open.run((
                point.at,
                point.at.plus(Millis::new(step_ms.get_untracked())),
            ));
        }
    };
    let keyed = move |event: ev::KeyboardEvent| {
        let last = steps.get_untracked().saturating_sub(1);
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
        let step = step_under(&event, steps.get_untracked());
        armed.set_value(by_mouse(&event) || step == selected.get_untracked());
        selected.set(step);
    };
    let pointed = move |event: ev::PointerEvent| {
        let step = step_under(&event, steps.get_untracked());
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
    view! {
        <figure class="chart" data-test="chart">
            <figcaption>"Calls over " {move || covers.get()}</figcaption>
            <Readout point step_ms/>
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
                    aria-label=move || {
                        format!(
                            "Calls over {}, {} steps: arrow keys read a step, Enter lists its operations",
                            covers.get(),
                            steps.get(),
                        )
                    }
                    on:keydown=keyed
                    on:pointerdown=pressed
                    on:pointermove=pointed
                    on:pointerleave=left
                    on:click=clicked
                >
                    <Bars drawn steps selected/>
                </div>
                <div class="times" aria-hidden="true">
                    {move || {
                        drawn
                            .with(|drawn| drawn.times.clone())
                            .into_iter()
                            .map(|time| view! { <span>{time}</span> })
                            .collect_view()
                    }}
                </div>
            </div>
            <Table series step_ms/>
        </figure>
    }
}

fn by_mouse(event: &ev::PointerEvent) -> bool {
    event.pointer_type() == "mouse"
}

fn step_under(event: &ev::PointerEvent, steps: usize) -> Option<usize> {
    let plot: web_sys::Element = event.current_target()?.dyn_into().ok()?;
    chart::step_at(
        f64::from(event.offset_x()),
        f64::from(plot.client_width()),
        steps,
    )
}

#[component]
fn Bars(
    drawn: Memo<Chart>,
    steps: Memo<usize>,
    selected: RwSignal<Option<usize>>,
) -> impl IntoView {
    let paths = Series::ALL.iter().enumerate().map(|(index, series)| {
        let path = move || drawn.with(|drawn| drawn.paths.get(index).cloned().unwrap_or_default());
        view! { <path class=format!("c-{}", series.name()) d=path></path> }
    });
    let mark = move || {
        let (x, width) = chart::column(selected.get()?, steps.get());
        Some(view! { <rect class="mark" x=x y="0" width=width height=HEIGHT></rect> })
    };
    view! {
        <svg
            viewBox=format!("0 0 {WIDTH} {HEIGHT}")
            preserveAspectRatio="none"
            aria-hidden="true"
            focusable="false"
        >
            {mark}
            <path class="grid" d=format!("M0 .5H{WIDTH}M0 {}H{WIDTH}M0 {}.5H{WIDTH}", HEIGHT / 2, HEIGHT - 1)></path>
            {paths.collect_view()}
        </svg>
    }
}

/// The selected step in words; what is zero is left out.
#[component]
fn Readout(point: Memo<Option<Point>>, step_ms: Signal<u64>) -> impl IntoView {
    let parts = move || {
        point.get().map(|point| {
            let numbers = Series::ALL.iter().rev().filter_map(|series| {
                let number = series.of(&point.counts);
                (number > 0).then(|| {
                    view! {
                        <span class="part">
                            <span class=format!("swatch c-{}", series.name()) aria-hidden="true"></span>
                            {series.label()}
                            " "
                            <b>{count(number)}</b>
                        </span>
                    }
                })
            });
            view! {
                <b>{chart::step_name(point.at, step_ms.get())}</b>
                {(point.counts.calls() == 0).then_some(" no calls")}
                {numbers.collect_view()}
            }
        })
    };
    view! { <p class="readout" role="status">{parts}</p> }
}

/// The same numbers as a table, drawn when it is opened.
#[component]
fn Table(series: Signal<Vec<Point>>, step_ms: Signal<u64>) -> impl IntoView {
    let is_open = RwSignal::new(false);
    let toggled = move |event: ev::Event| {
        let details = event.current_target();
        let details = details.and_then(|details| details.dyn_into::<web_sys::Element>().ok());
        is_open.set(details.is_some_and(|details| details.has_attribute("open")));
    };
    view! {
        <details on:toggle=toggled>
            <summary>"As a table"</summary>
            <Show when=move || is_open.get()>
                <div class="scroll" role="region" tabindex="0" aria-label="Calls over time">
                    <table class="dense">
                        <thead>
                            <tr>
                                <th scope="col">"Time (UTC)"</th>
                                {Series::ALL
                                    .map(|series| view! { <th scope="col" class="num">{series.label()}</th> })
                                    .collect_view()}
                            </tr>
                        </thead>
                        <tbody>
                            {move || {
                                series
                                    .get()
                                    .iter()
                                    .rev()
                                    .map(|point| {
                                        view! {
                                            <tr>
                                                <th scope="row">{chart::step_name(point.at, step_ms.get())}</th>
                                                {Series::ALL
                                                    .map(|series| {
                                                        let number = series.of(&point.counts);
                                                        view! { <td class="num" class:zero=number == 0>{count(number)}</td> }
                                                    })
                                                    .collect_view()}
                                            </tr>
                                        }
                                    })
                                    .collect_view()
                            }}
                        </tbody>
                    </table>
                </div>
            </Show>
        </details>
    }
}
