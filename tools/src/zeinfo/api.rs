//! The loader: opened at run time, so that the program also starts where there is none and can say so.

use std::path::Path;

use libloading::Library;
use ze_headers::*;

use crate::names;

/// What a call gave: the name of the result where it did not succeed.
pub type Answer = Result<(), String>;

/// What a function says that the loader does not have.
const MISSING: &str = "the loader has no such function";

/// Return types of the API.
trait Returned {
    fn answer(self) -> Answer;
}

impl Returned for ze_result_t {
    fn answer(self) -> Answer {
        if self == ZE_RESULT_SUCCESS { Ok(()) } else { Err(names::result(self)) }
    }
}

impl Returned for u32 {
    fn answer(self) -> Answer {
        Ok(())
    }
}

impl<T> Returned for *mut T {
    fn answer(self) -> Answer {
        Ok(())
    }
}

macro_rules! define_api {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident ($($arg:ident: $type:ty),*) -> $result:ty;)*
    })* })*) => {
        /// Every function of the API as a method of its name.
        #[allow(non_snake_case)]
        pub struct Api {
            get_versions: Option<GetVersions>,
            $($($($name: Option<unsafe extern "C" fn($($type),*) -> $result>,)*)*)*
        }

        #[allow(non_snake_case, dead_code, clippy::missing_safety_doc, clippy::too_many_arguments)]
        impl Api {
            fn resolve(library: &Library) -> Api {
                Api {
                    // SAFETY: the name determines the signature, which is the loader header's.
                    get_versions: unsafe { library.get(b"zelLoaderGetVersions").ok().map(|symbol| *symbol) },
                    // SAFETY: the name determines the signature, which is the headers'.
                    $($($($name: unsafe { library.get(stringify!($name).as_bytes()).ok().map(|symbol| *symbol) },)*)*)*
                }
            }

            $($($(
                pub unsafe fn $name(&self, $($arg: $type),*) -> Answer {
                    let Some(function) = self.$name else { return Err(MISSING.into()) };
                    // SAFETY: the caller's, as for the C function.
                    unsafe { function($($arg),*) }.answer()
                }
            )*)*)*
        }
    };
}
ze_headers::for_each_function!(define_api);

impl Api {
    /// Opens the loader. It stays open until the process ends, as it expects.
    pub fn open(library: &Path) -> Result<Api, libloading::Error> {
        // SAFETY: a loader runs only benign code when it is opened.
        let library = unsafe { Library::new(library) }?;
        let api = Api::resolve(&library);
        std::mem::forget(library);
        Ok(api)
    }

    /// Names and versions of the loader's components, known once it is initialised; none where it cannot say.
    pub fn versions(&self) -> Vec<(String, String)> {
        let Some(get) = self.get_versions else { return Vec::new() };
        let (mut count, empty) = (0, ComponentVersion::default());
        let mut components = Vec::new();
        // SAFETY: first the number is asked for, then there is room for so many.
        unsafe {
            if get(&mut count, std::ptr::null_mut()) == ZE_RESULT_SUCCESS {
                components = vec![empty; count];
                if get(&mut count, components.as_mut_ptr()) != ZE_RESULT_SUCCESS {
                    count = 0;
                }
            }
        }
        components.truncate(count);
        let version = |c: &ComponentVersion| format!("{}.{}.{}", c.major, c.minor, c.patch);
        components.iter().map(|c| (crate::json::text(&c.name), version(c))).collect()
    }
}

type GetVersions = unsafe extern "C" fn(*mut usize, *mut ComponentVersion) -> ze_result_t;

/// `zel_component_version_t` of the loader's own header.
#[repr(C)]
#[derive(Clone, Copy)]
struct ComponentVersion {
    name: [c_char; 64],
    spec: ze_api_version_t,
    major: i32,
    minor: i32,
    patch: i32,
}

impl Default for ComponentVersion {
    fn default() -> Self {
        Self { name: [0; 64], spec: ze_api_version_t(0), major: 0, minor: 0, patch: 0 }
    }
}

/// The items of a list: first their number, then as many.
pub fn list<T: Clone>(item: T, ask: impl Fn(*mut u32, *mut T) -> Answer) -> Result<Vec<T>, String> {
    let mut count = 0;
    ask(&mut count, std::ptr::null_mut())?;
    let mut items = vec![item; count as usize];
    if count != 0 {
        ask(&mut count, items.as_mut_ptr())?;
    }
    items.truncate(count as usize);
    Ok(items)
}
