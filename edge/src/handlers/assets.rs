//! The dashboard's files, from the build, under a strict content security policy.
//!
//! Only on the operator host (X3). The platform serves no file by itself: the dashboard's addresses are all its one
//! page, and the page's files carry a digest of their content in their names.

use worker::web_sys::Request as RawRequest;
use worker::{Request, Response};

use crate::login;
use crate::request::Inbound;
use crate::respond;
use crate::site::Site;
use crate::telemetry::{Level, event};

const ROOT: &str = "/_oncegate/";
const PAGE: &str = "/_oncegate/index.html";
const CSP: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// For files whose name tells their content.
const CACHE_FOREVER: &str = "public, max-age=31536000, immutable";
/// For the page, which names the files of the running version.
const CACHE_NEVER: &str = "no-store";
/// Hex digits that a name must end in to count as telling its content.
const DIGEST_DIGITS_MIN: usize = 8;

/// Answers a path under `/_oncegate/` that is nobody else's.
pub(crate) async fn handle(inbound: &Inbound, site: &Site) -> Response {
    if !login::is_operator_host(inbound, site) {
        return respond::not_found();
    }
    let is_opened = inbound
        .header("accept")
        .unwrap_or_default()
        .contains("text/html");
    let (status, file) = match file_of(&inbound.path) {
        Some(file) => (200, file),
        None if is_opened => (404, PAGE), // the dashboard says itself that there is no such page
        None => return respond::not_found(),
    };
    if !matches!(inbound.method.as_str(), "GET" | "HEAD") {
        return respond::method_not_allowed(&inbound.method, "GET, HEAD");
    }
    // The binding looks at the path alone.
    let address = format!("https://assets.invalid{file}");
    let found = match site.env.assets("ASSETS") {
        // Not `fetch`, which drags in the code for options that nobody gives.
        Ok(assets) => match RawRequest::new_with_str(&address) {
            Ok(request) => assets.fetch_request(Request::from(request)).await,
            Err(thrown) => Err(worker::Error::from(thrown)),
        },
        Err(error) => Err(error),
    };
    match found {
        Ok(response) if response.status_code() == 200 => served(status, response, file),
        Ok(_missing) => respond::not_found(),
        Err(error) => {
            event(
                Level::Error,
                "asset_failed",
                &[("path", &inbound.path), ("error", &error)],
            );
            respond::internal()
        }
    }
}

fn served(status: u16, response: Response, file: &str) -> Response {
    let media_type = response.headers().get("content-type").ok().flatten();
    let headers = [
        (
            "content-type",
            media_type.as_deref().unwrap_or("application/octet-stream"),
        ),
        (
            "cache-control",
            if tells_its_content(file) {
                CACHE_FOREVER
            } else {
                CACHE_NEVER
            },
        ),
        ("content-security-policy", CSP),
        ("cross-origin-opener-policy", "same-origin"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ];
    let (_builder, body) = response.into_parts();
    respond::streamed(status, &headers, body)
}

/// The file behind an address of the dashboard, if it can be one.
fn file_of(path: &str) -> Option<&str> {
    let rest = if path == ROOT.trim_end_matches('/') {
        ""
    } else {
        path.strip_prefix(ROOT)?
    };
    let is_page = match rest {
        "" | "operations" | "login" => true,
        rest => rest
            .strip_prefix("operations/")
            .is_some_and(|id| !id.is_empty() && !id.contains('/')),
    };
    if is_page {
        return Some(PAGE);
    }
    // Nothing but plain names with an ending reaches the binding.
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/');
    let name = rest.rsplit('/').next().unwrap_or_default();
    let is_file = name.contains('.') && !rest.contains("..") && rest.bytes().all(plain);
    is_file.then_some(path)
}

/// Whether the name or a folder of the file carries a digest of its content: `dashboard-0f3a9c1e.js`.
fn tells_its_content(file: &str) -> bool {
    file.split('/').any(|part| {
        let stem = part.split('.').next().unwrap_or_default();
        let digest = stem
            .rsplit('-')
            .next()
            .filter(|digest| digest.len() < stem.len());
        digest.is_some_and(|digest| {
            digest.len() >= DIGEST_DIGITS_MIN && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        assert_eq!(file_of(path), expected, "{path}");
    }

    #[test]
    fn addresses_of_the_dashboard_are_one_page() {
        for path in [
            "/_oncegate",
            "/_oncegate/",
            "/_oncegate/login",
            "/_oncegate/operations",
            "/_oncegate/operations/op_00",
        ] {
            check(path, Some(PAGE));
        }
    }

    #[test]
    fn only_plain_names_reach_the_files() {
        check(
            "/_oncegate/dashboard-0f3a9c1e.js",
            Some("/_oncegate/dashboard-0f3a9c1e.js"),
        );
        check(
            "/_oncegate/snippets/a-0f3a9c1e/b.js",
            Some("/_oncegate/snippets/a-0f3a9c1e/b.js"),
        );
        for path in [
            "/_oncegate/other",
            "/_oncegate/operations/",
            "/_oncegate/operations/a/b",
            "/_oncegate/../x.js",
            "/_oncegate/%2e%2e/x.js",
            "/_oncegated/x.js",
            "/x.js",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn only_names_with_a_digest_are_kept_for_good() {
        assert!(tells_its_content("/_oncegate/dashboard-0f3a9c1e.js"));
        assert!(tells_its_content(
            "/_oncegate/snippets/inline-0f3a9c1e77/one.js"
        ));
        for file in [
            "/_oncegate/index.html",
            "/_oncegate/boot.js",
            "/_oncegate/a-dashboard.js",
            "/_oncegate/0f3a9c1e.js",
        ] {
            assert!(!tells_its_content(file), "{file}");
        }
    }
}
