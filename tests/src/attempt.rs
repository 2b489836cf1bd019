//! An attempt as the origin knows it: what it reports about its work while the gateway holds the lease (L5).

use crate::client::{Answer, Call, Client};
use crate::origin::Seen;
use crate::session::Session;
use serde_json::json;

/// The right to report about one attempt, as the origin was given it.
#[derive(Debug, Clone)]
pub struct Attempt {
    client: Client,
    /// The operation's id.
    pub operation: String,
    /// The attempt's token.
    pub token: String,
}

impl Attempt {
    /// The attempt that this request is.
    ///
    /// # Panics
    /// When the gateway did not say so.
    #[must_use]
    pub fn of(session: &Session, seen: &Seen) -> Self {
        let told = |name: &str| match seen.header(name) {
            Some(value) => value.to_owned(),
            None => panic!("L4: the origin is not told {name}: {:?}", seen.headers),
        };
        Self {
            client: session.http(),
            operation: told("oncegate-operation"),
            token: told("oncegate-attempt"),
        }
    }

    /// The same with another token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            token: token.to_owned(),
            ..self.clone()
        }
    }

    /// The same about another operation.
    #[must_use]
    pub fn with_operation(&self, operation: &str) -> Self {
        Self {
            operation: operation.to_owned(),
            ..self.clone()
        }
    }

    /// A report with this method, without a body.
    #[must_use]
    pub fn call(&self, method: &str, what: &str) -> Call {
        let path = format!("/_oncegate/attempts/{}/{what}", self.operation);
        let call = self.client.call(method, &path);
        call.header("Oncegate-Attempt", &self.token)
    }

    /// It needs so much longer from now.
    pub async fn extend(&self, lease_ms: u64) -> Answer {
        let call = self.call("POST", "extend");
        call.json(&json!({ "lease_ms": lease_ms })).send().await
    }

    /// It came this far.
    pub async fn save_point(&self, name: &str, data: &str) -> Answer {
        let call = self.call("PUT", "recovery-point");
        let form = json!({ "name": name, "data": data });
        call.json(&form).send().await
    }

    /// How far an attempt before it came.
    pub async fn point(&self) -> Answer {
        self.call("GET", "recovery-point").send().await
    }

    /// It is done, with this outcome.
    pub async fn complete(&self, status: u16, media: &str, body: impl Into<Vec<u8>>) -> Answer {
        let call = self.call("POST", "complete");
        call.header("Oncegate-Outcome-Status", &status.to_string())
            .body(body, media)
            .send()
            .await
    }

    /// It did not run.
    pub async fn release(&self) -> Answer {
        self.call("POST", "release").send().await
    }
}
