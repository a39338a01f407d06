//! Reserved addresses and physical memory.

use std::ffi::c_void;
use std::ptr;

use ze_headers::*;
use ze_tests::{CommandList, ListOptions, MemoryKind, Module, Result, platform};

pub const PAGE: usize = 4096;

pub fn reserve(bytes: usize) -> *mut u8 {
    let (platform, mut at) = (platform(), ptr::null_mut());
    // SAFETY: a live context.
    let code = unsafe { platform.api.zeVirtualMemReserve(platform.context, ptr::null(), bytes, &mut at) };
    platform.check("zeVirtualMemReserve", code).unwrap();
    at.cast()
}

pub fn release(at: *mut u8, bytes: usize) -> Result<()> {
    // SAFETY: a live context; nobody uses the addresses.
    let code = unsafe { platform().api.zeVirtualMemFree(platform().context, at.cast(), bytes) };
    platform().check("zeVirtualMemFree", code)
}

pub struct Physical(ze_physical_mem_handle_t);

impl Physical {
    fn new(flags: u32, bytes: usize, next: *const c_void) -> Result<Physical> {
        let platform = platform();
        let mut desc = ze_physical_mem_desc_t {
            stype: ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC,
            pNext: next,
            flags,
            size: bytes,
        };
        let on_host = flags == ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST;
        let device = if on_host { ptr::null_mut() } else { platform.device };
        let mut handle = ptr::null_mut();
        // SAFETY: live handles and a valid descriptor.
        let code =
            unsafe { platform.api.zePhysicalMemCreate(platform.context, device, &mut desc, &mut handle) };
        platform.check("zePhysicalMemCreate", code).map(|()| Physical(handle))
    }

    pub fn device(bytes: usize) -> Physical {
        Physical::new(0, bytes, ptr::null()).unwrap()
    }

    pub fn map(
        &self,
        at: *mut u8,
        bytes: usize,
        offset: usize,
        access: ze_memory_access_attribute_t,
    ) -> Result<()> {
        let platform = platform();
        // SAFETY: live handles.
        let code = unsafe {
            platform.api.zeVirtualMemMap(platform.context, at.cast(), bytes, self.0, offset, access)
        };
        platform.check("zeVirtualMemMap", code)
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        // SAFETY: a live handle.
        let code = unsafe { platform().api.zePhysicalMemDestroy(platform().context, self.0) };
        assert_eq!(code, ZE_RESULT_SUCCESS);
    }
}

pub fn unmap(at: *mut u8, bytes: usize) -> Result<()> {
    // SAFETY: a live context; nobody uses the addresses.
    let code = unsafe { platform().api.zeVirtualMemUnmap(platform().context, at.cast(), bytes) };
    platform().check("zeVirtualMemUnmap", code)
}

#[test]
fn kernels_use_memory_that_is_mapped_twice() {
    let bytes = 64 * PAGE;
    let count = bytes / 4;
    for flags in [ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_DEVICE, ZE_PHYSICAL_MEM_FLAG_ALLOCATE_ON_HOST] {
        let memory = Physical::new(flags, bytes, ptr::null()).unwrap();
        // Not in one piece: the halves change places.
        let (x, y) = (reserve(bytes), reserve(bytes));
        memory.map(x, bytes, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE).unwrap();
        let half = bytes / 2;
        // SAFETY: in the reservation.
        let upper = unsafe { y.add(half) };
        memory.map(y, half, half, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE).unwrap();
        memory.map(upper, half, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY).unwrap();
        // SAFETY: all of it is mapped.
        unsafe { (0..count).for_each(|at| *x.cast::<f32>().add(at) = at as f32) };
        let result = platform().filled(1.0f32, count);
        let kernel = Module::named("saxpy").kernel("saxpy");
        kernel.run_1d(count, 64, &[&2.0f32, &(y as u64), &result, &(count as u32)]);
        let of = |at: usize| ((at + count / 2) % count) as f32;
        assert!((0..count).all(|at| result[at] == 2.0 * of(at) + 1.0), "{flags}");
        drop(memory);
        // SAFETY: it is mapped.
        assert_eq!(unsafe { *x.cast::<f32>().add(5) }, 5.0, "mappings keep the memory");
        release(x, bytes).unwrap();
        release(y, bytes).unwrap();
    }
}

#[test]
fn commands_fail_on_what_is_not_there_and_the_list_goes_on() {
    let (memory, at) = (Physical::device(2 * PAGE), reserve(4 * PAGE));
    memory.map(at, 2 * PAGE, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE).unwrap();
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let other = platform().allocate(MemoryKind::Host, 4 * PAGE, 0).unwrap();
    // SAFETY: the driver looks at what is accessed.
    unsafe {
        let copy = |to: *mut c_void, from: *const c_void, bytes| list.copy(to, from, bytes, None, &[]);
        copy(at.cast(), other, 2 * PAGE).unwrap();
        for (from, bytes) in [(at, 3 * PAGE), (at.add(2 * PAGE), 1), (at.add(2 * PAGE - 1), 2)] {
            for result in [copy(other, from.cast(), bytes), copy(from.cast(), other, bytes)] {
                let error = result.expect_err("it is not mapped");
                assert_eq!(error.code, ZE_RESULT_ERROR_DEVICE_LOST, "{error:?}");
            }
        }
        let set = |access| {
            let code =
                platform().api.zeVirtualMemSetAccessAttribute(platform().context, at.cast(), PAGE, access);
            platform().check("zeVirtualMemSetAccessAttribute", code).unwrap();
        };
        set(ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY);
        copy(other, at.cast(), 2 * PAGE).expect("reading is allowed");
        assert!(copy(at.cast(), other, 1).is_err(), "writing is not");
        copy(at.add(PAGE).cast(), other, 1).expect("the next page is not concerned");
        set(ZE_MEMORY_ACCESS_ATTRIBUTE_NONE);
        assert!(copy(other, at.cast(), 1).is_err());
        set(ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE);
        copy(at.cast(), other, 2 * PAGE).unwrap();
        unmap(at, PAGE).unwrap();
        assert!(copy(other, at.cast(), 1).is_err());
        copy(other, at.add(PAGE).cast(), PAGE).unwrap();
        platform().free(other).unwrap();
    }
    release(at, 4 * PAGE).unwrap();
}

#[test]
fn addresses_are_those_that_were_asked_for_if_they_are_free() {
    let at = reserve(8 * PAGE);
    release(at, 8 * PAGE).unwrap();
    let (platform, mut again, mut other) = (platform(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: a live context.
    unsafe {
        let reserve = |wanted: *const c_void, out| {
            platform.api.zeVirtualMemReserve(platform.context, wanted, 4 * PAGE, out)
        };
        assert_eq!(reserve(at.cast(), &mut again), ZE_RESULT_SUCCESS);
        assert_eq!(reserve(again, &mut other), ZE_RESULT_SUCCESS);
    }
    assert!(!other.is_null() && other != again);
    release(again.cast(), 4 * PAGE).unwrap();
    release(other.cast(), 4 * PAGE).unwrap();
}

#[test]
fn errors_are_those_of_the_specification() {
    let (memory, at) = (Physical::device(PAGE), reserve(PAGE));
    let read_write = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
    let code = |result: Result<()>| result.err().map_or(ZE_RESULT_SUCCESS, |error| error.code);
    assert_eq!(code(memory.map(at, 0, 0, read_write)), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    assert_eq!(code(memory.map(at, 100, 0, read_write)), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    assert_eq!(
        code(memory.map(at.wrapping_add(8), PAGE, 0, read_write)),
        ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT
    );
    assert_eq!(code(memory.map(ptr::null_mut(), PAGE, 0, read_write)), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    assert_eq!(
        code(memory.map(at, PAGE, 0, ze_memory_access_attribute_t(3))),
        ZE_RESULT_ERROR_INVALID_ENUMERATION
    );
    assert_eq!(code(unmap(at, 5)), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    assert_eq!(code(unmap(at.wrapping_add(1), PAGE)), ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
    assert_eq!(code(release(at, 0)), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    assert_eq!(code(release(at, 2 * PAGE)), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    let create = |flags: u32, bytes| Physical::new(flags, bytes, ptr::null()).err().map(|error| error.code);
    assert_eq!(create(0, 0), Some(ZE_RESULT_ERROR_UNSUPPORTED_SIZE));
    assert_eq!(create(0, 5000), Some(ZE_RESULT_ERROR_UNSUPPORTED_SIZE));
    assert_eq!(create(4, PAGE), Some(ZE_RESULT_ERROR_INVALID_ENUMERATION));
    assert_eq!(create(0, usize::MAX - PAGE + 1), Some(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY));
    let platform = platform();
    // SAFETY: live handles, but for those that are none.
    unsafe {
        let (context, api) = (platform.context, &platform.api);
        let mut out = ptr::null_mut();
        assert_eq!(
            api.zeVirtualMemReserve(context, ptr::null(), 0, &mut out),
            ZE_RESULT_ERROR_UNSUPPORTED_SIZE
        );
        let (mut access, mut size) = (read_write, 0);
        let get = |address: *const c_void, bytes, access: &mut _, size: &mut _| {
            api.zeVirtualMemGetAccessAttribute(context, address, bytes, access, size)
        };
        assert_eq!(get(at.cast(), PAGE, &mut access, &mut size), ZE_RESULT_SUCCESS);
        assert_eq!((access, size), (ZE_MEMORY_ACCESS_ATTRIBUTE_NONE, PAGE));
        let local = [0u8; 8192];
        let page = local.as_ptr().map_addr(|address| address.next_multiple_of(PAGE));
        assert_eq!(get(page.cast(), PAGE, &mut access, &mut size), ZE_RESULT_ERROR_INVALID_ARGUMENT);
        let event = ze_tests::EventPool::host_visible(1);
        let not_memory = event.handle as ze_physical_mem_handle_t;
        let code = api.zeVirtualMemMap(context, at.cast(), PAGE, not_memory, 0, read_write);
        assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
        assert_eq!(api.zePhysicalMemDestroy(context, not_memory), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    }
    release(at, PAGE).unwrap();
}

#[test]
fn physical_memory_goes_through_descriptors_and_handles() {
    let memory = Physical::device(4 * PAGE);
    let mut export = ze_external_memory_export_fd_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD,
        flags: ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD as _,
        ..Default::default()
    };
    let mut properties = ze_physical_mem_properties_t {
        stype: ZE_STRUCTURE_TYPE_PHYSICAL_MEM_PROPERTIES,
        pNext: (&raw mut export).cast(),
        ..Default::default()
    };
    let platform = platform();
    // SAFETY: live handles and a valid chain.
    let code =
        unsafe { platform.api.zePhysicalMemGetProperties(platform.context, memory.0, &mut properties) };
    platform.check("zePhysicalMemGetProperties", code).unwrap();
    assert!(properties.size == 4 * PAGE as u64 && properties.id != 0);
    // SAFETY: a call on the descriptor, whose result is a new one.
    let fd = unsafe { libc::fcntl(export.fd, libc::F_DUPFD_CLOEXEC, 3) };
    let import = ze_external_memory_import_fd_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
        flags: ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD as _,
        fd,
        ..Default::default()
    };
    let again = Physical::new(0, 2 * PAGE, (&raw const import).cast()).unwrap();
    let at = reserve(8 * PAGE);
    let read_write = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE;
    memory.map(at, 4 * PAGE, 0, read_write).unwrap();
    // SAFETY: in the reservation.
    let second = unsafe { at.add(4 * PAGE) };
    again.map(second, PAGE, PAGE, read_write).unwrap();
    let mut other = crate::ipc::Other::start();
    for address in [at.cast::<c_void>(), memory.0.cast()] {
        let mut handle = ze_ipc_mem_handle_t::default();
        // SAFETY: all of it is mapped, and the handles live.
        unsafe {
            *at.add(PAGE + 3) = 8;
            assert_eq!(*second.add(3), 8);
            let code = platform.api.zeMemGetIpcHandle(platform.context, address, &mut handle);
            platform.check("zeMemGetIpcHandle", code).unwrap();
        }
        let number = other.ask(&format!("open {}", crate::ipc::digits(&handle.data)));
        assert_eq!(other.ask(&format!("read {number} {}", PAGE + 3)), "8");
        assert_eq!(other.ask(&format!("write {number} {} 9", PAGE + 3)), "done");
        // SAFETY: it is mapped.
        assert_eq!(unsafe { *second.add(3) }, 9);
    }
    release(at, 8 * PAGE).unwrap();
}
