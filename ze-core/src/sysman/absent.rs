//! Parts that a CPU does not have, or that are not a program's to control: there is no object of these types, so that every handle
//! is refused as the invalid one it is.

use crate::handle::object;
use ze_headers::*;

macro_rules! absent {
    ($($(#[$doc:meta])* $type:ident $handle:ident;)*) => {
        $(
            $(#[$doc])*
            pub enum $type {}
            object!($type, $type, $handle);
        )*
    };
}

absent! {
    /// Diagnostics that take a device out of use.
    DiagnosticTestSuite zes_diag_handle_t;
    /// Links between devices.
    FabricPort zes_fabric_port_handle_t;
    /// Fans: those of a host belong to no device.
    Fan zes_fan_handle_t;
    /// Firmware that could be flashed.
    Firmware zes_firmware_handle_t;
    /// LEDs.
    Led zes_led_handle_t;
    /// Overclocking.
    OverclockDomain zes_overclock_handle_t;
    /// Shares of power between parts of a device.
    PerformanceFactor zes_perf_handle_t;
    /// Power supplies: those of a host belong to no device.
    PowerSupply zes_psu_handle_t;
    /// Hardware schedulers: the operating system shares out a CPU.
    Scheduler zes_sched_handle_t;
    /// Parts that could be kept from sleeping.
    StandbyDomain zes_standby_handle_t;
    /// Virtual functions of a PCI device.
    VirtualFunction zes_vf_handle_t;
}
