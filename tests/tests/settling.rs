//! Settling by hand through the real pages: choosing, the look before, the deed, and what is seen of it afterwards (U6).
//!
//! Not the interface under them (`settlements`).

use serde_json::json;
use tests::browser::{Audit, Browser, Login, Operation, Settling, Unknown};
use tests::client::{Call, Client};
use tests::keys::key;
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{OPERATOR_TOKEN, Settings, api_route};
use tokio::sync::OnceCell;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let brief = "timeout = \"1s\"\nlease = \"3s\"\nwait = \"0s\"";
    let long = "timeout = \"1s\"\nlease = \"300s\"\nwait = \"0s\"";
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("settling")
                    .route("orders", &api_route("/v1/orders", brief))
                    .route("held", &api_route("/v1/held", long)),
            )
        })
        .await
}

async fn signed_in() -> (&'static Session, Browser) {
    let (session, browser) = (gateway().await, Browser::start().await);
    Login(&browser).by_link(session).await;
    (session, browser)
}

/// A call whose outcome nobody knows, and its operation's id.
async fn unknown(client: &Client, path: &str, plan: &Plan) -> (Call, String) {
    let call = client.post(path).key(&key("settling"));
    let answer = call.clone().plan(plan).send().await;
    answer.assert_problem(503, "outcome_unknown", "same-key");
    (call, answer.operation())
}

#[test]
fn one_is_settled_from_its_own_page() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        let (call, id) = unknown(&client, "/v1/orders", &Plan::cut(Cut::AfterEffect)).await;
        Unknown(&browser).open(session, &tenant).await;
        Unknown(&browser).waits_for_need(1).await;
        Operation(&browser).open(session, &id).await;
        Operation(&browser).waits_for_state("unknown").await;
        Settling(&browser).open("settle-succeeded").await;
        browser.fill("settle-status", "201").await;
        browser.fill("settle-body", "{\"id\":7}").await;
        let (summary, results) = Settling(&browser).preview("seen in the ledger").await;
        assert_eq!((&*summary, results.len()), ("1 would be settled", 1));
        let retry = call.send().await;
        assert_eq!(retry.status, 409, "a preview changes nothing");
        let done = Settling(&browser)
            .confirm("Mark 1 operation as succeeded with 201")
            .await;
        assert_eq!(done, "1 settled");
        Operation(&browser).waits_for_state("completed").await;
        browser.gone("settle-succeeded").await;
        let retry = call.send().await;
        assert_eq!(
            (retry.status, retry.text(), retry.verdict()),
            (201, "{\"id\":7}".to_owned(), Some("replayed"))
        );
        let log = browser.text("operation-log").await;
        assert!(log.contains("seen in the ledger"), "{log}");
        assert_eq!(browser.text("settled-by").await, "an operator");
        Unknown(&browser).open(session, &tenant).await;
        browser.shown("state-empty").await;
        browser.close().await;
    });
}

#[test]
fn many_are_settled_by_what_the_origin_last_said() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        let mut calls = Vec::new();
        for _ in 0..3 {
            calls.push(unknown(&client, "/v1/orders", &Plan::refuse(502)).await.0);
        }
        let (_other, other) = unknown(&client, "/v1/orders", &Plan::cut(Cut::AfterEffect)).await;
        Unknown(&browser).open(session, &tenant).await;
        Unknown(&browser).waits_for_need(4).await;
        Unknown(&browser).narrow("502").await;
        Unknown(&browser).waits_for_rows(3).await;
        let url = browser.url().await;
        assert!(
            url.contains("last_answer=502"),
            "the address holds it: {url}"
        );
        browser.click("choose-all").await;
        assert_eq!(browser.text("chosen").await, "3 chosen");
        Settling(&browser).open("settle-did-not-happen").await;
        let told = browser.text("settle-consequence").await;
        assert!(told.contains("runs again"), "{told}");
        let (summary, results) = Settling(&browser).preview("the 14:00 deploy").await;
        assert_eq!((&*summary, results.len()), ("3 would be settled", 3));
        browser.shown("settle-confirm").await;
        browser
            .fill("settle-reason", "502s of the 14:00 deploy")
            .await;
        browser.gone("settle-confirm").await;
        Settling(&browser).preview("502s of the 14:00 deploy").await;
        let done = Settling(&browser)
            .confirm("Mark 3 operations as not happened")
            .await;
        assert_eq!(done, "3 settled");
        browser.shown("state-empty").await;
        for call in calls {
            call.send().await.assert_created();
        }
        Audit(&browser).open(session, &tenant).await;
        for row in Audit(&browser).waits_for_rows(3).await {
            assert!(
                row.contains("Settled as not happened")
                    && row.contains("502s of the 14:00 deploy")
                    && row.contains("by token"),
                "{row}"
            );
        }
        Unknown(&browser).open(session, &tenant).await;
        assert_eq!(Unknown(&browser).waits_for_rows(1).await, [other]);
        browser.close().await;
    });
}

#[test]
fn what_others_settle_leaves_the_choice_and_the_rows_where_they_are() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        let (_, first) = unknown(&client, "/v1/orders", &Plan::refuse(502)).await;
        let (_, second) = unknown(&client, "/v1/orders", &Plan::refuse(502)).await;
        Unknown(&browser).open(session, &tenant).await;
        Unknown(&browser).waits_for_need(2).await;
        Unknown(&browser).choose(&second).await;
        let operator = session.operator(OPERATOR_TOKEN).await;
        let order =
            json!({ "as": "did_not_happen", "reason": "by somebody else", "operations": [first] });
        let settled = operator
            .post("/_oncegate/operator/settlements")
            .header("Oncegate-Operator", "1")
            .header("Origin", operator.base())
            .json(&order);
        assert_eq!(settled.send().await.status, 200);
        browser
            .until("the first is marked", || async {
                let rows = browser.texts("unknown-row").await;
                let is_marked = rows
                    .first()
                    .is_some_and(|row| row.contains("No longer in this list"));
                is_marked.then_some(())
            })
            .await;
        assert_eq!(
            Unknown(&browser).waits_for_rows(2).await,
            [first, second.clone()]
        );
        assert_eq!(browser.text("chosen").await, "1 chosen");
        browser.click("choose-none").await;
        assert_eq!(Unknown(&browser).waits_for_rows(1).await, [second]);
        browser.close().await;
    });
}

#[test]
fn nothing_can_be_confirmed_while_an_attempt_may_still_run() {
    // U6, L2
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, _tenant) = session.fresh_tenant();
        let (_, id) = unknown(&client, "/v1/held", &Plan::cut(Cut::AfterEffect)).await;
        Operation(&browser).open(session, &id).await;
        Settling(&browser).open("settle-try-again").await;
        let (summary, results) = Settling(&browser).preview("too early").await;
        assert_eq!(summary, "1 would not be settled");
        assert!(results.concat().contains("may still run"), "{results:?}");
        browser.gone("settle-confirm").await;
        browser.press("\u{e00c}").await;
        browser.gone("settle-dialog").await;
        assert_eq!(
            browser.focused().await,
            "settle-try-again",
            "Escape leads back to where one was"
        );
        browser.close().await;
    });
}

#[test]
fn a_viewer_sees_everything_and_settles_nothing() {
    // X3
    tests::run(async {
        let (session, browser) = (gateway().await, Browser::start().await);
        Login(&browser).as_viewer(session).await;
        let (client, tenant) = session.fresh_tenant();
        let (_, id) = unknown(&client, "/v1/orders", &Plan::refuse(502)).await;
        Unknown(&browser).open(session, &tenant).await;
        Unknown(&browser).waits_for_rows(1).await;
        browser.shown("viewer-hint").await;
        let acts = ["choose", "choose-all", "settle-did-not-happen"];
        for mark in acts {
            assert!(!browser.is_shown(mark).await, "{mark} is not for viewers");
        }
        Operation(&browser).open(session, &id).await;
        browser.shown("viewer-hint").await;
        assert!(!browser.is_shown("settle-try-again").await);
        browser.close().await;
    });
}

#[test]
fn refusals_keep_the_gateways_words() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, _tenant) = session.fresh_tenant();
        let (_, id) = unknown(&client, "/v1/orders", &Plan::refuse(502)).await;
        Operation(&browser).open(session, &id).await;
        Settling(&browser).open("settle-did-not-happen").await;
        browser.fill("settle-reason", "   ").await;
        browser.click("settle-preview").await;
        let told = browser.text("settle-failed").await;
        assert!(told.to_lowercase().contains("reason"), "{told}");
        browser.gone("settle-confirm").await;
        browser.close().await;
    });
}

#[test]
fn both_pages_and_the_dialog_are_right_in_both_schemes_and_at_every_width() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        for _ in 0..3 {
            unknown(&client, "/v1/orders", &Plan::refuse(502)).await;
        }
        let (_, id) = unknown(&client, "/v1/orders", &Plan::cut(Cut::AfterEffect)).await;
        Unknown(&browser).open(session, &tenant).await;
        Unknown(&browser).waits_for_need(4).await;
        Unknown(&browser).choose(&id).await;
        Settling(&browser).open("settle-did-not-happen").await;
        Settling(&browser).preview("to be looked at").await;
        Settling(&browser)
            .confirm("Mark 1 operation as not happened")
            .await;
        for scheme in ["light", "dark"] {
            for width in [320, 768, 1440] {
                browser.screen(width, 800, scheme).await;
                Audit(&browser).open(session, &tenant).await;
                browser.shown("audit-row").await;
                right(&browser, &format!("audit-{scheme}-{width}")).await;
                Unknown(&browser).open(session, &tenant).await;
                browser.shown("unknown-row").await;
                right(&browser, &format!("unknown-{scheme}-{width}")).await;
                browser.click("choose-all").await;
                Settling(&browser).open("settle-succeeded").await;
                Settling(&browser).preview("only looking").await;
                right(&browser, &format!("settling-{scheme}-{width}")).await;
            }
        }
        browser.close().await;
    });
}

/// The page fits its screen, and axe finds nothing.
async fn right(browser: &Browser, name: &str) {
    browser.screenshot(name).await;
    let over = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    let over = browser.ask(over).await;
    assert!(
        over.as_i64().is_some_and(|over| over <= 0),
        "{name}: {over} px too wide"
    );
    let findings = browser.serious_findings().await;
    assert_eq!(findings, Vec::<String>::new(), "{name}");
}
