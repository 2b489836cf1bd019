//! The words of a JSON text (RFC 8259): strings and numbers, one character after another.
//!
//! Not what they mean for the canonical form; but half a surrogate pair is lost here, since no text holds it.

use alloc::string::String;

use super::{Canonicaliser, NoCanonicalForm};

impl<'a> Canonicaliser<'a> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    pub(super) fn expect(&mut self, byte: u8) -> Result<(), NoCanonicalForm> {
        if self.take(byte) {
            Ok(())
        } else {
            Err(NoCanonicalForm::NotJson)
        }
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// A string from its opening quote to behind its closing one.
    pub(super) fn string(&mut self) -> Result<String, NoCanonicalForm> {
        self.expect(b'"')?;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let stop = rest
                .bytes()
                .position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
            let stop = stop.ok_or(NoCanonicalForm::NotJson)?;
            string.push_str(&rest[..stop]);
            self.at += stop;
            if self.take(b'"') {
                return Ok(string);
            }
            self.expect(b'\\')?;
            let escaped = self.escape()?;
            string.push(escaped);
        }
    }

    /// An escape from behind its backslash.
    fn escape(&mut self) -> Result<char, NoCanonicalForm> {
        let letter = self.peek().ok_or(NoCanonicalForm::NotJson)?;
        self.at += 1;
        match letter {
            b'"' | b'\\' | b'/' => Ok(char::from(letter)),
            b'b' => Ok('\u{8}'),
            b'f' => Ok('\u{c}'),
            b'n' => Ok('\n'),
            b'r' => Ok('\r'),
            b't' => Ok('\t'),
            b'u' => self.utf16(),
            _ => Err(NoCanonicalForm::NotJson),
        }
    }

    /// One character from behind `\u`: one code unit, or two that are a surrogate pair.
    fn utf16(&mut self) -> Result<char, NoCanonicalForm> {
        let unit = self.code_unit()?;
        if let Some(character) = char::from_u32(u32::from(unit)) {
            return Ok(character);
        }
        let behind = self.at;
        if self.text.as_bytes()[self.at..].starts_with(b"\\u") {
            self.at += 2;
            let second = self.code_unit()?;
            if let Some(Ok(character)) = char::decode_utf16([unit, second]).next() {
                return Ok(character);
            }
            self.at = behind;
        }
        self.lost(NoCanonicalForm::LoneSurrogate)?;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn code_unit(&mut self) -> Result<u16, NoCanonicalForm> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4);
        let mut unit = 0;
        for &digit in digits.ok_or(NoCanonicalForm::NotJson)? {
            let value = char::from(digit)
                .to_digit(16)
                .ok_or(NoCanonicalForm::NotJson)?;
            unit = unit * 16 + value;
        }
        self.at += 4;
        u16::try_from(unit).map_err(|_four_digits_fit| NoCanonicalForm::NotJson)
    }

    /// The text of a number by the grammar of RFC 8259 §6.
    pub(super) fn number_text(&mut self) -> Result<&'a str, NoCanonicalForm> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'-') {
                self.take(b'+');
            }
            self.digits()?;
        }
        Ok(&self.text[start..self.at])
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), NoCanonicalForm> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start {
            Err(NoCanonicalForm::NotJson)
        } else {
            Ok(())
        }
    }
}
