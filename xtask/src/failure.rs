//! What a command says when it cannot go on: one line, and what to do about it.
//!
//! Not a log: a child process has already shown its own lines on the terminal.

use std::fmt;

/// Why a developer command stopped, and what its user can do.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    remedy: Option<String>,
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure in one line, as a lower-case fragment with the offending value.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: None,
        }
    }

    /// The same failure with what would help.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  try: {remedy}"),
            None => Ok(()),
        }
    }
}

/// Names what was being done when the platform refused.
pub(crate) trait Context<T> {
    /// The value, or a failure that says what was being done and why it was refused.
    fn while_doing(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn while_doing(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Failure::new(format!("failed to {}: {error}", doing())))
    }
}
