//! Lists of work-items' own: one work-item after the other where gathers take long, and the same results wherever.

use crate::support::{address, built, file, has_rival, launch, load};
use ze_engine::abi::{LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::pipeline::Tier;
use ze_engine::jit::target::{Isa, Target};
use ze_engine::lower::{self, Single};
use ze_engine::{Engine, EngineConfig};

#[test]
fn what_little_but_gathers_is_done_by_single_work_items() {
    let module = built(&file("lists")).expect("valid");
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    assert!(!target.make.gathers_fast());
    let wants = |kernel: &str, width: u32| {
        let kernel = module.kernel(kernel).expect("the module has it");
        let variant = Variant::new(width, LaneMapping::Line);
        let single = lower::single(&module, kernel, variant, Inlining::default(), &target).expect("analysed");
        single == Some(Single::Scalars)
    };
    assert!(wants("product", 16) && wants("product", 8) && !wants("product", 1));
    // Whether its branches are foreseen depends on the data: launches find out.
    let variant = Variant::new(16, LaneMapping::Line);
    assert!(!wants("reach", 16) && has_rival("lists", "reach", variant, Tier::Optimising, &target));
    for kernel in ["padded", "interleaved", "chase", "forces", "sums"] {
        assert!(!wants(kernel, 16), "{kernel}");
    }
}

/// Lists of 0 to 12 entries, which name any of them.
fn lists(count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0u32];
    start.extend((0..count as u32).map(|list| list.wrapping_mul(0x9e37_79b9) >> 16).scan(0, |end, noise| {
        *end += noise % 13;
        Some(*end)
    }));
    let entries = *start.last().expect("there is one");
    let entry = (0..entries).map(|at| at.wrapping_mul(0x85eb_ca6b) % count as u32).collect();
    (start, entry)
}

#[test]
fn lists_are_gone_through_in_groups_of_any_shape() {
    let rows = 1000;
    let (start, entry) = lists(rows);
    let [value, x] = [0.25f32, 3.0].map(|by| (0..entry.len()).map(|at| at as f32 * by).collect::<Vec<_>>());
    let of_row = |row: usize| start[row] as usize..start[row + 1] as usize;
    let sum = |row: usize| of_row(row).fold(0f32, |sum, at| value[at].mul_add(x[entry[at] as usize], sum));
    let mut levels = vec![-1i32; rows];
    levels[7] = 0;
    for now in 0..3 {
        let reached = (0..rows).filter(|row| levels[*row] == now).flat_map(of_row);
        for at in reached.collect::<Vec<_>>() {
            let level = &mut levels[entry[at] as usize];
            *level = if *level < 0 { now + 1 } else { *level };
        }
    }
    for isa in [None, Some(Isa::Avx2), Some(Isa::Sse)] {
        let engine = Engine::new(EngineConfig { threads: 2, isa, ..EngineConfig::default() });
        let program = load(&engine, &file("lists"));
        for (counts, sizes) in
            [([4, 1], [256, 1]), ([25, 1], [40, 1]), ([28, 2], [6, 3]), ([1000, 1], [1, 1])]
        {
            let place = format!("{sizes:?}, {isa:?}");
            let mut out = vec![-1f32; rows + 1];
            let inputs = [address(&start), address(&entry), address(&value), address(&x)];
            let args = [inputs[0], inputs[1], inputs[2], inputs[3], out.as_mut_ptr() as u64, rows as u64];
            launch(&program, "product", counts, sizes, &args);
            assert!((0..rows).all(|row| (out[row] - sum(row)).abs() <= 1e-3 * sum(row).abs()), "{place}");
            assert_eq!(out[rows], -1.0, "{place}");
            let mut level = vec![-1i32; rows];
            level[7] = 0;
            for now in 0..3 {
                let args = [address(&start), address(&entry), level.as_mut_ptr() as u64, now, rows as u64];
                launch(&program, "reach", counts, sizes, &args);
            }
            assert!(level == levels, "{place}");
        }
    }
}
