//! The decisions of sondeo, as a library and as a WebAssembly component without imports.
//!
//! Time, randomness and the provider's answers are arguments; nothing is asked of the world outside. [`open::open`] makes
//! the first record, [`machine::step`] every further one, [`check::observe`] reduces an answer to what the contract names,
//! [`verify::verify`] proves a log. Fields are described in `wit/`, which has the same names.
#![cfg_attr(target_family = "wasm", no_std)]
#![cfg_attr(
    test,
    allow(
        clippy::as_conversions,
        clippy::arithmetic_side_effects,
        clippy::string_slice,
        clippy::indexing_slicing,
        reason = "a test that goes wrong should stop at once"
    )
)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod answer;
pub mod api;
pub mod backoff;
pub mod bindings;
pub mod check;
pub mod classify;
pub mod contract;
mod decided;
mod delay;
pub mod digest;
mod echoes;
pub mod entry;
mod fill;
pub mod guidance;
pub mod hint;
pub mod json;
pub mod limits;
pub mod machine;
mod named;
pub mod notice;
mod numbers;
pub mod observation;
pub mod observe;
pub mod open;
pub mod options;
mod pinned;
mod places;
pub mod pointer;
pub mod provider_text;
pub mod reader;
pub mod record;
pub mod request;
mod results;
#[cfg(target_family = "wasm")]
mod rt;
mod rules;
pub mod samples;
mod step;
mod story;
#[cfg(test)]
mod testing;
pub mod time;
pub mod url;
pub mod verify;
