//! Functions of Intel's driver that are none of the specification's: programs look them up by name
//! (`zeDriverGetExtensionFunctionAddress`). SYCL's adapters, MPI libraries, LLVM's offloading, oneDNN and OpenVINO do that for those here.

use std::ffi::{c_char, c_void};

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::Error;
use ze_core::handle;
use ze_core::kernel::Kernel;
use ze_core::module::Module;
use ze_core::queue::PRIORITY_LEVELS;
use ze_headers::*;

use crate::args::{address, bytes, descriptor, input, no_extension, output};
use crate::entry::entry;
use crate::kernel::terminated;
use crate::{device, event, flags};

/// A name, and the address of the function that has it.
pub type Function = (&'static str, fn() -> *const ());

/// The address of a function, by its name.
pub fn function(name: &str) -> Option<*mut c_void> {
    let all = [FUNCTIONS, graph::FUNCTIONS, list::FUNCTIONS].into_iter().flatten();
    all.into_iter().find(|(own, _)| *own == name).map(|(_, function)| function().cast_mut().cast())
}

/// Defines C functions, and the list of them.
macro_rules! functions {
    (@error) => { Error };
    (@error $error:ty) => { $error };
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(or $error:ident)? $body:block)*) => {
        pub(super) const FUNCTIONS: &[crate::zex::Function] =
            &[$((stringify!($name), || c_functions::$name as *const ()),)*];

        $(
            $(#[$doc])*
            ///
            /// # Safety
            ///
            /// Pointers are null or valid.
            unsafe fn $name($($arg: $type),*) -> std::result::Result<(), functions!(@error $($error)?)> $body
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

mod graph;
mod list;

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

    /// `zeIntelMemMapDeviceMemToHost`: the host reaches all memory where the device has it.
    fn zeIntelMemMapDeviceMemToHost(
        hContext: ze_context_handle_t,
        ptr: *const c_void,
        pptr: *mut *mut c_void,
        pNext: *mut c_void
    ) {
        let context = handle::get::<Context>(hContext)?;
        no_extension(pNext, "an extension of a mapping")?;
        address(ptr, "ptr")?;
        // SAFETY: the caller passes null or a valid pointer.
        let out = unsafe { output(pptr, "pptr") }?;
        if context.with_allocation(ptr, |_| ()).is_none() {
            return Err(Error::InvalidArgument(format!("{ptr:p} is in no allocation")));
        }
        *out = ptr.cast_mut();
        Ok(())
    }

    /// `zeDeviceGetPriorityLevels`: of queues. Less is before more.
    fn zeDeviceGetPriorityLevels(
        hDevice: ze_device_handle_t,
        lowestPriority: *mut i32,
        highestPriority: *mut i32
    ) {
        handle::get::<Device>(hDevice)?;
        // SAFETY: the caller passes null or valid pointers.
        let (lowest, highest) = unsafe {
            (output(lowestPriority, "lowestPriority")?, output(highestPriority, "highestPriority")?)
        };
        [*lowest, *highest] = PRIORITY_LEVELS;
        Ok(())
    }

    /// `zexDeviceGetAggregatedCopyOffloadIncrementValue`: the older name of
    /// `zeDeviceGetAggregatedCopyOffloadIncrementValue`.
    fn zexDeviceGetAggregatedCopyOffloadIncrementValue(
        hDevice: ze_device_handle_t,
        incrementValue: *mut u32
    ) {
        // SAFETY: the contract is the same.
        unsafe { device::zeDeviceGetAggregatedCopyOffloadIncrementValue(hDevice, incrementValue) }
    }

    /// `zeKernelGetModuleHandleExt`: the module that the kernel was created from.
    fn zeKernelGetModuleHandleExt(hKernel: ze_kernel_handle_t, phModule: *mut ze_module_handle_t) {
        let kernel = handle::get::<Kernel>(hKernel)?;
        // SAFETY: the caller passes null or a valid pointer.
        *unsafe { output(phModule, "phModule") }? = kernel.module_handle();
        Ok(())
    }

    /// `zeModuleGetDeviceHandleExt`: the device that the module was created for.
    fn zeModuleGetDeviceHandleExt(hModule: ze_module_handle_t, phDevice: *mut ze_device_handle_t) {
        let module = handle::get::<Module>(hModule)?;
        // SAFETY: the caller passes null or a valid pointer.
        *unsafe { output(phDevice, "phDevice") }? = module.device().handle()?;
        Ok(())
    }

    /// `zexKernelGetArgumentType`: of an argument as its source has it, with a zero behind it.
    fn zexKernelGetArgumentType(
        hKernel: ze_kernel_handle_t,
        argIndex: u32,
        pSize: *mut u32,
        pString: *mut c_char
    ) {
        let kernel = handle::get::<Kernel>(hKernel)?;
        let name = terminated(kernel.argument_type(argIndex)?);
        // SAFETY: the caller passes null or valid pointers, and a buffer of the size that it says.
        unsafe {
            let out = output(pSize, "pSize")?;
            let mut size = *out as usize;
            bytes(&raw mut size, pString.cast(), &name)?;
            *out = u32::try_from(size).unwrap_or(u32::MAX);
        }
        Ok(())
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

    /// `zexCounterBasedEventCreate`: an event that begins as the program's counter, if there is one.
    fn zexCounterBasedEventCreate(
        hContext: ze_context_handle_t,
        hDevice: ze_device_handle_t,
        deviceAddress: *mut u64,
        hostAddress: *mut u64,
        completionValue: u64,
        desc: *const ze_event_desc_t,
        phEvent: *mut ze_event_handle_t
    ) {
        // SAFETY: the caller passes null or a valid descriptor.
        let desc = unsafe { descriptor(desc, "desc") }?;
        let counter = ze_event_counter_based_external_sync_allocation_desc_t {
            stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_EXTERNAL_SYNC_ALLOCATION_DESC,
            pNext: desc.pNext,
            deviceAddress,
            hostAddress,
            completionValue,
        };
        let has_counter = !deviceAddress.is_null() && !hostAddress.is_null();
        let desc = ze_event_counter_based_desc_t {
            stype: ZE_STRUCTURE_TYPE_EVENT_COUNTER_BASED_DESC,
            pNext: if has_counter { (&raw const counter).cast() } else { desc.pNext },
            flags: ZE_EVENT_COUNTER_BASED_FLAG_IMMEDIATE | ZE_EVENT_COUNTER_BASED_FLAG_NON_IMMEDIATE,
            signal: desc.signal,
            wait: desc.wait,
        };
        // SAFETY: the chain is that of the caller's descriptor, with one more structure before it.
        unsafe { event::zeEventCounterBasedCreate(hContext, hDevice, &desc, phEvent) }
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
