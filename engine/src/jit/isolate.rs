//! Keeps a failure inside LLVM from taking the process down, and LLVM's recursion off small stacks.
//!
//! LLVM reports a fatal error through a handler that must not return: it would `exit`. Every compilation
//! therefore runs on a thread of its own. The handler hands its reason to whoever waits for that thread and
//! parks it for good; what the compilation held is lost, and the process lives.

use super::JitError;
#[cfg(test)]
use super::context::c_string;
use llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::Once;
use std::sync::mpsc::{Sender, channel};

/// Deep expression trees recurse in instruction selection; the caller's stack may be as small as a
/// coroutine's.
const STACK_BYTES: usize = 16 << 20;

/// Tells whoever waits for the compilation why LLVM gave up.
type Report = Box<dyn Fn(String)>;

thread_local! {
    static FAILURE: RefCell<Option<Report>> = const { RefCell::new(None) };
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
    let (sender, receiver) = channel::<Result<T, E>>();
    let on_thread = map.clone();
    let thread = std::thread::Builder::new()
        .name(format!("ze-cpu-jit {name}"))
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let failure: Sender<Result<T, E>> = sender.clone();
            FAILURE.set(Some(Box::new(move |reason| {
                let _ = failure.send(Err(on_thread(JitError::Llvm(reason))));
            })));
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            FAILURE.set(None);
            // A panic has dropped `work`; the closed channel tells the waiting side.
            if let Ok(result) = result {
                let _ = sender.send(result);
            }
        });
    match thread {
        Ok(_) => receiver.recv().unwrap_or_else(|_| {
            Err(map(JitError::Llvm("the compilation panicked; see standard error".into())))
        }),
        Err(error) => Err(map(JitError::Memory(error.kind()))),
    }
}

/// Makes LLVM's fatal errors fail the compilation instead of ending the process. Idempotent.
pub fn install_fatal_error_handler() {
    static INSTALL: Once = Once::new();
    // SAFETY: the handler is a function that lives as long as the program.
    INSTALL.call_once(|| unsafe { LLVMInstallFatalErrorHandler(Some(on_fatal_error)) });
}

extern "C" fn on_fatal_error(reason: *const c_char) {
    // SAFETY: LLVM passes a null-terminated string.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    tracing::error!("LLVM gave up: {reason}");
    let Some(report) = FAILURE.take() else {
        // Not one of our threads: returning lets LLVM end the process as it would have without us.
        return;
    };
    report(reason);
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
