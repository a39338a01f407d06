//! Forks: what makes a forked child able to use the driver. The one owner of that subject.
//!
//! A child has the memory of its parent and, of its threads, only the one that forked. Whatever the others were in
//! the middle of stays so for ever: a lock that one held is never released, a value that one was making is
//! never finished. Three means keep that from a child, and every lock and every value that is made once is one of
//! the types here (`clippy.toml` refuses the standard library's and `parking_lot`'s in the driver's crates).
//!
//! - *Sections* are short stretches in which shared data changes: a [`Mutex`] or [`RwLock`] is held inside of one, an
//!   [`OnceLock`] makes its value inside of one, and code that is locked by others' means (a lock-free list's memory
//!   reclamation, the log) enters one by itself ([`section`]). `fork` waits for all sections to end and lets none
//!   begin, so a child finds every lock free and all data whole. A section never waits for something that
//!   takes long: not for a compilation, a command, an event or the program.
//! - *Compilations* ([`compilation`]) are what LLVM does, whose own locks are not ours. `fork` waits for those in flight
//!   before it waits for sections, which they use, and lets none begin.
//! - *Generations* tell processes apart. Threads of a [`PerProcess`] value are started anew in a child, and a [`Slow`] value
//!   that a thread of the parent was making is made again.
//!
//! Sections count in several places, so that threads do not share a cache line, and nested ones count once.

mod locks;
mod once;

pub use locks::{Mutex, MutexGuard, ReadGuard, RwLock, WriteGuard};
pub use once::{OnceLock, PerProcess, Slow};

use crate::futex::{Counter, Deadline};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Places where sections count.
const STRIPES: usize = 32;
/// How long `fork` waits. A compilation takes a second at most for anything that is accepted; a child of a process
/// whose threads do not come to rest is refused what it cannot have, and its parent is not kept for ever.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks of `fork` at what it waits for.
const LOOK: Duration = Duration::from_micros(20);

#[repr(align(128))]
struct Stripe(AtomicU32);

/// What `fork` closes.
struct Gate {
    closed: AtomicBool,
    /// Advanced when it is opened.
    opened: Counter,
    inside: [Stripe; STRIPES],
}

impl Gate {
    const fn new() -> Gate {
        let inside = [const { Stripe(AtomicU32::new(0)) }; STRIPES];
        Gate { closed: AtomicBool::new(false), opened: Counter::new(0), inside }
    }

    #[inline]
    fn enter(&self, stripe: usize) {
        // Both orders are sequentially consistent: either `fork` sees the count, or this thread the closed gate.
        self.inside[stripe].0.fetch_add(1, Ordering::SeqCst);
        if self.closed.load(Ordering::SeqCst) {
            self.enter_later(stripe);
        }
    }

    #[cold]
    fn enter_later(&self, stripe: usize) {
        while self.closed.load(Ordering::SeqCst) {
            self.leave(stripe);
            let seen = self.opened.get();
            if self.closed.load(Ordering::SeqCst) {
                self.opened.wait(Deadline::Never, |now| now != seen);
            }
            self.inside[stripe].0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[inline]
    fn leave(&self, stripe: usize) {
        self.inside[stripe].0.fetch_sub(1, Ordering::SeqCst);
    }

    fn inside(&self) -> u32 {
        self.inside.iter().map(|stripe| stripe.0.load(Ordering::SeqCst)).sum()
    }

    /// Closes, and waits until nobody is inside. False: somebody still is.
    fn close(&self) -> bool {
        self.closed.store(true, Ordering::SeqCst);
        let end = Instant::now() + PATIENCE;
        while self.inside() != 0 {
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
        self.opened.advance();
    }

    /// In a child: nobody is inside, but for the calling thread where it says so.
    fn open_in_child(&self, own: Option<usize>) {
        for (at, stripe) in self.inside.iter().enumerate() {
            stripe.0.store(u32::from(own == Some(at)), Ordering::SeqCst);
        }
        self.open();
    }
}

static SECTIONS: Gate = Gate::new();
static COMPILATIONS: Gate = Gate::new();
/// Some thread forks.
static FORKING: AtomicBool = AtomicBool::new(false);
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// Whether everything came to rest before the process forks.
static AT_REST: AtomicBool = AtomicBool::new(true);
/// Something had not in a parent of this process.
static RESTLESS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Sections of this thread that are open.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Where this thread's sections count; none yet.
    static STRIPE: Cell<usize> = const { Cell::new(STRIPES) };
}

#[inline]
fn stripe() -> usize {
    let stripe = STRIPE.get();
    if stripe < STRIPES { stripe } else { choose_stripe() }
}

#[cold]
fn choose_stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let stripe = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
    STRIPE.set(stripe);
    stripe
}

#[inline]
fn enter_section() {
    let depth = DEPTH.get();
    if depth == 0 {
        SECTIONS.enter(stripe());
    }
    DEPTH.set(depth + 1);
}

#[inline]
fn leave_section() {
    let depth = DEPTH.get() - 1;
    DEPTH.set(depth);
    if depth == 0 {
        SECTIONS.leave(stripe());
    }
}

/// A stretch of a thread in which the process does not fork.
#[must_use]
pub struct Section(PhantomData<*const ()>);

/// Begins a section. It must be short: see the module's text.
#[inline]
pub fn section() -> Section {
    enter_section();
    Section(PhantomData)
}

impl Drop for Section {
    #[inline]
    fn drop(&mut self) {
        leave_section();
    }
}

/// A stretch of a thread inside LLVM. It may contain sections, and is not inside of one.
#[must_use]
pub struct Compilation(usize);

/// Begins a compilation.
pub fn compilation() -> Compilation {
    let stripe = stripe();
    COMPILATIONS.enter(stripe);
    Compilation(stripe)
}

impl Drop for Compilation {
    fn drop(&mut self) {
        COMPILATIONS.leave(self.0);
    }
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
}

extern "C" fn prepare() {
    // One at a time: who comes second stays here until the first has its child.
    while FORKING.swap(true, Ordering::Acquire) {
        std::thread::sleep(LOOK);
    }
    // A signal handler may fork in the middle of a section. What others do cannot be waited for then: they may wait for
    // this thread. The child's own thread goes on with the section.
    if DEPTH.get() != 0 {
        AT_REST.store(COMPILATIONS.inside() == 0, Ordering::Relaxed);
        return;
    }
    // In this order: compilations have sections.
    let at_rest = COMPILATIONS.close();
    let at_rest = SECTIONS.close() && at_rest;
    AT_REST.store(at_rest, Ordering::Relaxed);
}

extern "C" fn in_parent() {
    SECTIONS.open();
    COMPILATIONS.open();
    FORKING.store(false, Ordering::Release);
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    RESTLESS.fetch_or(!AT_REST.load(Ordering::Relaxed), Ordering::Relaxed);
    let own = (DEPTH.get() != 0).then(stripe);
    SECTIONS.open_in_child(own);
    COMPILATIONS.open_in_child(None);
    FORKING.store(false, Ordering::Release);
}

#[cfg(test)]
mod tests;
