//! `zeInit*` and `zeDriver*`.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use ze_core::driver::{API_VERSION, Driver};
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_headers::*;

use crate::args::{input, list, output, text};
use crate::{entry, exports, logging};

const INIT_FLAGS: u32 = ZE_INIT_FLAG_GPU_ONLY | ZE_INIT_FLAG_VPU_ONLY;

/// `zeInit`.
pub unsafe fn zeInit(flags: ze_init_flags_t) -> Result<()> {
    logging::initialize();
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x3 < flags
    if flags & !INIT_FLAGS != 0 {
        return Err(Error::InvalidEnumeration { what: "zeInit flags", value: flags.into() });
    }
    // ZE_RESULT_ERROR_UNINITIALIZED: no device of the wanted types
    if Driver::initialize().matches_init_flags(flags) { Ok(()) } else { Err(Error::Uninitialized) }
}

/// `zeInitDrivers`.
pub unsafe fn zeInitDrivers(
    pCount: *mut u32,
    phDrivers: *mut ze_driver_handle_t,
    desc: *mut ze_init_driver_type_desc_t,
) -> Result<()> {
    logging::initialize();
    // SAFETY: the caller passes null or valid pointers.
    let types = unsafe { input(desc, "desc") }?.flags;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x0 == desc->flags
    if types == 0 {
        return Err(Error::InvalidEnumeration { what: "ze_init_driver_type_desc_t::flags", value: 0 });
    }
    let driver = Driver::initialize();
    let total = driver.matches_driver_types(types).into();
    // SAFETY: as above.
    unsafe { list(pCount, phDrivers, total, |_, out| driver.handle().map(|handle| *out = handle)) }
}

/// `zeDriverGet`.
pub unsafe fn zeDriverGet(pCount: *mut u32, phDrivers: *mut ze_driver_handle_t) -> Result<()> {
    let driver = Driver::get()?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe { list(pCount, phDrivers, 1, |_, out| driver.handle().map(|handle| *out = handle)) }
}

/// `zeDriverGetApiVersion`.
pub unsafe fn zeDriverGetApiVersion(
    hDriver: ze_driver_handle_t,
    version: *mut ze_api_version_t,
) -> Result<()> {
    handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(version, "version") }? = API_VERSION;
    Ok(())
}

/// `zeDriverGetProperties`.
pub unsafe fn zeDriverGetProperties(
    hDriver: ze_driver_handle_t,
    pDriverProperties: *mut ze_driver_properties_t,
) -> Result<()> {
    let driver = handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { driver.properties(output(pDriverProperties, "pDriverProperties")?) };
    Ok(())
}

/// `zeDriverGetIpcProperties`.
pub unsafe fn zeDriverGetIpcProperties(
    hDriver: ze_driver_handle_t,
    pIpcProperties: *mut ze_driver_ipc_properties_t,
) -> Result<()> {
    let driver = handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or a valid structure.
    driver.ipc_properties(unsafe { output(pIpcProperties, "pIpcProperties") }?);
    Ok(())
}

/// `zeDriverGetExtensionProperties`.
pub unsafe fn zeDriverGetExtensionProperties(
    hDriver: ze_driver_handle_t,
    pCount: *mut u32,
    pExtensionProperties: *mut ze_driver_extension_properties_t,
) -> Result<()> {
    let extensions = handle::get::<Driver>(hDriver)?.extensions();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, pExtensionProperties, extensions.len(), |index, out| {
            *out = extensions[index];
            Ok(())
        })
    }
}

/// Functions that programs look up by name, because loaders of their time did not have them.
const EXTENSION_FUNCTIONS: &[(&str, *const ())] =
    &[("zeCommandListAppendHostFunction", exports::zeCommandListAppendHostFunction as *const ())];

/// `zeDriverGetExtensionFunctionAddress`.
pub unsafe fn zeDriverGetExtensionFunctionAddress(
    hDriver: ze_driver_handle_t,
    name: *const c_char,
    ppFunctionAddress: *mut *mut c_void,
) -> Result<()> {
    handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or valid pointers.
    let (name, out) = unsafe { (text(name, "name")?, output(ppFunctionAddress, "ppFunctionAddress")?) };
    let function = EXTENSION_FUNCTIONS.iter().find(|(known, _)| *known == name);
    *out = function.map_or(null_mut(), |(_, function)| function.cast_mut().cast());
    // ZE_RESULT_ERROR_INVALID_ARGUMENT: not a function of this driver
    function.map(|_| ()).ok_or_else(|| Error::InvalidArgument(format!("no extension function '{name}'")))
}

/// `zeDriverGetLastErrorDescription`.
pub unsafe fn zeDriverGetLastErrorDescription(
    hDriver: ze_driver_handle_t,
    ppString: *mut *const c_char,
) -> Result<()> {
    handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(ppString, "ppString") }? = entry::last_error();
    Ok(())
}

/// `zeDriverGetDefaultContext`.
pub unsafe fn zeDriverGetDefaultContext(hDriver: ze_driver_handle_t) -> Result<ze_context_handle_t> {
    handle::get::<Driver>(hDriver)?.default_context()
}
