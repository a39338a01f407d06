//! Which allocation an address belongs to.
//!
//! Every SYCL operation asks this for its pointers, so reads take no lock: a lock-free skip list ordered by
//! base address, whose nodes are reclaimed by epochs. A thread that looks holds back the reclamation, for ever if it
//! does so while the process forks and is none of the child's: every look is a section.

use crate::fork;
use crossbeam_skiplist::SkipMap;
use std::ops::Bound;
use std::sync::Arc;

/// Something with a range of addresses.
pub trait Range {
    fn base(&self) -> usize;
    /// Bytes, at least 1.
    fn size(&self) -> usize;
}

/// Disjoint ranges, found by any address inside.
pub struct RangeMap<T> {
    by_base: SkipMap<usize, Arc<T>>,
}

impl<T: Range + Send + Sync + 'static> RangeMap<T> {
    pub fn new() -> Self {
        Self { by_base: SkipMap::new() }
    }

    /// Adds a range that overlaps none of those in the map.
    pub fn insert(&self, range: Arc<T>) {
        let _section = fork::section();
        self.by_base.insert(range.base(), range);
    }

    /// The range that the address is in.
    pub fn find(&self, address: usize) -> Option<Arc<T>> {
        let _section = fork::section();
        let entry = self.by_base.upper_bound(Bound::Included(&address))?;
        let range = entry.value();
        (address - range.base() < range.size()).then(|| Arc::clone(range))
    }

    /// Takes out the range that begins at the address.
    pub fn remove(&self, base: usize) -> Option<Arc<T>> {
        let _section = fork::section();
        self.by_base.remove(&base).map(|entry| Arc::clone(entry.value()))
    }

    /// Every range, in no particular moment of concurrent changes.
    pub fn iter(&self) -> impl Iterator<Item = Arc<T>> + '_ {
        let _section = fork::section();
        self.by_base.iter().map(|entry| Arc::clone(entry.value())).collect::<Vec<_>>().into_iter()
    }
}

impl<T: Range + Send + Sync + 'static> Default for RangeMap<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[derive(Debug)]
    struct Block {
        base: usize,
        size: usize,
    }

    impl Range for Block {
        fn base(&self) -> usize {
            self.base
        }
        fn size(&self) -> usize {
            self.size
        }
    }

    #[test]
    fn interior_pointers_find_their_range() {
        let map = RangeMap::new();
        for base in [0x1000, 0x3000, 0x2000] {
            map.insert(Arc::new(Block { base, size: 0x800 }));
        }
        assert_eq!(map.find(0x1000).map(|block| block.base), Some(0x1000));
        assert_eq!(map.find(0x27ff).map(|block| block.base), Some(0x2000));
        assert!(map.find(0x2800).is_none() && map.find(0xfff).is_none() && map.find(usize::MAX).is_none());
        assert!(map.remove(0x2001).is_none());
        assert!(map.remove(0x2000).is_some() && map.find(0x2000).is_none());
        assert_eq!(map.iter().count(), 2);
    }

    #[test]
    fn readers_see_live_ranges_while_others_come_and_go() {
        let map = Arc::new(RangeMap::new());
        map.insert(Arc::new(Block { base: 1 << 30, size: 4096 }));
        let stop = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (map, stop) = (Arc::clone(&map), Arc::clone(&stop));
                thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let block = map.find((1 << 30) + 17).expect("it is never removed");
                        assert_eq!(block.base, 1 << 30);
                        if let Some(block) = map.find(0x5010) {
                            assert_eq!((block.base, block.size), (0x5000, 0x100));
                        }
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..2)
            .map(|writer: usize| {
                let map = Arc::clone(&map);
                thread::spawn(move || {
                    for round in 0..3000 {
                        let base = if writer == 0 { 0x5000 } else { 0x9000 + (round % 7) * 0x100 };
                        map.insert(Arc::new(Block { base, size: 0x100 }));
                        assert!(map.remove(base).is_some());
                    }
                })
            })
            .collect();
        assert!(writers.into_iter().all(|thread| thread.join().is_ok()));
        stop.store(true, Ordering::Relaxed);
        assert!(readers.into_iter().all(|thread| thread.join().is_ok()));
    }
}
