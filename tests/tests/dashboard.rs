//! The dashboard in a real browser, against a real gateway: what an operator sees, does, and cannot be hurt by.

use serde_json::{Value, json};
use tests::browser::{Browser, Login, Operation, Operations, Overview, Unknown};
use tests::keys::key;
use tests::plan::{Body, Cut, Plan};
use tests::session::Session;
use tests::settings::{OPERATOR_TOKEN, Settings, api_route, webhook_route};
use tests::signatures::{Job, sign_all};
use tokio::sync::OnceCell;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("dashboard")
                    .route("orders", &api_route("/v1/orders", ""))
                    .route("invoices", &api_route("/v1/invoices", ""))
                    .route(
                        "stripe",
                        &webhook_route("/webhooks/stripe", "stripe", "STRIPE_WEBHOOK_SECRET", ""),
                    ),
            )
        })
        .await
}

async fn signed_in() -> (&'static Session, Browser) {
    let (session, browser) = (gateway().await, Browser::start().await);
    Login(&browser).by_link(session).await;
    (session, browser)
}

#[test]
fn a_link_signs_in_and_leaves_no_token_behind() {
    // X3
    tests::run(async {
        let (session, browser) = signed_in().await;
        assert!(
            !browser.url().await.contains(OPERATOR_TOKEN),
            "the token stays in no address"
        );
        let kept = "return document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)";
        let kept = browser.ask(kept).await.to_string();
        assert!(
            !kept.contains(OPERATOR_TOKEN) && !kept.contains("oncegate_session"),
            "no script reads the session: {kept}"
        );
        browser.click("sign-out").await;
        browser.shown("login-token").await;
        Operations(&browser).open(session, "").await;
        browser.shown("login-token").await;
        browser.close().await;
    });
}

#[test]
fn signing_in_by_hand_leads_back_to_where_one_was() {
    tests::run(async {
        let (session, browser) = (gateway().await, Browser::start().await);
        Operations(&browser).open(session, "?state=completed").await;
        Login(&browser).with("wrong").await;
        browser
            .until("the refusal is told", || async {
                let told = browser.texts("login-error").await;
                told.iter().any(|text| !text.is_empty()).then_some(())
            })
            .await;
        Login(&browser).with(OPERATOR_TOKEN).await;
        browser.shown("filter-state").await;
        assert!(
            browser
                .url()
                .await
                .ends_with("/_oncegate/operations?state=completed"),
            "{}",
            browser.url().await
        );
        browser.close().await;
    });
}

#[test]
fn the_overview_counts_and_follows_without_reloading() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        let call = client.post("/v1/orders").key(&key("overview"));
        call.send().await.assert_created();
        call.send().await;
        Overview(&browser).open(session, &tenant).await;
        for (name, expected) in [("applied", 1), ("replayed", 1), ("mismatches", 0)] {
            Overview(&browser).waits_for(name, expected).await;
        }
        browser.shown("chart").await;
        browser.ask("window.sameDocument = true; return null").await;
        call.clone().json(&json!({ "amount": 1 })).send().await;
        for _ in 0..3 {
            client
                .post("/v1/invoices")
                .key(&key("overview"))
                .send()
                .await
                .assert_created();
        }
        for (name, expected) in [
            ("applied", 4),
            ("replayed", 1),
            ("mismatches", 1),
            ("calls", 6),
        ] {
            Overview(&browser).waits_for(name, expected).await;
        }
        assert_eq!(
            browser.ask("return window.sameDocument").await,
            Value::Bool(true),
            "it was not reloaded"
        );
        assert_eq!(
            browser.texts("route-row").await.len(),
            2,
            "one row for each route"
        );
        browser.close().await;
    });
}

#[test]
fn unknown_outcomes_are_told_first() {
    // U2
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        client
            .post("/v1/orders")
            .key(&key("unknown"))
            .plan(&Plan::cut(Cut::AfterEffect))
            .send()
            .await;
        Overview(&browser).open(session, &tenant).await;
        Overview(&browser).waits_for("unknown", 1).await;
        browser.click("metric-unknown").await;
        let ids = Unknown(&browser).waits_for_rows(1).await;
        let url = browser.url().await;
        assert!(url.contains("/_oncegate/unknown?"), "{url}");
        Operation(&browser).open(session, &ids[0]).await;
        Operation(&browser).waits_for_state("unknown").await;
        browser.shown("why-unknown").await;
        browser.close().await;
    });
}

#[test]
fn an_operation_is_found_by_its_key_its_id_and_its_event() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, _tenant) = session.fresh_tenant();
        let name = key("findme");
        let created = client.post("/v1/orders").key(&name).send().await;
        client
            .post("/v1/orders")
            .key(&key("other"))
            .send()
            .await
            .assert_created();
        let event = key("evt").replace('-', "_");
        let payload =
            json!({ "id": event, "object": "event", "type": "charge.succeeded", "data": {} });
        let signed = sign_all(vec![Job::stripe(&event, &payload)])
            .await
            .remove(0);
        let delivered = session
            .http()
            .post("/webhooks/stripe")
            .body(signed.payload, "application/json");
        assert_eq!(delivered.headers(&signed.headers).send().await.status, 201);
        Operations(&browser).open(session, "").await;
        browser.shown("operations-table").await;
        for sought in [&*name, &created.operation(), &event] {
            browser.fill("filter-q", sought).await;
            browser.press("\u{e007}").await;
            browser
                .until(&format!("{sought} is found, and nothing else"), || async {
                    let (ids, rows) = (
                        Operations(&browser).ids().await,
                        browser.texts("operation-row").await,
                    );
                    (ids.len() == 1 && (ids[0] == sought || rows.concat().contains(sought)))
                        .then_some(())
                })
                .await;
        }
        browser.close().await;
    });
}

#[test]
fn filters_narrow_and_the_address_holds_them() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        for _ in 0..3 {
            client
                .post("/v1/orders")
                .key(&key("filter"))
                .send()
                .await
                .assert_created();
        }
        client
            .post("/v1/invoices")
            .key(&key("filter"))
            .send()
            .await
            .assert_created();
        client
            .post("/v1/invoices")
            .key(&key("filter"))
            .plan(&Plan::cut(Cut::AfterEffect))
            .send()
            .await;
        Operations(&browser)
            .open(session, &format!("?tenant={tenant}"))
            .await;
        Operations(&browser).waits_for_rows(5).await;
        browser.choose("filter-route", "invoices").await;
        Operations(&browser).waits_for_rows(2).await;
        browser.choose("filter-state", "indeterminate").await;
        let one = Operations(&browser).waits_for_rows(1).await;
        let url = browser.url().await;
        assert!(
            url.contains("route=invoices") && url.contains(&format!("tenant={tenant}")),
            "{url}"
        );
        browser.reload().await;
        assert_eq!(
            Operations(&browser).waits_for_rows(1).await,
            one,
            "the address holds the filters"
        );
        Operations(&browser)
            .open(session, &format!("?tenant={tenant}&to=2000-01-01T00:00:00"))
            .await;
        browser.shown("state-empty").await;
        browser.close().await;
    });
}

#[test]
fn pages_hold_every_operation_once() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        let flights: Vec<_> = (0..130)
            .map(|_| client.post("/v1/orders").key(&key("page")).start())
            .collect();
        let mut expected = Vec::new();
        for flight in flights {
            expected.push(flight.answer().await.operation());
        }
        Operations(&browser)
            .open(session, &format!("?tenant={tenant}"))
            .await;
        browser.shown("operations-table").await;
        let mut found = Operations(&browser).ids().await;
        let first = found.clone();
        while browser.is_shown("next-page").await {
            let page = Operations(&browser).ids().await;
            browser.click("next-page").await;
            let next = browser
                .until("the next page is shown", || async {
                    let ids = Operations(&browser).ids().await;
                    (!ids.is_empty() && ids != page).then_some(ids)
                })
                .await;
            found.extend(next);
        }
        assert!(
            found.len() > first.len(),
            "130 operations are more than a page"
        );
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        browser.close().await;
    });
}

#[test]
fn one_operations_page_tells_its_whole_story() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, _tenant) = session.fresh_tenant();
        let gate = key("gate");
        let hostile =
            "<script>window.hurt = true</script><img src=x onerror=\"window.hurt = true\">";
        let plan = Plan {
            gate: Some(gate.clone()),
            ..Plan::body(Body::Text(hostile.to_owned()))
        };
        let call = client
            .post("/v1/orders")
            .key("<b>not-markup</b>-0123456789")
            .plan(&plan.with_header("X-Note", "kept"));
        let held = call.start();
        let seen = session.origin.arrived(held.number).await;
        let id = seen.header("oncegate-operation").expect("L4").to_owned();
        Operation(&browser).open(session, &id).await;
        Operation(&browser).waits_for_state("in progress").await;
        call.clone()
            .json(&json!({ "amount": 2 }))
            .send()
            .await
            .assert_problem(422, "idempotency_key_reused", "new-key");
        session.origin.open(&gate);
        held.answer().await.assert_created();
        Operation(&browser).waits_for_state("completed").await;
        browser.shown("outcome-body").await;
        assert_eq!(
            browser.text("outcome-body").await.trim(),
            hostile,
            "stored answers are text"
        );
        assert!(browser.text("outcome-status").await.contains("201"));
        assert_eq!(
            browser.ask("return window.hurt ?? null").await,
            Value::Null,
            "and do nothing"
        );
        browser.shown("other-fingerprint").await;
        let (bound, other) = (
            browser.text("fingerprint").await,
            browser.text("other-fingerprint").await,
        );
        assert_ne!(bound, other, "both fingerprints are told");
        assert_eq!(browser.text("operation-id").await, id);
        assert_eq!(browser.texts("attempt-row").await.len(), 1);
        browser.shown("timeline").await;
        browser.shown("next").await;
        assert!(
            browser.text_of_page().await.contains("<b>not-markup</b>"),
            "keys are text"
        );
        browser.close().await;
    });
}

#[test]
fn what_is_not_there_is_said() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        Operation(&browser).open(session, "op_that_never_was").await;
        browser.shown("state-empty").await;
        browser
            .goto(&format!(
                "{}/_oncegate/no/such/page",
                session.operators().base()
            ))
            .await;
        browser.shown("not-found").await;
        Operations(&browser)
            .open(session, "?q=no-such-key-anywhere")
            .await;
        browser.shown("state-empty").await;
        browser.close().await;
    });
}

#[test]
fn loading_and_failing_are_drawn_and_failing_ends() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        client
            .post("/v1/orders")
            .key(&key("state"))
            .send()
            .await
            .assert_created();
        browser.block(&["*/_oncegate/operator/operations*"]).await;
        Operations(&browser)
            .open(session, &format!("?tenant={tenant}"))
            .await;
        browser.shown("state-failed").await;
        browser.block(&[]).await;
        Operations(&browser).waits_for_rows(1).await;
        // What was known stays, marked as old, while the gateway does not answer.
        browser.block(&["*/_oncegate/operator/operations*"]).await;
        browser.shown("stale").await;
        assert_eq!(Operations(&browser).ids().await.len(), 1);
        browser.block(&[]).await;
        browser.gone("stale").await;
        browser.slow_down(1500).await;
        browser.click("nav-overview").await;
        browser.shown("state-loading").await;
        browser.slow_down(0).await;
        browser.gone("state-loading").await;
        browser.close().await;
    });
}

#[test]
fn a_keyboard_is_enough() {
    tests::run(async {
        let (session, browser) = (gateway().await, Browser::start().await);
        let (client, _tenant) = session.fresh_tenant();
        let name = key("keyboard");
        client
            .post("/v1/orders")
            .key(&name)
            .send()
            .await
            .assert_created();
        browser
            .goto(&format!("{}/_oncegate/login", session.operators().base()))
            .await;
        browser.shown("login-token").await;
        browser
            .until("the token's field has the focus", || async {
                (browser.focused().await == "login-token").then_some(())
            })
            .await;
        browser.press(&format!("{OPERATOR_TOKEN}\u{e007}")).await;
        browser.shown("nav-operations").await;
        tab_to(&browser, "nav-operations").await;
        browser.press("\u{e007}").await;
        browser.shown("filter-state").await;
        tab_to(&browser, "filter-q").await;
        browser.press(&format!("{name}\u{e007}")).await;
        Operations(&browser).waits_for_rows(1).await;
        let link = "return document.activeElement.closest('[data-test=operation-row]') !== null";
        for _ in 0..60 {
            if browser.ask(link).await == Value::Bool(true) {
                break;
            }
            browser.press("\u{e004}").await;
        }
        assert_eq!(
            browser.ask(link).await,
            Value::Bool(true),
            "a row's link is reached by Tab"
        );
        browser.press("\u{e007}").await;
        browser.shown("operation-id").await;
        browser.close().await;
    });
}

// Presses Tab until the element of this mark has the focus, and sees that the focus shows.
async fn tab_to(browser: &Browser, mark: &str) {
    for _ in 0..60 {
        if browser.focused().await == mark {
            let shows = "const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' || s.boxShadow !== 'none'";
            assert_eq!(
                browser.ask(shows).await,
                Value::Bool(true),
                "the focus on {mark} shows"
            );
            return;
        }
        browser.press("\u{e004}").await;
    }
    panic!("{mark} is not reached by Tab");
}

#[test]
fn every_page_is_right_in_both_schemes_and_at_every_width() {
    tests::run(async {
        let (session, browser) = signed_in().await;
        let (client, tenant) = session.fresh_tenant();
        let id = lively(session, &client).await;
        let overview = format!("{}/_oncegate/", session.operators().base());
        let operations = format!(
            "{}/_oncegate/operations?tenant={tenant}",
            session.operators().base()
        );
        let operation = format!("{}/_oncegate/operations/{id}", session.operators().base());
        let pages = [
            ("overview", &overview, "chart"),
            ("operations", &operations, "operations-table"),
            ("operation", &operation, "timeline"),
        ];
        for (name, url, mark) in pages {
            for scheme in ["light", "dark"] {
                for (width, height) in [(1280, 800), (320, 640), (2560, 1200)] {
                    browser.screen(width, height, scheme).await;
                    browser.goto(url).await;
                    browser.shown(mark).await;
                    browser
                        .screenshot(&format!("{name}-{scheme}-{width}"))
                        .await;
                    let overflow = browser
                        .ask("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
                        .await;
                    assert!(
                        overflow.as_i64().is_some_and(|overflow| overflow <= 0),
                        "{name} at {width}: {overflow} px too wide"
                    );
                    if width != 2560 {
                        assert_eq!(
                            browser.serious_findings().await,
                            Vec::<String>::new(),
                            "{name}, {scheme}, {width}"
                        );
                    }
                }
            }
        }
        browser.close().await;
    });
}

#[test]
fn the_sign_in_page_is_right_too() {
    tests::run(async {
        let (session, browser) = (gateway().await, Browser::start().await);
        for scheme in ["light", "dark"] {
            browser.screen(320, 640, scheme).await;
            browser
                .goto(&format!("{}/_oncegate/login", session.operators().base()))
                .await;
            browser.shown("login-token").await;
            browser.screenshot(&format!("login-{scheme}-320")).await;
            assert_eq!(
                browser.serious_findings().await,
                Vec::<String>::new(),
                "{scheme}"
            );
        }
        browser.close().await;
    });
}

// A tenant with one of everything; answers the id of an operation with a mismatch.
async fn lively(session: &Session, client: &tests::client::Client) -> String {
    let order = || client.post("/v1/orders").key(&key("order"));
    for _ in 0..12 {
        order().send().await.assert_created();
    }
    let call = order();
    let created = call.send().await;
    for _ in 0..3 {
        call.send().await;
    }
    call.json(&json!({ "amount": 3 })).send().await;
    order().plan(&Plan::cut(Cut::AfterEffect)).send().await;
    order().plan(&Plan::refuse(409)).send().await;
    let long = "checkout/".repeat(27);
    client
        .post("/v1/invoices")
        .key(&long)
        .plan(&Plan::status(402))
        .send()
        .await;
    assert_eq!(session.origin.seen_with_key(&long).len(), 1);
    created.operation()
}
