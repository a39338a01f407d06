//! Level Zero extensions of the driver: what `zeDriverGetExtensionProperties` and its sysman counterpart list.

use crate::profile::DeviceProfile;
use std::ffi::CStr;
use ze_headers::*;

/// An extension and the newest version of it that is implemented.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZeExtension {
    name: &'static CStr,
    /// As `ZE_MAKE_VERSION` packs it.
    pub version: u32,
}

/// Extensions with functions that loaders have only from a version on. SYCL's adapter has the loader's own stubs for them, which jump to
/// nowhere in an older loader. (It asks the driver for the addresses of experimental ones.)
const WITH_NEW_FUNCTIONS: [(&CStr, ze_api_version_t); 2] = [
    (ZE_DEVICE_VECTOR_SIZES_EXT_NAME, api_version(1, 13)),
    (ZE_RECORD_REPLAY_GRAPH_EXT_NAME, api_version(1, 17)),
];

/// Of Intel's driver: host memory that programs import, by functions that they ask the driver for (`zexDriverImportExternalPointer`).
const ZEX_DRIVER_IMPORT_HOST_POINTER_NAME: &CStr = c"ZEX_driver_import_host_pointer";
const ZEX_DRIVER_IMPORT_HOST_POINTER_VERSION_CURRENT: ze_api_version_t = api_version(1, 0);

impl ZeExtension {
    pub fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }

    /// The first API version whose loaders have the functions that programs take from the loader; 0 where all have them.
    pub fn since(&self) -> u32 {
        let brought = |(name, _): &&(&CStr, ze_api_version_t)| *name == self.name;
        WITH_NEW_FUNCTIONS.iter().find(brought).map_or(0, |(_, since)| since.0)
    }

    /// Whether it is for devices that have images.
    fn is_of_images(&self) -> bool {
        self.name().contains("_image") || self.name() == "ZE_extension_srgb"
    }
}

macro_rules! extensions {
    ($(#[$doc:meta])* $list:ident: $($name:ident $version:ident;)*) => {
        $(#[$doc])*
        pub const $list: &[ZeExtension] = &[$(ZeExtension { name: $name, version: $version.0 }),*];
    };
}

extensions! {
    /// The extensions that are implemented. A line here is a promise: queries, compiler and engine rely on it.
    ZE_EXTENSIONS:
    ZE_BFLOAT16_CONVERSIONS_EXT_NAME ZE_BFLOAT16_CONVERSIONS_EXT_VERSION_CURRENT;
    ZE_BINDLESS_IMAGE_EXP_NAME ZE_BINDLESS_IMAGE_EXP_VERSION_CURRENT;
    ZE_CACHELINE_SIZE_EXT_NAME ZE_DEVICE_CACHE_LINE_SIZE_EXT_VERSION_CURRENT;
    ZE_COMMAND_LIST_CLONE_EXP_NAME ZE_COMMAND_LIST_CLONE_EXP_VERSION_CURRENT;
    ZE_DEVICE_IP_VERSION_EXT_NAME ZE_DEVICE_IP_VERSION_VERSION_CURRENT;
    ZE_DEVICE_MEMORY_PROPERTIES_EXT_NAME ZE_DEVICE_MEMORY_PROPERTIES_EXT_VERSION_CURRENT;
    ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_NAME ZE_DEVICE_USABLEMEM_SIZE_PROPERTIES_EXT_VERSION_CURRENT;
    ZE_DEVICE_VECTOR_SIZES_EXT_NAME ZE_DEVICE_VECTOR_SIZES_EXT_VERSION_CURRENT;
    ZE_DRIVER_DDI_HANDLES_EXT_NAME ZE_DRIVER_DDI_HANDLES_EXT_VERSION_CURRENT;
    ZE_EU_COUNT_EXT_NAME ZE_EU_COUNT_EXT_VERSION_CURRENT;
    ZE_EVENT_POOL_COUNTER_BASED_EXP_NAME ZE_EVENT_POOL_COUNTER_BASED_EXP_VERSION_CURRENT;
    ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_NAME ZE_EVENT_QUERY_KERNEL_TIMESTAMPS_EXT_VERSION_CURRENT;
    ZE_EVENT_QUERY_TIMESTAMPS_EXP_NAME ZE_EVENT_QUERY_TIMESTAMPS_EXP_VERSION_CURRENT;
    ZE_EXTERNAL_MEMORY_MAPPING_EXT_NAME ZE_EXTERNAL_MEMMAP_SYSMEM_EXT_VERSION_CURRENT;
    ZE_FABRIC_EXP_NAME ZE_FABRIC_EXP_VERSION_CURRENT;
    ZE_FLOAT_ATOMICS_EXT_NAME ZE_FLOAT_ATOMICS_EXT_VERSION_CURRENT;
    ZE_GET_KERNEL_ALLOCATION_PROPERTIES_EXP_NAME ZE_KERNEL_GET_ALLOCATION_PROPERTIES_EXP_VERSION_CURRENT;
    ZE_GLOBAL_OFFSET_EXP_NAME ZE_GLOBAL_OFFSET_EXP_VERSION_CURRENT;
    ZE_IMAGE_COPY_EXT_NAME ZE_IMAGE_COPY_EXT_VERSION_CURRENT;
    ZE_IMAGE_FORMAT_SUPPORT_EXT_NAME ZE_IMAGE_FORMAT_SUPPORT_EXT_VERSION_CURRENT;
    ZE_IMAGE_MEMORY_PROPERTIES_EXP_NAME ZE_IMAGE_MEMORY_PROPERTIES_EXP_VERSION_CURRENT;
    ZE_IMAGE_QUERY_ALLOC_PROPERTIES_EXT_NAME ZE_IMAGE_QUERY_ALLOC_PROPERTIES_EXT_VERSION_CURRENT;
    ZE_IMAGE_VIEW_EXP_NAME ZE_IMAGE_VIEW_EXP_VERSION_CURRENT;
    ZE_IMAGE_VIEW_EXT_NAME ZE_IMAGE_VIEW_EXT_VERSION_CURRENT;
    ZE_IMAGE_VIEW_PLANAR_EXP_NAME ZE_IMAGE_VIEW_PLANAR_EXP_VERSION_CURRENT;
    ZE_IMAGE_VIEW_PLANAR_EXT_NAME ZE_IMAGE_VIEW_PLANAR_EXT_VERSION_CURRENT;
    ZE_IMMEDIATE_COMMAND_LIST_APPEND_EXP_NAME ZE_IMMEDIATE_COMMAND_LIST_APPEND_EXP_VERSION_CURRENT;
    ZE_IPC_MEM_HANDLE_TYPE_EXT_NAME ZE_IPC_MEM_HANDLE_TYPE_EXT_VERSION_CURRENT;
    ZE_KERNEL_MAX_GROUP_SIZE_PROPERTIES_EXT_NAME ZE_KERNEL_MAX_GROUP_SIZE_PROPERTIES_EXT_VERSION_CURRENT;
    ZE_KERNEL_SCHEDULING_HINTS_EXP_NAME ZE_SCHEDULING_HINTS_EXP_VERSION_CURRENT;
    ZE_LINKAGE_INSPECTION_EXT_NAME ZE_LINKAGE_INSPECTION_EXT_VERSION_CURRENT;
    ZE_LINKONCE_ODR_EXT_NAME ZE_LINKONCE_ODR_EXT_VERSION_CURRENT;
    ZE_MEMORY_FREE_POLICIES_EXT_NAME ZE_MEMORY_FREE_POLICIES_EXT_VERSION_CURRENT;
    ZE_MODULE_PROGRAM_EXP_NAME ZE_MODULE_PROGRAM_EXP_VERSION_CURRENT;
    ZE_MUTABLE_COMMAND_LIST_EXP_NAME ZE_MUTABLE_COMMAND_LIST_EXP_VERSION_CURRENT;
    ZE_PCI_PROPERTIES_EXT_NAME ZE_PCI_PROPERTIES_EXT_VERSION_CURRENT;
    ZE_RECORD_REPLAY_GRAPH_EXP_NAME ZE_RECORD_REPLAY_GRAPH_EXP_VERSION_CURRENT;
    ZE_RECORD_REPLAY_GRAPH_EXT_NAME ZE_RECORD_REPLAY_GRAPH_EXT_VERSION_CURRENT;
    ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME ZE_RELAXED_ALLOCATION_LIMITS_EXP_VERSION_CURRENT;
    ZE_RELAXED_ALLOCATION_LIMITS_EXT_NAME ZE_RELAXED_ALLOCATION_LIMITS_EXT_VERSION_CURRENT;
    ZE_SRGB_EXT_NAME ZE_SRGB_EXT_VERSION_CURRENT;
    ZE_SUBGROUPS_EXT_NAME ZE_SUBGROUP_EXT_VERSION_CURRENT;
    ZE_VIRTUAL_MEM_READONLY_PROPERTIES_EXT_NAME ZE_VIRTUAL_MEM_READONLY_PROPERTIES_EXT_VERSION_CURRENT;
    ZET_CONCURRENT_METRIC_GROUPS_EXP_NAME ZET_CONCURRENT_METRIC_GROUPS_EXP_VERSION_CURRENT;
    ZET_EXPORT_METRICS_DATA_EXP_NAME ZET_EXPORT_METRIC_DATA_EXP_VERSION_CURRENT;
    ZET_GLOBAL_METRICS_TIMESTAMPS_EXP_NAME ZE_METRIC_GLOBAL_TIMESTAMPS_EXP_VERSION_CURRENT;
    ZET_METRICS_RUNTIME_ENABLE_DISABLE_EXP_NAME ZET_METRICS_RUNTIME_ENABLE_DISABLE_EXP_VERSION_CURRENT;
    ZET_MULTI_METRICS_EXP_NAME ZE_CALCULATE_MULTIPLE_METRICS_EXP_VERSION_CURRENT;
    ZE_INTEL_COMMAND_LIST_MEMORY_SYNC ZE_INTEL_COMMAND_LIST_MEMORY_SYNC_EXP_VERSION_CURRENT;
    ZE_INTEL_GET_DRIVER_VERSION_STRING_EXP_NAME ZE_INTEL_GET_DRIVER_VERSION_STRING_EXP_VERSION_CURRENT;
    ZEX_COUNTER_BASED_EVENT_EXT_NAME ZEX_COUNTER_BASED_EVENT_VERSION_CURRENT;
    ZEX_MEMORY_FREE_CALLBACK_EXT_NAME ZEX_MEMORY_FREE_CALLBACK_EXT_VERSION_CURRENT;
    ZEX_DRIVER_IMPORT_HOST_POINTER_NAME ZEX_DRIVER_IMPORT_HOST_POINTER_VERSION_CURRENT;
}

extensions! {
    /// The extensions of system management that are implemented: what `zesDriverGetExtensionProperties` lists.
    ZES_EXTENSIONS:
    ZES_DEVICE_ECC_DEFAULT_PROPERTIES_EXT_NAME ZES_DEVICE_ECC_DEFAULT_PROPERTIES_EXT_VERSION_CURRENT;
    ZES_DEVICE_EXT_STATE_NAME ZES_DEVICE_EXT_STATE_VERSION_CURRENT;
    ZES_ENGINE_ACTIVITY_EXT_NAME ZES_ENGINE_ACTIVITY_EXT_VERSION_CURRENT;
    ZES_MEM_PAGE_OFFLINE_STATE_EXP_NAME ZES_MEM_PAGE_OFFLINE_STATE_EXP_VERSION_CURRENT;
    ZES_POWER_DOMAIN_PROPERTIES_EXP_NAME ZES_POWER_DOMAIN_PROPERTIES_EXP_VERSION_CURRENT;
    ZES_POWER_LIMITS_EXT_NAME ZES_POWER_LIMITS_EXT_VERSION_CURRENT;
    ZES_RAS_GET_STATE_EXP_NAME ZES_RAS_STATE_EXP_VERSION_CURRENT;
    ZES_SYSMAN_DEVICE_MAPPING_EXP_NAME ZES_SYSMAN_DEVICE_MAPPING_EXP_VERSION_CURRENT;
}

/// Whether the driver has an extension and the device does not lack it.
pub fn has(profile: &DeviceProfile, name: &str) -> bool {
    reported(profile).any(|extension| extension.name() == name)
}

/// The driver's extensions but for those that the device's profile takes away, and those of images where it has none.
pub fn reported(profile: &DeviceProfile) -> impl Iterator<Item = &'static ZeExtension> + '_ {
    let images = profile.images.supported();
    ZE_EXTENSIONS
        .iter()
        .filter(move |extension| !profile.lacks(extension.name()) && (images || !extension.is_of_images()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_structure() {
        for extension in ZE_EXTENSIONS {
            assert!(extension.name.count_bytes() < ZE_MAX_EXTENSION_NAME as usize);
            assert!(["ZE_", "ZET_", "ZEX_"].iter().any(|api| extension.name().starts_with(api)));
        }
        for extension in ZES_EXTENSIONS {
            assert!(extension.name.count_bytes() < ZES_MAX_EXTENSION_NAME as usize);
            assert!(extension.name().starts_with("ZES_"));
        }
    }

    #[test]
    fn extensions_with_new_functions_are_for_loaders_that_have_them() {
        let since = |name: &str| {
            let extension = ZE_EXTENSIONS.iter().find(|extension| extension.name() == name);
            extension.map(|extension| extension.since())
        };
        assert_eq!(since("ZE_extension_device_vector_sizes"), Some(api_version(1, 13).0));
        assert_eq!(since("ZE_extension_record_replay_graph"), Some(api_version(1, 17).0));
        assert_eq!(since("ZE_experimental_mutable_command_list"), Some(0), "by the driver's addresses");
        let is_listed = |name: &CStr| ZE_EXTENSIONS.iter().any(|extension| extension.name == name);
        assert!(WITH_NEW_FUNCTIONS.iter().all(|(name, _)| is_listed(name)));
    }

    #[test]
    fn a_profile_can_take_extensions_away() {
        let mut profile = DeviceProfile::host();
        assert!(has(&profile, "ZE_extension_float_atomics"));
        profile.without_extensions = vec!["ZE_extension_float_atomics".into()];
        assert_eq!(reported(&profile).count(), ZE_EXTENSIONS.len() - 1);
        assert!(!has(&profile, "ZE_extension_float_atomics"));
    }

    #[test]
    fn a_device_without_images_has_none_of_their_extensions() {
        let mut profile = DeviceProfile::host();
        let of_images =
            ["ZE_extension_image_view", "ZE_experimental_image_memory_properties", "ZE_extension_srgb"];
        assert!(of_images.iter().all(|name| has(&profile, name)));
        profile.images = crate::Images::default();
        assert!(!of_images.iter().any(|name| has(&profile, name)));
        assert!(has(&profile, "ZE_extension_float_atomics"));
    }
}
