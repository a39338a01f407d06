//! Work-groups whose rows are shorter than a sub-group: two, four or eight of them are one, and right is what each work-item does.

use std::sync::Arc;
use ze_engine::jit::pipeline::{Tier, Tiering};
use ze_engine::jit::target::Isa;
use ze_engine::{Engine, EngineConfig, Program};

use crate::support::{Sparse, address, file, launch_3d, load};

/// Groups of two, four and eight rows a sub-group of 16 lanes, and of 32, some of several planes; and such whose last sub-group is a
/// part, or whose rows are none.
const GROUPS: [[u32; 3]; 10] = [
    [8, 2, 1],
    [8, 4, 1],
    [8, 2, 2],
    [4, 8, 1],
    [4, 2, 4],
    [2, 16, 1],
    [16, 2, 1],
    [8, 1, 4],
    [8, 3, 1],
    [1, 32, 1],
];
const ISAS: [Option<Isa>; 3] = [None, Some(Isa::Avx2), Some(Isa::Sse)];
/// Those of a kernel that leaves it to the driver how many lanes a sub-group has: as many as there are work-items.
const SMALL_GROUPS: [[u32; 3]; 8] =
    [[2, 2, 1], [1, 4, 1], [2, 4, 1], [4, 2, 1], [1, 8, 1], [2, 2, 2], [4, 4, 1], [2, 8, 1]];
const MODULES: [(&str, u32); 3] = [("short_rows", 0), ("short_rows_w16", 16), ("short_rows_w32", 32)];

struct Runner {
    program: Arc<Program>,
    width: u32,
    group: [u32; 3],
    place: String,
}

impl Runner {
    /// Launches so many groups, and returns the work-items in each dimension.
    fn run(&self, kernel: &str, counts: [u32; 3], args: &[u64]) -> [usize; 3] {
        launch_3d(&self.program, kernel, counts, self.group, args);
        std::array::from_fn(|at| (counts[at] * self.group[at]) as usize)
    }
}

fn everywhere(check: impl Fn(&Runner)) {
    for isa in ISAS {
        for tier in [Tier::Fast, Tier::Optimising] {
            let tiering = Tiering::Only(tier);
            // The code of small groups, and that of joined ones.
            let joins_groups = tier == Tier::Optimising;
            let config = EngineConfig { threads: 1, isa, tiering, joins_groups, ..EngineConfig::default() };
            let engine = Engine::new(config);
            for (module, width) in MODULES {
                let program = load(&engine, &file(module));
                for group in if width == 0 { &SMALL_GROUPS[..] } else { &GROUPS } {
                    let group = *group;
                    let place = format!("{module}, {group:?}, {isa:?}, {tier:?}");
                    check(&Runner { program: program.clone(), width, group, place });
                }
            }
        }
    }
}

fn noise(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
}

#[test]
fn elements_of_every_size_are_copied_by_row_up_to_a_bound() {
    const TYPES: [(&str, usize, usize); 6] = [
        ("uchar", 1, 1),
        ("ushort", 2, 1),
        ("uint", 4, 1),
        ("ulong", 8, 1),
        ("uchar4", 1, 4),
        ("uint2", 4, 2),
    ];
    everywhere(|runner| {
        for (ty, bytes, elements) in TYPES {
            let size = bytes * elements;
            let [x, y] = [3 * runner.group[0] as usize, 2 * runner.group[1] as usize];
            // The bounds cut through a row and through a sub-group.
            for (kernel, width, height) in [("copy", x - 1, y - 1), ("copy", x, y), ("whole", x + 3, y)] {
                let from = noise(width * y * size);
                let to = vec![0u8; from.len()];
                let [args, all] = match kernel {
                    "copy" => [vec![width as u64, height as u64], vec![width as u64]],
                    _ => [vec![width as u64], vec![x as u64]],
                };
                let args = [vec![address(&from), address(&to)], args].concat();
                runner.run(&format!("{kernel}_{ty}"), [3, 2, 1], &args);
                for at in 0..width * y {
                    let is_there = at % width < all[0] as usize && at / width < height;
                    let own = |of: &[u8]| of[at * size..][..size].to_vec();
                    let mut want = if is_there { own(&from) } else { vec![0; size] };
                    if is_there {
                        for element in want.chunks_mut(bytes) {
                            let mut carry = 1;
                            for byte in element {
                                (*byte, carry) =
                                    (byte.wrapping_add(carry), u8::from(carry == 1 && *byte == 255));
                            }
                        }
                    }
                    assert_eq!(own(&to), want, "{kernel}_{ty} {at} of {width}x{height}, {}", runner.place);
                }
            }
        }
    });
}

#[test]
fn rows_go_any_way() {
    everywhere(|runner| {
        let pitch = 4 * runner.group[0].max(runner.group[1]);
        let input: Vec<u32> =
            (0..4 * pitch * pitch).map(|i| i.wrapping_mul(0x9e37_79b9).rotate_left(9)).collect();
        let out = vec![0u32; (pitch * pitch) as usize];
        let last = input.len() as u64 - 1;
        let [x, y, _] =
            runner.run("rows", [2, 2, 1], &[address(&input), address(&out), u64::from(pitch), last]);
        let pitch = pitch as usize;
        for (at, got) in out.iter().enumerate() {
            let (row, place) = (at / pitch, at % pitch);
            let of = |at: usize| input[at];
            let sum = || {
                let column = of(place * pitch + row).wrapping_mul(3);
                let shared = of(row).wrapping_mul(5);
                let apart = of(row * pitch + 3 * place).wrapping_mul(7);
                of(row * pitch + pitch - 1 - place)
                    .wrapping_add(column)
                    .wrapping_add(shared)
                    .wrapping_add(apart)
            };
            let want = if place < x && row < y { sum() } else { 0 };
            assert_eq!(*got, want, "{at}, {}", runner.place);
        }
    });
}

#[test]
fn indices_that_wrap_around_within_a_row_reach_both_sides() {
    const REACH: u32 = 400;
    let (input, out) = (Sparse::new(), Sparse::new());
    let near = || (0..2 * REACH).map(|i| i.wrapping_sub(REACH));
    near().for_each(|i| input.set(i.into(), (i.wrapping_mul(37) >> 2) as u8));
    everywhere(|runner| {
        let pitch = runner.group[0] + 1;
        for offset in [0u32, 1, 3, 6, 9, 13, 21].map(u32::wrapping_neg) {
            near().for_each(|i| out.set(i.into(), 0));
            let pointers = [input.start() as u64, out.start() as u64];
            let numbers = [u64::from(pitch), u64::from(offset)];
            let args = [pointers, numbers].concat();
            let [x, y, _] = runner.run("wrapped", [1, 1, 1], &args);
            for i in near() {
                let at = i.wrapping_sub(offset);
                let is_there = ((at / pitch) as usize) < y && ((at % pitch) as usize) < x;
                let want = if is_there { input.get(i.into()).wrapping_add(1) } else { 0 };
                assert_eq!(out.get(i.into()), want, "{i} from {offset}, {}", runner.place);
            }
            let pairs = vec![[0u8; 2]; x * y];
            runner.run("wrapped_pairs", [1, 1, 1], &[&[pointers[0], address(&pairs)], &numbers[..]].concat());
            for (at, pair) in pairs.iter().enumerate() {
                let i = ((at / x) as u32 * pitch + 2 * (at % x) as u32).wrapping_add(offset);
                let want = [input.get(i.into()), input.get(u64::from(i) + 1)];
                assert_eq!(*pair, want, "{at} from {offset}, {}", runner.place);
            }
        }
    });
}

#[test]
fn products_have_rows_of_one_factor_and_columns_of_the_other() {
    const K: usize = 9;
    everywhere(|runner| {
        let counts = [2, 2, 1];
        let [x, y] = [0, 1].map(|at| (counts[at] * runner.group[at]) as usize);
        let a: Vec<f32> = (0..K * y).map(|i| (i * 7 % 31) as f32).collect();
        let b: Vec<[f32; 4]> =
            (0..K * x).map(|i| std::array::from_fn(|at| (i * 5 % 23 + at) as f32)).collect();
        let out = vec![[0f32; 4]; x * y];
        runner.run("product", counts, &[address(&a), address(&b), address(&out), K as u64]);
        for (at, sum) in out.iter().enumerate() {
            let want = std::array::from_fn(|part| {
                (0..K).map(|i| a[at / x * K + i] * b[i * x + at % x][part]).sum::<f32>()
            });
            assert_eq!(*sum, want, "{at}, {}", runner.place);
        }
    });
}

#[test]
fn what_rows_take_out_of_a_loop_at_different_times_is_each_rows_own() {
    everywhere(|runner| {
        let counts = [1, 2, 1];
        let [x, y] = [0, 1].map(|at| (counts[at] * runner.group[at]) as usize);
        let lengths: Vec<u32> = (0..y as u32).map(|row| row * 5 % 7).collect();
        let input: Vec<u32> = (0..8 * x as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let out = vec![0u32; x * y];
        runner.run("lists", counts, &[address(&lengths), address(&input), address(&out)]);
        for (at, sum) in out.iter().enumerate() {
            let (row, place) = (at / x, at % x);
            let of = |i: u32| input[i as usize * x + place];
            let all = (0..lengths[row]).map(of).fold(0, u32::wrapping_add);
            let last = if place % 2 == 1 { of(lengths[row].saturating_sub(1)) } else { 0 };
            assert_eq!(*sum, all.wrapping_add(last), "{at}, {}", runner.place);
        }
    });
}

#[test]
fn rows_whose_first_lanes_are_off_are_accessed_where_the_others_say() {
    everywhere(|runner| {
        let counts = [2, 2, 1];
        let [x, y] = [0, 1].map(|at| (counts[at] * runner.group[at]) as usize);
        let input: Vec<u32> = (0..4 * (x + y) as u32 + 100).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let [odd, even] = [3, 5].map(|step| (0..y as u32).map(|row| row * step % 13).collect::<Vec<_>>());
        let pitch = 2 * x + 1;
        let out = vec![0u32; pitch * y];
        let pointers = [&input, &odd, &even, &out].map(|of: &Vec<u32>| address(of));
        runner.run("guarded", counts, &[&pointers[..], &[pitch as u64]].concat());
        for (at, got) in out.iter().enumerate() {
            let (row, place) = (at / pitch, at % pitch / 2);
            let is_on = place < x && (place % 3 != 0 || row % 4 == 3);
            let from = || (if row % 2 == 1 { odd[row] } else { even[row] + 1 }) as usize;
            let want = match at % pitch % 2 {
                _ if !is_on => 0,
                0 => input[from() + place],
                _ => input[from() + 3 * place].wrapping_add(odd[row]),
            };
            assert_eq!(*got, want, "{row}, {place}, {}", runner.place);
        }
    });
}

#[test]
fn lanes_follow_the_linear_local_id() {
    everywhere(|runner| {
        if runner.width == 0 {
            return;
        }
        let counts = [2, 1, 2];
        let items = runner.group.iter().product::<u32>();
        let out = vec![[u32::MAX; 4]; (counts.iter().product::<u32>() * items) as usize];
        runner.run("ids", counts, &[address(&out)]);
        for (at, ids) in out.iter().enumerate() {
            let linear = at as u32 % items;
            let [x, y, _] = runner.group;
            let size = runner.width.min(items - linear / runner.width * runner.width);
            assert_eq!(*ids, [linear % x, linear / x % y, linear / x / y, size], "{at}, {}", runner.place);
        }
    });
}
