//! The one engine of the process, and what a component may use.

use std::sync::OnceLock;

use wasmtime::{Config, Engine, ResourceLimiter};

/// Fuel of one call: about one unit an instruction. A step takes some hundred thousand, the worst body that is read (1 MiB
/// of array) some hundred million, a tenth of a second.
pub const FUEL: u64 = 500_000_000;

/// Fuel for `observe`, which alone reads a whole body: one of 1 MiB with very many short keys is walked once for each place
/// that the contract names, and is still readable (D14).
pub(super) const OBSERVE_FUEL: u64 = 8 * FUEL;

/// Memory of one instance, in bytes. A step needs about one MiB; the rest is for the parts of a long log. Address space of
/// this size is reserved for each instance, and only what is used is ever taken.
pub const MEMORY_BYTES_MAX: usize = 64 << 20;

/// Entries of all tables of one instance; the component's own has some hundred.
const TABLE_ELEMENTS_MAX: usize = 100_000;

/// The engine; made once, so that every component shares its compiler and its settings.
///
/// # Errors
/// In words, where this machine can't run one.
pub(super) fn engine() -> Result<&'static Engine, String> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    ENGINE.get_or_init(|| Engine::new(&config()).map_err(|error| format!("{error:#}"))).as_ref().map_err(Clone::clone)
}

/// Deterministic: fuel ends a call, never the clock; floats have one NaN; memory is bounded and stays where it is.
fn config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .consume_fuel(true)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        // The default reserves 4 GiB of address space an instance, which a container's limits may not allow.
        .memory_reservation(MEMORY_BYTES_MAX as u64)
        .memory_reservation_for_growth(0)
        .memory_guard_size(64 << 10)
        .memory_may_move(false);
    config
}

/// What one instance has taken, and whether it wanted more.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Bytes of all its memories.
    pub(super) bytes: usize,
    /// Entries of all its tables.
    elements: usize,
    /// What it was refused, in words.
    pub(super) refused: Option<String>,
}

impl ResourceLimiter for Memory {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let bytes = self.bytes.saturating_sub(current).saturating_add(desired);
        if bytes > MEMORY_BYTES_MAX {
            // An error ends the call; to say no would leave the guest to trap as if it had a fault of another kind.
            let refused = format!("{bytes} bytes of memory, where {MEMORY_BYTES_MAX} are allowed");
            self.refused = Some(refused.clone());
            wasmtime::bail!("{refused}");
        }
        self.bytes = bytes;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let elements = self.elements.saturating_sub(current).saturating_add(desired);
        if elements > TABLE_ELEMENTS_MAX {
            let refused = format!("tables of {elements} entries, where {TABLE_ELEMENTS_MAX} are allowed");
            self.refused = Some(refused.clone());
            wasmtime::bail!("{refused}");
        }
        self.elements = elements;
        Ok(true)
    }
}
