//! Counts, ratios and sizes as text.

/// A count with its thousands apart: `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A part of a whole in tenths of a percent, rounded down so that only all is 100 %; a dash when there is no whole.
pub(crate) fn ratio(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let tenths = u128::from(part) * 1_000 / u128::from(whole);
    if tenths == 0 && part > 0 {
        return "<0.1 %".to_owned();
    }
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// A size: `312 B`, `1.2 kB`, `3.4 MB`.
pub(crate) fn bytes(size: u64) -> String {
    if size < 1_000 {
        format!("{size} B")
    } else if size < 1_000_000 {
        format!("{}.{} kB", size / 1_000, size % 1_000 / 100)
    } else {
        format!("{}.{} MB", size / 1_000_000, size % 1_000_000 / 100_000)
    }
}

/// A noun after its number: `1 attempt`, `2 attempts`.
pub(crate) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_part_their_thousands() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (12_345, "12,345"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(number), shown);
        }
    }

    #[test]
    fn ratios_never_hide_the_last_one() {
        for (part, whole, shown) in [
            (0, 0, "–"),
            (0, 9, "0.0 %"),
            (1, 3, "33.3 %"),
            (999_999, 1_000_000, "99.9 %"),
            (7, 7, "100.0 %"),
            (1, 1_000_000, "<0.1 %"),
            (u64::MAX, u64::MAX, "100.0 %"),
        ] {
            assert_eq!(ratio(part, whole), shown, "{part}/{whole}");
        }
    }

    #[test]
    fn sizes_have_one_decimal() {
        for (size, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_250, "1.2 kB"),
            (3_456_789, "3.4 MB"),
        ] {
            assert_eq!(bytes(size), shown);
        }
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(plural(1, "attempt", "attempts"), "1 attempt");
        assert_eq!(plural(1_200, "attempt", "attempts"), "1,200 attempts");
    }
}
