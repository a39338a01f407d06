//! Images: memory with a format and extents, which kernels read and write by coordinates.
//!
//! | file | what |
//! |---|---|
//! | `request` | descriptors of the API, checked against the device |
//! | `layout` | where texels are: rows, slices, planes |
//! | `copies` | commands between images, and between images and memory |
//!
//! Texels are in linear memory, rows at multiples of a cache line, in memory of the image's own or in the program's. What
//! compiled code reads of an image is its descriptor, in a slot that lives as long as the image does
//! ([`ze_engine::image`]); formats are the engine's too.

mod copies;
mod layout;
mod request;

pub use copies::{ImageCopy, MemoryPitches};
pub use layout::{ImageKind, LARGEST_PITCH, PITCH_ALIGNMENT, aligned_pitch, pitch_of};
pub use request::{ImageFormat, Request};

use crate::allocations::Range;
use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::external_memory;
use crate::fallible::check_memory;
use crate::handle::object;
use crate::memory::{Allocation, MemoryKind, Owner, Place};
use crate::pnext::{Outputs, structures};
use layout::{Extents, Layout};
use request::Pitches;
use smallvec::SmallVec;
use spirv::Dim;
use spirv_env::ImageType;
use std::os::fd::RawFd;
use std::sync::Arc;
use ze_engine::image::{Format, ImageDescriptor, ImageParts, MipLevel, Slot};
use ze_headers::*;

structures! {
    ze_image_properties_t = ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES;
    ze_image_allocation_ext_properties_t = ZE_STRUCTURE_TYPE_IMAGE_ALLOCATION_EXT_PROPERTIES;
    ze_image_format_support_ext_properties_t = ZE_STRUCTURE_TYPE_IMAGE_FORMAT_SUPPORT_EXT_PROPERTIES;
}

type Planes = SmallVec<[Layout; 1]>;

/// An image, or a view of one.
pub struct Image {
    /// Its texels' memory: its own, the program's, or the viewed image's, which lives as long as its views.
    memory: Arc<Allocation>,
    /// The address that layouts count from.
    base: usize,
    kind: ImageKind,
    format: ImageFormat,
    /// One, but for planar formats.
    planes: Planes,
    /// What compiled code reads; of planar formats, the first plane.
    slot: Slot,
    bindless: bool,
    context: u64,
}

object!(Image, Image, ze_image_handle_t);

impl Image {
    /// `zeImageCreate`.
    pub fn new(context: &Context, device: &Arc<Device>, request: &Request) -> Result<Arc<Self>> {
        check_memory()?;
        if request.plane.is_some() {
            return Err(Error::InvalidArgument("a plane is of an image that exists: it is for views".into()));
        }
        let planes = place(request)?;
        let bytes = planes.last().and_then(end_of);
        let bytes =
            bytes.ok_or_else(|| Error::UnsupportedSize("an image larger than all addresses".into()))?;
        let (memory, base) = match request.memory {
            Some(address) => (program_memory(context, address, bytes, request)?, address),
            None => {
                let memory = own_memory(context, device, bytes, request.import)?;
                let base = memory.base();
                (Arc::new(memory), base)
            }
        };
        if request.export {
            // Before anything is written to it there is nothing to move.
            memory.share(context.driver())?;
        }
        Self::build(context.id(), memory, base, request, planes)
    }

    /// `zeImageViewCreateExt` and `zeImageViewCreateExp`: the same texels, or some of them, as a descriptor says.
    pub fn view(&self, context: &Context, request: &Request) -> Result<Arc<Self>> {
        check_memory()?;
        let own_memory = request.memory.is_some() || request.import.is_some() || request.export;
        if own_memory || request.pitches != Pitches::default() {
            return Err(Error::InvalidArgument("a view has its image's memory and pitches".into()));
        }
        let planes = if request.format.is_planar() {
            self.view_of_all_planes(request)?
        } else {
            SmallVec::from_slice(&[self.view_of_plane(request)?])
        };
        Self::build(context.id(), Arc::clone(&self.memory), self.base, request, planes)
    }

    fn view_of_all_planes(&self, request: &Request) -> Result<Planes> {
        if request.format.layout != self.format.layout || request.plane.is_some() {
            let reason = "a planar view of an image of another format, or of one plane";
            return Err(Error::UnsupportedImageFormat(reason.into()));
        }
        if request.extents != self.planes[0].extents {
            return Err(Error::InvalidSize("a planar view of another size than its image".into()));
        }
        Ok(self.planes.clone())
    }

    fn view_of_plane(&self, request: &Request) -> Result<Layout> {
        let index = request.plane.unwrap_or(0);
        let within = self.planes.get(index as usize).ok_or_else(|| {
            Error::InvalidArgument(format!("plane {index} of an image that has {}", self.planes.len()))
        })?;
        let mut extents = request.extents;
        // Programs give the extents of the whole for each of its planes.
        if request.plane.is_some() && extents == self.planes[0].extents {
            extents = within.extents;
        }
        let texel = request.format.texels.bytes() as usize;
        let view = Layout { extents, texel, ..*within };
        let rows = Extents { width: 0, ..extents };
        if view.row_bytes() > within.row_bytes() || !rows.fit(&within.extents) {
            return Err(Error::InvalidSize(format!(
                "a view of {extents:?} with {texel} bytes a texel, in a plane of {:?} with {}",
                within.extents, within.texel
            )));
        }
        Ok(view)
    }

    fn build(
        context: u64,
        memory: Arc<Allocation>,
        base: usize,
        request: &Request,
        planes: Planes,
    ) -> Result<Arc<Self>> {
        let Request { kind, format, bindless, sampler, .. } = *request;
        let plane = &planes[0];
        let Extents { width, rows, slices } = plane.extents;
        let (depth, layers) = if kind == ImageKind::ThreeD { (slices, 1) } else { (1, slices) };
        let row_pitch = u32::try_from(plane.row_pitch)
            .map_err(|_| Error::UnsupportedSize(format!("a row pitch of {} bytes", plane.row_pitch)))?;
        let level = MipLevel {
            base: (base + plane.offset) as u64,
            slice_pitch: plane.slice_pitch as u64,
            row_pitch,
            width,
            height: rows,
            depth,
        };
        let (texels, swizzle) = (format.texels, format.swizzle);
        let parts = ImageParts { format: texels, swizzle, levels: &[level], layers, sampler };
        let descriptor = ImageDescriptor::new(&parts).map_err(Error::InvalidSize)?;
        let slot = Slot::new(&descriptor)
            .ok_or_else(|| Error::OutOfDeviceMemory("the table of images is full".into()))?;
        Ok(Arc::new(Self { memory, base, kind, format, planes, slot, bindless, context }))
    }

    pub fn kind(&self) -> ImageKind {
        self.kind
    }

    pub fn texels(&self) -> Format {
        self.format.texels
    }

    /// What compiled code takes for the image.
    pub fn descriptor(&self) -> u64 {
        self.slot.address()
    }

    /// Checks that kernels can have it as an argument of a type. Whether they write to it is not checked against
    /// `ZE_IMAGE_FLAG_KERNEL_WRITE`, which programs leave out.
    pub fn check_type(&self, ty: ImageType) -> Result<()> {
        self.check_texels()?;
        if !self.format.has_channel_data_type() {
            let reason = format!(
                "kernels take no images of layout {} with components that are {:?}: SPIR-V has no channel data type for them",
                self.format.layout.0,
                self.format.texels.channel_type()
            );
            return Err(Error::UnsupportedImageFormat(reason));
        }
        let kind = match (ty.dim, ty.arrayed) {
            (Dim::Dim1D, false) => ImageKind::OneD,
            (Dim::Dim1D, true) => ImageKind::OneDArray,
            (Dim::Dim2D, false) => ImageKind::TwoD,
            (Dim::Dim2D, true) => ImageKind::TwoDArray,
            (Dim::DimBuffer, _) => ImageKind::Buffer,
            _ => ImageKind::ThreeD,
        };
        if kind == self.kind {
            return Ok(());
        }
        let reason = format!("a {} for an argument that is a {}", self.kind.name(), kind.name());
        Err(Error::InvalidArgument(reason))
    }

    /// Kernels read formats whose texels are one by one in memory. Of others they read views of planes.
    fn check_texels(&self) -> Result<()> {
        if self.format.planes.is_empty() {
            return Ok(());
        }
        let reason = format!(
            "kernels take no images of the media layout {}: they take views of its {} planes",
            self.format.layout.0,
            self.planes.len()
        );
        Err(Error::UnsupportedImageFormat(reason))
    }

    /// `zeImageGetDeviceOffsetExp`.
    pub fn device_offset(&self) -> Result<u64> {
        self.check_texels()?;
        if self.bindless {
            return Ok(self.slot.address());
        }
        Err(Error::NotAvailable("the image was not created with ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS".into()))
    }

    /// `zeImageGetAllocPropertiesExt`: the identifier of its memory, and in a chained structure a descriptor of it.
    ///
    /// # Safety
    /// The structure's chain is valid.
    pub unsafe fn allocation_properties(
        &self,
        context: &Context,
        out: &mut ze_image_allocation_ext_properties_t,
    ) -> Result<()> {
        self.check_context(context)?;
        out.id = self.memory.id();
        // SAFETY: the caller's promise.
        let Some(export) = (unsafe { Outputs::of(out) }).find::<ze_external_memory_export_fd_t>() else {
            return Ok(());
        };
        external_memory::check_type(export.flags)?;
        if self.base != self.memory.base() {
            let reason =
                "an image that does not begin where its memory does: export the allocation that it is in";
            return Err(Error::InvalidArgument(reason.into()));
        }
        export.fd = self.memory.export(context.driver())?;
        Ok(())
    }

    /// `zeImageGetMemoryPropertiesExp`: those of the memory from its first texel on.
    pub fn memory_properties(&self, out: &mut ze_image_memory_properties_exp_t) {
        let plane = &self.planes[0];
        out.size = self.planes.last().and_then(end_of).unwrap_or(0) as u64;
        out.rowPitch = plane.row_pitch as u64;
        out.slicePitch = plane.slice_pitch as u64;
    }

    /// `zeContextMakeImageResident` and `zeContextEvictImage`: host memory is always resident, so only the context is checked.
    pub fn check_context(&self, context: &Context) -> Result<()> {
        if self.context == context.id() {
            return Ok(());
        }
        Err(Error::InvalidArgument("the image is of another context".into()))
    }
}

/// Bytes of an image's memory, of which this is the last plane.
fn end_of(last: &Layout) -> Option<usize> {
    last.end()
}

/// Where the planes of a new image are: after each other in every slice.
fn place(request: &Request) -> Result<Planes> {
    let Request { kind, extents, format, pitches, .. } = *request;
    let too_large = || Error::UnsupportedSize(format!("a {} of {extents:?}", kind.name()));
    let halvings: SmallVec<[(Format, [u32; 2]); 3]> = if format.planes.is_empty() {
        SmallVec::from_slice(&[(format.texels, [0; 2])])
    } else {
        let texels = |plane: &ze_engine::image::format::Plane| {
            Format::new(plane.texel, format.texels.channel_type()).map(|texels| (texels, plane.halvings))
        };
        format.planes.iter().filter_map(texels).collect()
    };
    if format.is_planar() && (request.memory.is_some() || pitches != Pitches::default()) {
        return Err(Error::UnsupportedFeature("a planar image in the program's memory, or with its pitches"));
    }
    let mut planes = Planes::new();
    let mut slice = 0usize;
    for (texels, halvings) in halvings {
        let texel = texels.bytes() as usize;
        let extents = extents.halved(halvings);
        let row_bytes = extents.width as usize * texel;
        let row_pitch = match pitches.row {
            // What is one row has no pitch to speak of.
            0 if kind == ImageKind::Buffer || kind == ImageKind::OneD => row_bytes,
            // What `zeMemGetPitchFor2dImage` says.
            0 if request.memory.is_some() => aligned_pitch(row_bytes).ok_or_else(too_large)?,
            0 => pitch_of(row_bytes).ok_or_else(too_large)?,
            given => check_row_pitch(given, row_bytes, texels)?,
        };
        let rows = row_pitch.checked_mul(extents.rows as usize).ok_or_else(too_large)?;
        planes.push(Layout { offset: slice, extents, texel, row_pitch, slice_pitch: 0 });
        slice = slice.checked_add(rows).ok_or_else(too_large)?;
    }
    let slice_pitch = match pitches.slice {
        0 => slice,
        given if kind.has_slices() => check_slice_pitch(given, &planes[0], slice)?,
        _ => slice,
    };
    planes.iter_mut().for_each(|plane| plane.slice_pitch = slice_pitch);
    Ok(planes)
}

/// Checks `ze_custom_pitch_exp_desc_t::rowPitch`. Rows need no more alignment than channels do.
fn check_row_pitch(pitch: usize, row_bytes: usize, texels: Format) -> Result<usize> {
    if pitch < row_bytes {
        return Err(Error::InvalidSize(format!("a row pitch of {pitch} bytes for rows of {row_bytes}")));
    }
    if pitch > LARGEST_PITCH {
        let reason = format!("a row pitch of {pitch} bytes: the largest is {LARGEST_PITCH}");
        return Err(Error::UnsupportedSize(reason));
    }
    let alignment = alignment_of(texels);
    if !pitch.is_multiple_of(alignment) {
        let reason = format!("a row pitch of {pitch} bytes, which is no multiple of {alignment}");
        return Err(Error::InvalidSize(reason));
    }
    Ok(pitch)
}

/// Checks `ze_custom_pitch_exp_desc_t::slicePitch`, which is a multiple of the row pitch.
fn check_slice_pitch(pitch: usize, plane: &Layout, slice: usize) -> Result<usize> {
    if pitch < slice || !pitch.is_multiple_of(plane.row_pitch) {
        let reason = format!(
            "a slice pitch of {pitch} bytes for slices of {slice} with a row pitch of {}",
            plane.row_pitch
        );
        return Err(Error::InvalidSize(reason));
    }
    Ok(pitch)
}

/// Bytes that a texel's address is a multiple of: those of its channels, or of itself where they share bytes.
fn alignment_of(texels: Format) -> usize {
    let layout = texels.layout();
    let whole = layout.fields.iter().all(|field| field.bits % 8 == 0);
    let channel = layout.fields.first().map_or(8, |field| field.bits) / 8;
    (if whole { channel } else { layout.bytes }) as usize
}

/// Memory for an image of so many bytes: new, or that behind a descriptor, which the driver then has.
fn own_memory(
    context: &Context,
    device: &Arc<Device>,
    bytes: usize,
    import: Option<RawFd>,
) -> Result<Allocation> {
    let most = device.profile().limits.max_alloc_size;
    if bytes as u64 > most {
        let reason = format!("an image of {bytes} bytes: the largest allocation has {most}");
        return Err(Error::UnsupportedSize(reason));
    }
    let of = (MemoryKind::Device, Some(Arc::clone(device)));
    let Some(fd) = import else { return Allocation::new(context, of.0, of.1, bytes, PITCH_ALIGNMENT) };
    let memory = external_memory::import(fd, bytes)?;
    let place = Place { memory: Arc::clone(&memory), offset: 0 };
    let imported = Allocation::imported(of, place, bytes, Owner::Free)?;
    external_memory::close_imported(fd, &memory);
    Ok(imported)
}

/// The program's allocation that holds an image of so many bytes.
fn program_memory(
    context: &Context,
    address: usize,
    bytes: usize,
    request: &Request,
) -> Result<Arc<Allocation>> {
    let memory = context.find_allocation(address as *const _).ok_or_else(|| {
        Error::InvalidArgument(format!("an image at {address:#x}, which is in no allocation of this driver"))
    })?;
    let room = end_of_memory(context, &memory, address.saturating_add(bytes)) - address;
    if room < bytes {
        let reason = format!("an image of {bytes} bytes at {address:#x}, where the allocation has {room}");
        return Err(Error::InvalidSize(reason));
    }
    let alignment = alignment_of(request.format.texels);
    if !address.is_multiple_of(alignment) {
        let reason = format!("an image at {address:#x}: its texels need an alignment of {alignment}");
        return Err(Error::InvalidArgument(reason));
    }
    Ok(memory)
}

/// Where memory ends, if not behind `wanted`: in a reservation, what is mapped behind it goes on with it.
fn end_of_memory(context: &Context, memory: &Allocation, wanted: usize) -> usize {
    let mut end = memory.base() + memory.size();
    while end < wanted && memory.is_in_reservation() {
        let next = context.find_allocation(end as *const _).filter(|next| next.is_in_reservation());
        let Some(next) = next else { break };
        end = next.base() + next.size();
    }
    end
}

/// `zeMemGetPitchFor2dImage`: bytes from row to row of an image of `width` texels.
pub fn pitch_for_2d_image(device: &Device, width: usize, height: usize, texel: u32) -> Result<usize> {
    // The sizes of texels that there are.
    if !matches!(texel, 1 | 2 | 3 | 4 | 6 | 8 | 12 | 16) {
        return Err(Error::InvalidArgument(format!("no texel has {texel} bytes")));
    }
    let most = device.profile().images.max_dims_2d as usize;
    if most == 0 {
        return Err(Error::UnsupportedFeature("2D image"));
    }
    if width == 0 || height == 0 {
        return Err(Error::InvalidSize(format!("an image of {width} by {height} texels")));
    }
    if width > most || height > most {
        let reason = format!("an image of {width} by {height} texels: the device has at most {most}");
        return Err(Error::UnsupportedSize(reason));
    }
    aligned_pitch(width * texel as usize)
        .ok_or_else(|| Error::UnsupportedSize("a row of too many bytes".into()))
}

/// `zeImageGetProperties`: how images like the descriptor's are sampled, 0 where there are none.
///
/// # Safety
/// The chains of both structures are valid.
pub unsafe fn image_properties(
    device: &Device,
    desc: &ze_image_desc_t,
    out: &mut ze_image_properties_t,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let format = match unsafe { Request::read(device, desc) } {
        Ok(request) => Some(request.format),
        Err(Error::UnsupportedImageFormat(_) | Error::UnsupportedFeature(_)) => None,
        // Programs ask about formats and give no size that an image could have.
        Err(Error::InvalidSize(_) | Error::UnsupportedSize(_)) => ImageFormat::new(&desc.format, false).ok(),
        Err(error) => return Err(error),
    };
    out.samplerFilterFlags = format.map_or(0, |format| format.filters());
    // SAFETY: the caller's promise.
    if let Some(out) = unsafe { Outputs::of(out) }.find::<ze_image_format_support_ext_properties_t>() {
        out.supported = format.is_some().into();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Driver;

    fn request(device: &Device, kind: ze_image_type_t, extents: [u32; 3]) -> Result<Request> {
        let format = ze_image_format_t {
            layout: ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32,
            type_: ZE_IMAGE_FORMAT_TYPE_FLOAT,
            ..Default::default()
        };
        let desc = ze_image_desc_t {
            type_: kind,
            format,
            width: extents[0].into(),
            height: extents[1],
            depth: extents[2],
            arraylevels: extents[2],
            ..Default::default()
        };
        // SAFETY: there is no chain.
        unsafe { Request::read(device, &desc) }
    }

    #[test]
    fn images_take_device_memory_and_views_keep_it() {
        let mut profile = ze_extensions::DeviceProfile::host();
        profile.memory.total_size = 10 << 20;
        profile.limits.max_alloc_size = 8 << 20;
        let context = Context::new(Driver::with_profile(profile));
        let device = context.driver().device();
        let create = |layers| {
            let request = request(device, ZE_IMAGE_TYPE_2DARRAY, [256, 256, layers])?;
            Image::new(&context, device, &request)
        };
        assert!(matches!(create(9), Err(Error::UnsupportedSize(_))));
        let image = create(6).expect("there is room");
        assert!(matches!(create(6), Err(Error::OutOfDeviceMemory(_))));
        let view = request(device, ZE_IMAGE_TYPE_2D, [256, 256, 1]).expect("a valid descriptor");
        let view = image.view(&context, &view).expect("it is inside");
        drop(image);
        assert!(matches!(create(6), Err(Error::OutOfDeviceMemory(_))), "the view keeps the memory");
        drop(view);
        create(6).expect("there is room again");
    }

    #[test]
    fn a_profile_without_images_has_none() {
        let images = ze_extensions::Images::default();
        let profile = ze_extensions::DeviceProfile { images, ..ze_extensions::DeviceProfile::host() };
        let context = Context::new(Driver::with_profile(profile));
        let device = context.driver().device();
        for kind in [ZE_IMAGE_TYPE_1D, ZE_IMAGE_TYPE_2D, ZE_IMAGE_TYPE_3D, ZE_IMAGE_TYPE_BUFFER] {
            assert!(matches!(request(device, kind, [1; 3]), Err(Error::UnsupportedFeature(_))));
        }
        assert!(matches!(pitch_for_2d_image(device, 1, 1, 4), Err(Error::UnsupportedFeature(_))));
    }
}
