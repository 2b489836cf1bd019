//! The only caller of origins. One call is one dispatch: nothing here retries (A4).
//!
//! It does not judge what an answer means (`shared::classify`). Redirects are not followed (X2). Of a connection that
//! was refused the platform says the same as of one that was cut after the request ("network connection
//! lost"), and of a name that does not resolve "internal error"; neither proves that nothing ran, so both are a
//! broken line (U1). Measured on workerd as of wrangler 4.86.

use shared::time::Millis;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use worker::js_sys::{Promise, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{
    AbortController, ReadableStream, RequestInit, RequestRedirect, Response as RawResponse,
};

use crate::body;
use crate::headers::HeaderList;
use crate::sql::thrown_text;

/// The most bytes of an answer's body that a Worker holds (X5): memory of a Worker is 128 MB for all its requests.
/// <https://developers.cloudflare.com/workers/platform/limits/>
pub(crate) const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What is sent to an origin.
pub(crate) struct Dispatch {
    /// The whole address.
    pub(crate) url: String,
    /// The method, in upper case.
    pub(crate) method: String,
    /// All headers.
    pub(crate) headers: HeaderList,
    /// The body.
    pub(crate) body: Vec<u8>,
    /// How long the whole answer may take, its body included.
    pub(crate) deadline: Millis,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A whole answer.
    Answered(Answer),
    /// Nothing whole within the deadline.
    Timeout,
    /// The line broke before the answer was whole; why, in the platform's words.
    BrokenLine(String),
}

/// A whole answer of an origin.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status.
    pub(crate) status: u16,
    /// The headers; each `Set-Cookie` on its own.
    pub(crate) headers: HeaderList,
    /// The body, or nothing if it was larger than [`ANSWER_BYTES_MAX`].
    pub(crate) body: Option<Vec<u8>>,
}

/// Sends once and reads the answer to its end.
pub(crate) async fn send(dispatch: Dispatch) -> Arrival {
    let Ok(controller) = AbortController::new() else {
        return Arrival::BrokenLine(String::from("the platform gave no abort controller"));
    };
    let deadline = dispatch.deadline;
    let arrival = body::within(deadline, exchange(dispatch, &controller)).await;
    arrival.unwrap_or_else(|| {
        controller.abort();
        Arrival::Timeout
    })
}

/// Passes a request on and its answer back as streams, unread.
pub(crate) async fn pass(
    url: &str,
    method: &str,
    headers: &HeaderList,
    body: Option<ReadableStream>,
) -> Result<RawResponse, String> {
    let init = init(method, headers).map_err(|thrown| thrown_text(&thrown))?;
    if let Some(body) = body {
        init.set_body(&body);
    }
    answer(url, &init)
        .await
        .map_err(|thrown| thrown_text(&thrown))
}

/// The headers of an answer, each `Set-Cookie` on its own.
pub(crate) fn header_list(headers: &worker::Headers) -> HeaderList {
    let mut list: HeaderList = headers
        .entries()
        .filter(|(name, _)| name != "set-cookie")
        .collect();
    let cookies = headers.get_all("set-cookie").unwrap_or_default();
    list.extend(
        cookies
            .into_iter()
            .map(|cookie| (String::from("set-cookie"), cookie)),
    );
    list
}

async fn exchange(dispatch: Dispatch, controller: &AbortController) -> Arrival {
    match try_exchange(dispatch, controller).await {
        Ok(arrival) => arrival,
        Err(thrown) => Arrival::BrokenLine(thrown_text(&thrown)),
    }
}

async fn try_exchange(
    dispatch: Dispatch,
    controller: &AbortController,
) -> Result<Arrival, JsValue> {
    let init = init(&dispatch.method, &dispatch.headers)?;
    init.set_signal(Some(&controller.signal()));
    let bodiless =
        dispatch.body.is_empty() && !matches!(dispatch.method.as_str(), "POST" | "PUT" | "PATCH");
    if !bodiless {
        init.set_body(&Uint8Array::from(dispatch.body.as_slice()));
    }
    let answer = answer(&dispatch.url, &init).await?;
    let status = answer.status();
    let headers = header_list(&worker::Headers(answer.headers()));
    Ok(match body::read(answer.body(), ANSWER_BYTES_MAX).await {
        body::Body::Whole(bytes) => Arrival::Answered(Answer {
            status,
            headers,
            body: Some(bytes),
        }),
        body::Body::TooLarge(_beginning) => Arrival::Answered(Answer {
            status,
            headers,
            body: None,
        }),
        body::Body::Broken(why) => Arrival::BrokenLine(why),
    })
}

fn init(method: &str, headers: &HeaderList) -> Result<RequestInit, JsValue> {
    let init = RequestInit::new();
    init.set_method(method);
    init.set_redirect(RequestRedirect::Manual); // X2
    let sent = worker::web_sys::Headers::new()?;
    for (name, value) in headers {
        sent.append(name, value)?;
    }
    init.set_headers(&sent);
    Ok(init)
}

async fn answer(url: &str, init: &RequestInit) -> Result<RawResponse, JsValue> {
    JsFuture::from(fetch(url, init)?).await?.dyn_into()
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch)]
    fn fetch(url: &str, init: &RequestInit) -> Result<Promise, JsValue>;
}
