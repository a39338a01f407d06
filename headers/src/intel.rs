//! What programs take from the headers of Intel's driver (`ze_intel_gpu.h`, `driver_experimental/`): names of its own extensions, numbers of
//! structures that the specification does not have, or has by another number by now, and those structures.

use crate::*;
use core::ffi::CStr;

/// Types of structures.
pub const ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_SYNC_ALLOC_PROPERTIES: ze_structure_type_t =
    ze_structure_type_t(0x0003_001d);
pub const ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_STORAGE_ALLOC_PROPERTIES: ze_structure_type_t =
    ze_structure_type_t(0x0003_0027);

/// The older numbers of what record and replay has by now.
pub const ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXP_PROPERTIES: ze_structure_type_t =
    ze_structure_type_t(0x0003_0029);
pub const ZE_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXP_DUMP_DESC: ze_structure_type_t =
    ze_structure_type_t(0x0003_0031);
pub const ZE_STRUCTURE_TYPE_QUEUE_PRIORITY_DESC: ze_structure_type_t = ze_structure_type_t(0x0003_0028);
pub const ZE_INTEL_STRUCTURE_TYPE_DEVICE_COMMAND_LIST_WAIT_ON_MEMORY_DATA_SIZE_EXP_DESC: ze_structure_type_t =
    ze_structure_type_t(0x0003_0017);

/// Record and replay by its older functions, whose names end with `Exp`.
pub const ZE_RECORD_REPLAY_GRAPH_EXP_NAME: &CStr = c"ZE_experimental_record_replay_graph";
pub const ZE_RECORD_REPLAY_GRAPH_EXP_VERSION_CURRENT: ze_api_version_t = api_version(1, 0);

/// What those functions say where others say `ZE_RESULT_QUERY_TRUE`, `ZE_RESULT_QUERY_FALSE` and `ZE_RESULT_ERROR_INVALID_GRAPH`.
pub const ZE_RESULT_QUERY_TRUE_EXP: ze_result_t = ze_result_t(0x7fff_0000);
pub const ZE_RESULT_QUERY_FALSE_EXP: ze_result_t = ze_result_t(0x7fff_0001);
pub const ZE_RESULT_ERROR_INVALID_GRAPH_EXP: ze_result_t = ze_result_t(0x7fff_0002);

/// Ways of writing graphs that only the older function has: each event command is a node.
pub const ZE_RECORD_REPLAY_GRAPH_EXP_DUMP_MODE_DETAILED_WITH_EVENT_NODES:
    ze_record_replay_graph_ext_dump_mode_t = ze_record_replay_graph_ext_dump_mode_t(2);
pub const ZE_RECORD_REPLAY_GRAPH_EXP_DUMP_MODE_SIMPLE_WITH_EVENT_NODES:
    ze_record_replay_graph_ext_dump_mode_t = ze_record_replay_graph_ext_dump_mode_t(3);

/// `zeIntelGetDriverVersionString`.
pub const ZE_INTEL_GET_DRIVER_VERSION_STRING_EXP_NAME: &CStr = c"ZE_intel_get_driver_version_string";
pub const ZE_INTEL_GET_DRIVER_VERSION_STRING_EXP_VERSION_CURRENT: ze_api_version_t = api_version(1, 0);

/// `zexCounterBasedEvent*`.
pub const ZEX_COUNTER_BASED_EVENT_EXT_NAME: &CStr = c"ZEX_counter_based_event";
pub const ZEX_COUNTER_BASED_EVENT_VERSION_CURRENT: ze_api_version_t = api_version(1, 0);

/// `zexCommandListAppendWaitOnMemory`, `zexCommandListAppendWriteToMemory`.
pub const ZE_INTEL_COMMAND_LIST_MEMORY_SYNC: &CStr = c"ZE_intel_experimental_command_list_memory_sync";
pub const ZE_INTEL_COMMAND_LIST_MEMORY_SYNC_EXP_VERSION_CURRENT: ze_api_version_t = api_version(1, 0);

/// The priority of a queue, in the chain of its descriptor: 0 is normal, and less than that before it.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ze_queue_priority_desc_t {
    pub stype: ze_structure_type_t,
    pub pNext: *const c_void,
    pub priority: i32,
}

/// In the chain of `ze_device_properties_t`: the bytes of values that lists can wait for.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct ze_intel_device_command_list_wait_on_memory_data_size_exp_desc_t {
    pub stype: ze_structure_type_t,
    pub pNext: *const c_void,
    pub cmdListWaitOnMemoryDataSizeInBytes: u32,
}

/// Which values end a wait: how memory, an unsigned number, compares with the one that is given.
pub const ZEX_WAIT_ON_MEMORY_FLAG_EQUAL: u32 = 1;
pub const ZEX_WAIT_ON_MEMORY_FLAG_NOT_EQUAL: u32 = 2;
pub const ZEX_WAIT_ON_MEMORY_FLAG_GREATER_THAN: u32 = 4;
pub const ZEX_WAIT_ON_MEMORY_FLAG_GREATER_THAN_EQUAL: u32 = 8;
pub const ZEX_WAIT_ON_MEMORY_FLAG_LESSER_THAN: u32 = 16;
pub const ZEX_WAIT_ON_MEMORY_FLAG_LESSER_THAN_EQUAL: u32 = 32;

/// Who sees a write, or has made one that is waited for.
pub const ZEX_MEM_ACTION_SCOPE_FLAG_SUBDEVICE: u32 = 1;
pub const ZEX_MEM_ACTION_SCOPE_FLAG_DEVICE: u32 = 2;
pub const ZEX_MEM_ACTION_SCOPE_FLAG_HOST: u32 = 4;

/// Of `zexCommandListAppendWaitOnMemory`.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct zex_wait_on_mem_desc_t {
    pub actionFlag: u32,
    pub waitScope: u32,
}

/// Of `zexCommandListAppendWriteToMemory`.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct zex_write_to_mem_desc_t {
    pub writeScope: u32,
}

/// Of [`zexMemFreeRegisterCallbackExt`](zex_memory_free_callback_ext_desc_t).
pub const ZEX_MEMORY_FREE_CALLBACK_EXT_NAME: &CStr = c"ZEX_extension_memory_free_callback";
pub const ZEX_MEMORY_FREE_CALLBACK_EXT_VERSION_CURRENT: ze_api_version_t = api_version(1, 0);

/// A function of the program, called with its argument.
pub type zex_mem_free_callback_fn_t = Option<unsafe extern "C" fn(*mut c_void)>;

/// What `zexMemFreeRegisterCallbackExt` is told.
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct zex_memory_free_callback_ext_desc_t {
    pub stype: ze_structure_type_t,
    pub pNext: *const c_void,
    pub pfnCallback: zex_mem_free_callback_fn_t,
    pub pUserData: *mut c_void,
}
