//! Memory that runs out in LLVM ends the compilation, not the process.
//!
//! LLVM is compiled without exceptions: where C++'s `operator new` throws, nothing catches, and the C++ library ends the
//! process. So the linker binds the calls of `operator new` in this library, which are LLVM's, to functions that never
//! throw in a compilation (`--wrap`, see `build.rs`). They allocate with the forms that return null instead, so that a program that
//! brings its own `operator new` and `operator delete` gets back what is its own; when those fail, what the driver keeps is given
//! back; and when that is not enough, the thread stays here and its compilation reports that memory ran out.
//! The reserve (`ze_engine::reserve`) is left alone: the report needs it.
//!
//! LLVM's lists come from `malloc`, whose failure it takes as final. So the calls of that family are bound to functions, too, which
//! give back what is kept and try again.

use std::ffi::c_void;
use ze_engine::{jit::isolate, reserve};

/// C++'s `std::nothrow_t`.
#[repr(C)]
struct NoThrow(u8);

// Of the C++ library, by the names that the Itanium C++ ABI, §5.1, gives them.
unsafe extern "C" {
    #[link_name = "_ZSt7nothrow"]
    static NO_THROW: NoThrow;
    #[link_name = "_ZnwmRKSt9nothrow_t"]
    fn new_or_null(bytes: usize, _: &NoThrow) -> *mut c_void;
    #[link_name = "_ZnamRKSt9nothrow_t"]
    fn new_array_or_null(bytes: usize, _: &NoThrow) -> *mut c_void;
    #[link_name = "_ZnwmSt11align_val_tRKSt9nothrow_t"]
    fn new_aligned_or_null(bytes: usize, align: usize, _: &NoThrow) -> *mut c_void;
}

unsafe extern "C-unwind" {
    #[link_name = "_ZSt17__throw_bad_allocv"]
    fn throw_bad_alloc() -> !;
}

// The functions that the linker's `--wrap` has put others in the place of; in unit tests it has not.
unsafe extern "C" {
    #[cfg_attr(not(test), link_name = "__real_malloc")]
    #[cfg_attr(test, link_name = "malloc")]
    fn real_malloc(bytes: usize) -> *mut c_void;
    #[cfg_attr(not(test), link_name = "__real_calloc")]
    #[cfg_attr(test, link_name = "calloc")]
    fn real_calloc(count: usize, bytes: usize) -> *mut c_void;
    #[cfg_attr(not(test), link_name = "__real_realloc")]
    #[cfg_attr(test, link_name = "realloc")]
    fn real_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void;
}

/// What `allocate` returns, after what is kept was given back where that is null. Null for no bytes is an answer.
#[inline]
fn allocate_or_null(bytes: usize, allocate: impl Fn() -> *mut c_void) -> *mut c_void {
    let memory = allocate();
    if memory.is_null() && bytes != 0 && reserve::give_back() { allocate() } else { memory }
}

extern "C" fn malloc(bytes: usize) -> *mut c_void {
    // SAFETY: as C calls it, here and below.
    allocate_or_null(bytes, || unsafe { real_malloc(bytes) })
}

extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: see `malloc`.
    allocate_or_null(count.saturating_mul(bytes), || unsafe { real_calloc(count, bytes) })
}

extern "C" fn realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: see `malloc`; what failed has left the old memory as it was.
    allocate_or_null(bytes, || unsafe { real_realloc(memory, bytes) })
}

/// What `allocate` returns, once it is not null.
fn allocate(allocate: impl Fn() -> *mut c_void) -> Option<*mut c_void> {
    let memory = allocate();
    if !memory.is_null() {
        return Some(memory);
    }
    again(allocate)
}

#[cold]
fn again(allocate: impl Fn() -> *mut c_void) -> Option<*mut c_void> {
    if reserve::give_back() {
        let memory = allocate();
        if !memory.is_null() {
            return Some(memory);
        }
    }
    isolate::out_of_memory();
    None
}

extern "C-unwind" fn new(bytes: usize) -> *mut c_void {
    // SAFETY: as C++ calls it. What is thrown outside of a compilation is what the caller expects.
    unsafe { allocate(|| new_or_null(bytes, &NO_THROW)).unwrap_or_else(|| throw_bad_alloc()) }
}

extern "C-unwind" fn new_array(bytes: usize) -> *mut c_void {
    // SAFETY: see `new`.
    unsafe { allocate(|| new_array_or_null(bytes, &NO_THROW)).unwrap_or_else(|| throw_bad_alloc()) }
}

extern "C-unwind" fn new_aligned(bytes: usize, align: usize) -> *mut c_void {
    // SAFETY: see `new`.
    unsafe { allocate(|| new_aligned_or_null(bytes, align, &NO_THROW)).unwrap_or_else(|| throw_bad_alloc()) }
}

/// Defines the name that the linker's `--wrap` gives to what stands for a function; hidden, so that no other library's calls
/// come here.
macro_rules! wrap {
    ($($name:literal $function:ident)*) => {$(
        #[cfg(target_arch = "x86_64")]
        std::arch::global_asm!(
            concat!(".pushsection .text.__wrap_", $name, ",\"ax\",@progbits"),
            concat!(".globl __wrap_", $name),
            concat!(".hidden __wrap_", $name),
            concat!(".type __wrap_", $name, ",@function"),
            concat!("__wrap_", $name, ":"),
            "jmp {}",
            concat!(".size __wrap_", $name, ", . - __wrap_", $name),
            ".popsection",
            sym $function,
        );
    )*};
}
wrap! {
    "_Znwm" new
    "_Znam" new_array
    "_ZnwmSt11align_val_t" new_aligned
    "malloc" malloc
    "calloc" calloc
    "realloc" realloc
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static ASKED: AtomicUsize = AtomicUsize::new(0);

    fn give_back() -> bool {
        ASKED.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Whether what is kept was asked for. Another test may put the driver's keeper in the place of this one.
    fn asks(allocate: impl Fn()) -> bool {
        (0..100).any(|_| {
            reserve::set_keeper(give_back);
            let before = ASKED.load(Ordering::Relaxed);
            allocate();
            ASKED.load(Ordering::Relaxed) > before
        })
    }

    #[test]
    fn what_is_kept_is_given_back_before_malloc_fails() {
        // More than there are addresses, and not known to whoever compiles this.
        let bytes = std::hint::black_box(1usize << 60);
        assert!(asks(|| assert!(malloc(bytes).is_null())));
        assert!(asks(|| assert!(calloc(bytes, 2).is_null())));
        assert!(asks(|| {
            let memory = malloc(std::hint::black_box(8));
            assert!(!memory.is_null() && realloc(memory, bytes).is_null());
            // SAFETY: what could not grow is there as it was.
            unsafe { libc::free(memory) };
        }));
    }
}
