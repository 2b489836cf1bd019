//! The path at which an origin is asked, with placeholders for what names the operation.
//!
//! Not a general template: a value takes the place of a part of one segment, or of a value in the query, and can be
//! nothing else there. Source for what is percent-encoded: RFC 3986 §2.3.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde_json::Value;

use super::member;
use crate::json;
use crate::path::{is_pchar, normal_form};
use crate::pointer::Pointer;
use crate::quote::quoted;

/// The most bytes of a template (X5): as many as of a route's path.
pub const TEMPLATE_BYTES_MAX: usize = crate::path::PATTERN_BYTES_MAX;
/// The most bytes of an expanded path with its query (X5): what common servers take in one line of a request.
/// <https://nginx.org/en/docs/http/ngx_http_core_module.html#large_client_header_buffers>
pub const TARGET_BYTES_MAX: usize = 4 * 1024;

/// A path, with its query, in which something names the operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    /// The operation's id.
    Operation,
    /// The origin's own reference.
    Reference,
    /// A member of the recovery point's data.
    Point(Pointer),
}

/// A text that is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found}: {problem}")]
pub struct TemplateError {
    found: String,
    problem: String,
}

/// Why a probe can't be sent: what it asks for is missing, or would ask for something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The template names the origin's reference, and none is known.
    #[error("the origin has given no reference")]
    NoReference,
    /// The template names a member of the recovery point, and there is none.
    #[error("no recovery point is kept")]
    NoPoint,
    /// The recovery point is no JSON.
    #[error("the recovery point is no json")]
    PointUnreadable,
    /// The recovery point has no such member, or one that is neither a text nor a whole number.
    #[error("the recovery point has no text or whole number at {pointer}")]
    NoMember {
        /// Where it was looked for.
        pointer: Pointer,
    },
    /// A value without a character, which would ask for all of them.
    #[error("the value of {placeholder} is empty")]
    Empty {
        /// The placeholder as it stands in the template.
        placeholder: String,
    },
    /// A segment that leads to another path.
    #[error("a segment of the path becomes \".\" or \"..\"")]
    DotSegment,
    /// More than servers take.
    #[error("{bytes} bytes are more than {TARGET_BYTES_MAX}")]
    TooLong {
        /// How many.
        bytes: usize,
    },
}

impl Template {
    /// Reads a path such as `/v1/orders/by-operation/{operation}`. There are the placeholders `{operation}`, `{reference}`
    /// and `{point:/pointer}`, of which it has one at least: a path that names no operation proves nothing about it.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let wrong = |problem: String| TemplateError {
            found: quoted(text.as_bytes()),
            problem,
        };
        if text.len() > TEMPLATE_BYTES_MAX {
            return Err(wrong("it is longer than 512 bytes".into()));
        }
        let pieces = pieces(text).map_err(wrong)?;
        // With each placeholder taken by one letter it has to be a path that no server reads in another way.
        let mut example = String::new();
        for piece in &pieces {
            match piece {
                Piece::Literal(literal) => example.push_str(literal),
                Piece::Operation | Piece::Reference | Piece::Point(_) => example.push('x'),
            }
        }
        check_target(&example).map_err(|problem| wrong(problem.into()))?;
        let names_it = |piece: &Piece| !matches!(piece, Piece::Literal(_));
        if !pieces.iter().any(names_it) {
            return Err(wrong(
                "it has no placeholder, so it asks about no operation".into(),
            ));
        }
        Ok(Self { pieces })
    }

    pub(super) fn expand(
        &self,
        operation: &str,
        reference: Option<&str>,
        point: Option<&str>,
    ) -> Result<String, ProbeError> {
        let mut target = String::new();
        for piece in &self.pieces {
            let value = match piece {
                Piece::Literal(literal) => {
                    target.push_str(literal);
                    continue;
                }
                Piece::Operation => Cow::Borrowed(operation),
                Piece::Reference => Cow::Borrowed(reference.ok_or(ProbeError::NoReference)?),
                Piece::Point(pointer) => Cow::Owned(of_point(pointer, point)?),
            };
            if value.is_empty() {
                let placeholder = piece.to_string();
                return Err(ProbeError::Empty { placeholder });
            }
            push_encoded(&mut target, &value);
        }
        let path = target.split('?').next().unwrap_or_default();
        if path.split('/').any(|step| matches!(step, "." | "..")) {
            return Err(ProbeError::DotSegment);
        }
        let bytes = target.len();
        if bytes > TARGET_BYTES_MAX {
            return Err(ProbeError::TooLong { bytes });
        }
        Ok(target)
    }
}

fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((literal, behind)) = rest.split_once('{') {
        let (name, further) = behind
            .split_once('}')
            .ok_or_else(|| String::from("a \"{\" is not closed"))?;
        pieces.extend([Piece::Literal(literal.into()), placeholder(name)?]);
        rest = further;
    }
    pieces.push(Piece::Literal(rest.into()));
    Ok(pieces)
}

fn placeholder(name: &str) -> Result<Piece, String> {
    match (name, name.strip_prefix("point:")) {
        ("operation", _) => Ok(Piece::Operation),
        ("reference", _) => Ok(Piece::Reference),
        (_, Some(pointer)) => {
            let pointer = Pointer::parse(pointer);
            pointer.map(Piece::Point).map_err(|error| error.to_string())
        }
        (_, None) => {
            let found = quoted(format!("{{{name}}}").as_bytes());
            Err(format!(
                "{found} is no placeholder; there are {{operation}}, {{reference}} and {{point:/json/pointer}}"
            ))
        }
    }
}

/// A path in normal form, which may end with a slash, and a query.
fn check_target(target: &str) -> Result<(), &'static str> {
    if !target.starts_with('/') {
        return Err("it does not start with \"/\"");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let of_path = |byte: u8| byte == b'/' || is_pchar(byte);
    if !path.bytes().all(of_path) || !query.bytes().all(|byte| byte == b'?' || of_path(byte)) {
        return Err("it contains a character that an address has only percent-encoded");
    }
    let normal = normal_form(path);
    if normal != path && Some(normal.as_str()) != path.strip_suffix('/') {
        return Err(
            "its path is not in normal form (empty or dot segments, or needless percent-encoding)",
        );
    }
    Ok(())
}

/// The text, or the digits, of the point's member.
fn of_point(pointer: &Pointer, point: Option<&str>) -> Result<String, ProbeError> {
    let point = point.ok_or(ProbeError::NoPoint)?;
    let point: Value = serde_json::from_str(point).map_err(|_why| ProbeError::PointUnreadable)?;
    match member(&point, pointer) {
        Some(Value::String(text)) => Ok(text.clone()),
        // A number with a fraction, or one too large, is read as a double, which may name another thing.
        Some(whole @ Value::Number(number)) if !number.is_f64() => Ok(json::text(whole)),
        Some(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_),
        )
        | None => Err(ProbeError::NoMember {
            pointer: pointer.clone(),
        }),
    }
}

/// Everything but RFC 3986's unreserved characters is encoded, so that nothing separates.
fn push_encoded(target: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            target.push('%');
            for half in [byte >> 4, byte & 15] {
                target.push(char::from(b"0123456789ABCDEF"[usize::from(half)]));
            }
        }
    }
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(literal) => f.write_str(literal),
            Self::Operation => f.write_str("{operation}"),
            Self::Reference => f.write_str("{reference}"),
            Self::Point(pointer) => write!(f, "{{point:{pointer}}}"),
        }
    }
}
