//! Takes threads of the pool off the processor that the launching thread keeps busy.
//!
//! A thread that is woken while no processor is idle is put where it ran last, or where the thread runs that woke it. What keeps
//! processors from being idle may be no work at all: threads of other runtimes spin for what comes next (those of OpenMP for 200 ms, those of
//! oneTBB for as long as they are asked again). A thread of the pool then waits on the launching thread's processor for the end of the
//! launch that it should take part in, and so in each launch that follows: all of them take twice the time on two processors. Nothing is
//! pinned; a thread that did not come is moved once, and stays where it is then.

use std::mem::{size_of, zeroed};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A launch that is longer than this had time to be come to: a wake-up takes 5 to 50 µs.
pub const LATE: Duration = Duration::from_micros(150);
/// Time between two moves. Where threads are late because there is too much work for all, moving them does not help.
const PAUSE: Duration = Duration::from_millis(2);

/// The threads of a pool.
pub struct Placement {
    threads: Box<[AtomicI32]>,
    since: Instant,
    /// Microseconds from `since` to the next move.
    next: AtomicU64,
}

impl Placement {
    pub fn new(threads: usize) -> Placement {
        let threads = (0..threads).map(|_| AtomicI32::new(0)).collect();
        Placement { threads, since: Instant::now(), next: AtomicU64::new(0) }
    }

    /// The calling thread is the pool's with this number.
    pub fn begin(&self, at: usize) {
        // SAFETY: has no preconditions.
        let id = unsafe { libc::gettid() };
        if let Some(thread) = self.threads.get(at) {
            thread.store(id, Ordering::Relaxed);
        }
    }

    /// Moves a thread that may be waiting for the calling thread's processor to another one of those that it may run on.
    pub fn move_away(&self, at: usize) {
        let id = self.threads.get(at).map_or(0, |thread| thread.load(Ordering::Relaxed));
        let now = self.since.elapsed();
        let next = self.next.load(Ordering::Relaxed);
        if id == 0 || now.as_micros() < next.into() {
            return;
        }
        let then = u64::try_from((now + PAUSE).as_micros()).unwrap_or(u64::MAX);
        if self.next.compare_exchange(next, then, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            move_off(id);
        }
    }
}

/// Where there is nowhere else, or the system refuses, the thread stays where it is.
fn move_off(thread: libc::pid_t) {
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: sets of processors are plain bits, of the size that is given, and a thread that has ended is no error but a result.
    unsafe {
        let mut allowed: libc::cpu_set_t = zeroed();
        let Ok(here) = usize::try_from(libc::sched_getcpu()) else { return };
        if libc::sched_getaffinity(thread, size, &mut allowed) != 0 || here >= 8 * size {
            return;
        }
        let mut others = allowed;
        libc::CPU_CLR(here, &mut others);
        if libc::CPU_COUNT(&others) == 0 || libc::CPU_COUNT(&others) == libc::CPU_COUNT(&allowed) {
            return;
        }
        if libc::sched_setaffinity(thread, size, &others) == 0 {
            libc::sched_setaffinity(thread, size, &allowed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    fn allowed(thread: libc::pid_t) -> i32 {
        // SAFETY: as above.
        unsafe {
            let mut set: libc::cpu_set_t = zeroed();
            assert_eq!(libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &mut set), 0);
            libc::CPU_COUNT(&set)
        }
    }

    #[test]
    fn a_thread_that_is_moved_may_run_wherever_it_could() {
        let (placement, done) = (Arc::new(Placement::new(2)), Arc::new(AtomicBool::new(false)));
        let thread = {
            let (placement, done) = (Arc::clone(&placement), Arc::clone(&done));
            std::thread::spawn(move || {
                placement.begin(1);
                while !done.load(Ordering::Relaxed) {
                    std::thread::yield_now();
                }
            })
        };
        while placement.threads[1].load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let id = placement.threads[1].load(Ordering::Relaxed);
        let before = allowed(id);
        // One that never began, one that is no thread of the pool, and one that can be moved, only once in a while.
        [0, 7, 1, 1].into_iter().for_each(|at| placement.move_away(at));
        assert!(placement.next.load(Ordering::Relaxed) > 0);
        assert_eq!(allowed(id), before);
        done.store(true, Ordering::Relaxed);
        thread.join().expect("the thread ends");
        // It is none any more.
        move_off(id);
    }
}
