//! `zesDeviceEnumMemoryModules` and `zesMemory*`.

use ze_core::error::{Error, Result};
use ze_core::sysman;
use ze_core::sysman::memory::MemoryModule;
use ze_headers::*;

use super::parts;
use crate::args::{address, output};

/// `zesDeviceEnumMemoryModules`.
pub unsafe fn zesDeviceEnumMemoryModules(
    hDevice: zes_device_handle_t,
    pCount: *mut u32,
    phMemory: *mut zes_mem_handle_t,
) -> Result<()> {
    // SAFETY: the caller passes null or valid pointers.
    unsafe { parts::<MemoryModule>(hDevice, |sysman| &sysman.memory, pCount, phMemory) }
}

/// `zesMemoryGetProperties`.
pub unsafe fn zesMemoryGetProperties(
    hMemory: zes_mem_handle_t,
    pProperties: *mut zes_mem_properties_t,
) -> Result<()> {
    let memory = sysman::get::<MemoryModule>(hMemory)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { memory.properties(output(pProperties, "pProperties")?) };
    Ok(())
}

/// `zesMemoryGetState`.
pub unsafe fn zesMemoryGetState(hMemory: zes_mem_handle_t, pState: *mut zes_mem_state_t) -> Result<()> {
    let memory = sysman::get::<MemoryModule>(hMemory)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { memory.state(output(pState, "pState")?) }
}

/// `zesMemoryGetBandwidth`: nothing counts it.
pub unsafe fn zesMemoryGetBandwidth(
    hMemory: zes_mem_handle_t,
    pBandwidth: *mut zes_mem_bandwidth_t,
) -> Result<()> {
    sysman::get::<MemoryModule>(hMemory)?;
    address(pBandwidth, "pBandwidth")?;
    Err(Error::UnsupportedFeature("the memory's bandwidth"))
}
