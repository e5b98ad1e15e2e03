//! The JSON twin of the whole interface: one function, text in, text out.

use alloc::borrow::ToOwned;
use alloc::string::String;

/// Calls `function` with `input` (JSON text) and gives its result as JSON text.
///
/// # Errors
/// A sentence for people when the function is unknown.
pub fn call(_function: &str, _input: &str) -> Result<String, String> {
    Err("unknown function".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_function_is_an_error() {
        assert_eq!(call("nothing", "{}"), Err("unknown function".to_owned()));
    }
}
