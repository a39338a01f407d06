//! What `engine/src/sync.rs` gives the driver, over `shuttle`'s types: atomics and threads as they are there, and a word that threads
//! sleep on as the kernel has it.

pub use crate::clock::Instant;
pub use shuttle::hint::spin_loop;
pub use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
pub use shuttle::thread;
pub use shuttle::thread_local;

use crate::{clock, once_in};
use shuttle::thread::Thread;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

/// So few that functions of the program would have all of them, if they counted.
pub const MOST_ACTIVE: usize = 2;
/// Each look is a step of the exploration.
pub const SPINS: u32 = 1;

/// Nobody stays awake: that is only a longer spin.
pub struct Vigil;

impl Vigil {
    pub fn begin(_wait_ends: Option<Instant>) -> Option<Self> {
        None
    }

    pub fn goes_on(&mut self, _now: Instant) -> bool {
        false
    }
}

#[must_use]
pub struct Computing;

/// As the driver's: something that ends.
impl Drop for Computing {
    fn drop(&mut self) {}
}

pub fn computing(_threads: usize) -> Computing {
    Computing
}

std::thread_local! {
    /// Who sleeps on the word of an address. All threads of an execution are one thread of the system.
    static SLEEPERS: RefCell<HashMap<usize, Vec<Thread>>> = RefCell::default();
}

/// An execution begins.
pub(crate) fn begin() {
    SLEEPERS.with_borrow_mut(HashMap::clear);
}

/// Its program is over: who sleeps looks at the clock again.
pub(crate) fn end() {
    let sleepers: Vec<Thread> =
        SLEEPERS.with_borrow(|sleepers| sleepers.values().flatten().cloned().collect());
    sleepers.iter().for_each(Thread::unpark);
}

fn key(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word) as usize
}

pub fn sleep_while(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    if let Some(limit) = limit.filter(|_| !clock::stands_still()) {
        // Others go on, or the time is over.
        while word.load(Ordering::SeqCst) == value {
            if once_in(4) {
                return clock::pass(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX >> 1));
            }
            thread::yield_now();
        }
        return;
    }
    // Who wakes stores first and then looks for sleepers, so this thread is found, or sees the value.
    SLEEPERS.with_borrow_mut(|sleepers| sleepers.entry(key(word)).or_default().push(thread::current()));
    if word.load(Ordering::SeqCst) == value {
        thread::park();
    }
    SLEEPERS.with_borrow_mut(|sleepers| {
        let own = thread::current().id();
        sleepers.entry(key(word)).or_default().retain(|sleeper| sleeper.id() != own);
    });
}

pub fn wake_sleepers(word: &AtomicU32, most: i32) {
    let woken: Vec<Thread> = SLEEPERS.with_borrow_mut(|sleepers| {
        let sleepers = sleepers.entry(key(word)).or_default();
        let most = usize::try_from(most).unwrap_or(0).min(sleepers.len());
        sleepers.drain(..most).collect()
    });
    woken.iter().for_each(Thread::unpark);
}

pub fn address(word: &AtomicU64) -> u64 {
    std::ptr::from_ref(word) as u64
}
