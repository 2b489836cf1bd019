//! Clocks that are wrong: the Worker's, or that of its objects, by a span that a test chooses.
//!
//! Locally both are one process with one clock, which is why the shift depends on who reads it. An object's alarms are the
//! platform's, whose clock is right.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use shared::time::Timestamp;

/// By how many milliseconds each clock is ahead.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ahead {
    /// The Worker's.
    pub(crate) worker: i64,
    /// That of all objects.
    pub(crate) objects: i64,
}

thread_local! {
    static AHEAD: Cell<Ahead> = const { Cell::new(Ahead { worker: 0, objects: 0 }) };
    /// Whether it is an object whose code runs just now.
    static IN_OBJECT: Cell<bool> = const { Cell::new(false) };
}

/// Sets both clocks.
pub(crate) fn set(ahead: Ahead) {
    AHEAD.set(ahead);
}

/// By how many milliseconds the clock of whoever asks is ahead.
pub(crate) fn ahead() -> i64 {
    let ahead = AHEAD.get();
    if IN_OBJECT.get() {
        ahead.objects
    } else {
        ahead.worker
    }
}

/// A moment of an object's clock as the platform has it.
pub(super) fn to_platform(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis() - AHEAD.get().objects)
}

/// And back.
pub(super) fn from_platform(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis() + AHEAD.get().objects)
}

/// What an object does: whatever of it runs reads the object's clock.
pub(crate) async fn within_object<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    std::future::poll_fn(|context| poll_within(work.as_mut(), context)).await
}

fn poll_within<T>(work: Pin<&mut impl Future<Output = T>>, context: &mut Context<'_>) -> Poll<T> {
    /// Also after a panic.
    struct Leave(bool);
    impl Drop for Leave {
        fn drop(&mut self) {
            IN_OBJECT.set(self.0);
        }
    }
    let _leave = Leave(IN_OBJECT.replace(true));
    work.poll(context)
}
