//! One file per audience: clients of protected routes, webhook senders, clients that ask for their operations, origins
//! that report, operators, scrapers and readers.

pub(crate) mod api;
pub(crate) mod assets;
pub(crate) mod attempts;
pub(crate) mod client;
pub(crate) mod metrics;
pub(crate) mod operator;
pub(crate) mod passing;
pub(crate) mod problems;
pub(crate) mod settlements;
pub(crate) mod tenant;
pub(crate) mod webhook;
