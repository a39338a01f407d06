//! `zeInit*` and `zeDriver*`.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use ze_core::driver::{API_VERSION, Driver};
use ze_core::error::{Error, Result};
use ze_core::handle;
use ze_headers::*;

use crate::args::{input, list, output, text};
use crate::entry::Failure;
use crate::zex;
use crate::{ddi, dispatch, entry, exports, flags, logging};

/// `zeInit`.
pub unsafe fn zeInit(flags: ze_init_flags_t) -> Result<()> {
    logging::initialize();
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x3 < flags
    flags::INIT.check(flags)?;
    // ZE_RESULT_ERROR_UNINITIALIZED: no device of the wanted types
    Driver::initialize_for(flags).map(|_| ())
}

/// `zeInitDrivers`.
pub unsafe fn zeInitDrivers(
    pCount: *mut u32,
    phDrivers: *mut ze_driver_handle_t,
    desc: *mut ze_init_driver_type_desc_t,
) -> Result<()> {
    logging::initialize();
    // SAFETY: the caller passes null or valid pointers.
    let types = unsafe { input(desc, "desc") }?.flags;
    // ZE_RESULT_ERROR_INVALID_ENUMERATION: 0x0 == desc->flags
    if types == 0 {
        return Err(Error::InvalidEnumeration { what: "ze_init_driver_type_desc_t::flags", value: 0 });
    }
    // That there is no driver of the wanted types is no error here.
    let driver = Driver::initialize_for_types(types).ok();
    // SAFETY: as above.
    unsafe {
        list(pCount, phDrivers, driver.iter().count(), |_, out| {
            driver.map_or(Err(Error::Uninitialized), |driver| driver.handle()).map(|handle| *out = handle)
        })
    }
}

/// `zeDriverGet`.
pub unsafe fn zeDriverGet(pCount: *mut u32, phDrivers: *mut ze_driver_handle_t) -> Result<()> {
    let driver = Driver::get()?;
    // SAFETY: the caller passes null or valid pointers.
    unsafe { list(pCount, phDrivers, 1, |_, out| driver.handle().map(|handle| *out = handle)) }
}

/// `zeDriverGetApiVersion`.
pub unsafe fn zeDriverGetApiVersion(
    hDriver: ze_driver_handle_t,
    version: *mut ze_api_version_t,
) -> Result<()> {
    handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(version, "version") }? = API_VERSION;
    Ok(())
}

/// `zeDriverGetProperties`.
pub unsafe fn zeDriverGetProperties(
    hDriver: ze_driver_handle_t,
    pDriverProperties: *mut ze_driver_properties_t,
) -> Result<()> {
    let driver = handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or a valid structure with a valid chain.
    unsafe { driver.properties(output(pDriverProperties, "pDriverProperties")?) };
    Ok(())
}

/// `zeDriverGetIpcProperties`.
pub unsafe fn zeDriverGetIpcProperties(
    hDriver: ze_driver_handle_t,
    pIpcProperties: *mut ze_driver_ipc_properties_t,
) -> Result<()> {
    let driver = handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or a valid structure.
    driver.ipc_properties(unsafe { output(pIpcProperties, "pIpcProperties") }?);
    Ok(())
}

/// `zeDriverGetExtensionProperties`.
pub unsafe fn zeDriverGetExtensionProperties(
    hDriver: ze_driver_handle_t,
    pCount: *mut u32,
    pExtensionProperties: *mut ze_driver_extension_properties_t,
) -> Result<()> {
    let extensions = handle::get::<Driver>(hDriver)?.extensions(ddi::loader_version());
    // SAFETY: the caller passes null or valid pointers.
    unsafe {
        list(pCount, pExtensionProperties, extensions.len(), |index, out| {
            *out = extensions[index];
            Ok(())
        })
    }
}

/// A function of the API.
struct Function {
    name: &'static str,
    /// The version that it appeared in.
    since: (u32, u32),
    address: *const (),
    implemented: bool,
}

/// Stands for an argument of a call that is never made.
fn never<T>() -> T {
    unreachable!("only the type of the call's result is wanted")
}

fn is_implemented<T, E: Failure>(_: impl Fn() -> std::result::Result<T, E>) -> bool {
    E::IMPLEMENTED
}

macro_rules! functions {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident ($($arg:ident: $ty:ty),*) -> $ret:ty;)*
    })* })*) => {
        /// Every function of the API.
        fn functions() -> impl Iterator<Item = Function> {
            [$($($(
                || Function {
                    name: stringify!($name),
                    since: ($major, $minor),
                    address: exports::$name as *const (),
                    // SAFETY: it is never called.
                    #[allow(unused_unsafe, reason = "a fallback is safe to call")]
                    implemented: is_implemented(|| unsafe { dispatch::$name($(never::<$ty>()),*) }),
                },
            )*)*)*]
            .into_iter()
            .map(|function: fn() -> Function| function())
        }
    };
}
for_each_function! { functions }

/// Whether programs look a function up by name: what loaders of their time did not have, which all experimental ones and extensions are, and
/// some others, such as `zeCommandQueueGetOrdinal`.
fn is_looked_up(function: &Function) -> bool {
    function.since > (1, 0)
}

/// The address of an extension function of this driver.
pub fn extension_address(name: &str) -> Option<*mut c_void> {
    let function = functions()
        .find(|function| function.implemented && function.name == name && is_looked_up(function))?;
    Some(function.address.cast_mut().cast())
}

/// `zeDriverGetExtensionFunctionAddress`.
pub unsafe fn zeDriverGetExtensionFunctionAddress(
    hDriver: ze_driver_handle_t,
    name: *const c_char,
    ppFunctionAddress: *mut *mut c_void,
) -> Result<()> {
    handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or valid pointers.
    let (name, out) = unsafe { (text(name, "name")?, output(ppFunctionAddress, "ppFunctionAddress")?) };
    let found = extension_address(&name).or_else(|| zex::function(&name));
    *out = found.unwrap_or(null_mut());
    // ZE_RESULT_ERROR_INVALID_ARGUMENT: not a function of this driver
    found.map(drop).ok_or_else(|| Error::InvalidArgument(format!("no extension function '{name}'")))
}

/// `zeDriverGetLastErrorDescription`.
pub unsafe fn zeDriverGetLastErrorDescription(
    hDriver: ze_driver_handle_t,
    ppString: *mut *const c_char,
) -> Result<()> {
    handle::get::<Driver>(hDriver)?;
    // SAFETY: the caller passes null or a valid pointer.
    *unsafe { output(ppString, "ppString") }? = entry::last_error();
    Ok(())
}

/// `zeDriverGetDefaultContext`.
pub unsafe fn zeDriverGetDefaultContext(hDriver: ze_driver_handle_t) -> Result<ze_context_handle_t> {
    handle::get::<Driver>(hDriver)?.default_context()
}
