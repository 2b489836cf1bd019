//! U5 on the wire: what an object does by itself about outcomes that nobody knows, without any request.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tests::attempt::Attempt;
use tests::client::{Answer, Call, Client};
use tests::deadline::{eventually, holds};
use tests::desk::Desk;
use tests::keys::key;
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route, webhook_route};
use tests::signatures::{Job, sign_all};
use tokio::sync::OnceCell;

const CREDENTIAL: &str = "Bearer of-the-gateway-93aa";
/// So long may the resolver take: the lease, its pause, and the alarm's tick.
const RESOLVED: Duration = Duration::from_secs(25);

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let hasty = "timeout = \"1s\"\nlease = \"3s\"\nresolve_after = \"1s\"\nresolver_credential = \"SAMPLE_CREDENTIAL\"";
    let resume =
        format!("{hasty}\non_unknown = \"resume\"\norigin_dedupes = true\nresolve_tries = 2");
    let many = resume.replace("resolve_tries = 2", "resolve_tries = 8");
    let slow = resume
        .replace("timeout = \"1s\"", "timeout = \"14s\"")
        .replace("lease = \"3s\"", "lease = \"16s\"");
    let probe = format!(
        "{hasty}\non_unknown = \"probe\"\nprobe = {{ path = \"/by-operation/{{operation}}\" }}\nresolve_tries = 2"
    );
    let park = format!("{hasty}\non_unknown = \"park\"");
    let stripe = webhook_route("/webhooks/stripe", "stripe", "STRIPE_WEBHOOK_SECRET", hasty);
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("resolver")
                    .ticking()
                    .secret("SAMPLE_CREDENTIAL", CREDENTIAL)
                    .route("resumed", &api_route("/v1/resumed", &resume))
                    .route("many", &api_route("/v1/many", &many))
                    .route("slow", &api_route("/v1/slow", &slow))
                    .route("probed", &api_route("/v1/probed", &probe))
                    .route("parked", &api_route("/v1/parked", &park))
                    .route("stripe", &stripe),
            )
        })
        .await
}

// A request whose first attempt nobody heard of.
async fn unheard(call: &Call, plan: &Plan) -> Answer {
    let found = call.clone().plan(plan).send().await;
    found.assert_problem(503, "outcome_unknown", "same-key");
    found
}

async fn status(client: &Client, operation: &str) -> Value {
    let answer = client
        .get(&format!("/_oncegate/operations/{operation}"))
        .send()
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

// Waits until the object has brought it to an end. No request of its key comes meanwhile.
async fn resolved(client: &Client, operation: &str) -> Value {
    eventually("the object settles it by itself", RESOLVED, || async {
        let status = status(client, operation).await;
        (status["state"] == "completed").then_some(status)
    })
    .await
}

async fn needs_a_person(desk: &Desk, tenant: &str, operation: &str) -> Value {
    eventually("the operation needs a person", RESOLVED, || async {
        let unknown = desk.unknown(tenant, operation).await;
        (unknown["next"] == "person").then_some(unknown)
    })
    .await
}

// Waits until the sums tell of so many sends, and of so many operations given up.
async fn counted(desk: &Desk, tenant: &str, sends: u64, gave_up: u64) {
    let began = Instant::now();
    eventually("the resolver is counted", RESOLVED * 2, || async {
        let settled = desk.settled(tenant).await;
        let is_so = settled["resolver_sends"] == sends && settled["resolver_gave_up"] == gave_up;
        assert!(is_so || began.elapsed() < RESOLVED, "{settled}");
        is_so.then_some(())
    })
    .await;
}

#[test]
fn the_object_sends_the_stored_request_under_its_own_credential() {
    // U5, L4
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let body: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let call = client
            .post("/v1/resumed?page=a%20b&empty=")
            .key(&key("stored"))
            .body(body.clone(), "application/octet-stream")
            .header("Authorization", "Basic of-the-caller")
            .header("Cookie", "session=of-the-caller")
            .header("X-Trace", "kept");
        let lost = Plan::cut(Cut::BeforeEffect).then(Plan::default());
        let call = call.plan(&lost);
        let found = unheard(&call, &lost).await;
        let operation = found.operation();
        let told = resolved(&client, &operation).await;
        assert_eq!(told["outcome_status"], 201, "{told}");
        let sent = session.origin.seen_of(&operation);
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[0].header("authorization"), Some("Basic of-the-caller"));
        assert_eq!(
            (&sent[1].method, &sent[1].target),
            (&sent[0].method, &sent[0].target)
        );
        assert_eq!(sent[1].body, body);
        assert_eq!(sent[1].attempt_number(), sent[0].attempt_number() + 1);
        let differ = [
            "oncegate-attempt",
            "oncegate-attempt-number",
            "oncegate-deadline",
        ];
        let of_the_caller = ["authorization", "cookie", "x-api-key"];
        let equal = |at: usize| {
            let mut headers = sent[at].headers.clone();
            headers.retain(|(name, _)| {
                !differ.contains(&name.as_str()) && !of_the_caller.contains(&name.as_str())
            });
            headers.sort();
            headers
        };
        assert_eq!(equal(0), equal(1));
        assert!(equal(1).contains(&("x-trace".to_owned(), "kept".to_owned())));
        assert_eq!(sent[1].all("authorization"), [CREDENTIAL]);
        for name in ["cookie", "x-api-key"] {
            assert_eq!(sent[1].header(name), None, "{name}");
        }
        assert_ne!(
            sent[1].header("oncegate-attempt"),
            sent[0].header("oncegate-attempt")
        );
        let left: u64 = sent[1]
            .header("oncegate-deadline")
            .and_then(|text| text.parse().ok())
            .expect("milliseconds");
        assert!((1..=1000).contains(&left), "{left}");
        // A late retry is answered from the record, and nothing runs again.
        let retry = call.send().await;
        assert_eq!(
            (retry.status, retry.verdict()),
            (201, Some("replayed")),
            "{}",
            retry.text()
        );
        call.send().await.assert_replay_of(&retry);
        assert_eq!(session.origin.seen_of(&operation).len(), 2);
        assert_eq!(session.origin.effects_of(found.number), 1);
        counted(&Desk::open(session).await, &tenant, 1, 0).await;
    });
}

#[test]
fn after_its_tries_the_operation_needs_a_person() {
    // U5
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let call = client.post("/v1/resumed").key(&key("tries"));
        let found = unheard(&call, &Plan::cut(Cut::AfterEffect)).await;
        let desk = Desk::open(session).await;
        let unknown = needs_a_person(&desk, &tenant, &found.operation()).await;
        assert_eq!(
            (&unknown["tries"], &unknown["last_answer"]),
            (&json!(2), &json!("broken-line")),
            "{unknown}"
        );
        assert_eq!(
            session.origin.seen_of(&found.operation()).len(),
            3,
            "its caller's attempt and two tries"
        );
        let numbers: Vec<u64> = session
            .origin
            .seen_of(&found.operation())
            .iter()
            .map(tests::origin::Seen::attempt_number)
            .collect();
        assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
        holds(
            "nothing is sent once a person is needed",
            Duration::from_secs(4),
            || session.origin.seen_of(&found.operation()).len() == 3,
        )
        .await;
        counted(&desk, &tenant, 2, 1).await;
        // The caller's own retry may still run it, as the route says.
        call.until_known().await.assert_created();
    });
}

#[test]
fn a_request_that_is_too_large_to_keep_needs_a_person_at_once() {
    // U5, X5
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let call = client
            .post("/v1/resumed")
            .key(&key("large"))
            .body(vec![b'x'; 1 << 20], "text/plain");
        let found = unheard(&call, &Plan::cut(Cut::BeforeEffect)).await;
        let unknown = needs_a_person(&Desk::open(session).await, &tenant, &found.operation()).await;
        assert_eq!(unknown["tries"], 0, "{unknown}");
        assert_eq!(session.origin.seen_of(&found.operation()).len(), 1);
        call.until_known().await.assert_created();
    });
}

#[test]
fn an_origin_that_is_down_is_left_alone() {
    // U5, S1 4.5: the breaker and the budget, counted at the origin.
    tests::run(async {
        let session = gateway().await;
        let (client, _tenant) = session.fresh_tenant();
        let calls: Vec<Call> = (0..12)
            .map(|_| {
                client
                    .post("/v1/many")
                    .key(&key("down"))
                    .plan(&Plan::cut(Cut::BeforeEffect))
            })
            .collect();
        let mut operations = Vec::new();
        for call in &calls[..4] {
            operations.push(
                unheard(call, &Plan::cut(Cut::BeforeEffect))
                    .await
                    .operation(),
            );
        }
        let sends = || {
            operations
                .iter()
                .map(|operation| session.origin.seen_of(operation).len() - 1)
                .sum::<usize>()
        };
        eventually("the resolver tries", RESOLVED, || async {
            (sends() > 0).then_some(())
        })
        .await;
        // A start allows four sends, four requests earn none, and the fifth failure in a row opens the breaker.
        holds("the breaker is open", Duration::from_secs(8), || {
            sends() <= 4
        })
        .await;
        let before = sends();
        for call in &calls[4..] {
            operations.push(
                unheard(call, &Plan::cut(Cut::BeforeEffect))
                    .await
                    .operation(),
            );
        }
        let sends = || {
            operations
                .iter()
                .map(|operation| session.origin.seen_of(operation).len() - 1)
                .sum::<usize>()
        };
        holds(
            "more unknown outcomes are no reason to send more",
            Duration::from_secs(6),
            || sends() <= before + 1,
        )
        .await;
    });
}

#[test]
fn the_object_asks_by_itself_and_settles() {
    // U3, U5
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let call = client.post("/v1/probed").key(&key("asked"));
        let found = unheard(&call, &Plan::cut(Cut::AfterEffect)).await;
        let operation = found.operation();
        resolved(&client, &operation).await;
        let probes = session.origin.probes_of(&operation);
        assert_eq!(probes.len(), 1);
        assert_eq!(
            (
                probes[0].header("authorization"),
                probes[0].header("oncegate-tenant")
            ),
            (Some(CREDENTIAL), Some(tenant.as_str()))
        );
        let retry = call.send().await;
        assert_eq!((retry.status, retry.verdict()), (201, Some("replayed")));
        assert_eq!(session.origin.effects_of(found.number), 1);
        // What it finds not to have run is free for the next request, and it never runs it itself.
        let call = client.post("/v1/probed").key(&key("asked"));
        let lost = unheard(&call, &Plan::cut(Cut::BeforeEffect))
            .await
            .operation();
        eventually("the record is forgotten", RESOLVED, || async {
            let answer = client
                .get(&format!("/_oncegate/operations/{lost}"))
                .send()
                .await;
            (answer.status == 404).then_some(())
        })
        .await;
        assert_eq!(
            (
                session.origin.probes_of(&lost).len(),
                session.origin.seen_of(&lost).len()
            ),
            (1, 1)
        );
        call.send().await.assert_created();
    });
}

#[test]
fn asked_in_vain_the_operation_needs_a_person_too() {
    // U5
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let call = client.post("/v1/probed").key(&key("vain"));
        let operation = unheard(&call, &Plan::cut(Cut::AfterEffect))
            .await
            .operation();
        session.origin.answer_probes(&operation, Plan::refuse(404));
        let desk = Desk::open(session).await;
        let unknown = needs_a_person(&desk, &tenant, &operation).await;
        assert_eq!(unknown["tries"], 2, "{unknown}");
        assert_eq!(session.origin.probes_of(&operation).len(), 2);
        // A retry may ask again, and then the origin's word counts.
        session.origin.answer_probes_truly(&operation);
        let settled = call.until_known().await;
        assert_eq!(settled.verdict(), Some("replayed"));
    });
}

#[test]
fn nothing_is_sent_where_the_route_does_not_say_so() {
    // U3 park, U3 rerun
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let parked = unheard(
            &client.post("/v1/parked").key(&key("parked")),
            &Plan::cut(Cut::AfterEffect),
        )
        .await;
        let event = key("evt").replace('-', "_");
        let body = json!({ "id": event, "object": "event", "type": "charge.succeeded" });
        let signed = sign_all(vec![Job::stripe(&event, &body)]).await;
        let delivery = session
            .http()
            .post("/webhooks/stripe")
            .body(signed[0].payload.clone(), "application/json")
            .headers(&signed[0].headers)
            .plan(&Plan::cut(Cut::AfterEffect))
            .send()
            .await;
        assert_eq!(delivery.status, 503, "{}", delivery.text());
        let desk = Desk::open(session).await;
        holds("nothing is sent", Duration::from_secs(6), || {
            [&parked, &delivery]
                .iter()
                .all(|found| session.origin.seen_of(&found.operation()).len() == 1)
        })
        .await;
        assert_eq!(
            desk.unknown(&tenant, &parked.operation()).await["next"],
            "person"
        );
        assert_eq!(
            desk.unknown("default", &delivery.operation()).await["next"],
            "retry"
        );
    });
}

#[test]
fn what_a_send_of_the_resolver_leaves_open_is_tried_again() {
    // U4, U5: refused the second time, and done the third.
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let refused = Plan::refuse(429).then(Plan::default());
        let plan = Plan::cut(Cut::AfterEffect).then(refused);
        let call = client.post("/v1/resumed").key(&key("open"));
        let operation = unheard(&call, &plan).await.operation();
        resolved(&client, &operation).await;
        assert_eq!(session.origin.seen_of(&operation).len(), 3);
        assert_eq!(call.send().await.verdict(), Some("replayed"));
        counted(&Desk::open(session).await, &tenant, 2, 0).await;
    });
}

#[test]
fn an_origin_may_work_on_after_a_send_of_the_resolver() {
    // L5, U5
    tests::run(async {
        let session = gateway().await;
        let (client, _tenant) = session.fresh_tenant();
        let plan = Plan::cut(Cut::BeforeEffect).then(Plan::pending());
        let call = client.post("/v1/resumed").key(&key("pending"));
        let operation = unheard(&call, &plan).await.operation();
        let sent = eventually("the object sends it", RESOLVED, || async {
            session.origin.seen_of(&operation).get(1).cloned()
        })
        .await;
        let done = Attempt::of(session, &sent)
            .complete(201, "text/plain", "made")
            .await;
        assert_eq!(done.status, 204, "{}", done.text());
        let retry = call.send().await;
        assert_eq!(
            (retry.status, retry.verdict(), retry.text().as_str()),
            (201, Some("replayed"), "made")
        );
    });
}

#[test]
fn a_retry_that_meets_the_resolver_waits_for_it() {
    // L1, U3
    tests::run(async {
        let session = gateway().await;
        let (client, _tenant) = session.fresh_tenant();
        let gate = key("gate");
        let plan = Plan::cut(Cut::BeforeEffect).then(Plan::gate(&gate));
        let sent = client.post("/v1/resumed").key(&key("meets"));
        let operation = unheard(&sent, &plan).await.operation();
        eventually("the object sends it", RESOLVED, || async {
            (session.origin.seen_of(&operation).len() == 2).then_some(())
        })
        .await;
        let retry = sent.start();
        session.origin.open(&gate);
        let answer = retry.answer().await;
        assert_eq!(
            (answer.status, answer.verdict()),
            (201, Some("replayed")),
            "{}",
            answer.text()
        );
        assert_eq!(session.origin.seen_of(&operation).len(), 2);

        let asked = client.post("/v1/probed").key(&key("meets"));
        let operation = unheard(&asked, &Plan::cut(Cut::AfterEffect))
            .await
            .operation();
        let question = key("gate");
        let made = Plan {
            gate: Some(question.clone()),
            ..Plan::refuse(200)
        };
        session
            .origin
            .answer_probes(&operation, made.with_header("Oncegate-Outcome", "final"));
        session.origin.probed(&operation).await;
        let retry = asked.start();
        session.origin.open(&question);
        let answer = retry.answer().await;
        assert_eq!(
            (answer.status, answer.verdict()),
            (200, Some("replayed")),
            "{}",
            answer.text()
        );
        assert_eq!(session.origin.probes_of(&operation).len(), 1);
    });
}

#[test]
fn an_idle_object_wakes_for_what_is_due_and_stays_for_a_slow_origin() {
    // U5: an object without requests is put to sleep after ten seconds; no request comes here meanwhile.
    tests::run(async {
        let session = gateway().await;
        let (client, _tenant) = session.fresh_tenant();
        let plan = Plan::cut(Cut::BeforeEffect).then(Plan::delay_ms(12_000));
        let call = client.post("/v1/slow").key(&key("slow"));
        let operation = unheard(&call, &plan).await.operation();
        let within = Duration::from_secs(50);
        eventually("the origin has done it", within, || async {
            (session.origin.effects_of_operation(&operation) == 1).then_some(())
        })
        .await;
        resolved(&client, &operation).await;
        assert_eq!(session.origin.seen_of(&operation).len(), 2);
        assert_eq!(call.send().await.verdict(), Some("replayed"));
    });
}

// An unknown outcome of an object whose alarm the platform has given up: nothing happens to it by itself.
async fn forsaken(session: &Session, client: &Client, tenant: &str) -> (Call, String) {
    let call = client.post("/v1/resumed").key(&key("alarm"));
    let call = call.plan(&Plan::cut(Cut::BeforeEffect).then(Plan::default()));
    let found = call.send().await;
    found.assert_problem(503, "outcome_unknown", "same-key");
    let operation = found.operation();
    let lose = format!("/_oncegate/test/lose-alarm?tenant={tenant}&route=resumed");
    let answer = session.http().post(&lose).send().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    holds(
        "without its alarm the object does nothing",
        Duration::from_secs(6),
        || session.origin.seen_of(&operation).len() == 1,
    )
    .await;
    (call, operation)
}

#[test]
fn a_lost_alarm_is_set_again_by_the_next_request() {
    // U5
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let (call, operation) = forsaken(session, &client, &tenant).await;
        client
            .post("/v1/resumed")
            .key(&key("other"))
            .send()
            .await
            .assert_created();
        resolved(&client, &operation).await;
        assert_eq!(call.send().await.verdict(), Some("replayed"));
        assert_eq!(session.origin.seen_of(&operation).len(), 2);
    });
}

#[test]
fn a_lost_alarm_is_set_again_by_the_crons_tick() {
    // U5
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let (call, operation) = forsaken(session, &client, &tenant).await;
        session.tick().await;
        eventually("the object sends it by itself", RESOLVED, || async {
            (session.origin.seen_of(&operation).len() == 2).then_some(())
        })
        .await;
        resolved(&client, &operation).await;
        assert_eq!(call.send().await.verdict(), Some("replayed"));
    });
}
