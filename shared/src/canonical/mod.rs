//! The canonical form of a JSON body (RFC 8785), given only where it loses nothing (F2).
//!
//! Not a JSON library: it knows one document in, one byte string out, and refuses rather than repairs. It is our
//! own because a parser into values loses what decides here: duplicate names and the text of numbers. RFC 8785
//! puts every number through a double, so `9007199254740993` would become `9007199254740992`; F2 asks that the
//! two stay apart. Numbers are the same when their decimal values are: `1.0`, `1`, `1E0` and `10e-1` are one
//! form, and so are `-0` and `0`.

mod decimal;
mod scan;

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use self::decimal::Decimal;
use crate::pointer::Pointer;

/// The deepest nesting that is canonicalised (X5): each level is a stack frame. The body itself is level one.
pub const DEPTH_MAX: usize = 64;
/// The largest body that is canonicalised (X5): sorting takes several times its size in memory.
pub const CANONICAL_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Why a body has no canonical form, so that its bytes count instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCanonicalForm {
    /// Larger than [`CANONICAL_BYTES_MAX`].
    #[error("it is too large")]
    TooLarge,
    /// Nested deeper than [`DEPTH_MAX`].
    #[error("it is nested too deeply")]
    TooDeep,
    /// Not a JSON text of RFC 8259 in UTF-8.
    #[error("it is not json")]
    NotJson,
    /// An object names a member twice.
    #[error("a member's name occurs twice")]
    DuplicateName,
    /// A number that a double does not hold.
    #[error("a number is not a double's")]
    Number,
    /// An escape for half a character.
    #[error("a string contains half a surrogate pair")]
    LoneSurrogate,
}

/// The RFC 8785 form of `body` without the members (or elements) that `left_out` names.
///
/// What is left out has to be JSON, but may itself be something that a canonical form would lose.
pub fn canonical_form(body: &[u8], left_out: &[&Pointer]) -> Result<Vec<u8>, NoCanonicalForm> {
    if body.len() > CANONICAL_BYTES_MAX {
        return Err(NoCanonicalForm::TooLarge);
    }
    let text = core::str::from_utf8(body).map_err(|_invalid| NoCanonicalForm::NotJson)?;
    let paths: Vec<&[String]> = left_out.iter().map(|pointer| pointer.tokens()).collect();
    Canonicaliser {
        text,
        at: 0,
        depth: 0,
        loss: Loss::Refused,
        out: Vec::new(),
    }
    .document(&paths)
}

/// Whether a value may lose something on its way to the canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loss {
    Refused,
    /// The value will be left out.
    Accepted,
}

/// Reads the text once from left to right, and writes the canonical form behind itself.
struct Canonicaliser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    loss: Loss,
    out: Vec<u8>,
}

impl Canonicaliser<'_> {
    fn document(mut self, paths: &[&[String]]) -> Result<Vec<u8>, NoCanonicalForm> {
        self.value(paths)?;
        self.skip_space();
        if self.at < self.text.len() {
            return Err(NoCanonicalForm::NotJson);
        }
        Ok(self.out)
    }

    fn lost(&self, what: NoCanonicalForm) -> Result<(), NoCanonicalForm> {
        match self.loss {
            Loss::Refused => Err(what),
            Loss::Accepted => Ok(()),
        }
    }

    /// One value with the space before it; `paths` lead from it to what is left out.
    fn value(&mut self, paths: &[&[String]]) -> Result<(), NoCanonicalForm> {
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.nested(|this| this.object(paths)),
            Some(b'[') => self.nested(|this| this.array(paths)),
            Some(b'"') => {
                let string = self.string()?;
                write_string(&mut self.out, &string);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            _ => Err(NoCanonicalForm::NotJson),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), NoCanonicalForm> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(NoCanonicalForm::NotJson);
        }
        self.at += word.len();
        self.out.extend_from_slice(word.as_bytes());
        Ok(())
    }

    fn nested(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<(), NoCanonicalForm>,
    ) -> Result<(), NoCanonicalForm> {
        if self.depth == DEPTH_MAX {
            return Err(NoCanonicalForm::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        inner(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self, paths: &[&[String]]) -> Result<(), NoCanonicalForm> {
        self.out.push(b'[');
        self.skip_space();
        if self.take(b']') {
            self.out.push(b']');
            return Ok(());
        }
        let (mut index, mut empty) = (0_usize, true);
        loop {
            let start = self.out.len();
            if !empty {
                self.out.push(b',');
            }
            match below(paths, |token| is_index(token, index)) {
                Below::Paths(paths) => {
                    self.value(&paths)?;
                    empty = false;
                }
                Below::LeftOut => self.left_out(start)?,
            }
            index += 1;
            self.skip_space();
            if !self.take(b',') {
                break;
            }
        }
        self.out.push(b']');
        self.expect(b']')
    }

    /// Reads a value and forgets it, and what was written from `start` on.
    fn left_out(&mut self, start: usize) -> Result<(), NoCanonicalForm> {
        let loss = core::mem::replace(&mut self.loss, Loss::Accepted);
        self.value(&[])?;
        self.loss = loss;
        self.out.truncate(start);
        Ok(())
    }

    fn object(&mut self, paths: &[&[String]]) -> Result<(), NoCanonicalForm> {
        let start = self.out.len();
        let mut members: Vec<Member> = Vec::new();
        self.skip_space();
        if !self.take(b'}') {
            loop {
                members.push(self.member(paths)?);
                self.skip_space();
                if !self.take(b',') {
                    break;
                }
            }
            self.expect(b'}')?;
        }
        members.sort_by(|one, other| by_utf16(&one.name, &other.name));
        if members.windows(2).any(|pair| pair[0].name == pair[1].name) {
            self.lost(NoCanonicalForm::DuplicateName)?;
        }
        self.reorder(start, &members);
        Ok(())
    }

    /// One member: its value is written, its name comes with the sorting.
    fn member(&mut self, paths: &[&[String]]) -> Result<Member, NoCanonicalForm> {
        self.skip_space();
        if self.peek() != Some(b'"') {
            return Err(NoCanonicalForm::NotJson);
        }
        let name = self.string()?;
        self.skip_space();
        self.expect(b':')?;
        let start = self.out.len();
        let kept = match below(paths, |token| token == name) {
            Below::Paths(paths) => {
                self.value(&paths)?;
                true
            }
            Below::LeftOut => {
                self.left_out(start)?;
                false
            }
        };
        Ok(Member {
            name,
            kept,
            value: start..self.out.len(),
        })
    }

    /// Replaces the values written since `start` by the object made of them.
    fn reorder(&mut self, start: usize, members: &[Member]) {
        let values = self.out.split_off(start);
        self.out.push(b'{');
        for (at, member) in members.iter().filter(|member| member.kept).enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            write_string(&mut self.out, &member.name);
            self.out.push(b':');
            let value = member.value.start - start..member.value.end - start;
            self.out.extend_from_slice(&values[value]);
        }
        self.out.push(b'}');
    }

    fn number(&mut self) -> Result<(), NoCanonicalForm> {
        let text = self.number_text()?;
        match Decimal::of(text).ecmascript() {
            Some(form) => self.out.extend_from_slice(form.as_bytes()),
            None => self.lost(NoCanonicalForm::Number)?,
        }
        Ok(())
    }
}

/// A member of the object being read: its name, and where its value was written.
struct Member {
    name: String,
    kept: bool,
    value: Range<usize>,
}

/// What the paths to what is left out become one step down.
enum Below<'a> {
    Paths(Vec<&'a [String]>),
    LeftOut,
}

fn below<'a>(paths: &[&'a [String]], is_step: impl Fn(&str) -> bool) -> Below<'a> {
    let mut rest = Vec::new();
    for path in paths {
        match path {
            [last] if is_step(last) => return Below::LeftOut,
            [first, further @ ..] if is_step(first) => rest.push(further),
            _ => {}
        }
    }
    Below::Paths(rest)
}

/// RFC 6901 §4: digits without a leading zero.
fn is_index(token: &str, index: usize) -> bool {
    let canonical = token == "0" || !token.starts_with(['0', '+']);
    canonical && token.parse() == Ok(index)
}

/// RFC 8785 §3.2.3: names are sorted by their UTF-16 code units.
fn by_utf16(one: &str, other: &str) -> Ordering {
    one.encode_utf16().cmp(other.encode_utf16())
}

/// RFC 8785 §3.2.2.2.
fn write_string(out: &mut Vec<u8>, string: &str) {
    out.push(b'"');
    for &byte in string.as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..=0x1f => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(hex::encode([byte]).as_bytes());
            }
            byte => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests;
