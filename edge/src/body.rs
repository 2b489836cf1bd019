//! Bodies of requests and answers as bytes, read up to a bound and up to a moment.
//!
//! A body is never decoded: it may be anything. `worker`'s own stream takes an aborted body for a finished one, so
//! the reader here is the platform's.

use std::time::Duration;

use futures_util::future::{Either, select};
use shared::time::Millis;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{Reflect, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{ReadableStream, ReadableStreamDefaultReader};

use crate::sql::thrown_text;

/// How much of a body that will not be used is still read, so that the connection stays in step (X5). More than
/// this is cut off: whoever sends it was refused long before.
pub(crate) const DRAINED_BYTES_MAX: usize = 8 * 1024 * 1024;

/// What became of a body.
#[derive(Debug)]
pub(crate) enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// It has more bytes than the bound; these came first.
    TooLarge(Vec<u8>),
    /// It broke before its end, for the reason that the platform gave.
    Broken(String),
}

/// Reads a body to its end, to the byte after `bytes_max`, or to its break.
pub(crate) async fn read(stream: Option<ReadableStream>, bytes_max: usize) -> Body {
    let Some(stream) = stream else {
        return Body::Whole(Vec::new());
    };
    let mut reader = match Reader::of(&stream) {
        Ok(reader) => reader,
        Err(thrown) => return Body::Broken(thrown_text(&thrown)),
    };
    let mut bytes = Vec::new();
    loop {
        match reader.next().await {
            Ok(Some(chunk)) => {
                let length = usize::try_from(chunk.length()).unwrap_or(usize::MAX);
                if bytes.len().saturating_add(length) > bytes_max {
                    reader.cancel();
                    return Body::TooLarge(bytes);
                }
                bytes.extend(chunk.to_vec());
            }
            Ok(None) => return Body::Whole(bytes),
            Err(thrown) => return Body::Broken(thrown_text(&thrown)),
        }
    }
}

/// Reads a body for nothing, so that the answer does not overtake it: the local proxy, for one, answers 503 when a
/// request's body is still on its way. Bounded in bytes.
pub(crate) async fn drain(stream: Option<ReadableStream>) {
    let Some(stream) = stream else { return };
    let Ok(mut reader) = Reader::of(&stream) else {
        return; // already read, which is as good
    };
    let mut left = DRAINED_BYTES_MAX;
    while let Ok(Some(chunk)) = reader.next().await {
        let length = usize::try_from(chunk.length()).unwrap_or(usize::MAX);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return reader.cancel(),
        }
    }
}

/// `work`, or nothing if it takes longer than `span`.
pub(crate) async fn within<T>(span: Millis, work: impl Future<Output = T>) -> Option<T> {
    let timer = worker::Delay::from(Duration::from_millis(span.get()));
    match select(std::pin::pin!(work), std::pin::pin!(timer)).await {
        Either::Left((done, _timer)) => Some(done),
        Either::Right(((), _work)) => None,
    }
}

struct Reader(ReadableStreamDefaultReader);

impl Reader {
    fn of(stream: &ReadableStream) -> Result<Self, JsValue> {
        if stream.locked() {
            return Err(JsValue::from_str("the body is being read already"));
        }
        let reader = Reflect::get(stream, &JsValue::from_str("getReader"))?;
        let reader = reader
            .dyn_into::<worker::js_sys::Function>()?
            .call0(stream)?;
        Ok(Self(reader.unchecked_into()))
    }

    async fn next(&mut self) -> Result<Option<Uint8Array>, JsValue> {
        let step = JsFuture::from(self.0.read()).await?;
        if Reflect::get(&step, &JsValue::from_str("done"))?.is_truthy() {
            return Ok(None);
        }
        let chunk = Reflect::get(&step, &JsValue::from_str("value"))?;
        chunk.dyn_into().map(Some)
    }

    fn cancel(&mut self) {
        let cancelled = self.0.cancel();
        // Nobody waits for it; a failure to cancel leaves the rest unread, which is what was wanted.
        worker::wasm_bindgen_futures::spawn_local(async move {
            let _rejected_or_not = JsFuture::from(cancelled).await;
        });
    }
}
