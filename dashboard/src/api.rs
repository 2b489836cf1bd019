//! The only fetcher. Every failure keeps what the gateway said about it.
//!
//! Not here: asking again (`live`) and leading to the login (`live`, too): this reports.

use gloo_net::http::{Request, RequestBuilder};
use shared::wire::{Login, ProblemDocument, Session, Settlements, SettlementsDone};
use web_sys::{AbortSignal, RequestCache};

use crate::browser;
use crate::forms::{self, Form};
use crate::view::filter::{AuditFilter, OperationFilter, OverviewFilter, UnknownFilter};
use crate::view::link;

const LOGIN: &str = "/_oncegate/operator/login";
const LOGOUT: &str = "/_oncegate/operator/logout";
const SESSION: &str = "/_oncegate/operator/session";
const OVERVIEW: &str = "/_oncegate/operator/overview";
const OPERATIONS: &str = "/_oncegate/operator/operations";
const UNKNOWN: &str = "/_oncegate/operator/unknown";
const SETTLEMENTS: &str = "/_oncegate/operator/settlements";
const AUDIT: &str = "/_oncegate/operator/audit";

/// Says that a state change comes from the dashboard: no other site's form can set it (X3).
const OPERATOR_HEADER: (&str, &str) = ("Oncegate-Operator", "1");
/// The gateway gives up on an object after less than this, so nothing is coming any more.
const ANSWER_MS_MAX: u32 = 15_000;
const UNAUTHORIZED: u16 = 401;

/// Why there is no answer, by what can be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No answer at all: the network, or the gateway is down. Asking again is right.
    Offline(String),
    /// The session is over, or the token was not one. Signing in is right.
    SignedOut(Option<Box<ProblemDocument>>),
    /// The gateway refused and said why.
    Problem(Box<ProblemDocument>),
    /// An answer that is none of the gateway's: something else stands in between, or versions differ.
    Unreadable {
        /// The answer's status.
        status: u16,
        /// What could not be read.
        why: String,
    },
}

impl Failure {
    /// A headline.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Offline(_) => "The gateway does not answer".to_owned(),
            Self::SignedOut(problem) => problem
                .as_ref()
                .map_or("Signed out", |problem| &problem.title)
                .to_owned(),
            Self::Problem(problem) => problem.title.clone(),
            Self::Unreadable { .. } => "The answer could not be read".to_owned(),
        }
    }

    /// What was wrong this time.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Offline(why) => why.clone(),
            Self::SignedOut(problem) => problem
                .as_ref()
                .map_or("The session is over: sign in again.", |problem| {
                    &problem.detail
                })
                .to_owned(),
            Self::Problem(problem) => problem.detail.clone(),
            Self::Unreadable { status, why } => {
                format!("status {status}: {why}. If the gateway was just updated, reload the page.")
            }
        }
    }

    /// The problem's code, for searching in the documentation.
    pub(crate) fn code(&self) -> Option<String> {
        match self {
            Self::Problem(problem) => Some(problem.code.clone()),
            Self::SignedOut(problem) => problem.as_ref().map(|problem| problem.code.clone()),
            Self::Offline(_) | Self::Unreadable { .. } => None,
        }
    }

    /// Whether the gateway says that there is no such thing.
    pub(crate) fn is_not_found(&self) -> bool {
        match self {
            Self::Problem(problem) => problem.status == 404,
            Self::Offline(_) | Self::SignedOut(_) | Self::Unreadable { .. } => false,
        }
    }
}

/// The address of the overview's numbers.
pub(crate) fn overview(filter: &OverviewFilter) -> String {
    filter.ask(OVERVIEW)
}

/// The address of a page of operations.
pub(crate) fn operations(filter: &OperationFilter) -> String {
    filter.ask(OPERATIONS)
}

/// The address of one operation.
pub(crate) fn operation(id: &str) -> String {
    format!("{OPERATIONS}/{}", link::encode(id))
}

/// The address of the unknown outcomes.
pub(crate) fn unknown(filter: &UnknownFilter) -> String {
    filter.ask(UNKNOWN)
}

/// The address of a page of the audit log.
pub(crate) fn audit(filter: &AuditFilter) -> String {
    filter.ask(AUDIT)
}

/// An answer before it is read.
pub(crate) struct Answer {
    status: u16,
    text: String,
}

impl Answer {
    /// Reads it as what the address is known to answer with.
    pub(crate) fn read<T: Form>(&self) -> Result<T, Failure> {
        let value = browser::parse(&self.text).ok_or_else(|| "not JSON".to_owned());
        value
            .and_then(forms::read)
            .map_err(|why| Failure::Unreadable {
                status: self.status,
                why,
            })
    }
}

/// Asks one of the addresses above.
pub(crate) async fn get(address: String) -> Result<Answer, Failure> {
    send(
        bounded(Request::get(&address))
            .cache(RequestCache::NoStore)
            .build(),
    )
    .await
}

/// Who is signed in.
pub(crate) async fn session() -> Result<Session, Failure> {
    get(SESSION.to_owned()).await?.read()
}

/// Signs in: the session comes as a cookie that scripts cannot read.
pub(crate) async fn login(token: String) -> Result<(), Failure> {
    post(LOGIN, written(serde_json::to_string(&Login { token }))?)
        .await
        .map(drop)
}

/// Ends the session.
pub(crate) async fn logout() -> Result<(), Failure> {
    post(LOGOUT, "{}".to_owned()).await.map(drop)
}

/// Settles unknown outcomes, or says what settling them would do (U6).
pub(crate) async fn settle(asked: &Settlements) -> Result<SettlementsDone, Failure> {
    post(SETTLEMENTS, written(serde_json::to_string(asked))?)
        .await?
        .read()
}

fn written(body: serde_json::Result<String>) -> Result<String, Failure> {
    body.map_err(|_never| Failure::Offline("the request could not be written".to_owned()))
}

async fn post(address: &str, body: String) -> Result<Answer, Failure> {
    let (name, value) = OPERATOR_HEADER;
    let request = bounded(Request::post(address))
        .header("Content-Type", "application/json")
        .header(name, value)
        .body(body);
    send(request).await
}

fn bounded(request: RequestBuilder) -> RequestBuilder {
    let patience = AbortSignal::timeout_with_u32(ANSWER_MS_MAX);
    request
        .header("Accept", "application/json")
        .abort_signal(Some(&patience))
}

/// Sends, and turns every refusal into what it is.
async fn send(request: Result<Request, gloo_net::Error>) -> Result<Answer, Failure> {
    let exchange = async {
        let response = request?.send().await?;
        Ok((response.ok(), response.status(), response.text().await?))
    };
    let (ok, status, text) = exchange.await.map_err(|error| offline(&error))?;
    if ok {
        return Ok(Answer { status, text });
    }
    let problem = browser::parse(&text).and_then(|value| forms::read(value).ok());
    let problem: Option<Box<ProblemDocument>> = problem.map(Box::new);
    Err(match (status, problem) {
        (UNAUTHORIZED, problem) => Failure::SignedOut(problem),
        (_, Some(problem)) => Failure::Problem(problem),
        (_, None) => Failure::Unreadable {
            status,
            why: "not a problem document".to_owned(),
        },
    })
}

fn offline(error: &gloo_net::Error) -> Failure {
    let why = error.to_string();
    let why = why.strip_prefix("JsError: ").unwrap_or(&why);
    Failure::Offline(match why.split_once(": ") {
        Some(("TimeoutError" | "AbortError", _)) => {
            format!("no answer within {} s", ANSWER_MS_MAX / 1_000)
        }
        // What browsers say of any failed connection; each has its own words, and none says more.
        Some(("TypeError", _)) => "the connection failed".to_owned(),
        _ => why.to_owned(),
    })
}
