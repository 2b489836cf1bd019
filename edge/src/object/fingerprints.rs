//! Other requests that came under an operation's key: shown to operators, and nothing else depends on them.
//!
//! One row per (key, other fingerprint), the first few of them only; seeing one again writes nothing.

use shared::fingerprint::Fingerprint;
use shared::placement::KeyDigest;
use shared::time::Timestamp;

use crate::sql::{Sql, SqlError, Value};

/// The most other fingerprints that are kept of one operation (X5).
pub(crate) const OTHERS_MAX: i64 = 8;

/// Notes that a request of this look came under the key of another.
pub(crate) fn note(
    sql: &Sql,
    operation: &KeyDigest,
    fingerprint: &Fingerprint,
    now: Timestamp,
) -> Result<(), SqlError> {
    let digest = Value::Bytes(operation.as_bytes().to_vec());
    sql.exec(
        "INSERT OR IGNORE INTO other_fingerprints (digest, fingerprint, first_at)
         SELECT ?, ?, ? WHERE (SELECT count(*) FROM other_fingerprints WHERE digest = ?) < ?",
        &[
            digest.clone(),
            Value::Text(fingerprint.to_string()),
            Value::Integer(now.as_millis()),
            digest,
            Value::Integer(OTHERS_MAX),
        ],
    )
    .map(|_none| ())
}
