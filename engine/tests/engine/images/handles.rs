//! Handles of bindless images and samplers, which lanes need not share; levels of detail; blocks.

use super::support::*;
use ze_engine::image::{Addressing, ChannelType, Filter, Sampler};
use ze_headers::*;
use ze_tests::Random;
use ze_tests::assembler::assemble;
use ze_tests::image_model::{self as model, Color};

/// A kernel of a buffer of handles, one of coordinates, one of floats and one that is written, all by element of the
/// work-item, with what `body` makes of `%h`, `%at`, `%iat`, `%lod`, and writes to `%to`.
fn kernel(width: u32, body: &str) -> Vec<u8> {
    assemble(&format!(
        "OpCapability Addresses
OpCapability Kernel
OpCapability Int64
OpCapability Int16
OpCapability Int8
OpCapability ImageBasic
OpCapability ImageReadWrite
OpCapability SubgroupDispatch
OpCapability SubgroupImageBlockIOINTEL
OpCapability SubgroupImageMediaBlockIOINTEL
OpCapability BindlessImagesINTEL
OpExtension \"SPV_INTEL_bindless_images\"
OpExtension \"SPV_INTEL_media_block_io\"
OpExtension \"SPV_INTEL_subgroups\"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %main \"main\" %gid
OpExecutionMode %main SubgroupSize {width}
OpDecorate %gid BuiltIn GlobalInvocationId
%void = OpTypeVoid
%uchar = OpTypeInt 8 0
%ushort = OpTypeInt 16 0
%uint = OpTypeInt 32 0
%ulong = OpTypeInt 64 0
%float = OpTypeFloat 32
%uint2 = OpTypeVector %uint 2
%uint4 = OpTypeVector %uint 4
%float2 = OpTypeVector %float 2
%float4 = OpTypeVector %float 4
%ulong3 = OpTypeVector %ulong 3
%img = OpTypeImage %void 2D 0 0 0 0 Unknown ReadOnly
%wimg = OpTypeImage %void 2D 0 0 0 0 Unknown WriteOnly
%simg = OpTypeSampledImage %img
%sampler = OpTypeSampler
%pi = OpTypePointer Input %ulong3
%pg_ulong = OpTypePointer CrossWorkgroup %ulong
%pg_uint2 = OpTypePointer CrossWorkgroup %uint2
%pg_float2 = OpTypePointer CrossWorkgroup %float2
%pg_float = OpTypePointer CrossWorkgroup %float
%pg_float4 = OpTypePointer CrossWorkgroup %float4
%pg_uint4 = OpTypePointer CrossWorkgroup %uint4
%pg_uint = OpTypePointer CrossWorkgroup %uint
%u0 = OpConstant %uint 0
%u3 = OpConstant %uint 3
%u5 = OpConstant %uint 5
%fn = OpTypeFunction %void %pg_ulong %pg_uint2 %pg_float %pg_uint4
%gid = OpVariable %pi Input
%main = OpFunction %void None %fn
%handles = OpFunctionParameter %pg_ulong
%places = OpFunctionParameter %pg_uint2
%lods = OpFunctionParameter %pg_float
%out = OpFunctionParameter %pg_uint4
%entry = OpLabel
%ids = OpLoad %ulong3 %gid
%i = OpCompositeExtract %ulong %ids 0
%hp = OpInBoundsPtrAccessChain %pg_ulong %handles %i
%h = OpLoad %ulong %hp Aligned 8
%ip = OpInBoundsPtrAccessChain %pg_uint2 %places %i
%iat = OpLoad %uint2 %ip Aligned 8
%at = OpBitcast %float2 %iat
%lp = OpInBoundsPtrAccessChain %pg_float %lods %i
%lod = OpLoad %float %lp Aligned 4
%to = OpInBoundsPtrAccessChain %pg_uint4 %out %i
%to_float4 = OpBitcast %pg_float4 %to
{body}OpReturn
OpFunctionEnd
"
    ))
}

/// Runs it for all items and gives what was written.
fn run(width: u32, body: &str, handles: &[u64], at: &[u32], lods: &[f32]) -> Vec<u32> {
    let engine = engine();
    let program = crate::support::load(&engine, &kernel(width, body));
    let mut out = vec![0u32; 4 * ITEMS];
    let values = [handles.as_ptr() as u64, at.as_ptr() as u64, lods.as_ptr() as u64, out.as_mut_ptr() as u64];
    launch(&program.kernel("main").expect("the kernel"), [2, 1, 1], [ITEMS as u32 / 2, 1, 1], &values);
    out
}

fn bits(floats: &[f32]) -> Vec<u32> {
    floats.iter().map(|float| float.to_bits()).collect()
}

const SAMPLE: &str = "%s = OpConvertHandleToSampledImageINTEL %simg %h
%r = OpImageSampleExplicitLod %float4 %s %at Lod %lod
OpStore %to_float4 %r Aligned 16
";

/// Four images that have nothing in common, each with a sampler of its own.
fn sampled_images(random: &mut Random, levels: usize) -> Vec<(Image, model::Sampler)> {
    let kinds = [
        (ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm, [40, 9]),
        (ZE_IMAGE_FORMAT_LAYOUT_16_16, ChannelType::Snorm, [13, 31]),
        (ZE_IMAGE_FORMAT_LAYOUT_8, ChannelType::Unorm, [64, 64]),
        (ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2, ChannelType::Unorm, [5, 17]),
    ];
    let of = |(number, (layout, ty, size)): (usize, (_, _, [u32; 2]))| {
        let (linear, addressing) = (number % 2 == 1, number as u32 + 1);
        let filter = if linear { Filter::Linear } else { Filter::Nearest };
        let mip_filter = if number >= 2 { Filter::Linear } else { Filter::Nearest };
        let modes =
            [Addressing::ClampToEdge, Addressing::Clamp, Addressing::Repeat, Addressing::MirroredRepeat];
        let sampler =
            Sampler { addressing: modes[number], normalized: true, filter, mip_filter, ..Sampler::default() };
        let kind = Kind { levels, ..Kind::of(format(layout, ty), &size) };
        let image = Image::with_sampler(kind, Some(sampler), random);
        (image, model::Sampler { addressing, normalized: true, linear, mip_linear: number >= 2 })
    };
    kinds.into_iter().enumerate().map(of).collect()
}

#[test]
fn lanes_sample_images_of_their_own() {
    let mut random = Random::new(20);
    let images = sampled_images(&mut random, 1);
    for width in [8, 16, 32] {
        let which: Vec<usize> = (0..ITEMS).map(|_| random.below(4) as usize).collect();
        let handles: Vec<u64> = which.iter().map(|which| images[*which].0.handle()).collect();
        let at = random.floats(2 * ITEMS, -1.5, 2.5);
        let found = run(width, SAMPLE, &handles, &bits(&at), &[0.0; ITEMS]);
        for item in 0..ITEMS {
            let (image, sampler) = &images[which[item]];
            let expected = sample_of(image, *sampler, &at[2 * item..][..2], 0.0);
            let found = color_of(&found[4 * item..][..4], false);
            assert!(agree(found, expected, 2e-6), "{width}, {item}: {found:?}, not {expected:?}");
        }
    }
}

/// The gradients of both directions have the same two components.
const GRADIENTS: &str = "%s = OpConvertHandleToSampledImageINTEL %simg %h
%g = OpCompositeConstruct %float2 %lod %lod
%r = OpImageSampleExplicitLod %float4 %s %at Grad %g %g
OpStore %to_float4 %r Aligned 16
";

#[test]
fn gradients_choose_levels_by_the_texels_that_they_pass() {
    let mut random = Random::new(24);
    let images = sampled_images(&mut random, 4);
    for width in [8, 16, 32] {
        for (image, sampler) in &images {
            let handles = vec![image.handle(); ITEMS];
            let at = random.floats(2 * ITEMS, -0.5, 1.5);
            let mut gradients = random.floats(ITEMS, -0.3, 0.3);
            gradients[100..]
                .iter_mut()
                .for_each(|gradient| *gradient = [0.0, 1e-30, 1e30][random.below(3) as usize]);
            let found = run(width, GRADIENTS, &handles, &bits(&at), &gradients);
            let size = [0, 1].map(|axis| f64::from(image.kind.size[axis]));
            for (item, gradient) in gradients.iter().enumerate() {
                let lod = (f64::from(gradient.abs()) * size[0].hypot(size[1])).log2();
                // Where a rounding decides, both levels are right.
                if (lod.rem_euclid(1.0) - 0.5).abs() < 1e-4 {
                    continue;
                }
                let expected = sample_of(image, *sampler, &at[2 * item..][..2], lod as f32);
                let found = color_of(&found[4 * item..][..4], false);
                let fine = agree(found, expected, 2e-5);
                assert!(fine, "{:?}, gradient {gradient}: {found:?}, not {expected:?}", image.kind);
            }
        }
    }
}

#[test]
fn lanes_sample_levels_of_their_own() {
    let mut random = Random::new(21);
    let images = sampled_images(&mut random, 4);
    let special = [f32::NAN, f32::INFINITY, -1.0, 0.5, 1.5, 1e30];
    for width in [8, 16, 32] {
        for (image, sampler) in &images {
            let handles = vec![image.handle(); ITEMS];
            let at = random.floats(2 * ITEMS, -0.5, 1.5);
            let mut lods = random.floats(ITEMS, -0.5, 3.5);
            lods[100..].iter_mut().for_each(|lod| *lod = special[random.below(6) as usize]);
            let found = run(width, SAMPLE, &handles, &bits(&at), &lods);
            for item in 0..ITEMS {
                let expected = sample_of(image, *sampler, &at[2 * item..][..2], lods[item]);
                let found = color_of(&found[4 * item..][..4], false);
                let fine = agree(found, expected, 2e-6);
                assert!(fine, "{:?}, lod {}: {found:?}, not {expected:?}", image.kind, lods[item]);
            }
        }
    }
}

#[test]
fn lanes_read_and_write_images_of_their_own() {
    let mut random = Random::new(22);
    let rgba = format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm);
    let from: Vec<Image> = (0..3).map(|_| Image::new(Kind::of(rgba, &[50, 6]), &mut random)).collect();
    let body = "%s = OpConvertHandleToImageINTEL %img %h
%r = OpImageFetch %float4 %s %iat
OpStore %to_float4 %r Aligned 16
";
    // A null handle is an image without texels.
    let which: Vec<usize> = (0..ITEMS).map(|_| random.below(4) as usize).collect();
    let handles: Vec<u64> = which.iter().map(|which| from.get(*which).map_or(0, Image::handle)).collect();
    let at: Vec<i32> = (0..ITEMS).flat_map(|_| [random.between(-1, 50), random.between(-1, 6)]).collect();
    let words: Vec<u32> = at.iter().map(|at| *at as u32).collect();
    let found = run(16, body, &handles, &words, &[0.0; ITEMS]);
    for item in 0..ITEMS {
        let index = [i64::from(at[2 * item]), i64::from(at[2 * item + 1]), 0];
        let nothing = Color::Float([0.0; 4]);
        let expected = from.get(which[item]).map_or(nothing, |image| image.model().read(index, 0));
        let found = color_of(&found[4 * item..][..4], false);
        assert_eq!(found, expected, "item {item} at {index:?} of {}", which[item]);
    }
    let body = "%s = OpConvertHandleToImageINTEL %wimg %h
%c = OpCompositeConstruct %float4 %lod %lod %lod %lod
OpImageWrite %s %iat %c
";
    let colors = random.floats(ITEMS, 0.0, 1.0);
    let distinct: Vec<u32> = (0..ITEMS as u32).flat_map(|item| [item % 50, item / 50]).collect();
    let mut expected: Vec<Vec<u8>> = from.iter().map(|image| image.memory.bytes().to_vec()).collect();
    for item in 0..ITEMS {
        let Some(image) = from.get(which[item]) else { continue };
        let index = [i64::from(distinct[2 * item]), i64::from(distinct[2 * item + 1]), 0];
        let place = image.model().place(0, index, 0).expect("inside");
        let texel = image.model().encode(Color::Float([colors[item]; 4]));
        expected[which[item]][place..place + 4].copy_from_slice(&texel);
    }
    run(16, body, &handles, &distinct, &colors);
    for (image, expected) in from.iter().zip(expected) {
        assert_eq!(image.memory.bytes(), expected);
    }
}

#[test]
fn narrow_and_few_components_are_those_of_the_image() {
    let mut random = Random::new(23);
    let pairs = format(ZE_IMAGE_FORMAT_LAYOUT_8_8, ChannelType::Sint);
    let image = Image::new(Kind::of(pairs, &[ITEMS as u32]), &mut random);
    let before = image.memory.bytes().to_vec();
    let body = "%s = OpConvertHandleToImageINTEL %img %h
%two = OpImageFetch %uint2 %s %iat
%first = OpCompositeExtract %uint %two 0
%narrow = OpUConvert %uchar %first
%w = OpConvertHandleToImageINTEL %wimg %h
OpImageWrite %w %iat %narrow
";
    let at: Vec<u32> = (0..ITEMS as u32).flat_map(|item| [item, 0]).collect();
    run(16, body, &vec![image.handle(); ITEMS], &at, &[0.0; ITEMS]);
    // The first channel is written as it was, with its sign, and the second one, which is not given, as 0.
    for (item, texel) in image.memory.bytes().chunks(2).enumerate() {
        assert_eq!(texel, [before[2 * item], 0], "texel {item}");
    }
}

/// The byte that a block read finds: 32-bit words beyond the edges are those at the edges.
fn block_byte(image: &Image, x: i64, y: i64) -> u8 {
    let level = &image.levels[0];
    let bytes = i64::from(level.width * image.kind.format.bytes());
    let word = (x >> 2).clamp(0, bytes / 4 - 1);
    let y = y.clamp(0, i64::from(level.height) - 1);
    image.memory.bytes()[(y * i64::from(level.row_pitch) + word * 4 + (x & 3)) as usize]
}

#[test]
fn blocks_are_rows_of_words() {
    let mut random = Random::new(24);
    let rgba = format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Uint);
    let image = Image::new(Kind::of(rgba, &[60, 7]), &mut random);
    let body = "%s = OpConvertHandleToImageINTEL %img %h
%r = OpSubgroupImageBlockReadINTEL %uint4 %s %iat
OpStore %to %r Aligned 16
";
    for width in [8usize, 16, 32] {
        for (x, y) in
            [(0i32, 0i32), (16, 2), (4, 5), (-20, -2), (200, 6), (232, 0), (i32::MAX - 3, 9), (i32::MIN, 1)]
        {
            let at: Vec<u32> = (0..ITEMS).flat_map(|_| [x as u32, y as u32]).collect();
            let handles = vec![image.handle(); ITEMS];
            let found = run(width as u32, body, &handles, &at, &[0.0; ITEMS]);
            for item in 0..ITEMS {
                for row in 0..4 {
                    let from = i64::from(x) + 4 * (item % width) as i64;
                    let byte = |at: i64| block_byte(&image, from + at, i64::from(y) + row as i64);
                    let expected = u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]);
                    assert_eq!(found[4 * item + row], expected, "{width}: {x} {y}, item {item} row {row}");
                }
            }
        }
    }
}

#[test]
fn blocks_are_written_inside_only() {
    let mut random = Random::new(25);
    let rgba = format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Uint);
    let body = "%s = OpConvertHandleToImageINTEL %wimg %h
%r = OpLoad %uint4 %to Aligned 16
OpSubgroupImageBlockWriteINTEL %s %iat %r
";
    for (x, y) in [(0i32, 0i32), (16, 2), (-12, -1), (224, 5), (1000, 3)] {
        let image = Image::new(Kind::of(rgba, &[60, 7]), &mut random);
        let mut expected = image.memory.bytes().to_vec();
        let at: Vec<u32> = (0..ITEMS).flat_map(|_| [x as u32, y as u32]).collect();
        let handles = vec![image.handle(); ITEMS];
        // All sub-groups write the same words, which depend on the lane alone.
        let mut data: Vec<u32> = (0..ITEMS)
            .flat_map(|item| (0..4).map(move |row| 0x0101_0101 * ((item % 16) * 4 + row + 1) as u32))
            .collect();
        let level = image.levels[0];
        for lane in 0..16i64 {
            for row in 0..4i64 {
                let (column, line) = (i64::from(x) + 4 * lane, i64::from(y) + row);
                if column >= 0 && column + 4 <= 240 && (0..7).contains(&line) {
                    let place = (line * i64::from(level.row_pitch) + column) as usize;
                    let word = data[(4 * lane + row) as usize];
                    expected[place..place + 4].copy_from_slice(&word.to_le_bytes());
                }
            }
        }
        let engine = engine();
        let program = crate::support::load(&engine, &kernel(16, body));
        let lods = [0f32; ITEMS];
        let values =
            [handles.as_ptr() as u64, at.as_ptr() as u64, lods.as_ptr() as u64, data.as_mut_ptr() as u64];
        launch(&program.kernel("main").expect("the kernel"), [2, 1, 1], [ITEMS as u32 / 2, 1, 1], &values);
        assert_eq!(image.memory.bytes(), expected, "{x} {y}");
    }
}

#[test]
fn media_blocks_are_reorganized_in_row_major_order() {
    let mut random = Random::new(26);
    let bytes = format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Uint);
    let image = Image::new(Kind::of(bytes, &[60, 9]), &mut random);
    // Five words wide, so that rows begin every eight elements, and three rows.
    let body = "%s = OpConvertHandleToImageINTEL %img %h
%r = OpSubgroupImageMediaBlockReadINTEL %uint4 %s %iat %u5 %u3
OpStore %to %r Aligned 16
";
    for (x, y) in [(0i32, 0i32), (12, 4)] {
        let at: Vec<u32> = (0..ITEMS).flat_map(|_| [x as u32, y as u32]).collect();
        let handles = vec![image.handle(); ITEMS];
        let found = run(8, body, &handles, &at, &[0.0; ITEMS]);
        for item in 0..ITEMS {
            for component in 0..3 {
                let element = component * 8 + item % 8;
                let (row, column) = (element / 8, element % 8);
                if column < 5 {
                    let from = i64::from(x) + 4 * column as i64;
                    let byte = |at: i64| block_byte(&image, from + at, i64::from(y) + row as i64);
                    let expected = u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]);
                    assert_eq!(found[4 * item + component], expected, "{x} {y}, item {item} row {row}");
                }
            }
        }
    }
}

#[test]
fn handles_that_kernels_make_up_are_images_without_texels() {
    let mut random = Random::new(27);
    let rgba = format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm);
    let image = Image::new(Kind::of(rgba, &[50, 6]), &mut random);
    let body = "%s = OpConvertHandleToImageINTEL %img %h
%r = OpImageRead %float4 %s %iat
%w = OpConvertHandleToImageINTEL %wimg %h
OpImageWrite %w %iat %r
OpStore %to_float4 %r Aligned 16
";
    let good = image.handle();
    let forged = [0, 1, good + 8, good - 64, good + (1 << 40), u64::MAX, 0xdead_beef_f000, 1 << 63];
    let handles: Vec<u64> =
        (0..ITEMS).map(|item| if item % 5 == 0 { good } else { forged[item % 8] }).collect();
    let at: Vec<u32> = (0..ITEMS as u32).flat_map(|item| [item % 50, item / 50]).collect();
    for handles in [handles, vec![forged[2]; ITEMS], vec![forged[5]; ITEMS]] {
        let before = image.memory.bytes().to_vec();
        let found = run(16, body, &handles, &at, &[0.0; ITEMS]);
        for item in 0..ITEMS {
            let index = [i64::from(at[2 * item]), i64::from(at[2 * item + 1]), 0];
            let nothing = Color::Float([0.0; 4]);
            let expected = if handles[item] == good { image.model().read(index, 0) } else { nothing };
            assert_eq!(color_of(&found[4 * item..][..4], false), expected, "item {item}");
        }
        assert_eq!(image.memory.bytes(), before, "what was read was written back, and nothing else");
    }
}
