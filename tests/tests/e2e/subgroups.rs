//! Sub-group and work-group functions: identity, reductions, scans, broadcasts and votes.

use ze_tests::ulp::assert_same;
use ze_tests::{Local, Module, Random, platform};

/// Groups and group sizes, with partial sub-groups at every width.
const SHAPES: [(u32, u32); 8] = [(1, 1), (3, 8), (2, 16), (2, 17), (1, 100), (4, 64), (2, 33), (1, 256)];

/// The sub-groups of a launch: index ranges, from what the device said of each work-item.
fn sub_groups(group: &[u32], size: u32) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for i in 0..group.len() {
        match ranges.last_mut() {
            Some(range) if i % size as usize != 0 && group[i] == group[i - 1] => range.end = i + 1,
            _ => ranges.push(i..i + 1),
        }
    }
    ranges
}

#[test]
fn ids_number_the_work_items_of_a_group_without_gaps() {
    const FIELDS: usize = 6;
    let module = Module::named("subgroups");
    let kernel = module.kernel("sub_group_ids");
    let widths = platform().sub_group_sizes().unwrap();
    for (groups, size) in SHAPES {
        let n = (groups * size) as usize;
        let out = platform().filled(u32::MAX, FIELDS * n);
        kernel.run([groups, 1, 1], [size, 1, 1], &[&out]);
        let width = out[1];
        assert!(
            widths.contains(&width) || width == 1,
            "maximum sub-group size {width} is none of {widths:?}"
        );
        let want: Vec<u32> = (0..n as u32)
            .flat_map(|i| {
                let local = i % size;
                let (id, count) = (local / width, size.div_ceil(width));
                let sub_group_size = width.min(size - id * width);
                [sub_group_size, width, count, id, local % width, count]
            })
            .collect();
        assert_same(&format!("{groups} groups of {size}"), &out, &want);
    }
}

/// Checks the eleven collective results of one type against the host's, with the type's own arithmetic.
#[track_caller]
fn collectives<T: Copy + PartialEq + PartialOrd + std::fmt::Debug>(
    name: &str,
    values: impl Fn(&mut Random) -> T,
    zero: T,
    add: impl Fn(T, T) -> T,
    (lowest, highest): (T, T),
) {
    let module = Module::named("subgroups");
    let kernel = module.kernel(&format!("sub_group_{name}"));
    let min = |a: T, b: T| if b < a { b } else { a };
    let max = |a: T, b: T| if b > a { b } else { a };
    for (groups, size) in SHAPES {
        let n = (groups * size) as usize;
        let mut random = Random::new(n as u64);
        let input: Vec<T> = (0..n).map(|_| values(&mut random)).collect();
        let (out, group) = (platform().filled(zero, 11 * n), platform().filled(u32::MAX, n));
        kernel.run([groups, 1, 1], [size, 1, 1], &[&platform().buffer(&input), &out, &group]);
        let mut want = vec![zero; 11 * n];
        for range in sub_groups(&group, size) {
            let members = &input[range.clone()];
            for (lane, i) in range.clone().enumerate() {
                let (through, before) = (&members[..=lane], &members[..lane]);
                let fold =
                    |part: &[T], start: T, f: &dyn Fn(T, T) -> T| part.iter().fold(start, |a, &b| f(a, b));
                let results = [
                    fold(members, zero, &add),
                    fold(members, highest, &min),
                    fold(members, lowest, &max),
                    fold(through, zero, &add),
                    fold(before, zero, &add),
                    fold(through, highest, &min),
                    fold(through, lowest, &max),
                    fold(before, highest, &min),
                    fold(before, lowest, &max),
                    members[0],
                    members[members.len() - 1],
                ];
                results.into_iter().enumerate().for_each(|(slot, result)| want[slot * n + i] = result);
            }
        }
        assert_same(&format!("{name}, {groups} groups of {size}"), &out, &want);
    }
}

#[test]
fn collectives_of_int() {
    let value = |random: &mut Random| random.next_u32() as i32;
    collectives("int", value, 0, i32::wrapping_add, (i32::MIN, i32::MAX));
}

#[test]
fn collectives_of_uint() {
    collectives("uint", Random::next_u32, 0, u32::wrapping_add, (u32::MIN, u32::MAX));
}

#[test]
fn collectives_of_long() {
    let value = |random: &mut Random| random.next_u64() as i64;
    collectives("long", value, 0, i64::wrapping_add, (i64::MIN, i64::MAX));
}

#[test]
fn collectives_of_ulong() {
    collectives("ulong", Random::next_u64, 0, u64::wrapping_add, (u64::MIN, u64::MAX));
}

/// Whole numbers, so that sums are exact in any order.
#[test]
fn collectives_of_float() {
    let value = |random: &mut Random| random.between(-1000, 1000) as f32;
    collectives("float", value, 0.0, |a, b| a + b, (f32::NEG_INFINITY, f32::INFINITY));
}

#[test]
fn collectives_of_double() {
    let value = |random: &mut Random| f64::from(random.between(-1000, 1000));
    collectives("double", value, 0.0, |a, b| a + b, (f64::NEG_INFINITY, f64::INFINITY));
}

#[test]
fn votes() {
    let module = Module::named("subgroups");
    for (groups, size) in SHAPES {
        let n = (groups * size) as usize;
        let input = Random::new(n as u64).ints(n, 0, 100);
        let data = platform().buffer(&input);
        let group = platform().filled(u32::MAX, n);
        let unused = platform().filled(0i32, 11 * n);
        module.kernel("sub_group_int").run([groups, 1, 1], [size, 1, 1], &[&data, &unused, &group]);
        let out = platform().filled(-1i32, n);
        module.kernel("sub_group_votes").run([groups, 1, 1], [size, 1, 1], &[&data, &out]);
        let mut want = vec![0; n];
        for range in sub_groups(&group, size) {
            let members = &input[range.clone()];
            let vote =
                i32::from(members.iter().any(|&v| v > 90)) + 2 * i32::from(members.iter().all(|&v| v > 5));
            want[range].fill(vote);
        }
        assert_same(&format!("{groups} groups of {size}"), &out, &want);
    }
}

#[test]
fn a_required_sub_group_size_is_kept() {
    let module = Module::named("subgroups");
    let widths = platform().sub_group_sizes().unwrap();
    assert_eq!(widths, [8, 16, 32]);
    for width in widths {
        let kernel = module.kernel(&format!("required_{width}"));
        assert_eq!(kernel.properties().unwrap().requiredSubgroupSize, width);
        for size in [1, 7, 64] {
            let out = platform().filled(0u32, 2 * size as usize);
            kernel.run([2, 1, 1], [size, 1, 1], &[&out]);
            assert_same(&format!("groups of {size}"), &out, &vec![width; 2 * size as usize]);
        }
    }
}

#[test]
fn a_sum_by_way_of_sub_groups() {
    let module = Module::named("subgroups");
    let kernel = module.kernel("hierarchical_sum");
    for (groups, size) in SHAPES {
        let n = (groups * size) as usize;
        let input = Random::new(n as u64).ints(n, -1000, 1000);
        let out = platform().filled(i32::MIN, groups as usize);
        kernel.run(
            [groups, 1, 1],
            [size, 1, 1],
            &[&platform().buffer(&input), &out, &Local(4 * size as usize)],
        );
        let want: Vec<i32> = input.chunks(size as usize).map(|group| group.iter().sum()).collect();
        assert_same(&format!("{groups} groups of {size}"), &out, &want);
    }
}

#[test]
fn work_group_collectives() {
    let module = Module::named("work_group_functions");
    let kernel = module.kernel("work_group_collectives");
    for (groups, size) in SHAPES {
        let n = (groups * size) as usize;
        let input = Random::new(n as u64).ints(n, -100, 100);
        let out = platform().filled(i32::MIN, 6 * n);
        kernel.run([groups, 1, 1], [size, 1, 1], &[&platform().buffer(&input), &out]);
        let mut want = vec![0; 6 * n];
        for (number, members) in input.chunks(size as usize).enumerate() {
            for lane in 0..members.len() {
                let i = number * size as usize + lane;
                want[i] = members.iter().sum();
                want[n + i] = members[..lane].iter().sum();
                want[2 * n + i] = *members[..=lane].iter().max().unwrap();
                want[3 * n + i] = members[members.len() / 2];
                want[4 * n + i] = i32::from(members.iter().any(|&v| v > 90))
                    + 2 * i32::from(members.iter().all(|&v| v > 5));
                want[5 * n + i] = *members.iter().min().unwrap();
            }
        }
        assert_same(&format!("{groups} groups of {size}"), &out, &want);
    }
}
