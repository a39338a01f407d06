//! `zesDevice*` but for the functions that list parts.

use ze_core::device::{Device, UNKNOWN_SPEED};
use ze_core::error::{Error, Result};
use ze_core::sysman;
use ze_headers::*;

use crate::args::{address, input, list, output};

/// Why a device cannot be reset: its engines are the CPU that the caller runs on.
const RESET: Error = Error::UnsupportedFeature("a reset of the host");
/// Why there is nothing to say about what goes through a slot.
const PCI: Error = Error::UnsupportedFeature("PCI traffic: a CPU is in no slot, and that");
/// What nobody knows of a slot's speed.
const SPEED: zes_pci_speed_t =
    zes_pci_speed_t { gen_: UNKNOWN_SPEED, width: UNKNOWN_SPEED, maxBandwidth: UNKNOWN_SPEED as i64 };
const OVERCLOCKING: Error = Error::UnsupportedFeature("overclocking");

/// `zesDeviceGet`: all root devices, whatever `ZE_AFFINITY_MASK` says.
pub unsafe fn zesDeviceGet(
    hDriver: zes_driver_handle_t,
    pCount: *mut u32,
    phDevices: *mut zes_device_handle_t,
) -> Result<()> {
    let driver = sysman::get::<ze_core::driver::Driver>(hDriver)?;
    let roots = driver.roots();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, phDevices, roots.len(), |index, out| {
            *out = roots[index].handle()?;
            Ok(())
        })
    }
}

/// `zesDeviceGetProperties`.
pub unsafe fn zesDeviceGetProperties(
    hDevice: zes_device_handle_t,
    pProperties: *mut zes_device_properties_t,
) -> Result<()> {
    let device = sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { device.sysman_properties(output(pProperties, "pProperties")?) };
    Ok(())
}

/// `zesDeviceGetSubDevicePropertiesExp`.
pub unsafe fn zesDeviceGetSubDevicePropertiesExp(
    hDevice: zes_device_handle_t,
    pCount: *mut u32,
    pSubdeviceProps: *mut zes_subdevice_exp_properties_t,
) -> Result<()> {
    let device = sysman::get::<Device>(hDevice)?;
    let whole = device.whole().unwrap_or_else(|| device.clone());
    let parts = whole.parts();
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, pSubdeviceProps, parts.len(), |index, out| {
            parts[index].sub_device_properties(out);
            Ok(())
        })
    }
}

/// `zesDeviceGetState`.
pub unsafe fn zesDeviceGetState(hDevice: zes_device_handle_t, pState: *mut zes_device_state_t) -> Result<()> {
    let device = sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { device.sysman_state(output(pState, "pState")?) };
    Ok(())
}

/// `zesDeviceReset`: refused.
pub unsafe fn zesDeviceReset(hDevice: zes_device_handle_t, _force: ze_bool_t) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    Err(RESET)
}

/// `zesDeviceResetExt`: refused.
pub unsafe fn zesDeviceResetExt(
    hDevice: zes_device_handle_t,
    pProperties: *mut zes_reset_properties_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure.
    let kind = unsafe { input(pProperties, "pProperties") }?.resetType;
    if kind.0 > ZES_RESET_TYPE_FLR.0 {
        return Err(Error::InvalidEnumeration { what: "zes_reset_type_t", value: kind.0.into() });
    }
    Err(RESET)
}

/// `zesDeviceProcessesGetState`: this process.
pub unsafe fn zesDeviceProcessesGetState(
    hDevice: zes_device_handle_t,
    pCount: *mut u32,
    pProcesses: *mut zes_process_state_t,
) -> Result<()> {
    let device = sysman::get::<Device>(hDevice)?;
    let driver = sysman::driver()?;
    // SAFETY: the caller passes null or valid structures.
    unsafe {
        list(pCount, pProcesses, 1, |_, out| {
            device.process_state(driver, out);
            Ok(())
        })
    }
}

/// `zesDevicePciGetProperties`: the address that `zeDevicePciGetPropertiesExt` says, and no counters.
pub unsafe fn zesDevicePciGetProperties(
    hDevice: zes_device_handle_t,
    pProperties: *mut zes_pci_properties_t,
) -> Result<()> {
    let device = sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure.
    let out = unsafe { output(pProperties, "pProperties")? };
    let [domain, bus, device, function] = device.pci_address();
    out.address = zes_pci_address_t { domain, bus, device, function };
    out.maxSpeed = SPEED;
    (out.haveBandwidthCounters, out.havePacketCounters, out.haveReplayCounters) = (0, 0, 0);
    Ok(())
}

/// `zesDevicePciGetState`: nothing is known of it.
pub unsafe fn zesDevicePciGetState(hDevice: zes_device_handle_t, pState: *mut zes_pci_state_t) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure.
    let out = unsafe { output(pState, "pState")? };
    out.status = ZES_PCI_LINK_STATUS_UNKNOWN;
    (out.qualityIssues, out.stabilityIssues) = (0, 0);
    out.speed = SPEED;
    Ok(())
}

/// `zesDevicePciGetBars`: none.
pub unsafe fn zesDevicePciGetBars(
    hDevice: zes_device_handle_t,
    pCount: *mut u32,
    pProperties: *mut zes_pci_bar_properties_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe { list(pCount, pProperties, 0, |_, _| Ok(())) }
}

/// `zesDevicePciGetStats`: unsupported.
pub unsafe fn zesDevicePciGetStats(hDevice: zes_device_handle_t, pStats: *mut zes_pci_stats_t) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    address(pStats, "pStats")?;
    Err(PCI)
}

/// `zesDevicePciLinkSpeedUpdateExt`: unsupported.
pub unsafe fn zesDevicePciLinkSpeedUpdateExt(
    hDevice: zes_device_handle_t,
    _shouldDowngrade: ze_bool_t,
    pendingAction: *mut zes_device_action_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    address(pendingAction, "pendingAction")?;
    Err(PCI)
}

/// `zesDeviceEventRegister`.
pub unsafe fn zesDeviceEventRegister(
    hDevice: zes_device_handle_t,
    events: zes_event_type_flags_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?.sysman().events.register(events)
}

/// `zesDeviceEccAvailable`.
pub unsafe fn zesDeviceEccAvailable(hDevice: zes_device_handle_t, pAvailable: *mut ze_bool_t) -> Result<()> {
    let device = sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pAvailable, "pAvailable") }? = device.profile().ecc.into();
    Ok(())
}

/// `zesDeviceEccConfigurable`: never.
pub unsafe fn zesDeviceEccConfigurable(
    hDevice: zes_device_handle_t,
    pConfigurable: *mut ze_bool_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pConfigurable, "pConfigurable") }? = 0;
    Ok(())
}

/// `zesDeviceGetEccState`: unsupported where there is no error correction.
pub unsafe fn zesDeviceGetEccState(
    hDevice: zes_device_handle_t,
    pState: *mut zes_device_ecc_properties_t,
) -> Result<()> {
    let device = sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { device.ecc_state(output(pState, "pState")?) }
}

/// `zesDeviceSetEccState`: refused.
pub unsafe fn zesDeviceSetEccState(
    hDevice: zes_device_handle_t,
    newState: *const zes_device_ecc_desc_t,
    pState: *mut zes_device_ecc_properties_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid structure.
    let state = unsafe { input(newState, "newState") }?.state;
    address(pState, "pState")?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZES_DEVICE_ECC_STATE_DISABLED < newState->state
    if state.0 > ZES_DEVICE_ECC_STATE_DISABLED.0 {
        return Err(Error::InvalidEnumeration {
            what: "zes_device_ecc_desc_t::state",
            value: state.0.into(),
        });
    }
    Err(Error::UnsupportedFeature("changing the memory's error correction"))
}

/// `zesDeviceSetOverclockWaiver`: unsupported.
pub unsafe fn zesDeviceSetOverclockWaiver(hDevice: zes_device_handle_t) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    Err(OVERCLOCKING)
}

/// `zesDeviceGetOverclockDomains`: unsupported.
pub unsafe fn zesDeviceGetOverclockDomains(
    hDevice: zes_device_handle_t,
    pOverclockDomains: *mut u32,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    address(pOverclockDomains, "pOverclockDomains")?;
    Err(OVERCLOCKING)
}

/// `zesDeviceGetOverclockControls`: unsupported.
pub unsafe fn zesDeviceGetOverclockControls(
    hDevice: zes_device_handle_t,
    domainType: zes_overclock_domain_t,
    pAvailableControls: *mut u32,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZES_OVERCLOCK_DOMAIN_ADM < domainType
    if domainType.0 > ZES_OVERCLOCK_DOMAIN_ADM.0 {
        let (what, value) = ("zes_overclock_domain_t", domainType.0.into());
        return Err(Error::InvalidEnumeration { what, value });
    }
    address(pAvailableControls, "pAvailableControls")?;
    Err(OVERCLOCKING)
}

/// `zesDeviceResetOverclockSettings`: unsupported.
pub unsafe fn zesDeviceResetOverclockSettings(
    hDevice: zes_device_handle_t,
    _onShippedState: ze_bool_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    Err(OVERCLOCKING)
}

/// `zesDeviceReadOverclockState`: unsupported.
pub unsafe fn zesDeviceReadOverclockState(
    hDevice: zes_device_handle_t,
    pOverclockMode: *mut zes_overclock_mode_t,
    pWaiverSetting: *mut ze_bool_t,
    pOverclockState: *mut ze_bool_t,
    pPendingAction: *mut zes_pending_action_t,
    pPendingReset: *mut ze_bool_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    address(pOverclockMode, "pOverclockMode")?;
    address(pWaiverSetting, "pWaiverSetting")?;
    address(pOverclockState, "pOverclockState")?;
    address(pPendingAction, "pPendingAction")?;
    address(pPendingReset, "pPendingReset")?;
    Err(OVERCLOCKING)
}
