//! U3 probe on the wire: the origin is asked what became of an operation, and only its explicit word settles it.

use std::time::Duration;
use tests::at_once;
use tests::attempt::Attempt;
use tests::client::{Answer, Call};
use tests::deadline::{eventually, eventually_each};
use tests::desk::Desk;
use tests::keys::key;
use tests::origin::Seen;
use tests::plan::{Body, Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route, webhook_route};
use tests::signatures::{Job, sign_all};
use tokio::sync::OnceCell;

const CREDENTIAL: &str = "Bearer of-the-gateway-7d1f";

// The resolver stays out of it: it first acts after 5 minutes.
fn probed(path: &str, probe: &str) -> String {
    let more = [
        "on_unknown = \"probe\"",
        "timeout = \"1s\"",
        "lease = \"3s\"",
        "resolver_credential = \"SAMPLE_CREDENTIAL\"",
        probe,
    ];
    api_route(path, &more.join("\n"))
}

const EXPLICIT: &str = "probe = { path = \"/by-operation/{operation}\" }";
const MAPPED: &str = "probe = { path = \"/by-operation/{operation}\", status = 207 }";
const JUDGED: &str = "probe = { path = \"/by-operation/{operation}\", quiet = \"6s\", status = 201, \
    found = { status = 200, pointer = \"/order/state\", equals = \"made\" }, \
    absent = { status = 404, pointer = \"/error\", equals = \"no_such_operation\" } }";
const LOCATED: &str = "probe = { path = \"/orders?location={reference}\" }";
const NAMED: &str = "reference = \"X-Order-Id\"\nprobe = { path = \"/orders/{reference}/state\" }";
const POINTED: &str = "probe = { path = \"/charges/{point:/charge}\" }";

fn deliveries() -> String {
    let more = [
        "on_unknown = \"probe\"",
        "timeout = \"1s\"",
        "lease = \"3s\"",
        EXPLICIT,
    ];
    webhook_route(
        "/webhooks/stripe",
        "stripe",
        "STRIPE_WEBHOOK_SECRET",
        &more.join("\n"),
    )
}

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("probe")
                    .secret("SAMPLE_CREDENTIAL", CREDENTIAL)
                    .route("explicit", &probed("/v1/explicit", EXPLICIT))
                    .route("mapped", &probed("/v1/mapped", MAPPED))
                    .route("judged", &probed("/v1/judged", JUDGED))
                    .route("located", &probed("/v1/located", LOCATED))
                    .route("named", &probed("/v1/named", NAMED))
                    .route("stripe", &deliveries())
                    .route("pointed", &probed("/v1/pointed", POINTED)),
            )
        })
        .await
}

fn call(session: &Session, path: &str) -> Call {
    session.client("acme").post(path).key(&key("probe"))
}

// A first attempt did its work, and its line was cut before anybody heard.
async fn unheard(call: &Call) -> Answer {
    let found = call.clone().plan(&Plan::cut(Cut::AfterEffect)).send().await;
    found.assert_problem(503, "outcome_unknown", "same-key");
    found
}

// The origin was asked in vain: all that a caller may hear then (A).
#[track_caller]
fn assert_still_unknown(answer: &Answer, row: &str) {
    assert_eq!(answer.status, 409, "{row}: {}", answer.text());
    answer.assert_problem(409, "outcome_unknown", "same-key");
    let wait: Option<u64> = answer
        .header("retry-after")
        .and_then(|text| text.parse().ok());
    assert!(wait.is_some_and(|wait| wait >= 1), "{row}: {wait:?}");
    let location = format!("/_oncegate/operations/{}", answer.operation());
    assert_eq!(answer.header("location"), Some(location.as_str()), "{row}");
}

async fn state(session: &Session, operation: &str) -> String {
    let path = format!("/_oncegate/operations/{operation}");
    let answer = session.client("acme").get(&path).send().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["state"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

// Retries until the origin is asked, which is not before the lease is over.
async fn asked(session: &Session, call: &Call, operation: &str) -> Answer {
    let pause = Duration::from_millis(300);
    eventually_each(
        pause,
        "a retry asks the origin",
        Duration::from_secs(30),
        || async {
            let before = session.origin.probes_of(operation).len();
            let answer = call.send().await;
            (session.origin.probes_of(operation).len() > before).then_some(answer)
        },
    )
    .await
}

#[test]
fn the_origin_is_asked_by_operation_and_without_the_callers_credential() {
    // U3, U5
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/explicit").header("Cookie", "session=of-the-caller");
        let found = unheard(&call).await;
        let operation = found.operation();
        let early = call.send().await;
        assert_still_unknown(&early, "before the lease is over");
        assert_eq!(
            session.origin.probes_of(&operation).len(),
            0,
            "never before the lease is over"
        );
        let settled = call.until_known().await;
        assert_eq!((settled.status, settled.verdict()), (201, Some("replayed")));
        let probes = session.origin.probes_of(&operation);
        assert_eq!(probes.len(), 1, "one retry asks once");
        let probe = &probes[0];
        assert_eq!(
            (probe.method.as_str(), probe.target.as_str()),
            ("GET", format!("/by-operation/{operation}").as_str())
        );
        let number = session.origin.seen(found.number)[0].attempt_number();
        assert_eq!(
            probe.attempt_number(),
            number,
            "it is about the last attempt and all before"
        );
        let told = |name: &str| probe.header(name);
        assert_eq!(told("oncegate-tenant"), Some("acme"));
        assert_eq!(told("oncegate-probe"), Some("1"));
        assert_eq!(told("authorization"), Some(CREDENTIAL));
        for name in ["x-api-key", "cookie", "idempotency-key", "oncegate-attempt"] {
            assert_eq!(told(name), None, "{name}");
        }
        for _ in 0..3 {
            call.send().await.assert_replay_of(&settled);
        }
        assert_eq!(session.origin.effects_of(found.number), 1);
        assert_eq!(
            session.origin.seen_of(&operation).len(),
            1,
            "nothing ran again"
        );
        assert_eq!(
            session.origin.probes_of(&operation).len(),
            1,
            "a known outcome is not asked for"
        );
        let told = Desk::open(session).await.detail(&operation).await;
        assert_eq!(told["settled_by"], "probe", "{told}");
    });
}

// The status of what a probe found: the origin's own word, else the route's, else that of the probe's answer.
async fn check_status(path: &'static str, said: Option<&'static str>, expected: u16) {
    let session = gateway().await;
    let call = call(session, path);
    let operation = unheard(&call).await.operation();
    let plan = Plan::body(Body::Binary(300)).with_header("Oncegate-Outcome", "final");
    let plan = said.into_iter().fold(plan, |plan, status| {
        plan.with_header("Oncegate-Outcome-Status", status)
    });
    session.origin.answer_probes(
        &operation,
        Plan {
            status: Some(203),
            ..plan
        },
    );
    let settled = call.until_known().await;
    let row = format!("{path} {said:?}");
    assert_eq!(
        (settled.status, settled.verdict()),
        (expected, Some("replayed")),
        "{row}"
    );
    assert_eq!(settled.body.len(), 300, "{row}");
    assert_eq!(settled.header("oncegate-outcome"), None, "{row}");
    call.send().await.assert_replay_of(&settled);
    assert_eq!(session.origin.seen_of(&operation).len(), 1, "{row}");
}

#[test]
fn what_a_probe_finds_has_the_status_that_the_origin_or_the_route_names() {
    // U3
    tests::run(async {
        let rows = [
            ("/v1/explicit", None, 203),
            ("/v1/explicit", Some("402"), 402),
            ("/v1/mapped", None, 207),
            ("/v1/mapped", Some("201"), 201),
            ("/v1/mapped", Some("nonsense"), 207),
            ("/v1/mapped", Some("199"), 207),
        ];
        at_once(rows.map(|(path, said, expected)| Box::pin(check_status(path, said, expected))))
            .await;
    });
}

#[test]
fn what_did_not_run_runs_once_more_for_the_same_request() {
    // U3, A4, L4
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/explicit");
        let found = call
            .clone()
            .plan(&Plan::cut(Cut::BeforeEffect))
            .send()
            .await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let operation = found.operation();
        let created = call.until_known().await;
        created.assert_created();
        assert_eq!(session.origin.probes_of(&operation).len(), 1);
        assert_eq!(
            session.origin.seen(created.number).len(),
            1,
            "A4: one dispatch"
        );
        let numbers: Vec<u64> = session
            .origin
            .seen_of(&operation)
            .iter()
            .map(Seen::attempt_number)
            .collect();
        assert!(numbers.len() == 2 && numbers[1] > numbers[0], "{numbers:?}");
        assert_eq!(session.origin.effects_of(found.number), 0);
        assert_eq!(session.origin.effects_of(created.number), 1);
        call.send().await.assert_replay_of(&created);
        let audit = Desk::open(session).await.audit("acme", &operation).await;
        let acts: Vec<_> = audit
            .iter()
            .map(|entry| (&entry["act"], &entry["who"]))
            .collect();
        assert_eq!(
            acts,
            [(&"did_not_happen".into(), &"probe".into())],
            "{audit:?}"
        );
    });
}

#[test]
fn an_origin_that_said_not_run_refuses_the_attempt_that_comes_late() {
    // U3: the promise behind not-run; the origin keeps it, and the effect is one.
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/explicit");
        let gate = key("gate");
        let found = call.clone().plan(&Plan::gate(&gate)).send().await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let created = call.until_known().await;
        created.assert_created();
        session.origin.open(&gate);
        call.send().await.assert_replay_of(&created);
        assert_eq!(session.origin.effects_of(found.number), 0);
        assert_eq!(session.origin.effects_of(created.number), 1);
    });
}

fn json_answer(status: u16, body: &str) -> Plan {
    let plan = Plan {
        body: Some(Body::Text(body.to_owned())),
        ..Plan::refuse(status)
    };
    plan.with_header("Content-Type", "application/json")
}

#[test]
fn configured_answers_settle_and_absence_only_after_the_quiet_time() {
    // U3: found, absent, quiet
    tests::run(async {
        let session = gateway().await;
        let found = call(session, "/v1/judged");
        let operation = unheard(&found).await.operation();
        let made = json_answer(200, r#"{"order":{"state":"made","id":7}}"#);
        session.origin.answer_probes(&operation, made);
        let settled = found.until_known().await;
        assert_eq!((settled.status, settled.verdict()), (201, Some("replayed")));
        assert_eq!(settled.json()["order"]["id"], 7);
        found.send().await.assert_replay_of(&settled);
        assert_eq!(session.origin.seen_of(&operation).len(), 1);

        let absent = call(session, "/v1/judged");
        let lost = absent
            .clone()
            .plan(&Plan::cut(Cut::BeforeEffect))
            .send()
            .await;
        lost.assert_problem(503, "outcome_unknown", "same-key");
        let (operation, began) = (lost.operation(), std::time::Instant::now());
        session.origin.answer_probes(
            &operation,
            json_answer(404, r#"{"error":"no_such_operation"}"#),
        );
        let early = asked(session, &absent, &operation).await;
        assert_still_unknown(&early, "absent before the quiet time");
        assert_eq!(session.origin.seen_of(&operation).len(), 1);
        let created = absent.until_known().await;
        created.assert_created();
        assert!(
            began.elapsed() > Duration::from_millis(5900),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(session.origin.seen_of(&operation).len(), 2);
        assert_eq!(session.origin.effects_of(created.number), 1);
    });
}

// What an origin, or something before it, may answer to a probe, and what proves nothing on any route.
fn nothings() -> Vec<(&'static str, Plan)> {
    let text = |status: u16, body: &str| Plan {
        body: Some(Body::Text(body.to_owned())),
        ..Plan::refuse(status)
    };
    let html = "<!doctype html><title>404</title><p>no_such_operation";
    let cut = |cut: Cut| Plan {
        cut: Some(cut),
        ..json_answer(200, r#"{"order":{"state":"made"}}"#)
    };
    let word =
        |status: u16, word: &str| json_answer(status, "{}").with_header("Oncegate-Outcome", word);
    vec![
        ("a mistyped path", text(404, html)),
        ("a balancer's 404", text(404, "default backend - 404")),
        (
            "a balancer's 503",
            text(503, "<html><body><h1>503 Service Unavailable</h1>"),
        ),
        ("a balancer's 502", text(502, "")),
        ("an empty list", json_answer(200, "[]")),
        (
            "an empty page of a list",
            json_answer(200, r#"{"data":[],"has_more":false}"#),
        ),
        (
            "an empty body",
            Plan {
                body: Some(Body::Empty),
                ..Plan::refuse(200)
            },
        ),
        (
            "no content",
            Plan {
                body: Some(Body::Empty),
                ..Plan::refuse(204)
            },
        ),
        (
            "an expired credential",
            json_answer(401, r#"{"error":"no_such_token"}"#),
        ),
        (
            "a forbidden one",
            json_answer(403, r#"{"error":"forbidden"}"#),
        ),
        (
            "too many probes",
            json_answer(429, r#"{"error":"slow down"}"#),
        ),
        (
            "another state",
            json_answer(200, r#"{"order":{"state":"queued"}}"#),
        ),
        (
            "another 404",
            json_answer(404, r#"{"error":"no_such_order"}"#),
        ),
        (
            "a member twice",
            json_answer(200, r#"{"order":{"state":"made","state":"made"}}"#),
        ),
        (
            "a status of the other predicate",
            json_answer(404, r#"{"order":{"state":"made"}}"#),
        ),
        (
            "a timeout",
            Plan {
                delay_ms: Some(1600),
                ..json_answer(200, r#"{"order":{"state":"made"}}"#)
            },
        ),
        ("a line cut before the answer", cut(Cut::AfterEffect)),
        ("a line cut in the head", cut(Cut::InsideHead)),
        ("a line cut in the body", cut(Cut::InsideBody)),
        (
            "a redirect",
            text(302, "").with_header("Location", "/elsewhere"),
        ),
        (
            "a permanent one",
            text(308, "").with_header("Location", "/elsewhere"),
        ),
        ("the word unknown", word(200, "unknown")),
        ("the word pending", word(200, "pending")),
        ("no word at all", word(200, "maybe")),
        (
            "two words",
            word(200, "final").with_header("Oncegate-Outcome", "not-run"),
        ),
        (
            "too large an answer",
            Plan {
                body: Some(Body::Large(9 << 20)),
                ..Plan::refuse(200)
            },
        ),
    ]
}

async fn check_nothing(path: &'static str, row: &'static str, plan: Plan) {
    let session = gateway().await;
    let call = call(session, path);
    let found = unheard(&call).await;
    let operation = found.operation();
    session.origin.answer_probes(&operation, plan);
    let still = asked(session, &call, &operation).await;
    assert_still_unknown(&still, row);
    assert_eq!(
        session.origin.probes_of(&operation).len(),
        1,
        "{row}: X2, asked once"
    );
    assert_eq!(
        session.origin.seen_of(&operation).len(),
        1,
        "{row}: nothing ran again"
    );
    assert_eq!(state(session, &operation).await, "indeterminate", "{row}");
    // The same operation is settled by the origin's word, whatever was said before.
    session.origin.answer_probes_truly(&operation);
    let settled = call.until_known().await;
    assert_eq!(
        (settled.status, settled.verdict()),
        (201, Some("replayed")),
        "{row}: {}",
        settled.text()
    );
    assert_eq!(session.origin.effects_of(found.number), 1, "{row}");
}

#[test]
fn what_proves_nothing_settles_nothing() {
    // U3, with and without configured answers
    tests::run(async {
        let _started = gateway().await;
        for path in ["/v1/explicit", "/v1/judged"] {
            at_once(
                nothings()
                    .into_iter()
                    .map(|(row, plan)| check_nothing(path, row, plan)),
            )
            .await;
        }
    });
}

// An answer that proves nothing, with the origin's own name for what it made: it is asked by that name.
async fn check_reference(path: &'static str, header: &str, reference: &str, target: &str) {
    let session = gateway().await;
    let call = call(session, path);
    let plan = Plan::status(500).with_header(header, reference);
    let found = call.clone().plan(&plan).send().await;
    found.assert_problem(503, "outcome_unknown", "same-key");
    let operation = found.operation();
    let settled = call.until_known().await;
    assert_eq!(
        (settled.status, settled.verdict()),
        (201, Some("replayed")),
        "{path}"
    );
    let probes = session.origin.probes_of(&operation);
    assert_eq!(probes.len(), 1);
    assert_eq!(probes[0].target, target);
    let rows = Desk::open(session)
        .await
        .found("acme", &encoded(reference))
        .await;
    assert_eq!(rows.len(), 1, "found by its reference: {rows:?}");
    assert_eq!(rows[0]["id"], operation);
}

fn encoded(text: &str) -> String {
    text.bytes()
        .fold(String::new(), |text, byte| format!("{text}%{byte:02X}"))
}

#[test]
fn the_origin_is_asked_by_its_own_reference_and_operators_find_it() {
    // U3, U6
    tests::run(async {
        let location = format!("https://shop.example/v1/orders/{}?a=b&c=d", key("ref"));
        let target = format!(
            "/orders?location={}",
            location
                .replace(':', "%3A")
                .replace('/', "%2F")
                .replace('?', "%3F")
                .replace('=', "%3D")
                .replace('&', "%26")
        );
        check_reference("/v1/located", "Location", &location, &target).await;
        let named = key("ord");
        check_reference(
            "/v1/named",
            "X-Order-Id",
            &named,
            &format!("/orders/{named}/state"),
        )
        .await;
        // A path's own characters are not the reference's.
        let slashed = format!("../{} x", key("ord"));
        let target = format!(
            "/orders/{}/state",
            slashed.replace('/', "%2F").replace(' ', "%20")
        );
        check_reference("/v1/named", "X-Order-Id", &slashed, &target).await;
        let long = format!("{}-{}", key("ord"), "x".repeat(900));
        check_reference(
            "/v1/named",
            "X-Order-Id",
            &long,
            &format!("/orders/{long}/state"),
        )
        .await;
    });
}

#[test]
fn without_a_reference_the_origin_cannot_be_asked_and_nothing_is_settled() {
    // U3
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/located");
        let found = unheard(&call).await;
        eventually("the lease is over", Duration::from_secs(20), || async {
            let answer = call.send().await;
            assert_still_unknown(&answer, "no reference");
            (answer.header("retry-after") == Some("10")).then_some(())
        })
        .await;
        assert_eq!(session.origin.probes_of(&found.operation()).len(), 0);
        assert_eq!(session.origin.seen_of(&found.operation()).len(), 1);
    });
}

#[test]
fn the_origin_is_asked_by_its_recovery_point_and_goes_on_from_there() {
    // U3, U4, L5
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/pointed");
        let gate = key("gate");
        let slow = call.clone().plan(&Plan::gate(&gate)).start();
        let attempt = Attempt::of(session, &session.origin.arrived(slow.number).await);
        let saved = attempt
            .save_point("charged", r#"{"charge":"ch 1/2"}"#)
            .await;
        assert_eq!(saved.status, 204, "{}", saved.text());
        slow.answer()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
        let operation = attempt.operation.clone();
        let not_run = Plan::refuse(200).with_header("Oncegate-Outcome", "not-run");
        session.origin.answer_probes(&operation, not_run);
        let created = call.until_known().await;
        created.assert_created();
        assert_eq!(
            session.origin.probes_of(&operation)[0].target,
            "/charges/ch%201%2F2"
        );
        let attempts = session.origin.seen_of(&operation);
        assert_eq!(attempts.len(), 2);
        assert_eq!(
            attempts[1].header("oncegate-recovery-point"),
            Some("charged"),
            "a step was done"
        );
        session.origin.open(&gate);
    });
}

#[test]
fn an_attempt_that_commits_while_the_origin_is_asked_wins() {
    // U3, L3
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/explicit");
        let (work, question) = (key("gate"), key("gate"));
        let slow = call.clone().plan(&Plan::gate(&work)).start();
        let attempt = Attempt::of(session, &session.origin.arrived(slow.number).await);
        slow.answer()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
        let not_run = Plan {
            gate: Some(question.clone()),
            ..Plan::refuse(200)
        };
        let not_run = not_run.with_header("Oncegate-Outcome", "not-run");
        session.origin.answer_probes(&attempt.operation, not_run);
        let retrying = call.clone();
        let retry = tokio::spawn(async move { retrying.until_known().await });
        session.origin.probed(&attempt.operation).await;
        let done = attempt.complete(201, "text/plain", "made after all").await;
        assert_eq!(done.status, 204, "{}", done.text());
        session.origin.open(&question);
        let answer = retry.await.expect("the retry is answered");
        assert_eq!(
            (answer.status, answer.text().as_str()),
            (201, "made after all")
        );
        assert_eq!(answer.verdict(), Some("replayed"));
        call.send().await.assert_replay_of(&answer);
        assert_eq!(
            session.origin.seen_of(&attempt.operation).len(),
            1,
            "nothing ran again"
        );
        session.origin.open(&work);
    });
}

#[test]
fn an_attempt_that_commits_after_not_run_is_evidence_and_changes_nothing() {
    // U3, L3, M
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let call = client.post("/v1/explicit").key(&key("late"));
        let work = key("gate");
        let slow = call.clone().plan(&Plan::gate(&work)).start();
        let attempt = Attempt::of(session, &session.origin.arrived(slow.number).await);
        slow.answer()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
        let created = call.until_known().await;
        created.assert_created();
        for _ in 0..2 {
            let late = attempt.complete(201, "text/plain", "made after all").await;
            late.assert_problem(409, "attempt_superseded", "never");
        }
        call.send().await.assert_replay_of(&created);
        let desk = Desk::open(session).await;
        let audit = desk.audit(&tenant, &attempt.operation).await;
        let late: Vec<_> = audit
            .iter()
            .filter(|entry| entry["act"] == "late_final")
            .collect();
        assert_eq!(late.len(), 1, "L7: once is enough: {audit:?}");
        assert_eq!(
            (&late[0]["contradicts"], &late[0]["status"], &late[0]["who"]),
            (&true.into(), &201.into(), &"attempt".into())
        );
        eventually(
            "the contradiction is counted",
            Duration::from_secs(15),
            || async {
                let settled = desk.settled(&tenant).await;
                (settled["contradictions"] == 1 && settled["late_finals"] == 1).then_some(())
            },
        )
        .await;
        let metrics = session
            .operators()
            .get("/_oncegate/metrics")
            .header(
                "Authorization",
                &format!("Bearer {}", tests::settings::OPERATOR_TOKEN),
            )
            .send()
            .await
            .text();
        let counted = metrics.lines().any(|line| {
            line.starts_with("oncegate_contradictions_total{")
                && line.contains(&format!("tenant=\"{tenant}\""))
                && line.ends_with(" 1")
        });
        assert!(counted, "{metrics}");
        session.origin.open(&work);
    });
}

#[test]
fn two_retries_at_once_ask_once() {
    // U3, L1
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/explicit");
        let operation = unheard(&call).await.operation();
        let gate = key("gate");
        let made = Plan {
            gate: Some(gate.clone()),
            ..json_answer(200, "{}")
        };
        session
            .origin
            .answer_probes(&operation, made.with_header("Oncegate-Outcome", "final"));
        let first = {
            let call = call.clone();
            tokio::spawn(async move { call.until_known().await })
        };
        session.origin.probed(&operation).await;
        let others: Vec<_> = (0..5).map(|_| call.start()).collect();
        session.origin.open(&gate);
        let settled = first.await.expect("the first retry is answered");
        assert_eq!(settled.verdict(), Some("replayed"), "{}", settled.text());
        for other in others {
            let answer = other.answer().await;
            match answer.status {
                409 => answer.assert_problem(409, "outcome_unknown", "same-key"),
                _ => answer.assert_replay_of(&settled),
            }
        }
        assert_eq!(session.origin.probes_of(&operation).len(), 1);
        assert_eq!(session.origin.seen_of(&operation).len(), 1);
    });
}

#[test]
fn a_delivery_asks_the_origin_too() {
    // U3 probe, B
    tests::run(async {
        let session = gateway().await;
        let event = key("evt").replace('-', "_");
        let body =
            serde_json::json!({ "id": event, "object": "event", "type": "charge.succeeded" });
        let signed = sign_all(vec![Job::stripe(&event, &body)]).await;
        let delivery = session
            .http()
            .post("/webhooks/stripe")
            .body(signed[0].payload.clone(), "application/json")
            .headers(&signed[0].headers);
        let found = delivery
            .clone()
            .plan(&Plan::cut(Cut::AfterEffect))
            .send()
            .await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let settled = eventually(
            "a redelivery is answered",
            Duration::from_secs(20),
            || async {
                let answer = delivery.send().await;
                (answer.status != 503).then_some(answer)
            },
        )
        .await;
        assert_eq!(
            (settled.status, settled.header("idempotent-replayed")),
            (201, Some("true"))
        );
        assert_eq!(session.origin.probes_of(&found.operation()).len(), 1);
        assert_eq!(session.origin.effects_of(found.number), 1);
    });
}

#[test]
fn a_begin_that_came_twice_asks_once() {
    // L7, U3
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/explicit");
        let operation = unheard(&call).await.operation();
        let settled = call
            .clone()
            .header("Oncegate-Test", "begin-twice")
            .until_known()
            .await;
        assert_eq!((settled.status, settled.verdict()), (201, Some("replayed")));
        call.send().await.assert_replay_of(&settled);
        assert_eq!(session.origin.probes_of(&operation).len(), 1);
        assert_eq!(session.origin.seen_of(&operation).len(), 1);
    });
}
