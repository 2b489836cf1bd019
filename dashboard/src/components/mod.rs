//! What pages are made of. Components show what they are given and call back; they fetch nothing.

pub(crate) mod answer;
pub(crate) mod attempts;
pub(crate) mod attention;
pub(crate) mod audit_table;
pub(crate) mod chart;
pub(crate) mod exceptions;
pub(crate) mod field;
pub(crate) mod filter_bar;
pub(crate) mod fingerprints;
pub(crate) mod freshness;
pub(crate) mod header;
pub(crate) mod icon;
pub(crate) mod keyed;
pub(crate) mod living;
pub(crate) mod numbers;
pub(crate) mod operations_table;
pub(crate) mod pager;
pub(crate) mod route_table;
pub(crate) mod selection;
pub(crate) mod settle;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod timeline;
pub(crate) mod unknown_table;
