//! The example that embeds the rule (docs/examples/embedded): its effect and its record are one transaction (G), so
//! there is never one without the other, whatever breaks in between.

use std::time::Duration;
use tests::client::{Answer, Call};
use tests::deadline::eventually;
use tests::keys::{key, number, uuid_v7};
use tests::session::Session;
use tests::settings::Settings;
use tokio::sync::OnceCell;

const CRASHES: usize = 3;
/// Clients that send one credit after the other.
const WIDTH: usize = 8;
/// Credits awaited before the machine is lost.
const CREDITS_MIN: u64 = 40;
/// The most cents that the example lets an account hold.
const BALANCE_MAX: u64 = 100_000_000;
/// Credits that break once their rows are written: one panics, one fails, one can't be recorded.
const BREAKING: [u64; 3] = [13, 17, 19];

async fn start(name: &str) -> Session {
    let settings = Settings::new(name).example("docs/examples/embedded");
    Session::start_unready(settings.quiet()).await
}

async fn example() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION.get_or_init(|| start("embedded")).await
}

fn credit(session: &Session, account: &str, key: &str, cents: u64) -> Call {
    let call = session.http().post(&format!("/accounts/{account}/credits"));
    call.key(key).json(&serde_json::json!({ "cents": cents }))
}

/// Balance and number of credits.
async fn account(session: &Session, account: &str) -> (u64, u64) {
    let answer = session.http().get(&format!("/accounts/{account}"));
    let answer = answer.send_until_heard().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let found = answer.json();
    let number = |name: &str| found[name].as_u64().expect("a number");
    (number("balance"), number("credits"))
}

#[track_caller]
fn check_created(answer: &Answer) {
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(answer.verdict(), Some("created"));
    assert_eq!(answer.header("idempotent-replayed"), None);
}

#[track_caller]
fn check_refused(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.json()["code"], code);
}

#[test]
fn the_examples_store_keeps_the_contract_of_stores() {
    tests::run(async {
        let path = "/accounts/store-contract/store-contract";
        let answer = example().await.http().post(path).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let cases = answer.json().as_array().map_or(0, Vec::len);
        assert!(cases >= 13, "only {cases} cases ran");
    });
}

#[test]
fn of_twenty_equal_requests_one_has_the_effect_and_all_have_its_answer() {
    tests::run(async {
        let session = example().await;
        let call = credit(session, "twins", &key("twins"), 500);
        let twins: Vec<_> = (0..20)
            .map(|_| {
                let call = call.clone();
                tokio::spawn(async move { call.send_until_heard().await })
            })
            .collect();
        let (mut created, mut bodies) = (0, Vec::new());
        for twin in twins {
            let answer = twin.await.expect("each is answered");
            match answer.verdict() {
                Some("created") => created += 1,
                _ => assert_eq!(answer.verdict(), Some("replayed"), "{}", answer.text()),
            }
            assert_eq!(answer.status, 201);
            bodies.push(answer.body);
        }
        assert!(created <= 1, "{created} of them ran"); // none is seen to if its answer was lost on the way
        bodies.dedup();
        assert_eq!(bodies.len(), 1, "A1: {bodies:?}");
        assert_eq!(account(session, "twins").await, (500, 1));
    });
}

#[test]
fn a_replay_is_the_first_answer_although_the_balance_has_moved_on() {
    tests::run(async {
        let session = example().await;
        let call = credit(session, "replay", &key("replay"), 100);
        let first = call.send().await;
        check_created(&first);
        check_created(&credit(session, "replay", &key("other"), 11).send().await);
        call.send().await.assert_replay_of(&first);
        assert_eq!(account(session, "replay").await, (111, 2));
    });
}

#[test]
fn a_key_names_one_request_of_one_account() {
    tests::run(async {
        let session = example().await;
        let name = key("reused");
        check_created(&credit(session, "reused", &name, 100).send().await);
        let other = credit(session, "reused", &name, 101).send().await;
        check_refused(&other, 422, "idempotency_key_reused");
        assert_eq!(other.json()["retry"], "new-key");
        check_created(&credit(session, "neighbour", &name, 101).send().await); // K4
        assert_eq!(account(session, "reused").await, (100, 1));
        assert_eq!(account(session, "neighbour").await, (101, 1));
    });
}

#[test]
fn refused_and_broken_work_leaves_neither_effect_nor_record() {
    tests::run(async {
        let session = example().await;
        let (full, mut expected) = (BALANCE_MAX + 1, (0, 0));
        for cents in BREAKING.into_iter().chain([full]) {
            let name = key("broken");
            let broken = credit(session, "broken", &name, cents).send().await;
            if cents == full {
                assert_eq!(broken.status, 403, "{}", broken.text());
            } else {
                check_refused(&broken, 500, "internal");
            }
            assert!(
                broken.took < Duration::from_secs(1),
                "it took {:?}",
                broken.took
            );
            assert_eq!(account(session, "broken").await, expected, "{cents}");
            // No record either: the key is free, even for another request.
            check_created(&credit(session, "broken", &name, 100).send().await);
            expected = (expected.0 + 100, expected.1 + 1);
            assert_eq!(account(session, "broken").await, expected, "{cents}");
        }
    });
}

#[test]
fn what_is_no_credit_under_a_key_is_refused() {
    tests::run(async {
        let session = example().await;
        let credit = |key: &str| credit(session, "refused", key, 100);
        let without = session.http().post("/accounts/refused/credits");
        check_refused(&without.send().await, 400, "idempotency_key_missing");
        let short = credit("short").send().await;
        check_refused(&short, 400, "idempotency_key_malformed");
        let four_days_ms = 4 * 24 * 60 * 60 * 1_000;
        let old = credit(&uuid_v7(-four_days_ms)).send().await;
        check_refused(&old, 410, "idempotency_key_expired"); // K5
        for body in ["", "{", r#"{"cents":0}"#, r#"{"cents":1,"cents":2}"#] {
            let call = credit(&key("malformed")).body(body, "application/json");
            check_refused(&call.send().await, 400, "request_malformed");
        }
        let large = credit(&key("large")).body(" ".repeat(2_000), "application/json");
        check_refused(&large.send().await, 413, "body_too_large");
        let elsewhere = credit(&key("elsewhere")).path("/accounts/refused/debits");
        check_refused(&elsewhere.send().await, 404, "not_found");
        assert_eq!(account(session, "refused").await, (0, 0));
    });
}

#[test]
fn after_a_lost_machine_every_credit_is_there_once() {
    tests::run(async {
        let session = start("embedded-crash").await;
        let (mut sum, mut credits) = (0, 0);
        for crash in 0..CRASHES {
            let (heard, lost) = burst(&session, credits + CREDITS_MIN).await;
            session.restart().await;
            let (balance, found) = account(&session, "crash").await;
            let known = credits + heard.len() as u64;
            assert!(
                (known..=known + lost.len() as u64).contains(&found),
                "crash {crash}: {found} credits after {known} acknowledged ones"
            );
            for (cents, call, first) in &heard {
                call.send().await.assert_replay_of(first);
                sum += cents;
            }
            assert!(
                balance >= sum,
                "crash {crash}: {balance} cents after {sum} acknowledged"
            );
            assert_eq!(account(&session, "crash").await, (balance, found));
            // Whether an unheard credit was done or not, its retry makes it done once.
            for (cents, call) in &lost {
                assert_eq!(call.send().await.status, 201);
                sum += cents;
            }
            credits = known + lost.len() as u64;
            assert_eq!(account(&session, "crash").await, (sum, credits));
        }
    });
}

type Heard = Vec<(u64, Call, Answer)>;

/// Credits until the account has `enough` and the machine is lost: those that were acknowledged, and those that were not.
async fn burst(session: &Session, enough: u64) -> (Heard, Vec<(u64, Call)>) {
    let clients: Vec<_> = (0..WIDTH)
        .map(|_| {
            let next = || {
                let cents = 1_000 + number();
                (cents, key("crash"))
            };
            let base = credit(session, "crash", "", 1);
            tokio::spawn(async move {
                let mut heard = Vec::new();
                loop {
                    let (cents, key) = next();
                    let body = serde_json::json!({ "cents": cents });
                    let call = base.clone().key(&key).json(&body);
                    match call.try_send().await {
                        Ok(answer) if answer.status == 201 => heard.push((cents, call, answer)),
                        Ok(_) | Err(_) => return (heard, (cents, call)),
                    }
                }
            })
        })
        .collect();
    eventually(
        "the burst is under way",
        Duration::from_secs(30),
        || async { (account(session, "crash").await.1 >= enough).then_some(()) },
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
