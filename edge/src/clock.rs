//! The one place that reads the clock, once per event: everything below it takes the time as a parameter.
//!
//! On Workers it stands still while a request computes and moves on with IO:
//! <https://developers.cloudflare.com/workers/reference/security-model/>.

use shared::time::Timestamp;
use worker::js_sys;

/// The platform's time.
pub(crate) fn now() -> Timestamp {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "milliseconds since 1970 are whole and far below 2^53"
    )]
    let millis = js_sys::Date::now() as i64;
    #[cfg(feature = "testing")]
    let millis = millis + crate::testing::ahead();
    Timestamp::from_millis(millis)
}
