//! Checks of C arguments that every handle type's functions share.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;
use ze_core::command_list::Events;
use ze_core::error::{Error, Result};
use ze_core::event::Event;
use ze_core::fallible::{self, out_of_memory};
use ze_core::handle::{self, Object, Ref};
use ze_headers::ze_event_handle_t;

use crate::flags::Descriptor;

/// The structure or value behind a pointer that must not be null.
///
/// # Safety
///
/// `pointer` is null or points to a valid value that nobody writes during the call.
pub unsafe fn input<'a, T>(pointer: *const T, name: &'static str) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_ref() }.ok_or(Error::NullPointer(name))
}

/// As [`input`], for a structure whose flags it checks.
///
/// # Safety
///
/// As [`input`].
pub unsafe fn descriptor<'a, T: Descriptor>(pointer: *const T, name: &'static str) -> Result<&'a T> {
    // SAFETY: the caller's promise.
    let desc = unsafe { input(pointer, name) }?;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: flags that the specification does not have
    desc.check_flags()?;
    Ok(desc)
}

/// The place behind an output pointer that must not be null.
///
/// # Safety
///
/// `pointer` is null or points to a valid value that nobody else accesses during the call.
pub unsafe fn output<'a, T>(pointer: *mut T, name: &'static str) -> Result<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { pointer.as_mut() }.ok_or(Error::NullPointer(name))
}

/// Checks an address that is only passed on.
pub fn address<T>(pointer: *const T, name: &'static str) -> Result<usize> {
    if pointer.is_null() { Err(Error::NullPointer(name)) } else { Ok(pointer as usize) }
}

/// A text that must not be null.
///
/// # Safety
///
/// `pointer` is null or points to a C string that nobody writes during the call.
pub unsafe fn text(pointer: *const c_char, name: &'static str) -> Result<String> {
    address(pointer, name)?;
    // SAFETY: the caller's promise.
    ze_core::text::owned(name, unsafe { CStr::from_ptr(pointer) })
}

/// Answers a query for a list: the number of items where `count` is 0 or there is no array, else as many items as fit.
///
/// # Safety
///
/// `count` is null or valid, and `items` null or an array of at least `*count` items.
pub unsafe fn list<T>(
    count: *mut u32,
    items: *mut T,
    total: usize,
    mut fill: impl FnMut(usize, &mut T) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    let count = unsafe { output(count, "pCount") }?;
    let total = u32::try_from(total).unwrap_or(u32::MAX);
    if *count == 0 || items.is_null() {
        *count = total;
        return Ok(());
    }
    *count = total.min(*count);
    for index in 0..*count as usize {
        // SAFETY: the caller's promise.
        fill(index, unsafe { &mut *items.add(index) })?;
    }
    Ok(())
}

/// Answers a query for bytes: their number, and where there is a buffer the bytes, cut to what `*size` says it has.
///
/// # Safety
///
/// `size` is null or valid, and `buffer` null or at least `*size` bytes.
pub unsafe fn bytes(size: *mut usize, buffer: *mut u8, bytes: &[u8]) -> Result<()> {
    // SAFETY: the caller's promise.
    let size = unsafe { output(size, "pSize") }?;
    if !buffer.is_null() {
        // SAFETY: the caller's promise.
        unsafe { buffer.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len().min(*size)) };
    }
    *size = bytes.len();
    Ok(())
}

/// The handles of an array. `what` names the array in the error of a missing one.
///
/// # Safety
///
/// `handles` is null or an array of `count` handles.
pub unsafe fn handles<T: Object>(
    count: u32,
    handles: *const T::Handle,
    what: &'static str,
) -> Result<Vec<Ref<T>>> {
    if count != 0 {
        address(handles, what)?;
    }
    // SAFETY: the caller's promise.
    let handle = |index| handle::get::<T>(unsafe { handles.add(index).read() });
    fallible::collect(what, (0..count as usize).map(handle))
}

/// The events around a command: one to signal or null, and those to wait for.
///
/// # Safety
///
/// `waits` is null or an array of `count` handles.
pub unsafe fn events(signal: ze_event_handle_t, count: u32, waits: *mut ze_event_handle_t) -> Result<Events> {
    let signal = handle::get_optional::<Event>(signal)?.map(|event| event.clone());
    // ZE_RESULT_ERROR_INVALID_SIZE: (nullptr == phWaitEvents) && (0 < numWaitEvents)
    if waits.is_null() && count != 0 {
        return Err(Error::InvalidSize(format!("{count} events to wait for, and no array of them")));
    }
    let mut events = Events { signal, ..Events::default() };
    for index in 0..count as usize {
        // SAFETY: the caller's promise.
        let event = unsafe { waits.add(index).read() };
        let event = handle::get::<Event>(event)?.clone();
        events.waits.try_reserve(1).map_err(|_| out_of_memory("events", index * size_of::<Arc<Event>>()))?;
        events.waits.push(event);
    }
    Ok(events)
}

/// Checks that no extension is asked for where none is known.
pub fn no_extension(next: *const c_void, what: &'static str) -> Result<()> {
    if next.is_null() { Ok(()) } else { Err(Error::UnsupportedFeature(what)) }
}
