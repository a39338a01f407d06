//! Virtual memory: reserved addresses, and the physical memory that is mapped there.
//!
//! A reservation knows what is mapped where, and the access to each address, which are independent: access can be set before and
//! after something is mapped. What is mapped is an allocation like others for those who ask about its addresses. The pages have the protection that the program asks for, so the
//! device and the host are stopped by the same means; copies and fills look first, and fail instead of ending the process.
//!
//! Addresses are the process's, and so is the table of reservations.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::fork::Mutex;
use crate::mapping::HUGE_PAGE;
use crate::memfd;
use crate::memory::{Allocation, PAGE_SIZE};
use crate::physical_memory::PhysicalMemory;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use ze_headers::*;

/// `ze_memory_access_attribute_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    None,
    ReadWrite,
    ReadOnly,
}

impl Access {
    /// The access of a code of the API.
    pub fn of(code: ze_memory_access_attribute_t) -> Result<Self> {
        match code {
            ZE_MEMORY_ACCESS_ATTRIBUTE_NONE => Ok(Access::None),
            ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE => Ok(Access::ReadWrite),
            ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY => Ok(Access::ReadOnly),
            other => Err(Error::InvalidEnumeration {
                what: "ze_memory_access_attribute_t",
                value: u64::from(other.0),
            }),
        }
    }

    pub fn code(self) -> ze_memory_access_attribute_t {
        match self {
            Access::None => ZE_MEMORY_ACCESS_ATTRIBUTE_NONE,
            Access::ReadWrite => ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE,
            Access::ReadOnly => ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY,
        }
    }

    fn protection(self) -> i32 {
        match self {
            Access::None => libc::PROT_NONE,
            Access::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
            Access::ReadOnly => libc::PROT_READ,
        }
    }

    fn allows(self, write: bool) -> bool {
        self == Access::ReadWrite || (self == Access::ReadOnly && !write)
    }
}

/// Physical memory in a reservation.
#[derive(Clone)]
struct Mapped {
    len: usize,
    memory: Arc<PhysicalMemory>,
    /// The first byte of the memory that is mapped.
    offset: usize,
}

struct Reservation {
    size: usize,
    context: u64,
    /// The access from an address to the next one, whatever is mapped.
    access: BTreeMap<usize, Access>,
    /// By address.
    mapped: BTreeMap<usize, Mapped>,
}

impl Reservation {
    fn new(at: usize, size: usize, context: u64) -> Self {
        Self { size, context, access: BTreeMap::from([(at, Access::None)]), mapped: BTreeMap::new() }
    }

    fn access_at(&self, at: usize) -> Access {
        self.access.range(..=at).next_back().map_or(Access::None, |(_, access)| *access)
    }

    fn set_access(&mut self, at: usize, end: usize, access: Access) {
        let behind = self.access_at(end);
        self.access.retain(|&start, _| start < at || start > end);
        if self.access.range(..at).next_back().is_none_or(|(_, before)| *before != access) {
            self.access.insert(at, access);
        }
        if behind != access {
            self.access.insert(end, behind);
        }
    }

    /// The stretches of a range, each with its end and its access.
    fn accesses(&self, at: usize, end: usize) -> impl Iterator<Item = (usize, Access)> {
        let ends = self.access.range(at + 1..end).map(|(&start, _)| start).chain([end]);
        let starts = [at].into_iter().chain(self.access.range(at + 1..end).map(|(&start, _)| start));
        starts.zip(ends).map(|(start, end)| (end, self.access_at(start)))
    }

    /// The mappings that a range touches.
    fn mapped_in(&self, at: usize, end: usize) -> impl Iterator<Item = (usize, &Mapped)> {
        let touches = move |(start, mapped): &(&usize, &Mapped)| **start + mapped.len > at;
        self.mapped.range(..end).rev().take_while(touches).map(|(&start, mapped)| (start, mapped))
    }

    /// The first address of a range that commands cannot access.
    fn inaccessible(&self, at: usize, end: usize, write: bool) -> Option<usize> {
        let mapped: usize = self
            .mapped_in(at, end)
            .map(|(start, mapped)| (start + mapped.len).min(end) - start.max(at))
            .sum();
        let forbidden = self.accesses(at, end).find(|(_, access)| !access.allows(write));
        (mapped != end - at || forbidden.is_some()).then_some(at)
    }
}

static RESERVATIONS: Mutex<BTreeMap<usize, Reservation>> = Mutex::new(BTreeMap::new());
/// How many there are: most programs have none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Checks that commands can access memory: what is in no reservation they can, as far as anybody knows.
pub fn check_access(at: usize, len: usize, write: bool) -> Result<()> {
    if COUNT.load(Ordering::Acquire) == 0 || len == 0 {
        return Ok(());
    }
    let end = at.saturating_add(len);
    let reservations = RESERVATIONS.lock();
    let touched = reservations.range(..end).rev().take_while(|(start, own)| **start + own.size > at);
    for (&start, reservation) in touched {
        let (from, to) = (start.max(at), (start + reservation.size).min(end));
        if let Some(at) = reservation.inaccessible(from, to, write) {
            let what = if write { "written to" } else { "read" };
            let reason =
                format!("{} bytes at {at:#x} are reserved, and not all of them can be {what}", to - at);
            return Err(Error::InvalidArgument(reason));
        }
    }
    Ok(())
}

/// `zeVirtualMemQueryPageSize`: one size for all. A size of 0 is asked for by the conformance tests.
pub fn page_size() -> usize {
    PAGE_SIZE
}

fn check_pages(at: usize, size: usize) -> Result<()> {
    // ZE_RESULT_ERROR_UNSUPPORTED_SIZE: 0 == size, and a size that is not in whole pages
    if size == 0 || !size.is_multiple_of(PAGE_SIZE) {
        return Err(Error::UnsupportedSize(format!("{size} bytes are not whole pages of {PAGE_SIZE}")));
    }
    // ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT: address must be page aligned
    if !at.is_multiple_of(PAGE_SIZE) {
        return Err(Error::UnsupportedAlignment(at));
    }
    Ok(())
}

impl Context {
    /// `zeVirtualMemReserve`; a wish for an address is fulfilled where the addresses are free.
    pub fn reserve_virtual(&self, wanted: usize, size: usize) -> Result<*mut c_void> {
        check_pages(0, size)?;
        let alignment = if size >= HUGE_PAGE { HUGE_PAGE } else { PAGE_SIZE };
        let wanted = wanted.checked_next_multiple_of(PAGE_SIZE).unwrap_or(0);
        let at = memfd::reserve_near(wanted, size, alignment)
            .ok_or_else(|| Error::OutOfHostMemory(format!("{size} bytes of addresses are not to be had")))?;
        RESERVATIONS.lock().insert(at, Reservation::new(at, size, self.id()));
        COUNT.fetch_add(1, Ordering::Release);
        Ok(at as *mut c_void)
    }

    /// `zeVirtualMemFree`: of a whole reservation.
    pub fn free_virtual(&self, at: usize, size: usize) -> Result<()> {
        check_pages(at, size)?;
        let mut reservations = RESERVATIONS.lock();
        let whole = reservations.get(&at).is_some_and(|own| own.size == size && own.context == self.id());
        let Some(reservation) = whole.then(|| reservations.remove(&at)).flatten() else {
            return Err(Error::InvalidArgument(format!(
                "{size} bytes at {at:#x} are not a reservation of this context"
            )));
        };
        COUNT.fetch_sub(1, Ordering::Release);
        reservation.mapped.keys().for_each(|&start| self.divide(start, &[]));
        // SAFETY: the addresses are the reservation's, which the program gives up.
        unsafe { memfd::unmap(at, size) };
        Ok(())
    }

    /// Does something with the reservation of this context that a range is in.
    fn in_reservation<T>(
        &self,
        (at, size): (usize, usize),
        action: impl FnOnce(&mut Reservation) -> Result<T>,
    ) -> Result<T> {
        check_pages(at, size)?;
        let mut reservations = RESERVATIONS.lock();
        let found = reservations.range_mut(..=at).next_back().filter(|(start, own)| {
            let end = at.checked_add(size);
            own.context == self.id() && end.is_some_and(|end| end <= **start + own.size)
        });
        let (_, reservation) = found.ok_or_else(|| {
            Error::InvalidArgument(format!("{size} bytes at {at:#x} are in no reservation of this context"))
        })?;
        action(reservation)
    }

    /// `zeVirtualMemMap`.
    pub fn map_virtual(
        &self,
        (at, size): (usize, usize),
        memory: &Arc<PhysicalMemory>,
        offset: usize,
        access: Access,
    ) -> Result<()> {
        if !offset.is_multiple_of(PAGE_SIZE) {
            return Err(Error::UnsupportedAlignment(offset));
        }
        self.in_reservation((at, size), |reservation| {
            if offset.checked_add(size).is_none_or(|end| end > memory.size()) {
                let of = memory.size();
                let reason = format!("{size} bytes from {offset} on of physical memory of {of} bytes");
                return Err(Error::InvalidArgument(reason));
            }
            if reservation.mapped_in(at, at + size).next().is_some() {
                return Err(Error::InvalidArgument(format!(
                    "something is mapped at {at:#x}: unmap it first"
                )));
            }
            let mapped = Mapped { len: size, memory: Arc::clone(memory), offset };
            // SAFETY: the addresses are the reservation's, and nothing is mapped there.
            unsafe { memory.shared().memory().map_at(at, offset, size, access.protection()) }?;
            reservation.set_access(at, at + size, access);
            let allocation = Allocation::mapped_in_reservation(memory, (at, size), offset);
            allocation.into_iter().for_each(|memory| self.driver().allocations().insert(Arc::new(memory)));
            reservation.mapped.insert(at, mapped);
            Ok(())
        })
    }

    /// A mapping is no allocation any more, but its parts are that stay. At every moment, an address of what stays is in an allocation.
    /// The table lets go of the old one some time later, of its memory now.
    fn divide(&self, at: usize, parts: &[(usize, Mapped)]) {
        let allocations = parts.iter().filter_map(|(start, Mapped { len, memory, offset })| {
            Allocation::mapped_in_reservation(memory, (*start, *len), *offset).map(Arc::new)
        });
        let old = self.driver().allocations().replace(at, allocations.collect());
        old.into_iter().for_each(|old| old.release());
    }

    /// `zeVirtualMemUnmap`: whatever is mapped there, also parts of mappings, and nothing.
    pub fn unmap_virtual(&self, at: usize, size: usize) -> Result<()> {
        self.in_reservation((at, size), |reservation| {
            let end = at + size;
            // SAFETY: the addresses are the reservation's, and the program gives up what is mapped there.
            if !unsafe { memfd::make_reserved(at, size) } {
                return Err(Error::OutOfHostMemory(format!("{size} bytes could not be unmapped")));
            }
            reservation.set_access(at, end, Access::None);
            let touched: Vec<_> =
                reservation.mapped_in(at, end).map(|(start, mapped)| (start, mapped.clone())).collect();
            for (start, mapped) in touched {
                let mut parts = Vec::new();
                if start + mapped.len > end {
                    let (len, offset) = (start + mapped.len - end, mapped.offset + (end - start));
                    parts.push((end, Mapped { len, offset, memory: Arc::clone(&mapped.memory) }));
                }
                if start < at {
                    parts.push((start, Mapped { len: at - start, ..mapped }));
                }
                self.divide(start, &parts);
                reservation.mapped.remove(&start);
                reservation.mapped.extend(parts);
            }
            Ok(())
        })
    }

    /// `zeVirtualMemSetAccessAttribute`. What nothing is mapped in stays inaccessible.
    pub fn set_virtual_access(&self, at: usize, size: usize, access: Access) -> Result<()> {
        self.in_reservation((at, size), |reservation| {
            let end = at + size;
            for (start, mapped) in reservation.mapped_in(at, end) {
                let (from, to) = (start.max(at), (start + mapped.len).min(end));
                // SAFETY: the addresses are the reservation's.
                if unsafe { libc::mprotect(from as *mut c_void, to - from, access.protection()) } != 0 {
                    let reason = std::io::Error::last_os_error();
                    return Err(Error::OutOfHostMemory(format!("access to {} bytes: {reason}", to - from)));
                }
            }
            reservation.set_access(at, end, access);
            Ok(())
        })
    }

    /// `zeVirtualMemGetAccessAttribute`: the access at an address, and how many bytes of the range have the same.
    pub fn virtual_access(&self, at: usize, size: usize) -> Result<(Access, usize)> {
        self.in_reservation((at, size), |reservation| {
            let access = reservation.access_at(at);
            let same = reservation.accesses(at, at + size).take_while(|(_, other)| *other == access);
            Ok((access, same.last().map_or(0, |(end, _)| end - at)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Driver;
    use crate::memory::MemoryKind;

    const PAGE: usize = PAGE_SIZE;

    fn context() -> Arc<Context> {
        Context::new(Driver::for_tests())
    }

    fn physical(context: &Context, pages: usize) -> Arc<PhysicalMemory> {
        PhysicalMemory::new(context, None, pages * PAGE, None).expect("memory is there")
    }

    fn reserve(context: &Context, pages: usize) -> usize {
        context.reserve_virtual(0, pages * PAGE).expect("addresses are there") as usize
    }

    fn found(context: &Context, at: usize) -> Option<(usize, usize)> {
        context.address_range(at as *const c_void).ok().map(|(base, size)| (base as usize, size))
    }

    #[test]
    fn a_mapping_is_an_allocation_that_any_address_inside_finds() {
        let context = context();
        let (memory, at) = (physical(&context, 4), reserve(&context, 8));
        assert_eq!(found(&context, at), None);
        context.map_virtual((at + PAGE, 4 * PAGE), &memory, 0, Access::ReadWrite).expect("free");
        assert_eq!(found(&context, at + 3 * PAGE + 5), Some((at + PAGE, 4 * PAGE)));
        assert_eq!(found(&context, at + 5 * PAGE), None);
        let mapped = context.find_allocation((at + PAGE) as *const c_void).expect("it is mapped");
        assert_eq!(mapped.kind(), MemoryKind::Host);
        assert!(context.free((at + PAGE) as *mut c_void, 0).is_err(), "it is no allocation to free");
        context.free_virtual(at, 8 * PAGE).expect("a whole reservation");
        assert_eq!(found(&context, at + 3 * PAGE), None);
    }

    #[test]
    fn what_is_left_of_a_mapping_is_known_by_its_own_range() {
        let context = context();
        let (memory, at) = (physical(&context, 8), reserve(&context, 8));
        context.map_virtual((at, 8 * PAGE), &memory, 0, Access::ReadWrite).expect("free");
        // SAFETY: it is mapped.
        unsafe { *((at + 6 * PAGE) as *mut u8) = 9 };
        context.unmap_virtual(at + 2 * PAGE, 3 * PAGE).expect("mapped");
        assert_eq!(found(&context, at + PAGE), Some((at, 2 * PAGE)));
        assert_eq!(found(&context, at + 3 * PAGE), None);
        assert_eq!(found(&context, at + 7 * PAGE), Some((at + 5 * PAGE, 3 * PAGE)));
        context.unmap_virtual(at, 8 * PAGE).expect("what is not mapped is unmapped too");
        assert_eq!(found(&context, at + 7 * PAGE), None);
        // The memory keeps its bytes, and offsets are those of the memory.
        context.map_virtual((at, PAGE), &memory, 6 * PAGE, Access::ReadOnly).expect("free");
        // SAFETY: it is mapped.
        assert_eq!(unsafe { *(at as *const u8) }, 9);
        context.free_virtual(at, 8 * PAGE).expect("a whole reservation");
    }

    #[test]
    fn access_is_told_for_the_stretch_that_shares_it() {
        let context = context();
        let (memory, at) = (physical(&context, 8), reserve(&context, 8));
        assert_eq!(context.virtual_access(at, 8 * PAGE).expect("reserved"), (Access::None, 8 * PAGE));
        context.map_virtual((at + PAGE, 4 * PAGE), &memory, 0, Access::ReadWrite).expect("free");
        context.set_virtual_access(at + 2 * PAGE, PAGE, Access::ReadOnly).expect("mapped");
        let stretches = [0, 1, 2, 3, 5].map(|page| context.virtual_access(at + page * PAGE, 3 * PAGE));
        let pages =
            stretches.map(|stretch| stretch.map(|(access, len)| (access, len / PAGE)).expect("reserved"));
        use Access::{None, ReadOnly, ReadWrite};
        assert_eq!(pages, [(None, 1), (ReadWrite, 1), (ReadOnly, 1), (ReadWrite, 2), (None, 3)]);
        context.set_virtual_access(at + 2 * PAGE, PAGE, ReadWrite).expect("mapped");
        assert_eq!(context.virtual_access(at + PAGE, 7 * PAGE).expect("reserved"), (ReadWrite, 4 * PAGE));
        context.unmap_virtual(at + PAGE, 2 * PAGE).expect("mapped");
        assert_eq!(context.virtual_access(at, 8 * PAGE).expect("reserved"), (None, 3 * PAGE));
        context.free_virtual(at, 8 * PAGE).expect("a whole reservation");
    }

    #[test]
    fn commands_find_out_what_they_cannot_access() {
        let context = context();
        let (memory, at) = (physical(&context, 4), reserve(&context, 4));
        let denied = |from: usize, len: usize, write| check_access(from, len, write).is_err();
        assert!(denied(at, 1, false) && denied(at - 1, 2, false) && denied(at, usize::MAX, true));
        assert!(!denied(at, 0, true) && !denied(at - PAGE, PAGE, true) && !denied(at + 4 * PAGE, 1, true));
        context.map_virtual((at, 2 * PAGE), &memory, 0, Access::ReadWrite).expect("free");
        assert!(!denied(at, 2 * PAGE, true) && denied(at + PAGE, PAGE + 1, false));
        context.set_virtual_access(at, PAGE, Access::ReadOnly).expect("mapped");
        assert!(
            !denied(at, 2 * PAGE, false) && denied(at + PAGE - 1, 2, true) && !denied(at + PAGE, 1, true)
        );
        context.free_virtual(at, 4 * PAGE).expect("a whole reservation");
        assert!(!denied(at, PAGE, true), "that is not known any more");
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_changes_nothing() {
        let (context, other) = (context(), context());
        let (memory, at) = (physical(&context, 2), reserve(&context, 4));
        let map = |at, size, offset| context.map_virtual((at, size), &memory, offset, Access::ReadWrite);
        assert!(matches!(map(at, 0, 0), Err(Error::UnsupportedSize(_))));
        assert!(matches!(map(at, PAGE + 1, 0), Err(Error::UnsupportedSize(_))));
        assert!(matches!(map(at + 8, PAGE, 0), Err(Error::UnsupportedAlignment(_))));
        assert!(matches!(map(at, PAGE, 8), Err(Error::UnsupportedAlignment(_))));
        for (from, size, offset) in [
            (at, 3 * PAGE, 0),
            (at, 2 * PAGE, PAGE),
            (at, PAGE, usize::MAX - PAGE + 1),
            (at + 3 * PAGE, 2 * PAGE, 0),
            (at - PAGE, 2 * PAGE, 0),
            (usize::MAX - PAGE + 1, PAGE, 0),
            (PAGE, PAGE, 0),
        ] {
            assert!(matches!(map(from, size, offset), Err(Error::InvalidArgument(_))), "{from:#x} {size}");
        }
        assert!(other.map_virtual((at, PAGE), &memory, 0, Access::ReadWrite).is_err(), "another's");
        map(at + PAGE, PAGE, 0).expect("nothing of the above was mapped");
        assert!(matches!(map(at, 2 * PAGE, 0), Err(Error::InvalidArgument(_))), "a page is in use");
        for (from, size) in [(at, 3 * PAGE), (at + PAGE, 3 * PAGE), (at, 5 * PAGE)] {
            assert!(matches!(context.free_virtual(from, size), Err(Error::InvalidArgument(_))));
        }
        assert!(other.free_virtual(at, 4 * PAGE).is_err(), "another's");
        context.free_virtual(at, 4 * PAGE).expect("it is whole");
        assert!(context.free_virtual(at, 4 * PAGE).is_err(), "it is free");
        assert!(matches!(context.reserve_virtual(0, 0), Err(Error::UnsupportedSize(_))));
        assert!(matches!(context.reserve_virtual(0, usize::MAX - PAGE + 1), Err(Error::OutOfHostMemory(_))));
    }

    #[test]
    fn physical_memory_counts_until_its_last_mapping_is_gone() {
        let mut profile = ze_extensions::DeviceProfile::host();
        profile.memory.total_size = 8 * PAGE as u64;
        let context = Context::new(Driver::with_profile(profile));
        let device = || Some(Arc::clone(context.driver().device()));
        let make = |pages| PhysicalMemory::new(&context, device(), pages * PAGE, None);
        let (memory, at) = (make(6).expect("there is room"), reserve(&context, 6));
        assert!(matches!(make(3), Err(Error::OutOfDeviceMemory(_))));
        context.map_virtual((at, 6 * PAGE), &memory, 0, Access::ReadWrite).expect("free");
        drop(memory);
        assert!(make(3).is_err(), "it is mapped");
        context.free_virtual(at, 6 * PAGE).expect("a whole reservation");
        for pages in [8, 8] {
            drop(make(pages).expect("there is room again"));
        }
    }
}
