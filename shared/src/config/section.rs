//! One table of the configuration while it is read: a route, or a table inside one.
//!
//! Each reader takes its value, or the default of the field, or notes a mistake and gives nothing.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::fields::{Applies, Default, FIELDS, Field};
use super::mistake::{Notes, shown};
use super::nearest::nearest;
use super::quantity;
use crate::policy::Kind;
use crate::time::{Millis, Timestamp};

/// The most bytes of a reason (X5).
const REASON_BYTES_MAX: usize = 500;

/// A mistake was noted in something that may be left out.
pub(super) struct Noted;

/// A table, and where it is.
#[derive(Clone)]
pub(super) struct Section<'a> {
    notes: &'a Notes,
    route: &'a str,
    /// What stands before a field's own name: "" or `exclude[0].`.
    place: String,
    table: &'a Map<String, Value>,
}

impl<'a> Section<'a> {
    pub(super) fn new(notes: &'a Notes, route: &'a str, table: &'a Map<String, Value>) -> Self {
        Self {
            notes,
            route,
            place: String::new(),
            table,
        }
    }

    /// Notes a mistake in `field`.
    pub(super) fn note(&self, field: &Field, found: impl Into<String>, remedy: &str) {
        // What is wrong with a route as a whole may show in a table inside it.
        let name = if self.place.is_empty() {
            field.name
        } else {
            field.key()
        };
        let place = format!("{}{name}", self.place);
        self.notes
            .note(Some(self.route), &place, found.into(), remedy);
    }

    /// Notes that what was found is not what `field` takes.
    pub(super) fn refuse(&self, field: &Field, found: impl Into<String>) {
        self.note(field, found, &format!("give {}", field.value));
    }

    /// Notes every name that no field has.
    pub(super) fn check_names(&self, table: &str, kind: Option<Kind>) {
        let known = || FIELDS.iter().filter(|field| field.table() == table);
        let here = || known().filter(|field| field.belongs_to(kind));
        for name in self.table.keys() {
            if here().any(|field| field.key() == name) {
                continue;
            }
            let remedy = match known().find(|field| field.key() == name) {
                Some(other) => only_of(other.applies).to_owned(),
                None => match nearest(name, here().map(Field::key)) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("the fields here are: {}", listed(here().map(Field::key))),
                },
            };
            let place = format!("{}{name}", self.place);
            self.notes.note(
                Some(self.route),
                &place,
                "an unknown field".to_owned(),
                &remedy,
            );
        }
    }

    /// Whether the field stands there.
    pub(super) fn has(&self, field: &Field) -> bool {
        self.table.contains_key(field.key())
    }

    /// What is given, or else the default.
    pub(super) fn value(&self, field: &Field) -> Option<Cow<'a, Value>> {
        if let Some(given) = self.table.get(field.key()) {
            return Some(Cow::Borrowed(given));
        }
        let default = field.default_value();
        if default.is_none() && field.default == Default::Required {
            self.refuse(field, "nothing");
        }
        default.map(Cow::Owned)
    }

    /// A text, read by `parse`, whose error says what was found.
    pub(super) fn parsed<T, E: ToString>(
        &self,
        field: &Field,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let value = self.value(field)?;
        let Value::String(text) = value.as_ref() else {
            self.refuse(field, shown(&value));
            return None;
        };
        parse(text)
            .map_err(|error| self.refuse(field, error.to_string()))
            .ok()
    }

    pub(super) fn span(&self, field: &Field) -> Option<Millis> {
        self.parsed(field, quantity::span)
    }

    pub(super) fn size(&self, field: &Field) -> Option<usize> {
        self.parsed(field, quantity::size)
    }

    pub(super) fn date(&self, field: &Field) -> Option<Timestamp> {
        self.parsed(field, quantity::end_of)
    }

    /// A text that says something.
    pub(super) fn reason(&self, field: &Field) -> Option<String> {
        self.parsed(field, |text| match text.trim() {
            "" => Err("an empty text".to_owned()),
            reason if reason.len() > REASON_BYTES_MAX => Err(format!("{} bytes", reason.len())),
            reason => Ok(reason.to_owned()),
        })
    }

    /// One of a few texts.
    pub(super) fn choice<T: Copy>(&self, field: &Field, choices: &[(&str, T)]) -> Option<T> {
        self.parsed(field, |text| {
            let chosen = choices.iter().find(|(name, _)| *name == text);
            chosen
                .map(|(_, value)| *value)
                .ok_or_else(|| shown(&Value::from(text)))
        })
    }

    pub(super) fn number(&self, field: &Field) -> Option<u64> {
        let value = self.value(field)?;
        let number = value.as_u64();
        if number.is_none() {
            self.refuse(field, shown(&value));
        }
        number
    }

    pub(super) fn flag(&self, field: &Field) -> Option<bool> {
        let value = self.value(field)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.refuse(field, shown(&value));
        }
        flag
    }

    /// A list of texts, each read by `parse`, whose error says what was found.
    pub(super) fn list<T, E: ToString>(
        &self,
        field: &Field,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Option<Vec<T>> {
        let value = self.value(field)?;
        let Value::Array(items) = value.as_ref() else {
            // X4: where a name is due, there may be a secret.
            self.refuse(field, "no list");
            return None;
        };
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            let parsed = item
                .as_str()
                .ok_or_else(|| "an item that is no text".to_owned());
            match parsed.and_then(|text| parse(text).map_err(|error| error.to_string())) {
                Ok(item) => list.push(item),
                Err(found) => {
                    self.refuse(field, found);
                    return None;
                }
            }
        }
        Some(list)
    }

    /// The table in `field`.
    pub(super) fn table(&self, field: &Field) -> Option<Self> {
        let Some(Value::Object(table)) = self.table.get(field.key()) else {
            return None;
        };
        Some(self.inside(field.key(), table))
    }

    /// The table in `field`, with no other names in it than those that it has; nothing where it is not given.
    pub(super) fn optional_table(&self, field: &Field) -> Result<Option<Self>, Noted> {
        let Some(value) = self.table.get(field.key()) else {
            return Ok(None);
        };
        let Some(table) = self.table(field) else {
            self.refuse(field, shown(value));
            return Err(Noted);
        };
        table.check_names(field.name, None);
        Ok(Some(table))
    }

    /// The list of tables in `field`; nothing where it is not given.
    pub(super) fn tables(&self, field: &Field) -> Option<Vec<Self>> {
        let Some(value) = self.table.get(field.key()) else {
            return Some(Vec::new());
        };
        let tables = value.as_array().and_then(|items| {
            let numbered = items.iter().enumerate();
            let tables = numbered.map(|(at, item)| {
                Some(self.inside(&format!("{}[{at}]", field.key()), item.as_object()?))
            });
            tables.collect()
        });
        if tables.is_none() {
            self.refuse(field, shown(value));
        }
        tables
    }

    fn inside(&self, name: &str, table: &'a Map<String, Value>) -> Self {
        Self {
            place: format!("{}{name}.", self.place),
            table,
            ..self.clone()
        }
    }
}

const fn only_of(applies: Applies) -> &'static str {
    match applies {
        Applies::Api => "leave it out: only api routes have it",
        Applies::Webhook => "leave it out: only webhook routes have it",
        Applies::Both => "leave it out",
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    names.join(", ")
}
