//! `zer*`: the functions that need no driver handle.

use std::ffi::c_char;
use std::sync::Arc;

use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_headers::*;

use crate::args::output;
use crate::entry;

/// `zerGetLastErrorDescription`.
pub unsafe fn zerGetLastErrorDescription(ppString: *mut *const c_char) -> Result<()> {
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(ppString, "ppString") }? = entry::last_error();
    Ok(())
}

/// `zerTranslateDeviceHandleToIdentifier`: where `zeDeviceGet` has it.
pub unsafe fn zerTranslateDeviceHandleToIdentifier(hDevice: ze_device_handle_t) -> Result<u32> {
    let device = handle::get::<Device>(hDevice)?;
    let place = Driver::get()?.devices().iter().position(|other| Arc::ptr_eq(other, &device));
    place
        .map(|place| place as u32)
        .ok_or_else(|| Error::InvalidArgument("only devices that zeDeviceGet lists have identifiers".into()))
}

/// `zerTranslateIdentifierToDeviceHandle`.
pub unsafe fn zerTranslateIdentifierToDeviceHandle(identifier: u32) -> Result<ze_device_handle_t> {
    let devices = Driver::get()?.devices();
    let device = devices.get(identifier as usize);
    device.ok_or_else(|| Error::InvalidArgument(format!("there is no device {identifier}")))?.handle()
}

/// `zerGetDefaultContext`.
pub unsafe fn zerGetDefaultContext() -> Result<ze_context_handle_t> {
    Driver::get()?.default_context()
}
