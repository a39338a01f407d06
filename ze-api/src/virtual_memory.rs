//! `zeVirtualMem*` and `zePhysicalMem*`.

use std::ffi::c_void;

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::Result;
use ze_core::handle;
use ze_core::physical_memory::PhysicalMemory;
use ze_core::virtual_memory::{self, Access};
use ze_headers::*;

use crate::args::{address, descriptor, output};
use crate::memory::extensions;

/// `zeVirtualMemReserve`.
pub unsafe fn zeVirtualMemReserve(
    hContext: ze_context_handle_t,
    pStart: *const c_void,
    size: usize,
    pptr: *mut *mut c_void,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(pptr, "pptr") }?;
    *out = context.reserve_virtual(pStart as usize, size)?;
    Ok(())
}

/// `zeVirtualMemFree`.
pub unsafe fn zeVirtualMemFree(hContext: ze_context_handle_t, ptr: *const c_void, size: usize) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    context.free_virtual(address(ptr, "ptr")?, size)
}

/// `zeVirtualMemQueryPageSize`.
pub unsafe fn zeVirtualMemQueryPageSize(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    _size: usize,
    pagesize: *mut usize,
) -> Result<()> {
    handle::get::<Context>(hContext)?;
    handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pagesize, "pagesize") }? = virtual_memory::page_size();
    Ok(())
}

/// `zeVirtualMemMap`.
pub unsafe fn zeVirtualMemMap(
    hContext: ze_context_handle_t,
    ptr: *const c_void,
    size: usize,
    hPhysicalMemory: ze_physical_mem_handle_t,
    offset: usize,
    access: ze_memory_access_attribute_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let memory = handle::get::<PhysicalMemory>(hPhysicalMemory)?;
    let at = address(ptr, "ptr")?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY < access
    context.map_virtual((at, size), &memory, offset, Access::of(access)?)
}

/// `zeVirtualMemUnmap`.
pub unsafe fn zeVirtualMemUnmap(
    hContext: ze_context_handle_t,
    ptr: *const c_void,
    size: usize,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    context.unmap_virtual(address(ptr, "ptr")?, size)
}

/// `zeVirtualMemSetAccessAttribute`.
pub unsafe fn zeVirtualMemSetAccessAttribute(
    hContext: ze_context_handle_t,
    ptr: *const c_void,
    size: usize,
    access: ze_memory_access_attribute_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let at = address(ptr, "ptr")?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY < access
    context.set_virtual_access(at, size, Access::of(access)?)
}

/// `zeVirtualMemGetAccessAttribute`.
pub unsafe fn zeVirtualMemGetAccessAttribute(
    hContext: ze_context_handle_t,
    ptr: *const c_void,
    size: usize,
    access: *mut ze_memory_access_attribute_t,
    outSize: *mut usize,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let at = address(ptr, "ptr")?;
    // SAFETY: the caller passes null or valid pointers.
    let (access, out_size) = unsafe { (output(access, "access")?, output(outSize, "outSize")?) };
    let (found, shared) = context.virtual_access(at, size)?;
    (*access, *out_size) = (found.code(), shared);
    Ok(())
}

/// `zePhysicalMemCreate`.
pub unsafe fn zePhysicalMemCreate(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    desc: *mut ze_physical_mem_desc_t,
    phPhysicalMemory: *mut ze_physical_mem_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) = unsafe { (descriptor(desc, "desc")?, output(phPhysicalMemory, "phPhysicalMemory")?) };
    // The host's memory needs no device.
    let device = if desc.flags & ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST != 0 {
        handle::get_optional::<Device>(hDevice)?;
        None
    } else {
        Some((*handle::get::<Device>(hDevice)?).clone())
    };
    // SAFETY: the caller passes a valid chain.
    let extensions = unsafe { extensions(desc) }?;
    *out = handle::publish(PhysicalMemory::new(&context, device, desc.size, extensions.import)?)?;
    Ok(())
}

/// `zePhysicalMemDestroy`: what is mapped stays so.
pub unsafe fn zePhysicalMemDestroy(
    hContext: ze_context_handle_t,
    hPhysicalMemory: ze_physical_mem_handle_t,
) -> Result<()> {
    handle::get::<Context>(hContext)?;
    handle::release::<PhysicalMemory>(hPhysicalMemory).map(drop)
}

/// `zePhysicalMemGetProperties`.
pub unsafe fn zePhysicalMemGetProperties(
    hContext: ze_context_handle_t,
    hPhysicalMem: ze_physical_mem_handle_t,
    pMemProperties: *mut ze_physical_mem_properties_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let memory = handle::get::<PhysicalMemory>(hPhysicalMem)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { memory.properties(&context, output(pMemProperties, "pMemProperties")?) }
}
