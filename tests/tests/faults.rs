//! Faults inside the gateway, planted behind the build feature `testing`: it answers, lives, and forgets nothing.

use std::time::Duration;
use tests::keys::key;
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route};
use tokio::sync::OnceCell;

// G: what passes unprotected is an exception with an end and a reason.
const BEST_EFFORT: &str =
    "tier = \"best-effort\"\ntier_until = \"2099-12-31\"\ntier_reason = \"a test\"";

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("faults")
                    .route("orders", &api_route("/v1/orders", ""))
                    .route("best-effort", &api_route("/v1/best-effort", BEST_EFFORT)),
            )
        })
        .await
}

#[test]
fn the_sql_store_in_a_real_object_keeps_the_contract_of_stores() {
    tests::run(async {
        let session = gateway().await;
        let answer = session
            .http()
            .post("/_oncegate/test/store-contract")
            .send()
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let cases = answer.json();
        let cases = cases.as_array().expect("a list of cases that passed");
        assert!(cases.len() >= 5, "too few cases to be the suite: {cases:?}");
        for case in cases {
            assert!(case.as_str().is_some_and(|name| !name.is_empty()), "{case}");
        }
    });
}

#[test]
fn a_panic_in_the_object_is_a_500_within_a_second_and_siblings_are_answered() {
    tests::run(async {
        let session = gateway().await;
        let (client, _tenant) = session.fresh_tenant();
        let gate = key("gate");
        let sibling = client
            .post("/v1/orders")
            .key(&key("sibling"))
            .plan(&Plan::gate(&gate))
            .start();
        session.origin.arrived(sibling.number).await;
        let call = client.post("/v1/orders").key(&key("panic"));
        for _ in 0..3 {
            let panicked = call
                .clone()
                .header("Oncegate-Test", "panic-in-object")
                .send()
                .await;
            panicked.assert_problem(500, "internal", "same-key");
            assert!(
                panicked.took < Duration::from_secs(1),
                "a panic took {:?}",
                panicked.took
            );
            assert_eq!(session.origin.seen(panicked.number).len(), 0);
        }
        // The object lives: it takes new work, and the sibling's claim is still there.
        call.send().await.assert_created();
        session.origin.open(&gate);
        sibling.answer().await.assert_created();
    });
}

#[test]
fn a_best_effort_route_passes_once_and_says_so_while_the_store_is_down() {
    // G, A4
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        for fault in ["begin-fails", "begin-unanswered"] {
            let key = key("best-effort");
            let call = client.post("/v1/best-effort").key(&key);
            let passed = call.clone().header("Oncegate-Test", fault).send().await;
            assert_eq!(
                (passed.status, passed.verdict()),
                (201, Some("unprotected")),
                "{fault}: {}",
                passed.text()
            );
            let seen = session.origin.seen(passed.number);
            assert_eq!(seen.len(), 1, "{fault}: sent once");
            assert_eq!(seen[0].key(), Some(key));
            assert_eq!(
                seen[0].header("oncegate-operation"),
                Some(passed.operation().as_str())
            );
            assert_eq!(seen[0].header("oncegate-tenant"), Some(tenant.as_str()));
            for name in ["oncegate-attempt", "oncegate-attempt-number"] {
                assert_eq!(seen[0].header(name), None, "{fault}: there is no claim");
            }
            // Nothing is kept: with the store back, the same key runs, and only then is it kept.
            let created = call.send().await;
            created.assert_created();
            assert_eq!(created.operation(), passed.operation());
            call.send().await.assert_replay_of(&created);
            assert_eq!(session.origin.seen_of(&created.operation()).len(), 2);
        }
    });
}

#[test]
fn a_best_effort_route_does_not_know_what_an_origin_did_that_gave_no_answer() {
    tests::run(async {
        let session = gateway().await;
        let call = session.client("acme").post("/v1/best-effort");
        let unheard = call
            .key(&key("unheard"))
            .plan(&Plan::cut(Cut::AfterEffect))
            .header("Oncegate-Test", "begin-fails")
            .send()
            .await;
        unheard.assert_problem(502, "outcome_unknown", "same-key");
        assert_eq!(unheard.verdict(), Some("unprotected"));
        assert_eq!(session.origin.effects_of(unheard.number), 1); // A4: not sent again
    });
}

#[test]
fn a_best_effort_route_lets_nothing_past_an_object_that_panics() {
    // A defect is no outage: each retry would meet it, and run.
    tests::run(async {
        let session = gateway().await;
        let call = session.client("acme").post("/v1/best-effort");
        let call = call.key(&key("panic"));
        let panicked = call.header("Oncegate-Test", "panic-in-object").send().await;
        panicked.assert_problem(500, "internal", "same-key");
        assert_eq!(session.origin.seen(panicked.number).len(), 0);
    });
}

#[test]
fn a_panic_in_the_worker_is_a_500_within_a_second() {
    tests::run(async {
        let session = gateway().await;
        // What a first request of all costs is not the panic's.
        session
            .client("acme")
            .post("/v1/orders")
            .key(&key("warm"))
            .send()
            .await
            .assert_created();
        let call = session.client("acme").post("/v1/orders").key(&key("panic"));
        let panicked = call
            .clone()
            .header("Oncegate-Test", "panic-in-worker")
            .send()
            .await;
        assert_eq!(panicked.status, 500, "{}", panicked.text());
        assert!(
            panicked.took < Duration::from_secs(1),
            "a panic took {:?}",
            panicked.took
        );
        call.send().await.assert_created();
    });
}

#[test]
fn the_hooks_are_not_in_what_is_deployed() {
    tests::run(async {
        let settings = Settings::new("deployed")
            .route("orders", &api_route("/v1/orders", ""))
            .production();
        let session = Session::start(settings).await;
        let client = session.client("acme");
        for fault in [
            "panic-in-object",
            "panic-in-worker",
            "begin-fails",
            "complete-fails",
            "begin-unanswered",
        ] {
            let call = client.post("/v1/orders").key(&key("deployed"));
            call.header("Oncegate-Test", fault)
                .send()
                .await
                .assert_created();
        }
        let contract = client.post("/_oncegate/test/store-contract").send().await;
        assert!(
            contract.status == 404 || contract.status == 405,
            "{} {}",
            contract.status,
            contract.text()
        );
        let rows = client
            .get("/_oncegate/test/rows?tenant=acme&route=orders&shard=0")
            .send()
            .await;
        assert_eq!(rows.status, 404, "{}", rows.text());
    });
}

#[test]
fn the_deployed_entry_point_runs_requests_to_their_end() {
    // A4: a client's hanging up is not signalled here, so what is built is looked at too.
    let path = tests::repository().join("build/edge/index.js");
    let script = std::fs::read_to_string(&path).expect("`cargo xtask build` makes it");
    assert!(
        script.contains("this.ctx.waitUntil("),
        "{} drops its work with the client",
        path.display()
    );
}
