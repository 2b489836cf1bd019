//! Brings an object's tables to the form that this version of the code reads.
//!
//! Not the tables themselves: each object lists its own steps. A step, once released, never changes; a later
//! form is a further step. `PRAGMA user_version` is refused by the platform, so a table keeps the count.

use shared::time::Timestamp;

use crate::sql::{Sql, SqlError, Value};

/// Applies those of `steps` that were not applied yet, in order, each in one transaction with the note of it.
///
/// It writes nothing when all were: an object that wakes up pays one read.
pub(crate) fn migrate(sql: &Sql, steps: &[&[&str]], now: Timestamp) -> Result<(), SqlError> {
    let applied = applied(sql)?;
    for (version, statements) in (1_i64..).zip(steps) {
        if version > applied {
            apply(sql, version, statements, now)?;
        }
    }
    Ok(())
}

fn applied(sql: &Sql) -> Result<i64, SqlError> {
    let known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'";
    if sql.exec(known, &[])?.is_empty() {
        return Ok(0);
    }
    let last = "SELECT coalesce(max(version), 0) FROM migrations";
    match sql.exec(last, &[])?.first() {
        Some(row) => row.integer(0),
        None => Ok(0),
    }
}

fn apply(sql: &Sql, version: i64, statements: &[&str], now: Timestamp) -> Result<(), SqlError> {
    sql.transaction(|| {
        sql.exec(
            "CREATE TABLE IF NOT EXISTS migrations (
                version INTEGER PRIMARY KEY,
                applied_at INTEGER NOT NULL
            ) STRICT",
            &[],
        )?;
        for statement in statements {
            sql.exec(statement, &[])?;
        }
        sql.exec(
            "INSERT INTO migrations (version, applied_at) VALUES (?, ?)",
            &[Value::Integer(version), Value::Integer(now.as_millis())],
        )?;
        Ok(())
    })
}
