//! What signatures are checked with. Never shown, not even in an error (X4).

use alloc::vec::Vec;
use core::fmt;

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::{Signature, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

/// A secret shared with the sender, or the sender's public key.
#[derive(Clone)]
pub struct Secret(Kind);

#[derive(Clone)]
enum Kind {
    Shared(Vec<u8>),
    Public(VerifyingKey),
}

/// A text that is not a secret of the scheme; it is not repeated (X4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Nothing.
    #[error("the secret is empty")]
    Empty,
    /// A newline that came with a paste, mostly.
    #[error("the secret has space in or around it")]
    Space,
    /// Not the form in which the sender shows it.
    #[error("the secret is not {expected}")]
    Form {
        /// The form expected.
        expected: &'static str,
    },
}

/// Base64 as senders write it, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The bytes of a base64 text, if it is one.
pub(super) fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    BASE64.decode(text).ok()
}

/// Refuses what no sender shows as a secret.
pub(super) fn checked(text: &str) -> Result<&str, SecretError> {
    if text.is_empty() {
        return Err(SecretError::Empty);
    }
    if text.contains(char::is_whitespace) {
        return Err(SecretError::Space);
    }
    Ok(text)
}

impl Secret {
    /// A shared secret for HMAC-SHA256.
    pub(super) fn shared(bytes: Vec<u8>) -> Self {
        Self(Kind::Shared(bytes))
    }

    /// A public key for ed25519, if the bytes are a point that can be one.
    pub(super) fn public(bytes: &[u8]) -> Option<Self> {
        let key = VerifyingKey::from_bytes(bytes.try_into().ok()?).ok()?;
        (!key.is_weak()).then_some(Self(Kind::Public(key)))
    }

    /// Whether one of `signatures` is the HMAC-SHA256 of the parts in a row. A public key made none.
    pub(super) fn made_hmac(&self, parts: &[&[u8]], signatures: &[Vec<u8>]) -> Choice {
        let mut made = Choice::from(0);
        if let Kind::Shared(secret) = &self.0
            && let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret)
        {
            for part in parts {
                mac.update(part);
            }
            let expected = mac.finalize().into_bytes();
            for signature in signatures {
                made |= expected.as_slice().ct_eq(signature);
            }
        }
        made
    }

    /// Whether one of `signatures` is the ed25519 signature of the parts in a row. A shared secret made none.
    pub(super) fn made_ed25519(&self, parts: &[&[u8]], signatures: &[Vec<u8>]) -> Choice {
        let mut made = Choice::from(0);
        if let Kind::Public(key) = &self.0 {
            let message = parts.concat();
            for signature in signatures {
                let verified = Signature::from_slice(signature)
                    .and_then(|signature| key.verify_strict(&message, &signature));
                made |= Choice::from(u8::from(verified.is_ok()));
            }
        }
        made
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Shared(_) => "Secret(shared)",
            Kind::Public(_) => "Secret(public)",
        })
    }
}
