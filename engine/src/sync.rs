//! What threads share and wait with: atomics, clocks, threads, and sleeping in the kernel until a word changes.
//!
//! The code behind signals, streams and events takes these from here and from [`fork`](crate::fork), so that the model
//! (`model/`) can run that code on threads whose interleaving it decides.

pub use crate::vigil::{Vigil, computing};
pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub use std::thread;
pub use std::thread_local;
pub use std::time::Instant;

use std::time::Duration;

/// Threads that execute streams at the same time. A kernel uses all of the CPU's threads by itself; these are for streams whose
/// commands wait for each other by way of memory.
pub const MOST_ACTIVE: usize = 16;
/// Rounds of spinning before a sleep: about 10 µs, less than a sleep and a wake-up cost together.
pub const SPINS: u32 = 256;

/// Sleeps until somebody [wakes](wake_sleepers) those of the word, `limit` is over, or for no reason at all; not if the word
/// has another value.
pub fn sleep_while(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    let timeout = limit.map(|limit| libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the timeout live across the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, timeout) };
}

/// Wakes at most so many of those that sleep.
pub fn wake_sleepers(word: &AtomicU32, most: i32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the address is that of a live aligned word; waking reads nothing else.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, most) };
}

/// Where programs find a word.
pub fn address(word: &AtomicU64) -> u64 {
    word.as_ptr() as u64
}
