//! Linker settings of the driver library.

fn main() {
    // The loader closes its drivers when the process ends, while threads of the driver may still run its code.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // Nothing of LLVM's is destroyed when the process ends, for the same reason: see `exit.rs`.
    println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap=__cxa_atexit");
    // Memory that runs out in LLVM does not end the process: see `llvm_memory.rs`.
    for function in ["_Znwm", "_Znam", "_ZnwmSt11align_val_t", "malloc", "calloc", "realloc"] {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--wrap={function}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
