//! `zeMem*`.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_core::memory::{Limits, MemoryKind};
use ze_core::pnext::{Inputs, Structure};
use ze_headers::*;

use crate::args::{address, descriptor, output};
use crate::flags::{self, Descriptor};

/// What the extensions of an allocation's descriptor ask for.
///
/// # Safety
///
/// `desc.pNext` is a valid chain.
unsafe fn limits<T: Structure>(desc: &T) -> Result<Limits> {
    let mut limits = Limits::Device;
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
            limits = Limits::Relaxed;
        }
        if link.is::<ze_external_memory_import_fd_t>() || link.is::<ze_external_memory_export_desc_t>() {
            return Err(Error::UnsupportedFeature("external memory"));
        }
    }
    Ok(limits)
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
        let limits = limits(device_desc)?.or(limits(host_desc)?);
        let out = output(pptr, "pptr")?;
        *out = context.allocate(MemoryKind::Shared, device, size, alignment, limits)?;
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
        let limits = limits(descriptor(device_desc, "device_desc")?)?;
        let out = output(pptr, "pptr")?;
        *out = context.allocate(MemoryKind::Device, device, size, alignment, limits)?;
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
        let limits = limits(descriptor(host_desc, "host_desc")?)?;
        let out = output(pptr, "pptr")?;
        *out = context.allocate(MemoryKind::Host, None, size, alignment, limits)?;
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
