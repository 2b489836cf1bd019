//! What an origin says about its running attempt, on its way from the Worker to the operations object (L5).
//!
//! The Worker knows no more than the operation's id and the token: the object knows the rest. The body of an outcome
//! follows the head, as in `message`.

use serde::{Deserialize, Serialize};
use shared::time::{Millis, Timestamp};

use crate::message::{OutcomeHead, Token};

/// An origin's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AttemptReport {
    /// The digest of the operation's key, as in its id.
    pub(crate) digest: String,
    /// The attempt's token: it alone authorises.
    pub(crate) token: Token,
    /// What is reported.
    pub(crate) said: Said,
}

/// What is reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// It needs longer.
    Extend(Millis),
    /// It came this far.
    Checkpoint {
        /// The point's name.
        name: String,
        /// What the origin keeps with it.
        data: String,
    },
    /// How far did an attempt before come?
    ReadPoint,
    /// It ended with this outcome.
    Complete(OutcomeHead),
    /// It did not run.
    Release,
}

/// What the object answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportAnswer {
    /// The lease runs until then.
    Extended(Timestamp),
    /// The point is kept.
    Saved,
    /// The point that is kept, if there is one: its name and data.
    Point(Option<(String, String)>),
    /// The outcome is kept.
    Recorded,
    /// Nothing is kept of the attempt.
    Released,
    /// An attempt before may have run, or a step of this one did: it stays unknown (U4).
    StillUnknown,
    /// The token does not count, or not any more.
    Superseded,
    /// The attempt has ended.
    Ended,
    /// The report itself is wrong; why.
    Refused(String),
    /// The object could not do it.
    Failed(String),
}

#[cfg(test)]
mod tests {
    use shared::record::AttemptId;

    use super::*;

    #[test]
    fn what_an_origin_reports_is_pinned() {
        let report = |said| AttemptReport {
            digest: String::from("ab"),
            token: Token(AttemptId::from_bytes([0xab; 16])),
            said,
        };
        let outcome = OutcomeHead {
            status: 201,
            headers: Vec::new(),
            omitted: None,
        };
        let (name, data) = (String::from("charged"), String::from("{}"));
        let rows = [
            (Said::Extend(Millis::new(5)), r#"{"extend":5}"#),
            (
                Said::Checkpoint { name, data },
                r#"{"checkpoint":{"name":"charged","data":"{}"}}"#,
            ),
            (Said::ReadPoint, r#""read_point""#),
            (
                Said::Complete(outcome),
                r#"{"complete":{"status":201,"headers":[]}}"#,
            ),
            (Said::Release, r#""release""#),
        ];
        for (said, literal) in rows {
            let report = report(said);
            let head = r#"{"digest":"ab","token":"abababababababababababababababab","said":"#;
            let literal = [head, literal, "}"].concat();
            assert_eq!(serde_json::to_string(&report).unwrap(), literal);
            assert_eq!(
                serde_json::from_str::<AttemptReport>(&literal).unwrap(),
                report
            );
        }
        let point = ReportAnswer::Point(Some((String::from("charged"), String::new())));
        let rows = [
            (ReportAnswer::Saved, r#""saved""#),
            (ReportAnswer::Superseded, r#""superseded""#),
            (point, r#"{"point":["charged",""]}"#),
        ];
        for (answer, literal) in rows {
            assert_eq!(serde_json::to_string(&answer).unwrap(), literal);
            assert_eq!(
                serde_json::from_str::<ReportAnswer>(literal).unwrap(),
                answer
            );
        }
    }
}
