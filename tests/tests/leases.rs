//! L and U on the wire: who may run, what is told to the origin, and what happens after nobody knows.

use std::time::Duration;
use tests::client::{Answer, Call};
use tests::deadline::eventually;
use tests::keys::key;
use tests::origin::Seen;
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route};
use tokio::sync::OnceCell;

/// The lease of the hasty routes: a retry may run again once it is over.
const LEASE: Duration = Duration::from_secs(3);

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let resume = "on_unknown = \"resume\"\norigin_dedupes = true\ntimeout = \"1s\"\nlease = \"3s\"\nwait = \"0s\"";
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("leases")
                    .route("orders", &api_route("/v1/orders", ""))
                    .route(
                        "parked",
                        &api_route("/v1/parked", "timeout = \"1s\"\nlease = \"3s\""),
                    )
                    .route("resumed", &api_route("/v1/resumed", resume)),
            )
        })
        .await
}

fn call(session: &Session, path: &str) -> Call {
    session.client("acme").post(path).key(&key("lease"))
}

fn told(seen: &Seen, name: &str) -> String {
    seen.header(name)
        .unwrap_or_else(|| panic!("L4: the origin is not told {name}: {:?}", seen.headers))
        .to_owned()
}

#[test]
fn the_origin_is_told_which_operation_and_which_attempt() {
    // L4
    tests::run(async {
        let session = gateway().await;
        let name = key("lease");
        let send = |form: &str| {
            session
                .client("acme")
                .post("/v1/orders")
                .header("Idempotency-Key", form)
        };
        let first = send(&format!("\"{name}\"")).send().await;
        first.assert_created();
        let seen = &session.origin.seen(first.number)[0];
        assert_eq!(
            told(seen, "idempotency-key"),
            format!("\"{name}\""),
            "unchanged"
        );
        assert_eq!(told(seen, "oncegate-operation"), first.operation());
        assert!(seen.attempt_number() >= 1);
        assert_eq!(told(seen, "oncegate-tenant"), "acme");
        let token = told(seen, "oncegate-attempt");
        assert!(token.len() >= 22, "128 random bits: {token}");
        let left: u64 = told(seen, "oncegate-deadline")
            .parse()
            .expect("milliseconds");
        assert!((1..=5000).contains(&left), "{left}");
        assert_eq!(seen.header("oncegate-recovery-point"), None);
        let other = call(session, "/v1/orders").send().await;
        assert_ne!(
            told(&session.origin.seen(other.number)[0], "oncegate-attempt"),
            token
        );
    });
}

#[test]
fn of_many_equal_requests_at_once_one_runs() {
    // L1
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/orders").plan(&Plan::delay_ms(200));
        let started: Vec<_> = (0..20).map(|_| call.start()).collect();
        let mut answers = Vec::new();
        for flight in started {
            answers.push(flight.answer().await);
        }
        let created: Vec<&Answer> = answers
            .iter()
            .filter(|answer| answer.verdict() == Some("created"))
            .collect();
        assert_eq!(created.len(), 1);
        let ran: usize = answers
            .iter()
            .map(|answer| session.origin.seen(answer.number).len())
            .sum();
        assert_eq!(ran, 1);
        for answer in answers
            .iter()
            .filter(|answer| answer.number != created[0].number)
        {
            match answer.status {
                409 => answer.assert_problem(409, "in_progress", "same-key"),
                _ => answer.assert_replay_of(created[0]),
            }
        }
    });
}

#[test]
fn a_parked_operation_never_runs_again_by_itself() {
    // U3 park
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/parked");
        let found = call.clone().plan(&Plan::delay_ms(1500)).send().await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let began = std::time::Instant::now();
        let beyond = LEASE + Duration::from_secs(1);
        eventually("the lease is over", beyond * 3, || async {
            let retry = call.send().await;
            retry.assert_problem(409, "outcome_unknown", "same-key");
            assert_eq!(session.origin.seen(retry.number).len(), 0);
            (began.elapsed() > beyond).then_some(())
        })
        .await;
        assert_eq!(session.origin.seen_of(&found.operation()).len(), 1);
    });
}

#[test]
fn a_resumed_operation_runs_again_after_the_lease_and_not_before() {
    // U3 resume, L3, L4
    tests::run(async {
        let session = gateway().await;
        for plan in [
            Plan::cut(Cut::AfterEffect),
            Plan::delay_ms(1500),
            Plan::status(500),
        ] {
            let call = call(session, "/v1/resumed");
            let found = call.clone().plan(&plan).send().await;
            found.assert_problem(503, "outcome_unknown", "same-key");
            let resumed = call.until_known().await;
            resumed.assert_created();
            let attempts = session.origin.seen_of(&found.operation());
            assert_eq!(attempts.len(), 2, "{plan:?}");
            assert!(
                attempts[1].attempt_number() > attempts[0].attempt_number(),
                "{plan:?}"
            );
            assert_ne!(
                told(&attempts[0], "oncegate-attempt"),
                told(&attempts[1], "oncegate-attempt"),
                "a random token"
            );
            assert_eq!(
                told(&attempts[0], "oncegate-operation"),
                told(&attempts[1], "oncegate-operation")
            );
            call.send().await.assert_replay_of(&resumed);
        }
    });
}

#[test]
fn a_release_does_not_forget_an_earlier_unknown() {
    // U4
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/resumed");
        let found = call.clone().plan(&Plan::cut(Cut::AfterEffect)).send().await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let refusing = call.clone().plan(&Plan::refuse(429));
        let refused = eventually("a refused attempt after the lease", LEASE * 4, || async {
            let answer = refusing.send().await;
            // The refusal is not the operation's: the earlier attempt may have run.
            answer.assert_problem(409, "outcome_unknown", "same-key");
            (!session.origin.seen(answer.number).is_empty()).then_some(answer)
        })
        .await;
        assert_eq!(refused.operation(), found.operation());
        let wait: Option<u64> = refused
            .header("retry-after")
            .and_then(|text| text.parse().ok());
        assert!(
            wait.is_some_and(|wait| wait <= LEASE.as_secs()),
            "a retry may run once the lease is over: {wait:?}"
        );
        let status = session
            .client("acme")
            .get(&format!("/_oncegate/operations/{}", found.operation()))
            .send()
            .await;
        assert_eq!(status.json()["state"], "indeterminate", "{}", status.text());
        // The fingerprint is not forgotten either.
        call.clone()
            .json(&serde_json::json!({}))
            .send()
            .await
            .assert_problem(422, "idempotency_key_reused", "new-key");
        let resumed = call.until_known().await;
        resumed.assert_created();
        let attempts = session.origin.seen_of(&found.operation());
        assert_eq!(attempts.len(), 3);
        assert!(attempts.is_sorted_by(|one, next| one.attempt_number() < next.attempt_number()));
    });
}

#[test]
fn messages_to_the_store_may_come_twice() {
    // L7
    tests::run(async {
        let session = gateway().await;
        for fault in ["begin-twice", "complete-twice"] {
            let call = call(session, "/v1/orders");
            let first = call.clone().header("Oncegate-Test", fault).send().await;
            first.assert_created();
            assert_eq!(
                session.origin.seen_of(&first.operation()).len(),
                1,
                "{fault}: A4"
            );
            call.send().await.assert_replay_of(&first);
        }
    });
}

#[test]
fn a_begin_that_was_given_up_claims_nothing() {
    // L7: the Worker abandons its token; whatever came of the claim, a retry runs as soon as it may.
    tests::run(async {
        let session = gateway().await;
        let call = call(session, "/v1/parked");
        let given_up = call
            .clone()
            .header("Oncegate-Test", "begin-unanswered")
            .send()
            .await;
        given_up.assert_problem(503, "store_unavailable", "same-key");
        let retry = call.send().await;
        retry.assert_created();
        assert_eq!(session.origin.seen_of(&retry.operation()).len(), 1);
    });
}

#[test]
fn one_request_is_dispatched_at_most_once_whatever_happens() {
    // A4
    tests::run(async {
        let session = gateway().await;
        let cuts = [
            Cut::BeforeEffect,
            Cut::AfterEffect,
            Cut::InsideHead,
            Cut::InsideBody,
        ]
        .map(Plan::cut);
        let statuses = [408, 425, 429, 500, 502, 503, 504].map(Plan::status);
        for plan in cuts
            .into_iter()
            .chain(statuses)
            .chain([Plan::delay_ms(1300)])
        {
            let answer = call(session, "/v1/resumed").plan(&plan).send().await;
            assert_eq!(session.origin.seen(answer.number).len(), 1, "{plan:?}");
        }
    });
}
