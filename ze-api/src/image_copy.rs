//! `zeCommandListAppendImageCopy*`.

use std::ffi::c_void;

use ze_core::command_list::CommandList;
use ze_core::error::Result;
use ze_core::handle;
use ze_core::image::{Image, MemoryPitches};
use ze_headers::*;

use crate::args::{address, events};
use crate::image::shared;

/// `zeCommandListAppendImageCopy`.
pub unsafe fn zeCommandListAppendImageCopy(
    hCommandList: ze_command_list_handle_t,
    hDstImage: ze_image_handle_t,
    hSrcImage: ze_image_handle_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let (dst, src) = (shared(hDstImage)?, shared(hSrcImage)?);
    // SAFETY: the caller passes null or an array of as many events.
    let events = unsafe { events(hSignalEvent, numWaitEvents, phWaitEvents) }?;
    list.append(Image::copy_all(&dst, &src)?, &events)
}

/// `zeCommandListAppendImageCopyRegion`.
pub unsafe fn zeCommandListAppendImageCopyRegion(
    hCommandList: ze_command_list_handle_t,
    hDstImage: ze_image_handle_t,
    hSrcImage: ze_image_handle_t,
    pDstRegion: *const ze_image_region_t,
    pSrcRegion: *const ze_image_region_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let (dst, src) = (shared(hDstImage)?, shared(hSrcImage)?);
    // SAFETY: the caller passes null or valid structures, and null or an array of as many events.
    let (to, from, events) = unsafe {
        (pDstRegion.as_ref(), pSrcRegion.as_ref(), events(hSignalEvent, numWaitEvents, phWaitEvents)?)
    };
    list.append(Image::copy_between(&dst, &src, to, from)?, &events)
}

/// `zeCommandListAppendImageCopyToMemory`: rows and slices without gaps.
pub unsafe fn zeCommandListAppendImageCopyToMemory(
    hCommandList: ze_command_list_handle_t,
    dstptr: *mut c_void,
    hSrcImage: ze_image_handle_t,
    pSrcRegion: *const ze_image_region_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    // SAFETY: the contract is the same.
    unsafe {
        zeCommandListAppendImageCopyToMemoryExt(
            hCommandList,
            dstptr,
            hSrcImage,
            pSrcRegion,
            0,
            0,
            hSignalEvent,
            numWaitEvents,
            phWaitEvents,
        )
    }
}

/// `zeCommandListAppendImageCopyToMemoryExt`.
pub unsafe fn zeCommandListAppendImageCopyToMemoryExt(
    hCommandList: ze_command_list_handle_t,
    dstptr: *mut c_void,
    hSrcImage: ze_image_handle_t,
    pSrcRegion: *const ze_image_region_t,
    destRowPitch: u32,
    destSlicePitch: u32,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let src = shared(hSrcImage)?;
    let dst = address(dstptr, "dstptr")?;
    // SAFETY: the caller passes null or a valid structure, and null or an array of as many events.
    let (from, events) = unsafe { (pSrcRegion.as_ref(), events(hSignalEvent, numWaitEvents, phWaitEvents)?) };
    let pitches = MemoryPitches { row: destRowPitch, slice: destSlicePitch };
    list.append(Image::copy_to_memory(dst, &src, from, pitches)?, &events)
}

/// `zeCommandListAppendImageCopyFromMemory`: rows and slices without gaps.
pub unsafe fn zeCommandListAppendImageCopyFromMemory(
    hCommandList: ze_command_list_handle_t,
    hDstImage: ze_image_handle_t,
    srcptr: *const c_void,
    pDstRegion: *const ze_image_region_t,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    // SAFETY: the contract is the same.
    unsafe {
        zeCommandListAppendImageCopyFromMemoryExt(
            hCommandList,
            hDstImage,
            srcptr,
            pDstRegion,
            0,
            0,
            hSignalEvent,
            numWaitEvents,
            phWaitEvents,
        )
    }
}

/// `zeCommandListAppendImageCopyFromMemoryExt`.
pub unsafe fn zeCommandListAppendImageCopyFromMemoryExt(
    hCommandList: ze_command_list_handle_t,
    hDstImage: ze_image_handle_t,
    srcptr: *const c_void,
    pDstRegion: *const ze_image_region_t,
    srcRowPitch: u32,
    srcSlicePitch: u32,
    hSignalEvent: ze_event_handle_t,
    numWaitEvents: u32,
    phWaitEvents: *mut ze_event_handle_t,
) -> Result<()> {
    let list = handle::get::<CommandList>(hCommandList)?;
    let dst = shared(hDstImage)?;
    let src = address(srcptr, "srcptr")?;
    // SAFETY: the caller passes null or a valid structure, and null or an array of as many events.
    let (to, events) = unsafe { (pDstRegion.as_ref(), events(hSignalEvent, numWaitEvents, phWaitEvents)?) };
    let pitches = MemoryPitches { row: srcRowPitch, slice: srcSlicePitch };
    list.append(Image::copy_from_memory(&dst, src, to, pitches)?, &events)
}
