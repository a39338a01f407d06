//! `zeKernel*`.

use std::ffi::{c_char, c_void};

use ze_core::error::Result;
use ze_core::handle;
use ze_core::kernel::Kernel;
use ze_core::module::Module;
use ze_headers::*;

use crate::args::{bytes, descriptor, list, output, text};
use crate::flags;

/// `zeKernelCreate`.
pub unsafe fn zeKernelCreate(
    hModule: ze_module_handle_t,
    desc: *const ze_kernel_desc_t,
    phKernel: *mut ze_kernel_handle_t,
) -> Result<()> {
    let module = handle::get::<Module>(hModule)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) = unsafe { (descriptor(desc, "desc")?, output(phKernel, "phKernel")?) };
    // SAFETY: as above.
    let name = unsafe { text(desc.pKernelName, "desc->pKernelName") }?;
    *out = handle::publish(Kernel::new((&module, hModule), &name)?)?;
    Ok(())
}

/// `zeKernelDestroy`.
pub unsafe fn zeKernelDestroy(hKernel: ze_kernel_handle_t) -> Result<()> {
    handle::release::<Kernel>(hKernel).map(drop)
}

/// `zeKernelSetGroupSize`.
pub unsafe fn zeKernelSetGroupSize(
    hKernel: ze_kernel_handle_t,
    groupSizeX: u32,
    groupSizeY: u32,
    groupSizeZ: u32,
) -> Result<()> {
    handle::get::<Kernel>(hKernel)?.set_group_size([groupSizeX, groupSizeY, groupSizeZ])
}

/// `zeKernelSuggestGroupSize`.
pub unsafe fn zeKernelSuggestGroupSize(
    hKernel: ze_kernel_handle_t,
    globalSizeX: u32,
    globalSizeY: u32,
    globalSizeZ: u32,
    groupSizeX: *mut u32,
    groupSizeY: *mut u32,
    groupSizeZ: *mut u32,
) -> Result<()> {
    let kernel = handle::get::<Kernel>(hKernel)?;
    // SAFETY: the caller passes null or valid pointers.
    let (x, y, z) = unsafe {
        (
            output(groupSizeX, "groupSizeX")?,
            output(groupSizeY, "groupSizeY")?,
            output(groupSizeZ, "groupSizeZ")?,
        )
    };
    [*x, *y, *z] = kernel.suggest_group_size([globalSizeX, globalSizeY, globalSizeZ])?;
    Ok(())
}

/// `zeKernelSuggestMaxCooperativeGroupCount`.
pub unsafe fn zeKernelSuggestMaxCooperativeGroupCount(
    hKernel: ze_kernel_handle_t,
    totalGroupCount: *mut u32,
) -> Result<()> {
    let kernel = handle::get::<Kernel>(hKernel)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(totalGroupCount, "totalGroupCount") }?;
    *out = kernel.most_cooperative_groups()?;
    Ok(())
}

/// `zeKernelSetArgumentValue`.
pub unsafe fn zeKernelSetArgumentValue(
    hKernel: ze_kernel_handle_t,
    argIndex: u32,
    argSize: usize,
    pArgValue: *const c_void,
) -> Result<()> {
    let kernel = handle::get::<Kernel>(hKernel)?;
    // SAFETY: the caller passes null or a value of this size.
    unsafe { kernel.set_argument(argIndex, argSize, pArgValue.cast()) }
}

/// `zeKernelSetIndirectAccess`.
pub unsafe fn zeKernelSetIndirectAccess(
    hKernel: ze_kernel_handle_t,
    flags: ze_kernel_indirect_access_flags_t,
) -> Result<()> {
    let kernel = handle::get::<Kernel>(hKernel)?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x7 < flags
    flags::INDIRECT_ACCESS.check(flags)?;
    kernel.set_indirect_access(flags);
    Ok(())
}

/// `zeKernelGetIndirectAccess`.
pub unsafe fn zeKernelGetIndirectAccess(
    hKernel: ze_kernel_handle_t,
    pFlags: *mut ze_kernel_indirect_access_flags_t,
) -> Result<()> {
    let kernel = handle::get::<Kernel>(hKernel)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pFlags, "pFlags") }? = kernel.indirect_access();
    Ok(())
}

/// `zeKernelGetSourceAttributes`.
pub unsafe fn zeKernelGetSourceAttributes(
    hKernel: ze_kernel_handle_t,
    pSize: *mut u32,
    pString: *mut *mut c_char,
) -> Result<()> {
    let kernel = handle::get::<Kernel>(hKernel)?;
    // SAFETY: the caller passes null or valid pointers, and a buffer of the size that it says.
    unsafe {
        let out = output(pSize, "pSize")?;
        let buffer = pString.as_ref().map_or(std::ptr::null_mut(), |buffer| *buffer);
        let mut size = *out as usize;
        bytes(&raw mut size, buffer.cast(), &terminated(kernel.source_attributes()))?;
        *out = u32::try_from(size).unwrap_or(u32::MAX);
    }
    Ok(())
}

pub fn terminated(text: &str) -> Vec<u8> {
    text.bytes().filter(|&byte| byte != 0).chain([0]).collect()
}

/// `zeKernelGetName`.
pub unsafe fn zeKernelGetName(
    hKernel: ze_kernel_handle_t,
    pSize: *mut usize,
    pName: *mut c_char,
) -> Result<()> {
    let kernel = handle::get::<Kernel>(hKernel)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe { bytes(pSize, pName.cast(), &terminated(kernel.name())) }
}

/// `zeKernelGetAllocationPropertiesExp`.
pub unsafe fn zeKernelGetAllocationPropertiesExp(
    hKernel: ze_kernel_handle_t,
    pCount: *mut u32,
    pAllocationProperties: *mut ze_kernel_allocation_exp_properties_t,
) -> Result<()> {
    let allocations = handle::get::<Kernel>(hKernel)?.allocations();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, pAllocationProperties, allocations.len(), |index, out| {
            let allocation = &allocations[index];
            out.base = allocation.base as u64;
            out.size = allocation.size;
            out.type_ = allocation.kind;
            out.argIndex = allocation.argument.unwrap_or(u32::MAX);
            Ok(())
        })
    }
}

/// `zeKernelGetProperties`.
pub unsafe fn zeKernelGetProperties(
    hKernel: ze_kernel_handle_t,
    pKernelProperties: *mut ze_kernel_properties_t,
) -> Result<()> {
    let kernel = handle::get::<Kernel>(hKernel)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { kernel.properties(output(pKernelProperties, "pKernelProperties")?) };
    Ok(())
}

/// `zeKernelSetCacheConfig`: a hint, and a CPU's caches have no configuration.
pub unsafe fn zeKernelSetCacheConfig(
    hKernel: ze_kernel_handle_t,
    flags: ze_cache_config_flags_t,
) -> Result<()> {
    handle::get::<Kernel>(hKernel)?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x3 < flags
    flags::CACHE_CONFIG.check(flags)
}

/// `zeKernelSetGlobalOffsetExp`.
pub unsafe fn zeKernelSetGlobalOffsetExp(
    hKernel: ze_kernel_handle_t,
    offsetX: u32,
    offsetY: u32,
    offsetZ: u32,
) -> Result<()> {
    handle::get::<Kernel>(hKernel)?.set_global_offset([offsetX, offsetY, offsetZ]);
    Ok(())
}

/// `zeKernelSchedulingHintExp`: work-groups run the oldest first whatever the hint is; the specification wants hints that
/// are not supported to be ignored.
pub unsafe fn zeKernelSchedulingHintExp(
    hKernel: ze_kernel_handle_t,
    pHint: *mut ze_scheduling_hint_exp_desc_t,
) -> Result<()> {
    handle::get::<Kernel>(hKernel)?;
    // SAFETY: the caller passes null or a valid structure.
    unsafe { descriptor(pHint, "pHint") }.map(drop)
}
