//! Small allocations: blocks of a power of two of pages, in slabs of one huge page that hold blocks of one size.
//!
//! Blocks are whole pages and lie apart from the heap. Programs that write a few bytes behind their memory, as some of the
//! conformance tests do, spoil nothing of the process's; devices, whose allocations are pages too, forgive them as well. And one
//! block can be given to another process without its neighbours.

use crate::fork::Mutex;
use crate::mapping::{self, Mapping};
use std::collections::BTreeMap;

/// Bits of the sizes of blocks: a page to half of a slab.
const LEAST_SHIFT: u32 = 12;
const MOST_SHIFT: u32 = SLAB_BYTES.ilog2() - 1;
const SLAB_BYTES: usize = mapping::HUGE_PAGE;
/// The largest block.
pub const LARGEST: usize = 1 << MOST_SHIFT;
const MOST_BLOCKS: usize = SLAB_BYTES >> LEAST_SHIFT;
const WORD_BITS: usize = u64::BITS as usize;

/// A block that is in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub start: usize,
    shift: u32,
}

struct Slab {
    /// A bit for each block that is free.
    free: [u64; MOST_BLOCKS / WORD_BITS],
    used: usize,
}

impl Slab {
    fn new(blocks: usize) -> Self {
        let mut free = [0; MOST_BLOCKS / WORD_BITS];
        for block in 0..blocks {
            free[block / WORD_BITS] |= 1 << (block % WORD_BITS);
        }
        Self { free, used: 0 }
    }

    fn take(&mut self) -> Option<usize> {
        let (at, word) = self.free.iter_mut().enumerate().find(|(_, word)| **word != 0)?;
        let bit = word.trailing_zeros() as usize;
        *word &= *word - 1;
        self.used += 1;
        Some(at * WORD_BITS + bit)
    }

    fn give_back(&mut self, block: usize) {
        self.free[block / WORD_BITS] |= 1 << (block % WORD_BITS);
        self.used -= 1;
    }
}

/// The slabs of one size of blocks.
struct Class {
    /// By their addresses.
    slabs: BTreeMap<usize, Slab>,
    /// Those with free blocks.
    available: Vec<usize>,
}

impl Class {
    const fn new() -> Self {
        Self { slabs: BTreeMap::new(), available: Vec::new() }
    }

    fn take(&mut self, shift: u32) -> Option<usize> {
        if self.available.is_empty() {
            self.available.try_reserve(1).ok()?;
            let slab = mapping::take_exact(SLAB_BYTES, SLAB_BYTES)
                .or_else(|| mapping::new(SLAB_BYTES, SLAB_BYTES))?;
            self.slabs.insert(slab.start, Slab::new(SLAB_BYTES >> shift));
            self.available.push(slab.start);
        }
        let start = *self.available.last()?;
        let slab = self.slabs.get_mut(&start)?;
        let block = slab.take()?;
        if slab.used == SLAB_BYTES >> shift {
            self.available.pop();
        }
        Some(start + (block << shift))
    }

    fn give_back(&mut self, address: usize, shift: u32) {
        let start = address & !(SLAB_BYTES - 1);
        let Some(slab) = self.slabs.get_mut(&start) else { return };
        let was_full = slab.used == SLAB_BYTES >> shift;
        slab.give_back((address - start) >> shift);
        let is_empty = slab.used == 0;
        if was_full && self.available.try_reserve(1).is_ok() {
            self.available.push(start);
        }
        // One is kept: a program that allocates and frees one block again and again maps nothing.
        if is_empty && self.available.len() > 1 {
            self.available.retain(|&other| other != start);
            self.slabs.remove(&start);
            mapping::keep(Mapping { start, len: SLAB_BYTES });
        }
    }
}

static CLASSES: [Mutex<Class>; (MOST_SHIFT - LEAST_SHIFT + 1) as usize] =
    [const { Mutex::new(Class::new()) }; (MOST_SHIFT - LEAST_SHIFT + 1) as usize];

/// A block of at least this many bytes, at most [`LARGEST`], that is aligned to its size.
pub fn take(size: usize) -> Option<Block> {
    let shift = size.checked_next_power_of_two()?.ilog2().max(LEAST_SHIFT);
    let start = CLASSES.get((shift - LEAST_SHIFT) as usize)?.lock().take(shift)?;
    Some(Block { start, shift })
}

/// Gives a block back.
pub fn give_back(block: Block) {
    if let Some(class) = CLASSES.get((block.shift - LEAST_SHIFT) as usize) {
        class.lock().give_back(block.start, block.shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn blocks_are_aligned_apart_and_used_again() {
        for size in [1, 4096, 4097, 100_000, LARGEST] {
            let block_bytes = size.next_power_of_two().max(4096);
            let count = 2 * SLAB_BYTES / block_bytes + 1;
            let blocks: Vec<_> = (0..count).map(|_| take(size).expect("memory is there")).collect();
            let starts: BTreeSet<_> = blocks.iter().map(|block| block.start).collect();
            assert_eq!(starts.len(), count);
            assert!(starts.iter().all(|start| start.is_multiple_of(block_bytes)));
            let apart = starts.iter().zip(starts.iter().skip(1)).all(|(a, b)| b - a >= block_bytes);
            assert!(apart, "{size}");
            blocks.into_iter().for_each(give_back);
        }
        assert!(take(LARGEST + 1).is_none() && take(usize::MAX).is_none());
    }

    #[test]
    fn a_class_keeps_one_slab_that_nothing_is_in() {
        let mut class = Class::new();
        let shift = MOST_SHIFT;
        let blocks: Vec<_> = (0..6).map(|_| class.take(shift).expect("memory is there")).collect();
        assert_eq!((class.slabs.len(), class.available.len()), (3, 0));
        blocks.iter().for_each(|&block| class.give_back(block, shift));
        assert_eq!((class.slabs.len(), class.available.len()), (1, 1));
        let again = class.take(shift).expect("it is there");
        assert!(blocks.contains(&again));
        class.give_back(again, shift);
    }
}
