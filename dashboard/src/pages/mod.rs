//! One file a page. Pages read the address, fetch, and hand to components what these show.

pub(crate) mod audit;
pub(crate) mod login;
pub(crate) mod not_found;
pub(crate) mod operation;
pub(crate) mod operations;
pub(crate) mod overview;
pub(crate) mod settling;
pub(crate) mod unknown;
