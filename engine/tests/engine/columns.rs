//! Columns that the sub-groups of a bundle access together: right in groups of any shape, at edges, under masks, and where an index wraps
//! around between two sub-groups.

use crate::support::{Sparse, address, launch, on_all_processors};
use std::sync::Arc;
use ze_engine::Program;

/// Groups of rows of full sub-groups, which are bundles of 8, 4 and 2, and of other ones.
const GROUPS: [[u32; 2]; 8] = [[16, 16], [16, 8], [32, 4], [16, 2], [8, 8], [64, 1], [16, 6], [12, 3]];

fn everywhere(check: impl Fn(&Arc<Program>, [u32; 2], &str)) {
    on_all_processors("columns", 1, |program, isa| {
        for group in GROUPS {
            check(program, group, &format!("{group:?}, {isa}"));
        }
    });
}

/// The bytes of the numbers from 0 on.
fn numbered(count: usize, bytes: usize) -> Vec<u8> {
    (0..count as u64).flat_map(|at| at.wrapping_mul(0x9e37).to_le_bytes()[..bytes].to_vec()).collect()
}

#[test]
fn transposes_of_all_types_and_indices() {
    let elements =
        [("uchar", 1), ("ushort", 2), ("uint", 4), ("ulong", 8), ("uint_size", 4), ("ulong_uint", 8)];
    everywhere(|program, group, place| {
        for (width, height) in [(64, 48), (61, 47), (16, 3)] {
            let counts = [(width as u32).div_ceil(group[0]), (height as u32).div_ceil(group[1])];
            for (name, bytes) in elements {
                let input = numbered(width * height, bytes);
                for (kernel, [rows, columns]) in [("write", [height, width]), ("read", [width, height])] {
                    let out = vec![0xffu8; width * height * bytes];
                    let values = [address(&input), address(&out), width as u64, height as u64];
                    launch(program, &format!("{kernel}_{name}"), counts, group, &values);
                    for (at, got) in out.chunks(bytes).enumerate() {
                        let (row, column) = (at % rows, at / rows);
                        let from = (row * columns + column) * bytes;
                        let want = &input[from..from + bytes];
                        assert!(got == want, "{kernel}_{name}, {width} by {height}, element {at}: {place}");
                    }
                }
            }
        }
    });
}

#[test]
fn transposes_for_all_lanes_and_through_tiles() {
    everywhere(|program, group, place| {
        let (width, height) = (4 * group[0] as usize, 3 * group[1] as usize);
        let input: Vec<u32> = (0..(width * height) as u32).collect();
        let out = vec![0u32; width * height];
        let values = [address(&input), address(&out), width as u64, height as u64];
        launch(program, "write_all", [4, 3], group, &values);
        let is_right = |at: usize| out[at] == (at % height * width + at / height) as u32 + 1;
        assert!((0..out.len()).all(is_right), "{place}");
        // Tiles are as wide as groups.
        if group[0] == 32 {
            let (width, height) = (70, 45);
            let input: Vec<u32> = (0..(width * height) as u32).collect();
            let out = vec![0u32; width * height];
            let values = [address(&input), address(&out), width as u64, height as u64];
            launch(program, "tile", [3, 2], group, &values);
            let is_right = |at: usize| out[at] == (at % height * width + at / height) as u32;
            assert!((0..out.len()).all(is_right), "tiles, {place}");
        }
    });
}

#[test]
fn an_index_that_wraps_around_between_sub_groups_is_followed() {
    let memory = Sparse::new();
    everywhere(|program, group, place| {
        let [width, height] = group;
        let out = vec![0u8; (width * height) as usize];
        for back in [0, 1, 3, 5, height, 40 * width, 40 * width + 2] {
            let from = 0u32.wrapping_sub(back);
            launch(
                program,
                "write_from",
                [1, 1],
                group,
                &[memory.start() as u64, from.into(), 40, back.into()],
            );
            let args = [memory.start() as u64, address(&out), from.into(), 40];
            launch(program, "read_from", [1, 1], group, &args);
            for (x, y) in (0..width).flat_map(|x| (0..height).map(move |y| (x, y))) {
                let want = (back + x * 16 + y) as u8;
                let written = memory.get((x * 40 + y).wrapping_add(from).into());
                assert_eq!(written, want, "{back} back at {x}, {y}: {place}");
                assert_eq!(out[(y * width + x) as usize], want, "{back} back at {x}, {y}: {place}");
            }
        }
    });
}

#[test]
fn rows_begin_where_data_says_for_lanes_that_are_on() {
    let input: Vec<u32> = (0..5000).map(|i| i * 7).collect();
    for is_all in [true, false] {
        everywhere(|program, group, place| {
            let (width, height) = (2 * group[0], 2 * group[1]);
            let begin: Vec<u32> =
                (0..width).map(|x| (x * 37 % 4000) & !1 | u32::from(is_all || x % 3 != 0)).collect();
            let out = vec![1u32; (width * height) as usize];
            let args = [address(&input), address(&begin), address(&out), width.into()];
            launch(program, "rows", [2, 2], group, &args);
            for (at, got) in out.iter().enumerate() {
                let (x, y) = (at as u32 % width, at as u32 / width);
                let from = begin[x as usize];
                let want = if from & 1 == 1 { (from + y) * 7 } else { 1 };
                assert_eq!(*got, want, "{x}, {y}: {place}");
            }
        });
    }
}

#[test]
fn columns_see_what_was_written_before_the_barrier() {
    everywhere(|program, group, place| {
        let size = group[0].min(group[1]) as usize;
        if group[0] != group[1] {
            return;
        }
        let begin: Vec<u32> = (0..(size * size) as u32).collect();
        let data = begin.clone();
        launch(program, "exchange", [1, 1], group, &[address(&data), size as u64, 5]);
        let want = |at: usize| begin[at % size * size + at / size] + 10;
        assert!((0..data.len()).all(|at| data[at] == want(at)), "{place}");
    });
}

#[test]
fn who_goes_elsewhere_does_so_from_anywhere_in_a_bundle() {
    on_all_processors("columns", 1, |program, isa| {
        for group in GROUPS.into_iter().chain([[32, 8]]) {
            let counts = [4, 3];
            let [width, height] = [0, 1].map(|at| (counts[at] * group[at]) as usize);
            let (all, place) = (width * height, format!("{group:?}, {isa}"));
            let out = vec![0u32; 2 * all];
            launch(program, "write_far", counts, group, &[address(&out), all as u64]);
            for i in 0..all {
                let [x, y] = [i / height, i % height];
                let [w, h] = group.map(|size| size as usize);
                let want = if i % 63 != 1 { [(y % h * w + x % w) as u32 + 1, 0] } else { [0, i as u32] };
                assert_eq!([out[i], out[i + all]], want, "element {i}: {place}");
            }
            let input: Vec<u32> = (0..2 * all as u32 + 8).map(|at| at.wrapping_mul(0x9e37_79b9)).collect();
            let out = vec![0u32; all];
            launch(program, "read_far", counts, group, &[address(&input), address(&out), all as u64]);
            for (at, got) in out.iter().enumerate() {
                let i = at % width * height + at / width;
                let want = (0..3).fold(0u32, |sum, k| {
                    let first = input[if (i + k) % 61 != 1 { i } else { i + all }];
                    let second = input[if i % 47 == 2 { all - i } else { i + 1 }];
                    sum.wrapping_mul(3).wrapping_add(first).wrapping_add(second)
                });
                assert_eq!(*got, want, "element {at}: {place}");
            }
        }
    });
}
