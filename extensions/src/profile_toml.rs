//! Profile files: a TOML table laid over the host's profile.

use crate::flags::{DotProductFlags, FpFlags, ModuleFlags};
use crate::limits::{
    ARGUMENT_BYTES, GROUP_ITEMS, IMAGE_BUFFER_BYTES, IMAGE_EXTENT, LOCAL_BYTES, NEWEST_SPIRV, PRINT_BYTES,
    SUB_DEVICES,
};
use crate::profile::DeviceProfile;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// Why a profile file is not a device.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("the device profile is not valid TOML: {0}")]
    Syntax(#[from] toml::de::Error),
    #[error("device profile{}: {reason}", .at.as_ref().map_or(String::new(), |(key, line)| format!(" key `{key}`, line {line}")))]
    Content {
        /// The key and its line, from 1.
        at: Option<(String, usize)>,
        reason: String,
    },
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
        let (own, over) = (Table::try_from(base)?, text.parse::<Table>()?);
        let profile = merged(&own, over.clone()).map_err(|error| {
            let wrong = first_wrong_key(&own, &over, text);
            let (at, error) = wrong.map_or((None, error), |(at, error)| (Some(at), error));
            // What it says behind that is another description of where.
            ProfileError::Content { at, reason: error.message().trim_end().to_owned() }
        })?;
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

/// The base with what the file says in place of its own.
fn merged(base: &Table, over: Table) -> Result<DeviceProfile, toml::de::Error> {
    let mut all = base.clone();
    overlay(&mut all, over);
    all.try_into()
}

/// The first key of a file that the base does not take, with its line, and what is wrong with it. Errors about a whole table
/// do not say where they come from, so each key is tried alone.
fn first_wrong_key(base: &Table, over: &Table, text: &str) -> Option<((String, usize), toml::de::Error)> {
    let wrong = keys(over).into_iter().filter_map(|key| {
        let error = merged(base, only(over, &key)?).err()?;
        Some(((key.join("."), line_of(text, &key.join("."))?), error))
    });
    wrong.min_by_key(|((_, line), _)| *line)
}

/// The paths of all values of a table that are no tables.
fn keys(table: &Table) -> Vec<Vec<String>> {
    let below = |(key, value): (&String, &Value)| match value {
        Value::Table(inner) if !inner.is_empty() => {
            keys(inner).into_iter().map(|path| [vec![key.clone()], path].concat()).collect()
        }
        _ => vec![vec![key.clone()]],
    };
    table.iter().flat_map(below).collect()
}

/// A table with one of another's values.
fn only(table: &Table, path: &[String]) -> Option<Table> {
    let (first, rest) = path.split_first()?;
    let value = match (table.get(first)?, rest) {
        (value, []) => value.clone(),
        (Value::Table(inner), rest) => Value::Table(only(inner, rest)?),
        _ => return None,
    };
    Some(Table::from_iter([(first.clone(), value)]))
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
    precisions_agree,
    the_engine_has_what_is_promised,
    sizes_can_be_kept,
    clocks_tick,
    sub_devices_are_few,
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

/// A precision has a flag and modes, or neither (`ze_device_module_properties_t`).
fn precisions_agree(profile: &DeviceProfile) -> Result<(), ProfileError> {
    let module = &profile.module;
    let always = FpFlags::INF_NAN | FpFlags::ROUND_TO_NEAREST;
    require(module.fp32.contains(always), "module.fp32", || {
        "single precision has INF_NAN and ROUND_TO_NEAREST on every device".into()
    })?;
    for (flag, name, modes, atomics, key) in [
        (ModuleFlags::FP16, "FP16", module.fp16, module.fp16_atomics, "module.fp16"),
        (ModuleFlags::FP64, "FP64", module.fp64, module.fp64_atomics, "module.fp64"),
    ] {
        let has = module.flags.contains(flag);
        require(has == modes.contains(always), key, || {
            format!("INF_NAN and ROUND_TO_NEAREST are there where module.flags has {name}, and only there")
        })?;
        require(has || (modes.is_empty() && atomics.is_empty()), key, || {
            format!("modes or atomics of a precision without {name} in module.flags")
        })?;
    }
    Ok(())
}

fn the_engine_has_what_is_promised(profile: &DeviceProfile) -> Result<(), ProfileError> {
    let module = &profile.module;
    let [major, minor] = NEWEST_SPIRV;
    require(
        module.spirv_version[0] == 1 && module.spirv_version <= NEWEST_SPIRV,
        "module.spirv_version",
        || format!("{:?}, the intake knows 1.0 to {major}.{minor}", module.spirv_version),
    )?;
    for (key, modes) in
        [("module.fp16", module.fp16), ("module.fp32", module.fp32), ("module.fp64", module.fp64)]
    {
        require(!modes.contains(FpFlags::SOFT_FLOAT), key, || {
            "SOFT_FLOAT, but the engine computes with the CPU's instructions".into()
        })?;
    }
    require(!module.dot_product.contains(DotProductFlags::DPAS), "module.dot_product", || {
        "DPAS, but the engine has no systolic dot products".into()
    })
}

fn sizes_can_be_kept(profile: &DeviceProfile) -> Result<(), ProfileError> {
    for (key, value, most) in [
        ("compute.max_shared_local_memory", profile.compute.max_shared_local_memory, LOCAL_BYTES),
        ("module.max_arguments_size", profile.module.max_arguments_size, ARGUMENT_BYTES),
        ("module.printf_buffer_size", profile.module.printf_buffer_size, PRINT_BYTES),
    ] {
        require(value <= most, key, || format!("{value} bytes, the engine has at most {most}"))?;
    }
    let (largest, total) = (profile.limits.max_alloc_size, profile.memory.total_size);
    require(total > 0, "memory.total_size", || "is zero".into())?;
    require((1..=total).contains(&largest), "limits.max_alloc_size", || {
        format!("{largest} bytes, the device has {total}")
    })
}

fn clocks_tick(profile: &DeviceProfile) -> Result<(), ProfileError> {
    let limits = &profile.limits;
    require(limits.timer_frequency_hz > 0, "limits.timer_frequency_hz", || "is zero".into())?;
    for (key, bits) in [
        ("limits.timestamp_valid_bits", limits.timestamp_valid_bits),
        ("limits.kernel_timestamp_valid_bits", limits.kernel_timestamp_valid_bits),
    ] {
        require((1..=64).contains(&bits), key, || format!("{bits} bits, timestamps have 1 to 64"))?;
    }
    Ok(())
}

fn sub_devices_are_few(profile: &DeviceProfile) -> Result<(), ProfileError> {
    let count = profile.sub_devices.count;
    require(count <= SUB_DEVICES, "sub_devices.count", || {
        format!("{count} sub-devices, a device has at most {SUB_DEVICES}")
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
            "name = 'no doubles'\n[module]\nflags = 'FP16 | INT64_ATOMICS'\nfp64 = ''\nfp64_atomics = ''\n[topology]\nslices = 3\n",
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
            ("nam = 'x'", "key `nam`, line 1: unknown field `nam`, expected one of `name`"),
            ("name = 'a'\n\n[module]\nflags = 'FP128'", "key `module.flags`, line 4: "),
            ("name = 'a'\n[limits]\nmax_alloc_size = -1", "key `limits.max_alloc_size`, line 3: "),
            ("vendor_id = 1\nsub_devices = 100", "key `sub_devices`, line 2: "),
            ("[compute]\nflags = { FP16 = 1 }\n", "key `compute.flags.FP16`, line 2: "),
            ("name = 3\nvendor_id = ''", "key `name`, line 1: "),
            ("[compute]\nsub_group_sizes = [64]", "sub_group_sizes"),
            ("[compute]\nmax_group_size = [0, 1, 1]", "max_group_size"),
            ("[topology]\nslices = 0", "topology"),
            ("name = ''", "name"),
            ("[images]\nmax_dims_2d = 65537", "`images`, line 1"),
            ("[images]\nmax_buffer_size = 2147483648", "`images.max_buffer_size`, line 2"),
            ("name = 'a'\n[compute]\n# many\nmax_total_group_size = 1048577", "line 4: 1048577 work-items"),
            ("[compute]\nmax_total_group_size = 4294967295", "`compute.max_total_group_size`, line 2"),
            ("name = ", "TOML"),
            ("[module]\nflags = 'FP16'", "module.fp64"),
            ("[module]\nflags = 'FP16'\nfp64 = ''", "module.fp64"),
            ("[module]\nfp64 = 'DENORM'", "module.fp64`, line 2"),
            ("[module]\nfp32 = 'INF_NAN'", "module.fp32"),
            ("[module]\nspirv_version = [1, 7]", "module.spirv_version"),
            ("[module]\nspirv_version = [0, 9]", "module.spirv_version"),
            (
                "[module]\nfp32 = 'INF_NAN | ROUND_TO_NEAREST | SOFT_FLOAT'",
                "`module.fp32`, line 2: SOFT_FLOAT",
            ),
            ("[module]\ndot_product = 'DPAS'", "module.dot_product"),
            ("[module]\nmax_arguments_size = 2000000", "module.max_arguments_size"),
            ("[compute]\nmax_shared_local_memory = 4294967295", "compute.max_shared_local_memory"),
            ("[module]\nprintf_buffer_size = 4294967295", "module.printf_buffer_size"),
            ("[memory]\ntotal_size = 0", "memory.total_size"),
            ("[memory]\ntotal_size = 4096", "limits.max_alloc_size"),
            ("[sub_devices]\ncount = 17", "`sub_devices.count`, line 2: 17 sub-devices"),
            ("[sub_devices]\nhierarchy = 'FLAT'", "sub_devices.hierarchy"),
            ("[limits]\ntimer_frequency_hz = 0", "limits.timer_frequency_hz"),
            ("[limits]\ntimestamp_valid_bits = 65", "limits.timestamp_valid_bits"),
        ] {
            let error = DeviceProfile::from_toml(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
