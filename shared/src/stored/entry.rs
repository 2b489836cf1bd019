//! The form of an entry of the audit log at rest: JSON, pinned by a literal below.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::{Hex, StoredError, unreadable};
use crate::audit::{Act, By, Entry};
use crate::json;
use crate::record::AttemptNumber;
use crate::time::Timestamp;

/// The text form of `entry`.
#[must_use]
pub fn write(entry: &Entry) -> String {
    // A map with text keys and finite numbers always has a JSON form.
    serde_json::to_string(&EntryForm::from(entry)).unwrap_or_default()
}

/// Reads what [`write`] gave.
pub fn read(text: &str) -> Result<Entry, StoredError> {
    let form: EntryForm = json::read(text.as_bytes()).map_err(unreadable)?;
    Ok(form.into())
}

#[derive(Serialize, Deserialize)]
struct EntryForm {
    id: Hex,
    at: Timestamp,
    by: ByForm,
    act: ActForm,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
    #[serde(default)]
    number: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    fenced: Vec<Hex>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ByForm {
    Operator(String),
    Probe,
    Attempt,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ActForm {
    Succeeded(u16),
    DidNotHappen,
    TryAgain,
    LateFinal { status: u16, contradicts: bool },
}

impl From<&Entry> for EntryForm {
    fn from(entry: &Entry) -> Self {
        Self {
            id: Hex(entry.id),
            at: entry.at,
            by: match &entry.by {
                By::Operator(name) => ByForm::Operator(name.clone()),
                By::Probe => ByForm::Probe,
                By::Attempt => ByForm::Attempt,
            },
            act: match entry.act {
                Act::Succeeded(status) => ActForm::Succeeded(status),
                Act::DidNotHappen => ActForm::DidNotHappen,
                Act::TryAgain => ActForm::TryAgain,
                Act::LateFinal {
                    status,
                    contradicts,
                } => ActForm::LateFinal {
                    status,
                    contradicts,
                },
            },
            reason: entry.reason.clone(),
            before: entry.before.clone(),
            after: entry.after.clone(),
            number: entry.number.get(),
            fenced: entry.fenced.iter().copied().map(Hex).collect(),
        }
    }
}

impl From<EntryForm> for Entry {
    fn from(form: EntryForm) -> Self {
        Self {
            id: form.id.0,
            at: form.at,
            by: match form.by {
                ByForm::Operator(name) => By::Operator(name),
                ByForm::Probe => By::Probe,
                ByForm::Attempt => By::Attempt,
            },
            act: match form.act {
                ActForm::Succeeded(status) => Act::Succeeded(status),
                ActForm::DidNotHappen => Act::DidNotHappen,
                ActForm::TryAgain => Act::TryAgain,
                ActForm::LateFinal {
                    status,
                    contradicts,
                } => Act::LateFinal {
                    status,
                    contradicts,
                },
            },
            reason: form.reason,
            before: form.before,
            after: form.after,
            number: AttemptNumber::new(form.number),
            fenced: form.fenced.into_iter().map(|token| token.0).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::record::AttemptId;

    #[test]
    fn the_form_of_an_entry_is_pinned() {
        let entry = Entry {
            id: AttemptId::from_bytes([1; 16]),
            at: Timestamp::from_millis(5),
            by: By::Operator(String::from("alice")),
            act: Act::Succeeded(201),
            reason: String::from("seen in the ledger"),
            before: String::from("unknown"),
            after: String::from("completed"),
            number: AttemptNumber::new(2),
            fenced: vec![AttemptId::from_bytes([2; 16])],
        };
        let literal = r#"{"id":"01010101010101010101010101010101","at":5,"by":{"operator":"alice"},"act":{"succeeded":201},"reason":"seen in the ledger","before":"unknown","after":"completed","number":2,"fenced":["02020202020202020202020202020202"]}"#;
        assert_eq!(write(&entry), literal);
        assert_eq!(read(literal), Ok(entry));
        let late = Entry {
            by: By::Attempt,
            act: Act::LateFinal {
                status: 200,
                contradicts: true,
            },
            ..read(literal).unwrap()
        };
        assert_eq!(read(&write(&late)), Ok(late));
        assert!(read("{}").is_err());
    }
}
