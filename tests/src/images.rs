//! Images and samplers.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use ze_headers::*;

use crate::platform::{Result, platform};
use crate::queue::{CommandList, Event};

/// Red, green, blue and alpha in their places.
pub const RGBA: [ze_image_format_swizzle_t; 4] = [
    ZE_IMAGE_FORMAT_SWIZZLE_R,
    ZE_IMAGE_FORMAT_SWIZZLE_G,
    ZE_IMAGE_FORMAT_SWIZZLE_B,
    ZE_IMAGE_FORMAT_SWIZZLE_A,
];

/// A format with its components in their places.
pub fn format(layout: ze_image_format_layout_t, ty: ze_image_format_type_t) -> ze_image_format_t {
    let [x, y, z, w] = RGBA;
    ze_image_format_t { layout, type_: ty, x, y, z, w }
}

/// A descriptor of an image with extents in texels. Of a 1D array, the second extent is the number of layers, of a 2D array
/// the third.
pub fn image_desc(kind: ze_image_type_t, format: ze_image_format_t, extents: [u32; 3]) -> ze_image_desc_t {
    let [width, height, depth] = extents;
    let arraylevels = match kind {
        ZE_IMAGE_TYPE_1DARRAY => height,
        ZE_IMAGE_TYPE_2DARRAY => depth,
        _ => 0,
    };
    ze_image_desc_t {
        stype: ZE_STRUCTURE_TYPE_IMAGE_DESC,
        flags: ZE_IMAGE_FLAG_KERNEL_WRITE,
        type_: kind,
        format,
        width: width.into(),
        height,
        depth,
        arraylevels,
        ..Default::default()
    }
}

/// What an image in a program's memory is created with, beside its descriptor.
#[derive(Clone, Copy, Default)]
pub struct Pitched {
    pub row: usize,
    pub slice: usize,
}

pub struct Image {
    pub handle: ze_image_handle_t,
}

// SAFETY: the API allows every thread to use an image.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Image {
    pub fn new(desc: &ze_image_desc_t) -> Result<Image> {
        let platform = platform();
        let mut handle = null_mut();
        // SAFETY: live handles; tests build valid chains.
        let code =
            unsafe { platform.api.zeImageCreate(platform.context, platform.device, desc, &mut handle) };
        platform.check("zeImageCreate", code).map(|()| Image { handle })
    }

    /// An image in memory of the program.
    pub fn in_memory(desc: &ze_image_desc_t, memory: *mut c_void, pitches: Pitched) -> Result<Image> {
        let custom = ze_custom_pitch_exp_desc_t {
            stype: ZE_STRUCTURE_TYPE_CUSTOM_PITCH_EXP_DESC,
            pNext: desc.pNext,
            rowPitch: pitches.row,
            slicePitch: pitches.slice,
        };
        let pitched = ze_image_pitched_exp_desc_t {
            stype: ZE_STRUCTURE_TYPE_PITCHED_IMAGE_EXP_DESC,
            pNext: (&raw const custom).cast(),
            ptr: memory,
        };
        Image::new(&ze_image_desc_t { pNext: (&raw const pitched).cast(), ..*desc })
    }

    pub fn view(&self, desc: &ze_image_desc_t) -> Result<Image> {
        let platform = platform();
        let mut handle = null_mut();
        // SAFETY: live handles; tests build valid chains.
        let code = unsafe {
            platform.api.zeImageViewCreateExt(
                platform.context,
                platform.device,
                desc,
                self.handle,
                &mut handle,
            )
        };
        platform.check("zeImageViewCreateExt", code).map(|()| Image { handle })
    }

    /// A view of a plane.
    pub fn plane(&self, index: u32, desc: &ze_image_desc_t) -> Result<Image> {
        let plane = ze_image_view_planar_ext_desc_t {
            stype: ZE_STRUCTURE_TYPE_IMAGE_VIEW_PLANAR_EXT_DESC,
            pNext: desc.pNext,
            planeIndex: index,
        };
        self.view(&ze_image_desc_t { pNext: (&raw const plane).cast(), ..*desc })
    }

    pub fn memory_properties(&self) -> Result<ze_image_memory_properties_exp_t> {
        let mut out = ze_image_memory_properties_exp_t {
            stype: ZE_STRUCTURE_TYPE_IMAGE_MEMORY_EXP_PROPERTIES,
            ..Default::default()
        };
        // SAFETY: a live image.
        let code = unsafe { platform().api.zeImageGetMemoryPropertiesExp(self.handle, &mut out) };
        platform().check("zeImageGetMemoryPropertiesExp", code).map(|()| out)
    }

    pub fn device_offset(&self) -> Result<u64> {
        let mut offset = 0;
        // SAFETY: a live image.
        let code = unsafe { platform().api.zeImageGetDeviceOffsetExp(self.handle, &mut offset) };
        platform().check("zeImageGetDeviceOffsetExp", code).map(|()| offset)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: commands keep what they use.
        unsafe { platform().api.zeImageDestroy(self.handle) };
    }
}

pub struct Sampler {
    pub handle: ze_sampler_handle_t,
}

impl Sampler {
    pub fn new(
        addressing: ze_sampler_address_mode_t,
        filter: ze_sampler_filter_mode_t,
        normalized: bool,
    ) -> Result<Sampler> {
        let platform = platform();
        let desc = ze_sampler_desc_t {
            stype: ZE_STRUCTURE_TYPE_SAMPLER_DESC,
            addressMode: addressing,
            filterMode: filter,
            isNormalized: normalized.into(),
            ..Default::default()
        };
        let mut handle = null_mut();
        // SAFETY: live handles.
        let code =
            unsafe { platform.api.zeSamplerCreate(platform.context, platform.device, &desc, &mut handle) };
        platform.check("zeSamplerCreate", code).map(|()| Sampler { handle })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: launches have what they need of it.
        unsafe { platform().api.zeSamplerDestroy(self.handle) };
    }
}

fn region(region: Option<&ze_image_region_t>) -> *const ze_image_region_t {
    region.map_or(null(), |region| region)
}

/// A region at an origin.
pub fn region_of(origin: [u32; 3], extent: [u32; 3]) -> ze_image_region_t {
    ze_image_region_t {
        originX: origin[0],
        originY: origin[1],
        originZ: origin[2],
        width: extent[0],
        height: extent[1],
        depth: extent[2],
    }
}

/// Events around a copy.
#[derive(Clone, Copy, Default)]
pub struct Around<'a> {
    pub done: Option<&'a Event>,
    pub wait: Option<&'a Event>,
}

impl Around<'_> {
    fn signal(&self) -> ze_event_handle_t {
        self.done.map_or(null_mut(), |event| event.handle)
    }

    fn waits(&self) -> Vec<ze_event_handle_t> {
        self.wait.iter().map(|event| event.handle).collect()
    }
}

impl CommandList {
    pub fn image_copy(&self, to: &Image, from: &Image, around: Around) -> Result<()> {
        let mut waits = around.waits();
        // SAFETY: live handles.
        let code = unsafe {
            platform().api.zeCommandListAppendImageCopy(
                self.handle,
                to.handle,
                from.handle,
                around.signal(),
                waits.len() as u32,
                waits.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendImageCopy", code)
    }

    pub fn image_copy_region(
        &self,
        to: (&Image, Option<&ze_image_region_t>),
        from: (&Image, Option<&ze_image_region_t>),
        around: Around,
    ) -> Result<()> {
        let mut waits = around.waits();
        // SAFETY: live handles.
        let code = unsafe {
            platform().api.zeCommandListAppendImageCopyRegion(
                self.handle,
                to.0.handle,
                from.0.handle,
                region(to.1),
                region(from.1),
                around.signal(),
                waits.len() as u32,
                waits.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendImageCopyRegion", code)
    }

    /// # Safety
    /// The memory has the region with the pitches until the command has run.
    pub unsafe fn image_copy_to_memory(
        &self,
        to: *mut c_void,
        (from, of): (&Image, Option<&ze_image_region_t>),
        pitches: [u32; 2],
        around: Around,
    ) -> Result<()> {
        let mut waits = around.waits();
        // SAFETY: the caller's.
        let code = unsafe {
            platform().api.zeCommandListAppendImageCopyToMemoryExt(
                self.handle,
                to,
                from.handle,
                region(of),
                pitches[0],
                pitches[1],
                around.signal(),
                waits.len() as u32,
                waits.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendImageCopyToMemoryExt", code)
    }

    /// # Safety
    /// The memory has the region with the pitches until the command has run.
    pub unsafe fn image_copy_from_memory(
        &self,
        (to, of): (&Image, Option<&ze_image_region_t>),
        from: *const c_void,
        pitches: [u32; 2],
        around: Around,
    ) -> Result<()> {
        let mut waits = around.waits();
        // SAFETY: the caller's.
        let code = unsafe {
            platform().api.zeCommandListAppendImageCopyFromMemoryExt(
                self.handle,
                to.handle,
                from,
                region(of),
                pitches[0],
                pitches[1],
                around.signal(),
                waits.len() as u32,
                waits.as_mut_ptr(),
            )
        };
        platform().check("zeCommandListAppendImageCopyFromMemoryExt", code)
    }
}
