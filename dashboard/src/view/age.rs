//! Moments and spans as an operator reads them.
//!
//! All moments are UTC, as in the logs that they are compared with; not a clock.

use chrono::NaiveDateTime;
use shared::time::{Millis, Timestamp};

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// The forms in which browsers write the value of a `datetime-local` field.
const FIELD_FORMS: [&str; 2] = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"];

/// A span in its two largest units: `48 s`, `3 min 5 s`, `2 h 10 min`, `4 d 1 h`.
pub(crate) fn age(span: Millis) -> String {
    let ms = span.get();
    if ms < MINUTE_MS {
        format!("{} s", ms / SECOND_MS)
    } else if ms < HOUR_MS {
        two(ms, MINUTE_MS, "min", SECOND_MS, "s")
    } else if ms < DAY_MS {
        two(ms, HOUR_MS, "h", MINUTE_MS, "min")
    } else {
        two(ms, DAY_MS, "d", HOUR_MS, "h")
    }
}

/// A span as it is measured: `84 ms`, `1.25 s`, then as `age`.
pub(crate) fn duration(span: Millis) -> String {
    let ms = span.get();
    if ms < SECOND_MS {
        format!("{ms} ms")
    } else if ms < MINUTE_MS {
        format!("{}.{:02} s", ms / SECOND_MS, ms % SECOND_MS / 10)
    } else {
        age(span)
    }
}

/// `2026-11-30 13:05:09`.
pub(crate) fn moment(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..19)) {
        (Some(date), Some(time)) => format!("{date} {time}"),
        _ => text,
    }
}

/// `13:05:09.120`.
pub(crate) fn clock_ms(at: Timestamp) -> String {
    slice(at, 11, 23)
}

/// `13:05`.
pub(crate) fn clock_minutes(at: Timestamp) -> String {
    slice(at, 11, 16)
}

/// `11-30`, for axes that span days.
pub(crate) fn month_day(at: Timestamp) -> String {
    slice(at, 5, 10)
}

/// `2026-11-30`.
pub(crate) fn date(at: Timestamp) -> String {
    slice(at, 0, 10)
}

/// The value of a `datetime-local` field, to the second; the field is labelled UTC.
pub(crate) fn to_field(at: Timestamp) -> String {
    slice(at, 0, 19)
}

/// Reads the value of a `datetime-local` field as UTC; nothing when it is none.
pub(crate) fn from_field(text: &str) -> Option<Timestamp> {
    FIELD_FORMS.iter().find_map(|form| {
        let at = NaiveDateTime::parse_from_str(text, form).ok()?;
        Some(Timestamp::from_millis(at.and_utc().timestamp_millis()))
    })
}

fn slice(at: Timestamp, from: usize, to: usize) -> String {
    let text = at.to_string();
    text.get(from..to)
        .map_or_else(|| text.clone(), str::to_owned)
}

fn two(ms: u64, large: u64, large_name: &str, small: u64, small_name: &str) -> String {
    let rest = ms % large / small;
    if rest == 0 {
        format!("{} {large_name}", ms / large)
    } else {
        format!("{} {large_name} {rest} {small_name}", ms / large)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ms: u64, as_age: &str, as_duration: &str) {
        assert_eq!(age(Millis::new(ms)), as_age);
        assert_eq!(duration(Millis::new(ms)), as_duration);
    }

    #[test]
    fn spans_show_their_two_largest_units() {
        check(0, "0 s", "0 ms");
        check(999, "0 s", "999 ms");
        check(1_250, "1 s", "1.25 s");
        check(59_999, "59 s", "59.99 s");
        check(60_000, "1 min", "1 min");
        check(185_000, "3 min 5 s", "3 min 5 s");
        check(7_800_000, "2 h 10 min", "2 h 10 min");
        check(349_200_000, "4 d 1 h", "4 d 1 h");
    }

    #[test]
    fn moments_are_utc_and_fields_read_back() {
        let at = Timestamp::from_millis(1_796_043_909_120);
        assert_eq!(moment(at), "2026-11-30 13:05:09");
        assert_eq!(clock_ms(at), "13:05:09.120");
        assert_eq!(clock_minutes(at), "13:05");
        assert_eq!(month_day(at), "11-30");
        assert_eq!(date(at), "2026-11-30");
        assert_eq!(
            from_field(&to_field(at)),
            Some(Timestamp::from_millis(1_796_043_909_000))
        );
        assert_eq!(
            from_field("2026-11-30T13:05"),
            Some(Timestamp::from_millis(1_796_043_900_000))
        );
        for wrong in ["", "yesterday", "2026-13-01T00:00", "2026-11-30"] {
            assert_eq!(from_field(wrong), None, "{wrong}");
        }
        assert!(moment(Timestamp::from_millis(i64::MAX)).starts_with("9223372036"));
    }
}
