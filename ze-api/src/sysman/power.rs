//! `zesDeviceEnumPowerDomains` and `zesPower*`.

use std::ptr::null_mut;

use ze_core::device::Device;
use ze_core::error::{Error, Result};
use ze_core::sysman;
use ze_core::sysman::power::PowerDomain;
use ze_headers::*;

use super::parts;
use crate::args::{address, input, list, output};

const SET: Error = Error::UnsupportedFeature("setting the host's power limits");
const THRESHOLD: Error = Error::UnsupportedFeature("an energy threshold");

/// `zesDeviceEnumPowerDomains`.
pub unsafe fn zesDeviceEnumPowerDomains(
    hDevice: zes_device_handle_t,
    pCount: *mut u32,
    phPower: *mut zes_pwr_handle_t,
) -> Result<()> {
    // SAFETY: the caller passes null or valid pointers.
    unsafe { parts::<PowerDomain>(hDevice, |sysman| &sysman.power, pCount, phPower) }
}

/// `zesDeviceGetCardPowerDomain`: a CPU is no card.
pub unsafe fn zesDeviceGetCardPowerDomain(
    hDevice: zes_device_handle_t,
    phPower: *mut zes_pwr_handle_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(phPower, "phPower") }? = null_mut();
    Err(Error::UnsupportedFeature("power of a card"))
}

/// `zesPowerGetProperties`.
pub unsafe fn zesPowerGetProperties(
    hPower: zes_pwr_handle_t,
    pProperties: *mut zes_power_properties_t,
) -> Result<()> {
    let domain = sysman::get::<PowerDomain>(hPower)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { domain.properties(output(pProperties, "pProperties")?) };
    Ok(())
}

/// `zesPowerGetEnergyCounter`.
pub unsafe fn zesPowerGetEnergyCounter(
    hPower: zes_pwr_handle_t,
    pEnergy: *mut zes_power_energy_counter_t,
) -> Result<()> {
    let domain = sysman::get::<PowerDomain>(hPower)?;
    // SAFETY: the caller passes null or a valid structure.
    *unsafe { output(pEnergy, "pEnergy") }? = domain.energy()?;
    Ok(())
}

/// `zesPowerGetLimits`.
pub unsafe fn zesPowerGetLimits(
    hPower: zes_pwr_handle_t,
    pSustained: *mut zes_power_sustained_limit_t,
    pBurst: *mut zes_power_burst_limit_t,
    pPeak: *mut zes_power_peak_limit_t,
) -> Result<()> {
    let domain = sysman::get::<PowerDomain>(hPower)?;
    // SAFETY: the caller passes null or valid structures.
    unsafe { domain.older_limits(pSustained.as_mut(), pBurst.as_mut(), pPeak.as_mut()) };
    Ok(())
}

/// `zesPowerSetLimits`: refused, as the properties say.
pub unsafe fn zesPowerSetLimits(
    hPower: zes_pwr_handle_t,
    _pSustained: *const zes_power_sustained_limit_t,
    _pBurst: *const zes_power_burst_limit_t,
    _pPeak: *const zes_power_peak_limit_t,
) -> Result<()> {
    sysman::get::<PowerDomain>(hPower)?;
    Err(SET)
}

/// `zesPowerGetLimitsExt`.
pub unsafe fn zesPowerGetLimitsExt(
    hPower: zes_pwr_handle_t,
    pCount: *mut u32,
    pSustained: *mut zes_power_limit_ext_desc_t,
) -> Result<()> {
    let domain = sysman::get::<PowerDomain>(hPower)?;
    let (limits, enabled) = (domain.limits(), domain.is_limited());
    // SAFETY: the caller passes null or valid structures.
    unsafe {
        list(pCount, pSustained, limits.len(), |index, out| {
            limits[index].describe(enabled, out);
            Ok(())
        })
    }
}

/// `zesPowerSetLimitsExt`: refused, as each limit says.
pub unsafe fn zesPowerSetLimitsExt(
    hPower: zes_pwr_handle_t,
    pCount: *mut u32,
    _pSustained: *mut zes_power_limit_ext_desc_t,
) -> Result<()> {
    sysman::get::<PowerDomain>(hPower)?;
    // SAFETY: the caller passes null or a valid pointer.
    unsafe { input(pCount, "pCount") }?;
    Err(SET)
}

/// `zesPowerGetLimitsExt2`.
pub unsafe fn zesPowerGetLimitsExt2(hPower: zes_pwr_handle_t, pLimit: *mut u32) -> Result<()> {
    let domain = sysman::get::<PowerDomain>(hPower)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pLimit, "pLimit") }? = domain.sustained_limit()?;
    Ok(())
}

/// `zesPowerSetLimitsExt2`: refused.
pub unsafe fn zesPowerSetLimitsExt2(hPower: zes_pwr_handle_t, _limit: u32) -> Result<()> {
    sysman::get::<PowerDomain>(hPower)?;
    Err(SET)
}

/// `zesPowerGetUsage`: only energy is counted.
pub unsafe fn zesPowerGetUsage(
    hPower: zes_pwr_handle_t,
    pInstantPower: *mut u32,
    pAveragePower: *mut u32,
) -> Result<()> {
    sysman::get::<PowerDomain>(hPower)?;
    address(pInstantPower, "pInstantPower")?;
    address(pAveragePower, "pAveragePower")?;
    Err(Error::UnsupportedFeature("power, other than by the energy counter,"))
}

/// `zesPowerGetEnergyThreshold`: unsupported.
pub unsafe fn zesPowerGetEnergyThreshold(
    hPower: zes_pwr_handle_t,
    pThreshold: *mut zes_energy_threshold_t,
) -> Result<()> {
    sysman::get::<PowerDomain>(hPower)?;
    address(pThreshold, "pThreshold")?;
    Err(THRESHOLD)
}

/// `zesPowerSetEnergyThreshold`: unsupported.
pub unsafe fn zesPowerSetEnergyThreshold(hPower: zes_pwr_handle_t, _threshold: f64) -> Result<()> {
    sysman::get::<PowerDomain>(hPower)?;
    Err(THRESHOLD)
}
