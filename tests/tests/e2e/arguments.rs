//! Kernel arguments of every kind and size.

use std::ffi::c_void;
use std::ptr;

use ze_headers::*;
use ze_tests::program::{ByValue, NullBuffer};
use ze_tests::ulp::assert_same;
use ze_tests::{Argument, Kernel, Local, MemoryKind, Module, platform};

#[test]
fn scalars_of_every_width() {
    let module = Module::named("arguments");
    let out = platform().filled(0.0f64, 20);
    module.kernel("scalar_arguments").run_1d(
        20,
        10,
        &[
            &-100i8,
            &200u8,
            &-30_000i16,
            &60_000u16,
            &-2_000_000_000i32,
            &4_000_000_000u32,
            &(-1i64 << 40),
            &(1u64 << 50),
            &1.5f32,
            &-2.25f64,
            &out,
        ],
    );
    let base = -100.0 + 400.0 - 90_000.0 + 240_000.0 - 10_000_000_000.0 + 24_000_000_000.0
        - 7.0 * (1u64 << 40) as f64
        + 8.0 * (1u64 << 50) as f64
        + 13.5
        - 22.5;
    let want: Vec<f64> = (0..20).map(|i| base + f64::from(i)).collect();
    assert_same("sums", &out, &want);
}

#[test]
fn vectors_of_every_length() {
    let module = Module::named("arguments");
    let out = platform().filled(0.0f64, 16);
    let f: [f32; 8] = std::array::from_fn(|k| k as f32 + 0.5);
    let d: [f64; 16] = std::array::from_fn(|k| k as f64 - 3.0);
    module.kernel("vector_arguments").run_1d(
        16,
        16,
        &[&[1i8, -2], &[3i16, 4, -5, 0], &[6i32, 0, 0, -7], &f, &d, &out],
    );
    let base =
        1.0 - 4.0 + 9.0 + 16.0 - 25.0 + 36.0 - 49.0 + 8.0 * 0.5 + 9.0 * 7.5 + 10.0 * -3.0 + 11.0 * 12.0;
    let want: Vec<f64> = (0..16).map(|i| base + f64::from(i)).collect();
    assert_same("sums", &out, &want);
}

/// The layout of `settings` in arguments.cl.
#[repr(C)]
#[derive(Clone, Copy)]
struct Settings {
    tag: i8,
    count: i32,
    scale: [f32; 3],
    offset: f64,
    pair: [i16; 2],
}
// SAFETY: the kernel's structure, field by field; it reads no padding.
unsafe impl ByValue for Settings {}

#[test]
fn a_structure_by_value() {
    let module = Module::named("arguments");
    let settings = Settings { tag: -7, count: 1000, scale: [0.5, 1.5, 2.5], offset: 1e10, pair: [11, -12] };
    let n = 50;
    let out = platform().filled(0.0f64, n);
    module.kernel("struct_argument").run_1d(n, 16, &[&settings, &out, &(n as u32)]);
    let want: Vec<f64> = (0..n)
        .map(|i| {
            -7.0 + 2000.0
                + f64::from(settings.scale[i % 3]) * 4.0
                + 1e10
                + f64::from(settings.pair[i % 2]) * 8.0
        })
        .collect();
    assert_same("fields", &out, &want);
}

#[test]
fn several_local_arrays_do_not_overlap() {
    let module = Module::named("arguments");
    let kernel = module.kernel("local_arguments");
    for (bytes, words) in [(1usize, 1usize), (3, 5), (100, 33), (255, 1)] {
        let out = platform().filled(0u64, 64);
        let arguments: [&dyn ze_tests::Argument; 5] =
            [&out, &Local(bytes), &Local(8 * words), &(bytes as u32), &(words as u32)];
        kernel.run([4, 1, 1], [16, 1, 1], &arguments);
        let sum = (1..=bytes as u64).map(|k| k & 0xff).sum::<u64>()
            + (0..words as u64).map(|k| k * 1000).sum::<u64>()
            + (500..507).sum::<u64>();
        assert_same(&format!("{bytes} bytes and {words} words"), &out, &[sum; 64]);
    }
}

#[test]
fn a_null_buffer() {
    let module = Module::named("arguments");
    let kernel = module.kernel("optional_buffer");
    let out = platform().filled(0i32, 20);
    kernel.run([2, 1, 1], [10, 1, 1], &[&NullBuffer, &out]);
    assert_same("without", &out, &[-5; 20]);
    let values: Vec<i32> = (0..20).collect();
    kernel.run([2, 1, 1], [10, 1, 1], &[&platform().buffer(&values), &out]);
    assert_same("with", &out, &values);
    // Its size says nothing, without a value: `Local` sets one alone.
    for size in [0, 4, 16] {
        kernel.run([2, 1, 1], [10, 1, 1], &[&Local(size), &out]);
        assert_same("of another size", &out, &[-5; 20]);
        kernel.run([2, 1, 1], [10, 1, 1], &[&platform().buffer(&values), &out]);
        assert_same("with", &out, &values);
    }
}

#[test]
fn arguments_keep_their_value_at_the_time_of_the_append() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    let list = ze_tests::CommandList::regular(false).unwrap();
    let queue = ze_tests::Queue::new(ze_tests::ListOptions::asynchronous()).unwrap();
    let x = platform().filled(1.0f32, 100);
    let (first, second) = (platform().filled(0.0f32, 100), platform().filled(0.0f32, 100));
    kernel.set_group_size([50, 1, 1]).unwrap();
    kernel.set_arguments(&[&2.0f32, &x, &first, &100u32]).unwrap();
    list.launch(&kernel, [2, 1, 1], None, &[]).unwrap();
    kernel.set_arguments(&[&3.0f32, &x, &second, &100u32]).unwrap();
    kernel.set_group_size([10, 1, 1]).unwrap();
    list.launch(&kernel, [10, 1, 1], None, &[]).unwrap();
    list.close().unwrap();
    queue.execute(&[&list], None).unwrap();
    queue.synchronize(u64::MAX).unwrap();
    assert_same("first launch", &first, &[2.0; 100]);
    assert_same("second launch", &second, &[3.0; 100]);
}

#[test]
fn a_launch_with_arguments_that_fails_leaves_the_kernel_alone() {
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    let list = ze_tests::CommandList::immediate(ze_tests::ListOptions::synchronous()).unwrap();
    let x = platform().filled(1.0f32, 100);
    let y = platform().filled(0.0f32, 100);
    let (pointers, scale, count) = ([x.pointer(), y.pointer()], 3.0f32, 100u32);
    let mut arguments = [
        ptr::from_ref(&scale).cast::<c_void>().cast_mut(),
        ptr::from_ref(&pointers[0]).cast::<c_void>().cast_mut(),
        ptr::from_ref(&pointers[1]).cast::<c_void>().cast_mut(),
        ptr::from_ref(&count).cast::<c_void>().cast_mut(),
    ];
    let launch = |size: u32, arguments: *mut *mut c_void, next: *const c_void, waits: u32| {
        // SAFETY: live handles, and null or an address for each argument; what is null is tested.
        let code = unsafe {
            platform().api.zeCommandListAppendLaunchKernelWithArguments(
                list.handle,
                kernel.handle,
                ze_group_count_t {
                    groupCountX: 100u32.div_ceil(size.max(1)),
                    groupCountY: 1,
                    groupCountZ: 1,
                },
                ze_group_size_t { groupSizeX: size, groupSizeY: 1, groupSizeZ: 1 },
                arguments,
                next,
                ptr::null_mut(),
                waits,
                ptr::null_mut(),
            )
        };
        platform().check("zeCommandListAppendLaunchKernelWithArguments", code).map_err(|error| error.code)
    };
    kernel.set_group_size([50, 1, 1]).unwrap();
    kernel.set_arguments(&[&2.0f32, &x, &y, &100u32]).unwrap();
    let unknown = ze_base_desc_t { stype: ze_structure_type_t(0x0fff_0000), pNext: ptr::null() };
    let failures = [
        (launch(10, ptr::null_mut(), ptr::null(), 0), ZE_RESULT_ERROR_INVALID_NULL_POINTER),
        (launch(0, arguments.as_mut_ptr(), ptr::null(), 0), ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION),
        (
            launch(10, arguments.as_mut_ptr(), ptr::from_ref(&unknown).cast(), 0),
            ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
        ),
        (launch(10, arguments.as_mut_ptr(), ptr::null(), 1), ZE_RESULT_ERROR_INVALID_SIZE),
    ];
    for (result, code) in failures {
        assert_eq!(result, Err(code));
    }
    assert_same("nothing ran", &y, &[0.0; 100]);
    list.launch(&kernel, [2, 1, 1], None, &[]).unwrap();
    assert_same("with what was set", &y, &[2.0; 100]);
    launch(10, arguments.as_mut_ptr(), ptr::null(), 0).unwrap();
    assert_same("with the launch's own", &y, &[5.0; 100]);
    // They are the kernel's now.
    list.launch(&kernel, [10, 1, 1], None, &[]).unwrap();
    assert_same("again", &y, &[8.0; 100]);
}

/// Intel's driver lets integers of other sizes pass, and the conformance tests give 32 bits for 64.
#[test]
fn an_integer_that_is_narrower_than_its_parameter_is_widened_with_zeros() {
    const ITEMS: usize = 200;
    let module = Module::named("saxpy");
    let kernel = module.kernel("saxpy");
    let x = platform().filled(1.0f32, ITEMS);
    for items in [200u16, 0x80, 7] {
        let y = platform().filled(0.0f32, ITEMS);
        // What was set before leaves no bytes behind.
        kernel.set_bytes(3, &u32::MAX.to_le_bytes()).unwrap();
        kernel.run_1d(ITEMS, 8, &[&2.0f32, &x, &y, &items]);
        let expected: Vec<f32> = (0..ITEMS).map(|at| if at < items as usize { 2.0 } else { 0.0 }).collect();
        assert_same("narrow", &y, &expected);
    }
}

/// Base, size, type and argument index of the memory that a kernel uses.
fn allocations(kernel: &Kernel) -> Vec<(u64, usize, ze_memory_type_t, u32)> {
    let query = |count: &mut u32, out: *mut ze_kernel_allocation_exp_properties_t| {
        // SAFETY: a live kernel and places for the answer.
        let code = unsafe { platform().api.zeKernelGetAllocationPropertiesExp(kernel.handle, count, out) };
        platform().check("zeKernelGetAllocationPropertiesExp", code).unwrap();
    };
    let mut count = 0;
    query(&mut count, ptr::null_mut());
    let empty = ze_kernel_allocation_exp_properties_t {
        stype: ZE_STRUCTURE_TYPE_KERNEL_ALLOCATION_PROPERTIES,
        ..Default::default()
    };
    let mut found = vec![empty; count as usize + 1];
    count += 1;
    query(&mut count, found.as_mut_ptr());
    found.truncate(count as usize);
    found.iter().map(|of| (of.base, of.size, of.type_, of.argIndex)).collect()
}

#[test]
fn a_kernel_tells_the_memory_that_it_uses() {
    let module = Module::named("vector_add");
    let kernel = module.kernel("vector_add");
    assert_eq!(allocations(&kernel), [], "nothing is set");
    let (a, b) = (platform().filled(0f32, 64), platform().buffer_in(MemoryKind::Host, &[0f32; 32]));
    let own = [0f32; 8];
    kernel.set_bytes(1, &(a.pointer() as usize + 100).to_ne_bytes()).unwrap();
    kernel.set_bytes(0, &(b.pointer() as usize).to_ne_bytes()).unwrap();
    kernel.set_bytes(2, &(own.as_ptr() as usize).to_ne_bytes()).unwrap();
    kernel.set_bytes(3, &7u32.to_ne_bytes()).unwrap();
    let found = allocations(&kernel);
    let of = |pointer: *mut f32| pointer as u64;
    let kinds = [(of(b.pointer()), ZE_MEMORY_TYPE_HOST, 0), (of(a.pointer()), ZE_MEMORY_TYPE_SHARED, 1)];
    assert_eq!(found.iter().map(|of| (of.0, of.2, of.3)).collect::<Vec<_>>(), kinds);
    assert!(found[0].1 >= b.bytes() && found[1].1 >= a.bytes());
    // Variables of the module are nobody's argument.
    let module = Module::named("linked_library");
    let name = module.kernel_names().unwrap().remove(0);
    let found = allocations(&module.kernel(&name));
    assert!(
        matches!(found[..], [(base, size, ZE_MEMORY_TYPE_DEVICE, u32::MAX)] if base != 0 && size >= 4),
        "{found:?}"
    );
}

#[test]
fn hundreds_of_arguments() {
    const ITEMS: usize = 40;
    let numbers: Vec<u32> = (0..768u32).map(|at| at * at + 7).chain([9]).skip(1).collect();
    let out = platform().filled(0u32, ITEMS);
    let last = 5u8;
    let mut arguments: Vec<&dyn Argument> = vec![&out];
    arguments.extend(numbers.iter().map(|number| number as &dyn Argument));
    arguments.push(&last);
    Module::named("arguments").kernel("many_arguments").run_1d(ITEMS, 20, &arguments);
    let sum_of = |first: u32| {
        let sum = numbers.iter().fold(first, |sum, number| sum.wrapping_mul(3).wrapping_add(*number));
        (0..9).fold(sum, |sum, i| sum.wrapping_mul(5) ^ (i * u32::from(last)))
    };
    let want: Vec<u32> = (0..ITEMS as u32).map(sum_of).collect();
    assert_same("sums", &out, &want);
}
