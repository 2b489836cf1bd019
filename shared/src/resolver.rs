//! How fast the resolver goes: a budget for what it sends by itself, and a breaker before an origin that does not answer
//! (U5, S1 4.5).
//!
//! Not which operations it takes and what it does about them (`decide::pursue`). One of these is kept in memory by each
//! object, and an object has one origin; after a restart it begins anew, carefully.

use crate::time::{Millis, Timestamp};

/// The most that is on its way to the origin at a time (X5).
pub const SENDS_AT_ONCE_MAX: usize = 4;
/// Sends of the resolver for each hundred requests: more would hammer an origin that is ill already (S1 4.5).
const SENDS_PER_HUNDRED: u32 = 10;
/// What one send costs.
const SEND: u32 = 100;
/// The most sends that are saved up.
const SAVED_UP_MAX: u32 = 10 * SEND;
/// What an object that has just started may send.
const START: u32 = 4 * SEND;
/// Without any request one send becomes free in this time: else what hangs in a quiet object would hang forever.
const TRICKLE: Millis = Millis::from_mins(1);
/// So many unknown outcomes in a row open the breaker.
const FAILURES_MAX: u32 = 5;
/// How long it is open the first time; the time doubles while the origin goes on failing.
const OPEN_MIN: Millis = Millis::from_secs(30);
/// The longest that it is open.
const OPEN_MAX: Millis = Millis::from_mins(10);

/// The pace of one object's resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    allowance: u32,
    trickled_at: Option<Timestamp>,
    failures: u32,
    open_until: Option<Timestamp>,
    opened: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            allowance: START,
            trickled_at: None,
            failures: 0,
            open_until: None,
            opened: 0,
        }
    }
}

impl Pace {
    /// A request came: a tenth of a send is earned.
    pub fn request(&mut self) {
        self.earn(SENDS_PER_HUNDRED);
    }

    /// How many may be sent now, while `on_their_way` are not answered yet. After a breaker's time it is one, to try.
    pub fn sends(&mut self, on_their_way: usize, now: Timestamp) -> usize {
        self.trickle(now);
        let at_once = match self.open_until {
            Some(until) if now < until => 0,
            Some(_) => 1,
            None => SENDS_AT_ONCE_MAX,
        };
        let free = at_once.saturating_sub(on_their_way);
        let affordable = usize::try_from(self.allowance / SEND).unwrap_or(usize::MAX);
        free.min(affordable)
    }

    /// One is sent.
    pub fn sent(&mut self) {
        self.allowance = self.allowance.saturating_sub(SEND);
    }

    /// The origin answered something that it stands for, to the resolver or to anybody.
    pub fn answered(&mut self) {
        (self.failures, self.open_until, self.opened) = (0, None, 0);
    }

    /// It did not: nobody knows what it did.
    pub fn failed(&mut self, now: Timestamp) {
        self.failures += 1;
        let trying = self.open_until.is_some_and(|until| until <= now);
        if trying || (self.open_until.is_none() && self.failures >= FAILURES_MAX) {
            let span = OPEN_MIN.get().saturating_mul(1 << self.opened.min(16));
            self.open_until = Some(now.plus(Millis::new(span).min(OPEN_MAX)));
            self.opened += 1;
        }
    }

    /// When it is worth looking again, if nothing may be sent now.
    #[must_use]
    pub fn next(&self, now: Timestamp) -> Timestamp {
        let breaker = self.open_until.unwrap_or(now);
        let allowance = if self.allowance >= SEND {
            now
        } else {
            self.trickled_at.unwrap_or(now).plus(TRICKLE)
        };
        breaker.max(allowance).max(now)
    }

    fn trickle(&mut self, now: Timestamp) {
        let since = *self.trickled_at.get_or_insert(now);
        let sends = now.since(since).get() / TRICKLE.get();
        if sends > 0 {
            self.trickled_at = Some(now);
            self.earn(
                u32::try_from(sends)
                    .unwrap_or(u32::MAX)
                    .saturating_mul(SEND),
            );
        }
    }

    fn earn(&mut self, allowance: u32) {
        self.allowance = self.allowance.saturating_add(allowance).min(SAVED_UP_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    fn send_all(pace: &mut Pace, now: Timestamp) -> usize {
        let mut sent = 0;
        while pace.sends(0, now) > 0 {
            pace.sent();
            sent += 1;
        }
        sent
    }

    #[test]
    fn u5_a_hundred_requests_earn_ten_sends_and_no_more_are_saved_up() {
        let mut pace = Pace::default();
        assert_eq!(send_all(&mut pace, at(0)), 4, "what a start allows");
        (0..9).for_each(|_| pace.request());
        assert_eq!(send_all(&mut pace, at(0)), 0);
        pace.request();
        assert_eq!(send_all(&mut pace, at(0)), 1);
        (0..100).for_each(|_| pace.request());
        assert_eq!(send_all(&mut pace, at(0)), 10);
        (0..1_000).for_each(|_| pace.request());
        assert_eq!(send_all(&mut pace, at(0)), 10);
    }

    #[test]
    fn u5_a_quiet_object_sends_one_a_minute() {
        let mut pace = Pace::default();
        send_all(&mut pace, at(0));
        assert_eq!(pace.next(at(1)), at(60));
        assert_eq!(pace.sends(0, at(59)), 0);
        assert_eq!(send_all(&mut pace, at(60)), 1);
        assert_eq!(send_all(&mut pace, at(60 + 3_600)), 10);
    }

    #[test]
    fn x5_no_more_than_four_are_on_their_way() {
        let mut pace = Pace::default();
        (0..100).for_each(|_| pace.request());
        let free: [usize; 5] = [0, 1, 3, 4, 9].map(|on_their_way| pace.sends(on_their_way, at(0)));
        assert_eq!(free, [4, 3, 1, 0, 0]);
    }

    #[test]
    fn u5_an_origin_that_fails_is_left_alone_and_then_tried_once() {
        let mut pace = Pace::default();
        (0..100).for_each(|_| pace.request());
        (0..4).for_each(|_| pace.failed(at(0)));
        assert_eq!(pace.sends(0, at(0)), 4);
        pace.failed(at(0));
        assert_eq!((pace.sends(0, at(29)), pace.next(at(1))), (0, at(30)));
        assert_eq!((pace.sends(0, at(30)), pace.sends(1, at(30))), (1, 0));
        pace.failed(at(30));
        assert_eq!((pace.sends(0, at(89)), pace.sends(0, at(90))), (0, 1));
        pace.answered();
        assert_eq!(pace.sends(0, at(90)), 4);
    }

    #[test]
    fn u5_the_breaker_stays_open_no_longer_than_ten_minutes() {
        let mut pace = Pace::default();
        let mut now = at(0);
        (0..FAILURES_MAX).for_each(|_| pace.failed(now));
        for _ in 0..40 {
            let next = pace.next(now);
            assert!(next.since(now) <= OPEN_MAX);
            now = next;
            pace.failed(now);
        }
    }
}
