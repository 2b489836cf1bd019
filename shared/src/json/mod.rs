//! JSON, read and written by way of one generic value.
//!
//! Not for bodies of callers, whose bytes are never rebuilt. A parser that is compiled anew for each form is most of
//! what a Worker would weigh, so there is one, and the forms are read from what it gives.

mod reader;

use alloc::string::String;
use core::fmt::Write;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use self::reader::Unreadable;

/// The form in `bytes`.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Unreadable> {
    let value = serde_json::from_slice(bytes).map_err(|error| Unreadable::because(&error))?;
    read_value(value)
}

/// The form in a value that was read already.
pub fn read_value<T: DeserializeOwned>(value: Value) -> Result<T, Unreadable> {
    T::deserialize(reader::Reader(value))
}

/// The value as text, without spaces.
#[must_use]
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(whole), ..) => out.push_str(itoa(whole).as_str()),
            (None, Some(negative), _) => {
                out.push('-');
                out.push_str(itoa(negative.unsigned_abs()).as_str());
            }
            (None, None, double) => {
                let double = double
                    .filter(|double| double.is_finite())
                    .unwrap_or_default();
                out.push_str(ryu_js::Buffer::new().format_finite(double));
            }
        },
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            let mut before = '[';
            for item in items {
                out.push(before);
                before = ',';
                write(item, out);
            }
            out.push_str(if before == '[' { "[]" } else { "]" });
        }
        Value::Object(members) => {
            let mut before = '{';
            for (name, member) in members {
                out.push(before);
                before = ',';
                write_text(name, out);
                out.push(':');
                write(member, out);
            }
            out.push_str(if before == '{' { "{}" } else { "}" });
        }
    }
}

fn itoa(whole: u64) -> String {
    alloc::string::ToString::to_string(&whole)
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a string can't fail.
            control if control < ' ' => drop(write!(out, "\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests;
