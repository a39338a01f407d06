//! A counter that threads wait on: they spin briefly, host threads [stay awake](crate::sync::Vigil) for a while, then they sleep in the kernel.

use crate::sync::{AtomicU32, Instant, Ordering, SPINS, Vigil, fence, sleep_while, spin_loop, wake_sleepers};
use std::time::Duration;

/// A sleep for a [`Deadline::At`] ends this much before it, for the kernel's timer slack and the wake-up together take
/// up to about as long on a virtual machine; the rest is spun.
const EARLY: Duration = Duration::from_micros(300);
/// Of the time that is waited, at most this part is spun.
const SPUN_PART: u32 = 16;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub enum Deadline {
    Never,
    /// Not a moment longer than needs be: the end of the wait is spun.
    At(Instant),
    /// A little longer does not matter.
    About(Instant),
}

impl Deadline {
    /// The meaning of a `timeout` argument of the API: nanoseconds, or `u64::MAX` for no limit.
    pub fn after(timeout: u64) -> Self {
        match timeout {
            u64::MAX => Deadline::Never,
            timeout => Self::in_nanoseconds(timeout).map_or(Deadline::Never, Deadline::At),
        }
    }

    /// As [`after`](Self::after), where a little longer does not matter.
    pub fn about(timeout: u64) -> Self {
        Self::in_nanoseconds(timeout).map_or(Deadline::Never, Deadline::About)
    }

    fn in_nanoseconds(time: u64) -> Option<Instant> {
        Instant::now().checked_add(Duration::from_nanos(time))
    }

    /// The time at which the wait ends, if it shall not last a moment longer.
    fn exact_end(self) -> Option<Instant> {
        match self {
            Deadline::At(end) => Some(end),
            Deadline::Never | Deadline::About(_) => None,
        }
    }

    /// The time at which the wait ends, and that up to which a thread may sleep.
    fn end_and_sleep(self) -> Option<(Instant, Instant)> {
        match self {
            Deadline::Never => None,
            Deadline::About(end) => Some((end, end)),
            Deadline::At(end) => {
                let left = end.saturating_duration_since(Instant::now());
                let sleep = end.checked_sub(EARLY.min(left / SPUN_PART));
                Some((end, sleep.unwrap_or(end)))
            }
        }
    }
}

/// A word that only its owner advances and any thread waits on.
#[derive(Debug, Default)]
pub struct Counter {
    value: AtomicU32,
    sleepers: AtomicU32,
}

impl Counter {
    pub const fn new(value: u32) -> Self {
        Self { value: AtomicU32::new(value), sleepers: AtomicU32::new(0) }
    }

    pub fn get(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }

    /// Stores a value and wakes who waits.
    pub fn set(&self, value: u32) {
        self.value.store(value, Ordering::Release);
        self.wake(i32::MAX);
    }

    /// Adds one and wakes who waits.
    pub fn advance(&self) {
        self.value.fetch_add(1, Ordering::Release);
        self.wake(i32::MAX);
    }

    /// Adds one and wakes one of those that wait.
    pub fn advance_one(&self) {
        self.value.fetch_add(1, Ordering::Release);
        self.wake(1);
    }

    fn wake(&self, most: i32) {
        // Orders the store before the load: a sleeper is either seen here or sees the new value.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            wake_sleepers(&self.value, most);
        }
    }

    /// Waits until `done` holds for the value. False: the deadline came first.
    pub fn wait(&self, deadline: Deadline, done: impl Fn(u32) -> bool) -> bool {
        self.wait_with(deadline, done, |_| None)
    }

    /// As [`wait`](Self::wait), for a thread of the program, which wants to know at once and has nothing else to do.
    pub fn wait_awake(&self, deadline: Deadline, done: impl Fn(u32) -> bool) -> bool {
        self.wait_with(deadline, done, Vigil::begin)
    }

    fn wait_with(
        &self,
        deadline: Deadline,
        done: impl Fn(u32) -> bool,
        vigil: impl FnOnce(Option<Instant>) -> Option<Vigil>,
    ) -> bool {
        if done(self.get()) {
            return true;
        }
        let limits = deadline.end_and_sleep();
        if limits.is_some_and(|(end, _)| end <= Instant::now()) {
            return false;
        }
        let seen = |spins: u32| {
            (0..spins).any(|_| {
                spin_loop();
                done(self.get())
            })
        };
        if seen(SPINS) {
            return true;
        }
        if let Some(mut vigil) = vigil(deadline.exact_end()) {
            let mut now = Instant::now();
            while vigil.goes_on(now) {
                if seen(SPINS / 8) {
                    return true;
                }
                now = Instant::now();
                if limits.is_some_and(|(end, _)| end <= now) {
                    return false;
                }
            }
        }
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let reached = loop {
            let value = self.get();
            if done(value) {
                break true;
            }
            let mut limit = None;
            if let Some((end, sleep)) = limits {
                let now = Instant::now();
                if now >= end {
                    break false;
                }
                limit = sleep.checked_duration_since(now).filter(|left| !left.is_zero());
                if limit.is_none() {
                    spin_loop();
                    continue;
                }
            }
            sleep_while(&self.value, value, limit);
        };
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn waiters_are_woken() {
        let counter = Arc::new(Counter::new(0));
        let waiters: Vec<_> = (1..=4)
            .map(|target| {
                let counter = Arc::clone(&counter);
                thread::spawn(move || counter.wait(Deadline::Never, |value| value >= target))
            })
            .collect();
        for _ in 0..4 {
            thread::sleep(Duration::from_millis(1));
            counter.advance();
        }
        assert!(waiters.into_iter().all(|waiter| waiter.join().is_ok_and(|reached| reached)));
    }

    #[test]
    fn the_end_of_an_exact_wait_is_spun() {
        let slept_until = |deadline: Deadline| {
            let (end, sleep) = deadline.end_and_sleep().expect("it has an end");
            end - sleep
        };
        let exact = slept_until(Deadline::after(1_000_000_000));
        assert_eq!(exact, EARLY);
        let short = slept_until(Deadline::after(1_000_000));
        assert!(short <= Duration::from_micros(1000) / SPUN_PART, "{short:?}");
        assert!(slept_until(Deadline::about(1_000_000_000)).is_zero());
        assert!(Deadline::after(u64::MAX).end_and_sleep().is_none());
    }

    #[test]
    fn a_deadline_ends_the_wait() {
        let counter = Counter::new(0);
        let start = Instant::now();
        assert!(!counter.wait(Deadline::after(2_000_000), |value| value != 0));
        assert!(start.elapsed() >= Duration::from_millis(2));
        assert!(!counter.wait(Deadline::after(0), |value| value != 0));
        let start = Instant::now();
        assert!(!counter.wait(Deadline::about(2_000_000), |value| value != 0));
        assert!(start.elapsed() >= Duration::from_millis(2));
        counter.set(1);
        assert!(counter.wait(Deadline::after(0), |value| value != 0));
    }
}
