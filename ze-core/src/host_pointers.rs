//! Host memory that a program imports (`zexDriverImportExternalPointer`): the device reaches all memory anyway, so that it is only
//! known.

use crate::allocations::{Range, RangeMap};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::fork::{Mutex, MutexGuard};
use std::sync::Arc;

/// A range of host memory.
pub struct HostRange {
    base: usize,
    size: usize,
}

impl Range for HostRange {
    fn base(&self) -> usize {
        self.base
    }

    fn size(&self) -> usize {
        self.size
    }
}

/// The ranges that are imported.
#[derive(Default)]
pub struct HostPointers {
    ranges: RangeMap<HostRange>,
    /// Held while a range is added: none overlaps another.
    adding: Mutex<()>,
}

impl HostPointers {
    /// Held while memory of the program's becomes an allocation.
    pub(crate) fn importing(&self) -> MutexGuard<'_, ()> {
        self.adding.lock()
    }
}

impl Driver {
    /// `zexDriverImportExternalPointer`. A range that is imported already, or a part of it, is no error.
    pub fn import_pointer(&self, address: usize, size: usize) -> Result<()> {
        let end = address.checked_add(size).filter(|_| size != 0);
        let end = end.ok_or_else(|| Error::InvalidSize(format!("{size} bytes at {address:#x}")))?;
        let pointers = self.host_pointers();
        let _adding = pointers.adding.lock();
        let first = pointers.ranges.find(address);
        if first.as_ref().is_some_and(|range| end <= range.base + range.size) {
            return Ok(());
        }
        let last = pointers.ranges.find(end - 1);
        let inside = pointers.ranges.iter().any(|range| (address..end).contains(&range.base));
        if first.is_some() || last.is_some() || inside {
            return Err(Error::OverlappingRegions);
        }
        pointers.ranges.insert(Arc::new(HostRange { base: address, size }));
        Ok(())
    }

    /// `zexDriverReleaseImportedPointer`: any address inside.
    pub fn release_pointer(&self, address: usize) -> Result<()> {
        let base = self.imported_base(address)?;
        self.host_pointers().ranges.remove(base).map(drop).ok_or_else(|| unknown(address))
    }

    /// `zexDriverGetHostPointerBaseAddress`.
    pub fn imported_base(&self, address: usize) -> Result<usize> {
        let range = self.host_pointers().ranges.find(address);
        range.map(|range| range.base).ok_or_else(|| unknown(address))
    }
}

fn unknown(address: usize) -> Error {
    Error::InvalidArgument(format!("{address:#x} is in no memory that was imported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_imported_once_found_by_any_address_and_released() {
        let driver = Driver::for_tests();
        driver.import_pointer(0x1000, 0x100).expect("free");
        driver.import_pointer(0x1010, 0x20).expect("a part of it");
        for (base, size) in [(0x1080, 0x100), (0xf80, 0x100), (0xf00, 0x1000)] {
            assert!(matches!(driver.import_pointer(base, size), Err(Error::OverlappingRegions)));
        }
        assert!(matches!(driver.import_pointer(0x2000, 0), Err(Error::InvalidSize(_))));
        assert!(matches!(driver.import_pointer(usize::MAX, 2), Err(Error::InvalidSize(_))));
        assert_eq!(driver.imported_base(0x10ff).expect("inside"), 0x1000);
        assert!(driver.imported_base(0x1100).is_err() && driver.release_pointer(0xfff).is_err());
        driver.release_pointer(0x1080).expect("inside");
        assert!(driver.release_pointer(0x1000).is_err());
        driver.import_pointer(0xf80, 0x1000).expect("free again");
    }
}
