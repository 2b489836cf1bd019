//! The only fetcher. Every failure keeps what the gateway said about it.
//!
//! Not here: asking again (`live`) and leading to the login (`live`, too): this reports.

use gloo_net::http::{Request, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::wire::{Login, OperationDetail, OperationPage, Overview, ProblemDocument, Session};
use web_sys::{AbortSignal, RequestCache};

use crate::view::filter::{OperationFilter, OverviewFilter};
use crate::view::link;

const LOGIN: &str = "/_oncegate/operator/login";
const LOGOUT: &str = "/_oncegate/operator/logout";
const SESSION: &str = "/_oncegate/operator/session";
const OVERVIEW: &str = "/_oncegate/operator/overview";
const OPERATIONS: &str = "/_oncegate/operator/operations";

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
    SignedOut(Option<ProblemDocument>),
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

/// Signs in: the session comes as a cookie that scripts cannot read.
pub(crate) async fn login(token: String) -> Result<(), Failure> {
    post(LOGIN, &Login { token }).await
}

/// Ends the session.
pub(crate) async fn logout() -> Result<(), Failure> {
    post(LOGOUT, &()).await
}

/// Who is signed in.
pub(crate) async fn session() -> Result<Session, Failure> {
    get(SESSION).await
}

/// The overview's numbers.
pub(crate) async fn overview(filter: OverviewFilter) -> Result<Overview, Failure> {
    get(&filter.ask(OVERVIEW)).await
}

/// A page of operations.
pub(crate) async fn operations(filter: OperationFilter) -> Result<OperationPage, Failure> {
    get(&filter.ask(OPERATIONS)).await
}

/// One operation.
pub(crate) async fn operation(id: String) -> Result<OperationDetail, Failure> {
    get(&format!("{OPERATIONS}/{}", link::encode(&id))).await
}

async fn get<T: DeserializeOwned>(address: &str) -> Result<T, Failure> {
    let request = bounded(Request::get(address))
        .cache(RequestCache::NoStore)
        .build();
    let response = send(request).await?;
    let status = response.status();
    let text = text(&response).await?;
    serde_json::from_str(&text).map_err(|error| Failure::Unreadable {
        status,
        why: error.to_string(),
    })
}

async fn post<T: Serialize>(address: &str, body: &T) -> Result<(), Failure> {
    let (name, value) = OPERATOR_HEADER;
    let body = serde_json::to_string(body).map_err(|error| Failure::Unreadable {
        status: 0,
        why: error.to_string(),
    })?;
    let request = bounded(Request::post(address))
        .header("Content-Type", "application/json")
        .header(name, value)
        .body(body);
    send(request).await.map(drop)
}

fn bounded(request: RequestBuilder) -> RequestBuilder {
    let patience = AbortSignal::timeout_with_u32(ANSWER_MS_MAX);
    request
        .header("Accept", "application/json")
        .abort_signal(Some(&patience))
}

/// Sends, and turns every refusal into what it is.
async fn send(request: Result<Request, gloo_net::Error>) -> Result<Response, Failure> {
    let response = match request {
        Ok(request) => request.send().await.map_err(|error| offline(&error))?,
        Err(error) => return Err(offline(&error)),
    };
    if response.ok() {
        return Ok(response);
    }
    let status = response.status();
    let problem: Option<ProblemDocument> = serde_json::from_str(&text(&response).await?).ok();
    Err(match (status, problem) {
        (UNAUTHORIZED, problem) => Failure::SignedOut(problem),
        (_, Some(problem)) => Failure::Problem(Box::new(problem)),
        (_, None) => Failure::Unreadable {
            status,
            why: "not a problem document".to_owned(),
        },
    })
}

async fn text(response: &Response) -> Result<String, Failure> {
    response.text().await.map_err(|error| offline(&error))
}

fn offline(error: &gloo_net::Error) -> Failure {
    let why = error.to_string();
    let why = why.strip_prefix("JsError: ").unwrap_or(&why);
    Failure::Offline(match why.split_once(':') {
        Some(("TimeoutError" | "AbortError", _)) => {
            format!("no answer within {} s", ANSWER_MS_MAX / 1_000)
        }
        _ => why.to_owned(),
    })
}
