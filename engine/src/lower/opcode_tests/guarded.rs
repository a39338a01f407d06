//! Memory that ends where none can be read, for what loads more than a lane asks for.

use crate::pages::page_size;

/// Memory behind which none can be read.
pub(super) struct Guarded {
    base: *mut libc::c_void,
    bytes: usize,
}

impl Guarded {
    pub fn new(words: usize) -> Guarded {
        let bytes = (4 * words).next_multiple_of(page_size()) + page_size();
        // SAFETY: a new mapping, whose last page is its own.
        let base = unsafe {
            let base = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(base, libc::MAP_FAILED);
            let guard = base.cast::<u8>().add(bytes - page_size());
            assert_eq!(libc::mprotect(guard.cast(), page_size(), libc::PROT_NONE), 0);
            base
        };
        Guarded { base, bytes }
    }

    /// The last words.
    pub fn words(&mut self, count: usize) -> &mut [u32] {
        let end = self.bytes - page_size();
        assert!(4 * count <= end);
        // SAFETY: within the mapping, in front of its last page, and borrowed as it is.
        unsafe { std::slice::from_raw_parts_mut(self.base.cast::<u8>().add(end - 4 * count).cast(), count) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's.
        unsafe { libc::munmap(self.base, self.bytes) };
    }
}
