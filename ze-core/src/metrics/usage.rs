//! What the engine counts of the commands that it executes, while somebody measures.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A number of the engine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    Launches,
    WorkGroups,
    WorkItems,
    Copies,
    CopiedBytes,
}

const COUNTED: usize = 5;

/// The counters of a device.
#[derive(Debug, Default)]
pub struct Usage {
    counters: [AtomicU64; COUNTED],
    /// How many activations count.
    watchers: AtomicUsize,
}

impl Usage {
    /// Itself, while somebody measures.
    pub fn if_watched(&self) -> Option<&Self> {
        (self.watchers.load(Ordering::Relaxed) != 0).then_some(self)
    }

    pub(super) fn watch(&self) {
        self.watchers.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn unwatch(&self) {
        self.watchers.fetch_sub(1, Ordering::Relaxed);
    }

    fn add(&self, what: Counted, number: u64) {
        self.counters[what as usize].fetch_add(number, Ordering::Relaxed);
    }

    /// A kernel ran in so many work-groups of a size.
    pub fn launched(&self, group_count: [u32; 3], group_size: [u32; 3]) {
        let product = |of: [u32; 3]| of.into_iter().map(u64::from).fold(1, u64::wrapping_mul);
        let groups = product(group_count);
        self.add(Counted::Launches, 1);
        self.add(Counted::WorkGroups, groups);
        self.add(Counted::WorkItems, groups.wrapping_mul(product(group_size)));
    }

    /// A copy or fill wrote so many bytes.
    pub fn copied(&self, bytes: usize) {
        self.add(Counted::Copies, 1);
        self.add(Counted::CopiedBytes, bytes as u64);
    }

    pub fn get(&self, what: Counted) -> u64 {
        self.counters[what as usize].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_and_copies_are_counted_with_their_sizes() {
        let usage = Usage::default();
        usage.launched([3, 2, 1], [16, 4, 1]);
        usage.launched([1, 1, 1], [7, 1, 1]);
        usage.copied(100);
        let counted = [
            Counted::Launches,
            Counted::WorkGroups,
            Counted::WorkItems,
            Counted::Copies,
            Counted::CopiedBytes,
        ];
        assert_eq!(counted.map(|what| usage.get(what)), [2, 7, 391, 1, 100]);
    }
}
