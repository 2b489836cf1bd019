//! The rule of Oncegate: what a key means, who may run, what is remembered and what is answered.
//!
//! Not here: IO, clocks, random numbers, async. Every decision is a total function of (record, input, now), so
//! the same rule runs in the Worker, in the dashboard, in exhaustive tests, and embedded in a Worker of your own.
//! Numbers such as `L3` or `U4` name the rules of the published contract (docs/contract.md).

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod audit;
pub mod canonical;
pub mod classify;
pub mod config;
pub mod decide;
pub mod fingerprint;
pub mod json;
pub mod key;
pub mod live;
pub mod media;
pub mod metrics;
pub mod openmetrics;
pub mod path;
pub mod placement;
pub mod pointer;
pub mod policy;
pub mod present;
pub mod probe;
pub mod problem;
pub mod processor;
pub mod quote;
pub mod record;
pub mod resolver;
pub mod scope;
pub mod series;
pub mod store;
pub mod stored;
pub mod time;
pub mod webhook;
pub mod wire;
