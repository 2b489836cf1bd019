//! The port [`RecordStore`] over an object's SQL: the tables of an operations object.
//!
//! Not the rule, and not the numbers and fingerprints that are kept beside the records (`object::counts`,
//! `object::fingerprints`). Rows written are the bill, so each table has one key and no index, and what is open lies apart from
//! what is completed: a claim is one row, a completion two, and the scan for leases that ran out reads the open
//! ones only. Contract: R1 for the sweep.

use std::rc::Rc;

use shared::audit::Entry;
use shared::placement::KeyDigest;
use shared::record::{AttemptId, AttemptNumber, Record, State};
use shared::scope::OperationKey;
use shared::store::{RecordStore, Swept};
use shared::stored;
use shared::time::Timestamp;

use crate::sql::{INTEGER_MAX, Row, Sql, SqlError, Value};
use crate::telemetry::{Level, event};

/// The steps that bring the tables to their present form. Large columns come last: a scan then skips them.
pub(crate) const MIGRATIONS: &[&[&str]] = &[FIRST, UNKNOWN_OUTCOMES];

const FIRST: &[&str] = &[
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE open_operations (
        digest BLOB PRIMARY KEY,
        key TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        lease_until INTEGER NOT NULL,
        state INTEGER NOT NULL,
        number INTEGER NOT NULL,
        record TEXT NOT NULL
    ) STRICT, WITHOUT ROWID",
    "CREATE TABLE completed_operations (
        digest BLOB PRIMARY KEY,
        key TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER,
        number INTEGER NOT NULL,
        status INTEGER NOT NULL,
        record TEXT NOT NULL,
        body BLOB
    ) STRICT, WITHOUT ROWID",
    "CREATE TABLE other_fingerprints (
        digest BLOB NOT NULL,
        fingerprint TEXT NOT NULL,
        first_at INTEGER NOT NULL,
        PRIMARY KEY (digest, fingerprint)
    ) STRICT, WITHOUT ROWID",
    "CREATE TABLE abandoned (token BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE counts (
        minute INTEGER PRIMARY KEY,
        sums TEXT NOT NULL,
        completed INTEGER NOT NULL
    ) STRICT",
];

/// When a record needs attention, the origin's name for what it made, the request that the resolver sends, and the log of
/// what was settled, found by its operation and scanned for its time.
const UNKNOWN_OUTCOMES: &[&str] = &[
    "ALTER TABLE open_operations ADD COLUMN due INTEGER",
    "ALTER TABLE open_operations ADD COLUMN reference TEXT",
    "ALTER TABLE open_operations ADD COLUMN request BLOB",
    "ALTER TABLE completed_operations ADD COLUMN reference TEXT",
    "UPDATE open_operations SET due = lease_until WHERE state = 0",
    "CREATE TABLE audit_log (
        digest BLOB NOT NULL,
        turn INTEGER NOT NULL,
        at INTEGER NOT NULL,
        key TEXT NOT NULL,
        entry TEXT NOT NULL,
        PRIMARY KEY (digest, turn)
    ) STRICT, WITHOUT ROWID",
];

/// `open_operations.state` of a record in progress.
pub(crate) const IN_PROGRESS: i64 = 0;
/// `open_operations.state` of a record whose outcome is unknown.
pub(crate) const INDETERMINATE: i64 = 1;

/// `open_operations.state` of a record that this version cannot read.
const UNREADABLE: i64 = 2;

/// The records of one object.
pub(crate) struct SqlStore {
    sql: Rc<Sql>,
    memory: Memory,
}

/// What is known without asking the tables. A transaction that fails gives it back as it was.
#[derive(Clone, Copy, Debug)]
struct Memory {
    floor: AttemptNumber,
    /// How many completed records there are; after a crash it may be off by those of the last second, until a
    /// whole round has counted them.
    completed: u64,
    abandoned: bool,
    round: Round,
}

/// A round over the completed records in the order of their digests.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    after: Option<[u8; 16]>,
    /// How many records up to `after` there are, if the round began at the beginning.
    kept: Option<u64>,
}

impl SqlStore {
    /// The store over tables that are in their present form. `completed` is how many completed records there
    /// were when that was last noted.
    pub(crate) fn open(sql: Rc<Sql>, completed: u64) -> Result<Self, SqlError> {
        let floor = match sql
            .exec("SELECT value FROM meta WHERE name = 'floor'", &[])?
            .first()
        {
            Some(row) => {
                let text = row.text(0)?;
                AttemptNumber::new(text.parse().map_err(SqlError::unreadable)?)
            }
            None => AttemptNumber::default(),
        };
        let any = |table: &str| -> Result<bool, SqlError> {
            let found = sql.exec(&format!("SELECT 1 FROM {table} LIMIT 1"), &[])?;
            Ok(!found.is_empty())
        };
        let memory = Memory {
            floor,
            completed: completed.max(u64::from(any("completed_operations")?)),
            abandoned: any("abandoned")?,
            round: Round::from_the_start(),
        };
        Ok(Self { sql, memory })
    }

    /// How many completed records there are.
    pub(crate) const fn completed(&self) -> u64 {
        self.memory.completed
    }

    /// Whether a sweep could find anything.
    pub(crate) const fn needs_sweep(&self) -> bool {
        self.memory.completed > 0 || self.memory.abandoned
    }

    /// Goes on with the round behind `digest` instead of where it stood: an object that sleeps between its alarms would
    /// else sweep the first records only.
    pub(crate) const fn sweep_from(&mut self, digest: [u8; 16]) {
        self.memory.round = Round {
            after: Some(digest),
            kept: None,
        };
    }

    /// The earliest moment after `now` at which a record is due.
    pub(crate) fn next_due_after(&self, now: Timestamp) -> Result<Option<Timestamp>, SqlError> {
        let select = "SELECT min(due) FROM open_operations WHERE due > ?";
        let rows = self.sql.exec(select, &[moment(now)])?;
        let first = rows.first().map(|row| row.integer_or_null(0)).transpose()?;
        Ok(first.flatten().map(Timestamp::from_millis))
    }

    /// The key of an operation that is in the log, also after its record is gone.
    pub(crate) fn logged_key(&self, digest: &KeyDigest) -> Result<Option<OperationKey>, SqlError> {
        let select = "SELECT key FROM audit_log WHERE digest = ? LIMIT 1";
        let rows = self.sql.exec(select, &[bytes(digest)])?;
        let key = |row: &Row| OperationKey::parse(&row.text(0)?).map_err(SqlError::unreadable);
        rows.first().map(key).transpose()
    }

    /// The record in a row of `record` and `body`.
    pub(crate) fn record_in(row: &Row, record: u32, body: u32) -> Result<Record, SqlError> {
        let body = row.bytes_or_null(body)?.unwrap_or_default();
        stored::read(&row.text(record)?, body).map_err(SqlError::unreadable)
    }

    /// The open records that match, each with its key. One that cannot be read is kept as it is and its operation refused; the
    /// others must not wait for it.
    fn open_rows(
        &self,
        condition: &str,
        bounds: &[Value],
    ) -> Result<Vec<(OperationKey, Record)>, SqlError> {
        let select =
            format!("SELECT key, record, NULL, digest FROM open_operations WHERE {condition}");
        let rows = self.sql.exec(&select, bounds)?;
        let with_key = |row: &Row| -> Result<(OperationKey, Record), SqlError> {
            let key = OperationKey::parse(&row.text(0)?).map_err(SqlError::unreadable)?;
            Ok((key, Self::record_in(row, 1, 2)?))
        };
        let mut open = Vec::with_capacity(rows.len());
        for row in &rows {
            match with_key(row) {
                Ok(found) => open.push(found),
                Err(error) => {
                    event(Level::Error, "record_unreadable", &[("error", &error)]);
                    let set_aside =
                        "UPDATE open_operations SET state = ?, due = NULL WHERE digest = ?";
                    let digest = Value::Bytes(row.bytes(3)?);
                    self.sql
                        .exec(set_aside, &[Value::Integer(UNREADABLE), digest])?;
                }
            }
        }
        Ok(open)
    }

    fn save_open(
        &mut self,
        key: &OperationKey,
        record: &Record,
        row: &OpenRow,
        request: Option<&[u8]>,
    ) -> Result<(), SqlError> {
        let digest = KeyDigest::of(key);
        let (text, _no_body) = stored::write(record);
        self.sql.exec(
            "INSERT INTO open_operations
                (digest, key, created_at, lease_until, state, number, record, due, reference, request)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (digest) DO UPDATE SET
                created_at = excluded.created_at, lease_until = excluded.lease_until,
                state = excluded.state, number = excluded.number, record = excluded.record,
                due = excluded.due, reference = excluded.reference,
                request = coalesce(excluded.request, request)",
            &[
                bytes(&digest),
                Value::Text(key.to_string()),
                moment(record.created_at),
                moment(row.lease_until),
                Value::Integer(row.state),
                number(record.number),
                Value::Text(text),
                record.due().map_or(Value::Null, moment),
                reference(record),
                request.map_or(Value::Null, |request| Value::Bytes(request.to_vec())),
            ],
        )?;
        self.remove_completed(&digest) // one that had expired and was not swept yet
    }

    fn save_completed(
        &mut self,
        key: &OperationKey,
        record: &Record,
        expires_at: Option<Timestamp>,
        status: u16,
    ) -> Result<(), SqlError> {
        let digest = KeyDigest::of(key);
        let known = "SELECT 1 FROM completed_operations WHERE digest = ?";
        let is_new = self.sql.exec(known, &[bytes(&digest)])?.is_empty();
        let (text, body) = stored::write(record);
        self.sql.exec(
            "INSERT INTO completed_operations
                (digest, key, created_at, expires_at, number, status, record, body, reference)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (digest) DO UPDATE SET
                created_at = excluded.created_at, expires_at = excluded.expires_at,
                number = excluded.number, status = excluded.status, record = excluded.record,
                body = excluded.body, reference = excluded.reference",
            &[
                bytes(&digest),
                Value::Text(key.to_string()),
                moment(record.created_at),
                expires_at.map_or(Value::Null, moment),
                number(record.number),
                Value::Integer(i64::from(status)),
                Value::Text(text),
                body.map_or(Value::Null, |body| Value::Bytes(body.to_vec())),
                reference(record),
            ],
        )?;
        self.sql.exec(
            "DELETE FROM open_operations WHERE digest = ?",
            &[bytes(&digest)],
        )?;
        if is_new {
            self.memory.completed += 1;
            self.memory.round.count(&digest, |kept| kept + 1);
        }
        Ok(())
    }

    fn remove_completed(&mut self, digest: &KeyDigest) -> Result<(), SqlError> {
        let delete = "DELETE FROM completed_operations WHERE digest = ? RETURNING 1";
        if !self.sql.exec(delete, &[bytes(digest)])?.is_empty() {
            self.memory.completed = self.memory.completed.saturating_sub(1);
            self.memory
                .round
                .count(digest, |kept| kept.saturating_sub(1));
            self.remove_fingerprints(digest)?;
        }
        Ok(())
    }

    fn remove_fingerprints(&self, digest: &KeyDigest) -> Result<(), SqlError> {
        let delete = "DELETE FROM other_fingerprints WHERE digest = ?";
        self.sql.exec(delete, &[bytes(digest)]).map(|_none| ())
    }

    fn raise_floor(&mut self, to: AttemptNumber) -> Result<(), SqlError> {
        if to > self.memory.floor {
            self.memory.floor = to;
            self.sql.exec(
                "INSERT INTO meta (name, value) VALUES ('floor', ?)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                &[Value::Text(to.to_string())],
            )?;
        }
        Ok(())
    }

    fn sweep_abandoned(&mut self, now: Timestamp) -> Result<(), SqlError> {
        if self.memory.abandoned {
            self.sql
                .exec("DELETE FROM abandoned WHERE until <= ?", &[moment(now)])?;
            self.memory.abandoned = !self
                .sql
                .exec("SELECT 1 FROM abandoned LIMIT 1", &[])?
                .is_empty();
        }
        Ok(())
    }
}

/// The columns in which a record in progress differs from one whose outcome is unknown.
struct OpenRow {
    state: i64,
    lease_until: Timestamp,
}

impl RecordStore for SqlStore {
    type Error = SqlError;

    fn transaction<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let (sql, before) = (Rc::clone(&self.sql), self.memory);
        let done = sql.transaction(|| work(self));
        if done.is_err() {
            self.memory = before;
        }
        done
    }

    fn load(&mut self, digest: &KeyDigest) -> Result<Option<Record>, SqlError> {
        let open = "SELECT record, NULL FROM open_operations WHERE digest = ?";
        let completed = "SELECT record, body FROM completed_operations WHERE digest = ?";
        for table in [open, completed] {
            if let Some(row) = self.sql.exec(table, &[bytes(digest)])?.first() {
                return Self::record_in(row, 0, 1).map(Some);
            }
        }
        Ok(None)
    }

    fn key(&mut self, digest: &KeyDigest) -> Result<Option<OperationKey>, SqlError> {
        for table in ["open_operations", "completed_operations"] {
            let select = format!("SELECT key FROM {table} WHERE digest = ?");
            if let Some(row) = self.sql.exec(&select, &[bytes(digest)])?.first() {
                let key = OperationKey::parse(&row.text(0)?).map_err(SqlError::unreadable)?;
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    fn request(&mut self, digest: &KeyDigest) -> Result<Option<Vec<u8>>, SqlError> {
        let select = "SELECT request FROM open_operations WHERE digest = ?";
        let rows = self.sql.exec(select, &[bytes(digest)])?;
        let request = rows.first().map(|row| row.bytes_or_null(0)).transpose()?;
        Ok(request.flatten())
    }

    fn save(
        &mut self,
        key: &OperationKey,
        record: &Record,
        request: Option<&[u8]>,
    ) -> Result<(), SqlError> {
        match &record.state {
            State::InProgress { lease_until } => {
                let row = OpenRow {
                    state: IN_PROGRESS,
                    lease_until: *lease_until,
                };
                self.save_open(key, record, &row, request)
            }
            State::Indeterminate { lease_until, .. } => {
                let row = OpenRow {
                    state: INDETERMINATE,
                    lease_until: *lease_until,
                };
                self.save_open(key, record, &row, request)
            }
            State::Completed {
                expires_at,
                outcome,
                ..
            } => self.save_completed(key, record, *expires_at, outcome.status),
        }
    }

    fn forget(&mut self, digest: &KeyDigest, number: AttemptNumber) -> Result<(), SqlError> {
        self.sql.exec(
            "DELETE FROM open_operations WHERE digest = ?",
            &[bytes(digest)],
        )?;
        self.remove_completed(digest)?;
        self.remove_fingerprints(digest)?;
        self.raise_floor(number)
    }

    fn floor(&mut self) -> Result<AttemptNumber, SqlError> {
        Ok(self.memory.floor)
    }

    fn abandon(&mut self, token: &AttemptId, until: Timestamp) -> Result<(), SqlError> {
        self.memory.abandoned = true;
        self.sql.exec(
            "INSERT INTO abandoned (token, until) VALUES (?, ?)
             ON CONFLICT (token) DO UPDATE SET until = excluded.until",
            &[Value::Bytes(token.as_bytes().to_vec()), moment(until)],
        )?;
        Ok(())
    }

    fn is_abandoned(&mut self, token: &AttemptId) -> Result<bool, SqlError> {
        if !self.memory.abandoned {
            return Ok(false);
        }
        let known = "SELECT 1 FROM abandoned WHERE token = ?";
        let found = self
            .sql
            .exec(known, &[Value::Bytes(token.as_bytes().to_vec())])?;
        Ok(!found.is_empty())
    }

    fn leases_run_out(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(OperationKey, Record)>, SqlError> {
        self.open_rows(
            "state = ? AND lease_until <= ? LIMIT ?",
            &[Value::Integer(IN_PROGRESS), moment(now), count(limit)],
        )
    }

    fn unknown_due(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(OperationKey, Record)>, SqlError> {
        self.open_rows(
            "state = ? AND due <= ? ORDER BY due LIMIT ?",
            &[Value::Integer(INDETERMINATE), moment(now), count(limit)],
        )
    }

    fn next_due(&mut self) -> Result<Option<Timestamp>, SqlError> {
        let rows = self.sql.exec("SELECT min(due) FROM open_operations", &[])?;
        let first = rows.first().map(|row| row.integer_or_null(0)).transpose()?;
        Ok(first.flatten().map(Timestamp::from_millis))
    }

    fn log(&mut self, key: &OperationKey, entry: &Entry) -> Result<(), SqlError> {
        // In the order of coming: a clock that was set back changes no history.
        let insert = "INSERT INTO audit_log (digest, turn, at, key, entry)
            SELECT ?1, count(*), ?2, ?3, ?4 FROM audit_log WHERE digest = ?1";
        let row = [
            bytes(&KeyDigest::of(key)),
            moment(entry.at),
            Value::Text(key.to_string()),
            Value::Text(stored::entry::write(entry)),
        ];
        self.sql.exec(insert, &row).map(|_none| ())
    }

    fn logged(&mut self, digest: &KeyDigest) -> Result<Vec<Entry>, SqlError> {
        let select = "SELECT entry FROM audit_log WHERE digest = ? ORDER BY turn";
        let rows = self.sql.exec(select, &[bytes(digest)])?;
        let entry = |row: &Row| stored::entry::read(&row.text(0)?).map_err(SqlError::unreadable);
        rows.iter().map(entry).collect()
    }

    fn sweep(&mut self, now: Timestamp, batch: usize) -> Result<Swept, SqlError> {
        self.sweep_abandoned(now)?;
        let after = self
            .memory
            .round
            .after
            .map_or(Vec::new(), |digest| digest.to_vec());
        let rows = self.sql.exec(
            "SELECT digest, expires_at, number FROM completed_operations
             WHERE digest > ? ORDER BY digest LIMIT ?",
            &[Value::Bytes(after), count(batch)],
        )?;
        let mut swept = Swept {
            looked_at: rows.len(),
            forgotten: 0,
            round_ended: rows.len() < batch,
        };
        let (mut last, mut number_max) = (None, AttemptNumber::default());
        for row in &rows {
            let digest: [u8; 16] = row
                .bytes(0)?
                .try_into()
                .map_err(|_found| SqlError::unreadable("a record's digest is not 16 bytes"))?;
            let expired = row
                .integer_or_null(1)?
                .is_some_and(|at| at <= now.as_millis()); // P5
            if expired {
                number_max = number_max.max(AttemptNumber::new(row.integer(2)?.unsigned_abs()));
                self.remove_completed(&KeyDigest::from_bytes(digest))?;
                swept.forgotten += 1;
            }
            last = Some(digest);
        }
        self.raise_floor(number_max)?; // once for the whole batch: it is a row
        self.advance(&swept, last);
        Ok(swept)
    }
}

impl SqlStore {
    /// Moves the round on behind what a sweep looked at; a round that ended has counted the records, if it saw all.
    fn advance(&mut self, swept: &Swept, last: Option<[u8; 16]>) {
        let kept = u64::try_from(swept.looked_at - swept.forgotten).unwrap_or_default();
        let round = &mut self.memory.round;
        round.kept = round.kept.map(|before| before + kept);
        if !swept.round_ended {
            round.after = last;
            return;
        }
        if let Some(kept) = round.kept {
            self.memory.completed = kept;
        }
        self.memory.round = Round::from_the_start();
    }
}

impl Round {
    const fn from_the_start() -> Self {
        Self {
            after: None,
            kept: Some(0),
        }
    }

    /// A record came or went; it matters to the count if the round has passed its place.
    fn count(&mut self, digest: &KeyDigest, change: fn(u64) -> u64) {
        if self.after.is_some_and(|after| *digest.as_bytes() <= after) {
            self.kept = self.kept.map(change);
        }
    }
}

fn reference(record: &Record) -> Value {
    record
        .reference
        .as_ref()
        .map_or(Value::Null, |reference| Value::Text(reference.clone()))
}

fn bytes(digest: &KeyDigest) -> Value {
    Value::Bytes(digest.as_bytes().to_vec())
}

fn moment(at: Timestamp) -> Value {
    Value::Integer(at.as_millis())
}

fn number(number: AttemptNumber) -> Value {
    Value::Integer(
        i64::try_from(number.get()).map_or(INTEGER_MAX, |number| number.min(INTEGER_MAX)),
    )
}

fn count(limit: usize) -> Value {
    Value::Integer(i64::try_from(limit).unwrap_or(INTEGER_MAX))
}
