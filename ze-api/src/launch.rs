//! `zeCommandListAppendLaunch*`.

use std::ffi::c_void;

use ze_core::command_list::CommandList;
use ze_core::error::Result;
use ze_core::fallible;
use ze_core::handle;
use ze_core::kernel::{self, Kernel, Launch};
use ze_core::operation::Operation;
use ze_headers::*;

use crate::args::{address, events, handles, input};

/// Stands for the group count of a launch whose own is read when it executes.
const LIKELY_COUNT: [u32; 3] = [1; 3];

fn dimensions(count: &ze_group_count_t) -> [u32; 3] {
    [count.groupCountX, count.groupCountY, count.groupCountZ]
}

/// `zeCommandListAppendLaunchKernel`.
pub unsafe fn zeCommandListAppendLaunchKernel(
    hCommandList: ze_command_list_handle_t,
    hKernel: ze_kernel_handle_t,
    pLaunchFuncArgs: *const ze_group_count_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        append(
            hCommandList,
            hKernel,
            pLaunchFuncArgs,
            hSignalEvent,
            numWaitEvents,
            phWaitEvents,
            Kernel::capture,
        )
    }
}

/// Appends a launch that is made of a kernel and a group count.
///
/// # Safety
///
/// As the functions of the API that call this.
unsafe fn append(
    hCommandList: ze_command_list_handle_t,
    hKernel: ze_kernel_handle_t,
    pGroupCounts: *const ze_group_count_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
    capture: fn(&Kernel, [u32; 3]) -> Result<Box<Launch>>,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let kernel = handle::get::<Kernel>(hKernel)?;
    // SAFETY: the caller passes null or a valid structure, and null or an array of as many events.
    let (group_count, events) = unsafe {
        let count = input(pGroupCounts, "pGroupCounts")?;
        (dimensions(count), events(hSignalEvent, numWaitEvents, phWaitEvents)?)
    };
    list.append_launch(&kernel, capture(&kernel, group_count)?, group_count, &events)
}

/// `zeCommandListAppendLaunchCooperativeKernel`.
pub unsafe fn zeCommandListAppendLaunchCooperativeKernel(
    hCommandList: ze_command_list_handle_t,
    hKernel: ze_kernel_handle_t,
    pLaunchFuncArgs: *const ze_group_count_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    // SAFETY: the caller passes null or a valid structure; the rest of the contract is the same.
    unsafe {
        let capture = Kernel::capture_cooperative;
        append(hCommandList, hKernel, pLaunchFuncArgs, hSignalEvent, numWaitEvents, phWaitEvents, capture)
    }
}

/// `zeCommandListAppendLaunchKernelWithParameters`.
pub unsafe fn zeCommandListAppendLaunchKernelWithParameters(
    hCommandList: ze_command_list_handle_t,
    hKernel: ze_kernel_handle_t,
    pGroupCounts: *const ze_group_count_t,
    pNext: *const c_void,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    // SAFETY: the caller passes null or a valid structure and a valid chain; the rest of the contract is the same.
    unsafe {
        let cooperative = kernel::asks_for_cooperation(pNext)?;
        let capture = if cooperative { Kernel::capture_cooperative } else { Kernel::capture };
        append(hCommandList, hKernel, pGroupCounts, hSignalEvent, numWaitEvents, phWaitEvents, capture)
    }
}

/// `zeCommandListAppendLaunchKernelWithArguments`.
pub unsafe fn zeCommandListAppendLaunchKernelWithArguments(
    hCommandList: ze_command_list_handle_t,
    hKernel: ze_kernel_handle_t,
    groupCounts: ze_group_count_t,
    groupSizes: ze_group_size_t,
    pArguments: *mut *mut c_void,
    pNext: *const c_void,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let kernel = handle::get::<Kernel>(hKernel)?;
    let group_count = dimensions(&groupCounts);
    let group_size = [groupSizes.groupSizeX, groupSizes.groupSizeY, groupSizes.groupSizeZ];
    // SAFETY: the caller passes a valid chain, null or an array of as many events, and an address for each argument.
    let (launch, events) = unsafe {
        let cooperative = kernel::asks_for_cooperation(pNext)?;
        if cooperative {
            kernel::check_countable(group_count)?;
        }
        let events = events(hSignalEvent, numWaitEvents, phWaitEvents)?;
        // The kernel changes last, when nothing is wrong with the rest.
        let arguments = pArguments.cast_const().cast();
        (kernel.capture_with(group_count, group_size, arguments, cooperative)?, events)
    };
    list.append_launch(&kernel, launch, group_count, &events)
}

/// `zeCommandListAppendLaunchKernelIndirect`.
pub unsafe fn zeCommandListAppendLaunchKernelIndirect(
    hCommandList: ze_command_list_handle_t,
    hKernel: ze_kernel_handle_t,
    pLaunchArgumentsBuffer: *const ze_group_count_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let kernel = handle::get::<Kernel>(hKernel)?;
    list.check_kernel(&kernel)?;
    let group_count = address(pLaunchArgumentsBuffer, "pLaunchArgumentsBuffer")?;
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    list.append(Operation::LaunchIndirect { launch: kernel.capture(LIKELY_COUNT)?, group_count }, &events)
}

/// `zeCommandListAppendLaunchMultipleKernelsIndirect`.
pub unsafe fn zeCommandListAppendLaunchMultipleKernelsIndirect(
    hCommandList: ze_command_list_handle_t,
    numKernels: u32,
    phKernels: *mut ze_kernel_handle_t,
    pCountBuffer: *const u32,
    pLaunchArgumentsBuffer: *const ze_group_count_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    address(phKernels, "phKernels")?;
    let count = address(pCountBuffer, "pCountBuffer")?;
    let group_counts = address(pLaunchArgumentsBuffer, "pLaunchArgumentsBuffer")?;
    // SAFETY: the caller passes arrays of as many kernels and events.
    let (kernels, events) = unsafe {
        (
            handles::<Kernel>(numKernels, phKernels, "phKernels")?,
            events(hSignalEvent, numWaitEvents, phWaitEvents)?,
        )
    };
    kernels.iter().try_for_each(|kernel| list.check_kernel(kernel))?;
    let capture = |kernel: &handle::Ref<Kernel>| kernel.capture(LIKELY_COUNT).map(|launch| *launch);
    let launches = fallible::collect("launches", kernels.iter().map(capture))?.into();
    list.append(Operation::LaunchMultipleIndirect { launches, count, group_counts }, &events)
}
