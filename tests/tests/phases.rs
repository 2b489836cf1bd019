//! The example of an origin whose work has three phases (docs/examples/three-phases): it is killed after each of them,
//! held up beyond its lease, and the gateway is killed under it. The client's retry makes one reservation, one charge and
//! one order of it, and goes on from the last recovery point (L4 to L6, U3 resume).

use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tests::client::{Answer, Call, Client};
use tests::deadline::eventually;
use tests::keys::key;
use tests::process::{Group, free_port, listens};
use tests::repository;
use tests::session::Session;
use tests::settings::Settings;
use tokio::sync::OnceCell;

/// So long may a Node process take to listen.
const START_MAX: Duration = Duration::from_secs(20);
/// So long may a retry take to run again: the lease is 4 s.
const RETRY_MAX: Duration = Duration::from_secs(30);
const QUANTITY: u64 = 3;

/// Somebody else's payment service. It is not killed.
struct Provider {
    _process: Group,
    client: Client,
    port: u16,
}

/// The example, which can be killed and started again over the same data.
struct Example {
    name: String,
    port: u16,
    client: Client,
    process: Mutex<Option<Group>>,
}

/// What is told to an example beside its addresses.
#[derive(Clone, Copy)]
enum Trouble {
    None,
    DieAt(&'static str),
    StallAt(&'static str),
}

impl Example {
    fn new(name: &str) -> Self {
        let port = free_port();
        Self {
            name: name.to_owned(),
            port,
            client: Client::new(&format!("http://127.0.0.1:{port}")),
            process: Mutex::new(None),
        }
    }

    /// Starts it in place of the one that runs or has died.
    async fn start(&self, session: &Session, trouble: Trouble) {
        let data = session.folder().join(format!("{}.json", self.name));
        let gateway = format!("http://127.0.0.1:{}", session.port());
        let provider = format!("http://127.0.0.1:{}", provider().await.port);
        let mut environment = vec![
            ("DATA", data.to_str().expect("a path of ASCII")),
            ("GATEWAY", gateway.as_str()),
            ("PROVIDER", provider.as_str()),
        ];
        match trouble {
            Trouble::None => {}
            Trouble::DieAt(place) => environment.push(("DIE_AT", place)),
            Trouble::StallAt(place) => environment.push(("STALL_AT", place)),
        }
        drop(self.take());
        let log = session.folder().join(format!("{}.log", self.name));
        let process = node("origin.mjs", self.port, &environment, &log).await;
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
    }

    fn take(&self) -> Option<Group> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.take()
    }

    /// Whether the process has died, by its own hand.
    async fn died(&self) {
        eventually("the example kills itself", RETRY_MAX, || async {
            (!listens(self.port)).then_some(())
        })
        .await;
    }

    async fn state(&self) -> Value {
        self.client.get("/state").send().await.json()
    }

    /// The phases that the attempts of one operation began, in order, the first attempt's first.
    async fn journal(&self, operation: &str) -> Vec<Vec<String>> {
        let state = self.state().await;
        let entries = state["journal"].as_array().cloned().unwrap_or_default();
        let mut attempts: Vec<(u64, Vec<String>)> = Vec::new();
        for entry in entries {
            if entry["operation"] != operation {
                continue;
            }
            let number = entry["number"].as_u64().expect("L4: a number");
            let phase = entry["phase"].as_str().expect("a phase").to_owned();
            match attempts.iter_mut().find(|(known, _)| *known == number) {
                Some((_, phases)) => phases.push(phase),
                None => attempts.push((number, vec![phase])),
            }
        }
        assert!(attempts.is_sorted(), "L4: numbers rise: {attempts:?}");
        attempts.into_iter().map(|(_, phases)| phases).collect()
    }

    /// One reservation, one charge, one order, and the stock went down once.
    async fn assert_once(&self, answer: &Answer) {
        let (operation, state) = (answer.operation(), self.state().await);
        let count = |what: &str| state[what].as_object().map_or(0, serde_json::Map::len);
        assert_eq!((count("reservations"), count("orders")), (1, 1), "{state}");
        assert_eq!(state["stock"], 1000 - QUANTITY, "{state}");
        assert_eq!(
            answer.json()["order"],
            state["orders"][&operation]["id"],
            "{state}"
        );
        let charges = charges(&operation).await;
        assert_eq!(charges.len(), 1, "L6: {charges:?}");
        assert_eq!(answer.json()["charge"], charges[0]["id"]);
        assert_eq!(charges[0]["amount"], 100 * QUANTITY);
    }
}

/// Starts a script of the example, and waits until it listens.
async fn node(script: &str, port: u16, environment: &[(&str, &str)], log: &Path) -> Group {
    let folder = repository().join("docs/examples/three-phases");
    let file = File::options().create(true).append(true).open(log);
    let file = file.expect("a log beside the session's");
    let port_text = port.to_string();
    let mut environment = environment.to_vec();
    environment.push(("PORT", port_text.as_str()));
    let process = Group::start(
        Path::new("node"),
        [script],
        environment.as_slice(),
        &folder,
        &file,
    );
    let process = process.expect("node is installed");
    eventually(&format!("{script} listens"), START_MAX, || async {
        listens(port).then_some(())
    })
    .await;
    process
}

async fn provider() -> &'static Provider {
    static PROVIDER: OnceCell<Provider> = OnceCell::const_new();
    PROVIDER
        .get_or_init(|| async {
            let port = free_port();
            let log = std::env::temp_dir().join(format!("oncegate-provider-{port}.log"));
            let process = node("provider.mjs", port, &[], &log).await;
            let _only_for_a_start_that_fails = std::fs::remove_file(log);
            Provider {
                _process: process,
                client: Client::new(&format!("http://127.0.0.1:{port}")),
                port,
            }
        })
        .await
}

/// The charges of one operation, under whatever key it derived.
async fn charges(operation: &str) -> Vec<Value> {
    let all = provider().await.client.get("/charges").send().await.json();
    let ours = |charge: &Value| {
        let key = charge["key"].as_str().unwrap_or_default();
        key.starts_with(operation)
    };
    let all = all.as_array().cloned().unwrap_or_default();
    all.into_iter().filter(ours).collect()
}

/// A gateway with a route to each of the examples, named as they are.
async fn gateway(name: &str, examples: &[Example]) -> Session {
    let mut settings = Settings::new(name);
    for example in examples {
        let (name, port) = (example.name.as_str(), example.port);
        let route = format!(
            "kind = \"api\"\nmethods = [\"POST\"]\npath = \"/{name}\"\norigin = \"{name}\"\n\
             tenant = \"api-key\"\non_unknown = \"resume\"\norigin_dedupes = true\n\
             phases = [\"reserved\", \"charged\", \"ordered\"]\n\
             timeout = \"2s\"\nlease = \"4s\"\nwait = \"0s\""
        );
        settings = settings
            .var(
                &format!("ORIGIN_{name}"),
                &format!("http://127.0.0.1:{port}"),
            )
            .route(name, &route);
    }
    Session::start(settings).await
}

/// The gateway of all rows, and the example of each: those that are killed first.
async fn examples() -> &'static (Session, Vec<Example>) {
    static EXAMPLES: OnceCell<(Session, Vec<Example>)> = OnceCell::const_new();
    EXAMPLES
        .get_or_init(|| async {
            let killed = KILLS.map(|(place, ..)| Example::new(&format!("killed-{place}")));
            let stalled = STALLS.map(|(place, _)| Example::new(&format!("stalled-{place}")));
            let examples: Vec<Example> = killed.into_iter().chain(stalled).collect();
            (gateway("phases", &examples).await, examples)
        })
        .await
}

fn order(session: &Session, example: &Example) -> Call {
    let call = session.client("acme").post(&format!("/{}", example.name));
    call.key(&key("order"))
        .json(&serde_json::json!({ "sku": "tea", "quantity": QUANTITY }))
}

/// Sends it until an attempt was made of which nobody knows how it ended.
async fn unknown(call: &Call) -> Answer {
    eventually("an attempt ends unknown", RETRY_MAX, || async {
        let answer = call.send().await;
        assert_eq!(answer.status, 503, "{}", answer.text());
        (!is_too_busy(&answer)).then_some(answer)
    })
    .await
}

/// Retries, as a client does, until the operation has an outcome.
async fn retried(call: &Call) -> Answer {
    eventually("a retry has the outcome", RETRY_MAX, || async {
        let answer = call.send().await;
        match answer.status {
            201 => Some(answer),
            503 if is_too_busy(&answer) => None,
            409 | 503 => {
                // Right after the gateway was lost the lease may still run.
                let code = answer.json()["code"].clone();
                let waits = ["outcome_unknown", "in_progress"]
                    .iter()
                    .any(|wait| code == *wait);
                assert!(waits, "{}", answer.text());
                None
            }
            _ => panic!("{} {}", answer.status, answer.text()),
        }
    })
    .await
}

/// On a busy machine claiming may leave too little time to ask the origin: nothing was sent (L2).
fn is_too_busy(answer: &Answer) -> bool {
    answer.status == 503 && answer.json()["code"] == "store_unavailable"
}

/// The place at which the first attempt ends, which phases the second one begins then, and how often the provider is asked.
const KILLS: [(&str, &[&str], u64); 7] = [
    ("start", &["start", "reserve", "charge", "order"], 1),
    ("reserve", &["start", "reserve", "charge", "order"], 1),
    ("reserved", &["start", "charge", "order"], 1),
    ("charge", &["start", "charge", "order"], 2),
    ("charged", &["start", "order"], 1),
    ("order", &["start", "order"], 1),
    ("ordered", &["start"], 1),
];

#[test]
fn wherever_the_origin_is_killed_each_phase_happens_once() {
    tests::run(async {
        let (session, examples) = examples().await;
        let rows = KILLS.iter().zip(examples);
        join_all(rows.map(|(row, example)| check_killed(session, example, row))).await;
    });
}

async fn check_killed(
    session: &Session,
    example: &Example,
    (place, resumed, asked): &(&'static str, &[&str], u64),
) {
    example.start(session, Trouble::DieAt(place)).await;
    let call = order(session, example);
    let found = unknown(&call).await;
    found.assert_problem(503, "outcome_unknown", "same-key");
    example.died().await;
    example.start(session, Trouble::None).await;
    let answer = retried(&call).await;
    answer.assert_created();
    assert_eq!(answer.operation(), found.operation());
    example.assert_once(&answer).await;
    let attempts = example.journal(&answer.operation()).await;
    let charges = charges(&answer.operation()).await;
    // On a busy machine the second one may be slow itself; then a third one ends what it left.
    if attempts.len() == 2 {
        assert_eq!(attempts[1], *resumed, "killed at {place}: {attempts:?}");
        assert_eq!(charges[0]["asked"], *asked, "killed at {place}");
    }
    assert_eq!(
        charges[0]["key"],
        format!("{}:charge", answer.operation()),
        "L6"
    );
    call.send().await.assert_replay_of(&answer);
}

/// Where the first attempt is held up until the second one is done, and what it began until it was told to stop.
const STALLS: [(&str, &[&str]); 2] = [
    // The gateway refuses its recovery point.
    ("reserve", &["start", "reserve", "superseded"]),
    // Its own store has seen a higher number.
    ("reserved", &["start", "reserve", "superseded"]),
];

#[test]
fn an_attempt_that_was_taken_over_has_no_effect_any_more() {
    // L3, L4
    tests::run(async {
        let (session, examples) = examples().await;
        let rows = STALLS.iter().zip(&examples[KILLS.len()..]);
        join_all(rows.map(|(row, example)| check_stalled(session, example, row))).await;
    });
}

async fn check_stalled(
    session: &Session,
    example: &Example,
    (place, began): &(&'static str, &[&str]),
) {
    example.start(session, Trouble::StallAt(place)).await;
    let call = order(session, example);
    let found = unknown(&call).await;
    found.assert_problem(503, "outcome_unknown", "same-key");
    let answer = retried(&call).await;
    answer.assert_created();
    example.client.post("/go-on").send().await;
    eventually("the first attempt stops", RETRY_MAX, || async {
        let attempts = example.journal(&answer.operation()).await;
        (attempts[0] == *began).then_some(())
    })
    .await;
    example.assert_once(&answer).await;
    call.send().await.assert_replay_of(&answer);
}

#[test]
fn when_the_gateway_is_lost_the_origin_ends_its_work_and_the_retry_finds_it_done() {
    tests::run(async {
        let examples = [Example::new("charged")];
        let session = gateway("phases-lost", &examples).await;
        let [example] = &examples;
        example.start(&session, Trouble::StallAt("charged")).await;
        let call = order(&session, example);
        let lost = tokio::spawn({
            let call = call.clone();
            async move {
                let mut answer = call.try_send().await;
                while answer.as_ref().is_ok_and(is_too_busy) {
                    answer = call.try_send().await;
                }
                answer.is_ok_and(|answer| answer.status == 201)
            }
        });
        let operation = eventually("the origin is held up", RETRY_MAX, || async {
            let state = example.state().await;
            let operation = state["journal"][0]["operation"].as_str();
            operation
                .filter(|_| state["heldUp"] == 1)
                .map(str::to_owned)
        })
        .await;
        session.kill().await;
        let was_heard = lost.await.expect("the client's call ends");
        assert!(!was_heard, "nobody was there to answer");
        example.client.post("/go-on").send().await;
        eventually("the origin ends its work", RETRY_MAX, || async {
            let state = example.state().await;
            (state["orders"][&operation].is_object()).then_some(())
        })
        .await;
        session.restart().await;
        let answer = retried(&call).await;
        answer.assert_created();
        assert_eq!(answer.operation(), operation);
        example.assert_once(&answer).await;
        let attempts = example.journal(&operation).await;
        assert_eq!(attempts[1][..2], ["start", "order"], "{attempts:?}");
    });
}

/// All of them at once, on the task that runs the test: a failure among them is this test's.
async fn join_all(checks: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut checks: Vec<_> = checks.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        checks.retain_mut(|check| check.as_mut().poll(context).is_pending());
        if checks.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}
