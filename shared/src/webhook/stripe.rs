//! Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>,…`, HMAC-SHA256 of `<seconds>.<body>`; the id is the body's.
//!
//! Several `v1` while a secret is rotated; `v0` and anything else is ignored, as
//! <https://docs.stripe.com/webhooks#verify-manually> says. The secret's text is the key as it stands, `whsec_`
//! included.

use alloc::vec::Vec;

use subtle::Choice;

use super::secret::checked;
use super::{
    Delivery, EventId, SIGNATURES_MAX, Secret, SecretError, SignatureProblem, Verified, seconds,
};
use crate::time::Millis;

pub(super) const SIGNATURE: &str = "stripe-signature";

pub(super) fn secret(text: &str) -> Result<Secret, SecretError> {
    Ok(Secret::shared(checked(text)?.as_bytes().to_vec()))
}

pub(super) fn verify<'a>(
    delivery: &Delivery<'a>,
    secrets: &[Secret],
    tolerance: Millis,
) -> Result<Verified<'a>, SignatureProblem> {
    let malformed = |expected| SignatureProblem::HeaderMalformed {
        name: SIGNATURE,
        expected,
    };
    let (mut time, mut signatures) = (None, Vec::new());
    for item in delivery.header(SIGNATURE)?.split(|&byte| byte == b',') {
        match item.trim_ascii() {
            [b't', b'=', digits @ ..] if time.is_none() => time = Some(digits),
            [b't', b'=', ..] => return Err(malformed("single t=")),
            [b'v', b'1', b'=', digits @ ..] => signatures.push(digits),
            _ => {} // v0, and what Stripe may add.
        }
    }
    let digits = time.ok_or(malformed("t="))?;
    let signed_at = seconds(digits).ok_or(malformed("t= in seconds since 1970"))?;
    if signatures.is_empty() {
        return Err(malformed("v1= signature"));
    }
    if signatures.len() > SIGNATURES_MAX {
        let found = signatures.len();
        return Err(SignatureProblem::TooManySignatures {
            name: SIGNATURE,
            found,
        });
    }
    let decoded: Vec<Vec<u8>> = signatures
        .iter()
        .filter_map(|digits| hex::decode(digits).ok())
        .collect();
    let parts: [&[u8]; 3] = [digits, b".", delivery.body];
    let made = secrets.iter().fold(Choice::from(0), |made, secret| {
        made | secret.made_hmac(&parts, &decoded)
    });
    if !bool::from(made) {
        let (signatures, secrets) = (signatures.len(), secrets.len());
        return Err(SignatureProblem::NoMatch {
            signatures,
            secrets,
        });
    }
    delivery.within(tolerance, signed_at)?;
    Ok(Verified {
        body: delivery.body,
        id: EventId::InBody,
    })
}
