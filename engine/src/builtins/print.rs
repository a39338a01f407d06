//! What compiled code calls to print, and when an assertion fails.

use crate::print::{Assertion, Buffer, Call};

/// `printf`, for the lanes of `mask`. Returns the lanes for which it failed.
///
/// # Safety
/// Called by compiled code: `words` is laid out as [`Call`] says, and `buffer` is the launch's, or null.
pub unsafe extern "C" fn ze_cpu_print(
    buffer: *const Buffer,
    words: *const u64,
    arguments: u64,
    rows: u64,
    lanes: u64,
    mask: u64,
) -> u64 {
    let (arguments, rows, lanes) = (arguments as usize, rows as usize, lanes as usize);
    // SAFETY: up to the caller.
    match unsafe { buffer.as_ref() } {
        // SAFETY: as above.
        Some(buffer) => unsafe { buffer.append(&Call { words, arguments, rows, lanes, mask }) },
        None => mask,
    }
}

/// `__devicelib_assert_fail`, for the lanes of `mask`; like [`ze_cpu_print`].
///
/// # Safety
/// As there.
pub unsafe extern "C" fn ze_cpu_assert(
    buffer: *const Buffer,
    words: *const u64,
    arguments: u64,
    rows: u64,
    lanes: u64,
    mask: u64,
) -> u64 {
    let (arguments, rows, lanes) = (arguments as usize, rows as usize, lanes as usize);
    // SAFETY: up to the caller.
    let failed = unsafe { Assertion::first(&Call { words, arguments, rows, lanes, mask }) };
    // SAFETY: as above.
    if let (Some(failed), Some(buffer)) = (failed, unsafe { buffer.as_ref() }) {
        failed.fail(buffer);
    }
    0
}
