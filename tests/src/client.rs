//! A client of the gateway: it says what a test tells it to say, and keeps the whole answer.
//!
//! Not a retrying client: a retry is a call that the test sends again.

use crate::deadline::eventually_each;
use crate::keys;
use crate::plan::Plan;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// So long may any single answer take; a gateway that hangs fails the test and not the run.
const PATIENCE: Duration = Duration::from_secs(40);

/// So long is an idle connection kept: the runtime closes its end after 5 s, and a request sent at that moment is lost.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// The pause between two retries: as short as a suite wants it, and long enough for some dozens at once.
const RETRY_PAUSE: Duration = Duration::from_millis(300);

/// So long may an outcome stay unknown that the next retry, or the gateway by itself, brings to an end.
const KNOWN_MAX: Duration = Duration::from_secs(20);

/// Speaks to one address, with headers that all its calls carry.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
}

impl Client {
    /// A client of `base`, which has no path.
    ///
    /// # Panics
    /// Never on a machine that has sockets.
    #[must_use]
    pub fn new(base: &str) -> Self {
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .pool_idle_timeout(IDLE_MAX)
            .no_proxy()
            .build()
            .unwrap_or_else(|error| panic!("failed to make a client: {error}"));
        Self {
            http,
            base: base.to_owned(),
            headers: HeaderMap::new(),
        }
    }

    /// Adds a header to all calls.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        insert(&mut self.headers, name, value);
        self
    }

    /// The address without a path.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A call with this method.
    #[must_use]
    pub fn call(&self, method: &str, path: &str) -> Call {
        Call {
            client: self.clone(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Vec::new(),
        }
    }

    /// A GET.
    #[must_use]
    pub fn get(&self, path: &str) -> Call {
        self.call("GET", path)
    }

    /// A POST with a small JSON body.
    #[must_use]
    pub fn post(&self, path: &str) -> Call {
        self.call("POST", path)
            .json(&serde_json::json!({ "amount": 100 }))
    }
}

fn insert(headers: &mut HeaderMap, name: &str, value: &str) {
    let (name, value) = pair(name, value);
    headers.insert(name, value);
}

fn pair(name: &str, value: &str) -> (HeaderName, HeaderValue) {
    match (name.parse(), HeaderValue::from_bytes(value.as_bytes())) {
        (Ok(name), Ok(value)) => (name, value),
        (Err(_), _) | (_, Err(_)) => panic!("no header a library would send: {name}: {value}"),
    }
}

/// A request that can be sent any number of times; each sending has a number of its own.
#[derive(Debug, Clone)]
pub struct Call {
    client: Client,
    method: String,
    path: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Call {
    /// Under this idempotency key, in the quoted form.
    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.header("Idempotency-Key", &format!("\"{key}\""))
    }

    /// With this header in place of any of its name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        insert(&mut self.headers, name, value);
        self
    }

    /// With this header besides any of its name.
    #[must_use]
    pub fn header_too(mut self, name: &str, value: &str) -> Self {
        let (name, value) = pair(name, value);
        self.headers.append(name, value);
        self
    }

    /// With all these headers.
    #[must_use]
    pub fn headers(self, headers: &[(String, String)]) -> Self {
        headers
            .iter()
            .fold(self, |call, (name, value)| call.header(name, value))
    }

    /// With this JSON body.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body(body.to_string(), "application/json")
    }

    /// With this body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>, media: &str) -> Self {
        self.body = body.into();
        self.header("Content-Type", media)
    }

    /// Telling the origin what to do.
    #[must_use]
    pub fn plan(self, plan: &Plan) -> Self {
        self.header("Test-Plan", &plan.header())
    }

    /// To another path.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    /// Sends it and waits for the whole answer.
    ///
    /// # Panics
    /// When no answer comes.
    pub async fn send(&self) -> Answer {
        self.send_numbered(keys::number()).await
    }

    /// Sends it; the error says why no answer came.
    pub async fn try_send(&self) -> Result<Answer, reqwest::Error> {
        self.exchange(keys::number()).await
    }

    /// Sends it again, with the same key, until the gateway itself answers: under many requests at once the proxy of
    /// `wrangler dev` loses a line now and then, to the Worker (and says so itself) or to the client.
    pub async fn send_until_heard(&self) -> Answer {
        let mut last = String::new();
        for _ in 0..10 {
            match self.try_send().await {
                Ok(answer) if !answer.is_the_proxys() => return answer,
                Ok(answer) => last = answer.text(),
                Err(error) => last = format!("{error:?}"),
            }
        }
        panic!(
            "ten times no answer to {} {}: {last}",
            self.method, self.path
        );
    }

    /// Sends it again until it meets something else than an outcome that nobody knows.
    ///
    /// # Panics
    /// When it has to wait for longer than any lease of a suite lasts.
    pub async fn until_known(&self) -> Answer {
        eventually_each(
            RETRY_PAUSE,
            "a retry meets something else than an unknown outcome",
            KNOWN_MAX,
            || async {
                let answer = self.send().await;
                if answer.status == 409 && answer.json()["code"] == "outcome_unknown" {
                    return None;
                }
                Some(answer)
            },
        )
        .await
    }

    /// Sends it on its own, so that the test can look at the origin meanwhile.
    #[must_use]
    pub fn start(&self) -> InFlight {
        let number = keys::number();
        let call = self.clone();
        InFlight {
            number,
            answer: tokio::spawn(async move { call.send_numbered(number).await }),
        }
    }

    async fn send_numbered(&self, number: u64) -> Answer {
        match self.exchange(number).await {
            Ok(answer) => answer,
            Err(error) => panic!("no answer to {} {}: {error:?}", self.method, self.path),
        }
    }

    async fn exchange(&self, number: u64) -> Result<Answer, reqwest::Error> {
        let method = self
            .method
            .parse()
            .unwrap_or_else(|_| panic!("no method a library would send: {}", self.method));
        let mut headers = self.client.headers.clone();
        for name in self.headers.keys() {
            headers.remove(name);
        }
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        insert(&mut headers, "Test-Number", &number.to_string());
        let began = Instant::now();
        let url = format!("{}{}", self.client.base, self.path);
        let mut request = self.client.http.request(method, url).headers(headers);
        if !self.body.is_empty() {
            request = request.body(self.body.clone());
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = response.bytes().await?.to_vec();
        Ok(Answer {
            number,
            status,
            headers,
            body,
            took: began.elapsed(),
        })
    }
}

/// A call under way.
pub struct InFlight {
    /// The number under which the origin sees it.
    pub number: u64,
    answer: JoinHandle<Answer>,
}

impl InFlight {
    /// Waits for its answer.
    ///
    /// # Panics
    /// When no answer comes.
    pub async fn answer(self) -> Answer {
        match self.answer.await {
            Ok(answer) => answer,
            Err(error) => panic!("request {} got no answer: {error}", self.number),
        }
    }

    /// Whether its answer has come.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.answer.is_finished()
    }

    /// Hangs up.
    pub fn abandon(self) {
        self.answer.abort();
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The number of the request.
    pub number: u64,
    /// The status.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The body's bytes.
    pub body: Vec<u8>,
    /// From sending to the last byte.
    pub took: Duration,
}

impl Answer {
    /// The first header of this name, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body as text, for messages.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("not JSON ({error}): {} {}", self.status, self.text()),
        }
    }

    // What wrangler's proxy says when its line to the Worker broke; no word of the gateway's.
    fn is_the_proxys(&self) -> bool {
        self.status == 503 && self.body.starts_with(b"Your worker restarted mid-request.")
    }

    /// `Idempotency-Status`.
    #[must_use]
    pub fn verdict(&self) -> Option<&str> {
        self.header("idempotency-status")
    }

    /// The operation's id, from the answer's header.
    ///
    /// # Panics
    /// When the answer names none.
    #[must_use]
    #[track_caller]
    pub fn operation(&self) -> String {
        match self.header("oncegate-operation") {
            Some(operation) => operation.to_owned(),
            None => panic!("no Oncegate-Operation: {self:?}"),
        }
    }

    /// Asserts a first, kept answer (A).
    #[track_caller]
    pub fn assert_created(&self) {
        assert_eq!(
            self.verdict(),
            Some("created"),
            "{} {}",
            self.status,
            self.text()
        );
        assert!(
            self.header("idempotency-expires")
                .is_some_and(is_rfc3339_utc),
            "A: the expiry of {:?}",
            self.headers
        );
        assert_eq!(
            self.header("idempotent-replayed"),
            None,
            "A: a first answer is not a replay"
        );
    }

    /// Asserts a replay of `first` to the byte (A, A1).
    #[track_caller]
    pub fn assert_replay_of(&self, first: &Self) {
        assert_eq!(
            self.verdict(),
            Some("replayed"),
            "{} {}",
            self.status,
            self.text()
        );
        assert_eq!(self.header("idempotent-replayed"), Some("true"));
        assert_eq!(self.status, first.status);
        assert_eq!(self.body, first.body, "A1: a replay is byte-identical");
        assert_eq!(self.header("content-type"), first.header("content-type"));
        assert_eq!(
            self.header("oncegate-operation"),
            first.header("oncegate-operation")
        );
    }

    /// Asserts one of our own refusals (A, RFC 9457).
    #[track_caller]
    pub fn assert_problem(&self, status: u16, code: &str, retry: &str) {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(
            problem["type"],
            format!("/_oncegate/problems/{code}"),
            "{problem}"
        );
        assert_eq!(problem["retry"], retry, "{problem}");
        assert!(
            problem["title"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{problem}"
        );
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{problem}"
        );
    }
}

// 2026-11-30T13:22:05Z, with or without a fraction.
fn is_rfc3339_utc(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes[10] == b'T'
        && bytes[13] == b':'
        && text.ends_with('Z')
}
