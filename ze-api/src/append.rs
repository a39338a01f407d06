//! `zeCommandListAppend*`: synchronisation and memory.

use smallvec::SmallVec;
use std::ffi::c_void;
use std::sync::Arc;

use ze_core::Region;
use ze_core::command_list::{CommandList, Events};
use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::{Error, Result};
use ze_core::event::Event;
use ze_core::fallible::out_of_memory;
use ze_core::handle;
use ze_core::operation::Operation;
use ze_headers::*;

use crate::args::{address, events, handles, input, no_extension};
use crate::flags::enumeration;

/// `zeCommandListAppendBarrier`.
pub unsafe fn zeCommandListAppendBarrier(
    hCommandList: ze_command_list_handle_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    list.append(Operation::Barrier, &events)
}

/// `zeCommandListAppendMemoryRangesBarrier`: memory is coherent, so the order is all that there is to do.
pub unsafe fn zeCommandListAppendMemoryRangesBarrier(
    hCommandList: ze_command_list_handle_t,
    numRanges: u32,
    pRangeSizes: *const usize,
    pRanges: *mut *const c_void,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    if numRanges != 0 {
        address(pRangeSizes, "pRangeSizes")?;
        address(pRanges, "pRanges")?;
    }
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    list.append(Operation::Barrier, &events)
}

/// `zeCommandListAppendSignalEvent`.
pub unsafe fn zeCommandListAppendSignalEvent(
    hCommandList: ze_command_list_handle_t,
    hEvent: ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let event = handle::get::<Event>(hEvent)?;
    list.append(Operation::Barrier, &Events { signal: Some(event.clone()), ..Events::default() })
}

/// `zeCommandListAppendWaitOnEvents`.
pub unsafe fn zeCommandListAppendWaitOnEvents(
    hCommandList: ze_command_list_handle_t,
    numEvents: u32,
    phEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    // ZE_RESULT_ERROR_INVALID_NULL_POINTER: nullptr == phEvents
    address(phEvents, "phEvents")?;
    // SAFETY: the caller passes an array of as many events.
    let events = unsafe { events(std::ptr::null_mut(), numEvents, phEvents) }?;
    list.append(Operation::Barrier, &events)
}

/// `zeCommandListAppendEventReset`.
pub unsafe fn zeCommandListAppendEventReset(
    hCommandList: ze_command_list_handle_t,
    hEvent: ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let event = handle::get::<Event>(hEvent)?;
    list.append(event.reset_command()?, &Events::default())
}

/// `zeCommandListAppendWriteGlobalTimestamp`.
pub unsafe fn zeCommandListAppendWriteGlobalTimestamp(
    hCommandList: ze_command_list_handle_t,
    dstptr: *mut u64,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let dst = address(dstptr, "dstptr")?;
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    list.append(Operation::WriteGlobalTimestamp { device: Arc::clone(list.device()), dst }, &events)
}

/// `zeCommandListAppendQueryKernelTimestamps`.
pub unsafe fn zeCommandListAppendQueryKernelTimestamps(
    hCommandList: ze_command_list_handle_t,
    numEvents: u32,
    phEvents: *mut ze_event_handle_t,
    dstptr: *mut c_void,
    pOffsets: *const usize,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let dst = address(dstptr, "dstptr")?;
    // SAFETY: the caller passes null or arrays of as many events and offsets.
    unsafe {
        let queried = handles::<Event>(numEvents, phEvents, "phEvents")?;
        let queried: Vec<Arc<Event>> = queried.iter().map(|event| Arc::clone(event)).collect();
        let offsets = (!pOffsets.is_null()).then(|| std::slice::from_raw_parts(pOffsets, numEvents as usize));
        let events = events(hSignalEvent, numWaitEvents, phWaitEvents)?;
        list.append(list.query_timestamps(&queried, dst, offsets)?, &events)
    }
}

/// `zeCommandListAppendMemoryCopy`.
pub unsafe fn zeCommandListAppendMemoryCopy(
    hCommandList: ze_command_list_handle_t,
    dstptr: *mut c_void,
    srcptr: *const c_void,
    size: usize,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let (dst, src) = (address(dstptr, "dstptr")?, address(srcptr, "srcptr")?);
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    list.append(Operation::Copy { dst, src, len: size }, &events)
}

/// `zeCommandListAppendMemoryCopyWithParameters`.
pub unsafe fn zeCommandListAppendMemoryCopyWithParameters(
    hCommandList: ze_command_list_handle_t,
    dstptr: *mut c_void,
    srcptr: *const c_void,
    size: usize,
    pNext: *const c_void,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    no_extension(pNext, "an extension of a memory copy")?;
    // SAFETY: the contract is the same.
    unsafe {
        zeCommandListAppendMemoryCopy(
            hCommandList,
            dstptr,
            srcptr,
            size,
            hSignalEvent,
            numWaitEvents,
            phWaitEvents,
        )
    }
}

/// `zeCommandListAppendMemoryCopyFromContext`: all contexts share the host's address space.
pub unsafe fn zeCommandListAppendMemoryCopyFromContext(
    hCommandList: ze_command_list_handle_t,
    dstptr: *mut c_void,
    hContextSrc: ze_context_handle_t,
    srcptr: *const c_void,
    size: usize,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    handle::get::<Context>(hContextSrc)?;
    // SAFETY: the contract is the same.
    unsafe {
        zeCommandListAppendMemoryCopy(
            hCommandList,
            dstptr,
            srcptr,
            size,
            hSignalEvent,
            numWaitEvents,
            phWaitEvents,
        )
    }
}

/// `zeCommandListAppendMemoryFill`.
pub unsafe fn zeCommandListAppendMemoryFill(
    hCommandList: ze_command_list_handle_t,
    ptr: *mut c_void,
    pattern: *const c_void,
    pattern_size: usize,
    size: usize,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let dst = address(ptr, "ptr")?;
    address(pattern, "pattern")?;
    // ZE_RESULT_ERROR_INVALID_SIZE: size % pattern_size != 0. More bytes than an object can have are none.
    if pattern_size == 0 || !size.is_multiple_of(pattern_size) || size > isize::MAX as usize {
        return Err(Error::InvalidSize(format!("{size} bytes of a pattern of {pattern_size}")));
    }
    // SAFETY: the caller passes a pattern of as many bytes, which is not read where there is nothing to fill, and null
    // or an array of as many events.
    let (pattern, events) = unsafe {
        let pattern = std::slice::from_raw_parts(pattern.cast::<u8>(), pattern_size.min(size));
        (pattern, events(hSignalEvent, numWaitEvents, phWaitEvents)?)
    };
    let mut copy = SmallVec::new();
    copy.try_reserve_exact(pattern.len()).map_err(|_| out_of_memory("a pattern", pattern.len()))?;
    copy.extend_from_slice(pattern);
    list.append(Operation::Fill { dst, pattern: copy, len: size }, &events)
}

/// `zeCommandListAppendMemoryFillWithParameters`.
pub unsafe fn zeCommandListAppendMemoryFillWithParameters(
    hCommandList: ze_command_list_handle_t,
    ptr: *mut c_void,
    pattern: *const c_void,
    pattern_size: usize,
    size: usize,
    pNext: *const c_void,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    no_extension(pNext, "an extension of a memory fill")?;
    // SAFETY: the contract is the same.
    unsafe {
        zeCommandListAppendMemoryFill(
            hCommandList,
            ptr,
            pattern,
            pattern_size,
            size,
            hSignalEvent,
            numWaitEvents,
            phWaitEvents,
        )
    }
}

/// A region with its pitches; 0 stands for rows and slices without gaps, and for a depth of 1.
fn region(region: &ze_copy_region_t, row_pitch: u32, slice_pitch: u32) -> Region {
    let extent = [region.width, region.height.max(1), region.depth.max(1)].map(|size| size as usize);
    let row_pitch = if row_pitch == 0 { extent[0] } else { row_pitch as usize };
    let slice_pitch = if slice_pitch == 0 { row_pitch * extent[1] } else { slice_pitch as usize };
    let origin = [region.originX, region.originY, region.originZ].map(|at| at as usize);
    Region { origin, extent, row_pitch, slice_pitch }
}

/// `zeCommandListAppendMemoryCopyRegion`.
pub unsafe fn zeCommandListAppendMemoryCopyRegion(
    hCommandList: ze_command_list_handle_t,
    dstptr: *mut c_void,
    dstRegion: *const ze_copy_region_t,
    dstPitch: u32,
    dstSlicePitch: u32,
    srcptr: *const c_void,
    srcRegion: *const ze_copy_region_t,
    srcPitch: u32,
    srcSlicePitch: u32,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let (dst, src) = (address(dstptr, "dstptr")?, address(srcptr, "srcptr")?);
    // SAFETY: the caller passes null or valid pointers.
    let (to, from) = unsafe { (input(dstRegion, "dstRegion")?, input(srcRegion, "srcRegion")?) };
    let to = region(to, dstPitch, dstSlicePitch);
    let from = region(from, srcPitch, srcSlicePitch);
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    // ZE_RESULT_ERROR_OVERLAPPING_REGIONS, and ZE_RESULT_ERROR_INVALID_SIZE of regions that are not alike
    list.append(Operation::copy_region(dst, to, src, from)?, &events)
}

/// `zeCommandListAppendMemoryPrefetch`: a hint, and there is nowhere to move memory to.
pub unsafe fn zeCommandListAppendMemoryPrefetch(
    hCommandList: ze_command_list_handle_t,
    ptr: *const c_void,
    _size: usize,
) -> Result<()> {
    handle::get::<CommandList>(hCommandList)?;
    address(ptr, "ptr").map(|_| ())
}

/// `zeCommandListAppendMemAdvise`: a hint, and all memory is equally near.
pub unsafe fn zeCommandListAppendMemAdvise(
    hCommandList: ze_command_list_handle_t,
    hDevice: ze_device_handle_t,
    ptr: *const c_void,
    _size: usize,
    advice: ze_memory_advice_t,
) -> Result<()> {
    handle::get::<CommandList>(hCommandList)?;
    handle::get::<Device>(hDevice)?;
    address(ptr, "ptr")?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: an advice that the specification does not have
    let last = ZE_MEMORY_ADVICE_CLEAR_SYSTEM_MEMORY_PREFERRED_LOCATION;
    enumeration("ze_memory_advice_t", advice.0, last.0)
}

/// `zeCommandListImmediateAppendCommandListsExp`.
pub unsafe fn zeCommandListImmediateAppendCommandListsExp(
    hCommandListImmediate: ze_command_list_handle_t,
    numCommandLists: u32,
    phCommandLists: *mut ze_command_list_handle_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let immediate = handle::get::<CommandList>(hCommandListImmediate)?;
    // SAFETY: the caller passes null or arrays of as many lists and events.
    let (lists, events) = unsafe {
        (
            handles::<CommandList>(numCommandLists, phCommandLists, "phCommandLists")?,
            events(hSignalEvent, numWaitEvents, phWaitEvents)?,
        )
    };
    let lists: Vec<&CommandList> = lists.iter().map(|list| &***list).collect();
    immediate.append_lists(&lists, &events)
}

/// `zeCommandListImmediateAppendCommandListsWithParameters`.
pub unsafe fn zeCommandListImmediateAppendCommandListsWithParameters(
    hCommandListImmediate: ze_command_list_handle_t,
    numCommandLists: u32,
    phCommandLists: *mut ze_command_list_handle_t,
    pNext: *const c_void,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    no_extension(pNext, "an extension of appending command lists")?;
    // SAFETY: the contract is the same.
    unsafe {
        zeCommandListImmediateAppendCommandListsExp(
            hCommandListImmediate,
            numCommandLists,
            phCommandLists,
            hSignalEvent,
            numWaitEvents,
            phWaitEvents,
        )
    }
}

/// `zeCommandListAppendHostFunction`.
pub unsafe fn zeCommandListAppendHostFunction(
    hCommandList: ze_command_list_handle_t,
    pfnHostFunction: ze_host_function_callback_t,
    pUserData: *mut c_void,
    pNext: *const c_void,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let function = pfnHostFunction.ok_or(Error::NullPointer("pfnHostFunction"))?;
    no_extension(pNext, "an extension of a host function")?;
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    list.append(Operation::HostFunction { function, data: pUserData as usize }, &events)
}
