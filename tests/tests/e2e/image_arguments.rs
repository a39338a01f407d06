//! Images and samplers as kernel arguments: what may be set, and that launches keep it.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use ze_headers::*;
use ze_tests::images::{Around, Pitched, format, image_desc};
use ze_tests::{CommandList, EventPool, Image, Kernel, ListOptions, MemoryKind, Module, Sampler, platform};

fn uint_texels() -> ze_image_format_t {
    format(ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_UINT)
}

fn image(kind: ze_image_type_t, extents: [u32; 3]) -> Image {
    Image::new(&image_desc(kind, uint_texels(), extents)).unwrap()
}

fn nearest() -> Sampler {
    Sampler::new(ZE_SAMPLER_ADDRESS_MODE_CLAMP, ZE_SAMPLER_FILTER_MODE_NEAREST, false).unwrap()
}

fn set(kernel: &Kernel, index: u32, size: usize, value: *const c_void) -> (ze_result_t, String) {
    // SAFETY: the value has the size where it is not null.
    let code = unsafe { platform().api.zeKernelSetArgumentValue(kernel.handle, index, size, value) };
    (code, platform().last_error())
}

/// Sets an argument to a handle.
fn set_handle<T>(kernel: &Kernel, index: u32, handle: *mut T) -> (ze_result_t, String) {
    set(kernel, index, size_of::<*mut T>(), (&raw const handle).cast())
}

#[track_caller]
fn refused((code, reason): (ze_result_t, String), wanted: ze_result_t, part: &str) {
    assert_eq!(code, wanted, "{reason}");
    assert!(reason.contains(part), "{reason}");
}

#[track_caller]
fn accepted((code, reason): (ze_result_t, String)) {
    assert_eq!(code, ZE_RESULT_SUCCESS, "{reason}");
}

fn write(list: &CommandList, to: &Image, texels: &[u32]) {
    // SAFETY: synchronous; the texels are the image's.
    unsafe { list.image_copy_from_memory((to, None), texels.as_ptr().cast(), [0; 2], Around::default()) }
        .unwrap();
}

fn read(list: &CommandList, from: &Image, count: usize) -> Vec<u32> {
    let mut texels = vec![0xeeee_eeeeu32; count];
    let to = texels.as_mut_ptr().cast();
    // SAFETY: synchronous; the texels are the image's.
    unsafe { list.image_copy_to_memory(to, (from, None), [0; 2], Around::default()) }.unwrap();
    texels
}

#[test]
fn kernels_know_the_extents_of_images_of_every_kind() {
    let module = Module::named("image_arguments");
    let kernel = module.kernel("extents");
    let images = [
        image(ZE_IMAGE_TYPE_1D, [7, 1, 1]),
        image(ZE_IMAGE_TYPE_1DARRAY, [8, 3, 1]),
        image(ZE_IMAGE_TYPE_2D, [9, 4, 1]),
        image(ZE_IMAGE_TYPE_2DARRAY, [10, 5, 6]),
        image(ZE_IMAGE_TYPE_3D, [11, 12, 13]),
    ];
    for (image, index) in images.iter().zip(0..) {
        accepted(set_handle(&kernel, index, image.handle));
    }
    let out = platform().filled(0i32, 11);
    accepted(set_handle(&kernel, 5, out.pointer()));
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    assert_eq!(*out, [7, 8, 3, 9, 4, 10, 5, 6, 11, 12, 13]);
}

#[test]
fn an_argument_is_an_image_of_its_kind_and_a_sampler_no_image() {
    let module = Module::named("image_arguments");
    let kernel = module.kernel("copy_2d");
    let (plane, sampler) = (image(ZE_IMAGE_TYPE_2D, [8, 8, 1]), nearest());
    let invalid = ZE_RESULT_ERROR_INVALID_ARGUMENT;
    for (kind, name) in [
        (ZE_IMAGE_TYPE_1D, "1D image"),
        (ZE_IMAGE_TYPE_1DARRAY, "1D image array"),
        (ZE_IMAGE_TYPE_2DARRAY, "2D image array"),
        (ZE_IMAGE_TYPE_3D, "3D image"),
    ] {
        refused(set_handle(&kernel, 0, image(kind, [8, 8, 1]).handle), invalid, name);
    }
    refused(set_handle(&kernel, 0, sampler.handle), invalid, "sampler");
    refused(set_handle(&kernel, 2, plane.handle), invalid, "image");
    let destroyed = image(ZE_IMAGE_TYPE_2D, [8, 8, 1]).handle;
    refused(set_handle(&kernel, 0, destroyed), invalid, "destroyed");
    refused(set_handle(&kernel, 0, 0x1234_5678_usize as *mut u8), invalid, "image");
    let mut local = [0u64; 32];
    refused(set_handle(&kernel, 0, local.as_mut_ptr()), invalid, "image");
    let null_handle = ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    refused(set_handle(&kernel, 0, null_mut::<u8>()), null_handle, "image");
    refused(set_handle(&kernel, 2, null_mut::<u8>()), null_handle, "sampler");
    for index in [0, 2] {
        for size in [0, 4, 16] {
            let value = [0u64; 2];
            let code = set(&kernel, index, size, value.as_ptr().cast()).0;
            assert_eq!(
                code, ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE,
                "{size} bytes for argument {index}"
            );
        }
    }
    accepted(set_handle(&kernel, 0, plane.handle));
    accepted(set_handle(&kernel, 2, sampler.handle));
}

#[test]
fn a_media_image_is_no_argument_but_its_planes_are() {
    let module = Module::named("image_arguments");
    let kernel = module.kernel("copy_2d");
    let of = |layout| format(layout, ZE_IMAGE_FORMAT_TYPE_UINT);
    for (layout, plane) in [
        (ZE_IMAGE_FORMAT_LAYOUT_NV12, ZE_IMAGE_FORMAT_LAYOUT_8),
        (ZE_IMAGE_FORMAT_LAYOUT_YUYV, ZE_IMAGE_FORMAT_LAYOUT_8_8),
    ] {
        let frame = Image::new(&image_desc(ZE_IMAGE_TYPE_2D, of(layout), [16, 16, 1])).unwrap();
        let error = set_handle(&kernel, 0, frame.handle);
        refused(error, ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "views");
        let view = frame.plane(0, &image_desc(ZE_IMAGE_TYPE_2D, of(plane), [16, 16, 1])).unwrap();
        accepted(set_handle(&kernel, 0, view.handle));
    }
}

#[test]
fn an_argument_has_a_format_that_spirv_has_a_channel_data_type_for() {
    let module = Module::named("image_arguments");
    let kernel = module.kernel("copy_2d");
    let set = |layout, ty| {
        let image = Image::new(&image_desc(ZE_IMAGE_TYPE_2D, format(layout, ty), [8, 8, 1])).unwrap();
        set_handle(&kernel, 0, image.handle)
    };
    for (layout, ty) in [
        (ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_SNORM),
        (ZE_IMAGE_FORMAT_LAYOUT_16_16, ZE_IMAGE_FORMAT_TYPE_FLOAT),
        (ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ZE_IMAGE_FORMAT_TYPE_SINT),
        (ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, ZE_IMAGE_FORMAT_TYPE_UNORM),
        (ZE_IMAGE_FORMAT_LAYOUT_5_6_5, ZE_IMAGE_FORMAT_TYPE_UNORM),
        (ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1, ZE_IMAGE_FORMAT_TYPE_UNORM),
    ] {
        accepted(set(layout, ty));
    }
    for (layout, ty) in [
        (ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_UNORM),
        (ZE_IMAGE_FORMAT_LAYOUT_32_32, ZE_IMAGE_FORMAT_TYPE_SNORM),
        (ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, ZE_IMAGE_FORMAT_TYPE_UINT),
        (ZE_IMAGE_FORMAT_LAYOUT_4_4_4_4, ZE_IMAGE_FORMAT_TYPE_UNORM),
        (ZE_IMAGE_FORMAT_LAYOUT_11_11_10, ZE_IMAGE_FORMAT_TYPE_FLOAT),
    ] {
        refused(set(layout, ty), ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "channel data type");
    }
}

#[test]
fn an_argument_that_is_null_is_an_image_without_texels() {
    let module = Module::named("image_arguments");
    let kernel = module.kernel("copy_2d");
    kernel.set_group_size([8, 8, 1]).unwrap();
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let (plane, sampler) = (image(ZE_IMAGE_TYPE_2D, [8, 8, 1]), nearest());
    write(&list, &plane, &[7; 64]);
    accepted(set(&kernel, 0, 8, null()));
    accepted(set_handle(&kernel, 1, plane.handle));
    accepted(set_handle(&kernel, 2, sampler.handle));
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    let texels = read(&list, &plane, 64);
    assert!(texels.iter().all(|texel| *texel == 0), "{texels:?}");
    write(&list, &plane, &[7; 64]);
    accepted(set_handle(&kernel, 0, plane.handle));
    accepted(set(&kernel, 1, 8, null()));
    list.launch(&kernel, [1, 1, 1], None, &[]).unwrap();
    assert_eq!(read(&list, &plane, 64), [7; 64]);
}

#[test]
fn launches_keep_images_and_samplers_that_are_destroyed() {
    let module = Module::named("image_arguments");
    let kernel = module.kernel("copy_2d");
    kernel.set_group_size([8, 8, 1]).unwrap();
    let synchronous = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let list = CommandList::immediate(ListOptions::in_order()).unwrap();
    let pool = EventPool::new(1, 0).unwrap();
    let gate = pool.event(0);
    let out = platform().filled(0u32, 64 * 64);
    let texels: Vec<u32> = (0..64 * 64).collect();
    {
        let (from, to) = (image(ZE_IMAGE_TYPE_2D, [64, 64, 1]), image(ZE_IMAGE_TYPE_2D, [64, 64, 1]));
        let sampler = nearest();
        write(&synchronous, &from, &texels);
        accepted(set_handle(&kernel, 0, from.handle));
        accepted(set_handle(&kernel, 1, to.handle));
        accepted(set_handle(&kernel, 2, sampler.handle));
        list.launch(&kernel, [8, 8, 1], None, &[&gate]).unwrap();
        // SAFETY: the memory lives until all is done.
        unsafe { list.image_copy_to_memory(out.pointer().cast(), (&to, None), [0; 2], Around::default()) }
            .unwrap();
    }
    // Other values let go of the kernel's own references, and other images take the free places.
    accepted(set(&kernel, 0, 8, null()));
    accepted(set(&kernel, 1, 8, null()));
    let others: Vec<Image> = (0..300).map(|_| image(ZE_IMAGE_TYPE_2D, [64, 64, 1])).collect();
    gate.signal().unwrap();
    list.synchronize(u64::MAX).unwrap();
    assert!(*out == *texels);
    drop(others);
}

#[test]
fn arguments_of_a_launch_with_arguments_are_images_too() {
    let module = Module::named("image_arguments");
    let kernel = module.kernel("copy_2d");
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let (from, to) = (image(ZE_IMAGE_TYPE_2D, [16, 16, 1]), image(ZE_IMAGE_TYPE_2D, [16, 16, 1]));
    let sampler = nearest();
    let texels: Vec<u32> = (500..756).collect();
    write(&list, &from, &texels);
    let launch = |from: ze_image_handle_t| {
        let mut arguments: [*mut c_void; 3] = [
            (&raw const from).cast_mut().cast(),
            (&raw const to.handle).cast_mut().cast(),
            (&raw const sampler.handle).cast_mut().cast(),
        ];
        // SAFETY: three handles for three arguments.
        let code = unsafe {
            platform().api.zeCommandListAppendLaunchKernelWithArguments(
                list.handle,
                kernel.handle,
                ze_group_count_t { groupCountX: 2, groupCountY: 2, groupCountZ: 1 },
                ze_group_size_t { groupSizeX: 8, groupSizeY: 8, groupSizeZ: 1 },
                arguments.as_mut_ptr(),
                null(),
                null_mut(),
                0,
                null_mut(),
            )
        };
        (code, platform().last_error())
    };
    accepted(launch(from.handle));
    assert_eq!(read(&list, &to, 256), texels);
    let wrong = image(ZE_IMAGE_TYPE_3D, [16, 16, 1]);
    refused(launch(wrong.handle), ZE_RESULT_ERROR_INVALID_ARGUMENT, "3D image");
}

#[test]
fn kernels_read_images_in_the_programs_memory() {
    let module = Module::named("image_arguments");
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let memory = platform().allocate(MemoryKind::Shared, 96 * 10, 0).unwrap();
    // SAFETY: the allocation has the bytes.
    let words = unsafe { std::slice::from_raw_parts_mut(memory.cast::<u32>(), 24 * 10) };
    words.iter_mut().zip(0..).for_each(|(word, at)| *word = at);
    let desc = image_desc(ZE_IMAGE_TYPE_2D, uint_texels(), [20, 10, 1]);
    let image = Image::in_memory(&desc, memory, Pitched { row: 96, slice: 0 }).unwrap();
    let out = platform().filled([0u32; 4], 200);
    let kernel = module.kernel("read_all");
    kernel.set_group_size([20, 1, 1]).unwrap();
    accepted(set_handle(&kernel, 0, image.handle));
    accepted(set_handle(&kernel, 1, out.pointer()));
    accepted(set(&kernel, 2, 4, (&raw const desc.width).cast()));
    list.launch(&kernel, [1, 10, 1], None, &[]).unwrap();
    for (at, texel) in out.iter().enumerate() {
        assert_eq!(texel[0], (at / 20 * 24 + at % 20) as u32, "texel {at}");
    }
    let buffer = image_desc(ZE_IMAGE_TYPE_BUFFER, uint_texels(), [200, 0, 0]);
    let buffer = Image::in_memory(&buffer, memory, Pitched::default()).unwrap();
    let kernel = module.kernel("texels_of_buffer");
    kernel.set_group_size([100, 1, 1]).unwrap();
    accepted(set_handle(&kernel, 0, buffer.handle));
    accepted(set_handle(&kernel, 1, out.pointer()));
    list.launch(&kernel, [2, 1, 1], None, &[]).unwrap();
    assert!(out.iter().zip(0..).all(|(texel, at)| texel[0] == at));
    drop((image, buffer));
    // SAFETY: nothing uses it any more.
    unsafe { platform().free(memory) }.unwrap();
}
