//! Switches between stacks: the few instructions that Rust cannot say.
//!
//! A suspended stack holds the registers that the C calling convention makes the callee keep, and the address to
//! go on at; its stack pointer is kept in a [`Slot`]. All coroutines of a ring stand at the same barrier of the
//! same code, so the return address is the one that the CPU's return predictor expects.

use crate::abi::Worker;
use std::mem::offset_of;

/// A suspended coroutine. `switch_to_next` relies on the order of the fields.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Slot {
    /// Stack pointer while suspended.
    pub stack_pointer: *mut u8,
    /// The coroutine that runs when this one reaches a barrier.
    pub next: *mut Slot,
}

/// What a coroutine runs. It must not return.
pub(super) type Body = unsafe extern "C" fn(shared: *mut u8, index: usize) -> !;

pub(super) use arch::{prepare, switch_stack, switch_to_next};

#[cfg(target_arch = "x86_64")]
mod arch {
    use super::*;
    use std::arch::naked_asm;

    /// Suspends the running coroutine of the worker's ring and resumes the next.
    ///
    /// # Safety
    /// `worker.scheduler` is the running coroutine's [`Slot`], and the next one in its ring is suspended.
    #[unsafe(naked)]
    pub unsafe extern "C" fn switch_to_next(worker: *mut Worker) {
        naked_asm!(
            "push rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "mov rax, [rdi + {scheduler}]",
            "mov [rax], rsp",
            "mov rax, [rax + 8]",
            "mov [rdi + {scheduler}], rax",
            "mov rsp, [rax]",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            "ret",
            scheduler = const offset_of!(Worker, scheduler),
        )
    }

    /// Suspends the running stack, leaving its pointer in `from`, and resumes the one suspended at `to`.
    ///
    /// # Safety
    /// `to` is the pointer of a suspended stack that nobody else resumes.
    #[unsafe(naked)]
    pub unsafe extern "C" fn switch_stack(from: *mut *mut u8, to: *mut u8) {
        naked_asm!(
            "push rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            "ret",
        )
    }

    /// The first thing that a new coroutine runs: calls the body with what `prepare` left in registers.
    #[unsafe(naked)]
    unsafe extern "C" fn start() {
        naked_asm!("mov rdi, r12", "mov rsi, r13", "call r14", "ud2")
    }

    /// Makes a new stack look like a suspended one that goes on in `body`. Returns its stack pointer.
    ///
    /// # Safety
    /// `top` is 16-byte aligned, and the 64 bytes below it are writable.
    pub unsafe fn prepare(top: *mut u8, body: Body, shared: *mut u8, index: usize) -> *mut u8 {
        // In the order of the pops: r15, r14, r13, r12, rbx, rbp, and the address to go on at.
        let frame = [0, body as usize, index, shared as usize, 0, 0, start as *const () as usize];
        // SAFETY: by the contract there is room for the frame below `top`.
        unsafe {
            let at = top.cast::<usize>().sub(frame.len());
            std::ptr::copy_nonoverlapping(frame.as_ptr(), at, frame.len());
            at.cast()
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
compile_error!("engine/src/exec/switch.rs: add the stack switch of this architecture as `mod arch`");
