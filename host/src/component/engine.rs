//! The one engine of the process, and what a component may use.

use std::sync::OnceLock;

use wasmtime::{Config, Engine, Memory as LinearMemory, MemoryType, OptLevel, ResourceLimiter, Store};

use super::instance::IDLE_MAX;

/// Fuel of one call: about one unit an instruction. A step takes some hundred thousand, the worst body that is read (1 MiB
/// of array) some hundred million, a tenth of a second.
pub const FUEL: u64 = 500_000_000;

/// Fuel for `observe`, which alone reads a whole body: one of 1 MiB with very many short keys is walked once for each place
/// that the contract names, and is still readable (D14).
pub(super) const OBSERVE_FUEL: u64 = 8 * FUEL;

/// Memory of one instance, in bytes. A step needs about one MiB; the rest is for the parts of a long log. Only what is used
/// is ever taken.
pub const MEMORY_BYTES_MAX: usize = 64 << 20;

/// Entries of all tables of one instance; the component's own has some hundred.
const TABLE_ELEMENTS_MAX: usize = 100_000;

/// The engine; made once, so that every component shares its compiler and its settings.
///
/// # Errors
/// In words, where this machine can't run one.
pub(super) fn engine() -> Result<&'static Engine, String> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    ENGINE.get_or_init(|| roomiest().map_err(|error| format!("{error:#}"))).as_ref().map_err(Clone::clone)
}

/// The engine that reserves the whole address space of a 32-bit memory for each instance, where the machine lets it: then
/// no access needs a check, which is a quarter less to compile and a tenth less to run. Else (`ulimit -v`, 32 bits) one that
/// reserves what an instance may use, and checks. Both decide alike and spend the same fuel.
fn roomiest() -> wasmtime::Result<Engine> {
    let roomy = Engine::new(&config())?;
    if cfg!(target_pointer_width = "64") && has_room(&roomy) {
        return Ok(roomy);
    }
    let mut checked = config();
    checked.memory_reservation(MEMORY_BYTES_MAX as u64).memory_guard_size(64 << 10);
    Engine::new(&checked)
}

/// Whether as many instances as are ever kept find their address space. None of it is touched.
fn has_room(engine: &Engine) -> bool {
    let mut store = Store::new(engine, ());
    (0..IDLE_MAX).all(|_| LinearMemory::new(&mut store, MemoryType::new(0, None)).is_ok())
}

/// Deterministic: fuel ends a call, never the clock; floats have one NaN; memory is bounded and stays where it is.
fn config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .consume_fuel(true)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        // The component was optimised when it was built: to do it again takes a fifth longer to compile and makes no step
        // faster that could be measured. (Single-pass register allocation would halve the compilation and double the steps.)
        .cranelift_opt_level(OptLevel::None)
        .memory_reservation_for_growth(0)
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
