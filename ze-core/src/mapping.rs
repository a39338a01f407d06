//! Mapped memory for large allocations. What is freed is kept for a while: a program that makes and drops large
//! arrays would otherwise spend most of its time on the page faults of memory that it has just given back.

use crate::fork::Mutex;
use std::ffi::c_void;

/// Alignment with which the system can use huge pages.
pub const HUGE_PAGE: usize = 2 << 20;
/// Bytes of freed memory that are kept.
const KEPT_BYTES: usize = 512 << 20;
/// A kept mapping is used for sizes from this part of its own on: 3/4.
const FIT: (usize, usize) = (3, 4);

/// A mapping of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    pub start: usize,
    pub len: usize,
}

impl Mapping {
    fn fits(&self, len: usize, alignment: usize) -> bool {
        let (numerator, denominator) = FIT;
        let enough = self.len >= len && len >= self.len / denominator * numerator;
        enough && self.start.is_multiple_of(alignment)
    }

    fn unmap(self) {
        // SAFETY: the mapping is one that `new` made, and whoever had it gave it up.
        unsafe { libc::munmap(self.start as *mut c_void, self.len) };
    }
}

/// Freed mappings, the oldest first.
struct Kept {
    mappings: Vec<Mapping>,
    bytes: usize,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { mappings: Vec::new(), bytes: 0 });

/// A kept mapping for a size in whole pages: the smallest that fits.
pub fn take_kept(len: usize, alignment: usize) -> Option<Mapping> {
    let mut kept = KEPT.lock();
    let fitting = kept.mappings.iter().enumerate().filter(|(_, mapping)| mapping.fits(len, alignment));
    let (at, _) = fitting.min_by_key(|(_, mapping)| mapping.len)?;
    let mapping = kept.mappings.remove(at);
    kept.bytes -= mapping.len;
    Some(mapping)
}

/// Keeps a freed mapping in the place of older ones, or gives it back.
pub fn keep(mapping: Mapping) {
    if mapping.len > KEPT_BYTES / 2 {
        return mapping.unmap();
    }
    let mut kept = KEPT.lock();
    kept.bytes += mapping.len;
    kept.mappings.push(mapping);
    while kept.bytes > KEPT_BYTES {
        let oldest = kept.mappings.remove(0);
        kept.bytes -= oldest.len;
        oldest.unmap();
    }
}

/// Maps new memory of a size in whole pages; the alignment is a power of two of at least a page.
pub fn new(len: usize, alignment: usize) -> Option<Mapping> {
    let reserved = len.checked_add(alignment)?;
    // SAFETY: a new private anonymous mapping touches no other memory.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            reserved,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return None;
    }
    let first = memory as usize;
    let start = first.next_multiple_of(alignment);
    let end = start + len;
    // SAFETY: both ranges are the ends of the new mapping, outside of what is handed out; the advice is on the rest.
    unsafe {
        if start > first {
            libc::munmap(first as *mut c_void, start - first);
        }
        if first + reserved > end {
            libc::munmap(end as *mut c_void, first + reserved - end);
        }
        libc::madvise(start as *mut c_void, len, libc::MADV_HUGEPAGE);
    }
    Some(Mapping { start, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, as what is kept is one for the process.
    #[test]
    fn freed_memory_is_used_again_for_similar_sizes_and_only_so_much_is_kept() {
        // A length that no other test uses.
        let len = (37 << 20) + 4096;
        let mapping = new(len, HUGE_PAGE).expect("memory is there");
        assert!(mapping.start.is_multiple_of(HUGE_PAGE));
        keep(mapping);
        assert_eq!(take_kept(len / 2, HUGE_PAGE), None);
        assert_eq!(take_kept(len + 4096, HUGE_PAGE), None);
        assert_eq!(take_kept(len - 4096, HUGE_PAGE), Some(mapping));
        mapping.unmap();
        for _ in 0..3 {
            keep(new(KEPT_BYTES / 2, HUGE_PAGE).expect("addresses are there"));
        }
        assert!(KEPT.lock().bytes <= KEPT_BYTES);
        keep(new(KEPT_BYTES, HUGE_PAGE).expect("addresses are there"));
        assert!(KEPT.lock().bytes <= KEPT_BYTES);
    }
}
