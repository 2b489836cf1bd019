//! The Worker and its objects: everything of Oncegate that touches the platform.
//!
//! It translates and saves; it decides nothing. What a key means, who may run and what is answered is the rule's
//! to say (`shared`).

mod body;
mod clock;
mod entropy;
mod headers;
mod origin;
mod sql;
mod telemetry;
mod message;
mod migrations;
mod request;
mod sql_store;
