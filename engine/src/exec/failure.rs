//! The end of a launch that cannot go on: compiled code leaves for the place where it was entered.
//!
//! Nothing in between owns anything: it is frames of compiled code, and stacks of coroutines, which are thrown away. The
//! other threads of the launch stop with the work-groups that they have begun.

use super::fault::{self, Fault};
use super::switch::{StackPointer, switch_stack};
use crate::abi::Worker;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a launch cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A call through a pointer that is no function's address, or a function's that takes or returns something else.
    NoFunction(u64),
    /// Calls through pointers nest deeper than there is stack for.
    TooDeep,
    /// What the processor does not do.
    Fault(Fault),
}

/// [`Reason::NoFunction`] in compiled code's words.
pub const NO_FUNCTION: u64 = 1;
/// [`Reason::TooDeep`] in compiled code's words.
pub const TOO_DEEP: u64 = 2;
/// [`Reason::Fault`], with what [`Fault::code`] says in the bits above these.
const FAULT: u64 = 3;
const FAULT_SHIFT: u32 = 8;

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::NoFunction(0) => write!(f, "a call through a null pointer"),
            Reason::NoFunction(address) => {
                write!(
                    f,
                    "a call through {address:#x}, where no function of the program is that takes these arguments"
                )
            }
            Reason::Fault(fault) => fault.fmt(f),
            Reason::TooDeep => write!(f, "calls through pointers that nest deeper than the stack"),
        }
    }
}

/// Why a launch has ended early, if it has: what was found first.
#[derive(Default, Debug)]
pub struct Failure {
    code: AtomicU64,
    value: AtomicU64,
}

impl Failure {
    fn set(&self, code: u64, value: u64) {
        if self.code.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.value.store(value, Ordering::Relaxed);
        }
    }

    /// Notes what the processor has refused. It may be called by a signal's handler.
    pub(super) fn note(&self, fault: Fault) {
        self.set(FAULT | fault.code() << FAULT_SHIFT, fault.address as u64);
    }

    pub fn is_set(&self) -> bool {
        self.code.load(Ordering::Relaxed) != 0
    }

    /// The reason. Who asks has waited for all threads of the launch.
    pub fn get(&self) -> Option<Reason> {
        let (code, value) = (self.code.load(Ordering::Relaxed), self.value.load(Ordering::Relaxed));
        match code {
            0 => None,
            TOO_DEEP => Some(Reason::TooDeep),
            NO_FUNCTION => Some(Reason::NoFunction(value)),
            _ => Some(Reason::Fault(Fault::from_code(code >> FAULT_SHIFT, value))),
        }
    }
}

/// Called by compiled code that cannot go on. It does not return.
///
/// # Safety
/// The worker is the one that the code was given, and [`enter`] or a ring of coroutines runs it.
pub unsafe extern "C" fn ze_cpu_fail(worker: *mut Worker, code: u64, value: u64) -> u64 {
    let mut nowhere: StackPointer = std::ptr::null_mut();
    // SAFETY: by the contract the launch has a failure to set, and what is at `escape` is suspended.
    unsafe {
        (*(*worker).failure).set(code, value);
        switch_stack(&raw mut nowhere, *(*worker).escape);
    }
    unreachable!("nobody resumes a stack that was left for good")
}

/// Calls `code`, which may leave by [`ze_cpu_fail`] with this worker, and leaves where it does what cannot be done.
///
/// # Safety
/// Whatever `code` calls before it leaves owns nothing.
pub(super) unsafe fn enter(worker: &mut Worker, code: impl FnOnce(*mut Worker)) {
    let (worker, failure) = (&raw mut *worker, worker.failure);
    // SAFETY: the worker is there; the rest is up to the caller.
    unsafe {
        fault::catch_into(failure, |escape| {
            (*worker).escape = escape;
            code(worker);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::coroutine::idle_worker;
    use super::*;

    #[test]
    fn leaving_goes_back_to_where_the_code_was_entered() {
        let failure = Failure::default();
        let mut worker = Worker { failure: &raw const failure, ..idle_worker() };
        let mut steps = 0;
        let count = &raw mut steps;
        // SAFETY: the closure owns nothing.
        unsafe {
            enter(&mut worker, |worker| {
                *count += 1;
                ze_cpu_fail(worker, NO_FUNCTION, 7);
                *count += 10;
            });
        }
        assert_eq!((steps, failure.get()), (1, Some(Reason::NoFunction(7))));
        // The first reason stays.
        // SAFETY: as above.
        unsafe { enter(&mut worker, |worker| *count += ze_cpu_fail(worker, TOO_DEEP, 0)) };
        assert_eq!(failure.get(), Some(Reason::NoFunction(7)));
        // SAFETY: as above.
        unsafe { enter(&mut worker, |_| *count += 1) };
        assert_eq!(steps, 2);
    }
}
