//! Host, device and shared allocations: all of them host memory, known by any address inside.

mod allocation;
mod deferred;

use crate::allocations::Range;
use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::external_memory::{self, Shared};
use crate::pnext::{Outputs, structures};
use crate::system_memory;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use ze_engine::pages::page_size;
use ze_headers::*;

pub use crate::system_memory::Access;
pub use allocation::Allocation;
pub(crate) use allocation::{Owner, Place, new_id};
pub use deferred::DeferredFrees;

/// `pageSize` of every allocation.
pub const PAGE_SIZE: usize = 4096;
/// Larger alignments are refused.
const MAX_ALIGNMENT: usize = 1 << 30;

structures! {
    ze_device_mem_alloc_desc_t = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    ze_host_mem_alloc_desc_t = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
    ze_memory_allocation_properties_t = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    ze_relaxed_allocation_limits_ext_desc_t = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC;
    ze_relaxed_allocation_limits_exp_desc_t = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC;
    ze_external_memory_export_desc_t = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_DESC;
    ze_external_memory_import_fd_t = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD;
    ze_external_memory_export_fd_t = ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD;
    ze_ipc_mem_handle_type_ext_desc_t = ZE_STRUCTURE_TYPE_IPC_MEM_HANDLE_TYPE_EXT_DESC;
    ze_external_memmap_sysmem_ext_desc_t = ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC;
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

    pub(crate) fn name(self) -> &'static str {
        match self {
            MemoryKind::Host => "host",
            MemoryKind::Device => "device",
            MemoryKind::Shared => "shared",
        }
    }

    pub(crate) fn out_of_memory(self, reason: String) -> Error {
        match self {
            MemoryKind::Host => Error::OutOfHostMemory(reason),
            MemoryKind::Device | MemoryKind::Shared => Error::OutOfDeviceMemory(reason),
        }
    }
}

/// How large one allocation may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limits {
    /// `maxMemAllocSize`.
    Device,
    /// All memory: `ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE`.
    Relaxed,
}

impl Limits {
    /// Relaxed if either is.
    pub fn or(self, other: Self) -> Self {
        if self == Limits::Relaxed { self } else { other }
    }
}

impl Context {
    /// `zeMemAllocHost`, `zeMemAllocDevice`, `zeMemAllocShared`. Alignment 0 is any.
    pub fn allocate(
        &self,
        kind: MemoryKind,
        device: Option<Arc<Device>>,
        size: usize,
        alignment: usize,
        limits: Limits,
    ) -> Result<*mut c_void> {
        // ZE_RESULT_ERROR_UNSUPPORTED_SIZE: 0 == size
        if size == 0 {
            return Err(Error::UnsupportedSize("an allocation of 0 bytes is not possible".into()));
        }
        // ZE_RESULT_ERROR_UNSUPPORTED_SIZE: size > maxMemAllocSize, which the relaxed limits raise to all memory
        if let Some(device) = &device {
            self.check_device(device)?;
        }
        let all = self.driver().budget(kind, device.as_deref()).limit();
        let of = device.as_ref().unwrap_or_else(|| self.first_device());
        let largest = of.profile().limits.max_alloc_size;
        let limit = match limits {
            Limits::Device => all.min(largest),
            Limits::Relaxed => all,
        };
        if size as u64 > limit {
            let reason = format!("{size} bytes are more than the {limit} of the largest allocation");
            return Err(Error::UnsupportedSize(reason));
        }
        // The conformance tests align 12 bytes to their size. Intel's driver takes any number, which cannot be an alignment then;
        // here that is for the size of the allocation alone.
        let alignment = if alignment == size && !alignment.is_power_of_two() { 0 } else { alignment };
        // ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT: not zero or a power of two
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

    /// As [`find_allocation`](Self::find_allocation) for a short look, which takes no reference.
    pub fn with_allocation<R>(
        &self,
        address: *const c_void,
        read: impl FnOnce(&Allocation) -> R,
    ) -> Option<R> {
        self.driver().allocations().with(address as usize, read)
    }

    /// Takes the allocation that begins at the address out of the table. Programs, the conformance tests among them, free
    /// memory by another context than they allocated it with, and Intel's driver asks for none.
    fn take_out(&self, base: *const c_void, owner: Owner) -> Option<Arc<Allocation>> {
        let memory = self.find_allocation(base)?;
        let own = memory.base() == base as usize && memory.owner == owner;
        if own { self.driver().allocations().remove(memory.base()) } else { None }
    }

    /// Makes memory of somebody else's an allocation.
    pub(crate) fn import(
        &self,
        of: (MemoryKind, Option<Arc<Device>>),
        memory: Arc<Shared>,
        (offset, size): (usize, usize),
        opened: bool,
    ) -> Result<*mut c_void> {
        let owner = if opened { Owner::CloseIpcHandle } else { Owner::Free };
        let imported = Allocation::imported(of, Place { memory, offset }, size, owner)?;
        let base = imported.base.as_ptr().cast();
        self.driver().allocations().insert(Arc::new(imported));
        Ok(base)
    }

    /// `zeMemAllocHost` for memory that the program has (`ze_external_memmap_sysmem_ext_desc_t`), in whole pages: the device reaches all
    /// memory anyway, so that it becomes known.
    pub fn import_system(&self, address: usize, size: usize, access: Access) -> Result<*mut c_void> {
        let page = page_size();
        // ZE_RESULT_ERROR_UNSUPPORTED_SIZE: no pages, or parts of them
        if size == 0 || !size.is_multiple_of(page) {
            return Err(Error::UnsupportedSize(format!("{size} bytes are no pages of {page}")));
        }
        // ZE_RESULT_ERROR_INVALID_ARGUMENT: what cannot be mapped
        if !address.is_multiple_of(page) {
            return Err(Error::InvalidArgument(format!("{address:#x} is within a page of {page} bytes")));
        }
        if !system_memory::has_access(address, size, access) {
            let reason =
                format!("{size} bytes at {address:#x} are not all memory of the process for {access:?}");
            return Err(Error::InvalidArgument(reason));
        }
        let imported = Allocation::of_program(address, size).ok_or(Error::NullPointer("pSystemMemory"))?;
        let allocations = self.driver().allocations();
        let _importing = self.driver().host_pointers().importing();
        let overlaps =
            |other: &Allocation| other.base() < address + size && address < other.base() + other.size();
        if allocations.iter().any(|other| overlaps(&other)) {
            return Err(Error::InvalidArgument(format!(
                "some of {size} bytes at {address:#x} are allocated"
            )));
        }
        allocations.insert(Arc::new(imported));
        Ok(address as *mut c_void)
    }

    /// `zexMemFreeRegisterCallbackExt`: a function to be called when the allocation is freed that the address is in.
    pub fn call_when_freed(
        &self,
        address: *const c_void,
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> Result<()> {
        let memory = self.find_allocation(address);
        let memory =
            memory.ok_or_else(|| Error::InvalidArgument(format!("{address:p} is in no allocation")))?;
        memory.callbacks.add("callbacks of an allocation", function, data)
    }

    /// Has an allocation's memory be one that other processes can map.
    pub fn make_shareable(&self, base: *const c_void) -> Result<()> {
        let memory = self.find_allocation(base).ok_or(Error::AddressNotFound(base as usize))?;
        memory.share(self.driver()).map(drop)
    }

    /// `zeMemCloseIpcHandle`.
    pub fn close_ipc_handle(&self, base: *const c_void) -> Result<()> {
        let memory = self.take_out(base, Owner::CloseIpcHandle).ok_or_else(|| {
            Error::InvalidArgument(format!("{base:p} is not from an IPC handle that was opened"))
        })?;
        memory.release();
        Ok(())
    }

    /// `zeMemFreeExt`; no policy flag is `zeMemFree`.
    pub fn free(&self, base: *mut c_void, policy: u32) -> Result<()> {
        let memory = self
            .take_out(base, Owner::Free)
            .ok_or_else(|| Error::InvalidArgument(format!("{base:p} is not the start of an allocation")))?;
        let mut after = Vec::new();
        if policy != 0 {
            let streams = self.driver().streams();
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

    /// `zeMemGetAllocProperties`: fills the structure, and returns the device that the memory belongs to, or null. Memory
    /// that this driver did not allocate is of unknown type.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn allocation_properties(
        &self,
        address: *const c_void,
        properties: &mut ze_memory_allocation_properties_t,
    ) -> Result<ze_device_handle_t> {
        let known = self.with_allocation(address, |memory| {
            let device = memory.device().map_or(Ok(ptr::null_mut()), Device::handle);
            (memory.type_code(), memory.id(), PAGE_SIZE as u64, device)
        });
        let unknown = (ZE_MEMORY_TYPE_UNKNOWN, 0, 0, Ok(ptr::null_mut()));
        let (kind, id, page_size, device) = known.unwrap_or(unknown);
        properties.type_ = kind;
        properties.id = id;
        properties.pageSize = page_size;
        let mut exported = Ok(());
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(properties) }.for_each(|mut link| {
            if let Some(parts) = link.get::<ze_memory_sub_allocations_exp_properties_t>() {
                // SAFETY: the program provides the counter, or null.
                if let Some(count) = unsafe { parts.pCount.as_mut() } {
                    *count = 0;
                }
            }
            if let Some(out) = link.get::<ze_external_memory_export_fd_t>() {
                exported = external_memory::check_type(out.flags)
                    .and_then(|()| {
                        self.find_allocation(address).ok_or(Error::AddressNotFound(address as usize))
                    })
                    .and_then(|memory| memory.export(self.driver()))
                    .map(|fd| out.fd = fd);
            }
        });
        exported?;
        device
    }

    /// `zeMemSetAtomicAccessAttributeExp`.
    pub fn set_atomic_access(
        &self,
        address: *const c_void,
        size: usize,
        flags: ze_memory_atomic_attr_exp_flags_t,
    ) {
        self.with_allocation(address, |memory| memory.atomic_access.store(flags, Ordering::Relaxed))
            .unwrap_or_else(|| self.driver().system_attributes().set(address as usize, size, flags));
    }

    /// `zeMemGetAtomicAccessAttributeExp`: 0 where none was set.
    pub fn atomic_access(&self, address: *const c_void) -> ze_memory_atomic_attr_exp_flags_t {
        self.with_allocation(address, |memory| memory.atomic_access.load(Ordering::Relaxed))
            .unwrap_or_else(|| self.driver().system_attributes().get(address as usize))
    }

    /// `zeMemGetAddressRange`: base and size of the allocation that the address is in.
    pub fn address_range(&self, address: *const c_void) -> Result<(*mut c_void, usize)> {
        // ZE_RESULT_ERROR_ADDRESS_NOT_FOUND
        let found = self.driver().allocations().bounds(address as usize);
        found.map(|(base, size)| (base as *mut c_void, size)).ok_or(Error::AddressNotFound(address as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::allocation::MIN_ALIGNMENT;
    use super::*;
    use crate::command::Command;
    use crate::device::QueueGroup;
    use crate::driver::Driver;
    use crate::operation::Operation;
    use crate::signal::Signal;
    use crate::stream::{Priority, Work};

    fn context() -> Arc<Context> {
        Context::new(Driver::for_tests())
    }

    fn allocate(context: &Context, size: usize, alignment: usize) -> Result<*mut c_void> {
        context.allocate(MemoryKind::Host, None, size, alignment, Limits::Device)
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
    fn every_context_knows_all_memory_and_frees_it() {
        let mine = context();
        let other = Context::new(Arc::clone(mine.driver()));
        let base = allocate(&mine, 64, 0).expect("memory is there");
        let mut properties = ze_memory_allocation_properties_t::default();
        // SAFETY: there is no chain.
        unsafe { other.allocation_properties(base, &mut properties) }.expect("it is live");
        assert_eq!(properties.type_, ZE_MEMORY_TYPE_HOST);
        other.free(base, 0).expect("it is live");
        assert!(mine.free(base, 0).is_err());
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
        let stream = context.driver().device().new_stream(QueueGroup::Compute, Priority::Normal);
        let command = Command::new(Operation::Barrier, [Arc::clone(&gate)].into_iter().collect(), None);
        stream.submit(Work::One(command));
        let base = allocate(&context, 64, 0).expect("memory is there");
        let memory = context.find_allocation(base).expect("it is live");
        context.free(base, policy).expect("it is live");
        context.deferred_frees().collect();
        assert!(context.find_allocation(base).is_none() && !memory.released.load(Ordering::Relaxed));
        gate.raise();
        stream.reach(stream.latest());
        context.deferred_frees().collect();
        assert!(memory.released.load(Ordering::Relaxed));
    }

    #[test]
    fn impossible_sizes_and_alignments_are_refused() {
        let context = context();
        assert!(matches!(allocate(&context, 0, 0), Err(Error::UnsupportedSize(_))));
        for size in [usize::MAX, usize::MAX / 2, 1 << 60] {
            assert!(matches!(allocate(&context, size, 0), Err(Error::UnsupportedSize(_))));
        }
        for alignment in [3, 96, (2 << 20) + 1, 2 * MAX_ALIGNMENT, 1 << 63, usize::MAX] {
            assert!(matches!(allocate(&context, 64, alignment), Err(Error::UnsupportedAlignment(_))));
        }
        let base = allocate(&context, 12, 12).expect("its size is as good as nothing");
        context.free(base, 0).expect("it is live");
    }

    #[test]
    fn every_power_of_two_is_an_alignment() {
        let context = context();
        for shift in 0..=MAX_ALIGNMENT.ilog2() {
            for size in [1, 5000, 3 << 20] {
                let base = allocate(&context, size, 1 << shift).expect("memory is there");
                assert!((base as usize).is_multiple_of(1 << shift), "{base:p} for {shift} bits");
                // SAFETY: the memory was just allocated.
                unsafe { base.cast::<u8>().write_bytes(1, size) };
                let last = base.wrapping_byte_add(size - 1);
                assert_eq!(context.address_range(last).expect("it is inside"), (base, size));
                assert!(size == 1 || context.free(last, 0).is_err());
                context.free(base, 0).expect("it is live");
            }
        }
    }

    #[test]
    fn allocations_are_aligned_to_their_size_up_to_two_megabytes() {
        let context = context();
        let sizes =
            [4096, 5000, 65536, 100_000, 1 << 20, 2 << 20, (2 << 20) + 1, 3 << 20, (4 << 20) - 1, 9 << 20];
        // Several at once, so that none is aligned by chance.
        let bases =
            sizes.map(|size| [0, 0, 0, 16].map(|alignment| (size, allocate(&context, size, alignment))));
        for (size, base) in bases.into_iter().flatten() {
            let base = base.expect("memory is there");
            let alignment = [4096, 65536, 1 << 20, 2 << 20].into_iter().rfind(|&page| page <= size);
            assert!(
                (base as usize).is_multiple_of(alignment.expect("sizes are no less")),
                "{size}: {base:p}"
            );
            context.free(base, 0).expect("it is live");
        }
    }

    fn with_memory(total: u64, largest: u64) -> Arc<Context> {
        let mut profile = ze_extensions::DeviceProfile::host();
        profile.memory.total_size = total;
        profile.limits.max_alloc_size = largest;
        Context::new(Driver::with_profile(profile))
    }

    fn relaxed(context: &Context, size: usize) -> Result<*mut c_void> {
        let device = Some(Arc::clone(context.driver().device()));
        context.allocate(MemoryKind::Device, device, size, 0, Limits::Relaxed)
    }

    #[test]
    fn device_and_shared_memory_together_are_no_more_than_the_device_has() {
        let context = with_memory(10 << 20, 4 << 20);
        let device = || Some(Arc::clone(context.driver().device()));
        let allocate = |kind, size| context.allocate(kind, device(), size, 0, Limits::Device);
        let first = allocate(MemoryKind::Device, 4 << 20).expect("there is room");
        let second = allocate(MemoryKind::Shared, 4 << 20).expect("there is room");
        for kind in [MemoryKind::Device, MemoryKind::Shared] {
            assert!(matches!(allocate(kind, 3 << 20), Err(Error::OutOfDeviceMemory(_))));
        }
        allocate(MemoryKind::Host, 4 << 20).expect("host memory is the host's");
        context.free(first, 0).expect("it is live");
        let again = allocate(MemoryKind::Shared, 4 << 20).expect("there is room again");
        context.free(again, 0).expect("it is live");
        context.free(second, 0).expect("it is live");
    }

    #[test]
    fn one_allocation_is_at_most_the_largest_and_with_relaxed_limits_all_memory() {
        let context = with_memory(10 << 20, 4 << 20);
        assert!(matches!(allocate(&context, (4 << 20) + 1, 0), Err(Error::UnsupportedSize(_))));
        assert!(matches!(relaxed(&context, (10 << 20) + 1), Err(Error::UnsupportedSize(_))));
        let all = relaxed(&context, 10 << 20).expect("that is all there is");
        assert!(matches!(relaxed(&context, 1), Err(Error::OutOfDeviceMemory(_))));
        context.free(all, 0).expect("it is live");
    }

    #[test]
    fn what_could_not_be_allocated_is_not_counted() {
        // More than addresses are there for.
        let context = with_memory(1 << 50, 1 << 50);
        for _ in 0..3 {
            assert!(matches!(relaxed(&context, 1 << 50), Err(Error::OutOfDeviceMemory(_))));
        }
        let some = relaxed(&context, 1 << 20).expect("there is room");
        context.free(some, 0).expect("it is live");
    }
}
