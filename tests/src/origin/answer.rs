//! The bytes of an answer, written by hand so that they can be cut anywhere.

use super::request::Seen;
use crate::plan::{Body, Plan};
use std::fmt::Write as _;

/// An answer's two halves.
#[derive(Debug, Clone)]
pub struct Bytes {
    /// The status line and the headers, with the empty line that ends them.
    pub head: Vec<u8>,
    /// The body as it is framed.
    pub body: Vec<u8>,
}

/// What a plan answers to a request whose effect had this serial number (0 for none).
pub(super) fn bytes(plan: &Plan, seen: &Seen, serial: u64) -> Bytes {
    let status = plan.status.unwrap_or(201);
    let (media, content) = content(plan, seen, serial);
    let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
    for (name, value) in &plan.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    if let Some(media) = media {
        let _ = write!(head, "Content-Type: {media}\r\n");
    }
    let bodiless = matches!(status, 204 | 304);
    if plan.chunked && !bodiless {
        head.push_str("Transfer-Encoding: chunked\r\n\r\n");
        return Bytes {
            head: head.into_bytes(),
            body: chunked(&content),
        };
    }
    if plan.unframed {
        head.push_str("Connection: close\r\n");
    } else if !bodiless {
        let _ = write!(head, "Content-Length: {}\r\n", content.len());
    }
    head.push_str("\r\n");
    Bytes {
        head: head.into_bytes(),
        body: if bodiless { Vec::new() } else { content },
    }
}

/// A short answer outside any plan.
pub(super) fn plain(status: u16, text: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status} {}\r\nContent-Length: {}\r\n\r\n",
        reason(status),
        text.len()
    )
    .into_bytes();
    bytes.extend_from_slice(text);
    bytes
}

/// The bytes of [`Body::Binary`].
#[must_use]
pub(super) fn binary(length: usize) -> Vec<u8> {
    (0..=255_u8).cycle().take(length).collect()
}

fn content(plan: &Plan, seen: &Seen, serial: u64) -> (Option<&'static str>, Vec<u8>) {
    match &plan.body {
        Some(Body::Empty) => (None, Vec::new()),
        Some(Body::Text(text)) => (Some("text/plain; charset=utf-8"), text.clone().into_bytes()),
        Some(Body::Binary(length)) => (Some("application/octet-stream"), binary(*length)),
        Some(Body::Large(length)) => (
            Some("text/plain"),
            (b'a'..=b'z').cycle().take(*length).collect(),
        ),
        Some(Body::Echo) => (Some("application/octet-stream"), seen.body.clone()),
        None => (Some("application/json"), ordinary(seen, serial)),
    }
}

// The effect's serial number makes a second run's answer differ from the first one's.
pub(super) fn ordinary(seen: &Seen, serial: u64) -> Vec<u8> {
    let operation = seen.header("oncegate-operation").unwrap_or_default();
    format!(
        "{}\n",
        serde_json::json!({ "effect": serial, "number": seen.number, "operation": operation })
    )
    .into_bytes()
}

fn chunked(content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in content.chunks((content.len() / 3).max(1)) {
        bytes.extend(format!("{:x}\r\n", piece.len()).into_bytes());
        bytes.extend_from_slice(piece);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        400 => "Bad Request",
        402 => "Payment Required",
        404 => "Not Found",
        409 => "Conflict",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Planned",
    }
}
