//! The sums over an object's calls at rest: one row per minute, holding all sums up to its last save in it.
//!
//! Sums are gathered in memory and saved at most once a second, by a transaction that writes anyway or by the
//! alarm; a crash loses the last second (M). Only what is saved is shown (P8).

use shared::json;
use shared::metrics::Sums;
use shared::time::{Millis, Timestamp};

use crate::sql::{INTEGER_MAX, Sql, SqlError, Value};

/// How far apart two saves are at least.
const SAVE_PAUSE: Millis = Millis::from_secs(1);
/// How long minutes are kept: the longest range that is shown is seven days.
const KEPT: Millis = Millis::from_hours(8 * 24);

const MINUTE_MS: i64 = 60_000;

/// What was saved, and when.
pub(crate) struct Saved {
    sums: Sums,
    completed: u64,
    at: Timestamp,
    minute: i64,
}

impl Saved {
    /// The last save; all zero where there was none.
    pub(crate) fn load(sql: &Sql) -> Result<Self, SqlError> {
        let last = "SELECT minute, sums, completed FROM counts ORDER BY minute DESC LIMIT 1";
        let rows = sql.exec(last, &[])?;
        let Some(row) = rows.first() else {
            let (sums, at) = (Sums::default(), Timestamp::from_millis(0));
            return Ok(Self {
                sums,
                completed: 0,
                at,
                minute: 0,
            });
        };
        let minute = row.integer(0)?;
        Ok(Self {
            sums: json::read(row.text(1)?.as_bytes()).map_err(SqlError::unreadable)?,
            completed: row.integer(2)?.unsigned_abs(),
            at: Timestamp::from_millis(minute.saturating_mul(MINUTE_MS)),
            minute,
        })
    }

    /// The sums as they were saved.
    pub(crate) const fn sums(&self) -> &Sums {
        &self.sums
    }

    /// How many completed records there were.
    pub(crate) const fn completed(&self) -> u64 {
        self.completed
    }

    /// When these sums must be saved, if they differ from what is saved.
    pub(crate) fn due(&self, sums: &Sums, completed: u64) -> Option<Timestamp> {
        let differs = *sums != self.sums || completed != self.completed;
        differs.then(|| self.at.plus(SAVE_PAUSE))
    }

    /// Saves these sums: one row.
    pub(crate) fn save(
        &mut self,
        sql: &Sql,
        sums: &Sums,
        completed: u64,
        now: Timestamp,
    ) -> Result<(), SqlError> {
        let minute = (now.as_millis() / MINUTE_MS).max(self.minute); // a clock that was set back changes no history
        let text = serde_json::to_string(sums).map_err(SqlError::unreadable)?;
        sql.exec_apart(
            "INSERT INTO counts (minute, sums, completed) VALUES (?, ?, ?)
             ON CONFLICT (minute) DO UPDATE SET sums = excluded.sums, completed = excluded.completed",
            &[
                Value::Integer(minute),
                Value::Text(text),
                Value::Integer(i64::try_from(completed).unwrap_or(INTEGER_MAX)),
            ],
        )?;
        if minute != self.minute {
            prune(sql, now)?;
        }
        *self = Self {
            sums: sums.clone(),
            completed,
            at: now,
            minute,
        };
        Ok(())
    }
}

/// Forgets minutes beyond [`KEPT`], but for the last of them: the range that is kept counts from there.
fn prune(sql: &Sql, now: Timestamp) -> Result<(), SqlError> {
    let oldest = now.minus(KEPT).as_millis() / MINUTE_MS;
    sql.exec_apart(
        "DELETE FROM counts WHERE minute < (SELECT max(minute) FROM counts WHERE minute < ?)",
        &[Value::Integer(oldest)],
    )
    .map(|_none| ())
}
