//! Chains of extension structures (`stype`, `pNext`).
//!
//! A chain belongs to the structure that it hangs on, and is used as that one is: behind a descriptor, which the program
//! may have in constant memory, it is read ([`Inputs`]); behind a structure that a query fills, it is written
//! ([`Outputs`]). Structures of an unknown type are skipped. Nothing behind an address that no structure can have is
//! looked at, and no more than [`MAX_LENGTH`] structures are, so that a circular chain ends.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;
use ze_headers::*;

/// Longer chains are taken for circular, and cut.
const MAX_LENGTH: usize = 64;
/// The same of chains that are lists.
const MAX_LIST: usize = 1 << 16;

/// Where a process can have memory: not in the first page, nor where the kernel is. A program that gives a structure of its stack as it finds it may have
/// anything for `pNext`, and by chance the right `stype`.
const PROCESS: std::ops::Range<usize> = 4096..1 << 56;

/// A structure that can be in a chain, or have one.
///
/// # Safety
/// The type is `#[repr(C)]`, begins with `stype` and `pNext`, and is what each of `STYPES` announces.
pub unsafe trait Structure {
    const STYPES: &'static [ze_structure_type_t];
}

/// Implements [`Structure`].
macro_rules! structures {
    ($($type:ty = $($stype:ident)|+;)*) => {
        $(
            // SAFETY: the pairs are those of the API's headers.
            unsafe impl $crate::pnext::Structure for $type {
                const STYPES: &'static [::ze_headers::ze_structure_type_t] = &[$(::ze_headers::$stype),+];
            }
        )*
    };
}
pub(crate) use structures;

/// The structures from `next` on.
///
/// # Safety
/// `next` begins a chain whose structures are readable while the iterator is in use.
unsafe fn walk(next: *const c_void) -> impl Iterator<Item = NonNull<ze_base_properties_t>> {
    let mut next = next.cast_mut().cast::<ze_base_properties_t>();
    std::iter::from_fn(move || {
        let link =
            NonNull::new(next).filter(|link| link.is_aligned() && PROCESS.contains(&link.addr().get()))?;
        // SAFETY: the caller's promise.
        next = unsafe { (&raw const (*link.as_ptr()).pNext).read() }.cast();
        Some(link)
    })
}

/// # Safety
/// The structure is readable.
unsafe fn is<T: Structure>(link: NonNull<ze_base_properties_t>) -> bool {
    // SAFETY: the caller's promise.
    T::STYPES.contains(&unsafe { (&raw const (*link.as_ptr()).stype).read() })
}

/// The chain of a descriptor.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    next: *const c_void,
    owner: PhantomData<&'a c_void>,
}

impl<'a> Inputs<'a> {
    /// The chain of a descriptor. A descriptor's own `stype` decides nothing: programs leave it out.
    ///
    /// # Safety
    /// `desc.pNext` begins a chain that nobody writes for as long as the descriptor is borrowed.
    pub unsafe fn of<T: Structure>(desc: &'a T) -> Self {
        // SAFETY: every such structure begins with these two fields.
        let next = unsafe { (*std::ptr::from_ref(desc).cast::<ze_base_properties_t>()).pNext };
        Self { next, owner: PhantomData }
    }

    /// The chain that a function takes by itself.
    ///
    /// # Safety
    /// `next` begins a chain that nobody writes for as long as this is used.
    pub unsafe fn from_next(next: &'a *const c_void) -> Self {
        Self { next: *next, owner: PhantomData }
    }

    pub fn iter(self) -> impl Iterator<Item = Input<'a>> {
        self.long().take(MAX_LENGTH)
    }

    /// As [`iter`](Self::iter), for a chain that is a list of as many structures as a program likes.
    pub fn long(self) -> impl Iterator<Item = Input<'a>> {
        // SAFETY: promised when this was made.
        unsafe { walk(self.next) }.map(|link| Input { link, owner: PhantomData }).take(MAX_LIST)
    }

    /// The first structure of a type.
    pub fn find<T: Structure>(self) -> Option<&'a T> {
        self.iter().find_map(Input::get)
    }
}

/// A structure of a descriptor's chain.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    link: NonNull<ze_base_properties_t>,
    owner: PhantomData<&'a c_void>,
}

impl<'a> Input<'a> {
    /// The structure, if it is one of this type.
    pub fn get<T: Structure>(self) -> Option<&'a T> {
        // SAFETY: the structure's own type says that it is a `T`, which nobody writes.
        unsafe { is::<T>(self.link).then(|| self.link.cast::<T>().as_ref()) }
    }

    pub fn is<T: Structure>(self) -> bool {
        self.get::<T>().is_some()
    }
}

/// The chain of a structure that a query fills.
pub struct Outputs<'a> {
    next: *const c_void,
    owner: PhantomData<&'a mut c_void>,
}

impl<'a> Outputs<'a> {
    /// The chain of a structure; none where the structure's `stype` is not its own. Programs that want no extension leave
    /// both fields as they find them, in arrays above all.
    ///
    /// # Safety
    /// Where `out.stype` is right, `out.pNext` begins a chain that is the caller's alone for as long as `out` is borrowed.
    pub unsafe fn of<T: Structure>(out: &'a mut T) -> Self {
        let base = NonNull::from(out).cast::<ze_base_properties_t>();
        // SAFETY: every such structure begins with these two fields.
        let next = unsafe { if is::<T>(base) { base.as_ref().pNext } else { std::ptr::null_mut() } };
        Self { next, owner: PhantomData }
    }

    /// Shows every structure of the chain, one at a time.
    pub fn for_each(self, mut visit: impl FnMut(Output<'_>)) {
        // SAFETY: promised when this was made.
        for link in unsafe { walk(self.next) }.take(MAX_LENGTH) {
            visit(Output { link, owner: PhantomData });
        }
    }

    /// The first structure of a type.
    pub fn find<T: Structure>(self) -> Option<&'a mut T> {
        // SAFETY: promised when this was made; the structure's own type says that it is a `T`, and as this is used up,
        // there is no other reference to it.
        unsafe {
            walk(self.next).take(MAX_LENGTH).find(|&link| is::<T>(link)).map(|link| link.cast::<T>().as_mut())
        }
    }
}

/// A structure of a query's chain.
pub struct Output<'a> {
    link: NonNull<ze_base_properties_t>,
    owner: PhantomData<&'a mut c_void>,
}

impl Output<'_> {
    /// The structure, if it is one of this type.
    pub fn get<T: Structure>(&mut self) -> Option<&mut T> {
        // SAFETY: the structure's own type says that it is a `T`; it is borrowed from this, which is the only access to
        // the chain.
        unsafe { is::<T>(self.link).then(|| self.link.cast::<T>().as_mut()) }
    }
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
    structures! {
        Known = ZE_STRUCTURE_TYPE_EU_COUNT_EXT;
        ze_base_properties_t = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES | ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
    }

    fn known(value: u32) -> Known {
        Known { stype: ZE_STRUCTURE_TYPE_EU_COUNT_EXT, next: std::ptr::null_mut(), value }
    }

    fn link<T>(stype: ze_structure_type_t, next: *mut T) -> ze_base_properties_t {
        ze_base_properties_t { stype, pNext: next.cast() }
    }

    const UNKNOWN: ze_structure_type_t = ze_structure_type_t(0x7777);
    const NONE: ze_structure_type_t = ze_structure_type_t(0);

    #[test]
    fn unknown_structures_are_skipped() {
        let mut last = known(3);
        let mut untyped = link(NONE, &raw mut last);
        let mut unknown = link(UNKNOWN, &raw mut untyped);
        let mut base = link(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, &raw mut unknown);
        // SAFETY: the chain is built above.
        unsafe {
            assert_eq!(Inputs::of(&base).find::<Known>().map(|known| known.value), Some(3));
            Outputs::of(&mut base).find::<Known>().expect("it is in the chain").value = 5;
            Outputs::of(&mut base).for_each(|mut link| {
                if let Some(known) = link.get::<Known>() {
                    known.value += 1;
                }
            });
        }
        assert_eq!(last.value, 6);
    }

    #[test]
    fn a_chain_ends_where_no_process_has_memory() {
        for next in [8, 0xff8, 1 << 56, 0x3d76_158b_48fb_8948, usize::MAX & !7] {
            let mut base = link(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, next as *mut c_void);
            // SAFETY: what is there is not looked at.
            unsafe {
                assert_eq!(Inputs::of(&base).iter().count(), 0, "{next:#x}");
                assert!(Outputs::of(&mut base).find::<Known>().is_none(), "{next:#x}");
            }
        }
    }

    #[test]
    fn a_circular_chain_ends() {
        let mut base = link(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, std::ptr::null_mut::<c_void>());
        base.pNext = (&raw mut base).cast();
        let mut visited = 0;
        // SAFETY: the structure lives here and begins as it must.
        unsafe {
            assert_eq!(Inputs::of(&base).iter().count(), MAX_LENGTH);
            Outputs::of(&mut base).for_each(|_| visited += 1);
        }
        assert_eq!(visited, MAX_LENGTH);
    }

    #[test]
    fn nothing_is_read_behind_a_query_that_is_not_initialised() {
        // Both what no structure can have as its address, and what could be one and is not readable.
        for next in [0x1001, 0x1000, usize::MAX & !7] {
            for stype in [NONE, UNKNOWN, ZE_STRUCTURE_TYPE_EU_COUNT_EXT] {
                let mut base = link(stype, next as *mut c_void);
                // SAFETY: the structure's type is not its own.
                unsafe { Outputs::of(&mut base) }.for_each(|_| panic!("there is no chain"));
            }
        }
    }

    #[test]
    fn every_type_of_a_structure_announces_its_chain() {
        for stype in [ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2] {
            let mut last = known(1);
            let mut base = link(stype, &raw mut last);
            // SAFETY: the chain is built above.
            assert!(unsafe { Outputs::of(&mut base) }.find::<Known>().is_some());
        }
    }

    #[test]
    fn a_chain_ends_at_an_address_that_is_not_aligned() {
        let base = link(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, 0x1003 as *mut c_void);
        // SAFETY: nothing is read where no structure can be.
        assert_eq!(unsafe { Inputs::of(&base) }.iter().count(), 0);
    }
}
