//! What an operations object tells an operator of its records, its counts and its log: reads only.
//!
//! Not the record's own form of showing itself (`shared::present`), nor the sums' arithmetic (`shared::series`). A
//! list reads all rows of a table, because reading costs a thousandth of what an index over the time of the first
//! claim would cost to write.

use std::fmt::Display;

use shared::audit::Entry;
use shared::json;
use shared::live::LiveState;
use shared::metrics::Sums;
use shared::placement::{KeyDigest, OperationId};
use shared::present::{self, Named};
use shared::record::Record;
use shared::scope::OperationKey;
use shared::series::{Happened, Window};
use shared::stored;
use shared::time::Timestamp;
use shared::wire::{AnswerGroup, OperationDetail, OperationRow, OperationState, OtherFingerprint};

use crate::message_operator::{
    ListOperations, OperatorAnswer, OperatorMessage, Order, Position, StateFilter,
};
use crate::object::Identity;
use crate::sql::{INTEGER_MAX, Row, Sql, SqlError, Value};
use crate::telemetry::{Level, event};

/// Operations in one page of one object (X5).
pub(crate) const PAGE_MAX: u32 = 200;
/// Open operations that are looked at for one answer (X5). They are few unless an origin is down for long.
const OPEN_MAX: i64 = 10_000;
/// Other fingerprints that are shown of one operation (X5).
const OTHERS_MAX: i64 = 50;

/// Answers one question. A failing store is an answer too: the object goes on.
pub(crate) fn answer(
    sql: &Sql,
    message: OperatorMessage,
    identity: &Identity,
    now: Timestamp,
) -> OperatorAnswer {
    let queries = Queries { sql, identity, now };
    let answered = match message {
        OperatorMessage::Overview { window } => queries.overview(window),
        OperatorMessage::Totals => queries.totals(),
        OperatorMessage::List(list) => queries.list(&list).map(OperatorAnswer::Operations),
        OperatorMessage::Unknown { last_answer } => queries.unknown(last_answer.as_deref()),
        OperatorMessage::Audit { before, limit } => queries.audit(before.as_ref(), limit),
        // They change something or nothing, and are not questions to the tables.
        OperatorMessage::Settle(_) | OperatorMessage::Tick => Ok(OperatorAnswer::Ticked),
    };
    answered.unwrap_or_else(|error| OperatorAnswer::Failed(error.to_string()))
}

/// Everything that is known of the operation of this id, if there is one: what an operator is shown, as it is shown.
pub(crate) fn detail(
    sql: &Sql,
    id: &str,
    identity: &Identity,
    now: Timestamp,
) -> Result<Option<OperationDetail>, SqlError> {
    Queries { sql, identity, now }.detail(id)
}

/// Up to `limit` of the operations whose outcome is unknown after this last answer, longest unknown first.
pub(crate) fn unknown_digests(
    sql: &Sql,
    last_answer: &str,
    limit: usize,
    order: &Order,
    identity: &Identity,
    now: Timestamp,
) -> Result<Vec<KeyDigest>, SqlError> {
    let mut unknown = Queries { sql, identity, now }.unknown_records()?;
    unknown.retain(|found| found.last_answer == last_answer);
    if *order == Order::TryAgain {
        unknown.retain(|found| !found.record.may_run_again(now)); // else the same ones come again and again
    }
    let digest = |found: UnknownRecord| {
        let key = OperationKey::parse(&found.key).map_err(SqlError::unreadable)?;
        Ok(KeyDigest::of(&key))
    };
    unknown.into_iter().take(limit).map(digest).collect()
}

/// An operation whose outcome is unknown.
struct UnknownRecord {
    key: String,
    record: Record,
    since: Timestamp,
    last_answer: String,
}

struct Queries<'a> {
    sql: &'a Sql,
    identity: &'a Identity,
    now: Timestamp,
}

impl Queries<'_> {
    fn overview(&self, window: Window) -> Result<OperatorAnswer, SqlError> {
        let happened = self.happened(window)?;
        Ok(OperatorAnswer::Overview {
            happened,
            live: self.live()?,
        })
    }

    fn totals(&self) -> Result<OperatorAnswer, SqlError> {
        let sums = self.sums_before(INTEGER_MAX)?;
        Ok(OperatorAnswer::Totals {
            sums,
            live: self.live()?,
        })
    }

    /// P8: only what was saved is published.
    fn happened(&self, window: Window) -> Result<Happened, SqlError> {
        let before = self.sums_before(window.first_minute)?;
        // The sums of the last minute in each step: SQLite takes the other columns from the row of the maximum.
        // Bound numbers are doubles, and dividing must not be.
        let rows = self.sql.exec(
            "SELECT max(minute), sums FROM counts WHERE minute >= ?1
             GROUP BY (minute - CAST(?1 AS INTEGER)) / CAST(?2 AS INTEGER) ORDER BY 1",
            &[
                Value::Integer(window.first_minute),
                Value::Integer(window.step_minutes.max(1)),
            ],
        )?;
        let saved: Vec<(i64, Sums)> = rows
            .iter()
            .map(|row| Ok((row.integer(0)?, sums(row, 1)?)))
            .collect::<Result<_, SqlError>>()?;
        Ok(window.happened(&before, &saved))
    }

    fn sums_before(&self, minute: i64) -> Result<Sums, SqlError> {
        let last = "SELECT sums FROM counts WHERE minute < ? ORDER BY minute DESC LIMIT 1";
        let rows = self.sql.exec(last, &[Value::Integer(minute)])?;
        rows.first()
            .map_or_else(|| Ok(Sums::default()), |row| sums(row, 0))
    }

    fn live(&self) -> Result<LiveState, SqlError> {
        let mut live = LiveState::default();
        let open = "SELECT record FROM open_operations LIMIT ?";
        for row in self.sql.exec(open, &[Value::Integer(OPEN_MAX)])? {
            if let Some(record) = self.readable(&row, 0)? {
                live.observe(&record, self.identity.policy.on_unknown(), self.now);
            }
        }
        let tracked = "SELECT (SELECT count(*) FROM open_operations)
            + coalesce((SELECT completed FROM counts ORDER BY minute DESC LIMIT 1), 0)";
        if let Some(row) = self.sql.exec(tracked, &[])?.first() {
            live.tracked = row.integer(0)?.unsigned_abs();
        }
        Ok(live)
    }

    fn list(&self, list: &ListOperations) -> Result<Vec<OperationRow>, SqlError> {
        let limit = list.limit.min(PAGE_MAX);
        let mut rows = Vec::new();
        if list.state != Some(StateFilter::Completed) {
            // U2: what is not settled does not expire; the platform wants every bound value used.
            rows.extend(self.rows("open_operations", "?6 IS NOT NULL", OPEN_MAX, list)?);
        }
        if matches!(list.state, None | Some(StateFilter::Completed)) {
            // R1: what has expired is not seen, whether or not it was swept.
            let live = "(expires_at IS NULL OR expires_at > ?6)";
            rows.extend(self.rows("completed_operations", live, i64::from(limit), list)?);
        }
        rows.retain(|row| matches_state(row, list.state));
        rows.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(rows)
    }

    /// All whose outcome is unknown, longest unknown first.
    fn unknown_records(&self) -> Result<Vec<UnknownRecord>, SqlError> {
        let open = "SELECT key, record FROM open_operations LIMIT ?";
        let mut unknown = Vec::new();
        for row in &self.sql.exec(open, &[Value::Integer(OPEN_MAX)])? {
            let Some(record) = self.readable(row, 1)? else {
                continue;
            };
            if let Some(found) = record.unknown(self.now) {
                unknown.push(UnknownRecord {
                    key: row.text(0)?,
                    record,
                    since: found.since,
                    last_answer: present::last_answer(found.cause),
                });
            }
        }
        unknown.sort_by_key(|found| found.since);
        Ok(unknown)
    }

    fn unknown(&self, last_answer: Option<&str>) -> Result<OperatorAnswer, SqlError> {
        let mut unknown = self.unknown_records()?;
        let mut groups: Vec<AnswerGroup> = Vec::new();
        for found in &unknown {
            add_to_group(&mut groups, &found.last_answer, 1, found.since);
        }
        unknown.retain(|found| last_answer.is_none_or(|wanted| found.last_answer == wanted));
        let total = u64::try_from(unknown.len()).unwrap_or(u64::MAX);
        let page = usize::try_from(PAGE_MAX).unwrap_or(usize::MAX);
        let rows = unknown.iter().take(page);
        let rows = rows.map(|found| self.row(&found.key, &found.record));
        Ok(OperatorAnswer::Unknown {
            total,
            rows: rows.collect::<Result<_, SqlError>>()?,
            groups,
        })
    }

    fn audit(&self, before: Option<&Position>, limit: u32) -> Result<OperatorAnswer, SqlError> {
        let far = Timestamp::from_millis(INTEGER_MAX);
        let (at, below) = match before {
            None => (far, Vec::new()),
            Some(position) => {
                let below = self.below(position);
                let below = below.ok_or_else(|| SqlError::unreadable("a place in the log"))?;
                (position.created_at, below)
            }
        };
        let rows = self.sql.exec(
            "SELECT key, entry FROM audit_log WHERE at < ?1 OR (at = ?1 AND digest < ?2)
             ORDER BY at DESC, digest DESC LIMIT ?3",
            &[
                Value::Integer(at.as_millis()),
                Value::Bytes(below),
                Value::Integer(i64::from(limit.min(PAGE_MAX))),
            ],
        )?;
        let entry = |row: &Row| {
            let entry = stored::entry::read(&row.text(1)?).map_err(SqlError::unreadable)?;
            self.named(&row.text(0)?, |named| present::audit(named, &entry))
        };
        let entries = rows.iter().map(entry).collect::<Result<_, SqlError>>()?;
        Ok(OperatorAnswer::Audit(entries))
    }

    fn log_of(&self, digest: Value) -> Result<Vec<Entry>, SqlError> {
        let select = "SELECT entry FROM audit_log WHERE digest = ? ORDER BY turn LIMIT ?";
        let rows = self
            .sql
            .exec(select, &[digest, Value::Integer(OTHERS_MAX)])?;
        let entry = |row: &Row| stored::entry::read(&row.text(0)?).map_err(SqlError::unreadable);
        rows.iter().map(entry).collect()
    }

    fn rows(
        &self,
        table: &str,
        condition: &str,
        limit: i64,
        list: &ListOperations,
    ) -> Result<Vec<OperationRow>, SqlError> {
        let Some(bounds) = self.bounds(list) else {
            return Ok(Vec::new());
        };
        let select = format!(
            "SELECT key, record FROM {table}
             WHERE (created_at < ?1 OR (created_at = ?1 AND digest < ?2))
             AND created_at >= ?3 AND created_at < ?4
             AND (?5 IS NULL OR digest = ?5 OR reference = ?7) AND ({condition})
             ORDER BY created_at DESC, digest DESC LIMIT {limit}"
        );
        let rows = self.sql.exec(&select, &bounds)?;
        let mut shown = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(record) = self.readable(row, 1)? {
                shown.push(self.row(&row.text(0)?, &record)?);
            }
        }
        Ok(shown)
    }

    /// The record in a row. One that can't be read is logged and left out: it must not hide all the others.
    fn readable(&self, row: &Row, column: u32) -> Result<Option<Record>, SqlError> {
        match stored::read(&row.text(column)?, Vec::new()) {
            Ok(record) => Ok(Some(record)),
            Err(error) => {
                let object = self.identity.place.object();
                let circumstances: [(&str, &dyn Display); 2] =
                    [("object", &object), ("error", &error)];
                event(Level::Error, "record_unreadable", &circumstances);
                Ok(None)
            }
        }
    }

    /// Nothing if no operation can match.
    fn bounds(&self, list: &ListOperations) -> Option<[Value; 7]> {
        let far = Timestamp::from_millis(INTEGER_MAX);
        let (at, below) = match &list.before {
            None => (far, Vec::new()),
            Some(position) => (position.created_at, self.below(position)?),
        };
        let (digest, reference) = match &list.key {
            None => (Value::Null, Value::Null),
            Some(key) => {
                let digest = match OperationId::parse(key) {
                    Some(id) if id.object == self.identity.place.object() => Some(id.key),
                    Some(_of_another_object) => return None,
                    // An origin's reference may be longer than any key.
                    None => OperationKey::parse(key).ok().map(|key| KeyDigest::of(&key)),
                };
                // No digest is empty: what can be no key is found by its reference alone.
                let digest = digest.map_or(Value::Bytes(Vec::new()), digest_value);
                (digest, Value::Text(key.clone()))
            }
        };
        let moment = |at: Timestamp| Value::Integer(at.as_millis().clamp(0, far.as_millis()));
        Some([
            moment(at),
            Value::Bytes(below),
            moment(list.from.unwrap_or(Timestamp::from_millis(0))),
            moment(list.to.unwrap_or(far)),
            digest,
            moment(self.now),
            reference,
        ])
    }

    /// Of the operations first claimed at the very moment of `position`, those below this digest come behind it:
    /// ids are ordered by object first.
    fn below(&self, position: &Position) -> Option<Vec<u8>> {
        let id = OperationId::parse(&position.id)?;
        Some(match self.identity.place.object().cmp(&id.object) {
            std::cmp::Ordering::Less => vec![u8::MAX; id.key.as_bytes().len() + 1],
            std::cmp::Ordering::Equal => id.key.as_bytes().to_vec(),
            std::cmp::Ordering::Greater => Vec::new(),
        })
    }

    fn detail(&self, id: &str) -> Result<Option<OperationDetail>, SqlError> {
        let object = self.identity.place.object();
        let Some(id) = OperationId::parse(id).filter(|id| id.object == object) else {
            return Ok(None);
        };
        let digest = digest_value(id.key);
        let open = "SELECT key, record, NULL FROM open_operations WHERE digest = ?";
        let done = "SELECT key, record, body FROM completed_operations WHERE digest = ?";
        let mut rows = self.sql.exec(open, std::slice::from_ref(&digest))?;
        if rows.is_empty() {
            rows = self.sql.exec(done, std::slice::from_ref(&digest))?;
        }
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let (key, record) = (
            row.text(0)?,
            record(row, 1, row.bytes_or_null(2)?.unwrap_or_default())?,
        );
        if !record.is_live(self.now) {
            return Ok(None); // R1
        }
        let others = self.others(digest.clone())?;
        let log = self.log_of(digest)?;
        self.named(&key, |named| {
            present::detail(named, &record, others, &log, self.now)
        })
        .map(Some)
    }

    fn others(&self, digest: Value) -> Result<Vec<OtherFingerprint>, SqlError> {
        let others = "SELECT fingerprint, first_at FROM other_fingerprints WHERE digest = ?
            ORDER BY first_at LIMIT ?";
        let rows = self
            .sql
            .exec(others, &[digest, Value::Integer(OTHERS_MAX)])?;
        let other = |row: &Row| {
            let first_at = Timestamp::from_millis(row.integer(1)?);
            Ok(OtherFingerprint {
                fingerprint: row.text(0)?,
                first_at,
            })
        };
        rows.iter().map(other).collect()
    }

    fn row(&self, key: &str, record: &Record) -> Result<OperationRow, SqlError> {
        self.named(key, |named| present::row(named, record, self.now))
    }

    fn named<T>(&self, key: &str, show: impl FnOnce(&Named<'_>) -> T) -> Result<T, SqlError> {
        let Identity { place, policy, .. } = self.identity;
        let parsed = OperationKey::parse(key).map_err(SqlError::unreadable)?;
        Ok(show(&Named {
            id: &OperationId::new(place, &parsed).to_string(),
            tenant: place.tenant.as_str(),
            route: place.route.as_str(),
            key,
            kind: policy.kind(),
            on_unknown: policy.on_unknown(),
        }))
    }
}

/// Counts `count` more after this last answer, the oldest of them unknown since `oldest`.
pub(crate) fn add_to_group(
    groups: &mut Vec<AnswerGroup>,
    last_answer: &str,
    count: u64,
    oldest: Timestamp,
) {
    match groups
        .iter_mut()
        .find(|group| group.last_answer == last_answer)
    {
        Some(group) => {
            group.count += count;
            group.oldest = group.oldest.min(oldest);
        }
        None => groups.push(AnswerGroup {
            last_answer: String::from(last_answer),
            count,
            oldest,
        }),
    }
}

/// As of now, which the rows of a table may not say yet.
fn matches_state(row: &OperationRow, state: Option<StateFilter>) -> bool {
    match state {
        None => true,
        Some(StateFilter::InProgress) => row.state == OperationState::InProgress,
        Some(StateFilter::Indeterminate) => row.state == OperationState::Indeterminate,
        Some(StateFilter::Stuck) => row.stuck,
        Some(StateFilter::Completed) => row.state == OperationState::Completed,
    }
}

fn digest_value(digest: KeyDigest) -> Value {
    Value::Bytes(digest.as_bytes().to_vec())
}

fn record(row: &Row, column: u32, body: Vec<u8>) -> Result<Record, SqlError> {
    stored::read(&row.text(column)?, body).map_err(SqlError::unreadable)
}

fn sums(row: &Row, column: u32) -> Result<Sums, SqlError> {
    json::read(row.text(column)?.as_bytes()).map_err(SqlError::unreadable)
}
