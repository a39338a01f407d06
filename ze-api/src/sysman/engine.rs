//! `zesDeviceEnumEngineGroups` and `zesEngine*`.

use ze_core::error::Result;
use ze_core::sysman::engine::EngineGroup;
use ze_core::sysman::{self, Sysman};
use ze_headers::*;

use super::parts;
use crate::args::{list, output};

fn engines(sysman: &Sysman) -> &sysman::Parts<EngineGroup> {
    &sysman.engines
}

/// `zesDeviceEnumEngineGroups`.
pub unsafe fn zesDeviceEnumEngineGroups(
    hDevice: zes_device_handle_t,
    pCount: *mut u32,
    phEngine: *mut zes_engine_handle_t,
) -> Result<()> {
    // SAFETY: the caller passes null or valid pointers.
    unsafe { parts(hDevice, engines, pCount, phEngine) }
}

/// `zesEngineGetProperties`.
pub unsafe fn zesEngineGetProperties(
    hEngine: zes_engine_handle_t,
    pProperties: *mut zes_engine_properties_t,
) -> Result<()> {
    let engine = sysman::get::<EngineGroup>(hEngine)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { engine.properties(output(pProperties, "pProperties")?) };
    Ok(())
}

/// `zesEngineGetActivity`.
pub unsafe fn zesEngineGetActivity(
    hEngine: zes_engine_handle_t,
    pStats: *mut zes_engine_stats_t,
) -> Result<()> {
    let engine = sysman::get::<EngineGroup>(hEngine)?;
    // SAFETY: the caller passes null or a valid structure.
    *unsafe { output(pStats, "pStats") }? = engine.activity();
    Ok(())
}

/// `zesEngineGetActivityExt`: the device's own, as there are no virtual functions of it.
pub unsafe fn zesEngineGetActivityExt(
    hEngine: zes_engine_handle_t,
    pCount: *mut u32,
    pStats: *mut zes_engine_stats_t,
) -> Result<()> {
    let engine = sysman::get::<EngineGroup>(hEngine)?;
    // SAFETY: the caller passes null or valid structures.
    unsafe {
        list(pCount, pStats, 1, |_, out| {
            *out = engine.activity();
            Ok(())
        })
    }
}
