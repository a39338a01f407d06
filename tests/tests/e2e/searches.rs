//! Loops that lanes go through together until they part: what they find is what each would have found by itself.

use ze_tests::{Argument, Module, Random, platform};

/// Keys for so many work-items: beside each other, anywhere, all the same, and beside each other but for one.
fn keys(n: usize, below: u32) -> Vec<Vec<u32>> {
    let mut random = Random::new(n as u64);
    let near: Vec<u32> = (0..n).map(|i| (i as u64 * u64::from(below) / n as u64) as u32).collect();
    let far: Vec<u32> = (0..n).map(|_| random.below(below)).collect();
    let mut but_one = near.clone();
    but_one.iter_mut().skip(5).step_by(16).for_each(|key| *key = below - 1 - *key);
    vec![near, far, vec![below / 3; n], but_one]
}

const SIZES: [(usize, u32); 5] = [(1, 1), (100, 32), (1000, 64), (1000, 17), (5000, 256)];

fn lower_bound(sorted: &[u32], key: u32) -> usize {
    sorted.partition_point(|element| *element < key)
}

#[test]
fn searches_find_what_each_work_item_looks_for() {
    let module = Module::named("searches");
    let mut random = Random::new(7);
    for length in [0usize, 1, 2, 1000, 4096] {
        let mut sorted: Vec<u32> = (0..length).map(|_| random.below(50_000)).collect();
        sorted.sort_unstable();
        for (n, group) in SIZES {
            for key in keys(n, 60_000) {
                let out = platform().filled(u32::MAX, n);
                // There is no empty buffer.
                let padded = [sorted.as_slice(), &[0]].concat();
                let [padded, key_buffer] = [&padded, &key].map(|of| platform().buffer(of));
                let of = format!("{n} keys in {length} elements, groups of {group}");
                let arguments: [&dyn Argument; 5] =
                    [&(length as u64), &padded, &(n as u32), &key_buffer, &out];
                module.kernel("lower_bound").run_1d(n.next_multiple_of(group as usize), group, &arguments);
                for (i, found) in out.iter().enumerate() {
                    assert_eq!(*found as usize, lower_bound(&sorted, key[i]), "{of}: item {i}");
                }
                let arguments: [&dyn Argument; 5] =
                    [&(length as i32), &padded, &(n as u32), &key_buffer, &out];
                module.kernel("bounds_of_some").run_1d(n.next_multiple_of(group as usize), group, &arguments);
                for (i, found) in out.iter().enumerate() {
                    let (mut low, mut high, mut asked) = (0, length, 0);
                    while low < high {
                        let middle = (low + high) / 2;
                        if sorted[middle] < key[i] {
                            low = middle + 1
                        } else {
                            high = middle
                        }
                        asked += 1;
                    }
                    let want = if i % 3 == 1 { 0 } else { 32 * low + asked };
                    assert_eq!(*found as usize, want, "{of}, some: item {i}");
                }
            }
        }
    }
}

#[test]
fn searches_in_rows_begin_where_each_row_does() {
    let module = Module::named("searches");
    for (n, group) in SIZES {
        for per_row in [1usize, 7, 16, 64, 1000] {
            let rows = n.div_ceil(per_row);
            let mut random = Random::new((n + per_row) as u64);
            let mut begins = vec![0u32];
            let mut sorted = Vec::new();
            for _ in 0..rows {
                let length = random.below(300) as usize;
                let mut row = random.floats(length, 0.0, 1.0);
                row.sort_by(f32::total_cmp);
                row.extend((0..random.below(3)).map(|_| f32::NAN));
                sorted.extend(row);
                begins.push(sorted.len() as u32);
            }
            let mut key = random.floats(n, 0.0, 1.0);
            if per_row > 7 {
                key.chunks_mut(per_row).for_each(|row| row.sort_by(f32::total_cmp));
                key.iter_mut().skip(3).step_by(50).for_each(|key| *key = f32::NAN);
            }
            let out = platform().filled(u32::MAX, n);
            let padded = [sorted.as_slice(), &[0.0]].concat();
            let arguments: [&dyn Argument; 6] = [
                &(per_row as u32),
                &platform().buffer(&begins),
                &platform().buffer(&padded),
                &(n as u32),
                &platform().buffer(&key),
                &out,
            ];
            module.kernel("in_rows").run_1d(n.next_multiple_of(group as usize), group, &arguments);
            for (i, found) in out.iter().enumerate() {
                let (begin, end) = (begins[i / per_row] as usize, begins[i / per_row + 1] as usize);
                let is_less = |of: &f32| if key[i].is_nan() { !of.is_nan() } else { *of < key[i] };
                let want = begin + sorted[begin..end].partition_point(is_less);
                assert_eq!(*found as usize, want, "rows of {per_row}, groups of {group}: item {i}");
            }
        }
    }
}

#[test]
fn ways_down_a_tree_end_where_each_work_item_leads_them() {
    let module = Module::named("searches");
    // A tree of 1023 nodes over the keys below 65536, of which some are leaves early.
    let nodes = 1023u32;
    let is_leaf = |node: u32| 2 * node + 1 >= nodes || node % 11 == 9;
    let less: Vec<u32> = (0..nodes).map(|node| if is_leaf(node) { node } else { 2 * node + 1 }).collect();
    let more: Vec<u32> = (0..nodes).map(|node| if is_leaf(node) { node } else { 2 * node + 2 }).collect();
    let pivot: Vec<u32> = (0..nodes)
        .map(|node| {
            let level = (node + 1).ilog2();
            let at = node + 1 - (1 << level);
            (2 * at + 1) * (65536 >> (level + 1))
        })
        .collect();
    for (n, group) in SIZES {
        for key in keys(n, 65536) {
            let out = platform().filled(u32::MAX, n);
            let arguments: [&dyn Argument; 6] = [
                &platform().buffer(&less),
                &platform().buffer(&more),
                &platform().buffer(&pivot),
                &(n as u32),
                &platform().buffer(&key),
                &out,
            ];
            module.kernel("down_a_tree").run_1d(n.next_multiple_of(group as usize), group, &arguments);
            for (i, found) in out.iter().enumerate() {
                let (mut node, mut depth, mut sum) = (0u32, 0u32, i as u32);
                while less[node as usize] != node {
                    let at = pivot[node as usize];
                    sum = sum.wrapping_add(key[i].min(at));
                    node = if key[i] < at { less[node as usize] } else { more[node as usize] };
                    depth += 1;
                }
                let want = node.wrapping_add(65536 * depth).wrapping_add(sum.wrapping_mul(3));
                assert_eq!(*found, want, "groups of {group}: item {i}");
            }
        }
    }
}

#[test]
fn lanes_that_leave_a_list_leave_others_behind() {
    let module = Module::named("searches");
    let mut random = Random::new(11);
    let list: Vec<u32> = (0..3000).map(|_| random.below(100_000)).collect();
    for (n, group) in SIZES {
        for key in keys(n, 500) {
            let key: Vec<u32> = key.iter().map(|key| key + 1).collect();
            let out = platform().filled(u32::MAX, n);
            let arguments: [&dyn Argument; 5] = [
                &(list.len() as u32),
                &platform().buffer(&list),
                &(n as u32),
                &platform().buffer(&key),
                &out,
            ];
            module.kernel("first_of_list").run_1d(n.next_multiple_of(group as usize), group, &arguments);
            for (i, found) in out.iter().enumerate() {
                let mut at = 0;
                while at < list.len() && !list[at].is_multiple_of(key[i]) {
                    at += 1 + list[at] as usize % 3;
                }
                let want = if at < list.len() { list[at] as usize + at } else { at };
                assert_eq!(*found as usize, want, "groups of {group}: item {i}");
            }
        }
    }
}

/// What two lanes have in common decides, and not what all have.
#[test]
fn what_pairs_have_in_common_is_not_that_of_all() {
    let module = Module::named("searches");
    let mut random = Random::new(11);
    let length = 1024;
    let list: Vec<u32> = (0..length).map(|_| random.below(50_000)).collect();
    let at = |place: u32| list[place as usize % length];
    let buffer = platform().buffer(&list);
    for (n, group) in SIZES {
        for key in keys(n, 60_000) {
            let (out, key_buffer) = (platform().filled(u32::MAX, n), platform().buffer(&key));
            for least in [0, 30_000, 60_000] {
                let of = format!("{n} keys, groups of {group}, {least}");
                let arguments: [&dyn Argument; 6] =
                    [&(length as u32), &buffer, &(n as u32), &key_buffer, &least, &out];
                module.kernel("of_pairs").run_1d(n.next_multiple_of(group as usize), group, &arguments);
                for (i, found) in out.iter().enumerate() {
                    let (mut begin, mut end, mut sum) = (0, length as u32 / 64, key[i]);
                    while begin < end {
                        let place = begin + (i as u32 >> 1);
                        if at(place) >= least {
                            end -= 1;
                            continue;
                        }
                        begin += 1 + (place & 1);
                        let is_small = key[i] < (i as u32 & 31) * 1000;
                        sum = sum.wrapping_add(if is_small { sum } else { at(length as u32 / 2) });
                    }
                    assert_eq!(*found, sum.wrapping_add(7 * begin), "of pairs: {of}: item {i}");
                }
                module.kernel("from_pairs").run_1d(n.next_multiple_of(group as usize), group, &arguments);
                for (i, found) in out.iter().enumerate() {
                    let (mut begin, mut sum) = ((i as u32 >> 1) % length as u32, key[i]);
                    while begin < length as u32 {
                        if at(begin) >= least + (i as u32 >> 3) {
                            begin += 3;
                            continue;
                        }
                        sum += if at(begin) > key[i] { 1 } else { 2 };
                        begin += 1;
                    }
                    assert_eq!(*found, sum + 7 * begin, "from pairs: {of}: item {i}");
                }
            }
        }
    }
}

#[test]
fn a_place_in_the_work_group_decides_as_well() {
    let module = Module::named("searches");
    let mut random = Random::new(13);
    for length in [0usize, 3, 20, 1000] {
        let mut sorted: Vec<u32> = (0..length).map(|_| random.below(50_000)).collect();
        sorted.sort_unstable();
        // There is no empty buffer.
        let list = platform().buffer(&[sorted.as_slice(), &[0]].concat());
        for (n, group) in [(64usize, 16u32), (70, 7), (512, 256), (1, 1)] {
            for key in keys(n, 60_000) {
                let (out, key_buffer) = (platform().filled(0i32, n), platform().buffer(&key));
                let arguments: [&dyn Argument; 4] = [&(length as i32), &list, &key_buffer, &out];
                module.kernel("lower_bound_by_place").run_1d(n, group, &arguments);
                for (i, found) in out.iter().enumerate() {
                    let (mut low, mut high, mut sum) = (0, length, 0);
                    while low < high {
                        let middle = (low + high) / 2;
                        if sorted[middle] < key[i] {
                            low = middle + 1;
                        } else {
                            high = middle;
                        }
                        sum += if length < i % group as usize { 15 * low as i32 } else { 0 };
                    }
                    let of = format!("{n} keys in {length} elements, groups of {group}");
                    assert_eq!(*found, low as i32 - sum, "{of}: item {i}");
                }
            }
        }
    }
}

#[test]
fn work_groups_probe_behind_a_barrier() {
    let module = Module::named("searches");
    let slots = 1024usize;
    for (n, group) in [(128usize, 128u32), (120, 120), (384, 128), (96, 32), (1024, 1024)] {
        for key in keys(n, 50_000) {
            let mut table = vec![u32::MAX; slots];
            let probe = |table: &[u32], wanted: u32, or: u32| {
                let mut places = (0..slots).map(|step| (wanted as usize + step) % slots);
                places.find(|at| [wanted, or].contains(&table[*at])).expect("a slot")
            };
            for key in &key {
                let at = probe(&table, *key, u32::MAX);
                table[at] = *key;
            }
            let (list, key_buffer) = (platform().buffer(&table), platform().buffer(&key));
            let (out, shared) = (platform().filled(-1i32, n), platform().filled(0i32, 64));
            let arguments: [&dyn Argument; 4] = [&list, &key_buffer, &out, &shared];
            module.kernel("probe_behind_barrier").run_1d(n, group, &arguments);
            for (i, found) in out.iter().enumerate() {
                let want = probe(&table, key[i], key[i]);
                assert_eq!(*found as usize, want, "{n} keys in groups of {group}: item {i}");
            }
        }
    }
}
