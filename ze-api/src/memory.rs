//! `zeMem*`.

use std::ffi::c_void;
use std::os::fd::RawFd;
use std::sync::Arc;

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::{Error, Result};
use ze_core::external_memory;
use ze_core::handle;
use ze_core::memory::{Access, Limits, MemoryKind};
use ze_core::pnext::{Inputs, Structure};
use ze_headers::*;

use crate::args::{address, descriptor, output};
use crate::flags::{self, Descriptor};

/// What the extensions of an allocation's descriptor ask for.
#[derive(Clone, Copy)]
pub struct Extensions {
    pub limits: Limits,
    /// The memory is to be had by a file descriptor.
    pub export: bool,
    /// The memory is that of a file descriptor.
    pub import: Option<RawFd>,
    /// The memory is the program's: where it is, and how much.
    pub system: Option<(usize, usize)>,
}

impl Extensions {
    /// What either descriptor asks for.
    fn and(self, other: Self) -> Self {
        Self {
            limits: self.limits.or(other.limits),
            export: self.export || other.export,
            import: self.import.or(other.import),
            system: self.system.or(other.system),
        }
    }
}

/// Reads the extensions of a descriptor.
///
/// # Safety
///
/// `desc.pNext` is a valid chain.
pub unsafe fn extensions<T: Structure>(desc: &T) -> Result<Extensions> {
    let mut extensions = Extensions { limits: Limits::Device, export: false, import: None, system: None };
    // SAFETY: the caller's promise.
    for link in unsafe { Inputs::of(desc) }.iter() {
        let flags = if let Some(relaxed) = link.get::<ze_relaxed_allocation_limits_ext_desc_t>() {
            relaxed.check_flags()?;
            relaxed.flags
        } else if let Some(relaxed) = link.get::<ze_relaxed_allocation_limits_exp_desc_t>() {
            relaxed.check_flags()?;
            relaxed.flags
        } else {
            0
        };
        // The only flag of either structure.
        if flags & ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE != 0 {
            extensions.limits = Limits::Relaxed;
        }
        if let Some(export) = link.get::<ze_external_memory_export_desc_t>() {
            export.check_flags()?;
            external_memory::check_type(export.flags)?;
            extensions.export = true;
        }
        if let Some(import) = link.get::<ze_external_memory_import_fd_t>() {
            external_memory::check_type(import.flags)?;
            extensions.import = Some(import.fd);
        }
        if let Some(system) = link.get::<ze_external_memmap_sysmem_ext_desc_t>() {
            let size = usize::try_from(system.size).unwrap_or(usize::MAX);
            extensions.system = Some((address(system.pSystemMemory, "pSystemMemory")?, size));
        }
        if let Some(handle) = link.get::<ze_ipc_mem_handle_type_ext_desc_t>() {
            // ZE_RESULT_ERROR_UNSUPPORTED_FEATURE: handles that are known beyond this machine
            handle.check_flags()?;
        }
    }
    Ok(extensions)
}

/// Allocates what a descriptor asks for.
fn allocate(
    context: &Context,
    (kind, device): (MemoryKind, Option<Arc<Device>>),
    (size, alignment): (usize, usize),
    extensions: Extensions,
) -> Result<*mut c_void> {
    if extensions.system.is_some() {
        return Err(Error::UnsupportedFeature("memory of the program's as anything but a host allocation"));
    }
    if let Some(fd) = extensions.import {
        return context.import_descriptor(kind, device, size, fd);
    }
    let base = context.allocate(kind, device, size, alignment, extensions.limits)?;
    if extensions.export {
        // Before anything is written to it there is nothing to move.
        context.make_shareable(base).inspect_err(|_| drop(context.free(base, 0)))?;
    }
    Ok(base)
}

/// The program's memory at an address, as an allocation of a size and alignment.
fn import_system(
    context: &Context,
    (at, bytes): (usize, usize),
    (size, alignment): (usize, usize),
    access: Access,
) -> Result<*mut c_void> {
    // ZE_RESULT_ERROR_UNSUPPORTED_SIZE: more than there is
    if size == 0 || size > bytes {
        let reason = format!("an allocation of {size} bytes in {bytes} of the program's");
        return Err(Error::UnsupportedSize(reason));
    }
    // ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT: not zero or a power of two, or not that of the memory
    if alignment != 0 && !(alignment.is_power_of_two() && at.is_multiple_of(alignment)) {
        return Err(Error::UnsupportedAlignment(alignment));
    }
    context.import_system(at, bytes, access)
}

// Ordinals are not looked at. There is one memory, and the specification names no error for another ordinal: programs that
// were written for other devices, and the conformance tests, pass some.

/// `zeMemAllocShared`.
pub unsafe fn zeMemAllocShared(
    hContext: ze_context_handle_t,
    device_desc: *const ze_device_mem_alloc_desc_t,
    host_desc: *const ze_host_mem_alloc_desc_t,
    size: usize,
    alignment: usize,
    hDevice: ze_device_handle_t,
    pptr: *mut *mut c_void,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // Without a device the memory is shared with all of them.
    let device = handle::get_optional::<Device>(hDevice)?.map(|device| Arc::clone(&device));
    // SAFETY: the caller passes null or valid pointers, and valid chains.
    unsafe {
        let device_desc = descriptor(device_desc, "device_desc")?;
        let host_desc = descriptor(host_desc, "host_desc")?;
        let extensions = extensions(device_desc)?.and(extensions(host_desc)?);
        // The specification has external memory for device and host allocations.
        if extensions.export || extensions.import.is_some() {
            return Err(Error::UnsupportedFeature("external memory that is shared between host and device"));
        }
        let out = output(pptr, "pptr")?;
        *out = allocate(&context, (MemoryKind::Shared, device), (size, alignment), extensions)?;
    }
    Ok(())
}

/// `zeMemAllocDevice`.
pub unsafe fn zeMemAllocDevice(
    hContext: ze_context_handle_t,
    device_desc: *const ze_device_mem_alloc_desc_t,
    size: usize,
    alignment: usize,
    hDevice: ze_device_handle_t,
    pptr: *mut *mut c_void,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    let device = Some(Arc::clone(&device));
    // SAFETY: the caller passes null or valid pointers, and valid chains.
    unsafe {
        let extensions = extensions(descriptor(device_desc, "device_desc")?)?;
        let out = output(pptr, "pptr")?;
        *out = allocate(&context, (MemoryKind::Device, device), (size, alignment), extensions)?;
    }
    Ok(())
}

/// `zeMemAllocHost`.
pub unsafe fn zeMemAllocHost(
    hContext: ze_context_handle_t,
    host_desc: *const ze_host_mem_alloc_desc_t,
    size: usize,
    alignment: usize,
    pptr: *mut *mut c_void,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // SAFETY: the caller passes null or valid pointers, and valid chains.
    unsafe {
        let host_desc = descriptor(host_desc, "host_desc")?;
        let extensions = extensions(host_desc)?;
        let out = output(pptr, "pptr")?;
        if let Some(system) = extensions.system.filter(|_| !extensions.export && extensions.import.is_none())
        {
            let access = match host_desc.flags & ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY {
                0 => Access::ReadAndWrite,
                _ => Access::Read,
            };
            *out = import_system(&context, system, (size, alignment), access)?;
            return Ok(());
        }
        *out = allocate(&context, (MemoryKind::Host, None), (size, alignment), extensions)?;
    }
    Ok(())
}

/// `zeMemFree`.
pub unsafe fn zeMemFree(hContext: ze_context_handle_t, ptr: *mut c_void) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    address(ptr, "ptr")?;
    context.free(ptr, 0)
}

/// `zeMemFreeExt`.
pub unsafe fn zeMemFreeExt(
    hContext: ze_context_handle_t,
    pMemFreeDesc: *const ze_memory_free_ext_desc_t,
    ptr: *mut c_void,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // SAFETY: the caller passes null or a valid structure.
    let desc = unsafe { descriptor(pMemFreeDesc, "pMemFreeDesc") }?;
    address(ptr, "ptr")?;
    context.free(ptr, desc.freePolicy)
}

/// `zeMemGetAllocProperties`.
pub unsafe fn zeMemGetAllocProperties(
    hContext: ze_context_handle_t,
    ptr: *const c_void,
    pMemAllocProperties: *mut ze_memory_allocation_properties_t,
    phDevice: *mut ze_device_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    address(ptr, "ptr")?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    let device =
        unsafe { context.allocation_properties(ptr, output(pMemAllocProperties, "pMemAllocProperties")?) }?;
    // SAFETY: the caller passes null or a valid pointer.
    if let Some(out) = unsafe { phDevice.as_mut() } {
        *out = device;
    }
    Ok(())
}

/// `zeMemGetAddressRange`.
pub unsafe fn zeMemGetAddressRange(
    hContext: ze_context_handle_t,
    ptr: *const c_void,
    pBase: *mut *mut c_void,
    pSize: *mut usize,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    address(ptr, "ptr")?;
    let (base, size) = context.address_range(ptr)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        if let Some(out) = pBase.as_mut() {
            *out = base;
        }
        if let Some(out) = pSize.as_mut() {
            *out = size;
        }
    }
    Ok(())
}

/// `zeMemSetAtomicAccessAttributeExp`. No device is all devices.
pub unsafe fn zeMemSetAtomicAccessAttributeExp(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    ptr: *const c_void,
    size: usize,
    attr: ze_memory_atomic_attr_exp_flags_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    handle::get_optional::<Device>(hDevice)?;
    address(ptr, "ptr")?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x7f < attr
    flags::ATOMIC_ATTRIBUTES.check(attr)?;
    context.set_atomic_access(ptr, size, attr);
    Ok(())
}

/// `zeMemGetAtomicAccessAttributeExp`.
pub unsafe fn zeMemGetAtomicAccessAttributeExp(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    ptr: *const c_void,
    _size: usize,
    pAttr: *mut ze_memory_atomic_attr_exp_flags_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    handle::get_optional::<Device>(hDevice)?;
    address(ptr, "ptr")?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pAttr, "pAttr") }? = context.atomic_access(ptr);
    Ok(())
}

/// `zeMemGetIpcHandle`.
pub unsafe fn zeMemGetIpcHandle(
    hContext: ze_context_handle_t,
    ptr: *const c_void,
    pIpcHandle: *mut ze_ipc_mem_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    address(ptr, "ptr")?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(pIpcHandle, "pIpcHandle") }?;
    *out = context.ipc_handle(ptr)?;
    Ok(())
}

/// `zeMemGetIpcHandleWithProperties`.
pub unsafe fn zeMemGetIpcHandleWithProperties(
    hContext: ze_context_handle_t,
    ptr: *const c_void,
    pNext: *mut c_void,
    pIpcHandle: *mut ze_ipc_mem_handle_t,
) -> Result<()> {
    let next = pNext.cast_const();
    // SAFETY: the caller passes null or a valid chain.
    for link in unsafe { Inputs::from_next(&next) }.iter() {
        if let Some(handle) = link.get::<ze_ipc_mem_handle_type_ext_desc_t>() {
            handle.check_flags()?;
        }
    }
    // SAFETY: the contract is the same.
    unsafe { zeMemGetIpcHandle(hContext, ptr, pIpcHandle) }
}

/// `zeMemGetIpcHandleFromFileDescriptorExp`.
pub unsafe fn zeMemGetIpcHandleFromFileDescriptorExp(
    hContext: ze_context_handle_t,
    handle: u64,
    pIpcHandle: *mut ze_ipc_mem_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(pIpcHandle, "pIpcHandle") }?;
    *out = context.ipc_handle_of_descriptor(handle)?;
    Ok(())
}

/// `zeMemGetFileDescriptorFromIpcHandleExp`.
pub unsafe fn zeMemGetFileDescriptorFromIpcHandleExp(
    hContext: ze_context_handle_t,
    ipcHandle: ze_ipc_mem_handle_t,
    pHandle: *mut u64,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(pHandle, "pHandle") }?;
    *out = context.descriptor_of_ipc_handle(&ipcHandle)?;
    Ok(())
}

/// `zeMemPutIpcHandle`.
pub unsafe fn zeMemPutIpcHandle(hContext: ze_context_handle_t, handle: ze_ipc_mem_handle_t) -> Result<()> {
    handle::get::<Context>(hContext)?.put_ipc_handle(&handle)
}

/// `zeMemOpenIpcHandle`.
pub unsafe fn zeMemOpenIpcHandle(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    handle: ze_ipc_mem_handle_t,
    flags: ze_ipc_memory_flags_t,
    pptr: *mut *mut c_void,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x3 < flags
    flags::IPC_MEMORY.check(flags)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(pptr, "pptr") }?;
    *out = context.open_ipc_handle(&device, &handle)?;
    Ok(())
}

/// `zeMemCloseIpcHandle`.
pub unsafe fn zeMemCloseIpcHandle(hContext: ze_context_handle_t, ptr: *const c_void) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    address(ptr, "ptr")?;
    context.close_ipc_handle(ptr)
}
