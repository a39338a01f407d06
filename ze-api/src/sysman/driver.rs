//! `zesInit` and `zesDriver*`.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::{Error, Result};
use ze_core::futex::Deadline;
use ze_core::sysman::{self, event};
use ze_headers::*;

use crate::args::{address, handles, list, output, text};
use crate::driver::extension_address;
use crate::logging;

/// `zesInit`.
pub unsafe fn zesInit(flags: zes_init_flags_t) -> Result<()> {
    logging::initialize();
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x1 < flags
    if flags & !ZES_INIT_FLAG_PLACEHOLDER != 0 {
        return Err(Error::InvalidEnumeration { what: "zesInit flags", value: flags.into() });
    }
    sysman::initialize()
}

/// `zesDriverGet`: the core API's driver.
pub unsafe fn zesDriverGet(pCount: *mut u32, phDrivers: *mut zes_driver_handle_t) -> Result<()> {
    let driver = sysman::driver()?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe { list(pCount, phDrivers, 1, |_, out| driver.handle().map(|handle| *out = handle)) }
}

/// `zesDriverGetExtensionProperties`.
pub unsafe fn zesDriverGetExtensionProperties(
    hDriver: zes_driver_handle_t,
    pCount: *mut u32,
    pExtensionProperties: *mut zes_driver_extension_properties_t,
) -> Result<()> {
    let extensions = sysman::get::<Driver>(hDriver)?.sysman_extensions();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, pExtensionProperties, extensions.len(), |index, out| {
            *out = extensions[index];
            Ok(())
        })
    }
}

/// `zesDriverGetExtensionFunctionAddress`.
pub unsafe fn zesDriverGetExtensionFunctionAddress(
    hDriver: zes_driver_handle_t,
    name: *const c_char,
    ppFunctionAddress: *mut *mut c_void,
) -> Result<()> {
    sysman::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or valid pointers.
    let (name, out) = unsafe { (text(name, "name")?, output(ppFunctionAddress, "ppFunctionAddress")?) };
    let found = extension_address(&name);
    *out = found.unwrap_or(null_mut());
    // ZE_RESULT_ERROR_INVALID_ARGUMENT: not a function of this driver
    found.map(drop).ok_or_else(|| Error::InvalidArgument(format!("no extension function '{name}'")))
}

/// `zesDriverGetDeviceByUuidExp`.
pub unsafe fn zesDriverGetDeviceByUuidExp(
    hDriver: zes_driver_handle_t,
    uuid: zes_uuid_t,
    phDevice: *mut zes_device_handle_t,
    onSubdevice: *mut ze_bool_t,
    subdeviceId: *mut u32,
) -> Result<()> {
    let driver = sysman::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or valid pointers.
    let (device, on_subdevice, subdevice) = unsafe {
        (
            output(phDevice, "phDevice")?,
            output(onSubdevice, "onSubdevice")?,
            output(subdeviceId, "subdeviceId")?,
        )
    };
    let found = driver.device_by_uuid(uuid.id);
    let found = found.ok_or_else(|| Error::InvalidArgument("no device has this UUID".into()))?;
    // Parts have no handle of their own in system management.
    *device = found.whole().unwrap_or_else(|| Arc::clone(&found)).handle()?;
    (*on_subdevice, *subdevice) = (found.is_part().into(), found.sub_device_id());
    Ok(())
}

/// Waits for events of the devices. None ever happens, so that it lasts until the time is over or no device has an event
/// registered.
unsafe fn listen(
    hDriver: ze_driver_handle_t,
    deadline: Deadline,
    count: u32,
    phDevices: *mut zes_device_handle_t,
    pNumDeviceEvents: *mut u32,
    pEvents: *mut zes_event_type_flags_t,
) -> Result<()> {
    sysman::get::<Driver>(hDriver)?;
    address(phDevices, "phDevices")?;
    // SAFETY: the caller passes null or a valid pointer, and `count` devices.
    let (number, devices) = unsafe {
        (output(pNumDeviceEvents, "pNumDeviceEvents")?, handles::<Device>(count, phDevices, "phDevices")?)
    };
    address(pEvents, "pEvents")?;
    for device in devices {
        device.sysman().events.listen(deadline);
    }
    *number = 0;
    // SAFETY: the caller's array has an entry for each device.
    unsafe { pEvents.write_bytes(0, count as usize) };
    Ok(())
}

/// `zesDriverEventListen`; `timeout` in milliseconds.
pub unsafe fn zesDriverEventListen(
    hDriver: ze_driver_handle_t,
    timeout: u32,
    count: u32,
    phDevices: *mut zes_device_handle_t,
    pNumDeviceEvents: *mut u32,
    pEvents: *mut zes_event_type_flags_t,
) -> Result<()> {
    let timeout = if timeout == u32::MAX { u64::MAX } else { timeout.into() };
    // SAFETY: the caller's promises are those of the function.
    unsafe { listen(hDriver, event::deadline(timeout), count, phDevices, pNumDeviceEvents, pEvents) }
}

/// `zesDriverEventListenEx`; `timeout` in milliseconds.
pub unsafe fn zesDriverEventListenEx(
    hDriver: ze_driver_handle_t,
    timeout: u64,
    count: u32,
    phDevices: *mut zes_device_handle_t,
    pNumDeviceEvents: *mut u32,
    pEvents: *mut zes_event_type_flags_t,
) -> Result<()> {
    // SAFETY: the caller's promises are those of the function.
    unsafe { listen(hDriver, event::deadline(timeout), count, phDevices, pNumDeviceEvents, pEvents) }
}
