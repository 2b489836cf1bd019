//! Standard Webhooks: `webhook-id`, `webhook-timestamp`, `webhook-signature`, or the same under `svix-`.
//!
//! Signed is `<id>.<seconds>.<body>`: by `v1,` HMAC-SHA256 in base64 under a `whsec_` secret, or by `v1a,` ed25519
//! under a `whpk_` key. Several signatures are separated by spaces; unknown versions are ignored.

use alloc::vec::Vec;

use subtle::Choice;

use super::secret::{checked, from_base64};
use super::{
    Delivery, EventId, SIGNATURES_MAX, Secret, SecretError, SignatureProblem, Verified, seconds,
};
use crate::quote::quoted;
use crate::time::Millis;

pub(super) const HEADERS: [&str; 6] = [
    STANDARD.id,
    STANDARD.timestamp,
    STANDARD.signature,
    SVIX.id,
    SVIX.timestamp,
    SVIX.signature,
];

/// The three headers under one prefix; the two prefixes are never mixed.
struct Names {
    id: &'static str,
    timestamp: &'static str,
    signature: &'static str,
}

const STANDARD: Names = Names {
    id: "webhook-id",
    timestamp: "webhook-timestamp",
    signature: "webhook-signature",
};
const SVIX: Names = Names {
    id: "svix-id",
    timestamp: "svix-timestamp",
    signature: "svix-signature",
};

pub(super) fn secret(text: &str) -> Result<Secret, SecretError> {
    let text = checked(text)?;
    if let Some(key) = text.strip_prefix("whpk_") {
        let expected = "\"whpk_\" and the base64 of an ed25519 public key of 32 bytes";
        let key = from_base64(key.as_bytes()).and_then(|key| Secret::public(&key));
        return key.ok_or(SecretError::Form { expected });
    }
    let expected =
        "\"whsec_\" and the base64 of the secret, or \"whpk_\" and that of the public key";
    // The libraries of the scheme take the base64 alone, too.
    let secret = from_base64(text.strip_prefix("whsec_").unwrap_or(text).as_bytes());
    match secret.ok_or(SecretError::Form { expected })? {
        secret if secret.is_empty() => Err(SecretError::Empty),
        secret => Ok(Secret::shared(secret)),
    }
}

pub(super) fn verify<'a>(
    delivery: &Delivery<'a>,
    secrets: &[Secret],
    tolerance: Millis,
) -> Result<Verified<'a>, SignatureProblem> {
    let names = names(delivery)?;
    let malformed = |name, expected| SignatureProblem::HeaderMalformed { name, expected };
    let id = delivery.header(names.id)?;
    let time = delivery.header(names.timestamp)?;
    let signatures = Signatures::read(names.signature, delivery.header(names.signature)?)?;
    let signed_at = seconds(time).ok_or(malformed(names.timestamp, "seconds since 1970"))?;
    // The specification: neither the id nor the timestamp may include a ".".
    if id.contains(&b'.') {
        return Err(SignatureProblem::AmbiguousId {
            name: names.id,
            found: quoted(id),
        });
    }
    let parts: [&[u8]; 5] = [id, b".", time, b".", delivery.body];
    let made = secrets.iter().fold(Choice::from(0), |made, secret| {
        made | secret.made_hmac(&parts, &signatures.hmac)
            | secret.made_ed25519(&parts, &signatures.ed25519)
    });
    if !bool::from(made) {
        let (signatures, secrets) = (signatures.count, secrets.len());
        return Err(SignatureProblem::NoMatch {
            signatures,
            secrets,
        });
    }
    delivery.within(tolerance, signed_at)?;
    let id = core::str::from_utf8(id).map_err(|_invalid| malformed(names.id, "text in utf-8"))?;
    Ok(Verified {
        body: delivery.body,
        id: EventId::Signed(id),
    })
}

/// The standard's own names, unless there are only those of Svix.
fn names(delivery: &Delivery<'_>) -> Result<Names, SignatureProblem> {
    for name in [STANDARD.id, STANDARD.timestamp, STANDARD.signature] {
        if delivery.optional_header(name)?.is_some() {
            return Ok(STANDARD);
        }
    }
    match delivery.optional_header(SVIX.id)? {
        Some(_) => Ok(SVIX),
        None => Ok(STANDARD),
    }
}

/// The signatures of a delivery that can be read, by how they were made.
struct Signatures {
    count: usize,
    hmac: Vec<Vec<u8>>,
    ed25519: Vec<Vec<u8>>,
}

impl Signatures {
    fn read(name: &'static str, value: &[u8]) -> Result<Self, SignatureProblem> {
        let mut signatures = Self {
            count: 0,
            hmac: Vec::new(),
            ed25519: Vec::new(),
        };
        for item in value.split(|&byte| byte == b' ') {
            let (list, text) = match item {
                [b'v', b'1', b',', text @ ..] => (&mut signatures.hmac, text),
                [b'v', b'1', b'a', b',', text @ ..] => (&mut signatures.ed25519, text),
                _ => continue,
            };
            signatures.count += 1;
            list.extend(from_base64(text));
        }
        match signatures.count {
            0 => Err(SignatureProblem::HeaderMalformed {
                name,
                expected: "v1, or v1a, signature",
            }),
            1..=SIGNATURES_MAX => Ok(signatures),
            found => Err(SignatureProblem::TooManySignatures { name, found }),
        }
    }
}
