//! Rows of memory that each work-item fills or copies as a whole.

use crate::{FEW_GROUP_SIZES, for_each_shape};
use ze_tests::ulp::assert_same;
use ze_tests::{Local, Module, Random, platform};

/// Bytes of a row, and of its elements.
const ROWS: [(usize, usize); 7] = [(16, 1), (37, 1), (256, 1), (50, 2), (100, 4), (700, 4), (128, 8)];
const UNTOUCHED: u8 = 0xa5;

#[test]
fn rows_are_filled_and_copied_where_they_are_wanted() {
    let module = Module::named("row_copies");
    for (bytes, element) in ROWS {
        let kernels = ["zeros", "shared", "moved"].map(|name| module.kernel(&format!("{name}_{bytes}")));
        for (n, group_size, only) in
            FEW_GROUP_SIZES.into_iter().flat_map(|size| [(200, size, 1), (200, size, 3), (33, size, 32)])
        {
            let n = usize::next_multiple_of(n, group_size as usize);
            let elements = bytes / element;
            let step = elements + 7;
            let mut random = Random::new(bytes as u64);
            let input: Vec<u8> = (0..n * (step + 5) * element).map(|_| random.next_u32() as u8).collect();
            let there = platform().buffer(&input);
            for (which, kernel) in kernels.iter().enumerate() {
                let step = if which == 1 { elements + 3 } else { step };
                let out = platform().filled(UNTOUCHED, n * step * element);
                kernel.run_1d(n, group_size, &[&out, &there, &(step as i32), &only]);
                let mut want = vec![UNTOUCHED; n * step * element];
                for x in (0..n).step_by(only as usize) {
                    let from = [None, Some(0), Some(x * (step + 5) * element)][which];
                    let row = &mut want[x * step * element..][..bytes];
                    match from {
                        Some(from) => row.copy_from_slice(&input[from..from + bytes]),
                        None => row.fill(0),
                    }
                }
                assert_same(&format!("{bytes} {which} {group_size} {only}"), &out, &want);
            }
        }
    }
}

#[test]
fn tables_are_copied_into_rows() {
    const DIGITS: [u8; 10] = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3];
    const STEP: usize = 103;
    let kernel = Module::named("row_copies").kernel("table_100");
    for only in [1, 2, 5] {
        let out = platform().filled(UNTOUCHED, 128 * STEP);
        kernel.run_1d(128, 32, &[&out, &platform().buffer(&[0u8]), &(STEP as i32), &only]);
        let want = |at: usize| {
            let (x, i) = (at / STEP, at % STEP);
            if x % only as usize == 0 && i < 100 { (i / 10 * 10) as u8 + DIGITS[i % 10] } else { UNTOUCHED }
        };
        assert_same("table", &out, &(0..128 * STEP).map(want).collect::<Vec<_>>());
    }
}

#[test]
fn rows_of_local_memory_are_zeroed() {
    let kernel = Module::named("row_copies").kernel("local_rows");
    for_each_shape(|n, group_size| {
        if group_size > 128 || n > 300 {
            return;
        }
        let n = n.next_multiple_of(group_size as usize);
        let input: Vec<u32> = Random::new(n as u64).ints(n, 0, 1000).into_iter().map(|v| v as u32).collect();
        let out = platform().filled(0u32, n);
        let local = Local(group_size as usize * 256);
        kernel.run_1d(n, group_size, &[&platform().buffer(&input), &out, &local]);
        let want = |v: &u32| (0..8).map(|i| (v + i * i) % 256 + 1).sum::<u32>();
        assert_same("local", &out, &input.iter().map(want).collect::<Vec<_>>());
    });
}
