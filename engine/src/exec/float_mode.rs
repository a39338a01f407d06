//! The floating-point mode of the thread that launches.
//!
//! Kernels round to nearest, keep denormals and raise no signals, whatever the application has set for its own
//! thread: programs built for fast math flush denormals, and some unmask exceptions.

/// Sets the kernels' mode for as long as it lives, then the thread's own again.
pub(crate) struct KernelMode {
    /// The thread's mode, if it is another.
    own: Option<u32>,
}

#[cfg(target_arch = "x86_64")]
impl KernelMode {
    /// All exceptions masked, rounding to nearest, denormals kept (Intel SDM volume 1, §10.2.3).
    const DEFAULT: u32 = 0x1f80;
    /// The exceptions that have occurred: no part of the mode.
    const STICKY: u32 = 0x3f;

    pub fn enter() -> KernelMode {
        let own = read();
        let other = own & !KernelMode::STICKY != KernelMode::DEFAULT;
        if other {
            write(KernelMode::DEFAULT);
        }
        KernelMode { own: other.then_some(own) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Drop for KernelMode {
    fn drop(&mut self) {
        if let Some(own) = self.own {
            write(own);
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn read() -> u32 {
    let mut mode = 0u32;
    // SAFETY: stores the control register in the variable.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut mode, options(nostack, preserves_flags)) };
    mode
}

#[cfg(target_arch = "x86_64")]
fn write(mode: u32) {
    // SAFETY: `mode` is what `read` returned, or the default, both valid. Between `enter` and `drop` only
    // kernels compute floating-point numbers.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const mode, options(nostack, preserves_flags)) };
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn thread_gets_its_own_mode_back() {
        const FLUSH_TO_ZERO: u32 = 1 << 15;
        let before = read();
        write(before | FLUSH_TO_ZERO);
        {
            let _mode = KernelMode::enter();
            assert_eq!(read() & !KernelMode::STICKY, KernelMode::DEFAULT);
        }
        assert_eq!(read() & FLUSH_TO_ZERO, FLUSH_TO_ZERO);
        write(before);
    }

    #[test]
    fn usual_mode_is_left_alone() {
        let before = read();
        assert!(KernelMode::enter().own.is_none());
        assert_eq!(read(), before);
    }
}
