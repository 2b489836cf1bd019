//! Alarms that do not come as they were set: twice, late, never, or to an object that fails.

use std::cell::Cell;

use shared::time::{Millis, Timestamp};

use super::clocks;
use crate::sql::SqlError;

/// By how much a late alarm is late: less than an object waits before it takes its alarm for lost.
const LATE: Millis = Millis::from_secs(5);

/// How alarms come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarms {
    /// As they were set.
    InTime,
    /// Executed twice each.
    Twice,
    /// Later.
    Late,
    /// Not at all: the platform has given them up, and says that none is set.
    Never,
    /// The next so many fail.
    Failing(u32),
}

thread_local! {
    static ALARMS: Cell<Alarms> = const { Cell::new(Alarms::InTime) };
}

impl Alarms {
    /// As a request names them.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "in-time" => Self::InTime,
            "twice" => Self::Twice,
            "late" => Self::Late,
            "never" => Self::Never,
            "failing" => Self::Failing(7), // one more than the platform tries again
            _ => return None,
        })
    }
}

/// From now on alarms come so.
pub(super) fn set(alarms: Alarms) {
    ALARMS.set(alarms);
}

/// When the platform is asked to ring, if it is.
pub(crate) fn to_set(at: Timestamp) -> Option<Timestamp> {
    match ALARMS.get() {
        Alarms::Never => None,
        Alarms::Late => Some(clocks::to_platform(at).plus(LATE)),
        Alarms::InTime | Alarms::Twice | Alarms::Failing(_) => Some(clocks::to_platform(at)),
    }
}

/// When it says that it will.
pub(crate) fn is_set(at: Timestamp) -> Option<Timestamp> {
    (ALARMS.get() != Alarms::Never).then(|| clocks::from_platform(at))
}

/// How often the object hears of an alarm.
pub(crate) fn times() -> u32 {
    match ALARMS.get() {
        Alarms::Never => 0,
        Alarms::Twice => 2,
        Alarms::InTime | Alarms::Late | Alarms::Failing(_) => 1,
    }
}

/// Fails where it was asked to.
pub(crate) fn maybe_fail() -> Result<(), SqlError> {
    match ALARMS.get() {
        Alarms::Failing(left @ 1..) => {
            ALARMS.set(Alarms::Failing(left - 1));
            Err(SqlError::unreadable("planted in the alarm"))
        }
        Alarms::Failing(0) | Alarms::InTime | Alarms::Twice | Alarms::Late | Alarms::Never => {
            Ok(())
        }
    }
}
