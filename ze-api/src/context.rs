//! `zeContext*`.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_headers::*;

use crate::args::{address, descriptor, handles, output};

/// `zeContextCreate`.
pub unsafe fn zeContextCreate(
    hDriver: ze_driver_handle_t,
    desc: *const ze_context_desc_t,
    phContext: *mut ze_context_handle_t,
) -> Result<()> {
    let driver = handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or valid pointers.
    let (_, out) = unsafe { (descriptor(desc, "desc")?, output(phContext, "phContext")?) };
    *out = handle::publish(Context::new(driver.clone()))?;
    Ok(())
}

/// `zeContextCreateEx`.
pub unsafe fn zeContextCreateEx(
    hDriver: ze_driver_handle_t,
    desc: *const ze_context_desc_t,
    numDevices: u32,
    phDevices: *mut ze_device_handle_t,
    phContext: *mut ze_context_handle_t,
) -> Result<()> {
    // ZE_RESULT_ERROR_INVALID_SIZE: (nullptr == phDevices) && (0 < numDevices)
    if phDevices.is_null() && numDevices != 0 {
        return Err(Error::InvalidSize(format!("{numDevices} devices, and no array of them")));
    }
    let driver = handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or valid pointers.
    let (_, out, devices) = unsafe {
        let devices = handles::<Device>(numDevices, phDevices, "phDevices")?;
        (descriptor(desc, "desc")?, output(phContext, "phContext")?, devices)
    };
    let devices = devices.iter().map(|device| Arc::clone(device)).collect();
    *out = handle::publish(Context::with_devices(driver.clone(), devices))?;
    Ok(())
}

/// `zeContextDestroy`.
pub unsafe fn zeContextDestroy(hContext: ze_context_handle_t) -> Result<()> {
    // ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE: the driver hands out its default context for as long as the process lives
    if handle::get::<Context>(hContext)?.driver().is_default_context(hContext) {
        return Err(Error::ObjectInUse("the default context belongs to the driver"));
    }
    handle::release::<Context>(hContext).map(drop)
}

/// `zeContextGetStatus`.
pub unsafe fn zeContextGetStatus(hContext: ze_context_handle_t) -> Result<()> {
    handle::get::<Context>(hContext).map(|_| ())
}

/// `zeContextSystemBarrier`: what others wrote to memory before is seen from now on. It waits for no command.
pub unsafe fn zeContextSystemBarrier(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
) -> Result<()> {
    handle::get::<Context>(hContext)?;
    handle::get::<Device>(hDevice)?;
    fence(Ordering::SeqCst);
    Ok(())
}

fn check_residency(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    ptr: *mut c_void,
    size: usize,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    handle::get::<Device>(hDevice)?;
    address(ptr, "ptr")?;
    // ZE_RESULT_ERROR_INVALID_SIZE: 0 == size
    if size == 0 {
        return Err(Error::InvalidSize("a range of 0 bytes".into()));
    }
    context.check_range(ptr, size)
}

/// `zeContextMakeMemoryResident`: host memory is always resident.
pub unsafe fn zeContextMakeMemoryResident(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    ptr: *mut c_void,
    size: usize,
) -> Result<()> {
    check_residency(hContext, hDevice, ptr, size)
}

/// `zeContextEvictMemory`: as for [`zeContextMakeMemoryResident`].
pub unsafe fn zeContextEvictMemory(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    ptr: *mut c_void,
    size: usize,
) -> Result<()> {
    check_residency(hContext, hDevice, ptr, size)
}
