//! Exit: what is alive in the driver stays alive until the process is gone.
//!
//! When a program calls `exit` or returns from `main`, threads of the driver may be inside LLVM, and nothing stops them: a
//! compilation has no point at which it could be told to end. LLVM has several hundred static objects with
//! destructors (options, registries, tables made at first use), each of which registers with `__cxa_atexit` when it is
//! made, and a compilation whose registries go away crashes the process.
//!
//! Waiting for the compilation in an exit handler of our own would not do: handlers run in the reverse order of their
//! registration, so objects that LLVM made after ours was registered would be gone before it ran, and `exit` would take
//! as long as the compilation. Instead nothing is registered at all: the linker binds the calls of `__cxa_atexit` in this
//! library, LLVM's among them, to a function that registers nothing (`--wrap`, see `build.rs`). The library is not unloaded
//! either (`-z nodelete`), so code and data of the driver are whole until the kernel takes the process away: threads may
//! be anywhere, exit takes no time, and destructors of the program may call the API as long as they like.
//! What is not destroyed is memory only. The driver itself writes nothing at exit; a cache entry that was being
//! written is left under its temporary name.
//!
//! Thread-local storage does end: that of the thread that calls `exit` is destroyed before the first handler runs. Code that an
//! API call reaches uses `try_with`, and neither `std::thread::current` nor what needs it (channels, `park`).

// The name that the linker's `--wrap` gives to what stands for `__cxa_atexit`; hidden, so that no other library's calls
// come here.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.__wrap___cxa_atexit,\"ax\",@progbits",
    ".globl __wrap___cxa_atexit",
    ".hidden __wrap___cxa_atexit",
    ".type __wrap___cxa_atexit,@function",
    "__wrap___cxa_atexit:",
    "xor eax, eax",
    "ret",
    ".size __wrap___cxa_atexit, . - __wrap___cxa_atexit",
    ".popsection",
);
