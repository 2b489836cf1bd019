//! Contract G's third way: the effect lives in the same object as the record, so one transaction holds both.
//!
//! `POST /accounts/{id}/credits {"cents": 500}` under an `Idempotency-Key` adds a row to a ledger and raises a
//! balance; `GET /accounts/{id}` shows it. Not here: who may do so (K6), and whatever the gateway has besides.

#![expect(
    missing_docs,
    reason = "the attribute of an object makes functions that have none"
)]

mod storage;
mod store;
#[cfg(feature = "testing")]
mod testing;

use std::num::NonZeroU32;

use futures_util::TryStreamExt as _;
use serde::Deserialize;
use serde_json::json;
use shared::decide::{Ask, Begin};
use shared::fingerprint::{Fingerprint, RequestShape};
use shared::key::{KeyReading, KeyRule};
use shared::metrics::Sums;
use shared::policy::{Kind, OnUnknown, Policy, PolicyParts};
use shared::problem::Code;
use shared::processor::{Processor, Run};
use shared::record::{AttemptId, Body, Outcome};
use shared::scope::OperationKey;
use shared::time::Timestamp;
use wasm_bindgen::prelude::*;
use worker::{
    Context, Date, DurableObject, Env, Error, Headers, Method, Request, Response, Result,
    SqlStorageValue, State, console_error, durable_object, event,
};

use storage::Storage;
use store::{Store, first_integer};

/// The effects' tables, beside the store's.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS ledger (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL) STRICT";
/// The most cents that an account holds; a credit beyond it is refused.
const BALANCE_MAX: i64 = 100_000_000;
/// The most bytes of a request's body (X5): a credit is one small object.
const BODY_BYTES_MAX: usize = 1_024;
/// How many expired records each credit sweeps away: more than the one that it adds, so they never pile up (R1).
const SWEPT: usize = 2;

/// Contract A's word for an answer that was given before.
const REPLAYED: [(&str, &str); 2] = [
    ("idempotency-status", "replayed"),
    ("idempotent-replayed", "true"),
];

/// What a client asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Credit {
    cents: NonZeroU32,
}

/// Why a credit is not done.
enum Refusal {
    /// The account would hold more than [`BALANCE_MAX`].
    Full,
    /// The storage failed.
    Storage(Error),
}

/// Hands each request to its account's object.
#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> Result<Response> {
    let path = request.path();
    let ["", "accounts", account, ..] = *path.split('/').collect::<Vec<_>>() else {
        return problem(Code::NotFound);
    };
    let objects = env.durable_object("ACCOUNTS")?;
    objects
        .get_by_name(account)?
        .fetch_with_request(request)
        .await
}

/// One account: its balance, its ledger, and what is remembered of its operations.
#[durable_object]
pub struct Accounts {
    storage: Storage,
}

impl DurableObject for Accounts {
    fn new(state: State, _env: Env) -> Self {
        let storage = Storage::of(&state);
        Self { storage }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        // Read to its end whatever is answered, since an unread body may break the line; and before all else, because
        // nothing is awaited after that: so nothing else runs in this object until the answer is made.
        let answered = match read(&mut request).await {
            Ok(body) => self.answer(&request, &body),
            Err(error) => Err(error),
        };
        answered.or_else(|error| {
            console_error!("failed to answer: {error}");
            problem(Code::Internal)
        })
    }
}

impl Accounts {
    fn answer(&self, request: &Request, body: &[u8]) -> Result<Response> {
        self.storage.exec(store::TABLES, &[])?;
        self.storage.exec(TABLES, &[])?;
        let path = request.path();
        match (request.method(), &*path.split('/').collect::<Vec<_>>()) {
            (Method::Get, ["", "accounts", _]) => self.account(),
            (Method::Post, ["", "accounts", _, "credits"]) => self.credit(request, body),
            #[cfg(feature = "testing")]
            (Method::Post, ["", "accounts", _, "store-contract"]) => {
                testing::store_contract(&self.storage)
            }
            _ => problem(Code::NotFound),
        }
    }

    fn account(&self) -> Result<Response> {
        let credits = self.storage.exec("SELECT count(*) FROM ledger", &[])?;
        let balance = self.storage.exec("SELECT balance FROM account", &[])?;
        let number = |rows: &[storage::Row]| first_integer(rows).unwrap_or_default();
        Response::from_json(&json!({ "balance": number(&balance), "credits": number(&credits) }))
    }

    /// Untrusted text becomes types; what cannot is refused before anything is written.
    fn credit(&self, request: &Request, body: &[u8]) -> Result<Response> {
        if body.len() > BODY_BYTES_MAX {
            return problem(Code::BodyTooLarge);
        }
        let header = |name: &str| request.headers().get(name);
        let (key, media) = (header("idempotency-key")?, header("content-type")?);
        let lines: Vec<&[u8]> = key.iter().map(String::as_bytes).collect();
        let key = match KeyRule::default().read(&lines) {
            KeyReading::Key(key) => key,
            KeyReading::Missing | KeyReading::Unprotected => return problem(Code::KeyMissing),
            KeyReading::Malformed { .. } => return problem(Code::KeyMalformed),
        };
        let Ok(credit) = serde_json::from_slice(body) else {
            return problem(Code::RequestMalformed);
        };
        let shape = RequestShape {
            method: "POST",
            path_and_query: &request.path(), // no query is read here
            content_type: media.as_deref().map(str::as_bytes),
            body,
            exclusions: &[],
        };
        let ask = Ask {
            token: token()?,
            fingerprint: Fingerprint::of_request(&shape),
            minted_at: key.minted_at(),
        };
        match self.once(&key.into(), &ask, &credit)? {
            Run::Applied(outcome) => answer(outcome, &[("idempotency-status", "created")]),
            Run::Duplicate(replay) => answer(replay.outcome, &REPLAYED),
            Run::Failed(Refusal::Full) => Response::error("the account is full", 403),
            Run::Failed(Refusal::Storage(error)) => Err(error),
            Run::NotRun(Begin::Mismatch) => problem(Code::KeyReused),
            Run::NotRun(Begin::Expired) => problem(Code::KeyExpired),
            Run::NotRun(Begin::FromTheFuture) => problem(Code::KeyMalformed),
            // No claim outlives its transaction, so none is ever found running or unknown.
            Run::NotRun(
                Begin::Wait { .. }
                | Begin::Unknown { .. }
                | Begin::Ask(_)
                | Begin::Abandoned
                | Begin::Execute(_)
                | Begin::Replay(_),
            ) => problem(Code::Internal),
        }
    }

    /// The record and the effect: one transaction, so that there is never one without the other.
    fn once(&self, key: &OperationKey, ask: &Ask, credit: &Credit) -> Result<Run<Refusal>> {
        let now = Timestamp::from_millis(Date::now().as_millis().cast_signed());
        // No outcome is ever unknown here, so nothing will be parked.
        let policy = Policy::new(PolicyParts::defaults(Kind::Api, OnUnknown::Park))
            .map_err(|error| Error::RustError(error.to_string()))?;
        self.storage.transaction(|| {
            let mut processor = Processor::new(Store(&self.storage), Sums::default());
            // The work is a part of its own: what a refused credit wrote goes, and then its claim is released.
            let work = || self.storage.transaction(|| self.apply(credit));
            let run = processor.run(key, ask, &policy, now, work)?;
            if let Run::Failed(Refusal::Storage(error)) = run {
                return Err(error); // which gives back all, the claim too
            }
            processor.sweep(now, SWEPT)?;
            Ok(run)
        })
    }

    /// The effect itself, and what its client is answered now and on every retry.
    fn apply(&self, credit: &Credit) -> std::result::Result<Outcome, Refusal> {
        let cents = [SqlStorageValue::Integer(credit.cents.get().into())];
        let sql = "INSERT INTO ledger (cents) VALUES (?)";
        self.storage.exec(sql, &cents)?;
        let sql = "INSERT INTO account (id, balance) VALUES (1, ?)
            ON CONFLICT (id) DO UPDATE SET balance = balance + excluded.balance RETURNING balance";
        let balance = first_integer(&self.storage.exec(sql, &cents)?);
        #[cfg(feature = "testing")]
        testing::after_writing(&self.storage, credit.cents)?;
        if balance > Some(BALANCE_MAX) {
            return Err(Refusal::Full); // both rows are given back
        }
        let body = json!({ "cents": credit.cents, "balance": balance });
        Ok(Outcome {
            status: 201,
            headers: vec![("content-type".into(), "application/json".into())],
            body: Body::Kept(body.to_string().into_bytes()),
        })
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Storage(error)
    }
}

/// The body, or of one that is too large somewhat more than [`BODY_BYTES_MAX`]. `worker` takes one that broke off for
/// finished; half a credit is no JSON.
async fn read(request: &mut Request) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    if request.inner().body().is_some() {
        let mut stream = request.stream()?;
        while let Some(piece) = stream.try_next().await? {
            if body.len() <= BODY_BYTES_MAX {
                body.extend(piece);
            }
        }
    }
    Ok(body)
}

/// An outcome, and what became of the request.
fn answer(outcome: Outcome, verdict: &[(&str, &str)]) -> Result<Response> {
    let headers = Headers::new();
    let kept = outcome
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in kept.chain(verdict.iter().copied()) {
        headers.set(name, value)?;
    }
    let response = Response::builder()
        .with_status(outcome.status)
        .with_headers(headers);
    Ok(match outcome.body {
        Body::Kept(bytes) => response.fixed(bytes),
        Body::Omitted { .. } => response.empty(),
    })
}

/// One of the rule's refusals (RFC 9457).
fn problem(code: Code) -> Result<Response> {
    let response = Response::from_json(&json!({
        "status": code.status(),
        "code": code.as_str(),
        "title": code.title(),
        "detail": code.meaning(),
        "retry": code.retry().to_string(),
    }))?;
    let media = "application/problem+json";
    response.headers().set("content-type", media)?;
    Ok(response.with_status(code.status()))
}

/// The token of this attempt: 122 random bits of the platform (L1).
fn token() -> Result<AttemptId> {
    let token = AttemptId::parse(&random_uuid().replace('-', ""));
    token.ok_or_else(|| Error::from("the platform's uuid is none"))
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = crypto, js_name = randomUUID)]
    fn random_uuid() -> String;
}
