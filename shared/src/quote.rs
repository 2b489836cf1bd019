//! How an untrusted value is shown in an error: escaped, in quotes, and cut to a bound.
//!
//! Not for secrets and payloads: those are never shown (X4).

use alloc::string::{String, ToString};

/// The most characters of a value that an error repeats (X5): enough to recognise it, too few to flood a log.
pub const QUOTED_CHARS_MAX: usize = 80;

/// `value` between quotes with everything but visible ASCII and the space escaped.
///
/// What is cut is named by its length: `"aaaa…" (300 bytes)`.
#[must_use]
pub fn quoted(value: &[u8]) -> String {
    let mut shown = String::from("\"");
    let mut chars = 0;
    for &byte in value {
        let escaped = core::ascii::escape_default(byte);
        chars += escaped.len();
        if chars > QUOTED_CHARS_MAX {
            return shown + "…\" (" + &value.len().to_string() + " bytes)";
        }
        shown.extend(escaped.map(char::from));
    }
    shown.push('"');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &[u8], expected: &str) {
        assert_eq!(quoted(value), expected);
    }

    #[test]
    fn values_are_escaped() {
        check(b"", "\"\"");
        check(b"a b", "\"a b\"");
        check(b"a\"\\", r#""a\"\\""#);
        check(b"a\r\nb\x00\xff", r#""a\r\nb\x00\xff""#);
    }

    #[test]
    fn long_values_are_cut_and_measured() {
        check(&[b'a'; 80], &alloc::format!("\"{}\"", "a".repeat(80)));
        check(
            &[b'a'; 300],
            &alloc::format!("\"{}…\" (300 bytes)", "a".repeat(80)),
        );
        check(
            &[0; 21],
            &alloc::format!("\"{}…\" (21 bytes)", r"\x00".repeat(20)),
        );
    }
}
