//! Calls into every part of the rule that a gateway uses, so that the linker keeps them.

extern crate alloc;

use alloc::string::ToString;
use alloc::vec;
use core::hint::black_box;

use shared::classify::{OriginAnswer, classify};
use shared::config::{Config, Found};
use shared::decide::{Ask, Begin};
use shared::fingerprint::{Fingerprint, RequestShape};
use shared::key::{KeyReading, KeyRule};
use shared::metrics::Sums;
use shared::policy::{Kind, OnUnknown, Policy, PolicyParts};
use shared::processor::Processor;
use shared::record::{AttemptId, Body, Outcome};
use shared::scope::OperationKey;
use shared::store::MemoryStore;
use shared::time::{Millis, Timestamp};
use shared::webhook::{Delivery, Scheme};

/// Counts what of the rule answered; the number does not matter.
#[expect(
    unsafe_code,
    reason = "an export needs its name, and the linker keeps only what an export reaches"
)]
#[unsafe(no_mangle)]
extern "C" fn probe() -> u32 {
    let answers = [configuration(), key(), request(), delivery(), operation()];
    answers.into_iter().map(u32::from).sum()
}

fn configuration() -> bool {
    let vars = serde_json::from_str(black_box("{}")).unwrap_or_default();
    match Config::read(&vars, None) {
        Ok(config) => matches!(
            config.routes.find(black_box("POST"), black_box("/")),
            Found::Route(_)
        ),
        Err(mistakes) => mistakes
            .iter()
            .all(|mistake| mistake.to_string().is_empty()),
    }
}

fn key() -> bool {
    match KeyRule::default().read(&[black_box(b"key")]) {
        KeyReading::Key(key) => key.minted_at().is_some(),
        KeyReading::Unprotected | KeyReading::Missing | KeyReading::Malformed { .. } => false,
    }
}

fn fingerprint() -> Fingerprint {
    Fingerprint::of_request(&RequestShape {
        method: black_box("POST"),
        path_and_query: black_box("/"),
        content_type: Some(black_box(b"application/json")),
        body: black_box(b"{}"),
        exclusions: &[],
    })
}

fn request() -> bool {
    fingerprint().to_string().is_empty()
}

fn delivery() -> bool {
    let delivery = Delivery {
        headers: &[(black_box("webhook-id"), black_box(b"id"))],
        body: black_box(b"{}"),
        arrived: Timestamp::from_millis(black_box(0)),
    };
    Scheme::ALL.iter().any(|scheme| {
        let secrets = scheme
            .secret(black_box("whsec_"))
            .map_or_else(|_| vec![], |secret| vec![secret]);
        let verified = scheme.verify(&delivery, &secrets, Millis::new(1));
        verified.and_then(|verified| verified.event()).is_ok()
    })
}

fn operation() -> bool {
    let parts = PolicyParts::defaults(Kind::Api, OnUnknown::Park);
    let (Ok(policy), Ok(key)) = (Policy::new(parts), OperationKey::parse(black_box("key"))) else {
        return false;
    };
    let mut processor = Processor::new(MemoryStore::default(), Sums::default());
    let now = Timestamp::from_millis(black_box(0));
    let ask = Ask {
        token: AttemptId::from_bytes(black_box([7; 16])),
        fingerprint: fingerprint(),
        minted_at: None,
    };
    let Ok(Begin::Execute(_)) = processor.begin(&key, &ask, None, &policy, now) else {
        return false;
    };
    let answer = OriginAnswer {
        status: black_box(200),
        outcome: None,
    };
    let outcome = Outcome {
        status: answer.status,
        headers: vec![],
        body: Body::Kept(vec![]),
    };
    let verdict = black_box(classify(Kind::Api, answer, None));
    let completed = processor.complete(&key, ask.token, outcome, None, &policy, now);
    completed.is_ok() && verdict == shared::classify::Verdict::Final
}
