//! A counter that threads wait on: spin briefly, then sleep in the kernel.

use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::{Duration, Instant};

/// Rounds of spinning before a sleep: about 10 µs, less than a sleep and a wake-up cost together.
const SPINS: u32 = 256;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub enum Deadline {
    Never,
    At(Instant),
}

impl Deadline {
    /// The meaning of a `timeout` argument of the API: nanoseconds, or `u64::MAX` for no limit.
    pub fn after(timeout: u64) -> Self {
        match timeout {
            u64::MAX => Deadline::Never,
            timeout => Instant::now()
                .checked_add(Duration::from_nanos(timeout))
                .map_or(Deadline::Never, Deadline::At),
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
            // SAFETY: the address is that of a live aligned word; waking reads nothing else.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.value.as_ptr(),
                    libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                    most,
                )
            };
        }
    }

    /// Waits until `done` holds for the value. False: the deadline came first.
    pub fn wait(&self, deadline: Deadline, done: impl Fn(u32) -> bool) -> bool {
        if done(self.get()) {
            return true;
        }
        if matches!(deadline, Deadline::At(at) if at <= Instant::now()) {
            return false;
        }
        for _ in 0..SPINS {
            std::hint::spin_loop();
            if done(self.get()) {
                return true;
            }
        }
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let reached = loop {
            let value = self.get();
            if done(value) {
                break true;
            }
            let mut timeout = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let mut limit = std::ptr::null();
            if let Deadline::At(at) = deadline {
                let Some(left) = at.checked_duration_since(Instant::now()) else { break false };
                timeout.tv_sec = libc::time_t::try_from(left.as_secs()).unwrap_or(libc::time_t::MAX);
                timeout.tv_nsec = left.subsec_nanos().into();
                limit = &raw const timeout;
            }
            // SAFETY: the word and the timeout live across the call. A spurious return is handled by the loop.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.value.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    value,
                    limit,
                )
            };
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
    fn a_deadline_ends_the_wait() {
        let counter = Counter::new(0);
        let start = Instant::now();
        assert!(!counter.wait(Deadline::after(2_000_000), |value| value != 0));
        assert!(start.elapsed() >= Duration::from_millis(2));
        assert!(!counter.wait(Deadline::after(0), |value| value != 0));
        counter.set(1);
        assert!(counter.wait(Deadline::after(0), |value| value != 0));
    }
}
