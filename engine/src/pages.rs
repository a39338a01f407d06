//! Pages of memory from the system. What is kept for later use is given back before any of it fails.

use crate::reserve;
use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Bytes of a page.
pub fn page_size() -> usize {
    // SAFETY: reads a system constant.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Maps new pages; what is kept is given back before that fails.
fn map(bytes: usize, protection: i32, flags: i32) -> io::Result<NonNull<u8>> {
    let map = || {
        // SAFETY: a new private mapping, which touches nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, PRIVATE | flags, -1, 0) };
        if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base.cast::<u8>()) }
    };
    let base = map().or_else(|error| if reserve::give_back() { map() } else { Err(error) })?;
    NonNull::new(base).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// A private mapping of zeros that can be read and written, until it is dropped.
#[derive(Debug)]
pub struct Pages {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: memory is no thread's; who has a pointer into it sees to its own accesses.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    pub fn new(bytes: usize) -> io::Result<Pages> {
        Ok(Pages { base: map(bytes, READ_WRITE, 0)?, bytes })
    }

    /// Memory that is taken as it is touched, of which there may be more than the system has.
    pub fn sparse(bytes: usize) -> io::Result<Pages> {
        Ok(Pages { base: map(bytes, READ_WRITE, libc::MAP_NORESERVE)?, bytes })
    }

    /// As [`sparse`](Self::sparse), for stacks.
    pub fn for_stacks(bytes: usize) -> io::Result<Pages> {
        Ok(Pages { base: map(bytes, READ_WRITE, libc::MAP_NORESERVE | libc::MAP_STACK)?, bytes })
    }

    /// As [`sparse`](Self::sparse), in pages as large as the processor has them where the system does that.
    pub fn huge(bytes: usize) -> io::Result<Pages> {
        let pages = Self::sparse(bytes)?;
        // SAFETY: the mapping is ours; where the advice is not taken, the pages are small ones.
        unsafe { libc::madvise(pages.base.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        Ok(pages)
    }

    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Says what the pages at these offsets are for: `PROT_READ` and the like.
    pub fn protect(&self, range: Range<usize>, protection: i32) -> io::Result<()> {
        assert!(range.start <= range.end && range.end <= self.bytes, "inside of the mapping");
        if range.is_empty() {
            return Ok(());
        }
        // SAFETY: inside of the mapping, which is ours; the system refuses what is no start of a page.
        let status =
            unsafe { libc::mprotect(self.base.add(range.start).as_ptr().cast(), range.len(), protection) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever uses it holds `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// A table that stays where it is as it grows, and is never given back. It takes addresses for all of it at once, and memory
/// for what is used: the rest counts as nobody's data (`RLIMIT_DATA`) and cannot be accessed.
#[derive(Debug, Default)]
pub struct Table {
    start: usize,
    capacity: usize,
    /// Bytes from the start that can be accessed.
    usable: AtomicUsize,
}

impl Table {
    /// Bytes by which a table grows.
    const STEP: usize = 1 << 20;

    /// A table of the first of these sizes, in bytes and multiples of a page, for which there are addresses. The first is
    /// for those who have plenty: where addresses are limited (`ulimit -v`), the program needs them for itself. Without any
    /// addresses the table has room for nothing.
    pub fn new(sizes: &[usize]) -> Table {
        let from = usize::from(address_space_is_limited()).min(sizes.len());
        let found = sizes[from..].iter().find_map(|&capacity| {
            let base = map(capacity, libc::PROT_NONE, libc::MAP_NORESERVE).ok()?;
            Some(Table { start: base.as_ptr() as usize, capacity, usable: AtomicUsize::new(0) })
        });
        found.unwrap_or_default()
    }

    pub fn start(&self) -> usize {
        self.start
    }

    /// Bytes that it can grow to.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes from the start that can be accessed: once written they stay readable for ever.
    #[inline]
    pub fn usable(&self) -> usize {
        self.usable.load(Ordering::Acquire)
    }

    /// Makes the first bytes accessible. Whether there is memory for them. Not for two threads at once.
    pub fn grow_to(&self, bytes: usize) -> bool {
        let usable = self.usable();
        if bytes <= usable {
            return true;
        }
        let grown = bytes.next_multiple_of(Self::STEP).min(self.capacity);
        if bytes > grown {
            return false;
        }
        // SAFETY: pages of the table's own mapping, which is never given back.
        let make = || unsafe {
            libc::mprotect((self.start + usable) as *mut c_void, grown - usable, READ_WRITE) == 0
        };
        let done = make() || reserve::give_back() && make();
        if done {
            self.usable.store(grown, Ordering::Release);
        }
        done
    }
}

/// Whether the process may use only so many addresses.
fn address_space_is_limited() -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the call writes the structure.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    status == 0 && limit.rlim_cur != libc::RLIM_INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeros_and_what_no_machine_has_is_an_error() {
        let pages = Pages::new(5000).expect("memory is there");
        // SAFETY: inside of the mapping.
        assert!((0..5000).all(|at| unsafe { pages.base().add(at).read() } == 0));
        assert_eq!(
            Pages::sparse(1 << 60).map_err(|error| error.kind()).err(),
            Some(io::ErrorKind::OutOfMemory)
        );
        assert!(pages.protect(1..5000, libc::PROT_READ).is_err(), "no page begins there");
        pages.protect(0..page_size(), libc::PROT_NONE).expect("a page of its own");
        // SAFETY: inside of the mapping, behind the first page.
        assert_eq!(unsafe { pages.base().add(page_size()).read() }, 0);
    }

    #[test]
    fn a_table_grows_where_it_is() {
        let table = Table::new(&[4 << 20, 4 << 20]);
        assert_eq!((table.capacity(), table.usable()), (4 << 20, 0));
        assert!(table.grow_to(100) && table.usable() >= 100);
        // SAFETY: the bytes are usable.
        unsafe { ((table.start() + 96) as *mut u32).write(7) };
        assert!(table.grow_to(3 << 20) && !table.grow_to((4 << 20) + 1) && table.grow_to(4 << 20));
        // SAFETY: as above; the last bytes are usable by now.
        unsafe {
            assert_eq!(((table.start() + 96) as *const u32).read(), 7);
            assert_eq!(((table.start() + (4 << 20) - 4) as *const u32).read(), 0);
        }
        assert_eq!(Table::new(&[1 << 60]).capacity(), 0);
    }
}
