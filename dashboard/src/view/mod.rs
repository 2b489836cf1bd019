//! What the pages show, computed: ages, numbers, filters and their query strings, the chart's geometry, an operation's
//! timeline, settlements.
//!
//! Plain Rust without a browser, so that native tests reach all of it. Not here: markup and fetching.

pub(crate) mod age;
pub(crate) mod chart;
pub(crate) mod civil;
pub(crate) mod filter;
pub(crate) mod fingerprint;
pub(crate) mod link;
pub(crate) mod number;
pub(crate) mod series;
pub(crate) mod settle;
pub(crate) mod timeline;
pub(crate) mod words;
