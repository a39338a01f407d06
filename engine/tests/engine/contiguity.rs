//! Memory accesses by indices as people write them: right whatever the compiler of the kernel made of them, for sub-groups of any
//! width, whether lanes follow each other or an index wraps around between them.

use std::sync::Arc;
use ze_engine::jit::target::Isa;
use ze_engine::{Dispatch, Engine, EngineConfig, Program};

use crate::support::{Sparse, file, load};

/// Groups in which sub-groups are of 1, 4, 8 and 16 lanes, full ones and parts, in one row or several.
const GROUPS: [[u32; 3]; 7] =
    [[1, 1, 1], [3, 1, 1], [8, 1, 1], [16, 1, 1], [40, 1, 1], [64, 1, 1], [12, 3, 1]];
const ISAS: [Option<Isa>; 3] = [None, Some(Isa::Avx2), Some(Isa::Sse)];
const MODULES: [&str; 3] = ["contiguity", "contiguity_o0", "contiguity_w32"];

enum Arg {
    Pointer(*const u8),
    Uint(u32),
    Ulong(u64),
}

/// Launches a kernel for at least so many work-items along x.
fn launch(program: &Arc<Program>, kernel: &str, group: [u32; 3], items: u32, args: &[Arg]) {
    let kernel = program.kernel(kernel).expect("the module has it");
    let mut bytes = vec![0; kernel.reflection().arg_block_size as usize];
    assert_eq!(kernel.reflection().args.len(), args.len());
    for (place, arg) in kernel.reflection().args.iter().zip(args) {
        let value = match arg {
            Arg::Pointer(to) => (*to as u64).to_le_bytes().to_vec(),
            Arg::Uint(value) => value.to_le_bytes().to_vec(),
            Arg::Ulong(value) => value.to_le_bytes().to_vec(),
        };
        bytes[place.offset as usize..][..value.len()].copy_from_slice(&value);
    }
    let dispatch = Dispatch {
        group_count: [items.div_ceil(group[0]), 1, 1],
        group_size: group,
        global_offset: [0; 3],
        args: &bytes,
    };
    kernel.launch(&dispatch).expect("launches");
}

/// Runs a check in all modules, on all instruction sets and with all groups.
fn everywhere(check: impl Fn(&dyn Fn(&str, u32, &[Arg]), [u32; 3], &str)) {
    for isa in ISAS {
        // The narrow code of small groups, and that of joined ones.
        let joins_groups = isa.is_none();
        let engine = Engine::new(EngineConfig { threads: 1, isa, joins_groups, ..EngineConfig::default() });
        for module in MODULES {
            let program = load(&engine, &file(module));
            for group in GROUPS {
                let run =
                    |kernel: &str, items: u32, args: &[Arg]| launch(&program, kernel, group, items, args);
                check(&run, group, &format!("{module}, {group:?}, {isa:?}"));
            }
        }
    }
}

fn noise(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(7) ^ i).collect()
}

fn pointer<T>(slice: &[T]) -> Arg {
    Arg::Pointer(slice.as_ptr().cast())
}

/// Checks what a kernel with `in`, `out` and more arguments stores, beginning with zeros.
fn check(kernel: &str, sizes: Sizes, more: &[u32], want: impl Fn(&[u32], &mut [u32])) {
    let input = noise(sizes.input);
    let mut wanted = vec![0; sizes.output];
    want(&input, &mut wanted);
    everywhere(|run, _, place| {
        let out = vec![0u32; sizes.output];
        let mut args = vec![pointer(&input), pointer(&out)];
        args.extend(more.iter().map(|value| Arg::Uint(*value)));
        run(kernel, sizes.items, &args);
        assert!(out == wanted, "{kernel} in {place}");
    });
}

/// Work-items, and elements of the buffers.
struct Sizes {
    items: u32,
    input: usize,
    output: usize,
}

fn sizes(items: u32, input: usize, output: usize) -> Sizes {
    Sizes { items, input, output }
}

/// An index of 32 bits wraps around at every place within a sub-group, and both sides are there.
#[test]
fn indices_that_wrap_around_within_a_sub_group_reach_both_sides() {
    const ITEMS: u32 = 80;
    let (input, out) = (Sparse::new(), Sparse::new());
    let near = || (0..2 * ITEMS).map(|i| i.wrapping_sub(ITEMS));
    for i in near() {
        input.set(i.into(), (i.wrapping_mul(37) >> 2) as u8);
    }
    everywhere(|run, group, place| {
        let items = ITEMS.next_multiple_of(group[0]).min(ITEMS);
        for offset in
            [0, 1u32.wrapping_neg(), 5u32.wrapping_neg(), 21u32.wrapping_neg(), 16u32.wrapping_neg()]
        {
            for downwards in [false, true] {
                near().for_each(|i| out.set(i.into(), 0));
                let kernel = if downwards { "wrapped_downwards" } else { "wrapped_uint" };
                let start = if downwards { offset.wrapping_add(30) } else { offset };
                run(
                    kernel,
                    items / 2,
                    &[Arg::Pointer(input.start()), Arg::Pointer(out.start()), Arg::Uint(start)],
                );
                let launched = (items / 2).div_ceil(group[0]) * group[0];
                for i in near() {
                    let item = if downwards { start.wrapping_sub(i) } else { i.wrapping_sub(start) };
                    let want = if item < launched { input.get(i.into()).wrapping_add(1) } else { 0 };
                    assert_eq!(out.get(i.into()), want, "{kernel} from {start}, {i}, {place}");
                }
            }
        }
    });
}

#[test]
fn wraps_that_undo_each_other_at_the_last_lane_are_seen_between() {
    const ITEMS: u32 = 48;
    let (input, out) = (Sparse::new(), vec![0u8; 256]);
    everywhere(|run, group, place| {
        for (first, second) in
            [(11u32.wrapping_neg(), 7u32), (3u32.wrapping_neg(), 9), (40u32.wrapping_neg(), 3)]
        {
            let launched = ITEMS.div_ceil(group[0]) * group[0];
            let index = |item: u32| {
                let up = u64::from((2 * item).wrapping_add(first));
                up + u64::from(second.wrapping_sub(item))
            };
            (0..launched).for_each(|item| input.set(index(item), (item * 5 + 1) as u8));
            let args = [Arg::Pointer(input.start()), pointer(&out), Arg::Uint(first), Arg::Uint(second)];
            run("wrapped_twice", ITEMS, &args);
            for item in 0..launched {
                assert_eq!(out[item as usize], input.get(index(item)), "{item} of {first} {second}, {place}");
            }
        }
    });
}

#[test]
fn lanes_before_the_beginning_are_masked_off() {
    check("masked_wrap", sizes(100, 100, 120), &[90, 5], |input, out| {
        (0..90).for_each(|i| out[i] = input[i].wrapping_add(1));
    });
}

#[test]
fn signed_indices_on_both_sides_of_zero() {
    check("signed_index", sizes(100, 60, 80), &[17u32.wrapping_neg(), 60], |input, out| {
        (0..60).for_each(|i| out[i] = input[59 - i].wrapping_add(input[i]));
    });
}

#[test]
fn members_of_four_are_read_by_scaled_indices() {
    check("scaled_index", sizes(90, 360, 100), &[90], |input, out| {
        for i in 0..90 {
            out[i] = (0..4u32)
                .fold(0u32, |sum, k| sum.wrapping_add((k + 1).wrapping_mul(input[4 * i + k as usize])));
        }
    });
}

#[test]
fn gaps_between_elements_are_left_alone() {
    check("every_other", sizes(90, 180, 280), &[90], |input, out| {
        (0..90).filter(|i| i % 3 != 1).for_each(|i| out[3 * i] = input[2 * i + 1]);
    });
}

#[test]
fn ids_that_the_kernel_computes_itself() {
    check("own_ids", sizes(100, 100, 128), &[100], |input, out| {
        (0..100).for_each(|i| out[i] = input[i].wrapping_mul(2));
    });
}

#[test]
fn clamped_indices() {
    check("clamped", sizes(100, 100, 128), &[100], |input, out| {
        for i in 0..100usize {
            let (before, behind) = (input[i.saturating_sub(3)], input[(i + 3).min(99)]);
            let middle = input[i].wrapping_mul(10);
            out[i] = before.wrapping_add(middle).wrapping_add(behind.wrapping_mul(100));
        }
    });
    check("around", sizes(100, 100, 128), &[100], |input, out| {
        for i in 0..100usize {
            out[i] = input[(i + 99) % 100].wrapping_add(input[(i + 1) % 100].wrapping_mul(10));
        }
    });
}

#[test]
fn rows_of_any_width_from_one_index() {
    const HEIGHT: usize = 6;
    let input = noise(64 * HEIGHT);
    everywhere(|run, _, place| {
        for width in [1usize, 5, 16, 33, 64] {
            let pitch = width + 3;
            let mut want = vec![0; pitch * HEIGHT];
            for (y, x) in (0..HEIGHT).flat_map(|y| (0..width).map(move |x| (y, x))) {
                want[y * pitch + x] = input[y * width + (width - 1 - x)];
            }
            let out = vec![0u32; pitch * HEIGHT];
            let mut args = vec![pointer(&input), pointer(&out)];
            args.extend([width, pitch, HEIGHT].map(|value| Arg::Uint(value as u32)));
            run("rows_and_columns", (width * HEIGHT) as u32, &args);
            assert!(out == want, "{width} in {place}");
        }
    });
}

#[test]
fn steps_that_are_arguments() {
    let input = noise(400);
    everywhere(|run, _, place| {
        for (step, to_step) in [(0usize, 1usize), (1, 1), (3, 1), (1, 2), (4, 4)] {
            let mut want = vec![0u32; 400];
            (0..100).for_each(|i| want[i * to_step] = input[i * step]);
            let out = vec![0u32; 400];
            let mut args = vec![pointer(&input), pointer(&out)];
            args.extend([step, to_step, 100].map(|number| Arg::Ulong(number as u64)));
            run("stepped", 100, &args);
            assert!(out == want, "{step} {to_step} in {place}");
        }
    });
}

/// The first of each of so many pairs of elements this far apart, all of which are there once.
fn first_of_pairs(stride: usize, pairs: usize) -> impl Iterator<Item = usize> {
    (0..pairs).map(move |l| l / stride * (2 * stride) + l % stride)
}

#[test]
fn pairs_are_exchanged_at_any_distance() {
    const PAIRS: usize = 256;
    let input = noise(2 * PAIRS);
    everywhere(|run, _, place| {
        for stride in [1, 2, 4, 8, 16, 32, 128] {
            let (out, mut want) = (input.clone(), input.clone());
            for at in first_of_pairs(stride, PAIRS).filter(|at| input[*at] > input[at + stride]) {
                want.swap(at, at + stride);
            }
            let numbers = [stride, PAIRS].map(|number| Arg::Uint(number as u32));
            let args: Vec<Arg> = std::iter::once(pointer(&out)).chain(numbers).collect();
            run("compared", PAIRS as u32, &args);
            assert!(out == want, "{stride} in {place}");
        }
    });
}

/// Also where blocks are of no power of two, so that lanes begin in the middle of one.
#[test]
fn sums_and_differences_of_pairs_at_any_distance() {
    const BLOCKS: usize = 12;
    let input = noise(2 * 20 * BLOCKS);
    everywhere(|run, group, place| {
        // Each pair once.
        if group[1] > 1 {
            return;
        }
        for stride in 1..=20 {
            let (out, mut want) = (input.clone(), input.clone());
            let pairs = stride * BLOCKS;
            for at in first_of_pairs(stride, pairs) {
                let [a, b] = [at, at + stride].map(|at| input[at]);
                (want[at], want[at + stride]) = (a.wrapping_add(b), a.wrapping_sub(b));
            }
            let numbers = [stride, pairs].map(|number| Arg::Ulong(number as u64));
            let args: Vec<Arg> = std::iter::once(pointer(&out)).chain(numbers).collect();
            run("transformed", pairs as u32, &args);
            assert!(out == want, "{stride} in {place}");
        }
    });
}

#[test]
fn pairs_in_local_memory_are_exchanged_in_either_direction() {
    let input = noise(2 * 256);
    everywhere(|run, group, place| {
        let size = group[0] as usize;
        if group[1] > 1 {
            return;
        }
        for stride in [1, 2, 4, 8, 16].into_iter().filter(|stride| size.is_multiple_of(*stride)) {
            let (out, mut want) = (input.clone(), input.clone());
            let groups = 256 / size;
            for group in 0..groups {
                let mine = group * 2 * size;
                for (l, at) in first_of_pairs(stride, size).enumerate() {
                    let at = mine + at;
                    if (input[at] > input[at + stride]) == (l & 4 == 0) {
                        want.swap(at, at + stride);
                    }
                }
            }
            run("compared_in_local", (groups * size) as u32, &[pointer(&out), Arg::Uint(stride as u32)]);
            assert!(out == want, "{stride} in {place}");
        }
    });
}

#[test]
fn loops_whose_counter_is_the_index() {
    let input = noise(500);
    everywhere(|run, group, place| {
        let items = 70u32.div_ceil(group[0]) * group[0];
        let out = vec![0u32; items as usize];
        run("summed", 70, &[pointer(&input), pointer(&out), Arg::Uint(500)]);
        let sum = |first: usize| {
            input[first..].iter().step_by(items as usize).fold(0u32, |a, b| a.wrapping_add(*b))
        };
        assert!(out.iter().enumerate().all(|(i, out)| *out == sum(i)), "{place}");
        let width = items as usize;
        let input = noise(9 * width);
        run("column_sums", 70, &[pointer(&input), pointer(&out), Arg::Uint(9), Arg::Uint(width as u32)]);
        let sum = |x: usize| (0..9).fold(0u32, |a, y| a.wrapping_add(input[y * width + x]));
        assert!(out.iter().enumerate().all(|(x, out)| *out == sum(x)), "column sums in {place}");
    });
}

#[test]
fn members_of_structures_are_stored_between_others() {
    let input: Vec<f32> = (0..400).map(|i| i as f32 * 0.5).collect();
    everywhere(|run, _, place| {
        let out = vec![-1f32; 420];
        run("members", 100, &[pointer(&input), pointer(&out), Arg::Uint(100)]);
        let mut want = vec![-1f32; 420];
        for i in 0..100 {
            want[4 * i + 1] = input[4 * i] + input[4 * i + 3];
            want[4 * i + 2] = input[4 * i + 1];
        }
        assert!(out == want, "{place}");
    });
}

#[test]
fn bytes_three_apart() {
    let input: Vec<u8> = noise(300).into_iter().map(|x| x as u8).collect();
    everywhere(|run, _, place| {
        let out = vec![0u8; 120];
        run("pixels", 100, &[pointer(&input), pointer(&out), Arg::Uint(100)]);
        let of = |i: usize| (0..3).map(|c| u32::from(input[3 * i + c]) * [1, 2, 1][c]).sum::<u32>() / 4;
        assert!(
            (0..100).all(|i| u32::from(out[i]) == of(i)) && out[100..].iter().all(|x| *x == 0),
            "{place}"
        );
    });
}

#[test]
fn pointers_kept_in_a_structure() {
    check("through_structure", sizes(100, 100, 128), &[100], |input, out| {
        (0..100).for_each(|i| out[i] = input[i].wrapping_add(1));
    });
}

#[test]
fn a_tile_in_local_memory_by_int_indices() {
    let (width, height) = (50usize, 40usize);
    let input = noise(width * height);
    for isa in ISAS {
        // The narrow code of small groups, and that of joined ones.
        let joins_groups = isa.is_none();
        let engine = Engine::new(EngineConfig { threads: 1, isa, joins_groups, ..EngineConfig::default() });
        for module in MODULES {
            let program = load(&engine, &file(module));
            let kernel = program.kernel("tile").expect("the module has it");
            let out = vec![0u32; width * height];
            let mut args = vec![0; kernel.reflection().arg_block_size as usize];
            let values = [input.as_ptr() as u64, out.as_ptr() as u64, width as u64, height as u64];
            for (at, (place, value)) in kernel.reflection().args.iter().zip(values).enumerate() {
                let bytes = if at < 2 { 8 } else { 4 };
                args[place.offset as usize..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
            let dispatch = Dispatch {
                group_count: [4, 3, 1],
                group_size: [16, 16, 1],
                global_offset: [0; 3],
                args: &args,
            };
            kernel.launch(&dispatch).expect("launches");
            let right = (0..width * height).all(|i| out[i] == input[i % height * width + i / height]);
            assert!(right, "{module}, {isa:?}");
        }
    }
}

#[test]
fn local_counters_count_every_lane_that_is_on() {
    let input: Vec<u8> = noise(1000).into_iter().map(|x| (x >> 5) as u8 & 15).collect();
    let mut want = vec![0u32; 256];
    input.iter().for_each(|byte| want[usize::from(*byte)] += 1);
    everywhere(|run, group, place| {
        if group[1] > 1 {
            return;
        }
        let bins = vec![0u32; 256];
        run("histogram_int", 70, &[pointer(&input), pointer(&bins), Arg::Uint(1000)]);
        assert!(bins == want, "{place}");
    });
}
