//! Typed USM allocations with a guard behind the data.

use std::ffi::c_void;
use std::mem::size_of;
use std::ops::{Deref, DerefMut};
use std::ptr;

use ze_headers::*;

use crate::platform::{Platform, Result};

/// The three kinds of unified shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    Host,
    Device,
    Shared,
}

/// Bytes behind the data that nothing may write.
const GUARD_BYTES: usize = 128;
const GUARD_VALUE: u8 = 0xa5;

/// An allocation of `len` elements. The data is host-accessible as a slice; on this driver device memory is too, but
/// tests of device memory use copies.
///
/// Dropping it checks that the guard behind the data is untouched.
pub struct Buffer<T: Copy> {
    platform: &'static Platform,
    pointer: *mut T,
    len: usize,
}

// SAFETY: the allocation is plain memory, owned by this object.
unsafe impl<T: Copy + Send> Send for Buffer<T> {}
// SAFETY: as above.
unsafe impl<T: Copy + Sync> Sync for Buffer<T> {}

impl Platform {
    /// Allocates `bytes` bytes.
    pub fn allocate(&self, kind: MemoryKind, bytes: usize, alignment: usize) -> Result<*mut c_void> {
        let device = ze_device_mem_alloc_desc_t {
            stype: ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
            ..Default::default()
        };
        let host =
            ze_host_mem_alloc_desc_t { stype: ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, ..Default::default() };
        let mut pointer = ptr::null_mut();
        // SAFETY: live handles and descriptors.
        let (function, code) = unsafe {
            match kind {
                MemoryKind::Host => (
                    "zeMemAllocHost",
                    self.api.zeMemAllocHost(self.context, &host, bytes, alignment, &mut pointer),
                ),
                MemoryKind::Device => (
                    "zeMemAllocDevice",
                    self.api.zeMemAllocDevice(
                        self.context,
                        &device,
                        bytes,
                        alignment,
                        self.device,
                        &mut pointer,
                    ),
                ),
                MemoryKind::Shared => (
                    "zeMemAllocShared",
                    self.api.zeMemAllocShared(
                        self.context,
                        &device,
                        &host,
                        bytes,
                        alignment,
                        self.device,
                        &mut pointer,
                    ),
                ),
            }
        };
        self.check(function, code).map(|()| pointer)
    }

    /// Frees what [`Platform::allocate`] returned.
    ///
    /// # Safety
    /// Nothing uses the memory any more.
    pub unsafe fn free(&self, pointer: *mut c_void) -> Result<()> {
        // SAFETY: the caller's.
        let code = unsafe { self.api.zeMemFree(self.context, pointer) };
        self.check("zeMemFree", code)
    }

    /// Shared memory with a copy of the data.
    pub fn buffer<T: Copy>(&'static self, data: &[T]) -> Buffer<T> {
        self.buffer_in(MemoryKind::Shared, data)
    }

    /// Shared memory with `len` times the value.
    pub fn filled<T: Copy>(&'static self, value: T, len: usize) -> Buffer<T> {
        self.buffer(&vec![value; len])
    }

    pub fn buffer_in<T: Copy>(&'static self, kind: MemoryKind, data: &[T]) -> Buffer<T> {
        let bytes = size_of_val(data);
        let pointer = self.allocate(kind, bytes + GUARD_BYTES, 64).expect("memory is allocated").cast::<u8>();
        // SAFETY: the allocation has room for the data and the guard, and is new.
        unsafe {
            ptr::copy_nonoverlapping(data.as_ptr().cast::<u8>(), pointer, bytes);
            ptr::write_bytes(pointer.add(bytes), GUARD_VALUE, GUARD_BYTES);
        }
        Buffer { platform: self, pointer: pointer.cast(), len: data.len() }
    }
}

impl<T: Copy> Buffer<T> {
    pub fn pointer(&self) -> *mut T {
        self.pointer
    }

    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T: Copy> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialised elements; tests synchronise before they look.
        unsafe { std::slice::from_raw_parts(self.pointer, self.len) }
    }
}

impl<T: Copy> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.pointer, self.len) }
    }
}

impl<T: Copy> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: the guard belongs to the allocation.
        let guard = unsafe {
            std::slice::from_raw_parts(self.pointer.cast::<u8>().add(self.bytes()), GUARD_BYTES).to_vec()
        };
        // SAFETY: tests synchronise before they drop.
        let freed = unsafe { self.platform.free(self.pointer.cast()) };
        if !std::thread::panicking() {
            freed.expect("memory is freed");
            let written = guard.iter().position(|&byte| byte != GUARD_VALUE);
            assert_eq!(
                written, None,
                "something wrote this many bytes behind a buffer of {} elements",
                self.len
            );
        }
    }
}
