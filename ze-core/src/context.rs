//! Contexts: what memory, modules, queues and events belong to.

use crate::device::Device;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::handle::object;
use crate::memory::DeferredFrees;
use crate::system_memory;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use ze_headers::ze_context_handle_t;

/// A context.
pub struct Context {
    driver: Arc<Driver>,
    /// Those that the program made it for; none for all.
    devices: Vec<Arc<Device>>,
    /// Tells the allocations of contexts apart.
    id: u64,
    deferred_frees: DeferredFrees,
}

object!(Context, Context, ze_context_handle_t);

impl Context {
    /// A context of all devices.
    pub fn new(driver: Arc<Driver>) -> Arc<Self> {
        Self::with_devices(driver, Vec::new())
    }

    /// A context of some devices; of all where there is none.
    pub fn with_devices(driver: Arc<Driver>, devices: Vec<Arc<Device>>) -> Arc<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { driver, devices, id, deferred_frees: DeferredFrees::default() })
    }

    pub fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Checks that the context has memory of a device. As with Intel's driver, a context that was made for a device or one of
    /// its parts has all of its memory, and other objects than memory are made for any device.
    pub fn check_device(&self, device: &Device) -> Result<()> {
        let has = |own: &Arc<Device>| own.is_of_the_same_root(device);
        if self.devices.is_empty() || self.devices.iter().any(has) {
            return Ok(());
        }
        // ZE_RESULT_ERROR_DEVICE_LOST: Intel's driver has no other answer
        Err(Error::DeviceLost("the context was made for other devices than this one".into()))
    }

    /// The device that is meant where a call names none.
    pub fn first_device(&self) -> &Arc<Device> {
        self.devices.first().unwrap_or_else(|| self.driver.first_device())
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn deferred_frees(&self) -> &DeferredFrees {
        &self.deferred_frees
    }

    /// `zeContextMakeMemoryResident` and `zeContextEvictMemory`: host memory is always resident, so only the range
    /// is checked. It may be the program's own, which kernels can use as well.
    pub fn check_range(&self, address: *const c_void, size: usize) -> Result<()> {
        let Some((base, bytes)) = self.driver().allocations().bounds(address as usize) else {
            if system_memory::is_mapped(address as usize, size) {
                return Ok(());
            }
            // ZE_RESULT_ERROR_INVALID_ARGUMENT: ptr is not recognized by the implementation
            let reason = format!(
                "{size} bytes at {address:p} are in no allocation, and not all memory of the process"
            );
            return Err(Error::InvalidArgument(reason));
        };
        let end = (address as usize).checked_add(size);
        if end.is_none_or(|end| end > base + bytes) {
            return Err(Error::InvalidSize(format!("{size} bytes at {address:p} reach past the allocation")));
        }
        Ok(())
    }
}
