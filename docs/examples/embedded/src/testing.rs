//! What tests/tests/embedded.rs asks of the example; only in a build with the feature `testing`.

use std::num::NonZeroU32;

use shared::store::contract::{Fallible, cases};
use worker::{Error, Response, Result};

use crate::storage::Storage;
use crate::store::Store;

/// A credit of so many cents panics once its rows are written.
const PANICS: u32 = 13;
/// A credit of so many fails there.
const FAILS: u32 = 17;
/// A credit of so many succeeds, and then its outcome can't be recorded.
const UNRECORDED: u32 = 19;

pub(crate) fn after_writing(storage: &Storage, cents: NonZeroU32) -> Result<()> {
    match cents.get() {
        PANICS => panic!("planted in the work"),
        FAILS => Err(Error::from("planted in the work")),
        UNRECORDED => storage.exec("DROP TABLE records", &[]).map(drop),
        _ => Ok(()),
    }
}

impl Fallible for Store<'_> {
    fn failure() -> Error {
        Error::from("planted in the store")
    }
}

/// Every case of the stores' contract on empty tables; the answer lists those that passed, or is the first that did not.
pub(crate) fn store_contract(storage: &Storage) -> Result<Response> {
    let mut passed = Vec::new();
    for (name, case) in cases::<Store<'_>>() {
        for table in ["records", "log", "forgotten", "abandoned"] {
            storage.exec(&format!("DELETE FROM {table}"), &[])?;
        }
        if let Err(verdict) = case(&mut Store(storage)) {
            return Response::error(format!("{name}: {verdict}"), 500);
        }
        passed.push(name);
    }
    Response::from_json(&passed)
}
