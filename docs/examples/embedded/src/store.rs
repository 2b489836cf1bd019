//! The rule's records in the object's own tables: the port [`RecordStore`] in its shortest form.
//!
//! Not the rule (`shared::decide`), and not tuned: the gateway's store (`edge/src/sql_store.rs`) writes fewer rows.
//! It passes `shared::store::contract`, as every store must.

use shared::audit::Entry;
use shared::placement::KeyDigest;
use shared::record::{AttemptId, AttemptNumber, Record, State};
use shared::scope::OperationKey;
use shared::store::{RecordStore, Swept};
use shared::stored;
use shared::time::Timestamp;
use worker::{Error, Result, SqlStorageValue as Value};

use crate::storage::{Row, Storage};

/// The store's tables. The index finds what has expired without looking at what has not.
pub(crate) const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS records (
        digest BLOB PRIMARY KEY,
        key TEXT NOT NULL,
        state INTEGER NOT NULL, -- 0 in progress, 1 unknown, 2 completed
        due INTEGER, -- when it needs attention, of what is completed when it expires
        record TEXT NOT NULL,
        body BLOB,
        request BLOB
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS expiring ON records (due) WHERE state = 2;
    CREATE TABLE IF NOT EXISTS log (digest BLOB NOT NULL, entry TEXT NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS forgotten (number INTEGER NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS abandoned (token BLOB PRIMARY KEY, until INTEGER NOT NULL) STRICT";

/// The records of one object. It remembers nothing itself, so a rollback leaves nothing to put right.
pub(crate) struct Store<'a>(pub(crate) &'a Storage);

impl RecordStore for Store<'_> {
    type Error = Error;

    fn transaction<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let storage = self.0;
        storage.transaction(|| work(self))
    }

    fn load(&mut self, digest: &KeyDigest) -> Result<Option<Record>> {
        let sql = "SELECT key, record, body FROM records WHERE digest = ?";
        let rows = self.0.exec(sql, &[blob(digest.as_bytes())])?;
        let found = rows.first().map(read).transpose()?;
        Ok(found.map(|(_, record)| record))
    }

    fn key(&mut self, digest: &KeyDigest) -> Result<Option<OperationKey>> {
        let sql = "SELECT key, record, body FROM records WHERE digest = ?";
        let rows = self.0.exec(sql, &[blob(digest.as_bytes())])?;
        let found = rows.first().map(read).transpose()?;
        Ok(found.map(|(key, _)| key))
    }

    fn save(&mut self, key: &OperationKey, record: &Record, request: Option<&[u8]>) -> Result<()> {
        let (state, due) = match &record.state {
            State::InProgress { .. } => (0, record.due()),
            State::Indeterminate { .. } => (1, record.due()),
            State::Completed { expires_at, .. } => (2, *expires_at),
        };
        let (text, body) = stored::write(record);
        let sql = "INSERT INTO records (digest, key, state, due, record, body, request)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (digest) DO UPDATE SET state = excluded.state, due = excluded.due,
                record = excluded.record, body = excluded.body,
                request = CASE WHEN excluded.state < 2 THEN coalesce(excluded.request, request) END";
        let values = [
            blob(KeyDigest::of(key).as_bytes()),
            Value::from(key.as_str()),
            Value::Integer(state),
            due.map_or(Value::Null, moment),
            Value::String(text),
            body.map_or(Value::Null, blob),
            request.filter(|_| state < 2).map_or(Value::Null, blob),
        ];
        self.0.exec(sql, &values).map(drop)
    }

    fn request(&mut self, digest: &KeyDigest) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT request FROM records WHERE digest = ?";
        let rows = self.0.exec(sql, &[blob(digest.as_bytes())])?;
        Ok(match rows.first().and_then(|row| row.first()) {
            Some(Value::Blob(bytes)) => Some(bytes.clone()),
            _ => None,
        })
    }

    fn forget(&mut self, digest: &KeyDigest, number: AttemptNumber) -> Result<()> {
        let sql = "DELETE FROM records WHERE digest = ?";
        self.0.exec(sql, &[blob(digest.as_bytes())])?;
        if number > self.floor()? {
            self.0.exec("DELETE FROM forgotten", &[])?;
            let sql = format!("INSERT INTO forgotten (number) VALUES ({number})");
            self.0.exec(&sql, &[])?;
        }
        Ok(())
    }

    fn floor(&mut self) -> Result<AttemptNumber> {
        let floor = first_integer(&self.0.exec("SELECT number FROM forgotten", &[])?);
        Ok(AttemptNumber::new(floor.unwrap_or_default().unsigned_abs()))
    }

    fn abandon(&mut self, token: &AttemptId, until: Timestamp) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO abandoned (token, until) VALUES (?, ?)";
        let values = [blob(token.as_bytes()), moment(until)];
        self.0.exec(sql, &values).map(drop)
    }

    fn is_abandoned(&mut self, token: &AttemptId) -> Result<bool> {
        let sql = "SELECT 1 FROM abandoned WHERE token = ?";
        let rows = self.0.exec(sql, &[blob(token.as_bytes())])?;
        Ok(!rows.is_empty())
    }

    fn leases_run_out(
        &mut self,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<(OperationKey, Record)>> {
        self.due(0, now, limit)
    }

    fn unknown_due(&mut self, now: Timestamp, limit: usize) -> Result<Vec<(OperationKey, Record)>> {
        self.due(1, now, limit)
    }

    fn next_due(&mut self) -> Result<Option<Timestamp>> {
        let sql = "SELECT min(due) FROM records WHERE state < 2";
        Ok(first_integer(&self.0.exec(sql, &[])?).map(Timestamp::from_millis))
    }

    fn log(&mut self, key: &OperationKey, entry: &Entry) -> Result<()> {
        let sql = "INSERT INTO log (digest, entry) VALUES (?, ?)";
        let digest = blob(KeyDigest::of(key).as_bytes());
        let entry = Value::String(stored::entry::write(entry));
        self.0.exec(sql, &[digest, entry]).map(drop)
    }

    fn logged(&mut self, digest: &KeyDigest) -> Result<Vec<Entry>> {
        let sql = "SELECT entry FROM log WHERE digest = ? ORDER BY rowid";
        let rows = self.0.exec(sql, &[blob(digest.as_bytes())])?;
        rows.iter().map(entry).collect()
    }

    fn sweep(&mut self, now: Timestamp, batch: usize) -> Result<Swept> {
        let sql = "DELETE FROM abandoned WHERE until <= ?";
        self.0.exec(sql, &[moment(now)])?;
        let expired = self.due(2, now, batch)?; // P5
        for (key, record) in &expired {
            self.forget(&KeyDigest::of(key), record.number)?;
        }
        Ok(Swept {
            looked_at: expired.len(),
            forgotten: expired.len(),
            round_ended: expired.len() < batch,
        })
    }
}

impl Store<'_> {
    /// Records in this state whose time has come.
    fn due(&self, state: u8, now: Timestamp, max: usize) -> Result<Vec<(OperationKey, Record)>> {
        let sql = format!(
            "SELECT key, record, body FROM records
             WHERE state = {state} AND due <= ? ORDER BY due LIMIT {max}"
        );
        self.0
            .exec(&sql, &[moment(now)])?
            .iter()
            .map(read)
            .collect()
    }
}

/// A row of key, record and body.
fn read(row: &Row) -> Result<(OperationKey, Record)> {
    let [Value::String(key), Value::String(text), body] = row.as_slice() else {
        return Err(Error::from("a row of records is not as its table promises"));
    };
    let body = if let Value::Blob(bytes) = body {
        bytes.as_slice()
    } else {
        &[]
    };
    let key = OperationKey::parse(key).map_err(|error| unreadable(&error))?;
    let record = stored::read(text, body.to_vec()).map_err(|error| unreadable(&error))?;
    Ok((key, record))
}

/// A row of one entry of the log.
fn entry(row: &Row) -> Result<Entry> {
    match row.as_slice() {
        [Value::String(text)] => stored::entry::read(text).map_err(|error| unreadable(&error)),
        _ => Err(Error::from("a row of the log is not as its table promises")),
    }
}

fn unreadable(why: &dyn std::fmt::Display) -> Error {
    Error::RustError(why.to_string())
}

/// The whole number in the first row's first column, if there is one.
pub(crate) fn first_integer(rows: &[Row]) -> Option<i64> {
    let value = rows.first()?.first()?;
    if let Value::Integer(number) = value {
        Some(*number)
    } else {
        None
    }
}

fn blob(bytes: &[u8]) -> Value {
    Value::Blob(bytes.to_vec())
}

fn moment(at: Timestamp) -> Value {
    Value::Integer(at.as_millis())
}
