//! The host of sondeo: clock, network, credentials, store and people. It decides nothing; it runs the
//! component in [`COMPONENT`] and does the one thing it is told.
//!
//! [`controller::Controller`] puts the parts together; [`component::Component`] alone is enough for those who bring a
//! store and a network of their own.

pub mod address;
pub mod audit;
pub mod bounds;
pub mod cli;
pub mod clock;
pub mod component;
pub mod controller;
pub mod credential;
pub mod demo;
pub mod manual;
pub mod seal;
pub mod store;
pub mod transport;

/// The policy component, byte for byte as it will run.
pub const COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sondeo.component.wasm"));

/// The SHA-256 of [`COMPONENT`], in lower-case hex.
pub const COMPONENT_SHA256: &str = env!("SONDEO_COMPONENT_SHA256");
