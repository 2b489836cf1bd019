//! The fleet's tables: which operations objects exist, and which operators are signed in.
//!
//! Not the objects' own state: a list entry says that an object was claimed in once, no more.

use shared::time::{Millis, Timestamp};

use crate::message_fleet::{KeptSession, ListObjects, ObjectsPage, OpenSession, Registration};
use crate::migrations::migrate;
use crate::sql::{Row, Sql, SqlError, Value};

/// Objects in one page of the list (X5): some 100 KB of JSON.
pub(crate) const OBJECTS_PAGE: usize = 500;
/// Tenants offered to choose from (X5).
const TENANTS_MAX: i64 = 1_000;
/// How long a session lives: a working day and its overtime (X3).
const SESSION_LIFE: Millis = Millis::from_hours(12);
/// Sessions that live at once (X5); the oldest ends when one more begins.
const SESSIONS_MAX: i64 = 256;
/// Expired sessions that one login takes away (X5).
const EXPIRED_BATCH: i64 = 64;

const STEPS: &[&[&str]] = &[&[
    "CREATE TABLE objects (
        name TEXT PRIMARY KEY,
        tenant TEXT NOT NULL,
        route TEXT NOT NULL,
        shard INTEGER NOT NULL,
        registered_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID",
    // Digests only: whoever reads this table can neither sign in nor take over a session (X3).
    "CREATE TABLE sessions (
        session TEXT PRIMARY KEY,
        token TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID",
]];

const OBJECT_COLUMNS: &str = "name, tenant, route, shard";
const MATCHING: &str = "name > ?1 AND (?2 IS NULL OR tenant = ?2) AND (?3 IS NULL OR route = ?3)";

/// The tables, in the form that this version reads.
pub(crate) struct FleetStore<'a> {
    sql: &'a Sql,
}

impl<'a> FleetStore<'a> {
    /// Opens them, bringing them up to date first.
    pub(crate) fn open(sql: &'a Sql, now: Timestamp) -> Result<Self, SqlError> {
        migrate(sql, STEPS, now)?;
        Ok(Self { sql })
    }

    /// Adds an object; one that is known stays as it is.
    pub(crate) fn register(&self, object: &Registration, now: Timestamp) -> Result<(), SqlError> {
        self.sql.exec(
            "INSERT INTO objects (name, tenant, route, shard, registered_at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO NOTHING",
            &[
                text(&object.name),
                text(&object.tenant),
                text(&object.route),
                Value::Integer(i64::from(object.shard)),
                moment(now),
            ],
        )?;
        Ok(())
    }

    /// The objects behind `list.after` that match, in the order of their names, at most a page of them.
    pub(crate) fn list(&self, list: &ListObjects) -> Result<ObjectsPage, SqlError> {
        let mut bindings = [
            text(list.after.as_deref().unwrap_or_default()),
            text_or_null(list.tenant.as_deref()),
            text_or_null(list.route.as_deref()),
        ];
        let first = format!(
            "SELECT {OBJECT_COLUMNS} FROM objects WHERE {MATCHING} ORDER BY name LIMIT {OBJECTS_PAGE}"
        );
        let rows = self.sql.exec(&first, &bindings)?;
        let objects: Vec<Registration> = rows.iter().map(object).collect::<Result<_, _>>()?;
        let Some(end) = objects.last().filter(|_| objects.len() == OBJECTS_PAGE) else {
            return Ok(ObjectsPage { objects, left: 0 });
        };
        bindings[0] = text(&end.name);
        let behind = format!("SELECT count(*) FROM objects WHERE {MATCHING}");
        let left = self.sql.exec(&behind, &bindings)?;
        let left = left.first().map_or(Ok(0), |row| row.integer(0))?;
        Ok(ObjectsPage {
            objects,
            left: left.unsigned_abs(),
        })
    }

    /// The object of this name, if it exists.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Registration>, SqlError> {
        let named = format!("SELECT {OBJECT_COLUMNS} FROM objects WHERE name = ?");
        self.sql
            .exec(&named, &[text(name)])?
            .first()
            .map(object)
            .transpose()
    }

    /// All tenants that have an object, in order, up to a bound.
    pub(crate) fn tenants(&self) -> Result<Vec<String>, SqlError> {
        let tenants = "SELECT DISTINCT tenant FROM objects ORDER BY tenant LIMIT ?";
        let rows = self.sql.exec(tenants, &[Value::Integer(TENANTS_MAX)])?;
        rows.iter().map(|row| row.text(0)).collect()
    }

    /// Keeps a new session, taking away what has expired and what is too many. Returns when it ends.
    pub(crate) fn open_session(
        &self,
        session: &OpenSession,
        token: &str,
        now: Timestamp,
    ) -> Result<Timestamp, SqlError> {
        let expires_at = now.plus(SESSION_LIFE);
        self.sql.transaction(|| {
            self.sql.exec(
                "DELETE FROM sessions WHERE session IN
                 (SELECT session FROM sessions WHERE expires_at <= ? LIMIT ?)",
                &[moment(now), Value::Integer(EXPIRED_BATCH)],
            )?;
            self.sql.exec(
                "DELETE FROM sessions WHERE session IN
                 (SELECT session FROM sessions ORDER BY created_at DESC LIMIT -1 OFFSET ?)",
                &[Value::Integer(SESSIONS_MAX - 1)],
            )?;
            self.sql.exec(
                "INSERT INTO sessions (session, token, created_at, expires_at) VALUES (?, ?, ?, ?)",
                &[
                    text(&session.session),
                    text(token),
                    moment(now),
                    moment(expires_at),
                ],
            )?;
            Ok(expires_at)
        })
    }

    /// The session with this digest, while it lives.
    pub(crate) fn session(
        &self,
        session: &str,
        now: Timestamp,
    ) -> Result<Option<KeptSession>, SqlError> {
        let find = "SELECT token, expires_at FROM sessions WHERE session = ? AND expires_at > ?";
        let rows = self.sql.exec(find, &[text(session), moment(now)])?;
        let kept = |row: &Row| {
            let expires_at = Timestamp::from_millis(row.integer(1)?);
            Ok(KeptSession {
                token: row.text(0)?,
                expires_at,
            })
        };
        rows.first().map(kept).transpose()
    }

    /// Ends the session with this digest, if there is one.
    pub(crate) fn close_session(&self, session: &str) -> Result<(), SqlError> {
        let close = "DELETE FROM sessions WHERE session = ?";
        self.sql.exec(close, &[text(session)]).map(|_none| ())
    }
}

fn object(row: &Row) -> Result<Registration, SqlError> {
    let shard = row.integer(3)?;
    Ok(Registration {
        name: row.text(0)?,
        tenant: row.text(1)?,
        route: row.text(2)?,
        shard: u16::try_from(shard)
            .map_err(|_range| SqlError::unreadable(format!("shard {shard}")))?,
    })
}

fn text(text: &str) -> Value {
    Value::Text(String::from(text))
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| Value::Text(String::from(text)))
}

fn moment(at: Timestamp) -> Value {
    Value::Integer(at.as_millis())
}
