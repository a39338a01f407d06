//! Where the texels of an image are in its memory: rows, slices and planes.

use crate::copy::Region;
use crate::error::{Error, Result};
use ze_headers::*;

/// Rows of images begin at multiples of this many bytes, a cache line, unless a line has several rows: what
/// `zeMemGetPitchFor2dImage` computes with.
pub const PITCH_ALIGNMENT: usize = 64;

/// Bytes from a row to the next are at most these: descriptors have 32 bits for them.
pub const LARGEST_PITCH: usize = 1 << 31;

/// `ze_image_type_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageKind {
    OneD,
    OneDArray,
    TwoD,
    TwoDArray,
    ThreeD,
    Buffer,
}

impl ImageKind {
    pub fn new(kind: ze_image_type_t) -> Result<Self> {
        Ok(match kind {
            ZE_IMAGE_TYPE_1D => Self::OneD,
            ZE_IMAGE_TYPE_1DARRAY => Self::OneDArray,
            ZE_IMAGE_TYPE_2D => Self::TwoD,
            ZE_IMAGE_TYPE_2DARRAY => Self::TwoDArray,
            ZE_IMAGE_TYPE_3D => Self::ThreeD,
            ZE_IMAGE_TYPE_BUFFER => Self::Buffer,
            // ZE_RESULT_ERROR_INVALID_ENUMERATION: ZE_IMAGE_TYPE_BUFFER < desc->type
            other => {
                return Err(Error::InvalidEnumeration { what: "ze_image_type_t", value: other.0.into() });
            }
        })
    }

    /// How messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneD => "1D image",
            Self::OneDArray => "1D image array",
            Self::TwoD => "2D image",
            Self::TwoDArray => "2D image array",
            Self::ThreeD => "3D image",
            Self::Buffer => "buffer image",
        }
    }

    /// Whether rows have a second coordinate. The layers of 1D arrays are slices.
    pub fn has_rows(self) -> bool {
        matches!(self, Self::TwoD | Self::TwoDArray | Self::ThreeD)
    }

    pub fn has_slices(self) -> bool {
        matches!(self, Self::OneDArray | Self::TwoDArray | Self::ThreeD)
    }
}

/// Texels of a row, rows of a slice, and slices: the layers of an array, or what lies behind each other in a 3D image.
/// None is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extents {
    pub width: u32,
    pub rows: u32,
    pub slices: u32,
}

impl Extents {
    /// Whether every texel of these extents is one of the other's.
    pub fn fit(&self, other: &Extents) -> bool {
        self.width <= other.width && self.rows <= other.rows && self.slices <= other.slices
    }

    /// Those of a plane whose width and rows are halved so many times.
    pub fn halved(&self, [x, y]: [u32; 2]) -> Extents {
        Extents { width: self.width.div_ceil(1 << x), rows: self.rows.div_ceil(1 << y), slices: self.slices }
    }
}

/// The texels of an image, or of a plane of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes from the start of the image's memory to the first texel.
    pub offset: usize,
    pub extents: Extents,
    /// Bytes of a texel.
    pub texel: usize,
    /// Bytes from a row to the next.
    pub row_pitch: usize,
    /// Bytes from a slice to the next.
    pub slice_pitch: usize,
}

impl Layout {
    /// Bytes of the texels of a row.
    pub fn row_bytes(&self) -> usize {
        self.extents.width as usize * self.texel
    }

    /// Bytes from the start of the image's memory to the end of the last texel. `None`: more than there are addresses.
    pub fn end(&self) -> Option<usize> {
        let rows = (self.extents.rows as usize - 1).checked_mul(self.row_pitch)?;
        let slices = (self.extents.slices as usize - 1).checked_mul(self.slice_pitch)?;
        self.offset.checked_add(slices)?.checked_add(rows)?.checked_add(self.row_bytes())
    }

    /// All of it, as copies take it.
    pub fn region(&self) -> Region {
        self.part([0; 3], [self.extents.width, self.extents.rows, self.extents.slices])
    }

    /// Some texels of it, which are inside, as copies take them.
    pub fn part(&self, origin: [u32; 3], extent: [u32; 3]) -> Region {
        let bytes = |[x, y, z]: [u32; 3]| [x as usize * self.texel, y as usize, z as usize];
        Region {
            origin: bytes(origin),
            extent: bytes(extent),
            row_pitch: self.row_pitch,
            slice_pitch: self.slice_pitch,
        }
    }
}

/// Bytes from a row of so many bytes to the next in memory of the program's, which wants one alignment for all.
pub fn aligned_pitch(row_bytes: usize) -> Option<usize> {
    row_bytes.checked_next_multiple_of(PITCH_ALIGNMENT)
}

/// Bytes from a row of so many bytes to the next, where the driver chooses. No row is in more cache lines than it has to be,
/// and rows that divide a line have no gaps: whoever imports a buffer as an image of such rows expects them so.
pub fn pitch_of(row_bytes: usize) -> Option<usize> {
    if row_bytes < PITCH_ALIGNMENT { Some(row_bytes.next_power_of_two()) } else { aligned_pitch(row_bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(width: u32, rows: u32, slices: u32) -> Layout {
        let extents = Extents { width, rows, slices };
        Layout { offset: 100, extents, texel: 4, row_pitch: 64, slice_pitch: 640 }
    }

    #[test]
    fn the_end_is_that_of_the_last_texel() {
        assert_eq!(layout(3, 1, 1).end(), Some(112));
        assert_eq!(layout(3, 2, 5).end(), Some(100 + 4 * 640 + 64 + 12));
        assert_eq!(Layout { slice_pitch: usize::MAX / 2, ..layout(3, 1, 4) }.end(), None);
    }

    #[test]
    fn parts_are_bytes_rows_and_slices() {
        let part = layout(8, 8, 8).part([1, 2, 3], [4, 5, 6]);
        assert_eq!((part.origin, part.extent), ([4, 2, 3], [16, 5, 6]));
        assert_eq!((part.row_pitch, part.slice_pitch), (64, 640));
    }

    #[test]
    fn rows_are_in_as_few_cache_lines_as_can_be() {
        assert_eq!([1, 3, 20, 32, 33].map(pitch_of), [1, 4, 32, 32, 64].map(Some));
        assert_eq!([64, 65].map(pitch_of), [Some(64), Some(128)]);
        assert_eq!([1, 64, 65].map(aligned_pitch), [Some(64), Some(64), Some(128)]);
        assert_eq!((pitch_of(usize::MAX), aligned_pitch(usize::MAX)), (None, None));
    }

    #[test]
    fn odd_extents_have_their_last_chroma_sample() {
        let extents = Extents { width: 5, rows: 3, slices: 2 };
        assert_eq!(extents.halved([1, 1]), Extents { width: 3, rows: 2, slices: 2 });
        assert_eq!(extents.halved([0, 0]), extents);
        assert!(extents.halved([1, 0]).fit(&extents) && !extents.fit(&extents.halved([1, 0])));
    }
}
