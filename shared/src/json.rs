//! Reading JSON into typed forms by way of one generic value.
//!
//! Not for bodies of callers, whose bytes are never rebuilt. A parser that is compiled anew for each form is most of
//! what a Worker would weigh; this way there is one.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// The form in `bytes`.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    T::deserialize(serde_json::from_slice::<Value>(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Sums;

    #[test]
    fn a_form_is_read_as_the_parser_itself_would() {
        let sums: Sums = read(br#"{"applied":18446744073709551615,"later":{}}"#).unwrap();
        assert_eq!(sums.applied, u64::MAX);
        assert!(read::<Sums>(br#"{"applied":-1}"#).is_err());
        assert!(read::<Sums>(br#"{"applied":1"#).is_err());
    }
}
