//! `zer*`: the functions that need no driver handle.

use std::ffi::c_char;

use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_headers::*;

use crate::args::output;
use crate::entry;

/// The only device's identifier.
const DEVICE: u32 = 0;

/// `zerGetLastErrorDescription`.
pub unsafe fn zerGetLastErrorDescription(ppString: *mut *const c_char) -> Result<()> {
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(ppString, "ppString") }? = entry::last_error();
    Ok(())
}

/// `zerTranslateDeviceHandleToIdentifier`.
pub unsafe fn zerTranslateDeviceHandleToIdentifier(hDevice: ze_device_handle_t) -> Result<u32> {
    handle::get::<Device>(hDevice).map(|_| DEVICE)
}

/// `zerTranslateIdentifierToDeviceHandle`.
pub unsafe fn zerTranslateIdentifierToDeviceHandle(identifier: u32) -> Result<ze_device_handle_t> {
    match identifier {
        DEVICE => Driver::get()?.device().handle(),
        other => Err(Error::InvalidArgument(format!("there is no device {other}"))),
    }
}

/// `zerGetDefaultContext`.
pub unsafe fn zerGetDefaultContext() -> Result<ze_context_handle_t> {
    Driver::get()?.default_context()
}
