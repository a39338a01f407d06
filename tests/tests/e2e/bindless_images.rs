//! Bindless images: kernels that have device offsets instead of arguments, in memory and another one in each lane.

use std::ffi::c_void;
use std::ptr::null;

use ze_headers::*;
use ze_tests::assembler::assemble;
use ze_tests::images::{Around, Pitched, format, image_desc};
use ze_tests::{Buffer, CommandList, Image, Kernel, ListOptions, MemoryKind, Module, Random, platform};

/// A kernel of a buffer of handles, one for each work-item, and of one of results: `body` has `%handle`, `%at` (the work-item's
/// number and zero), `%fat` (the same as floats), and writes to `%to`.
fn kernel(body: &str) -> (Module, Kernel) {
    let text = format!(
        "OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpCapability ImageBasic
OpCapability BindlessImagesINTEL
OpExtension \"SPV_INTEL_bindless_images\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %gid
OpDecorate %gid BuiltIn GlobalInvocationId
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%float = OpTypeFloat 32
%uint2 = OpTypeVector %uint 2
%uint4 = OpTypeVector %uint 4
%float2 = OpTypeVector %float 2
%float4 = OpTypeVector %float 4
%ulong3 = OpTypeVector %ulong 3
%image = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly
%written = OpTypeImage %void 2D 0 0 0 0 Unknown WriteOnly
%sampled = OpTypeSampledImage %image
%input = OpTypePointer Input %ulong3
%pg_ulong = OpTypePointer CrossWorkgroup %ulong
%pg_uint4 = OpTypePointer CrossWorkgroup %uint4
%u0 = OpConstant %uint 0
%f0 = OpConstant %float 0
%fn = OpTypeFunction %void %pg_ulong %pg_uint4
%gid = OpVariable %input Input
%main = OpFunction %void None %fn
%handles = OpFunctionParameter %pg_ulong
%out = OpFunctionParameter %pg_uint4
%entry = OpLabel
%ids = OpLoad %ulong3 %gid
%i = OpCompositeExtract %ulong %ids 0
%from = OpInBoundsPtrAccessChain %pg_ulong %handles %i
%handle = OpLoad %ulong %from Aligned 8
%to = OpInBoundsPtrAccessChain %pg_uint4 %out %i
%x = OpUConvert %uint %i
%at = OpCompositeConstruct %uint2 %x %u0
%fat = OpConvertUToF %float2 %at
{body}OpReturn
OpFunctionEnd
"
    );
    let words = assemble(&text);
    let module = Module::new(&words).unwrap_or_else(|error| panic!("{error:?}"));
    let kernel = module.kernel("main");
    (module, kernel)
}

const READ: &str = "%found = OpConvertHandleToImageINTEL %image %handle
%texel = OpImageRead %uint4 %found %at
OpStore %to %texel Aligned 16
";
const WRITE: &str = "%found = OpConvertHandleToImageINTEL %written %handle
%value = OpCompositeConstruct %uint4 %x %x %x %x
OpImageWrite %found %at %value
";
const SAMPLE: &str = "%found = OpConvertHandleToSampledImageINTEL %sampled %handle
%color = OpImageSampleExplicitLod %float4 %found %fat Lod %f0
%texel = OpBitcast %uint4 %color
OpStore %to %texel Aligned 16
";

/// Work-items, and texels of a row.
const WIDTH: u32 = 32;

fn run(kernel: &Kernel, handles: &[u64]) -> Buffer<[u32; 4]> {
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    let (handles, out) = (platform().buffer(handles), platform().filled([0xeeu32; 4], WIDTH as usize));
    kernel.set_arguments(&[&handles, &out]).unwrap();
    kernel.set_group_size([WIDTH, 1, 1]).unwrap();
    list.launch(kernel, [1, 1, 1], None, &[]).unwrap();
    out
}

fn uint(layout: ze_image_format_layout_t) -> ze_image_format_t {
    format(layout, ZE_IMAGE_FORMAT_TYPE_UINT)
}

/// A bindless image with a row of texels.
fn bindless(layout: ze_image_format_layout_t, texels: &[u8]) -> Image {
    let bindless = ze_image_bindless_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_BINDLESS_IMAGE_EXP_DESC,
        flags: ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS,
        ..Default::default()
    };
    let desc = image_desc(ZE_IMAGE_TYPE_2D, uint(layout), [WIDTH, 1, 1]);
    let image = Image::new(&ze_image_desc_t { pNext: (&raw const bindless).cast(), ..desc }).unwrap();
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    // SAFETY: synchronous; the texels are the image's.
    unsafe {
        let from = texels.as_ptr().cast();
        list.image_copy_from_memory((&image, None), from, [0; 2], Around::default()).unwrap();
    }
    image
}

/// A descriptor of a view that is sampled, between texels where `linear` says so.
fn sampled_view(image: &Image, desc: &ze_image_desc_t, linear: bool) -> Image {
    let sampler = ze_sampler_desc_t {
        stype: ZE_STRUCTURE_TYPE_SAMPLER_DESC,
        pNext: desc.pNext,
        addressMode: ZE_SAMPLER_ADDRESS_MODE_CLAMP,
        filterMode: if linear { ZE_SAMPLER_FILTER_MODE_LINEAR } else { ZE_SAMPLER_FILTER_MODE_NEAREST },
        isNormalized: 0,
    };
    let bindless = ze_image_bindless_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_BINDLESS_IMAGE_EXP_DESC,
        pNext: (&raw const sampler).cast(),
        flags: ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS | ZE_IMAGE_BINDLESS_EXP_FLAG_SAMPLED_IMAGE,
    };
    image.view(&ze_image_desc_t { pNext: (&raw const bindless).cast(), ..*desc }).unwrap()
}

#[test]
fn each_lane_reads_the_image_whose_offset_it_has() {
    let (_module, kernel) = kernel(READ);
    let words: Vec<u8> = (0..WIDTH).flat_map(|x| (1000 + x).to_le_bytes()).collect();
    let bytes: Vec<u8> = (0..WIDTH as u8).map(|x| 200 - x).collect();
    let pairs: Vec<u8> = (0..WIDTH as u8).flat_map(|x| [x, 0, x + 1, 0]).collect();
    let images = [
        bindless(ZE_IMAGE_FORMAT_LAYOUT_32, &words),
        bindless(ZE_IMAGE_FORMAT_LAYOUT_8, &bytes),
        bindless(ZE_IMAGE_FORMAT_LAYOUT_16_16, &pairs),
    ];
    let offsets = images.each_ref().map(|image| image.device_offset().unwrap());
    let want = |which: usize, x: u32| match which {
        0 => [1000 + x, 0, 0, 1],
        1 => [200 - x, 0, 0, 1],
        _ => [x, x + 1, 0, 1],
    };
    let mut random = Random::new(7);
    for round in 0..4 {
        let picked: Vec<usize> =
            (0..WIDTH).map(|_| if round < 3 { round } else { random.below(3) as usize }).collect();
        let handles: Vec<u64> = picked.iter().map(|&which| offsets[which]).collect();
        let out = run(&kernel, &handles);
        for (x, which) in (0..).zip(picked) {
            assert_eq!(out[x as usize], want(which, x), "round {round}, work-item {x}, image {which}");
        }
    }
}

#[test]
fn kernels_write_to_images_by_their_offsets() {
    let (_module, kernel) = kernel(WRITE);
    let images = [(); 2].map(|()| bindless(ZE_IMAGE_FORMAT_LAYOUT_32, &[0xff; 4 * WIDTH as usize]));
    let offsets = images.each_ref().map(|image| image.device_offset().unwrap());
    let handles: Vec<u64> = (0..WIDTH as usize).map(|x| offsets[x / 3 % 2]).collect();
    run(&kernel, &handles);
    let list = CommandList::immediate(ListOptions::synchronous()).unwrap();
    for (which, image) in images.iter().enumerate() {
        let mut texels = [0u32; WIDTH as usize];
        let to: *mut c_void = texels.as_mut_ptr().cast();
        // SAFETY: synchronous; the texels are the image's.
        unsafe { list.image_copy_to_memory(to, (image, None), [0; 2], Around::default()) }.unwrap();
        for (x, texel) in (0..).zip(texels) {
            assert_eq!(texel, if x as usize / 3 % 2 == which { x } else { u32::MAX }, "{which} {x}");
        }
    }
}

#[test]
fn sampled_views_have_samplers_of_their_own() {
    let (_module, kernel) = kernel(SAMPLE);
    let floats: Vec<f32> = (0..WIDTH).map(|x| x as f32 * 10.0).collect();
    let memory = platform().buffer(&floats);
    let desc = image_desc(
        ZE_IMAGE_TYPE_2D,
        format(ZE_IMAGE_FORMAT_LAYOUT_32, ZE_IMAGE_FORMAT_TYPE_FLOAT),
        [WIDTH, 1, 1],
    );
    let image = Image::in_memory(&desc, memory.pointer().cast(), Pitched::default()).unwrap();
    let (nearest, linear) = (sampled_view(&image, &desc, false), sampled_view(&image, &desc, true));
    let offsets = [nearest.device_offset().unwrap(), linear.device_offset().unwrap()];
    let handles: Vec<u64> = (0..WIDTH as usize).map(|x| offsets[x % 2]).collect();
    let out = run(&kernel, &handles);
    for (x, texel) in (0..).zip(out.iter()) {
        // A coordinate of x is the edge between two texels.
        let want = if x % 2 == 0 { x as f32 * 10.0 } else { x as f32 * 10.0 - 5.0 };
        assert_eq!(f32::from_bits(texel[0]), want, "work-item {x}");
    }
}

#[test]
fn an_offset_of_an_image_that_is_destroyed_leads_to_no_texels() {
    let (_module, reads) = kernel(READ);
    let (_module_too, writes) = kernel(WRITE);
    let image = bindless(ZE_IMAGE_FORMAT_LAYOUT_32, &[0xff; 4 * WIDTH as usize]);
    let stale = vec![image.device_offset().unwrap(); WIDTH as usize];
    drop(image);
    let out = run(&reads, &stale);
    assert!(out.iter().all(|texel| texel[..3] == [0; 3]), "{:?}", &*out);
    run(&writes, &stale);
}

#[test]
fn numbers_that_are_no_offsets_lead_to_no_texels() {
    let (_module, reads) = kernel(READ);
    let (_module_too, writes) = kernel(WRITE);
    let image = bindless(ZE_IMAGE_FORMAT_LAYOUT_32, &[0xff; 4 * WIDTH as usize]);
    let offset = image.device_offset().unwrap();
    let memory = platform().filled(0x4141_4141_4141_4141u64, 1024);
    let mut random = Random::new(9);
    let mut handles =
        vec![0, 1, 8, u64::MAX, 1 << 63, 0xdead_beef, memory.pointer() as u64, null::<u8>() as u64];
    // Inside of a slot, before all slots, and after those that were ever used.
    handles.extend([offset + 1, offset + 64, offset - 512, offset - (1 << 40), offset + (1 << 29)]);
    handles.extend((handles.len()..WIDTH as usize).map(|_| random.next_u64()));
    let out = run(&reads, &handles);
    for (handle, texel) in handles.iter().zip(out.iter()) {
        assert_eq!(texel[..3], [0; 3], "handle {handle:#x}");
    }
    run(&writes, &handles);
    // One that is right among them is found.
    handles[17] = offset;
    assert_eq!(run(&reads, &handles)[17][0], u32::MAX);
    assert!(memory.iter().all(|word| *word == 0x4141_4141_4141_4141));
}

#[test]
fn memory_behind_a_bindless_image_may_be_device_memory() {
    let (_module, kernel) = kernel(READ);
    let memory = platform().allocate(MemoryKind::Device, 4 * WIDTH as usize, 0).unwrap();
    // SAFETY: the allocation has the bytes, which this driver's host can reach.
    unsafe { std::slice::from_raw_parts_mut(memory.cast::<u32>(), WIDTH as usize) }
        .iter_mut()
        .zip(70..)
        .for_each(|(word, value)| *word = value);
    let bindless = ze_image_bindless_exp_desc_t {
        stype: ZE_STRUCTURE_TYPE_BINDLESS_IMAGE_EXP_DESC,
        flags: ZE_IMAGE_BINDLESS_EXP_FLAG_BINDLESS,
        ..Default::default()
    };
    let desc = image_desc(ZE_IMAGE_TYPE_2D, uint(ZE_IMAGE_FORMAT_LAYOUT_32), [WIDTH, 1, 1]);
    let desc = ze_image_desc_t { pNext: (&raw const bindless).cast(), ..desc };
    let image = Image::in_memory(&desc, memory, Pitched::default()).unwrap();
    let out = run(&kernel, &vec![image.device_offset().unwrap(); WIDTH as usize]);
    assert!(out.iter().zip(70..).all(|(texel, value)| texel[0] == value));
    drop(image);
    // SAFETY: nothing uses it any more.
    unsafe { platform().free(memory) }.unwrap();
}
