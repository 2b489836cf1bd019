//! The dashboard's own addresses, and percent-encoded query strings.
//!
//! Not the gateway's addresses: those are `api`'s.

/// Where the dashboard lives.
pub(crate) const BASE: &str = "/_oncegate";
/// The overview.
pub(crate) const OVERVIEW: &str = "/_oncegate/";
/// The list of operations.
pub(crate) const OPERATIONS: &str = "/_oncegate/operations";
/// The outcomes that nobody knows.
pub(crate) const UNKNOWN: &str = "/_oncegate/unknown";
/// The audit log.
pub(crate) const AUDIT: &str = "/_oncegate/audit";
/// The page to sign in on.
pub(crate) const LOGIN: &str = "/_oncegate/login";

/// One operation's page.
pub(crate) fn operation(id: &str) -> String {
    format!("{OPERATIONS}/{}", encode(id))
}

/// The login page that leads back to `from` (path and query) afterwards.
pub(crate) fn login_from(from: &str) -> String {
    match come_back(from) {
        OVERVIEW => LOGIN.to_owned(),
        target => with_query(LOGIN, &[("next", target.to_owned())]),
    }
}

/// Where to go after the login: only to the dashboard's own pages, whatever the address says.
pub(crate) fn come_back(next: &str) -> &str {
    let inside = next.strip_prefix(OVERVIEW).is_some_and(|rest| {
        !rest.starts_with(['/', '\\']) && !rest.contains("..") && !rest.starts_with("login")
    });
    if inside { next } else { OVERVIEW }
}

/// A path with the pairs that have a value, in the given order.
pub(crate) fn with_query(path: &str, pairs: &[(&str, String)]) -> String {
    let mut address = path.to_owned();
    let mut separator = '?';
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        address.push(separator);
        address.push_str(name);
        address.push('=');
        address.push_str(&encode(value));
        separator = '&';
    }
    address
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
pub(crate) fn encode(text: &str) -> String {
    const HEX: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F',
    ];
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(HEX[usize::from(byte >> 4)]);
            encoded.push(HEX[usize::from(byte & 15)]);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_and_empty_ones_left_out() {
        let pairs = [
            ("q", "a b&c=\u{e4}".to_owned()),
            ("state", String::new()),
            ("route", "orders".to_owned()),
        ];
        assert_eq!(
            with_query(OPERATIONS, &pairs),
            "/_oncegate/operations?q=a%20b%26c%3D%C3%A4&route=orders"
        );
        assert_eq!(with_query(OVERVIEW, &[]), "/_oncegate/");
        assert_eq!(operation("op_1/x"), "/_oncegate/operations/op_1%2Fx");
    }

    #[test]
    fn login_leads_back_to_own_pages_only() {
        for own in [
            "/_oncegate/",
            "/_oncegate/operations?q=1",
            "/_oncegate/operations/op_1",
        ] {
            assert_eq!(come_back(own), own);
        }
        for foreign in [
            "",
            "/",
            "//evil.example",
            "https://evil.example/_oncegate/",
            "/_oncegate/../v1/orders",
            "/_oncegate//evil.example",
            "/_oncegate/login?next=/_oncegate/login",
        ] {
            assert_eq!(come_back(foreign), OVERVIEW, "{foreign}");
        }
        assert_eq!(login_from("/_oncegate/"), LOGIN);
        assert_eq!(
            login_from("/_oncegate/operations?q=1"),
            "/_oncegate/login?next=%2F_oncegate%2Foperations%3Fq%3D1"
        );
    }
}
