//! Paths: their one normal form, and the patterns that routes match (A5).
//!
//! Not queries, which never decide on a route. Source: RFC 3986 §6.2.2 (case of percent-encodings, percent-encoded
//! unreserved characters, dot segments), and what servers do beyond it: empty segments and a slash at the end are
//! dropped.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::quote::quoted;

/// The most bytes of a pattern (X5).
pub const PATTERN_BYTES_MAX: usize = 512;
/// What the gateway keeps for itself.
pub const RESERVED_SEGMENT: &str = "_oncegate";

/// The one path that servers commonly take `path` for.
///
/// Percent-encoded unreserved characters are decoded and other encodings put in upper case; then empty and `.`
/// segments are dropped, `..` takes back the segment before it, and there is no slash at the end. A `%` that
/// encodes nothing becomes `%25`.
#[must_use]
pub fn normal_form(path: &str) -> String {
    from_segments(path.split('/').map(unreserved_decoded))
}

/// The path that the most generous server might take `path` for: everything is decoded, slashes and backslashes
/// included, before the segments are told apart. Only for telling what must not pass (A5), never for routing.
#[must_use]
pub fn loosest_form(path: &str) -> String {
    let decoded = String::from_utf8_lossy(&decoded(path, |_| true)).replace('\\', "/");
    normal_form(&decoded)
}

fn from_segments(segments: impl Iterator<Item = String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for segment in segments {
        match segment.as_str() {
            "" | "." => {}
            ".." => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

fn unreserved_decoded(segment: &str) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    String::from_utf8_lossy(&decoded(segment, unreserved)).into_owned()
}

/// Decodes the percent-encodings of the bytes chosen, and puts the others in upper case.
fn decoded(text: &str, choose: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, further)) = rest.split_first() {
        rest = further;
        let encoded = match (byte, rest) {
            (b'%', [high, low, further @ ..]) => hex_byte(*high, *low).map(|byte| (byte, further)),
            _ => None,
        };
        match encoded {
            Some((decoded, further)) => {
                if choose(decoded) {
                    bytes.push(decoded);
                } else {
                    bytes.extend_from_slice(format!("%{decoded:02X}").as_bytes());
                }
                rest = further;
            }
            None if byte == b'%' => bytes.extend_from_slice(b"%25"),
            None => bytes.push(byte),
        }
    }
    bytes
}

fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// The paths of one route: literal segments, and `{name}` for any one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Parameter(String),
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} is not a path: {problem}")]
pub struct PatternError {
    found: String,
    problem: &'static str,
}

impl PathPattern {
    /// Reads a pattern such as `/v1/orders/{id}/capture`.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let wrong = |problem| PatternError {
            found: quoted(text.as_bytes()),
            problem,
        };
        if text.len() > PATTERN_BYTES_MAX {
            return Err(wrong("it is longer than 512 bytes"));
        }
        let steps = text
            .strip_prefix('/')
            .ok_or_else(|| wrong("it does not start with \"/\""))?;
        let mut segments = Vec::new();
        for step in steps.split('/').filter(|_| !steps.is_empty()) {
            let segment = segment(step).map_err(wrong)?;
            if matches!(segment, Segment::Parameter(_)) && segments.contains(&segment) {
                return Err(wrong("a parameter's name occurs twice"));
            }
            segments.push(segment);
        }
        if let Some(Segment::Literal(first)) = segments.first()
            && first == RESERVED_SEGMENT
        {
            return Err(wrong("what is under \"/_oncegate\" is the gateway's own"));
        }
        Ok(Self { segments })
    }

    /// Whether `path` is one of these paths. A parameter takes any one segment.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let Some(steps) = path.strip_prefix('/') else {
            return false;
        };
        if steps.is_empty() {
            return self.segments.is_empty();
        }
        let mut steps = steps.split('/');
        let each = self
            .segments
            .iter()
            .all(|segment| match (segment, steps.next()) {
                (Segment::Literal(literal), Some(step)) => literal == step,
                (Segment::Parameter(_), Some(step)) => !step.is_empty(),
                (Segment::Literal(_) | Segment::Parameter(_), None) => false,
            });
        each && steps.next().is_none()
    }

    /// Whether there is a path that both match.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.segments.len() == other.segments.len()
            && self
                .segments
                .iter()
                .zip(&other.segments)
                .all(|pair| match pair {
                    (Segment::Literal(one), Segment::Literal(two)) => one == two,
                    (Segment::Parameter(_), Segment::Literal(_) | Segment::Parameter(_))
                    | (Segment::Literal(_), Segment::Parameter(_)) => true,
                })
    }
}

fn segment(step: &str) -> Result<Segment, &'static str> {
    if let Some(name) = step
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
    {
        let named = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
        return if named {
            Ok(Segment::Parameter(name.into()))
        } else {
            Err("a parameter is \"{name}\", of letters, digits and \"_\"")
        };
    }
    if step.contains(['{', '}']) {
        return Err("a parameter is a whole segment");
    }
    if step.contains('*') {
        return Err(
            "\"*\" is no pattern; a route protects exact paths, with \"{name}\" for one segment",
        );
    }
    if !step.bytes().all(is_pchar) {
        return Err("it contains a character that a path has only percent-encoded");
    }
    if step.is_empty() || normal_form(step) != format!("/{step}") {
        return Err(
            "it is not in normal form (empty or dot segments, a slash at the end, or needless percent-encoding)",
        );
    }
    Ok(Segment::Literal(step.into()))
}

/// RFC 3986 §3.3: `pchar`, with `%` for its encodings.
pub(crate) fn is_pchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%".contains(&byte)
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.segments.is_empty() {
            return f.write_str("/");
        }
        self.segments.iter().try_for_each(|segment| match segment {
            Segment::Literal(literal) => write!(f, "/{literal}"),
            Segment::Parameter(name) => write!(f, "/{{{name}}}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn paths_have_one_normal_form() {
        let check = |path: &str, expected: &str| assert_eq!(normal_form(path), expected);
        check("/v1/orders", "/v1/orders");
        check("//v1/orders", "/v1/orders");
        check("/v1//orders/", "/v1/orders");
        check("/v1/orders///", "/v1/orders");
        check("/v1/./orders/.", "/v1/orders");
        check("/v1/x/../orders", "/v1/orders");
        check("/../../v1/orders/x/..", "/v1/orders");
        check("/v1/%6f%72ders", "/v1/orders");
        check("/v1/%2e%2E/v1/orders", "/v1/orders");
        check("/v1/a%2fb%c3%a9", "/v1/a%2Fb%C3%A9");
        check("/v1/100%", "/v1/100%25");
        check("/v1/%zz%4", "/v1/%25zz%254");
        check("/é", "/é");
        check("", "/");
        check("/", "/");
        check("v1", "/v1");
    }

    #[test]
    fn the_loosest_form_also_decodes_what_separates() {
        let check = |path: &str, expected: &str| assert_eq!(loosest_form(path), expected);
        check("/v1%2Forders", "/v1/orders");
        check("/v1%5corders%2f", "/v1/orders");
        check("/v1\\orders", "/v1/orders");
        check("/x/..%2fv1/orders", "/v1/orders");
        check("/v1/%6frders", "/v1/orders");
    }

    #[track_caller]
    fn matching(pattern: &str, path: &str, expected: bool) {
        let parsed = PathPattern::parse(pattern).unwrap();
        assert_eq!(parsed.to_string(), pattern);
        assert_eq!(parsed.matches(path), expected);
    }

    #[test]
    fn patterns_match_whole_paths() {
        matching("/v1/orders", "/v1/orders", true);
        matching("/v1/orders", "/v1/orders/", false);
        matching("/v1/orders", "/v1/orders/7", false);
        matching("/v1/orders", "/v1", false);
        matching("/v1/orders", "/V1/orders", false);
        matching("/v1/orders/{id}/capture", "/v1/orders/7/capture", true);
        matching("/v1/orders/{id}/capture", "/v1/orders/a%2Fb/capture", true);
        matching("/v1/orders/{id}/capture", "/v1/orders//capture", false);
        matching("/v1/orders/{id}/capture", "/v1/orders/7/8/capture", false);
        matching("/{any}", "/", false);
        matching("/", "/", true);
        matching("/", "", false);
        matching("/", "/x", false);
    }

    #[track_caller]
    fn refused(pattern: &str, problem: &str) {
        let error = PathPattern::parse(pattern).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("\"{pattern}\" is not a path: {problem}")
        );
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        refused("", "it does not start with \"/\"");
        refused("v1", "it does not start with \"/\"");
        let no_normal_form = "it is not in normal form (empty or dot segments, a slash at the end, or needless percent-encoding)";
        for path in ["/v1/", "//v1", "/v1/./x", "/v1/../x", "/v1/%6f", "/v1/%2f"] {
            refused(path, no_normal_form);
        }
        refused(
            "/v1/{}",
            "a parameter is \"{name}\", of letters, digits and \"_\"",
        );
        refused(
            "/v1/{*rest}",
            "a parameter is \"{name}\", of letters, digits and \"_\"",
        );
        refused("/v1/x{id}", "a parameter is a whole segment");
        refused(
            "/v1/*",
            "\"*\" is no pattern; a route protects exact paths, with \"{name}\" for one segment",
        );
        refused(
            "/v1/a b",
            "it contains a character that a path has only percent-encoded",
        );
        refused(
            "/v1?x",
            "it contains a character that a path has only percent-encoded",
        );
        refused("/{id}/{id}", "a parameter's name occurs twice");
        refused(
            "/_oncegate/x",
            "what is under \"/_oncegate\" is the gateway's own",
        );
        assert!(PathPattern::parse(&("/".to_string() + &"a".repeat(512))).is_err());
    }

    #[test]
    fn patterns_overlap_when_one_path_fits_both() {
        let overlap = |one: &str, other: &str| {
            let (one, other) = (
                PathPattern::parse(one).unwrap(),
                PathPattern::parse(other).unwrap(),
            );
            assert_eq!(one.overlaps(&other), other.overlaps(&one));
            one.overlaps(&other)
        };
        assert!(overlap("/a/{x}", "/a/{y}"));
        assert!(overlap("/a/{x}", "/a/b"));
        assert!(overlap("/a/{x}", "/{y}/b"));
        assert!(!overlap("/a/{x}", "/b/{x}"));
        assert!(!overlap("/a/{x}", "/a"));
        assert!(!overlap("/a/b", "/a/c"));
    }

    proptest! {
        #[test]
        fn a_normal_form_is_its_own(path in "(/|//|\\.|\\.\\.|%2e|%2F|%|%25|a|é|%41|\\\\){0,12}") {
            let form = normal_form(&path);
            prop_assert_eq!(normal_form(&form), form.clone());
            let _loosest = loosest_form(&path);
        }

        #[test]
        fn any_text_is_read_without_panic(text in any::<String>()) {
            let _form = normal_form(&text);
            let _loosest = loosest_form(&text);
            let _pattern = PathPattern::parse(&text);
        }
    }
}
