//! What every handle begins with: the four pointers to the driver's DDI tables.
//!
//! A loader from 1.23 on that drives several drivers (or intercepts the only one) dispatches a call through the
//! handle: it takes the first word for `ze*`, the second for `zet*`, the third for `zes*` and the fourth for `zer*`
//! functions, checks that the aggregate table is marked valid and at least of the version in which the function
//! appeared, and jumps through it. It never writes to the tables. It does so for drivers that report
//! `ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED`; other loaders wrap handles and never look inside.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::{
    ze_dditable_driver_t, ze_handle_t, zer_dditable_driver_t, zes_dditable_driver_t, zet_dditable_driver_t,
};

/// The first four words of every object that a handle points to. An object holds one as its first field and is
/// `#[repr(C)]`.
///
/// ```
/// #[repr(C)]
/// struct Fence {
///     header: ze_headers::HandleHeader,
///     signaled: bool,
/// }
/// let fence = Fence { header: ze_headers::HandleHeader::new(), signaled: false };
/// assert_eq!((&raw const fence).cast(), &raw const fence.header);
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct HandleHeader(ze_handle_t);

// SAFETY: the pointers lead to tables that are never written after `publish_tables`.
unsafe impl Send for HandleHeader {}
// SAFETY: as above.
unsafe impl Sync for HandleHeader {}

/// The driver's aggregate tables.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub core: &'static ze_dditable_driver_t,
    pub tools: &'static zet_dditable_driver_t,
    pub sysman: &'static zes_dditable_driver_t,
    pub runtime: &'static zer_dditable_driver_t,
}

static CORE: AtomicPtr<ze_dditable_driver_t> = AtomicPtr::new(ptr::null_mut());
static TOOLS: AtomicPtr<zet_dditable_driver_t> = AtomicPtr::new(ptr::null_mut());
static SYSMAN: AtomicPtr<zes_dditable_driver_t> = AtomicPtr::new(ptr::null_mut());
static RUNTIME: AtomicPtr<zer_dditable_driver_t> = AtomicPtr::new(ptr::null_mut());

/// Says where the tables are that handles point to. The crate that owns the entry points calls it when it is loaded,
/// before there is any handle: the crates that create handles do not depend on it.
pub fn publish_tables(tables: &Tables) {
    CORE.store(ptr::from_ref(tables.core).cast_mut(), Ordering::Relaxed);
    TOOLS.store(ptr::from_ref(tables.tools).cast_mut(), Ordering::Relaxed);
    SYSMAN.store(ptr::from_ref(tables.sysman).cast_mut(), Ordering::Relaxed);
    RUNTIME.store(ptr::from_ref(tables.runtime).cast_mut(), Ordering::Relaxed);
}

impl HandleHeader {
    /// A header that points to the published tables. (In a program without entry points, such as the unit tests of a
    /// crate below them, nothing is published and the words are null.)
    pub fn new() -> HandleHeader {
        HandleHeader(ze_handle_t {
            pCore: CORE.load(Ordering::Relaxed),
            pTools: TOOLS.load(Ordering::Relaxed),
            pSysman: SYSMAN.load(Ordering::Relaxed),
            pRuntime: RUNTIME.load(Ordering::Relaxed),
        })
    }
}

impl Default for HandleHeader {
    fn default() -> Self {
        HandleHeader::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_four_words() {
        assert_eq!(size_of::<HandleHeader>(), 4 * size_of::<usize>());
        assert_eq!(align_of::<HandleHeader>(), align_of::<usize>());
    }
}
