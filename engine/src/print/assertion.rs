//! `__devicelib_assert_fail`: what SYCL's `assert` calls in device code.

use super::output::write_all;
use super::{Buffer, Call};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A work-item's failed assertion.
#[derive(Clone, Copy, Debug)]
pub struct Assertion {
    pub expression: u64,
    pub file: u64,
    pub line: i32,
    pub function: u64,
    pub global_id: [u64; 3],
    pub local_id: [u64; 3],
}

/// Some work-item's assertion failed: the process is about to end.
static FAILED: AtomicBool = AtomicBool::new(false);

impl Assertion {
    /// The first work-item's of a call whose rows are the parameters of `__devicelib_assert_fail`.
    ///
    /// # Safety
    /// The call is as compiled code makes it.
    pub unsafe fn first(call: &Call) -> Option<Assertion> {
        let lane = call.active().next()?;
        // SAFETY: passed on to the caller.
        let word = |row: usize| unsafe { call.value(row, lane) };
        Some(Assertion {
            expression: word(0),
            file: word(1),
            line: word(2) as i32,
            function: word(3),
            global_id: [word(4), word(5), word(6)],
            local_id: [word(7), word(8), word(9)],
        })
    }

    fn message(&self, buffer: &Buffer) -> Vec<u8> {
        let mut text = Vec::new();
        let string = |address: u64| buffer.globals().string(address).unwrap_or_else(|| b"<unknown>".to_vec());
        text.extend(string(self.file));
        let _ = write!(text, ":{}: ", self.line);
        text.extend(string(self.function));
        let ([x, y, z], [a, b, c]) = (self.global_id, self.local_id);
        let _ = write!(text, ": global id: [{x},{y},{z}], local id: [{a},{b},{c}] Assertion `");
        text.extend(string(self.expression));
        text.extend(b"` failed.\n");
        text
    }

    /// Writes what the launch has printed so far and the message, and ends the process. If several work-items fail at
    /// the same time, one of them does.
    pub fn fail(&self, buffer: &Buffer) -> ! {
        if FAILED.swap(true, Ordering::AcqRel) {
            loop {
                std::thread::sleep(Duration::MAX);
            }
        }
        buffer.flush();
        write_all(libc::STDERR_FILENO, &self.message(buffer));
        // SAFETY: ends the process as the C library's `assert` does.
        unsafe { libc::abort() }
    }
}
