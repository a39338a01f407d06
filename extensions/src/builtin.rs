//! The profiles that are built in under a name: the host's, and those of real GPUs from public figures.
//!
//! Each file says everything that a program can ask, so that a device is the same on every machine.

use crate::profile::DeviceProfile;
use crate::profile_toml::ProfileError;

/// Of this machine's CPU, which is found out and not written down.
pub const HOST: &str = "host";

/// Of this machine's CPU once more, as a device of type CPU beside [`HOST`]. The programs that look for devices of a type
/// find either, and SYCL's adapter takes a driver only for a device of type GPU.
pub const HOST_CPU: &str = "host-cpu";

macro_rules! files {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),*]
    };
}

const FILES: &[(&str, &str)] = files!["arc-140v", "arc-a770", "arc-b580", "max-1550", "uhd-770"];

/// The names that [`DeviceProfile::named`] knows, the default first.
pub fn names() -> impl Iterator<Item = &'static str> {
    [HOST, HOST_CPU].into_iter().chain(FILES.iter().map(|(name, _)| *name))
}

impl DeviceProfile {
    /// A built-in profile; none of that name, where a path is meant.
    pub fn named(name: &str) -> Option<Result<Self, ProfileError>> {
        match name {
            HOST => return Some(Ok(Self::host())),
            HOST_CPU => return Some(Ok(crate::host::detect_as_cpu())),
            _ => {}
        }
        FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| Self::from_toml(text))
    }
}

/// The devices of a machine that a name stands for: the one of that name, or two for [`HOST_CPU`].
pub fn devices_named(name: &str) -> Option<Result<Vec<DeviceProfile>, ProfileError>> {
    let own = DeviceProfile::named(name)?;
    let beside = (name == HOST_CPU).then(DeviceProfile::host);
    Some(own.map(|own| beside.into_iter().chain([own]).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{FpFlags, ModuleFlags};
    use crate::profile::{DeviceKind, Hierarchy, SubDevices};
    use toml::{Table, Value};

    fn named(name: &str) -> DeviceProfile {
        DeviceProfile::named(name).unwrap_or_else(|| panic!("no profile {name}")).unwrap()
    }

    /// The keys of `all` that `some` leaves out.
    fn missing(all: &Table, some: &Table, prefix: &str) -> Vec<String> {
        all.iter()
            .flat_map(|(key, value)| match (value, some.get(key)) {
                (_, None) => vec![format!("{prefix}{key}")],
                (Value::Table(all), Some(Value::Table(some))) => {
                    missing(all, some, &format!("{prefix}{key}."))
                }
                _ => Vec::new(),
            })
            .collect()
    }

    #[test]
    fn every_name_is_a_device_and_other_names_are_none() {
        for name in names() {
            assert!(!named(name).name.is_empty());
        }
        assert!(DeviceProfile::named("arc").is_none());
        assert!(DeviceProfile::named("./host").is_none());
    }

    #[test]
    fn a_gpus_profile_leaves_nothing_to_the_machine() {
        let host = Table::try_from(DeviceProfile::host()).unwrap();
        for (name, text) in FILES {
            let keys = missing(&host, &text.parse().unwrap(), "");
            assert!(keys.is_empty(), "{name} has no {keys:?}");
        }
    }

    #[test]
    fn devices_are_told_apart_by_their_ids() {
        let mut all: Vec<_> = names().map(|name| (named(name).device_id, named(name).uuid())).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), names().count());
    }

    #[test]
    fn the_cpu_is_a_device_beside_the_one_that_says_gpu() {
        let devices = devices_named(HOST_CPU).expect("a name").expect("valid");
        let kinds: Vec<_> = devices.iter().map(|device| device.kind).collect();
        assert_eq!(kinds, [DeviceKind::Gpu, DeviceKind::Cpu]);
        assert_eq!(devices[0], DeviceProfile::host());
        assert_eq!((&devices[1].compute, &devices[1].module), (&devices[0].compute, &devices[0].module));
        for name in names().filter(|name| *name != HOST_CPU) {
            assert_eq!(devices_named(name).expect("a name").expect("valid"), [named(name)]);
        }
    }

    #[test]
    fn the_max_1550_has_two_tiles_that_are_devices() {
        let tiles = SubDevices { count: 2, hierarchy: Hierarchy::Flat };
        assert_eq!(named("max-1550").sub_devices, tiles);
        assert!(names().filter(|name| *name != "max-1550").all(|name| named(name).parts() == 1));
    }

    #[test]
    fn the_arc_a770_and_the_uhd_770_have_no_double_precision() {
        for name in ["arc-a770", "uhd-770"] {
            let module = named(name).module;
            assert!(!module.flags.contains(ModuleFlags::FP64));
            assert_eq!(module.fp64, FpFlags::empty());
            assert!(module.fp64_atomics.is_empty());
        }
        assert!(named("arc-b580").module.flags.contains(ModuleFlags::FP64));
    }

    #[test]
    fn only_the_data_center_gpu_has_no_images() {
        for (name, _) in FILES {
            assert_eq!(named(name).images.supported(), *name != "max-1550", "{name}");
        }
    }
}
