//! `zeCommandQueue*`.

use ze_core::command_list::CommandList;
use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::{Error, Result};
use ze_core::fence::Fence;
use ze_core::handle;
use ze_core::pnext::Inputs;
use ze_core::queue::{CommandQueue, priority_of_level};
use ze_headers::*;

use crate::args::{descriptor, handles, output};
use crate::flags::enumeration;

/// The descriptor of a queue or an immediate list, with the priority that its chain may have.
///
/// # Safety
///
/// The pointer is null or valid, and so is its chain.
pub unsafe fn queue_descriptor(
    desc: *const ze_command_queue_desc_t,
    name: &'static str,
) -> Result<ze_command_queue_desc_t> {
    // SAFETY: the caller's promise.
    let (desc, chain) = unsafe {
        let desc = descriptor(desc, name)?;
        (desc, Inputs::of(desc))
    };
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: a mode or priority that the specification does not have
    let (mode, priority) = (ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH);
    enumeration("ze_command_queue_desc_t::mode", desc.mode.0, mode.0)?;
    enumeration("ze_command_queue_desc_t::priority", desc.priority.0, priority.0)?;
    let level = chain.find::<ze_queue_priority_desc_t>();
    let priority = level.map_or(desc.priority, |level| priority_of_level(level.priority));
    Ok(ze_command_queue_desc_t { priority, ..*desc })
}

/// `zeCommandQueueCreate`.
pub unsafe fn zeCommandQueueCreate(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    desc: *const ze_command_queue_desc_t,
    phCommandQueue: *mut ze_command_queue_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) = unsafe { (queue_descriptor(desc, "desc")?, output(phCommandQueue, "phCommandQueue")?) };
    *out = handle::publish(CommandQueue::new(context.clone(), &device, &desc)?)?;
    Ok(())
}

/// `zeCommandQueueDestroy`.
pub unsafe fn zeCommandQueueDestroy(hCommandQueue: ze_command_queue_handle_t) -> Result<()> {
    handle::release::<CommandQueue>(hCommandQueue).map(drop)
}

/// `zeCommandQueueExecuteCommandLists`.
pub unsafe fn zeCommandQueueExecuteCommandLists(
    hCommandQueue: ze_command_queue_handle_t,
    numCommandLists: u32,
    phCommandLists: *mut ze_command_list_handle_t,
    hFence: ze_fence_handle_t,
) -> Result<()> {
    let queue = handle::get::<CommandQueue>(hCommandQueue)?;
    let fence = handle::get_optional::<Fence>(hFence)?;
    // ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT: a fence that is signalled already
    if fence.as_ref().is_some_and(|fence| fence.status().is_ok()) {
        return Err(Error::InvalidSynchronizationObject("the fence is signalled: reset it first"));
    }
    // ZE_RESULT_ERROR_INVALID_SIZE: 0 == numCommandLists
    if numCommandLists == 0 {
        return Err(Error::InvalidSize("no command list to execute".into()));
    }
    // SAFETY: the caller passes null or an array of as many handles.
    let lists = unsafe { handles::<CommandList>(numCommandLists, phCommandLists, "phCommandLists") }?;
    let lists: Vec<&CommandList> = lists.iter().map(|list| &***list).collect();
    queue.execute(&lists, fence.as_ref().map(|fence| &***fence))
}

/// `zeCommandQueueSynchronize`.
pub unsafe fn zeCommandQueueSynchronize(
    hCommandQueue: ze_command_queue_handle_t,
    timeout: u64,
) -> Result<()> {
    // A reference of its own: another thread may destroy the queue meanwhile.
    handle::get::<CommandQueue>(hCommandQueue)?.clone().synchronize(timeout)
}

/// `zeCommandQueueGetOrdinal`.
pub unsafe fn zeCommandQueueGetOrdinal(
    hCommandQueue: ze_command_queue_handle_t,
    pOrdinal: *mut u32,
) -> Result<()> {
    let queue = handle::get::<CommandQueue>(hCommandQueue)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pOrdinal, "pOrdinal") }? = queue.desc().ordinal;
    Ok(())
}

/// `zeCommandQueueGetIndex`.
pub unsafe fn zeCommandQueueGetIndex(
    hCommandQueue: ze_command_queue_handle_t,
    pIndex: *mut u32,
) -> Result<()> {
    let queue = handle::get::<CommandQueue>(hCommandQueue)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pIndex, "pIndex") }? = queue.desc().index;
    Ok(())
}

/// `zeCommandQueueGetFlags`.
pub unsafe fn zeCommandQueueGetFlags(
    hCmdQueue: ze_command_queue_handle_t,
    pFlags: *mut ze_command_queue_flags_t,
) -> Result<()> {
    let queue = handle::get::<CommandQueue>(hCmdQueue)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pFlags, "pFlags") }? = queue.desc().flags;
    Ok(())
}

/// `zeCommandQueueGetMode`.
pub unsafe fn zeCommandQueueGetMode(
    hCmdQueue: ze_command_queue_handle_t,
    pMode: *mut ze_command_queue_mode_t,
) -> Result<()> {
    let queue = handle::get::<CommandQueue>(hCmdQueue)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pMode, "pMode") }? = queue.desc().mode;
    Ok(())
}

/// `zeCommandQueueGetPriority`.
pub unsafe fn zeCommandQueueGetPriority(
    hCmdQueue: ze_command_queue_handle_t,
    pPriority: *mut ze_command_queue_priority_t,
) -> Result<()> {
    let queue = handle::get::<CommandQueue>(hCmdQueue)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pPriority, "pPriority") }? = queue.desc().priority;
    Ok(())
}
