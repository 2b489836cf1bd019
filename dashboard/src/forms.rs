//! Reads the gateway's forms (`shared::wire`), with as little code for each as can be.
//!
//! Serde's derived readers and a parser would be an eighth of what the browser downloads: each field of each form leaves
//! by a way of its own when it cannot be read, and the browser has a parser. Here reading always goes on to the end and
//! notes the first fault. The fields are checked by the compiler, and what is read is held against serde's reading by
//! the tests. Not here: the parsing (`browser`).

use shared::time::Timestamp;
use shared::wire::{
    AnswerGroup, Attempt, AttemptEnding, AuditEntry, AuditPage, Counts, Exception, Live, NextStep,
    OperationDetail, OperationPage, OperationRow, OperationState, OtherFingerprint, OutcomeView,
    Overview, Point, PointView, ProblemDocument, Role, RouteCounts, RouteKind, Session,
    SettledCounts, SettlementResult, SettlementWord, SettlementsDone, UnknownPage, UnknownRow,
    UnknownView,
};

/// The largest whole number that every browser reads as it was written (2⁵³).
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// JSON, parsed.
pub(crate) enum Json {
    Null,
    Truth(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    /// Members with their names.
    Object(Vec<(String, Json)>),
}

/// Reads a form; the error says what was not as it should be.
pub(crate) fn read<T: Form>(value: Json) -> Result<T, String> {
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
    fn take(value: Json, fault: &mut Fault) -> Self;
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
    members: Vec<(String, Json)>,
    fault: &'a mut Fault,
}

impl<'a> Members<'a> {
    fn of(value: Json, fault: &'a mut Fault) -> Self {
        let members = if let Json::Object(members) = value {
            members
        } else {
            fault.note("an object");
            Vec::new()
        };
        Self { members, fault }
    }

    fn find(&mut self, name: &str) -> Option<Json> {
        let place = self.members.iter().position(|(known, _)| known == name)?;
        Some(self.members.swap_remove(place).1)
    }

    /// A member that must be there.
    fn must<T: Form>(&mut self, name: &'static str) -> T {
        let value = self.find(name).unwrap_or_else(|| {
            self.fault.note(name);
            Json::Null
        });
        T::take(value, self.fault)
    }

    /// A member that may be missing.
    fn may<T: Form + Default>(&mut self, name: &'static str) -> T {
        match self.find(name) {
            Some(value) => T::take(value, self.fault),
            None => T::default(),
        }
    }
}

/// Forms that are objects: members that must be there, then those that may be missing.
macro_rules! objects {
    ($($form:ident { $($must:ident)* $(; $($may:ident)*)? })*) => {
        $(impl Form for $form {
            fn take(value: Json, fault: &mut Fault) -> Self {
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
            fn take(value: Json, fault: &mut Fault) -> Self {
                match &*String::take(value, fault) {
                    $first => Self::$one,
                    $($word => Self::$other,)*
                    _ => {
                        fault.note(concat!("a known ", stringify!($form)));
                        Self::$one
                    }
                }
            }
        })*
    };
}

objects! {
    Session { role expires_at; name }
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
    fn take(value: Json, fault: &mut Fault) -> Self {
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
    fn take(value: Json, fault: &mut Fault) -> Self {
        if let Json::Text(text) = value {
            text
        } else {
            fault.note("a text");
            Self::new()
        }
    }
}

impl Form for bool {
    fn take(value: Json, fault: &mut Fault) -> Self {
        if let Json::Truth(truth) = value {
            truth
        } else {
            fault.note("true or false");
            false
        }
    }
}

impl Form for i64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole, and no larger than 2⁵³"
    )]
    fn take(value: Json, fault: &mut Fault) -> Self {
        if let Json::Number(number) = value
            && number % 1.0 == 0.0
            && number.abs() <= WHOLE_MAX
        {
            number as Self
        } else {
            fault.note("a whole number");
            0
        }
    }
}

/// The other numbers by way of this one.
macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Form for $number {
            fn take(value: Json, fault: &mut Fault) -> Self {
                Self::try_from(i64::take(value, fault)).unwrap_or_else(|_| {
                    fault.note("a number in range");
                    0
                })
            }
        })*
    };
}

numbers! { u16 u32 u64 }

impl Form for Timestamp {
    fn take(value: Json, fault: &mut Fault) -> Self {
        Self::from_millis(Form::take(value, fault))
    }
}

impl<T: Form> Form for Option<T> {
    fn take(value: Json, fault: &mut Fault) -> Self {
        (!matches!(value, Json::Null)).then(|| T::take(value, fault))
    }
}

impl<T: Form> Form for Vec<T> {
    fn take(value: Json, fault: &mut Fault) -> Self {
        let mut items = Self::new();
        if let Json::List(values) = value {
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
    fn take(value: Json, fault: &mut Fault) -> Self {
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
