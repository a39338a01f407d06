//! Keeps a failure inside LLVM from taking the process down, and LLVM's recursion off small stacks.
//!
//! LLVM reports a fatal error through a handler that must not return: it would `exit`. Every compilation
//! therefore runs on a thread of its own. The handler hands its reason to whoever waits for that thread and
//! parks it for good; what the compilation held is lost, and the process lives.

use super::JitError;
#[cfg(test)]
use super::context::c_string;
use crate::fork::{self, Compilation, Mutex, OnceLock};
use crate::futex::{Counter, Deadline};
use llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::Arc;

/// Deep expression trees recurse in instruction selection; the caller's stack may be as small as a
/// coroutine's.
const STACK_BYTES: usize = 16 << 20;

/// What a thread compiles.
struct Running {
    /// Tells whoever waits for the compilation why LLVM gave up.
    report: Box<dyn Fn(String)>,
    /// A process that forks waits for its end.
    _compilation: Compilation,
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
}

impl<R> Handover<R> {
    fn give(&self, result: R) {
        self.result.lock().get_or_insert(result);
        self.over.set(1);
    }

    /// The result; none where the compilation panicked.
    fn wait(&self) -> Option<R> {
        self.over.wait(Deadline::Never, |over| over != 0);
        self.result.lock().take()
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
    let handover = Arc::new(Handover { result: Mutex::new(None), over: Counter::new(0) });
    let (theirs, failed, on_thread) = (Arc::clone(&handover), Arc::clone(&handover), map.clone());
    let thread = std::thread::Builder::new()
        .name(format!("ze-cpu-jit {name}"))
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let report = Box::new(move |reason| failed.give(Err(on_thread(JitError::Llvm(reason)))));
            RUNNING.set(Some(Running { report, _compilation: fork::compilation() }));
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            RUNNING.set(None);
            match result {
                Ok(result) => theirs.give(result),
                Err(_) => theirs.over.set(1),
            }
        });
    match thread {
        Ok(_) => handover.wait().unwrap_or_else(|| {
            Err(map(JitError::Llvm("the compilation panicked; see standard error".into())))
        }),
        Err(error) => Err(map(JitError::Memory(error.kind()))),
    }
}

/// Makes LLVM's fatal errors fail the compilation instead of ending the process. Idempotent.
pub fn install_fatal_error_handler() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    // SAFETY: the handler is a function that lives as long as the program.
    INSTALLED.get_or_init(|| unsafe { LLVMInstallFatalErrorHandler(Some(on_fatal_error)) });
}

extern "C" fn on_fatal_error(reason: *const c_char) {
    // SAFETY: LLVM passes a null-terminated string.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    tracing::error!("LLVM gave up: {reason}");
    let Some(running) = RUNNING.take() else {
        // Not one of our threads: returning lets LLVM end the process as it would have without us.
        return;
    };
    (running.report)(reason);
    // Nobody waits for this thread any more, nor does a fork.
    drop(running);
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
    fn result_is_handed_over() {
        assert_eq!(run("test", || Ok(7)).ok(), Some(7));
    }
}
