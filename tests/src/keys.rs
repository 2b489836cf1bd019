//! Fresh keys, numbers and identifiers, each distinct within a test process and between processes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The next request number of this process.
#[must_use]
pub fn number() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

/// Milliseconds since 1970.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Seconds since 1970, as webhook signatures want them.
#[must_use]
pub fn now_s() -> u64 {
    now_ms() / 1000
}

/// A fresh idempotency key that any route takes: 16 to 255 characters, bare or in quotes. Its prefix tells whose it is.
#[must_use]
pub fn key(prefix: &str) -> String {
    format!("{prefix}-{:016x}{:08x}", fastrand::u64(..), number())
}

/// A fresh `UUIDv7` whose timestamp is `now_ms` moved by `offset_ms` (K5).
#[must_use]
pub fn uuid_v7(offset_ms: i64) -> String {
    let stamp = now_ms().saturating_add_signed(offset_ms);
    let (high, low) = (stamp >> 16, stamp & 0xffff);
    let (a, b) = (
        fastrand::u16(..) & 0x0fff,
        fastrand::u16(..) & 0x3fff | 0x8000,
    );
    let tail = fastrand::u64(..) & 0xffff_ffff_ffff;
    format!("{high:08x}-{low:04x}-7{a:03x}-{b:04x}-{tail:012x}")
}
