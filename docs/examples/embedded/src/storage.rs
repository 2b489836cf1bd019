//! An object's storage: statements, and the transaction that holds the record and the effect together.
//!
//! `worker` has no `transactionSync`; it is bound here. Without it, an error half-way keeps the first half.
//! Source: <https://developers.cloudflare.com/durable-objects/api/sqlite-storage-api/#transactionsync>.

use std::panic::AssertUnwindSafe;

use wasm_bindgen::prelude::*;
use worker::{Error, SqlStorage, SqlStorageValue, State};

/// The storage of one object.
pub(crate) struct Storage {
    sql: SqlStorage,
    transactions: Transactions,
}

/// The values of one row, in the order of its columns.
pub(crate) type Row = Vec<SqlStorageValue>;

impl Storage {
    /// The storage of the object whose state this is.
    pub(crate) fn of(state: &State) -> Self {
        let storage = state.storage();
        let raw: &JsValue = storage.as_raw().as_ref();
        Self {
            sql: storage.sql(),
            transactions: raw.clone().unchecked_into(),
        }
    }

    /// Runs one statement to its end and gives its rows.
    #[expect(
        clippy::disallowed_methods,
        reason = "`raw` reads nothing yet, and its iterator catches what is thrown"
    )]
    pub(crate) fn exec(&self, sql: &str, values: &[SqlStorageValue]) -> Result<Vec<Row>, Error> {
        self.sql.exec(sql, values.to_vec())?.raw().collect()
    }

    /// Runs `work` as one transaction, or as a part of the one around it: an error, or a panic, leaves nothing of it.
    pub(crate) fn transaction<T, E: From<Error>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let mut done = None;
        // What a panic leaves in here is looked at again only to see that it did not end.
        let mut slots = AssertUnwindSafe((Some(work), &mut done));
        let mut run = move || {
            let slots = &mut slots;
            *slots.0.1 = slots.0.0.take().map(|work| work());
            if matches!(slots.0.1, Some(Ok(_))) {
                Ok(JsValue::UNDEFINED)
            } else {
                Err(JsValue::from_str("rolled back"))
            }
        };
        let committed = self.transactions.run(&mut run);
        drop(run);
        match (committed, done) {
            (Ok(_) | Err(_), Some(Err(error))) => Err(error),
            (Ok(_), Some(Ok(value))) => Ok(value),
            (Err(thrown), Some(Ok(_)) | None) => Err(Error::from(thrown).into()),
            (Ok(_), None) => Err(Error::from("the transaction did not run").into()),
        }
    }
}

#[wasm_bindgen]
extern "C" {
    type Transactions;

    #[wasm_bindgen(method, catch, js_name = transactionSync)]
    fn run(
        this: &Transactions,
        work: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;
}
