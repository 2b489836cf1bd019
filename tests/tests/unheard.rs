//! Done but unheard: the origin does its work, and the line is cut at every place where one can be.
//!
//! A line that is cut anywhere in a framed answer leaves the outcome unknown: it is never released and never replayed as
//! a failure. Only an answer that is whole by its own framing is one.

use std::ops::Range;
use std::time::{Duration, Instant};
use tests::at_once;
use tests::client::{Answer, Call};
use tests::deadline::eventually;
use tests::desk::Desk;
use tests::keys::key;
use tests::origin::Origin;
use tests::plan::{Body, Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route};
use tokio::sync::OnceCell;

/// Requests in each class.
const EACH: usize = 24;
/// Of a hundred operations with an unknown outcome, so many are settled on a probe route by one retry each.
const SETTLED_MIN: usize = 99;
const LEASE: Duration = Duration::from_secs(7);

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    let spans = "timeout = \"5s\"\nlease = \"7s\"";
    let probe = format!(
        "{spans}\non_unknown = \"probe\"\nprobe = {{ path = \"/by-operation/{{operation}}\" }}"
    );
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("unheard")
                    .quiet()
                    .route("parked", &api_route("/v1/parked", spans))
                    .route("probed", &api_route("/v1/probed", &probe)),
            )
        })
        .await
}

/// Where a line is cut, as a range of bytes of the answer to a plan.
struct Class {
    name: &'static str,
    plan: Plan,
    bytes: Range<usize>,
    /// Whether some lines are reset rather than ended.
    resets: bool,
}

impl Class {
    // The plans of its requests: the places are spread over its range, its ends included. Every third line is reset.
    fn plans(&self) -> Vec<Plan> {
        let last = self.bytes.len() - 1;
        (0..EACH)
            .map(|at| self.bytes.start + at * last / (EACH - 1))
            .enumerate()
            .map(|(at, place)| Plan {
                cut: Some(if self.resets && at % 3 == 0 {
                    Cut::ResetAfter(place)
                } else {
                    Cut::After(place)
                }),
                ..self.plan.clone()
            })
            .collect()
    }
}

fn framed(chunked: bool, length: usize) -> Plan {
    let plan = Plan {
        chunked,
        ..Plan::body(Body::Large(length))
    };
    plan.with_header("X-Padding", "some more bytes of a head")
}

fn unknown_classes() -> Vec<Class> {
    let (length, chunks) = (framed(false, 3_000), framed(true, 3_000));
    let (by_length, by_chunks) = (Origin::answer_to(&length), Origin::answer_to(&chunks));
    let status_line = by_length
        .head
        .iter()
        .position(|byte| *byte == b'\r')
        .expect("a line's end");
    let (head, whole) = (
        by_length.head.len(),
        by_length.head.len() + by_length.body.len(),
    );
    let (chunked_head, chunked_whole) = (
        by_chunks.head.len(),
        by_chunks.head.len() + by_chunks.body.len(),
    );
    let last_chunk = chunked_whole - b"0\r\n\r\n".len();
    let class = |name, plan: &Plan, bytes| Class {
        name,
        plan: plan.clone(),
        bytes,
        resets: true,
    };
    vec![
        class("before the status line", &length, 0..1),
        class("inside the status line", &length, 1..status_line + 1),
        class("inside the headers", &length, status_line + 1..head),
        class("between the headers and the body", &length, head..head + 1),
        class("inside a body of a known length", &length, head + 1..whole),
        class(
            "between the headers and the first chunk",
            &chunks,
            chunked_head..chunked_head + 1,
        ),
        class("inside a chunk", &chunks, chunked_head + 1..last_chunk),
        class("before the last chunk", &chunks, last_chunk..last_chunk + 1),
        // RFC 9112 8: with the last chunk's line the body is whole, and what may follow says nothing of it.
        class(
            "inside the last chunk's line",
            &chunks,
            last_chunk + 1..last_chunk + b"0\r\n".len(),
        ),
        class(
            "before an empty body's head ends",
            &framed(false, 0),
            1..Origin::answer_to(&framed(false, 0)).head.len(),
        ),
    ]
}

fn whole_classes() -> Vec<Class> {
    let rows = [
        ("after a body of a known length", framed(false, 3_000)),
        ("after the last chunk", framed(true, 3_000)),
        (
            "after a head that says that there is no body",
            framed(false, 0),
        ),
        ("after a status that has none", Plan::status(204)),
    ];
    let whole = |(name, plan): (_, Plan)| {
        let answer = Origin::answer_to(&plan);
        let length = answer.head.len() + answer.body.len();
        // The empty trailer behind the last chunk is no part of the body.
        let first = if plan.chunked { length - 2 } else { length };
        Class {
            name,
            plan,
            bytes: first..length + 1,
            resets: false,
        }
    };
    rows.into_iter().map(whole).collect()
}

// Sends the requests of a class, all at once.
async fn sent(path: &str, class: &Class) -> Vec<(Call, Answer)> {
    let session = gateway().await;
    let client = session.client("acme");
    let jobs = class.plans().into_iter().map(|plan| {
        let call = client.post(path).key(&key("unheard"));
        async move {
            let answer = call.clone().plan(&plan).send_until_heard().await;
            (call, answer)
        }
    });
    at_once(jobs).await
}

#[test]
fn wherever_the_line_is_cut_the_outcome_is_unknown_and_nothing_else() {
    // U1, U2
    tests::run(async {
        let session = gateway().await;
        let desk = Desk::open(session).await;
        for class in unknown_classes() {
            let name = class.name;
            for (call, answer) in sent("/v1/parked", &class).await {
                assert_eq!(answer.status, 503, "{name}: {:.300}", answer.text());
                answer.assert_problem(503, "outcome_unknown", "same-key");
                assert_eq!(
                    answer.verdict(),
                    None,
                    "{name}: neither created nor released"
                );
                let operation = answer.operation();
                assert_eq!(
                    session.origin.effects_of(answer.number),
                    1,
                    "{name}: the work was done"
                );
                let unknown = desk.detail(&operation).await["row"]["unknown"].clone();
                assert_eq!(unknown["last_answer"], "broken-line", "{name}: {unknown}");
                let retry = call.send_until_heard().await;
                retry.assert_problem(409, "outcome_unknown", "same-key");
                assert_eq!(session.origin.seen_of(&operation).len(), 1, "{name}");
            }
        }
    });
}

#[test]
fn an_answer_that_is_whole_by_its_framing_is_one_although_the_line_is_cut() {
    // U1, A1
    tests::run(async {
        let session = gateway().await;
        for class in whole_classes() {
            for (call, answer) in sent("/v1/parked", &class).await {
                assert_eq!(
                    answer.verdict(),
                    Some("created"),
                    "{}: {}",
                    class.name,
                    answer.text()
                );
                call.send_until_heard().await.assert_replay_of(&answer);
                assert_eq!(
                    session.origin.effects_of(answer.number),
                    1,
                    "{}",
                    class.name
                );
            }
        }
    });
}

#[test]
fn a_body_that_nothing_frames_ends_where_its_line_does() {
    // G: nobody can tell such an answer from one that was cut. The work is done once all the same.
    tests::run(async {
        let session = gateway().await;
        let plan = Plan {
            unframed: true,
            ..Plan::body(Body::Large(3_000))
        };
        let head = Origin::answer_to(&plan).head.len();
        for length in [3_000, 1_000, 0] {
            let call = session
                .client("acme")
                .post("/v1/parked")
                .key(&key("unframed"));
            let cut = Plan {
                cut: Some(Cut::After(head + length)),
                ..plan.clone()
            };
            let answer = call.clone().plan(&cut).send().await;
            assert_eq!(
                (answer.verdict(), answer.body.len()),
                (Some("created"), length)
            );
            call.send().await.assert_replay_of(&answer);
            assert_eq!(session.origin.effects_of(answer.number), 1);
        }
    });
}

#[test]
fn an_origin_that_is_asked_settles_nearly_all_of_them_without_a_person() {
    // U3
    tests::run(async {
        let session = gateway().await;
        let mut lost = Vec::new();
        for class in unknown_classes() {
            lost.extend(sent("/v1/probed", &class).await);
        }
        let began = Instant::now();
        eventually("the leases are over", LEASE * 3, || async {
            (began.elapsed() > LEASE).then_some(())
        })
        .await;
        let (unknown, mut settled) = (lost.len(), 0);
        for (call, answer) in lost {
            answer.assert_problem(503, "outcome_unknown", "same-key");
            let retry = call.send().await;
            if (retry.status, retry.verdict()) == (201, Some("replayed")) {
                settled += 1;
            } else {
                println!("{} {}", retry.status, retry.text());
            }
            let ran = session.origin.seen_of(&answer.operation()).len();
            assert_eq!(ran, 1, "what was done is not done again");
            assert_eq!(session.origin.effects_of(answer.number), 1);
        }
        println!("{settled} of {unknown} settled by one retry each");
        assert!(
            settled * 100 >= unknown * SETTLED_MIN,
            "{settled} of {unknown}"
        );
    });
}
