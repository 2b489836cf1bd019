//! A JSON Pointer (RFC 6901) to something inside a document.
//!
//! Not the evaluation: `canonical` leaves out what pointers name, `webhook` reads what they name.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::quote::quoted;

/// The most bytes of a pointer (X5).
pub const POINTER_BYTES_MAX: usize = 256;

/// A pointer into a document; never the whole document (F3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pointer {
    tokens: Vec<String>,
}

/// A text that is no pointer into a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    /// The empty pointer, which names the whole document.
    #[error("pointer \"\" names the whole document")]
    WholeDocument,
    /// Not a pointer of RFC 6901.
    #[error("{found} is not a json pointer: {problem}")]
    Malformed {
        /// The text, quoted.
        found: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl Pointer {
    /// Reads the string form: `/data/object/id`, with `~1` for a slash and `~0` for a tilde.
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let wrong = |problem| PointerError::Malformed {
            found: quoted(text.as_bytes()),
            problem,
        };
        if text.is_empty() {
            return Err(PointerError::WholeDocument);
        }
        if text.len() > POINTER_BYTES_MAX {
            return Err(wrong("it is longer than 256 bytes"));
        }
        let steps = text
            .strip_prefix('/')
            .ok_or_else(|| wrong("it does not start with \"/\""))?;
        let tokens = steps
            .split('/')
            .map(unescaped)
            .collect::<Option<Vec<String>>>();
        let tokens = tokens.ok_or_else(|| wrong("a \"~\" is followed by neither 0 nor 1"))?;
        Ok(Self { tokens })
    }

    /// The steps from the document's root, unescaped; at least one.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }
}

/// RFC 6901 §4: `~1` first, then `~0`, so that `~01` is `~1`.
fn unescaped(token: &str) -> Option<String> {
    let mut rest = token.split('~');
    let mut text = rest.next()?.to_string();
    for escaped in rest {
        text.push(match escaped.bytes().next()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        text.push_str(&escaped[1..]);
    }
    Some(text)
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for token in &self.tokens {
            write!(f, "/{}", token.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

impl TryFrom<String> for Pointer {
    type Error = PointerError;

    fn try_from(text: String) -> Result<Self, PointerError> {
        Self::parse(&text)
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[&str], &str>) {
        match (Pointer::parse(text), expected) {
            (Ok(pointer), Ok(tokens)) => {
                assert_eq!(pointer.tokens(), tokens);
                assert_eq!(pointer.to_string(), text);
            }
            (Err(error), Err(message)) => assert_eq!(error.to_string(), message),
            (parsed, expected) => panic!("{parsed:?} is not {expected:?}"),
        }
    }

    #[test]
    fn pointers_are_those_of_rfc_6901() {
        check("/foo/0", Ok(&["foo", "0"]));
        check("/", Ok(&[""]));
        check("/a~1b/m~0n/~01", Ok(&["a/b", "m~n", "~1"]));
        check("//é %", Ok(&["", "é %"]));
        check("", Err("pointer \"\" names the whole document"));
        check(
            "foo",
            Err(r#""foo" is not a json pointer: it does not start with "/""#),
        );
        check(
            "/~",
            Err(r#""/~" is not a json pointer: a "~" is followed by neither 0 nor 1"#),
        );
        check(
            "/~é",
            Err(r#""/~\xc3\xa9" is not a json pointer: a "~" is followed by neither 0 nor 1"#),
        );
        assert!(Pointer::parse(&("/".to_string() + &"a".repeat(255))).is_ok());
        assert!(Pointer::parse(&("/".to_string() + &"a".repeat(256))).is_err());
        assert!(serde_json::from_str::<Pointer>("\"\"").is_err());
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(text in "(/([a-z/é]|~0|~1){0,5}){1,4}") {
            prop_assert_eq!(Pointer::parse(&text).unwrap().to_string(), text);
        }

        #[test]
        fn any_text_is_read_without_panic(text in any::<String>()) {
            let _pointer = Pointer::parse(&text);
        }
    }
}
