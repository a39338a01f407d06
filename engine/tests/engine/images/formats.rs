//! Reads and writes by integer coordinates: every format, swizzles, dimensions, what is outside.

use super::support::*;
use ze_engine::image::format::{IDENTITY, formats};
use ze_engine::image::{Addressing, ChannelType, Sampler, Source};
use ze_headers::*;
use ze_tests::Random;
use ze_tests::image_model::{self as model, Color};

#[test]
fn every_format_is_read_and_written() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(1);
    use Source::{A, B, D, G, One, R, X, Zero};
    let swizzles =
        [IDENTITY, [B, G, R, A], [R, Zero, Zero, One], [A, B, G, R], [R, R, R, One], [X, One, D, G]];
    for format in formats() {
        for swizzle in swizzles {
            let kind = Kind { swizzle, ..Kind::of(format, &[37, 5]) };
            let mut image = Image::new(kind, &mut random);
            let at = int_coordinates(&image, &mut random);
            let texel = if image.is_integer() { "i" } else { "f" };
            let read = program.kernel(&format!("read_2_{texel}")).expect("a kernel");
            let tolerance = if format.is_srgb() { 2e-7 } else { 0.0 };
            let wide = format.layout().fields[0].bits == 32
                && matches!(format.channel_type(), ChannelType::Unorm | ChannelType::Snorm);
            let tolerance = if wide { 2e-7 } else { tolerance };
            for (item, found) in colors(&read, &image, None, &at, 64).into_iter().enumerate() {
                let place = [at[2 * item] as i32, at[2 * item + 1] as i32];
                let (index, layer) = layered(&image, &place);
                let expected = image.model().read(index, layer);
                assert!(
                    agree(found, expected, tolerance),
                    "{kind:?} at {place:?}: {found:?}, not {expected:?}"
                );
            }
            writes(&program, &mut image, &mut random);
        }
    }
}

#[test]
fn integer_coordinates_take_samplers_and_none() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(5);
    let formats = [
        format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Uint),
        format(ZE_IMAGE_FORMAT_LAYOUT_16_16, ChannelType::Sint),
        format(ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ChannelType::Uint),
        format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm),
    ];
    let sizes: [(&[u32], u32); 5] = [(&[70], 0), (&[70], 3), (&[70, 9], 0), (&[70, 9], 4), (&[70, 9, 5], 0)];
    for format in formats {
        for (size, layers) in sizes {
            let mut image = Image::new(Kind { layers, ..Kind::of(format, size) }, &mut random);
            let at = int_coordinates(&image, &mut random);
            let texel = if image.is_integer() { "i" } else { "f" };
            let suffix = image.suffix();
            let kernel = program.kernel(&format!("sample_{suffix}_i{texel}")).expect("a kernel");
            for addressing in [Addressing::None, Addressing::ClampToEdge, Addressing::Clamp] {
                let sampler = Sampler { addressing, ..Sampler::default() };
                let model = model::Sampler {
                    addressing: addressing as u32,
                    normalized: false,
                    linear: false,
                    mip_linear: false,
                };
                let found = colors(&kernel, &image, Some(sampler.bits()), &at, 64);
                for (at, found) in at.chunks(stride(&image)).zip(found) {
                    let at: Vec<i32> = at.iter().map(|at| *at as i32).collect();
                    let (index, layer) = layered(&image, &at);
                    let expected = image.model().sample_at(model, index, layer);
                    assert!(
                        agree(found, expected, 0.0),
                        "{:?} at {at:?}: {found:?}, not {expected:?}",
                        image.kind
                    );
                }
            }
            if image.kind.dimensions < 3 {
                writes(&program, &mut image, &mut random);
            }
        }
    }
}

#[test]
fn copies_write_every_texel_and_nothing_else() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(6);
    let formats = [
        format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Unorm),
        format(ZE_IMAGE_FORMAT_LAYOUT_8, ChannelType::Unorm),
        format(ZE_IMAGE_FORMAT_LAYOUT_32, ChannelType::Float),
        format(ZE_IMAGE_FORMAT_LAYOUT_32_32_32_32, ChannelType::Float),
        format(ZE_IMAGE_FORMAT_LAYOUT_16_16_16_16, ChannelType::Float),
        format(ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ChannelType::Uint),
        format(ZE_IMAGE_FORMAT_LAYOUT_16_16, ChannelType::Snorm),
    ];
    for format in formats {
        for width in [8, 16, 32] {
            let ui = if format.channel_type().is_integer() { "_ui" } else { "" };
            let kernel = program.kernel(&format!("copy{ui}_w{width}")).expect("a kernel");
            let kind = Kind::of(format, &[70, 3]);
            let (mut from, to) = (Image::new(kind, &mut random), Image::new(kind, &mut random));
            if format.channel_type() == ChannelType::Float {
                tame(&mut from, &mut random);
            }
            let before = to.memory.bytes().to_vec();
            launch(&kernel, [3, 5, 1], [32, 1, 1], &[from.handle(), to.handle()]);
            for y in 0..3i64 {
                for x in 0..70i64 {
                    let place = from.model().place(0, [x, y, 0], 0).expect("inside");
                    let range = place..place + format.bytes() as usize;
                    let color = from.model().decode(&from.memory.bytes()[range.clone()]);
                    let wanted = to.model().encode(color);
                    assert_eq!(to.memory.bytes()[range], wanted, "{format:?} at {x} {y} by {width}");
                }
            }
            let row = 70 * format.bytes() as usize;
            for y in 0..2 {
                let gap = y * (row + 5) + row..(y + 1) * (row + 5);
                assert_eq!(to.memory.bytes()[gap.clone()], before[gap], "between rows");
            }
        }
    }
}

#[test]
fn images_say_what_they_are() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(8);
    let half = format(ZE_IMAGE_FORMAT_LAYOUT_16_16, ChannelType::Float);
    let swizzle = [Source::R, Source::G, Source::Zero, Source::One];
    let three = Image::new(Kind { swizzle, ..Kind::of(half, &[7, 5, 3]) }, &mut random);
    let two = Image::new(Kind { layers: 4, ..Kind::of(half, &[9, 6]) }, &mut random);
    let mut out = [0i32; 8];
    let values = [three.handle(), two.handle(), out.as_mut_ptr() as u64];
    launch(&program.kernel("queries").expect("a kernel"), [1; 3], [1; 3], &values);
    // CLK_HALF_FLOAT and CLK_RG of OpenCL C.
    assert_eq!(out, [7, 5, 3, 0x10DD, 0x10B2, 9, 6, 4]);
}

#[test]
fn an_image_that_is_not_there_reads_as_nothing() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut setup = ze_engine::Setup::new(program.kernel("read_2_f").expect("a kernel")).expect("a setup");
    let (at, mut out) = (vec![0u32; 2 * ITEMS], vec![1u32; 4 * ITEMS]);
    for (index, value) in [(1, at.as_ptr() as u64), (2, out.as_mut_ptr() as u64)] {
        setup.set_argument(index, ze_engine::Value::Bytes(&value.to_le_bytes())).expect("set");
    }
    setup.set_group_size([64, 1, 1]).expect("a group size");
    setup.launch([ITEMS as u32 / 64, 1, 1]).expect("a launch").run().expect("runs");
    assert!(out.iter().all(|word| *word == 0));
}

#[test]
fn many_accesses_do_what_few_do() {
    let engine = engine();
    let program = load(&engine, "images");
    let mut random = Random::new(11);
    for layout in [ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_LAYOUT_16_16] {
        let unorm = format(layout, ChannelType::Unorm);
        let image = Image::new(Kind::of(unorm, &[80, 9]), &mut random);
        let at = int_coordinates(&image, &mut random);
        let kernel = program.kernel("many_reads").expect("a kernel");
        for (at, found) in at.chunks(2).zip(colors(&kernel, &image, None, &at, 64)) {
            let mut sum = [0f32; 4];
            for n in 0..48 {
                let (x, y) = ((at[0] as i32).wrapping_add(n % 7), (at[1] as i32).wrapping_add(n / 7));
                let Color::Float(color) = image.model().read([i64::from(x), i64::from(y), 0], 0) else {
                    panic!("floats")
                };
                sum.iter_mut().zip(color).for_each(|(sum, part)| *sum += part);
            }
            assert_eq!(found, Color::Float(sum), "at {at:?}");
        }
        let kernel = program.kernel("many_writes").expect("a kernel");
        let image = Image::new(Kind::of(unorm, &[ITEMS as u32, 40]), &mut random);
        let before = image.memory.bytes().to_vec();
        let at: Vec<u32> = (0..ITEMS as u32).flat_map(|item| [item, 2]).collect();
        let words: Vec<u32> = (0..4 * ITEMS).map(|_| random.float(0.0, 0.1).to_bits()).collect();
        let values = [image.handle(), at.as_ptr() as u64, words.as_ptr() as u64];
        launch(&kernel, [3, 1, 1], [64, 1, 1], &values);
        for item in 0..ITEMS {
            for y in 0..40 {
                let place = image.model().place(0, [item as i64, y, 0], 0).expect("inside");
                let range = place..place + unorm.bytes() as usize;
                let color = [0, 1, 2, 3].map(|part| f32::from_bits(words[4 * item + part]) * (y - 1) as f32);
                let written = image.model().encode(Color::Float(color));
                let expected = if y < 2 { &before[range.clone()] } else { &written };
                assert_eq!(&image.memory.bytes()[range], expected, "item {item}, row {y}");
            }
        }
    }
}
