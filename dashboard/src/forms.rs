//! Reads the gateway's forms (`shared::wire`) from JSON, with as little code for each as can be.
//!
//! Serde's derived readers would be a tenth of what the browser downloads: each field of each form leaves by a way of its
//! own when it cannot be read. Here reading always goes on to the end and notes the first fault. The fields are checked
//! by the compiler, and what is read is held against serde's reading by the tests.

use serde_json::{Map, Value};
use shared::time::Timestamp;
use shared::wire::{
    AnswerGroup, Attempt, AttemptEnding, AuditEntry, AuditPage, Counts, Exception, Live, NextStep,
    OperationDetail, OperationPage, OperationRow, OperationState, OtherFingerprint, OutcomeView,
    Overview, Point, PointView, ProblemDocument, Role, RouteCounts, RouteKind, Session,
    SettledCounts, SettlementResult, SettlementWord, SettlementsDone, UnknownPage, UnknownRow,
    UnknownView,
};

/// Reads a form; the error says which member was not as it should be.
pub(crate) fn read<T: Form>(text: &str) -> Result<T, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut fault = Fault(None);
    let form = T::take(value, &mut fault);
    match fault.0 {
        None => Ok(form),
        Some(what) => Err(format!("{what} was wanted")),
    }
}

/// What can be read.
pub(crate) trait Form: Sized {
    /// Takes it from its value; from any other something of no meaning, and the fault is noted.
    fn take(value: Value, fault: &mut Fault) -> Self;
}

/// The first thing that was not as it should be.
pub(crate) struct Fault(Option<&'static str>);

impl Fault {
    fn note(&mut self, wanted: &'static str) {
        self.0.get_or_insert(wanted);
    }
}

/// An object's members.
struct Members<'a> {
    map: Map<String, Value>,
    fault: &'a mut Fault,
}

impl<'a> Members<'a> {
    fn of(value: Value, fault: &'a mut Fault) -> Self {
        let map = if let Value::Object(map) = value {
            map
        } else {
            fault.note("an object");
            Map::new()
        };
        Self { map, fault }
    }

    /// A member that must be there.
    fn must<T: Form>(&mut self, name: &'static str) -> T {
        let value = self.map.remove(name);
        if value.is_none() {
            self.fault.note(name);
        }
        T::take(value.unwrap_or_default(), self.fault)
    }

    /// A member that may be missing.
    fn may<T: Form + Default>(&mut self, name: &'static str) -> T {
        match self.map.remove(name) {
            Some(value) => T::take(value, self.fault),
            None => T::default(),
        }
    }
}

/// Forms that are objects: members that must be there, then those that may be missing.
macro_rules! objects {
    ($($form:ident { $($must:ident)* $(; $($may:ident)*)? })*) => {
        $(impl Form for $form {
            fn take(value: Value, fault: &mut Fault) -> Self {
                let mut members = Members::of(value, fault);
                Self {
                    $($must: members.must(stringify!($must)),)*
                    $($($may: members.may(stringify!($may)),)*)?
                }
            }
        })*
    };
}

/// Forms that are one of several words.
macro_rules! words {
    ($($form:ident { $first:literal $one:ident $($word:literal $other:ident)* })*) => {
        $(impl Form for $form {
            fn take(value: Value, fault: &mut Fault) -> Self {
                match value.as_str() {
                    Some($first) => Self::$one,
                    $(Some($word) => Self::$other,)*
                    Some(_) | None => {
                        fault.note(concat!("a known ", stringify!($form)));
                        Self::$one
                    }
                }
            }
        })*
    };
}

objects! {
    Session { role expires_at }
    Overview { now totals live; by_route series step_ms tenants routes exceptions settled objects_silent }
    Counts {
        ; applied replayed conflicts mismatches released failed unknown expired refused unprotected superseded
    }
    SettledCounts {
        ; by_operator by_probe resolver_sends resolver_gave_up late_finals contradictions
    }
    Live { ; tracked running stuck stuck_oldest unknown unknown_oldest needs_a_person }
    RouteCounts { tenant route counts live; changed takeovers }
    Point { at counts }
    Exception { route what reason until overdue }
    OperationPage { operations; now next objects_silent }
    OperationRow { id tenant route kind key state created_at since attempts; stuck status unknown }
    UnknownRow { why last_answer next; tries due lease_until point reference }
    UnknownPage { total operations; now groups objects_silent }
    AnswerGroup { last_answer count oldest }
    SettlementsDone { results; more objects_silent }
    SettlementResult { operation result detail; key }
    AuditPage { entries; now next objects_silent }
    AuditEntry { at who act operation tenant route key reason before after; status contradicts }
    OperationDetail {
        row fingerprint attempts next;
        now others lease_until unknown expires_at outcome may_have_run_twice settled_by point reference log
    }
    PointView { name data }
    OtherFingerprint { fingerprint first_at }
    Attempt { number started_at ending; ended_at status }
    UnknownView { since number why }
    OutcomeView { status headers body_bytes; body_text body_cut body_omitted }
}

words! {
    Role { "viewer" Viewer "operator" Operator }
    RouteKind { "api" Api "webhook" Webhook }
    OperationState { "in_progress" InProgress "indeterminate" Indeterminate "completed" Completed }
    NextStep { "resolver" Resolver "asking" Asking "retry" Retry "person" Person }
    SettlementWord {
        "settled" Settled "running" Running "nothing_to_settle" NothingToSettle "failed" Failed
    }
    AttemptEnding {
        "running" Running "completed" Completed "released" Released "unknown" Unknown
        "lease_ran_out" LeaseRanOut
    }
}

impl Form for ProblemDocument {
    fn take(value: Value, fault: &mut Fault) -> Self {
        let mut members = Members::of(value, fault);
        Self {
            type_: members.must("type"),
            title: members.must("title"),
            status: members.must("status"),
            detail: members.must("detail"),
            code: members.must("code"),
            operation: members.may("operation"),
            retry: members.must("retry"),
        }
    }
}

impl Form for String {
    fn take(value: Value, fault: &mut Fault) -> Self {
        if let Value::String(text) = value {
            text
        } else {
            fault.note("a text");
            Self::new()
        }
    }
}

impl Form for bool {
    fn take(value: Value, fault: &mut Fault) -> Self {
        value.as_bool().unwrap_or_else(|| {
            fault.note("true or false");
            false
        })
    }
}

impl Form for u64 {
    fn take(value: Value, fault: &mut Fault) -> Self {
        value.as_u64().unwrap_or_else(|| {
            fault.note("a whole number");
            0
        })
    }
}

/// The narrower numbers by way of the widest.
macro_rules! numbers {
    ($($narrow:ty)*) => {
        $(impl Form for $narrow {
            fn take(value: Value, fault: &mut Fault) -> Self {
                Self::try_from(u64::take(value, fault)).unwrap_or_else(|_| {
                    fault.note("a smaller number");
                    0
                })
            }
        })*
    };
}

numbers! { u16 u32 }

impl Form for Timestamp {
    fn take(value: Value, fault: &mut Fault) -> Self {
        Self::from_millis(value.as_i64().unwrap_or_else(|| {
            fault.note("a moment in milliseconds");
            0
        }))
    }
}

impl<T: Form> Form for Option<T> {
    fn take(value: Value, fault: &mut Fault) -> Self {
        (!value.is_null()).then(|| T::take(value, fault))
    }
}

impl<T: Form> Form for Vec<T> {
    fn take(value: Value, fault: &mut Fault) -> Self {
        let mut items = Self::new();
        if let Value::Array(values) = value {
            for value in values {
                items.push(T::take(value, fault));
            }
        } else {
            fault.note("an array");
        }
        items
    }
}

impl Form for (String, String) {
    fn take(value: Value, fault: &mut Fault) -> Self {
        let pair: Vec<String> = Form::take(value, fault);
        let mut pair = pair.into_iter();
        (
            pair.next().unwrap_or_default(),
            pair.next().unwrap_or_default(),
        )
    }
}

#[cfg(test)]
mod tests;
