//! `zeModule*`.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_core::module::{self, BuildLog, Module};
use ze_headers::*;

use crate::args::{address, bytes, descriptor, handles, input, list, output, text};
use crate::flags::enumeration;

/// Publishes what a build or a link had to say, where the program asks for it.
///
/// # Safety
///
/// `out` is null or valid.
unsafe fn publish_log<T>(out: *mut ze_module_build_log_handle_t, result: &Result<T>) -> Result<()> {
    // SAFETY: the caller's promise.
    if let Some(out) = unsafe { out.as_mut() } {
        let text = result.as_ref().err().map(Error::to_string).unwrap_or_default();
        *out = handle::publish(BuildLog::new(&text))?;
    }
    Ok(())
}

/// `zeModuleCreate`.
pub unsafe fn zeModuleCreate(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    desc: *const ze_module_desc_t,
    phModule: *mut ze_module_handle_t,
    phBuildLog: *mut ze_module_build_log_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers, and a valid chain.
    unsafe {
        let (desc, out) = (input(desc, "desc")?, output(phModule, "phModule")?);
        // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZE_MODULE_FORMAT_NATIVE < desc->format
        let format = enumeration("ze_module_desc_t::format", desc.format.0, ZE_MODULE_FORMAT_NATIVE.0);
        // Programs ask the log for the reason whatever it is.
        let module = format.and_then(|()| Module::create(&context, &device, desc));
        publish_log(phBuildLog, &module)?;
        *out = handle::publish(module?)?;
    }
    Ok(())
}

/// `zeModuleDestroy`.
pub unsafe fn zeModuleDestroy(hModule: ze_module_handle_t) -> Result<()> {
    handle::release::<Module>(hModule).map(drop)
}

/// `zeModuleDynamicLink`.
pub unsafe fn zeModuleDynamicLink(
    numModules: u32,
    phModules: *mut ze_module_handle_t,
    phLinkLog: *mut ze_module_build_log_handle_t,
) -> Result<()> {
    address(phModules, "phModules")?;
    // SAFETY: the caller passes an array of as many modules, and null or a valid pointer.
    unsafe {
        let modules = handles::<Module>(numModules, phModules, "phModules")?;
        let modules: Vec<&Arc<Module>> = modules.iter().map(|module| &**module).collect();
        let linked = Module::link(&modules);
        publish_log(phLinkLog, &linked)?;
        linked
    }
}

/// `zeModuleInspectLinkageExt`.
pub unsafe fn zeModuleInspectLinkageExt(
    pInspectDesc: *mut ze_linkage_inspection_ext_desc_t,
    numModules: u32,
    phModules: *mut ze_module_handle_t,
    phLog: *mut ze_module_build_log_handle_t,
) -> Result<()> {
    // SAFETY: the caller passes null or valid pointers, and an array of as many modules.
    unsafe {
        let flags = descriptor(pInspectDesc, "pInspectDesc")?.flags;
        address(phModules, "phModules")?;
        let out = output(phLog, "phLog")?;
        let modules = handles::<Module>(numModules, phModules, "phModules")?;
        let modules: Vec<&Arc<Module>> = modules.iter().map(|module| &**module).collect();
        *out = handle::publish(BuildLog::new(&module::inspect_linkage(&modules, flags)))?;
    }
    Ok(())
}

/// `zeModuleBuildLogDestroy`.
pub unsafe fn zeModuleBuildLogDestroy(hModuleBuildLog: ze_module_build_log_handle_t) -> Result<()> {
    handle::release::<BuildLog>(hModuleBuildLog).map(drop)
}

/// `zeModuleBuildLogGetString`.
pub unsafe fn zeModuleBuildLogGetString(
    hModuleBuildLog: ze_module_build_log_handle_t,
    pSize: *mut usize,
    pBuildLog: *mut c_char,
) -> Result<()> {
    let log = handle::get::<BuildLog>(hModuleBuildLog)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe { bytes(pSize, pBuildLog.cast(), log.text()) }
}

/// `zeModuleGetNativeBinary`.
pub unsafe fn zeModuleGetNativeBinary(
    hModule: ze_module_handle_t,
    pSize: *mut usize,
    pModuleNativeBinary: *mut u8,
) -> Result<()> {
    let module = handle::get::<Module>(hModule)?;
    // SAFETY: the caller passes null or valid pointers.
    module.check_native_binary()?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe { bytes(pSize, pModuleNativeBinary, &module.native_binary()) }
}

/// `zetModuleGetDebugInfo`.
pub unsafe fn zetModuleGetDebugInfo(
    hModule: zet_module_handle_t,
    format: zet_module_debug_info_format_t,
    pSize: *mut usize,
    pDebugInfo: *mut u8,
) -> Result<()> {
    let module = handle::get::<Module>(hModule)?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF < format
    enumeration("zet_module_debug_info_format_t", format.0, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF.0)?;
    address(pSize, "pSize")?;
    if pDebugInfo.is_null() {
        // SAFETY: the caller passes a valid pointer.
        unsafe { pSize.write(module.debug_info()?.len()) };
        return Ok(());
    }
    let info = module.last_debug_info()?;
    // A part of a file is of no use.
    // SAFETY: the caller passes a valid pointer, and a buffer of as many bytes as it says.
    unsafe {
        if pSize.read() < info.len() {
            let reason = format!("debug information has {} bytes, the buffer {}", info.len(), pSize.read());
            return Err(Error::InvalidArgument(reason));
        }
        bytes(pSize, pDebugInfo, &info)
    }
}

/// `zeModuleGetGlobalPointer`.
pub unsafe fn zeModuleGetGlobalPointer(
    hModule: ze_module_handle_t,
    pGlobalName: *const c_char,
    pSize: *mut usize,
    pptr: *mut *mut c_void,
) -> Result<()> {
    let module = handle::get::<Module>(hModule)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        let (address, size) = module.global(&text(pGlobalName, "pGlobalName")?)?;
        if let Some(out) = pSize.as_mut() {
            *out = size;
        }
        if let Some(out) = pptr.as_mut() {
            *out = address.cast();
        }
    }
    Ok(())
}

/// `zeModuleGetKernelNames`: the names live as long as the module.
pub unsafe fn zeModuleGetKernelNames(
    hModule: ze_module_handle_t,
    pCount: *mut u32,
    pNames: *mut *const c_char,
) -> Result<()> {
    let module = handle::get::<Module>(hModule)?;
    let names = module.kernel_names();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, pNames, names.len(), |index, out| {
            *out = names[index].as_ptr();
            Ok(())
        })
    }
}

/// `zeModuleGetProperties`.
pub unsafe fn zeModuleGetProperties(
    hModule: ze_module_handle_t,
    pModuleProperties: *mut ze_module_properties_t,
) -> Result<()> {
    let module = handle::get::<Module>(hModule)?;
    // SAFETY: the caller passes null or a valid structure.
    let out = unsafe { output(pModuleProperties, "pModuleProperties") }?;
    out.flags = if module.has_imports() { ZE_MODULE_PROPERTY_FLAG_IMPORTS } else { 0 };
    Ok(())
}

/// `zeModuleGetFunctionPointer`.
pub unsafe fn zeModuleGetFunctionPointer(
    hModule: ze_module_handle_t,
    pFunctionName: *const c_char,
    pfnFunction: *mut *mut c_void,
) -> Result<()> {
    let module = handle::get::<Module>(hModule)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        let out = output(pfnFunction, "pfnFunction")?;
        *out = module.function_pointer(&text(pFunctionName, "pFunctionName")?)? as *mut c_void;
    }
    Ok(())
}
