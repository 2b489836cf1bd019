//! Points and spans of time with their unit in the type.
//!
//! Not a clock: the time is a parameter of every rule (the caller reads it once per event).

use core::fmt;

use chrono::{Datelike, Timelike};

use serde::{Deserialize, Serialize};

/// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// A span of time in milliseconds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(u64);

impl Timestamp {
    /// The moment `millis` milliseconds after the Unix epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This moment moved forward; it stops at the last one that can be named.
    #[must_use]
    pub const fn plus(self, span: Millis) -> Self {
        Self(self.0.saturating_add_unsigned(span.0))
    }

    /// This moment moved back; it stops at the first one that can be named.
    #[must_use]
    pub const fn minus(self, span: Millis) -> Self {
        Self(self.0.saturating_sub_unsigned(span.0))
    }

    /// How long ago `earlier` was; zero when it lies ahead.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        let span = self.0.saturating_sub(earlier.0);
        Millis(if span < 0 { 0 } else { span.unsigned_abs() })
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match chrono::DateTime::from_timestamp_millis(self.0) {
            // Written out, because the engine of format strings weighs more in a Worker than the rest of it.
            Some(moment) => write!(
                f,
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                moment.year(),
                moment.month(),
                moment.day(),
                moment.hour(),
                moment.minute(),
                moment.second(),
                moment.timestamp_subsec_millis()
            ),
            None => write!(f, "{} ms since 1970", self.0),
        }
    }
}

impl Millis {
    /// A span of `millis` milliseconds.
    #[must_use]
    pub const fn new(millis: u64) -> Self {
        Self(millis)
    }

    /// A span of `seconds` seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1_000)
    }

    /// A span of `minutes` minutes.
    #[must_use]
    pub const fn from_mins(minutes: u64) -> Self {
        Self::from_secs(minutes * 60)
    }

    /// A span of `hours` hours.
    #[must_use]
    pub const fn from_hours(hours: u64) -> Self {
        Self::from_mins(hours * 60)
    }

    /// The number of milliseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The difference to a shorter span; zero when `other` is the longer one.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_never_negative_and_moments_stop_at_their_ends() {
        let at = Timestamp::from_millis;
        assert_eq!(at(5).since(at(2)), Millis::new(3));
        assert_eq!(at(2).since(at(5)), Millis::new(0));
        assert_eq!(at(i64::MAX).plus(Millis::new(1)), at(i64::MAX));
        assert_eq!(at(i64::MIN).minus(Millis::new(1)), at(i64::MIN));
        assert_eq!(
            Millis::new(1).saturating_sub(Millis::new(2)),
            Millis::new(0)
        );
    }

    #[test]
    fn moments_are_shown_as_rfc_3339() {
        let shown = alloc::string::ToString::to_string;
        assert_eq!(
            shown(&Timestamp::from_millis(1_500)),
            "1970-01-01T00:00:01.500Z"
        );
        assert_eq!(
            shown(&Timestamp::from_millis(i64::MAX)),
            "9223372036854775807 ms since 1970"
        );
    }
}
