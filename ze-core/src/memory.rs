//! Host, device and shared allocations: all of them host memory, known by any address inside.

use crate::allocations::Range;
use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::mapping::{self, Mapping};
use crate::pnext::{self, structures};
use crate::stream::{Position, Stream};
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use ze_headers::*;

/// `pageSize` of every allocation.
pub const PAGE_SIZE: usize = 4096;
const ATOMIC_FLAGS: u32 = ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_ATOMICS
    | ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_HOST_ATOMICS
    | ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_HOST_ATOMICS
    | ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_DEVICE_ATOMICS
    | ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_DEVICE_ATOMICS
    | ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_SYSTEM_ATOMICS
    | ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_SYSTEM_ATOMICS;
/// Limits that an allocation may ask to have relaxed; the flag of the deprecated structure is the same.
const RELAXED_LIMITS: u32 = ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE;
/// The least alignment: a cache line and the widest vector register.
const MIN_ALIGNMENT: usize = 64;
/// Larger alignments are refused.
const MAX_ALIGNMENT: usize = 1 << 30;
/// From this size on memory is mapped by itself, at huge pages, whose first use costs far fewer page faults.
const MAPPED_SIZE: usize = 4 << 20;

structures! {
    ze_relaxed_allocation_limits_ext_desc_t = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC;
    ze_relaxed_allocation_limits_exp_desc_t = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC;
    ze_external_memory_export_desc_t = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
    ze_external_memory_import_fd_t = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD;
    ze_external_memory_export_fd_t = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD;
    ze_memory_sub_allocations_exp_properties_t = ZE_STRUCTURE_TYPE_MEMORY_SUB_ALLOCATIONS_EXP_PROPERTIES;
}

/// `ze_memory_type_t` of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryKind {
    Host,
    Device,
    Shared,
}

impl MemoryKind {
    pub fn code(self) -> ze_memory_type_t {
        match self {
            MemoryKind::Host => ZE_MEMORY_TYPE_HOST,
            MemoryKind::Device => ZE_MEMORY_TYPE_DEVICE,
            MemoryKind::Shared => ZE_MEMORY_TYPE_SHARED,
        }
    }

    fn out_of_memory(self, size: usize) -> Error {
        let reason = format!("{size} bytes could not be allocated");
        match self {
            MemoryKind::Host => Error::OutOfHostMemory(reason),
            MemoryKind::Device | MemoryKind::Shared => Error::OutOfDeviceMemory(reason),
        }
    }
}

/// Where an allocation's bytes come from.
enum Backing {
    Heap(Layout),
    Mapped(Mapping),
}

/// An allocation. The table of allocations lets go of a removed one some time later, so that the memory is given back
/// by [`release`](Self::release), not when the last reference goes.
pub struct Allocation {
    base: NonNull<u8>,
    size: usize,
    kind: MemoryKind,
    id: u64,
    context: u64,
    /// The device that device and shared memory was allocated for.
    device: Option<Arc<Device>>,
    backing: Backing,
    released: AtomicBool,
    /// `ze_memory_atomic_attr_exp_flags_t` as the program set it; every access is atomic where it is asked for anyway.
    atomic_access: AtomicU32,
}

// SAFETY: the memory is the program's; this type only knows where it is.
unsafe impl Send for Allocation {}
// SAFETY: as above.
unsafe impl Sync for Allocation {}

impl Range for Allocation {
    fn base(&self) -> usize {
        self.base.as_ptr() as usize
    }

    fn size(&self) -> usize {
        self.size
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.release();
    }
}

impl Allocation {
    fn new(
        context: &Context,
        kind: MemoryKind,
        device: Option<Arc<Device>>,
        size: usize,
        alignment: usize,
    ) -> Result<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let alignment = alignment.max(MIN_ALIGNMENT);
        let (base, backing) = if size >= MAPPED_SIZE {
            map(size, alignment.max(mapping::HUGE_PAGE))
        } else {
            heap(size, alignment)
        }
        .ok_or_else(|| kind.out_of_memory(size))?;
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            base,
            size,
            kind,
            id,
            context: context.id(),
            device,
            backing,
            released: AtomicBool::new(false),
            atomic_access: AtomicU32::new(0),
        })
    }

    /// Gives the memory back, once.
    fn release(&self) {
        if self.released.swap(true, Ordering::AcqRel) {
            return;
        }
        match self.backing {
            // SAFETY: `alloc` gave the memory with this layout.
            Backing::Heap(layout) => unsafe { dealloc(self.base.as_ptr(), layout) },
            Backing::Mapped(mapping) => mapping::keep(mapping),
        }
    }

    pub fn device(&self) -> Option<&Arc<Device>> {
        self.device.as_ref()
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn kind(&self) -> MemoryKind {
        self.kind
    }
}

fn heap(size: usize, alignment: usize) -> Option<(NonNull<u8>, Backing)> {
    let layout = Layout::from_size_align(size, alignment).ok()?;
    // SAFETY: the size is not zero.
    Some((NonNull::new(unsafe { alloc(layout) })?, Backing::Heap(layout)))
}

fn map(size: usize, alignment: usize) -> Option<(NonNull<u8>, Backing)> {
    let len = size.checked_next_multiple_of(PAGE_SIZE)?;
    let mapping = mapping::take_kept(len, alignment).or_else(|| mapping::new(len, alignment))?;
    Some((NonNull::new(mapping.start as *mut u8)?, Backing::Mapped(mapping)))
}

/// Memory that is freed once these places are reached.
struct Deferred {
    memory: Arc<Allocation>,
    after: Vec<(Arc<Stream>, Position)>,
}

/// Frees that wait for commands (`ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE`).
#[derive(Default)]
pub struct DeferredFrees(crate::fork::Mutex<Vec<Deferred>>);

impl DeferredFrees {
    fn add(&self, memory: Arc<Allocation>, after: Vec<(Arc<Stream>, Position)>) {
        self.0.lock().push(Deferred { memory, after });
        self.collect();
    }

    /// Frees what nothing uses any more.
    pub fn collect(&self) {
        let mut deferred = self.0.lock();
        deferred.retain(|free| {
            let used = free.after.iter().any(|(stream, position)| !stream.is_reached(*position));
            if !used {
                free.memory.release();
            }
            used
        });
    }
}

impl Context {
    /// `zeMemAllocHost`, `zeMemAllocDevice`, `zeMemAllocShared`. Alignment 0 is any.
    ///
    /// # Safety
    /// `chains` are valid chains of extension structures.
    pub unsafe fn allocate(
        &self,
        kind: MemoryKind,
        device: Option<Arc<Device>>,
        size: usize,
        alignment: usize,
        chains: &[*const c_void],
    ) -> Result<*mut c_void> {
        let mut relaxed = false;
        // SAFETY: the caller's promise.
        for link in chains.iter().flat_map(|&next| unsafe { pnext::iter(next) }) {
            let limits = link.get::<ze_relaxed_allocation_limits_ext_desc_t>().map(|limits| limits.flags);
            let deprecated = || Some(link.get::<ze_relaxed_allocation_limits_exp_desc_t>()?.flags);
            if let Some(flags) = limits.or_else(deprecated) {
                if flags & !RELAXED_LIMITS != 0 {
                    let (what, value) = ("ze_relaxed_allocation_limits_ext_desc_t::flags", flags.into());
                    return Err(Error::InvalidEnumeration { what, value });
                }
                relaxed |= flags != 0;
            }
            if link.get::<ze_external_memory_import_fd_t>().is_some()
                || link.get::<ze_external_memory_export_desc_t>().is_some()
            {
                return Err(Error::UnsupportedFeature("external memory"));
            }
        }
        if size == 0 {
            return Err(Error::UnsupportedSize("an allocation of 0 bytes is not possible".into()));
        }
        let limit = self.driver().device().profile().limits.max_alloc_size;
        if size as u64 > limit && !relaxed {
            let reason = format!("{size} bytes are more than the {limit} of the largest allocation");
            return Err(Error::UnsupportedSize(reason));
        }
        if size > isize::MAX as usize / 2 {
            return Err(kind.out_of_memory(size));
        }
        if alignment != 0 && (!alignment.is_power_of_two() || alignment > MAX_ALIGNMENT) {
            return Err(Error::UnsupportedAlignment(alignment));
        }
        self.deferred_frees().collect();
        let memory = Allocation::new(self, kind, device, size, alignment)?;
        let base = memory.base.as_ptr().cast();
        self.driver().allocations().insert(Arc::new(memory));
        Ok(base)
    }

    /// The allocation that an address is in. All contexts share the device's one address space, and programs ask one
    /// context about another's memory.
    pub fn find_allocation(&self, address: *const c_void) -> Option<Arc<Allocation>> {
        self.driver().allocations().find(address as usize)
    }

    /// `zeMemFreeExt`; no policy flag is `zeMemFree`.
    pub fn free(&self, base: *mut c_void, policy: u32) -> Result<()> {
        let memory = self
            .find_allocation(base)
            .filter(|memory| memory.base() == base as usize && memory.context == self.id());
        let memory = memory.and_then(|memory| self.driver().allocations().remove(memory.base()));
        let memory = memory.ok_or_else(|| {
            Error::InvalidArgument(format!("{base:p} is not the start of an allocation of this context"))
        })?;
        let mut after = Vec::new();
        if policy != 0 {
            let streams = self.driver().device().streams();
            after.extend(streams.into_iter().map(|stream| (Arc::clone(&stream), stream.latest())));
        }
        if policy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE != 0 {
            // A stream that waits for an event may wait for the caller: what it uses is freed later.
            after.retain(|(stream, position)| !stream.reach(*position));
        }
        if !after.is_empty() {
            self.deferred_frees().add(memory, after);
            return Ok(());
        }
        memory.release();
        Ok(())
    }

    /// `zeMemGetAllocProperties`: fills the structure, and returns the device that the memory belongs to. Memory
    /// that this driver did not allocate is of unknown type.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn allocation_properties(
        &self,
        address: *const c_void,
        properties: &mut ze_memory_allocation_properties_t,
    ) -> Result<Option<Arc<Device>>> {
        let memory = self.find_allocation(address);
        let (kind, id, page_size) = match &memory {
            Some(memory) => (memory.kind.code(), memory.id, PAGE_SIZE as u64),
            None => (ZE_MEMORY_TYPE_UNKNOWN, 0, 0),
        };
        properties.type_ = kind;
        properties.id = id;
        properties.pageSize = page_size;
        // SAFETY: the caller's promise.
        for link in unsafe { pnext::iter(properties.pNext) } {
            if let Some(parts) = link.get::<ze_memory_sub_allocations_exp_properties_t>() {
                // SAFETY: the program provides the counter, or null.
                if let Some(count) = unsafe { parts.pCount.as_mut() } {
                    *count = 0;
                }
            }
            if link.get::<ze_external_memory_export_fd_t>().is_some() {
                return Err(Error::UnsupportedFeature("external memory"));
            }
        }
        Ok(memory.and_then(|memory| memory.device.clone()))
    }

    /// `zeMemSetAtomicAccessAttributeExp`.
    pub fn set_atomic_access(
        &self,
        address: *const c_void,
        size: usize,
        flags: ze_memory_atomic_attr_exp_flags_t,
    ) -> Result<()> {
        // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x7f < attr
        if flags & !ATOMIC_FLAGS != 0 {
            let (what, value) = ("ze_memory_atomic_attr_exp_flags_t", flags.into());
            return Err(Error::InvalidEnumeration { what, value });
        }
        match self.find_allocation(address) {
            Some(memory) => memory.atomic_access.store(flags, Ordering::Relaxed),
            None => self.driver().system_attributes().set(address as usize, size, flags),
        }
        Ok(())
    }

    /// `zeMemGetAtomicAccessAttributeExp`: 0 where none was set.
    pub fn atomic_access(&self, address: *const c_void) -> ze_memory_atomic_attr_exp_flags_t {
        match self.find_allocation(address) {
            Some(memory) => memory.atomic_access.load(Ordering::Relaxed),
            None => self.driver().system_attributes().get(address as usize),
        }
    }

    /// `zeMemGetAddressRange`: base and size of the allocation that the address is in.
    pub fn address_range(&self, address: *const c_void) -> Result<(*mut c_void, usize)> {
        // ZE_RESULT_ERROR_ADDRESS_NOT_FOUND
        let memory = self.find_allocation(address).ok_or(Error::AddressNotFound(address as usize))?;
        Ok((memory.base.as_ptr().cast(), memory.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, Operation};
    use crate::driver::Driver;
    use crate::signal::Signal;
    use crate::stream::Work;

    fn context() -> Arc<Context> {
        Context::new(Driver::for_tests())
    }

    fn allocate(context: &Context, size: usize, alignment: usize) -> Result<*mut c_void> {
        // SAFETY: there is no chain.
        unsafe { context.allocate(MemoryKind::Host, None, size, alignment, &[]) }
    }

    #[test]
    fn allocations_are_aligned_and_found_by_interior_pointers() {
        let context = context();
        for (size, alignment) in [(1, 0), (100, 8), (100, 4096), (5 << 20, 0), (5 << 20, 16 << 20)] {
            let base = allocate(&context, size, alignment).expect("memory is there");
            assert!((base as usize).is_multiple_of(alignment.max(MIN_ALIGNMENT)));
            // SAFETY: the memory was just allocated.
            unsafe { base.cast::<u8>().write_bytes(0xa5, size) };
            let interior = base.wrapping_byte_add(size - 1);
            assert_eq!(context.address_range(interior).expect("it is inside"), (base, size));
            assert!(
                context
                    .find_allocation(base.wrapping_byte_add(size))
                    .is_none_or(|m| m.base() != base as usize)
            );
            context.free(base, 0).expect("it is live");
            assert!(context.free(base, 0).is_err());
        }
    }

    #[test]
    fn every_context_knows_all_memory_and_frees_its_own() {
        let mine = context();
        let other = Context::new(Arc::clone(mine.driver()));
        let base = allocate(&mine, 64, 0).expect("memory is there");
        let mut properties = ze_memory_allocation_properties_t::default();
        // SAFETY: there is no chain.
        unsafe { other.allocation_properties(base, &mut properties) }.expect("it is live");
        assert_eq!(properties.type_, ZE_MEMORY_TYPE_HOST);
        assert!(other.free(base, 0).is_err());
        mine.free(base, 0).expect("it is live");
        // SAFETY: as above.
        unsafe { mine.allocation_properties(base, &mut properties) }.expect("unknown is not an error");
        assert_eq!(properties.type_, ZE_MEMORY_TYPE_UNKNOWN);
    }

    #[test]
    fn frees_that_wait_keep_the_memory_of_blocked_commands() {
        for policy in [
            ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE,
            ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE,
        ] {
            free_behind_a_blocked_command(policy);
        }
    }

    fn free_behind_a_blocked_command(policy: u32) {
        let context = context();
        let gate = Signal::flag();
        let stream = context.driver().device().new_stream();
        let command = Command::new(Operation::Barrier, [Arc::clone(&gate)].into_iter().collect(), None);
        stream.submit(Work::One(Arc::new(command)));
        let base = allocate(&context, 64, 0).expect("memory is there");
        let memory = context.find_allocation(base).expect("it is live");
        context.free(base, policy).expect("it is live");
        context.deferred_frees().collect();
        assert!(context.find_allocation(base).is_none() && !memory.released.load(Ordering::Relaxed));
        gate.raise();
        stream.reach(stream.latest());
        context.deferred_frees().collect();
        assert!(memory.released.load(Ordering::Relaxed));
        stream.close();
    }

    #[test]
    fn impossible_sizes_and_alignments_are_refused() {
        let context = context();
        assert!(matches!(allocate(&context, 0, 0), Err(Error::UnsupportedSize(_))));
        assert!(matches!(allocate(&context, usize::MAX, 0), Err(Error::UnsupportedSize(_))));
        assert!(matches!(allocate(&context, 64, 3), Err(Error::UnsupportedAlignment(3))));
    }
}
