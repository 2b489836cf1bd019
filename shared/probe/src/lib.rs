//! A module that links the rule and nothing else: `core`, `alloc` and `shared`, without std.
//!
//! It is built for wasm32 only, and never run: `shared/tests/no_std_probe.rs` reads the module and finds that it
//! imports nothing, no clock, no randomness and no IO. On other targets it is empty.

#![cfg_attr(target_arch = "wasm32", no_std)]

#[cfg(target_arch = "wasm32")]
mod rule;
#[cfg(target_arch = "wasm32")]
mod runtime;
