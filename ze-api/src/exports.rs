//! The C functions, and under their names the exported symbols.
//!
//! A program that links the loader has the loader's `zeInit` first in the dynamic linker's search order, and a
//! reference to an exported symbol of this name is bound to it, even one from inside this library. The DDI tables
//! therefore refer to functions that are not exported, and an exported symbol is only another way into one of them.

use ze_headers::*;

use crate::dispatch;
use crate::entry::entry;

macro_rules! exports {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident ($($arg:ident: $ty:ty),*) -> $ret:ty;)*
    })* })*) => {
        $($($(
            pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                // SAFETY: the caller keeps to the C function's contract, which is that of the Rust function.
                #[allow(unused_unsafe, reason = "a fallback is safe to call")]
                entry(stringify!($name), || unsafe { dispatch::$name($($arg),*) })
            }

            const _: () = {
                #[unsafe(export_name = stringify!($name))]
                unsafe extern "C" fn exported($($arg: $ty),*) -> $ret {
                    // SAFETY: as above.
                    unsafe { $name($($arg),*) }
                }
            };
        )*)*)*
    };
}
for_each_function! { exports }
