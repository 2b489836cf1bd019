//! What the Worker says to its log: one JSON line per event, for a log pipeline to read.
//!
//! Never secrets, never payloads, never a whole key (X4): names of routes, operation ids, codes, and errors of the
//! platform in its own words.

use serde_json::{Map, Value};
use shared::json;
use worker::{console_error, console_warn};

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Somebody should look at it some day.
    Warn,
    /// Something did not work as promised.
    Error,
}

/// Writes one line: what happened, and its circumstances.
pub(crate) fn event(level: Level, what: &str, circumstances: &[(&str, &dyn std::fmt::Display)]) {
    let mut line = Map::new();
    line.insert(String::from("event"), Value::from(what));
    for (name, value) in circumstances {
        line.insert(String::from(*name), Value::from(value.to_string()));
    }
    let line = json::text(&Value::Object(line));
    match level {
        Level::Warn => console_warn!("{line}"),
        Level::Error => console_error!("{line}"),
    }
}
