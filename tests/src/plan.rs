//! What the origin is told to do with one request: a script that travels in the request itself.
//!
//! It travels as JSON in the header `Test-Plan`, so that a retry can carry another script under the same
//! fingerprint (F1 leaves headers out), or in the body's member `plan`, so that a person can write it in `curl`.

use serde::{Deserialize, Serialize};

/// One request's script. What is left out is the ordinary: 201, a small JSON body, at once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// The status answered; 201 if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Milliseconds waited before the effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// The name of a gate that the test opens; waited for before the effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// The name of a gate that is waited for after the effect, before a single byte of answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_gate: Option<String>,
    /// The body answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Framed in chunks rather than by a length.
    #[serde(skip_serializing_if = "is_false")]
    pub chunked: bool,
    /// Milliseconds between the sixteen pieces in which the body is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trickle_ms: Option<u64>,
    /// Where the line is cut, if anywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// Framed by nothing: the body ends where the line does.
    #[serde(skip_serializing_if = "is_false")]
    pub unframed: bool,
    /// Headers added to the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The origin answers without doing its work: no effect is counted.
    #[serde(skip_serializing_if = "is_false")]
    pub idle: bool,
    /// What every later attempt of the same operation meets in place of this: the gateway itself sends the same request
    /// again, and so the same plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<Box<Plan>>,
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// No bytes at all.
    Empty,
    /// This text.
    Text(String),
    /// Every byte value in turn, this many bytes.
    Binary(usize),
    /// Printable bytes, this many.
    Large(usize),
    /// The request's own body.
    Echo,
}

/// Where the origin cuts the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// Before its effect.
    BeforeEffect,
    /// After its effect, before a single byte of answer.
    AfterEffect,
    /// After its effect, amid the headers.
    InsideHead,
    /// After its effect, amid the body.
    InsideBody,
    /// After its effect and this many bytes of the answer, its head counted too.
    After(usize),
    /// The same by a reset of the line: what was sent before it may be lost with it.
    ResetAfter(usize),
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the field by reference"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Plan {
    /// Answers this status, with an effect.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    /// Answers this status without an effect: a refusal.
    #[must_use]
    pub fn refuse(status: u16) -> Self {
        Self {
            status: Some(status),
            idle: true,
            ..Self::default()
        }
    }

    /// Waits before its effect until the test opens the gate of this name.
    #[must_use]
    pub fn gate(name: &str) -> Self {
        Self {
            gate: Some(name.to_owned()),
            ..Self::default()
        }
    }

    /// Does its work, and does not answer until the test opens the gate of this name.
    #[must_use]
    pub fn answer_gate(name: &str) -> Self {
        Self {
            answer_gate: Some(name.to_owned()),
            ..Self::default()
        }
    }

    /// Cuts the line.
    #[must_use]
    pub fn cut(cut: Cut) -> Self {
        Self {
            cut: Some(cut),
            ..Self::default()
        }
    }

    /// Answers this body.
    #[must_use]
    pub fn body(body: Body) -> Self {
        Self {
            body: Some(body),
            ..Self::default()
        }
    }

    /// Waits this long before the effect.
    #[must_use]
    pub fn delay_ms(ms: u64) -> Self {
        Self {
            delay_ms: Some(ms),
            ..Self::default()
        }
    }

    /// Answers that the origin works on, and does nothing: the test completes in its place (L5).
    #[must_use]
    pub fn pending() -> Self {
        Self::refuse(202).with_header("Oncegate-Outcome", "pending")
    }

    /// Every later attempt of the same operation meets this.
    #[must_use]
    pub fn then(mut self, again: Self) -> Self {
        self.again = Some(Box::new(again));
        self
    }

    /// What the attempt meets before which there were so many of its operation.
    #[must_use]
    pub fn after(self, attempts: usize) -> Self {
        match (attempts, self.again.clone()) {
            (1.., Some(again)) => again.after(attempts - 1),
            (_, _) => self,
        }
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The header that carries this plan.
    ///
    /// # Panics
    /// Never: every plan is a JSON object.
    #[must_use]
    pub fn header(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| panic!("a plan is not JSON: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(plan: &Plan, header: &str) {
        assert_eq!(plan.header(), header);
        assert_eq!(
            serde_json::from_str::<Plan>(header).ok().as_ref(),
            Some(plan)
        );
    }

    #[test]
    fn a_plan_travels_as_a_short_header() {
        check(&Plan::default(), "{}");
        check(&Plan::status(503), r#"{"status":503}"#);
        check(&Plan::refuse(409), r#"{"status":409,"idle":true}"#);
        check(&Plan::answer_gate("g"), r#"{"answer-gate":"g"}"#);
        check(&Plan::cut(Cut::InsideHead), r#"{"cut":"inside-head"}"#);
        check(&Plan::cut(Cut::After(7)), r#"{"cut":{"after":7}}"#);
        check(
            &Plan::status(500).then(Plan::default()),
            r#"{"status":500,"again":{}}"#,
        );
        check(&Plan::body(Body::Binary(9)), r#"{"body":{"binary":9}}"#);
        check(
            &Plan::default().with_header("A", "b"),
            r#"{"headers":[["A","b"]]}"#,
        );
    }

    #[test]
    fn a_mistyped_plan_is_refused() {
        assert!(serde_json::from_str::<Plan>(r#"{"stauts":500}"#).is_err());
    }
}
