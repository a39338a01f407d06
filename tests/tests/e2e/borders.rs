//! Neighbours at the edges of grids and in their interior, which has code of its own.

use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

/// Grids and work-groups: narrower than a vector, a vector, more, and some that work-groups reach beyond.
const GRIDS: [[usize; 2]; 9] =
    [[1, 1], [3, 5], [15, 4], [16, 7], [17, 6], [33, 5], [64, 9], [100, 6], [250, 4]];
const GROUPS: [[u32; 2]; 5] = [[16, 1], [32, 2], [8, 4], [64, 1], [5, 3]];

fn groups(grid: [usize; 2], size: [u32; 2]) -> [u32; 3] {
    let [x, y] = [0, 1].map(|at| (grid[at] as u32).div_ceil(size[at]));
    [x, y, 1]
}

/// The element of a grid, if there is one.
fn at(input: &[i32], [w, h]: [usize; 2], x: i64, y: i64) -> Option<i32> {
    let is_inside = (0..w as i64).contains(&x) && (0..h as i64).contains(&y);
    is_inside.then(|| input[y as usize * w + x as usize])
}

fn want(kernel: &str, input: &[i32], grid: [usize; 2], x: i64, y: i64) -> i32 {
    let [w, h] = grid.map(|side| side as i64);
    let mul = i32::wrapping_mul;
    match kernel {
        "clamped" => (-1..=1).flat_map(|dy| (-2..=2).map(move |dx| (dx, dy))).fold(0i32, |sum, (dx, dy)| {
            let element = at(input, grid, (x + dx).clamp(0, w - 1), (y + dy).clamp(0, h - 1));
            mul(sum, 3).wrapping_add(element.expect("it is clamped"))
        }),
        "padded" => (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))).fold(0i32, |sum, (dx, dy)| {
            let element = at(input, grid, x + dx, y + dy).unwrap_or(0);
            sum.wrapping_add(mul((dx * 7 + dy * 3 + 11) as i32, element))
        }),
        _ => {
            let of = |dx: i64, dy: i64| {
                at(input, grid, (x + dx).rem_euclid(w), (y + dy).rem_euclid(h)).expect("it is wrapped")
            };
            of(-1, 0) + 3 * of(1, 0) + 5 * of(0, -1) + 7 * of(0, 1) - 11 * of(-1, -1) - 13 * of(1, 1)
        }
    }
}

#[test]
fn neighbours_beyond_an_edge_are_what_the_kernel_says() {
    let module = Module::named("borders");
    for grid in GRIDS {
        let input = Random::new(31).ints(grid[0] * grid[1], -1000, 1000);
        let buffer = platform().buffer(&input);
        for form in ["clamped", "padded", "wrapped"] {
            let all = |x: i64| move |y: i64| (x, y);
            let of = |i: usize| all((i % grid[0]) as i64)((i / grid[0]) as i64);
            let wanted: Vec<i32> =
                (0..input.len()).map(of).map(|(x, y)| want(form, &input, grid, x, y)).collect();
            for ty in ["int", "uint", "long", "ulong", "short"] {
                let kernel = module.kernel(&format!("{form}_{ty}"));
                for size in GROUPS {
                    let out = platform().filled(0i32, input.len());
                    let (count, size3) = (groups(grid, size), [size[0], size[1], 1]);
                    let [w, h] = grid;
                    match ty {
                        "int" | "uint" => {
                            kernel.run(count, size3, &[&buffer, &out, &(w as u32), &(h as u32)])
                        }
                        "short" => kernel.run(count, size3, &[&buffer, &out, &(w as u16), &(h as u16)]),
                        _ => kernel.run(count, size3, &[&buffer, &out, &(w as u64), &(h as u64)]),
                    }
                    assert_same(&format!("{form}_{ty}, {grid:?} in groups of {size:?}"), &out, &wanted);
                }
            }
        }
    }
}

#[test]
fn sides_that_are_powers_of_two_wrap_around() {
    let kernel = Module::named("borders").kernel("torus");
    for (w, h, size) in [(16, 4, [16, 4]), (64, 8, [16, 2]), (128, 2, [64, 2]), (32, 1, [32, 1])] {
        let input = Random::new(32).ints(w * h, -1000, 1000);
        let out = platform().filled(0i32, input.len());
        let count = groups([w, h], size);
        kernel.run(
            count,
            [size[0], size[1], 1],
            &[&platform().buffer(&input), &out, &(w as u32), &(h as u32)],
        );
        let of = |i: usize| {
            let (x, y) = (i % w + w, i / w + h);
            let at = |x: usize, y: usize| input[y % h * w + x % w];
            at(x - 1, y) - at(x + 1, y) * 3 + at(x, y - 1) * 5 - at(x, y + 1) * 7
        };
        assert_same(&format!("{w} by {h}"), &out, &(0..input.len()).map(of).collect::<Vec<_>>());
    }
}

#[test]
fn windows_may_be_empty_or_larger_than_the_grid() {
    let module = Module::named("borders");
    for [w, h] in [[7usize, 2usize], [64, 2], [200, 3]] {
        let input = Random::new(33).ints(w * h, -1000, 1000);
        let buffer = platform().buffer(&input);
        for (from, to) in
            [(-3i32, 3i32), (0, 0), (4, 2), (-40, -35), (30, 38), (-300, -290), (i32::MAX - 2, i32::MIN)]
        {
            for size in [[64u32, 1u32], [16, 2]] {
                let out = platform().filled(0i32, input.len());
                let (count, size3) = (groups([w, h], size), [size[0], size[1], 1]);
                module.kernel("window").run(
                    count,
                    size3,
                    &[&buffer, &out, &(w as i32), &(h as i32), &from, &to],
                );
                let of = |i: usize| {
                    let (x, y) = ((i % w) as i32, i / w);
                    let at = |at: i32| input[y * w + at.clamp(0, w as i32 - 1) as usize];
                    let up = (from..=to).fold(0i32, |sum, d| sum.wrapping_mul(5).wrapping_add(at(x + d)));
                    (from..to).fold(up, |sum, d| sum.wrapping_mul(3).wrapping_add(at(x - d)))
                };
                let wanted: Vec<i32> = (0..input.len()).map(of).collect();
                assert_same(&format!("{from} to {to} of {w}, groups of {size:?}"), &out, &wanted);
            }
        }
        for (from, to) in [(0u32, 5u32), (3, 3), (2, 60), (u32::MAX - 4, 3), (190, 210)] {
            let out = platform().filled(0i32, input.len());
            let (size, count) = ([w as u32, 1, 1], [1, h as u32, 1]);
            module.kernel("window_uint").run(
                count,
                size,
                &[&buffer, &out, &(w as u32), &(h as u32), &from, &to],
            );
            let of = |i: usize| {
                let (x, y) = ((i % w) as u64, i / w);
                let mut sum = 0i32;
                let mut d = from;
                while d != to {
                    let at = x + u64::from(d);
                    match at < w as u64 {
                        true => sum = sum.wrapping_add(input[y * w + at as usize].wrapping_mul(3)),
                        false => sum = sum.wrapping_sub(1),
                    }
                    if x >= u64::from(d) {
                        sum ^= input[y * w + (x - u64::from(d)) as usize];
                    }
                    d = d.wrapping_add(1);
                }
                sum
            };
            let wanted: Vec<i32> = (0..input.len()).map(of).collect();
            assert_same(&format!("{from} up to {to} of {w}, without signs"), &out, &wanted);
        }
    }
}

#[test]
fn numbers_that_wrap_around_are_kept_within_bounds() {
    const ITEMS: usize = 512;
    let kernel = Module::named("borders").kernel("shifted");
    let input = Random::new(34).ints(300, -1000, 1000);
    let buffer = platform().buffer(&input);
    for w in [3i32, 300] {
        for by in
            [0u32, 1, 4, 250, u32::MAX, u32::MAX - 100, i32::MAX as u32 - 7, i32::MAX as u32 - 300, 1 << 31]
        {
            for size in [64u32, 16, 100] {
                let out = platform().filled(0i32, ITEMS);
                let items = ITEMS / size as usize * size as usize;
                kernel.run_1d(items, size, &[&buffer, &out, &w, &by]);
                let of = |x: u32| {
                    let [at, next, other] =
                        [x, x.wrapping_add(1), x.wrapping_mul(2)].map(|x| x.wrapping_add(by) as i32);
                    let get = |at: i32| input[at as usize];
                    let first = get(at.max(0).min(w - 1)) * 3 + get(next.clamp(0, w - 1)) * 5;
                    let chosen = if at > 3 { get(at.min(w - 1)) } else { -1 };
                    first
                        + get(other.max(1).min(w - 2)) * 7
                        + chosen
                        + get((at as u32).min(w as u32 - 1) as i32)
                };
                let all = (0..ITEMS as u32).map(|x| if (x as usize) < items { of(x) } else { 0 });
                assert_same(&format!("{by} of {w}, groups of {size}"), &out, &all.collect::<Vec<_>>());
            }
        }
    }
}

/// Whoever is in the interior in one launch, and at an edge in another, computes the same to the last bit.
#[test]
fn products_are_fused_alike_everywhere() {
    const W: usize = 320;
    let kernel = Module::named("borders").kernel("products");
    let mut random = Random::new(35);
    let input: Vec<f32> = (0..W).map(|_| random.next_u32() as f32 / 3.0e9 - 0.7).collect();
    let weights: Vec<f32> = (0..5).map(|_| random.next_u32() as f32 / 3.0e9 - 0.7).collect();
    let weights = platform().buffer(&weights);
    let run = |input: &[f32], size: u32| {
        let out = platform().filled(0f32, input.len());
        let w = input.len() as i32;
        let groups = (input.len() as u32).div_ceil(size);
        kernel.run([groups, 1, 1], [size, 1, 1], &[&platform().buffer(input), &weights, &out, &w, &1i32]);
        out.to_vec()
    };
    let whole = run(&input, 64);
    for size in [16, 32, 7] {
        assert_eq!(run(&input, size), whole, "groups of {size}");
    }
    // Pieces of the same row: their ends differ, and what is two from those does not.
    for from in [16, 40, 100] {
        let piece = run(&input[from..from + 30], 32);
        assert_eq!(piece[2..28], whole[from + 2..from + 28], "from {from}");
    }
}

#[test]
fn what_is_done_at_edges_is_done_by_who_is_there() {
    let kernel = Module::named("borders").kernel("edges");
    for ([w, h], size) in
        [([64usize, 8usize], [16u32, 2u32]), ([64, 4], [64, 1]), ([16, 3], [16, 1]), ([5, 4], [5, 2])]
    {
        let input = Random::new(36).ints(w * h, -1000, 1000);
        let (out, seen) = (platform().filled(0i32, input.len()), platform().filled(5i32, 2 * h));
        kernel.run(
            groups([w, h], size),
            [size[0], size[1], 1],
            &[&platform().buffer(&input), &out, &seen, &(w as i32), &(h as i32)],
        );
        let of = |x: i64, y: i64, else_: i32| at(&input, [w, h], x, y).unwrap_or(else_);
        let all = |i: usize| {
            let (x, y) = ((i % w) as i64, (i / w) as i64);
            of(x - 1, y, -1) * 3 + of(x + 1, y, -2) * 5 + of(x, y - 1, -3) * 7 + of(x, y + 1, -4) * 11
        };
        let wanted: Vec<i32> = (0..input.len()).map(all).collect();
        assert_same(&format!("{w} by {h}"), &out, &wanted);
        let of_rows = (0..h as i64).map(|y| of(0, y + 1, -4) + 1);
        let of_ends = (0..h as i64).map(|y| 5 + of(w as i64 - 1, y - 1, -3));
        assert_same(&format!("edges of {w} by {h}"), &seen, &of_rows.chain(of_ends).collect::<Vec<_>>());
    }
}
