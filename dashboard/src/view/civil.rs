//! Dates of the Gregorian calendar in UTC, from and to milliseconds since 1970.
//!
//! A few lines instead of a calendar library, which would be a tenth of what the browser downloads. Follows Howard
//! Hinnant's `days_from_civil` and `civil_from_days`: years begin in March, so that the leap day comes last.

use shared::time::Timestamp;

const SECOND_MS: i64 = 1_000;
const DAY_MS: i64 = 86_400 * SECOND_MS;
/// Days of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// A moment taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: i64,
    /// 1 to 31.
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    pub(crate) millis: i64,
}

impl Civil {
    /// Takes a moment apart.
    pub(crate) const fn of(at: Timestamp) -> Self {
        let ms = at.as_millis();
        let (days, ms) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
        let days = days + EPOCH_DAYS;
        let era = days.div_euclid(ERA_DAYS);
        let day_of_era = days.rem_euclid(ERA_DAYS);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 {
            month_from_march + 3
        } else {
            month_from_march - 9
        };
        Self {
            year: year_of_era + era * 400 + (month <= 2) as i64,
            month,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: ms / 3_600_000,
            minute: ms / 60_000 % 60,
            second: ms / SECOND_MS % 60,
            millis: ms % SECOND_MS,
        }
    }

    /// Puts it together again; nothing when there is no such moment, as on a 30 February.
    pub(crate) fn moment(self) -> Option<Timestamp> {
        let in_range = (0..=9_999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=31).contains(&self.day)
            && (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..60).contains(&self.second)
            && (0..SECOND_MS).contains(&self.millis);
        if !in_range {
            return None;
        }
        let seconds = (self.hour * 60 + self.minute) * 60 + self.second;
        let ms = self.days() * DAY_MS + seconds * SECOND_MS + self.millis;
        let at = Timestamp::from_millis(ms);
        // A day that its month does not have comes back as one of the next month.
        (Self::of(at) == self).then_some(at)
    }

    const fn days(self) -> i64 {
        let year = self.year - (self.month <= 2) as i64;
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let month_from_march = (self.month + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * ERA_DAYS + day_of_era - EPOCH_DAYS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        ms: i64,
        (year, month, day): (i64, i64, i64),
        (hour, minute, second): (i64, i64, i64),
    ) {
        let civil = Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
            millis: ms.rem_euclid(1_000),
        };
        let at = Timestamp::from_millis(ms);
        assert_eq!(Civil::of(at), civil);
        assert_eq!(civil.moment(), Some(at));
    }

    #[test]
    fn moments_come_apart_and_together() {
        check(0, (1970, 1, 1), (0, 0, 0));
        check(-1, (1969, 12, 31), (23, 59, 59));
        check(951_782_400_000, (2000, 2, 29), (0, 0, 0));
        check(1_796_043_909_120, (2026, 11, 30), (13, 5, 9));
        check(4_107_542_400_000, (2100, 3, 1), (0, 0, 0));
    }

    #[test]
    fn every_day_of_800_years_agrees_with_the_one_before() {
        let mut before = Civil::of(Timestamp::from_millis(-400 * 365 * DAY_MS));
        for day in -400 * 365 + 1..400 * 365 {
            let civil = Civil::of(Timestamp::from_millis(day * DAY_MS));
            let next_day = civil.day == before.day + 1 && civil.month == before.month;
            let next_month =
                civil.day == 1 && civil.month == before.month % 12 + 1 && before.day >= 28;
            assert!(next_day || next_month, "{before:?} {civil:?}");
            assert_eq!(civil.moment(), Some(Timestamp::from_millis(day * DAY_MS)));
            before = civil;
        }
    }

    #[test]
    fn moments_that_are_none_are_refused() {
        let day = Civil {
            year: 2026,
            month: 2,
            day: 28,
            hour: 0,
            minute: 0,
            second: 0,
            millis: 0,
        };
        assert!(day.moment().is_some());
        for wrong in [
            Civil { day: 29, ..day },
            Civil { day: 0, ..day },
            Civil { month: 13, ..day },
            Civil { month: 0, ..day },
            Civil { hour: 24, ..day },
            Civil { minute: 60, ..day },
            Civil { second: 60, ..day },
            Civil {
                year: 10_000,
                ..day
            },
        ] {
            assert_eq!(wrong.moment(), None, "{wrong:?}");
        }
    }
}
