//! The driver: one in a process, with the machine's devices.

use crate::allocations::RangeMap;
use crate::budget::Budget;
use crate::context::Context;
use crate::device::hierarchy::{AFFINITY_MASK, HIERARCHY, hierarchy, visible_parts};
use crate::device::{Device, RootDevice};
use crate::env;
use crate::error::{Error, Result};
use crate::external_memory::AllShared;
use crate::fork::{self, OnceLock};
use crate::handle::{self, object};
use crate::host_pointers::HostPointers;
use crate::mapping;
use crate::memory::{Allocation, MemoryKind};
use crate::pnext::{Outputs, structures};
use crate::stream::Stream;
use crate::sysman;
use crate::system_memory::SystemAttributes;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use ze_engine::jit::folder::read_regular;
use ze_extensions::{DeviceKind, DeviceProfile, Hierarchy};
use ze_headers::*;

structures! {
    ze_driver_properties_t = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
    ze_driver_ddi_handles_ext_properties_t = ZE_STRUCTURE_TYPE_DRIVER_DDI_HANDLES_EXT_PROPERTIES;
    ze_driver_memory_free_ext_properties_t = ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES;
}

/// The newest API version whose functions this driver has.
pub const API_VERSION: ze_api_version_t = ZE_API_VERSION_CURRENT;

/// SYCL's adapter reads `driverVersion` as major << 24 | minor << 16 | build of Intel's driver and turns features
/// on by it. From 1.6.32149 on it trusts in-order command lists. From 1.6.34666 on it claims sub-group clocks,
/// and from 1.13 on it calls functions that loaders such as Debian 12's do not have.
const DRIVER_VERSION: u32 = 1 << 24 | 6 << 16 | 33_000;

/// 16 bytes that no other driver has.
const UUID: [u8; 16] = *b"ze_cpu driver 01";

/// The driver.
pub struct Driver {
    /// All of the machine, at least one.
    roots: Vec<Arc<Device>>,
    /// What `zeDeviceGet` lists.
    devices: Vec<Arc<Device>>,
    allocations: RangeMap<Allocation>,
    /// Of host memory: what the machine has.
    host_memory: Arc<Budget>,
    system_attributes: SystemAttributes,
    /// What other processes have been given.
    shared: AllShared,
    host_pointers: HostPointers,
    handle: OnceLock<usize>,
    default_context: OnceLock<usize>,
}

object!(Driver, Driver, ze_driver_handle_t);

static DRIVER: OnceLock<Arc<Driver>> = OnceLock::new();

/// `ZE_CPU_PROFILE` names no device: nothing can be initialised.
static HAS_NO_PROFILE: AtomicBool = AtomicBool::new(false);

/// Larger files are no profile.
const MOST_PROFILE_BYTES: u64 = 1 << 20;

/// Whether a program asked for a driver of this type.
static INITIALIZED: AtomicBool = AtomicBool::new(false);

/// The devices that `ZE_CPU_PROFILE` names, built in or in a file; the host's where it is not set. None where it names no
/// device: a program that is tried on another device than was asked for would pass for the wrong reason.
fn selected_profiles() -> Option<Vec<DeviceProfile>> {
    let Some(wanted) = env::PROFILE.get().filter(|wanted| !wanted.is_empty()) else {
        return Some(vec![DeviceProfile::host()]);
    };
    let profiles = match ze_extensions::devices_named(&wanted) {
        Some(profiles) => profiles.map_err(|error| error.to_string()),
        None => profile_of_file(Path::new(&wanted)).map(|profile| vec![profile]),
    };
    profiles
        .map_err(|reason| {
            let (name, names) = (env::PROFILE.name, ze_extensions::profile_names().collect::<Vec<_>>());
            let names = names.join(", ");
            env::complain(format_args!(
                "{name}={wanted}: {}; there is no device (built in are {names})",
                reason.trim_end()
            ));
        })
        .ok()
}

/// The machine: what the variables make of the devices that the profile names. Of its first device there are `ZE_CPU_DEVICES`.
fn machine() -> Option<Vec<DeviceProfile>> {
    let mut profiles = selected_profiles()?;
    if let Some(parts) = env::sub_devices() {
        profiles.iter_mut().for_each(|profile| profile.sub_devices.count = parts);
    }
    let copies = env::devices().map_or(0, |devices| devices - 1);
    let first = profiles[0].clone();
    profiles.splice(0..0, (0..copies).map(|_| first.clone()));
    Some(profiles)
}

fn profile_of_file(path: &Path) -> std::result::Result<DeviceProfile, String> {
    // Root's program may be pointed to a pipe that nobody writes to, or a device: neither is opened for long.
    let bytes = read_regular(path, MOST_PROFILE_BYTES).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    DeviceProfile::from_toml(&text).map_err(|error| error.to_string())
}

impl Driver {
    /// The driver of a machine with these devices, of which a program sees what the variables of all drivers leave:
    /// `ZE_FLAT_DEVICE_HIERARCHY` and `ZE_AFFINITY_MASK`.
    pub(crate) fn with_machine(
        profiles: Vec<DeviceProfile>,
        wanted: Option<&str>,
        mask: Option<&str>,
    ) -> Arc<Self> {
        let own = profiles.first().map(|profile| profile.sub_devices.hierarchy).unwrap_or_default();
        let hierarchy = hierarchy(wanted, own);
        let parts: Vec<u32> = profiles.iter().map(DeviceProfile::parts).collect();
        let visible = visible_parts(&parts, hierarchy, mask);
        // Devices that are integrated have the same memory, however many there are.
        let integrated = profiles.iter().filter(|profile| profile.integrated);
        let integrated = integrated.map(|profile| profile.memory.total_size).max();
        let integrated = integrated.map(|size| Arc::new(Budget::new(size)));
        let mut roots: Vec<Arc<Device>> = Vec::with_capacity(profiles.len());
        for ((number, profile), visible) in profiles.into_iter().enumerate().zip(&visible) {
            let like = roots.iter().find(|root| root.profile().has_the_limits_of(&profile)).cloned();
            roots.push(Device::root(RootDevice {
                memory: integrated.clone().filter(|_| profile.integrated),
                number: number as u8,
                hierarchy,
                visible,
                like: like.as_deref(),
                profile,
            }));
        }
        let seen = roots.iter().zip(&visible).filter(|(_, visible)| !visible.is_empty());
        let devices = seen.flat_map(|(root, _)| match hierarchy {
            Hierarchy::Flat | Hierarchy::Combined if !root.parts().is_empty() => root.parts().to_vec(),
            _ => vec![Arc::clone(root)],
        });
        Arc::new(Self {
            devices: devices.collect(),
            host_memory: Arc::new(Budget::new(ze_extensions::host_memory())),
            roots,
            allocations: RangeMap::new(),
            system_attributes: SystemAttributes::default(),
            shared: AllShared::default(),
            host_pointers: HostPointers::default(),
            handle: OnceLock::new(),
            default_context: OnceLock::new(),
        })
    }

    /// The driver of a machine with one device, all of which is seen.
    #[cfg(test)]
    pub(crate) fn with_profile(profile: DeviceProfile) -> Arc<Self> {
        Self::with_machine(vec![profile], None, None)
    }

    /// The process's driver, whatever of it is initialised.
    pub(crate) fn instance() -> &'static Arc<Self> {
        fork::watch();
        DRIVER.get_or_init(|| {
            ze_engine::reserve::set_keeper(mapping::give_back);
            ze_engine::reserve::is_whole();
            if env::catches_faults() {
                ze_engine::exec::fault::enable();
            }
            let [hierarchy, mask] = [HIERARCHY, AFFINITY_MASK].map(|name| std::env::var(name).ok());
            let machine = machine().unwrap_or_else(|| {
                HAS_NO_PROFILE.store(true, Ordering::Release);
                vec![DeviceProfile::host()]
            });
            let driver = Self::with_machine(machine, hierarchy.as_deref(), mask.as_deref());
            for device in &driver.devices {
                tracing::info!("device: {}", device.profile().name);
            }
            driver
        })
    }

    fn initialize(wanted: bool) -> Result<&'static Arc<Self>> {
        let driver = Self::configured()?;
        if !wanted {
            return Err(Error::Uninitialized);
        }
        INITIALIZED.store(true, Ordering::Release);
        sysman::core_is_initialized();
        Ok(driver)
    }

    /// The driver, if it was told what its devices are in a way that it understands.
    pub(crate) fn configured() -> Result<&'static Arc<Self>> {
        let driver = Self::instance();
        if HAS_NO_PROFILE.load(Ordering::Acquire) { Err(Error::Uninitialized) } else { Ok(driver) }
    }

    /// `zeInit`: initialises the driver, once in a process. It stays uninitialised where the flags want no device of its
    /// type; no flag is all.
    pub fn initialize_for(flags: ze_init_flags_t) -> Result<&'static Arc<Self>> {
        let own = Self::instance().type_flag(ZE_INIT_FLAG_GPU_ONLY, ZE_INIT_FLAG_VPU_ONLY);
        Self::initialize(flags == 0 || flags & own != 0)
    }

    /// `zeInitDrivers`: as [`initialize_for`](Self::initialize_for), with the types of drivers that are wanted.
    pub fn initialize_for_types(types: ze_init_driver_type_flags_t) -> Result<&'static Arc<Self>> {
        let own = Self::instance().type_flag(ZE_INIT_DRIVER_TYPE_FLAG_GPU, ZE_INIT_DRIVER_TYPE_FLAG_NPU);
        Self::initialize(types & own != 0)
    }

    /// The initialised driver.
    pub fn get() -> Result<&'static Arc<Self>> {
        if INITIALIZED.load(Ordering::Acquire) { Ok(Self::instance()) } else { Err(Error::Uninitialized) }
    }

    /// A driver of the host's profile for unit tests.
    #[cfg(test)]
    pub fn for_tests() -> Arc<Self> {
        Self::with_profile(DeviceProfile::host())
    }

    fn type_flag(&self, gpu: u32, vpu: u32) -> u32 {
        // One driver is one type. That of CPUs and FPGAs has no flag of its own.
        if self.profile().kind == DeviceKind::Vpu { vpu } else { gpu }
    }

    /// The handle, the same for the life of the process.
    pub fn handle(self: &Arc<Self>) -> Result<ze_driver_handle_t> {
        if let Some(&handle) = self.handle.get() {
            return Ok(handle as ze_driver_handle_t);
        }
        let handle = handle::publish(Arc::clone(self))?;
        Ok(*self.handle.get_or_init(|| handle as usize) as ze_driver_handle_t)
    }

    /// `zeDriverGetDefaultContext`: a context that lives as long as the process.
    pub fn default_context(self: &Arc<Self>) -> Result<ze_context_handle_t> {
        if let Some(&handle) = self.default_context.get() {
            return Ok(handle as ze_context_handle_t);
        }
        let handle = handle::publish(Context::new(Arc::clone(self)))?;
        Ok(*self.default_context.get_or_init(|| handle as usize) as ze_context_handle_t)
    }

    /// Whether a handle is that of the default context.
    pub fn is_default_context(&self, handle: ze_context_handle_t) -> bool {
        self.default_context.get() == Some(&(handle as usize))
    }

    /// The devices that a program sees, in the order of `zeDeviceGet`: none where the mask leaves none.
    pub fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// The device that is meant where a call names none.
    pub fn first_device(&self) -> &Arc<Device> {
        self.devices.first().unwrap_or(&self.roots[0])
    }

    /// All root devices of the machine, whatever a program sees of them.
    pub fn roots(&self) -> &[Arc<Device>] {
        &self.roots
    }

    /// The profile of the first device, which stands for the driver.
    fn profile(&self) -> &DeviceProfile {
        self.roots[0].profile()
    }

    /// The root device that a test looks at.
    #[cfg(test)]
    pub fn device(&self) -> &Arc<Device> {
        &self.roots[0]
    }

    /// The streams of all devices.
    pub(crate) fn streams(&self) -> Vec<Arc<Stream>> {
        self.roots.iter().flat_map(|root| root.streams()).collect()
    }

    /// The device that has a UUID, and whether it is a part of what is seen as another.
    pub fn device_by_uuid(&self, uuid: [u8; 16]) -> Option<Arc<Device>> {
        let all = self.roots.iter().flat_map(|root| std::iter::once(root).chain(root.parts()));
        all.into_iter().find(|device| device.uuid() == uuid).cloned()
    }

    pub(crate) fn allocations(&self) -> &RangeMap<Allocation> {
        &self.allocations
    }

    /// What allocations of a kind are counted against: shared memory that is of no device is of the first's.
    pub(crate) fn budget<'a>(&'a self, kind: MemoryKind, device: Option<&'a Device>) -> &'a Arc<Budget> {
        match kind {
            MemoryKind::Host => &self.host_memory,
            MemoryKind::Device | MemoryKind::Shared => device.unwrap_or(self.first_device()).memory(),
        }
    }

    pub(crate) fn shared(&self) -> &AllShared {
        &self.shared
    }

    pub(crate) fn host_pointers(&self) -> &HostPointers {
        &self.host_pointers
    }

    pub(crate) fn system_attributes(&self) -> &SystemAttributes {
        &self.system_attributes
    }

    /// The version that `driverVersion` has, as Intel's driver writes it.
    pub fn version_text(&self) -> String {
        let [major, minor] = [24, 16].map(|at| DRIVER_VERSION >> at & 0xff);
        format!("{major}.{minor}.{}", DRIVER_VERSION & 0xffff)
    }

    /// `zeDriverGetProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn properties(&self, properties: &mut ze_driver_properties_t) {
        properties.uuid.id = UUID;
        properties.driverVersion = DRIVER_VERSION;
        // SAFETY: the caller's promise.
        unsafe { Outputs::of(properties) }.for_each(|mut link| {
            if let Some(ddi) = link.get::<ze_driver_ddi_handles_ext_properties_t>() {
                ddi.flags = ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED;
            } else if let Some(free) = link.get::<ze_driver_memory_free_ext_properties_t>() {
                free.freePolicies = ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE
                    | ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
            }
        });
    }

    /// `zeDriverGetIpcProperties`.
    pub fn ipc_properties(&self, properties: &mut ze_driver_ipc_properties_t) {
        properties.flags = ZE_IPC_PROPERTY_FLAG_MEMORY | ZE_IPC_PROPERTY_FLAG_EVENT_POOL;
    }

    /// `zeDriverGetExtensionProperties`, for programs with a loader of an API version: SYCL's adapter takes functions from the
    /// loader as soon as their extension is listed, and calls them.
    pub fn extensions(&self, loader: ze_api_version_t) -> Vec<ze_driver_extension_properties_t> {
        ze_extensions::ze_extensions::reported(self.profile())
            .filter(|extension| extension.since() <= loader.0)
            .map(|extension| {
                let mut properties = ze_driver_extension_properties_t::default();
                crate::text::write(&mut properties.name, extension.name());
                properties.version = extension.version;
                properties
            })
            .collect()
    }

    /// `zesDriverGetExtensionProperties`.
    pub fn sysman_extensions(&self) -> Vec<zes_driver_extension_properties_t> {
        let extensions = ze_extensions::ZES_EXTENSIONS.iter();
        let extensions = extensions.filter(|extension| !self.profile().lacks(extension.name()));
        extensions
            .map(|extension| {
                let mut properties = zes_driver_extension_properties_t::default();
                crate::text::write(&mut properties.name, extension.name());
                properties.version = extension.version;
                properties
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_stays_uninitialised_where_another_type_is_wanted() {
        assert!(matches!(Driver::initialize_for(ZE_INIT_FLAG_VPU_ONLY), Err(Error::Uninitialized)));
        assert!(Driver::initialize_for_types(ZE_INIT_DRIVER_TYPE_FLAG_NPU).is_err());
        assert!(matches!(Driver::get(), Err(Error::Uninitialized)));
        assert!(Driver::initialize_for(ZE_INIT_FLAG_GPU_ONLY).is_ok() && Driver::get().is_ok());
        assert!(Driver::initialize_for(ZE_INIT_FLAG_VPU_ONLY).is_err());
        assert!(Driver::get().is_ok(), "it stays initialised");
        assert!(Driver::initialize_for_types(u32::MAX).is_ok() && Driver::initialize_for(0).is_ok());
    }
}
