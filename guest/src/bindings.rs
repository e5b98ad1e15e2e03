//! The component's exports, made from `wit/`. Compiled everywhere, exported on wasm only: natively the
//! export names are not legal symbols and the linker refuses them.

use alloc::string::String;

#[allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    dead_code,
    unused_qualifications,
    rust_2018_idioms,
    clippy::all,
    clippy::restriction,
    clippy::pedantic,
    reason = "generated"
)]
mod generated {
    wit_bindgen::generate!({
        path: "../wit",
        world: "core",
        generate_all,
    });

    #[cfg(target_family = "wasm")]
    export!(Component with_types_in self);
    #[cfg(target_family = "wasm")]
    use super::Component;
}

/// What the world exports.
struct Component;

impl generated::exports::sondeo::policy::json::Guest for Component {
    fn call(function: String, input: String) -> Result<String, String> {
        crate::json::call(&function, &input)
    }
}
