//! Moments and spans as an operator reads them.
//!
//! All moments are UTC, as in the logs that they are compared with; not a clock.

use shared::time::{Millis, Timestamp};

use super::civil::Civil;

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

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
    format!("{} {}", date(at), clock(at))
}

/// `13:05:09.120`.
pub(crate) fn clock_ms(at: Timestamp) -> String {
    format!("{}.{:03}", clock(at), Civil::of(at).millis)
}

/// `13:05`.
pub(crate) fn clock_minutes(at: Timestamp) -> String {
    let Civil { hour, minute, .. } = Civil::of(at);
    format!("{hour:02}:{minute:02}")
}

/// `11-30`, for axes that span days.
pub(crate) fn month_day(at: Timestamp) -> String {
    let Civil { month, day, .. } = Civil::of(at);
    format!("{month:02}-{day:02}")
}

/// `2026-11-30`.
pub(crate) fn date(at: Timestamp) -> String {
    format!("{:04}-{}", Civil::of(at).year, month_day(at))
}

/// `2026-11-30T13:05:09.120Z`, for programs.
pub(crate) fn rfc_3339(at: Timestamp) -> String {
    format!("{}T{}Z", date(at), clock_ms(at))
}

/// The value of a `datetime-local` field, to the second; the field is labelled UTC.
pub(crate) fn to_field(at: Timestamp) -> String {
    format!("{}T{}", date(at), clock(at))
}

/// Reads the value of a `datetime-local` field as UTC; nothing when it is none. Seconds may be left out, and their
/// parts are passed over.
pub(crate) fn from_field(text: &str) -> Option<Timestamp> {
    let (date, clock) = text.split_once('T')?;
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let mut date = date.splitn(3, '-').map(number);
    let mut clock = clock.splitn(3, ':').map(number);
    let civil = Civil {
        year: date.next()??,
        month: date.next()??,
        day: date.next()??,
        hour: clock.next()??,
        minute: clock.next()??,
        second: clock.next().unwrap_or(Some(0))?,
        millis: 0,
    };
    civil.moment()
}

fn clock(at: Timestamp) -> String {
    format!("{}:{:02}", clock_minutes(at), Civil::of(at).second)
}

/// Digits alone: `parse` would take a sign, too.
fn number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
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
        assert_eq!(
            from_field("2026-11-30T13:05:09.5"),
            Some(Timestamp::from_millis(1_796_043_909_000))
        );
        for wrong in [
            "",
            "yesterday",
            "2026-13-01T00:00",
            "2026-02-30T00:00",
            "2026-11-30",
            "2026-11T00:00",
            "2026-11-30T00",
            "2026-11-30T00:00:",
            "2026-11-30T00:00:00:00",
            "+2026-11-30T00:00",
            "99999999999999999999-01-01T00:00",
        ] {
            assert_eq!(from_field(wrong), None, "{wrong}");
        }
        // As `Timestamp` shows itself.
        for ms in [0, -1, 1_796_043_909_120, 951_782_400_000] {
            let at = Timestamp::from_millis(ms);
            assert_eq!(rfc_3339(at), at.to_string());
        }
    }
}
