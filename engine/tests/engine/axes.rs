//! Lanes along another dimension than x: work-items see the ids, sizes and offsets of the launch, whatever is exchanged in the code.

use crate::support::{address, launch, launch_3d, on_all_processors};
use std::sync::Arc;
use ze_engine::abi::Axis;
use ze_engine::exec::Range;
use ze_engine::{Dispatch, Program};

fn everywhere(check: impl Fn(&Arc<Program>, &str)) {
    on_all_processors("axes", 2, check);
}

const OFFSET: [u64; 3] = [5, 32, 7];

fn axis(program: &Arc<Program>, kernel: &str, group_count: [u32; 3], group_size: [u32; 3]) -> Axis {
    let kernel = program.kernel(kernel).expect("the module has it");
    kernel.executed(Range { group_count, group_size, global_offset: OFFSET }).axis
}

/// A launch with [`OFFSET`], and what all work-items write.
fn written(program: &Arc<Program>, kernel: &str, [group_count, group_size]: [[u32; 3]; 2]) -> Vec<u64> {
    let out = vec![0u64; all_items(group_count, group_size).count()];
    let args = address(&out).to_le_bytes();
    let dispatch = Dispatch { group_count, group_size, global_offset: OFFSET, args: &args };
    program.kernel(kernel).expect("the module has it").launch(&dispatch).expect("launches");
    out
}

fn all_items(count: [u32; 3], size: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let [x, y, z] = std::array::from_fn(|at| count[at] * size[at]);
    (0..x).flat_map(move |x| (0..y).flat_map(move |y| (0..z).map(move |z| [x, y, z])))
}

/// Where a work-item writes whose neighbours differ in y, or in z.
fn place(kernel: &str, [x, y, z]: [u32; 3], count: [u32; 3], size: [u32; 3]) -> usize {
    let [wide, high, deep] = std::array::from_fn(|at| count[at] * size[at]);
    if kernel.ends_with('y') {
        ((z * wide + x) * high + y) as usize
    } else {
        ((x * high + y) * deep + z) as usize
    }
}

use Axis::{X, Y, Z};

/// Work-groups and their sizes, and along which dimension lanes go in kernels that see groups, and in those that do not: of each kind one whose
/// neighbours in memory differ in y, and one where it is z.
type Case = ([u32; 3], [u32; 3], [Axis; 2], [Axis; 2]);

const LAUNCHES: [Case; 10] = [
    ([4, 3, 1], [16, 16, 1], [Y, X], [Y, X]),
    ([3, 4, 1], [32, 8, 1], [Y, X], [Y, X]),
    ([3, 5, 1], [4, 64, 1], [Y, X], [Y, X]),
    ([2, 64, 1], [64, 1, 1], [X, X], [Y, X]),
    ([16, 5, 1], [3, 7, 1], [X, X], [X, X]),
    ([1, 9, 1], [1, 32, 1], [Y, Y], [Y, Y]),
    ([2, 3, 4], [4, 2, 8], [X, Z], [X, Z]),
    ([2, 3, 48], [8, 4, 1], [X, X], [X, Z]),
    ([3, 1, 2], [8, 1, 16], [X, Z], [X, Z]),
    ([20, 1, 1], [16, 1, 1], [X, X], [X, X]),
];

#[test]
fn work_items_see_their_places_in_the_launch() {
    everywhere(|program, isa| {
        for (count, size, of_groups, _) in LAUNCHES {
            for (kernel, along) in ["places_y", "places_z"].into_iter().zip(of_groups) {
                assert_eq!(axis(program, kernel, count, size), along, "{kernel} {count:?} {size:?} {isa}");
                let out = written(program, kernel, [count, size]);
                for own in all_items(count, size) {
                    let seen = |at: usize| {
                        let [own, count, size] = [own[at], count[at], size[at]].map(u64::from);
                        let parts =
                            [OFFSET[at] + own, own % size, own / size, size, count, count * size, OFFSET[at]];
                        parts.iter().fold(at as u64, |sum, part| sum.wrapping_mul(31).wrapping_add(*part))
                    };
                    let want = seen(0).wrapping_mul(1_000_003).wrapping_add(seen(1).wrapping_mul(1009));
                    let got = out[place(kernel, own, count, size)];
                    assert_eq!(got, want.wrapping_add(seen(2)), "{own:?} of {count:?} {size:?} {isa}");
                }
            }
        }
    });
}

#[test]
fn global_ids_are_the_launchs_in_other_groups_too() {
    everywhere(|program, isa| {
        for (count, size, _, alone) in LAUNCHES {
            for (kernel, along) in ["ids_y", "ids_z"].into_iter().zip(alone) {
                assert_eq!(axis(program, kernel, count, size), along, "{kernel} {count:?} {size:?} {isa}");
                let out = written(program, kernel, [count, size]);
                for own in all_items(count, size) {
                    let [x, y, z] = std::array::from_fn(|at| OFFSET[at] + u64::from(own[at]));
                    let got = out[place(kernel, own, count, size)];
                    assert_eq!(got, x * 10007 + y * 101 + z, "{own:?} of {count:?} {size:?} {isa}");
                }
            }
        }
    });
}

#[test]
fn a_dimension_that_the_launch_says_is_the_launchs() {
    everywhere(|program, isa| {
        for (count, size) in [([4, 3, 1], [16, 16, 1]), ([2, 3, 4], [4, 2, 8])] {
            for which in 0..3 {
                let out = vec![0u32; all_items(count, size).count()];
                let numbers = [count[1] * size[1], count[2] * size[2], which].map(u64::from);
                let values = [address(&out), numbers[0], numbers[1], numbers[2]];
                launch_3d(program, "dimension", count, size, &values);
                for (own, got) in all_items(count, size).zip(&out) {
                    let id = own[which as usize];
                    assert_eq!(*got, id * 4 + id % size[which as usize], "{own:?}, {which}, {size:?} {isa}");
                }
            }
        }
    });
}

#[test]
fn tiles_are_those_of_the_launchs_groups() {
    everywhere(|program, isa| {
        for size in [[16, 16], [8, 32], [32, 8], [5, 24], [6, 7]] {
            let (rows, columns) = (77usize, 150usize);
            let count = [(rows as u32).div_ceil(size[0]), (columns as u32).div_ceil(size[1])];
            let turned = axis(program, "tile", [count[0], count[1], 1], [size[0], size[1], 1]);
            assert_eq!(turned, if size[1] % 8 == 0 { Axis::Y } else { Axis::X }, "{size:?} {isa}");
            let input: Vec<u32> = (0..(rows * columns) as u32).map(|at| at.wrapping_mul(0x9e37)).collect();
            let out = vec![0u32; rows * columns];
            let values = [address(&input), address(&out), rows as u64, columns as u64];
            launch_with_local(program, "tile", count, size, &values);
            for row in 0..rows {
                let first = row - row % size[0] as usize;
                for column in 0..columns {
                    let of_tile = (first..rows.min(first + size[0] as usize)).zip(1u32..);
                    let sum = of_tile.fold((row - first) as u32, |sum, (row, times)| {
                        sum.wrapping_add(input[row * columns + column].wrapping_mul(times))
                    });
                    assert_eq!(out[row * columns + column], sum, "{row} {column} {size:?} {isa}");
                }
            }
        }
    });
}

/// The last argument is local memory for an element of four bytes a work-item.
fn launch_with_local(
    program: &Arc<Program>,
    kernel: &str,
    counts: [u32; 2],
    sizes: [u32; 2],
    values: &[u64],
) {
    let kernel = program.kernel(kernel).expect("the module has it");
    let mut setup = ze_engine::Setup::new(Arc::clone(&kernel)).expect("a setup");
    setup.set_group_size([sizes[0], sizes[1], 1]).expect("a size");
    for (at, (place, value)) in kernel.reflection().args.iter().zip(values).enumerate() {
        let bytes = &value.to_le_bytes()[..place.size as usize];
        setup.set_argument(at as u32, ze_engine::Value::Bytes(bytes)).expect("an argument");
    }
    let local = ze_engine::Value::Size(4 * (sizes[0] * sizes[1]) as usize);
    setup.set_argument(values.len() as u32, local).expect("local memory");
    setup.launch([counts[0], counts[1], 1]).expect("a launch").run().expect("runs");
}

#[test]
fn loops_that_end_at_the_row_are_those_of_all_lanes() {
    everywhere(|program, isa| {
        let n = 75usize;
        let [a, b] = [3u32, 5]
            .map(|step| (0..(n * n) as u32).map(|at| (at * step % 17) as f32 - 8.0).collect::<Vec<f32>>());
        let out = vec![0f32; n * n];
        let values = [address(&a), address(&b), address(&out), n as u64];
        assert_eq!(axis(program, "triangle", [5, 5, 1], [16, 16, 1]), Axis::Y);
        launch(program, "triangle", [5, 5], [16, 16], &values);
        for row in 0..n {
            for column in 0..n {
                let want: f32 = (0..=row).map(|k| a[row * n + k] * b[k * n + column]).sum();
                assert_eq!(out[row * n + column], want, "{row} {column} {isa}");
            }
        }
    });
}

#[test]
fn who_sees_the_order_of_work_items_or_has_rows_along_x_stays() {
    everywhere(|program, isa| {
        let [count, size] = [[3u32, 4], [16, 8]];
        for kernel in ["linear", "usual"] {
            let is = axis(program, kernel, [count[0], count[1], 1], [size[0], size[1], 1]);
            assert_eq!(is, Axis::X, "{kernel} {isa}");
        }
        let [width, height] = [48usize, 32];
        let out = vec![0u32; width * height];
        launch(program, "linear", count, size, &[address(&out), height as u64]);
        for x in 0..width {
            for y in 0..height {
                let want = (x % 16 + 16 * (y % 8)) * 1000 + y * width + x;
                assert_eq!(out[x * height + y], want as u32, "{x} {y} {isa}");
            }
        }
    });
}
