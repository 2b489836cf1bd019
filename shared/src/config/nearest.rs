//! The known name that a mistyped one is nearest to.

use alloc::vec;
use alloc::vec::Vec;

use super::fields::VARIABLES;

/// The candidate that differs least from `name`, if it differs little.
pub(super) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The variable of ours that `name` was probably meant to be, if it is none.
///
/// A Worker may have variables of other people's, so only what is nearly ours is a mistake.
pub(super) fn variable(name: &str) -> Option<&'static str> {
    let known = |variable: &str| match variable.strip_suffix("<name>") {
        Some(prefix) => name.starts_with(prefix),
        None => name == variable,
    };
    let variables = || VARIABLES.iter().map(|variable| variable.name);
    if variables().any(known) {
        return None;
    }
    let upper = name.to_ascii_uppercase();
    let stem = upper.split_inclusive(['_', '-']).next().unwrap_or_default();
    let whole = variables().filter(|variable| !variable.ends_with("<name>"));
    let prefixes = variables().filter(|variable| variable.ends_with("<name>"));
    whole
        .filter(|variable| distance(&upper, variable) <= 2)
        .chain(prefixes.filter(|variable| {
            variable
                .strip_suffix("<name>")
                .is_some_and(|prefix| distance(stem, prefix) <= 1)
        }))
        .next()
}

/// How many bytes have to be put in, taken out, replaced, or swapped with their neighbour to make one name of the
/// other (optimal string alignment). Names are ASCII, or nearly; the crate for this needs std.
fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (at, byte) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (column, wanted) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(byte != wanted);
            let mut fewest = replaced.min(last[column + 1] + 1).min(row[column] + 1);
            let swapped =
                at > 0 && column > 0 && one[at - 1] == *wanted && *byte == other[column - 1];
            if swapped {
                fewest = fewest.min(before_last[column - 1] + 1);
            }
            row.push(fewest);
        }
        before_last = core::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_counts_slips() {
        let check = |one: &str, other: &str, expected: usize| {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        };
        check("lease", "lease", 0);
        check("", "lease", 5);
        check("leese", "lease", 1);
        check("lese", "lease", 1);
        check("leases", "lease", 1);
        check("laese", "lease", 1);
        check("kitten", "sitting", 3);
        check("é", "e", 2);
    }

    #[test]
    fn a_name_is_near_when_it_differs_little() {
        let fields = ["lease", "timeout", "retention", "on_unknown"];
        assert_eq!(nearest("leese", fields), Some("lease"));
        assert_eq!(nearest("on-unknown", fields), Some("on_unknown"));
        assert_eq!(nearest("retentoin", fields), Some("retention"));
        assert_eq!(nearest("colour", fields), None);
    }

    #[test]
    fn variables_that_are_nearly_ours_are_told() {
        assert_eq!(variable("ROUTE_orders"), None);
        assert_eq!(variable("Route_orders"), Some("ROUTE_<name>"));
        assert_eq!(variable("ROUTES_orders"), Some("ROUTE_<name>"));
        assert_eq!(variable("ROUTE-orders"), Some("ROUTE_<name>"));
        assert_eq!(variable("ORIGN_sample"), Some("ORIGIN_<name>"));
        assert_eq!(variable("OPERATOR_HOSTS"), Some("OPERATOR_HOST"));
        assert_eq!(variable("API_KEY"), Some("API_KEYS"));
        assert_eq!(variable("STRIPE_WEBHOOK_SECRET"), None);
        assert_eq!(variable("DATABASE_URL"), None);
    }
}
