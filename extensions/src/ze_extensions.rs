//! Level Zero extensions of the driver: what `zeDriverGetExtensionProperties` lists.

use crate::profile::DeviceProfile;

/// An extension and the newest version of it that is implemented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZeExtension {
    pub name: &'static str,
    /// Major, minor.
    pub version: (u16, u16),
}

impl ZeExtension {
    /// `ZE_MAKE_VERSION`.
    pub fn packed_version(&self) -> u32 {
        u32::from(self.version.0) << 16 | u32::from(self.version.1)
    }
}

const fn extension(name: &'static str) -> ZeExtension {
    ZeExtension { name, version: (1, 0) }
}

/// The extensions that are implemented. A line here is a promise: queries, compiler and engine rely on it.
pub const ZE_EXTENSIONS: &[ZeExtension] = &[
    extension("ZE_extension_float_atomics"),
    extension("ZE_extension_linkonce_odr"),
    extension("ZE_extension_subgroups"),
    extension("ZE_extension_device_ip_version"),
    extension("ZE_experimental_global_offset"),
    extension("ZE_experimental_module_program"),
];

/// Whether the driver has an extension and the device does not lack it.
pub fn has(profile: &DeviceProfile, name: &str) -> bool {
    ZE_EXTENSIONS.iter().any(|extension| extension.name == name) && !profile.lacks(name)
}

/// The extensions that a driver with this device lists.
pub fn of(profile: &DeviceProfile) -> impl Iterator<Item = &'static ZeExtension> + '_ {
    ZE_EXTENSIONS.iter().filter(|extension| !profile.lacks(extension.name))
}
