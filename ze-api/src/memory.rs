//! `zeMem*`.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_core::memory::MemoryKind;
use ze_headers::*;

use crate::args::{address, input, output};

const DEVICE_FLAGS: u32 = ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED
    | ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED
    | ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT;
const HOST_FLAGS: u32 = ZE_HOST_MEM_ALLOC_FLAG_BIAS_CACHED
    | ZE_HOST_MEM_ALLOC_FLAG_BIAS_UNCACHED
    | ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED
    | ZE_HOST_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT
    | ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY;
/// Flags that exclude each other.
const READ_ONLY_COMBINED: u32 =
    ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED | ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY;
const FREE_POLICIES: u32 =
    ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE | ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;

/// The extensions of a host descriptor.
///
/// # Safety
///
/// The pointer is null or valid.
unsafe fn host_extensions(desc: *const ze_host_mem_alloc_desc_t) -> Result<*const c_void> {
    // SAFETY: the caller's promise.
    let desc = unsafe { input(desc, "host_desc") }?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x1f < host_desc->flags, or a combination that is none
    if desc.flags & !HOST_FLAGS != 0 || desc.flags & READ_ONLY_COMBINED == READ_ONLY_COMBINED {
        let (what, value) = ("ze_host_mem_alloc_desc_t::flags", desc.flags.into());
        return Err(Error::InvalidEnumeration { what, value });
    }
    Ok(desc.pNext)
}

/// The extensions of a device descriptor.
///
/// # Safety
///
/// The pointer is null or valid.
unsafe fn device_extensions(desc: *const ze_device_mem_alloc_desc_t) -> Result<*const c_void> {
    // SAFETY: the caller's promise.
    let desc = unsafe { input(desc, "device_desc") }?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x7 < device_desc->flags
    if desc.flags & !DEVICE_FLAGS != 0 {
        let (what, value) = ("ze_device_mem_alloc_desc_t::flags", desc.flags.into());
        return Err(Error::InvalidEnumeration { what, value });
    }
    // There is one memory, and the specification names no error for another ordinal: programs that were written for
    // other devices, and the conformance tests, pass some.
    Ok(desc.pNext)
}

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
        let chains = [device_extensions(device_desc)?, host_extensions(host_desc)?];
        let out = output(pptr, "pptr")?;
        *out = context.allocate(MemoryKind::Shared, device, size, alignment, &chains)?;
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
        let next = device_extensions(device_desc)?;
        let out = output(pptr, "pptr")?;
        *out = context.allocate(MemoryKind::Device, device, size, alignment, &[next])?;
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
        let next = host_extensions(host_desc)?;
        let out = output(pptr, "pptr")?;
        *out = context.allocate(MemoryKind::Host, None, size, alignment, &[next])?;
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
    let desc = unsafe { input(pMemFreeDesc, "pMemFreeDesc") }?;
    address(ptr, "ptr")?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x3 < pMemFreeDesc->freePolicy
    if desc.freePolicy & !FREE_POLICIES != 0 {
        let (what, value) = ("ze_memory_free_ext_desc_t::freePolicy", desc.freePolicy.into());
        return Err(Error::InvalidEnumeration { what, value });
    }
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
        *out = match device {
            Some(device) => device.handle()?,
            None => null_mut(),
        };
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
    context.set_atomic_access(ptr, size, attr)
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
