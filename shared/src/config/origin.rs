//! Where an origin is: scheme, host and port, and nothing that could lead elsewhere (X2).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::nearest::nearest;
use crate::quote::quoted;
use crate::scope::OriginName;

/// The most bytes of a host (RFC 1035 §2.3.4).
const HOST_BYTES_MAX: usize = 253;

/// The base of an origin's URLs: `https://host` or `http://host:port`, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginUrl(String);

/// A text that is no origin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found}: {problem}")]
pub struct OriginUrlError {
    found: String,
    problem: &'static str,
}

impl OriginUrl {
    /// Reads the base; one slash at the end is taken off.
    pub fn parse(text: &str) -> Result<Self, OriginUrlError> {
        let wrong = |problem| OriginUrlError {
            found: quoted(text.as_bytes()),
            problem,
        };
        let lower = text.to_ascii_lowercase();
        let (scheme, rest) = lower
            .split_once("://")
            .ok_or_else(|| wrong("it has no \"https://\" or \"http://\""))?;
        if !matches!(scheme, "http" | "https") {
            return Err(wrong("its scheme is neither https nor http"));
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains('@') {
            // X4: what stands before the "@" may be a password.
            let found = "a url with a user's name".to_owned();
            return Err(OriginUrlError {
                found,
                problem: "credentials are no part of an origin",
            });
        }
        if authority.contains(['/', '?', '#']) {
            return Err(wrong("it has more than a host and a port"));
        }
        if !is_authority(authority) {
            return Err(wrong("its host or port is none"));
        }
        Ok(Self(format!("{scheme}://{authority}")))
    }

    /// The base, without a slash at the end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for OriginUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A host with its port, if it has one, in lower case.
pub(super) fn host_and_port(text: &str) -> Result<String, String> {
    let lower = text.to_ascii_lowercase();
    if is_authority(&lower) {
        Ok(lower)
    } else {
        Err(quoted(text.as_bytes()))
    }
}

fn is_authority(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        Some(_) | None => (authority, None),
    };
    let port_is_one = port.is_none_or(|port| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    port_is_one && (1..=HOST_BYTES_MAX).contains(&host.len()) && (is_name(host) || is_ipv6(host))
}

fn is_name(host: &str) -> bool {
    host.split('.').all(|label| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    })
}

fn is_ipv6(host: &str) -> bool {
    host.strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|address| address.parse::<core::net::Ipv6Addr>().is_ok())
}

/// What to write in place of an origin's name that does not exist.
pub(super) fn remedy(origins: &BTreeMap<OriginName, OriginUrl>, name: &str) -> String {
    let names: Vec<&str> = origins.keys().map(OriginName::as_str).collect();
    match (nearest(name, names.iter().copied()), names.as_slice()) {
        (Some(near), _) => format!("did you mean \"{near}\"?"),
        (None, []) => format!("set ORIGIN_{name} = \"https://host\""),
        (None, names) => format!("set ORIGIN_{name}, or name one of: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let parsed = OriginUrl::parse(text);
        let shown = parsed
            .map(|url| url.to_string())
            .map_err(|error| error.to_string());
        assert_eq!(
            shown,
            expected.map(ToOwned::to_owned).map_err(ToOwned::to_owned)
        );
    }

    #[test]
    fn origins_are_a_scheme_a_host_and_a_port() {
        check("https://api.example.com", Ok("https://api.example.com"));
        check("HTTP://127.0.0.1:9000/", Ok("http://127.0.0.1:9000"));
        check("http://[::1]:9000", Ok("http://[::1]:9000"));
        check("http://[::1]", Ok("http://[::1]"));
        check(
            "localhost:9000",
            Err("\"localhost:9000\": it has no \"https://\" or \"http://\""),
        );
        check(
            "ftp://host",
            Err("\"ftp://host\": its scheme is neither https nor http"),
        );
        check(
            "https://host/v1",
            Err("\"https://host/v1\": it has more than a host and a port"),
        );
        check(
            "https://host?x",
            Err("\"https://host?x\": it has more than a host and a port"),
        );
        check(
            "https://host//",
            Err("\"https://host//\": it has more than a host and a port"),
        );
        check(
            "https://me:secret@host",
            Err("a url with a user's name: credentials are no part of an origin"),
        );
        for text in [
            "https://",
            "https://a..b",
            "https://a b",
            "http://a:",
            "http://a:0",
            "http://a:65536",
            "http://[::g]",
            "http://a:+1",
        ] {
            check(text, Err(&format!("\"{text}\": its host or port is none")));
        }
    }

    #[test]
    fn hosts_are_in_lower_case() {
        assert_eq!(
            host_and_port("Localhost:8787"),
            Ok("localhost:8787".to_owned())
        );
        assert_eq!(host_and_port("https://x"), Err("\"https://x\"".to_owned()));
    }
}
