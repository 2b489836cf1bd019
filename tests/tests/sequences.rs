//! A4, L3, L7, U4 and U6 one sequence at a time: what each caller, the origin and an operator are told, in which order
//! ever they come.

use serde_json::json;
use std::time::Duration;
use tests::attempt::Attempt;
use tests::client::{Answer, Call, InFlight};
use tests::deadline::eventually;
use tests::desk::Desk;
use tests::keys::key;
use tests::plan::{Body, Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route};
use tokio::sync::OnceCell;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let hasty = "timeout = \"1s\"\nlease = \"3s\"";
    let resumed = format!("{hasty}\non_unknown = \"resume\"\norigin_dedupes = true");
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("sequences")
                    .route("orders", &api_route("/v1/orders", "wait = \"0s\""))
                    .route("parked", &api_route("/v1/parked", hasty))
                    .route("resumed", &api_route("/v1/resumed", &resumed)),
            )
        })
        .await
}

// A request whose origin waits at a gate, and the attempt that it is.
async fn held(session: &Session, call: &Call, gate: &str) -> (InFlight, Attempt) {
    let flight = call.clone().plan(&Plan::gate(gate)).start();
    let seen = session.origin.arrived(flight.number).await;
    (flight, Attempt::of(session, &seen))
}

// The first caller's attempt is not the one that counts any more: its origin gave it back and answered all the same.
// Another request ran meanwhile, with this plan, and the first caller is answered from what there is then.
async fn overtaken(plan: &Plan) -> (Answer, Answer, Call) {
    let session = gateway().await;
    let call = session
        .client("acme")
        .post("/v1/orders")
        .key(&key("overtaken"));
    let gate = key("gate");
    let (first, attempt) = held(session, &call, &gate).await;
    assert_eq!(attempt.release().await.status, 204);
    let second = call.clone().plan(plan).send().await;
    session.origin.open(&gate);
    let first = first.answer().await;
    assert_eq!(
        session.origin.seen_of(&attempt.operation).len(),
        2,
        "A4, L3: it never claims again"
    );
    (first, second, call)
}

#[test]
fn a_caller_whose_attempt_was_overtaken_is_answered_from_the_record() {
    // L3, A4
    tests::run(async {
        let (first, second, call) = overtaken(&Plan::default()).await;
        second.assert_created();
        first.assert_replay_of(&second);
        call.send().await.assert_replay_of(&second);

        let (first, second, call) = overtaken(&Plan::cut(Cut::AfterEffect)).await;
        second.assert_problem(503, "outcome_unknown", "same-key");
        first.assert_problem(409, "outcome_unknown", "same-key");
        call.send()
            .await
            .assert_problem(409, "outcome_unknown", "same-key");

        // The holder released, so that nothing is left to answer from: the caller is told what is known, and a retry runs.
        let (first, second, call) = overtaken(&Plan::refuse(429)).await;
        assert_eq!(second.verdict(), Some("released"));
        first.assert_problem(503, "outcome_unknown", "same-key");
        call.send().await.assert_created();
    });
}

#[test]
fn a_caller_whose_successor_runs_is_told_to_wait() {
    // L3
    tests::run(async {
        let session = gateway().await;
        let call = session
            .client("acme")
            .post("/v1/orders")
            .key(&key("successor"));
        let (gate, successors) = (key("gate"), key("gate"));
        let (first, attempt) = held(session, &call, &gate).await;
        assert_eq!(attempt.release().await.status, 204);
        let (second, _successor) = held(session, &call, &successors).await;
        session.origin.open(&gate);
        first
            .answer()
            .await
            .assert_problem(409, "in_progress", "same-key");
        session.origin.open(&successors);
        let created = second.answer().await;
        created.assert_created();
        call.send().await.assert_replay_of(&created);
    });
}

#[test]
fn what_an_earlier_attempt_reports_late_contradicts_a_later_one_that_did_not_run() {
    // U4, L3
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let call = client.post("/v1/resumed").key(&key("late"));
        let gate = key("gate");
        let (slow, first) = held(session, &call, &gate).await;
        slow.answer()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
        let refusing = call.clone().plan(&Plan::refuse(422));
        eventually(
            "a second attempt does not run",
            Duration::from_secs(15),
            || async {
                let answer = refusing.send().await;
                answer.assert_problem(409, "outcome_unknown", "same-key");
                (!session.origin.seen(answer.number).is_empty()).then_some(())
            },
        )
        .await;
        for _ in 0..2 {
            first
                .complete(201, "text/plain", "made")
                .await
                .assert_problem(409, "attempt_superseded", "never");
        }
        let desk = Desk::open(session).await;
        let audit = desk.audit(&tenant, &first.operation).await;
        assert_eq!(audit.len(), 1, "{audit:?}");
        assert_eq!(
            (&audit[0]["act"], &audit[0]["contradicts"]),
            (&json!("late_final"), &json!(true))
        );
        assert_eq!(
            desk.detail(&first.operation).await["row"]["state"],
            "indeterminate",
            "nothing changed"
        );
        session.origin.open(&gate);
    });
}

#[test]
fn what_comes_late_beside_a_known_outcome_is_evidence_and_no_contradiction() {
    // L3
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let call = client.post("/v1/resumed").key(&key("late"));
        let gate = key("gate");
        let (slow, first) = held(session, &call, &gate).await;
        slow.answer()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
        let resumed = call.until_known().await;
        resumed.assert_created();
        first
            .complete(201, "text/plain", "made")
            .await
            .assert_problem(409, "attempt_superseded", "never");
        let audit = Desk::open(session)
            .await
            .audit(&tenant, &first.operation)
            .await;
        assert_eq!(
            (audit.len(), &audit[0]["act"], &audit[0]["contradicts"]),
            (1, &json!("late_final"), &json!(false))
        );
        call.send().await.assert_replay_of(&resumed);
        session.origin.open(&gate);
    });
}

#[test]
fn a_settlement_is_refused_while_a_send_may_still_be_working() {
    // U6
    tests::run(async {
        let session = gateway().await;
        let call = session
            .client("acme")
            .post("/v1/parked")
            .key(&key("running"));
        let gate = key("gate");
        let (slow, attempt) = held(session, &call, &gate).await;
        let desk = Desk::open(session).await;
        let operation = attempt.operation.as_str();
        let made = json!({ "status": 200, "content_type": "text/plain", "body": "settled" });
        for (how, outcome) in [
            ("did_not_happen", None),
            ("try_again", None),
            ("succeeded", Some(made.clone())),
        ] {
            assert_eq!(
                desk.settle(operation, how, outcome).await,
                "running",
                "{how}"
            );
        }
        slow.answer()
            .await
            .assert_problem(503, "outcome_unknown", "same-key");
        // Unknown already, and its lease is live all the same: what was sent may still be working.
        assert_eq!(
            desk.settle(operation, "did_not_happen", None).await,
            "running"
        );
        assert!(
            desk.audit("acme", operation).await.is_empty(),
            "a refusal is not logged"
        );
        eventually("the lease is over", Duration::from_secs(15), || async {
            (desk
                .settle(operation, "succeeded", Some(made.clone()))
                .await
                == "settled")
                .then_some(())
        })
        .await;
        let replay = call.send().await;
        assert_eq!(
            (replay.status, replay.text().as_str(), replay.verdict()),
            (200, "settled", Some("replayed"))
        );
        assert_eq!(session.origin.seen_of(operation).len(), 1);
        session.origin.open(&gate);
    });
}

// An unknown outcome is settled, and then its slow origin reports that it was done.
async fn settled_then_done(how: &str, outcome: Option<serde_json::Value>, contradicts: bool) {
    let session = gateway().await;
    let (client, tenant) = session.fresh_tenant();
    let call = client.post("/v1/parked").key(&key("settled"));
    let gate = key("gate");
    let (slow, attempt) = held(session, &call, &gate).await;
    slow.answer()
        .await
        .assert_problem(503, "outcome_unknown", "same-key");
    let (desk, operation) = (Desk::open(session).await, attempt.operation.as_str());
    eventually("the lease is over", Duration::from_secs(15), || async {
        (desk.settle(operation, how, outcome.clone()).await == "settled").then_some(())
    })
    .await;
    let after = match how {
        "succeeded" => Some(call.send().await),
        _ => None,
    };
    for _ in 0..2 {
        let late = attempt.complete(201, "text/plain", "made").await;
        late.assert_problem(409, "attempt_superseded", "never");
    }
    let audit = desk.audit(&tenant, operation).await;
    let acts: Vec<&str> = audit
        .iter()
        .filter_map(|entry| entry["act"].as_str())
        .collect();
    assert_eq!(acts, ["late_final", how], "newest first: {audit:?}");
    assert_eq!(audit[0]["contradicts"], contradicts, "{how}: {audit:?}");
    eventually("it is counted", Duration::from_secs(15), || async {
        let settled = desk.settled(&tenant).await;
        (settled["late_finals"] == 1 && settled["contradictions"] == u64::from(contradicts))
            .then_some(())
    })
    .await;
    match after {
        Some(after) => call.send().await.assert_replay_of(&after),
        None => call.send().await.assert_created(),
    }
    session.origin.open(&gate);
}

#[test]
fn a_late_success_that_contradicts_a_settlement_is_evidence_and_counted() {
    // L3, U6
    tests::run(async {
        let given = |status: u16| Some(json!({ "status": status, "body": "settled" }));
        settled_then_done("did_not_happen", None, true).await;
        settled_then_done("succeeded", given(402), true).await;
        settled_then_done("succeeded", given(201), false).await;
    });
}

#[test]
fn a_body_that_trickles_is_cut_at_the_deadline_and_is_unknown() {
    // L2, U1
    tests::run(async {
        let session = gateway().await;
        for chunked in [false, true] {
            let call = session
                .client("acme")
                .post("/v1/parked")
                .key(&key("trickle"));
            let plan = Plan {
                trickle_ms: Some(250),
                chunked,
                ..Plan::body(Body::Large(1600))
            };
            let cut = call.clone().plan(&plan).send().await;
            cut.assert_problem(503, "outcome_unknown", "same-key");
            assert!(
                cut.took > Duration::from_millis(900) && cut.took < Duration::from_secs(3),
                "{:?}",
                cut.took
            );
            assert_eq!(session.origin.effects_of(cut.number), 1);
            let unknown = Desk::open(session)
                .await
                .unknown("acme", &cut.operation())
                .await;
            assert_eq!(unknown["last_answer"], "timeout", "{unknown}");
            call.send()
                .await
                .assert_problem(409, "outcome_unknown", "same-key");
        }
    });
}

// What the origin is told of the time that is left, when the client says this of its own.
async fn told_deadline(said: Option<&str>) -> u64 {
    let session = gateway().await;
    let call = session
        .client("acme")
        .post("/v1/orders")
        .key(&key("deadline"));
    let call = said
        .into_iter()
        .fold(call, |call, said| call.header("Oncegate-Deadline", said));
    let created = call.send().await;
    created.assert_created();
    let seen = &session.origin.seen(created.number)[0];
    assert_eq!(seen.all("oncegate-deadline").len(), 1);
    seen.header("oncegate-deadline")
        .and_then(|left| left.parse().ok())
        .expect("milliseconds")
}

#[test]
fn the_origin_is_told_how_much_time_is_left() {
    // L4, A4
    tests::run(async {
        let left = told_deadline(None).await;
        assert!(
            (3_000..=5_000).contains(&left),
            "the route's timeout less what is spent: {left}"
        );
        let left = told_deadline(Some("2000")).await;
        assert!(
            (500..2_000).contains(&left),
            "the client's, if it is shorter: {left}"
        );
        let left = told_deadline(Some("60000")).await;
        assert!(
            (3_000..=5_000).contains(&left),
            "never more than the route's: {left}"
        );
    });
}

#[test]
fn a_client_that_waits_too_short_has_nothing_sent_and_claims_nothing() {
    // A4, L2
    tests::run(async {
        let session = gateway().await;
        let call = session
            .client("acme")
            .post("/v1/orders")
            .key(&key("deadline"));
        for said in ["0", "20"] {
            let refused = call.clone().header("Oncegate-Deadline", said).send().await;
            refused.assert_problem(503, "store_unavailable", "same-key");
            assert_eq!(session.origin.seen(refused.number).len(), 0);
        }
        for said in ["", "-1", "1.5", "soon"] {
            let refused = call.clone().header("Oncegate-Deadline", said).send().await;
            refused.assert_problem(400, "request_malformed", "never");
        }
        call.send().await.assert_created();
    });
}

#[test]
fn what_a_client_hung_up_on_goes_on_to_its_end() {
    // A4
    tests::run(async {
        let session = gateway().await;
        let call = session
            .client("acme")
            .post("/v1/orders")
            .key(&key("hangup"));
        let gate = key("gate");
        let (flight, attempt) = held(session, &call, &gate).await;
        let number = flight.number;
        flight.abandon();
        session.origin.open(&gate);
        let replay = eventually("its outcome is kept", Duration::from_secs(15), || async {
            let answer = call.send().await;
            (answer.status != 409).then_some(answer)
        })
        .await;
        assert_eq!(
            (replay.status, replay.verdict()),
            (201, Some("replayed")),
            "{}",
            replay.text()
        );
        assert_eq!(session.origin.effects_of(number), 1);
        assert_eq!(session.origin.seen_of(&attempt.operation).len(), 1);
    });
}

#[test]
fn a_report_that_the_object_did_not_hear_or_whose_answer_was_lost_is_told_again() {
    // L7: done but unheard, and not done
    tests::run(async {
        let session = gateway().await;
        for fault in ["complete-fails", "complete-unanswered"] {
            let call = session
                .client("acme")
                .post("/v1/orders")
                .key(&key("report"));
            let first = call.clone().header("Oncegate-Test", fault).send().await;
            first.assert_problem(503, "outcome_unknown", "same-key");
            let replay = eventually("the outcome is kept", Duration::from_secs(20), || async {
                let answer = call.send().await;
                (answer.status != 409).then_some(answer)
            })
            .await;
            assert_eq!(
                (replay.status, replay.verdict()),
                (201, Some("replayed")),
                "{fault}"
            );
            assert_eq!(
                session.origin.seen_of(&first.operation()).len(),
                1,
                "{fault}"
            );
        }
    });
}
