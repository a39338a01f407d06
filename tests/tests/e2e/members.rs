//! Members of structures, a structure a work-item: accesses that are made together leave what each by itself would.
//!
//! All numbers are small integers or halves of them, so that no product is rounded.

use std::fmt::Debug;

use ze_tests::ulp::assert_same;
use ze_tests::{Argument, Buffer, Local, Module, Random, platform};

/// Numbers of work-items, and group sizes: whole sub-groups, partial ones, groups in several rows of lanes.
const SIZES: [(usize, u32); 6] = [(1, 1), (7, 4), (64, 64), (100, 32), (257, 17), (1000, 128)];

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Body {
    at: [f32; 3],
    id: i32,
    speed: [f32; 3],
}

fn small(random: &mut Random) -> f32 {
    random.below(64) as f32 - 32.0
}

fn bodies(n: usize) -> Vec<Body> {
    let mut random = Random::new(n as u64);
    let body = |_| Body {
        at: std::array::from_fn(|_| small(&mut random)),
        id: random.next_u32() as i32,
        speed: std::array::from_fn(|_| small(&mut random)),
    };
    (0..n).map(body).collect()
}

/// Runs a kernel over structures between two that it must not touch, and compares with what a function makes of each.
fn changes<T: Copy + Debug + PartialEq>(
    kernel: &str,
    (n, size): (usize, u32),
    input: &[T],
    run: impl Fn(&Buffer<T>),
    change: impl Fn(usize, &mut T),
) {
    let buffer = platform().buffer(input);
    run(&buffer);
    let mut want = input.to_vec();
    want.iter_mut().take(n).enumerate().for_each(|(i, of)| change(i, of));
    assert_same(&format!("{kernel}: {n} items in groups of {size}"), &buffer, &want);
}

#[test]
fn members_are_read_and_written_together() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        // One structure more than there are work-items.
        let input = bodies(n + 1);
        let run = |buffer: &Buffer<Body>| {
            module.kernel("step_bodies").run_1d(n, size, &[buffer, &0.5f32, &(n as u32)]);
        };
        changes("step_bodies", (n, size), &input, run, |_, body| {
            body.at[0] += 0.5 * body.speed[0];
            body.at[2] = body.at[1] - 0.5 * body.speed[2];
            body.id ^= body.at[1].to_bits() as i32;
        });
    }
}

#[test]
fn a_member_that_was_written_is_read_as_it_is_now() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        let input = bodies(n + 1);
        let run = |buffer: &Buffer<Body>| {
            module.kernel("rotate_bodies").run_1d(n, size, &[buffer, &(n as u32)]);
        };
        changes("rotate_bodies", (n, size), &input, run, |_, body| {
            body.at.rotate_left(1);
            body.speed[0] = body.at[0] + body.at[2];
            body.speed[1] = body.at[1] * body.speed[0];
        });
    }
}

fn exchanged(to: &mut Body, from: Body) {
    to.at[0] = from.speed[1];
    to.at[1] = from.at[0];
    to.speed[2] = from.at[1] + from.at[0];
    to.speed[1] = from.speed[2];
}

#[test]
fn two_pointers_may_lead_to_the_same_structures() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        let (input, other) = (bodies(n + 1), bodies(n + 2));
        let kernel = module.kernel("exchange");
        let from = platform().buffer(&other);
        let apart = |buffer: &Buffer<Body>| kernel.run_1d(n, size, &[buffer, &from, &(n as u32)]);
        changes("exchange, apart", (n, size), &input, apart, |i, body| exchanged(body, other[i]));
        let same = |buffer: &Buffer<Body>| kernel.run_1d(n, size, &[buffer, buffer, &(n as u32)]);
        changes("exchange, the same", (n, size), &input, same, |_, body| {
            // What is read has been written before.
            body.at[0] = body.speed[1];
            body.at[1] = body.at[0];
            body.speed[2] = body.at[1] + body.at[0];
            body.speed[1] = body.speed[2];
        });
    }
}

#[test]
fn structures_of_other_lanes_stay_as_they_are() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        let mut random = Random::new(n as u64);
        let mut input = bodies(n + 1);
        // Lengths of 5: their roots are exact.
        input.iter_mut().for_each(|body| body.speed[..2].copy_from_slice(&[3.0, -4.0]));
        let chosen: Vec<i32> = (0..n).map(|_| random.below(5) as i32 - 2).collect();
        let list = platform().buffer(&chosen);
        let run = |buffer: &Buffer<Body>| {
            module.kernel("some_bodies").run_1d(n, size, &[buffer, &list, &(n as u32)]);
        };
        changes("some_bodies", (n, size), &input, run, |i, body| {
            if chosen[i] > 0 {
                body.speed[..2].copy_from_slice(&[5.0, 2.5]);
                body.id = body.id.wrapping_add(chosen[i]);
            }
        });
    }
}

#[test]
fn pixels_of_three_bytes() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        let mut random = Random::new(n as u64);
        let input: Vec<[u8; 3]> = (0..=n).map(|_| std::array::from_fn(|_| random.next_u32() as u8)).collect();
        let run = |buffer: &Buffer<[u8; 3]>| {
            module.kernel("grey").run_1d(n, size, &[buffer, &(n as u32)]);
        };
        changes("grey", (n, size), &input, run, |_, pixel| {
            let [r, g, b] = pixel.map(u32::from);
            let light = ((77 * r + 150 * g + 29 * b) >> 8) as u8;
            *pixel = [light, light / 2, 255 - light];
        });
    }
}

#[test]
fn the_last_of_two_stores_to_a_member_stays() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        let mut random = Random::new(n as u64);
        let input: Vec<[f64; 3]> =
            (0..=n).map(|_| std::array::from_fn(|_| f64::from(small(&mut random)))).collect();
        let run = |buffer: &Buffer<[f64; 3]>| {
            module.kernel("square").run_1d(n, size, &[buffer, &(n as u32)]);
        };
        changes("square", (n, size), &input, run, |_, [re, im, weight]| {
            (*re, *im) = (*re * *re - *im * *im, 2.0 * *re * *im);
            if n > 3 {
                *weight = 1.0;
            }
        });
    }
}

#[test]
fn members_in_local_memory_wait_for_the_barrier() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        // Work-items of the last group have a place to read from, but none to write to.
        let all = n.next_multiple_of(size as usize);
        let mut random = Random::new(n as u64);
        let input: Vec<[i16; 5]> =
            (0..n).map(|_| std::array::from_fn(|_| random.next_u32() as i16)).collect();
        let output = vec![[7i16; 5]; n + 1];
        let from = platform().buffer(&input);
        let part = Local(10 * size as usize);
        let run = |buffer: &Buffer<[i16; 5]>| {
            module.kernel("shuffle_local").run_1d(all, size, &[buffer, &from, &part, &(n as u32)]);
        };
        let of = |i: usize| input.get(i).copied().unwrap_or_default();
        changes("shuffle_local", (n, size), &output, run, |i, out| {
            let (group, local) = (i - i % size as usize, i % size as usize);
            let other = of(group + size as usize - 1 - local);
            (out[0], out[1], out[4]) = (of(i)[1], of(i)[4], other[0]);
        });
    }
}

#[test]
fn members_by_arithmetic_alone() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        let mut random = Random::new(n as u64);
        let input: Vec<[f32; 3]> = (0..n).map(|_| std::array::from_fn(|_| small(&mut random))).collect();
        let from = platform().buffer(&input);
        let run = |buffer: &Buffer<[f32; 3]>| {
            module.kernel("flat_triples").run_1d(n, size, &[buffer, &from, &(n as i32)]);
        };
        changes("flat_triples", (n, size), &vec![[7.0; 3]; n + 1], run, |i, out| {
            let [x, y, z] = input[i];
            *out = [y - z, z - x, x - y];
        });
        let input: Vec<[f32; 6]> = (0..=n).map(|_| std::array::from_fn(|_| small(&mut random))).collect();
        let run = |buffer: &Buffer<[f32; 6]>| {
            module.kernel("flat_sixes").run_1d(n, size, &[buffer, &(n as u64)]);
        };
        changes("flat_sixes", (n, size), &input, run, |_, of| {
            of[4] = of[1] + of[5];
            of[2] = of[4] - of[3];
        });
    }
}

/// The last structures end where their memory does.
#[test]
fn three_words_of_structures_that_data_names_are_those_words() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        let mut random = Random::new(n as u64);
        let triples: Vec<[f32; 3]> = (0..n).map(|_| std::array::from_fn(|_| small(&mut random))).collect();
        let wide: Vec<[f32; 4]> = (0..n).map(|_| std::array::from_fn(|_| small(&mut random))).collect();
        let which: Vec<i32> = (0..n).map(|_| random.below(n as u32) as i32).collect();
        let count: Vec<i32> = (0..n).map(|_| random.below(9) as i32).collect();
        let [from, named] = [platform().buffer(&which), platform().buffer(&count)];
        let (buffer_of_triples, buffer_of_wide) = (platform().buffer(&triples), platform().buffer(&wide));
        let run = |buffer: &Buffer<[f32; 3]>| {
            let arguments: [&dyn Argument; 6] =
                [buffer, &buffer_of_triples, &buffer_of_wide, &from, &named, &(n as i32)];
            module.kernel("named_triples").run_1d(n, size, &arguments);
        };
        changes("named_triples", (n, size), &vec![[7.0; 3]; n + 1], run, |i, out| {
            *out = [0.0; 3];
            for j in 0..count[i] as usize {
                let at = which[(i + 7 * j) % n] as usize;
                let [z, x, y, _] = wide[at];
                for (sum, (own, other)) in out.iter_mut().zip(triples[at].iter().zip([y, z, x])) {
                    *sum += own - other;
                }
            }
        });
    }
}

#[test]
fn an_index_of_a_byte_wraps_around() {
    let module = Module::named("members");
    for (n, size) in SIZES {
        let input: Vec<i32> = (0..256).collect();
        let from = platform().buffer(&input);
        let run = |buffer: &Buffer<[i32; 2]>| {
            module.kernel("wrapping_bytes").run_1d(n, size, &[buffer, &from, &(n as u32)]);
        };
        changes("wrapping_bytes", (n, size), &vec![[-1; 2]; n + 1], run, |i, out| {
            let at = (2 * i) as i8;
            *out = [at, at.wrapping_add(1)].map(|at| 128 + i32::from(at));
        });
    }
}

/// Rows of several elements at a time, of which each work-item has one.
fn rows<T: Copy + Debug + PartialEq + Default>(kernel: &str, at_a_time: usize, of: fn(i64) -> (T, u32)) {
    let kernel = Module::named("members").kernel(kernel);
    for (n, size) in SIZES {
        for length in [1usize, 4, 13, 64, 131] {
            let mut random = Random::new((n + length) as u64);
            let values: Vec<(T, u32)> =
                (0..n * length).map(|_| of(random.between(-1_000_000_000, 1_000_000_000).into())).collect();
            let factors: Vec<u32> = (0..length as u32).map(|at| at * 7 + 1).collect();
            let elements: Vec<T> = values.iter().map(|(value, _)| *value).collect();
            let out = platform().filled(u32::MAX, n);
            let buffers = (platform().buffer(&elements), platform().buffer(&factors));
            kernel.run_1d(n, size, &[&buffers.0, &buffers.1, &out, &(length as u32), &(n as u32)]);
            let read = length / at_a_time * at_a_time;
            let sum = |(i, row): (usize, &[(T, u32)])| {
                row[..read].iter().zip(&factors).fold(i as u32, |sum, ((_, value), factor)| {
                    sum.wrapping_mul(5).wrapping_add(value.wrapping_mul(*factor))
                })
            };
            let want: Vec<u32> = values.chunks(length).enumerate().map(sum).collect();
            assert_same(&format!("{n} rows of {length} in groups of {size}"), &out, &want);
        }
    }
}

#[test]
fn elements_of_rows_are_read_several_at_a_time() {
    rows("rows_of_16_bytes", 16, |value| (value as u8, u32::from(value as u8)));
    rows("rows_of_8_bytes", 8, |value| (value as i8, value as i8 as u32));
    rows("rows_of_4_bytes", 4, |value| (value as u8, u32::from(value as u8)));
    rows("rows_of_12_bytes", 6, |value| (value as u16, u32::from(value as u16)));
    rows("rows_of_two_words", 4, |value| (value as i16, value as i16 as u32));
    rows("rows_of_words", 8, |value| (value as u32, value as u32));
    rows("rows_of_pairs", 2, |value| (value as u32, value as u32));
}

#[test]
fn indices_that_wrap_around_are_looked_at() {
    let module = Module::named("members");
    for (start, n) in [
        (0u32, 128u32),
        (5, 100),
        (8u32.wrapping_neg(), 100),
        (77u32.wrapping_neg(), 33),
        (16u32.wrapping_neg(), 1),
    ] {
        let input: Vec<[u32; 4]> = (0..n).map(|i| std::array::from_fn(|at| 1000 * i + at as u32)).collect();
        let run = |buffer: &Buffer<[u32; 4]>| {
            module.kernel("change_behind").run_1d(128, 32, &[buffer, &start, &n]);
        };
        let changed = |i: usize| (i as u32).wrapping_sub(start) < 128;
        changes("change_behind", (n as usize, 32), &input, run, |i, of| {
            if changed(i) {
                (of[1], of[2]) = (of[0] + 1, of[0] ^ of[1]);
            }
        });
    }
}

#[test]
fn what_was_stored_before_others_were_loaded_is_loaded_again() {
    let module = Module::named("members_o0");
    for (n, size) in SIZES {
        let mut random = Random::new(n as u64);
        let structures: Vec<[i32; 4]> =
            (0..=n).map(|_| std::array::from_fn(|_| random.below(1000) as i32)).collect();
        let numbers: Vec<i32> = (0..n).map(|_| random.below(1000) as i32).collect();
        let list = platform().buffer(&numbers);
        let run = |buffer: &Buffer<[i32; 4]>| {
            module.kernel("stored_before").run_1d(n, size, &[buffer, &list, &(n as u32)]);
        };
        changes("stored_before", (n, size), &structures, run, |i, of| {
            *of = [numbers[i], of[0] + of[1], of[0] + of[2], numbers[i]];
        });
        let factors: Vec<i16> = numbers.iter().map(|number| *number as i16).collect();
        let run = |buffer: &Buffer<[i16; 8]>| {
            let (list, rows) = (platform().buffer(&factors), Local(16 * size as usize));
            module.kernel("products").run_1d(n, size, &[buffer, &list, &rows, &(n as u32)]);
        };
        changes("products", (n, size), &vec![[0i16; 8]; n + 1], run, |i, row| {
            row[0] = factors[i];
            for j in 1..row.len() {
                row[j] = row[j - 1].wrapping_mul(factors[i]);
            }
        });
    }
}
