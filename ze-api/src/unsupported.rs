//! Fallbacks: for every function of the API one of the same name that says it is unsupported.

use std::fmt;

use ze_headers::*;

use crate::entry::{Failure, Returned};

/// The error of a function that this driver does not implement.
#[derive(Debug)]
pub struct Unsupported;

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this driver does not implement the function")
    }
}

impl Failure for Unsupported {
    const IMPLEMENTED: bool = false;

    fn result(&self) -> ze_result_t {
        ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
    }
}

macro_rules! fallbacks {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident ($($arg:ident: $ty:ty),*) -> $ret:ty;)*
    })* })*) => {
        $($($(
            pub fn $name($(_: $ty),*) -> Result<<$ret as Returned>::Success, Unsupported> {
                Err(Unsupported)
            }
        )*)*)*
    };
}
for_each_function! { fallbacks }
