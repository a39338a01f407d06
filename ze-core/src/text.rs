//! Texts in the C structures of the API.

use crate::error::Result;
use crate::fallible::check_room;
use std::ffi::{CStr, c_char};

/// Writes a text and its terminating zero, cut where it is too long.
pub fn write(target: &mut [c_char], text: &str) {
    let room = target.len().saturating_sub(1);
    let mut end = text.len().min(room);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (to, from) in target.iter_mut().zip(text.as_bytes()[..end].iter().chain(std::iter::repeat(&0))) {
        *to = *from as c_char;
    }
}

/// The text of a C string of the program's.
pub fn owned(what: &str, text: &CStr) -> Result<String> {
    let bytes = text.count_bytes();
    // As UTF-8, what is none takes up to three times as much.
    check_room(what, if bytes > LONG { bytes.saturating_mul(4) } else { 0 })?;
    Ok(text.to_string_lossy().into_owned())
}

/// Longer texts are not small allocations.
const LONG: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_terminated() {
        let mut target = [1; 4];
        write(&mut target, "ab");
        assert_eq!(target, [b'a' as c_char, b'b' as c_char, 0, 0]);
        write(&mut target, "abcdef");
        assert_eq!(target, [b'a' as c_char, b'b' as c_char, b'c' as c_char, 0]);
        write(&mut target, "abé");
        assert_eq!(target[2], 0);
    }
}
