//! `zesDeviceEnumTemperatureSensors` and `zesTemperature*`.

use ze_core::error::{Error, Result};
use ze_core::sysman;
use ze_core::sysman::temperature::TemperatureSensor;
use ze_headers::*;

use super::parts;
use crate::args::{address, output};

const THRESHOLDS: Error = Error::UnsupportedFeature("thresholds of temperatures");

/// `zesDeviceEnumTemperatureSensors`.
pub unsafe fn zesDeviceEnumTemperatureSensors(
    hDevice: zes_device_handle_t,
    pCount: *mut u32,
    phTemperature: *mut zes_temp_handle_t,
) -> Result<()> {
    // SAFETY: the caller passes null or valid pointers.
    unsafe { parts::<TemperatureSensor>(hDevice, |sysman| &sysman.temperatures, pCount, phTemperature) }
}

/// `zesTemperatureGetProperties`.
pub unsafe fn zesTemperatureGetProperties(
    hTemperature: zes_temp_handle_t,
    pProperties: *mut zes_temp_properties_t,
) -> Result<()> {
    let sensor = sysman::get::<TemperatureSensor>(hTemperature)?;
    // SAFETY: the caller passes null or a valid structure.
    sensor.properties(unsafe { output(pProperties, "pProperties") }?);
    Ok(())
}

/// `zesTemperatureGetConfig`: unsupported, as the properties say.
pub unsafe fn zesTemperatureGetConfig(
    hTemperature: zes_temp_handle_t,
    pConfig: *mut zes_temp_config_t,
) -> Result<()> {
    sysman::get::<TemperatureSensor>(hTemperature)?;
    address(pConfig, "pConfig")?;
    Err(THRESHOLDS)
}

/// `zesTemperatureSetConfig`: unsupported, as the properties say.
pub unsafe fn zesTemperatureSetConfig(
    hTemperature: zes_temp_handle_t,
    pConfig: *const zes_temp_config_t,
) -> Result<()> {
    sysman::get::<TemperatureSensor>(hTemperature)?;
    address(pConfig, "pConfig")?;
    Err(THRESHOLDS)
}

/// `zesTemperatureGetState`.
pub unsafe fn zesTemperatureGetState(hTemperature: zes_temp_handle_t, pTemperature: *mut f64) -> Result<()> {
    let sensor = sysman::get::<TemperatureSensor>(hTemperature)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pTemperature, "pTemperature") }? = sensor.state()?;
    Ok(())
}
