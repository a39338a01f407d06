//! Opening a Level Zero loader (or the driver itself) and every function that it exports.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ze_headers::*;

/// Names the loader library to open; `libze_loader.so.1` of the system where unset.
pub const LOADER_VARIABLE: &str = "ZE_TEST_LOADER";
/// Names the driver under test; `libze_cpu.so` beside the running program's target folder where unset.
pub const DRIVER_VARIABLE: &str = "ZE_TEST_DRIVER";
/// Read by the loader: a comma-separated list of drivers to use instead of the system's.
pub const ALT_DRIVERS_VARIABLE: &str = "ZE_ENABLE_ALT_DRIVERS";

macro_rules! define_api {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident ($($arg:ident: $type:ty),*) -> $result:ty;)*
    })* })*) => {
        /// Every function of the API as a method of its name. A function that the opened library does not export
        /// panics when called; [`Api::has`] asks first.
        #[allow(non_snake_case)]
        #[derive(Clone, Copy)]
        pub struct Api {
            $($($($name: Option<unsafe extern "C" fn($($type),*) -> $result>,)*)*)*
        }

        #[allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]
        impl Api {
            fn resolve(library: &libloading::Library) -> Api {
                Api {
                    // SAFETY: the name determines the signature, which is the headers'.
                    $($($($name: unsafe { library.get(stringify!($name).as_bytes()).ok().map(|symbol| *symbol) },)*)*)*
                }
            }

            /// With the other library's functions where this one has none.
            fn or(&self, other: &Api) -> Api {
                Api { $($($($name: self.$name.or(other.$name),)*)*)* }
            }

            /// Whether the opened library exports the function.
            pub fn has(&self, function: &str) -> bool {
                match function {
                    $($($(stringify!($name) => self.$name.is_some(),)*)*)*
                    _ => false,
                }
            }

            $($($(
                pub unsafe fn $name(&self, $($arg: $type),*) -> $result {
                    let Some(function) = self.$name else {
                        panic!(concat!("the loader does not export ", stringify!($name)))
                    };
                    // SAFETY: the caller's, as for the C function.
                    unsafe { function($($arg),*) }
                }
            )*)*)*
        }
    };
}
ze_headers::for_each_function!(define_api);

impl Api {
    /// Opens a library that exports the API. The library stays open until the process ends.
    pub fn open(library: &Path) -> std::result::Result<Api, libloading::Error> {
        // SAFETY: loaders and drivers run only benign code when they are opened.
        let library = unsafe { libloading::Library::new(library) }?;
        let api = Api::resolve(&library);
        std::mem::forget(library);
        Ok(api)
    }

    /// Opens the loader that [`LOADER_VARIABLE`] names, pointed at the driver under test.
    pub fn open_loader() -> std::result::Result<Api, libloading::Error> {
        if env::var_os(ALT_DRIVERS_VARIABLE).is_none() {
            // SAFETY: called once, before the loader is there to read the environment.
            unsafe { env::set_var(ALT_DRIVERS_VARIABLE, driver_path()) };
        }
        let api = Api::open(Path::new(&loader_name()))?;
        // Loader 1.8 is of API 1.5. Alone with one driver it hands out the driver's own handles, so the driver can be asked
        // itself for what is newer.
        let drivers = env::var(ALT_DRIVERS_VARIABLE).unwrap_or_default();
        let driver = Api::open(Path::new(drivers.split(',').next().unwrap_or_default()))?;
        Ok(api.or(&driver))
    }
}

/// What [`LOADER_VARIABLE`] names, or the system's loader.
pub fn loader_name() -> OsString {
    env::var_os(LOADER_VARIABLE).unwrap_or_else(|| OsString::from("libze_loader.so.1"))
}

/// The driver under test. `cargo build` puts it two folders above a test binary, one above a program.
pub fn driver_path() -> PathBuf {
    if let Some(path) = env::var_os(DRIVER_VARIABLE) {
        return PathBuf::from(path);
    }
    let program = env::current_exe().unwrap_or_default();
    let candidates = program.ancestors().skip(1).take(2).map(|folder| folder.join("libze_cpu.so"));
    candidates.into_iter().find(|path| path.exists()).unwrap_or_else(|| {
        panic!(
            "no libze_cpu.so beside {}: run `cargo build -p ze-api`, or set {DRIVER_VARIABLE}",
            program.display()
        )
    })
}
