//! Sub-groups of more lanes than is natural: which kernels have them, and that they do what others do.

use crate::support::{Guarded, address, built, file, launch, on_all_processors};
use ze_engine::abi::{LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::target::{Isa, Target};
use ze_tests::Random;

/// The lanes that are chosen, on processors with registers of 512, 256 and 128 bits.
fn lanes(kernel: &str) -> [u32; 3] {
    let module = built(&file("small_values")).expect("valid");
    let kernel = module.kernel(kernel).expect("the module has the kernel");
    [Isa::Avx512, Isa::Avx2, Isa::Sse].map(|isa| {
        let target = Target::limited(isa).expect("a target machine");
        let natural = target.natural_width();
        let variant = Variant::new(natural, LaneMapping::Rows).up_to(target.simd_bits() / 8);
        let best = ze_engine::lower::best_variant(&module, kernel, variant, Inlining::default(), &target);
        best.expect("it is analysed").width
    })
}

#[test]
fn small_values_fill_registers() {
    for bytes in ["find", "draw", "columns"] {
        assert_eq!(lanes(bytes), [64, 32, 16], "{bytes}");
    }
    // Indices of 32 bits are compared, or wrap around.
    for part in ["circle", "median"] {
        assert_eq!(lanes(part), [64, 32, 8], "{part}");
    }
    assert_eq!(lanes("mix"), [32, 16, 8]);
    assert_eq!(lanes("mixed_words"), [16, 16, 8], "16 words are a line of the cache");
    assert_eq!(lanes("collatz"), [16, 8, 8]);
}

fn bytes(random: &mut Random, count: usize) -> Vec<u8> {
    (0..count).map(|_| random.next_u32() as u8).collect()
}

/// Groups of which some have rows of 64 or 32, others partial sub-groups, or several rows in one.
const SIZES: [u32; 8] = [256, 64, 32, 96, 100, 16, 24, 1];

#[test]
fn bytes_are_found_once() {
    on_all_processors("small_values", 2, |program, isa| {
        for size in SIZES {
            let mut random = Random::new(size.into());
            let text: Vec<u8> = (0..6000).map(|_| random.next_u32() as u8 & 3).collect();
            let mut count = [0u32];
            let groups = (text.len() as u32).div_ceil(size);
            let values = [address(&text), count.as_mut_ptr() as u64, text.len() as u64, 1, 2, 3];
            launch(program, "find", [groups, 1], [size, 1], &values);
            let want = text.windows(3).filter(|three| *three == [1, 2, 3]).count();
            assert_eq!(count[0] as usize, want, "groups of {size} {isa}");
        }
    });
}

#[test]
fn each_work_item_draws_a_number_of_its_own() {
    on_all_processors("small_values", 2, |program, isa| {
        for size in SIZES {
            let n = 4800usize.next_multiple_of(size as usize);
            let input = bytes(&mut Random::new(size.into()), n);
            let (mut out, mut drawn) = (vec![0u8; n], [0u32]);
            let values = [address(&input), out.as_mut_ptr() as u64, drawn.as_mut_ptr() as u64];
            launch(program, "draw", [n as u32 / size, 1], [size, 1], &values);
            let step = |x: u8, other: u8| x.max(other ^ 0x35).rotate_left(3) ^ other.saturating_sub(x);
            let mut numbers = Vec::new();
            for (at, (first, got)) in input.iter().zip(&out).enumerate() {
                let (mut x, mut y) = (*first, !first);
                for _ in 0..4 {
                    x = step(x, y);
                    y = step(y, x);
                }
                match x & 1 {
                    1 => numbers.push(*got),
                    _ => assert_eq!(*got, y, "{at} of groups of {size} {isa}"),
                }
            }
            assert_eq!(drawn[0] as usize, numbers.len(), "groups of {size} {isa}");
            let mut want: Vec<u8> = (0..numbers.len()).map(|number| number as u8).collect();
            numbers.sort_unstable();
            want.sort_unstable();
            assert_eq!(numbers, want, "groups of {size} {isa}");
        }
    });
}

#[test]
fn medians_are_those_of_neighbours_in_groups_of_all_shapes() {
    on_all_processors("small_values", 2, |program, isa| {
        for (width, height, size) in [
            (256usize, 40usize, [16, 16]),
            (256, 40, [64, 4]),
            (192, 33, [32, 8]),
            (200, 20, [8, 8]),
            (67, 9, [16, 4]),
        ] {
            let input = bytes(&mut Random::new(width as u64), width * height);
            let out = vec![0u8; width * height];
            let groups = [(width as u32).div_ceil(size[0]), (height as u32).div_ceil(size[1])];
            let values = [address(&input), address(&out), width as u64, height as u64];
            launch(program, "median", groups, size, &values);
            for y in 0..height {
                for x in 0..width {
                    let at = |x: usize, y: usize| input[y * width + x];
                    let mut of = [
                        at(x.saturating_sub(1), y),
                        at((x + 1).min(width - 1), y),
                        at(x, y.saturating_sub(1)),
                        at(x, (y + 1).min(height - 1)),
                        at(x, y),
                    ];
                    of.sort_unstable();
                    assert_eq!(out[y * width + x], of[2], "{x}, {y} of {width} in groups of {size:?} {isa}");
                }
            }
        }
    });
}

#[test]
fn numbers_are_those_of_narrower_sub_groups() {
    on_all_processors("small_values", 2, |program, isa| {
        for size in SIZES {
            let n = 4800usize.next_multiple_of(size as usize);
            let groups = [n as u32 / size, 1];
            let mut random = Random::new(size.into());
            let (a, b) = (bytes(&mut random, 2 * n), bytes(&mut random, 2 * n));
            let out = vec![0i16; n];
            launch(program, "mix", groups, [size, 1], &[address(&a), address(&b), address(&out)]);
            let number = |bytes: &[u8], at: usize| i16::from_le_bytes([bytes[2 * at], bytes[2 * at + 1]]);
            for (at, got) in out.iter().enumerate() {
                let (x, y) = (number(&a, at), number(&b, at));
                let [wide_x, wide_y] = [x, y].map(i32::from);
                let (sum, difference) = (x.saturating_add(y), x.saturating_sub(y));
                let middle = ((wide_x + wide_y + 1) >> 1) as i16;
                let want = sum.min(middle).max(difference) ^ ((wide_x * wide_y) >> 16) as i16;
                assert_eq!(*got, want, "{x} and {y} at {at} of groups of {size} {isa}");
            }
            let mut wide = vec![0u32; n];
            launch(program, "mixed_words", groups, [size, 1], &[address(&a), wide.as_mut_ptr() as u64]);
            for (at, got) in wide.iter().enumerate() {
                let x = u32::from(a[at]);
                let x = x.wrapping_mul(0x9e37_79b9) ^ x >> 3;
                let x = x.wrapping_mul(0x85eb_ca6b) ^ x >> 13;
                assert_eq!(*got, x.wrapping_mul(0xc2b2_ae35) ^ x >> 16, "{at} of groups of {size} {isa}");
            }
            let mut steps = vec![0u8; n];
            launch(program, "collatz", groups, [size, 1], &[address(&a), steps.as_mut_ptr() as u64]);
            for (at, got) in steps.iter().enumerate() {
                let (mut x, mut count) = (a[at], 0u8);
                while x > 1 && count < 100 {
                    x = if x & 1 == 1 { x.wrapping_add(3) } else { x >> 1 };
                    count += 1;
                }
                assert_eq!(*got, count, "{} at {at} of groups of {size} {isa}", a[at]);
            }
            let rows = 37;
            let data = bytes(&mut random, rows * n);
            let (mut largest, mut sum) = (vec![0u8; n], vec![0u8; n]);
            let values = [address(&data), largest.as_mut_ptr() as u64, sum.as_mut_ptr() as u64, rows as u64];
            launch(program, "columns", groups, [size, 1], &values);
            for at in 0..n {
                let column = || data[at..].iter().step_by(n);
                let want = (
                    *column().max().expect("rows"),
                    column().fold(0u8, |sum, value| sum.wrapping_add(*value)),
                );
                assert_eq!((largest[at], sum[at]), want, "column {at} of groups of {size} {isa}");
            }
        }
    });
}

#[test]
fn work_groups_meet_at_barriers() {
    on_all_processors("small_values", 2, |program, isa| {
        for size in SIZES.into_iter().filter(|size| *size > 1) {
            let (groups, steps) = (5, 3);
            let before = bytes(&mut Random::new(size.into()), (groups * size) as usize);
            let mut data = before.clone();
            launch(program, "circle", [groups, 1], [size, 1], &[data.as_mut_ptr() as u64, steps]);
            for (group, here) in before.chunks(size as usize).enumerate() {
                for (at, first) in here.iter().enumerate() {
                    let own = (1..=steps as usize).fold(*first, |own, step| {
                        let from = at + step;
                        let from = if from >= here.len() { from - here.len() } else { from };
                        own.rotate_left(1) ^ here[from]
                    });
                    assert_eq!(data[group * size as usize + at], own, "{at} of groups of {size} {isa}");
                }
            }
        }
    });
}

/// Factors, divisors and offsets of places, and the last place that there is: at the end of a page, behind which nothing may be read.
const PLACES: [[u32; 4]; 9] = [
    [1, 1, 0, 900],
    [1, 2, 3, 700],
    [3, 1, 0, 4095],
    [2, 3, 1, 511],
    [5, 1, 7, 6000],
    [0, 1, 5, 8],
    [1, 1, 1000, 1023],
    [700, 1, 0, 9000],
    [6, 1, 2, 2000],
];

#[test]
fn elements_at_regular_places_are_found_and_nothing_else_is_read() {
    on_all_processors("small_values", 2, |program, isa| {
        for (name, size) in [("bytes", 1), ("shorts", 2), ("words", 4), ("longs", 8)] {
            for (at, [times, by, from, last]) in PLACES.into_iter().enumerate() {
                let mut input = Guarded::new((last as usize + 1) * size);
                input
                    .bytes_mut()
                    .copy_from_slice(&bytes(&mut Random::new(at as u64), (last as usize + 1) * size));
                for group in [320, 64, 48, 20] {
                    let n = 960u32;
                    let values = |out: &mut [u8]| {
                        let buffers = [input.bytes().as_ptr() as u64, out.as_mut_ptr() as u64];
                        let numbers = [times, by, from, last].map(u64::from);
                        [buffers.as_slice(), &numbers].concat()
                    };
                    let run = |kernel: &str, is_on: fn(u32) -> bool, place: &dyn Fn(u32) -> u32| {
                        let mut out = vec![0xA5; n as usize * size];
                        let values = values(&mut out);
                        launch(program, kernel, [n / group, 1], [group, 1], &values);
                        for (id, got) in (0..n).zip(out.chunks(size)) {
                            let from = place(id).min(last) as usize * size;
                            let want =
                                if is_on(id) { &input.bytes()[from..][..size] } else { &[0xA5; 8][..size] };
                            assert_eq!(got, want, "{id} of {kernel} {at} in groups of {group} {isa}");
                        }
                    };
                    let along = |id: u32| id * times / by + from;
                    run(name, |_| true, &along);
                    run(&format!("{name}_in_part"), |id| id % 3 != 1, &along);
                    run(&format!("{name}_exchanged"), |_| true, &|id| (id ^ times) + from);
                }
            }
        }
    });
}

/// Every third element, where indices of 32 bits may wrap around within a sub-group.
#[test]
fn elements_with_gaps_are_found_and_nothing_else_is_touched() {
    on_all_processors("small_values", 2, |program, isa| {
        for (name, size) in [("bytes", 1), ("shorts", 2), ("words", 4), ("longs", 8)] {
            for (from, last) in [(0u32, 2879u32), (5, 1000), (300u32.wrapping_neg(), 2500), (u32::MAX, 2000)]
            {
                for group in [320, 64, 48, 20] {
                    let (n, room) = (960u32, (last as usize + 1) * size);
                    let of = |id: u32| Some(id.wrapping_mul(3).wrapping_add(from)).filter(|at| *at <= last);
                    let mut random = Random::new(from.into());
                    let (mut far, mut near) = (Guarded::new(room), Guarded::new(n as usize * size));
                    far.bytes_mut().copy_from_slice(&bytes(&mut random, room));
                    near.bytes_mut().fill(0xA5);
                    let run = |kernel: &str, input: &Guarded, out: &mut Guarded| {
                        let buffers = [input.bytes().as_ptr() as u64, out.bytes_mut().as_mut_ptr() as u64];
                        let values = [buffers[0], buffers[1], from.into(), last.into()];
                        launch(program, kernel, [n / group, 1], [group, 1], &values);
                    };
                    let element =
                        |memory: &Guarded, at: u32| memory.bytes()[at as usize * size..][..size].to_vec();
                    run(&format!("{name}_apart"), &far, &mut near);
                    for id in 0..n {
                        let want = of(id).map_or(vec![0xA5; size], |at| element(&far, at));
                        assert_eq!(element(&near, id), want, "{id} of {name} from {from} by {group} {isa}");
                    }
                    let before = far.bytes().to_vec();
                    near.bytes_mut().copy_from_slice(&bytes(&mut random, n as usize * size));
                    run(&format!("{name}_spread"), &near, &mut far);
                    let mut want = before;
                    for (id, at) in (0..n).filter_map(|id| Some((id, of(id)?))) {
                        want[at as usize * size..][..size].copy_from_slice(&element(&near, id));
                    }
                    assert!(far.bytes() == want, "{name} spread from {from} by {group} {isa}");
                }
            }
        }
    });
}
