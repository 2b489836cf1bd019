//! The geometry of the stacked bars: steps into rectangles, a round upper end, labels of the axes.
//!
//! Not markup: one path per series comes out, in a box of `WIDTH` × `HEIGHT` that the page stretches to its own size.

use std::fmt::Write as _;

use shared::time::{Millis, Timestamp};
use shared::wire::Point;

use super::age;
use super::series::Series;

/// The box's width in its own units.
pub(crate) const WIDTH: u32 = 1_000;
/// The box's height in its own units, about a pixel each.
pub(crate) const HEIGHT: u32 = 180;

/// No call may be lost to rounding: what is not zero is at least this high.
const SEGMENT_MIN: f64 = 2.0;
/// The part of a step that is left free between bars, as long as bars are wide enough.
const GAP: f64 = 0.14;
/// With more steps than this a gap would be finer than a pixel.
const STEPS_WITH_GAP_MAX: usize = 100;
/// How many labels the time axis has, ends included.
const TIME_LABELS: u32 = 5;
const DAY_MS: u64 = 86_400_000;

/// The chart, ready to draw.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Chart {
    /// The path of each series, in the order of `Series::ALL`.
    pub(crate) paths: Vec<String>,
    /// The number at the box's upper edge; the middle is half of it.
    pub(crate) top: u64,
    /// Labels of the time axis, evenly spaced from edge to edge.
    pub(crate) times: Vec<String>,
}

impl Chart {
    /// Draws `series`, whose steps are `step_ms` long.
    pub(crate) fn draw(series: &[Point], step_ms: u64) -> Self {
        let most = series
            .iter()
            .map(|point| point.counts.calls())
            .max()
            .unwrap_or(0);
        let top = round_up(most);
        let mut paths = vec![String::new(); Series::ALL.len()];
        let bar = Bar::new(series.len());
        for (index, point) in series.iter().enumerate() {
            let heights = heights(point, top);
            let mut floor = f64::from(HEIGHT);
            for (path, height) in paths.iter_mut().zip(heights) {
                if height > 0.0 {
                    floor -= height;
                    bar.add(path, index, floor, height);
                }
            }
        }
        Self {
            paths,
            top,
            times: times(series, step_ms),
        }
    }
}

/// The left edge and the width of a step's whole column, for the mark behind the selected one.
pub(crate) fn column(index: usize, steps: usize) -> (f64, f64) {
    let width = f64::from(WIDTH) / as_f64(steps.max(1));
    (as_f64(index) * width, width)
}

/// The step under a pointer at `offset` from the left edge of a chart that is `width` wide.
pub(crate) fn step_at(offset: f64, width: f64, steps: usize) -> Option<usize> {
    if steps == 0 || width <= 0.0 || !(0.0..width).contains(&offset) {
        return None;
    }
    let part = offset / width;
    (0..steps)
        .rev()
        .find(|index| as_f64(*index) / as_f64(steps) <= part)
}

/// The name of a step: its time, and its day where a chart spans several.
pub(crate) fn step_name(at: Timestamp, step_ms: u64) -> String {
    let until = at.plus(Millis::new(step_ms));
    format!(
        "{} – {}",
        age::moment(at).get(5..16).unwrap_or_default(),
        age::clock_minutes(until)
    )
}

struct Bar {
    step: f64,
    inset: f64,
}

impl Bar {
    fn new(steps: usize) -> Self {
        let (_, step) = column(0, steps);
        let gap = if steps > STEPS_WITH_GAP_MAX { 0.0 } else { GAP };
        Self {
            step,
            inset: step * gap / 2.0,
        }
    }

    fn add(&self, path: &mut String, index: usize, y: f64, height: f64) {
        let x = as_f64(index) * self.step + self.inset;
        let width = self.step - 2.0 * self.inset;
        // Writing to a String cannot fail.
        let _ = write!(path, "M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z");
    }
}

/// The heights of a step's segments. Small ones are raised to be seen; the largest pays for it.
fn heights(point: &Point, top: u64) -> Vec<f64> {
    let scale = f64::from(HEIGHT) / count_as_f64(top.max(1));
    let exact = |series: &Series| count_as_f64(series.of(&point.counts)) * scale;
    let mut heights: Vec<f64> = Series::ALL
        .iter()
        .map(|series| match exact(series) {
            height if height > 0.0 => height.max(SEGMENT_MIN),
            _ => 0.0,
        })
        .collect();
    let over = heights.iter().sum::<f64>() - f64::from(HEIGHT);
    if over > 0.0
        && let Some(largest) = heights.iter_mut().max_by(|one, other| one.total_cmp(other))
    {
        *largest -= over;
    }
    heights
}

/// The next even number of the form 1, 2, 4, 6, 8 × 10ⁿ: a round top whose half is whole, too.
fn round_up(most: u64) -> u64 {
    let mut unit: u64 = 1;
    loop {
        for factor in [2, 4, 6, 8, 10] {
            let top = unit.saturating_mul(factor);
            if top >= most || top == u64::MAX {
                return top;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

fn times(series: &[Point], step_ms: u64) -> Vec<String> {
    let (Some(first), Some(last)) = (series.first(), series.last()) else {
        return Vec::new();
    };
    let from = first.at;
    let span = last.at.plus(Millis::new(step_ms)).since(from).get();
    (0..TIME_LABELS)
        .map(|index| {
            let at = from.plus(Millis::new(
                span / u64::from(TIME_LABELS - 1) * u64::from(index),
            ));
            if span > DAY_MS + step_ms {
                format!("{} {}", age::month_day(at), age::clock_minutes(at))
            } else {
                age::clock_minutes(at)
            }
        })
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "steps are some hundreds")]
const fn as_f64(steps: usize) -> f64 {
    steps as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a chart cannot show the sixteenth digit"
)]
const fn count_as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use shared::wire::Counts;

    use super::*;

    fn point(minute: i64, counts: Counts) -> Point {
        Point {
            at: Timestamp::from_millis(minute * 60_000),
            counts,
        }
    }

    fn calls(applied: u64, unknown: u64) -> Counts {
        Counts {
            applied,
            unknown,
            ..Counts::default()
        }
    }

    #[test]
    fn the_top_is_round_and_its_half_whole() {
        for (most, top) in [
            (0, 2),
            (1, 2),
            (3, 4),
            (9, 10),
            (11, 20),
            (41, 60),
            (99, 100),
            (1_001, 2_000),
        ] {
            assert_eq!(round_up(most), top, "{most}");
        }
        assert_eq!(round_up(u64::MAX), u64::MAX);
    }

    #[test]
    fn bars_stand_on_the_floor_and_stack() {
        let chart = Chart::draw(&[point(0, calls(10, 10)), point(1, calls(0, 0))], 60_000);
        assert_eq!(chart.top, 20);
        assert_eq!(chart.paths[0], "M35.0 90.0h430.0v90.0h-430.0z");
        assert_eq!(chart.paths[7], "M35.0 0.0h430.0v90.0h-430.0z");
        assert!(chart.paths[1..7].iter().all(String::is_empty));
    }

    #[test]
    fn one_unknown_among_thousands_is_still_seen_and_the_bar_stays_inside() {
        let heights = heights(&point(0, calls(99_999, 1)), 100_000);
        assert!(heights[7] >= SEGMENT_MIN);
        assert!(heights.iter().sum::<f64>() <= f64::from(HEIGHT));
    }

    #[test]
    fn no_series_draws_nothing() {
        let chart = Chart::draw(&[], 60_000);
        assert!(chart.paths.iter().all(String::is_empty) && chart.times.is_empty());
    }

    #[test]
    fn labels_name_the_day_only_where_there_are_several() {
        let hour: Vec<Point> = (0..60)
            .map(|minute| point(minute, Counts::default()))
            .collect();
        let chart = Chart::draw(&hour, 60_000);
        assert_eq!(chart.times, ["00:00", "00:15", "00:30", "00:45", "01:00"]);
        let week = [
            point(0, Counts::default()),
            point(7 * 1_440 - 60, Counts::default()),
        ];
        assert_eq!(Chart::draw(&week, 3_600_000).times[4], "01-08 00:00");
        assert_eq!(
            step_name(Timestamp::from_millis(0), 60_000),
            "01-01 00:00 – 00:01"
        );
    }

    #[test]
    fn pointers_find_their_step() {
        for (offset, step) in [
            (-1.0, None),
            (0.0, Some(0)),
            (49.0, Some(0)),
            (50.0, Some(1)),
            (99.9, Some(1)),
            (100.0, None),
        ] {
            assert_eq!(step_at(offset, 100.0, 2), step, "{offset}");
        }
        assert_eq!(step_at(1.0, 100.0, 0), None);
        assert_eq!(step_at(1.0, 0.0, 2), None);
        assert_eq!(column(1, 4), (250.0, 250.0));
    }
}
