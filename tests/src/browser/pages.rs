//! The dashboard's pages as an operator meets them: where they are, and what can be read and done there.

use super::Browser;
use crate::session::Session;
use crate::settings::{OPERATOR_TOKEN, VIEWER_TOKEN};

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

    /// Signs the viewer in, and waits for the page behind it.
    pub async fn as_viewer(&self, session: &Session) {
        let base = session.operators().base().to_owned();
        self.0
            .goto(&format!("{base}/_oncegate/login#token={VIEWER_TOKEN}"))
            .await;
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

/// What nobody knows.
pub struct Unknown<'a>(pub &'a Browser);

impl Unknown<'_> {
    /// Goes there, for one tenant.
    pub async fn open(&self, session: &Session, tenant: &str) {
        let base = session.operators().base().to_owned();
        self.0
            .goto(&format!("{base}/_oncegate/unknown?tenant={tenant}"))
            .await;
    }

    /// Waits until exactly so many rows are shown, and answers their ids.
    pub async fn waits_for_rows(&self, count: usize) -> Vec<String> {
        self.0
            .until(&format!("{count} unknown outcomes are shown"), || async {
                let ids = self.0.attributes("unknown-row", "data-id").await;
                (ids.len() == count).then_some(ids)
            })
            .await
    }

    /// Waits until so many wait for a person: their attempts' leases are over.
    pub async fn waits_for_need(&self, count: usize) {
        self.0
            .until(&format!("{count} need a person"), || async {
                let rows = self.0.texts("unknown-row").await;
                let need = rows.iter().filter(|row| row.contains("Needs a person"));
                (need.count() == count).then_some(())
            })
            .await;
    }

    /// Chooses one, or leaves it out.
    pub async fn choose(&self, id: &str) {
        self.0
            .click_that("unknown-row", "data-id", id, Some("choose"))
            .await;
    }

    /// Narrows to what the origin last said.
    pub async fn narrow(&self, last_answer: &str) {
        self.0
            .click_that("group", "data-value", last_answer, None)
            .await;
    }
}

/// The dialog in which is settled by hand.
pub struct Settling<'a>(pub &'a Browser);

impl Settling<'_> {
    /// Opens it by one of its buttons.
    pub async fn open(&self, button: &str) {
        self.0.click(button).await;
        self.0.shown("settle-dialog").await;
    }

    /// Gives a reason, asks what would happen, and answers what it says of all and of each.
    pub async fn preview(&self, reason: &str) -> (String, Vec<String>) {
        self.0.fill("settle-reason", reason).await;
        self.0.click("settle-preview").await;
        let summary = self.0.text("settle-summary").await;
        (summary, self.0.texts("settle-result").await)
    }

    /// Does what the button says, and answers what became of it.
    pub async fn confirm(&self, button: &str) -> String {
        assert_eq!(self.0.text("settle-confirm").await, button);
        self.0.click("settle-confirm").await;
        self.0.shown("settle-close").await;
        let summary = self.0.text("settle-summary").await;
        self.0.click("settle-close").await;
        self.0.gone("settle-dialog").await;
        summary
    }
}

/// The audit log.
pub struct Audit<'a>(pub &'a Browser);

impl Audit<'_> {
    /// Goes there, for one tenant.
    pub async fn open(&self, session: &Session, tenant: &str) {
        let base = session.operators().base().to_owned();
        self.0
            .goto(&format!("{base}/_oncegate/audit?tenant={tenant}"))
            .await;
    }

    /// Waits until exactly so many entries are shown, and answers their texts.
    pub async fn waits_for_rows(&self, count: usize) -> Vec<String> {
        self.0
            .until(&format!("{count} entries are shown"), || async {
                let rows = self.0.texts("audit-row").await;
                (rows.len() == count).then_some(rows)
            })
            .await
    }
}
