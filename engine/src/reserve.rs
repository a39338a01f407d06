//! What is left when memory runs out.
//!
//! Rust ends the process where an allocation fails that the code does not check, and no code checks all of the small ones. So
//! this crate's allocator has a reserve: an untouched mapping, which takes addresses only. When the system has nothing more,
//! what is kept for later use is given back, and for small allocations the reserve too. Whoever makes something new for a
//! program asks first whether the reserve is whole ([`is_whole`]), and fails if not; large pieces, whose size a program
//! chooses, are allocated in a way that can fail, or looked for beforehand ([`has_room`]). A thread that compiles gives its
//! compilation up where even the reserve is gone ([`set_last_resort`]).

use crate::pages::Pages;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Bytes of the reserve: many times what one call allocates in small pieces.
const RESERVE_BYTES: usize = 16 << 20;
/// Larger allocations do not use the reserve.
const SMALL_BYTES: usize = 256 << 10;

/// The reserve; null while it is used up, or was never made.
static RESERVE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
/// A `fn() -> bool`, or null.
static KEEPER: AtomicPtr<()> = AtomicPtr::new(null_mut());

thread_local! {
    /// What the thread does rather than end the process.
    static LAST_RESORT: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Says what the calling thread does where there is neither memory nor a reserve. It need not return; if it does, the
/// allocation fails.
pub fn set_last_resort(last_resort: Option<fn()>) {
    // The storage is gone on a thread that ends, with what was in it.
    let _ = LAST_RESORT.try_with(|of_thread| of_thread.set(last_resort));
}

/// Says who keeps memory that can be given back. The function returns whether it gave any, and does not wait for locks.
pub fn set_keeper(give_back: fn() -> bool) {
    KEEPER.store(give_back as *mut (), Ordering::Release);
}

/// Gives back what is kept for later use. Whether there was any.
pub fn give_back() -> bool {
    let keeper = KEEPER.load(Ordering::Acquire);
    if keeper.is_null() {
        return false;
    }
    // SAFETY: only `set_keeper` writes it, a function of this type.
    let keeper: fn() -> bool = unsafe { std::mem::transmute(keeper) };
    keeper()
}

/// Whether the reserve is there for the next failure. Makes it again where the system has memory by now.
#[inline]
pub fn is_whole() -> bool {
    !RESERVE.load(Ordering::Relaxed).is_null() || renew()
}

#[cold]
fn renew() -> bool {
    let Ok(pages) = Pages::sparse(RESERVE_BYTES) else { return false };
    let base = pages.base().as_ptr();
    if RESERVE.compare_exchange(null_mut(), base, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        // `RESERVE` has them now.
        std::mem::forget(pages);
    }
    true
}

/// Whether the system has this many bytes now, beside the reserve.
pub fn has_room(bytes: usize) -> bool {
    is_whole() && (bytes == 0 || Pages::sparse(bytes).is_ok())
}

/// Tries again to allocate what the system did not give.
#[cold]
fn again(bytes: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    if give_back() {
        let memory = allocate();
        if !memory.is_null() {
            return memory;
        }
    }
    if bytes <= SMALL_BYTES {
        let reserve = RESERVE.swap(null_mut(), Ordering::AcqRel);
        if !reserve.is_null() {
            // SAFETY: the exchange made it this thread's.
            unsafe { libc::munmap(reserve.cast(), RESERVE_BYTES) };
        }
        let memory = allocate();
        if !memory.is_null() {
            return memory;
        }
    }
    if let Some(last_resort) = LAST_RESORT.try_with(Cell::get).ok().flatten() {
        last_resort();
    }
    null_mut()
}

/// The system's allocator with the reserve behind it.
pub struct Allocator;

// SAFETY: memory comes from the system's allocator and goes back to it.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on to the caller, here and below.
        let allocate = || unsafe { System.alloc(layout) };
        let memory = allocate();
        if memory.is_null() { again(layout.size(), allocate) } else { memory }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        let allocate = || unsafe { System.alloc_zeroed(layout) };
        let memory = allocate();
        if memory.is_null() { again(layout.size(), allocate) } else { memory }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: see above; what failed left the old memory as it was.
        let allocate = || unsafe { System.realloc(old, layout, bytes) };
        let memory = allocate();
        if memory.is_null() { again(bytes, allocate) } else { memory }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_what_the_address_space_can_hold() {
        assert!(has_room(0) && has_room(1 << 20));
        assert!(!has_room(1 << 60) && !has_room(usize::MAX));
        assert!(is_whole());
    }
}
