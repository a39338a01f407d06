//! The C ABI of Level Zero: types, constants, the list of functions, and what every handle begins with.
//!
//! `bindings.rs` and `functions.rs` are written by `ci/update-headers` and never edited by hand. With the feature
//! `update` this library is empty, so that the program that writes them can be built when they are broken.
#![cfg(not(feature = "update"))]

#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
#[allow(clippy::all, clippy::undocumented_unsafe_blocks)]
#[rustfmt::skip]
mod bindings;
#[macro_use]
mod functions;
mod handle;
#[allow(non_camel_case_types, non_snake_case)]
mod intel;
mod tables;

pub use bindings::*;
pub use core::ffi::{c_char, c_uint, c_void};
pub use handle::{HandleHeader, Tables, publish_tables};
pub use intel::*;
pub use tables::{Function, TABLES, Table};

/// The API version `major.minor` as the C interface packs it.
pub const fn api_version(major: u16, minor: u16) -> ze_api_version_t {
    ze_api_version_t((major as u32) << 16 | minor as u32)
}

impl ze_api_version_t {
    /// The major version: tables of different major versions have nothing in common.
    pub const fn major(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// The minor version: tables only ever grow with it.
    pub const fn minor(self) -> u16 {
        self.0 as u16
    }
}
