//! Rows written are the bill (design, "Cost is part of the design"): each kind of call is counted in the object itself.
//!
//! Each test has a tenant, and so an object, of its own.

use serde_json::Value;
use std::time::Duration;
use tests::client::Client;
use tests::deadline::eventually;
use tests::keys::key;
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route};
use tokio::sync::OnceCell;

/// Operations in each measurement: one row too many for each shows however the counts are saved.
const OPERATIONS: u64 = 20;

// The request is kept with the claim, for the resolver to send (U5).
const RESUMED: &str = "retention = \"1s\"\non_unknown = \"resume\"\norigin_dedupes = true\ntimeout = \"1s\"\nlease = \"3s\"\nresolve_after = \"1s\"";

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("budgets")
                    .route("orders", &api_route("/v1/orders", ""))
                    .route("hasty", &api_route("/v1/hasty", "wait = \"0s\""))
                    .route("brief", &api_route("/v1/brief", "retention = \"1s\""))
                    .route("resumed", &api_route("/v1/resumed", RESUMED)),
            )
        })
        .await
}

struct Meter<'a> {
    session: &'a Session,
    client: Client,
    tenant: String,
    route: &'static str,
}

impl<'a> Meter<'a> {
    fn new(session: &'a Session, route: &'static str) -> Self {
        let (client, tenant) = session.fresh_tenant();
        Self {
            session,
            client,
            tenant,
            route,
        }
    }

    async fn read(&self) -> Value {
        let path = format!(
            "/_oncegate/test/rows?tenant={}&route={}&shard=0",
            self.tenant, self.route
        );
        let answer = self.session.http().get(&path).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    async fn rows(&self) -> u64 {
        self.read().await["rows_written"]
            .as_u64()
            .expect("a number of rows")
    }

    fn call(&self, name: &str) -> tests::client::Call {
        self.client.post(&format!("/v1/{}", self.route)).key(name)
    }

    // The object has migrated and is known to the fleet.
    async fn warm(&self) {
        self.call(&key("warm")).send().await.assert_created();
    }
}

#[test]
fn an_operation_writes_at_most_four_rows_in_its_whole_life() {
    tests::run(check_whole_lives("brief"));
}

#[test]
fn an_operation_whose_request_is_kept_writes_no_more_rows() {
    // U5
    tests::run(check_whole_lives("resumed"));
}

async fn check_whole_lives(route: &'static str) {
    let meter = Meter::new(gateway().await, route);
    meter.warm().await;
    let before = meter.rows().await;
    let names: Vec<String> = (0..OPERATIONS).map(|_| key("brief")).collect();
    for name in &names {
        meter.call(name).send().await.assert_created();
    }
    let kept = meter.rows().await - before;
    assert!(
        kept <= 4 * OPERATIONS,
        "claim and completion of {OPERATIONS} operations wrote {kept} rows"
    );
    assert!(
        kept >= 2 * OPERATIONS,
        "the meter is off: {kept} rows for {OPERATIONS} operations"
    );
    // Pruning is an alarm's work: after it, a key is free again, and nothing more is written.
    eventually("the alarm prunes", Duration::from_secs(30), || async {
        let tracked = meter.read().await["tracked"].as_u64();
        match tracked {
            Some(tracked) => (tracked == 0).then_some(()),
            None => (meter.rows().await - before > kept).then_some(()),
        }
    })
    .await;
    let life = meter.rows().await - before;
    // The warm-up's record is pruned with them.
    assert!(
        life <= 4 * (OPERATIONS + 1),
        "{OPERATIONS} whole lives wrote {life} rows"
    );
}

#[test]
fn an_unknown_outcome_that_the_resolver_settles_adds_two_rows() {
    // U5: claim, unknown, claim by the resolver, completion and pruning
    tests::run(async {
        let meter = Meter::new(gateway().await, "resumed");
        meter.warm().await;
        let before = meter.rows().await;
        let plan = Plan::cut(Cut::BeforeEffect).then(Plan::default());
        let call = meter.call(&key("resumed")).plan(&plan);
        let found = call.send().await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let path = format!("/_oncegate/operations/{}", found.operation());
        eventually(
            "the record is settled and pruned",
            Duration::from_secs(40),
            || async {
                let is_gone = meter.client.get(&path).send().await.status == 404;
                let sent = meter.session.origin.seen_of(&found.operation()).len();
                (is_gone && sent == 2).then_some(())
            },
        )
        .await;
        let life = eventually(
            "nothing is written any more",
            Duration::from_secs(10),
            || async {
                let written = meter.rows().await - before;
                (written >= 6).then_some(written)
            },
        )
        .await;
        // The warm-up's record is pruned with it.
        assert!(
            life <= 6 + 2,
            "a whole life with an unknown outcome wrote {life} rows"
        );
    });
}

#[test]
fn replays_write_nothing() {
    // P7
    tests::run(async {
        let meter = Meter::new(gateway().await, "orders");
        let call = meter.call(&key("done"));
        let first = call.send().await;
        first.assert_created();
        let before = meter.rows().await;
        for _ in 0..OPERATIONS {
            call.send().await.assert_replay_of(&first);
        }
        assert_eq!(meter.rows().await - before, 0, "a duplicate is a read");
    });
}

#[test]
fn conflicts_write_nothing() {
    tests::run(async {
        let session = gateway().await;
        let meter = Meter::new(session, "hasty");
        let gate = key("gate");
        let call = meter.call(&key("running")).plan(&Plan::gate(&gate));
        let held = call.start();
        session.origin.arrived(held.number).await;
        let before = meter.rows().await;
        for _ in 0..5 {
            call.send()
                .await
                .assert_problem(409, "in_progress", "same-key");
        }
        assert_eq!(meter.rows().await - before, 0, "a conflict is a read");
        session.origin.open(&gate);
        held.answer().await.assert_created();
    });
}

#[test]
fn a_mismatch_writes_one_row_for_each_other_fingerprint() {
    tests::run(async {
        let meter = Meter::new(gateway().await, "orders");
        let name = key("mismatch");
        meter.call(&name).send().await.assert_created();
        let before = meter.rows().await;
        for _ in 0..10 {
            let other = meter.call(&name).json(&serde_json::json!({ "amount": 1 }));
            other
                .send()
                .await
                .assert_problem(422, "idempotency_key_reused", "new-key");
        }
        let one = meter.rows().await - before;
        assert!(
            one <= 1,
            "one other fingerprint, ten times, wrote {one} rows"
        );
        for amount in 0..200 {
            let other = meter
                .call(&name)
                .json(&serde_json::json!({ "other": amount }));
            other
                .send()
                .await
                .assert_problem(422, "idempotency_key_reused", "new-key");
        }
        let bounded = meter.rows().await - before;
        assert!(
            bounded <= 64,
            "the log of other fingerprints is bounded: {bounded} rows"
        );
    });
}

#[test]
fn a_refusal_and_an_unknown_outcome_stay_within_the_budget() {
    tests::run(async {
        let meter = Meter::new(gateway().await, "orders");
        meter.warm().await;
        let before = meter.rows().await;
        for _ in 0..OPERATIONS {
            let refused = meter
                .call(&key("refused"))
                .plan(&Plan::refuse(409))
                .send()
                .await;
            assert_eq!(refused.verdict(), Some("released"));
        }
        let refused = meter.rows().await - before;
        assert!(
            refused <= 4 * OPERATIONS,
            "{OPERATIONS} refusals wrote {refused} rows"
        );
        for _ in 0..OPERATIONS {
            let cut = meter
                .call(&key("cut"))
                .plan(&Plan::cut(Cut::AfterEffect))
                .send()
                .await;
            cut.assert_problem(503, "outcome_unknown", "same-key");
        }
        let unknown = meter.rows().await - before - refused;
        assert!(
            unknown <= 4 * OPERATIONS,
            "{OPERATIONS} unknown outcomes wrote {unknown} rows"
        );
    });
}

#[test]
fn counts_and_alarms_cost_at_most_one_row_a_second_each() {
    tests::run(async {
        let meter = Meter::new(gateway().await, "orders");
        meter.warm().await;
        let counted = |value: &Value, name: &str| {
            value[name]
                .as_u64()
                .unwrap_or_else(|| panic!("no {name} in {value}"))
        };
        let (before, began) = (meter.read().await, std::time::Instant::now());
        for _ in 0..100 {
            meter.call(&key("counted")).send().await.assert_created();
        }
        let after = meter.read().await;
        let seconds = began.elapsed().as_secs() + 2;
        for name in ["rows_written_counts", "alarms_set"] {
            let spent = counted(&after, name) - counted(&before, name);
            assert!(spent <= seconds, "{name}: {spent} in {seconds} s");
        }
    });
}
