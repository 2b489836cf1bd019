//! The known name that a mistyped one is nearest to.

use super::fields::VARIABLES;

/// The candidate that differs least from `name`, if it differs little.
pub(super) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
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
    let distance = strsim::damerau_levenshtein;
    whole
        .filter(|variable| distance(&upper, variable) <= 2)
        .chain(prefixes.filter(|variable| {
            variable
                .strip_suffix("<name>")
                .is_some_and(|prefix| distance(stem, prefix) <= 1)
        }))
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;

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
