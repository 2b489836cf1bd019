//! A call on its way: one flat object, of which each question uses some members.
//!
//! A form of its own for each question would be clearer and cost a Worker several times the code.

use serde::{Deserialize, Serialize};
use shared::fingerprint::Fingerprint;
use shared::policy::Policy;
use shared::scope::{OperationKey, RouteName, TenantId};
use shared::time::{Millis, Timestamp};

use super::{Ask, Call, Cause, Ended, Finding, OutcomeHead, Token};

/// The form.
#[derive(Serialize, Deserialize)]
pub(super) struct CallForm {
    #[serde(default)]
    v: u16,
    tenant: TenantId,
    route: RouteName,
    #[serde(default)]
    shard: u16,
    ask: Question,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<Policy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<OperationKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<Token>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    minted_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeHead>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finding: Option<Finding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<Ended>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_missing: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Question {
    Begin,
    Complete,
    Release,
    Suspend,
    Pending,
    Probed,
    Abandon,
    Look,
    Status,
    Note,
}

/// A question without a member that it needs.
const INCOMPLETE: &str = "the message lacks a member of its question";

impl From<Call> for CallForm {
    fn from(call: Call) -> Self {
        let mut form = Self {
            v: call.v,
            tenant: call.tenant,
            route: call.route,
            shard: call.shard,
            ask: Question::Note,
            policy: call.policy,
            key: None,
            token: None,
            fingerprint: None,
            minted_at: None,
            wait: None,
            outcome: None,
            reference: None,
            finding: None,
            status: None,
            cause: None,
            latency: None,
            digest: None,
            ended: None,
            key_missing: None,
            fault: call.fault,
        };
        form.take(call.ask);
        form
    }
}

impl CallForm {
    fn take(&mut self, ask: Ask) {
        let question = match ask {
            Ask::Begin {
                key,
                token,
                fingerprint,
                minted_at,
                wait,
            } => {
                (self.key, self.token) = (Some(key), Some(token));
                (self.fingerprint, self.minted_at) = (Some(fingerprint), minted_at);
                self.wait = Some(wait);
                Question::Begin
            }
            Ask::Complete {
                key,
                token,
                outcome,
                reference,
                latency,
            } => {
                (self.key, self.token) = (Some(key), Some(token));
                (self.outcome, self.latency) = (Some(outcome), Some(latency));
                self.reference = reference;
                Question::Complete
            }
            Ask::Release {
                key,
                token,
                status,
                latency,
            } => {
                (self.key, self.token) = (Some(key), Some(token));
                (self.status, self.latency) = (status, latency);
                Question::Release
            }
            Ask::Suspend {
                key,
                token,
                cause,
                reference,
                latency,
            } => {
                (self.key, self.token) = (Some(key), Some(token));
                (self.cause, self.latency) = (Some(cause), latency);
                self.reference = reference;
                Question::Suspend
            }
            Ask::Pending {
                key,
                token,
                reference,
                wait,
            } => {
                (self.key, self.token) = (Some(key), Some(token));
                (self.reference, self.wait) = (reference, Some(wait));
                Question::Pending
            }
            Ask::Probed {
                key,
                token,
                finding,
            } => {
                (self.key, self.token) = (Some(key), Some(token));
                self.finding = Some(finding);
                Question::Probed
            }
            Ask::Abandon { key, token } => {
                (self.key, self.token) = (Some(key), Some(token));
                Question::Abandon
            }
            Ask::Look { key, fingerprint } => {
                (self.key, self.fingerprint) = (Some(key), fingerprint);
                Question::Look
            }
            Ask::Status { digest } => {
                self.digest = Some(digest);
                Question::Status
            }
            Ask::Note { ended, key_missing } => {
                (self.ended, self.key_missing) = (Some(ended), Some(key_missing));
                Question::Note
            }
        };
        self.ask = question;
    }
}

impl TryFrom<CallForm> for Call {
    type Error = &'static str;

    fn try_from(form: CallForm) -> Result<Self, Self::Error> {
        let key = form.key.ok_or(INCOMPLETE);
        let token = form.token.ok_or(INCOMPLETE);
        let latency = form.latency;
        let ask = match form.ask {
            Question::Begin => Ask::Begin {
                key: key?,
                token: token?,
                fingerprint: form.fingerprint.ok_or(INCOMPLETE)?,
                minted_at: form.minted_at,
                wait: form.wait.unwrap_or_default(),
            },
            Question::Complete => Ask::Complete {
                key: key?,
                token: token?,
                outcome: form.outcome.ok_or(INCOMPLETE)?,
                reference: form.reference,
                latency: latency.unwrap_or_default(),
            },
            Question::Release => Ask::Release {
                key: key?,
                token: token?,
                status: form.status,
                latency,
            },
            Question::Suspend => {
                let cause = form.cause.ok_or(INCOMPLETE)?;
                Ask::Suspend {
                    key: key?,
                    token: token?,
                    cause,
                    reference: form.reference,
                    latency,
                }
            }
            Question::Pending => Ask::Pending {
                key: key?,
                token: token?,
                reference: form.reference,
                wait: form.wait.unwrap_or_default(),
            },
            Question::Probed => Ask::Probed {
                key: key?,
                token: token?,
                finding: form.finding.ok_or(INCOMPLETE)?,
            },
            Question::Abandon => Ask::Abandon {
                key: key?,
                token: token?,
            },
            Question::Look => Ask::Look {
                key: key?,
                fingerprint: form.fingerprint,
            },
            Question::Status => Ask::Status {
                digest: form.digest.ok_or(INCOMPLETE)?,
            },
            Question::Note => Ask::Note {
                ended: form.ended.ok_or(INCOMPLETE)?,
                key_missing: form.key_missing.unwrap_or_default(),
            },
        };
        Ok(Self {
            v: form.v,
            tenant: form.tenant,
            route: form.route,
            shard: form.shard,
            policy: form.policy,
            ask,
            fault: form.fault,
        })
    }
}
