//! The operators' desk: what a signed-in operator sees of operations whose outcome nobody knows, and does about them.

use crate::client::{Call, Client};
use crate::session::Session;
use crate::settings::OPERATOR_TOKEN;
use serde_json::{Value, json};

/// A signed-in operator.
#[derive(Debug, Clone)]
pub struct Desk {
    client: Client,
}

impl Desk {
    /// Signs in.
    pub async fn open(session: &Session) -> Self {
        let client = session.operator(OPERATOR_TOKEN).await;
        Self { client }
    }

    /// What one of the operators' pages of data says.
    pub async fn get(&self, path: &str) -> Value {
        let answer = self
            .client
            .get(&format!("/_oncegate/operator/{path}"))
            .send()
            .await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// All that is known of one operation.
    pub async fn detail(&self, operation: &str) -> Value {
        self.get(&format!("operations/{operation}")).await
    }

    /// The rows that a search finds, of this tenant; `query` is percent-encoded.
    pub async fn found(&self, tenant: &str, query: &str) -> Vec<Value> {
        let page = self
            .get(&format!("operations?tenant={tenant}&q={query}"))
            .await;
        page["operations"].as_array().cloned().unwrap_or_default()
    }

    /// The unknown outcome of this operation, in the list of what nobody knows; null if it is not there.
    pub async fn unknown(&self, tenant: &str, operation: &str) -> Value {
        let page = self.get(&format!("unknown?tenant={tenant}")).await;
        let rows = page["operations"].as_array().cloned().unwrap_or_default();
        let row = rows.into_iter().find(|row| row["id"] == operation);
        row.map_or(Value::Null, |row| row["unknown"].clone())
    }

    /// The log's entries about this operation, newest first.
    pub async fn audit(&self, tenant: &str, operation: &str) -> Vec<Value> {
        let page = self.get(&format!("audit?tenant={tenant}")).await;
        let entries = page["entries"].as_array().cloned().unwrap_or_default();
        entries
            .into_iter()
            .filter(|entry| entry["operation"] == operation)
            .collect()
    }

    /// What became of a tenant's unknown outcomes.
    pub async fn settled(&self, tenant: &str) -> Value {
        let overview = self
            .get(&format!("overview?range=1h&tenant={tenant}"))
            .await;
        overview["settled"].clone()
    }

    /// The order to settle one operation, to be sent.
    #[must_use]
    pub fn order(&self, operation: &str, how: &str, outcome: Option<Value>) -> Call {
        let mut asked = json!({ "as": how, "reason": "a test", "operations": [operation] });
        if let Some(outcome) = outcome {
            asked["outcome"] = outcome;
        }
        self.client
            .post("/_oncegate/operator/settlements")
            .json(&asked)
            .header("Origin", self.client.base())
            .header("Oncegate-Operator", "1")
    }

    /// Settles one operation, and answers in a word what came of it.
    pub async fn settle(&self, operation: &str, how: &str, outcome: Option<Value>) -> String {
        let answer = self.order(operation, how, outcome).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let word = answer.json()["results"][0]["result"].clone();
        word.as_str().unwrap_or_default().to_owned()
    }
}
