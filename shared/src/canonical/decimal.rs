//! Exact decimal values, to tell whether a number survives its way through a double (F2).
//!
//! Not arithmetic: two of them are equal or not, and that is all.

use alloc::string::String;
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

    /// The text that RFC 8785 gives the number, if it is of just this value.
    ///
    /// No double is parsed, which would bring the standard library's table of powers into a Worker: the form of some double
    /// has this value if, and only if, that double is the nearest one, so it is looked for around a rough value.
    pub(super) fn ecmascript(&self) -> Option<String> {
        let Some(near) = self.roughly() else {
            return (self.digits.is_empty()).then(|| String::from("0"));
        };
        let mut buffer = ryu_js::Buffer::new();
        let mut form_at = |bits: u64| {
            let double = f64::from_bits(bits);
            let text = buffer.format_finite(if self.negative { -double } else { double });
            (Self::of(text) == *self).then(|| String::from(text))
        };
        (0..=ROUGHNESS).find_map(|step| {
            let above = near.saturating_add(step).min(f64::MAX.to_bits());
            form_at(above).or_else(|| form_at(near.saturating_sub(step)))
        })
    }

    /// The bits of a positive double near the value's size; nothing for zero, and for more digits than a form has.
    fn roughly(&self) -> Option<u64> {
        if self.digits.is_empty() || self.digits.len() > FORM_DIGITS_MAX {
            return None;
        }
        let whole = self
            .digits
            .iter()
            .fold(0_u64, |whole, digit| whole * 10 + u64::from(digit - b'0'));
        #[expect(clippy::cast_precision_loss, reason = "it is rough")]
        let mut near = whole as f64;
        let mut left = self.power.clamp(-POWER_MAX, POWER_MAX);
        while left > 0 {
            let step = left.min(22);
            near *= power_of_ten(step);
            left -= step;
        }
        while left < 0 {
            let step = (-left).min(22);
            near /= power_of_ten(step);
            left += step;
        }
        Some(near.min(f64::MAX).to_bits())
    }
}

/// The most digits of a double's shortest form.
const FORM_DIGITS_MAX: usize = 17;
/// Beyond this power of ten every number of at most 17 digits is too large or too small for a double.
const POWER_MAX: i64 = 400;
/// How many doubles the rough value may be off: one rounding of half a double in each of 20 steps, doubled where a step
/// crosses a power of two, with room to spare.
const ROUGHNESS: u64 = 64;

/// Up to 10^22, which a double holds exactly.
fn power_of_ten(power: i64) -> f64 {
    (0..power).fold(1.0, |product, _| product * 10.0)
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

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    /// By the standard library's exact parser.
    fn exactly(text: &str) -> Option<String> {
        let double: f64 = text.parse().unwrap();
        let mut buffer = ryu_js::Buffer::new();
        let form = double.is_finite().then(|| buffer.format_finite(double))?;
        (Decimal::of(form) == Decimal::of(text)).then(|| form.to_string())
    }

    #[track_caller]
    fn check(text: &str) {
        assert_eq!(Decimal::of(text).ecmascript(), exactly(text), "{text}");
    }

    #[test]
    fn the_ends_of_the_range() {
        for text in [
            "0",
            "-0",
            "0.0",
            "0e9",
            "1",
            "-1",
            "1.0",
            "10",
            "1e400",
            "-1e400",
            "1e-400",
            "5e-324",
            "4e-324",
            "2.2250738585072014e-308",
            "2.225073858507201e-308",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "9007199254740992",
            "9007199254740993",
            "123456789012345678",
            "0.1",
            "0.30000000000000004",
            "1e21",
            "1e22",
            "1e23",
            "100000000000000000000000",
            "9.999999999999999e22",
            "1e99999999999999999999",
            "1e-99999999999999999999",
        ] {
            check(text);
        }
    }

    proptest! {
        #[test]
        fn every_double_has_its_form(bits in any::<u64>()) {
            let double = f64::from_bits(bits);
            prop_assume!(double.is_finite());
            let form = ryu_js::Buffer::new().format_finite(double).to_string();
            let expected = if double == 0.0 { "0".to_string() } else { form.clone() };
            prop_assert_eq!(Decimal::of(&form).ecmascript(), Some(expected));
        }

        #[test]
        fn any_number_is_judged_as_by_the_exact_parser(digits in "[1-9][0-9]{0,19}", power in -345_i32..330) {
            let text = format!("{digits}e{power}");
            prop_assert_eq!(Decimal::of(&text).ecmascript(), exactly(&text));
        }

        #[test]
        fn short_fractions_are_judged_as_by_the_exact_parser(whole in 0_u64..100_000, fraction in "[0-9]{1,16}") {
            let text = format!("{whole}.{fraction}");
            prop_assert_eq!(Decimal::of(&text).ecmascript(), exactly(&text));
        }
    }
}
