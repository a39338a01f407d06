//! Members of structures in private arrays, and private variables, that are chosen at run time.

use crate::for_each_shape;
use ze_tests::ulp::assert_same;
use ze_tests::{Module, Random, platform};

#[test]
fn a_member_that_is_chosen_is_that_member() {
    let kernel = Module::named("private_fields").kernel("either_field");
    for_each_shape(|n, group_size| {
        let mut random = Random::new(n as u64);
        let input: Vec<u32> = (0..n).map(|_| random.next_u32()).collect();
        let out = platform().filled(0i32, n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &(n as u32)]);
        let want = |bits: &u32| {
            let mut of: [[i32; 2]; 4] = std::array::from_fn(|k| [3 * k as i32, 100 - k as i32]);
            let (p, q) = ((bits & 3) as usize, (bits >> 2 & 3) as usize);
            of[p][usize::from(bits & 16 == 0)] += 7;
            of[q][usize::from(bits & 32 != 0)] * 1000 + of[p][0] * 10 + of[q][1]
        };
        let want: Vec<i32> = input.iter().map(want).collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    });
}

#[test]
fn trees_grow_in_private_memory() {
    let kernel = Module::named("private_fields").kernel("grow_tree");
    for_each_shape(|n, group_size| {
        let mut random = Random::new(n as u64);
        let keys: Vec<u16> = (0..16 * n).map(|_| random.next_u32() as u16).collect();
        let out = platform().filled(0u32, n);
        kernel.run_1d(n, group_size, &[&platform().buffer(&keys), &out, &(n as u32)]);
        let want = |keys: &[u16]| {
            let mut tree = vec![[-1i32; 2]; keys.len()];
            for k in 1..keys.len() {
                let mut p = 0;
                loop {
                    let side = usize::from(keys[k] >= keys[p]);
                    if tree[p][side] < 0 {
                        tree[p][side] = k as i32;
                        break;
                    }
                    p = tree[p][side] as usize;
                }
            }
            let nodes = tree.iter().zip(keys);
            nodes.fold(0u32, |sum, ([left, right], key)| {
                let node = left.wrapping_mul(16).wrapping_add(*right).wrapping_add((*key).into());
                sum.wrapping_mul(31).wrapping_add(node as u32)
            })
        };
        let want: Vec<u32> = keys.chunks(16).map(want).collect();
        assert_same(&format!("{n} items in groups of {group_size}"), &out, &want);
    });
}

/// Runs a kernel on rows of numbers with a parameter of each launch.
fn check<T: Copy + 'static>(
    name: &str,
    length: usize,
    of: impl Fn(u32) -> T,
    want: impl Fn(&[T], i32) -> i32,
) {
    let kernel = Module::named("private_fields").kernel(name);
    for_each_shape(|n, group_size| {
        let mut random = Random::new(n as u64);
        let input: Vec<T> = (0..length * n).map(|_| of(random.next_u32())).collect();
        for parameter in [0, 1, 4, 7, 16] {
            let out = platform().filled(0i32, n);
            kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &(n as u32), &parameter]);
            let wanted: Vec<i32> = input.chunks(length).map(|row| want(row, parameter)).collect();
            assert_same(&format!("{name}, {n} items in groups of {group_size}, {parameter}"), &out, &wanted);
        }
    });
}

#[test]
fn rows_that_change_their_places_are_those_rows() {
    check(
        "distances",
        32,
        |bits| (bits & 3) as u8,
        |words, length| {
            let (a, b) = words.split_at(16);
            let mut last: Vec<i32> = (0..=16).collect();
            for letter in &b[..length as usize] {
                let mut next = vec![last[0] + 1];
                for x in 0..16 {
                    let changed = last[x] + i32::from(a[x] != *letter);
                    next.push(changed.min(last[x + 1].min(next[x]) + 1));
                }
                last = next;
            }
            last[16]
        },
    );
    check(
        "smoothed",
        16,
        |bits| bits as i16,
        |row, steps| {
            let mut row = row.to_vec();
            for _ in 0..steps {
                let sum = |k: usize| row[(k + 15) & 15].wrapping_add(row[(k + 1) & 15]) >> 1;
                row = (0..16).map(sum).collect();
            }
            row.iter().fold(0i32, |sum, k| sum.wrapping_mul(31).wrapping_add((*k).into()))
        },
    );
}

#[test]
fn variables_that_a_function_is_given_are_those_variables() {
    check(
        "ranges",
        16,
        |bits| bits as i16,
        |row, of| {
            let mut range = [i32::MAX, i32::MIN];
            for (k, value) in row.iter().enumerate() {
                let is_other = (k as i32 + i32::from(row[0]) * of) & 1 != 0;
                let [least, most] = if is_other { [0, 1] } else { [1, 0] };
                let value = i32::from(*value);
                range[least] = range[least].min(value);
                range[most] = range[most].max(value);
            }
            range[0].wrapping_mul(3).wrapping_add(range[1])
        },
    );
}
