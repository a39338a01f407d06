//! Private objects of a few elements that are reached by generic pointers, and looked up by indices that lie near each other.

use std::ops::Add;
use ze_tests::ulp::assert_same;
use ze_tests::{Module, platform};

/// Runs `looked_up_<name>` in groups of many sizes, with some lanes on at the second look and with all.
fn check<T: Copy + Add<Output = T> + From<u8> + PartialEq + std::fmt::Debug + 'static>(
    name: &str,
    count: usize,
) {
    let kernel = Module::named("looked_up").kernel(&format!("looked_up_{name}_{count}"));
    let table: Vec<T> = (0..count).map(|at| T::from(3 * at as u8 + 1)).collect();
    let there = platform().buffer(&table);
    for (n, group_size) in [(100, 100), (105, 7), (96, 32), (256, 64), (33, 33), (5, 5)] {
        for on in [5, 2, 0] {
            let out = platform().filled(T::from(0), n);
            kernel.run_1d(n, group_size, &[&there, &out, &on]);
            let want = |id: usize| {
                let found = table[id % count];
                match (id % 5) < on as usize {
                    true => found + table[id.saturating_sub(7).min(count - 1)],
                    false => found,
                }
            };
            let want: Vec<T> = (0..n).map(want).collect();
            assert_same(&format!("{name} {count}: {n} in groups of {group_size}, {on}"), &out, &want);
        }
    }
}

#[test]
fn elements_are_those_of_the_object() {
    check::<u8>("uchar", 3);
    check::<u16>("ushort", 3);
    check::<u16>("ushort", 37);
    check::<u32>("uint", 3);
    check::<f64>("double", 3);
    check::<u64>("ulong", 17);
}
