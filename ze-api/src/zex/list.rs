//! What lists are told by functions of Intel's driver: waits for memory and writes to it, copies with arguments in an older order, and
//! functions to be called at a list's end.

use std::ffi::c_void;

use ze_core::command_list::CommandList;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_core::operation::Operation;
use ze_core::watched_memory::{Comparison, Condition, Value};
use ze_headers::*;

use crate::append;
use crate::args::{address, events, input, no_extension};
use crate::entry::entry;

/// Comparisons by their flags, one of which a wait has.
const COMPARISONS: [(u32, Comparison); 6] = [
    (ZEX_WAIT_ON_MEMORY_FLAG_EQUAL, Comparison::Equal),
    (ZEX_WAIT_ON_MEMORY_FLAG_NOT_EQUAL, Comparison::NotEqual),
    (ZEX_WAIT_ON_MEMORY_FLAG_GREATER_THAN, Comparison::Greater),
    (ZEX_WAIT_ON_MEMORY_FLAG_GREATER_THAN_EQUAL, Comparison::GreaterOrEqual),
    (ZEX_WAIT_ON_MEMORY_FLAG_LESSER_THAN, Comparison::Less),
    (ZEX_WAIT_ON_MEMORY_FLAG_LESSER_THAN_EQUAL, Comparison::LessOrEqual),
];

/// Every memory is seen by everybody at once, so that only flags are checked which do not exist.
fn check_scope(scope: u32) -> Result<()> {
    const ALL: u32 = ZEX_MEM_ACTION_SCOPE_FLAG_SUBDEVICE
        | ZEX_MEM_ACTION_SCOPE_FLAG_DEVICE
        | ZEX_MEM_ACTION_SCOPE_FLAG_HOST;
    if scope & !ALL == 0 {
        return Ok(());
    }
    Err(Error::InvalidEnumeration { what: "zex_mem_action_scope_flags_t", value: scope.into() })
}

/// Appends a wait for memory.
///
/// # Safety
///
/// Pointers are null or valid.
unsafe fn wait(
    list: ze_command_list_handle_t,
    desc: *const zex_wait_on_mem_desc_t,
    place: *mut c_void,
    value: Value,
    signal: ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(list)?;
    // SAFETY: the caller's promise.
    let desc = unsafe { input(desc, "desc") }?;
    address(place, "ptr")?;
    check_scope(desc.waitScope)?;
    let comparison = COMPARISONS.iter().find(|(flag, _)| *flag == desc.actionFlag);
    let value_of_flag = desc.actionFlag.into();
    let (_, comparison) = *comparison.ok_or(Error::InvalidEnumeration {
        what: "zex_wait_on_mem_desc_t::actionFlag",
        value: value_of_flag,
    })?;
    // SAFETY: no array.
    let events = unsafe { events(signal, 0, std::ptr::null_mut()) }?;
    list.append_wait(place, Condition { comparison, value }, &events)
}

functions! {
    /// `zexCommandListAppendWaitOnMemory`: for a value of 4 bytes.
    fn zexCommandListAppendWaitOnMemory(
        hCommandList: ze_command_list_handle_t,
        desc: *mut zex_wait_on_mem_desc_t,
        ptr: *mut c_void,
        data: u32,
        hSignalEvent: ze_event_handle_t
    ) {
        // SAFETY: the contract is the same, here and below.
        unsafe { wait(hCommandList, desc, ptr, Value::Word(data), hSignalEvent) }
    }

    /// `zexCommandListAppendWaitOnMemory64`: for a value of 8 bytes.
    fn zexCommandListAppendWaitOnMemory64(
        hCommandList: ze_command_list_handle_t,
        desc: *mut zex_wait_on_mem_desc_t,
        ptr: *mut c_void,
        data: u64,
        hSignalEvent: ze_event_handle_t
    ) {
        // SAFETY: see above.
        unsafe { wait(hCommandList, desc, ptr, Value::Long(data), hSignalEvent) }
    }

    /// `zexCommandListAppendWriteToMemory`: 8 bytes.
    fn zexCommandListAppendWriteToMemory(
        hCommandList: ze_command_list_handle_t,
        desc: *mut zex_write_to_mem_desc_t,
        ptr: *mut c_void,
        data: u64
    ) {
        let list = handle::get::<CommandList>(hCommandList)?;
        // SAFETY: the caller passes null or a valid structure.
        check_scope(unsafe { input(desc, "desc") }?.writeScope)?;
        list.append(Operation::store(address(ptr, "ptr")?, data)?, &Default::default())
    }

    /// `zexCommandListAppendMemoryCopyWithParameters`: the older name of `zeCommandListAppendMemoryCopyWithParameters`, with its last
    /// arguments in another order.
    fn zexCommandListAppendMemoryCopyWithParameters(
        hCommandList: ze_command_list_handle_t,
        dstptr: *mut c_void,
        srcptr: *const c_void,
        size: usize,
        pNext: *const c_void,
        numWaitEvents: u32,
        phWaitEvents: *mut ze_event_handle_t,
        hSignalEvent: ze_event_handle_t
    ) {
        // SAFETY: see above.
        unsafe {
            append::zeCommandListAppendMemoryCopyWithParameters(
                hCommandList, dstptr, srcptr, size, pNext, hSignalEvent, numWaitEvents, phWaitEvents,
            )
        }
    }

    /// `zexCommandListAppendMemoryFillWithParameters`: the older name of `zeCommandListAppendMemoryFillWithParameters`.
    fn zexCommandListAppendMemoryFillWithParameters(
        hCommandList: ze_command_list_handle_t,
        ptr: *mut c_void,
        pattern: *const c_void,
        patternSize: usize,
        size: usize,
        pNext: *const c_void,
        hEvent: ze_event_handle_t,
        numWaitEvents: u32,
        phWaitEvents: *mut ze_event_handle_t
    ) {
        // SAFETY: see above.
        unsafe {
            append::zeCommandListAppendMemoryFillWithParameters(
                hCommandList, ptr, pattern, patternSize, size, pNext, hEvent, numWaitEvents, phWaitEvents,
            )
        }
    }

    /// `zexCommandListSetCleanupCallback`: a function that is called once, when the list is reset or destroyed.
    fn zexCommandListSetCleanupCallback(
        hCommandList: ze_command_list_handle_t,
        pfnCallback: zex_mem_free_callback_fn_t,
        pUserData: *mut c_void,
        pNext: *const c_void
    ) {
        let list = handle::get::<CommandList>(hCommandList)?;
        let function = pfnCallback.ok_or(Error::NullPointer("pfnCallback"))?;
        no_extension(pNext, "an extension of a callback")?;
        list.call_at_cleanup(function, pUserData)
    }
}
