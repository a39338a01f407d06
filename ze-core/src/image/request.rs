//! What a program asks for with an image's descriptor and the structures chained to it.

use super::layout::{Extents, ImageKind};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::external_memory;
use crate::pnext::{Inputs, structures};
use crate::sampler;
use std::os::fd::RawFd;
use ze_engine::image::format::{LAYOUTS, Plane, Source};
use ze_engine::image::{ChannelType, Format, Sampler, Swizzle};
use ze_extensions::Images;
use ze_headers::*;

structures! {
    ze_image_desc_t = ZE_STRUCTURE_TYPE_IMAGE_DESC;
    ze_image_bindless_exp_desc_t = ZE_STRUCTURE_TYPE_BINDLESS_IMAGE_EXP_DESC;
    ze_image_pitched_exp_desc_t = ZE_STRUCTURE_TYPE_PITCHED_IMAGE_EXP_DESC;
    ze_custom_pitch_exp_desc_t = ZE_STRUCTURE_TYPE_CUSTOM_PITCH_EXP_DESC;
    ze_image_view_planar_ext_desc_t = ZE_STRUCTURE_TYPE_IMAGE_VIEW_PLANAR_EXT_DESC;
    ze_image_view_planar_exp_desc_t = ZE_STRUCTURE_TYPE_IMAGE_VIEW_PLANAR_EXP_DESC;
    ze_srgb_ext_desc_t = ZE_STRUCTURE_TYPE_SRGB_EXT_DESC;
}

/// The format of an image: what its texels are, or its planes'.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageFormat {
    pub layout: ze_image_format_layout_t,
    /// That of the only plane, or of the first.
    pub texels: Format,
    pub swizzle: Swizzle,
    /// The planes of a media format whose texels are not one by one in memory; else none.
    pub planes: &'static [Plane],
}

/// The places of components that are theirs: media formats have no other.
const IN_PLACE: Swizzle = [Source::R, Source::G, Source::B, Source::A];

impl ImageFormat {
    /// Errors: [`Error::InvalidEnumeration`] for what is no value of the API's, [`Error::UnsupportedImageFormat`].
    pub fn new(format: &ze_image_format_t, srgb: bool) -> Result<Self> {
        let swizzle = |component: ze_image_format_swizzle_t| {
            let invalid =
                Error::InvalidEnumeration { what: "ze_image_format_swizzle_t", value: component.0.into() };
            Source::from_ze(component).ok_or(invalid)
        };
        let swizzle = [swizzle(format.x)?, swizzle(format.y)?, swizzle(format.z)?, swizzle(format.w)?];
        if format.layout.0 > ZE_IMAGE_FORMAT_LAYOUT_32_32_32.0 {
            let value = format.layout.0.into();
            return Err(Error::InvalidEnumeration { what: "ze_image_format_layout_t", value });
        }
        let named = ChannelType::from_ze(format.type_);
        let named = named.ok_or(Error::InvalidEnumeration {
            what: "ze_image_format_type_t",
            value: format.type_.0.into(),
        })?;
        let unsupported = |why: &str| {
            let reason = format!(
                "image format of layout {}, type {} ({named:?}): {why}",
                format.layout.0, format.type_.0
            );
            Error::UnsupportedImageFormat(reason)
        };
        let row = LAYOUTS.iter().find(|row| row.ze == format.layout);
        let row = row.ok_or_else(|| unsupported("the layout is not supported"))?;
        // Media formats ignore type and swizzle.
        let media = (ZE_IMAGE_FORMAT_LAYOUT_Y8.0..=ZE_IMAGE_FORMAT_LAYOUT_BRGP.0).contains(&format.layout.0);
        let (channel, swizzle) = if media { (ChannelType::Unorm, IN_PLACE) } else { (named, swizzle) };
        let texels = row.planes.first().map_or(row.ze, |plane| plane.texel);
        let texels = Format::new(texels, channel)
            .ok_or_else(|| unsupported(&format!("the layout has {:?}", row.types)))?;
        let texels = match srgb {
            true if media => None,
            true => texels.srgb(),
            false => Some(texels),
        };
        let texels = texels.ok_or_else(|| unsupported("only 8-bit normalized colours are sRGB"))?;
        Ok(Self { layout: row.ze, texels, swizzle, planes: row.planes })
    }

    /// Whether its texels are in more than one place.
    pub fn is_planar(&self) -> bool {
        self.planes.len() > 1
    }

    /// Whether SPIR-V has a channel data type for its texels (SPIR-V 1.2 §3.13): kernels take images of no others.
    pub fn has_channel_data_type(&self) -> bool {
        let normalized = matches!(self.texels.channel_type(), ChannelType::Unorm | ChannelType::Snorm);
        let unorm = self.texels.channel_type() == ChannelType::Unorm;
        let fields = self.texels.layout().fields;
        match fields.first().map_or(0, |field| field.bits) {
            8 | 16 => true,
            32 => !normalized,
            // 5_6_5, 5_5_5_1 and 10_10_10_2.
            5 | 10 => unorm,
            _ => false,
        }
    }

    /// Whether samplers can interpolate between texels. What has several planes is sampled plane by plane.
    pub fn filters(&self) -> ze_image_sampler_filter_flags_t {
        if self.texels.channel_type().is_integer() {
            ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT
        } else {
            ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT | ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR
        }
    }
}

/// Bytes from a row, and from a slice, to the next; 0 is the driver's choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pitches {
    pub row: usize,
    pub slice: usize,
}

/// A descriptor that is checked.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub kind: ImageKind,
    pub extents: Extents,
    pub format: ImageFormat,
    /// Kernels may find it by its device offset.
    pub bindless: bool,
    /// How it is sampled, if it is a sampled image.
    pub sampler: Option<Sampler>,
    /// The program's memory that it is in.
    pub memory: Option<usize>,
    pub pitches: Pitches,
    /// The descriptor of somebody else's memory that it is in.
    pub import: Option<RawFd>,
    /// Others are to have its memory, too.
    pub export: bool,
    /// The plane of a planar image that is viewed.
    pub plane: Option<u32>,
}

impl Request {
    /// Reads a descriptor. Structures of the chain are found in any order.
    ///
    /// # Safety
    /// The descriptor's chain is valid.
    pub unsafe fn read(device: &Device, desc: &ze_image_desc_t) -> Result<Self> {
        let kind = ImageKind::new(desc.type_)?;
        let (mut bindless, mut sampled, mut srgb) = (false, false, false);
        let (mut sampler, mut memory, mut plane, mut pitches) = (None, None, None, Pitches::default());
        let (mut import, mut export) = (None, false);
        // SAFETY: the caller's promise.
        for link in unsafe { Inputs::of(desc) }.iter() {
            if let Some(desc) = link.get::<ze_image_bindless_exp_desc_t>() {
                bindless |= desc.flags & ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS != 0;
                sampled |= desc.flags & ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE != 0;
            } else if let Some(desc) = link.get::<ze_sampler_desc_t>() {
                sampler = Some(sampler::state(desc)?);
            } else if let Some(desc) = link.get::<ze_image_pitched_exp_desc_t>() {
                let pointer = desc.ptr as usize;
                if pointer == 0 {
                    return Err(Error::NullPointer("ze_image_pitched_exp_desc_t::ptr"));
                }
                memory = Some(pointer);
            } else if let Some(desc) = link.get::<ze_custom_pitch_exp_desc_t>() {
                pitches = Pitches { row: desc.rowPitch, slice: desc.slicePitch };
            } else if let Some(desc) = link.get::<ze_image_view_planar_ext_desc_t>() {
                plane = Some(desc.planeIndex);
            } else if let Some(desc) = link.get::<ze_image_view_planar_exp_desc_t>() {
                plane = Some(desc.planeIndex);
            } else if let Some(desc) = link.get::<ze_srgb_ext_desc_t>() {
                srgb = desc.sRGB != 0;
            } else if let Some(desc) = link.get::<ze_external_memory_import_fd_t>() {
                external_memory::check_type(desc.flags)?;
                import = Some(desc.fd);
            } else if let Some(desc) = link.get::<ze_external_memory_export_desc_t>() {
                external_memory::check_type(desc.flags)?;
                export = true;
            }
        }
        if import.is_some() && memory.is_some() {
            let reason = "an image in the program's memory and in that of a file descriptor";
            return Err(Error::InvalidArgument(reason.into()));
        }
        if sampled && (!bindless || sampler.is_none()) {
            let reason = "ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE needs ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS and a \
                          ze_sampler_desc_t in the chain";
            return Err(Error::InvalidArgument(reason.into()));
        }
        let format = ImageFormat::new(&desc.format, srgb)?;
        if !format.planes.is_empty() && kind == ImageKind::Buffer {
            let reason = "buffer images have no media formats";
            return Err(Error::UnsupportedImageFormat(reason.into()));
        }
        let extents = extents(kind, desc, &format, &device.profile().images)?;
        let sampler = sampler.filter(|_| sampled);
        Ok(Self { kind, extents, format, bindless, sampler, memory, pitches, import, export, plane })
    }
}

/// The extents of a descriptor, which are within the device's limits. Programs give the width of a buffer image in texels, as
/// OpenCL's `image_width` is and as Intel's driver takes it; the specification says bytes.
fn extents(
    kind: ImageKind,
    desc: &ze_image_desc_t,
    format: &ImageFormat,
    limits: &Images,
) -> Result<Extents> {
    // "must be 0"; one level is what 0 means.
    if desc.miplevels > 1 {
        return Err(Error::UnsupportedFeature("an image with mipmap levels"));
    }
    let most = match kind {
        ImageKind::OneD | ImageKind::OneDArray => limits.max_dims_1d.into(),
        ImageKind::TwoD | ImageKind::TwoDArray => limits.max_dims_2d.into(),
        ImageKind::ThreeD => limits.max_dims_3d.into(),
        ImageKind::Buffer => limits.max_buffer_size / u64::from(format.texels.bytes()),
    };
    let layers = match kind {
        ImageKind::OneDArray | ImageKind::TwoDArray => Some(u64::from(limits.max_array_slices)),
        _ => None,
    };
    if most == 0 || layers == Some(0) {
        return Err(Error::UnsupportedFeature(kind.name()));
    }
    let check = |what: &str, value: u64, most: u64| match u32::try_from(value) {
        // ZE_RESULT_ERROR_INVALID_SIZE: (e.g., must not be zero)
        Ok(0) => Err(Error::InvalidSize(format!("a {} with a {what} of 0", kind.name()))),
        Ok(size) if value <= most => Ok(size),
        // ZE_RESULT_ERROR_UNSUPPORTED_SIZE: (e.g., too large)
        _ => {
            let reason = format!("a {} with a {what} of {value}: the device has at most {most}", kind.name());
            Err(Error::UnsupportedSize(reason))
        }
    };
    Ok(Extents {
        width: check("width", desc.width, most)?,
        rows: if kind.has_rows() { check("height", desc.height.into(), most)? } else { 1 },
        slices: match (kind, layers) {
            (_, Some(layers)) => check("number of layers", desc.arraylevels.into(), layers)?,
            (ImageKind::ThreeD, None) => check("depth", desc.depth.into(), most)?,
            _ => 1,
        },
    })
}
