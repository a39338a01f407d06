//! Samples by float coordinates: addressing modes, filters, dimensions, sub-group sizes.

use super::support::*;
use ze_engine::image::format::IDENTITY;
use ze_engine::image::{ChannelType, Source};
use ze_engine::jit::target::Isa;
use ze_engine::{Engine, EngineConfig};
use ze_headers::*;
use ze_tests::Random;
use ze_tests::image_model::{self as model, Color};

#[test]
fn every_sampler_samples_every_dimension() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(2);
    let sizes: [(&[u32], u32); 9] = [
        (&[1], 0),
        (&[37], 0),
        (&[19], 3),
        (&[1, 1], 0),
        (&[33, 17], 0),
        (&[64, 2], 0),
        (&[9, 5], 4),
        (&[7, 5, 3], 0),
        (&[20, 1, 6], 0),
    ];
    for (size, layers) in sizes {
        for format in sampled_formats() {
            let swizzle =
                if format.bytes() == 4 { [Source::B, Source::G, Source::R, Source::One] } else { IDENTITY };
            let image = Image::new(Kind { layers, swizzle, ..Kind::of(format, size) }, &mut random);
            let kernel = program.kernel(&format!("sample_{}_ff", image.suffix())).expect("a kernel");
            for (sampler, model) in samplers() {
                samples(&kernel, &image, (Some(sampler), model), 64, &mut random);
            }
        }
    }
}

#[test]
fn images_of_the_greatest_sizes_are_sampled_to_their_ends() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(7);
    let sizes: [(&[u32], u32); 7] = [
        (&[16384], 0),
        (&[3], 2048),
        (&[16384, 3], 0),
        (&[5, 16384], 0),
        (&[3, 2], 2048),
        (&[2048, 2, 3], 0),
        (&[3, 2, 2048], 0),
    ];
    for (size, layers) in sizes {
        let of = format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm);
        let image = Image::new(Kind { layers, ..Kind::of(of, size) }, &mut random);
        let kernel = program.kernel(&format!("sample_{}_ff", image.suffix())).expect("a kernel");
        for (sampler, model) in samplers() {
            samples(&kernel, &image, (Some(sampler), model), 64, &mut random);
        }
    }
}

#[test]
fn texels_are_sampled_in_all_widths_by_all_instruction_sets() {
    let mut random = Random::new(3);
    for isa in [Isa::Sse, Isa::Avx2, Isa::Avx512] {
        if isa == Isa::Avx512 && !std::arch::is_x86_feature_detected!("avx512bw") {
            continue;
        }
        let engine = Engine::new(EngineConfig { threads: 1, isa: Some(isa), ..EngineConfig::default() });
        let program = load(&engine, "images");
        for (layout, ty) in [
            (ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ChannelType::Float),
            (ZE_IMAGE_FORMAT_LAYOUT_32, ChannelType::Float),
            (ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16, ChannelType::Float),
            (ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm),
        ] {
            let mut image = Image::new(Kind::of(format(layout, ty), &[21, 11]), &mut random);
            if ty == ChannelType::Float {
                tame(&mut image, &mut random);
            }
            for (name, group) in
                [("sample_2_ff", 1), ("sample_2_ff_w8", 8), ("sample_2_ff_w16", 16), ("sample_2_ff_w32", 96)]
            {
                let kernel = program.kernel(name).expect("a kernel");
                for (sampler, model) in samplers() {
                    samples(&kernel, &image, (Some(sampler), model), group, &mut random);
                }
            }
        }
    }
}

#[test]
fn literal_samplers_are_those_of_arguments() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(4);
    let names = [
        ("none", 0, false),
        ("edge", 1, false),
        ("clamp", 2, true),
        ("repeat", 3, true),
        ("mirrored", 4, true),
    ];
    for format in sampled_formats() {
        let image = Image::new(Kind::of(format, &[33, 9]), &mut random);
        let argument = program.kernel("sample_2_ff").expect("a kernel");
        for (name, addressing, normalized) in names {
            for linear in [false, true] {
                let filter = if linear { "linear" } else { "nearest" };
                let kernel = program.kernel(&format!("literal_{name}_{filter}")).expect("a kernel");
                let model = model::Sampler { addressing, normalized, linear, mip_linear: false };
                let at = float_coordinates(&image, normalized, &mut random);
                samples_at(&kernel, &image, (None, model), 64, &at);
                // To the last bit.
                let (sampler, _) =
                    samplers().into_iter().find(|(_, other)| *other == model).expect("a sampler");
                let words: Vec<u32> = at.iter().map(|at| at.to_bits()).collect();
                let literal = colors(&kernel, &image, None, &words, 64);
                assert!(colors(&argument, &image, Some(sampler.bits()), &words, 64) == literal, "{model:?}");
            }
        }
    }
}

#[test]
fn shared_coordinates_and_lanes_that_are_off() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(7);
    let rgba = format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm);
    let image = Image::new(Kind::of(rgba, &[40, 9]), &mut random);
    let (sampler, model) = samplers()[3];
    let kernel = program.kernel("uniform_reads").expect("a kernel");
    let at = float_coordinates(&image, model.normalized, &mut random);
    let words: Vec<u32> = at.iter().map(|at| at.to_bits()).collect();
    for (item, found) in colors(&kernel, &image, Some(sampler.bits()), &words, 16).into_iter().enumerate() {
        let expected = sample_of(&image, model, &at[item / 16 * 2..][..2], 0.0);
        assert!(agree(found, expected, 2e-6), "{item}: {found:?}, not {expected:?}");
    }
    let kernel = program.kernel("odd_lanes").expect("a kernel");
    let (nearest, model) = samplers()[4];
    let to = Image::new(Kind::of(rgba, &[100, 3]), &mut random);
    let before = to.memory.bytes().to_vec();
    let values = [image.handle(), nearest.bits(), to.handle(), words.as_ptr() as u64];
    launch(&kernel, [2, 1, 1], [64, 1, 1], &values);
    for x in 0..100 {
        let place = to.model().place(0, [x, 1, 0], 0).expect("inside");
        let found = &to.memory.bytes()[place..place + 4];
        let expected = match x % 3 {
            1 => before[place..place + 4].to_vec(),
            _ => to.model().encode(sample_of(&image, model, &at[2 * x as usize..][..2], 0.0)),
        };
        assert_eq!(found, expected, "texel {x}");
    }
}

#[test]
fn images_go_through_functions() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(9);
    let rgba = format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm);
    let image = Image::new(Kind::of(rgba, &[40, 9]), &mut random);
    let (sampler, model) = samplers()[4];
    let at = float_coordinates(&image, false, &mut random);
    let words: Vec<u32> = at.iter().map(|at| at.to_bits()).collect();
    let kernel = program.kernel("functions").expect("a kernel");
    let found = colors(&kernel, &image, Some(sampler.bits()), &words, 64);
    for (at, found) in at.chunks(2).zip(found) {
        let (first, second) =
            (sample_of(&image, model, at, 0.0), sample_of(&image, model, &[at[0] + 1.0, at[1] + 1.0], 0.0));
        let (Color::Float(first), Color::Float(second)) = (first, second) else { panic!("floats") };
        let sum = Color::Float([0, 1, 2, 3].map(|part| first[part] + second[part]));
        assert!(agree(found, sum, 1e-6), "{at:?}: {found:?}, not {sum:?}");
    }
}

/// Lanes whose texels are in one row, next to each other, apart, reversed, or at the edges.
#[test]
fn rows_of_scaled_images_are_sampled() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(10);
    for format in sampled_formats().into_iter().chain([format(ZE_IMAGE_FORMAT_LAYOUT_32, ChannelType::Float)])
    {
        let mut image = Image::new(Kind::of(format, &[150, 6]), &mut random);
        if format.channel_type() == ChannelType::Float {
            tame(&mut image, &mut random);
        }
        for (name, group) in [("sample_2_ff_w8", 8), ("sample_2_ff_w16", 16), ("sample_2_ff_w32", 32)] {
            let kernel = program.kernel(name).expect("a kernel");
            for scale in [0.3f32, 1.0, 1.9, 2.6, -0.7] {
                for (sampler, model) in samplers() {
                    let normalize =
                        |texel: f32, size: f32| if model.normalized { texel / size } else { texel };
                    let at: Vec<f32> = (0..ITEMS)
                        .flat_map(|item| {
                            let x = (item as f32 * scale).rem_euclid(170.0) - 10.0;
                            [normalize(x, 150.0), normalize((item / 16) as f32 * 0.7, 6.0)]
                        })
                        .collect();
                    samples_at(&kernel, &image, (Some(sampler), model), group, &at);
                }
            }
        }
    }
}
