//! `zes*`: system management. One file a handle type, as in `ze_core::sysman`.

pub mod absent;
pub mod device;
pub mod driver;
pub mod engine;
pub mod frequency;
pub mod memory;
pub mod power;
pub mod ras;
pub mod temperature;

use ze_core::device::Device;
use ze_core::error::Result;
use ze_core::handle::Object;
use ze_core::sysman::{self, Parts, Sysman};
use ze_headers::zes_device_handle_t;

use crate::args::list;

/// `zesDeviceEnum…`: the handles of a device's parts.
///
/// # Safety
///
/// `count` is null or valid, and `handles` null or an array of at least `*count` handles.
unsafe fn parts<T: Object>(
    device: zes_device_handle_t,
    select: impl Fn(&Sysman) -> &Parts<T>,
    count: *mut u32,
    handles: *mut T::Handle,
) -> Result<()> {
    let device = sysman::get::<Device>(device)?;
    let parts = select(device.sysman());
    // SAFETY: the caller's promise.
    unsafe {
        list(count, handles, parts.count(), |index, out| {
            *out = parts.handle(index)?;
            Ok(())
        })
    }
}
