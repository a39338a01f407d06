//! Forks: what makes a forked child able to use the driver. The one owner of that subject.
//!
//! A child has the memory of its parent and, of its threads, only the one that forked. Whatever the others were in
//! the middle of stays so for ever: a lock that one held is never released, a value that one was making is
//! never finished. Four means keep that from a child, and every lock and every value that is made once is one of
//! the types here (`clippy.toml` refuses the standard library's and `parking_lot`'s in the driver's crates).
//!
//! - *Sections* are short stretches in which shared data changes: a [`Mutex`] or [`RwLock`] is held inside of one, an
//!   [`OnceLock`] makes its value inside of one, and code that is locked by others' means (a lock-free list's memory
//!   reclamation, the log) enters one by itself ([`section`]). `fork` waits for all sections to end and lets none
//!   begin, so a child finds every lock free and all data whole. A section never waits for something that
//!   takes long: not for a compilation, a command, an event or the program.
//! - *Compilations* ([`compilation`]) are what LLVM does, whose own locks are not ours. `fork` waits for those in flight
//!   before it waits for sections, which they use, and lets none begin.
//! - Threads are [started](spawn) in sections, as the C library's own part of that is not whole in between.
//! - *Generations* tell processes apart. Threads of a [`PerProcess`] value are started anew in a child, and a [`Slow`] value
//!   that a thread of the parent was making is made again.
//!
//! Nested sections count once. What a section can reach lives as long as the section: who takes something out of a structure that is read
//! without a lock [retires](retire) it.

mod locks;
mod once;
mod sections;

pub use locks::{Mutex, MutexGuard, ReadGuard, RwLock, WriteGuard};
pub use once::{OnceLock, PerProcess, Slow};
pub use sections::retire;
pub(crate) use sections::{recovery_place, recovery_place_of, this_thread};

use crate::futex::{Counter, Deadline};
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long `fork` waits. A compilation takes a second at most for anything that is accepted; a child of a process
/// whose threads do not come to rest is refused what it cannot have, and its parent is not kept for ever.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks of `fork` at what it waits for.
const LOOK: Duration = Duration::from_micros(20);

/// What `fork` closes.
struct Gate {
    closed: AtomicBool,
    /// Advanced when it is opened.
    opened: Counter,
}

impl Gate {
    const fn new() -> Gate {
        Gate { closed: AtomicBool::new(false), opened: Counter::new(0) }
    }

    #[inline]
    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Until it is open.
    fn wait(&self) {
        let seen = self.opened.get();
        if self.is_closed() {
            self.opened.wait(Deadline::Never, |now| now != seen);
        }
    }

    /// Closes, which `tell` tells everybody, and waits until nobody is inside. False: somebody still is.
    fn close(&self, tell: impl FnOnce(), is_empty: impl Fn() -> bool) -> bool {
        self.closed.store(true, Ordering::SeqCst);
        tell();
        let end = Instant::now() + PATIENCE;
        while !is_empty() {
            if Instant::now() > end {
                return false;
            }
            thread::sleep(LOOK);
        }
        true
    }

    fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
        self.opened.advance();
    }
}

static COMPILATIONS: Gate = Gate::new();
/// Compilations that are going on.
static COMPILING: AtomicU32 = AtomicU32::new(0);
/// Some thread forks.
static FORKING: AtomicBool = AtomicBool::new(false);
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// Whether everything came to rest before the process forks.
static AT_REST: AtomicBool = AtomicBool::new(true);
/// Something had not in a parent of this process.
static RESTLESS: AtomicBool = AtomicBool::new(false);

/// A stretch of a thread in which the process does not fork.
#[must_use]
pub struct Section(PhantomData<*const ()>);

/// Begins a section. It must be short: see the module's text.
#[inline]
pub fn section() -> Section {
    sections::enter();
    Section(PhantomData)
}

impl Drop for Section {
    #[inline]
    fn drop(&mut self) {
        sections::leave();
    }
}

/// A stretch of a thread inside LLVM. It may contain sections, and is not inside of one.
#[must_use]
pub struct Compilation(());

/// Begins a compilation.
pub fn compilation() -> Compilation {
    loop {
        // Both orders are sequentially consistent: either `fork` sees the count, or this thread the closed gate.
        COMPILING.fetch_add(1, Ordering::SeqCst);
        if !COMPILATIONS.is_closed() {
            return Compilation(());
        }
        COMPILING.fetch_sub(1, Ordering::SeqCst);
        COMPILATIONS.wait();
    }
}

impl Drop for Compilation {
    fn drop(&mut self) {
        COMPILING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Starts a thread, in a section. The C library (glibc 2.36) has a new thread use the stack of one that has ended, and frees that one's
/// thread-local storage before it forgets it. A child that is forked in between takes all threads' stacks for ones that
/// have ended: its next thread frees the storage once more.
pub fn spawn<T: Send + 'static>(
    thread: thread::Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let _section = section();
    #[allow(clippy::disallowed_methods, reason = "this is what stands for it")]
    thread.spawn(work)
}

/// How many forks are between the process that first called [`watch`] and this one. A thread that was started in another
/// generation does not exist.
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Whether this process is a child whose parent's compilations or sections did not end before it forked: LLVM's locks may be held
/// by threads that do not exist.
pub fn is_restless() -> bool {
    RESTLESS.load(Ordering::Relaxed)
}

/// Has forks prepared from now on. Whatever begins a use of the driver calls this first.
pub fn watch() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if WATCHED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the handlers are functions of this library, which is never unloaded (and an executable's stay as well).
    if unsafe { libc::pthread_atfork(Some(prepare), Some(in_parent), Some(in_child)) } != 0 {
        tracing::warn!("no memory to watch for forks: children cannot use the driver of their parent");
    }
    // With other threads the kernel takes 10 ms for it, which nobody needs to wait for: sections are right before it, too.
    if is_single_threaded() {
        sections::register();
    } else {
        let thread = thread::Builder::new().name("ze_cpu barriers".into());
        drop(spawn(thread.stack_size(libc::PTHREAD_STACK_MIN), sections::register));
    }
}

/// Whether the process has had one thread only.
fn is_single_threaded() -> bool {
    unsafe extern "C" {
        /// The C library's.
        #[link_name = "__libc_single_threaded"]
        static IS_SINGLE_THREADED: libc::c_char;
    }
    // SAFETY: threads are begun by the C library, which writes it before the first one runs.
    unsafe { (&raw const IS_SINGLE_THREADED).read_volatile() != 0 }
}

extern "C" fn prepare() {
    // One at a time: who comes second stays here until the first has its child.
    while FORKING.swap(true, Ordering::Acquire) {
        thread::sleep(LOOK);
    }
    // A signal handler may fork in the middle of a section. What others do cannot be waited for then: they may wait for
    // this thread. The child's own thread goes on with the section.
    if sections::is_inside() {
        AT_REST.store(COMPILING.load(Ordering::SeqCst) == 0, Ordering::Relaxed);
        return;
    }
    // In this order: compilations have sections.
    let at_rest = COMPILATIONS.close(|| (), || COMPILING.load(Ordering::SeqCst) == 0);
    let at_rest = sections::close() && at_rest;
    AT_REST.store(at_rest, Ordering::Relaxed);
}

extern "C" fn in_parent() {
    sections::open();
    COMPILATIONS.open();
    FORKING.store(false, Ordering::Release);
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    RESTLESS.fetch_or(!AT_REST.load(Ordering::Relaxed), Ordering::Relaxed);
    sections::open_in_child();
    // Nobody compiles in a child but who forks, from a signal handler, in the middle of that.
    COMPILING.store(0, Ordering::SeqCst);
    COMPILATIONS.open();
    FORKING.store(false, Ordering::Release);
}

#[cfg(test)]
mod tests;
