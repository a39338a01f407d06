//! `zeCommandList*` of mutable command lists.

use std::sync::Arc;

use ze_core::command_list::CommandList;
use ze_core::error::{Error, Result};
use ze_core::event::Event;
use ze_core::fallible;
use ze_core::handle;
use ze_core::kernel::Kernel;
use ze_core::mutable::Change;
use ze_core::pnext::{Input, Inputs};
use ze_headers::*;

use crate::args::{descriptor, handles, input, output};

/// `zeCommandListIsMutableExp`.
pub unsafe fn zeCommandListIsMutableExp(
    hCommandList: ze_command_list_handle_t,
    pIsMutable: *mut ze_bool_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pIsMutable, "pIsMutable") }? = list.is_mutable().into();
    Ok(())
}

/// `zeCommandListGetNextCommandIdExp`.
pub unsafe fn zeCommandListGetNextCommandIdExp(
    hCommandList: ze_command_list_handle_t,
    desc: *const ze_mutable_command_id_exp_desc_t,
    pCommandId: *mut u64,
) -> Result<()> {
    // SAFETY: the contract is the same, but for an array that is not there.
    unsafe {
        zeCommandListGetNextCommandIdWithKernelsExp(hCommandList, desc, 0, std::ptr::null_mut(), pCommandId)
    }
}

/// `zeCommandListGetNextCommandIdWithKernelsExp`.
pub unsafe fn zeCommandListGetNextCommandIdWithKernelsExp(
    hCommandList: ze_command_list_handle_t,
    desc: *const ze_mutable_command_id_exp_desc_t,
    numKernels: u32,
    phKernels: *mut ze_kernel_handle_t,
    pCommandId: *mut u64,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or valid pointers, and an array of as many kernels.
    let (desc, kernels, out) = unsafe {
        (
            descriptor(desc, "desc")?,
            handles::<Kernel>(numKernels, phKernels, "phKernels")?,
            output(pCommandId, "pCommandId")?,
        )
    };
    let kernels = kernels.iter().map(|kernel| Ok(Arc::clone(kernel)));
    *out = list.next_command_id(desc.flags, fallible::collect("kernels", kernels)?)?;
    Ok(())
}

/// What a structure of an update's chain asks for.
///
/// # Safety
///
/// The structure's pointers are null or valid.
unsafe fn change<'a>(link: Input<'a>) -> Result<(u64, Change<'a>)> {
    if let Some(argument) = link.get::<ze_mutable_kernel_argument_exp_desc_t>() {
        let value = argument.pArgValue.cast();
        // SAFETY: the caller's promise.
        let change = unsafe { Change::argument(argument.argIndex, argument.argSize, value) };
        return Ok((argument.commandId, change));
    }
    if let Some(count) = link.get::<ze_mutable_group_count_exp_desc_t>() {
        // SAFETY: the caller's promise.
        let groups = unsafe { input(count.pGroupCount, "pGroupCount") }?;
        let groups = [groups.groupCountX, groups.groupCountY, groups.groupCountZ];
        return Ok((count.commandId, Change::GroupCount(groups)));
    }
    if let Some(size) = link.get::<ze_mutable_group_size_exp_desc_t>() {
        let items = [size.groupSizeX, size.groupSizeY, size.groupSizeZ];
        return Ok((size.commandId, Change::GroupSize(items)));
    }
    if let Some(offset) = link.get::<ze_mutable_global_offset_exp_desc_t>() {
        let items = [offset.offsetX, offset.offsetY, offset.offsetZ];
        return Ok((offset.commandId, Change::GlobalOffset(items)));
    }
    // ZE_RESULT_ERROR_INVALID_ARGUMENT: no update descriptor
    Err(Error::InvalidArgument("a structure of the chain is none that changes a command".into()))
}

/// `zeCommandListUpdateMutableCommandsExp`.
pub unsafe fn zeCommandListUpdateMutableCommandsExp(
    hCommandList: ze_command_list_handle_t,
    desc: *const ze_mutable_commands_exp_desc_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain, whose pointers are valid.
    let changes = unsafe {
        let next = &input(desc, "desc")?.pNext;
        let links = Inputs::from_next(next).long().map(|link| change(link));
        fallible::collect("changes", links)?
    };
    list.update(changes)
}

/// `zeCommandListUpdateMutableCommandSignalEventExp`.
pub unsafe fn zeCommandListUpdateMutableCommandSignalEventExp(
    hCommandList: ze_command_list_handle_t,
    commandId: u64,
    hSignalEvent: ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let event = handle::get_optional::<Event>(hSignalEvent)?.map(|event| Arc::clone(&event));
    list.update(vec![(commandId, Change::Signal(event))])
}

/// `zeCommandListUpdateMutableCommandWaitEventsExp`.
pub unsafe fn zeCommandListUpdateMutableCommandWaitEventsExp(
    hCommandList: ze_command_list_handle_t,
    commandId: u64,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let waits = (!phWaitEvents.is_null()).then(|| {
        let event = |index| {
            // SAFETY: the caller passes an array of as many events.
            let event = handle::get_optional::<Event>(unsafe { phWaitEvents.add(index).read() })?;
            Ok(event.map(|event| Arc::clone(&event)))
        };
        fallible::collect("events", (0..numWaitEvents as usize).map(event))
    });
    list.update(vec![(commandId, Change::Waits(waits.transpose()?))])
}

/// `zeCommandListUpdateMutableCommandKernelsExp`.
pub unsafe fn zeCommandListUpdateMutableCommandKernelsExp(
    hCommandList: ze_command_list_handle_t,
    numKernels: u32,
    pCommandId: *mut u64,
    phKernels: *mut ze_kernel_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or arrays of as many kernels and numbers.
    let changes = unsafe {
        if numKernels != 0 {
            input(pCommandId, "pCommandId")?;
        }
        let kernels = handles::<Kernel>(numKernels, phKernels, "phKernels")?;
        let change = |(index, kernel): (usize, &handle::Ref<Kernel>)| {
            Ok((pCommandId.add(index).read(), Change::Kernel(Arc::clone(kernel))))
        };
        fallible::collect("changes", kernels.iter().enumerate().map(change))?
    };
    list.update(changes)
}
