//! Exact decimal values, to tell whether a number survives its way through a double (F2).
//!
//! Not arithmetic: two of them are equal or not, and that is all.

use alloc::vec::Vec;

/// The exact value of a decimal number: sign, digits without zeros at either end, power of ten. Zero has no
/// digits, no sign and no power.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    power: i64,
}

impl Decimal {
    /// Of a text by the grammar of RFC 8259 §6, also with the `e+21` of ECMAScript.
    pub(super) fn of(text: &str) -> Self {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (true, unsigned),
            None => (false, text),
        };
        let (significand, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((significand, exponent)) => (significand, saturating_exponent(exponent)),
            None => (unsigned, 0),
        };
        let (whole, fraction) = significand.split_once('.').unwrap_or((significand, ""));
        let mut power = exponent.saturating_sub_unsigned(fraction.len() as u64);
        let digits = whole
            .bytes()
            .chain(fraction.bytes())
            .skip_while(|&digit| digit == b'0');
        let mut digits: Vec<u8> = digits.collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
            power = power.saturating_add(1);
        }
        if digits.is_empty() {
            return Self {
                negative: false,
                digits,
                power: 0,
            };
        }
        Self {
            negative,
            digits,
            power,
        }
    }
}

/// An exponent beyond 64 bits stops at their end: no body is long enough to bring it back to a double's range.
fn saturating_exponent(text: &str) -> i64 {
    let (negative, digits) = match text.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let size = digits.iter().fold(0_i64, |size, digit| {
        size.saturating_mul(10)
            .saturating_add(i64::from(digit - b'0'))
    });
    if negative { -size } else { size }
}
