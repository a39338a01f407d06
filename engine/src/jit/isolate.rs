//! Keeps a failure inside LLVM from taking the process down, and LLVM's recursion off small stacks.
//!
//! LLVM reports a fatal error through a handler that must not return: it would `exit`. Every compilation
//! therefore runs on a thread of its own. The handler hands its reason to whoever waits for that thread and
//! parks it for good; what the compilation held is lost, and the process lives. So it does where LLVM recurses beyond its stack
//! or faults otherwise (`exec/fault.rs`): then the thread may be in the middle of anything, also of an allocation, so
//! that it does nothing any more but say so.
//!
//! Where the system gives no more threads, a compilation runs on the calling one, on a stack of its own: then the handler
//! goes back to the caller's stack and leaves the other as it is.

use super::JitError;
#[cfg(test)]
use super::context::c_string;
use crate::exec::failure::{Failure, Reason};
use crate::exec::fault;
use crate::exec::{Region, StackPointer, prepare, switch_stack};
use crate::fork::{self, Compilation, Mutex, OnceLock};
use crate::futex::{Counter, Deadline};
use crate::reserve;
use llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

/// Deep expression trees recurse in instruction selection; the caller's stack may be as small as a
/// coroutine's.
const STACK_BYTES: usize = 16 << 20;

/// Memory that is kept for telling that there is no more.
const SPARE_BYTES: usize = 64 << 10;

/// Memory that there must be for a compilation to begin: its stack, and a few times what most take.
const COMPILER_BYTES: usize = STACK_BYTES + (96 << 20);

unsafe extern "C" {
    /// `llvm::install_bad_alloc_error_handler`: the C API has no name for it.
    #[link_name = "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_"]
    fn install_bad_alloc_error_handler(
        handler: extern "C" fn(*mut c_void, *const c_char, bool),
        data: *mut c_void,
    );
}

unsafe extern "C" {
    /// Of the Itanium C++ ABI, §2.2.2: what the C++ library keeps for each thread.
    fn __cxa_get_globals() -> *mut c_void;
}

/// Has the C++ library's thread-local storage made, while there is memory. It is made on first use, which would be where
/// an allocation of LLVM's has failed; and where it cannot be made, the C library ends the process.
fn touch_thread_local_storage() {
    // SAFETY: takes nothing, and gives the address of the calling thread's.
    std::hint::black_box(unsafe { __cxa_get_globals() });
}

/// What a thread compiles.
struct Running {
    /// Tells whoever waits for the compilation why LLVM gave up.
    report: Box<dyn Fn(JitError)>,
    /// A process that forks waits for its end.
    _compilation: Compilation,
    /// Memory for the report.
    spare: Vec<u8>,
    /// Where to go back to, on a thread that is not the compilation's own.
    borrowed: Option<*mut Borrowed>,
}

/// A thread that compiles on another stack than its own.
struct Borrowed {
    /// The thread's own stack.
    caller: StackPointer,
    work: Option<Box<dyn FnOnce(*mut Borrowed)>>,
    /// LLVM gave up: what is on the other stack stays there.
    lost: bool,
}

thread_local! {
    static RUNNING: RefCell<Option<Running>> = const { RefCell::new(None) };
}

/// Where a compilation leaves its result. Not a channel of the standard library's: a thread whose thread-local storage is
/// gone, because the process is exiting, cannot wait for that.
struct Handover<R> {
    result: Mutex<Option<R>>,
    /// 1 once nothing will come any more.
    over: Counter,
    /// What the processor has refused to do.
    failure: Failure,
}

impl<R> Handover<R> {
    fn give(&self, result: R) {
        self.result.lock().get_or_insert(result);
        self.over.set(1);
    }

    /// The result, or why there is none.
    fn wait(&self) -> Result<R, JitError> {
        self.over.wait(Deadline::Never, |over| over != 0);
        if let Some(Reason::Fault(fault)) = self.failure.get() {
            tracing::error!("LLVM crashed: {fault}");
            return Err(JitError::Llvm(format!("the code generator crashed: {fault}")));
        }
        let panicked = || JitError::Llvm("the compilation panicked; see standard error".into());
        self.result.lock().take().ok_or_else(panicked)
    }
}

/// Runs a compilation on its own thread and waits for it.
pub fn run<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T, JitError> + Send + 'static,
) -> Result<T, JitError> {
    run_mapped(name, work, |error| error)
}

/// As [`run`], for work with an error type of its own.
pub fn run_mapped<T: Send + 'static, E: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
    map: impl Fn(JitError) -> E + Send + Clone + 'static,
) -> Result<T, E> {
    install_fatal_error_handler();
    if fork::is_restless() {
        let reason = "the process forked in the middle of a compilation that did not end";
        return Err(map(JitError::Llvm(reason.into())));
    }
    // What LLVM cannot allocate ends its thread at best.
    if !reserve::has_room(COMPILER_BYTES) {
        return Err(map(JitError::Memory(std::io::ErrorKind::OutOfMemory)));
    }
    let handover =
        Arc::new(Handover { result: Mutex::new(None), over: Counter::new(0), failure: Failure::default() });
    let (theirs, on_thread) = (Arc::clone(&handover), map.clone());
    let compile = move |borrowed: Option<*mut Borrowed>| {
        let failed = Arc::clone(&theirs);
        let report = Box::new(move |error| failed.give(Err(on_thread(error))));
        let spare = Vec::with_capacity(SPARE_BYTES);
        let running = Running { report, _compilation: fork::compilation(), spare, borrowed };
        touch_thread_local_storage();
        // The storage is gone on a thread that ends. Its compilations are those of exit handlers without a thread to be had.
        if RUNNING.try_with(|place| place.replace(Some(running))).is_err() {
            return theirs.over.set(1);
        }
        reserve::set_last_resort(Some(out_of_memory));
        let mut result = None;
        let place = &raw mut result;
        // SAFETY: the place is there until this returns. What the compilation owns where it crashes is lost: nothing is that others
        // need, as sections are not held where LLVM is called.
        unsafe {
            fault::catch_into(&theirs.failure, |_| {
                *place = Some(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)));
            });
        }
        if theirs.failure.is_set() {
            crashed(&theirs.over);
        }
        reserve::set_last_resort(None);
        RUNNING.set(None);
        match result {
            Some(Ok(result)) => theirs.give(result),
            _ => theirs.over.set(1),
        }
    };
    // A thread that cannot be started does not give back what it was to do.
    let compile = Arc::new(Mutex::new(Some(compile)));
    let on_thread = Arc::clone(&compile);
    let take = |compile: &Mutex<Option<_>>| compile.lock().take();
    let thread = std::thread::Builder::new().name(format!("ze-cpu-jit {name}")).stack_size(STACK_BYTES);
    let started = fork::spawn(thread, move || {
        fault::with_alternate_stack(|| take(&on_thread).map_or((), |compile| compile(None)));
    });
    if let Err(error) = started {
        tracing::debug!("no thread for a compilation ({error}): compiling on the caller's");
        let compile = compile.lock().take();
        let run = compile.map(|compile| run_here(Box::new(move |borrowed| compile(Some(borrowed)))));
        if let Some(Err(error)) = run {
            return Err(map(JitError::Memory(error.kind())));
        }
    }
    handover.wait().unwrap_or_else(|error| Err(map(error)))
}

/// Runs a compilation, which does not unwind, on the calling thread, but on a stack that is large enough.
fn run_here(work: Box<dyn FnOnce(*mut Borrowed)>) -> std::io::Result<()> {
    let stack = Region::new(1, STACK_BYTES)?;
    let mut borrowed = Borrowed { caller: std::ptr::null_mut(), work: Some(work), lost: false };
    let place = &raw mut borrowed;
    // SAFETY: there is a stack below its top. The compilation runs on this thread, to its end or until LLVM gives up; both
    // switch back here, and `borrowed` lives until then.
    unsafe {
        let start = prepare(stack.top(0, 0), begin, place.cast(), 0);
        switch_stack(&raw mut (*place).caller, start);
        if (*place).lost {
            // LLVM's thread-local state may refer to it.
            std::mem::forget(stack);
        }
    }
    Ok(())
}

/// The first function of the other stack.
unsafe extern "C" fn begin(borrowed: *mut u8, _: usize) -> ! {
    let borrowed = borrowed.cast::<Borrowed>();
    // SAFETY: `run_here` waits on the other stack, where this lives.
    unsafe {
        if let Some(work) = (*borrowed).work.take() {
            work(borrowed);
        }
        go_back(borrowed)
    }
}

/// Resumes the stack of `run_here`, for good.
///
/// # Safety
/// It is that of the calling thread, and suspended.
unsafe fn go_back(borrowed: *mut Borrowed) -> ! {
    let mut left = std::ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe { switch_stack(&raw mut left, (*borrowed).caller) };
    unreachable!("nobody resumes a stack that was left")
}

/// Makes LLVM's fatal errors fail the compilation instead of ending the process. Idempotent.
pub fn install_fatal_error_handler() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    // SAFETY: the handlers are functions that live as long as the program.
    INSTALLED.get_or_init(|| unsafe {
        LLVMInstallFatalErrorHandler(Some(on_fatal_error));
        install_bad_alloc_error_handler(on_bad_alloc, std::ptr::null_mut());
    });
}

/// Memory ran out in LLVM's own allocations.
extern "C" fn on_bad_alloc(_: *mut c_void, _: *const c_char, _: bool) {
    out_of_memory();
}

/// Ends the compilation that the thread runs, for want of memory. Returns where there is none.
pub fn out_of_memory() {
    give_up(JitError::Memory(std::io::ErrorKind::OutOfMemory));
}

extern "C" fn on_fatal_error(reason: *const c_char) {
    // SAFETY: LLVM passes a null-terminated string.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    // Where it returns, LLVM ends the process as it would have without us.
    give_up(JitError::Llvm(reason));
}

/// Ends the compilation that the thread runs: fails it, and stays here. Returns where there is none.
fn give_up(error: JitError) {
    reserve::set_last_resort(None);
    let Some(mut running) = RUNNING.try_with(RefCell::take).ok().flatten() else { return };
    drop(std::mem::take(&mut running.spare));
    tracing::error!("LLVM gave up: {error}");
    (running.report)(error);
    let borrowed = running.borrowed;
    // Nobody waits for this compilation any more, nor does a fork.
    drop(running);
    stay(borrowed)
}

/// Ends the compilation that the thread runs, which has crashed, and stays here. The thread may hold a lock of the C library's:
/// it allocates nothing, and gives nothing back.
fn crashed(over: &Counter) -> ! {
    let running = RUNNING.try_with(|place| place.try_borrow_mut().ok()?.take()).ok().flatten();
    let borrowed = running.and_then(|Running { report, _compilation, spare, borrowed }| {
        std::mem::forget((report, spare));
        borrowed
    });
    over.set(1);
    stay(borrowed)
}

/// Does no more on this stack.
fn stay(borrowed: Option<*mut Borrowed>) -> ! {
    if let Some(borrowed) = borrowed {
        // SAFETY: this is the stack that `run_here` switched to, on its thread.
        unsafe {
            (*borrowed).lost = true;
            go_back(borrowed);
        }
    }
    loop {
        std::thread::park();
    }
}

/// Reports a fatal error the way LLVM does. For tests of what surrounds it.
#[cfg(test)]
fn provoke(reason: &str) {
    on_fatal_error(c_string(reason).as_ptr());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fatal_error_fails_the_compilation_only() {
        let result: Result<(), JitError> = run("test", || {
            provoke("cannot select");
            Ok(())
        });
        assert!(matches!(result, Err(JitError::Llvm(reason)) if reason == "cannot select"));
    }

    #[test]
    fn panic_fails_the_compilation_only() {
        let result: Result<(), JitError> = run("test", || panic!("expected by this test"));
        assert!(matches!(result, Err(JitError::Llvm(_))));
    }

    #[test]
    fn a_crash_fails_the_compilation_only() {
        fn deep(depth: u64) -> u64 {
            let words = std::hint::black_box([depth; 64]);
            if depth == 0 { words[0] } else { deep(depth - 1) + std::hint::black_box(words)[1] }
        }
        fault::enable();
        let result: Result<u64, JitError> = run("test", || Ok(deep(std::hint::black_box(1 << 40))));
        assert!(matches!(result, Err(JitError::Llvm(reason)) if reason.contains("stack ran over")));
        // SAFETY: nothing is owned here, and the address is nobody's.
        let read = || unsafe { std::hint::black_box(16 as *const u64).read_volatile() };
        let result: Result<u64, JitError> = run("test", move || Ok(read()));
        assert!(matches!(result, Err(JitError::Llvm(reason)) if reason.contains("null pointer")));
        assert_eq!(run("test", || Ok(7)).ok(), Some(7));
    }

    #[test]
    fn memory_that_runs_out_fails_the_compilation_only() {
        for bytes in [1usize << 60, 1 << 46] {
            let result: Result<usize, JitError> = run("test", move || {
                let mut memory: Vec<u8> = Vec::with_capacity(bytes);
                memory.push(1);
                Ok(std::hint::black_box(memory).capacity())
            });
            assert!(matches!(result, Err(JitError::Memory(_))));
        }
    }

    #[test]
    fn without_a_thread_the_caller_compiles_on_another_stack() {
        let (result, done) = (Arc::new(Mutex::new(0)), Arc::new(Counter::new(0)));
        for fatal in [false, true, false] {
            let (result, done) = (Arc::clone(&result), Arc::clone(&done));
            let compile = Box::new(move |borrowed| {
                // More than a test's thread has.
                let large = std::hint::black_box([7u8; 8 << 20]);
                let report = Box::new(move |_| done.advance());
                let (spare, borrowed) = (Vec::new(), Some(borrowed));
                let running = Running { report, _compilation: fork::compilation(), spare, borrowed };
                RUNNING.set(Some(running));
                *result.lock() += u32::from(large[1 << 20]);
                if fatal {
                    provoke("cannot select");
                }
                RUNNING.set(None);
            });
            run_here(compile).expect("memory is there");
        }
        assert_eq!((*result.lock(), done.get()), (21, 1));
    }

    #[test]
    fn result_is_handed_over() {
        assert_eq!(run("test", || Ok(7)).ok(), Some(7));
    }
}
