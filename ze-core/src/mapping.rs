//! Mapped memory for large allocations. What is freed is kept for a while: a program that makes and drops large
//! arrays would otherwise spend most of its time on the page faults of memory that it has just given back.

use crate::fork::Mutex;
use std::ffi::c_void;

/// Alignment with which the system can use huge pages.
pub const HUGE_PAGE: usize = 2 << 20;
/// Bytes of freed memory that are kept.
const KEPT_BYTES: usize = 512 << 20;
/// Bytes behind a mapping that can be read and hold zeros. Kernels that prefetch the next step of a loop read behind the last
/// element, as oneMKL's products of matrices do: a GPU gives them anything, and its drivers do not map less than such a page.
const TAIL: usize = 64 << 10;
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

    /// Gives the memory back: nobody uses it any more.
    pub fn unmap(self) {
        // SAFETY: the mapping is one that `new` made, and whoever had it gave it up.
        unsafe { libc::munmap(self.start as *mut c_void, self.len + TAIL) };
    }
}

/// Freed mappings, the oldest first.
struct Kept {
    mappings: Vec<Mapping>,
    bytes: usize,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept::new());

impl Kept {
    const fn new() -> Self {
        Self { mappings: Vec::new(), bytes: 0 }
    }

    fn take(&mut self, len: usize, alignment: usize) -> Option<Mapping> {
        let fitting = self.mappings.iter().enumerate().filter(|(_, mapping)| mapping.fits(len, alignment));
        let (at, _) = fitting.min_by_key(|(_, mapping)| mapping.len)?;
        let mapping = self.mappings.remove(at);
        self.bytes -= mapping.len;
        Some(mapping)
    }

    fn take_exact(&mut self, len: usize, alignment: usize) -> Option<Mapping> {
        let same = |mapping: &Mapping| mapping.len == len && mapping.start.is_multiple_of(alignment);
        let at = self.mappings.iter().position(same)?;
        self.bytes -= len;
        Some(self.mappings.remove(at))
    }

    fn add(&mut self, mapping: Mapping) {
        if mapping.len > KEPT_BYTES / 2 || self.mappings.try_reserve(1).is_err() {
            return mapping.unmap();
        }
        self.bytes += mapping.len;
        self.mappings.push(mapping);
        while self.bytes > KEPT_BYTES {
            let oldest = self.mappings.remove(0);
            self.bytes -= oldest.len;
            oldest.unmap();
        }
    }

    /// Gives back everything. Returns whether there was anything.
    fn give_back(&mut self) -> bool {
        let any = !self.mappings.is_empty();
        self.mappings.drain(..).for_each(|mapping| mapping.unmap());
        self.bytes = 0;
        any
    }
}

/// A kept mapping for a size in whole pages: the smallest that fits.
pub fn take_kept(len: usize, alignment: usize) -> Option<Mapping> {
    KEPT.lock().take(len, alignment)
}

/// As [`take_kept`], with this length and no other.
pub fn take_exact(len: usize, alignment: usize) -> Option<Mapping> {
    KEPT.lock().take_exact(len, alignment)
}

/// Keeps a freed mapping in the place of older ones, or gives it back.
pub fn keep(mapping: Mapping) {
    KEPT.lock().add(mapping);
}

/// Gives back all that is kept, because memory is wanted. Returns whether there was any. It allocates nothing and waits for
/// no lock: an allocator calls it, perhaps from inside of `keep`.
pub fn give_back() -> bool {
    KEPT.try_lock().is_some_and(|mut kept| kept.give_back())
}

/// Maps new memory of a size in whole pages; the alignment is a power of two of at least a page. What is kept is given
/// back before this fails.
pub fn new(len: usize, alignment: usize) -> Option<Mapping> {
    map(len, alignment).or_else(|| if give_back() { map(len, alignment) } else { None })
}

/// Maps new private memory in the place of what is there. False: the system refused.
///
/// # Safety
/// The addresses are the caller's, in whole pages, and nobody counts on what is mapped there.
pub unsafe fn renew(start: usize, len: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the caller's promise.
    unsafe { libc::mmap(start as *mut c_void, len, protection, flags, -1, 0) != libc::MAP_FAILED }
}

fn map(len: usize, alignment: usize) -> Option<Mapping> {
    let reserved = len.checked_add(TAIL)?.checked_add(alignment)?;
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
        if first + reserved > end + TAIL {
            libc::munmap((end + TAIL) as *mut c_void, first + reserved - end - TAIL);
        }
        // Where that fails, because there are too many mappings, it is as good as the rest.
        libc::mprotect(end as *mut c_void, TAIL, libc::PROT_READ);
        libc::madvise(start as *mut c_void, len, libc::MADV_HUGEPAGE);
    }
    Some(Mapping { start, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_is_used_again_for_similar_sizes() {
        let mut kept = Kept::new();
        let len = (37 << 20) + 4096;
        let mapping = new(len, HUGE_PAGE).expect("memory is there");
        assert!(mapping.start.is_multiple_of(HUGE_PAGE));
        kept.add(mapping);
        assert_eq!(kept.take(len / 2, HUGE_PAGE), None);
        assert_eq!(kept.take(len + 4096, HUGE_PAGE), None);
        assert_eq!(kept.take_exact(len - 4096, HUGE_PAGE), None);
        assert_eq!(kept.take_exact(len, HUGE_PAGE), Some(mapping));
        kept.add(mapping);
        assert_eq!(kept.take(len - 4096, HUGE_PAGE), Some(mapping));
        assert_eq!(kept.take(len - 4096, HUGE_PAGE), None);
        mapping.unmap();
    }

    #[test]
    fn what_is_read_behind_a_mapping_is_zero() {
        let mapping = new(3 * 4096, 4096).expect("memory is there");
        let behind = (mapping.start + mapping.len) as *const u64;
        // SAFETY: the subject of the test; nobody writes there.
        let words = (0..TAIL / 8).map(|at| unsafe { behind.add(at).read_volatile() });
        assert!(words.into_iter().all(|word| word == 0));
        mapping.unmap();
    }

    #[test]
    fn only_so_much_is_kept_and_all_of_it_can_be_had_back() {
        let mut kept = Kept::new();
        assert!(!kept.give_back());
        for _ in 0..3 {
            kept.add(new(KEPT_BYTES / 2, HUGE_PAGE).expect("addresses are there"));
        }
        assert!(kept.bytes <= KEPT_BYTES);
        kept.add(new(KEPT_BYTES, HUGE_PAGE).expect("addresses are there"));
        assert!(kept.bytes <= KEPT_BYTES);
        assert!(kept.give_back() && !kept.give_back());
        assert_eq!((kept.bytes, kept.mappings.len()), (0, 0));
    }
}
