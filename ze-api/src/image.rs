//! `zeImage*`, and what else takes images outside of command lists.

use std::sync::Arc;

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::error::Result;
use ze_core::handle;
use ze_core::image::{self, Image, Request};
use ze_core::pnext::Inputs;
use ze_headers::*;

use crate::args::{descriptor, output};
use crate::flags::Descriptor;

/// A descriptor with its chain.
///
/// # Safety
///
/// `desc` is null or points to a valid structure with a valid chain.
unsafe fn request(device: &Device, desc: *const ze_image_desc_t) -> Result<Request> {
    // SAFETY: the caller's promise, here and below.
    let desc = unsafe { descriptor(desc, "desc") }?;
    // SAFETY: see above.
    for link in unsafe { Inputs::of(desc) }.iter() {
        if let Some(bindless) = link.get::<ze_image_bindless_exp_desc_t>() {
            bindless.check_flags()?;
        }
        if let Some(export) = link.get::<ze_external_memory_export_desc_t>() {
            export.check_flags()?;
        }
    }
    // SAFETY: see above.
    unsafe { Request::read(device, desc) }
}

/// `zeImageGetProperties`.
pub unsafe fn zeImageGetProperties(
    hDevice: ze_device_handle_t,
    desc: *const ze_image_desc_t,
    pImageProperties: *mut ze_image_properties_t,
) -> Result<()> {
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid structures with valid chains.
    unsafe {
        let (desc, out) = (descriptor(desc, "desc")?, output(pImageProperties, "pImageProperties")?);
        image::image_properties(&device, desc, out)
    }
}

/// `zeImageCreate`.
pub unsafe fn zeImageCreate(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    desc: *const ze_image_desc_t,
    phImage: *mut ze_image_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers, and a valid chain.
    let (out, request) = unsafe { (output(phImage, "phImage")?, request(&device, desc)?) };
    *out = handle::publish(Image::new(&context, &device, &request)?)?;
    Ok(())
}

/// `zeImageViewCreateExt`.
pub unsafe fn zeImageViewCreateExt(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    desc: *const ze_image_desc_t,
    hImage: ze_image_handle_t,
    phImageView: *mut ze_image_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    let image = handle::get::<Image>(hImage)?;
    // SAFETY: the caller passes null or valid pointers, and a valid chain.
    let (out, request) = unsafe { (output(phImageView, "phImageView")?, request(&device, desc)?) };
    *out = handle::publish(image.view(&context, &request)?)?;
    Ok(())
}

/// `zeImageViewCreateExp`: the older name of [`zeImageViewCreateExt`].
pub unsafe fn zeImageViewCreateExp(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    desc: *const ze_image_desc_t,
    hImage: ze_image_handle_t,
    phImageView: *mut ze_image_handle_t,
) -> Result<()> {
    // SAFETY: the contract is the same.
    unsafe { zeImageViewCreateExt(hContext, hDevice, desc, hImage, phImageView) }
}

/// `zeImageDestroy`: commands that use the image keep its memory.
pub unsafe fn zeImageDestroy(hImage: ze_image_handle_t) -> Result<()> {
    handle::release::<Image>(hImage).map(drop)
}

/// `zeImageGetAllocPropertiesExt`.
pub unsafe fn zeImageGetAllocPropertiesExt(
    hContext: ze_context_handle_t,
    hImage: ze_image_handle_t,
    pImageAllocProperties: *mut ze_image_allocation_ext_properties_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    let image = handle::get::<Image>(hImage)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe {
        let out = output(pImageAllocProperties, "pImageAllocProperties")?;
        image.allocation_properties(&context, out)
    }
}

/// `zeImageGetMemoryPropertiesExp`.
pub unsafe fn zeImageGetMemoryPropertiesExp(
    hImage: ze_image_handle_t,
    pMemoryProperties: *mut ze_image_memory_properties_exp_t,
) -> Result<()> {
    let image = handle::get::<Image>(hImage)?;
    // SAFETY: the caller passes null or a valid structure.
    image.memory_properties(unsafe { output(pMemoryProperties, "pMemoryProperties") }?);
    Ok(())
}

/// `zeImageGetDeviceOffsetExp`.
pub unsafe fn zeImageGetDeviceOffsetExp(hImage: ze_image_handle_t, pDeviceOffset: *mut u64) -> Result<()> {
    let image = handle::get::<Image>(hImage)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(pDeviceOffset, "pDeviceOffset") }?;
    *out = image.device_offset()?;
    Ok(())
}

/// `zeMemGetPitchFor2dImage`.
pub unsafe fn zeMemGetPitchFor2dImage(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    imageWidth: usize,
    imageHeight: usize,
    elementSizeInBytes: std::ffi::c_uint,
    rowPitch: *mut usize,
) -> Result<()> {
    handle::get::<Context>(hContext)?;
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(rowPitch, "rowPitch") }?;
    *out = image::pitch_for_2d_image(&device, imageWidth, imageHeight, elementSizeInBytes)?;
    Ok(())
}

fn check_residency(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    hImage: ze_image_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    handle::get::<Device>(hDevice)?;
    handle::get::<Image>(hImage)?.check_context(&context)
}

/// `zeContextMakeImageResident`: host memory is always resident.
pub unsafe fn zeContextMakeImageResident(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    hImage: ze_image_handle_t,
) -> Result<()> {
    check_residency(hContext, hDevice, hImage)
}

/// `zeContextEvictImage`: as for [`zeContextMakeImageResident`].
pub unsafe fn zeContextEvictImage(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    hImage: ze_image_handle_t,
) -> Result<()> {
    check_residency(hContext, hDevice, hImage)
}

/// The image behind a handle, to be kept.
pub fn shared(image: ze_image_handle_t) -> Result<Arc<Image>> {
    handle::get::<Image>(image).map(|image| Arc::clone(&image))
}
