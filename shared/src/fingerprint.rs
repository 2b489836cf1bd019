//! What makes two requests the same request (F1–F4): a SHA-256 over what the operation is defined by.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use serde::{Deserialize, Serialize};

/// The version of the recipe below, kept in every record (F3).
pub const RECIPE: u16 = 1;

/// The digest of a request, with the version of the recipe that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint {
    /// The recipe's version.
    pub recipe: u16,
    /// The SHA-256 that it made.
    pub digest: [u8; 32],
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}:{}", self.recipe, hex::encode(self.digest))
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let refused = || format!("fingerprint {text:?} is not v<recipe>:<64 hex digits>");
        let (recipe, digits) = text
            .strip_prefix('v')
            .and_then(|rest| rest.split_once(':'))
            .ok_or_else(refused)?;
        let mut digest = [0; 32];
        hex::decode_to_slice(digits, &mut digest).map_err(|_| refused())?;
        Ok(Self {
            recipe: recipe.parse().map_err(|_| refused())?,
            digest,
        })
    }
}
