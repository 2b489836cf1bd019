//! What the operators' doors tell: sums, lists, one operation's story, and what retention forgets. The numbers that
//! the dashboard draws, asked for by themselves.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tests::client::{Answer, Call, Client};
use tests::deadline::eventually;
use tests::keys::{key, now_ms, uuid_v7};
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{OPERATOR_TOKEN, Settings, VIEWER_TOKEN, api_route, webhook_route};
use tests::signatures::{Job, sign_all};
use tokio::sync::OnceCell;

/// Counts are saved once a second, and the sums gather them from all objects.
const COUNTED: Duration = Duration::from_secs(15);

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let stripe =
        |path: &str, more: &str| webhook_route(path, "stripe", "STRIPE_WEBHOOK_SECRET", more);
    let resume = "on_unknown = \"resume\"\norigin_dedupes = true\ntimeout = \"1s\"\nlease = \"3s\"\nwait = \"0s\"";
    let excepted = "exclude = [{ pointer = \"/a\", until = \"2020-01-31\", reason = \"long past\" }, \
                    { pointer = \"/b\", until = \"2099-01-31\", reason = \"still granted\" }]";
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("operator")
                    .route("orders", &api_route("/v1/orders", "wait = \"0s\""))
                    .route("resumed", &api_route("/v1/resumed", resume))
                    .route("brief", &api_route("/v1/brief", "retention = \"2s\""))
                    .route("excepted", &api_route("/v1/excepted", excepted))
                    .route(
                        "stripe",
                        &stripe("/webhooks/stripe", "tenant_name = \"sender\""),
                    )
                    .route(
                        "hasty",
                        &stripe(
                            "/webhooks/hasty",
                            "tenant_name = \"hasty-sender\"\ntimeout = \"1s\"\nlease = \"3s\"",
                        ),
                    ),
            )
        })
        .await
}

async fn overview(operator: &Client, tenant: &str) -> Value {
    let answer = operator
        .get(&format!(
            "/_oncegate/operator/overview?range=1h&tenant={tenant}"
        ))
        .send()
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

// Waits until the sums of a tenant hold so many calls, and answers them.
async fn sums_of(operator: &Client, tenant: &str, calls: u64) -> Value {
    let mut last = Value::Null;
    for _ in 0..COUNTED.as_secs() * 5 {
        last = overview(operator, tenant).await;
        let counted: u64 = last["totals"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(_, sum)| sum.as_u64())
            .sum();
        assert!(
            counted <= calls,
            "P8: {counted} calls counted of {calls}: {last}"
        );
        if counted == calls {
            return last;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("P8: {calls} calls are not counted within {COUNTED:?}: {last}");
}

async fn listed(operator: &Client, query: &str) -> Value {
    let answer = operator
        .get(&format!("/_oncegate/operator/operations?{query}"))
        .send()
        .await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text());
    answer.json()
}

fn keys_of(page: &Value) -> Vec<String> {
    let rows = page["operations"].as_array().cloned().unwrap_or_default();
    rows.iter()
        .map(|row| row["key"].as_str().unwrap_or_default().to_owned())
        .collect()
}

async fn detail(operator: &Client, id: &str) -> Value {
    let answer = operator
        .get(&format!("/_oncegate/operator/operations/{id}"))
        .send()
        .await;
    assert_eq!(answer.status, 200, "{id}: {}", answer.text());
    answer.json()
}

#[test]
fn every_call_is_counted_exactly_once_by_how_it_ended() {
    // P8
    tests::run(async {
        let session = gateway().await;
        let (operator, (client, tenant)) =
            (session.operator(VIEWER_TOKEN).await, session.fresh_tenant());
        let call = || client.post("/v1/orders").key(&key("sum"));
        let first = call();
        first.send().await.assert_created();
        for _ in 0..4 {
            assert_eq!(first.send().await.verdict(), Some("replayed"));
        }
        assert_eq!(
            first
                .clone()
                .json(&json!({ "amount": 2 }))
                .send()
                .await
                .status,
            422
        );
        assert_eq!(
            call().plan(&Plan::refuse(409)).send().await.verdict(),
            Some("released")
        );
        let unknown = call().plan(&Plan::cut(Cut::AfterEffect));
        assert_eq!(unknown.send().await.status, 503);
        assert_eq!(unknown.send().await.status, 409);
        let gate = key("gate");
        let running = call().plan(&Plan::gate(&gate));
        let held = running.start();
        session.origin.arrived(held.number).await;
        assert_eq!(running.send().await.status, 409);
        session.origin.open(&gate);
        held.answer().await.assert_created();
        assert_eq!(
            client
                .post("/v1/orders")
                .key(&uuid_v7(-1_000 * 3_600_000))
                .send()
                .await
                .status,
            410
        );
        assert_eq!(client.post("/v1/orders").send().await.status, 400);
        let sums = sums_of(&operator, &tenant, 13).await["totals"].clone();
        let rows = [
            ("applied", 2),
            ("replayed", 4),
            ("mismatches", 1),
            ("released", 1),
            ("unknown", 2),
            ("conflicts", 1),
            ("expired", 1),
            ("refused", 1),
            ("failed", 0),
            ("unprotected", 0),
            ("superseded", 0),
        ];
        for (name, expected) in rows {
            assert_eq!(sums[name], expected, "{name}: {sums}");
        }
    });
}

#[test]
fn live_state_rises_and_falls() {
    // P8, U2
    tests::run(async {
        let session = gateway().await;
        let (operator, (client, tenant)) =
            (session.operator(VIEWER_TOKEN).await, session.fresh_tenant());
        let gate = key("gate");
        let held = client
            .post("/v1/orders")
            .key(&key("live"))
            .plan(&Plan::gate(&gate))
            .start();
        session.origin.arrived(held.number).await;
        let unknown = client
            .post("/v1/orders")
            .key(&key("live"))
            .plan(&Plan::cut(Cut::AfterEffect));
        assert_eq!(unknown.send().await.status, 503);
        let live = overview(&operator, &tenant).await["live"].clone();
        assert_eq!(
            (&live["running"], &live["unknown"]),
            (&json!(1), &json!(1)),
            "{live}"
        );
        let oldest = live["unknown_oldest"].as_u64().expect("since when");
        assert!(now_ms().abs_diff(oldest) < 60_000, "{live}");
        session.origin.open(&gate);
        held.answer().await.assert_created();
        let live = overview(&operator, &tenant).await["live"].clone();
        assert_eq!(
            (&live["running"], &live["unknown"]),
            (&json!(0), &json!(1)),
            "{live}"
        );
    });
}

#[test]
fn a_list_is_narrowed_by_each_of_its_filters() {
    tests::run(async {
        let session = gateway().await;
        let (operator, (client, tenant)) =
            (session.operator(VIEWER_TOKEN).await, session.fresh_tenant());
        let began = now_ms();
        let names: Vec<String> = (0..3).map(|_| key("list")).collect();
        let done = client.post("/v1/orders").key(&names[0]).send().await;
        client
            .post("/v1/resumed")
            .key(&names[1])
            .send()
            .await
            .assert_created();
        client
            .post("/v1/orders")
            .key(&names[2])
            .plan(&Plan::cut(Cut::AfterEffect))
            .send()
            .await;
        let own = format!("tenant={tenant}");
        let rows: [(String, &[usize]); 10] = [
            (own.clone(), &[0, 1, 2]),
            (format!("{own}&state=completed"), &[0, 1]),
            (format!("{own}&state=indeterminate"), &[2]),
            (format!("{own}&state=in_progress"), &[]),
            (format!("{own}&route=resumed"), &[1]),
            (format!("{own}&route=none"), &[]),
            (format!("{own}&q={}", names[1]), &[1]),
            (format!("{own}&q={}", done.operation()), &[0]),
            (format!("{own}&from={}", now_ms() + 60_000), &[]),
            (
                format!("{own}&from={began}&to={}", now_ms() + 60_000),
                &[0, 1, 2],
            ),
        ];
        for (query, expected) in rows {
            let found: BTreeSet<String> = keys_of(&listed(&operator, &query).await)
                .into_iter()
                .collect();
            let expected: BTreeSet<String> = expected.iter().map(|at| names[*at].clone()).collect();
            assert_eq!(found, expected, "{query}");
        }
    });
}

#[test]
fn pages_follow_each_other_without_gap_or_overlap() {
    tests::run(async {
        let session = gateway().await;
        let (operator, (client, tenant)) =
            (session.operator(VIEWER_TOKEN).await, session.fresh_tenant());
        let mut expected = BTreeSet::new();
        for at in 0..120 {
            let name = key("pages");
            let path = if at % 3 == 0 {
                "/v1/resumed"
            } else {
                "/v1/orders"
            };
            client.post(path).key(&name).send().await.assert_created();
            expected.insert(name);
        }
        let (mut found, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page = listed(&operator, &format!("tenant={tenant}&cursor={cursor}")).await;
            found.extend(keys_of(&page));
            pages += 1;
            match page["next"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => break,
            }
        }
        assert!(pages > 1, "120 operations are more than a page");
        assert_eq!(found.len(), expected.len(), "no operation twice");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
    });
}

#[test]
fn one_operations_story_is_whole() {
    // L3, U2, M
    tests::run(async {
        let session = gateway().await;
        let (operator, (client, tenant)) = (
            session.operator(OPERATOR_TOKEN).await,
            session.fresh_tenant(),
        );
        let call = client.post("/v1/resumed").key(&key("story"));
        let found = call.clone().plan(&Plan::cut(Cut::AfterEffect)).send().await;
        assert_eq!(found.status, 503);
        let open = detail(&operator, &found.operation()).await;
        assert_eq!(open["row"]["state"], "indeterminate", "{open}");
        assert!(
            open["unknown"]["why"]
                .as_str()
                .is_some_and(|why| !why.is_empty()),
            "{open}"
        );
        let (resumed, calls) = resumed(&call).await;
        call.clone()
            .json(&json!({ "amount": 9 }))
            .send()
            .await
            .assert_problem(422, "idempotency_key_reused", "new-key");
        let story = detail(&operator, &resumed.operation()).await;
        let endings: Vec<&str> = story["attempts"]
            .as_array()
            .expect("attempts")
            .iter()
            .filter_map(|one| one["ending"].as_str())
            .collect();
        assert_eq!(endings, ["unknown", "completed"], "{story}");
        assert_eq!(
            (&story["row"]["state"], &story["row"]["tenant"]),
            (&json!("completed"), &json!(tenant)),
            "{story}"
        );
        assert_eq!(
            story["others"].as_array().map(Vec::len),
            Some(1),
            "both fingerprints: {story}"
        );
        assert_ne!(story["others"][0]["fingerprint"], story["fingerprint"]);
        assert_eq!(story["outcome"]["status"], 201, "{story}");
        assert_eq!(story["outcome"]["body_text"], resumed.text(), "{story}");
        let sums = sums_of(&operator, &tenant, 1 + calls + 1).await;
        assert_eq!(sums["by_route"][0]["takeovers"], 1, "{sums}");
    });
}

// Retries until it ran again, and tells how many calls that took.
async fn resumed(call: &Call) -> (Answer, u64) {
    let calls = AtomicU64::new(0);
    let answer = eventually(
        "the operation is resumed",
        Duration::from_secs(15),
        || async {
            calls.fetch_add(1, Ordering::Relaxed);
            let answer = call.send().await;
            (answer.status == 201).then_some(answer)
        },
    )
    .await;
    (answer, calls.into_inner())
}

#[test]
fn a_changed_redelivery_and_a_second_run_are_shown() {
    // F5, U3
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(VIEWER_TOKEN).await;
        let event = |id: &str, version: u32| json!({ "id": id, "object": "event", "type": "charge.succeeded", "pending_webhooks": version });
        let (changed, twice) = (key("evt").replace('-', "_"), key("evt").replace('-', "_"));
        let jobs = vec![
            Job::stripe(&changed, &event(&changed, 1)),
            Job::stripe(&changed, &event(&changed, 0)),
            Job::stripe(&twice, &event(&twice, 1)),
        ];
        let signed = sign_all(jobs).await;
        let deliver = |path: &str, at: usize| {
            session
                .http()
                .post(path)
                .body(signed[at].payload.clone(), "application/json")
                .headers(&signed[at].headers)
        };
        let first = deliver("/webhooks/stripe", 0).send().await;
        assert_eq!(
            deliver("/webhooks/stripe", 1)
                .send()
                .await
                .header("idempotent-replayed"),
            Some("true")
        );
        let story = detail(&operator, &first.operation()).await;
        assert_eq!(
            story["others"].as_array().map(Vec::len),
            Some(1),
            "changed on redelivery: {story}"
        );
        assert_eq!(
            (&story["row"]["kind"], &story["may_have_run_twice"]),
            (&json!("webhook"), &json!(false)),
            "{story}"
        );
        let sums = sums_of(&operator, "sender", 2).await;
        assert_eq!(
            (&sums["by_route"][0]["changed"], &sums["totals"]["replayed"]),
            (&json!(1), &json!(1)),
            "{sums}"
        );
        let unknown = deliver("/webhooks/hasty", 2)
            .plan(&Plan::cut(Cut::AfterEffect))
            .send()
            .await;
        assert_eq!(unknown.status, 503);
        resumed(&deliver("/webhooks/hasty", 2)).await;
        let story = detail(&operator, &unknown.operation()).await;
        assert_eq!(story["may_have_run_twice"], true, "{story}");
    });
}

#[test]
fn what_is_past_its_retention_is_gone_and_its_number_is_not() {
    // P5, R1, L4
    tests::run(async {
        let session = gateway().await;
        let (operator, (client, tenant)) =
            (session.operator(VIEWER_TOKEN).await, session.fresh_tenant());
        let call = client.post("/v1/brief").key(&key("brief"));
        let first = call.send().await;
        first.assert_created();
        call.send().await.assert_replay_of(&first);
        let again = eventually("the record expires", Duration::from_secs(15), || async {
            let answer = call.send().await;
            (answer.verdict() == Some("created")).then_some(answer)
        })
        .await;
        let number = |answer: &Answer| session.origin.seen(answer.number)[0].attempt_number();
        assert!(
            number(&again) > number(&first),
            "L4: the number rises across an expiry"
        );
        assert_eq!(
            again.operation(),
            first.operation(),
            "L6: the same operation has the same id, always"
        );
        eventually(
            "pruning lets tracked fall",
            Duration::from_mins(1),
            || async {
                // The number is as of the last save, so alone it may be older than the record.
                let live = overview(&operator, &tenant).await["live"].clone();
                let listed = listed(&operator, &format!("tenant={tenant}")).await;
                (live["tracked"] == 0 && keys_of(&listed).is_empty()).then_some(())
            },
        )
        .await;
    });
}

#[test]
fn exceptions_are_listed_and_flagged_once_past() {
    // G
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(VIEWER_TOKEN).await;
        let exceptions = overview(&operator, "").await["exceptions"].clone();
        let found: Vec<(&str, bool)> = exceptions
            .as_array()
            .expect("a list")
            .iter()
            .filter(|each| each["route"] == "excepted")
            .filter_map(|each| Some((each["reason"].as_str()?, each["overdue"].as_bool()?)))
            .collect();
        assert_eq!(
            found,
            [("long past", true), ("still granted", false)],
            "{exceptions}"
        );
    });
}

#[test]
fn a_question_that_makes_no_sense_is_refused() {
    // X5
    tests::run(async {
        let session = gateway().await;
        let operator = session.operator(VIEWER_TOKEN).await;
        let answer = operator
            .get("/_oncegate/operator/overview?range=1y")
            .send()
            .await;
        answer.assert_problem(400, "request_malformed", "never");
        for query in ["cursor=nonsense", "state=nonsense", "from=yesterday"] {
            let answer = operator
                .get(&format!("/_oncegate/operator/operations?{query}"))
                .send()
                .await;
            answer.assert_problem(400, "request_malformed", "never");
        }
        operator
            .get("/_oncegate/operator/operations/nonsense")
            .send()
            .await
            .assert_problem(404, "operation_not_found", "never");
    });
}
