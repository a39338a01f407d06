//! The functions of parts that the device does not have: lists of them are empty, and whatever handle a program passes is none of
//! theirs, which says all that there is to check.

use ze_core::device::Device;
use ze_core::error::Result;
use ze_core::handle::Object;
use ze_core::sysman;
use ze_core::sysman::absent::*;
use ze_headers::*;

use crate::args::{address, list};

macro_rules! lists {
    ($($name:ident $type:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`: none.")]
            pub unsafe fn $name(
                hDevice: zes_device_handle_t,
                pCount: *mut u32,
                handles: *mut <$type as Object>::Handle,
            ) -> Result<()> {
                sysman::get::<Device>(hDevice)?;
                // SAFETY: the caller passes null or valid pointers.
                unsafe { list(pCount, handles, 0, |_, _| Ok(())) }
            }
        )*
    };
}

macro_rules! functions {
    ($($type:ident { $($name:ident($handle:ident: $handle_ty:ty $(, $arg:ident: $ty:ty)*);)* })*) => {
        $($(
            #[doc = concat!("`", stringify!($name), "`: no handle is valid.")]
            pub unsafe fn $name($handle: $handle_ty $(, $arg: $ty)*) -> Result<()> {
                $(let _ = $arg;)*
                sysman::get::<$type>($handle).map(drop)
            }
        )*)*
    };
}

lists! {
    zesDeviceEnumDiagnosticTestSuites DiagnosticTestSuite;
    zesDeviceEnumEnabledVFExp VirtualFunction;
    zesDeviceEnumActiveVFExp VirtualFunction;
    zesDeviceEnumFabricPorts FabricPort;
    zesDeviceEnumFans Fan;
    zesDeviceEnumFirmwares Firmware;
    zesDeviceEnumLeds Led;
    zesDeviceEnumOverclockDomains OverclockDomain;
    zesDeviceEnumPerformanceFactorDomains PerformanceFactor;
    zesDeviceEnumPsus PowerSupply;
    zesDeviceEnumSchedulers Scheduler;
    zesDeviceEnumStandbyDomains StandbyDomain;
}

functions! {
    DiagnosticTestSuite {
        zesDiagnosticsGetProperties(hDiagnostics: zes_diag_handle_t, pProperties: *mut zes_diag_properties_t);
        zesDiagnosticsGetTests(hDiagnostics: zes_diag_handle_t, pCount: *mut u32, pTests: *mut zes_diag_test_t);
        zesDiagnosticsRunTests(hDiagnostics: zes_diag_handle_t, startIndex: u32, endIndex: u32, pResult: *mut zes_diag_result_t);
    }
    FabricPort {
        zesFabricPortGetProperties(hPort: zes_fabric_port_handle_t, pProperties: *mut zes_fabric_port_properties_t);
        zesFabricPortGetLinkType(hPort: zes_fabric_port_handle_t, pLinkType: *mut zes_fabric_link_type_t);
        zesFabricPortGetConfig(hPort: zes_fabric_port_handle_t, pConfig: *mut zes_fabric_port_config_t);
        zesFabricPortSetConfig(hPort: zes_fabric_port_handle_t, pConfig: *const zes_fabric_port_config_t);
        zesFabricPortGetState(hPort: zes_fabric_port_handle_t, pState: *mut zes_fabric_port_state_t);
        zesFabricPortGetThroughput(hPort: zes_fabric_port_handle_t, pThroughput: *mut zes_fabric_port_throughput_t);
        zesFabricPortGetFabricErrorCounters(hPort: zes_fabric_port_handle_t, pErrors: *mut zes_fabric_port_error_counters_t);
    }
    Fan {
        zesFanGetProperties(hFan: zes_fan_handle_t, pProperties: *mut zes_fan_properties_t);
        zesFanGetConfig(hFan: zes_fan_handle_t, pConfig: *mut zes_fan_config_t);
        zesFanSetDefaultMode(hFan: zes_fan_handle_t);
        zesFanSetFixedSpeedMode(hFan: zes_fan_handle_t, speed: *const zes_fan_speed_t);
        zesFanSetSpeedTableMode(hFan: zes_fan_handle_t, speedTable: *const zes_fan_speed_table_t);
        zesFanGetState(hFan: zes_fan_handle_t, units: zes_fan_speed_units_t, pSpeed: *mut i32);
    }
    Firmware {
        zesFirmwareGetProperties(hFirmware: zes_firmware_handle_t, pProperties: *mut zes_firmware_properties_t);
        zesFirmwareFlash(hFirmware: zes_firmware_handle_t, pImage: *mut c_void, size: u32);
        zesFirmwareGetFlashProgress(hFirmware: zes_firmware_handle_t, pCompletionPercent: *mut u32);
        zesFirmwareGetConsoleLogs(hFirmware: zes_firmware_handle_t, pSize: *mut usize, pFirmwareLog: *mut c_char);
        zesFirmwareGetSecurityVersionExp(hFirmware: zes_firmware_handle_t, pVersion: *mut c_char);
        zesFirmwareSetSecurityVersionExp(hFirmware: zes_firmware_handle_t);
    }
    Led {
        zesLedGetProperties(hLed: zes_led_handle_t, pProperties: *mut zes_led_properties_t);
        zesLedGetState(hLed: zes_led_handle_t, pState: *mut zes_led_state_t);
        zesLedSetState(hLed: zes_led_handle_t, enable: ze_bool_t);
        zesLedSetColor(hLed: zes_led_handle_t, pColor: *const zes_led_color_t);
    }
    OverclockDomain {
        zesOverclockGetDomainProperties(hDomainHandle: zes_overclock_handle_t, pDomainProperties: *mut zes_overclock_properties_t);
        zesOverclockGetDomainVFProperties(hDomainHandle: zes_overclock_handle_t, pVFProperties: *mut zes_vf_property_t);
        zesOverclockGetDomainControlProperties(hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t, pControlProperties: *mut zes_control_property_t);
        zesOverclockGetControlCurrentValue(hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t, pValue: *mut f64);
        zesOverclockGetControlPendingValue(hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t, pValue: *mut f64);
        zesOverclockSetControlUserValue(hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t, pValue: f64, pPendingAction: *mut zes_pending_action_t);
        zesOverclockGetControlState(hDomainHandle: zes_overclock_handle_t, DomainControl: zes_overclock_control_t, pControlState: *mut zes_control_state_t, pPendingAction: *mut zes_pending_action_t);
        zesOverclockGetVFPointValues(hDomainHandle: zes_overclock_handle_t, VFType: zes_vf_type_t, VFArrayType: zes_vf_array_type_t, PointIndex: u32, PointValue: *mut u32);
        zesOverclockSetVFPointValues(hDomainHandle: zes_overclock_handle_t, VFType: zes_vf_type_t, PointIndex: u32, PointValue: u32);
    }
    PerformanceFactor {
        zesPerformanceFactorGetProperties(hPerf: zes_perf_handle_t, pProperties: *mut zes_perf_properties_t);
        zesPerformanceFactorGetConfig(hPerf: zes_perf_handle_t, pFactor: *mut f64);
        zesPerformanceFactorSetConfig(hPerf: zes_perf_handle_t, factor: f64);
    }
    PowerSupply {
        zesPsuGetProperties(hPsu: zes_psu_handle_t, pProperties: *mut zes_psu_properties_t);
        zesPsuGetState(hPsu: zes_psu_handle_t, pState: *mut zes_psu_state_t);
    }
    Scheduler {
        zesSchedulerGetProperties(hScheduler: zes_sched_handle_t, pProperties: *mut zes_sched_properties_t);
        zesSchedulerGetCurrentMode(hScheduler: zes_sched_handle_t, pMode: *mut zes_sched_mode_t);
        zesSchedulerGetTimeoutModeProperties(hScheduler: zes_sched_handle_t, getDefaults: ze_bool_t, pConfig: *mut zes_sched_timeout_properties_t);
        zesSchedulerGetTimesliceModeProperties(hScheduler: zes_sched_handle_t, getDefaults: ze_bool_t, pConfig: *mut zes_sched_timeslice_properties_t);
        zesSchedulerSetTimeoutMode(hScheduler: zes_sched_handle_t, pProperties: *mut zes_sched_timeout_properties_t, pNeedReload: *mut ze_bool_t);
        zesSchedulerSetTimesliceMode(hScheduler: zes_sched_handle_t, pProperties: *mut zes_sched_timeslice_properties_t, pNeedReload: *mut ze_bool_t);
        zesSchedulerSetExclusiveMode(hScheduler: zes_sched_handle_t, pNeedReload: *mut ze_bool_t);
        zesSchedulerSetComputeUnitDebugMode(hScheduler: zes_sched_handle_t, pNeedReload: *mut ze_bool_t);
    }
    StandbyDomain {
        zesStandbyGetProperties(hStandby: zes_standby_handle_t, pProperties: *mut zes_standby_properties_t);
        zesStandbyGetMode(hStandby: zes_standby_handle_t, pMode: *mut zes_standby_promo_mode_t);
        zesStandbySetMode(hStandby: zes_standby_handle_t, mode: zes_standby_promo_mode_t);
    }
    VirtualFunction {
        zesVFManagementGetVFPropertiesExp(hVFhandle: zes_vf_handle_t, pProperties: *mut zes_vf_exp_properties_t);
        zesVFManagementGetVFMemoryUtilizationExp(hVFhandle: zes_vf_handle_t, pCount: *mut u32, pMemUtil: *mut zes_vf_util_mem_exp_t);
        zesVFManagementGetVFEngineUtilizationExp(hVFhandle: zes_vf_handle_t, pCount: *mut u32, pEngineUtil: *mut zes_vf_util_engine_exp_t);
        zesVFManagementSetVFTelemetryModeExp(hVFhandle: zes_vf_handle_t, flags: zes_vf_info_util_exp_flags_t, enable: ze_bool_t);
        zesVFManagementSetVFTelemetrySamplingIntervalExp(hVFhandle: zes_vf_handle_t, flag: zes_vf_info_util_exp_flags_t, samplingInterval: u64);
        zesVFManagementGetVFCapabilitiesExp(hVFhandle: zes_vf_handle_t, pCapability: *mut zes_vf_exp_capabilities_t);
        zesVFManagementGetVFMemoryUtilizationExp2(hVFhandle: zes_vf_handle_t, pCount: *mut u32, pMemUtil: *mut zes_vf_util_mem_exp2_t);
        zesVFManagementGetVFEngineUtilizationExp2(hVFhandle: zes_vf_handle_t, pCount: *mut u32, pEngineUtil: *mut zes_vf_util_engine_exp2_t);
        zesVFManagementGetVFCapabilitiesExp2(hVFhandle: zes_vf_handle_t, pCapability: *mut zes_vf_exp2_capabilities_t);
    }
}

/// `zesFabricPortGetMultiPortThroughput`.
pub unsafe fn zesFabricPortGetMultiPortThroughput(
    hDevice: zes_device_handle_t,
    numPorts: u32,
    phPort: *mut zes_fabric_port_handle_t,
    pThroughput: *mut *mut zes_fabric_port_throughput_t,
) -> Result<()> {
    sysman::get::<Device>(hDevice)?;
    address(phPort, "phPort")?;
    address(pThroughput, "pThroughput")?;
    // SAFETY: the caller's array has `numPorts` handles.
    (0..numPorts as usize)
        .try_for_each(|index| sysman::get::<FabricPort>(unsafe { *phPort.add(index) }).map(drop))
}
