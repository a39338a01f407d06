//! The DDI tables: what `ze*Get…ProcAddrTable` hands to the loader, and what handles point to.
//!
//! What loaders do with a driver (1.8.12 to 1.32.0):
//!
//! - They open the library and look up `zeGetGlobalProcAddrTable` and its kind by name, one a table. The version they
//!   pass is their own, or that of an older loader that a program has linked statically, and their table is of this
//!   version. A table of an optional extension may be missing or refuse; if one of the others refuses, the driver is
//!   dropped. Recent loaders keep a driver whose sysman tables alone work.
//! - A driver is asked to initialise more than once: with `zeInit` and with `zeInitDrivers` (all flags set, no array, then
//!   again with one), from the loader's check and from the program's call. An error drops the driver, also when the
//!   program wants another kind of device, so a driver says `ZE_RESULT_ERROR_UNINITIALIZED` where it has none.
//! - With one driver, the program's calls go straight to the functions of its tables. With several, or with
//!   `ZE_ENABLE_LOADER_INTERCEPT=1`, loaders before 1.23 wrap each handle in an object of their own. Later ones do so
//!   only for drivers that do not report `ZE_DRIVER_DDI_HANDLE_EXT_FLAG_DDI_HANDLE_EXT_SUPPORTED` (a structure in the
//!   chain of `zeDriverGetProperties`) and otherwise call through the handle (`ze_headers::HandleHeader`).
//! - `zer*` functions go to the first driver; a driver that lists `ZE_extension_driver_ddi_handles` must list version 1.1
//!   for it, or its handle is not used there.
//! - To sort drivers, 1.32 asks each, while initialising, for its extensions, properties and devices. An error of
//!   `zeDriverGetExtensionProperties` ends the sorting.
//! - When the process ends they close the libraries, which is why this one is linked as never to be unloaded.

use std::sync::atomic::{AtomicU32, Ordering};
use ze_headers::*;

use crate::exports;

/// The API version of the aggregate tables that handles point to: that of the bindings, for a table of this version has
/// every field.
const VERSION: ze_api_version_t = ZE_API_VERSION_CURRENT;

macro_rules! ddi {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident ($($arg:ident: $ty:ty),*) -> $ret:ty;)*
    })* })*) => {
        /// Every table with every field set, by the name of its type.
        struct All {
            $($($table: $table,)*)*
        }

        static ALL: All = All {
            $($($table: $table { $($field: Some(exports::$name),)* },)*)*
        };

        /// The aggregate tables by the prefix of their API.
        struct Aggregates {
            $($api: $aggregate,)*
        }

        static AGGREGATES: Aggregates = Aggregates {
            $($api: $aggregate {
                version: VERSION,
                isValidFlag: 1,
                $($member: (&raw const ALL.$table).cast_mut(),)*
            },)*
        };

        $($(
            #[unsafe(export_name = stringify!($get))]
            unsafe extern "C" fn $get(version: ze_api_version_t, table: *mut $table) -> ze_result_t {
                const SINCE: &[ze_api_version_t] = &[$(api_version($major, $minor)),*];
                // SAFETY: the loader's table is one of `version`; ours has as many words as `SINCE`.
                unsafe { fill(version, table.cast(), (&raw const ALL.$table).cast(), SINCE) }
            }
        )*)*
    };
}
for_each_function! { ddi }

// SAFETY: the pointers lead to `ALL`, which nobody writes.
unsafe impl Sync for Aggregates {}

/// The least version that a table was asked for with: programs find functions that are younger in no loader.
static LOADER_VERSION: AtomicU32 = AtomicU32::new(u32::MAX);

/// The API version of the process's loader, or of the oldest of several; the greatest where there is none.
pub fn loader_version() -> ze_api_version_t {
    ze_api_version_t(LOADER_VERSION.load(Ordering::Relaxed))
}

/// Copies the words of `source` whose field exists in `version` to `target`, one behind the other.
///
/// # Safety
///
/// `target` is null or has room for the table as it was in `version`; `source` has as many words as `since`.
unsafe fn fill(
    version: ze_api_version_t,
    target: *mut usize,
    source: *const usize,
    since: &[ze_api_version_t],
) -> ze_result_t {
    if target.is_null() {
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    }
    if version.major() != VERSION.major() {
        return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
    }
    LOADER_VERSION.fetch_min(version.0, Ordering::Relaxed);
    let existing = since.iter().enumerate().filter(|(_, since)| since.0 <= version.0);
    for (position, (index, _)) in existing.enumerate() {
        // SAFETY: `position` is less than the number of fields in `version`, `index` less than that of `since`.
        unsafe { target.add(position).write(source.add(index).read()) };
    }
    ZE_RESULT_SUCCESS
}

/// Tells the crates that create handles where the tables are.
extern "C" fn publish() {
    publish_tables(&Tables {
        core: &AGGREGATES.ze,
        tools: &AGGREGATES.zet,
        sysman: &AGGREGATES.zes,
        runtime: &AGGREGATES.zer,
    });
}

/// Run by the dynamic linker when it has loaded the library: four stores, and no entry point has to check.
#[used]
#[unsafe(link_section = ".init_array")]
static PUBLISH: extern "C" fn() = publish;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_point_to_full_tables() {
        let header = HandleHeader::new();
        // SAFETY: the header is a `ze_handle_t` whose tables were published when this program was loaded.
        unsafe {
            let handle = &*(&raw const header).cast::<ze_handle_t>();
            let (core, tools, sysman, runtime) =
                (&*handle.pCore, &*handle.pTools, &*handle.pSysman, &*handle.pRuntime);
            assert_eq!([core.version, tools.version, sysman.version, runtime.version], [VERSION; 4]);
            assert_eq!(
                [core.isValidFlag, tools.isValidFlag, sysman.isValidFlag, runtime.isValidFlag],
                [1; 4]
            );
            assert!((*core.CommandList).pfnAppendLaunchKernel.is_some());
            assert!((*tools.MetricGroup).pfnGet.is_some());
            assert!((*sysman.VFManagementExp).pfnGetVFPropertiesExp.is_some());
            assert!((*runtime.Global).pfnGetDefaultContext.is_some());
        }
    }

    #[test]
    fn tables_lead_to_the_function_of_their_field() {
        let address =
            |f: Option<unsafe extern "C" fn(ze_fence_handle_t) -> ze_result_t>| f.map(|f| f as usize);
        assert_eq!(address(ALL.ze_fence_dditable_t.pfnReset), address(Some(exports::zeFenceReset)));
        assert_ne!(address(ALL.ze_fence_dditable_t.pfnReset), address(Some(exports::zeFenceDestroy)));
    }
}
