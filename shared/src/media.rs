//! What a `Content-Type` says about a body: its essence, and the boundary of a multipart body.
//!
//! Not content negotiation. Sources: RFC 9110 §8.3.1 (media types), RFC 6839 §3.1 (`+json`), RFC 2046 §5.1.1
//! (boundaries).

use alloc::string::String;
use alloc::vec::Vec;

/// The most bytes of a boundary (RFC 2046 §5.1.1).
pub const BOUNDARY_BYTES_MAX: usize = 70;

/// The essence of a media type: lower case, without parameters and the space around it.
///
/// Bytes that no media type has are kept, so that two odd values stay two.
#[must_use]
pub fn essence(content_type: &[u8]) -> Vec<u8> {
    let end = content_type
        .iter()
        .position(|&byte| byte == b';')
        .unwrap_or(content_type.len());
    content_type[..end].trim_ascii().to_ascii_lowercase()
}

/// Whether a body of this essence is JSON: `application/json`, or a type whose structured syntax is JSON.
#[must_use]
pub fn is_json(essence: &[u8]) -> bool {
    essence == b"application/json" || (essence.contains(&b'/') && essence.ends_with(b"+json"))
}

/// Whether a body of this essence is made of parts between boundaries.
#[must_use]
pub fn is_multipart(essence: &[u8]) -> bool {
    essence.starts_with(b"multipart/")
}

/// The `boundary` parameter, if there is exactly one and it is one.
#[must_use]
pub fn boundary(content_type: &[u8]) -> Option<Vec<u8>> {
    let mut boundaries = parameters(content_type)?
        .into_iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("boundary"));
    let (_, boundary) = boundaries.next()?;
    let one = boundaries.next().is_none();
    (one && (1..=BOUNDARY_BYTES_MAX).contains(&boundary.len())).then_some(boundary)
}

/// The parameters of RFC 9110 §5.6.6; nothing if they are not well-formed.
fn parameters(content_type: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let mut parameters = Vec::new();
    let start = content_type.iter().position(|&byte| byte == b';')?;
    let mut rest = &content_type[start..];
    loop {
        rest = rest.trim_ascii_start();
        match rest {
            [] => return Some(parameters),
            [b';', further @ ..] => rest = further,
            [_, ..] => return None,
        }
        rest = rest.trim_ascii_start();
        let (name, further) = token(rest);
        if name.is_empty() {
            continue; // RFC 9110 allows an empty parameter.
        }
        let [b'=', further @ ..] = further else {
            return None;
        };
        let (value, further) = match further {
            [b'"', further @ ..] => quoted_string(further)?,
            further => {
                let (value, further) = token(further);
                (value.to_vec(), further)
            }
        };
        parameters.push((name.iter().map(|&byte| char::from(byte)).collect(), value));
        rest = further;
    }
}

/// The token at the start (RFC 9110 §5.6.2), and what follows it.
fn token(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|&byte| !is_token_byte(byte))
        .unwrap_or(text.len());
    text.split_at(end)
}

/// RFC 9110 §5.6.2: `tchar`.
pub(crate) const fn is_token_byte(byte: u8) -> bool {
    matches!(
        byte,
        b'!' | b'#'
            | b'$'
            | b'%'
            | b'&'
            | b'\''
            | b'*'
            | b'+'
            | b'-'
            | b'.'
            | b'^'
            | b'_'
            | b'`'
            | b'|'
            | b'~'
    ) || byte.is_ascii_alphanumeric()
}

/// RFC 9110 §5.6.4 from behind the opening quote, and what follows the closing one.
fn quoted_string(mut text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    loop {
        match text {
            [b'"', further @ ..] => return Some((value, further)),
            [b'\\', byte, further @ ..] | [byte, further @ ..] => {
                value.push(*byte);
                text = further;
            }
            [] => return None,
        }
    }
}

/// Cuts a multipart body at its delimiters and takes the boundary's text out of it.
///
/// A delimiter is a whole line: `--`, the boundary, `--` on the last one, spaces or tabs (RFC 2046 §5.1.1). A line
/// may end in LF alone, as some clients write it. The first piece is what stands before the first delimiter;
/// each other piece starts behind the boundary of its delimiter. The pieces and their number give the body back
/// for a given boundary. A boundary of a part that is itself multipart is part of the bytes.
#[must_use]
pub fn multipart_pieces<'a>(body: &'a [u8], boundary: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let (mut piece_start, mut line_start) = (0, 0);
    for line in body.split_inclusive(|&byte| byte == b'\n') {
        if is_delimiter(line, boundary) {
            pieces.push(&body[piece_start..line_start]);
            piece_start = line_start + 2 + boundary.len();
        }
        line_start += line.len();
    }
    pieces.push(&body[piece_start..]);
    pieces
}

fn is_delimiter(line: &[u8], boundary: &[u8]) -> bool {
    let Some(rest) = line
        .strip_prefix(b"--")
        .and_then(|rest| rest.strip_prefix(boundary))
    else {
        return false;
    };
    let rest = rest.strip_suffix(b"\n").unwrap_or(rest);
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    let padding = rest.strip_prefix(b"--").unwrap_or(rest);
    padding.iter().all(|byte| matches!(byte, b' ' | b'\t'))
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_essence_is_lower_case_and_bare() {
        let check = |found: &[u8], expected: &[u8]| assert_eq!(essence(found), expected);
        check(b"application/json", b"application/json");
        check(b" Application/JSON ; charset=UTF-8", b"application/json");
        check(b"", b"");
        check(b";x", b"");
        check(b"text/\xff", b"text/\xff");
    }

    #[test]
    fn json_has_two_names() {
        assert!(is_json(b"application/json"));
        assert!(is_json(b"application/cloudevents+json"));
        assert!(!is_json(b"application/jsonp"));
        assert!(!is_json(b"text/json"));
        assert!(!is_json(b"+json"));
        assert!(!is_json(b""));
    }

    #[test]
    fn a_boundary_is_a_token_or_a_quoted_string() {
        #[track_caller]
        fn check(content_type: &str, expected: Option<&str>) {
            let found = boundary(content_type.as_bytes());
            assert_eq!(found.as_deref(), expected.map(str::as_bytes));
        }
        check("multipart/form-data; boundary=abc", Some("abc"));
        check(
            "multipart/form-data;BOUNDARY=\"a b\\\"c\" ; x=y",
            Some("a b\"c"),
        );
        check(
            "multipart/related; type=\"a;boundary=x\"; boundary=b;",
            Some("b"),
        );
        check("multipart/form-data", None);
        check("multipart/form-data; boundary=", None);
        check("multipart/form-data; boundary=\"a", None);
        check("multipart/form-data; boundary", None);
        check("multipart/form-data; boundary=a; boundary=b", None);
        check("multipart/form-data; boundary=a b", None);
        check(
            &("multipart/x; boundary=".to_owned() + &"a".repeat(70)),
            Some(&"a".repeat(70)),
        );
        check(
            &("multipart/x; boundary=".to_owned() + &"a".repeat(71)),
            None,
        );
    }

    #[test]
    fn only_whole_lines_are_delimiters() {
        #[track_caller]
        fn check(body: &str, expected: &[&str]) {
            let expected: Vec<&[u8]> = expected.iter().map(|piece| piece.as_bytes()).collect();
            assert_eq!(multipart_pieces(body.as_bytes(), b"b"), expected);
        }
        check("", &[""]);
        check("--b\r\nx\r\n--b--\r\n", &["", "\r\nx\r\n", "--\r\n"]);
        check(
            "pre\r\n--b \t\r\nx\r\n--b\ny\n--b--",
            &["pre\r\n", " \t\r\nx\r\n", "\ny\n", "--"],
        );
        check(
            "--bb\r\n --b\r\nx--b\r\n--b-\r\n--b---\r\n",
            &["--bb\r\n --b\r\nx--b\r\n--b-\r\n--b---\r\n"],
        );
    }

    proptest! {
        #[test]
        fn pieces_give_the_body_back(body in "(--b|--|b|\r\n|\n| |x){0,20}") {
            let pieces = multipart_pieces(body.as_bytes(), b"b");
            prop_assert_eq!(pieces.join(b"--b".as_slice()), body.as_bytes());
        }

        #[test]
        fn any_bytes_are_read_without_panic(content_type in prop::collection::vec(any::<u8>(), 0..60), odd in r#"a/b(;| |boundary|=|"|\\|x){0,12}"#) {
            let _found = (boundary(&content_type), boundary(odd.as_bytes()));
        }
    }
}
