//! Attributes of memory that the driver did not allocate: the host's own, which kernels reach all the same.

use crate::fork::Mutex;
use std::ops::Range;
use ze_engine::pages::page_size;
use ze_headers::ze_memory_atomic_attr_exp_flags_t;

/// Atomic access attributes of ranges of addresses. A program sets them on few ranges, so a list.
#[derive(Default)]
pub struct SystemAttributes(Mutex<Vec<(Range<usize>, ze_memory_atomic_attr_exp_flags_t)>>);

impl SystemAttributes {
    /// Sets the attributes of `size` bytes, of one at least.
    pub fn set(&self, start: usize, size: usize, flags: ze_memory_atomic_attr_exp_flags_t) {
        let range = start..start.saturating_add(size.max(1));
        let mut ranges = self.0.lock();
        // Memory that was freed leaves its ranges behind until the next use of its addresses.
        ranges.retain(|(old, _)| old.start < range.start || old.end > range.end);
        if flags != 0 || ranges.iter().any(|(old, _)| old.start < range.end && range.start < old.end) {
            ranges.push((range, flags));
        }
    }

    /// The attributes that were set last, 0 where none were.
    pub fn get(&self, address: usize) -> ze_memory_atomic_attr_exp_flags_t {
        let ranges = self.0.lock();
        ranges.iter().rev().find(|(range, _)| range.contains(&address)).map_or(0, |(_, flags)| *flags)
    }
}

/// Whether all of a range of addresses is memory of the process, of one byte at least.
pub fn is_mapped(start: usize, size: usize) -> bool {
    /// Pages that the system is asked for at once: it fills a byte for each.
    const PAGES: usize = 4096;
    let page = page_size();
    let Some(last) = start.checked_add(size.max(1) - 1) else { return false };
    let mut resident = [0u8; PAGES];
    (start & !(page - 1)..=last).step_by(PAGES * page).all(|from| {
        let bytes = (last - from + 1).min(PAGES * page);
        // SAFETY: the system writes a byte for each page of the range, for which there is room.
        unsafe { libc::mincore(from as *mut libc::c_void, bytes, resident.as_mut_ptr()) == 0 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_process_is_told_from_holes() {
        let own = vec![0u8; 40 << 20];
        let start = own.as_ptr() as usize;
        assert!(
            is_mapped(start, own.len()) && is_mapped(start + 5, 0) && is_mapped(&raw const own as usize, 8)
        );
        assert!(!is_mapped(0, 64) && !is_mapped(usize::MAX - 7, 64) && !is_mapped(usize::MAX - 7, 8));
        assert!(!is_mapped(start, 1 << 46), "past the end");
    }

    #[test]
    fn the_last_attributes_of_an_address_count() {
        let attributes = SystemAttributes::default();
        assert_eq!(attributes.get(1000), 0);
        attributes.set(1000, 100, 2);
        attributes.set(1050, 100, 4);
        assert_eq!([999, 1000, 1049, 1050, 1149, 1150].map(|at| attributes.get(at)), [0, 2, 2, 4, 4, 0]);
        attributes.set(1040, 10, 0);
        assert_eq!([1039, 1040, 1050].map(|at| attributes.get(at)), [2, 0, 4]);
        attributes.set(900, 1000, 0);
        assert_eq!(attributes.get(1050), 0);
        assert!(attributes.0.lock().is_empty());
        attributes.set(usize::MAX, 0, 1);
        attributes.set(5, 0, 1);
        assert_eq!([5, 6].map(|at| attributes.get(at)), [1, 0]);
    }
}
