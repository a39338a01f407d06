//! Texel formats: the one table of layouts, which channel types each has, how fields lie in a texel, and what queries say.
//!
//! A [`Format`] is a channel layout (`ze_image_format_layout_t`), a channel type (`ze_image_format_type_t`) and whether
//! colours are sRGB; it fits 16 bits. A [`Swizzle`] says which component of a texel each component of a result is. Packed
//! layouts have the bits of the surface formats that Intel's GPUs use for them: 10_10_10_2 and 11_11_10 have red in the low
//! bits, 5_6_5, 5_5_5_1 and 4_4_4_4 blue.

use ze_headers::*;

/// The meaning of a texel's fields. The numbers are those of `ze_image_format_type_t`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ChannelType {
    Uint = 0,
    Sint = 1,
    Unorm = 2,
    Snorm = 3,
    Float = 4,
}

impl ChannelType {
    pub const ALL: [ChannelType; 5] = [Self::Uint, Self::Sint, Self::Unorm, Self::Snorm, Self::Float];

    /// The type that the API means.
    pub fn from_ze(ty: ze_image_format_type_t) -> Option<Self> {
        Self::ALL.into_iter().find(|of| *of as u32 == ty.0)
    }

    /// Whether results are integers.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Uint | Self::Sint)
    }
}

/// One field of a texel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// Bits below it in the texel.
    pub at: u32,
    pub bits: u32,
}

impl Field {
    /// The 32-bit word of the texel that it is in.
    pub fn word(self) -> u32 {
        self.at / 32
    }

    /// Bits below it in that word.
    pub fn shift(self) -> u32 {
        self.at % 32
    }
}

const fn field(at: u32, bits: u32) -> Field {
    Field { at, bits }
}

/// The part of a media image that has one texel layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Plane {
    /// The layout of its texels.
    pub texel: ze_image_format_layout_t,
    /// Its width and height are those of the image divided by two to these powers.
    pub halvings: [u32; 2],
}

const fn plane(texel: ze_image_format_layout_t, x: u32, y: u32) -> Plane {
    Plane { texel, halvings: [x, y] }
}

/// A channel layout.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub ze: ze_image_format_layout_t,
    /// Bytes of a texel; of media layouts with several planes, 0.
    pub bytes: u32,
    /// Red, green, blue and alpha, as many as there are. Media layouts whose texels are no single pixels have none.
    pub fields: &'static [Field],
    /// The channel types that it has.
    pub types: &'static [ChannelType],
    /// Planes in the order in which they lie in memory. Layouts that are one plane of their own texels have none.
    pub planes: &'static [Plane],
}

const ALL_TYPES: &[ChannelType] = &ChannelType::ALL;
const NO_FLOAT: &[ChannelType] =
    &[ChannelType::Uint, ChannelType::Sint, ChannelType::Unorm, ChannelType::Snorm];
const UNORM: &[ChannelType] = &[ChannelType::Unorm];
const FLOAT: &[ChannelType] = &[ChannelType::Float];

const fn texels(
    ze: ze_image_format_layout_t,
    bytes: u32,
    fields: &'static [Field],
    types: &'static [ChannelType],
) -> Layout {
    Layout { ze, bytes, fields, types, planes: &[] }
}

const fn planar(ze: ze_image_format_layout_t, planes: &'static [Plane]) -> Layout {
    Layout { ze, bytes: 0, fields: &[], types: UNORM, planes }
}

const BYTES_4: &[Field] = &[field(0, 8), field(8, 8), field(16, 8), field(24, 8)];
const SHORTS_4: &[Field] = &[field(0, 16), field(16, 16), field(32, 16), field(48, 16)];
const WORDS_4: &[Field] = &[field(0, 32), field(32, 32), field(64, 32), field(96, 32)];
const TENS: &[Field] = &[field(0, 10), field(10, 10), field(20, 10), field(30, 2)];

/// Every layout.
pub const LAYOUTS: &[Layout] = &[
    texels(ZE_IMAGE_FORMAT_LAYOUT_8, 1, BYTES_4.split_at(1).0, NO_FLOAT),
    texels(ZE_IMAGE_FORMAT_LAYOUT_16, 2, SHORTS_4.split_at(1).0, ALL_TYPES),
    texels(ZE_IMAGE_FORMAT_LAYOUT_32, 4, WORDS_4.split_at(1).0, ALL_TYPES),
    texels(ZE_IMAGE_FORMAT_LAYOUT_8_8, 2, BYTES_4.split_at(2).0, NO_FLOAT),
    texels(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, 4, BYTES_4, NO_FLOAT),
    texels(ZE_IMAGE_FORMAT_LAYOUT_16_16, 4, SHORTS_4.split_at(2).0, ALL_TYPES),
    texels(ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16, 8, SHORTS_4, ALL_TYPES),
    texels(ZE_IMAGE_FORMAT_LAYOUT_32_32, 8, WORDS_4.split_at(2).0, ALL_TYPES),
    texels(ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, 16, WORDS_4, ALL_TYPES),
    texels(ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, 4, TENS, NO_FLOAT),
    texels(ZE_IMAGE_FORMAT_LAYOUT_11_11_10, 4, &[field(0, 11), field(11, 11), field(22, 10)], FLOAT),
    texels(ZE_IMAGE_FORMAT_LAYOUT_5_6_5, 2, &[field(11, 5), field(5, 6), field(0, 5)], UNORM),
    texels(ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1, 2, &[field(10, 5), field(5, 5), field(0, 5), field(15, 1)], UNORM),
    texels(ZE_IMAGE_FORMAT_LAYOUT_4_4_4_4, 2, &[field(8, 4), field(4, 4), field(0, 4), field(12, 4)], UNORM),
    texels(ZE_IMAGE_FORMAT_LAYOUT_8_8_8, 3, BYTES_4.split_at(3).0, NO_FLOAT),
    texels(ZE_IMAGE_FORMAT_LAYOUT_16_16_16, 6, SHORTS_4.split_at(3).0, ALL_TYPES),
    texels(ZE_IMAGE_FORMAT_LAYOUT_32_32_32, 12, WORDS_4.split_at(3).0, ALL_TYPES),
    // Media layouts whose texels are pixels. Colour channels of Y'CbCr are in the order of the name.
    texels(ZE_IMAGE_FORMAT_LAYOUT_Y8, 1, BYTES_4.split_at(1).0, UNORM),
    texels(ZE_IMAGE_FORMAT_LAYOUT_Y16, 2, SHORTS_4.split_at(1).0, UNORM),
    texels(ZE_IMAGE_FORMAT_LAYOUT_AYUV, 4, BYTES_4, UNORM),
    texels(ZE_IMAGE_FORMAT_LAYOUT_Y410, 4, TENS, UNORM),
    texels(ZE_IMAGE_FORMAT_LAYOUT_Y416, 8, SHORTS_4, UNORM),
    // Two pixels in 32 or 64 bits: as planes, texels of luma and one chroma channel.
    planar(ZE_IMAGE_FORMAT_LAYOUT_YUYV, &[plane(ZE_IMAGE_FORMAT_LAYOUT_8_8, 0, 0)]),
    planar(ZE_IMAGE_FORMAT_LAYOUT_YUY2, &[plane(ZE_IMAGE_FORMAT_LAYOUT_8_8, 0, 0)]),
    planar(ZE_IMAGE_FORMAT_LAYOUT_VYUY, &[plane(ZE_IMAGE_FORMAT_LAYOUT_8_8, 0, 0)]),
    planar(ZE_IMAGE_FORMAT_LAYOUT_YVYU, &[plane(ZE_IMAGE_FORMAT_LAYOUT_8_8, 0, 0)]),
    planar(ZE_IMAGE_FORMAT_LAYOUT_UYVY, &[plane(ZE_IMAGE_FORMAT_LAYOUT_8_8, 0, 0)]),
    planar(ZE_IMAGE_FORMAT_LAYOUT_Y210, &[plane(ZE_IMAGE_FORMAT_LAYOUT_16_16, 0, 0)]),
    planar(ZE_IMAGE_FORMAT_LAYOUT_Y216, &[plane(ZE_IMAGE_FORMAT_LAYOUT_16_16, 0, 0)]),
    // Luma, then the chroma channels together.
    planar(
        ZE_IMAGE_FORMAT_LAYOUT_NV12,
        &[plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 0), plane(ZE_IMAGE_FORMAT_LAYOUT_8_8, 1, 1)],
    ),
    planar(
        ZE_IMAGE_FORMAT_LAYOUT_P010,
        &[plane(ZE_IMAGE_FORMAT_LAYOUT_16, 0, 0), plane(ZE_IMAGE_FORMAT_LAYOUT_16_16, 1, 1)],
    ),
    planar(
        ZE_IMAGE_FORMAT_LAYOUT_P012,
        &[plane(ZE_IMAGE_FORMAT_LAYOUT_16, 0, 0), plane(ZE_IMAGE_FORMAT_LAYOUT_16_16, 1, 1)],
    ),
    planar(
        ZE_IMAGE_FORMAT_LAYOUT_P016,
        &[plane(ZE_IMAGE_FORMAT_LAYOUT_16, 0, 0), plane(ZE_IMAGE_FORMAT_LAYOUT_16_16, 1, 1)],
    ),
    planar(
        ZE_IMAGE_FORMAT_LAYOUT_P216,
        &[plane(ZE_IMAGE_FORMAT_LAYOUT_16, 0, 0), plane(ZE_IMAGE_FORMAT_LAYOUT_16_16, 1, 0)],
    ),
    // One plane a channel.
    planar(
        ZE_IMAGE_FORMAT_LAYOUT_I420,
        &[
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 0),
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 1, 1),
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 1, 1),
        ],
    ),
    planar(
        ZE_IMAGE_FORMAT_LAYOUT_YV12,
        &[
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 0),
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 1, 1),
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 1, 1),
        ],
    ),
    planar(ZE_IMAGE_FORMAT_LAYOUT_400P, &[plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 0)]),
    planar(
        ZE_IMAGE_FORMAT_LAYOUT_422H,
        &[
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 0),
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 1, 0),
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 1, 0),
        ],
    ),
    planar(
        ZE_IMAGE_FORMAT_LAYOUT_422V,
        &[
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 0),
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 1),
            plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 1),
        ],
    ),
    planar(ZE_IMAGE_FORMAT_LAYOUT_444P, &[plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 0); 3]),
    planar(ZE_IMAGE_FORMAT_LAYOUT_RGBP, &[plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 0); 3]),
    planar(ZE_IMAGE_FORMAT_LAYOUT_BRGP, &[plane(ZE_IMAGE_FORMAT_LAYOUT_8, 0, 0); 3]),
    // Palettes and four-bit channels (P8, A8P8, IA44, AI44) have no rows: nothing reads them.
];

/// Where a component of a result comes from. The numbers are those of `ze_image_format_swizzle_t`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Source {
    R = 0,
    G = 1,
    B = 2,
    A = 3,
    Zero = 4,
    One = 5,
    /// Nobody cares: zero.
    X = 6,
    /// The depth, which is the only component of a texel.
    D = 7,
}

impl Source {
    const ALL: [Source; 8] = [Self::R, Self::G, Self::B, Self::A, Self::Zero, Self::One, Self::X, Self::D];

    /// The component that the API means.
    pub fn from_ze(swizzle: ze_image_format_swizzle_t) -> Option<Self> {
        Self::ALL.into_iter().find(|of| *of as u32 == swizzle.0)
    }

    /// The texel's component, if it is one.
    pub fn component(self) -> Option<usize> {
        match self {
            Self::R | Self::D => Some(0),
            Self::G => Some(1),
            Self::B => Some(2),
            Self::A => Some(3),
            Self::Zero | Self::One | Self::X => None,
        }
    }
}

/// Where each component of a result comes from.
pub type Swizzle = [Source; 4];

/// Red, green, blue and alpha in their places.
pub const IDENTITY: Swizzle = [Source::R, Source::G, Source::B, Source::A];

/// A texel format in 16 bits: 8 for the row of the layout, 4 for the channel type, one for sRGB.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format(u16);

impl Format {
    /// The format, if its texels can be read and written one by one; media layouts of several planes cannot, their planes can.
    pub fn new(layout: ze_image_format_layout_t, ty: ChannelType) -> Option<Self> {
        let row = LAYOUTS.iter().position(|row| row.ze == layout)?;
        let of = &LAYOUTS[row];
        (!of.fields.is_empty() && of.types.contains(&ty)).then_some(Self((row as u16) << 8 | ty as u16))
    }

    /// The same with colours in sRGB; only 8-bit normalized ones have that.
    pub fn srgb(self) -> Option<Self> {
        let eight_bits = self.layout().fields.iter().all(|field| field.bits == 8);
        (self.channel_type() == ChannelType::Unorm && eight_bits).then_some(Self(self.0 | SRGB))
    }

    /// The format as a number.
    pub fn code(self) -> u16 {
        self.0
    }

    pub fn layout(self) -> &'static Layout {
        &LAYOUTS[usize::from(self.0 >> 8)]
    }

    pub fn channel_type(self) -> ChannelType {
        ChannelType::ALL[usize::from(self.0 & 0xf)]
    }

    pub fn is_srgb(self) -> bool {
        self.0 & SRGB != 0
    }

    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        self.layout().bytes
    }

    /// What `OpImageQueryFormat` says: SPIR-V's Image Channel Data Type (SPIR-V 1.2 §3.13). Of texels with two bits of alpha
    /// it says whether the image has that.
    pub fn query_type(self, swizzle: Swizzle) -> u32 {
        use spirv::ImageChannelDataType as T;
        let opaque = matches!(swizzle[3], Source::One | Source::X);
        let (ze, bits) = (self.layout().ze, self.layout().fields[0].bits);
        let of_bits = |of: [T; 3]| match bits {
            8 => of[0],
            16 => of[1],
            _ => of[2],
        };
        let found = match self.channel_type() {
            _ if ze == ZE_IMAGE_FORMAT_LAYOUT_5_6_5 => T::UnormShort565,
            _ if ze == ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1 => T::UnormShort555,
            ChannelType::Unorm if bits == 10 && opaque => T::UnormInt101010,
            ChannelType::Unorm if bits == 10 => T::UnormInt101010_2,
            ChannelType::Uint => of_bits([T::UnsignedInt8, T::UnsignedInt16, T::UnsignedInt32]),
            ChannelType::Sint => of_bits([T::SignedInt8, T::SignedInt16, T::SignedInt32]),
            ChannelType::Unorm => of_bits([T::UnormInt8, T::UnormInt16, T::UnormInt24]),
            ChannelType::Snorm => of_bits([T::SnormInt8, T::SnormInt16, T::SnormInt16]),
            ChannelType::Float => of_bits([T::HalfFloat, T::HalfFloat, T::Float]),
        };
        found as u32
    }

    /// What `OpImageQueryOrder` says: SPIR-V's Image Channel Order (SPIR-V 1.2 §3.12).
    pub fn query_order(self, swizzle: Swizzle) -> u32 {
        use Source::{A, B, D, G, One, R, X, Zero};
        use spirv::ImageChannelOrder as O;
        let srgb = self.is_srgb();
        let found = match swizzle {
            [D, ..] => O::Depth,
            [R, R, R, R] => O::Intensity,
            [R, R, R, One] => O::Luminance,
            [Zero, Zero, Zero, R | A] => O::A,
            [B, G, R, A] if srgb => O::sBGRA,
            [B, G, R, A] => O::BGRA,
            [G, B, A, R] => O::ARGB,
            [A, B, G, R] => O::ABGR,
            [R, Zero, Zero, G] => O::RA,
            [R, Zero, Zero, One] => O::R,
            [R, G, Zero, One] => O::RG,
            [R, G, B, One] if srgb => O::sRGB,
            [R, G, B, One] => O::RGB,
            [R, X, ..] => O::Rx,
            [R, G, X, ..] => O::RGx,
            [R, G, B, X] if srgb => O::sRGBx,
            [R, G, B, X] => O::RGBx,
            // A swizzle that asks for more than there is.
            _ => match self.layout().fields.len() {
                1 => O::R,
                2 => O::RG,
                3 => O::RGB,
                _ if srgb => O::sRGBA,
                _ => O::RGBA,
            },
        };
        found as u32
    }
}

const SRGB: u16 = 1 << 4;

/// Every format whose texels can be read and written one by one.
pub fn formats() -> impl Iterator<Item = Format> {
    let of = |row: &'static Layout| row.types.iter().filter_map(|ty| Format::new(row.ze, *ty));
    LAYOUTS.iter().flat_map(of).flat_map(|format| [Some(format), format.srgb()]).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_fill_texels_without_meeting() {
        for row in LAYOUTS.iter().filter(|row| !row.fields.is_empty()) {
            let mut taken = 0u128;
            for field in row.fields {
                let bits = ((1u128 << field.bits) - 1) << field.at;
                assert_eq!(taken & bits, 0, "{:?}", row.ze);
                assert!(field.shift() + field.bits <= 32, "a field is in one word: {:?}", row.ze);
                taken |= bits;
            }
            assert_eq!(taken.count_ones(), 8 * row.bytes, "{:?}", row.ze);
        }
    }

    #[test]
    fn planes_are_layouts_of_the_table() {
        for plane in LAYOUTS.iter().flat_map(|row| row.planes) {
            assert!(Format::new(plane.texel, ChannelType::Unorm).is_some());
        }
    }

    #[test]
    fn formats_are_told_apart_by_their_code_and_say_what_they_are() {
        let codes: std::collections::HashSet<u16> = formats().map(Format::code).collect();
        assert_eq!(codes.len(), formats().count());
        let of = |layout, ty| Format::new(layout, ty).expect("a format");
        let bgra = [Source::B, Source::G, Source::R, Source::A];
        let rgba8 = of(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm);
        assert_eq!(rgba8.query_order(IDENTITY), spirv::ImageChannelOrder::RGBA as u32);
        assert_eq!(rgba8.query_order(bgra), spirv::ImageChannelOrder::BGRA as u32);
        assert_eq!(rgba8.srgb().expect("8 bits").query_order(bgra), spirv::ImageChannelOrder::sBGRA as u32);
        assert_eq!(rgba8.query_type(IDENTITY), spirv::ImageChannelDataType::UnormInt8 as u32);
        let half = of(ZE_IMAGE_FORMAT_LAYOUT_16, ChannelType::Float);
        assert_eq!(half.query_type(IDENTITY), spirv::ImageChannelDataType::HalfFloat as u32);
        assert_eq!(half.query_order(IDENTITY), spirv::ImageChannelOrder::R as u32);
        assert_eq!(half.srgb(), None);
        let tens = of(ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, ChannelType::Unorm);
        let rgb = [Source::R, Source::G, Source::B, Source::One];
        assert_eq!(tens.query_type(IDENTITY), spirv::ImageChannelDataType::UnormInt101010_2 as u32);
        assert_eq!(tens.query_type(rgb), spirv::ImageChannelDataType::UnormInt101010 as u32);
        assert_eq!(tens.query_order(rgb), spirv::ImageChannelOrder::RGB as u32);
        assert_eq!(Format::new(ZE_IMAGE_FORMAT_LAYOUT_8, ChannelType::Float), None);
        assert_eq!(Format::new(ZE_IMAGE_FORMAT_LAYOUT_NV12, ChannelType::Unorm), None);
    }
}
