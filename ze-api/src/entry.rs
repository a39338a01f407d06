//! What surrounds every call from C: panics, errors and their reasons.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::CString;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use ze_core::with_room;
use ze_headers::{
    ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_UNKNOWN, ZE_RESULT_NOT_READY, c_char, ze_result_t,
};

/// An error that an entry point may return. Its text is the reason that the program can ask for.
pub trait Failure: Display {
    /// Whether functions with this error do something.
    const IMPLEMENTED: bool = true;

    /// What the C function returns.
    fn result(&self) -> ze_result_t;

    /// Whether something went wrong: a query may also answer with a result code.
    fn is_error(&self) -> bool {
        self.result() != ZE_RESULT_NOT_READY
    }
}

impl Failure for ze_core::error::Error {
    fn result(&self) -> ze_result_t {
        self.code()
    }

    fn is_error(&self) -> bool {
        !matches!(self, Self::NotReady | Self::Answer(_) | Self::DroppedData(_))
    }
}

/// A return type of a C function, and how it says that the call failed.
pub trait Returned: Sized {
    /// What the Rust function gives when it succeeds.
    type Success;
    fn succeeded(value: Self::Success) -> Self;
    fn failed(result: ze_result_t) -> Self;
}

impl Returned for ze_result_t {
    type Success = ();

    fn succeeded((): ()) -> Self {
        ze_headers::ZE_RESULT_SUCCESS
    }

    fn failed(result: ze_result_t) -> Self {
        result
    }
}

impl Returned for u32 {
    type Success = u32;

    fn succeeded(value: u32) -> Self {
        value
    }

    /// `UINT32_MAX`, for 0 is an identifier.
    fn failed(_: ze_result_t) -> Self {
        u32::MAX
    }
}

impl<T> Returned for *mut T {
    type Success = *mut T;

    fn succeeded(value: *mut T) -> Self {
        value
    }

    fn failed(_: ze_result_t) -> Self {
        ptr::null_mut()
    }
}

/// Stack that every function has, also where the program calls it from a thread with less.
const STACK_BYTES: usize = 192 << 10;

/// Runs the body of the C function `name`. A panic ends here: it is logged and becomes `ZE_RESULT_ERROR_UNKNOWN`.
pub fn entry<R: Returned, E: Failure>(name: &'static str, body: impl FnOnce() -> Result<R::Success, E>) -> R {
    let call = || {
        if tracing::enabled!(tracing::Level::TRACE) {
            trace(name);
        }
        match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(value)) => R::succeeded(value),
            Ok(Err(error)) => R::failed(failure(name, &error)),
            Err(panic) => R::failed(panicked(name, panic)),
        }
    };
    // A thread with so little stack that it needs another, and no memory for one, has none for a reason either.
    with_room(STACK_BYTES, call).unwrap_or_else(|_| R::failed(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY))
}

#[cold]
fn trace(name: &'static str) {
    tracing::trace!(function = name, "call");
}

#[cold]
fn failure<E: Failure>(name: &'static str, error: &E) -> ze_result_t {
    let result = error.result();
    // "Not yet" is asked for in loops, and nothing went wrong.
    if error.is_error() {
        let reason = format!("{name}: {error}");
        tracing::debug!(result = format_args!("{:#x}", result.0), "{reason}");
        set_last_error(reason);
    }
    result
}

#[cold]
fn panicked(name: &'static str, panic: Box<dyn Any + Send>) -> ze_result_t {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let reason = format!("{name}: internal error: {message}");
    tracing::error!("{reason}");
    set_last_error(reason);
    ZE_RESULT_ERROR_UNKNOWN
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::new(CString::default());
}

fn set_last_error(reason: String) {
    let mut bytes = reason.into_bytes();
    bytes.retain(|&byte| byte != 0);
    // A thread that is ending, and so calls from a destructor, has no later call that could ask.
    let _ = LAST_ERROR.try_with(|last| *last.borrow_mut() = CString::new(bytes).unwrap_or_default());
}

/// The reason of the last failed call of this thread, empty if there was none. It stays valid until another call of
/// this thread fails.
pub fn last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use ze_headers::{ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, ZE_RESULT_SUCCESS, ze_context_handle_t};

    use super::*;
    use crate::unsupported::Unsupported;

    fn reason() -> String {
        // SAFETY: no call fails while the text is copied.
        unsafe { CStr::from_ptr(last_error()) }.to_str().expect("reasons are UTF-8").to_owned()
    }

    #[derive(Debug)]
    struct NotReady;

    impl std::fmt::Display for NotReady {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("not ready")
        }
    }

    impl Failure for NotReady {
        fn result(&self) -> ze_result_t {
            ZE_RESULT_NOT_READY
        }
    }

    #[test]
    fn an_unsupported_function_is_named_in_the_reason() {
        let result: ze_result_t = entry("zeSomething", || Err(Unsupported));
        assert_eq!(result, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
        assert!(reason().starts_with("zeSomething: "), "{}", reason());
    }

    #[test]
    fn a_panic_is_an_unknown_error_with_its_message() {
        let result: ze_result_t =
            entry("zeSomething", || -> Result<(), Unsupported> { panic!("half a\0word {}", 7) });
        assert_eq!(result, ZE_RESULT_ERROR_UNKNOWN);
        assert_eq!(reason(), "zeSomething: internal error: half aword 7");
    }

    #[test]
    fn not_ready_keeps_the_reason_of_the_last_error() {
        let _: ze_result_t = entry("zeFirst", || Err(Unsupported));
        let before = reason();
        let result: ze_result_t = entry("zeSecond", || Err(NotReady));
        assert_eq!(result, ZE_RESULT_NOT_READY);
        assert_eq!(reason(), before);
    }

    #[test]
    fn success_gives_the_value() {
        let result: ze_result_t = entry("zeSomething", || Ok::<_, Unsupported>(()));
        assert_eq!(result, ZE_RESULT_SUCCESS);
        assert_eq!(entry::<u32, Unsupported>("zerSomething", || Ok(5)), 5);
    }

    #[test]
    fn a_function_that_returns_no_code_returns_nothing_when_it_fails() {
        assert_eq!(entry::<u32, _>("zerSomething", || Err(Unsupported)), u32::MAX);
        assert!(entry::<ze_context_handle_t, _>("zerSomething", || Err(Unsupported)).is_null());
    }

    #[test]
    fn threads_have_reasons_of_their_own() {
        let _: ze_result_t = entry("zeSomething", || Err(Unsupported));
        assert_eq!(std::thread::spawn(reason).join().expect("no panic"), "");
    }
}
