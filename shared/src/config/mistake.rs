//! One mistake of a configuration, and the list in which they are gathered.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

use serde_json::Value;

use crate::json;
use crate::quote::QUOTED_CHARS_MAX;

/// What is wrong, where, and what would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The route, unless it is about another variable.
    pub route: Option<String>,
    /// The field of the route, or the variable.
    pub field: String,
    /// What was found; never a secret (X4).
    pub found: String,
    /// What would do.
    pub remedy: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(route) = &self.route {
            write!(f, "route {route}: ")?;
        }
        write!(f, "{}: found {}; {}", self.field, self.found, self.remedy)
    }
}

/// Gathers mistakes while everything is read on, so that all are said at once.
pub(super) struct Notes(RefCell<Vec<Mistake>>);

impl Notes {
    pub(super) const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    pub(super) fn note(&self, route: Option<&str>, field: &str, found: String, remedy: &str) {
        let route = route.map(ToOwned::to_owned);
        let (field, remedy) = (field.to_owned(), remedy.to_owned());
        self.0.borrow_mut().push(Mistake {
            route,
            field,
            found,
            remedy,
        });
    }

    pub(super) fn into_mistakes(self) -> Vec<Mistake> {
        self.0.into_inner()
    }
}

/// A value as JSON, cut where it is long.
pub(super) fn shown(value: &Value) -> String {
    let text = json::text(value);
    match text.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((cut, _)) => text[..cut].to_owned() + "…",
        None => text,
    }
}
