//! Sums over a range of time, and the same in even steps: from what was saved minute by minute.
//!
//! Not a store of points: an object keeps, for a minute in which something was counted, its sums at the end of
//! it. Sums only rise, so the difference between two minutes is what happened between them (P8).

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::metrics::{Sums, wire_counts};
use crate::time::{Millis, Timestamp};
use crate::wire::{Counts, Point};

const MINUTE: Millis = Millis::from_mins(1);

/// How far back an overview looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Range {
    /// The last hour, minute by minute.
    #[default]
    Hour,
    /// The last day, in quarters of an hour.
    Day,
    /// The last week, in steps of two hours.
    Week,
}

/// A range in even steps, on minutes that are whole multiples of the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The first minute since 1970 that is within.
    pub first_minute: i64,
    /// Minutes in a step.
    pub step_minutes: i64,
    /// How many steps there are.
    pub steps: u32,
}

/// What happened in a window: in all, and in those of its steps in which something did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Happened {
    /// In all.
    pub sums: Sums,
    /// By step, counted from 0.
    pub steps: Vec<(u32, Counts)>,
}

impl Range {
    /// Reads `1h`, `24h` or `7d`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "1h" => Some(Self::Hour),
            "24h" => Some(Self::Day),
            "7d" => Some(Self::Week),
            _ => None,
        }
    }

    /// The window that ends with the step in which `now` lies.
    #[must_use]
    pub const fn until(self, now: Timestamp) -> Window {
        let (step_minutes, steps) = match self {
            Self::Hour => (1, 60),
            Self::Day => (15, 96),
            Self::Week => (120, 84),
        };
        let last_step = minute(now).div_euclid(step_minutes);
        Window {
            first_minute: (last_step - steps as i64 + 1) * step_minutes,
            step_minutes,
            steps,
        }
    }
}

/// The minute since 1970 in which `at` lies.
#[must_use]
pub const fn minute(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(MINUTE.get().cast_signed())
}

impl Window {
    /// What happened, from the sums before the window and those saved within it, oldest first: at least the
    /// last of each step.
    #[must_use]
    pub fn happened(&self, before: &Sums, saved: &[(i64, Sums)]) -> Happened {
        let mut happened = Happened::default();
        let mut last = before;
        for (minute, sums) in saved {
            let counts = wire_counts(&sums.since(last));
            last = sums;
            let Some(step) = self.step(*minute) else {
                continue;
            };
            match happened.steps.last_mut() {
                Some((same, kept)) if *same == step => *kept = plus(kept, &counts),
                Some(_) | None if counts == Counts::default() => {}
                Some(_) | None => happened.steps.push((step, counts)),
            }
        }
        happened.sums = last.since(before);
        happened
    }

    /// The even series of several objects together.
    #[must_use]
    pub fn points<'a>(&self, objects: impl IntoIterator<Item = &'a Happened>) -> Vec<Point> {
        let mut points: Vec<Point> = (0..self.steps)
            .map(|step| Point {
                at: self.at(step),
                counts: Counts::default(),
            })
            .collect();
        for (step, counts) in objects.into_iter().flat_map(|happened| &happened.steps) {
            let point = usize::try_from(*step)
                .ok()
                .and_then(|step| points.get_mut(step));
            if let Some(point) = point {
                point.counts = plus(&point.counts, counts);
            }
        }
        points
    }

    /// The distance between two points, in milliseconds.
    #[must_use]
    pub const fn step_ms(&self) -> u64 {
        self.step_minutes.unsigned_abs() * MINUTE.get()
    }

    fn step(&self, minute: i64) -> Option<u32> {
        let step = minute
            .checked_sub(self.first_minute)?
            .checked_div_euclid(self.step_minutes)?;
        u32::try_from(step).ok().filter(|step| *step < self.steps)
    }

    fn at(&self, step: u32) -> Timestamp {
        let minute = self.first_minute + i64::from(step) * self.step_minutes;
        Timestamp::from_millis(minute.saturating_mul(MINUTE.get().cast_signed()))
    }
}

/// Two parts of a partition together.
#[must_use]
pub const fn plus(a: &Counts, b: &Counts) -> Counts {
    Counts {
        applied: a.applied + b.applied,
        replayed: a.replayed + b.replayed,
        conflicts: a.conflicts + b.conflicts,
        mismatches: a.mismatches + b.mismatches,
        released: a.released + b.released,
        failed: a.failed + b.failed,
        unknown: a.unknown + b.unknown,
        expired: a.expired + b.expired,
        refused: a.refused + b.refused,
        unprotected: a.unprotected + b.unprotected,
        superseded: a.superseded + b.superseded,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::metrics::Call;

    fn applied(times: u64) -> Sums {
        let mut sums = Sums::default();
        (0..times).for_each(|_| sums.count(Call::Applied));
        sums
    }

    fn at_minute(minute: i64) -> Timestamp {
        Timestamp::from_millis(minute * 60_000)
    }

    #[test]
    fn a_window_ends_with_the_step_of_now_on_whole_steps() {
        let now = at_minute(1_000).plus(Millis::new(59_999));
        let rows = [
            ("1h", 941, 1, 60, 60_000),
            ("24h", 990 - 95 * 15, 15, 96, 900_000),
            ("7d", 960 - 83 * 120, 120, 84, 7_200_000),
        ];
        for (text, first_minute, step_minutes, steps, step_ms) in rows {
            let window = Range::parse(text).unwrap_or_default().until(now);
            assert_eq!(
                window,
                Window {
                    first_minute,
                    step_minutes,
                    steps
                },
                "{text}"
            );
            assert_eq!(window.step_ms(), step_ms, "{text}");
            assert_eq!(window.step(1_000), Some(steps - 1), "{text}");
        }
        assert_eq!(Range::parse("2h"), None);
    }

    #[test]
    fn steps_are_differences_and_quiet_ones_are_left_out() {
        let window = Window {
            first_minute: 100,
            step_minutes: 10,
            steps: 3,
        };
        let saved = [
            (101, applied(7)),
            (105, applied(8)),
            (115, applied(8)),
            (129, applied(9)),
        ];
        let happened = window.happened(&applied(5), &saved);
        assert_eq!(happened.sums, applied(4));
        let by_step: Vec<_> = happened
            .steps
            .iter()
            .map(|(step, c)| (*step, c.applied))
            .collect();
        assert_eq!(by_step, [(0, 3), (2, 1)]);
        assert_eq!(window.happened(&applied(5), &[]), Happened::default());
    }

    #[test]
    fn points_are_even_and_add_up_over_objects() {
        let window = Window {
            first_minute: 100,
            step_minutes: 10,
            steps: 3,
        };
        let one = window.happened(&applied(0), &[(101, applied(2)), (129, applied(3))]);
        let two = window.happened(&applied(9), &[(109, applied(10))]);
        let beyond = Happened {
            steps: vec![(9, Counts::default())],
            ..Happened::default()
        };
        let points = window.points([&one, &two, &beyond]);
        let shown: Vec<_> = points.iter().map(|p| (p.at, p.counts.applied)).collect();
        assert_eq!(
            shown,
            [
                (at_minute(100), 3),
                (at_minute(110), 0),
                (at_minute(120), 1)
            ]
        );
    }

    #[test]
    fn what_lies_outside_of_the_window_makes_no_step() {
        let window = Window {
            first_minute: 100,
            step_minutes: 10,
            steps: 3,
        };
        assert_eq!(
            (window.step(99), window.step(100), window.step(130)),
            (None, Some(0), None)
        );
        let broken = Window {
            step_minutes: 0,
            ..window
        };
        assert_eq!(broken.step(100), None);
        assert_eq!(window.happened(&applied(0), &[(130, applied(1))]).steps, []);
    }
}
