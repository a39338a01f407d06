//! Memory copies and fills. They end where the processor refuses an access.

use std::thread;
use ze_engine::exec::fault::{Fault, catch};

/// From this size on two threads copy faster than one: it is beyond the caches, where a core alone does not
/// use all of the memory's bandwidth.
const PARALLEL_COPY: usize = 16 << 20;
/// Fills repeat their pattern in a block of about this size, which stays in the first-level cache.
const FILL_BLOCK: usize = 4096;

/// Copies `len` bytes; the ranges may overlap.
///
/// # Safety
/// Both ranges are the program's, and nobody else writes to them meanwhile.
pub unsafe fn copy(dst: *mut u8, src: *const u8, len: usize) -> Result<(), Fault> {
    let apart = (dst as usize).abs_diff(src as usize) >= len;
    if len < PARALLEL_COPY || !apart {
        // SAFETY: the caller's promise.
        return unsafe { catch(|| std::ptr::copy(src, dst, len)) };
    }
    let half = (len / 2).next_multiple_of(64);
    let (dst, src) = (dst as usize, src as usize);
    thread::scope(|scope| {
        let upper = thread::Builder::new().name("ze_cpu copy".into()).spawn_scoped(scope, move || {
            let (src, dst) = ((src + half) as *const u8, (dst + half) as *mut u8);
            // SAFETY: the caller's promise; this half is disjoint from the other.
            unsafe { catch(|| std::ptr::copy_nonoverlapping(src, dst, len - half)) }
        });
        let len = if upper.is_ok() { half } else { len };
        // SAFETY: the caller's promise; without a second thread this one copies everything.
        let lower = unsafe { catch(|| std::ptr::copy_nonoverlapping(src as *const u8, dst as *mut u8, len)) };
        lower.and(both(upper))
    })
}

/// What the other thread of two says, if there is one.
fn both(other: std::io::Result<thread::ScopedJoinHandle<'_, Result<(), Fault>>>) -> Result<(), Fault> {
    other.map_or(Ok(()), |thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

/// Fills `len` bytes with a pattern; the last repetition may be partial.
///
/// # Safety
/// The range is the program's, and nobody else accesses it meanwhile.
pub unsafe fn fill(dst: *mut u8, pattern: &[u8], len: usize) -> Result<(), Fault> {
    // SAFETY: the caller's promise. Nothing is owned.
    unsafe { catch(|| fill_slice(std::slice::from_raw_parts_mut(dst, len), pattern)) }
}

fn fill_slice(dst: &mut [u8], pattern: &[u8]) {
    let (len, Some((&first, rest))) = (dst.len(), pattern.split_first()) else { return };
    if rest.iter().all(|&byte| byte == first) {
        dst.fill(first);
        return;
    }
    // A block of whole patterns, grown by doubling, then copied over the rest.
    let block = len.min(pattern.len() * (FILL_BLOCK / pattern.len()).max(1));
    let (head, tail) = dst.split_at_mut(block);
    let mut filled = pattern.len().min(block);
    head[..filled].copy_from_slice(&pattern[..filled]);
    while filled < block {
        let step = filled.min(block - filled);
        head.copy_within(..step, filled);
        filled += step;
    }
    for chunk in tail.chunks_mut(block.max(1)) {
        chunk.copy_from_slice(&head[..chunk.len()]);
    }
}

/// A box of a copy between pitched memories: bytes in x, rows in y, slices in z.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    pub origin: [usize; 3],
    pub extent: [usize; 3],
    /// Bytes from a row to the next.
    pub row_pitch: usize,
    /// Bytes from a slice to the next.
    pub slice_pitch: usize,
}

impl Region {
    fn row(&self, y: usize, z: usize) -> usize {
        self.origin[0] + (self.origin[1] + y) * self.row_pitch + (self.origin[2] + z) * self.slice_pitch
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.extent.contains(&0)
    }

    /// Bytes from the base address to the end of the region; `None` if an address space cannot have as many.
    pub fn end(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let offset = |axis: usize, pitch: usize| {
            self.origin[axis].checked_add(self.extent[axis] - 1)?.checked_mul(pitch)
        };
        let row = offset(1, self.row_pitch)?.checked_add(offset(2, self.slice_pitch)?)?;
        row.checked_add(self.origin[0])?.checked_add(self.extent[0])
    }
}

/// Copies a box of bytes; both regions have the extent of `to`.
///
/// # Safety
/// Both regions are the program's, have an [`end`](Region::end), and nobody else writes to them meanwhile.
pub unsafe fn copy_region(dst: *mut u8, to: &Region, src: *const u8, from: &Region) -> Result<(), Fault> {
    // Rows of no bytes can be more than there is time for.
    if to.is_empty() {
        return Ok(());
    }
    let [width, height, depth] = to.extent;
    let (dst, src) = (dst as usize, src as usize);
    let tight_rows = height == 1 || (to.row_pitch == width && from.row_pitch == width);
    let slice = width * height;
    if tight_rows && (depth == 1 || (to.slice_pitch == slice && from.slice_pitch == slice)) {
        let (to, from) = ((dst + to.row(0, 0)) as *mut u8, (src + from.row(0, 0)) as *const u8);
        // SAFETY: the caller's promise: without gaps the rows are one piece.
        return unsafe { copy(to, from, slice * depth) };
    }
    let copy_rows = |rows: std::ops::Range<usize>| {
        for at in rows {
            let (y, z) = (at % height, at / height);
            // SAFETY: the caller's promise.
            unsafe {
                let (to, from) = ((dst + to.row(y, z)) as *mut u8, (src + from.row(y, z)) as *const u8);
                std::ptr::copy(from, to, width);
            }
        }
    };
    // SAFETY: the caller's promise. Nothing is owned.
    let rows = |rows: std::ops::Range<usize>| unsafe { catch(|| copy_rows(rows)) };
    let count = height * depth;
    // Rows that share bytes are copied in their order.
    let apart = to.row_pitch >= width && (depth == 1 || to.slice_pitch >= width);
    if slice.saturating_mul(depth) < PARALLEL_COPY || !apart {
        return rows(0..count);
    }
    thread::scope(|scope| {
        let upper = thread::Builder::new().name("ze_cpu copy".into());
        let upper = upper.spawn_scoped(scope, || rows(count / 2..count));
        let lower = rows(0..if upper.is_ok() { count / 2 } else { count });
        lower.and(both(upper))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_repeat_patterns_of_any_size() {
        for size in [1usize, 2, 3, 4, 7, 16, 128, 5000] {
            for len in [0, 1, size - 1, size, size * 3 + 1, 20_000] {
                let pattern: Vec<u8> = (0..size).map(|byte| byte as u8 ^ 0x5a).collect();
                let mut memory = vec![0u8; len + 1];
                // SAFETY: the vector is larger than what is filled.
                unsafe { fill(memory.as_mut_ptr(), &pattern, len) }.expect("the test's memory");
                assert!(memory[..len].iter().enumerate().all(|(at, &byte)| byte == pattern[at % size]));
                assert_eq!(memory[len], 0, "pattern of {size}, {len} bytes");
            }
        }
    }

    #[test]
    fn large_copies_copy_everything() {
        let len = PARALLEL_COPY + 12345;
        let source: Vec<u8> = (0..len).map(|at| ((at * 7) >> 3) as u8).collect();
        let mut target = vec![0u8; len];
        // SAFETY: two vectors of the length.
        unsafe { copy(target.as_mut_ptr(), source.as_ptr(), len) }.expect("the test's memory");
        assert!(target == source);
        // SAFETY: both ranges are in the vector.
        unsafe { copy(target.as_mut_ptr().add(1), target.as_ptr(), len - 1) }.expect("the test's memory");
        assert!(target[1..] == source[..len - 1]);
    }

    #[test]
    fn regions_are_copied_row_by_row() {
        let source: Vec<u8> = (0..4 * 8 * 2).collect();
        let mut target = vec![0u8; 3 * 5 * 3];
        let from = Region { origin: [1, 2, 0], extent: [2, 2, 2], row_pitch: 4, slice_pitch: 32 };
        let to = Region { origin: [0, 1, 1], extent: [2, 2, 2], row_pitch: 3, slice_pitch: 15 };
        assert!(from.end().is_some_and(|end| end <= source.len()));
        assert_eq!(to.end(), Some(2 + 2 * 3 + 2 * 15));
        // SAFETY: both regions are in their vectors.
        unsafe { copy_region(target.as_mut_ptr(), &to, source.as_ptr(), &from) }.expect("the test's memory");
        for z in 0..2 {
            for y in 0..2 {
                for x in 0..2 {
                    assert_eq!(target[x + (y + 1) * 3 + (z + 1) * 15], source[x + 1 + (y + 2) * 4 + z * 32]);
                }
            }
        }
        assert_eq!(target.iter().filter(|&&byte| byte != 0).count(), 8);
    }

    #[test]
    fn large_regions_are_copied_whole() {
        let (width, height) = (PARALLEL_COPY / 256, 600);
        let source: Vec<u8> = (0..width * height).map(|at| ((at * 11) >> 4) as u8).collect();
        let mut target = vec![0u8; (width + 3) * height];
        let from = Region {
            origin: [0; 3],
            extent: [width, height / 2, 2],
            row_pitch: width,
            slice_pitch: width * height / 2,
        };
        let to = Region { row_pitch: width + 3, slice_pitch: (width + 3) * height / 2, ..from };
        // SAFETY: both regions are in their vectors.
        unsafe { copy_region(target.as_mut_ptr(), &to, source.as_ptr(), &from) }.expect("the test's memory");
        let rows = target.chunks(width + 3).zip(source.chunks(width));
        assert!(rows.into_iter().all(|(to, from)| to[..width] == *from && to[width..] == [0; 3]));
        let mut packed = vec![0u8; width * height];
        // SAFETY: as above.
        unsafe { copy_region(packed.as_mut_ptr(), &from, source.as_ptr(), &from) }
            .expect("the test's memory");
        assert!(packed == source);
    }

    #[test]
    fn regions_of_nothing_are_nothing_however_many_rows_they_have() {
        let rows = u32::MAX as usize;
        let region = Region { origin: [0; 3], extent: [0, rows, rows], row_pitch: 0, slice_pitch: 0 };
        assert_eq!(region.end(), Some(0));
        let mut byte = 0;
        // SAFETY: nothing is accessed.
        unsafe { copy_region(&raw mut byte, &region, &raw const byte, &region) }.expect("the test's memory");
    }

    #[test]
    fn regions_beyond_all_addresses_have_no_end() {
        let most = u32::MAX as usize;
        let region =
            |origin, extent, row_pitch, slice_pitch| Region { origin, extent, row_pitch, slice_pitch };
        assert_eq!(region([0; 3], [1, 1, 3], 1, usize::MAX / 2).end(), Some(usize::MAX));
        assert_eq!(region([0; 3], [2, 1, 3], 1, usize::MAX / 2).end(), None);
        assert_eq!(region([0, 0, most], [1, 1, most], 1, most * most).end(), None);
        assert_eq!(region([1, 0, 0], [usize::MAX, 1, 1], 1, 1).end(), None);
    }
}
