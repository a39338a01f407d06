//! Divergent control flow: every kernel's host twin is followed work-item by work-item.

use ze_tests::program::NullBuffer;
use ze_tests::ulp::assert_same;
use ze_tests::{Kernel, Local, Module, Random, platform};

use crate::{FEW_GROUP_SIZES, for_each_shape};

/// Runs `kernel(in, out, n)` at every shape and compares with `want(in[i], previous out[i])`.
#[track_caller]
fn check(kernel: &str, low: i32, high: i32, want: impl Fn(i32, i32) -> i32) {
    let module = Module::named("control_flow");
    let kernel_object = module.kernel(kernel);
    for_each_shape(|n, group_size| {
        let mut random = Random::new(n as u64 + 99);
        let (input, before) = (random.ints(n, low, high), random.ints(n, -50, 50));
        let out = platform().buffer(&before);
        kernel_object.run_1d(n, group_size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<i32> = input.iter().zip(&before).map(|(&v, &before)| want(v, before)).collect();
        assert_same(&format!("{kernel}: {n} items in groups of {group_size}"), &out, &want);
    });
}

#[test]
fn nested_ifs() {
    check("nested_ifs", -300, 300, |v, before| match v {
        v if v > 0 && v % 3 == 0 => v * 7 - if v % 2 == 0 { before } else { 0 },
        v if v > 0 && v % 5 == 0 => v ^ 0x55,
        v if v > 0 => v + 1,
        v if v < -100 => -v,
        v => v * v,
    });
}

#[test]
fn early_return() {
    check("early_return", -20, 200, |v, _| {
        if v < 0 {
            return -1;
        }
        let mut sum = 0;
        for k in 0..64 {
            sum += k ^ v;
            if sum > 1000 {
                return k;
            }
        }
        sum
    });
}

#[test]
fn loops_whose_trip_counts_diverge() {
    check("divergent_trip_count", 0, 10_000, |v, _| {
        let (mut v, mut steps) = (v as u32 | 1, 0);
        while v != 1 && steps < 500 {
            v = if v % 2 == 0 { v / 2 } else { v.wrapping_mul(3).wrapping_add(1) };
            steps += 1;
        }
        steps
    });
}

#[test]
fn break_and_continue() {
    check("break_and_continue", -100, 100, |v, _| {
        let mut r: i32 = 0;
        for k in 0..100 {
            if (k + v) % 3 == 0 {
                continue;
            }
            r = r.wrapping_add(k * v);
            if r % 17 == 5 {
                break;
            }
            r ^= k;
        }
        r
    });
}

#[test]
fn switch_with_fall_through_loop_and_return() {
    check("switch_cases", -3, 9, |v, before| match v {
        0 => before + 3,
        1 => (v + 100) * 3,
        2 => v * 3,
        5 => (0..v & 15).fold(v, |r: i32, k| r.wrapping_add(k * r)),
        6 => -6,
        _ => !v,
    });
}

#[test]
fn switch_on_64_bits() {
    let module = Module::named("control_flow");
    let kernel = module.kernel("switch_long");
    for_each_shape(|n, group_size| {
        let mut random = Random::new(n as u64);
        let choices = [0x1_0000_0000i64, -1, 7, 0, 1, 0x1_0000_0007, 0xffff_ffff];
        let input: Vec<i64> = (0..n).map(|_| choices[random.below(7) as usize]).collect();
        let before = random.ints(n, -50, 50);
        let out = platform().buffer(&before);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want: Vec<i32> = input
            .iter()
            .zip(&before)
            .map(|(&v, &before)| match v {
                0x1_0000_0000 => before * 5,
                -1 => before - 9,
                7 => before ^ 0x33,
                _ => 1,
            })
            .collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    });
}

#[test]
fn barrier_in_a_uniform_loop() {
    let module = Module::named("control_flow");
    let kernel = module.kernel("barrier_in_loop");
    for (groups, size, rounds) in
        [(1, 1, 3u32), (3, 8, 1), (2, 17, 5), (4, 64, 10), (2, 100, 4), (1, 256, 7), (5, 3, 0)]
    {
        let n = groups * size;
        let input = Random::new(n as u64).ints(n, -100, 100);
        let out = platform().filled(i32::MIN, n);
        kernel.run_1d(n, size as u32, &[&platform().buffer(&input), &out, &Local(4 * size), &rounds]);
        let mut want = input.clone();
        for group in want.chunks_mut(size) {
            for round in 0..rounds as usize {
                let before = group.to_vec();
                for (lid, v) in group.iter_mut().enumerate() {
                    let neighbour = before[(lid + round + 1) % size];
                    *v = if neighbour > *v { *v + neighbour / 2 } else { *v - 3 };
                }
            }
        }
        assert_same(&format!("{groups} groups of {size}, {rounds} rounds"), &out, &want);
    }
}

#[test]
fn barrier_in_a_loop_whose_trip_count_differs_between_groups() {
    let module = Module::named("control_flow");
    let kernel = module.kernel("barrier_trip_count_by_group");
    for (groups, size) in [(1, 1), (9, 8), (6, 17), (8, 64), (5, 100)] {
        let n = groups * size;
        let out = platform().filled(i32::MIN, n);
        kernel.run_1d(n, size as u32, &[&out, &Local(4 * size)]);
        let mut want: Vec<i32> = (0..n as i32).collect();
        for (number, group) in want.chunks_mut(size).enumerate() {
            for _ in 0..number % 4 {
                let before = group.to_vec();
                for (lid, v) in group.iter_mut().enumerate() {
                    *v = v.wrapping_add(before[size - 1 - lid]);
                }
            }
        }
        assert_same(&format!("{groups} groups of {size}"), &out, &want);
    }
}

#[test]
fn divergent_loops_nested_in_a_uniform_loop() {
    let module = Module::named("control_flow");
    let kernel = module.kernel("divergent_in_uniform_loop");
    for_each_shape(|n, group_size| {
        let input = Random::new(n as u64).ints(n, 0, 12);
        let out = platform().filled(i32::MIN, n);
        let outer = 6;
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &(n as u32), &outer]);
        let want: Vec<i32> = (0..n)
            .map(|i| {
                let mut r = 0;
                for a in 0..outer {
                    let limit = input[(i + a as usize) % n];
                    for b in 0..limit {
                        if (a ^ b) & 3 == 3 {
                            break;
                        }
                        r += (b..limit).step_by(2).map(|c| a * b + c).sum::<i32>();
                    }
                    r ^= a;
                }
                r
            })
            .collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    });
}

#[test]
fn leaving_two_loops_at_once() {
    let module = Module::named("control_flow");
    let kernel = module.kernel("two_level_exit");
    for_each_shape(|n, group_size| {
        let input = Random::new(n as u64).ints(n, -5, 140);
        let out = platform().filled(i32::MIN, n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &(n as u32), &12i32]);
        let want: Vec<i32> = input
            .iter()
            .map(|&v| {
                (1..12)
                    .flat_map(|a| (a..12).map(move |b| (a, b)))
                    .find(|(a, b)| a * b == v)
                    .map_or(-1, |(a, b)| a * 100 + b)
            })
            .collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    });
}

#[test]
fn only_active_lanes_store() {
    let module = Module::named("control_flow");
    let kernel = module.kernel("masked_stores");
    for_each_shape(|n, group_size| {
        let input = Random::new(n as u64).ints(n, 0, 7);
        let out = platform().filled(-1, 2 * n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let mut want = vec![-1; 2 * n];
        for (i, &v) in input.iter().enumerate() {
            if v & 1 != 0 {
                want[i] = v;
            }
            if v & 2 != 0 {
                want[i] += 1000;
                if v & 4 != 0 {
                    want[(i + 1) % n + n] = v;
                }
            }
        }
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    });
}

#[test]
fn a_guarded_division_does_not_trap() {
    let module = Module::named("control_flow");
    let kernel = module.kernel("guarded_division");
    for_each_shape(|n, group_size| {
        let mut random = Random::new(n as u64);
        let a: Vec<i32> =
            (0..n).map(|i| if i % 5 == 0 { i32::MIN } else { random.next_u32() as i32 }).collect();
        let b: Vec<i32> = (0..n).map(|_| random.between(-2, 2)).collect();
        let out = platform().filled(0, n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&a), &platform().buffer(&b), &out, &(n as u32)]);
        let want: Vec<i32> = a.iter().zip(&b).map(|(a, &b)| a.checked_div(b).unwrap_or(-7)).collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    });
}

#[test]
fn short_circuit_conditions_guard_their_loads() {
    let module = Module::named("control_flow");
    let kernel = module.kernel("short_circuit");
    for_each_shape(|n, group_size| {
        let mut random = Random::new(n as u64);
        // Far outside of the table: a load that is not masked faults.
        let input: Vec<i32> = (0..n)
            .map(|_| if random.below(3) == 0 { random.next_u32() as i32 } else { random.between(0, 31) })
            .collect();
        let table = random.ints(32, 0, 20);
        let out = platform().filled(0, n);
        kernel.run_1d(
            n,
            group_size,
            &[&platform().buffer(&input), &platform().buffer(&table), &out, &(n as u32)],
        );
        let want: Vec<i32> = input
            .iter()
            .map(|&v| {
                let inside = |v: i32| (table[v as usize], table[31 - v as usize]);
                match v {
                    0..32 if inside(v).0 > 10 || inside(v).1 < 3 => inside(v).0 - inside(v).1,
                    v => v,
                }
            })
            .collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    });
}

#[test]
fn a_loop_with_two_exits() {
    check("do_while_with_two_exits", -1000, 1000, |v, _| {
        let (mut state, mut steps) = (v as u32, 0);
        loop {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            steps += 1;
            if state >> 28 == 9 || !(state >> 27 != 3 && steps < 200) {
                break;
            }
        }
        steps * 2 + (state & 1) as i32
    });
}

/// Calls the closure with the kernel, the number of work-items, the size of groups, an input in which the work-item that is
/// given meets the condition, or none does, and a name for that.
fn for_one_match_or_none(
    kernel: &str,
    matches: impl Fn(usize) -> Vec<Option<usize>>,
    run: impl Fn(&Kernel, usize, u32, &[u32], Option<usize>, &str),
) {
    let kernel = Module::named("masked_blocks").kernel(kernel);
    for size in FEW_GROUP_SIZES {
        let n = 2 * size as usize;
        for hit in matches(n) {
            let mut input = vec![0u32; n];
            hit.into_iter().for_each(|at: usize| input[at] = 5);
            run(&kernel, n, size, &input, hit, &format!("groups of {size}, {hit:?} matches"));
        }
    }
}

#[test]
fn a_loop_behind_an_untaken_if_stores_nothing() {
    let matches = |n| vec![None, Some(0), Some(n - 1)];
    for_one_match_or_none("loop_behind_if", matches, |kernel, n, size, input, hit, name| {
        let out = platform().filled(77u32, 16);
        kernel.run_1d(n, size, &[&platform().buffer(input), &out, &3u32]);
        let want: Vec<u32> = (0..16).map(|at| if at < 8 && hit.is_some() { 8 } else { 77 }).collect();
        assert_same(name, &out, &want);
    });
}

#[test]
fn a_function_behind_an_untaken_if_stores_nothing() {
    let matches = |n| vec![None, Some(n - 1)];
    for_one_match_or_none("call_behind_if", matches, |kernel, n, size, input, hit, name| {
        let out = platform().filled(77u32, 1);
        kernel.run_1d(n, size, &[&platform().buffer(input), &out, &3u32]);
        assert_same(name, &out, &[if hit.is_some() { 3 } else { 77 }]);
    });
}

#[test]
fn a_block_behind_another_of_an_untaken_if_stores_nothing() {
    let matches = |n| vec![None, Some(n - 1)];
    for_one_match_or_none("store_behind_block", matches, |kernel, n, size, input, hit, name| {
        let (out, flag) = (platform().filled(77u32, n), platform().filled(77u32, 1));
        kernel.run_1d(n, size, &[&platform().buffer(input), &out, &flag]);
        let want: Vec<u32> = (0..n).map(|at| if hit == Some(at) { 15 } else { 77 }).collect();
        assert_same(name, &out, &want);
        assert_same("flag", &flag, &[if hit.is_some() { 1 } else { 77 }]);
    });
}

#[test]
fn a_loop_behind_an_untaken_if_loads_nothing() {
    let matches = |n| vec![None, Some(n / 2)];
    for_one_match_or_none("null_table_behind_if", matches, |kernel, n, size, input, hit, name| {
        let out = platform().filled(77u32, n);
        let input = platform().buffer(input);
        match hit {
            None => kernel.run_1d(n, size, &[&input, &out, &NullBuffer, &2u32]),
            Some(_) => {
                let table = platform().buffer(&[1u32, 2, 3, 4, 5, 6]);
                kernel.run_1d(n, size, &[&input, &out, &table, &2u32]);
            }
        }
        let want: Vec<u32> = (0..n).map(|at| if hit == Some(at) { 21 } else { 77 }).collect();
        assert_same(name, &out, &want);
    });
}

#[test]
fn work_items_leave_a_loop_together_in_two_places() {
    const GUARD: usize = 50;
    let kernel = Module::named("control_flow").kernel("guarded_rounds");
    for (groups, size, few) in [(1, 1, 0), (3, 20, 7), (2, 64, 63), (5, 128, 31), (2, 51, 3)] {
        let n = groups as usize * size as usize;
        let input: Vec<u32> = Random::new(n as u64).ints(n, 0, 1000).into_iter().map(|x| x as u32).collect();
        for step in [0, 3] {
            let out = platform().filled(77u32, n);
            let local = Local(4 * size as usize);
            let arguments: [&dyn ze_tests::program::Argument; 5] =
                [&platform().buffer(&input), &out, &local, &step, &(few as u32)];
            kernel.run([groups, 1, 1], [size, 1, 1], &arguments);
            let of = |i: usize| {
                let group = i / size as usize * size as usize;
                let added = (0..40).flat_map(|round| (0..50).map(move |k| (round, k & few)));
                let sum = added.fold(1u32, |sum, (round, k)| {
                    sum.wrapping_mul(5).wrapping_add(input[group + k] + round * step as u32)
                });
                if i - group < GUARD { sum } else { 77 }
            };
            let want: Vec<u32> = (0..n).map(of).collect();
            assert_same(&format!("{groups} groups of {size}, {few}, by {step}"), &out, &want);
        }
    }
}

#[test]
fn loops_exchange_variables_that_work_items_take_along() {
    let exchanged = |v: i32| (0..v.max(0)).fold((v, v * 3 + 10), |(a, b), _| (b, a));
    check("exchanged", -3, 40, |v, _| exchanged(v).0);
    check("exchanged_other", -3, 40, |v, _| exchanged(v).1);
    check("rotated", -3, 40, |v, _| {
        let (mut a, mut b, mut c, mut sum) = (v, v * 3 + 10, v ^ 0x55, 0i32);
        for _ in 0..v {
            (a, b, c) = (b, c, a);
            sum = sum.wrapping_mul(5).wrapping_add(b);
        }
        (a * 7 + b).wrapping_add(sum)
    });
    check("fibonacci", 0, 40, |v, _| {
        let (mut a, mut b) = (v as u32, v as u32 + 10);
        (0..v).for_each(|_| (a, b) = (b, a.wrapping_add(b)));
        a as i32
    });
}

#[test]
fn loops_in_loops_have_what_work_items_take_out_of_both() {
    check("nested_sums", 0, 60, |v, _| {
        let (mut sum, mut last, mut before) = (0i32, 1i32, 0i32);
        'done: for j in 0..v % 7 {
            before = last;
            for k in 0..(v + j) % 5 {
                last = last.wrapping_mul(3).wrapping_add(k);
                if last % 11 == 4 {
                    break 'done;
                }
                sum = sum.wrapping_add(last ^ j);
            }
            sum = sum.wrapping_add(last);
        }
        sum.wrapping_mul(5).wrapping_add(last.wrapping_mul(3)).wrapping_add(before)
    });
}

#[test]
fn loops_left_at_their_bound_and_by_a_break() {
    check("rays", 0, i32::MAX, |v, _| {
        let (v, blockers) = (v as u32, v as u32 >> 6);
        let mut seen = 0u32;
        for k in (v & 31)..32 {
            seen |= 1 << k;
            if blockers >> k & 1 == 1 {
                break;
            }
        }
        for k in (0..(v & 31)).rev() {
            seen |= 1 << k;
            if blockers >> k & 1 == 1 {
                break;
            }
        }
        seen as i32
    });
}

#[test]
fn iterations_that_leave_variables_as_they_were() {
    check("mediants", 1, 200, |v, _| {
        let (mut a, mut b, mut c, mut d) = (0i32, 1i32, 1i32, 0i32);
        for _ in 0..20 {
            let (m, p) = (a + c, b + d);
            match v * p - 37 * m {
                side if side > 0 => (a, b) = (m, p),
                side if side < 0 => (c, d) = (m, p),
                _ => {
                    (a, b, c, d) = (m, p, m, p);
                    break;
                }
            }
        }
        a * 1000 + b * 100 + c * 10 + d
    });
}

#[test]
fn loops_in_loops_left_in_several_ways() {
    check("nested_exits", -300, 300, |v, _| {
        let (mut r, mut last, mut k) = (v & 15, -1, 0);
        'outer: while k < 9 {
            for j in 0..7 {
                last = j;
                if (r ^ j) % 11 == 3 {
                    break;
                }
                r += v >> (j & 3);
                if r % 13 == 1 {
                    last = -j;
                    break 'outer;
                }
                if r < -40 {
                    r = -r;
                }
            }
            if r % 5 != 2 {
                r += last;
                if r > 400 {
                    break;
                }
            }
            k += 1;
        }
        r * 64 + last * 8 + k
    });
}

#[test]
fn a_loop_without_end_that_nobody_enters() {
    check("never_entered", -100, 100, |v, before| v + before);
}

#[test]
fn what_a_loop_and_the_code_behind_it_compute_alike() {
    let kernel = Module::named("control_flow_o0").kernel("skipped_loop");
    let n = 256;
    let mut random = Random::new(7);
    let (input, before) = (random.ints(n, -100, 100), random.ints(2 * n, 1, 100));
    let out = platform().buffer(&before);
    kernel.run_1d(n, 64, &[&platform().buffer(&input), &out, &(n as u32)]);
    let mut want = before;
    for (at, value) in input.iter().enumerate() {
        if value % 2 != 0 {
            want[2 * at + 1] = 0;
        }
    }
    assert_same("skipped_loop", &out, &want);
}

#[test]
fn what_a_loop_is_left_with_is_used_beside_what_its_exits_bring() {
    let kernel = Module::named("control_flow").kernel("both_summands");
    let n = 256;
    let mut random = Random::new(8);
    let (input, by) = (random.ints(n, -50, 50), random.ints(n, -50, 50));
    let out = platform().buffer(&vec![0; n]);
    kernel.run_1d(n, 64, &[&platform().buffer(&input), &platform().buffer(&by), &out]);
    let want = |(at, (&x, &by)): (usize, (&i32, &i32))| {
        let (mut v, mut i) = (at as i32, 0);
        loop {
            v = v.wrapping_mul(by);
            i += 1;
            if i >= v & 3 || v == x {
                return v.wrapping_add(x);
            }
        }
    };
    let want: Vec<i32> = input.iter().zip(&by).enumerate().map(want).collect();
    assert_same("both_summands", &out, &want);
}
