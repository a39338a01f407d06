//! `zeCommandList*` but for what is appended.

use ze_core::command_list::CommandList;
use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::Result;
use ze_core::graph::Graph;
use ze_core::handle;
use ze_core::pnext::Inputs;
use ze_headers::*;

use crate::args::{descriptor, output};
use crate::flags::Descriptor;
use crate::queue::queue_descriptor;

/// `zeCommandListCreate`.
pub unsafe fn zeCommandListCreate(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    desc: *const ze_command_list_desc_t,
    phCommandList: *mut ze_command_list_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) = unsafe { (descriptor(desc, "desc")?, output(phCommandList, "phCommandList")?) };
    // SAFETY: the caller passes a valid chain.
    let mutable = unsafe { Inputs::of(desc) }.find::<ze_mutable_command_list_exp_desc_t>();
    mutable.map_or(Ok(()), Descriptor::check_flags)?;
    let (context, device) = ((&*context, hContext), (&*device, hDevice));
    *out = handle::publish(CommandList::regular(context, device, desc, mutable.is_some())?)?;
    Ok(())
}

/// `zeCommandListCreateImmediate`.
pub unsafe fn zeCommandListCreateImmediate(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    altdesc: *const ze_command_queue_desc_t,
    phCommandList: *mut ze_command_list_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) =
        unsafe { (queue_descriptor(altdesc, "altdesc")?, output(phCommandList, "phCommandList")?) };
    *out = handle::publish(CommandList::immediate((&context, hContext), (&device, hDevice), &desc)?)?;
    Ok(())
}

/// `zeCommandListCreateCloneExp`.
pub unsafe fn zeCommandListCreateCloneExp(
    hCommandList: ze_command_list_handle_t,
    phClonedCommandList: *mut ze_command_list_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phClonedCommandList, "phClonedCommandList") }?;
    *out = handle::publish(list.duplicate()?)?;
    Ok(())
}

/// `zeCommandListDestroy`.
pub unsafe fn zeCommandListDestroy(hCommandList: ze_command_list_handle_t) -> Result<()> {
    let list = handle::release::<CommandList>(hCommandList)?;
    list.call_back();
    // The program gets no handle of a graph whose capture it has given up.
    list.abandoned_graph().map_or(Ok(()), |graph| handle::release::<Graph>(graph).map(drop))
}

/// `zeCommandListClose`.
pub unsafe fn zeCommandListClose(hCommandList: ze_command_list_handle_t) -> Result<()> {
    handle::get::<CommandList>(hCommandList)?.close()
}

/// `zeCommandListReset`.
pub unsafe fn zeCommandListReset(hCommandList: ze_command_list_handle_t) -> Result<()> {
    handle::get::<CommandList>(hCommandList)?.reset()
}

/// `zeCommandListHostSynchronize`.
pub unsafe fn zeCommandListHostSynchronize(
    hCommandList: ze_command_list_handle_t,
    timeout: u64,
) -> Result<()> {
    // A reference of its own: another thread may destroy the list meanwhile.
    handle::get::<CommandList>(hCommandList)?.clone().synchronize(timeout)
}

/// `zeCommandListGetDeviceHandle`.
pub unsafe fn zeCommandListGetDeviceHandle(
    hCommandList: ze_command_list_handle_t,
    phDevice: *mut ze_device_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(phDevice, "phDevice") }? = list.device_handle();
    Ok(())
}

/// `zeCommandListGetContextHandle`.
pub unsafe fn zeCommandListGetContextHandle(
    hCommandList: ze_command_list_handle_t,
    phContext: *mut ze_context_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(phContext, "phContext") }? = list.context_handle();
    Ok(())
}

/// `zeCommandListGetOrdinal`.
pub unsafe fn zeCommandListGetOrdinal(
    hCommandList: ze_command_list_handle_t,
    pOrdinal: *mut u32,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pOrdinal, "pOrdinal") }? = list.ordinal();
    Ok(())
}

/// `zeCommandListGetFlags`.
pub unsafe fn zeCommandListGetFlags(
    hCommandList: ze_command_list_handle_t,
    pFlags: *mut ze_command_list_flags_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pFlags, "pFlags") }? = list.flags();
    Ok(())
}

/// `zeCommandListIsImmediate`.
pub unsafe fn zeCommandListIsImmediate(
    hCommandList: ze_command_list_handle_t,
    pIsImmediate: *mut ze_bool_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pIsImmediate, "pIsImmediate") }? = list.is_immediate().into();
    Ok(())
}

/// `zeCommandListImmediateGetIndex`.
pub unsafe fn zeCommandListImmediateGetIndex(
    hCommandListImmediate: ze_command_list_handle_t,
    pIndex: *mut u32,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandListImmediate)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pIndex, "pIndex") }? = list.queue_desc()?.index;
    Ok(())
}

/// `zeCommandListImmediateGetFlags`.
pub unsafe fn zeCommandListImmediateGetFlags(
    hCommandList: ze_command_list_handle_t,
    pFlags: *mut ze_command_queue_flags_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pFlags, "pFlags") }? = list.queue_desc()?.flags;
    Ok(())
}

/// `zeCommandListImmediateGetMode`.
pub unsafe fn zeCommandListImmediateGetMode(
    hCommandList: ze_command_list_handle_t,
    pMode: *mut ze_command_queue_mode_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pMode, "pMode") }? = list.queue_desc()?.mode;
    Ok(())
}

/// `zeCommandListImmediateGetPriority`.
pub unsafe fn zeCommandListImmediateGetPriority(
    hCommandList: ze_command_list_handle_t,
    pPriority: *mut ze_command_queue_priority_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pPriority, "pPriority") }? = list.queue_desc()?.priority;
    Ok(())
}
