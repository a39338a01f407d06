//! What system management says of a device.

use std::ffi::c_void;
use std::ptr::null_mut;

use ze_headers::*;

use crate::api::{Answer, Api, list};
use crate::core::query;
use crate::json::{Map, Value, error, object, text, uuid, value_or_error, version};
use crate::names;

/// The sysman drivers' devices, each with its UUID.
pub fn devices(api: &Api) -> Result<Vec<(zes_driver_handle_t, zes_device_handle_t)>, String> {
    // SAFETY: plain values in and out.
    unsafe {
        api.zesInit(0)?;
        let mut devices = Vec::new();
        for driver in list(null_mut(), |count, out| api.zesDriverGet(count, out))? {
            let own = list(null_mut(), |count, out| api.zesDeviceGet(driver, count, out))?;
            devices.extend(own.into_iter().map(|device| (driver, device)));
        }
        Ok(devices)
    }
}

/// The UUID of a device, by which a core device is found again.
pub fn device_uuid(api: &Api, device: zes_device_handle_t) -> Result<[u8; 16], String> {
    query!(
        api.zesDeviceGetProperties(device),
        zes_device_properties_t { stype: ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES },
        |out| out.core.uuid.id
    )
}

fn properties(api: &Api, device: zes_device_handle_t) -> Result<Value, String> {
    let mut ext =
        zes_device_ext_properties_t { stype: ZES_STRUCTURE_TYPE_DEVICE_EXT_PROPERTIES, ..Default::default() };
    let next: *mut c_void = (&raw mut ext).cast();
    query!(
        api.zesDeviceGetProperties(device),
        zes_device_properties_t { stype: ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES, pNext: next },
        |out| object!(out; modelName vendorName brandName serialNumber boardNumber driverVersion numSubdevices;
            type = names::device_type(ze_device_type_t(ext.type_.0)),
            flags = names::device_flags(ext.flags),
            uuid = uuid(&ext.uuid.id),
        )
    )
}

fn extensions(api: &Api, driver: zes_driver_handle_t) -> Result<Value, String> {
    // SAFETY: a live driver.
    let extensions = list(zes_driver_extension_properties_t::default(), |count, out| unsafe {
        api.zesDriverGetExtensionProperties(driver, count, out)
    })?;
    let entries = extensions.iter().map(|extension| (text(&extension.name), version(extension.version)));
    Ok(Value::Object(entries.collect::<Map<_, _>>()))
}

fn pci(api: &Api, device: zes_device_handle_t) -> Result<Value, String> {
    query!(
        api.zesDevicePciGetProperties(device),
        zes_pci_properties_t { stype: ZES_STRUCTURE_TYPE_PCI_PROPERTIES },
        |out| {
            let at = out.address;
            let address = format!("{:04x}:{:02x}:{:02x}.{}", at.domain, at.bus, at.device, at.function);
            object!(out.maxSpeed; gen_ width maxBandwidth; address = address)
        }
    )
}

fn state(api: &Api, device: zes_device_handle_t) -> Result<Value, String> {
    query!(
        api.zesDeviceGetState(device),
        zes_device_state_t { stype: ZES_STRUCTURE_TYPE_DEVICE_STATE },
        |out| object!((); ;
            reset = names::reset_reasons(out.reset),
            repaired = names::repair_status(out.repaired),
        )
    )
}

fn ecc(api: &Api, device: zes_device_handle_t) -> Result<Value, String> {
    let (mut available, mut configurable) = (0, 0);
    // SAFETY: a live device, and places for the answers.
    unsafe {
        api.zesDeviceEccAvailable(device, &mut available)?;
        api.zesDeviceEccConfigurable(device, &mut configurable)?;
    }
    let (available, configurable) = (available != 0, configurable != 0);
    if !available {
        return Ok(object!((); ; available = available, configurable = configurable));
    }
    let state = query!(
        api.zesDeviceGetEccState(device),
        zes_device_ecc_properties_t { stype: ZES_STRUCTURE_TYPE_DEVICE_ECC_PROPERTIES },
        |out| Value::from(names::ecc_state(out.currentState))
    );
    Ok(object!((); ; available = available, configurable = configurable, state = value_or_error(state)))
}

fn processes(api: &Api, device: zes_device_handle_t) -> Result<Value, String> {
    let item = zes_process_state_t { stype: ZES_STRUCTURE_TYPE_PROCESS_STATE, ..Default::default() };
    // SAFETY: a live device.
    let processes = list(item, |count, out| unsafe { api.zesDeviceProcessesGetState(device, count, out) })?;
    let processes = processes.iter();
    Ok(processes
        .map(|out| object!(out; processId memSize sharedSize; engines = names::engine_flags(out.engines)))
        .collect())
}

/// Reads every part of one type.
fn parts<T>(
    ask: impl Fn(*mut u32, *mut *mut T) -> Answer,
    json: impl Fn(*mut T) -> Result<Value, String>,
) -> Value {
    match list(null_mut(), ask) {
        Ok(handles) => handles.into_iter().map(|handle| value_or_error(json(handle))).collect(),
        Err(result) => error(result),
    }
}

/// Asks for a structure without type tag.
fn plain<T: Default>(ask: impl Fn(*mut T) -> Answer, json: impl Fn(&T) -> Value) -> Value {
    let mut out = T::default();
    ask(&mut out).map_or_else(error, |()| json(&out))
}

fn engine(api: &Api, handle: zes_engine_handle_t) -> Result<Value, String> {
    // SAFETY: a live engine group, and a place for the answer.
    let activity = plain(
        |out| unsafe { api.zesEngineGetActivity(handle, out) },
        |out: &zes_engine_stats_t| object!(out; activeTime timestamp),
    );
    query!(
        api.zesEngineGetProperties(handle),
        zes_engine_properties_t { stype: ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES },
        |out| object!((); ; type = names::engine_group(out.type_), now = activity)
    )
}

fn memory(api: &Api, handle: zes_mem_handle_t) -> Result<Value, String> {
    let state = query!(
        api.zesMemoryGetState(handle),
        zes_mem_state_t { stype: ZES_STRUCTURE_TYPE_MEM_STATE },
        |out| object!(out; free size; health = names::memory_health(out.health))
    );
    // SAFETY: a live module, and a place for the answer.
    let bandwidth = plain(
        |out| unsafe { api.zesMemoryGetBandwidth(handle, out) },
        |out: &zes_mem_bandwidth_t| object!(out; readCounter writeCounter maxBandwidth timestamp),
    );
    query!(
        api.zesMemoryGetProperties(handle),
        zes_mem_properties_t { stype: ZES_STRUCTURE_TYPE_MEM_PROPERTIES },
        |out| object!(out; physicalSize busWidth numChannels;
            type = names::module_type(out.type_),
            location = names::memory_location(out.location),
            now = object!((); ; state = value_or_error(state), bandwidth = bandwidth),
        )
    )
}

fn frequency(api: &Api, handle: zes_freq_handle_t) -> Result<Value, String> {
    let state = query!(
        api.zesFrequencyGetState(handle),
        zes_freq_state_t { stype: ZES_STRUCTURE_TYPE_FREQ_STATE },
        |out| object!(out; currentVoltage request tdp efficient actual;
            throttleReasons = names::throttle_reasons(out.throttleReasons))
    );
    let range = plain(
        // SAFETY: a live domain, and a place for the answer.
        |out| unsafe { api.zesFrequencyGetRange(handle, out) },
        |out: &zes_freq_range_t| object!(out; min max),
    );
    let throttled = plain(
        // SAFETY: as above.
        |out| unsafe { api.zesFrequencyGetThrottleTime(handle, out) },
        |out: &zes_freq_throttle_time_t| object!(out; throttleTime timestamp),
    );
    // SAFETY: a live domain, and as many numbers as are asked for.
    let clocks = list(0.0, |count, out| unsafe { api.zesFrequencyGetAvailableClocks(handle, count, out) });
    query!(
        api.zesFrequencyGetProperties(handle),
        zes_freq_properties_t { stype: ZES_STRUCTURE_TYPE_FREQ_PROPERTIES },
        |out| object!(out; canControl isThrottleEventSupported min max;
            type = names::frequency_domain(out.type_),
            availableClocks = value_or_error(clocks.map(Value::from)),
            now = object!((); ; range = range, state = value_or_error(state), throttled = throttled),
        )
    )
}

fn power(api: &Api, handle: zes_pwr_handle_t) -> Result<Value, String> {
    // SAFETY: a live domain, and a place for the answer.
    let energy = plain(
        |out| unsafe { api.zesPowerGetEnergyCounter(handle, out) },
        |out: &zes_power_energy_counter_t| object!(out; energy timestamp),
    );
    let item =
        zes_power_limit_ext_desc_t { stype: ZES_STRUCTURE_TYPE_POWER_LIMIT_EXT_DESC, ..Default::default() };
    // SAFETY: a live domain.
    let limits = list(item, |count, out| unsafe { api.zesPowerGetLimitsExt(handle, count, out) });
    let limits = limits.map(|limits| {
        let limits = limits.iter();
        limits
            .map(|out| object!(out; enabled interval limit; level = names::power_level(out.level)))
            .collect::<Value>()
    });
    let mut ext =
        zes_power_ext_properties_t { stype: ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES, ..Default::default() };
    let next: *mut c_void = (&raw mut ext).cast();
    query!(
        api.zesPowerGetProperties(handle),
        zes_power_properties_t { stype: ZES_STRUCTURE_TYPE_POWER_PROPERTIES, pNext: next },
        |out| object!(out; canControl isEnergyThresholdSupported defaultLimit minLimit maxLimit;
            domain = names::power_domain(ext.domain),
            limits = value_or_error(limits),
            now = energy,
        )
    )
}

fn temperature(api: &Api, handle: zes_temp_handle_t) -> Result<Value, String> {
    // SAFETY: a live sensor, and a place for the answer.
    let celsius =
        plain(|out| unsafe { api.zesTemperatureGetState(handle, out) }, |out: &f64| Value::from(*out));
    query!(
        api.zesTemperatureGetProperties(handle),
        zes_temp_properties_t { stype: ZES_STRUCTURE_TYPE_TEMP_PROPERTIES },
        |out| object!(out; maxTemperature isCriticalTempSupported isThreshold1Supported isThreshold2Supported;
            type = names::temperature_sensor(out.type_), now = celsius)
    )
}

fn errors(api: &Api, handle: zes_ras_handle_t) -> Result<Value, String> {
    // SAFETY: a live error set.
    let counters = list(zes_ras_state_exp_t::default(), |count, out| unsafe {
        api.zesRasGetStateExp(handle, count, out)
    });
    let counters = counters.map(|counters| {
        let counters =
            counters.iter().map(|out| (names::error_category(out.category), Value::from(out.errorCounter)));
        Value::Object(counters.collect::<Map<_, _>>())
    });
    query!(
        api.zesRasGetProperties(handle),
        zes_ras_properties_t { stype: ZES_STRUCTURE_TYPE_RAS_PROPERTIES },
        |out| object!((); ; type = names::error_type(out.type_), now = value_or_error(counters))
    )
}

/// How many parts of a type there are; nobody has looked into those that no device here has.
fn count(ask: impl FnOnce(*mut u32) -> Answer) -> Value {
    let mut count = 0;
    ask(&mut count).map_or_else(error, |()| Value::from(count))
}

/// A device.
pub fn device(api: &Api, driver: zes_driver_handle_t, device: zes_device_handle_t) -> Value {
    // SAFETY: a live device, and room for as many handles as are asked for.
    unsafe {
        object!((); ;
            properties = value_or_error(properties(api, device)),
            extensions = value_or_error(extensions(api, driver)),
            pci = value_or_error(pci(api, device)),
            ecc = value_or_error(ecc(api, device)),
            engines = parts(|count, out| api.zesDeviceEnumEngineGroups(device, count, out), |part| engine(api, part)),
            memories = parts(|count, out| api.zesDeviceEnumMemoryModules(device, count, out), |part| memory(api, part)),
            frequencies =
                parts(|count, out| api.zesDeviceEnumFrequencyDomains(device, count, out), |part| frequency(api, part)),
            powers = parts(|count, out| api.zesDeviceEnumPowerDomains(device, count, out), |part| power(api, part)),
            temperatures = parts(
                |count, out| api.zesDeviceEnumTemperatureSensors(device, count, out),
                |part| temperature(api, part),
            ),
            errors = parts(|count, out| api.zesDeviceEnumRasErrorSets(device, count, out), |part| errors(api, part)),
            fabricPorts = count(|count| api.zesDeviceEnumFabricPorts(device, count, null_mut())),
            fans = count(|count| api.zesDeviceEnumFans(device, count, null_mut())),
            firmwares = count(|count| api.zesDeviceEnumFirmwares(device, count, null_mut())),
            leds = count(|count| api.zesDeviceEnumLeds(device, count, null_mut())),
            powerSupplies = count(|count| api.zesDeviceEnumPsus(device, count, null_mut())),
            performanceFactors =
                count(|count| api.zesDeviceEnumPerformanceFactorDomains(device, count, null_mut())),
            schedulers = count(|count| api.zesDeviceEnumSchedulers(device, count, null_mut())),
            standbyDomains = count(|count| api.zesDeviceEnumStandbyDomains(device, count, null_mut())),
            diagnostics = count(|count| api.zesDeviceEnumDiagnosticTestSuites(device, count, null_mut())),
            now = object!((); ;
                state = value_or_error(state(api, device)),
                processes = value_or_error(processes(api, device)),
            ),
        )
    }
}
