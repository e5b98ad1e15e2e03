//! What the behaviour tests share: a provider outside of this code, the real program, and a folder for both.
//!
//! Nothing here waits for a fixed time: it waits for what is to happen, and fails with what did happen after [`PATIENCE`].
#![allow(dead_code, reason = "each test program uses its own part")]

mod program;
mod provider;
mod setup;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[allow(unused_imports, reason = "each test program uses its own part")]
pub(crate) use program::{Done, Program};
pub(crate) use provider::Provider;
pub(crate) use setup::Setup;

/// How long anything may take before a test says what it was waiting for. A loaded machine needs seconds to start a program.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until `found` has something.
pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited {} s for {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs `act` on each item, a few at a time, since most of them only wait. What each came to, in order.
pub(crate) fn at_once<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const WORKERS: usize = 6;
    let next = AtomicUsize::new(0);
    let made: Mutex<Vec<(usize, R)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..WORKERS.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = act(item);
                    made.lock().unwrap().push((index, result));
                }
            });
        }
    });
    let mut made = made.into_inner().unwrap();
    made.sort_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, result)| result).collect()
}
