//! Which flags exist: what every descriptor, and every argument that is flags by itself, may have set.
//!
//! One table, checked where a function takes its arguments ([`crate::args::descriptor`]), so that what lies behind the API
//! meets no flag that the specification does not have.

use ze_core::error::{Error, Result};
use ze_headers::*;

/// The flags of a field or an argument.
pub struct Flags {
    what: &'static str,
    /// Every flag that the specification has.
    known: u32,
    /// Flags that exclude each other.
    apart: u32,
    /// Flags that this driver has no meaning for, with what they ask for.
    unsupported: &'static [(u32, &'static str)],
    /// A value that is no sum of flags and taken for none of them.
    besides: Option<u32>,
}

/// The value of each of the headers' enumerations that makes it 32 bits wide. It is no flag, but the conformance tests create
/// command lists with it and expect them, which Intel's driver gives them.
const WIDEST: u32 = 0x7fff_ffff;

impl Flags {
    /// Errors: [`Error::InvalidEnumeration`] for bits that are no flags and flags that exclude each other,
    /// [`Error::UnsupportedFeature`] for what this driver cannot do.
    pub fn check(&self, value: u32) -> Result<()> {
        if self.besides == Some(value) {
            return Ok(());
        }
        let excluded = self.apart != 0 && value & self.apart == self.apart;
        if value & !self.known != 0 || excluded {
            return Err(Error::InvalidEnumeration { what: self.what, value: value.into() });
        }
        match self.unsupported.iter().find(|(flag, _)| value & flag != 0) {
            Some((_, feature)) => Err(Error::UnsupportedFeature(feature)),
            None => Ok(()),
        }
    }
}

/// A structure with flags.
pub trait Descriptor {
    /// Checks every field that is flags.
    fn check_flags(&self) -> Result<()>;
}

macro_rules! flags {
    (
        @row $what:expr, [$($flag:ident),*] $(apart [$($apart:ident),*])? $(unsupported [$($not:ident: $why:literal),*])?
        $(besides $value:ident)?
    ) => {
        Flags {
            what: $what,
            known: 0 $(| $flag)*,
            apart: 0 $($(| $apart)*)?,
            unsupported: &[$($(($not, $why)),*)?],
            besides: [$(Some($value),)? None][0],
        }
    };
    (
        descriptors { $($desc:ident {
            $($field:ident: $type:ident [$($flag:ident),* $(,)?]
                $(apart [$($apart:ident),*])? $(unsupported [$($not:ident: $why:literal),*])? $(besides $value:ident)?;)+
        })* }
        arguments { $($name:ident: $argument:ident [$($bit:ident),* $(,)?];)* }
    ) => {
        $(
            impl Descriptor for $desc {
                fn check_flags(&self) -> Result<()> {
                    $(
                        const { &flags!(@row concat!(stringify!($desc), "::", stringify!($field)),
                            [$($flag),*] $(apart [$($apart),*])? $(unsupported [$($not: $why),*])? $(besides $value)?) }
                            .check(self.$field)?;
                    )+
                    Ok(())
                }
            }
        )*
        $(pub const $name: Flags = flags!(@row stringify!($argument), [$($bit),*]);)*

        /// Every row, with the type of its flags in the API's headers and its structure.
        #[cfg(test)]
        const TABLE: &[(Flags, &str, &str)] = &[
            $($((flags!(@row concat!(stringify!($desc), "::", stringify!($field)),
                [$($flag),*] $(apart [$($apart),*])? $(unsupported [$($not: $why),*])? $(besides $value)?),
                stringify!($type), stringify!($desc)),)+)*
            $(($name, stringify!($argument), ""),)*
        ];
    };
}

flags! {
    descriptors {
        ze_context_desc_t {
            flags: ze_context_flags_t [ZE_CONTEXT_FLAG_TBD];
        }
        ze_command_queue_desc_t {
            flags: ze_command_queue_flags_t [
                ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY,
                ZE_COMMAND_QUEUE_FLAG_IN_ORDER,
                ZE_COMMAND_QUEUE_FLAG_COPY_OFFLOAD_HINT,
            ];
        }
        ze_command_list_desc_t {
            flags: ze_command_list_flags_t [
                ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING,
                ZE_COMMAND_LIST_FLAG_MAXIMIZE_THROUGHPUT,
                ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY,
                ZE_COMMAND_LIST_FLAG_IN_ORDER,
                ZE_COMMAND_LIST_FLAG_EXP_CLONEABLE,
                ZE_COMMAND_LIST_FLAG_COPY_OFFLOAD_HINT,
            ] besides WIDEST;
        }
        ze_event_pool_desc_t {
            flags: ze_event_pool_flags_t [
                ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                ZE_EVENT_POOL_FLAG_IPC,
                ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
                ZE_EVENT_POOL_FLAG_KERNEL_MAPPED_TIMESTAMP,
            ];
        }
        ze_event_pool_counter_based_exp_desc_t {
            flags: ze_event_pool_counter_based_exp_flags_t [
                ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_IMMEDIATE,
                ZE_EVENT_POOL_COUNTER_BASED_EXP_FLAG_NON_IMMEDIATE,
            ];
        }
        ze_event_desc_t {
            signal: ze_event_scope_flags_t [
                ZE_EVENT_SCOPE_FLAG_SUBDEVICE, ZE_EVENT_SCOPE_FLAG_DEVICE, ZE_EVENT_SCOPE_FLAG_HOST
            ];
            wait: ze_event_scope_flags_t [
                ZE_EVENT_SCOPE_FLAG_SUBDEVICE, ZE_EVENT_SCOPE_FLAG_DEVICE, ZE_EVENT_SCOPE_FLAG_HOST
            ];
        }
        ze_event_counter_based_desc_t {
            flags: ze_event_counter_based_flags_t [
                ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE,
                ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE,
                ZE_EVENT_COUNTER_BASED_FLAG_HOST_VISIBLE,
                ZE_EVENT_COUNTER_BASED_FLAG_IPC,
                ZE_EVENT_COUNTER_BASED_FLAG_DEVICE_TIMESTAMP,
                ZE_EVENT_COUNTER_BASED_FLAG_HOST_TIMESTAMP,
                ZE_EVENT_COUNTER_BASED_FLAG_GRAPH_EXTERNAL,
            ];
            signal: ze_event_scope_flags_t [
                ZE_EVENT_SCOPE_FLAG_SUBDEVICE, ZE_EVENT_SCOPE_FLAG_DEVICE, ZE_EVENT_SCOPE_FLAG_HOST
            ];
            wait: ze_event_scope_flags_t [
                ZE_EVENT_SCOPE_FLAG_SUBDEVICE, ZE_EVENT_SCOPE_FLAG_DEVICE, ZE_EVENT_SCOPE_FLAG_HOST
            ];
        }
        ze_fence_desc_t {
            flags: ze_fence_flags_t [ZE_FENCE_FLAG_SIGNALED];
        }
        ze_device_mem_alloc_desc_t {
            flags: ze_device_mem_alloc_flags_t [
                ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_CACHED,
                ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_UNCACHED,
                ZE_DEVICE_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT,
            ];
        }
        ze_host_mem_alloc_desc_t {
            flags: ze_host_mem_alloc_flags_t [
                ZE_HOST_MEM_ALLOC_FLAG_BIAS_CACHED,
                ZE_HOST_MEM_ALLOC_FLAG_BIAS_UNCACHED,
                ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED,
                ZE_HOST_MEM_ALLOC_FLAG_BIAS_INITIAL_PLACEMENT,
                ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY,
            ] apart [ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY];
        }
        ze_relaxed_allocation_limits_ext_desc_t {
            flags: ze_relaxed_allocation_limits_ext_flags_t [ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE];
        }
        ze_relaxed_allocation_limits_exp_desc_t {
            flags: ze_relaxed_allocation_limits_exp_flags_t [ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE];
        }
        ze_external_memory_export_desc_t {
            flags: ze_external_memory_type_flags_t [
                ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD,
                ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF,
                ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_WIN32,
                ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_WIN32_KMT,
                ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D11_TEXTURE,
                ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D11_TEXTURE_KMT,
                ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_HEAP,
                ZE_EXTERNAL_MEMORY_TYPE_FLAG_D3D12_RESOURCE,
            ];
        }
        ze_ipc_mem_handle_type_ext_desc_t {
            typeFlags: ze_ipc_mem_handle_type_flags_t [
                ZE_IPC_MEM_HANDLE_TYPE_FLAG_DEFAULT,
                ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE,
            ] unsupported [ZE_IPC_MEM_HANDLE_TYPE_FLAG_FABRIC_ACCESSIBLE: "sharing memory with another machine"];
        }
        ze_physical_mem_desc_t {
            flags: ze_physical_mem_flags_t [
                ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE, ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST
            ] apart [ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE, ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST];
        }
        ze_mutable_command_list_exp_desc_t {
            flags: ze_mutable_command_list_exp_flags_t [ZE_MUTABLE_COMMAND_LIST_EXP_FLAG_RESERVED];
        }
        ze_mutable_command_id_exp_desc_t {
            flags: ze_mutable_command_exp_flags_t [
                ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_ARGUMENTS,
                ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_COUNT,
                ZE_MUTABLE_COMMAND_EXP_FLAG_GROUP_SIZE,
                ZE_MUTABLE_COMMAND_EXP_FLAG_GLOBAL_OFFSET,
                ZE_MUTABLE_COMMAND_EXP_FLAG_SIGNAL_EVENT,
                ZE_MUTABLE_COMMAND_EXP_FLAG_WAIT_EVENTS,
                ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION,
                ZE_MUTABLE_COMMAND_EXP_FLAG_GRAPH_ARGUMENTS,
            ] unsupported [ZE_MUTABLE_COMMAND_EXP_FLAG_GRAPH_ARGUMENTS: "changing the arguments of a graph"];
        }
        ze_memory_free_ext_desc_t {
            freePolicy: ze_driver_memory_free_policy_ext_flags_t [
                ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE,
                ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE,
            ];
        }
        ze_kernel_desc_t {
            flags: ze_kernel_flags_t [ZE_KERNEL_FLAG_FORCE_RESIDENCY, ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY];
        }
        ze_scheduling_hint_exp_desc_t {
            flags: ze_scheduling_hint_exp_flags_t [
                ZE_SCHEDULING_HINT_EXP_FLAG_OLDEST_FIRST,
                ZE_SCHEDULING_HINT_EXP_FLAG_ROUND_ROBIN,
                ZE_SCHEDULING_HINT_EXP_FLAG_STALL_BASED_ROUND_ROBIN,
            ];
        }
        ze_image_desc_t {
            flags: ze_image_flags_t [ZE_IMAGE_FLAG_KERNEL_WRITE, ZE_IMAGE_FLAG_BIAS_UNCACHED];
        }
        ze_image_bindless_exp_desc_t {
            flags: ze_image_bindless_exp_flags_t [
                ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS, ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE
            ];
        }
        ze_linkage_inspection_ext_desc_t {
            flags: ze_linkage_inspection_ext_flags_t [
                ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS,
                ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS,
                ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS,
            ];
        }
    }
    arguments {
        INIT: ze_init_flags_t [ZE_INIT_FLAG_GPU_ONLY, ZE_INIT_FLAG_VPU_ONLY];
        INDIRECT_ACCESS: ze_kernel_indirect_access_flags_t [
            ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST,
            ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE,
            ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED,
        ];
        CACHE_CONFIG: ze_cache_config_flags_t [ZE_CACHE_CONFIG_FLAG_LARGE_SLM, ZE_CACHE_CONFIG_FLAG_LARGE_DATA];
        IPC_MEMORY: ze_ipc_memory_flags_t [ZE_IPC_MEMORY_FLAG_BIAS_CACHED, ZE_IPC_MEMORY_FLAG_BIAS_UNCACHED];
        ATOMIC_ATTRIBUTES: ze_memory_atomic_attr_exp_flags_t [
            ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_ATOMICS,
            ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_HOST_ATOMICS,
            ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_HOST_ATOMICS,
            ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_DEVICE_ATOMICS,
            ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_DEVICE_ATOMICS,
            ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_SYSTEM_ATOMICS,
            ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_SYSTEM_ATOMICS,
        ];
    }
}

/// Checks a value of an enumeration that goes from 0 to `last`.
pub fn enumeration(what: &'static str, value: u32, last: u32) -> Result<()> {
    if value <= last { Ok(()) } else { Err(Error::InvalidEnumeration { what, value: value.into() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const BINDINGS: &str = include_str!("../../headers/src/bindings.rs");

    /// Descriptors of the headers whose flags no function of this driver takes, each with why.
    const NOT_TAKEN: [(&str, &str); 7] = [
        ("ze_init_driver_type_desc_t", "any bits: a program that takes every driver sets them all"),
        ("ze_event_sync_mode_desc_t", "an extension that is not there"),
        ("ze_raytracing_mem_alloc_ext_desc_t", "an extension that is not there"),
        ("ze_memory_compression_hints_ext_desc_t", "an extension that is not there"),
        ("ze_rtas_builder_build_op_exp_desc_t", "an extension that is not there"),
        ("ze_rtas_builder_build_op_ext_desc_t", "an extension that is not there"),
        ("ze_external_semaphore_ext_desc_t", "an extension that is not there"),
    ];

    /// The flags of a type in the API's headers.
    fn in_headers(flags: &str) -> u32 {
        let of_type = format!(": {} = ", flags.replace("_flags_t", "_flag_t"));
        let values =
            BINDINGS.lines().filter(|line| line.starts_with("pub const ") && line.contains(&of_type));
        let values = values.filter(|line| !line.contains("FORCE_UINT32"));
        let value = |line: &str| {
            let (_, value) = line.split_once(&of_type)?;
            value.strip_suffix(';')?.parse::<u32>().ok()
        };
        values.map(|line| value(line).expect("a constant")).fold(0, |all, flag| all | flag)
    }

    #[test]
    fn the_flags_of_the_table_are_those_of_the_headers() {
        for (row, type_, _) in TABLE {
            assert_ne!(row.known, 0, "{}", row.what);
            assert_eq!(row.known, in_headers(type_), "{}", row.what);
        }
    }

    #[test]
    fn a_bit_that_is_no_flag_is_an_invalid_enumeration_everywhere() {
        for (row, ..) in TABLE {
            assert!(row.check(0).is_ok(), "{}", row.what);
            for bit in (0..32).map(|bit| 1 << bit) {
                let unsupported = row.unsupported.iter().any(|(flag, _)| *flag == bit);
                match row.check(bit) {
                    Ok(()) => assert!(row.known & bit != 0 && !unsupported, "{} {bit:#x}", row.what),
                    Err(Error::UnsupportedFeature(_)) => assert!(unsupported, "{} {bit:#x}", row.what),
                    Err(Error::InvalidEnumeration { what, value }) => {
                        assert_eq!((what, value, row.known & bit), (row.what, bit.into(), 0));
                    }
                    Err(error) => panic!("{}: {error}", row.what),
                }
            }
        }
    }

    #[test]
    fn a_value_besides_the_flags_is_taken_and_no_other() {
        let desc = |flags| ze_command_list_desc_t { flags, ..Default::default() };
        assert!(desc(WIDEST).check_flags().is_ok());
        assert!(desc(WIDEST - 1).check_flags().is_err());
    }

    #[test]
    fn flags_that_exclude_each_other_are_refused_together_only() {
        let desc = |flags| ze_host_mem_alloc_desc_t { flags, ..Default::default() };
        let both = ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED | ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY;
        assert!(matches!(desc(both).check_flags(), Err(Error::InvalidEnumeration { .. })));
        assert!(desc(ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY).check_flags().is_ok());
    }

    #[test]
    fn every_descriptor_with_flags_is_in_the_table_or_not_taken() {
        let mut structures = BTreeSet::new();
        let mut current = "";
        for line in BINDINGS.lines() {
            if let Some(name) = line.strip_prefix("pub struct ze_").and_then(|_| line.strip_suffix(" {")) {
                current = &name["pub struct ".len()..];
            } else if line.starts_with("    pub ")
                && line.ends_with("_flags_t,")
                && current.contains("_desc_t")
            {
                structures.insert(current);
            }
        }
        assert!(structures.len() > 20, "the headers were read");
        for structure in structures {
            let listed = TABLE.iter().any(|(.., desc)| *desc == structure);
            let left = NOT_TAKEN.iter().any(|(desc, _)| *desc == structure);
            assert!(listed != left, "{structure}");
        }
    }

    #[test]
    fn enumerations_end_where_they_end() {
        assert!(enumeration("mode", 2, 2).is_ok() && enumeration("mode", 3, 2).is_err());
    }
}
