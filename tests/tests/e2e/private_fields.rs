//! Members of structures in private arrays that are chosen at run time.

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
