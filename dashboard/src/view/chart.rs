//! The geometry of the stacked bars: steps into rectangles, a round upper end, labels of the axes.
//!
//! Not markup: one path per series comes out, in a box of `WIDTH` × `HEIGHT` that the page stretches to its own size.

use std::fmt::Write as _;

use shared::time::{Millis, Timestamp};
use shared::wire::{Counts, Point};

use super::age;
use super::series::Series;

/// The box's width in its own units: fine ones, so that whole numbers do.
pub(crate) const WIDTH: u64 = 10_000;
/// The box's height in its own units, about a tenth of a pixel each.
pub(crate) const HEIGHT: u64 = 1_800;

/// No call may be lost to rounding: what is not zero is at least this high.
const SEGMENT_MIN: u64 = 20;
/// The hundredths of a step that are left free between bars, as long as bars are wide enough.
const GAP_PERCENT: u64 = 14;
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
        let gap = if series.len() > STEPS_WITH_GAP_MAX {
            0
        } else {
            GAP_PERCENT
        };
        for (index, point) in series.iter().enumerate() {
            let (left, column) = column(index, series.len());
            let inset = column * gap / 200;
            let (left, width) = (left + inset, column - 2 * inset);
            let mut floor = HEIGHT;
            for (path, height) in paths.iter_mut().zip(heights(&point.counts, top)) {
                if height > 0 {
                    floor = floor.saturating_sub(height);
                    // Writing to a String cannot fail.
                    let _ = write!(path, "M{left} {floor}h{width}v{height}h-{width}z");
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
pub(crate) const fn column(index: usize, steps: usize) -> (u64, u64) {
    let steps = if steps == 0 { 1 } else { steps as u64 };
    let left = index as u64 * WIDTH / steps;
    let right = (index as u64 + 1) * WIDTH / steps;
    (left, right - left)
}

/// The step under a pointer at `offset` from the left edge of a chart that is `width` wide.
pub(crate) fn step_at(offset: i32, width: i32, steps: usize) -> Option<usize> {
    let offset = usize::try_from(offset).ok()?;
    let width = usize::try_from(width).ok()?;
    (offset < width && steps > 0).then(|| offset * steps / width)
}

/// The name of a step: its time, and its day where a chart spans several.
pub(crate) fn step_name(at: Timestamp, step_ms: u64) -> String {
    let until = at.plus(Millis::new(step_ms));
    format!(
        "{} {} – {}",
        age::month_day(at),
        age::clock_minutes(at),
        age::clock_minutes(until)
    )
}

/// The heights of a step's segments. Small ones are raised to be seen; the largest pays for it.
fn heights(counts: &Counts, top: u64) -> [u64; Series::ALL.len()] {
    let mut heights = Series::ALL.map(|series| match series.of(counts) {
        0 => 0,
        count => scaled(count, top).max(SEGMENT_MIN),
    });
    let over = heights.iter().sum::<u64>().saturating_sub(HEIGHT);
    if let Some(largest) = heights.iter_mut().max() {
        *largest -= over.min(*largest);
    }
    heights
}

fn scaled(count: u64, top: u64) -> u64 {
    let height = u128::from(count) * u128::from(HEIGHT) / u128::from(top.max(1));
    u64::try_from(height).unwrap_or(HEIGHT)
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

#[cfg(test)]
mod tests {
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
        assert_eq!(chart.paths[0], "M350 900h4300v900h-4300z");
        assert_eq!(chart.paths[7], "M350 0h4300v900h-4300z");
        assert!(chart.paths[1..7].iter().all(String::is_empty));
    }

    #[test]
    fn one_unknown_among_thousands_is_still_seen_and_the_bar_stays_inside() {
        let heights = heights(&calls(99_999, 1), 100_000);
        assert!(heights[7] >= SEGMENT_MIN);
        assert!(heights.iter().sum::<u64>() <= HEIGHT);
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
            (-1, None),
            (0, Some(0)),
            (49, Some(0)),
            (50, Some(1)),
            (99, Some(1)),
            (100, None),
        ] {
            assert_eq!(step_at(offset, 100, 2), step, "{offset}");
        }
        assert_eq!(step_at(1, 100, 0), None);
        assert_eq!(step_at(1, 0, 2), None);
        assert_eq!(column(1, 4), (2_500, 2_500));
        assert_eq!(column(0, 0), (0, WIDTH));
    }
}
