//! Functions of Intel's driver that are none of the specification's: programs look them up by name
//! (`zeDriverGetExtensionFunctionAddress`). SYCL's adapters, MPI libraries, LLVM's offloading, oneDNN and OpenVINO do that for those here.

use std::ffi::{c_char, c_void};

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_core::kernel::Kernel;
use ze_headers::*;

use crate::args::{address, input, no_extension, output};
use crate::entry::entry;
use crate::{event, flags};

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

    /// `zexMemFreeRegisterCallbackExt`: a function that is called when memory is freed.
    fn zexMemFreeRegisterCallbackExt(
        hContext: ze_context_handle_t,
        hFreeCallbackDesc: *mut zex_memory_free_callback_ext_desc_t,
        ptr: *mut c_void
    ) {
        let context = handle::get::<Context>(hContext)?;
        // SAFETY: the caller passes null or a valid structure.
        let desc = unsafe { input(hFreeCallbackDesc, "hFreeCallbackDesc") }?;
        address(ptr, "ptr")?;
        no_extension(desc.pNext, "an extension of a callback")?;
        let function = desc.pfnCallback.ok_or(Error::NullPointer("pfnCallback"))?;
        context.call_when_freed(ptr, function, desc.pUserData)
    }

    /// `zeIntelGetDriverVersionString`: major, minor and build with points between them. The size is that of the text, without a
    /// zero behind it; there is one where the program has more room.
    fn zeIntelGetDriverVersionString(
        hDriver: ze_driver_handle_t,
        pDriverVersion: *mut c_char,
        pVersionSize: *mut usize
    ) {
        let driver = handle::get::<Driver>(hDriver)?;
        let version = driver.version_text();
        // SAFETY: the caller passes null or valid pointers, and room for as many characters as it says.
        unsafe {
            let size = output(pVersionSize, "pVersionSize")?;
            let room = *size;
            if room != 0 {
                address(pDriverVersion, "pDriverVersion")?;
                let out = pDriverVersion.cast::<u8>();
                out.copy_from_nonoverlapping(version.as_ptr(), version.len().min(room));
                if room > version.len() {
                    out.add(version.len()).write(0);
                }
            }
            *size = version.len();
        }
        Ok(())
    }

    /// `zexKernelGetArgumentSize`: bytes that `zeKernelSetArgumentValue` expects.
    fn zexKernelGetArgumentSize(hKernel: ze_kernel_handle_t, argIndex: u32, pArgSize: *mut u32) {
        let kernel = handle::get::<Kernel>(hKernel)?;
        // SAFETY: the caller passes null or a valid pointer.
        let out = unsafe { output(pArgSize, "pArgSize") }?;
        *out = kernel.argument_size(argIndex)?;
        Ok(())
    }

    /// `zexCounterBasedEventCreate2`: the older name of `zeEventCounterBasedCreate`. Its descriptor has the same members and flags.
    fn zexCounterBasedEventCreate2(
        hContext: ze_context_handle_t,
        hDevice: ze_device_handle_t,
        desc: *const ze_event_counter_based_desc_t,
        phEvent: *mut ze_event_handle_t
    ) {
        // SAFETY: the contract is the same, here and below.
        unsafe { event::zeEventCounterBasedCreate(hContext, hDevice, desc, phEvent) }
    }

    /// `zexCounterBasedEventGetIpcHandle`: the older name of `zeEventCounterBasedGetIpcHandle`.
    fn zexCounterBasedEventGetIpcHandle(
        hEvent: ze_event_handle_t,
        phIpc: *mut ze_ipc_event_counter_based_handle_t
    ) {
        // SAFETY: see above.
        unsafe { event::zeEventCounterBasedGetIpcHandle(hEvent, phIpc) }
    }

    /// `zexCounterBasedEventOpenIpcHandle`: the older name of `zeEventCounterBasedOpenIpcHandle`.
    fn zexCounterBasedEventOpenIpcHandle(
        hContext: ze_context_handle_t,
        hIpc: ze_ipc_event_counter_based_handle_t,
        phEvent: *mut ze_event_handle_t
    ) {
        // SAFETY: see above.
        unsafe { event::zeEventCounterBasedOpenIpcHandle(hContext, hIpc, phEvent) }
    }

    /// `zexCounterBasedEventCloseIpcHandle`: the older name of `zeEventCounterBasedCloseIpcHandle`.
    fn zexCounterBasedEventCloseIpcHandle(hEvent: ze_event_handle_t) {
        // SAFETY: see above.
        unsafe { event::zeEventCounterBasedCloseIpcHandle(hEvent) }
    }

    /// `zexEventGetDeviceAddress`: the older name of `zeEventCounterBasedGetDeviceAddress`.
    fn zexEventGetDeviceAddress(
        hEvent: ze_event_handle_t,
        completionValue: *mut u64,
        deviceAddress: *mut u64
    ) {
        // SAFETY: see above.
        unsafe { event::zeEventCounterBasedGetDeviceAddress(hEvent, completionValue, deviceAddress) }
    }
}
