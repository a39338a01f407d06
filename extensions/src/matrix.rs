//! What each built-in profile has, as the table of `docs/profiles.md`: written from the profiles, so that the page is true.

use crate::flags::{DotProductFlags, FpAtomicFlags, FpFlags, ModuleFlags};
use crate::profile::{DeviceKind, DeviceProfile, Hierarchy};
use crate::{CAPABILITIES, SPIRV_EXTENSIONS, Standing, ZE_EXTENSIONS, ze_extensions};

/// A line of the table: what it is, and what a profile has of it.
type Line = (String, Box<dyn Fn(&DeviceProfile) -> String>);

fn line(name: impl Into<String>, of: impl Fn(&DeviceProfile) -> String + 'static) -> Line {
    (name.into(), Box::new(of))
}

fn yes(has: bool) -> String {
    if has { "yes" } else { "" }.into()
}

/// The flags of a word, a line each.
macro_rules! flags {
    ($title:literal, $type:ty, $($prefix:literal $of:expr),+) => {
        <$type>::all().iter_names().flat_map(|(name, flag)| {
            [$(line(format!("{}{name}{}", $title, $prefix), move |p: &DeviceProfile| {
                let of: fn(&DeviceProfile) -> $type = $of;
                yes(of(p).contains(flag))
            })),+]
        })
    };
}

fn lines() -> Vec<Line> {
    let mut lines = vec![
        line("type", |p| match p.kind {
            DeviceKind::Cpu => "CPU".into(),
            _ => "GPU".into(),
        }),
        line("vendor, device", |p| format!("{:#06x}, {:#06x}", p.vendor_id, p.device_id)),
        line("IP version", |p| match p.ip_version {
            0 => String::new(),
            version => format!("{version:#010x}"),
        }),
        line("sub-devices", |p| match p.parts() {
            1 => String::new(),
            parts => parts.to_string(),
        }),
        line("hierarchy unless asked for another", |p| {
            match p.sub_devices.hierarchy {
                Hierarchy::Composite => "composite",
                Hierarchy::Flat => "flat",
                Hierarchy::Combined => "combined",
            }
            .into()
        }),
        line("work-items of a group", |p| p.compute.max_total_group_size.to_string()),
        line("sub-group sizes", |p| {
            p.compute.sub_group_sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
        }),
        line("local memory, KiB", |p| (p.compute.max_shared_local_memory >> 10).to_string()),
        line("bytes of arguments", |p| p.module.max_arguments_size.to_string()),
        line("`printf` buffer, KiB", |p| (p.module.printf_buffer_size >> 10).to_string()),
        line("images", |p| yes(p.images.supported())),
        line("SPIR-V", |p| format!("{}.{}", p.module.spirv_version[0], p.module.spirv_version[1])),
    ];
    lines.extend(flags!("`ZE_DEVICE_MODULE_FLAG_", ModuleFlags, "`" | p | p.module.flags));
    lines.extend(flags!(
        "`ZE_DEVICE_FP_FLAG_",
        FpFlags,
        "`, 16 bits" | p | p.module.fp16,
        "`, 32 bits" | p | p.module.fp32,
        "`, 64 bits" | p | p.module.fp64
    ));
    let atomics = flags!(
        "`ZE_DEVICE_FP_ATOMIC_EXT_FLAG_",
        FpAtomicFlags,
        "`, 16 bits" | p | p.module.fp16_atomics,
        "`, 32 bits" | p | p.module.fp32_atomics,
        "`, 64 bits" | p | p.module.fp64_atomics
    );
    // The names that stand for two flags are no flags.
    let pairs = ["FLAG_LOAD_STORE`", "FLAG_ADD`", "FLAG_MIN_MAX`"];
    lines.extend(atomics.filter(|(name, _)| !pairs.iter().any(|pair| name.contains(pair))));
    lines.extend(flags!("dot product `", DotProductFlags, "`" | p | p.module.dot_product));
    lines.extend(CAPABILITIES.iter().map(|support| {
        let name = support.capability.name().unwrap_or_default();
        line(format!("capability `{}`", name.replace("ALTERA", "INTEL")), move |p| {
            yes(support.need.met_by(p))
        })
    }));
    let taken = SPIRV_EXTENSIONS.iter().filter(|extension| extension.standing != Standing::Refused);
    lines.extend(taken.map(|extension| {
        line(format!("extension `{}`", extension.name), move |p| yes(extension.refusal(p).is_none()))
    }));
    lines.extend(ZE_EXTENSIONS.iter().map(|extension| {
        line(format!("extension `{}`", extension.name()), move |p| {
            yes(ze_extensions::has(p, extension.name()))
        })
    }));
    lines
}

/// The table. What all profiles have alike is one list behind it.
fn matrix() -> String {
    let names: Vec<&str> = crate::profile_names().collect();
    let profiles: Vec<DeviceProfile> =
        names.iter().map(|name| DeviceProfile::named(name).expect("a name").expect("valid")).collect();
    let mut text = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
    let (mut all, mut none) = (Vec::new(), Vec::new());
    for (name, of) in lines() {
        let values: Vec<String> = profiles.iter().map(&of).collect();
        if values.iter().all(|value| value == "yes") {
            all.push(name);
        } else if values.iter().all(String::is_empty) {
            none.push(name);
        } else {
            text += &format!("| {name} | {} |\n", values.join(" | "));
        }
    }
    format!("{text}\nAll of them have: {}.\n\nNone of them has: {}.\n", all.join(", "), none.join(", "))
}

#[test]
fn the_page_has_the_table_of_what_profiles_have() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/profiles.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let table = matrix();
    assert!(page.contains(&format!("\n\n{table}")), "docs/profiles.md needs this table:\n\n{table}");
}
