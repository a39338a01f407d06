//! Profile files: a TOML table laid over the host's profile.

use crate::limits::{GROUP_ITEMS, IMAGE_BUFFER_BYTES, IMAGE_EXTENT};
use crate::profile::DeviceProfile;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// Why a profile file is not a device.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("the device profile is not valid TOML: {0}")]
    Syntax(#[from] toml::de::Error),
    #[error("the device profile has a key or value that no device has: {0}")]
    Content(toml::de::Error),
    #[error("the host's profile cannot be written as TOML: {0}")]
    Host(#[from] toml::ser::Error),
    #[error("device profile key `{key}`{}: {reason}", .line.map_or(String::new(), |line| format!(", line {line}")))]
    Value {
        key: &'static str,
        /// Where the file says so; nowhere if the value is the host's.
        line: Option<usize>,
        reason: String,
    },
}

impl DeviceProfile {
    /// Reads a profile file. Keys that are missing have the host's value; unknown keys are errors.
    pub fn from_toml(text: &str) -> Result<Self, ProfileError> {
        Self::from_toml_over(text, &Self::host())
    }

    /// Reads a profile file over another profile than the host's.
    pub fn from_toml_over(text: &str, base: &Self) -> Result<Self, ProfileError> {
        let mut merged = Table::try_from(base)?;
        overlay(&mut merged, text.parse::<Table>()?);
        let profile: Self = merged.try_into().map_err(ProfileError::Content)?;
        for check in CHECKS {
            check(&profile).map_err(|error| match error {
                ProfileError::Value { key, reason, .. } => {
                    ProfileError::Value { key, line: line_of(text, key), reason }
                }
                other => other,
            })?;
        }
        Ok(profile)
    }

    /// The profile as a file that [`from_toml`](Self::from_toml) reads.
    pub fn to_toml(&self) -> Result<String, ProfileError> {
        Ok(toml::to_string_pretty(self)?)
    }
}

/// Tables merge key by key; anything else replaces what was there.
fn overlay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(over)) => overlay(base, over),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// The line, from 1, that gives a key such as `compute.max_group_size` its value.
fn line_of(text: &str, key: &str) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let (mut table, mut start) = (document.get_ref(), None);
    for part in key.split('.') {
        let (name, value) = table.iter().find(|(name, _)| name.get_ref() == part)?;
        start = Some(name.span().start);
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    Some(1 + text.get(..start?)?.matches('\n').count())
}

type Check = fn(&DeviceProfile) -> Result<(), ProfileError>;

/// What the types do not already say about a profile that a device can have.
const CHECKS: &[Check] = &[
    name_fits,
    topology_is_not_empty,
    sub_group_sizes_have_code,
    group_sizes_are_launchable,
    image_extents_have_coordinates,
];

fn require(holds: bool, key: &'static str, reason: impl FnOnce() -> String) -> Result<(), ProfileError> {
    if holds { Ok(()) } else { Err(ProfileError::Value { key, line: None, reason: reason() }) }
}

fn name_fits(profile: &DeviceProfile) -> Result<(), ProfileError> {
    let length = profile.name.len();
    require((1..=255).contains(&length), "name", || format!("{length} bytes, a device name has 1 to 255"))
}

fn topology_is_not_empty(profile: &DeviceProfile) -> Result<(), ProfileError> {
    let t = &profile.topology;
    let product = [t.slices, t.subslices_per_slice, t.eus_per_subslice, t.threads_per_eu, t.simd_width]
        .iter()
        .try_fold(1u32, |product, &count| product.checked_mul(count));
    require(product.is_some_and(|product| product > 0), "topology", || {
        "every count is at least 1 and their product fits 32 bits".into()
    })
}

fn sub_group_sizes_have_code(profile: &DeviceProfile) -> Result<(), ProfileError> {
    let sizes = &profile.compute.sub_group_sizes;
    let known = !sizes.is_empty() && sizes.iter().all(|size| [8, 16, 32].contains(size));
    require(known && sizes.is_sorted(), "compute.sub_group_sizes", || {
        format!("{sizes:?}, the engine has 8, 16 and 32, ascending")
    })
}

fn group_sizes_are_launchable(profile: &DeviceProfile) -> Result<(), ProfileError> {
    let compute = &profile.compute;
    require(compute.max_total_group_size > 0, "compute.max_total_group_size", || "is zero".into())?;
    require(compute.max_total_group_size <= GROUP_ITEMS, "compute.max_total_group_size", || {
        format!("{} work-items, the engine has at most {GROUP_ITEMS}", compute.max_total_group_size)
    })?;
    require(!compute.max_group_size.contains(&0), "compute.max_group_size", || "has a zero".into())?;
    require(!compute.max_group_count.contains(&0), "compute.max_group_count", || "has a zero".into())
}

fn image_extents_have_coordinates(profile: &DeviceProfile) -> Result<(), ProfileError> {
    let images = &profile.images;
    let extents = [images.max_dims_1d, images.max_dims_2d, images.max_dims_3d, images.max_array_slices];
    require(extents.iter().all(|&extent| extent <= IMAGE_EXTENT), "images", || {
        format!("extents {extents:?}, images have at most {IMAGE_EXTENT} in each dimension")
    })?;
    require(images.max_buffer_size <= IMAGE_BUFFER_BYTES, "images.max_buffer_size", || {
        format!("{} bytes, a buffer has at most {IMAGE_BUFFER_BYTES}", images.max_buffer_size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{FpFlags, ModuleFlags};

    #[test]
    fn host_survives_a_round_trip() {
        let host = DeviceProfile::host();
        assert_eq!(DeviceProfile::from_toml(&host.to_toml().unwrap()).unwrap(), host);
    }

    #[test]
    fn missing_keys_are_the_hosts() {
        let profile = DeviceProfile::from_toml(
            "name = 'no doubles'\n[module]\nflags = 'FP16 | INT64_ATOMICS'\nfp64 = ''\n[topology]\nslices = 3\n",
        )
        .unwrap();
        let host = DeviceProfile::host();
        assert_eq!(profile.module.flags, ModuleFlags::FP16 | ModuleFlags::INT64_ATOMICS);
        assert_eq!(profile.module.fp64, FpFlags::empty());
        assert_eq!(profile.topology.slices, 3);
        assert_eq!(profile.compute, host.compute);
        assert_ne!(profile.uuid(), host.uuid());
    }

    #[test]
    fn unknown_keys_and_impossible_values_are_errors() {
        for (text, part) in [
            ("nam = 'x'", "nam"),
            ("[module]\nflags = 'FP128'", "module.flags"),
            ("[compute]\nsub_group_sizes = [64]", "sub_group_sizes"),
            ("[compute]\nmax_group_size = [0, 1, 1]", "max_group_size"),
            ("[topology]\nslices = 0", "topology"),
            ("name = ''", "name"),
            ("[images]\nmax_dims_2d = 65537", "`images`, line 1"),
            ("[images]\nmax_buffer_size = 2147483648", "`images.max_buffer_size`, line 2"),
            ("name = 'a'\n[compute]\n# many\nmax_total_group_size = 1048577", "line 4: 1048577 work-items"),
            ("[compute]\nmax_total_group_size = 4294967295", "`compute.max_total_group_size`, line 2"),
            ("name = ", "TOML"),
        ] {
            let error = DeviceProfile::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
