//! Kernels that once were compiled wrongly: one test for each cause.

use ze_tests::program::NullBuffer;
use ze_tests::ulp::assert_same;
use ze_tests::{Module, platform};

/// Sizes of a work-group that are and are not multiples of a SIMD width.
const GROUPS: [u32; 4] = [1, 16, 64, 100];

#[test]
fn a_loop_behind_an_untaken_if_stores_nothing() {
    let module = Module::named("regressions");
    let kernel = module.kernel("loop_behind_if");
    for size in GROUPS {
        let n = 2 * size as usize;
        for (hit, stored) in [(None, 0), (Some(0), 8), (Some(n - 1), 8)] {
            let mut input = vec![0u32; n];
            hit.into_iter().for_each(|at: usize| input[at] = 5);
            let out = platform().filled(77u32, 16);
            kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &3u32]);
            let want: Vec<u32> = (0..16).map(|at| if at < stored { 8 } else { 77 }).collect();
            assert_same(&format!("groups of {size}, {hit:?} matches"), &out, &want);
        }
    }
}

#[test]
fn a_function_behind_an_untaken_if_stores_nothing() {
    let module = Module::named("regressions");
    let kernel = module.kernel("call_behind_if");
    for size in GROUPS {
        let n = 2 * size as usize;
        for hit in [None, Some(n - 1)] {
            let mut input = vec![0u32; n];
            hit.into_iter().for_each(|at: usize| input[at] = 5);
            let out = platform().filled(77u32, 1);
            kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &3u32]);
            let want = [if hit.is_some() { 3 } else { 77 }];
            assert_same(&format!("groups of {size}, {hit:?} matches"), &out, &want);
        }
    }
}

#[test]
fn a_block_behind_another_of_an_untaken_if_stores_nothing() {
    let module = Module::named("regressions");
    let kernel = module.kernel("store_behind_block");
    for size in GROUPS {
        let n = 2 * size as usize;
        for hit in [None, Some(n - 1)] {
            let mut input = vec![0u32; n];
            hit.into_iter().for_each(|at: usize| input[at] = 5);
            let (out, flag) = (platform().filled(77u32, n), platform().filled(77u32, 1));
            kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &flag]);
            let want: Vec<u32> = (0..n).map(|at| if hit == Some(at) { 15 } else { 77 }).collect();
            assert_same(&format!("groups of {size}, {hit:?} matches"), &out, &want);
            assert_same("flag", &flag, &[if hit.is_some() { 1 } else { 77 }]);
        }
    }
}

#[test]
fn a_loop_behind_an_untaken_if_loads_nothing() {
    let module = Module::named("regressions");
    let kernel = module.kernel("null_table_behind_if");
    for size in GROUPS {
        let n = 2 * size as usize;
        let out = platform().filled(77u32, n);
        kernel.run_1d(n, size, &[&platform().filled(0u32, n), &out, &NullBuffer, &2u32]);
        assert_same(&format!("groups of {size}, none matches"), &out, &vec![77; n]);
        let mut input = vec![0u32; n];
        input[n / 2] = 5;
        let table = platform().buffer(&[1u32, 2, 3, 4, 5, 6]);
        kernel.run_1d(n, size, &[&platform().buffer(&input), &out, &table, &2u32]);
        let want: Vec<u32> = (0..n).map(|at| if at == n / 2 { 21 } else { 77 }).collect();
        assert_same(&format!("groups of {size}, one matches"), &out, &want);
    }
}
