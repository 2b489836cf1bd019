//! Spans, sizes and dates as text with their unit.

use alloc::string::String;

use crate::quote::quoted;
use crate::time::{Millis, Timestamp};

/// A whole number and one unit: `500ms`, `30s`, `5m`, `72h`, `45d`.
pub(super) fn span(text: &str) -> Result<Millis, String> {
    let units = [
        ("ms", 1),
        ("s", 1_000),
        ("m", 60_000),
        ("h", 3_600_000),
        ("d", 86_400_000),
    ];
    let millis = counted(text, &units);
    millis
        .map(Millis::new)
        .ok_or_else(|| quoted(text.as_bytes()))
}

/// A whole number and one unit: `512B`, `256KiB`, `1MiB`.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let bytes = counted(text, &[("B", 1), ("KiB", 1_024), ("MiB", 1_048_576)]);
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| quoted(text.as_bytes()))
}

fn counted(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// The end of a day in UTC: what is granted until a date is good on that date.
pub(super) fn end_of(date: &str) -> Result<Timestamp, String> {
    let next = day(date)
        .and_then(|day| day.succ_opt())
        .and_then(|next| next.and_hms_opt(0, 0, 0));
    let midnight = next.map(|midnight| midnight.and_utc().timestamp_millis());
    midnight
        .map(Timestamp::from_millis)
        .ok_or_else(|| quoted(date.as_bytes()))
}

/// `YYYY-MM-DD`, each with all its digits.
fn day(date: &str) -> Option<chrono::NaiveDate> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (year, rest) = date.split_at_checked(4)?;
    let (month, day) = rest.strip_prefix('-')?.split_once('-')?;
    let whole = digits(year)
        && [month, day]
            .iter()
            .all(|part| part.len() == 2 && digits(part));
    let (year, month, day) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    chrono::NaiveDate::from_ymd_opt(year, month, day).filter(|_| whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_one_unit() {
        assert_eq!(span("500ms"), Ok(Millis::new(500)));
        assert_eq!(span("30s"), Ok(Millis::from_secs(30)));
        assert_eq!(span("5m"), Ok(Millis::from_mins(5)));
        assert_eq!(span("72h"), Ok(Millis::from_hours(72)));
        assert_eq!(span("45d"), Ok(Millis::from_hours(1_080)));
        assert_eq!(span("0s"), Ok(Millis::new(0)));
        for text in [
            "",
            "30",
            "s",
            "1.5h",
            "-1s",
            "1 s",
            "1h30m",
            "1H",
            "99999999999999999999s",
            "999999999999999999d",
        ] {
            assert_eq!(span(text), Err(quoted(text.as_bytes())));
        }
    }

    #[test]
    fn sizes_have_one_unit() {
        assert_eq!(size("512B"), Ok(512));
        assert_eq!(size("256KiB"), Ok(262_144));
        assert_eq!(size("1MiB"), Ok(1_048_576));
        for text in ["", "1", "1KB", "1kib", "-1B", "1GiB"] {
            assert_eq!(size(text), Err(quoted(text.as_bytes())));
        }
    }

    #[test]
    fn a_date_ends_at_midnight_in_utc() {
        assert_eq!(end_of("1970-01-01"), Ok(Timestamp::from_millis(86_400_000)));
        assert_eq!(
            end_of("2027-06-30"),
            Ok(Timestamp::from_millis(1_814_400_000_000))
        );
        for text in [
            "",
            "2027-6-30",
            "2027-02-30",
            "30.06.2027",
            "2027-06-30T00:00:00Z",
            "+2027-06-30",
        ] {
            assert_eq!(end_of(text), Err(quoted(text.as_bytes())));
        }
    }
}
