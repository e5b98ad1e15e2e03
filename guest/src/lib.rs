//! The decisions of sondeo, as a library and as a WebAssembly component without imports.
//!
//! Time, randomness and the provider's answers are arguments; nothing is asked of the world outside.
#![cfg_attr(target_family = "wasm", no_std)]
#![cfg_attr(
    test,
    allow(
        clippy::as_conversions,
        clippy::arithmetic_side_effects,
        clippy::string_slice,
        reason = "a test that goes wrong should stop at once"
    )
)]

extern crate alloc;

mod bindings;
pub mod json;
#[cfg(target_family = "wasm")]
mod rt;
