//! Copies between images, and between images and memory: what is checked before one is appended, and what executes.

use super::layout::Layout;
use super::{Image, ImageKind};
use crate::copy::{self, Region};
use crate::error::{Error, Result};
use crate::operation::Operation;
use crate::region;
use crate::virtual_memory::check_access;
use smallvec::SmallVec;
use std::sync::Arc;
use ze_engine::exec::fault::Fault;
use ze_headers::ze_image_region_t;

/// The copy of one plane.
#[derive(Clone, Copy, Debug)]
struct Part {
    dst: usize,
    to: Region,
    src: usize,
    from: Region,
}

/// A copy to or from an image. Its images live as long as it does, whatever the program destroys meanwhile.
pub struct ImageCopy {
    parts: SmallVec<[Part; 1]>,
    _images: SmallVec<[Arc<Image>; 2]>,
}

impl ImageCopy {
    /// Bytes that are copied.
    pub fn bytes(&self) -> usize {
        let bytes = |part: &Part| part.to.extent.into_iter().fold(1, usize::saturating_mul);
        self.parts.iter().map(bytes).fold(0, usize::saturating_add)
    }

    /// Checks what is in reservations of virtual memory.
    pub fn check_access(&self) -> Result<()> {
        self.parts.iter().try_for_each(|part| {
            let read = region::span(part.src, &part.from)?;
            let written = region::span(part.dst, &part.to)?;
            check_access(read.start, read.len(), false)?;
            check_access(written.start, written.len(), true)
        })
    }

    /// Copies.
    ///
    /// # Safety
    /// The memory on the other side is accessible, and nobody else writes to it or to the images meanwhile.
    pub unsafe fn execute(&self) -> std::result::Result<(), Fault> {
        self.parts.iter().try_for_each(|part| {
            // SAFETY: images have all the bytes of their layouts; the rest is the caller's promise.
            unsafe { copy::copy_region(part.dst as *mut u8, &part.to, part.src as *const u8, &part.from) }
        })
    }
}

/// Where rows and slices of an image are in plain memory, in bytes; 0 for those without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryPitches {
    pub row: u32,
    pub slice: u32,
}

impl Image {
    /// A region in texels, rows and slices, which lies inside; the whole image where there is none. `None`: it is empty.
    fn part(&self, plane: &Layout, region: Option<&ze_image_region_t>) -> Result<Option<Region>> {
        let Some(region) = region else { return Ok(Some(plane.region())) };
        let origin = [region.originX, region.originY, region.originZ];
        // Programs leave out the height and depth of what is flat.
        let sizes = [region.width, region.height.max(1), region.depth.max(1)];
        // Coordinates that an image of this kind does not have are not looked at: the conformance tests give some.
        // The layers of 1D arrays are their second coordinate here, as in kernels.
        let (origin, extent) = match self.kind {
            ImageKind::OneD | ImageKind::Buffer => ([origin[0], 0, 0], [sizes[0], 1, 1]),
            ImageKind::OneDArray => ([origin[0], 0, origin[1]], [sizes[0], 1, sizes[1]]),
            ImageKind::TwoD => ([origin[0], origin[1], 0], [sizes[0], sizes[1], 1]),
            ImageKind::TwoDArray | ImageKind::ThreeD => (origin, sizes),
        };
        let extents = [plane.extents.width, plane.extents.rows, plane.extents.slices];
        let inside =
            (0..3).all(|axis| origin[axis].checked_add(extent[axis]).is_some_and(|end| end <= extents[axis]));
        if !inside {
            return Err(Error::InvalidSize(format!(
                "a region at {origin:?} of {extent:?} in a {} of {extents:?}",
                self.kind.name(),
            )));
        }
        Ok((extent[0] != 0).then(|| plane.part(origin, extent)))
    }

    /// The only plane, for copies of texels.
    fn only_plane(&self) -> Result<&Layout> {
        match &self.planes[..] {
            [plane] => Ok(plane),
            planes => Err(Error::UnsupportedImageFormat(format!(
                "a copy of an image with {} planes: copy views of its planes",
                planes.len()
            ))),
        }
    }

    fn address(&self, plane: &Layout) -> usize {
        self.base + plane.offset
    }

    /// `zeCommandListAppendImageCopy`: all of it, and every plane.
    pub fn copy_all(dst: &Arc<Image>, src: &Arc<Image>) -> Result<Operation> {
        check_formats(dst, src)?;
        let mut parts = SmallVec::new();
        for (to, from) in dst.planes.iter().zip(&src.planes) {
            if to.extents != from.extents {
                let reason = format!("images of different sizes: {:?} and {:?}", to.extents, from.extents);
                return Err(Error::InvalidSize(reason));
            }
            parts.extend(part(dst.address(to), to.region(), src.address(from), from.region())?);
        }
        Ok(operation(parts, [dst, src]))
    }

    /// `zeCommandListAppendImageCopyRegion`; no region is the whole image.
    pub fn copy_between(
        dst: &Arc<Image>,
        src: &Arc<Image>,
        to: Option<&ze_image_region_t>,
        from: Option<&ze_image_region_t>,
    ) -> Result<Operation> {
        if to.is_none() && from.is_none() {
            return Self::copy_all(dst, src);
        }
        check_formats(dst, src)?;
        let (to_plane, from_plane) = (dst.only_plane()?, src.only_plane()?);
        let (to, from) = (dst.part(to_plane, to)?, src.part(from_plane, from)?);
        let extent = |region: &Option<Region>| region.map(|region| region.extent);
        if extent(&to) != extent(&from) {
            let reason = format!("regions of different sizes: {:?} and {:?}", extent(&to), extent(&from));
            return Err(Error::InvalidSize(reason));
        }
        let (Some(to), Some(from)) = (to, from) else { return Ok(Operation::Barrier) };
        let part = part(dst.address(to_plane), to, src.address(from_plane), from)?;
        Ok(operation(part.into_iter().collect(), [dst, src]))
    }

    /// `zeCommandListAppendImageCopyFromMemory` and `…Ext`.
    pub fn copy_from_memory(
        dst: &Arc<Image>,
        src: usize,
        to: Option<&ze_image_region_t>,
        pitches: MemoryPitches,
    ) -> Result<Operation> {
        let plane = dst.only_plane()?;
        let Some(to) = dst.part(plane, to)? else { return Ok(Operation::Barrier) };
        let from = in_memory(dst.kind, &to, pitches)?;
        let part = part(dst.address(plane), to, src, from)?;
        Ok(operation(part.into_iter().collect(), [dst]))
    }

    /// `zeCommandListAppendImageCopyToMemory` and `…Ext`.
    pub fn copy_to_memory(
        dst: usize,
        src: &Arc<Image>,
        from: Option<&ze_image_region_t>,
        pitches: MemoryPitches,
    ) -> Result<Operation> {
        let plane = src.only_plane()?;
        let Some(from) = src.part(plane, from)? else { return Ok(Operation::Barrier) };
        let to = in_memory(src.kind, &from, pitches)?;
        let part = part(dst, to, src.address(plane), from)?;
        Ok(operation(part.into_iter().collect(), [src]))
    }
}

/// Texels are copied as they are: both images have the same layout and type.
fn check_formats(dst: &Image, src: &Image) -> Result<()> {
    let of = |image: &Image| (image.format.layout, image.format.texels);
    if of(dst) == of(src) {
        return Ok(());
    }
    let reason = format!("a copy between images of different formats: {:?} and {:?}", of(dst), of(src));
    Err(Error::InvalidArgument(reason))
}

/// Where the texels of an image's region are in plain memory.
///
/// The row pitch is the program's business alone, even one that is too small: the conformance tests give texels instead of
/// bytes. Rows then share bytes, and it is defined which wins, as rows are copied in their order.
fn in_memory(kind: ImageKind, region: &Region, pitches: MemoryPitches) -> Result<Region> {
    let [width, rows, slices] = region.extent;
    let row_pitch = if pitches.row == 0 { width } else { pitches.row as usize };
    // The layers of 1D arrays are rows to each other where no slice pitch is given.
    let tight = if kind == ImageKind::OneDArray { Some(row_pitch) } else { row_pitch.checked_mul(rows) };
    let tight =
        tight.ok_or_else(|| Error::InvalidSize(format!("{rows} rows with a pitch of {row_pitch}")))?;
    // Programs give one for 2D images too, where it means nothing.
    let slice_pitch = if pitches.slice == 0 || slices == 1 { tight } else { pitches.slice as usize };
    if slice_pitch < tight {
        let reason = format!("a slice pitch of {slice_pitch} bytes for slices of {tight}");
        return Err(Error::InvalidSize(reason));
    }
    Ok(Region { origin: [0; 3], extent: region.extent, row_pitch, slice_pitch })
}

/// The copy of a region; nothing where it has no bytes.
fn part(dst: usize, to: Region, src: usize, from: Region) -> Result<Option<Part>> {
    Ok(region::check(dst, &to, src, &from)?.then_some(Part { dst, to, src, from }))
}

fn operation<const N: usize>(parts: SmallVec<[Part; 1]>, images: [&Arc<Image>; N]) -> Operation {
    Operation::CopyImage(Box::new(ImageCopy { parts, _images: images.into_iter().cloned().collect() }))
}
