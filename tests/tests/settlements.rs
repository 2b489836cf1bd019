//! Settling by hand over HTTP: one and many, each with a preview, a reason and an entry in the log (U6).
//!
//! Not the pages that do the same (`settling`).

use serde_json::{Value, json};
use std::time::Duration;
use tests::client::{Answer, Call, Client};
use tests::deadline::eventually;
use tests::desk::Desk;
use tests::keys::key;
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{OPERATOR_TOKEN, Settings, VIEWER_TOKEN, api_route};
use tokio::sync::OnceCell;

/// A lease of three seconds runs out within this, and what follows it is done.
const SOON: Duration = Duration::from_secs(15);

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let brief = "timeout = \"1s\"\nlease = \"3s\"\nwait = \"0s\"";
    let resume = "on_unknown = \"resume\"\norigin_dedupes = true\ntimeout = \"1s\"\nlease = \"3s\"\nwait = \"0s\"";
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("settlements")
                    .route("orders", &api_route("/v1/orders", brief))
                    .route("captures", &api_route("/v1/captures", brief))
                    .route("resumed", &api_route("/v1/resumed", resume)),
            )
        })
        .await
}

/// A call whose outcome is unknown, and its operation's id. The lease of its attempt may still run.
async fn unknown(client: &Client, path: &str, plan: &Plan) -> (Call, String) {
    let call = client.post(path).key(&key("settle")).plan(plan);
    let answer = call.send().await;
    answer.assert_problem(503, "outcome_unknown", "same-key");
    (call, answer.operation())
}

fn order(operator: &Client, body: &Value) -> Call {
    operator
        .post("/_oncegate/operator/settlements")
        .header("Oncegate-Operator", "1")
        .header("Origin", operator.base())
        .json(body)
}

/// Orders it until no attempt's lease is in the way any more (U6).
async fn settled(operator: &Client, body: &Value) -> Value {
    eventually("the lease ends", SOON, || async {
        let answer = order(operator, body).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let done = answer.json();
        let results = done["results"].as_array().cloned().unwrap_or_default();
        let running = results.iter().any(|result| result["result"] == "running");
        (!running).then_some(done)
    })
    .await
}

fn results(done: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let results = done["results"].as_array().cloned().unwrap_or_default();
    results
        .iter()
        .map(|result| (text(&result["operation"]), text(&result["result"])))
        .collect()
}

#[test]
fn a_settlement_that_succeeded_is_what_every_retry_is_answered() {
    // U6, A1
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(OPERATOR_TOKEN).await;
        let desk = Desk::open(session).await;
        let (client, tenant) = session.fresh_tenant();
        let (call, id) = unknown(&client, "/v1/orders", &Plan::cut(Cut::AfterEffect)).await;
        let outcome =
            json!({ "status": 201, "content_type": "application/json", "body": "{\"id\":7}" });
        let body = json!({ "as": "succeeded", "outcome": outcome, "reason": "seen in the ledger", "operations": [id] });
        assert_eq!(
            results(&settled(&operator, &body).await),
            [(id.clone(), "settled".to_owned())]
        );
        let (first, second) = (call.send().await, call.send().await);
        assert_eq!(
            (first.status, first.text(), first.verdict()),
            (201, "{\"id\":7}".to_owned(), Some("replayed"))
        );
        second.assert_replay_of(&first);
        assert_eq!(first.header("content-type"), Some("application/json"));
        let log = desk.audit(&tenant, &id).await;
        assert_eq!(log.len(), 1, "{log:?}");
        assert_eq!(
            (&log[0]["act"], &log[0]["reason"], &log[0]["status"]),
            (
                &json!("succeeded"),
                &json!("seen in the ledger"),
                &json!(201)
            )
        );
        assert!(log[0]["who"].as_str().is_some_and(|who| !who.is_empty()));
        assert!(
            log[0]["before"]
                .as_str()
                .unwrap()
                .starts_with("unknown since")
        );
        assert!(
            log[0]["after"]
                .as_str()
                .unwrap()
                .starts_with("completed with status 201")
        );
        let status = client
            .get(&format!("/_oncegate/operations/{id}"))
            .send()
            .await
            .json();
        assert_eq!(
            (&status["state"], &status["outcome"]["body_text"]),
            (&json!("completed"), &json!("{\"id\":7}"))
        );
    });
}

#[test]
fn what_did_not_happen_is_forgotten_and_the_next_request_runs_under_a_higher_number() {
    // U6, L4
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(OPERATOR_TOKEN).await;
        let desk = Desk::open(session).await;
        let (client, tenant) = session.fresh_tenant();
        let (call, id) = unknown(&client, "/v1/orders", &Plan::cut(Cut::BeforeEffect)).await;
        call.send()
            .await
            .assert_problem(409, "outcome_unknown", "same-key");
        let body =
            json!({ "as": "did_not_happen", "reason": "no trace of it", "operations": [id] });
        assert_eq!(
            results(&settled(&operator, &body).await),
            [(id.clone(), "settled".to_owned())]
        );
        call.clone()
            .plan(&Plan::status(201))
            .send()
            .await
            .assert_created();
        let numbers: Vec<_> = session
            .origin
            .seen_of(&id)
            .iter()
            .map(|seen| {
                seen.header("oncegate-attempt-number")
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect();
        assert_eq!(numbers, ["1", "2"]);
        assert_eq!(desk.audit(&tenant, &id).await.len(), 1);
    });
}

#[test]
fn what_may_run_again_runs_with_the_next_retry_and_once_only() {
    // U6, U3 park
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(OPERATOR_TOKEN).await;
        let (client, _) = session.fresh_tenant();
        let (call, id) = unknown(&client, "/v1/orders", &Plan::cut(Cut::BeforeEffect)).await;
        let body = json!({ "as": "try_again", "reason": "the origin is back", "operations": [id] });
        settled(&operator, &body).await;
        let again = call.send().await;
        again.assert_problem(503, "outcome_unknown", "same-key");
        call.send()
            .await
            .assert_problem(409, "outcome_unknown", "same-key");
        assert_eq!(
            session.origin.seen_of(&id).len(),
            2,
            "one more run was allowed"
        );
    });
}

#[test]
fn a_retry_without_time_spends_no_permission() {
    // U6, L2: nothing is claimed for a client that would not hear of it
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(OPERATOR_TOKEN).await;
        let (client, _) = session.fresh_tenant();
        let (call, id) = unknown(&client, "/v1/orders", &Plan::cut(Cut::BeforeEffect)).await;
        let body = json!({ "as": "try_again", "reason": "the origin is back", "operations": [id] });
        settled(&operator, &body).await;
        let hasty = call.clone().header("Oncegate-Deadline", "20").send().await;
        hasty.assert_problem(503, "store_unavailable", "same-key");
        let call = call.plan(&Plan::status(201));
        call.send().await.assert_created();
        assert_eq!(session.origin.seen_of(&id).len(), 2);
    });
}

#[test]
fn a_preview_says_what_would_happen_and_changes_nothing() {
    // U6
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(OPERATOR_TOKEN).await;
        let desk = Desk::open(session).await;
        let (client, tenant) = session.fresh_tenant();
        let (call, id) = unknown(&client, "/v1/orders", &Plan::cut(Cut::AfterEffect)).await;
        let body = json!({ "as": "did_not_happen", "reason": "a look", "operations": [id], "preview": true });
        let done = settled(&operator, &body).await;
        assert_eq!(results(&done), [(id.clone(), "settled".to_owned())]);
        assert!(
            done["results"][0]["detail"]
                .as_str()
                .unwrap()
                .contains("the next request runs")
        );
        call.send()
            .await
            .assert_problem(409, "outcome_unknown", "same-key");
        assert!(desk.audit(&tenant, &id).await.is_empty());
    });
}

#[test]
fn many_are_settled_at_once_by_what_the_origin_last_said() {
    // U6: a rolling deploy's 502s
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(OPERATOR_TOKEN).await;
        let desk = Desk::open(session).await;
        let (client, tenant) = session.fresh_tenant();
        let mut bad_gateways = Vec::new();
        for path in ["/v1/orders", "/v1/captures", "/v1/orders"] {
            bad_gateways.push(unknown(&client, path, &Plan::status(502)).await.1);
        }
        let (_, other) = unknown(&client, "/v1/orders", &Plan::status(500)).await;
        let page = desk.get(&format!("unknown?tenant={tenant}")).await;
        assert_eq!(page["total"], 4);
        assert_eq!(
            (
                &page["groups"][0]["last_answer"],
                &page["groups"][0]["count"]
            ),
            (&json!("502"), &json!(3))
        );
        let ages: Vec<i64> = page["operations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["since"].as_i64().unwrap())
            .collect();
        assert!(ages.is_sorted(), "longest unknown first: {ages:?}");
        let body = json!({ "as": "did_not_happen", "reason": "the deploy", "where": { "tenant": tenant, "last_answer": "502" } });
        let mut done: Vec<_> = results(&settled(&operator, &body).await)
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        done.sort();
        // Those whose leases had ended were settled by an earlier round.
        let left = desk
            .get(&format!("unknown?tenant={tenant}&last_answer=502"))
            .await;
        assert_eq!(left["total"], 0);
        assert!(done.iter().all(|id| bad_gateways.contains(id)));
        for id in &bad_gateways {
            assert_eq!(desk.audit(&tenant, id).await.len(), 1, "{id}");
        }
        assert!(desk.audit(&tenant, &other).await.is_empty());
    });
}

#[test]
fn nothing_is_settled_under_a_live_lease_or_that_is_known() {
    // U6
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(OPERATOR_TOKEN).await;
        let (client, _) = session.fresh_tenant();
        let gate = key("gate");
        let call = client
            .post("/v1/resumed")
            .key(&key("live"))
            .plan(&Plan::gate(&gate));
        let running = call.start();
        let seen = session.origin.arrived(running.number).await;
        let id = seen.header("oncegate-operation").unwrap().to_owned();
        let body = json!({ "as": "did_not_happen", "reason": "too soon", "operations": [id] });
        let refused = order(&operator, &body).send().await;
        assert_eq!(
            results(&refused.json()),
            [(id.clone(), "running".to_owned())]
        );
        session.origin.open(&gate);
        running.answer().await.assert_created();
        let refused = order(&operator, &body).send().await;
        assert_eq!(
            results(&refused.json()),
            [(id.clone(), "nothing_to_settle".to_owned())]
        );
        call.send()
            .await
            .verdict()
            .filter(|verdict| *verdict == "replayed")
            .unwrap();
    });
}

#[test]
fn an_order_that_is_none_is_refused_with_what_is_wrong() {
    // X5, X3
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(OPERATOR_TOKEN).await;
        let id = format!("op_{}", "a".repeat(64));
        let rows: [(Value, &str); 11] = [
            (
                json!({ "as": "did_not_happen", "reason": "x", "operations": [id], "prewiew": true }),
                "prewiew",
            ),
            (
                json!({ "as": "did_not_happen", "reason": "x", "where": { "tenent": "acme", "last_answer": "502" } }),
                "tenent",
            ),
            (
                json!({ "as": "succeeded", "reason": "x", "operations": [id], "outcome": { "status": 201, "content-type": "x" } }),
                "content-type",
            ),
            (
                json!({ "as": "succeeded", "reason": "x", "operations": [id] }),
                "needs an outcome",
            ),
            (
                json!({ "as": "try_again", "reason": "x", "outcome": { "status": 200 }, "operations": [id] }),
                "only as",
            ),
            (
                json!({ "as": "succeeded", "reason": "x", "outcome": { "status": 99 }, "operations": [id] }),
                "99",
            ),
            (
                json!({ "as": "did_not_happen", "reason": "  ", "operations": [id] }),
                "reason",
            ),
            (
                json!({ "as": "did_not_happen", "reason": "x".repeat(501), "operations": [id] }),
                "501",
            ),
            (
                json!({ "as": "did_not_happen", "reason": "x" }),
                "operations",
            ),
            (
                json!({ "as": "forgive", "reason": "x", "operations": [id] }),
                "one of succeeded, did_not_happen, try_again",
            ),
            (
                json!({ "as": "did_not_happen", "reason": "x", "operations": vec![id.clone(); 201] }),
                "201",
            ),
        ];
        for (body, wrong) in rows {
            let answer = order(&operator, &body).send().await;
            answer.assert_problem(400, "request_malformed", "never");
            assert!(answer.text().contains(wrong), "{body}: {}", answer.text());
        }
        let unknown =
            json!({ "as": "did_not_happen", "reason": "x", "operations": [id, "nonsense"] });
        let done = order(&operator, &unknown).send().await.json();
        assert_eq!(
            results(&done)
                .into_iter()
                .map(|(_, result)| result)
                .collect::<Vec<_>>(),
            ["nothing_to_settle", "nothing_to_settle"]
        );
    });
}

#[test]
fn only_an_operator_on_our_own_pages_settles() {
    // X3
    tests::run(async {
        let session = gateway().await;
        let (viewer, operator) = (
            session.operator(VIEWER_TOKEN).await,
            session.operator(OPERATOR_TOKEN).await,
        );
        let body = json!({ "as": "did_not_happen", "reason": "x", "operations": ["op_x"] });
        let refused = |answer: Answer, code: &'static str, status: u16| {
            answer.assert_problem(
                status,
                code,
                if status == 401 { "same-key" } else { "never" },
            );
        };
        refused(order(&viewer, &body).send().await, "forbidden", 403);
        refused(
            order(&session.operators(), &body).send().await,
            "unauthenticated",
            401,
        );
        let path = "/_oncegate/operator/settlements";
        refused(
            operator.post(path).json(&body).send().await,
            "forbidden",
            403,
        );
        let foreign = operator.post(path).header("Oncegate-Operator", "1");
        let foreign = foreign.header("Origin", "https://elsewhere.example");
        refused(foreign.json(&body).send().await, "forbidden", 403);
        assert_eq!(order(&operator, &body).send().await.status, 200);
    });
}
