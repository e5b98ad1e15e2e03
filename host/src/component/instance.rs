//! Instances: made fresh, used again while all goes well, thrown away on any fault.

use std::sync::{Mutex, PoisonError};

use wasmtime::{Error, Store, Trap, WasmBacktrace};

use super::CallError;
use super::bindings::{Core, CorePre};
use super::engine::{FUEL, Memory};
use super::types::FaultKind;

/// Calls after which an instance is replaced, whatever it looks like.
const CALLS_MAX: u32 = 10_000;
/// Idle instances that are kept: as many as threads call at once.
pub(super) const IDLE_MAX: usize = 64;
/// An instance that grew past this is not kept, so that one large call doesn't hold memory for ever.
const IDLE_BYTES_MAX: usize = 8 << 20;
/// Functions of a backtrace that are named.
const FRAMES_MAX: usize = 6;

/// A component ready to be called, with the instances that wait for the next call.
pub(super) struct Pool {
    pre: CorePre<Memory>,
    idle: Mutex<Vec<Instance>>,
}

struct Instance {
    store: Store<Memory>,
    core: Core,
    calls: u32,
}

impl Pool {
    /// With one instance made, by which every type of the interface has been checked.
    ///
    /// # Errors
    /// Where that fails.
    pub(super) fn new(pre: CorePre<Memory>) -> Result<Pool, CallError> {
        let first = Instance::fresh(&pre)?;
        Ok(Pool { pre, idle: Mutex::new(vec![first]) })
    }

    /// Calls `function` with `fuel` to spend.
    ///
    /// # Errors
    /// What went wrong in a fresh instance. `function` is called twice where a used one failed first; it is pure.
    pub(super) fn call<T>(
        &self,
        fuel: u64,
        function: impl Fn(&Core, &mut Store<Memory>) -> wasmtime::Result<T>,
    ) -> Result<T, CallError> {
        let used = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut instance) = used
            && let Ok(value) = instance.call(fuel, &function)
        {
            self.keep(instance);
            return Ok(value);
        }
        let mut instance = Instance::fresh(&self.pre)?;
        match instance.call(fuel, &function) {
            Ok(value) => {
                self.keep(instance);
                Ok(value)
            }
            Err(error) => Err(faulted(&error, instance.store.data())),
        }
    }

    fn keep(&self, instance: Instance) {
        if instance.calls >= CALLS_MAX || instance.store.data().bytes > IDLE_BYTES_MAX {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(instance);
        }
    }
}

impl Instance {
    fn fresh(pre: &CorePre<Memory>) -> Result<Instance, CallError> {
        let mut store = Store::new(pre.engine(), Memory::default());
        store.limiter(|memory| memory);
        let made = store.set_fuel(FUEL).and_then(|()| pre.instantiate(&mut store));
        match made {
            Ok(core) => Ok(Instance { store, core, calls: 0 }),
            Err(error) => Err(faulted(&error, store.data())),
        }
    }

    fn call<T>(
        &mut self,
        fuel: u64,
        function: impl Fn(&Core, &mut Store<Memory>) -> wasmtime::Result<T>,
    ) -> wasmtime::Result<T> {
        self.calls = self.calls.saturating_add(1);
        self.store.set_fuel(fuel)?;
        function(&self.core, &mut self.store)
    }
}

fn faulted(error: &Error, memory: &Memory) -> CallError {
    let (kind, mut detail) = match (&memory.refused, error.downcast_ref::<Trap>()) {
        (Some(refused), _) => (FaultKind::OutOfMemory, refused.clone()),
        (None, Some(Trap::OutOfFuel)) => (FaultKind::OutOfFuel, "all its fuel is spent".to_owned()),
        (None, Some(trap)) => (FaultKind::Trap, trap.to_string()),
        (None, None) => (FaultKind::Trap, error.root_cause().to_string()),
    };
    // Names of functions are all that is left of a panic: the component has nowhere to write its message to.
    let names: Vec<&str> = error
        .downcast_ref::<WasmBacktrace>()
        .map(|backtrace| backtrace.frames().iter().take(FRAMES_MAX).filter_map(|frame| frame.func_name()).collect())
        .unwrap_or_default();
    if !names.is_empty() {
        detail.push_str(", in ");
        detail.push_str(&names.join(" < "));
    }
    CallError::Faulted { kind, detail }
}
