//! The pages behind the `type` of each problem: what it means, what to do, how to retry.
//!
//! For people who met a refusal, so it is served to everyone, on every host, without script. All of its text is
//! `shared::problem`'s.

use std::fmt::Write;

use shared::problem::{Code, Retry};
use worker::Response;

use crate::request::Inbound;
use crate::respond;

/// The index of all problems.
pub(crate) const INDEX: &str = "/_oncegate/problems";
/// Nothing but our own style sheet may be loaded, and nobody may frame the page.
const CSP: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Texts change with the gateway's version only.
const CACHE: &str = "public, max-age=3600";
const STYLE: &str = include_str!("problems.css");

/// Answers whatever lies under [`INDEX`].
pub(crate) fn handle(inbound: &Inbound) -> Response {
    if !matches!(inbound.method.as_str(), "GET" | "HEAD") {
        return respond::method_not_allowed(&inbound.method, "GET, HEAD");
    }
    let rest = inbound.path.strip_prefix(INDEX).unwrap_or_default();
    match rest.strip_prefix('/').unwrap_or_default() {
        "" => page("text/html; charset=utf-8", index()),
        "style.css" => page("text/css; charset=utf-8", String::from(STYLE)),
        code => match Code::parse(code) {
            Some(code) => page("text/html; charset=utf-8", explained(code)),
            None => respond::not_found(),
        },
    }
}

fn page(media_type: &str, text: String) -> Response {
    let headers = [
        ("content-type", media_type),
        ("cache-control", CACHE),
        ("content-security-policy", CSP),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ];
    respond::with_headers(200, &headers, text.into_bytes())
}

fn index() -> String {
    let mut rows = String::new();
    for code in Code::ALL {
        // Writing to a String does not fail.
        let _written = write!(
            rows,
            "<tr><td><a href=\"{INDEX}/{code}\"><code>{code}</code></a></td><td>{}</td><td>{}</td></tr>",
            code.status(),
            code.title()
        );
    }
    document(
        "Problems",
        &format!(
            "<h1>Problems</h1>\
             <p>Every refusal of this gateway is <code>application/problem+json</code> (RFC 9457) with one of these codes. \
             The page of a code says what it means and what to do.</p>\
             <div class=\"wide\"><table><thead><tr><th scope=\"col\">Code</th><th scope=\"col\">Status</th>\
             <th scope=\"col\">In words</th></tr></thead><tbody>{rows}</tbody></table></div>"
        ),
    )
}

fn explained(code: Code) -> String {
    document(
        code.title(),
        &format!(
            "<p><a href=\"{INDEX}\">All problems</a></p><h1>{}</h1>\
             <p><code>{code}</code>, usually with status {}</p>\
             <h2>What it means</h2><p>{}</p>\
             <h2>What to do</h2><p>{}</p>\
             <h2>Retry</h2><p>{}</p>",
            code.title(),
            code.status(),
            code.meaning(),
            code.remedy(),
            advice(code.retry())
        ),
    )
}

const fn advice(retry: Retry) -> &'static str {
    match retry {
        Retry::SameKey => {
            "<code>same-key</code>: send the same request again with the same key. The key names one operation, however often it is sent."
        }
        Retry::NewKey => {
            "<code>new-key</code>: mend the request and send it as a new operation, with a new key. Nothing was \
             done under this one by this request."
        }
        Retry::Never => {
            "<code>never</code>: the request as it is will be refused again, so do not repeat it by program."
        }
    }
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title} · Oncegate</title>\
         <link rel=\"stylesheet\" href=\"{INDEX}/style.css\"></head><body><main>{body}</main></body></html>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_that_the_index_names() {
        let index = index();
        for code in Code::ALL {
            assert!(
                index.contains(&format!("href=\"/_oncegate/problems/{code}\"")),
                "{code}"
            );
            let page = explained(*code);
            for part in [
                code.title(),
                code.meaning(),
                code.remedy(),
                &code.retry().to_string(),
            ] {
                assert!(page.contains(part), "{part:?} is not on the page of {code}");
            }
        }
    }

    #[test]
    fn texts_need_no_escapes() {
        for code in Code::ALL {
            for text in [code.as_str(), code.title(), code.meaning(), code.remedy()] {
                assert!(!text.contains(['<', '>', '&', '"']), "{text:?}");
            }
        }
    }
}
