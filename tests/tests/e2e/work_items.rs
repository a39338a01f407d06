//! Work-item built-ins in one, two and three dimensions, with global offsets and group sizes of every shape.

use ze_tests::ulp::assert_same;
use ze_tests::{Local, Module, platform};

/// Group counts, group sizes and offsets.
const SHAPES: [([u32; 3], [u32; 3], [u32; 3]); 12] = [
    ([1, 1, 1], [1, 1, 1], [0, 0, 0]),
    ([5, 1, 1], [7, 1, 1], [0, 0, 0]),
    ([3, 1, 1], [16, 1, 1], [100, 0, 0]),
    ([2, 3, 1], [4, 5, 1], [0, 0, 0]),
    ([1, 1, 4], [1, 1, 9], [0, 0, 0]),
    ([2, 2, 2], [3, 2, 4], [5, 6, 7]),
    ([1, 7, 1], [33, 1, 1], [0, 3, 0]),
    ([2, 1, 3], [8, 8, 2], [0, 0, 0]),
    ([1, 1, 1], [256, 1, 1], [1, 0, 0]),
    ([4, 4, 1], [1, 17, 1], [0, 0, 0]),
    ([3, 5, 2], [1, 1, 1], [0, 0, 1]),
    ([2, 2, 1], [31, 3, 1], [1000, 2000, 0]),
];

fn items(groups: [u32; 3], size: [u32; 3]) -> [u64; 3] {
    [0, 1, 2].map(|d| u64::from(groups[d]) * u64::from(size[d]))
}

#[test]
fn every_id_and_size_in_every_shape() {
    const FIELDS: usize = 27;
    let module = Module::named("work_items");
    let kernel = module.kernel("work_item_ids");
    for (groups, size, offset) in SHAPES {
        let global = items(groups, size);
        let total = global.iter().product::<u64>() as usize;
        let out = platform().filled(u64::MAX, FIELDS * total);
        kernel.set_global_offset(offset).unwrap();
        kernel.run(groups, size, &[&out]);
        let [groups64, size64, offset64] = [groups, size, offset].map(|v| v.map(u64::from));
        // The dimension count of a launch is at most 3 and at least what the sizes need; Level Zero always has 3.
        let mut want = Vec::new();
        for z in 0..global[2] {
            for y in 0..global[1] {
                for x in 0..global[0] {
                    let id = [x, y, z];
                    let local = [0, 1, 2].map(|d| id[d] % size64[d]);
                    want.extend([0, 1, 2].map(|d| id[d] + offset64[d]));
                    want.extend(local);
                    want.extend([0, 1, 2].map(|d| id[d] / size64[d]));
                    want.extend(global);
                    want.extend(size64);
                    want.extend(groups64);
                    want.extend(offset64);
                    want.extend(size64);
                    want.push(3);
                    want.push((z * global[1] + y) * global[0] + x);
                    want.push((local[2] * size64[1] + local[1]) * size64[0] + local[0]);
                }
            }
        }
        let mut got = out.to_vec();
        for dimensions in got.iter_mut().skip(24).step_by(FIELDS) {
            let needed = if groups[2] * size[2] > 1 {
                3
            } else if groups[1] * size[1] > 1 {
                2
            } else {
                1
            };
            assert!((needed..=3).contains(dimensions), "work_dim {dimensions} for {groups:?} of {size:?}");
            *dimensions = 3;
        }
        assert_same(&format!("{groups:?} groups of {size:?} at {offset:?}"), &got, &want);
    }
}

#[test]
fn a_dimension_chosen_at_run_time() {
    let module = Module::named("work_items");
    let kernel = module.kernel("dynamic_dimension");
    let (groups, size) = ([2, 3, 2], [5, 2, 3]);
    let global = items(groups, size);
    let total = global.iter().product::<u64>();
    for dimension in 0..3u32 {
        let out = platform().filled(u64::MAX, total as usize);
        kernel.run(groups, size, &[&out, &dimension]);
        let want: Vec<u64> = (0..total)
            .map(|linear| {
                let id = [linear % global[0], linear / global[0] % global[1], linear / global[0] / global[1]];
                let (id, size) = (id[dimension as usize], u64::from(size[dimension as usize]));
                id + 1000 * (id % size) + 1_000_000 * size
            })
            .collect();
        assert_same(&format!("dimension {dimension}"), &out, &want);
    }
}

#[test]
fn local_memory_and_barriers_in_every_group_shape() {
    let module = Module::named("work_items");
    let kernel = module.kernel("reverse_in_group");
    for (groups, size, _) in SHAPES {
        let global = items(groups, size);
        let total = global.iter().product::<u64>() as usize;
        let group_items: u32 = size.iter().product();
        let out = platform().filled(u32::MAX, total);
        kernel.run(groups, size, &[&out, &Local(4 * group_items as usize)]);
        let [sx, sy, sz] = size.map(|s| s as usize);
        let [gx, gy, _] = global.map(|g| g as usize);
        let want: Vec<u32> = (0..total)
            .map(|linear| {
                let id = [linear % gx, linear / gx % gy, linear / gx / gy];
                let local = [id[0] % sx, id[1] % sy, id[2] % sz];
                // The mirrored work-item of the same group.
                let mirror = [0, 1, 2].map(|d| id[d] - local[d] + [sx, sy, sz][d] - 1 - local[d]);
                ((mirror[2] * gy + mirror[1]) * gx + mirror[0]) as u32
            })
            .collect();
        assert_same(&format!("{groups:?} groups of {size:?}"), &out, &want);
    }
}

#[test]
fn a_required_group_size_is_kept_and_reported() {
    let module = Module::named("work_items");
    let kernel = module.kernel("required_group_size");
    let properties = kernel.properties().unwrap();
    assert_eq!(
        [properties.requiredGroupSizeX, properties.requiredGroupSizeY, properties.requiredGroupSizeZ],
        [4, 2, 3]
    );
    let out = platform().filled(0u32, 2 * 24);
    kernel.run([2, 1, 1], [4, 2, 3], &[&out]);
    assert_same("sizes", &out, &[423; 48]);
}

#[test]
fn ids_behind_selections_that_always_choose_them() {
    let kernel = Module::named("selected_ids").kernel("selected_ids");
    let input: Vec<u32> = (0..96).map(|i| i * i).collect();
    let out = platform().filled(0u32, input.len());
    kernel.run_1d(input.len(), 32, &[&platform().buffer(&input), &out]);
    assert_same("selected_ids", &out, &input.iter().map(|v| v * 3).collect::<Vec<_>>());
}

/// Compilers that know pointers without types address a built-in as the bytes of a vector.
#[test]
fn the_bytes_of_a_built_in() {
    const RESULTS: usize = 16;
    let kernel = Module::named("builtin_pointers").kernel("builtin_bytes");
    // Ids in the last one need more than 32 bits in some lanes only.
    let launches = [
        ([1, 1, 1], [1, 1, 1], [0x0102_0304, 0x0506_0708, 0x090a_0b0c]),
        ([2, 3, 1], [16, 5, 1], [0, 70_000, 0]),
        ([2, 2, 3], [3, 2, 4], [1000, 2000, 3000]),
        ([3, 1, 1], [21, 1, 1], [0x3fff_0000, 5, 6]),
        ([2, 2, 1], [32, 1, 1], [u32::MAX - 20, 9, 0x8000_0000]),
    ];
    for ((groups, size, offset), k) in launches.into_iter().zip([0, 1, 1, 0, 1]) {
        let global = items(groups, size);
        let total = global.iter().product::<u64>() as usize;
        let out = platform().filled(u64::MAX, RESULTS * total);
        kernel.set_global_offset(offset).unwrap();
        kernel.run(groups, size, &[&out, &(k as u64)]);
        let mut want = Vec::new();
        for item in 0..total as u64 {
            let id = [item % global[0], item / global[0] % global[1], item / global[0] / global[1]];
            let id = [0, 1, 2].map(|d| id[d] + u64::from(offset[d]));
            let bytes: Vec<u8> = id.iter().flat_map(|id| id.to_le_bytes()).collect();
            let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            let u32_at = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
            let lane = id[0] as usize & 15;
            want.extend([u64_at(8), u64_at(8), u64_at(16), u64_at(16)]);
            want.extend([u32_at(4), u32_at(3), u32_at(6), u64_at(5), u32_at(8), u32_at(0)]);
            want.extend([u64_at(8 * k), u64_at(8 * k + 8), u32_at(4 * k)]);
            want.extend([u64::from(bytes[lane]), u32_at(lane), u64_at(8 * (id[0] as usize & 1))]);
        }
        assert_same(&format!("{groups:?} groups of {size:?} at {offset:?}"), &out, &want);
    }
}

/// The twin of `index_parts`, for one work-item.
fn parts_of_index(table: &[i32], x: u64, first: u64, local: i32, size: u64, n: i32) -> [i32; 9] {
    let (i, own) = (x as i32, x - first);
    let at = |index: i32| table[index as usize];
    let u = (x as u32).wrapping_add(0xffff_fff0);
    let mut sum = if (i / 16) & 1 == 1 { at(i) } else { 0 };
    sum += (0..((i >> 6) & 3)).map(|k| at(k + i)).sum::<i32>();
    [
        at(i / 16) + at(i % 80),
        at(i >> 5) + at(i & 63),
        i / 48 * 1000 + i % 24,
        (i - 40) / 16 * 1000 + (i - 56) % 32,
        at(i * 4 / 64 + local / 32) + at(local % 48),
        i / n * 1000,
        at((own / size) as i32),
        at((u / 64 % 64) as i32) + (u & !31) as i32,
        sum,
    ]
}

/// Rows of full sub-groups begin at multiples of the lanes, unless the offset or the size of work-groups is none.
#[test]
fn quotients_and_remainders_of_ids_begin_where_sub_groups_do() {
    const TABLE: usize = 2048;
    let table: Vec<i32> = (0..TABLE as i32).map(|at| (at * 7919) % 10007).collect();
    let input = platform().buffer(&table);
    let kernel = Module::named("index_parts").kernel("index_parts");
    for (groups, size) in [
        ([5, 1, 1], [256, 1, 1]),
        ([7, 1, 1], [48, 1, 1]),
        ([9, 2, 1], [16, 4, 1]),
        ([9, 1, 1], [100, 1, 1]),
        ([20, 1, 1], [8, 1, 1]),
        ([11, 3, 1], [5, 3, 1]),
    ] {
        for first in [0u32, 5, 16, 32, 40] {
            kernel.set_global_offset([first, 0, 0]).unwrap();
            let (width, rows) = (groups[0] * size[0], groups[1] * size[1]);
            for n in [16, 10] {
                let out = platform().filled(0i32, (width * rows) as usize * 9);
                kernel.run(groups, size, &[&input, &out, &n]);
                let want: Vec<i32> = (0..rows)
                    .flat_map(|_| 0..width)
                    .flat_map(|own| {
                        let (x, local) = (u64::from(own + first), (own % size[0]) as i32);
                        parts_of_index(&table, x, u64::from(first), local, u64::from(size[0]), n)
                    })
                    .collect();
                assert_same(&format!("{groups:?} groups of {size:?} from {first} on, {n}"), &out, &want);
            }
        }
    }
}
