//! Sections, which cost a thread two stores, and memory that is given back when no section can read it any more.
//!
//! A section is begun for every lock, so it counts in a place that belongs to its thread and orders nothing: whoever has to know of
//! all sections (a fork, and who gives memory back) has the kernel put a barrier into every thread of the process that
//! runs (`membarrier`; Desnoyers, McKenney et al., *User-level implementations of read-copy update*, 2012). Where the kernel
//! has none for us, threads put their own.
//!
//! The word of a place is the epoch in which its section began. What is [retired](retire) in an epoch may be in use in sections of
//! that epoch and of earlier ones, and in none that begins in a later one.

use super::{Gate, Mutex};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, compiler_fence, fence};

/// Places that are made together: 64 KiB, of which what no thread has touched takes no memory.
const PLACES: usize = 512;
/// So much garbage is gathered before anybody looks which of it can be given back.
const GATHERED: usize = 64;

/// Where the sections of one thread count. Two cache lines: processors fetch them in pairs.
#[repr(align(128))]
struct Place {
    /// The epoch in which the thread's outermost section began; 0 outside of sections.
    inside: AtomicU64,
    is_taken: AtomicBool,
    /// What the C library calls the thread.
    thread: AtomicUsize,
    /// Where the thread goes on after a fault (`exec/fault.rs`); null where that ends the process.
    recovery: AtomicPtr<c_void>,
}

impl Place {
    const fn new() -> Self {
        Self {
            inside: AtomicU64::new(0),
            is_taken: AtomicBool::new(false),
            thread: AtomicUsize::new(0),
            recovery: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

struct Places {
    places: [Place; PLACES],
    /// More of them, which are never given back.
    next: AtomicPtr<Places>,
}

impl Places {
    const fn new() -> Self {
        Self { places: [const { Place::new() }; PLACES], next: AtomicPtr::new(ptr::null_mut()) }
    }

    /// All there are.
    fn all() -> impl Iterator<Item = &'static Places> {
        // SAFETY: null, or made by `take` and never given back.
        std::iter::successors(Some(&FIRST), |those| unsafe { those.next.load(Ordering::Acquire).as_ref() })
    }
}

static FIRST: Places = Places::new();
static GATE: Gate = Gate::new();
static EPOCH: AtomicU64 = AtomicU64::new(1);
/// Whether the kernel puts the barriers for us.
static IS_ASYMMETRIC: AtomicBool = AtomicBool::new(false);

/// A thread's own.
struct Own {
    /// Sections of this thread that are open.
    depth: Cell<u32>,
    place: Cell<Option<&'static Place>>,
    /// Whether the place stays the thread's between its sections.
    keeps: Cell<bool>,
}

impl Own {
    #[cold]
    fn take_place(&self) -> &'static Place {
        // A thread that is about to end has nothing more to give the place back with: it has one for each section then.
        self.keeps.set(LEASE.try_with(|_| ()).is_ok());
        let place = take();
        self.place.set(Some(place));
        place
    }

    #[cold]
    fn give_place_back(&self) {
        self.keeps.set(false);
        if let Some(place) = self.place.take() {
            place.recovery.store(ptr::null_mut(), Ordering::Relaxed);
            place.is_taken.store(false, Ordering::Release);
        }
    }
}

thread_local! {
    static OWN: Own =
        const { Own { depth: Cell::new(0), place: Cell::new(None), keeps: Cell::new(false) } };
    /// Gives the place back when the thread ends.
    static LEASE: Lease = const { Lease };
}

struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        OWN.with(Own::give_place_back);
    }
}

fn all_places() -> impl Iterator<Item = &'static Place> {
    Places::all().flat_map(|those| &those.places)
}

/// A place for the calling thread.
#[cold]
fn take() -> &'static Place {
    loop {
        let mut last = &FIRST;
        for places in Places::all() {
            let is_free = |place: &&Place| {
                !place.is_taken.load(Ordering::Relaxed) && !place.is_taken.swap(true, Ordering::Acquire)
            };
            if let Some(place) = places.places.iter().find(is_free) {
                place.thread.store(this_thread(), Ordering::Relaxed);
                return place;
            }
            last = places;
        }
        // SAFETY: the layout is not empty, and zero bytes are free places without a next.
        let more = unsafe { std::alloc::alloc_zeroed(std::alloc::Layout::new::<Places>()) }.cast::<Places>();
        let null = ptr::null_mut();
        if more.is_null() {
            // No memory: until another thread ends, or some memory is free.
            std::thread::yield_now();
        } else if last.next.compare_exchange(null, more, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: allocated above with this layout, and nobody has seen it.
            unsafe { std::alloc::dealloc(more.cast(), std::alloc::Layout::new::<Places>()) };
        }
    }
}

/// Orders this thread's stores before it against its loads behind it, for whoever calls [`barrier_everywhere`].
#[inline]
fn barrier_here() {
    if IS_ASYMMETRIC.load(Ordering::Relaxed) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// Every other thread of the process passes a barrier before this returns, or puts its own in [`barrier_here`].
fn barrier_everywhere() {
    fence(Ordering::SeqCst);
    // Where it fails, nobody has relied on it: before the registration, or in a kernel that has no such call.
    membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: reads and writes no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Has the kernel put barriers into this process's threads, if it does that. It takes 10 ms where the process has more than
/// one thread.
pub(super) fn register() {
    let registered = membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    IS_ASYMMETRIC.store(registered, Ordering::SeqCst);
}

impl Place {
    #[inline]
    fn enter(&self) {
        self.inside.store(EPOCH.load(Ordering::Acquire), Ordering::Relaxed);
        // Either who closes the gate sees the place, or this thread the closed gate; and what is read inside is not older than
        // the place's word.
        barrier_here();
        if GATE.is_closed() {
            self.enter_later();
        }
    }

    #[cold]
    fn enter_later(&self) {
        while GATE.is_closed() {
            self.leave();
            GATE.wait();
            self.inside.store(EPOCH.load(Ordering::Acquire), Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    }

    #[inline]
    fn leave(&self) {
        self.inside.store(0, Ordering::Release);
    }
}

/// The depth is not 0 from before the place counts until it no longer does: a signal handler that forks in between finds it so.
#[inline]
pub(super) fn enter() {
    OWN.with(|own| {
        let depth = own.depth.get();
        own.depth.set(depth + 1);
        if depth == 0 {
            compiler_fence(Ordering::SeqCst);
            own.place.get().unwrap_or_else(|| own.take_place()).enter();
        }
    });
}

#[inline]
pub(super) fn leave() {
    OWN.with(|own| {
        let depth = own.depth.get() - 1;
        if depth == 0 {
            if let Some(place) = own.place.get() {
                place.leave();
            }
            if !own.keeps.get() {
                own.give_place_back();
            }
            compiler_fence(Ordering::SeqCst);
        }
        own.depth.set(depth);
    });
}

/// Whether the calling thread is in a section.
pub(super) fn is_inside() -> bool {
    OWN.with(|own| own.depth.get() != 0)
}

/// What the C library calls the calling thread: no other one while it lives.
pub(crate) fn this_thread() -> usize {
    // SAFETY: reads a register.
    unsafe { libc::pthread_self() as usize }
}

/// Where the calling thread says how it goes on after a fault. A thread that is about to end has no such place.
pub(crate) fn recovery_place() -> Option<&'static AtomicPtr<c_void>> {
    OWN.with(|own| {
        if own.place.get().is_none() {
            // It is taken for a section, and kept.
            drop(super::section());
        }
        own.place.get().filter(|_| own.keeps.get()).map(|place| &place.recovery)
    })
}

/// The same of any thread, for its signal handlers: nothing is allocated, and nothing written.
pub(crate) fn recovery_place_of(thread: usize) -> Option<&'static AtomicPtr<c_void>> {
    let places = all_places().filter(|place| place.thread.load(Ordering::Relaxed) == thread);
    places.map(|place| &place.recovery).find(|recovery| !recovery.load(Ordering::Relaxed).is_null())
}

/// Lets no section begin, and waits until all have ended, the calling thread being in none. False: some have not.
pub(super) fn close() -> bool {
    GATE.close(barrier_everywhere, || all_places().all(|place| place.inside.load(Ordering::SeqCst) == 0))
}

pub(super) fn open() {
    GATE.open();
}

/// In a child, which has one thread: the others' sections and places are nobody's.
pub(super) fn open_in_child() {
    let own = OWN.with(|own| own.place.get());
    for place in all_places().filter(|place| !own.is_some_and(|own| ptr::eq(own, *place))) {
        place.leave();
        place.recovery.store(ptr::null_mut(), Ordering::Relaxed);
        place.is_taken.store(false, Ordering::Relaxed);
    }
    register();
    GATE.open();
}

/// Something that nothing leads to any more, but that sections which are open may still use.
struct Garbage {
    address: usize,
    give_back: unsafe fn(usize),
    /// The epoch in which it was retired.
    epoch: u64,
}

#[derive(Default)]
struct Heap {
    garbage: Vec<Garbage>,
    /// So many were left the last time.
    left: usize,
}

static HEAP: Mutex<Heap> = Mutex::new(Heap { garbage: Vec::new(), left: 0 });

/// Has `give_back` called with the address, by any thread and at some time, when no section is open that was open when this is
/// called. It is called inside of a section of somebody else's.
///
/// # Safety
/// `give_back` may be called with the address by any thread then.
pub unsafe fn retire(address: usize, give_back: unsafe fn(usize)) {
    let mut heap = HEAP.lock();
    if heap.garbage.try_reserve(1).is_err() {
        // It stays, as whatever else is kept back by a section that does not end.
        return;
    }
    heap.garbage.push(Garbage { address, give_back, epoch: EPOCH.load(Ordering::Relaxed) });
    if heap.garbage.len() < heap.left + GATHERED {
        return;
    }
    EPOCH.fetch_add(1, Ordering::AcqRel);
    barrier_everywhere();
    let open = all_places().map(|place| place.inside.load(Ordering::Acquire)).filter(|&inside| inside != 0);
    let oldest = open.min().unwrap_or(u64::MAX);
    let old = heap.garbage.extract_if(.., |garbage| garbage.epoch < oldest).collect::<Vec<_>>();
    heap.left = heap.garbage.len();
    drop(heap);
    // SAFETY: the promise of who retired it, and no section is left that began before that.
    old.into_iter().for_each(|garbage| unsafe { (garbage.give_back)(garbage.address) });
}

#[cfg(test)]
pub(super) fn places_taken() -> usize {
    all_places().filter(|place| place.is_taken.load(Ordering::Relaxed)).count()
}
