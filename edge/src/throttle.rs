//! How many failed logins one address may have before it must wait (X3).
//!
//! Kept in memory only: a failed login must not cost a written row. Tokens are long and random, so this holds
//! off noise, not guessing; forgetting it when the object sleeps is harmless.

use shared::time::{Millis, Timestamp};

/// Failed logins of one address within [`WINDOW`]; then it waits for the window's end.
const FAILURES_MAX: u32 = 10;
/// How long failures are counted together.
const WINDOW: Millis = Millis::from_mins(5);
/// The most addresses that are counted (X5): some 100 KB of memory. Those whose window ends first go first.
const ADDRESSES_MAX: usize = 1_024;
/// The most bytes of an address that are looked at: a longer text is none.
const ADDRESS_BYTES_MAX: usize = 64;

/// The failures that count now, by address.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    failures: Vec<(String, Failures)>,
}

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    window_end: Timestamp,
}

impl Throttle {
    /// Until when a login from there is refused unseen, if it is.
    pub(crate) fn blocked_until(&self, from: &str, now: Timestamp) -> Option<Timestamp> {
        let from = bounded(from);
        let (_, failures) = self.failures.iter().find(|(address, _)| address == from)?;
        let blocked = now < failures.window_end && failures.count >= FAILURES_MAX;
        blocked.then_some(failures.window_end)
    }

    /// A login from there failed.
    pub(crate) fn failed(&mut self, from: &str, now: Timestamp) {
        let from = bounded(from);
        if let Some((_, failures)) = self
            .failures
            .iter_mut()
            .find(|(address, failures)| address == from && now < failures.window_end)
        {
            failures.count = failures.count.saturating_add(1);
            return;
        }
        self.succeeded(from);
        self.make_room(now);
        let failures = Failures {
            count: 1,
            window_end: now.plus(WINDOW),
        };
        self.failures.push((String::from(from), failures));
    }

    /// A login from there succeeded: what failed before was a slip.
    pub(crate) fn succeeded(&mut self, from: &str) {
        let from = bounded(from);
        self.failures.retain(|(address, _)| address != from);
    }

    fn make_room(&mut self, now: Timestamp) {
        if self.failures.len() < ADDRESSES_MAX {
            return;
        }
        self.failures
            .retain(|(_, failures)| now < failures.window_end);
        if self.failures.len() < ADDRESSES_MAX {
            return;
        }
        let ends = |at: &usize| {
            self.failures
                .get(*at)
                .map(|(_, failures)| failures.window_end)
        };
        if let Some(first) = (0..self.failures.len()).min_by_key(ends) {
            self.failures.swap_remove(first);
        }
    }
}

fn bounded(from: &str) -> &str {
    if from.len() > ADDRESS_BYTES_MAX {
        ""
    } else {
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_000);

    fn after(failures: u32) -> Throttle {
        let mut throttle = Throttle::default();
        for _ in 0..failures {
            throttle.failed("a", START);
        }
        throttle
    }

    #[test]
    fn ten_failures_block_one_address_until_the_window_ends() {
        let end = START.plus(WINDOW);
        assert_eq!(after(9).blocked_until("a", START), None);
        assert_eq!(after(10).blocked_until("a", START), Some(end));
        assert_eq!(after(10).blocked_until("b", START), None);
        assert_eq!(after(10).blocked_until("a", end), None);
    }

    #[test]
    fn a_success_forgives_and_a_new_window_counts_anew() {
        let mut throttle = after(10);
        throttle.succeeded("a");
        assert_eq!(throttle.blocked_until("a", START), None);
        let mut throttle = after(10);
        let end = START.plus(WINDOW);
        throttle.failed("a", end);
        assert_eq!(throttle.blocked_until("a", end), None);
    }

    #[test]
    fn memory_is_bounded_whatever_addresses_come() {
        let mut throttle = after(10);
        for address in 0..2 * ADDRESSES_MAX {
            throttle.failed(&address.to_string(), START.plus(Millis::new(1)));
        }
        throttle.failed(&"x".repeat(10_000), START);
        assert!(throttle.failures.len() <= ADDRESSES_MAX);
        assert!(
            throttle
                .failures
                .iter()
                .map(|(address, _)| address)
                .all(|address| address.len() <= ADDRESS_BYTES_MAX)
        );
    }
}
