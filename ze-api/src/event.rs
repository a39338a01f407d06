//! `zeEventPool*` and `zeEvent*`.

use ze_core::context::Context;
use ze_core::device::Device;
use ze_core::driver::Driver;
use ze_core::error::{Error, Result};
use ze_core::event::{Event, EventPool};
use ze_core::handle;
use ze_core::pnext::Inputs;
use ze_headers::*;

use crate::args::{descriptor, handles, list, output};
use crate::flags::Descriptor;

/// `zeEventPoolCreate`.
pub unsafe fn zeEventPoolCreate(
    hContext: ze_context_handle_t,
    desc: *const ze_event_pool_desc_t,
    numDevices: u32,
    phDevices: *mut ze_device_handle_t,
    phEventPool: *mut ze_event_pool_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // ZE_RESULT_ERROR_INVALID_SIZE: (nullptr == phDevices) && (0 < numDevices)
    if phDevices.is_null() && numDevices != 0 {
        return Err(Error::InvalidSize(format!("{numDevices} devices, and no array of them")));
    }
    // SAFETY: the caller passes null or valid pointers, and a valid chain.
    unsafe {
        handles::<Device>(numDevices, phDevices, "phDevices")?;
        let (desc, out) = (descriptor(desc, "desc")?, output(phEventPool, "phEventPool")?);
        let counter_based = Inputs::of(desc).find::<ze_event_pool_counter_based_exp_desc_t>();
        counter_based.map_or(Ok(()), Descriptor::check_flags)?;
        let pool = EventPool::new(context.clone(), hContext, desc, counter_based.is_some())?;
        *out = handle::publish(pool)?;
    }
    Ok(())
}

/// `zeEventPoolDestroy`.
pub unsafe fn zeEventPoolDestroy(hEventPool: ze_event_pool_handle_t) -> Result<()> {
    handle::release::<EventPool>(hEventPool).map(drop)
}

/// `zeEventPoolGetIpcHandle`.
pub unsafe fn zeEventPoolGetIpcHandle(
    hEventPool: ze_event_pool_handle_t,
    phIpc: *mut ze_ipc_event_pool_handle_t,
) -> Result<()> {
    let pool = handle::get::<EventPool>(hEventPool)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phIpc, "phIpc") }?;
    *out = pool.ipc_handle()?;
    Ok(())
}

/// `zeEventPoolPutIpcHandle`.
pub unsafe fn zeEventPoolPutIpcHandle(
    hContext: ze_context_handle_t,
    hIpc: ze_ipc_event_pool_handle_t,
) -> Result<()> {
    handle::get::<Context>(hContext)?.put_event_pool_handle(&hIpc)
}

/// `zeEventPoolOpenIpcHandle`.
pub unsafe fn zeEventPoolOpenIpcHandle(
    hContext: ze_context_handle_t,
    hIpc: ze_ipc_event_pool_handle_t,
    phEventPool: *mut ze_event_pool_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phEventPool, "phEventPool") }?;
    *out = handle::publish(EventPool::open(context.clone(), hContext, &hIpc)?)?;
    Ok(())
}

/// `zeEventPoolCloseIpcHandle`.
pub unsafe fn zeEventPoolCloseIpcHandle(hEventPool: ze_event_pool_handle_t) -> Result<()> {
    if !handle::get::<EventPool>(hEventPool)?.is_opened() {
        return Err(Error::InvalidArgument("the event pool is not from an IPC handle".into()));
    }
    handle::release::<EventPool>(hEventPool).map(drop)
}

/// `zeEventPoolGetContextHandle`.
pub unsafe fn zeEventPoolGetContextHandle(
    hEventPool: ze_event_pool_handle_t,
    phContext: *mut ze_context_handle_t,
) -> Result<()> {
    let pool = handle::get::<EventPool>(hEventPool)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(phContext, "phContext") }? = pool.context_handle();
    Ok(())
}

/// `zeEventPoolGetFlags`.
pub unsafe fn zeEventPoolGetFlags(
    hEventPool: ze_event_pool_handle_t,
    pFlags: *mut ze_event_pool_flags_t,
) -> Result<()> {
    let pool = handle::get::<EventPool>(hEventPool)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pFlags, "pFlags") }? = pool.flags();
    Ok(())
}

/// `zeEventCreate`.
pub unsafe fn zeEventCreate(
    hEventPool: ze_event_pool_handle_t,
    desc: *const ze_event_desc_t,
    phEvent: *mut ze_event_handle_t,
) -> Result<()> {
    let pool = handle::get::<EventPool>(hEventPool)?;
    // SAFETY: the caller passes null or valid pointers.
    let (desc, out) = unsafe { (descriptor(desc, "desc")?, output(phEvent, "phEvent")?) };
    *out = handle::publish(Event::new(pool.clone(), hEventPool, desc)?)?;
    Ok(())
}

/// `zeEventCounterBasedCreate`.
pub unsafe fn zeEventCounterBasedCreate(
    hContext: ze_context_handle_t,
    hDevice: ze_device_handle_t,
    desc: *const ze_event_counter_based_desc_t,
    phEvent: *mut ze_event_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers, and a valid chain.
    unsafe {
        let (desc, out) = (descriptor(desc, "desc")?, output(phEvent, "phEvent")?);
        *out = handle::publish(Event::new_counter_based(&context, desc)?)?;
    }
    Ok(())
}

/// `zeEventCounterBasedGetIpcHandle`.
pub unsafe fn zeEventCounterBasedGetIpcHandle(
    hEvent: ze_event_handle_t,
    phIpc: *mut ze_ipc_event_counter_based_handle_t,
) -> Result<()> {
    let event = handle::get::<Event>(hEvent)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phIpc, "phIpc") }?;
    *out = event.ipc_handle()?;
    Ok(())
}

/// `zeEventCounterBasedOpenIpcHandle`.
pub unsafe fn zeEventCounterBasedOpenIpcHandle(
    hContext: ze_context_handle_t,
    hIpc: ze_ipc_event_counter_based_handle_t,
    phEvent: *mut ze_event_handle_t,
) -> Result<()> {
    let context = handle::get::<Context>(hContext)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phEvent, "phEvent") }?;
    *out = handle::publish(Event::open(&context, &hIpc)?)?;
    Ok(())
}

/// `zeEventCounterBasedCloseIpcHandle`.
pub unsafe fn zeEventCounterBasedCloseIpcHandle(hEvent: ze_event_handle_t) -> Result<()> {
    if !handle::get::<Event>(hEvent)?.is_opened() {
        return Err(Error::InvalidSynchronizationObject("the event is not from an IPC handle"));
    }
    handle::release::<Event>(hEvent).map(drop)
}

/// `zeEventCounterBasedGetDeviceAddress`.
pub unsafe fn zeEventCounterBasedGetDeviceAddress(
    hEvent: ze_event_handle_t,
    completionValue: *mut u64,
    deviceAddress: *mut u64,
) -> Result<()> {
    let event = handle::get::<Event>(hEvent)?;
    // SAFETY: the caller passes null or valid pointers.
    let (value, address) =
        unsafe { (output(completionValue, "completionValue")?, output(deviceAddress, "deviceAddress")?) };
    (*address, *value) = event.device_address()?;
    Ok(())
}

/// `zeEventDestroy`.
pub unsafe fn zeEventDestroy(hEvent: ze_event_handle_t) -> Result<()> {
    handle::release::<Event>(hEvent).map(drop)
}

/// `zeEventHostSignal`.
pub unsafe fn zeEventHostSignal(hEvent: ze_event_handle_t) -> Result<()> {
    handle::get::<Event>(hEvent)?.host_signal()
}

/// `zeEventHostSynchronize`.
pub unsafe fn zeEventHostSynchronize(hEvent: ze_event_handle_t, timeout: u64) -> Result<()> {
    // A reference of its own: another thread may destroy the event meanwhile.
    handle::get::<Event>(hEvent)?.clone().wait(timeout)
}

/// `zeEventQueryStatus`.
pub unsafe fn zeEventQueryStatus(hEvent: ze_event_handle_t) -> Result<()> {
    handle::get::<Event>(hEvent)?.status()
}

/// `zeEventHostReset`.
pub unsafe fn zeEventHostReset(hEvent: ze_event_handle_t) -> Result<()> {
    handle::get::<Event>(hEvent)?.host_reset()
}

/// `zeEventQueryKernelTimestamp`.
pub unsafe fn zeEventQueryKernelTimestamp(
    hEvent: ze_event_handle_t,
    dstptr: *mut ze_kernel_timestamp_result_t,
) -> Result<()> {
    let event = handle::get::<Event>(hEvent)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(dstptr, "dstptr") }?;
    *out = event.kernel_timestamp(Driver::get()?.first_device())?;
    Ok(())
}

/// `zeEventQueryTimestampsExp`: one result, as one device executes the command.
pub unsafe fn zeEventQueryTimestampsExp(
    hEvent: ze_event_handle_t,
    hDevice: ze_device_handle_t,
    pCount: *mut u32,
    pTimestamps: *mut ze_kernel_timestamp_result_t,
) -> Result<()> {
    let event = handle::get::<Event>(hEvent)?;
    let device = handle::get::<Device>(hDevice)?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, pTimestamps, 1, |_, out| event.kernel_timestamp(&device).map(|times| *out = times))
    }
}

/// `zeEventQueryKernelTimestampsExt`: one result, as one device executes the command.
pub unsafe fn zeEventQueryKernelTimestampsExt(
    hEvent: ze_event_handle_t,
    hDevice: ze_device_handle_t,
    pCount: *mut u32,
    pResults: *mut ze_event_query_kernel_timestamps_results_ext_properties_t,
) -> Result<()> {
    let event = handle::get::<Event>(hEvent)?;
    let device = handle::get::<Device>(hDevice)?;
    let fill = |_, results: &mut ze_event_query_kernel_timestamps_results_ext_properties_t| {
        let (device, host) = event.kernel_timestamps_ext(&device)?;
        // SAFETY: the caller passes null or buffers of as many results as it counts.
        unsafe {
            if let Some(out) = results.pKernelTimestampsBuffer.as_mut() {
                *out = device;
            }
            if let Some(out) = results.pSynchronizedTimestampsBuffer.as_mut() {
                *out = host;
            }
        }
        Ok(())
    };
    // SAFETY: the caller passes null or valid pointers.
    unsafe { list(pCount, pResults, 1, fill) }
}

/// `zeEventGetEventPool`.
pub unsafe fn zeEventGetEventPool(
    hEvent: ze_event_handle_t,
    phEventPool: *mut ze_event_pool_handle_t,
) -> Result<()> {
    let event = handle::get::<Event>(hEvent)?;
    // SAFETY: the caller passes null or a valid pointer.
    let out = unsafe { output(phEventPool, "phEventPool") }?;
    let pool = event.pool_handle();
    *out = pool.ok_or_else(|| Error::InvalidArgument("the event was created without a pool".into()))?;
    Ok(())
}

/// `zeEventGetSignalScope`.
pub unsafe fn zeEventGetSignalScope(
    hEvent: ze_event_handle_t,
    pSignalScope: *mut ze_event_scope_flags_t,
) -> Result<()> {
    let event = handle::get::<Event>(hEvent)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pSignalScope, "pSignalScope") }? = event.signal_scope();
    Ok(())
}

/// `zeEventGetWaitScope`.
pub unsafe fn zeEventGetWaitScope(
    hEvent: ze_event_handle_t,
    pWaitScope: *mut ze_event_scope_flags_t,
) -> Result<()> {
    let event = handle::get::<Event>(hEvent)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pWaitScope, "pWaitScope") }? = event.wait_scope();
    Ok(())
}

/// `zeEventGetCounterBasedFlags`.
pub unsafe fn zeEventGetCounterBasedFlags(
    hEvent: ze_event_handle_t,
    pFlags: *mut ze_event_counter_based_flags_t,
) -> Result<()> {
    let event = handle::get::<Event>(hEvent)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(pFlags, "pFlags") }? = event.counter_flags();
    Ok(())
}
