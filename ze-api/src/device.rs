//! `zeDevice*`.

use std::ptr::null_mut;

use ze_core::device::{Device, QUEUE_GROUPS};
use ze_core::driver::Driver;
use ze_core::error::Result;
use ze_core::{handle, host_time};
use ze_headers::*;

use crate::args::{list, output};

/// `zeDeviceGet`.
pub unsafe fn zeDeviceGet(
    hDriver: ze_driver_handle_t,
    pCount: *mut u32,
    phDevices: *mut ze_device_handle_t,
) -> Result<()> {
    let driver = handle::get::<Driver>(hDriver)?;
    let devices = driver.devices();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, phDevices, devices.len(), |index, out| {
            *out = devices[index].handle()?;
            Ok(())
        })
    }
}

/// `zeDeviceGetRootDevice`: null for a device that is its own root.
pub unsafe fn zeDeviceGetRootDevice(
    hDevice: ze_device_handle_t,
    phRootDevice: *mut ze_device_handle_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phRootDevice, "phRootDevice") }?;
    *out = device.root_device().map_or(Ok(null_mut()), |root| root.handle())?;
    Ok(())
}

/// `zeDeviceGetSubDevices`.
pub unsafe fn zeDeviceGetSubDevices(
    hDevice: ze_device_handle_t,
    pCount: *mut u32,
    phSubdevices: *mut ze_device_handle_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    let parts = device.sub_devices();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, phSubdevices, parts.len(), |index, out| {
            *out = parts[index].handle()?;
            Ok(())
        })
    }
}

/// `zeDeviceGetProperties`.
pub unsafe fn zeDeviceGetProperties(
    hDevice: ze_device_handle_t,
    pDeviceProperties: *mut ze_device_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { device.properties(output(pDeviceProperties, "pDeviceProperties")?) };
    Ok(())
}

/// `zeDeviceGetComputeProperties`.
pub unsafe fn zeDeviceGetComputeProperties(
    hDevice: ze_device_handle_t,
    pComputeProperties: *mut ze_device_compute_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { device.compute_properties(output(pComputeProperties, "pComputeProperties")?) };
    Ok(())
}

/// `zeDeviceGetModuleProperties`.
pub unsafe fn zeDeviceGetModuleProperties(
    hDevice: ze_device_handle_t,
    pModuleProperties: *mut ze_device_module_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { device.module_properties(output(pModuleProperties, "pModuleProperties")?) };
    Ok(())
}

/// `zeDeviceGetCommandQueueGroupProperties`.
pub unsafe fn zeDeviceGetCommandQueueGroupProperties(
    hDevice: ze_device_handle_t,
    pCount: *mut u32,
    pCommandQueueGroupProperties: *mut ze_command_queue_group_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid structures with valid chains.
    unsafe {
        list(pCount, pCommandQueueGroupProperties, QUEUE_GROUPS.len(), |index, out| {
            device.queue_group_properties(QUEUE_GROUPS[index], out);
            Ok(())
        })
    }
}

/// `zeDeviceGetMemoryProperties`.
pub unsafe fn zeDeviceGetMemoryProperties(
    hDevice: ze_device_handle_t,
    pCount: *mut u32,
    pMemProperties: *mut ze_device_memory_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid structures with valid chains.
    unsafe {
        list(pCount, pMemProperties, 1, |_, out| {
            device.memory_properties(out);
            Ok(())
        })
    }
}

/// `zeDeviceGetMemoryAccessProperties`.
pub unsafe fn zeDeviceGetMemoryAccessProperties(
    hDevice: ze_device_handle_t,
    pMemAccessProperties: *mut ze_device_memory_access_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure.
    device.memory_access_properties(unsafe { output(pMemAccessProperties, "pMemAccessProperties") }?);
    Ok(())
}

/// `zeDeviceGetCacheProperties`.
pub unsafe fn zeDeviceGetCacheProperties(
    hDevice: ze_device_handle_t,
    pCount: *mut u32,
    pCacheProperties: *mut ze_device_cache_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid structures with valid chains.
    unsafe {
        list(pCount, pCacheProperties, device.cache_count() as usize, |index, out| {
            device.cache_properties(index, out);
            Ok(())
        })
    }
}

/// `zeDeviceGetImageProperties`.
pub unsafe fn zeDeviceGetImageProperties(
    hDevice: ze_device_handle_t,
    pImageProperties: *mut ze_device_image_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { device.image_properties(output(pImageProperties, "pImageProperties")?) };
    Ok(())
}

/// `zeDeviceGetExternalMemoryProperties`.
pub unsafe fn zeDeviceGetExternalMemoryProperties(
    hDevice: ze_device_handle_t,
    pExternalMemoryProperties: *mut ze_device_external_memory_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure.
    let properties = unsafe { output(pExternalMemoryProperties, "pExternalMemoryProperties") }?;
    device.external_memory_properties(properties);
    Ok(())
}

/// `zeDeviceGetP2PProperties`.
pub unsafe fn zeDeviceGetP2PProperties(
    hDevice: ze_device_handle_t,
    hPeerDevice: ze_device_handle_t,
    pP2PProperties: *mut ze_device_p2p_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    handle::get::<Device>(hPeerDevice)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { device.p2p_properties(output(pP2PProperties, "pP2PProperties")?) };
    Ok(())
}

/// `zeDeviceCanAccessPeer`.
pub unsafe fn zeDeviceCanAccessPeer(
    hDevice: ze_device_handle_t,
    hPeerDevice: ze_device_handle_t,
    value: *mut ze_bool_t,
) -> Result<()> {
    handle::get::<Device>(hDevice)?;
    handle::get::<Device>(hPeerDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(value, "value") }? = 1;
    Ok(())
}

/// `zeDeviceGetAggregatedCopyOffloadIncrementValue`: a command is never divided, so it signals once.
pub unsafe fn zeDeviceGetAggregatedCopyOffloadIncrementValue(
    hDevice: ze_device_handle_t,
    incrementValue: *mut u32,
) -> Result<()> {
    handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(incrementValue, "incrementValue") }? = 1;
    Ok(())
}

/// `zeDeviceGetCounterBasedEventMaxValue`: all that a counter can say.
pub unsafe fn zeDeviceGetCounterBasedEventMaxValue(
    hDevice: ze_device_handle_t,
    maxValue: *mut u64,
) -> Result<()> {
    handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(maxValue, "maxValue") }? = u64::MAX;
    Ok(())
}

/// `zeDeviceGetStatus`: the host's CPU is there as long as the program is.
pub unsafe fn zeDeviceGetStatus(hDevice: ze_device_handle_t) -> Result<()> {
    handle::get::<Device>(hDevice).map(|_| ())
}

/// `zeDeviceGetGlobalTimestamps`.
pub unsafe fn zeDeviceGetGlobalTimestamps(
    hDevice: ze_device_handle_t,
    hostTimestamp: *mut u64,
    deviceTimestamp: *mut u64,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers.
    let (host, on_device) =
        unsafe { (output(hostTimestamp, "hostTimestamp")?, output(deviceTimestamp, "deviceTimestamp")?) };
    let now = host_time();
    *host = now;
    *on_device = device.clock().global(now);
    Ok(())
}

/// `zeDevicePciGetPropertiesExt`.
pub unsafe fn zeDevicePciGetPropertiesExt(
    hDevice: ze_device_handle_t,
    pPciProperties: *mut ze_pci_ext_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure.
    device.pci_properties(unsafe { output(pPciProperties, "pPciProperties")? });
    Ok(())
}

/// `zeDeviceGetVectorWidthPropertiesExt`.
pub unsafe fn zeDeviceGetVectorWidthPropertiesExt(
    hDevice: ze_device_handle_t,
    pCount: *mut u32,
    pVectorWidthProperties: *mut ze_device_vector_width_properties_ext_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid structures.
    unsafe {
        list(pCount, pVectorWidthProperties, 1, |_, out| {
            device.vector_width_properties(out);
            Ok(())
        })
    }
}

/// `zeDeviceSynchronize`.
pub unsafe fn zeDeviceSynchronize(hDevice: ze_device_handle_t) -> Result<()> {
    handle::get::<Device>(hDevice)?.synchronize()
}
