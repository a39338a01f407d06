//! Images and samplers as objects: formats, extents, memory, views, properties, and what is refused.

use std::ptr::null_mut;

use ze_headers::*;
use ze_tests::images::{Pitched, format, image_desc};
use ze_tests::{Error, Image, MemoryKind, Sampler, platform};

const KINDS: [ze_image_type_t; 5] =
    [ZE_IMAGE_TYPE_1D, ZE_IMAGE_TYPE_1DARRAY, ZE_IMAGE_TYPE_2D, ZE_IMAGE_TYPE_2DARRAY, ZE_IMAGE_TYPE_3D];
const TYPES: [ze_image_format_type_t; 5] = [
    ZE_IMAGE_FORMAT_TYPE_UINT,
    ZE_IMAGE_FORMAT_TYPE_SINT,
    ZE_IMAGE_FORMAT_TYPE_UNORM,
    ZE_IMAGE_FORMAT_TYPE_SNORM,
    ZE_IMAGE_FORMAT_TYPE_FLOAT,
];

/// The layouts and types that the specification requires, with the bytes of a texel.
fn required() -> Vec<(ze_image_format_t, usize)> {
    let (no_float, all) = (&TYPES[..4], &TYPES[..]);
    let (unorm, float) = (&[ZE_IMAGE_FORMAT_TYPE_UNORM][..], &[ZE_IMAGE_FORMAT_TYPE_FLOAT][..]);
    let layouts = [
        (ZE_IMAGE_FORMAT_LAYOUT_8, no_float, 1),
        (ZE_IMAGE_FORMAT_LAYOUT_8_8, no_float, 2),
        (ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, no_float, 4),
        (ZE_IMAGE_FORMAT_LAYOUT_16, all, 2),
        (ZE_IMAGE_FORMAT_LAYOUT_16_16, all, 4),
        (ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16, all, 8),
        (ZE_IMAGE_FORMAT_LAYOUT_32, all, 4),
        (ZE_IMAGE_FORMAT_LAYOUT_32_32, all, 8),
        (ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, all, 16),
        (ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, no_float, 4),
        (ZE_IMAGE_FORMAT_LAYOUT_11_11_10, float, 4),
        (ZE_IMAGE_FORMAT_LAYOUT_5_6_5, unorm, 2),
        (ZE_IMAGE_FORMAT_LAYOUT_5_5_5_1, unorm, 2),
        (ZE_IMAGE_FORMAT_LAYOUT_4_4_4_4, unorm, 2),
    ];
    let types = |(layout, types, bytes): (_, &[ze_image_format_type_t], usize)| {
        types.iter().map(|&ty| (format(layout, ty), bytes)).collect::<Vec<_>>()
    };
    layouts.into_iter().flat_map(types).collect()
}

fn rgba8() -> ze_image_format_t {
    format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UNORM)
}

#[track_caller]
fn refused<T>(result: Result<T, Error>, code: ze_result_t, reason: &str) {
    let Err(error) = result else { panic!("{reason}: it is accepted") };
    assert_eq!(error.code, code, "{error:?}");
    assert!(error.reason.contains(reason), "{error:?}");
}

fn image_properties() -> ze_device_image_properties_t {
    let mut out = ze_device_image_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES,
        ..Default::default()
    };
    // SAFETY: a live device.
    let code = unsafe { platform().api.zeDeviceGetImageProperties(platform().device, &mut out) };
    platform().check("zeDeviceGetImageProperties", code).unwrap();
    out
}

#[test]
fn the_host_has_images_as_large_as_a_gpus() {
    let properties = image_properties();
    assert!(properties.maxImageDims1D >= 16384 && properties.maxImageDims2D >= 16384);
    assert!(properties.maxImageDims3D >= 2048 && properties.maxImageArraySlices >= 2048);
    assert!(properties.maxImageBufferSize >= 1 << 27);
    assert!(properties.maxSamplers >= 16);
    assert!(properties.maxReadImageArgs >= 128 && properties.maxWriteImageArgs >= 128);
}

#[test]
fn pitches_of_linear_memory_are_told_with_the_devices_image_properties() {
    let mut pitches = ze_pitched_alloc_2dimage_linear_pitch_exp_info_t {
        stype: ZE_STRUCTURE_TYPE_PITCHED_ALLOC_2DIMAGE_LINEAR_PITCH_EXP_INFO,
        ..Default::default()
    };
    let mut linear = ze_device_pitched_alloc_exp_properties_t {
        stype: ZE_STRUCTURE_TYPE_PITCHED_ALLOC_DEVICE_EXP_PROPERTIES,
        pNext: (&raw mut pitches).cast(),
        ..Default::default()
    };
    let mut properties = ze_device_image_properties_t {
        stype: ZE_STRUCTURE_TYPE_DEVICE_IMAGE_PROPERTIES,
        pNext: (&raw mut linear).cast(),
        ..Default::default()
    };
    let (api, context, device) = (&platform().api, platform().context, platform().device);
    // SAFETY: the chain is built above.
    assert_eq!(unsafe { api.zeDeviceGetImageProperties(device, &mut properties) }, ZE_RESULT_SUCCESS);
    let most = properties.maxImageDims2D as usize;
    assert_eq!((linear.maxImageLinearWidth, linear.maxImageLinearHeight), (most, most));
    assert!(pitches.pitchAlign.is_power_of_two() && pitches.maxSupportedPitch >= most * 16);
    let pitch = |width, height, texel| {
        let mut pitch = 0;
        // SAFETY: live handles.
        let code = unsafe { api.zeMemGetPitchFor2dImage(context, device, width, height, texel, &mut pitch) };
        platform().check("zeMemGetPitchFor2dImage", code).map(|()| pitch)
    };
    for (width, texel) in [(1, 1), (100, 4), (64, 1), (65, 16), (7, 3), (16384, 16)] {
        let want = (width * texel as usize).next_multiple_of(pitches.pitchAlign);
        assert_eq!(pitch(width, 10, texel).unwrap(), want, "{width} texels of {texel} bytes");
    }
    refused(pitch(10, 10, 5), ZE_RESULT_ERROR_INVALID_ARGUMENT, "5 bytes");
    refused(pitch(10, 10, 32), ZE_RESULT_ERROR_INVALID_ARGUMENT, "32 bytes");
    refused(pitch(0, 10, 4), ZE_RESULT_ERROR_INVALID_SIZE, "0 by 10");
    refused(pitch(10, most + 1, 4), ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "at most");
    refused(pitch(usize::MAX, 1, 16), ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "at most");
}

#[test]
fn every_required_format_has_images_of_every_kind() {
    for (format, texel) in required() {
        for kind in KINDS {
            let image = Image::new(&image_desc(kind, format, [5, 3, 2]))
                .unwrap_or_else(|error| panic!("{format:?} {kind:?}: {error:?}"));
            let memory = image.memory_properties().unwrap();
            let (rows, slices) = match kind {
                ZE_IMAGE_TYPE_1D => (1, 1),
                ZE_IMAGE_TYPE_1DARRAY => (1, 3),
                ZE_IMAGE_TYPE_2D => (3, 1),
                _ => (3, 2),
            };
            let row = 5 * texel as u64;
            assert!(memory.rowPitch >= row && memory.slicePitch >= memory.rowPitch * rows, "{memory:?}");
            let last = memory.slicePitch * (slices - 1) + memory.rowPitch * (rows - 1) + row;
            assert!(memory.size >= last, "{memory:?}, the last texel ends at {last}");
        }
    }
}

fn query(desc: &ze_image_desc_t) -> Result<(u32, bool), Error> {
    let mut support = ze_image_format_support_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_IMAGE_FORMAT_SUPPORT_EXT_PROPERTIES,
        supported: 7,
        ..Default::default()
    };
    let mut out = ze_image_properties_t {
        stype: ZE_STRUCTURE_TYPE_IMAGE_PROPERTIES,
        pNext: (&raw mut support).cast(),
        samplerFilterFlags: 77,
    };
    // SAFETY: the chain is built above.
    let code = unsafe { platform().api.zeImageGetProperties(platform().device, desc, &mut out) };
    platform().check("zeImageGetProperties", code)?;
    assert!(support.supported <= 1);
    Ok((out.samplerFilterFlags, support.supported != 0))
}

#[test]
fn formats_are_supported_where_images_of_them_can_be_created() {
    let both = ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT | ZE_IMAGE_SAMPLER_FILTER_FLAG_LINEAR;
    let mut created = 0;
    for layout in 0..=ZE_IMAGE_FORMAT_LAYOUT_32_32_32.0 {
        for ty in TYPES {
            let format = format(ze_image_format_layout_t(layout), ty);
            let desc = image_desc(ZE_IMAGE_TYPE_2D, format, [8, 8, 1]);
            let (filters, supported) = query(&desc).unwrap();
            let media = (ZE_IMAGE_FORMAT_LAYOUT_Y8.0..=ZE_IMAGE_FORMAT_LAYOUT_BRGP.0).contains(&layout);
            match Image::new(&desc) {
                Ok(_) => {
                    let integer = !media && ty.0 <= ZE_IMAGE_FORMAT_TYPE_SINT.0;
                    let want = if integer { ZE_IMAGE_SAMPLER_FILTER_FLAG_POINT } else { both };
                    assert_eq!((filters, supported), (want, true), "layout {layout} {ty:?}");
                    created += 1;
                }
                error => {
                    assert_eq!((filters, supported), (0, false), "layout {layout} {ty:?}");
                    refused(error, ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "layout");
                }
            }
        }
    }
    assert!(created >= required().len());
    assert_eq!(query(&image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [0; 3])).unwrap(), (both, true));
}

#[test]
fn a_type_that_a_layout_has_not_is_refused_with_those_that_it_has() {
    for (layout, types) in [
        // Ten bits are no float, nor are eight.
        (ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, "[Uint, Sint, Unorm, Snorm]"),
        (ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, "[Uint, Sint, Unorm, Snorm]"),
        (ZE_IMAGE_FORMAT_LAYOUT_5_6_5, "[Unorm]"),
    ] {
        let desc = image_desc(ZE_IMAGE_TYPE_2D, format(layout, ZE_IMAGE_FORMAT_TYPE_FLOAT), [8, 8, 1]);
        refused(Image::new(&desc), ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, types);
    }
}

#[test]
fn values_that_no_enumeration_has_are_refused() {
    let good = image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [8, 8, 1]);
    assert!(Image::new(&good).is_ok());
    let with = |change: fn(&mut ze_image_desc_t)| {
        let mut desc = good;
        change(&mut desc);
        desc
    };
    for (desc, what) in [
        (with(|desc| desc.flags = 4), "flags"),
        (with(|desc| desc.type_ = ze_image_type_t(6)), "ze_image_type_t"),
        (with(|desc| desc.format.layout = ze_image_format_layout_t(46)), "ze_image_format_layout_t"),
        (with(|desc| desc.format.layout = ze_image_format_layout_t(0x7fff_ffff)), "layout_t"),
        (with(|desc| desc.format.type_ = ze_image_format_type_t(5)), "ze_image_format_type_t"),
        (with(|desc| desc.format.w = ze_image_format_swizzle_t(8)), "ze_image_format_swizzle_t"),
    ] {
        refused(Image::new(&desc), ZE_RESULT_ERROR_INVALID_ENUMERATION, what);
        refused(query(&desc), ZE_RESULT_ERROR_INVALID_ENUMERATION, what);
    }
    let bindless = ze_image_bindless_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_BINDLESS_IMAGE_EXP_DESC,
        flags: 4,
        ..Default::default()
    };
    let desc = ze_image_desc_t { pNext: (&raw const bindless).cast(), ..good };
    refused(Image::new(&desc), ZE_RESULT_ERROR_INVALID_ENUMERATION, "bindless");
}

#[test]
fn extents_are_not_zero_and_within_the_devices_limits() {
    let limits = image_properties();
    let of = |kind, extents| Image::new(&image_desc(kind, rgba8(), extents));
    let (empty, large) = (ZE_RESULT_ERROR_INVALID_SIZE, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    for kind in KINDS {
        refused(of(kind, [0, 4, 4]), empty, "width of 0");
    }
    for (kind, extents, what) in [
        (ZE_IMAGE_TYPE_1DARRAY, [4, 0, 1], "layers of 0"),
        (ZE_IMAGE_TYPE_2D, [4, 0, 1], "height of 0"),
        (ZE_IMAGE_TYPE_2DARRAY, [4, 4, 0], "layers of 0"),
        (ZE_IMAGE_TYPE_3D, [4, 4, 0], "depth of 0"),
    ] {
        refused(of(kind, extents), empty, what);
    }
    let (one, two, three) = (limits.maxImageDims1D, limits.maxImageDims2D, limits.maxImageDims3D);
    for (kind, extents, what) in [
        (ZE_IMAGE_TYPE_1D, [one + 1, 1, 1], "at most"),
        (ZE_IMAGE_TYPE_1DARRAY, [1, limits.maxImageArraySlices + 1, 1], "at most"),
        (ZE_IMAGE_TYPE_2D, [1, two + 1, 1], "at most"),
        (ZE_IMAGE_TYPE_2DARRAY, [1, 1, limits.maxImageArraySlices + 1], "at most"),
        (ZE_IMAGE_TYPE_3D, [1, 1, three + 1], "at most"),
        (ZE_IMAGE_TYPE_3D, [u32::MAX; 3], "at most"),
    ] {
        refused(of(kind, extents), large, what);
    }
    let wide = ze_image_desc_t { width: 1 << 40, ..image_desc(ZE_IMAGE_TYPE_1D, rgba8(), [1; 3]) };
    refused(Image::new(&wide), large, "at most");
    let levels = ze_image_desc_t { miplevels: 2, ..image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [8, 8, 1]) };
    refused(Image::new(&levels), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, "mipmap");
    for (kind, extents) in [
        (ZE_IMAGE_TYPE_1D, [one, 1, 1]),
        (ZE_IMAGE_TYPE_2D, [two, two, 1]),
        (ZE_IMAGE_TYPE_3D, [64, 64, three]),
    ] {
        let largest = Image::new(&image_desc(
            kind,
            format(ZE_IMAGE_FORMAT_LAYOUT_8, ZE_IMAGE_FORMAT_TYPE_UINT),
            extents,
        ));
        assert!(largest.is_ok(), "{kind:?}: {:?}", largest.err());
    }
    // 2^64 bytes and more.
    let huge = format(ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ZE_IMAGE_FORMAT_TYPE_FLOAT);
    let error = Image::new(&image_desc(ZE_IMAGE_TYPE_2DARRAY, huge, [two, two, limits.maxImageArraySlices]));
    refused(error, large, "bytes");
}

#[test]
fn short_rows_have_no_gaps_where_a_cache_line_has_several() {
    let pitch = |width| {
        let image = Image::new(&image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [width, 8, 1])).unwrap();
        image.memory_properties().unwrap().rowPitch
    };
    assert_eq!([1, 5, 8, 9, 16, 17].map(pitch), [4, 32, 32, 64, 64, 128]);
}

#[test]
fn an_image_is_in_the_programs_memory() {
    let memory = platform().allocate(MemoryKind::Device, 64 * 100, 0).unwrap();
    let desc = image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [10, 100, 1]);
    let of = |offset: usize, row, slice| {
        Image::in_memory(&desc, memory.wrapping_byte_add(offset), Pitched { row, slice })
    };
    // The driver's pitch is 64 bytes, the program's may be less.
    let image = of(0, 0, 0).unwrap();
    assert_eq!(image.memory_properties().unwrap().rowPitch, 64);
    let mut id = ze_image_allocation_ext_properties_t {
        stype: ZE_STRUCTURE_TYPE_IMAGE_ALLOCATION_EXT_PROPERTIES,
        ..Default::default()
    };
    let mut of_memory = ze_memory_allocation_properties_t {
        stype: ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES,
        ..Default::default()
    };
    let (api, context) = (&platform().api, platform().context);
    // SAFETY: live handles.
    unsafe {
        assert_eq!(api.zeImageGetAllocPropertiesExt(context, image.handle, &mut id), ZE_RESULT_SUCCESS);
        api.zeMemGetAllocProperties(context, memory, &mut of_memory, null_mut());
    }
    assert_eq!(id.id, of_memory.id);
    assert_eq!(of(64 * 37, 40, 0).unwrap().memory_properties().unwrap().rowPitch, 40);
    let size = ZE_RESULT_ERROR_INVALID_SIZE;
    refused(of(64, 0, 0), size, "allocation has");
    refused(of(0, 39, 0), size, "row pitch of 39");
    refused(of(0, 68, 0), size, "allocation has");
    refused(of(0, usize::MAX & !63, 0), ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "the largest");
    let halves = image_desc(
        ZE_IMAGE_TYPE_2D,
        format(ZE_IMAGE_FORMAT_LAYOUT_16, ZE_IMAGE_FORMAT_TYPE_FLOAT),
        [10, 10, 1],
    );
    let odd = |offset: usize, row| {
        Image::in_memory(&halves, memory.wrapping_byte_add(offset), Pitched { row, slice: 0 })
    };
    refused(odd(0, 21), size, "multiple");
    refused(odd(1, 22), ZE_RESULT_ERROR_INVALID_ARGUMENT, "alignment");
    let layers = image_desc(ZE_IMAGE_TYPE_2DARRAY, rgba8(), [10, 10, 4]);
    let of_layers = |row, slice| Image::in_memory(&layers, memory, Pitched { row, slice });
    refused(of_layers(64, 639), size, "slice pitch of 639");
    refused(of_layers(64, 650), size, "slice pitch of 650");
    assert_eq!(of_layers(64, 704).unwrap().memory_properties().unwrap().slicePitch, 704);
    refused(of_layers(64, usize::MAX & !63), ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "all addresses");
    let local = [0u32; 4096];
    let foreign = Image::in_memory(&desc, local.as_ptr().cast_mut().cast(), Pitched::default());
    refused(foreign, ZE_RESULT_ERROR_INVALID_ARGUMENT, "no allocation");
    refused(
        Image::in_memory(&desc, null_mut(), Pitched::default()),
        ZE_RESULT_ERROR_INVALID_NULL_POINTER,
        "ptr",
    );
    drop(image);
    // SAFETY: nothing uses it any more.
    unsafe { platform().free(memory) }.unwrap();
}

#[test]
fn a_buffer_image_has_texels_of_a_buffer() {
    let memory = platform().allocate(MemoryKind::Device, 4096, 0).unwrap();
    let of = |texels, format| {
        Image::in_memory(
            &image_desc(ZE_IMAGE_TYPE_BUFFER, format, [texels, 0, 0]),
            memory,
            Pitched::default(),
        )
    };
    assert_eq!(of(1024, rgba8()).unwrap().memory_properties().unwrap().size, 4096);
    refused(of(1025, rgba8()), ZE_RESULT_ERROR_INVALID_SIZE, "4100 bytes");
    refused(of(0, rgba8()), ZE_RESULT_ERROR_INVALID_SIZE, "width of 0");
    refused(of(u32::MAX, rgba8()), ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "at most");
    let packed = format(ZE_IMAGE_FORMAT_LAYOUT_YUYV, ZE_IMAGE_FORMAT_TYPE_UNORM);
    refused(of(16, packed), ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "media");
    // SAFETY: nothing uses it any more.
    unsafe { platform().free(memory) }.unwrap();
}

#[test]
fn a_view_is_within_its_image() {
    let image = Image::new(&image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [32, 16, 1])).unwrap();
    let uint = |layout| format(layout, ZE_IMAGE_FORMAT_TYPE_UINT);
    let view = |kind, layout, extents| image.view(&image_desc(kind, uint(layout), extents));
    let two_d = ZE_IMAGE_TYPE_2D;
    for (layout, width) in [
        (ZE_IMAGE_FORMAT_LAYOUT_32, 32),
        (ZE_IMAGE_FORMAT_LAYOUT_8, 128),
        (ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, 8),
    ] {
        let view = view(two_d, layout, [width, 16, 1]).unwrap();
        assert_eq!(view.memory_properties().unwrap().rowPitch, image.memory_properties().unwrap().rowPitch);
    }
    view(ZE_IMAGE_TYPE_2DARRAY, ZE_IMAGE_FORMAT_LAYOUT_32, [32, 16, 1]).unwrap();
    view(ZE_IMAGE_TYPE_1D, ZE_IMAGE_FORMAT_LAYOUT_32, [32, 1, 1]).unwrap();
    let size = ZE_RESULT_ERROR_INVALID_SIZE;
    refused(view(two_d, ZE_IMAGE_FORMAT_LAYOUT_32, [33, 16, 1]), size, "view");
    refused(view(two_d, ZE_IMAGE_FORMAT_LAYOUT_32, [32, 17, 1]), size, "view");
    refused(view(two_d, ZE_IMAGE_FORMAT_LAYOUT_32_32, [17, 16, 1]), size, "view");
    refused(view(ZE_IMAGE_TYPE_3D, ZE_IMAGE_FORMAT_LAYOUT_32, [32, 16, 2]), size, "view");
    let own = image_desc(two_d, rgba8(), [32, 16, 1]);
    refused(image.plane(1, &own), ZE_RESULT_ERROR_INVALID_ARGUMENT, "plane 1");
    image.plane(0, &own).unwrap();
    let memory = platform().filled(0u8, 4096);
    let pitched = ze_image_pitched_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_PITCHED_IMAGE_EXP_DESC,
        ptr: memory.pointer().cast(),
        ..Default::default()
    };
    let elsewhere = ze_image_desc_t { pNext: (&raw const pitched).cast(), ..own };
    refused(image.view(&elsewhere), ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory");
}

#[test]
fn planes_have_views() {
    let of = |layout| format(layout, ZE_IMAGE_FORMAT_TYPE_UNORM);
    let (one, two) = (of(ZE_IMAGE_FORMAT_LAYOUT_8), of(ZE_IMAGE_FORMAT_LAYOUT_8_8));
    let frame = image_desc(ZE_IMAGE_TYPE_2DARRAY, of(ZE_IMAGE_FORMAT_LAYOUT_NV12), [33, 17, 2]);
    let image = Image::new(&frame).unwrap();
    let luma = image.plane(0, &image_desc(ZE_IMAGE_TYPE_2DARRAY, one, [33, 17, 2])).unwrap();
    let chroma = image.plane(1, &image_desc(ZE_IMAGE_TYPE_2DARRAY, two, [17, 9, 2])).unwrap();
    // The frame's extents are taken for the plane's, as Intel's driver takes them.
    let same = image.plane(1, &image_desc(ZE_IMAGE_TYPE_2DARRAY, two, [33, 17, 2])).unwrap();
    let slice = |image: &Image| image.memory_properties().unwrap().slicePitch;
    assert_eq!(slice(&luma), slice(&chroma));
    assert_eq!(slice(&luma), slice(&same));
    let size = ZE_RESULT_ERROR_INVALID_SIZE;
    refused(image.plane(1, &image_desc(ZE_IMAGE_TYPE_2DARRAY, two, [18, 9, 2])), size, "view");
    let planes = image.plane(2, &image_desc(ZE_IMAGE_TYPE_2DARRAY, one, [33, 17, 2]));
    refused(planes, ZE_RESULT_ERROR_INVALID_ARGUMENT, "plane 2");
    image.view(&frame).unwrap();
    let other = ze_image_desc_t { format: of(ZE_IMAGE_FORMAT_LAYOUT_P010), ..frame };
    refused(image.view(&other), ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "another format");
    refused(image.device_offset(), ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "planes");
    // A plane of an image that is to be created is no plane of anything.
    let plane = ze_image_view_planar_ext_desc_t {
        stype: ZE_STRUCTURE_TYPE_IMAGE_VIEW_PLANAR_EXT_DESC,
        ..Default::default()
    };
    let desc = ze_image_desc_t { pNext: (&raw const plane).cast(), ..frame };
    refused(Image::new(&desc), ZE_RESULT_ERROR_INVALID_ARGUMENT, "view");
}

#[test]
fn bindless_images_have_offsets_of_their_own() {
    let sampler = ze_sampler_desc_t { stype: ZE_STRUCTURE_TYPE_SAMPLER_DESC, ..Default::default() };
    let bindless = |flags: u32, next: *const std::ffi::c_void| ze_image_bindless_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_BINDLESS_IMAGE_EXP_DESC,
        pNext: next,
        flags,
    };
    let image = |bindless: &ze_image_bindless_exp_desc_t| {
        let desc = image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [8, 8, 1]);
        Image::new(&ze_image_desc_t { pNext: std::ptr::from_ref(bindless).cast(), ..desc })
    };
    let (plain, sampled) = (
        ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS,
        ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS | ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE,
    );
    let images: Vec<Image> = (0..10).map(|_| image(&bindless(plain, std::ptr::null())).unwrap()).collect();
    let mut offsets: Vec<u64> = images.iter().map(|image| image.device_offset().unwrap()).collect();
    offsets.push(image(&bindless(sampled, (&raw const sampler).cast())).unwrap().device_offset().unwrap());
    assert!(!offsets.contains(&0), "0 is no handle");
    offsets.sort_unstable();
    offsets.dedup();
    assert_eq!(offsets.len(), 11);
    refused(
        image(&bindless(sampled, std::ptr::null())),
        ZE_RESULT_ERROR_INVALID_ARGUMENT,
        "ze_sampler_desc_t",
    );
    let not_bindless = ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE;
    let error = image(&bindless(not_bindless, (&raw const sampler).cast()));
    refused(error, ZE_RESULT_ERROR_INVALID_ARGUMENT, "BINDLESS");
    let wrong = ze_sampler_desc_t { addressMode: ze_sampler_address_mode_t(9), ..sampler };
    let error = image(&bindless(sampled, (&raw const wrong).cast()));
    refused(error, ZE_RESULT_ERROR_INVALID_ENUMERATION, "address_mode");
    let unnamed = Image::new(&image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [8, 8, 1])).unwrap();
    refused(unnamed.device_offset(), ZE_RESULT_ERROR_NOT_AVAILABLE, "BINDLESS");
    // A view may be what its image is not.
    let bindless = bindless(plain, std::ptr::null());
    let desc = image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [8, 8, 1]);
    let view = unnamed.view(&ze_image_desc_t { pNext: (&raw const bindless).cast(), ..desc }).unwrap();
    assert!(view.device_offset().is_ok());
}

#[test]
fn only_normalized_bytes_are_srgb() {
    let srgb = ze_srgb_ext_desc_t { stype: ZE_STRUCTURE_TYPE_SRGB_EXT_DESC, sRGB: 1, ..Default::default() };
    let of = |format| {
        let desc = image_desc(ZE_IMAGE_TYPE_2D, format, [8, 8, 1]);
        Image::new(&ze_image_desc_t { pNext: (&raw const srgb).cast(), ..desc })
    };
    of(rgba8()).unwrap();
    let floats = format(ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT);
    refused(of(floats), ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT, "sRGB");
}

#[test]
fn every_sampler_can_be_created_and_no_other() {
    for address in 0..=ZE_SAMPLER_ADDRESS_MODE_MIRROR.0 {
        for filter in 0..=ZE_SAMPLER_FILTER_MODE_LINEAR.0 {
            for normalized in [false, true] {
                let (address, filter) =
                    (ze_sampler_address_mode_t(address), ze_sampler_filter_mode_t(filter));
                Sampler::new(address, filter, normalized).unwrap();
            }
        }
    }
    let invalid = ZE_RESULT_ERROR_INVALID_ENUMERATION;
    let nearest = ZE_SAMPLER_FILTER_MODE_NEAREST;
    refused(Sampler::new(ze_sampler_address_mode_t(5), nearest, true), invalid, "address_mode");
    let none = ZE_SAMPLER_ADDRESS_MODE_NONE;
    refused(Sampler::new(none, ze_sampler_filter_mode_t(2), true), invalid, "filter_mode");
}

#[test]
fn handles_of_other_objects_and_destroyed_ones_are_no_images() {
    let (api, context, device) = (&platform().api, platform().context, platform().device);
    let sampler = Sampler::new(ZE_SAMPLER_ADDRESS_MODE_NONE, ZE_SAMPLER_FILTER_MODE_NEAREST, true).unwrap();
    let destroyed = Image::new(&image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [8, 8, 1])).unwrap().handle;
    let mut memory = ze_image_memory_properties_exp_t::default();
    for (handle, code) in [
        (null_mut(), ZE_RESULT_ERROR_INVALID_NULL_HANDLE),
        (sampler.handle.cast(), ZE_RESULT_ERROR_INVALID_ARGUMENT),
        (destroyed, ZE_RESULT_ERROR_INVALID_ARGUMENT),
    ] {
        // SAFETY: the driver looks at nothing behind a handle that is none.
        unsafe {
            assert_eq!(api.zeImageGetMemoryPropertiesExp(handle, &mut memory), code);
            assert_eq!(api.zeContextMakeImageResident(context, device, handle), code);
            assert_eq!(api.zeContextEvictImage(context, device, handle), code);
        }
    }
    let image = Image::new(&image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [8, 8, 1])).unwrap();
    // SAFETY: live handles.
    unsafe {
        assert_eq!(api.zeContextMakeImageResident(context, device, image.handle), ZE_RESULT_SUCCESS);
        assert_eq!(api.zeContextEvictImage(context, device, image.handle), ZE_RESULT_SUCCESS);
        assert_eq!(
            api.zeImageCreate(context, device, std::ptr::null(), null_mut()),
            ZE_RESULT_ERROR_INVALID_NULL_POINTER
        );
        let mut desc = image_desc(ZE_IMAGE_TYPE_2D, rgba8(), [8, 8, 1]);
        // A circular chain ends.
        desc.pNext = (&raw const desc).cast();
        assert!(Image::new(&desc).is_ok());
    }
}
