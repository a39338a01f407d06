//! `zesDeviceEnumRasErrorSets` and `zesRas*`.

use ze_core::error::{Error, Result};
use ze_core::sysman;
use ze_core::sysman::ras::{self, RasErrorSet};
use ze_headers::*;

use super::parts;
use crate::args::{address, list, output};

const THRESHOLDS: Error = Error::UnsupportedFeature("thresholds of errors");

/// `zesDeviceEnumRasErrorSets`.
pub unsafe fn zesDeviceEnumRasErrorSets(
    hDevice: zes_device_handle_t,
    pCount: *mut u32,
    phRas: *mut zes_ras_handle_t,
) -> Result<()> {
    // SAFETY: the caller passes null or valid pointers.
    unsafe { parts::<RasErrorSet>(hDevice, |sysman| &sysman.ras, pCount, phRas) }
}

/// `zesRasGetProperties`.
pub unsafe fn zesRasGetProperties(
    hRas: zes_ras_handle_t,
    pProperties: *mut zes_ras_properties_t,
) -> Result<()> {
    let set = sysman::get::<RasErrorSet>(hRas)?;
    // SAFETY: the caller passes null or a valid structure.
    set.properties(unsafe { output(pProperties, "pProperties") }?);
    Ok(())
}

/// `zesRasGetConfig`.
pub unsafe fn zesRasGetConfig(hRas: zes_ras_handle_t, pConfig: *mut zes_ras_config_t) -> Result<()> {
    let set = sysman::get::<RasErrorSet>(hRas)?;
    // SAFETY: the caller passes null or a valid structure.
    set.config(unsafe { output(pConfig, "pConfig") }?);
    Ok(())
}

/// `zesRasSetConfig`: refused.
pub unsafe fn zesRasSetConfig(hRas: zes_ras_handle_t, pConfig: *const zes_ras_config_t) -> Result<()> {
    sysman::get::<RasErrorSet>(hRas)?;
    address(pConfig, "pConfig")?;
    Err(THRESHOLDS)
}

/// `zesRasGetState`.
pub unsafe fn zesRasGetState(
    hRas: zes_ras_handle_t,
    clear: ze_bool_t,
    pState: *mut zes_ras_state_t,
) -> Result<()> {
    let set = sysman::get::<RasErrorSet>(hRas)?;
    // SAFETY: the caller passes null or a valid structure.
    set.state(clear != 0, unsafe { output(pState, "pState") }?)
}

/// `zesRasGetStateExp`.
pub unsafe fn zesRasGetStateExp(
    hRas: zes_ras_handle_t,
    pCount: *mut u32,
    pState: *mut zes_ras_state_exp_t,
) -> Result<()> {
    let set = sysman::get::<RasErrorSet>(hRas)?;
    // SAFETY: the caller passes null or valid structures.
    unsafe {
        list(pCount, pState, 1, |_, out| {
            *out = zes_ras_state_exp_t { category: ras::CATEGORY, errorCounter: set.count()? };
            Ok(())
        })
    }
}

/// `zesRasClearStateExp`: refused.
pub unsafe fn zesRasClearStateExp(
    hRas: zes_ras_handle_t,
    category: zes_ras_error_category_exp_t,
) -> Result<()> {
    sysman::get::<RasErrorSet>(hRas)?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZES_RAS_ERROR_CATEGORY_EXP_SOC_INTERNAL_ERRORS < category
    if category.0 > ZES_RAS_ERROR_CATEGORY_EXP_SOC_INTERNAL_ERRORS.0 {
        let (what, value) = ("zes_ras_error_category_exp_t", category.0.into());
        return Err(Error::InvalidEnumeration { what, value });
    }
    Err(Error::InsufficientPermissions("error counters are the system's, and not set back"))
}

/// `zesRasGetSupportedCategoriesExp`.
pub unsafe fn zesRasGetSupportedCategoriesExp(
    hRas: zes_ras_handle_t,
    pCount: *mut u32,
    pCategories: *mut zes_ras_error_category_exp_t,
) -> Result<()> {
    sysman::get::<RasErrorSet>(hRas)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, pCategories, 1, |_, out| {
            *out = ras::CATEGORY;
            Ok(())
        })
    }
}

/// `zesRasGetStateExp2`.
pub unsafe fn zesRasGetStateExp2(
    hRas: zes_ras_handle_t,
    count: u32,
    pCategories: *const zes_ras_error_category_exp_t,
    pState: *mut zes_ras_state_exp2_t,
) -> Result<()> {
    let set = sysman::get::<RasErrorSet>(hRas)?;
    address(pCategories, "pCategories")?;
    address(pState, "pState")?;
    // SAFETY: the caller's arrays have `count` entries.
    let entries =
        (0..count as usize).map(|index| unsafe { (&*pCategories.add(index), &mut *pState.add(index)) });
    for (category, state) in entries {
        state.errorCounter = set.count_of(*category)?;
    }
    Ok(())
}

/// `zesRasGetConfigExp`: no threshold is set, and 0 says so.
pub unsafe fn zesRasGetConfigExp(
    hRas: zes_ras_handle_t,
    count: u32,
    pConfig: *mut zes_ras_config_exp_t,
) -> Result<()> {
    let set = sysman::get::<RasErrorSet>(hRas)?;
    address(pConfig, "pConfig")?;
    for index in 0..count as usize {
        // SAFETY: the caller's array has `count` entries.
        let config = unsafe { &mut *pConfig.add(index) };
        set.count_of(config.category)?;
        config.threshold = 0;
    }
    Ok(())
}

/// `zesRasSetConfigExp`: refused.
pub unsafe fn zesRasSetConfigExp(
    hRas: zes_ras_handle_t,
    _count: u32,
    pConfig: *const zes_ras_config_exp_t,
) -> Result<()> {
    sysman::get::<RasErrorSet>(hRas)?;
    address(pConfig, "pConfig")?;
    Err(THRESHOLDS)
}
