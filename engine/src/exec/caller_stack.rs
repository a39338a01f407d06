//! Room on the stack of the thread that calls us.
//!
//! A program's threads have stacks of any size, down to 16 KiB, and a program may call from a stack that it made itself: a
//! coroutine's or a signal's. What needs more than is left runs on a stack of ours, which the thread keeps for the next time.
//! To find out costs a thread-local read and two comparisons: the bounds of a thread's stack do not change.

use super::switch::call_on;
use crate::pages::Pages;
use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Least room of a stack of ours; only what is touched takes memory.
const STACK_BYTES: usize = 8 << 20;
/// A larger one is given back after use.
const KEEP_BYTES: usize = 16 << 20;
/// What of it the switch itself and the ends of functions take.
const OVERHEAD: usize = 4096;

/// The addresses of a stack that may be used.
#[derive(Clone, Copy)]
struct Bounds {
    low: usize,
    high: usize,
}

/// No address is on it.
const UNKNOWN: Bounds = Bounds { low: usize::MAX, high: 0 };

thread_local! {
    /// Of the stack that the thread runs on, as far as we know.
    static CURRENT: Cell<Bounds> = const { Cell::new(UNKNOWN) };
    /// A stack of ours that nobody is on.
    static IDLE: Cell<Option<Stack>> = const { Cell::new(None) };
}

/// Runs `work` where it has at least `bytes` of stack: here, or on a stack of ours.
///
/// Errors: the system has no memory for a stack.
#[inline]
pub fn with_room<R>(bytes: usize, work: impl FnOnce() -> R) -> io::Result<R> {
    let here = here();
    let current = CURRENT.get();
    // On another stack than the known one the first comparison fails, or the second.
    if here < current.high && here.wrapping_sub(current.low) as isize >= bytes as isize {
        return Ok(work());
    }
    elsewhere(bytes, here, current, work)
}

/// An address on the stack that is in use.
#[inline(always)]
fn here() -> usize {
    let here: usize;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mov {}, rsp", out(reg) here, options(nomem, nostack, preserves_flags)) };
    here
}

#[cold]
#[inline(never)]
fn elsewhere<R>(bytes: usize, here: usize, known: Bounds, work: impl FnOnce() -> R) -> io::Result<R> {
    let fits = |bounds: Bounds| (bounds.low..bounds.high).contains(&here) && here - bounds.low >= bytes;
    if known.high == 0 {
        let own = own_stack();
        CURRENT.set(own);
        if fits(own) {
            return Ok(work());
        }
    }
    on_own_stack(bytes, work)
}

/// The bounds of the thread's own stack. For a main thread that costs the reading of a file, so it is done once.
fn own_stack() -> Bounds {
    // SAFETY: the attributes are initialised by the first call, read by the second and destroyed by the third.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return UNKNOWN;
        }
        let (mut low, mut bytes, mut guard) = (std::ptr::null_mut(), 0, 0);
        let mut status = libc::pthread_attr_getstack(&attributes, &mut low, &mut bytes);
        status |= libc::pthread_attr_getguardsize(&attributes, &mut guard);
        libc::pthread_attr_destroy(&mut attributes);
        let low = low as usize;
        if status != 0 { UNKNOWN } else { Bounds { low: low + guard, high: low + bytes } }
    }
}

fn on_own_stack<F: FnOnce() -> R, R>(bytes: usize, work: F) -> io::Result<R> {
    let needed = bytes.checked_add(OVERHEAD).ok_or(io::ErrorKind::OutOfMemory)?;
    // None where the thread is on it, or is ending.
    let idle = IDLE.try_with(Cell::take).ok().flatten();
    let stack = match idle.filter(|stack| stack.bounds().high - stack.bounds().low >= needed) {
        Some(stack) => stack,
        None => Stack::new(needed.max(STACK_BYTES))?,
    };
    let mut call = Call { work: Some(work), result: None };
    let before = CURRENT.replace(stack.bounds());
    // SAFETY: the stack is nobody else's, and the function returns and does not unwind.
    unsafe { call_on(stack.bounds().high as *mut u8, run::<F, R>, (&raw mut call).cast()) };
    CURRENT.set(before);
    if stack.pages.len() <= KEEP_BYTES {
        let _ = IDLE.try_with(|idle| idle.set(Some(stack)));
    }
    match call.result {
        Some(Ok(value)) => Ok(value),
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("the call has returned"),
    }
}

/// A call on another stack, and what it returned.
struct Call<F, R> {
    work: Option<F>,
    result: Option<Result<R, Box<dyn Any + Send>>>,
}

unsafe extern "C" fn run<F: FnOnce() -> R, R>(call: *mut u8) {
    // SAFETY: `on_own_stack` passes its own and waits.
    let call = unsafe { &mut *call.cast::<Call<F, R>>() };
    if let Some(work) = call.work.take() {
        call.result = Some(catch_unwind(AssertUnwindSafe(work)));
    }
}

/// A stack above a guard page.
struct Stack {
    pages: Pages,
}

impl Stack {
    /// With room for this many bytes.
    fn new(bytes: usize) -> io::Result<Stack> {
        let bytes = bytes.checked_next_multiple_of(GUARD).and_then(|bytes| bytes.checked_add(GUARD));
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let pages = Pages::for_stacks(bytes)?;
        pages.protect(0..GUARD, libc::PROT_NONE)?;
        Ok(Stack { pages })
    }

    fn bounds(&self) -> Bounds {
        let start = self.pages.base().as_ptr() as usize;
        Bounds { low: start + GUARD, high: start + self.pages.len() }
    }
}

/// Bytes below a stack that fault; a multiple of every page size.
const GUARD: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether two addresses are nearer to each other than those of different stacks are. The least stack of these tests
    /// has 64 KiB, and another one may begin right below it.
    fn near(one: usize, other: usize) -> bool {
        one.abs_diff(other) < 16 << 10
    }

    fn touch(bytes: usize) {
        let mut page = [1u8; 4096];
        std::hint::black_box(&mut page);
        if bytes > 2 * page.len() {
            touch(bytes - 2 * page.len());
        }
        std::hint::black_box(&mut page);
    }

    fn on_thread(bytes: usize, work: impl FnOnce() + Send + 'static) {
        let thread = std::thread::Builder::new().stack_size(bytes);
        crate::fork::spawn(thread, work).expect("a thread").join().expect("no panic");
    }

    #[test]
    fn work_stays_where_there_is_room() {
        on_thread(2 << 20, || {
            let stays = |bytes| with_room(bytes, || near(here(), super::here())).expect("memory is there");
            let mine = here();
            assert!(with_room(1 << 20, || near(here(), mine)).expect("memory is there"));
            assert!(!with_room(3 << 20, || near(here(), mine)).expect("memory is there"));
            assert!(with_room(1 << 20, || near(here(), mine)).expect("memory is there"));
            assert!(stays(1));
        });
    }

    #[test]
    fn a_small_thread_has_all_the_room_that_is_asked_for() {
        on_thread(64 << 10, || {
            for bytes in [1 << 20, STACK_BYTES, 20 << 20, 1 << 20] {
                with_room(bytes, || touch(bytes / 2)).expect("memory is there");
            }
        });
    }

    #[test]
    fn work_on_a_stack_of_ours_stays_there_while_it_fits() {
        on_thread(64 << 10, || {
            let stayed = with_room(1 << 20, || {
                let outer = here();
                let inner = with_room(1 << 20, || near(here(), outer)).expect("there is room");
                let further = with_room(2 * STACK_BYTES, || near(here(), outer)).expect("memory is there");
                inner && !further
            });
            assert!(stayed.expect("memory is there"));
        });
    }

    #[test]
    fn a_stack_that_is_not_the_threads_is_left() {
        // As a coroutine of the program: its stack is large, and nobody here knows that.
        unsafe extern "C" fn on_foreign_stack(left: *mut u8) {
            let mine = here();
            let result = with_room(4096, || !near(here(), mine)).expect("memory is there");
            // SAFETY: the test's own variable.
            unsafe { left.cast::<bool>().write(result) };
        }
        on_thread(2 << 20, || {
            let stack = Stack::new(1 << 20).expect("memory is there");
            let mut left = [false; 2];
            for left in &mut left {
                let mine = here();
                assert!(with_room(4096, || near(here(), mine)).expect("there is room"));
                // SAFETY: the stack is this test's.
                unsafe { call_on(stack.bounds().high as *mut u8, on_foreign_stack, (&raw mut *left).cast()) };
            }
            assert_eq!(left, [true; 2]);
        });
    }

    #[test]
    fn a_panic_comes_back_to_the_callers_stack() {
        on_thread(64 << 10, || {
            let outcome = catch_unwind(|| with_room(1 << 20, || panic!("expected by this test")));
            assert!(outcome.is_err());
            let mine = here();
            assert!(!with_room(1 << 20, || near(here(), mine)).expect("memory is there"));
        });
    }

    #[test]
    fn more_than_there_are_addresses_for_is_an_error() {
        assert!(with_room(isize::MAX as usize, || ()).is_err());
    }
}
