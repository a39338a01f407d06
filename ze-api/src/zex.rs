//! Functions of Intel's driver that are none of the specification's: programs look them up by name
//! (`zeDriverGetExtensionFunctionAddress`). SYCL's adapter and MPI libraries do that for those here.

use std::ffi::c_void;

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_headers::*;

use crate::args::{address, input, output};
use crate::entry::entry;
use crate::flags;

/// The address of a function, by its name.
pub fn function(name: &str) -> Option<*mut c_void> {
    FUNCTIONS.iter().find(|(own, _)| *own == name).map(|(_, function)| function().cast_mut().cast())
}

macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $body:block)*) => {
        const FUNCTIONS: &[(&str, fn() -> *const ())] =
            &[$((stringify!($name), || c_functions::$name as *const ()),)*];

        $(
            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// Pointers are null or valid.
            unsafe fn $name($($arg: $type),*) -> Result<()> $body
        )*

        mod c_functions {
            use super::*;

            $(
                pub unsafe extern "C" fn $name($($arg: $type),*) -> ze_result_t {
                    // SAFETY: the caller keeps to the contract of the Rust function.
                    entry(stringify!($name), || unsafe { super::$name($($arg),*) })
                }
            )*
        }
    };
}

functions! {
    /// `zexDriverImportExternalPointer`: host memory will be used by the device.
    fn zexDriverImportExternalPointer(hDriver: ze_driver_handle_t, ptr: *mut c_void, size: usize) {
        let driver = handle::get::<Driver>(hDriver)?;
        driver.import_pointer(address(ptr, "ptr")?, size)
    }

    /// `zexDriverReleaseImportedPointer`.
    fn zexDriverReleaseImportedPointer(hDriver: ze_driver_handle_t, ptr: *mut c_void) {
        let driver = handle::get::<Driver>(hDriver)?;
        driver.release_pointer(address(ptr, "ptr")?)
    }

    /// `zexDriverGetHostPointerBaseAddress`: of imported memory. The output is optional.
    fn zexDriverGetHostPointerBaseAddress(
        hDriver: ze_driver_handle_t,
        ptr: *mut c_void,
        baseAddress: *mut *mut c_void
    ) {
        let driver = handle::get::<Driver>(hDriver)?;
        let base = driver.imported_base(address(ptr, "ptr")?)?;
        // SAFETY: the caller passes null or a valid pointer.
        if let Some(out) = unsafe { baseAddress.as_mut() } {
            *out = base as *mut c_void;
        }
        Ok(())
    }

    /// `zexMemGetIpcHandles`: the handles of an allocation, one for each of its parts, and each allocation has one.
    fn zexMemGetIpcHandles(
        hContext: ze_context_handle_t,
        ptr: *const c_void,
        numIpcHandles: *mut u32,
        pIpcHandles: *mut ze_ipc_mem_handle_t
    ) {
        let context = handle::get::<Context>(hContext)?;
        address(ptr, "ptr")?;
        // SAFETY: the caller passes null or valid pointers.
        unsafe {
            *output(numIpcHandles, "numIpcHandles")? = 1;
            if let Some(out) = pIpcHandles.as_mut() {
                *out = context.ipc_handle(ptr)?;
            }
        }
        Ok(())
    }

    /// `zexMemOpenIpcHandles`: the handles of one allocation.
    fn zexMemOpenIpcHandles(
        hContext: ze_context_handle_t,
        hDevice: ze_device_handle_t,
        numIpcHandles: u32,
        pIpcHandles: *mut ze_ipc_mem_handle_t,
        flags: ze_ipc_memory_flags_t,
        pptr: *mut *mut c_void
    ) {
        let context = handle::get::<Context>(hContext)?;
        let device = handle::get::<Device>(hDevice)?;
        flags::IPC_MEMORY.check(flags)?;
        if numIpcHandles != 1 {
            return Err(Error::InvalidSize(format!("{numIpcHandles} IPC handles of one allocation")));
        }
        // SAFETY: the caller passes null or valid pointers.
        unsafe {
            let handle = input(pIpcHandles, "pIpcHandles")?;
            let out = output(pptr, "pptr")?;
            *out = context.open_ipc_handle(&device, handle)?;
        }
        Ok(())
    }
}
