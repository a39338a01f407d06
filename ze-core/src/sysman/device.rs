//! Sysman's view of a device as a whole: what it is, its state, its error correction and its processes.

use crate::allocations::Range;
use crate::device::Device;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::memory::MemoryKind;
use crate::pnext::Outputs;
use crate::sysman::activity::Work;
use crate::sysman::structures;
use crate::text;
use ze_headers::*;

structures! {
    zes_device_properties_t = ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    zes_device_state_t = ZES_STRUCTURE_TYPE_DEVICE_STATE;
    zes_device_ecc_properties_t = ZES_STRUCTURE_TYPE_DEVICE_ECC_PROPERTIES;
    zes_device_ext_properties_t = ZES_STRUCTURE_TYPE_DEVICE_EXT_PROPERTIES;
    zes_oem_serial_id_ext_properties_t = ZES_STRUCTURE_TYPE_OEM_SERIAL_ID_EXT_PROPERTIES;
    zes_device_ext_state_t = ZES_STRUCTURE_TYPE_DEVICE_EXT_STATE;
    zes_device_ecc_default_properties_ext_t = ZES_STRUCTURE_TYPE_DEVICE_ECC_DEFAULT_PROPERTIES_EXT;
}

/// Of the API: the value cannot be determined.
const UNKNOWN: &str = "unknown";
/// The brand of the device is that of the driver which makes a device of the CPU.
const BRAND: &str = "ze_cpu";

/// PCI vendors, under the names that drivers give them.
const VENDORS: [(u32, &str); 4] = [
    (0x8086, "Intel(R) Corporation"),
    (0x1022, "Advanced Micro Devices, Inc."),
    (0x1002, "Advanced Micro Devices, Inc."),
    (0x10de, "NVIDIA Corporation"),
];

impl Device {
    /// `zesDeviceGetProperties`, which for a part are the whole's. The chain of the core properties inside is not followed: programs leave them uninitialised.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn sysman_properties(&self, out: &mut zes_device_properties_t) {
        let whole = self.whole();
        let whole = whole.as_deref().unwrap_or(self);
        let profile = whole.profile();
        let next = std::mem::replace(&mut out.core.pNext, std::ptr::null_mut());
        // SAFETY: there is no chain.
        unsafe { whole.properties(&mut out.core) };
        out.core.pNext = next;
        out.numSubdevices = if whole.all_parts() > 1 { whole.all_parts() } else { 0 };
        text::write(&mut out.serialNumber, UNKNOWN);
        text::write(&mut out.boardNumber, UNKNOWN);
        text::write(&mut out.brandName, BRAND);
        text::write(&mut out.modelName, &profile.name);
        let vendor = VENDORS.iter().find(|(id, _)| *id == profile.vendor_id);
        text::write(&mut out.vendorName, vendor.map_or(UNKNOWN, |(_, name)| name));
        text::write(&mut out.driverVersion, env!("CARGO_PKG_VERSION"));
        let (kind, flags) = (zes_device_type_t(out.core.type_.0), out.core.flags);
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(ext) = link.get::<zes_device_ext_properties_t>() {
                ext.uuid.id = whole.uuid();
                // Types and flags have the same values in both APIs.
                ext.type_ = kind;
                ext.flags = flags;
            } else if let Some(serial) = link.get::<zes_oem_serial_id_ext_properties_t>() {
                serial.length = 0;
                text::write(&mut serial.oemSerialId, "");
            }
        });
    }

    /// `zesDeviceGetState`: the host runs, for the program does.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn sysman_state(&self, out: &mut zes_device_state_t) {
        out.reset = 0;
        out.repaired = ZES_REPAIR_STATUS_UNSUPPORTED;
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<zes_device_ext_state_t>() {
                out.flags = ZES_DEVICE_STATE_EXT_FLAG_NORMAL;
            }
        });
    }

    /// `zesDeviceGetEccState`: error correction is on, and nobody changes that while the system runs; or it is not there, and has no state
    /// to be asked for, as with Intel's driver.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn ecc_state(&self, out: &mut zes_device_ecc_properties_t) -> Result<()> {
        if !self.profile().ecc {
            return Err(Error::UnsupportedFeature("error correction, which this memory does not have"));
        }
        let state = ZES_DEVICE_ECC_STATE_ENABLED;
        out.currentState = state;
        out.pendingState = state;
        out.pendingAction = ZES_DEVICE_ACTION_NONE;
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(out) }.for_each(|mut link| {
            if let Some(out) = link.get::<zes_device_ecc_default_properties_ext_t>() {
                out.defaultState = state;
            }
        });
        Ok(())
    }

    /// Of the parts of a root device that are seen, each with its UUID (`zesDeviceGetSubDevicePropertiesExp`).
    pub fn sub_device_properties(&self, out: &mut zes_subdevice_exp_properties_t) {
        out.subdeviceId = self.sub_device_id();
        out.uuid.id = self.uuid();
    }

    /// `zesDeviceProcessesGetState`: this process, the only one that the driver knows of, with its memory of this device.
    /// Nothing of that is shared with another.
    pub fn process_state(&self, driver: &Driver, out: &mut zes_process_state_t) {
        let engines = [(Work::Compute, ZES_ENGINE_TYPE_FLAG_COMPUTE), (Work::Copy, ZES_ENGINE_TYPE_FLAG_DMA)];
        let busy = engines.iter().filter(|(work, _)| self.activity().is_busy(*work));
        let first = &driver.roots()[0];
        out.processId = std::process::id();
        out.memSize = driver
            .allocations()
            .iter()
            .filter(|allocation| allocation.kind() != MemoryKind::Host)
            .filter(|allocation| allocation.device().unwrap_or(first).is_of_the_same_root(self))
            .map(|allocation| allocation.size() as u64)
            .sum();
        out.sharedSize = 0;
        out.engines = busy.fold(0, |all, (_, flag)| all | flag);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_void;
    use ze_extensions::DeviceProfile;

    #[test]
    fn properties_agree_with_the_core_device_in_every_structure() {
        let device = Device::new(DeviceProfile::host());
        let mut serial = zes_oem_serial_id_ext_properties_t {
            stype: ZES_STRUCTURE_TYPE_OEM_SERIAL_ID_EXT_PROPERTIES,
            length: 9,
            ..Default::default()
        };
        let mut ext = zes_device_ext_properties_t {
            stype: ZES_STRUCTURE_TYPE_DEVICE_EXT_PROPERTIES,
            pNext: (&raw mut serial).cast(),
            ..Default::default()
        };
        let mut out = zes_device_properties_t {
            stype: ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES,
            pNext: (&raw mut ext).cast(),
            ..Default::default()
        };
        // Garbage, as in programs that set nothing inside.
        out.core.pNext = 0x1234_usize as *mut c_void;
        // SAFETY: the chain is built above.
        unsafe { device.sysman_properties(&mut out) };
        let mut core = ze_device_properties_t::default();
        // SAFETY: there is no chain.
        unsafe { device.properties(&mut core) };
        assert_eq!(out.core.uuid.id, core.uuid.id);
        assert_eq!((ext.uuid.id, ext.type_.0, ext.flags), (core.uuid.id, core.type_.0, core.flags));
        assert_eq!((out.core.pNext as usize, serial.length, out.numSubdevices), (0x1234, 0, 0));
    }

    #[test]
    fn error_correction_is_that_of_the_profile() {
        for ecc in [false, true] {
            let device = Device::new(DeviceProfile { ecc, ..DeviceProfile::host() });
            let mut default = zes_device_ecc_default_properties_ext_t {
                stype: ZES_STRUCTURE_TYPE_DEVICE_ECC_DEFAULT_PROPERTIES_EXT,
                ..Default::default()
            };
            let mut out = zes_device_ecc_properties_t {
                stype: ZES_STRUCTURE_TYPE_DEVICE_ECC_PROPERTIES,
                pNext: (&raw mut default).cast(),
                ..Default::default()
            };
            // SAFETY: the chain is built above.
            let result = unsafe { device.ecc_state(&mut out) };
            if ecc {
                let states = [out.currentState, out.pendingState, default.defaultState];
                assert!(result.is_ok() && states == [ZES_DEVICE_ECC_STATE_ENABLED; 3]);
            } else {
                assert!(matches!(result, Err(Error::UnsupportedFeature(_))));
            }
        }
    }
}
