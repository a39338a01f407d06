//! Chains of extension structures (`stype`, `pNext`).

use std::ffi::c_void;
use ze_headers::*;

/// Longer chains are taken for circular, and cut.
const MAX_LENGTH: usize = 64;

/// A structure that can be in a chain.
///
/// # Safety
/// The type is `#[repr(C)]`, begins with `stype` and `pNext`, and is what `STYPE` announces.
pub unsafe trait Structure {
    const STYPE: ze_structure_type_t;
}

/// Implements [`Structure`].
macro_rules! structures {
    ($($type:ty = $stype:ident;)*) => {
        $(
            // SAFETY: the pairs are those of the API's headers.
            unsafe impl $crate::pnext::Structure for $type {
                const STYPE: ::ze_headers::ze_structure_type_t = ::ze_headers::$stype;
            }
        )*
    };
}
pub(crate) use structures;

/// An element of a chain.
#[derive(Clone, Copy)]
pub struct Link(*mut ze_base_properties_t);

impl Link {
    pub fn stype(self) -> ze_structure_type_t {
        // SAFETY: `iter` only gives links that the caller promised to be structures.
        unsafe { (*self.0).stype }
    }

    /// The structure, if it is one of this type.
    pub fn get<'a, T: Structure>(self) -> Option<&'a mut T> {
        // SAFETY: the structure's own type tag says that it is a `T`, which the program owns for the call.
        (self.stype() == T::STYPE).then(|| unsafe { &mut *self.0.cast::<T>() })
    }
}

/// The structures of a chain, in order. Unknown ones are the caller's to skip.
///
/// # Safety
/// `next` is null or points to a structure that begins with `stype` and `pNext`, and so does each `pNext`.
pub unsafe fn iter(next: *const c_void) -> impl Iterator<Item = Link> {
    let mut next = next.cast_mut().cast::<ze_base_properties_t>();
    std::iter::from_fn(move || {
        if next.is_null() {
            return None;
        }
        let link = Link(next);
        // SAFETY: the caller's promise.
        next = unsafe { (*next).pNext.cast() };
        Some(link)
    })
    .take(MAX_LENGTH)
}

/// The first structure of a type in a chain.
///
/// # Safety
/// As [`iter`].
pub unsafe fn find<'a, T: Structure>(next: *const c_void) -> Option<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { iter(next) }.find_map(Link::get::<T>)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    struct Known {
        stype: ze_structure_type_t,
        next: *mut c_void,
        value: u32,
    }
    structures! { Known = ZE_STRUCTURE_TYPE_EU_COUNT_EXT; }

    #[test]
    fn unknown_structures_are_skipped() {
        let mut known = Known { stype: ZE_STRUCTURE_TYPE_EU_COUNT_EXT, next: std::ptr::null_mut(), value: 0 };
        let mut unknown =
            ze_base_properties_t { stype: ze_structure_type_t(0x7777), pNext: (&raw mut known).cast() };
        // SAFETY: both structures live here and begin as they must.
        let found = unsafe { find::<Known>((&raw mut unknown).cast()) };
        found.expect("it is in the chain").value = 5;
        assert_eq!(known.value, 5);
    }

    #[test]
    fn a_circular_chain_ends() {
        let mut link =
            ze_base_properties_t { stype: ze_structure_type_t(0x7777), pNext: std::ptr::null_mut() };
        link.pNext = (&raw mut link).cast();
        // SAFETY: the structure lives here and begins as it must.
        assert_eq!(unsafe { iter(link.pNext) }.count(), MAX_LENGTH);
    }
}
