//! Physical memory objects: memory without an address, which reservations map.

use crate::budget::Budget;
use crate::context::Context;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::external_memory::{self, Shared};
use crate::handle::object;
use crate::memory::{MemoryKind, PAGE_SIZE, new_id};
use crate::pnext::{Outputs, structures};
use std::os::fd::RawFd;
use std::sync::Arc;
use ze_headers::*;

structures! {
    ze_physical_mem_desc_t = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC;
    ze_physical_mem_properties_t = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES;
}

/// A physical memory object. Mappings keep it alive.
pub struct PhysicalMemory {
    shared: Arc<Shared>,
    size: usize,
    kind: MemoryKind,
    device: Option<Arc<Device>>,
    id: u64,
    /// What it is counted against; nothing where it is somebody else's.
    budget: Option<Arc<Budget>>,
}

object!(PhysicalMemory, PhysicalMemory, ze_physical_mem_handle_t);

impl Drop for PhysicalMemory {
    fn drop(&mut self) {
        if let Some(budget) = &self.budget {
            budget.give_back(self.size as u64);
        }
    }
}

impl PhysicalMemory {
    /// `zePhysicalMemCreate`: new memory, or that of a file descriptor. Without a device it is the host's.
    pub fn new(
        context: &Context,
        device: Option<Arc<Device>>,
        size: usize,
        import: Option<RawFd>,
    ) -> Result<Arc<Self>> {
        // ZE_RESULT_ERROR_UNSUPPORTED_SIZE: 0 == desc->size, and a size that is not in whole pages
        if size == 0 || !size.is_multiple_of(PAGE_SIZE) {
            return Err(Error::UnsupportedSize(format!(
                "{size} bytes of physical memory are not whole pages"
            )));
        }
        let kind = if device.is_some() { MemoryKind::Device } else { MemoryKind::Host };
        if let Some(fd) = import {
            let shared = external_memory::import(fd, size)?;
            external_memory::close_imported(fd, &shared);
            return Ok(Arc::new(Self { shared, size, kind, device, id: new_id(), budget: None }));
        }
        let budget = Arc::clone(context.driver().budget(kind, device.as_deref()));
        if let Err(live) = budget.take(size as u64) {
            let of = budget.limit();
            return Err(kind.out_of_memory(format!("{size} bytes beside {live} that are allocated, of {of}")));
        }
        let shared = Shared::new(size).map_err(|error| {
            budget.give_back(size as u64);
            kind.out_of_memory(error.to_string())
        })?;
        Ok(Arc::new(Self { shared, size, kind, device, id: new_id(), budget: Some(budget) }))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn kind(&self) -> MemoryKind {
        self.kind
    }

    pub fn device(&self) -> Option<&Arc<Device>> {
        self.device.as_ref()
    }

    /// `zePhysicalMemGetProperties`.
    ///
    /// # Safety
    /// The structure's `pNext` is a valid chain.
    pub unsafe fn properties(&self, context: &Context, out: &mut ze_physical_mem_properties_t) -> Result<()> {
        out.id = self.id;
        out.size = self.size as u64;
        // SAFETY: the caller's promise.
        let Some(out) = (unsafe { Outputs::of(out) }).find::<ze_external_memory_export_fd_t>() else {
            return Ok(());
        };
        external_memory::check_type(out.flags)?;
        out.fd = self.shared.exported(context.driver().shared())?;
        Ok(())
    }
}
