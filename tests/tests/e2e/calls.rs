//! Function calls under masks, with every kind of parameter and result, and generic pointers.

use ze_tests::ulp::{assert_close_f32, assert_same};
use ze_tests::{Local, Module, Random, platform};

use crate::{FEW_GROUP_SIZES, for_each_shape};

fn collatz_steps(mut v: u32, limit: i32) -> i32 {
    let mut steps = 0;
    while v != 1 && steps < limit {
        v = if v & 1 != 0 { v.wrapping_mul(3).wrapping_add(1) } else { v >> 1 };
        steps += 1;
    }
    steps
}

#[test]
fn a_call_with_a_loop_under_a_mask() {
    let module = Module::named("calls");
    let kernel = module.kernel("call_under_mask");
    for_each_shape(|n, group_size| {
        let input = Random::new(n as u64).ints(n, -50, 1000);
        let out = platform().filled(i32::MIN, n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<i32> = input
            .iter()
            .map(|&v| match v {
                1.. => collatz_steps(v as u32, 300) + 1000 * collatz_steps(v as u32 + 1, 20),
                v => v,
            })
            .collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    });
}

#[test]
fn vectors_as_parameters_and_results() {
    let module = Module::named("calls");
    let kernel = module.kernel("call_with_vectors");
    let n = 133;
    let mut random = Random::new(4);
    let input: Vec<[f32; 4]> = (0..n).map(|_| std::array::from_fn(|_| random.float(-4.0, 4.0))).collect();
    let out = platform().filled([f32::NAN; 4], n);
    kernel.run_1d(n, 32, &[&platform().buffer(&input), &out, &(n as u32)]);
    let want: Vec<f64> = input
        .iter()
        .flat_map(|&[x, y, z, w]| {
            let each = if y > 0.0 { [w * x, z * x, y * x, x * x] } else { [y + x, z + x, w + x, x + x] };
            each.map(f64::from)
        })
        .collect();
    assert_close_f32("vectors", out.as_flattened(), &want, 1e-7, 1.0);
}

#[test]
fn structures_as_results() {
    let module = Module::named("calls");
    let n = 133;
    let input = Random::new(5).ints(n, -100, 100);
    let out = platform().filled(0i64, n);
    module.kernel("call_with_structs").run_1d(n, 16, &[&platform().buffer(&input), &out, &(n as u32)]);
    let want: Vec<i64> = input
        .iter()
        .map(|&v| {
            let first = if v < 0 { -1 } else { v * 3 };
            i64::from(first) + (v as f32 * 0.5) as i64 + (i64::from(v) << 33)
        })
        .collect();
    assert_same("structures", &out, &want);
}

#[test]
fn side_effects_under_a_mask() {
    let module = Module::named("calls");
    let n = 250;
    let input = Random::new(6).ints(n, 0, 100);
    let out = platform().filled(-1i32, n);
    module.kernel("call_with_side_effects").run_1d(n, 32, &[&platform().buffer(&input), &out, &(n as u32)]);
    let want: Vec<i32> = input
        .iter()
        .map(|&v| match v {
            v if v > 50 && v % 2 == 0 => v + 1,
            v if v % 2 == 1 => v,
            _ => -1,
        })
        .collect();
    assert_same("stores", &out, &want);
}

#[test]
fn pointers_to_private_memory() {
    let module = Module::named("calls");
    let n = 250;
    let input = Random::new(7).ints(n, -100, 100);
    let out = platform().filled(i32::MIN, n);
    module.kernel("call_with_private_pointer").run_1d(
        n,
        32,
        &[&platform().buffer(&input), &out, &(n as u32)],
    );
    let want: Vec<i32> = (0..n)
        .map(|i| {
            let mut keys = [input[i], input[(i + 1) % n], input[(i + 2) % n]];
            keys.sort_unstable();
            keys[0] + 7 * keys[1] + 49 * keys[2]
        })
        .collect();
    assert_same("sorted triples", &out, &want);
}

#[test]
fn a_barrier_in_a_called_function() {
    let module = Module::named("calls");
    let kernel = module.kernel("call_with_barrier");
    for (groups, size) in [(1, 1), (3, 8), (2, 33), (2, 100), (1, 256)] {
        let n = groups * size;
        let input = Random::new(n as u64).ints(n, -100, 100);
        let out = platform().filled(i32::MIN, n);
        kernel.run_1d(n, size as u32, &[&platform().buffer(&input), &out, &Local(4 * size), &4u32]);
        let mut want = input.clone();
        for group in want.chunks_mut(size) {
            for _ in 0..4 {
                let before = group.to_vec();
                for (lid, v) in group.iter_mut().enumerate() {
                    *v = v.wrapping_mul(3).wrapping_add(before[size - 1 - lid]);
                }
            }
        }
        assert_same(&format!("{groups} groups of {size}"), &out, &want);
    }
}

#[test]
fn generic_pointers_to_three_kinds_of_memory() {
    let module = Module::named("generic_pointers");
    let kernel = module.kernel("generic_access");
    for (n, size) in [(1usize, 1u32), (100, 16), (257, 32), (90, 7)] {
        let input = Random::new(n as u64).ints(4 * n, 0, 1000);
        let out = platform().filled(i32::MIN, n);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &Local(16 * size as usize), &(n as u32)]);
        let want: Vec<i32> = (0..n)
            .map(|i| {
                let fill = |seed: i32| [seed, seed + 1, seed + 4, seed + 9];
                let values = match input[4 * i] % 3 {
                    0 => fill(i as i32),
                    1 => fill((i % size as usize) as i32 * 10),
                    _ => [input[4 * i], input[4 * i + 1], input[4 * i + 2], input[4 * i + 3]],
                };
                values.iter().fold(0, |sum, v| sum * 3 + v)
            })
            .collect();
        assert_same(&format!("{n} items in groups of {size}"), &out, &want);
    }
}

#[test]
fn generic_pointers_know_their_address_space() {
    let module = Module::named("address_spaces");
    let n = 40;
    let out = platform().filled(0i32, n);
    module.kernel("address_spaces").run_1d(n, 8, &[&platform().buffer(&[1i32]), &out, &Local(64)]);
    assert_same("global, local, private", &out, &vec![0b100_010_001; n]);
}

/// Four digits, of which a kernel has changed some.
fn digits(v: [u32; 4]) -> u32 {
    v[0] + 10 * v[1] + 100 * v[2] + 1000 * v[3]
}

/// What the kernels that fill a structure from `x` begin with.
fn rotated(x: u32) -> [u32; 4] {
    let mut v = [0; 4];
    (0..4).for_each(|k| v[((x + k) & 3) as usize] = k + 1);
    v
}

#[test]
fn a_function_changes_its_own_copy_of_a_parameter() {
    let module = Module::named("by_value");
    for size in FEW_GROUP_SIZES {
        let n = 2 * size as usize;
        let input: Vec<u32> = (0..n as u32).map(|i| i * 7 % 16).collect();
        let out = platform().filled(0u32, 2 * n);
        let kernel = module.kernel("callee_changes_its_parameter");
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out]);
        let want = input.iter().flat_map(|&x| {
            let (mut theirs, mine) = (rotated(x), rotated(x));
            theirs[(x >> 2 & 3) as usize] = 9;
            [digits(theirs), digits(mine)]
        });
        assert_same(&format!("groups of {size}"), &out, &want.collect::<Vec<u32>>());
    }
}

#[test]
fn functions_change_copies_of_a_kernel_argument() {
    let module = Module::named("by_value");
    for size in FEW_GROUP_SIZES {
        let n = 2 * size as usize;
        let input: Vec<u32> = (0..n as u32).map(|i| i * 7 % 16).collect();
        let out = platform().filled(0u32, 2 * n);
        let argument = [3u32, 1, 2, 4];
        let kernel = module.kernel("callees_change_the_argument");
        kernel.run_1d(n, size, &[&argument, &platform().buffer(&input), &out]);
        let want = input.iter().flat_map(|&x| {
            let mut outer = argument;
            outer[(x & 3) as usize] += 5;
            let mut inner = outer;
            inner[((x + 1) & 3) as usize] = 0;
            [10_000 * digits(inner) + outer[((x + 1) & 3) as usize], argument[(x & 3) as usize]]
        });
        assert_same(&format!("groups of {size}"), &out, &want.collect::<Vec<u32>>());
    }
}

#[test]
fn a_parameter_does_not_follow_its_original() {
    let module = Module::named("by_value");
    for size in FEW_GROUP_SIZES {
        let n = 2 * size as usize;
        let input: Vec<u32> = (0..n as u32).collect();
        let out = platform().filled(0u32, 2 * n);
        module.kernel("original_changes").run_1d(n, size, &[&platform().buffer(&input), &out]);
        let want = vec![[1u32, 77]; n].concat();
        assert_same(&format!("groups of {size}"), &out, &want);
    }
}

#[test]
fn what_functions_get_of_a_kernel_argument_is_the_same_for_all_work_items() {
    let module = Module::named("by_value");
    let kernel = module.kernel("barrier_in_a_loop_bounded_by_the_argument");
    for size in FEW_GROUP_SIZES {
        let n = 2 * size as usize;
        let input: Vec<i32> = (0..n as i32).collect();
        let out = platform().filled(0i32, n);
        let (rounds, factor) = (4, 3);
        let arguments: &[&dyn ze_tests::Argument] =
            &[&[rounds, factor], &platform().buffer(&input), &out, &Local(4 * size as usize)];
        kernel.run_1d(n, size, arguments);
        let mut want = input.clone();
        for group in want.chunks_mut(size as usize) {
            for _ in 0..rounds {
                let before = group.to_vec();
                for (lid, v) in group.iter_mut().enumerate() {
                    *v = v.wrapping_mul(factor).wrapping_add(before[size as usize - 1 - lid]);
                }
            }
            group.iter_mut().for_each(|v| *v = v.wrapping_sub(factor));
        }
        assert_same(&format!("groups of {size}"), &out, &want);
    }
}

/// Copies of structures that are the same for all work-items.
macro_rules! copies {
    ($name:ident, $type:ident, $cl:literal, $words:literal) => {
        #[test]
        fn $name() {
            let module = Module::named("by_value");
            let words =
                |of: $type| -> [$type; $words] { std::array::from_fn(|at| of.wrapping_mul(at as $type + 3)) };
            let (a, b, rounds) = (words(101), words(77), 5u32);
            // Groups of 24 have sub-groups of 8.
            for size in FEW_GROUP_SIZES.into_iter().chain([24]) {
                let n = 2 * size as usize;
                let input: Vec<u32> = (0..n as u32).map(|i| i * 7 % 16).collect();
                let out = platform().filled(0 as $type, n);
                let kernel = module.kernel(concat!("chosen_", $cl, "_", $words));
                kernel.run_1d(n, size, &[&a, &b, &platform().buffer(&input), &out, &rounds]);
                let want = input.iter().enumerate().map(|(i, x)| {
                    let (mut b, mut sum) = (b, *x as $type);
                    for j in 0..rounds {
                        let one = if sum & 1 == 1 { a } else { b };
                        sum = sum.wrapping_add(one[i % $words]);
                        let at = sum as usize % $words;
                        b[at] = b[at].wrapping_add(j as $type);
                    }
                    sum
                });
                assert_same(&format!("chosen, groups of {size}"), &out, &want.collect::<Vec<$type>>());

                let out = platform().filled(1 as $type, 2 * $words * n);
                let kernel = module.kernel(concat!("filled_", $cl, "_", $words));
                kernel.run_1d(n, size, &[&platform().buffer(&[a, b].concat()), &out, &3u32]);
                let mut want: Vec<$type> =
                    (0..n).flat_map(|i| if i % 3 == 0 { [1; $words] } else { a }).collect();
                want.extend((0..n).flat_map(|_| b.into_iter().rev()));
                assert_same(&format!("filled, groups of {size}"), &out, &want);
            }
        }
    };
}
copies!(copies_of_3_words_of_64_bits, u64, "ulong", 3);
copies!(copies_of_4_words_of_64_bits, u64, "ulong", 4);
copies!(copies_of_8_words_of_64_bits, u64, "ulong", 8);
copies!(copies_of_12_words_of_64_bits, u64, "ulong", 12);
copies!(copies_of_20_words_of_64_bits, u64, "ulong", 20);
copies!(copies_of_6_words_of_32_bits, u32, "uint", 6);
copies!(copies_of_12_words_of_32_bits, u32, "uint", 12);
copies!(copies_of_12_words_of_16_bits, u16, "ushort", 12);
copies!(copies_of_24_bytes, u8, "uchar", 24);
