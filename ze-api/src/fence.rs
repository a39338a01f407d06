//! `zeFence*`.

use ze_core::error::Result;
use ze_core::fence::Fence;
use ze_core::handle;
use ze_core::queue::CommandQueue;
use ze_headers::*;

use crate::args::{descriptor, output};

/// `zeFenceCreate`.
pub unsafe fn zeFenceCreate(
    hCommandQueue: ze_command_queue_handle_t,
    desc: *const ze_fence_desc_t,
    phFence: *mut ze_fence_handle_t,
) -> Result<()> {
    let queue = handle::get::<CommandQueue>(hCommandQueue)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) = unsafe { (descriptor(desc, "desc")?, output(phFence, "phFence")?) };
    *out = handle::publish(Fence::new(queue.clone(), desc.flags))?;
    Ok(())
}

/// `zeFenceDestroy`.
pub unsafe fn zeFenceDestroy(hFence: ze_fence_handle_t) -> Result<()> {
    handle::release::<Fence>(hFence).map(drop)
}

/// `zeFenceHostSynchronize`.
pub unsafe fn zeFenceHostSynchronize(hFence: ze_fence_handle_t, timeout: u64) -> Result<()> {
    // A reference of its own: another thread may destroy the fence meanwhile.
    handle::get::<Fence>(hFence)?.clone().wait(timeout)
}

/// `zeFenceQueryStatus`.
pub unsafe fn zeFenceQueryStatus(hFence: ze_fence_handle_t) -> Result<()> {
    handle::get::<Fence>(hFence)?.status()
}

/// `zeFenceReset`.
pub unsafe fn zeFenceReset(hFence: ze_fence_handle_t) -> Result<()> {
    handle::get::<Fence>(hFence)?.reset();
    Ok(())
}
