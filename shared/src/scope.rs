//! Whose keys they are: tenants, routes, and the credentials that name a tenant or an operator (K4, K6).
//!
//! Not the reading of headers (that is `key` and the Worker) and not what a route promises (`policy`).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::{ConditionallySelectable, ConstantTimeEq};

use crate::media::is_token_byte;
use crate::quote::quoted;

/// The most bytes of a tenant's name (X5): the digest form below takes 71.
pub const TENANT_BYTES_MAX: usize = 128;
/// The most bytes of a route's name (X5): it is part of a variable's name and of every metric's label.
pub const ROUTE_NAME_BYTES_MAX: usize = 48;
/// The most bytes of an operation's key (X5): twice K2's longest key, since event ids are the sender's to choose.
pub const OPERATION_KEY_BYTES_MAX: usize = 512;

/// The most bytes of a phase's name (X5).
pub const PHASE_BYTES_MAX: usize = 64;
/// The most bytes of a header's name (X5).
pub const HEADER_NAME_BYTES_MAX: usize = 64;
/// The most bytes of a secret's name (X5).
pub const SECRET_NAME_BYTES_MAX: usize = 64;

/// A text that cannot name a tenant, a route or an operation, or a table of credentials that cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// Not a tenant's name.
    #[error("tenant {found} is not 1 to {TENANT_BYTES_MAX} visible ascii characters")]
    Tenant {
        /// The offending text, quoted.
        found: String,
    },
    /// Not a route's name.
    #[error("route name {found} is not 1 to {ROUTE_NAME_BYTES_MAX} of a-z, 0-9, \"_\" and \"-\"")]
    RouteName {
        /// The offending text, quoted.
        found: String,
    },
    /// Not an origin's name.
    #[error("origin name {found} is not 1 to {ROUTE_NAME_BYTES_MAX} of a-z, 0-9, \"_\" and \"-\"")]
    OriginName {
        /// The offending text, quoted.
        found: String,
    },
    /// Not a phase's name.
    #[error("phase {found} is not 1 to {PHASE_BYTES_MAX} of A-Z, a-z, 0-9, \".\", \"_\" and \"-\"")]
    PhaseName {
        /// The offending text, quoted.
        found: String,
    },
    /// Not a header's name.
    #[error(
        "header name {found} is not 1 to {HEADER_NAME_BYTES_MAX} of the characters of RFC 9110"
    )]
    HeaderName {
        /// The offending text, quoted.
        found: String,
    },
    /// Not an operation's key.
    #[error("key {found} is not 1 to {OPERATION_KEY_BYTES_MAX} bytes without control characters")]
    OperationKey {
        /// The offending text, quoted.
        found: String,
    },
    /// Not a secret's name. What was found may be the secret itself, so it is not repeated (X4).
    #[error(
        "a text of {bytes} bytes is not 1 to {SECRET_NAME_BYTES_MAX} of A-Z, 0-9 and \"_\", with a letter first"
    )]
    SecretName {
        /// The length of the offending text.
        bytes: usize,
    },
    /// Not the digest of a credential. What was found may be the credential itself, so it is not repeated (X4).
    #[error("a credential's entry is not the 64 hex digits of a sha-256 but {bytes} bytes of text")]
    CredentialDigest {
        /// The length of the offending text.
        bytes: usize,
    },
    /// One credential twice (hex digits in two cases), which would leave open whose it is.
    #[error("the credential with digest {digest}… is listed twice")]
    CredentialTwice {
        /// The first eight hex digits of the digest.
        digest: String,
    },
}

/// A newtype over a checked text: `parse`, `as_str`, `Display`, and serde as a string that is checked again.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $valid:expr, $error:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Takes `text` if it is one; else the error says what was found and what would do.
            pub fn parse(text: &str) -> Result<Self, ScopeError> {
                Self::try_from(String::from(text))
            }

            /// The text itself.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = ScopeError;

            fn try_from(text: String) -> Result<Self, ScopeError> {
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) {
                    Ok(Self(text))
                } else {
                    Err(ScopeError::$error { found: quoted(text.as_bytes()) })
                }
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked_text!(
    /// Whose keys they are: 1 to 128 visible ASCII characters.
    TenantId,
    |text| (1..=TENANT_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic()),
    Tenant
);

checked_text!(
    /// The name and id of one protected endpoint: `[a-z0-9_-]{1,48}`. It never changes meaning.
    RouteName,
    is_name,
    RouteName
);

checked_text!(
    /// The name of an origin in the configuration: `[a-z0-9_-]{1,48}`.
    OriginName,
    is_name,
    OriginName
);

checked_text!(
    /// The name of a step of an operation, under which its origin saves recovery points (L5): `[A-Za-z0-9_.-]{1,64}`.
    PhaseName,
    |text| (1..=PHASE_BYTES_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')),
    PhaseName
);

fn is_name(text: &str) -> bool {
    (1..=ROUTE_NAME_BYTES_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

/// The name of a header, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderName(String);

impl HeaderName {
    /// Takes a name in any case.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        let valid =
            (1..=HEADER_NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_token_byte);
        if !valid {
            return Err(ScopeError::HeaderName {
                found: quoted(text.as_bytes()),
            });
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// The name in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a secret: `[A-Z][A-Z0-9_]{0,63}`, so that a secret is hardly taken for its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretName(String);

impl SecretName {
    /// Takes a name; what is none is not repeated in the error (X4).
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        let valid = (1..=SECRET_NAME_BYTES_MAX).contains(&text.len())
            && text.starts_with(|first: char| first.is_ascii_uppercase())
            && text
                .bytes()
                .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'));
        if !valid {
            return Err(ScopeError::SecretName { bytes: text.len() });
        }
        Ok(Self(text.to_string()))
    }

    /// The name itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

checked_text!(
    /// What names one operation inside (tenant, route): the Idempotency-Key or the event id (P2, K4).
    ///
    /// 1 to 512 bytes without control characters. Bounds of K2 are checked where the header is read.
    OperationKey,
    |text| (1..=OPERATION_KEY_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control),
    OperationKey
);

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl OperationKey {
    /// For `key`, whose own type is narrower: visible ASCII of the same bound.
    pub(crate) fn of_idempotency_key(key: String) -> Self {
        Self(key)
    }
}

/// The tenant that a static credential is, where a route has no better name for its tenants (K6).
///
/// It is `sha256:` and the hex digest. Whoever sees it can test guesses of the credential, so it is for
/// high-entropy credentials only, as the documentation says.
#[must_use]
pub fn credential_digest_tenant(credential: &[u8]) -> TenantId {
    TenantId(format!(
        "sha256:{}",
        hex::encode(Sha256::digest(credential))
    ))
}

/// Holders of credentials, known by the SHA-256 of each: no credential is kept (K6).
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials<T> {
    entries: Vec<([u8; 32], T)>,
}

/// API keys and the tenants they belong to; several keys may be one tenant.
pub type ApiKeys = Credentials<TenantId>;

impl<T> Credentials<T> {
    /// Takes a table of 64 hex digits (either case) of a SHA-256, and whose the credential is.
    pub fn from_hex(table: impl IntoIterator<Item = (String, T)>) -> Result<Self, ScopeError> {
        let mut entries: Vec<([u8; 32], T)> = Vec::new();
        for (digits, holder) in table {
            let mut digest = [0; 32];
            hex::decode_to_slice(&digits, &mut digest).map_err(|_not_hex| {
                ScopeError::CredentialDigest {
                    bytes: digits.len(),
                }
            })?;
            if entries.iter().any(|(known, _)| *known == digest) {
                let digest = hex::encode(&digest[..4]);
                return Err(ScopeError::CredentialTwice { digest });
            }
            entries.push((digest, holder));
        }
        Ok(Self { entries })
    }

    /// A table that knows nobody.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Whose `presented` is. Every entry is compared, each in constant time, so that the time taken tells
    /// nothing about which entry was near (K6).
    #[must_use]
    pub fn holder_of(&self, presented: &[u8]) -> Option<&T> {
        self.holder_of_digest(&Sha256::digest(presented).into())
    }

    /// Whose credential has this SHA-256, by the same comparisons; for what was admitted by a credential before.
    #[must_use]
    pub fn holder_of_digest(&self, digest: &[u8; 32]) -> Option<&T> {
        let mut found = u64::MAX;
        for (at, (known, _)) in (0_u64..).zip(&self.entries) {
            found.conditional_assign(&at, known.ct_eq(digest));
        }
        let at = usize::try_from(found).ok()?;
        self.entries.get(at).map(|(_, holder)| holder)
    }

    /// Whether the table knows nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl ApiKeys {
    /// The tenant whose API key `presented` is, in constant time over all entries (K6).
    #[must_use]
    pub fn tenant_of(&self, presented: &[u8]) -> Option<&TenantId> {
        self.holder_of(presented)
    }
}

impl<T> fmt::Debug for Credentials<T> {
    /// How many there are; a digest of a weak credential would tell the credential (X4).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(self.entries.len().to_string() + " credentials"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: fmt::Debug + fmt::Display>(
        parsed: Result<T, ScopeError>,
        expected: Result<&str, &str>,
    ) {
        match (parsed, expected) {
            (Ok(value), Ok(text)) => assert_eq!(value.to_string(), text),
            (Err(error), Err(text)) => assert_eq!(error.to_string(), text),
            (parsed, expected) => panic!("{parsed:?} is not {expected:?}"),
        }
    }

    #[test]
    fn tenants_are_visible_ascii() {
        check(TenantId::parse("acme"), Ok("acme"));
        check(TenantId::parse(&"~".repeat(128)), Ok(&"~".repeat(128)));
        let not = "is not 1 to 128 visible ascii characters";
        check(TenantId::parse(""), Err(&format!("tenant \"\" {not}")));
        check(
            TenantId::parse("a b"),
            Err(&format!("tenant \"a b\" {not}")),
        );
        check(
            TenantId::parse("é"),
            Err(&format!("tenant \"\\xc3\\xa9\" {not}")),
        );
        check(
            TenantId::parse(&"a".repeat(129)),
            Err(&format!("tenant \"{}…\" (129 bytes) {not}", "a".repeat(80))),
        );
    }

    #[test]
    fn route_names_are_lower_case_and_short() {
        check(RouteName::parse("orders_v1-eu"), Ok("orders_v1-eu"));
        let not = "is not 1 to 48 of a-z, 0-9, \"_\" and \"-\"";
        check(RouteName::parse(""), Err(&format!("route name \"\" {not}")));
        check(
            RouteName::parse("Orders"),
            Err(&format!("route name \"Orders\" {not}")),
        );
        check(
            RouteName::parse("a/b"),
            Err(&format!("route name \"a/b\" {not}")),
        );
        assert!(RouteName::parse(&"a".repeat(48)).is_ok());
        assert!(RouteName::parse(&"a".repeat(49)).is_err());
    }

    #[test]
    fn phases_have_short_plain_names() {
        check(PhaseName::parse("Charge.card_2-b"), Ok("Charge.card_2-b"));
        assert!(PhaseName::parse(&"a".repeat(64)).is_ok());
        for text in ["", "a b", "a/b", "é", &"a".repeat(65)] {
            assert!(PhaseName::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn headers_are_named_in_lower_case() {
        assert_eq!(HeaderName::parse("X-Tenant").unwrap().as_str(), "x-tenant");
        for text in ["", "a b", "a:", "é", &"a".repeat(65)] {
            assert!(HeaderName::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_secret_in_place_of_its_name_is_refused_and_not_repeated() {
        assert_eq!(SecretName::parse("STRIPE_2").unwrap().as_str(), "STRIPE_2");
        for text in ["", "whsec_x", "2X", "_X", "A-B", &"A".repeat(65)] {
            assert_eq!(
                SecretName::parse(text),
                Err(ScopeError::SecretName { bytes: text.len() })
            );
        }
        assert!(OriginName::parse("sample").is_ok());
        check(
            OriginName::parse("A"),
            Err("origin name \"A\" is not 1 to 48 of a-z, 0-9, \"_\" and \"-\""),
        );
    }

    #[test]
    fn operation_keys_are_any_text_without_control_characters() {
        check(OperationKey::parse("evt_1"), Ok("evt_1"));
        check(OperationKey::parse("ключ 1"), Ok("ключ 1"));
        let not = "is not 1 to 512 bytes without control characters";
        check(OperationKey::parse(""), Err(&format!("key \"\" {not}")));
        check(
            OperationKey::parse("a\r\nb"),
            Err(&format!("key \"a\\r\\nb\" {not}")),
        );
        check(
            OperationKey::parse("\u{85}"),
            Err(&format!("key \"\\xc2\\x85\" {not}")),
        );
        assert!(OperationKey::parse(&"a".repeat(512)).is_ok());
        assert!(OperationKey::parse(&"a".repeat(513)).is_err());
    }

    #[test]
    fn what_is_deserialised_is_checked_again() {
        let tenant: TenantId = serde_json::from_str("\"acme\"").unwrap();
        assert_eq!(serde_json::to_string(&tenant).unwrap(), "\"acme\"");
        assert!(serde_json::from_str::<TenantId>("\"a b\"").is_err());
        assert!(serde_json::from_str::<RouteName>("\"A\"").is_err());
        assert!(serde_json::from_str::<OperationKey>("\"\"").is_err());
    }

    fn keys(rows: &[(&str, &str)]) -> Result<ApiKeys, ScopeError> {
        let table = rows
            .iter()
            .map(|(digits, tenant)| (String::from(*digits), TenantId::parse(tenant).unwrap()));
        ApiKeys::from_hex(table)
    }

    fn digits(credential: &str) -> String {
        hex::encode(Sha256::digest(credential))
    }

    #[test]
    fn several_keys_may_be_one_tenant() {
        let rows = [digits("one"), digits("two"), digits("three").to_uppercase()];
        let keys = keys(&[(&rows[0], "acme"), (&rows[1], "acme"), (&rows[2], "other")]).unwrap();
        let tenant = |key: &str| keys.tenant_of(key.as_bytes()).map(TenantId::as_str);
        assert_eq!(tenant("one"), Some("acme"));
        assert_eq!(tenant("two"), Some("acme"));
        assert_eq!(tenant("three"), Some("other"));
        assert_eq!(tenant("four"), None);
        assert_eq!(tenant(""), None);
        let digest = Sha256::digest("two").into();
        assert_eq!(keys.holder_of_digest(&digest), keys.tenant_of(b"two"));
        assert_eq!(keys.holder_of_digest(&[0; 32]), None);
        assert_eq!(format!("{keys:?}"), "3 credentials");
    }

    #[test]
    fn an_empty_table_knows_nobody() {
        assert!(ApiKeys::none().is_empty());
        assert_eq!(ApiKeys::none().tenant_of(b""), None);
    }

    #[test]
    fn a_credential_instead_of_its_digest_is_refused_and_not_repeated() {
        let error = keys(&[("sk_live_secret", "acme")]).unwrap_err();
        assert_eq!(error, ScopeError::CredentialDigest { bytes: 14 });
        assert!(!error.to_string().contains("secret"));
        let twice = [digits("one"), digits("one").to_uppercase()];
        assert!(matches!(
            keys(&[(&twice[0], "a"), (&twice[1], "b")]),
            Err(ScopeError::CredentialTwice { .. })
        ));
    }

    #[test]
    fn a_static_credential_is_a_tenant_of_its_own() {
        let tenant = credential_digest_tenant(b"abc");
        assert_eq!(
            tenant.as_str(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(TenantId::parse(tenant.as_str()), Ok(tenant));
    }
}
