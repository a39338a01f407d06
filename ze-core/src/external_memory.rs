//! Memory that other processes map: what is shared, and its descriptors.

use crate::error::{Error, Result};
use crate::fork::Mutex;
use crate::memfd::Memfd;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Weak};
use ze_headers::*;

/// The kinds of file descriptors that memory goes through. Ours are files of memory, which are neither DMA buffers nor from
/// another API; a program that asks for either kind wants a descriptor that it can send, and hand in again.
pub const TYPES: ze_external_memory_type_flags_t =
    ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD | ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;

/// Checks the kind of descriptor that a program wants or has.
pub fn check_type(flags: ze_external_memory_type_flags_t) -> Result<()> {
    // ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION
    if flags & TYPES == 0 || flags & !TYPES != 0 {
        return Err(Error::UnsupportedEnumeration {
            what: "ze_external_memory_type_flags_t",
            value: flags.into(),
        });
    }
    Ok(())
}

/// A descriptor that the program has, and how often it asked for it.
struct Exported {
    fd: RawFd,
    handles: u32,
}

/// Memory that can be mapped by others.
pub struct Shared {
    memory: Memfd,
    /// Tells the file from all others.
    inode: u64,
    /// The program's descriptor. It is one for all times that it asks, and not the one that the driver uses: what the program
    /// does with its own does not matter.
    exported: Mutex<Option<Exported>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let exported = self.exported.lock().take();
        self.close(exported);
    }
}

impl Shared {
    /// New memory of a size in whole pages.
    pub fn new(len: usize) -> Result<Arc<Self>> {
        Self::of(Memfd::new("ze_cpu memory", len)?)
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        self.memory.len()
    }

    /// Memory of a file.
    pub fn of(memory: Memfd) -> Result<Arc<Self>> {
        let inode = memory.inode();
        let inode = inode.ok_or_else(|| Error::OutOfHostMemory("the memory's file has no number".into()))?;
        Ok(Arc::new(Self { memory, inode, exported: Mutex::new(None) }))
    }

    pub fn memory(&self) -> &Memfd {
        &self.memory
    }

    pub fn inode(&self) -> u64 {
        self.inode
    }

    /// The program's descriptor; `all` is where the driver finds the memory of such descriptors again.
    pub fn exported(self: &Arc<Self>, all: &AllShared) -> Result<RawFd> {
        let mut exported = self.exported.lock();
        if let Some(exported) = &mut *exported {
            exported.handles = exported.handles.saturating_add(1);
            return Ok(exported.fd);
        }
        let fd = self.memory.duplicate()?.into_raw_fd();
        *exported = Some(Exported { fd, handles: 1 });
        all.add(self);
        Ok(fd)
    }

    /// The program gives back what it asked for once. More often than that is no error, as with Intel's driver: the
    /// conformance tests give one handle back in two contexts.
    pub fn put(&self) {
        let mut exported = self.exported.lock();
        let Some(own) = &mut *exported else { return };
        own.handles -= 1;
        if own.handles == 0 {
            let last = exported.take();
            drop(exported);
            self.close(last);
        }
    }

    fn close(&self, exported: Option<Exported>) {
        // The program may have closed it, and got something else by the same number.
        if let Some(exported) = exported.filter(|exported| self.is_behind(exported.fd)) {
            // SAFETY: the descriptor is the one that was made for the program.
            drop(unsafe { OwnedFd::from_raw_fd(exported.fd) });
        }
    }

    /// Whether a descriptor of this process is one of this memory.
    pub fn is_behind(&self, fd: RawFd) -> bool {
        crate::memfd::own_descriptor(fd)
            .and_then(Memfd::adopt)
            .is_some_and(|other| other.inode() == Some(self.inode))
    }
}

/// What this process has shared with others.
#[derive(Default)]
pub struct AllShared(Mutex<Vec<Weak<Shared>>>);

impl AllShared {
    fn add(&self, shared: &Arc<Shared>) {
        let mut all = self.0.lock();
        all.retain(|other| other.strong_count() != 0 && !std::ptr::eq(other.as_ptr(), Arc::as_ptr(shared)));
        all.push(Arc::downgrade(shared));
    }

    /// The memory of a file.
    pub fn find(&self, inode: u64) -> Option<Arc<Shared>> {
        self.0.lock().iter().filter_map(Weak::upgrade).find(|shared| shared.inode == inode)
    }
}

/// Takes a descriptor over that a program hands in. It is closed where that succeeds, as Intel's driver does.
pub fn import(fd: RawFd, len: usize) -> Result<Arc<Shared>> {
    let memory =
        crate::memfd::own_descriptor(fd).and_then(Memfd::adopt).filter(|memory| memory.len() >= len.max(1));
    let memory = memory.ok_or_else(|| {
        Error::InvalidArgument(format!(
            "file descriptor {fd} is no memory of {len} bytes that a driver exported"
        ))
    })?;
    Shared::of(memory)
}

/// Closes a descriptor that was [imported](import).
pub fn close_imported(fd: RawFd, memory: &Shared) {
    if memory.is_behind(fd) {
        // SAFETY: the program gave the descriptor away.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
}
