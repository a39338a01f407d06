//! `zesDeviceEnumFrequencyDomains` and `zesFrequency*`.

use ze_core::error::{Error, Result};
use ze_core::sysman;
use ze_core::sysman::frequency::FrequencyDomain;
use ze_headers::*;

use super::parts;
use crate::args::{address, list, output};

const OVERCLOCKING: Error = Error::UnsupportedFeature("overclocking");

/// `zesDeviceEnumFrequencyDomains`.
pub unsafe fn zesDeviceEnumFrequencyDomains(
    hDevice: zes_device_handle_t,
    pCount: *mut u32,
    phFrequency: *mut zes_freq_handle_t,
) -> Result<()> {
    // SAFETY: the caller passes null or valid pointers.
    unsafe { parts::<FrequencyDomain>(hDevice, |sysman| &sysman.frequencies, pCount, phFrequency) }
}

/// `zesFrequencyGetProperties`.
pub unsafe fn zesFrequencyGetProperties(
    hFrequency: zes_freq_handle_t,
    pProperties: *mut zes_freq_properties_t,
) -> Result<()> {
    let domain = sysman::get::<FrequencyDomain>(hFrequency)?;
    // SAFETY: the caller passes null or a valid structure.
    domain.properties(unsafe { output(pProperties, "pProperties") }?);
    Ok(())
}

/// `zesFrequencyGetAvailableClocks`.
pub unsafe fn zesFrequencyGetAvailableClocks(
    hFrequency: zes_freq_handle_t,
    pCount: *mut u32,
    phFrequency: *mut f64,
) -> Result<()> {
    let clocks = sysman::get::<FrequencyDomain>(hFrequency)?.clocks();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, phFrequency, clocks.len(), |index, out| {
            *out = clocks[index];
            Ok(())
        })
    }
}

/// `zesFrequencyGetRange`.
pub unsafe fn zesFrequencyGetRange(
    hFrequency: zes_freq_handle_t,
    pLimits: *mut zes_freq_range_t,
) -> Result<()> {
    let domain = sysman::get::<FrequencyDomain>(hFrequency)?;
    // SAFETY: the caller passes null or a valid structure.
    *unsafe { output(pLimits, "pLimits") }? = domain.range();
    Ok(())
}

/// `zesFrequencySetRange`: refused, as the properties say.
pub unsafe fn zesFrequencySetRange(
    hFrequency: zes_freq_handle_t,
    pLimits: *const zes_freq_range_t,
) -> Result<()> {
    sysman::get::<FrequencyDomain>(hFrequency)?;
    address(pLimits, "pLimits")?;
    Err(Error::UnsupportedFeature("setting the host's clock"))
}

/// `zesFrequencyGetState`.
pub unsafe fn zesFrequencyGetState(
    hFrequency: zes_freq_handle_t,
    pState: *mut zes_freq_state_t,
) -> Result<()> {
    let domain = sysman::get::<FrequencyDomain>(hFrequency)?;
    // SAFETY: the caller passes null or a valid structure.
    domain.state(unsafe { output(pState, "pState") }?);
    Ok(())
}

/// `zesFrequencyGetThrottleTime`.
pub unsafe fn zesFrequencyGetThrottleTime(
    hFrequency: zes_freq_handle_t,
    pThrottleTime: *mut zes_freq_throttle_time_t,
) -> Result<()> {
    let domain = sysman::get::<FrequencyDomain>(hFrequency)?;
    // SAFETY: the caller passes null or a valid structure.
    *unsafe { output(pThrottleTime, "pThrottleTime") }? = domain.throttle_time()?;
    Ok(())
}

/// Functions of overclocking, with the pointers that must not be null.
macro_rules! overclocking {
    ($($name:ident($($value:ident: $value_ty:ty,)* $([$pointer:ident: $ty:ty])?);)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`: unsupported.")]
            pub unsafe fn $name(hFrequency: zes_freq_handle_t, $($value: $value_ty,)* $($pointer: $ty)?) -> Result<()> {
                sysman::get::<FrequencyDomain>(hFrequency)?;
                $(let _ = $value;)*
                $(address($pointer, stringify!($pointer))?;)?
                Err(OVERCLOCKING)
            }
        )*
    };
}

overclocking! {
    zesFrequencyOcGetCapabilities([pOcCapabilities: *mut zes_oc_capabilities_t]);
    zesFrequencyOcGetFrequencyTarget([pCurrentOcFrequency: *mut f64]);
    zesFrequencyOcSetFrequencyTarget(CurrentOcFrequency: f64,);
    zesFrequencyOcSetVoltageTarget(CurrentVoltageTarget: f64, CurrentVoltageOffset: f64,);
    zesFrequencyOcGetMode([pCurrentOcMode: *mut zes_oc_mode_t]);
    zesFrequencyOcGetIccMax([pOcIccMax: *mut f64]);
    zesFrequencyOcSetIccMax(ocIccMax: f64,);
    zesFrequencyOcGetTjMax([pOcTjMax: *mut f64]);
    zesFrequencyOcSetTjMax(ocTjMax: f64,);
}

/// `zesFrequencyOcGetVoltageTarget`: unsupported.
pub unsafe fn zesFrequencyOcGetVoltageTarget(
    hFrequency: zes_freq_handle_t,
    pCurrentVoltageTarget: *mut f64,
    pCurrentVoltageOffset: *mut f64,
) -> Result<()> {
    sysman::get::<FrequencyDomain>(hFrequency)?;
    address(pCurrentVoltageTarget, "pCurrentVoltageTarget")?;
    address(pCurrentVoltageOffset, "pCurrentVoltageOffset")?;
    Err(OVERCLOCKING)
}

/// `zesFrequencyOcSetMode`: unsupported.
pub unsafe fn zesFrequencyOcSetMode(
    hFrequency: zes_freq_handle_t,
    CurrentOcMode: zes_oc_mode_t,
) -> Result<()> {
    sysman::get::<FrequencyDomain>(hFrequency)?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZES_OC_MODE_FIXED < CurrentOcMode
    if CurrentOcMode.0 > ZES_OC_MODE_FIXED.0 {
        return Err(Error::InvalidEnumeration { what: "zes_oc_mode_t", value: CurrentOcMode.0.into() });
    }
    Err(OVERCLOCKING)
}
