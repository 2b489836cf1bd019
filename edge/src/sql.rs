//! The only file that knows the storage API of an object: statements, transactions, the alarm.
//!
//! Not the tables (`sql_store` and its neighbours). `worker`'s own binding lacks `catch` on cursors, where an error then
//! leaves the caller without an answer, and has no `transactionSync`; both are bound here. Every cursor is
//! drained at once, since an unfinished one locks its tables.
//! Source: <https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/>.

use std::cell::Cell;
use std::fmt;
use std::panic::AssertUnwindSafe;

use shared::time::Timestamp;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use worker::js_sys::{Array, ArrayBuffer, Date, Object, Promise, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;

/// The largest whole number that the storage keeps exact, for it binds every number as a double.
pub(crate) const INTEGER_MAX: i64 = (1 << 53) - 1;

/// A value that is bound or read. There is no boolean: the platform would store it as the text "true".
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// SQL `NULL`.
    Null,
    /// A whole number inside ±2^53.
    Integer(i64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// What the storage refused, in its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqlError {
    why: String,
    panicked: bool,
}

/// One row, in the order of the selected columns.
#[derive(Debug)]
pub(crate) struct Row(Array);

/// What statements have cost so far: the platform bills rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Rows written, indexes included.
    pub(crate) rows_written: u64,
    /// Rows read.
    pub(crate) rows_read: u64,
    /// Of the rows written: those of sums, which come once a second at most whatever happens.
    pub(crate) rows_written_counts: u64,
    /// How often the alarm was set, which is billed as a row each.
    pub(crate) alarms_set: u64,
}

/// The storage of one object.
pub(crate) struct Sql {
    storage: Storage,
    cost: Cell<Cost>,
}

impl Sql {
    /// The storage of the object whose state this is.
    pub(crate) fn of(state: &worker::State) -> Self {
        let storage = state.storage();
        let raw: &JsValue = storage.as_raw().as_ref();
        Self {
            storage: raw.clone().unchecked_into(),
            cost: Cell::default(),
        }
    }

    /// Runs one statement to its end and gives its rows.
    pub(crate) fn exec(&self, statement: &str, bindings: &[Value]) -> Result<Vec<Row>, SqlError> {
        let bound: Array = bindings.iter().map(bind).collect::<Result<_, _>>()?;
        let cursor = self
            .storage
            .sql()
            .exec(statement, bound)
            .map_err(|thrown| SqlError::thrown(&thrown))?;
        let rows = cursor
            .to_array()
            .map_err(|thrown| SqlError::thrown(&thrown))?;
        let mut cost = self.cost.get();
        cost.rows_written += count(cursor.rows_written());
        cost.rows_read += count(cursor.rows_read());
        self.cost.set(cost);
        let values = |row: JsValue| Row(Object::values(row.unchecked_ref()));
        Ok(rows.iter().map(values).collect())
    }

    /// The same, for sums: their rows are counted apart.
    pub(crate) fn exec_apart(
        &self,
        statement: &str,
        bindings: &[Value],
    ) -> Result<Vec<Row>, SqlError> {
        let before = self.cost.get().rows_written;
        let rows = self.exec(statement, bindings)?;
        let mut cost = self.cost.get();
        cost.rows_written_counts += cost.rows_written - before;
        self.cost.set(cost);
        Ok(rows)
    }

    /// Runs `work` as one transaction: an error, or a panic, leaves nothing of it behind.
    pub(crate) fn transaction<T, E: From<SqlError>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut done = None;
        // What a panic leaves in here is looked at again only to see that it did not end.
        let mut slots = AssertUnwindSafe((Some(work), &mut done));
        let mut run = move || {
            let slots = &mut slots;
            let result = slots.0.0.take().map(|work| work());
            let failed = !matches!(result, Some(Ok(_)));
            *slots.0.1 = result;
            if failed {
                Err(JsValue::from_str("rolled back"))
            } else {
                Ok(JsValue::UNDEFINED)
            }
        };
        let committed = self.storage.transaction_sync(&mut run);
        drop(run);
        match (committed, done) {
            (Err(_), Some(Err(error))) => Err(error),
            (Err(thrown), Some(Ok(_))) => Err(SqlError::thrown(&thrown).into()),
            // A panic leaves the work by way of JavaScript, which gives back what it had begun.
            (Err(thrown), None) => Err(SqlError {
                panicked: true,
                ..SqlError::thrown(&thrown)
            }
            .into()),
            (Ok(_), Some(result)) => result,
            (Ok(_), None) => Err(SqlError::unreadable("the transaction did not run").into()),
        }
    }

    /// When the alarm is set for, if it is.
    pub(crate) async fn alarm(&self) -> Result<Option<Timestamp>, SqlError> {
        let promise = self.storage.get_alarm();
        let promise = promise.map_err(|thrown| SqlError::thrown(&thrown))?;
        let at = JsFuture::from(promise).await;
        let at = at.map_err(|thrown| SqlError::thrown(&thrown))?;
        let at = at.as_f64().map(whole).map(Timestamp::from_millis);
        #[cfg(feature = "testing")]
        let at = at.and_then(crate::testing::is_set);
        Ok(at)
    }

    /// Sets the alarm in place of the one before. It is durable before any answer leaves the object.
    pub(crate) fn set_alarm(&self, at: Timestamp) -> Result<(), SqlError> {
        let mut cost = self.cost.get();
        cost.alarms_set += 1;
        self.cost.set(cost);
        #[cfg(feature = "testing")]
        let Some(at) = crate::testing::to_set(at) else {
            return Ok(());
        };
        #[expect(clippy::cast_precision_loss, reason = "moments are inside ±2^53")]
        let millis = JsValue::from_f64(at.as_millis() as f64);
        let set = self.storage.set_alarm(&Date::new(&millis));
        set.map(|_durable_later| ())
            .map_err(|thrown| SqlError::thrown(&thrown))
    }

    /// Takes the alarm away, as if the platform had given it up.
    #[cfg(feature = "testing")]
    pub(crate) fn lose_alarm(&self) -> Result<(), SqlError> {
        let lost = self.storage.delete_alarm();
        lost.map(|_durable_later| ())
            .map_err(|thrown| SqlError::thrown(&thrown))
    }

    /// What statements have cost since the object started.
    pub(crate) fn cost(&self) -> Cost {
        self.cost.get()
    }
}

impl Row {
    /// The whole number in a column.
    pub(crate) fn integer(&self, column: u32) -> Result<i64, SqlError> {
        let found = self.0.get(column);
        found
            .as_f64()
            .map(whole)
            .ok_or_else(|| SqlError::wrong(column, "a number"))
    }

    /// The whole number in a column that may be `NULL`.
    pub(crate) fn integer_or_null(&self, column: u32) -> Result<Option<i64>, SqlError> {
        if self.0.get(column).is_null() {
            return Ok(None);
        }
        self.integer(column).map(Some)
    }

    /// The text in a column.
    pub(crate) fn text(&self, column: u32) -> Result<String, SqlError> {
        let found = self.0.get(column);
        found
            .as_string()
            .ok_or_else(|| SqlError::wrong(column, "text"))
    }

    /// The bytes in a column.
    pub(crate) fn bytes(&self, column: u32) -> Result<Vec<u8>, SqlError> {
        let found = self.0.get(column);
        match found.dyn_ref::<ArrayBuffer>() {
            Some(buffer) => Ok(Uint8Array::new(buffer).to_vec()),
            None => Err(SqlError::wrong(column, "bytes")),
        }
    }

    /// The bytes in a column that may be `NULL`.
    pub(crate) fn bytes_or_null(&self, column: u32) -> Result<Option<Vec<u8>>, SqlError> {
        if self.0.get(column).is_null() {
            return Ok(None);
        }
        self.bytes(column).map(Some)
    }
}

impl SqlError {
    /// A row that is not what its table promises.
    pub(crate) fn unreadable(what: impl fmt::Display) -> Self {
        Self {
            why: what.to_string(),
            panicked: false,
        }
    }

    /// Whether the work of a transaction panicked.
    pub(crate) const fn is_panic(&self) -> bool {
        self.panicked
    }

    fn thrown(thrown: &JsValue) -> Self {
        Self::unreadable(thrown_text(thrown))
    }

    fn wrong(column: u32, wanted: &str) -> Self {
        Self::unreadable(format!("column {column} does not hold {wanted}"))
    }
}

impl std::error::Error for SqlError {}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// The message of whatever JavaScript threw.
pub(crate) fn thrown_text(thrown: &JsValue) -> String {
    match thrown.dyn_ref::<worker::js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => String::from(worker::js_sys::Object::from(thrown.clone()).to_string()),
    }
}

fn bind(value: &Value) -> Result<JsValue, SqlError> {
    match value {
        Value::Null => Ok(JsValue::NULL),
        Value::Integer(number) if number.abs() > INTEGER_MAX => Err(SqlError::unreadable(format!(
            "{number} is not inside ±2^53"
        ))),
        #[expect(clippy::cast_precision_loss, reason = "checked by the arm above")]
        Value::Integer(number) => Ok(JsValue::from_f64(*number as f64)),
        Value::Text(text) => Ok(JsValue::from_str(text)),
        Value::Bytes(bytes) => Ok(Uint8Array::from(bytes.as_slice()).into()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the storage holds nothing but whole numbers inside ±2^53"
)]
fn whole(number: f64) -> i64 {
    number as i64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of rows and bytes are whole and not negative"
)]
fn count(number: f64) -> u64 {
    number as u64
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(extends = Object, js_name = DurableObjectStorage)]
    type Storage;

    #[wasm_bindgen(method, getter)]
    fn sql(this: &Storage) -> Statements;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &Storage,
        work: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch, js_name = getAlarm)]
    fn get_alarm(this: &Storage) -> Result<Promise, JsValue>;

    #[cfg(feature = "testing")]
    #[wasm_bindgen(method, catch, js_name = deleteAlarm)]
    fn delete_alarm(this: &Storage) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch, js_name = setAlarm)]
    fn set_alarm(this: &Storage, at: &Date) -> Result<Promise, JsValue>;

    #[wasm_bindgen(extends = Object, js_name = SqlStorage)]
    type Statements;

    #[wasm_bindgen(method, catch, variadic)]
    fn exec(this: &Statements, statement: &str, bindings: Array) -> Result<Cursor, JsValue>;

    #[wasm_bindgen(extends = Object, js_name = SqlStorageCursor)]
    type Cursor;

    #[wasm_bindgen(method, catch, js_name = toArray)]
    fn to_array(this: &Cursor) -> Result<Array, JsValue>;

    #[wasm_bindgen(method, getter, js_name = rowsRead)]
    fn rows_read(this: &Cursor) -> f64;

    #[wasm_bindgen(method, getter, js_name = rowsWritten)]
    fn rows_written(this: &Cursor) -> f64;
}
