//! The dashboard's pages as an operator meets them: where they are, and what can be read and done there.

use super::Browser;
use crate::session::Session;
use crate::settings::OPERATOR_TOKEN;

/// The page that takes a token.
pub struct Login<'a>(pub &'a Browser);

impl Login<'_> {
    /// The link that signs an operator in.
    #[must_use]
    pub fn link(session: &Session) -> String {
        format!(
            "{}/_oncegate/login#token={OPERATOR_TOKEN}",
            session.operators().base()
        )
    }

    /// Signs in by the link, and waits for the page behind it.
    pub async fn by_link(&self, session: &Session) {
        self.0.goto(&Self::link(session)).await;
        self.0.shown("nav-overview").await;
    }

    /// Types a token and sends it.
    pub async fn with(&self, token: &str) {
        self.0.fill("login-token", token).await;
        self.0.click("login-submit").await;
    }
}

/// What came in and how it ended.
pub struct Overview<'a>(pub &'a Browser);

impl Overview<'_> {
    /// Goes there, for one tenant.
    pub async fn open(&self, session: &Session, tenant: &str) {
        self.0
            .goto(&format!(
                "{}/_oncegate/?tenant={tenant}",
                session.operators().base()
            ))
            .await;
    }

    /// Waits until a number reads so.
    pub async fn waits_for(&self, name: &str, expected: u64) {
        let mark = format!("metric-{name}");
        self.0
            .until(&format!("{mark} reads {expected}"), || async {
                (self.0.attributes(&mark, "data-value").await == [expected.to_string()])
                    .then_some(())
            })
            .await;
    }
}

/// The list.
pub struct Operations<'a>(pub &'a Browser);

impl Operations<'_> {
    /// Goes there, with a query string that may be empty.
    pub async fn open(&self, session: &Session, query: &str) {
        self.0
            .goto(&format!(
                "{}/_oncegate/operations{query}",
                session.operators().base()
            ))
            .await;
    }

    /// The ids of the rows shown.
    pub async fn ids(&self) -> Vec<String> {
        self.0.attributes("operation-row", "data-id").await
    }

    /// Waits until exactly so many rows are shown.
    pub async fn waits_for_rows(&self, count: usize) -> Vec<String> {
        self.0
            .until(&format!("{count} rows are shown"), || async {
                let ids = self.ids().await;
                (ids.len() == count).then_some(ids)
            })
            .await
    }
}

/// One operation.
pub struct Operation<'a>(pub &'a Browser);

impl Operation<'_> {
    /// Goes there.
    pub async fn open(&self, session: &Session, id: &str) {
        self.0
            .goto(&format!(
                "{}/_oncegate/operations/{id}",
                session.operators().base()
            ))
            .await;
    }

    /// Waits until its state reads so.
    pub async fn waits_for_state(&self, state: &str) {
        self.0
            .until(&format!("the operation is {state}"), || async {
                let shown = self.0.texts("operation-state").await;
                shown
                    .iter()
                    .any(|text| text.to_lowercase().contains(state))
                    .then_some(())
            })
            .await;
    }
}
