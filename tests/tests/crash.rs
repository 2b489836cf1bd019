//! The whole machine is lost in the middle of a burst, ten times, on one state folder.
//!
//! What was acknowledged is replayed, and no effect is done twice except where the record says that nobody knows.

use std::collections::BTreeMap;
use std::time::Duration;
use tests::client::{Answer, Call};
use tests::deadline::eventually;
use tests::keys::{key, number};
use tests::session::Session;
use tests::settings::{Settings, api_route};

const CRASHES: usize = 10;
/// Requests under way at once in each burst.
const WIDTH: usize = 16;
/// Acknowledgements awaited before the machine is lost.
const ACKNOWLEDGED_MIN: usize = 25;

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_done_twice_unseen() {
    tests::run(async {
        let more = "timeout = \"1s\"\nlease = \"3s\"";
        let session = Session::start(
            Settings::new("crash")
                .quiet()
                .route("orders", &api_route("/v1/orders", more)),
        )
        .await;
        let mut acknowledged: BTreeMap<String, (Call, Answer)> = BTreeMap::new();
        let mut unheard: Vec<Call> = Vec::new();
        for crash in 0..CRASHES {
            let (heard, lost) = burst(&session, crash).await;
            assert!(
                heard.len() >= ACKNOWLEDGED_MIN,
                "crash {crash}: a burst of {}",
                heard.len()
            );
            acknowledged.extend(heard);
            unheard.extend(lost);
            session.restart().await;
        }
        for (name, (call, first)) in &acknowledged {
            let replay = call.send().await;
            assert_eq!(
                replay.verdict(),
                Some("replayed"),
                "acknowledged and lost: {name}: {}",
                replay.text()
            );
            replay.assert_replay_of(first);
        }
        assert!(
            !unheard.is_empty(),
            "no request was under way when the machine was lost"
        );
        for call in &unheard {
            settled(call).await;
        }
        for (name, effects) in session.origin.effects_by_key("crash") {
            assert_eq!(effects, 1, "{name} was done {effects} times");
        }
    });
}

// A retry of what was never answered: either the record has the outcome, or it says that nobody knows (park), or
// the claim never became durable and the retry is the first.
async fn settled(call: &Call) {
    eventually(
        "a retry after a crash is answered",
        Duration::from_secs(15),
        || async {
            let answer = call.send().await;
            match (answer.status, answer.verdict()) {
                (201, Some("replayed" | "created")) => Some(()),
                (409, _) if answer.json()["code"] == "outcome_unknown" => Some(()),
                (409, _) if answer.json()["code"] == "in_progress" => None,
                _ => panic!("{} {}", answer.status, answer.text()),
            }
        },
    )
    .await;
}

type Heard = Vec<(String, (Call, Answer))>;

async fn burst(session: &Session, crash: usize) -> (Heard, Vec<Call>) {
    let clients: Vec<_> = (0..WIDTH)
        .map(|_| {
            let client = session.client("acme");
            tokio::spawn(async move {
                let mut heard = Vec::new();
                loop {
                    let name = key(&format!("crash-{crash}"));
                    let call = client
                        .post("/v1/orders")
                        .key(&name)
                        .json(&serde_json::json!({ "amount": number() }));
                    match call.try_send().await {
                        Ok(answer) if answer.status == 201 => heard.push((name, (call, answer))),
                        Ok(_) | Err(_) => return (heard, call),
                    }
                }
            })
        })
        .collect();
    let prefix = format!("crash-{crash}-");
    eventually(
        "the burst is under way",
        Duration::from_secs(30),
        || async {
            (session.origin.effects_by_key(&prefix).len() > ACKNOWLEDGED_MIN + 2 * WIDTH)
                .then_some(())
        },
    )
    .await;
    session.kill().await;
    let (mut heard, mut lost) = (Vec::new(), Vec::new());
    for client in clients {
        let (mut answers, unanswered) = client.await.expect("a client of the burst ends by itself");
        heard.append(&mut answers);
        lost.push(unanswered);
    }
    (heard, lost)
}
