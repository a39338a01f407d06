//! Memory that other processes can map too: anonymous files (`memfd_create`).

use crate::error::{Error, Result};
use crate::memory::PAGE_SIZE;
use std::ffi::{CString, c_void};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A file of memory that has its size for ever: its seals keep whoever else has it from shrinking it under a mapping.
#[derive(Debug)]
pub struct Memfd {
    fd: OwnedFd,
    len: usize,
}

/// What a shared file must be sealed against before its memory is used.
const SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

impl Memfd {
    /// New memory of a size in whole pages, all zero. The name is for those who look into `/proc`.
    pub fn new(name: &str, len: usize) -> Result<Self> {
        let fail = |what: &str| {
            Error::OutOfHostMemory(format!("{what} of {len} bytes: {}", std::io::Error::last_os_error()))
        };
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the name is terminated.
        let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        if fd < 0 {
            return Err(fail("memfd_create"));
        }
        // SAFETY: the call gave a descriptor, which nobody else has.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let size = libc::off_t::try_from(len).map_err(|_| fail("a file"))?;
        // SAFETY: calls on the descriptor.
        let made = unsafe {
            libc::ftruncate(fd.as_raw_fd(), size) == 0
                && libc::fcntl(fd.as_raw_fd(), libc::F_ADD_SEALS, SEALS) == 0
        };
        if !made {
            return Err(fail("a file"));
        }
        Ok(Self { fd, len })
    }

    /// A file that somebody else made. `None` if it is not sealed memory of this user.
    pub fn adopt(fd: OwnedFd) -> Option<Self> {
        // SAFETY: a structure of numbers.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: calls on the descriptor; the structure is valid.
        let (status, seals, user) = unsafe {
            let status = libc::fstat(fd.as_raw_fd(), &mut stat);
            (status, libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS), libc::geteuid())
        };
        let sealed = seals >= 0 && seals & libc::F_SEAL_SHRINK != 0;
        let len = usize::try_from(stat.st_size).ok()?;
        (status == 0 && sealed && stat.st_uid == user && len > 0).then_some(Self { fd, len })
    }

    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Another descriptor of the same file, for the program.
    pub fn duplicate(&self) -> Result<OwnedFd> {
        self.fd.try_clone().map_err(|error| Error::OutOfHostMemory(format!("a file descriptor: {error}")))
    }

    /// Tells this file from all others that exist at the same time.
    pub fn inode(&self) -> Option<u64> {
        // SAFETY: a structure of numbers.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: a call on the descriptor; the structure is valid.
        (unsafe { libc::fstat(self.fd(), &mut stat) } == 0).then_some(stat.st_ino)
    }

    /// Maps a part, in whole pages, somewhere.
    pub fn map(&self, offset: usize, len: usize, alignment: usize) -> Result<usize> {
        let at = reserve(len, alignment).ok_or_else(|| {
            Error::OutOfHostMemory(format!("{len} bytes of addresses: {}", std::io::Error::last_os_error()))
        })?;
        // SAFETY: the addresses were reserved for this just now.
        unsafe { self.map_at(at, offset, len, libc::PROT_READ | libc::PROT_WRITE) }.inspect_err(|_| {
            // SAFETY: as above.
            unsafe { libc::munmap(at as *mut c_void, len) };
        })?;
        Ok(at)
    }

    /// Maps a part, in whole pages, in the place of what is there.
    ///
    /// # Safety
    /// The addresses are the caller's, and nobody counts on what is mapped there.
    pub unsafe fn map_at(&self, at: usize, offset: usize, len: usize, protection: i32) -> Result<()> {
        let fail = |reason: String| Err(Error::OutOfHostMemory(format!("mapping {len} bytes: {reason}")));
        // The last page of a file that others made may be a part of one.
        let whole = self.len.checked_next_multiple_of(PAGE_SIZE).unwrap_or(self.len);
        if offset.checked_add(len).is_none_or(|end| end > whole) {
            return fail(format!("the memory has {} bytes", self.len));
        }
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: the caller's promise.
        let mapped = unsafe {
            libc::mmap(at as *mut c_void, len, protection, flags, self.fd(), offset as libc::off_t)
        };
        if mapped == libc::MAP_FAILED {
            return fail(std::io::Error::last_os_error().to_string());
        }
        Ok(())
    }
}

/// Reserves addresses, in whole pages, that nothing can access.
pub fn reserve(len: usize, alignment: usize) -> Option<usize> {
    reserve_near(0, len, alignment)
}

/// As [`reserve`], at an address if that is free.
pub fn reserve_near(wanted: usize, len: usize, alignment: usize) -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping touches no other memory.
    let map = |at: usize, len, flags| unsafe {
        let memory = libc::mmap(at as *mut c_void, len, libc::PROT_NONE, flags, -1, 0);
        (memory != libc::MAP_FAILED).then_some(memory as usize)
    };
    // SAFETY: only for what was mapped here.
    let unmap = |at: usize, len: usize| unsafe { libc::munmap(at as *mut c_void, len) };
    if wanted != 0
        && let Some(at) = map(wanted, len, flags | libc::MAP_FIXED_NOREPLACE)
    {
        if at == wanted {
            return Some(at);
        }
        // A kernel that does not know the flag.
        unmap(at, len);
    }
    let all = len.checked_add(alignment)?;
    let first = map(0, all, flags)?;
    let start = first.next_multiple_of(alignment);
    if start > first {
        unmap(first, start - first);
    }
    if first + all > start + len {
        unmap(start + len, first + all - start - len);
    }
    Some(start)
}

/// Makes addresses inaccessible, and gives back what memory is mapped there. False: the system refused.
///
/// # Safety
/// The addresses are the caller's, in whole pages, and nobody counts on what is mapped there.
pub unsafe fn make_reserved(at: usize, len: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    // SAFETY: the caller's promise.
    unsafe { libc::mmap(at as *mut c_void, len, libc::PROT_NONE, flags, -1, 0) != libc::MAP_FAILED }
}

/// Gives addresses back.
///
/// # Safety
/// As for [`make_reserved`].
pub unsafe fn unmap(at: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(at as *mut c_void, len) };
}

/// A descriptor of the calling process, for a file that is looked at before it is trusted.
pub fn own_descriptor(fd: RawFd) -> Option<OwnedFd> {
    if fd < 0 {
        return None;
    }
    // SAFETY: the call fails where there is no such descriptor.
    let fd = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    // SAFETY: a new descriptor, which nobody else has.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A descriptor that another process has, if the system lets this one have it: both are the same user's, and the other one
/// lets itself be looked into.
pub fn descriptor_of(process: u32, fd: RawFd) -> Option<OwnedFd> {
    let open = |path: String, flags: i32| {
        let path = CString::new(path).ok()?;
        // SAFETY: the path is terminated.
        let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) };
        // SAFETY: a new descriptor, which nobody else has.
        (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
    };
    // What is behind the number is told by whoever made the handle. Without being opened it does nothing: a device may act,
    // and a pipe may block.
    let place = open(format!("/proc/{process}/fd/{fd}"), libc::O_PATH)?;
    if !is_memory(&place) {
        return None;
    }
    open(format!("/proc/self/fd/{}", place.as_raw_fd()), libc::O_RDWR | libc::O_NONBLOCK)
}

/// Whether a file is a regular one in memory, without a name.
fn is_memory(fd: &OwnedFd) -> bool {
    // SAFETY: structures of numbers.
    let (mut stat, mut system): (libc::stat, libc::statfs) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: calls on the descriptor; the structures are valid.
    let known = unsafe {
        libc::fstat(fd.as_raw_fd(), &mut stat) == 0 && libc::fstatfs(fd.as_raw_fd(), &mut system) == 0
    };
    known
        && stat.st_mode & libc::S_IFMT == libc::S_IFREG
        && stat.st_nlink == 0
        && system.f_type == libc::TMPFS_MAGIC as libc::__fsword_t
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::PAGE_SIZE;
    use std::io::Write;

    #[test]
    fn two_mappings_of_a_file_are_one_memory() {
        let memory = Memfd::new("ze_cpu test", 4 * PAGE_SIZE).expect("memory is there");
        let again = Memfd::adopt(memory.duplicate().expect("a descriptor")).expect("it is sealed");
        let first = memory.map(0, 4 * PAGE_SIZE, PAGE_SIZE).expect("addresses are there");
        let second = again.map(PAGE_SIZE, PAGE_SIZE, 1 << 20).expect("addresses are there");
        assert!(second.is_multiple_of(1 << 20) && memory.inode() == again.inode());
        // SAFETY: both are mapped, the second one page into the first.
        unsafe {
            *((first + PAGE_SIZE + 5) as *mut u8) = 7;
            assert_eq!(*((second + 5) as *const u8), 7);
            unmap(first, 4 * PAGE_SIZE);
            unmap(second, PAGE_SIZE);
        }
        assert!(memory.map(PAGE_SIZE, 4 * PAGE_SIZE, PAGE_SIZE).is_err(), "that is beyond its end");
    }

    #[test]
    fn nobody_can_shrink_what_is_mapped() {
        let memory = Memfd::new("ze_cpu test", PAGE_SIZE).expect("memory is there");
        // SAFETY: a call on the descriptor.
        assert_ne!(unsafe { libc::ftruncate(memory.fd(), 0) }, 0);
    }

    #[test]
    fn only_sealed_memory_is_taken_from_others() {
        // SAFETY: the name is terminated.
        let fd = unsafe { libc::memfd_create(c"open".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        // SAFETY: a new descriptor.
        let mut file = std::fs::File::from(unsafe { OwnedFd::from_raw_fd(fd) });
        file.write_all(&[1; 100]).expect("memory is there");
        assert!(Memfd::adopt(file.into()).is_none(), "its maker could shrink it");
        let file = std::fs::File::open("/proc/self/exe").expect("it runs");
        assert!(Memfd::adopt(file.into()).is_none());
    }

    #[test]
    fn a_descriptor_of_a_process_is_had_for_memory_only() {
        let memory = Memfd::new("ze_cpu test", PAGE_SIZE).expect("memory is there");
        let own = std::process::id();
        let again = Memfd::adopt(descriptor_of(own, memory.fd()).expect("this user's")).expect("sealed");
        assert_eq!(again.inode(), memory.inode());
        let mut pipe = [0; 2];
        // SAFETY: an array of two descriptors.
        assert_eq!(unsafe { libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
        let file = std::fs::File::open("/proc/self/exe").expect("it runs");
        for fd in [pipe[0], pipe[1], file.as_raw_fd(), 1 << 20, -1] {
            assert!(descriptor_of(own, fd).is_none());
        }
        assert!(descriptor_of(0, memory.fd()).is_none() && descriptor_of(u32::MAX, memory.fd()).is_none());
    }

    #[test]
    fn reservations_are_where_they_are_wanted_or_elsewhere() {
        let first = reserve(2 * PAGE_SIZE, 1 << 21).expect("addresses are there");
        assert!(first.is_multiple_of(1 << 21));
        let other = reserve_near(first, PAGE_SIZE, PAGE_SIZE).expect("addresses are there");
        assert_ne!(other, first, "that is in use");
        // SAFETY: these were reserved above.
        unsafe {
            unmap(other, PAGE_SIZE);
            unmap(first, 2 * PAGE_SIZE);
        }
    }
}
