//! Time as the host sees it: one trait, the system's clock, and one that tests move by hand.
//!
//! An instant is a number of milliseconds since 1970-01-01T00:00:00Z. What a store's clock says, and so what a decision
//! is judged by, is the store's affair; this is where an embedded store takes it from.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

/// A future that ends when an instant has come.
pub type Sleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// The longest stretch slept without looking at the wall clock again (D43).
pub const MAX_SLEEP: Duration = Duration::from_secs(30);

/// Where the host takes the time from.
pub trait Clock: Send + Sync {
    /// Milliseconds since the epoch; never less than what this clock said before (D43).
    fn now_ms(&self) -> u64;

    /// Time since some fixed instant, which no change of the wall clock touches: for measuring what has passed within one
    /// process.
    fn monotonic(&self) -> Duration;

    /// Ends once `now_ms()` has reached `at_ms`, at once if it already has. Dropping it stops the wait.
    fn sleep_until(&self, at_ms: u64) -> Sleep<'_>;
}

/// The operating system's clock, kept from running backwards within this process (D43).
#[derive(Debug)]
pub struct SystemClock {
    began: Instant,
    last: Mutex<Reading>,
}

/// The time since the epoch that the clock last stood at, and the monotonic instant at which it did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    time: Duration,
    at: Instant,
}

impl Reading {
    /// A process that starts reads the wall clock.
    pub(crate) const fn new(wall: Duration, at: Instant) -> Self {
        Self { time: wall, at }
    }

    /// The later of the wall clock and the last time plus the monotonic time since (D43).
    ///
    /// The reading is renewed only where the wall clock is ahead, so that rounding never adds up.
    pub(crate) fn tick(&mut self, wall: Duration, at: Instant) -> Duration {
        let run = self.time.saturating_add(at.saturating_duration_since(self.at));
        if wall > run {
            *self = Self { time: wall, at };
            return wall;
        }
        run
    }
}

impl SystemClock {
    /// A clock that starts at what the wall clock says now.
    pub fn new() -> Self {
        let began = Instant::now();
        Self { began, last: Mutex::new(Reading::new(wall(), began)) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        // A reading is a plain value: a thread that panicked while holding it left nothing half done.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // Both are read under the lock, so that callers see them in one order.
        millis(last.tick(wall(), Instant::now()))
    }

    fn monotonic(&self) -> Duration {
        self.began.elapsed()
    }

    fn sleep_until(&self, at_ms: u64) -> Sleep<'_> {
        Box::pin(async move {
            while let Some(chunk) = next_sleep(self.now_ms(), at_ms) {
                tokio::time::sleep(chunk).await;
            }
        })
    }
}

/// What the wall clock says; a clock set before the epoch counts as the epoch.
fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How long to sleep before looking again, `None` once `at_ms` has come. Never above [`MAX_SLEEP`]: monotonic time stands
/// still while a machine is suspended, and a longer sleep would run on by as much (D43).
fn next_sleep(now_ms: u64, at_ms: u64) -> Option<Duration> {
    match at_ms.saturating_sub(now_ms) {
        0 => None,
        left => Some(Duration::from_millis(left).min(MAX_SLEEP)),
    }
}

/// A clock that stands still until it is moved: for tests and simulation.
#[derive(Debug)]
pub struct ManualClock {
    now: watch::Sender<u64>,
}

impl ManualClock {
    /// A clock that stands at `now_ms`.
    pub fn new(now_ms: u64) -> Self {
        Self { now: watch::Sender::new(now_ms) }
    }

    /// Moves the clock on and wakes the sleepers whose instant has come.
    pub fn advance(&self, by: Duration) {
        self.now.send_modify(|now| *now = now.saturating_add(millis(by)));
    }

    /// Sets the clock to `at_ms`; an earlier instant than the present leaves it where it is (D43).
    pub fn set(&self, at_ms: u64) {
        self.now.send_modify(|now| *now = at_ms.max(*now));
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        *self.now.borrow()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.now_ms())
    }

    fn sleep_until(&self, at_ms: u64) -> Sleep<'_> {
        let mut now = self.now.subscribe();
        Box::pin(async move {
            // The sender is borrowed for as long as this future lives, so the channel can't close under it.
            let _open = now.wait_for(|now| *now >= at_ms).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn d43_time_follows_a_wall_clock_that_is_ahead() {
        let at = Instant::now();
        let mut last = Reading { time: 100 * SECOND, at };
        assert_eq!(last.tick(105 * SECOND, at + SECOND), 105 * SECOND);
        assert_eq!(last.tick(106 * SECOND, at + 2 * SECOND), 106 * SECOND);
    }

    #[test]
    fn d43_time_runs_on_when_the_wall_clock_is_set_back() {
        let at = Instant::now();
        let mut last = Reading { time: 100 * SECOND, at };
        assert_eq!(last.tick(10 * SECOND, at + SECOND), 101 * SECOND);
        assert_eq!(last.tick(11 * SECOND, at + 2 * SECOND), 102 * SECOND);
        // A frozen wall clock, and sub-millisecond steps that must not be rounded away one by one.
        let mut time = Duration::ZERO;
        for step in 1..=1000 {
            time = last.tick(11 * SECOND, at + 2 * SECOND + step * Duration::from_micros(500));
        }
        assert_eq!(time, 102 * SECOND + Duration::from_millis(500));
    }

    #[test]
    fn d43_an_earlier_monotonic_instant_is_no_step_back() {
        let at = Instant::now() + SECOND;
        let mut last = Reading { time: 100 * SECOND, at };
        assert_eq!(last.tick(Duration::ZERO, at - SECOND), 100 * SECOND);
    }

    #[test]
    fn d43_no_sleep_is_longer_than_thirty_seconds() {
        assert_eq!(next_sleep(0, u64::MAX), Some(MAX_SLEEP));
        assert_eq!(next_sleep(1000, 31_000), Some(MAX_SLEEP));
        assert_eq!(next_sleep(1000, 30_999), Some(Duration::from_millis(29_999)));
        assert_eq!(next_sleep(1000, 1000), None);
        assert_eq!(next_sleep(1000, 0), None);
    }

    #[test]
    fn system_clock_agrees_with_the_wall_clock() {
        let clock = SystemClock::default();
        let before = millis(wall());
        let now = clock.now_ms();
        assert!(now >= before && now <= before + 5_000, "{now} vs {before}");
        assert!(clock.now_ms() >= now);
    }

    #[tokio::test]
    async fn system_clock_never_wakes_early() {
        let clock = SystemClock::new();
        let at = clock.now_ms() + 20;
        clock.sleep_until(at).await;
        assert!(clock.now_ms() >= at);
        clock.sleep_until(at).await;
    }

    #[tokio::test]
    async fn manual_clock_wakes_a_sleeper_when_its_instant_has_come() {
        let clock = std::sync::Arc::new(ManualClock::new(1_000));
        let sleeper = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep_until(1_500).await }
        });
        clock.advance(Duration::from_millis(499));
        tokio::task::yield_now().await;
        assert!(!sleeper.is_finished());
        clock.advance(Duration::from_millis(1));
        sleeper.await.unwrap();
        clock.sleep_until(1_500).await;
        clock.set(1_200);
        assert_eq!(clock.now_ms(), 1_500);
        clock.set(2_000);
        assert_eq!(clock.now_ms(), 2_000);
    }

    #[test]
    fn the_trait_is_object_safe() {
        let clocks: [Box<dyn Clock>; 2] = [Box::new(SystemClock::new()), Box::new(ManualClock::new(7))];
        assert_eq!(clocks[1].now_ms(), 7);
    }
}
