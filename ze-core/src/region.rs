//! Copies between pitched memories: what is checked before one is appended.

use crate::copy::Region;
use crate::error::{Error, Result};
use crate::operation::Operation;
use std::ops::Range;

impl Operation {
    /// Copies the region `from` of the memory at `src` to the region `to` of that at `dst`.
    ///
    /// Errors: [`Error::InvalidSize`] where the regions differ in size or reach beyond the address space, and
    /// [`Error::OverlappingRegions`].
    pub fn copy_region(dst: usize, to: Region, src: usize, from: Region) -> Result<Self> {
        let some = check(dst, &to, src, &from)?;
        Ok(if some { Operation::CopyRegion { dst, to, src, from } } else { Operation::Barrier })
    }
}

/// Checks a copy of the region `from` of the memory at `src` to the region `to` of that at `dst`. False: it has no bytes.
///
/// Errors: as of [`Operation::copy_region`].
pub fn check(dst: usize, to: &Region, src: usize, from: &Region) -> Result<bool> {
    if to.extent != from.extent {
        let reason = format!("regions of different sizes: {:?} and {:?}", to.extent, from.extent);
        return Err(Error::InvalidSize(reason));
    }
    if to.is_empty() {
        return Ok(false);
    }
    let (written, read) = (span(dst, to)?, span(src, from)?);
    let near = written.start < read.end && read.start < written.end;
    if near && has_rows(to) && has_rows(from) && share_bytes((&written, to), (&read, from)) {
        return Err(Error::OverlappingRegions);
    }
    Ok(true)
}

/// The addresses from the first to the last byte of a region that is not empty.
pub fn span(base: usize, region: &Region) -> Result<Range<usize>> {
    let end = region.end().and_then(|end| base.checked_add(end)).ok_or_else(|| {
        Error::InvalidSize(format!("at {base:#x}, the region {region:?} reaches beyond the address space"))
    })?;
    // What is before the end overflows nowhere.
    let [x, y, z] = region.origin;
    Ok(base + x + y * region.row_pitch + z * region.slice_pitch..end)
}

/// Whether rows follow each other in memory, and slices too.
fn has_rows(region: &Region) -> bool {
    let [width, height, depth] = region.extent;
    let slice = (height - 1).saturating_mul(region.row_pitch).saturating_add(width);
    (height == 1 || region.row_pitch >= width) && (depth == 1 || region.slice_pitch >= slice)
}

/// Whether some byte is in both of two regions of one size, by a walk through the rows of both in the order of their
/// addresses.
fn share_bytes(written: (&Range<usize>, &Region), read: (&Range<usize>, &Region)) -> bool {
    let width = read.1.extent[0];
    let (mut written, mut read) = (rows(written).peekable(), rows(read).peekable());
    while let (Some(&to), Some(&from)) = (written.peek(), read.peek()) {
        if to.abs_diff(from) < width {
            return true;
        }
        if to < from {
            written.next()
        } else {
            read.next()
        };
    }
    false
}

/// Where the rows start.
fn rows((span, region): (&Range<usize>, &Region)) -> impl Iterator<Item = usize> {
    let ([_, height, depth], Region { row_pitch, slice_pitch, .. }) = (region.extent, *region);
    let start = span.start;
    (0..depth).flat_map(move |z| (0..height).map(move |y| start + z * slice_pitch + y * row_pitch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(origin: [usize; 3], extent: [usize; 3]) -> Region {
        Region { origin, extent, row_pitch: 16, slice_pitch: 64 }
    }

    fn copy(dst: usize, to: Region, src: usize, from: Region) -> Result<Operation> {
        Operation::copy_region(dst, to, src, from)
    }

    #[test]
    fn regions_that_share_no_byte_are_copied() {
        let left = region([0, 0, 0], [8, 4, 2]);
        for (dst, to) in [
            (0x1000, region([8, 0, 0], [8, 4, 2])),
            (0x1008, left),
            (0x1000 + 128, left),
            (0x1000 - 128, left),
            // Each row lies between two of the other's, at other distances.
            (0x1008, Region { row_pitch: 32, slice_pitch: 128, ..left }),
        ] {
            assert!(
                matches!(copy(dst, to, 0x1000, left), Ok(Operation::CopyRegion { .. })),
                "{dst:#x} {to:?}"
            );
        }
    }

    #[test]
    fn regions_that_share_bytes_are_refused() {
        let left = region([0, 0, 0], [8, 4, 2]);
        for (dst, to) in [
            (0x1000, left),
            (0x1007, left),
            (0x1000, region([7, 1, 0], [8, 4, 2])),
            (0x1000, region([0, 0, 1], [8, 4, 2])),
            (0x1000 + 111 - 64, region([0, 0, 0], [8, 4, 2])),
            (0x1008, Region { row_pitch: 24, slice_pitch: 96, ..left }),
        ] {
            let result = copy(dst, to, 0x1000, left);
            assert!(matches!(result, Err(Error::OverlappingRegions)), "{dst:#x} {to:?}");
        }
    }

    #[test]
    fn overlaps_are_those_of_a_walk_through_all_bytes() {
        let bytes = |base: usize, region: &Region| {
            let Ok(span) = span(base, region) else { return Vec::new() };
            rows((&span, region)).flat_map(|row| row..row + region.extent[0]).collect::<Vec<_>>()
        };
        let from = Region { origin: [1, 1, 0], extent: [3, 2, 2], row_pitch: 5, slice_pitch: 17 };
        for (row_pitch, slice_pitch) in [(3, 6), (4, 9), (5, 17), (7, 14), (11, 40)] {
            let to = Region { row_pitch, slice_pitch, ..from };
            for dst in 1000..1100 {
                let read = bytes(1050, &from);
                let shared = bytes(dst, &to).iter().any(|byte| read.contains(byte));
                assert_eq!(copy(dst, to, 1050, from).is_err(), shared, "{dst} {to:?}");
            }
        }
    }

    #[test]
    fn regions_beyond_the_address_space_are_refused() {
        let here = region([0, 0, 0], [1 << 31, 1 << 31, 4]);
        let packed = Region { row_pitch: 1 << 31, slice_pitch: 1 << 62, ..here };
        assert!(matches!(copy(0x1000, packed, 0x2000, here), Err(Error::InvalidSize(_))));
        assert!(matches!(copy(0x1000, here, 0x2000, packed), Err(Error::InvalidSize(_))));
        assert!(matches!(copy(usize::MAX, here, 0x2000, here), Err(Error::InvalidSize(_))));
        let origin = Region { origin: [0, usize::MAX, 0], ..here };
        assert!(matches!(copy(0x1000, origin, 0x2000, here), Err(Error::InvalidSize(_))));
    }

    #[test]
    fn sizes_are_equal_and_an_empty_region_is_nothing_to_copy() {
        let (one, two) = (region([0; 3], [1; 3]), region([0; 3], [1, 2, 1]));
        assert!(matches!(copy(0x1000, one, 0x2000, two), Err(Error::InvalidSize(_))));
        let empty = region([0; 3], [0, u32::MAX as usize, u32::MAX as usize]);
        assert!(matches!(copy(0x1000, empty, 0x1000, empty), Ok(Operation::Barrier)));
    }
}
