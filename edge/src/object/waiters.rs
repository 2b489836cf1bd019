//! Those who wait inside an object for a running twin of their request, each on a channel of its own.
//!
//! A waiter is woken when its operation changes, and then looks; it never runs (A). It never waits on another request's
//! promise, which the platform forbids.

use std::cell::RefCell;

use futures_channel::oneshot::{Receiver, Sender, channel};
use shared::placement::KeyDigest;

/// The most waiters per operation (X5): each holds a request's memory, and more than these are refused at once.
pub(crate) const WAITERS_MAX: usize = 16;

/// All waiters of an object, by operation. They are few: who waits has a twin that runs right now.
#[derive(Default)]
pub(crate) struct Waiters(RefCell<Vec<(KeyDigest, Vec<Sender<()>>)>>);

impl Waiters {
    /// A place in the row, unless [`WAITERS_MAX`] wait already.
    pub(crate) fn join(&self, operation: KeyDigest) -> Option<Receiver<()>> {
        let mut all = self.0.borrow_mut();
        let known = all
            .iter()
            .position(|(waited_for, _)| *waited_for == operation);
        let at = known.unwrap_or(all.len());
        if known.is_none() {
            all.push((operation, Vec::new()));
        }
        let (_, row) = all.get_mut(at)?;
        row.retain(|waiter| !waiter.is_canceled()); // their callers have gone
        if row.len() >= WAITERS_MAX {
            return None;
        }
        let (wake, woken) = channel();
        row.push(wake);
        Some(woken)
    }

    /// Wakes all who wait for this operation.
    pub(crate) fn wake(&self, operation: &KeyDigest) {
        let mut all = self.0.borrow_mut();
        if let Some(at) = all
            .iter()
            .position(|(waited_for, _)| waited_for == operation)
        {
            let (_, row) = all.swap_remove(at);
            for waiter in row {
                let _gone_or_woken = waiter.send(());
            }
        }
    }

    /// Drops the rows of those who have all given up.
    pub(crate) fn tidy(&self) {
        self.0.borrow_mut().retain_mut(|(_, row)| {
            row.retain(|waiter| !waiter.is_canceled());
            !row.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(name: u8) -> KeyDigest {
        KeyDigest::from_bytes([name; 16])
    }

    #[test]
    fn sixteen_wait_and_the_next_is_refused() {
        let waiters = Waiters::default();
        let row: Vec<_> = (0..WAITERS_MAX)
            .map(|_| waiters.join(operation(1)))
            .collect();
        assert!(row.iter().all(Option::is_some));
        assert!(waiters.join(operation(1)).is_none());
        assert!(waiters.join(operation(2)).is_some());
        drop(row);
        assert!(
            waiters.join(operation(1)).is_some(),
            "who has gone makes room"
        );
    }

    #[test]
    fn only_the_operations_own_waiters_are_woken() {
        let waiters = Waiters::default();
        let mut mine = waiters.join(operation(1)).expect("there is room");
        let mut other = waiters.join(operation(2)).expect("there is room");
        waiters.wake(&operation(1));
        assert_eq!(mine.try_recv(), Ok(Some(())));
        assert_eq!(other.try_recv(), Ok(None));
        drop(other);
        waiters.tidy();
        assert!(waiters.0.borrow().is_empty());
    }
}
