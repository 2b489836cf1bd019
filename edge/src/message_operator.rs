//! What the Worker asks an operations object on behalf of an operator, and what it answers: JSON inside one
//! deployment.
//!
//! Not what callers' requests say to the object (`message`). A new Worker may talk to an
//! old object for minutes after a deploy: fields that are added later have defaults.

use serde::{Deserialize, Serialize};
use shared::live::LiveState;
use shared::metrics::Sums;
use shared::series::{Happened, Window};
use shared::time::Timestamp;
use shared::wire::{AnswerGroup, AuditEntry, GivenOutcome, OperationRow, SettlementResult};

/// A question to one object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OperatorMessage {
    /// What happened in a window of time, and what is so now.
    Overview {
        /// The window.
        window: Window,
    },
    /// The sums since the beginning, and what is so now.
    Totals,
    /// A page of operations, newest first.
    List(ListOperations),
    /// What nobody knows, longest unknown first.
    Unknown {
        /// Only what the origin last answered with this.
        last_answer: Option<String>,
    },
    /// What was settled and what came late, newest first.
    Audit {
        /// Only what is older than this place in the log.
        before: Option<Position>,
        /// At most this many.
        limit: u32,
    },
    /// Settle some; the only one that changes anything.
    Settle(SettleMany),
    /// See that the alarm is set.
    Tick,
}

/// What to settle, and how (U6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SettleMany {
    /// Which: their ids.
    #[serde(default)]
    pub(crate) operations: Vec<String>,
    /// Or all that the origin last answered with this.
    #[serde(default)]
    pub(crate) last_answer: Option<String>,
    /// How.
    pub(crate) order: Order,
    /// Why.
    pub(crate) reason: String,
    /// The operator's name.
    pub(crate) operator: String,
    /// Whether nothing changes.
    pub(crate) preview: Preview,
}

/// How an operation is settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// It took effect, with this outcome.
    Succeeded(GivenOutcome),
    /// It did not happen.
    DidNotHappen,
    /// It may run once more.
    TryAgain,
}

/// Whether a settlement is only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Preview {
    /// Nothing changes.
    Only,
    /// It is done.
    No,
}

/// Which operations to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListOperations {
    /// At most this many, and at most a page.
    pub(crate) limit: u32,
    /// Only older ones than this place in the list.
    pub(crate) before: Option<Position>,
    /// Only with this state.
    pub(crate) state: Option<StateFilter>,
    /// Only those first claimed at or after this moment.
    pub(crate) from: Option<Timestamp>,
    /// Only those first claimed before this moment.
    pub(crate) to: Option<Timestamp>,
    /// Only the one under this key, or of this id.
    pub(crate) key: Option<String>,
}

/// A place in the list of all operations, which is ordered by the first claim and then by id, both falling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Position {
    /// When the operation at this place was first claimed.
    pub(crate) created_at: Timestamp,
    /// Its id.
    pub(crate) id: String,
}

/// The states that an operator can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StateFilter {
    /// Under a live lease.
    InProgress,
    /// Nobody knows.
    Indeterminate,
    /// Nobody knows, and there was no word at all.
    Stuck,
    /// Done.
    Completed,
}

/// What one object answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OperatorAnswer {
    /// To `Overview`.
    Overview {
        /// Within the window.
        #[serde(default)]
        happened: Happened,
        /// Now.
        #[serde(default)]
        live: LiveState,
    },
    /// To `Totals`.
    Totals {
        /// Since the beginning.
        #[serde(default)]
        sums: Sums,
        /// Now.
        #[serde(default)]
        live: LiveState,
    },
    /// To `List`, newest first.
    Operations(Vec<OperationRow>),
    /// To `Unknown`.
    Unknown {
        /// How many match.
        total: u64,
        /// The longest unknown of them.
        rows: Vec<OperationRow>,
        /// All, by what the origin last answered.
        groups: Vec<AnswerGroup>,
    },
    /// To `Audit`, newest first.
    Audit(Vec<AuditEntry>),
    /// To `Settle`.
    Settled {
        /// What became of each.
        results: Vec<SettlementResult>,
        /// Whether more match.
        more: bool,
    },
    /// To `Tick`.
    Ticked,
    /// The store failed; why, for the log.
    Failed(String),
}

impl StateFilter {
    /// Reads the name of a state.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "in_progress" => Some(Self::InProgress),
            "indeterminate" => Some(Self::Indeterminate),
            "stuck" => Some(Self::Stuck),
            "completed" => Some(Self::Completed),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &OperatorMessage, json: &str) {
        assert_eq!(serde_json::to_string(message).unwrap_or_default(), json);
        assert_eq!(
            serde_json::from_str::<OperatorMessage>(json).ok().as_ref(),
            Some(message)
        );
    }

    #[test]
    fn the_forms_between_two_deployments_are_pinned() {
        let window = Window {
            first_minute: 7,
            step_minutes: 15,
            steps: 96,
        };
        check(
            &OperatorMessage::Overview { window },
            r#"{"overview":{"window":{"first_minute":7,"step_minutes":15,"steps":96}}}"#,
        );
        check(&OperatorMessage::Totals, r#""totals""#);
        check(&OperatorMessage::Tick, r#""tick""#);
        let settle = SettleMany {
            operations: vec![String::from("op_1")],
            last_answer: None,
            order: Order::DidNotHappen,
            reason: String::from("seen"),
            operator: String::from("alice"),
            preview: Preview::Only,
        };
        check(
            &OperatorMessage::Settle(settle),
            r#"{"settle":{"operations":["op_1"],"last_answer":null,"order":"did_not_happen","reason":"seen","operator":"alice","preview":"only"}}"#,
        );
        let created_at = Timestamp::from_millis(5);
        let list = ListOperations {
            limit: 50,
            before: Some(Position {
                created_at,
                id: "op_1".into(),
            }),
            state: Some(StateFilter::Stuck),
            ..ListOperations::default()
        };
        check(
            &OperatorMessage::List(list),
            concat!(
                r#"{"list":{"limit":50,"before":{"created_at":5,"id":"op_1"},"state":"stuck","#,
                r#""from":null,"to":null,"key":null}}"#
            ),
        );
    }

    #[test]
    fn an_answer_of_an_older_version_is_read() {
        let answer = serde_json::from_str(r#"{"totals":{"sums":{"applied":1}}}"#);
        let sums = Sums {
            applied: 1,
            ..Sums::default()
        };
        let expected = OperatorAnswer::Totals {
            sums,
            live: LiveState::default(),
        };
        assert_eq!(answer.ok(), Some(expected));
    }
}
