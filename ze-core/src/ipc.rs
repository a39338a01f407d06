//! IPC handles of memory: 64 bytes that name a file of memory, and a part of it.
//!
//! Whoever has a handle can open it if the system lets it have the file, and nothing in the handle is believed that the file
//! does not confirm. A process finds the file in two ways. The first four bytes are a descriptor of the exporting
//! process: programs that send descriptors through sockets put the number there that they received. (oneCCL keeps nothing else of a
//! handle: a descriptor with zeros behind it is all of its file.) Otherwise the file is
//! opened through `/proc`, which the kernel allows to processes of the same user that could look into each other.
//! `pidfd_getfd` would ask for more, namely that they could stop each other, which Ubuntu's kernels refuse; and a socket of our
//! own would need a thread in each exporting process, and other users could connect to it.

use crate::allocations::Range;
use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::external_memory::{self, Shared};
use crate::handle;
use crate::memfd::{self, Memfd};
use crate::memory::{MemoryKind, PAGE_SIZE};
use crate::physical_memory::PhysicalMemory;
use std::ffi::c_void;
use std::os::fd::RawFd;
use std::sync::Arc;
use ze_headers::*;

/// What stands in a handle behind the descriptor. All numbers are the machine's.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Contents {
    /// Of whoever has the handle, or of the exporting process.
    pub fd: i32,
    pub magic: u32,
    /// The exporting process, and the file there.
    pub process: u32,
    pub source: i32,
    pub inode: u64,
    pub offset: u64,
    pub len: u64,
    /// `ze_memory_type_t`, or what else the handle's kind needs.
    pub kind: u32,
    pub unused: [u32; 5],
}

const _: () = assert!(size_of::<Contents>() == ZE_MAX_IPC_HANDLE_SIZE as usize);

impl Contents {
    /// # Safety
    /// `T` is a structure of 64 bytes that can have any value.
    pub unsafe fn read<T>(handle: &T) -> Self {
        const { assert!(size_of::<T>() == size_of::<Contents>()) };
        // SAFETY: the caller's promise; the fields can have any value.
        unsafe { std::ptr::from_ref(handle).cast::<Contents>().read_unaligned() }
    }

    /// # Safety
    /// As for [`read`](Self::read).
    pub unsafe fn write<T>(self, handle: &mut T) {
        const { assert!(size_of::<T>() == size_of::<Contents>()) };
        // SAFETY: the caller's promise.
        unsafe { std::ptr::from_mut(handle).cast::<Contents>().write_unaligned(self) }
    }

    /// Fills in what names the file.
    pub fn of(magic: u32, shared: &Shared, exported: RawFd) -> Self {
        Self {
            fd: exported,
            magic,
            process: std::process::id(),
            source: shared.memory().fd(),
            inode: shared.inode(),
            offset: 0,
            len: 0,
            kind: 0,
            unused: [0; 5],
        }
    }

    /// The memory behind a descriptor that a program has put into a handle without the rest: it came to this process through a socket. Not everybody
    /// clears what is behind it. None if it is a handle of this driver, or no memory.
    fn bare(&self) -> Option<Arc<Shared>> {
        const OWN: [u8; 2] = *b"zC";
        let is_bare = self.fd > 0 && !self.magic.to_le_bytes().starts_with(&OWN);
        is_bare.then(|| external_memory::import(self.fd, 1).ok()).flatten()
    }

    /// The file that a handle names.
    pub fn find(&self, magic: u32) -> Result<Memfd> {
        let invalid = |reason: &str| Error::InvalidArgument(format!("the IPC handle {reason}"));
        if self.magic != magic {
            return Err(invalid("is none of this driver's"));
        }
        let is_it = |memory: &Memfd| memory.inode() == Some(self.inode);
        let own = memfd::own_descriptor(self.fd).and_then(Memfd::adopt).filter(is_it);
        let found = own.or_else(|| {
            [self.source, self.fd]
                .into_iter()
                .filter_map(|fd| memfd::descriptor_of(self.process, fd))
                .find_map(|fd| Memfd::adopt(fd).filter(is_it))
        });
        found.ok_or_else(|| {
            invalid("names memory that is gone, or of a process that this one may not look into")
        })
    }
}

/// Marks handles of memory.
const MAGIC: u32 = u32::from_le_bytes(*b"zCm1");

impl Context {
    /// `zeMemGetIpcHandle`: for the start of an allocation, of mapped physical memory, or for the handle of a
    /// physical memory object.
    pub fn ipc_handle(&self, address: *const c_void) -> Result<ze_ipc_mem_handle_t> {
        let (shared, offset, len, kind) = if let Ok(memory) = handle::get::<PhysicalMemory>(address as _) {
            (Arc::clone(memory.shared()), 0, memory.size(), memory.kind())
        } else {
            let memory = self.find_allocation(address).filter(|memory| memory.base() == address as usize);
            let memory = memory.ok_or_else(|| {
                Error::InvalidArgument(format!("{address:p} is not the start of an allocation"))
            })?;
            let place = memory.share(self.driver())?;
            // Intel's driver hands on shared memory as memory of the device, which oneCCL counts on.
            let kind = match memory.kind() {
                MemoryKind::Shared => MemoryKind::Device,
                kind => kind,
            };
            (place.memory, place.offset, memory.size(), kind)
        };
        self.ipc_handle_of(&shared, (offset, len), kind)
    }

    fn ipc_handle_of(
        &self,
        shared: &Arc<Shared>,
        (offset, len): (usize, usize),
        kind: MemoryKind,
    ) -> Result<ze_ipc_mem_handle_t> {
        let exported = shared.exported(self.driver().shared())?;
        let contents = Contents {
            offset: offset as u64,
            len: len as u64,
            kind: kind.code().0,
            ..Contents::of(MAGIC, shared, exported)
        };
        let mut handle = ze_ipc_mem_handle_t::default();
        // SAFETY: an array of bytes.
        unsafe { contents.write(&mut handle) };
        Ok(handle)
    }

    /// `zeMemGetIpcHandleFromFileDescriptorExp`: for a descriptor that the program got from the driver.
    pub fn ipc_handle_of_descriptor(&self, fd: u64) -> Result<ze_ipc_mem_handle_t> {
        let fd = RawFd::try_from(fd).unwrap_or(-1);
        let memory = external_memory::import(fd, 1)?;
        let shared = self.driver().shared().find(memory.inode()).unwrap_or(memory);
        let len = shared.memory().len();
        self.ipc_handle_of(&shared, (0, len), MemoryKind::Device)
    }

    /// `zeMemGetFileDescriptorFromIpcHandleExp`.
    pub fn descriptor_of_ipc_handle(&self, handle: &ze_ipc_mem_handle_t) -> Result<u64> {
        let (contents, shared) = self.exported_as(handle)?;
        if !shared.is_behind(contents.fd) {
            return Err(Error::InvalidArgument("the descriptor in the IPC handle is closed".into()));
        }
        Ok(contents.fd as u64)
    }

    /// `zeMemPutIpcHandle`. Who frees memory has put the handles of it; MPICH does both, in that order.
    pub fn put_ipc_handle(&self, handle: &ze_ipc_mem_handle_t) -> Result<()> {
        match self.exported_as(handle) {
            Ok((_, shared)) => shared.put(),
            Err(error) => {
                // SAFETY: an array of bytes.
                let contents = unsafe { Contents::read(handle) };
                if contents.magic != MAGIC || contents.process != std::process::id() {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The memory that this process has made a handle of.
    fn exported_as(&self, handle: &ze_ipc_mem_handle_t) -> Result<(Contents, Arc<Shared>)> {
        // SAFETY: an array of bytes.
        let contents = unsafe { Contents::read(handle) };
        let shared = self.driver().shared().find(contents.inode).filter(|_| contents.magic == MAGIC);
        let shared =
            shared.ok_or_else(|| Error::InvalidArgument("the IPC handle is none of this process".into()))?;
        Ok((contents, shared))
    }

    /// `zeMemOpenIpcHandle`.
    pub fn open_ipc_handle(&self, device: &Arc<Device>, handle: &ze_ipc_mem_handle_t) -> Result<*mut c_void> {
        // SAFETY: an array of bytes.
        let contents = unsafe { Contents::read(handle) };
        if let Some(shared) = contents.bare() {
            let size = shared.bytes();
            return self.import((MemoryKind::Device, Some(Arc::clone(device))), shared, (0, size), true);
        }
        let memory = contents.find(MAGIC)?;
        let invalid = |reason: &str| Error::InvalidArgument(format!("the IPC handle {reason}"));
        let kind = [MemoryKind::Host, MemoryKind::Device].into_iter();
        let kind = kind.into_iter().find(|kind| kind.code().0 == contents.kind);
        let kind = kind.ok_or_else(|| invalid("has a kind of memory that is none"))?;
        let size = usize::try_from(contents.len).unwrap_or(0);
        let offset = usize::try_from(contents.offset).unwrap_or(usize::MAX);
        let end = size.checked_next_multiple_of(PAGE_SIZE).and_then(|size| size.checked_add(offset));
        if size == 0 || !offset.is_multiple_of(PAGE_SIZE) || end.is_none_or(|end| end > memory.len()) {
            return Err(invalid("names a part of its memory that is not there"));
        }
        let device = (kind == MemoryKind::Device).then(|| Arc::clone(device));
        self.import((kind, device), Shared::of(memory)?, (offset, size), true)
    }

    /// Makes an allocation of memory behind a descriptor, which the driver then has. Of 0 bytes, it is all of that: programs that are handed a
    /// descriptor need not know how large it is, and Intel's driver asks the descriptor, whatever they say.
    pub fn import_descriptor(
        &self,
        kind: MemoryKind,
        device: Option<Arc<Device>>,
        size: usize,
        fd: RawFd,
    ) -> Result<*mut c_void> {
        let memory = external_memory::import(fd, size)?;
        let size = if size == 0 { memory.bytes() } else { size };
        let base = self.import((kind, device), Arc::clone(&memory), (0, size), false)?;
        external_memory::close_imported(fd, &memory);
        Ok(base)
    }
}
