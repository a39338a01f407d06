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

/// How a kernel may access memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    ReadAndWrite,
}

/// Whether all of a range of addresses is memory of the process with this access, as the system's list of its mappings says.
pub fn has_access(start: usize, size: usize, access: Access) -> bool {
    let Some(end) = start.checked_add(size) else { return false };
    let Ok(mappings) = std::fs::read_to_string("/proc/self/maps") else { return is_mapped(start, size) };
    let mut reached = start;
    for line in mappings.lines() {
        let Some((from, to, permissions)) = mapping(line) else { continue };
        if to <= reached {
            continue;
        }
        let allowed = permissions.starts_with(if access == Access::Read { "r" } else { "rw" });
        if from > reached || !allowed {
            return false;
        }
        reached = to;
        if reached >= end {
            return true;
        }
    }
    false
}

/// A line of `/proc/self/maps`: where the mapping begins and ends, and what may be done there.
fn mapping(line: &str) -> Option<(usize, usize, &str)> {
    let mut words = line.split(' ');
    let (from, to) = words.next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some((address(from)?, address(to)?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_is_what_all_mappings_of_a_range_have() {
        const PAGE: usize = 4096;
        let map = |at: usize, pages: usize, protection| {
            let fixed = if at == 0 { 0 } else { libc::MAP_FIXED };
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
            // SAFETY: new memory, or a part of what this test has mapped.
            let memory = unsafe { libc::mmap(at as *mut _, pages * PAGE, protection, flags, -1, 0) };
            assert_ne!(memory, libc::MAP_FAILED);
            memory as usize
        };
        let start = map(0, 4, libc::PROT_READ | libc::PROT_WRITE);
        map(start + 2 * PAGE, 1, libc::PROT_READ);
        map(start + 3 * PAGE, 1, libc::PROT_NONE);
        let read = |pages| has_access(start, pages * PAGE, Access::Read);
        let both = |pages| has_access(start, pages * PAGE, Access::ReadAndWrite);
        assert_eq!([1, 2, 3, 4].map(read), [true, true, true, false]);
        assert_eq!([1, 2, 3, 4].map(both), [true, true, false, false]);
        assert!(!has_access(usize::MAX - PAGE, 2 * PAGE, Access::Read) && !has_access(0, PAGE, Access::Read));
        // SAFETY: what was mapped above.
        unsafe { libc::munmap(start as *mut _, 4 * PAGE) };
    }

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
