//! Switches between stacks: the few instructions that Rust cannot say.
//!
//! A suspended stack holds the registers that the C calling convention makes the callee keep, and the address to
//! go on at.

use crate::abi::Worker;
use std::mem::offset_of;

/// The pointer of a suspended stack. A ring is an array of them, then a null, then the array's own address;
/// `Worker::scheduler` points to the running one's place. `switch_to_next` relies on all of this.
pub(crate) type StackPointer = *mut u8;

/// What a coroutine runs. It must not return.
pub(crate) type Body = unsafe extern "C" fn(shared: *mut u8, index: usize) -> !;

pub(super) use arch::{call_on, escapable, next_group};
pub(crate) use arch::{prepare, switch_stack, switch_to_next};

/// What the coroutines of a ring share of a work-group's beginning and end.
#[repr(C)]
pub(super) struct Together {
    /// It comes first: its address is all that compiled code has.
    pub worker: Worker,
    pub bundles: u32,
    /// Bundles that are through with the group that runs.
    pub finished: u32,
    /// Counts the groups that were begun: a coroutine whose own count differs has a group to begin.
    pub epoch: u64,
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use super::*;
    use std::arch::naked_asm;

    /// Suspends the running coroutine of the worker's ring and resumes the next.
    ///
    /// The registers are kept below the stack pointer, in what is this function's red zone until the switch:
    /// moves beside each other take less time than pushes. The end of the ring is a branch, so that the place
    /// of the next stack pointer does not wait for a comparison. It goes on with a jump, not a return: the next
    /// coroutine stands at the barrier before this one, so a return would be predicted wrongly every time, while
    /// the way to this barrier tells the predictor of jumps which one that was.
    ///
    /// # Safety
    /// `worker.scheduler` is the running coroutine's place in a ring, and the next one in it is suspended.
    #[unsafe(naked)]
    pub unsafe extern "C" fn switch_to_next(worker: *mut Worker) {
        naked_asm!(
            "mov rax, [rdi + {scheduler}]",
            "lea rdx, [rsp - 48]",
            "mov [rax], rdx",
            "mov [rdx], rbp",
            "mov [rdx + 8], rbx",
            "mov [rdx + 16], r12",
            "mov [rdx + 24], r13",
            "mov [rdx + 32], r14",
            "mov [rdx + 40], r15",
            "add rax, 8",
            "mov rdx, [rax]",
            "test rdx, rdx",
            "jz 3f",
            "2:",
            "mov [rdi + {scheduler}], rax",
            "mov rbp, [rdx]",
            "mov rbx, [rdx + 8]",
            "mov r12, [rdx + 16]",
            "mov r13, [rdx + 24]",
            "mov r14, [rdx + 32]",
            "mov r15, [rdx + 40]",
            "mov rcx, [rdx + 48]",
            "lea rsp, [rdx + 56]",
            "jmp rcx",
            "3:",
            "mov rax, [rax + 8]",
            "mov rdx, [rax]",
            "jmp 2b",
            scheduler = const offset_of!(Worker, scheduler),
        )
    }

    /// Goes from one work-group to the next when all bundles are through with the first. The last one goes on at once.
    ///
    /// It is no barrier: a bundle that leaves a group early, past barriers that others wait at, waits here while they go through
    /// theirs. Who was suspended here goes on with a jump, for the reason of `switch_to_next`: mispredicted returns were most of
    /// what a group without work took.
    ///
    /// # Safety
    /// As for [`switch_to_next`], and the worker is that of a [`Together`].
    #[unsafe(naked)]
    pub unsafe extern "C" fn next_group(worker: *mut Worker) {
        naked_asm!(
            "mov ecx, [rdi + {finished}]",
            "mov rax, [rdi + {epoch}]",
            "inc ecx",
            "cmp ecx, [rdi + {bundles}]",
            "je 4f",
            "mov [rdi + {finished}], ecx",
            "2:",
            // What is suspended goes on at 3, with these two on its stack.
            "push rdi",
            "push rax",
            "lea rcx, [rip + 3f]",
            "push rcx",
            "jmp {switch_to_next}",
            "3:",
            "pop rax",
            "pop rdi",
            "cmp rax, [rdi + {epoch}]",
            "je 2b",
            "pop rcx",
            "jmp rcx",
            "4:",
            "mov dword ptr [rdi + {finished}], 0",
            "inc rax",
            "mov [rdi + {epoch}], rax",
            "ret",
            finished = const offset_of!(Together, finished),
            bundles = const offset_of!(Together, bundles),
            epoch = const offset_of!(Together, epoch),
            switch_to_next = sym switch_to_next,
        )
    }

    /// Suspends the running stack, leaving its pointer in `from`, and resumes the one suspended at `to`.
    ///
    /// # Safety
    /// `to` is the pointer of a suspended stack that nobody else resumes.
    #[unsafe(naked)]
    pub unsafe extern "C" fn switch_stack(from: *mut StackPointer, to: StackPointer) {
        naked_asm!(
            "push r15",
            "push r14",
            "push r13",
            "push r12",
            "push rbx",
            "push rbp",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            "pop rbp",
            "pop rbx",
            "pop r12",
            "pop r13",
            "pop r14",
            "pop r15",
            "ret",
        )
    }

    /// Calls a function and comes back, also when something switches to what is left in `from` meanwhile.
    ///
    /// # Safety
    /// The function does not unwind, and what is left in `from` is resumed at most once, before the function returns.
    #[unsafe(naked)]
    pub unsafe extern "C" fn escapable(
        from: *mut StackPointer,
        function: unsafe extern "C" fn(*mut u8),
        argument: *mut u8,
    ) {
        // The frame is that of `switch_stack`.
        naked_asm!(
            "push r15",
            "push r14",
            "push r13",
            "push r12",
            "push rbx",
            "push rbp",
            "mov [rdi], rsp",
            "sub rsp, 8",
            "mov rdi, rdx",
            "call rsi",
            "add rsp, 8",
            "pop rbp",
            "pop rbx",
            "pop r12",
            "pop r13",
            "pop r14",
            "pop r15",
            "ret",
        )
    }

    /// Calls a function on another stack, and comes back.
    ///
    /// # Safety
    /// `top` is 16-byte aligned, what is below it is writable and nobody's, and the function does not unwind.
    #[unsafe(naked)]
    pub unsafe extern "C" fn call_on(
        top: *mut u8,
        function: unsafe extern "C" fn(*mut u8),
        argument: *mut u8,
    ) {
        naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "mov rsp, rdi",
            "mov rdi, rdx",
            "call rsi",
            "mov rsp, rbp",
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
    pub unsafe fn prepare(top: *mut u8, body: Body, shared: *mut u8, index: usize) -> StackPointer {
        // rbp, rbx, r12, r13, r14, r15, and the address to go on at.
        let frame = [0, 0, shared as usize, index, body as usize, 0, start as *const () as usize];
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
