//! The one place that draws random bits: tokens of attempts and of sessions.
//!
//! They come from the platform's generator, which is fit for secrets:
//! <https://developers.cloudflare.com/workers/runtime-apis/web-crypto/#methods>.

use shared::record::AttemptId;
use wasm_bindgen::prelude::*;
use worker::js_sys::{Object, Uint8Array};

/// The platform gave no random bits.
#[derive(Debug)]
pub(crate) struct NoEntropy;

/// `N` random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], NoEntropy> {
    let length = u32::try_from(N).map_err(|_too_many| NoEntropy)?;
    let drawn = Uint8Array::new_with_length(length);
    get_random_values(&drawn).map_err(|_thrown| NoEntropy)?;
    let mut bytes = [0; N];
    drawn.copy_to(&mut bytes);
    Ok(bytes)
}

/// The token of a new attempt: 128 random bits, so that no two attempts ever share one (L1).
pub(crate) fn attempt_token() -> Result<AttemptId, NoEntropy> {
    random().map(AttemptId::from_bytes)
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = crypto, js_name = getRandomValues)]
    fn get_random_values(into: &Uint8Array) -> Result<Object, JsValue>;
}
