//! The Worker's clock and the objects' are ten minutes apart, either way (L2, K5, A).
//!
//! Decisions are the object's alone, by its own clock; between the two only spans travel. So leases last as long as they
//! are, nobody takes over early, no request is sent with a deadline that is none, and `Retry-After` is what it was.

use std::time::{Duration, Instant};
use tests::client::{Answer, Call, Client};
use tests::deadline::{eventually, eventually_each};
use tests::desk::Desk;
use tests::keys::{key, now_ms, uuid_v7};
use tests::origin::{Origin, Repeats};
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route};

const APART_MS: i64 = 10 * MINUTE_MS;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const LEASE: Duration = Duration::from_secs(3);
/// What clocks of tests and the gateway may differ by, and how long a request may be on its way.
const SLACK: Duration = Duration::from_millis(250);
/// The timeout of routes whose leases are short.
const TIMEOUT_MS: u64 = 1_000;
/// That of the others.
const TIMEOUT_ORDERS_MS: u64 = 5_000;

/// By how much each clock is ahead.
#[derive(Debug, Clone, Copy)]
struct Skew {
    worker: i64,
    objects: i64,
}

struct Bench<'a> {
    session: &'a Session,
    deduping: &'a Origin,
    desk: &'a Desk,
    client: Client,
    tenant: String,
    skew: Skew,
}

#[test]
fn clocks_that_are_ten_minutes_apart_change_no_decision() {
    tests::run(async {
        let deduping = Origin::start_with(Repeats::Deduped, |_effect| {}).await;
        let deduping = deduping.expect("loopback has a port");
        let session = Session::start(settings(&deduping)).await;
        let desk = Desk::open(&session).await;
        for (worker, objects) in [
            (APART_MS, 0),
            (-APART_MS, 0),
            (0, APART_MS),
            (0, -APART_MS),
            (APART_MS, -APART_MS),
        ] {
            let clocks = format!("clocks?worker={worker}&objects={objects}");
            session.hook(&clocks).await;
            let (client, tenant) = session.fresh_tenant();
            let bench = Bench {
                session: &session,
                deduping: &deduping,
                desk: &desk,
                client,
                tenant,
                skew: Skew { worker, objects },
            };
            bench.is_set().await;
            tokio::join!(
                bench.running(),
                bench.resumed(),
                bench.settled(),
                bench.pursued(),
                bench.forgotten(),
                bench.aged_keys(),
            );
        }
        // Both jump while attempts are at their origin.
        session.hook("clocks").await;
        for (worker, objects) in [(APART_MS, 0), (-APART_MS, 0), (0, APART_MS), (0, -APART_MS)] {
            jumped(&session, worker, objects).await;
            session.hook("clocks").await;
        }
        session.hook(&format!("clocks?worker={}", -APART_MS)).await;
        throttled(&session).await;
    });
}

fn settings(deduping: &Origin) -> Settings {
    let hasty = "timeout = \"1s\"\nlease = \"3s\"\nwait = \"0s\"";
    let resume =
        format!("{hasty}\non_unknown = \"resume\"\norigin_dedupes = true\norigin = \"deduping\"");
    let pursue = format!("{resume}\nresolve_after = \"100ms\"");
    let brief = "retention = \"2s\"";
    Settings::new("clocks")
        .quiet()
        .var("ORIGIN_deduping", &deduping.url())
        .route("orders", &api_route("/v1/orders", "wait = \"0s\""))
        .route("parked", &api_route("/v1/parked", hasty))
        .route("resumed", &api_route("/v1/resumed", &resume))
        .route("pursued", &api_route("/v1/pursued", &pursue))
        .route("brief", &api_route("/v1/brief", brief))
}

impl Bench<'_> {
    fn call(&self, path: &str) -> Call {
        self.client.post(path).key(&key("clocks"))
    }

    /// What the Worker takes the time to be is shown to operators.
    async fn is_set(&self) {
        let audit = self.desk.get("audit?tenant=none").await;
        let worker = audit["now"].as_u64().expect("the gateway's clock");
        let expected = now_ms().saturating_add_signed(self.skew.worker);
        assert!(
            worker.abs_diff(expected) < 5_000,
            "{worker} {:?}",
            self.skew
        );
    }

    /// A twin of a running attempt is told to come again soon, and the attempt has as long as its route says.
    async fn running(&self) {
        let gate = key("gate");
        let call = self.call("/v1/orders");
        let held = call.clone().plan(&Plan::gate(&gate)).start();
        let seen = self.session.origin.arrived(held.number).await;
        let left = seen.header("oncegate-deadline").map(String::from);
        let left: Option<u64> = left.and_then(|left| left.parse().ok());
        let usual = TIMEOUT_ORDERS_MS / 2..=TIMEOUT_ORDERS_MS;
        assert!(
            left.is_some_and(|left| usual.contains(&left)),
            "{left:?} {:?}",
            self.skew
        );
        let twin = call.send().await;
        twin.assert_problem(409, "in_progress", "same-key");
        self.waits(&twin, Duration::from_secs(1));
        self.session.origin.open(&gate);
        let first = held.answer().await;
        first.assert_created();
        call.send().await.assert_replay_of(&first);
    }

    /// U3: a retry takes over when the lease is over, and not before.
    async fn resumed(&self) {
        let call = self.call("/v1/resumed");
        let claimed_at = Instant::now();
        let found = call.clone().plan(&Plan::cut(Cut::AfterEffect)).send().await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        self.waits(&found, Duration::from_secs(2));
        let pause = Duration::from_millis(100);
        let resumed = eventually_each(pause, "a retry takes over", LEASE * 4, || async {
            let answer = call.send().await;
            if answer.status == 201 {
                return Some(answer);
            }
            answer.assert_problem(409, "outcome_unknown", "same-key");
            self.waits(&answer, LEASE);
            None
        })
        .await;
        let after = claimed_at.elapsed();
        assert!(
            after + SLACK >= LEASE,
            "an early take-over: {after:?} {:?}",
            self.skew
        );
        resumed.assert_created();
        let operation = resumed.operation();
        assert_eq!(self.deduping.seen_of(&operation).len(), 2);
        for seen in self.deduping.seen_of(&operation) {
            let left = seen.header("oncegate-deadline").map(str::parse::<u64>);
            assert!(
                matches!(left, Some(Ok(1..=TIMEOUT_MS))),
                "{left:?} {:?}",
                self.skew
            );
        }
    }

    /// U6: an operator is refused while the lease runs, and then not.
    async fn settled(&self) {
        let call = self.call("/v1/parked");
        let claimed_at = Instant::now();
        let found = call.clone().plan(&Plan::cut(Cut::AfterEffect)).send().await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let id = found.operation();
        let outcome = serde_json::json!({ "status": 201, "body": "settled" });
        eventually("the lease is over", LEASE * 4, || async {
            let word = self
                .desk
                .settle(&id, "succeeded", Some(outcome.clone()))
                .await;
            assert!(word == "running" || word == "settled", "{word}");
            (word == "settled").then_some(())
        })
        .await;
        let after = claimed_at.elapsed();
        assert!(
            after + SLACK >= LEASE,
            "settled while it ran: {after:?} {:?}",
            self.skew
        );
        let replay = call.send().await;
        assert_eq!(
            (replay.verdict(), replay.text().as_str()),
            (Some("replayed"), "settled")
        );
        assert_eq!(self.session.origin.effects_of_operation(&id), 1);
        assert_eq!(self.desk.audit(&self.tenant, &id).await.len(), 1);
    }

    /// U5: the resolver goes on when its object's clock says so.
    async fn pursued(&self) {
        let plan = Plan::cut(Cut::AfterEffect).then(Plan::default());
        let call = self.call("/v1/pursued").plan(&plan);
        let claimed_at = Instant::now();
        let found = call.send().await;
        found.assert_problem(503, "outcome_unknown", "same-key");
        let sends = || self.deduping.seen_of(&found.operation());
        eventually("the resolver sends it again", LEASE * 5, || async {
            (sends().len() == 2).then_some(())
        })
        .await;
        let after = claimed_at.elapsed();
        assert!(
            after + SLACK >= LEASE,
            "an early send: {after:?} {:?}",
            self.skew
        );
        let left = sends()[1]
            .header("oncegate-deadline")
            .map(str::parse::<u64>);
        assert!(
            matches!(left, Some(Ok(1..=TIMEOUT_MS))),
            "{left:?} {:?}",
            self.skew
        );
        let replay = eventually("it is known", LEASE, || async {
            let answer = call.send().await;
            (answer.status == 201).then_some(answer)
        })
        .await;
        assert_eq!(replay.verdict(), Some("replayed"), "{}", replay.text());
        assert_eq!(sends().len(), 2);
    }

    /// P5: an outcome is kept for as long as its route says.
    async fn forgotten(&self) {
        let call = self.call("/v1/brief");
        let first = call.send().await;
        first.assert_created();
        let kept_at = Instant::now();
        call.send().await.assert_replay_of(&first);
        let again = eventually("it is forgotten", LEASE * 4, || async {
            let answer = call.send().await;
            (answer.verdict() == Some("created")).then_some(answer)
        })
        .await;
        let after = kept_at.elapsed() + first.took;
        assert!(
            after + SLACK >= Duration::from_secs(2),
            "{after:?} {:?}",
            self.skew
        );
        assert_ne!(again.body, first.body);
    }

    /// K5: a key's age is judged by the object's clock.
    async fn aged_keys(&self) {
        let now = self.skew.objects;
        let rows = [
            (now, 201),
            (now + 4 * MINUTE_MS, 201),
            (now + 6 * MINUTE_MS, 400),
            (now - 71 * HOUR_MS, 201),
            (now - 72 * HOUR_MS, 410),
        ];
        for (minted, status) in rows {
            let answer = self
                .client
                .post("/v1/orders")
                .key(&uuid_v7(minted))
                .send()
                .await;
            assert_eq!(
                answer.status,
                status,
                "{minted} {:?}: {}",
                self.skew,
                answer.text()
            );
        }
    }

    /// A span that is told is at most `most`, in whole seconds, and never none.
    fn waits(&self, answer: &Answer, most: Duration) {
        let told: Option<u64> = answer
            .header("retry-after")
            .and_then(|told| told.parse().ok());
        let usual = 1..=most.as_secs();
        assert!(
            told.is_some_and(|told| usual.contains(&told)),
            "{told:?} {:?}",
            self.skew
        );
    }
}

/// A clock jumps while an attempt is at its origin: its outcome is kept all the same, and it ran once.
async fn jumped(session: &Session, worker: i64, objects: i64) {
    let (client, _tenant) = session.fresh_tenant();
    let gate = key("gate");
    let call = client.post("/v1/orders").key(&key("jump"));
    let held = call.clone().plan(&Plan::gate(&gate)).start();
    session.origin.arrived(held.number).await;
    let clocks = format!("clocks?worker={worker}&objects={objects}");
    session.hook(&clocks).await;
    // Nobody runs beside it, whatever the object takes the time to be.
    let twin = call.send().await;
    assert_eq!(twin.status, 409, "{}", twin.text());
    session.origin.open(&gate);
    let first = held.answer().await;
    first.assert_created();
    call.send().await.assert_replay_of(&first);
    assert_eq!(session.origin.effects_of_operation(&first.operation()), 1);
}

/// Who signs in too often is told how long to wait, and not until when by another clock.
async fn throttled(session: &Session) {
    let refused = eventually("logins are throttled", Duration::from_secs(20), || async {
        let answer = session.login("not-an-operators-token").await;
        (answer.status == 429).then_some(answer)
    })
    .await;
    let told: Option<u64> = refused
        .header("retry-after")
        .and_then(|told| told.parse().ok());
    assert!(
        told.is_some_and(|told| (200..=300).contains(&told)),
        "{told:?}"
    );
}
