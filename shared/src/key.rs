//! The `Idempotency-Key` header: from its lines to a key that cannot be wrong (K1, K2, K3).
//!
//! Not what the key does (`decide`), nor whether it is too old (K5, `decide` too: it needs the record).
//! Sources: draft-ietf-httpapi-idempotency-key-header (an Item that is a String), RFC 9651 §3.3.3 and §4.2.5
//! (the String), RFC 9562 §5.7 (the time in a `UUIDv7`).

use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::quote::quoted;
use crate::scope::{OPERATION_KEY_BYTES_MAX, OperationKey};
use crate::time::Timestamp;

/// K2: the fewest characters of a key when the route says nothing (S1 4.4: shorter ones are mostly customer ids
/// used by mistake).
pub const KEY_LENGTH_MIN_DEFAULT: usize = 16;
/// K2: the most characters of a key when the route says nothing, as at Stripe:
/// <https://docs.stripe.com/api/idempotent_requests>.
pub const KEY_LENGTH_MAX_DEFAULT: usize = 255;
/// The most characters that a route may allow (X5): what names an operation holds.
pub const KEY_LENGTH_LIMIT: usize = OPERATION_KEY_BYTES_MAX;

/// A key as the client chose it: 1 to 512 visible ASCII characters, without the quotes of its header form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

/// Whether a route asks for a key (K3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Missing and malformed are refused.
    #[default]
    Required,
    /// Missing and malformed pass unprotected, and are counted.
    Report,
    /// Missing passes unprotected, malformed is refused.
    Optional,
}

/// What a route asks of the header (K1, K2, K3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRule {
    /// Whether there has to be a key.
    pub presence: Presence,
    /// The fewest characters.
    pub length_min: usize,
    /// The most characters; beyond [`KEY_LENGTH_LIMIT`] it has no effect.
    pub length_max: usize,
    /// Whether only the quoted form of RFC 9651 is taken.
    pub strict: bool,
}

/// What the header says under a route's rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyReading {
    /// A key.
    Key(IdempotencyKey),
    /// No usable key, and the route lets it pass without protection (K3).
    Unprotected,
    /// No key where the route requires one.
    Missing,
    /// A header that is not one key.
    Malformed {
        /// Why not, with the offending value escaped and cut; fit to be shown to the client.
        reason: String,
    },
}

/// Why a header is not one key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Several header lines.
    #[error("{count} header lines ({first}, {second}) instead of one")]
    SeveralLines {
        /// How many.
        count: usize,
        /// The first line, quoted.
        first: String,
        /// The second line, quoted.
        second: String,
    },
    /// Nothing but spaces, or an empty String.
    #[error("{found} is empty")]
    Empty {
        /// The line, quoted.
        found: String,
    },
    /// A list, as two header lines folded by a proxy would be.
    #[error("{found} is a list instead of one key")]
    List {
        /// The line, quoted.
        found: String,
    },
    /// Parameters, which name nothing here.
    #[error("{found} has parameters, which a key has not")]
    Parameters {
        /// The line, quoted.
        found: String,
    },
    /// A String whose end or escapes are wrong.
    #[error("{found} is not a string of rfc 9651: {problem}")]
    NotAString {
        /// The line, quoted.
        found: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A character that the form does not have.
    #[error("{found} contains the byte 0x{byte:02x}, which {form} has not")]
    Character {
        /// The line, quoted.
        found: String,
        /// The first such byte.
        byte: u8,
        /// Which form.
        form: &'static str,
    },
    /// The bare form where the route takes only the quoted one (K1).
    #[error("{found} is not in quotes, which this route requires")]
    Bare {
        /// The line, quoted.
        found: String,
    },
    /// Too short or too long (K2).
    #[error("{found} has {length} characters instead of {min} to {max}")]
    Length {
        /// The line, quoted.
        found: String,
        /// The characters of the key.
        length: usize,
        /// The fewest.
        min: usize,
        /// The most.
        max: usize,
    },
}

impl Default for KeyRule {
    /// Required, 16 to 255 characters, both forms.
    fn default() -> Self {
        Self {
            presence: Presence::Required,
            length_min: KEY_LENGTH_MIN_DEFAULT,
            length_max: KEY_LENGTH_MAX_DEFAULT,
            strict: false,
        }
    }
}

impl KeyRule {
    /// Reads the values of all `Idempotency-Key` header lines, each given as it came.
    #[must_use]
    pub fn read(&self, header_values: &[&[u8]]) -> KeyReading {
        match (self.key_in(header_values), self.presence) {
            (Ok(Some(key)), Presence::Required | Presence::Report | Presence::Optional) => {
                KeyReading::Key(key)
            }
            (Ok(None), Presence::Required) => KeyReading::Missing,
            (Ok(None), Presence::Report | Presence::Optional) | (Err(_), Presence::Report) => {
                KeyReading::Unprotected
            }
            (Err(error), Presence::Required | Presence::Optional) => KeyReading::Malformed {
                reason: alloc::format!("idempotency-key {error}"),
            },
        }
    }

    fn key_in(&self, header_values: &[&[u8]]) -> Result<Option<IdempotencyKey>, KeyError> {
        match header_values {
            [] => Ok(None),
            [line] => self.key_of(line).map(Some),
            [first, second, ..] => Err(KeyError::SeveralLines {
                count: header_values.len(),
                first: quoted(first),
                second: quoted(second),
            }),
        }
    }

    fn key_of(&self, line: &[u8]) -> Result<IdempotencyKey, KeyError> {
        let key = match trimmed(line) {
            [] => {
                return Err(KeyError::Empty {
                    found: quoted(line),
                });
            }
            [b'"', rest @ ..] => string(rest, line)?,
            bare if self.strict => {
                return Err(KeyError::Bare {
                    found: quoted(bare),
                });
            }
            bare => self::bare(bare)?,
        };
        let max = self.length_max.min(KEY_LENGTH_LIMIT);
        if key.is_empty() {
            return Err(KeyError::Empty {
                found: quoted(line),
            });
        }
        if !(self.length_min..=max).contains(&key.len()) {
            let (min, length) = (self.length_min, key.len());
            return Err(KeyError::Length {
                found: quoted(line),
                length,
                min,
                max,
            });
        }
        Ok(IdempotencyKey(key))
    }
}

/// The line without the spaces around it (RFC 9651 §4.2).
fn trimmed(mut line: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = line {
        line = rest;
    }
    line
}

/// The bare form that most clients send (K1).
fn bare(line: &[u8]) -> Result<String, KeyError> {
    let mut key = String::with_capacity(line.len());
    for &byte in line {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'.'
            | b'_'
            | b'~'
            | b':'
            | b'/'
            | b'+'
            | b'='
            | b'-' => key.push(char::from(byte)),
            b',' => {
                return Err(KeyError::List {
                    found: quoted(line),
                });
            }
            b';' => {
                return Err(KeyError::Parameters {
                    found: quoted(line),
                });
            }
            byte => {
                let form = "a key without quotes";
                return Err(KeyError::Character {
                    found: quoted(line),
                    byte,
                    form,
                });
            }
        }
    }
    Ok(key)
}

/// RFC 9651 §4.2.5 from behind the opening quote, less the space, which K2 leaves out.
fn string(rest: &[u8], line: &[u8]) -> Result<String, KeyError> {
    let wrong = |problem| KeyError::NotAString {
        found: quoted(line),
        problem,
    };
    let mut key = String::with_capacity(rest.len());
    let mut bytes = rest.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' => return after_string(bytes.as_slice(), line).map(|()| key),
            b'\\' => match bytes.next() {
                Some(&escaped @ (b'"' | b'\\')) => key.push(char::from(escaped)),
                Some(_) => return Err(wrong("a backslash escapes only a quote or a backslash")),
                None => return Err(wrong("it ends in a backslash")),
            },
            0x21..=0x7e => key.push(char::from(byte)),
            byte => {
                let form = "a key";
                return Err(KeyError::Character {
                    found: quoted(line),
                    byte,
                    form,
                });
            }
        }
    }
    Err(wrong("its closing quote is missing"))
}

/// Nothing may follow the closing quote.
fn after_string(rest: &[u8], line: &[u8]) -> Result<(), KeyError> {
    match trimmed(rest) {
        [] => Ok(()),
        [b',', ..] => Err(KeyError::List {
            found: quoted(line),
        }),
        [b';', ..] => Err(KeyError::Parameters {
            found: quoted(line),
        }),
        [_, ..] => {
            let problem = "something follows its closing quote";
            Err(KeyError::NotAString {
                found: quoted(line),
                problem,
            })
        }
    }
}

impl IdempotencyKey {
    /// The key without quotes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The header's value in the form of RFC 9651: in quotes, with quotes and backslashes escaped.
    #[must_use]
    pub fn to_header(&self) -> String {
        let mut value = String::with_capacity(self.0.len() + 2);
        value.push('"');
        for character in self.0.chars() {
            if matches!(character, '"' | '\\') {
                value.push('\\');
            }
            value.push(character);
        }
        value.push('"');
        value
    }

    /// When the key was made, if it is a `UUIDv7` in its hyphenated form, of either case (RFC 9562 §5.7).
    #[must_use]
    pub fn minted_at(&self) -> Option<Timestamp> {
        const HYPHENATED: usize = 36;
        if self.0.len() != HYPHENATED {
            return None;
        }
        let id = uuid::Uuid::try_parse(&self.0).ok()?;
        if id.get_version_num() != 7 || id.get_variant() != uuid::Variant::RFC4122 {
            return None;
        }
        let (high, _random) = id.as_u64_pair();
        Some(Timestamp::from_millis((high >> 16).cast_signed()))
    }
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Required => "required",
            Self::Report => "report",
            Self::Optional => "optional",
        })
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<IdempotencyKey> for OperationKey {
    fn from(key: IdempotencyKey) -> Self {
        Self::of_idempotency_key(key.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::format;
    use alloc::string::ToString;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const ANY_LENGTH: KeyRule = KeyRule {
        presence: Presence::Required,
        length_min: 1,
        length_max: 512,
        strict: false,
    };

    #[track_caller]
    fn check(rule: KeyRule, lines: &[&[u8]], expected: Result<&str, &str>) {
        let expected = match expected {
            Ok(key) => KeyReading::Key(IdempotencyKey(key.to_string())),
            Err(reason) => KeyReading::Malformed {
                reason: format!("idempotency-key {reason}"),
            },
        };
        assert_eq!(rule.read(lines), expected);
    }

    #[test]
    fn both_forms_are_taken() {
        check(ANY_LENGTH, &[b"abc"], Ok("abc"));
        check(ANY_LENGTH, &[b"\"abc\""], Ok("abc"));
        check(ANY_LENGTH, &[b"  abc "], Ok("abc"));
        check(ANY_LENGTH, &[b" \"abc\"  "], Ok("abc"));
        check(ANY_LENGTH, &[b"aZ0._~:/+=-"], Ok("aZ0._~:/+=-"));
        check(ANY_LENGTH, &[br#""a\"b\\c""#], Ok(r#"a"b\c"#));
        check(ANY_LENGTH, &[b"\"a,b;c@d\""], Ok("a,b;c@d"));
    }

    #[test]
    fn what_is_not_one_key_is_malformed_with_its_reason() {
        check(ANY_LENGTH, &[b""], Err(r#""" is empty"#));
        check(ANY_LENGTH, &[b"   "], Err(r#""   " is empty"#));
        check(ANY_LENGTH, &[b"\"\""], Err(r#""\"\"" is empty"#));
        check(
            ANY_LENGTH,
            &[b"a", b"b"],
            Err(r#"2 header lines ("a", "b") instead of one"#),
        );
        check(
            ANY_LENGTH,
            &[b"a", b"a"],
            Err(r#"2 header lines ("a", "a") instead of one"#),
        );
        check(
            ANY_LENGTH,
            &[b"a, b"],
            Err(r#""a, b" is a list instead of one key"#),
        );
        check(
            ANY_LENGTH,
            &[b"\"a\", \"b\""],
            Err(r#""\"a\", \"b\"" is a list instead of one key"#),
        );
        check(
            ANY_LENGTH,
            &[b"a;p=1"],
            Err(r#""a;p=1" has parameters, which a key has not"#),
        );
        check(
            ANY_LENGTH,
            &[b"\"a\" ;p"],
            Err(r#""\"a\" ;p" has parameters, which a key has not"#),
        );
        let no_string =
            |found: &str, problem: &str| format!("{found} is not a string of rfc 9651: {problem}");
        let check_string = |line: &[u8], found: &str, problem: &str| {
            check(ANY_LENGTH, &[line], Err(&no_string(found, problem)));
        };
        check_string(b"\"a", r#""\"a""#, "its closing quote is missing");
        check_string(b"\"a\\", r#""\"a\\""#, "it ends in a backslash");
        let escapes = "a backslash escapes only a quote or a backslash";
        check_string(br#""\n""#, r#""\"\\n\"""#, escapes);
        check_string(
            b"\"a\"b",
            r#""\"a\"b""#,
            "something follows its closing quote",
        );
    }

    #[test]
    fn characters_outside_the_form_are_named() {
        let not = "which a key without quotes has not";
        check(
            ANY_LENGTH,
            &[b"a b"],
            Err(&format!(r#""a b" contains the byte 0x20, {not}"#)),
        );
        check(
            ANY_LENGTH,
            &[b"a\r\nb"],
            Err(&format!(r#""a\r\nb" contains the byte 0x0d, {not}"#)),
        );
        check(
            ANY_LENGTH,
            &[b"a\xc3"],
            Err(&format!(r#""a\xc3" contains the byte 0xc3, {not}"#)),
        );
        check(
            ANY_LENGTH,
            &[b"\tab"],
            Err(&format!(r#""\tab" contains the byte 0x09, {not}"#)),
        );
        let not = "which a key has not";
        check(
            ANY_LENGTH,
            &[b"\"a b\""],
            Err(&format!(r#""\"a b\"" contains the byte 0x20, {not}"#)),
        );
        check(
            ANY_LENGTH,
            &[b"\"\x7f\""],
            Err(&format!(r#""\"\x7f\"" contains the byte 0x7f, {not}"#)),
        );
    }

    #[test]
    fn keys_have_16_to_255_characters_unless_the_route_says_otherwise() {
        let rule = KeyRule::default();
        let line = |length: usize| "k".repeat(length);
        check(rule, &[line(16).as_bytes()], Ok(&line(16)));
        check(rule, &[line(255).as_bytes()], Ok(&line(255)));
        let found = line(15);
        let reason = format!("\"{found}\" has 15 characters instead of 16 to 255");
        check(rule, &[found.as_bytes()], Err(&reason));
        let reason = format!(
            "\"{}…\" (256 bytes) has 256 characters instead of 16 to 255",
            line(80)
        );
        check(rule, &[line(256).as_bytes()], Err(&reason));
        // The quotes and escapes do not count.
        let quoted = format!("\"{}\\\\\"", line(15));
        check(rule, &[quoted.as_bytes()], Ok(&(line(15) + "\\")));
        let beyond = KeyRule {
            length_max: 1_000,
            ..rule
        };
        assert!(matches!(
            beyond.read(&[line(513).as_bytes()]),
            KeyReading::Malformed { .. }
        ));
    }

    #[test]
    fn a_strict_route_refuses_the_bare_form() {
        let strict = KeyRule {
            strict: true,
            ..ANY_LENGTH
        };
        check(strict, &[b"\"abc\""], Ok("abc"));
        check(
            strict,
            &[b"abc"],
            Err(r#""abc" is not in quotes, which this route requires"#),
        );
    }

    #[test]
    fn presence_decides_on_missing_and_malformed() {
        let read = |presence, lines: &[&[u8]]| {
            KeyRule {
                presence,
                ..ANY_LENGTH
            }
            .read(lines)
        };
        assert_eq!(read(Presence::Required, &[]), KeyReading::Missing); // K3
        assert_eq!(read(Presence::Report, &[]), KeyReading::Unprotected);
        assert_eq!(read(Presence::Optional, &[]), KeyReading::Unprotected);
        assert!(matches!(
            read(Presence::Required, &[b","]),
            KeyReading::Malformed { .. }
        ));
        assert_eq!(read(Presence::Report, &[b","]), KeyReading::Unprotected);
        assert!(matches!(
            read(Presence::Optional, &[b","]),
            KeyReading::Malformed { .. }
        ));
    }

    #[test]
    fn a_uuid_v7_tells_when_it_was_made() {
        let minted = |key: &str| IdempotencyKey(key.to_string()).minted_at();
        // The example of RFC 9562, appendix A.6: Tuesday, February 22, 2022 2:22:22.00 PM GMT-05:00.
        let at = Some(Timestamp::from_millis(1_645_557_742_000));
        assert_eq!(minted("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"), at);
        assert_eq!(minted("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"), at);
        assert_eq!(
            minted("ffffffff-ffff-7fff-bfff-ffffffffffff").map(Timestamp::as_millis),
            Some((1 << 48) - 1)
        );
        assert_eq!(minted("017f22e279b07cc398c4dc0c0c07398f"), None); // not hyphenated
        assert_eq!(minted("919108f7-52d1-4320-9bac-f847db4148a8"), None); // version 4
        assert_eq!(minted("017f22e2-79b0-7cc3-d8c4-dc0c0c07398f"), None); // Microsoft's variant
        assert_eq!(minted("017f22e2-79b0-7cc3-98c4-dc0c0c07398g"), None);
        assert_eq!(minted("k"), None);
    }

    /// The key that the `sfv` crate reads: an Item that is a String, without parameters.
    fn oracle(line: &[u8]) -> Option<String> {
        let item: sfv::Item = sfv::Parser::new(line).parse().ok()?;
        if !item.params.is_empty() {
            return None;
        }
        item.bare_item
            .as_string()
            .map(|text| String::from(text.as_str()))
    }

    fn read(line: &[u8]) -> Option<String> {
        ANY_LENGTH.key_of(line).ok().map(|key| key.0)
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..4)) {
            let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
            for strict in [false, true] {
                let rule = KeyRule { strict, length_min: 1, ..KeyRule::default() };
                if let KeyReading::Key(key) = rule.read(&lines) {
                    prop_assert!(key.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
                    prop_assert!(OperationKey::parse(key.as_str()).is_ok());
                    let _minted = key.minted_at();
                }
            }
        }

        #[test]
        fn both_forms_name_the_same_key(key in "[A-Za-z0-9._~:/+=-]{1,512}") {
            let bare = ANY_LENGTH.key_of(key.as_bytes()).unwrap();
            let in_quotes = ANY_LENGTH.key_of(format!("\"{key}\"").as_bytes()).unwrap();
            prop_assert_eq!(bare.as_str(), &key);
            prop_assert_eq!(bare, in_quotes);
        }

        #[test]
        fn what_is_rendered_is_read_again(key in "[!-~]{1,512}") {
            let header = IdempotencyKey(key.clone()).to_header();
            prop_assert_eq!(read(header.as_bytes()), Some(key.clone()));
            prop_assert_eq!(oracle(header.as_bytes()), Some(key));
        }

        #[test]
        fn quoted_keys_are_read_as_sfv_reads_them(line in r#"[ ]{0,2}"([a-c,;=]|\\["\\a]|\\|"){0,6}"?[ ;,a]{0,2}"#) {
            let expected = oracle(line.as_bytes()).filter(|key| !key.is_empty());
            prop_assert_eq!(read(line.as_bytes()), expected);
        }

        #[test]
        fn a_uuid_v7_gives_its_time_back(millis in 0_u64..1 << 48, random in any::<[u8; 10]>()) {
            let id = uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
            let minted = IdempotencyKey(id.to_string()).minted_at();
            prop_assert_eq!(minted, Some(Timestamp::from_millis(i64::try_from(millis).unwrap())));
        }
    }
}
