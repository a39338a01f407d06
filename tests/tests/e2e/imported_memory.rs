//! Memory of the program's that becomes an allocation, and functions that are called when memory is freed.

use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{mem, ptr};

use ze_headers::*;
use ze_tests::{CommandList, ListOptions, MemoryKind, Module, platform};

const PAGE: usize = 4096;

/// Pages of the program's own.
struct Pages {
    at: *mut c_void,
    bytes: usize,
}

impl Pages {
    fn new(pages: usize, protection: i32) -> Pages {
        let (bytes, flags) = (pages * PAGE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory.
        let at = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        Pages { at, bytes }
    }

    fn plain(pages: usize) -> Pages {
        Pages::new(pages, libc::PROT_READ | libc::PROT_WRITE)
    }

    fn words(&self) -> &[u32] {
        // SAFETY: the pages are there, and no command runs.
        unsafe { std::slice::from_raw_parts(self.at.cast(), self.bytes / 4) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: nothing uses them.
        unsafe { libc::munmap(self.at, self.bytes) };
    }
}

/// `zeMemAllocHost` of memory at an address.
fn import(at: *mut c_void, bytes: usize, size: usize, flags: u32) -> Result<*mut c_void, ze_result_t> {
    let system = ze_external_memmap_sysmem_ext_desc_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC,
        pSystemMemory: at,
        size: bytes as u64,
        ..Default::default()
    };
    let desc = ze_host_mem_alloc_desc_t {
        stype: ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC,
        pNext: (&raw const system).cast(),
        flags,
    };
    let mut imported = ptr::null_mut();
    // SAFETY: a live context and a valid chain.
    let code = unsafe { platform().api.zeMemAllocHost(platform().context, &desc, size, 0, &mut imported) };
    if code == ZE_RESULT_SUCCESS { Ok(imported) } else { Err(code) }
}

fn type_of(pointer: *const c_void) -> ze_memory_type_t {
    let mut properties = ze_memory_allocation_properties_t {
        stype: ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live context; the pointer is only looked up.
    let code = unsafe {
        let device = ptr::null_mut();
        platform().api.zeMemGetAllocProperties(platform().context, pointer, &mut properties, device)
    };
    platform().check("zeMemGetAllocProperties", code).unwrap();
    properties.type_
}

fn free(pointer: *mut c_void) {
    // SAFETY: nothing uses the memory.
    unsafe { platform().free(pointer) }.unwrap();
}

#[test]
fn memory_of_the_program_is_an_allocation_where_it_is() {
    let (pages, other) = (Pages::plain(3), Pages::plain(1));
    let imported = import(pages.at, pages.bytes, pages.bytes, 0).unwrap();
    assert_eq!(imported, pages.at);
    for offset in [0, 5000, pages.bytes - 1] {
        let inside = imported.wrapping_byte_add(offset);
        assert_eq!(type_of(inside), ZE_MEMORY_TYPE_HOST_IMPORTED);
        let (mut base, mut size) = (ptr::null_mut(), 0);
        // SAFETY: a live context.
        let code =
            unsafe { platform().api.zeMemGetAddressRange(platform().context, inside, &mut base, &mut size) };
        assert_eq!((code, base, size), (ZE_RESULT_SUCCESS, imported, pages.bytes));
    }
    assert_eq!(type_of(imported.wrapping_byte_add(pages.bytes)), ZE_MEMORY_TYPE_UNKNOWN);
    assert_eq!(type_of(other.at), ZE_MEMORY_TYPE_UNKNOWN);
    // Commands and kernels access it.
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    // SAFETY: as many bytes as there are.
    unsafe { list.fill(imported, &7u32.to_ne_bytes(), pages.bytes, None, &[]) }.unwrap();
    assert!(pages.words().iter().all(|&word| word == 7));
    let kernel = Module::named("vector_add").kernel("vector_add");
    let n = (pages.bytes / 4) as u32;
    let ones = platform().filled(f32::from_bits(0), n as usize);
    kernel.set_group_size([64, 1, 1]).unwrap();
    kernel.set_arguments(&[&(imported as u64), &ones, &(imported as u64), &n]).unwrap();
    list.launch(&kernel, [n / 64, 1, 1], None, &[]).unwrap();
    // The program keeps it.
    free(imported);
    assert_eq!(type_of(imported), ZE_MEMORY_TYPE_UNKNOWN);
    assert_eq!(pages.words().len(), n as usize);
    let again = import(pages.at, pages.bytes, 100, 0).unwrap();
    free(again);
}

#[test]
fn memory_that_cannot_be_an_allocation_is_refused() {
    let pages = Pages::plain(4);
    let inside = pages.at.wrapping_byte_add(100);
    let refused = |at, bytes, size| import(at, bytes, size, 0).unwrap_err();
    assert_eq!(refused(pages.at, PAGE + 1, 10), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    assert_eq!(refused(pages.at, 0, 10), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    assert_eq!(refused(pages.at, PAGE, 0), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    assert_eq!(refused(pages.at, PAGE, PAGE + 1), ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    assert_eq!(refused(inside, PAGE, PAGE), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    assert_eq!(refused(ptr::null_mut(), PAGE, PAGE), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
    let nowhere = ptr::without_provenance_mut(PAGE);
    assert_eq!(refused(nowhere, PAGE, PAGE), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    // What is an allocation already, in part or as a whole.
    let imported = import(pages.at.wrapping_byte_add(PAGE), 2 * PAGE, PAGE, 0).unwrap();
    for (first, count) in [(0, 2), (1, 1), (2, 2), (0, 4)] {
        let at = pages.at.wrapping_byte_add(first * PAGE);
        assert_eq!(refused(at, count * PAGE, PAGE), ZE_RESULT_ERROR_INVALID_ARGUMENT, "{first}, {count}");
    }
    for page in [0, 3] {
        free(import(pages.at.wrapping_byte_add(page * PAGE), PAGE, PAGE, 0).unwrap());
    }
    // Its pages stay the program's: no other process gets them.
    let mut handle = ze_ipc_mem_handle_t::default();
    // SAFETY: a live context.
    let code = unsafe { platform().api.zeMemGetIpcHandle(platform().context, imported, &mut handle) };
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    free(imported);
}

#[test]
fn memory_that_is_only_read_is_imported_as_such() {
    let pages = Pages::new(1, libc::PROT_READ);
    assert_eq!(import(pages.at, PAGE, PAGE, 0).unwrap_err(), ZE_RESULT_ERROR_INVALID_ARGUMENT);
    free(import(pages.at, PAGE, PAGE, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY).unwrap());
    let closed = Pages::new(1, libc::PROT_NONE);
    let code = import(closed.at, PAGE, PAGE, ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY).unwrap_err();
    assert_eq!(code, ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: what the test has registered.
    unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_program_is_told_when_memory_is_freed() {
    type Register = unsafe extern "C" fn(
        ze_context_handle_t,
        *mut zex_memory_free_callback_ext_desc_t,
        *mut c_void,
    ) -> ze_result_t;
    let (name, mut function) = (CString::new("zexMemFreeRegisterCallbackExt").unwrap(), ptr::null_mut());
    let (api, context) = (&platform().api, platform().context);
    let calls = AtomicU32::new(0);
    let mut desc = zex_memory_free_callback_ext_desc_t {
        stype: ze_structure_type_t(0x0003_0030),
        pNext: ptr::null(),
        pfnCallback: Some(count),
        pUserData: ptr::from_ref(&calls).cast_mut().cast(),
    };
    // SAFETY: the function has this type, and what is called lives longer than the memory.
    unsafe {
        let code = api.zeDriverGetExtensionFunctionAddress(platform().driver, name.as_ptr(), &mut function);
        platform().check("zeDriverGetExtensionFunctionAddress", code).unwrap();
        let register: Register = mem::transmute(function);
        for kind in [MemoryKind::Host, MemoryKind::Device, MemoryKind::Shared] {
            calls.store(0, Ordering::Relaxed);
            let memory = platform().allocate(kind, 100, 0).unwrap();
            assert_eq!(register(context, &mut desc, memory), ZE_RESULT_SUCCESS);
            let inside = memory.wrapping_byte_add(50);
            assert_eq!(register(context, &mut desc, inside), ZE_RESULT_SUCCESS);
            assert_eq!(calls.load(Ordering::Relaxed), 0);
            free(memory);
            assert_eq!(calls.load(Ordering::Relaxed), 2, "once for each time");
            assert_eq!(register(context, &mut desc, memory), ZE_RESULT_ERROR_INVALID_ARGUMENT);
        }
        // Also where the memory is freed when nothing uses it any more.
        let memory = platform().allocate(MemoryKind::Device, 100, 0).unwrap();
        assert_eq!(register(context, &mut desc, memory), ZE_RESULT_SUCCESS);
        let policy = ze_memory_free_ext_desc_t {
            stype: ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC,
            freePolicy: ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE,
            ..Default::default()
        };
        assert_eq!(api.zeMemFreeExt(context, &policy, memory), ZE_RESULT_SUCCESS);
        assert_eq!(register(context, ptr::null_mut(), memory), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
        assert_eq!(register(context, &mut desc, ptr::null_mut()), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
        desc.pfnCallback = None;
        assert_eq!(register(context, &mut desc, memory), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
        assert_eq!(register(ptr::null_mut(), &mut desc, memory), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    }
    let all = platform().extensions().unwrap();
    for name in ["ZEX_extension_memory_free_callback", "ZE_extension_external_memmap_sysmem"] {
        assert!(all.iter().any(|(extension, _)| extension == name), "{name}");
    }
}
