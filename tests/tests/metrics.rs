//! M on the wire: what a scraper reads, and that every call lands in exactly one counter (P8).

use std::collections::BTreeMap;
use std::time::Duration;
use tests::deadline::eventually;
use tests::keys::key;
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{OPERATOR_TOKEN, Settings, VIEWER_TOKEN, api_route, webhook_route};
use tokio::sync::OnceCell;

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| {
            Session::start(
                Settings::new("metrics")
                    .route("orders", &api_route("/v1/orders", ""))
                    .route(
                        "stripe",
                        &webhook_route("/webhooks/stripe", "stripe", "STRIPE_WEBHOOK_SECRET", ""),
                    ),
            )
        })
        .await
}

async fn scrape(session: &Session, token: &str) -> tests::client::Answer {
    session
        .operators()
        .get("/_oncegate/metrics")
        .header("Authorization", &format!("Bearer {token}"))
        .send()
        .await
}

// Samples of one tenant, by name; those of several label sets are added up.
async fn samples(session: &Session, tenant: &str) -> BTreeMap<String, f64> {
    let text = scrape(session, OPERATOR_TOKEN).await.text();
    let mut sums = BTreeMap::new();
    let label = format!("tenant=\"{tenant}\"");
    for line in text
        .lines()
        .filter(|line| !line.starts_with('#') && line.contains(&label))
    {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let value: f64 = line
            .rsplit_once('}')
            .and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok())
            .unwrap_or(f64::NAN);
        *sums.entry(name.to_owned()).or_insert(0.0) += value;
    }
    sums
}

#[test]
fn the_text_is_openmetrics() {
    tests::run(async {
        let session = gateway().await;
        session
            .client("acme")
            .post("/v1/orders")
            .key(&key("metrics"))
            .send()
            .await
            .assert_created();
        for token in [OPERATOR_TOKEN, VIEWER_TOKEN] {
            let answer = scrape(session, token).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            let media = answer.header("content-type").expect("a media type");
            assert!(media.starts_with("application/openmetrics-text"), "{media}");
            assert!(answer.text().ends_with("# EOF\n"), "the text is whole");
        }
        scrape(session, "nobody")
            .await
            .assert_problem(401, "unauthenticated", "same-key");
    });
}

#[test]
fn every_call_is_counted_once() {
    // P8
    tests::run(async {
        let session = gateway().await;
        let (client, tenant) = session.fresh_tenant();
        let call = || client.post("/v1/orders").key(&key("metrics"));
        let first = call();
        first.send().await.assert_created();
        for _ in 0..4 {
            assert_eq!(first.send().await.verdict(), Some("replayed"));
        }
        let mismatch = first
            .clone()
            .json(&serde_json::json!({ "amount": 1 }))
            .send()
            .await;
        assert_eq!(mismatch.status, 422);
        assert_eq!(
            call().plan(&Plan::refuse(409)).send().await.verdict(),
            Some("released")
        );
        assert_eq!(
            call()
                .plan(&Plan::cut(Cut::AfterEffect))
                .send()
                .await
                .status,
            503
        );
        let gate = key("gate");
        let running = call().plan(&Plan::gate(&gate));
        let held = running.start();
        session.origin.arrived(held.number).await;
        assert_eq!(running.send().await.status, 409);
        session.origin.open(&gate);
        held.answer().await.assert_created();
        // Only saved counts are published, so they come within seconds.
        let counted = eventually("the counts are saved", Duration::from_secs(10), || async {
            let samples = samples(session, &tenant).await;
            let replays = samples
                .get("idempotency_replay_total")
                .copied()
                .unwrap_or(0.0);
            let conflicts = samples
                .get("idempotency_conflict_409_total")
                .copied()
                .unwrap_or(0.0);
            (replays >= 4.0 && conflicts >= 1.0).then_some(samples)
        })
        .await;
        let rows = [
            ("idempotency_requests_total", 10.0),
            ("idempotency_replay_total", 4.0),
            ("idempotency_conflict_409_total", 1.0),
            ("idempotency_fingerprint_mismatch_total", 1.0),
        ];
        for (name, expected) in rows {
            assert_eq!(
                counted.get(name).copied(),
                Some(expected),
                "{name}: {counted:#?}"
            );
        }
    });
}

#[test]
fn what_exists_has_its_published_name() {
    // M
    tests::run(async {
        let session = gateway().await;
        session
            .client("acme")
            .post("/v1/orders")
            .key(&key("metrics"))
            .send()
            .await
            .assert_created();
        let text = scrape(session, OPERATOR_TOKEN).await.text();
        let names = [
            "idempotency_requests",
            "idempotency_replay",
            "idempotency_conflict_409",
            "idempotency_fingerprint_mismatch",
            "idempotency_expired_key_rejections",
            "idempotency_key_age_at_request_seconds",
            "idempotency_stuck_in_progress",
            "idempotency_takeover",
            "ops_unknown_outcome",
        ];
        for name in names {
            assert!(
                text.contains(&format!("# TYPE {name} ")),
                "{name} is missing:\n{text}"
            );
        }
    });
}
