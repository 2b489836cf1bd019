//! An incoming request, taken apart once at the door.
//!
//! The path is what the platform made of it (RFC 3986 dot segments resolved, nothing decoded) and the query is raw: the
//! URL is not parsed again, which would cost size and time and could only lose what the client sent.

use worker::web_sys::ReadableStream;

use crate::headers::HeaderList;
use crate::origin::header_list;

/// What a caller sent; the body is still to be read.
pub(crate) struct Inbound {
    /// In upper case, as sent.
    pub(crate) method: String,
    /// The path, beginning with `/`.
    pub(crate) path: String,
    /// What follows the first `?`, if there is one.
    pub(crate) query: Option<String>,
    /// Names in lower case.
    pub(crate) headers: HeaderList,
    /// The body, unread.
    pub(crate) body: Option<ReadableStream>,
}

impl Inbound {
    /// Takes `request` apart.
    pub(crate) fn of(request: &worker::Request) -> Self {
        let raw = request.inner();
        let url = raw.url();
        let query = url.split_once('?').map(|(_, query)| query);
        let query = query.map(|query| query.split('#').next().unwrap_or_default());
        Self {
            method: raw.method(),
            path: request.path(),
            query: query.map(String::from),
            headers: header_list(request.headers()),
            body: raw.body(),
        }
    }

    /// The value of a header, by its name in lower case. The platform has joined repeated lines with a comma.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Path and query, as an origin is asked for them.
    pub(crate) fn target(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// The decoded value of a query's parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let query = self.query.as_deref()?;
        query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(found, _)| *found == name)
            .and_then(|(_, value)| decoded(value))
    }
}

/// Percent decoding with `+` as a space, as forms are sent; nothing for what is not UTF-8 or not well-formed.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let mut byte = [0];
                hex::decode_to_slice([*high, *low], &mut byte).ok()?;
                bytes.extend(byte);
                tail
            }
            (b'%', _) => return None,
            (b'+', tail) => {
                bytes.push(b' ');
                tail
            }
            (other, tail) => {
                bytes.push(*other);
                tail
            }
        };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: Option<&str>, expected: Option<&str>) {
        let inbound = Inbound {
            method: String::from("GET"),
            path: String::from("/"),
            query: query.map(String::from),
            headers: HeaderList::new(),
            body: None,
        };
        assert_eq!(inbound.parameter("route").as_deref(), expected);
    }

    #[test]
    fn parameters_are_decoded() {
        check(None, None);
        check(Some(""), None);
        check(Some("route"), None);
        check(Some("route="), Some(""));
        check(Some("a=b&route=orders"), Some("orders"));
        check(Some("route=a%20b+c%C3%A9"), Some("a b cé"));
        check(Some("route=%"), None);
        check(Some("route=%zz"), None);
        check(Some("route=%ff"), None);
    }
}
