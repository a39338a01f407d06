//! Unified shared memory, its look-up, and the commands that copy and fill it.

use std::ffi::c_void;
use std::ptr;

use ze_headers::*;
use ze_tests::ulp::assert_same;
use ze_tests::{CommandList, EventPool, ListOptions, MemoryKind, Module, Random, platform};

fn allocation_type(pointer: *const c_void) -> (ze_memory_type_t, ze_device_handle_t) {
    let mut properties = ze_memory_allocation_properties_t {
        stype: ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
        ..Default::default()
    };
    let mut device = ptr::null_mut();
    let platform = platform();
    // SAFETY: a live context; the pointer is only looked up.
    let code = unsafe {
        platform.api.zeMemGetAllocProperties(platform.context, pointer, &mut properties, &mut device)
    };
    platform.check("zeMemGetAllocProperties", code).unwrap();
    (properties.type_, device)
}

#[test]
fn every_pointer_into_an_allocation_is_known() {
    for (kind, want) in [
        (MemoryKind::Host, ZE_MEMORY_TYPE_HOST),
        (MemoryKind::Device, ZE_MEMORY_TYPE_DEVICE),
        (MemoryKind::Shared, ZE_MEMORY_TYPE_SHARED),
    ] {
        for bytes in [1usize, 64, 4096, 1_000_003] {
            let pointer = platform().allocate(kind, bytes, 0).unwrap();
            for offset in [0, bytes / 2, bytes - 1] {
                let inside = pointer.wrapping_byte_add(offset);
                let (kind_found, device) = allocation_type(inside);
                assert_eq!(kind_found, want, "{kind:?}, {bytes} bytes, at {offset}");
                if kind != MemoryKind::Host {
                    assert_eq!(device, platform().device);
                }
                let (mut base, mut size) = (ptr::null_mut(), 0);
                // SAFETY: a live context.
                let code = unsafe {
                    platform().api.zeMemGetAddressRange(platform().context, inside, &mut base, &mut size)
                };
                platform().check("zeMemGetAddressRange", code).unwrap();
                assert_eq!(base, pointer);
                assert!(size >= bytes, "range of {size} for {bytes} bytes");
            }
            // SAFETY: nothing uses the memory.
            unsafe { platform().free(pointer) }.unwrap();
            assert_eq!(allocation_type(pointer).0, ZE_MEMORY_TYPE_UNKNOWN, "after it was freed");
        }
    }
}

#[test]
fn memory_of_the_program_is_unknown() {
    let local = 5u32;
    assert_eq!(allocation_type(ptr::from_ref(&local).cast()).0, ZE_MEMORY_TYPE_UNKNOWN);
}

#[test]
fn allocations_are_aligned_as_asked() {
    for alignment in [0usize, 1, 8, 64, 4096, 65_536] {
        let pointer = platform().allocate(MemoryKind::Shared, 100, alignment).unwrap();
        assert_eq!(pointer as usize % alignment.max(1), 0, "alignment {alignment}");
        // SAFETY: nothing uses the memory.
        unsafe { platform().free(pointer) }.unwrap();
    }
}

#[test]
fn copies_between_all_kinds_of_memory() {
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let kinds = [MemoryKind::Host, MemoryKind::Device, MemoryKind::Shared];
    for (from, to) in kinds.iter().flat_map(|from| kinds.map(|to| (*from, to))) {
        for bytes in [1usize, 63, 4096, 3_000_001] {
            let mut random = Random::new(bytes as u64);
            let data: Vec<u8> = (0..bytes).map(|_| random.next_u32() as u8).collect();
            let source = platform().buffer_in(from, &data);
            let target = platform().buffer_in(to, &vec![0u8; bytes]);
            // SAFETY: both are `bytes` long and live.
            unsafe { list.copy(target.pointer().cast(), source.pointer().cast(), bytes, None, &[]) }.unwrap();
            assert!(target[..] == data[..], "{bytes} bytes from {from:?} to {to:?}");
        }
    }
    // The host's own memory takes part too.
    let data = vec![7u8; 1000];
    let target = platform().buffer(&[0u8; 1000]);
    let mut back = vec![0u8; 1000];
    // SAFETY: all are 1000 bytes long and live.
    unsafe {
        list.copy(target.pointer().cast(), data.as_ptr().cast(), 1000, None, &[]).unwrap();
        list.copy(back.as_mut_ptr().cast(), target.pointer().cast(), 1000, None, &[]).unwrap();
    }
    assert_same("through shared memory", &back, &data);
}

#[test]
fn fills_repeat_patterns_of_every_size() {
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    for pattern_size in [1usize, 2, 4, 8, 16, 32, 64, 128] {
        for repeats in [1usize, 3, 100, 5000] {
            let bytes = pattern_size * repeats;
            let pattern: Vec<u8> = (1..=pattern_size as u8).collect();
            let target = platform().buffer(&vec![0u8; bytes]);
            // SAFETY: the target is `bytes` long and live.
            unsafe { list.fill(target.pointer().cast(), &pattern, bytes, None, &[]) }.unwrap();
            assert!(target[..] == pattern.repeat(repeats)[..], "{repeats} times {pattern_size} bytes");
        }
    }
}

#[test]
fn regions_are_copied_with_their_pitches() {
    let platform = platform();
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let (pitch, slice) = (20usize, 20 * 6);
    let source: Vec<u8> = (0..slice * 4).map(|i| i as u8).collect();
    let source = platform.buffer(&source);
    let target = platform.buffer(&[0u8; 9 * 5 * 3]);
    let from = ze_copy_region_t { originX: 3, originY: 1, originZ: 2, width: 7, height: 4, depth: 2 };
    let to = ze_copy_region_t { originX: 1, originY: 0, originZ: 1, width: 7, height: 4, depth: 2 };
    // SAFETY: the regions lie inside of the buffers.
    let code = unsafe {
        platform.api.zeCommandListAppendMemoryCopyRegion(
            list.handle,
            target.pointer().cast(),
            &to,
            9,
            9 * 5,
            source.pointer().cast(),
            &from,
            pitch as u32,
            slice as u32,
            ptr::null_mut(),
            0,
            ptr::null_mut(),
        )
    };
    platform.check("zeCommandListAppendMemoryCopyRegion", code).unwrap();
    let mut want = vec![0u8; 9 * 5 * 3];
    for z in 0..2 {
        for y in 0..4 {
            for x in 0..7 {
                want[(z + 1) * 45 + y * 9 + x + 1] = source[(z + 2) * slice + (y + 1) * pitch + x + 3];
            }
        }
    }
    assert_same("region", &target, &want);
}

#[test]
fn kernels_reach_every_kind_of_memory() {
    let module = Module::named("vector_add");
    let kernel = module.kernel("vector_add");
    let n = 1000;
    for kind in [MemoryKind::Host, MemoryKind::Device, MemoryKind::Shared] {
        let a = platform().buffer_in(kind, &vec![1.5f32; n]);
        let b = platform().buffer_in(kind, &vec![2.0f32; n]);
        let sum = platform().buffer_in(kind, &vec![0.0f32; n]);
        kernel.run_1d(n, 100, &[&a, &b, &sum, &(n as u32)]);
        assert_same(&format!("{kind:?}"), &sum, &vec![3.5; n]);
    }
}

#[test]
fn many_allocations_at_once_from_many_threads() {
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            scope.spawn(move || {
                let mut random = Random::new(thread);
                let mut live: Vec<(*mut c_void, usize)> = Vec::new();
                for _ in 0..500 {
                    if live.len() < 50 || random.below(2) == 0 {
                        let bytes = 1 + random.below(100_000) as usize;
                        live.push((platform().allocate(MemoryKind::Device, bytes, 64).unwrap(), bytes));
                    } else {
                        let (pointer, bytes) = live.swap_remove(random.below(live.len() as u32) as usize);
                        assert_eq!(
                            allocation_type(pointer.wrapping_byte_add(bytes - 1)).0,
                            ZE_MEMORY_TYPE_DEVICE
                        );
                        // SAFETY: nothing uses the memory.
                        unsafe { platform().free(pointer) }.unwrap();
                    }
                }
                for (pointer, _) in live {
                    // SAFETY: nothing uses the memory.
                    unsafe { platform().free(pointer) }.unwrap();
                }
            });
        }
    });
}

#[test]
fn an_address_in_no_allocation_has_no_range() {
    let local = 5u32;
    let (mut base, mut size) = (ptr::null_mut(), 0);
    let platform = platform();
    let address = ptr::from_ref(&local).cast::<c_void>().cast_mut();
    // SAFETY: live handles; the address is only looked up.
    unsafe {
        let code = platform.api.zeMemGetAddressRange(platform.context, address, &mut base, &mut size);
        assert_eq!(code, ZE_RESULT_ERROR_ADDRESS_NOT_FOUND);
        // Kernels can use it all the same.
        let changes = |address, size| {
            let (context, device) = (platform.context, platform.device);
            [
                platform.api.zeContextMakeMemoryResident(context, device, address, size),
                platform.api.zeContextEvictMemory(context, device, address, size),
            ]
        };
        assert_eq!(changes(address, size_of::<u32>()), [ZE_RESULT_SUCCESS; 2]);
        assert_eq!(changes(address, 1 << 46), [ZE_RESULT_ERROR_INVALID_ARGUMENT; 2]);
        assert_eq!(changes(64 as _, 64), [ZE_RESULT_ERROR_INVALID_ARGUMENT; 2]);
    }
}

#[test]
fn atomic_access_attributes_are_kept_for_every_memory() {
    let platform = platform();
    let system = vec![0u8; 4096];
    let shared = platform.buffer(&[0u8; 4096]);
    for pointer in [system.as_ptr(), shared.pointer().cast_const()] {
        for device in [platform.device, ptr::null_mut()] {
            for attribute in
                [ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_SYSTEM_ATOMICS, ZE_MEMORY_ATOMIC_ATTR_EXP_FLAG_NO_ATOMICS, 0]
            {
                let mut found = u32::MAX;
                // SAFETY: live handles and memory.
                unsafe {
                    let code = platform.api.zeMemSetAtomicAccessAttributeExp(
                        platform.context,
                        device,
                        pointer.cast(),
                        4096,
                        attribute,
                    );
                    platform.check("zeMemSetAtomicAccessAttributeExp", code).unwrap();
                    let code = platform.api.zeMemGetAtomicAccessAttributeExp(
                        platform.context,
                        device,
                        pointer.cast(),
                        4096,
                        &mut found,
                    );
                    platform.check("zeMemGetAtomicAccessAttributeExp", code).unwrap();
                }
                assert_eq!(found, attribute);
            }
        }
    }
}

/// Allocates shared memory with an ordinal, flags and chains.
fn allocate_shared(
    device: (u32, *const c_void),
    host: (u32, *const c_void),
    bytes: usize,
) -> ze_tests::Result<*mut c_void> {
    let platform = platform();
    let device_desc = ze_device_mem_alloc_desc_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
        ordinal: device.0,
        pNext: device.1,
        ..Default::default()
    };
    let host_desc = ze_host_mem_alloc_desc_t {
        stype: ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC,
        flags: host.0,
        pNext: host.1,
    };
    let mut pointer = ptr::null_mut();
    // SAFETY: live handles and descriptors.
    let code = unsafe {
        platform.api.zeMemAllocShared(
            platform.context,
            &device_desc,
            &host_desc,
            bytes,
            0,
            platform.device,
            &mut pointer,
        )
    };
    platform.check("zeMemAllocShared", code).map(|()| pointer)
}

#[test]
fn a_pattern_that_no_memory_can_hold_is_refused() {
    // All addresses that a program can have.
    let bytes = 1usize << 47;
    let (list, pattern) = (CommandList::regular(false).unwrap(), 0u32);
    let (pattern, mut target) = (ptr::from_ref(&pattern).cast(), [0u32; 4]);
    // SAFETY: a live list; nothing is read or written where the call fails.
    let code = unsafe {
        let target = target.as_mut_ptr().cast();
        let append = platform().api;
        append.zeCommandListAppendMemoryFill(
            list.handle,
            target,
            pattern,
            bytes,
            bytes,
            ptr::null_mut(),
            0,
            ptr::null_mut(),
        )
    };
    assert_eq!(code, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
}

/// What the device reports.
fn total_memory() -> usize {
    let stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    let mut properties = ze_device_memory_properties_t { stype, ..Default::default() };
    // SAFETY: a live device, and room for one memory.
    let code =
        unsafe { platform().api.zeDeviceGetMemoryProperties(platform().device, &mut 1, &mut properties) };
    platform().check("zeDeviceGetMemoryProperties", code).unwrap();
    properties.totalSize as usize
}

#[test]
fn limits_of_an_allocation_can_be_relaxed() {
    let limit = platform().device_properties().unwrap().maxMemAllocSize as usize;
    for stype in [
        ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXT_DESC,
        ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC,
    ] {
        let mut limits = ze_relaxed_allocation_limits_ext_desc_t { stype, ..Default::default() };
        let none = allocate_shared((0, ptr::from_ref(&limits).cast()), (0, ptr::null()), limit + 1);
        assert_eq!(none.unwrap_err().code, ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "no limit is relaxed");
        limits.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXT_FLAG_MAX_SIZE;
        let total = total_memory();
        let more = allocate_shared((0, ptr::from_ref(&limits).cast()), (0, ptr::null()), total + 1);
        assert_eq!(more.unwrap_err().code, ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "more than there is");
        match allocate_shared((0, ptr::from_ref(&limits).cast()), (0, ptr::null()), total) {
            // SAFETY: nothing uses the memory.
            Ok(pointer) => unsafe { platform().free(pointer) }.unwrap(),
            // Other tests have some.
            Err(error) => assert_eq!(error.code, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, "{error:?}"),
        }
        limits.flags = 1 << 20;
        let unknown = allocate_shared((0, ptr::from_ref(&limits).cast()), (0, ptr::null()), 64);
        assert_eq!(unknown.unwrap_err().code, ZE_RESULT_ERROR_INVALID_ENUMERATION);
    }
}

#[test]
fn both_descriptors_of_a_shared_allocation_are_looked_at() {
    let nothing = (0, ptr::null());
    let import = ze_external_memory_import_fd_t {
        stype: ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD,
        flags: ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD as _,
        ..Default::default()
    };
    let import = (0, ptr::from_ref(&import).cast());
    for (device, host) in [(import, nothing), (nothing, import)] {
        let error = allocate_shared(device, host, 64).unwrap_err();
        assert_eq!(error.code, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "external memory");
    }
    let read_only = ZE_HOST_MEM_ALLOC_FLAG_MEM_READ_ONLY;
    let pointer = allocate_shared(nothing, (read_only, ptr::null()), 64).unwrap();
    // SAFETY: nothing uses the memory.
    unsafe { platform().free(pointer) }.unwrap();
    for flags in [1 << 5, read_only | ZE_HOST_MEM_ALLOC_FLAG_BIAS_WRITE_COMBINED] {
        let error = allocate_shared(nothing, (flags, ptr::null()), 64).unwrap_err();
        assert_eq!(error.code, ZE_RESULT_ERROR_INVALID_ENUMERATION, "flags {flags:#x}");
    }
}

#[test]
fn a_system_barrier_waits_for_no_command() {
    let pool = EventPool::host_visible(1);
    let event = pool.event(0);
    let list = CommandList::immediate(ListOptions::asynchronous()).unwrap();
    list.barrier(None, &[&event]).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // SAFETY: live handles.
        let code = unsafe { platform().api.zeContextSystemBarrier(platform().context, platform().device) };
        sender.send(platform().check("zeContextSystemBarrier", code))
    });
    let result = receiver.recv_timeout(std::time::Duration::from_secs(10));
    // SAFETY: a live event.
    let code = unsafe { platform().api.zeEventHostSignal(event.handle) };
    platform().check("zeEventHostSignal", code).unwrap();
    result.expect("the barrier does not wait for the list").unwrap();
    list.synchronize(u64::MAX).unwrap();
}
