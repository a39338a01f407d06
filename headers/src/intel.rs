//! What programs take from the headers of Intel's driver (`ze_intel_gpu.h`, `driver_experimental/`): names of its own extensions, numbers of
//! structures that the specification does not have, or has by another number by now, and those structures.

use crate::*;
use core::ffi::CStr;

/// Types of structures.
pub const ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_SYNC_ALLOC_PROPERTIES: ze_structure_type_t =
    ze_structure_type_t(0x0003_001d);
pub const ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_STORAGE_ALLOC_PROPERTIES: ze_structure_type_t =
    ze_structure_type_t(0x0003_0027);

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
