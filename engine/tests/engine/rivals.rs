//! Kernels that may be faster as one work-item after the other, or as one sub-group after the other: the same results to the last bit, whichever way launches find to be the
//! faster one.

use crate::support::{address, file, has_rival, launch, load, rivals};
use std::time::{Duration, Instant};
use ze_engine::abi::{Coarsening, LaneMapping, Variant};
use ze_engine::jit::pipeline::Tier;
use ze_engine::jit::target::{Isa, Target};
use ze_engine::{Engine, EngineConfig};
use ze_tests::Random;

const ITEMS: usize = 2048;
const WIDTH: usize = 40;
const KERNELS: [&str; 9] = [
    "running_sums",
    "smooth_rows",
    "descend",
    "scatter_counts",
    "blur_rows",
    "describe_rows",
    "runs_until",
    "pack_bits",
    "rows_of_blocks",
];

#[test]
fn what_lanes_do_each_for_itself_may_have_a_rival() {
    let target = Target::limited(Isa::Avx2).expect("a target machine");
    let may = |name: &str, kernel: &str, variant: Variant, tier: Tier| {
        has_rival(name, kernel, variant, tier, &target)
    };
    let rows = Variant::new(8, LaneMapping::Rows);
    for kernel in KERNELS {
        assert!(may("rivals", kernel, rows, Tier::Optimising), "{kernel}");
        assert!(!may("rivals", kernel, rows, Tier::Fast), "{kernel}: code that comes first");
        let alone = Variant::new(1, LaneMapping::Rows);
        assert!(!may("rivals", kernel, alone, Tier::Optimising), "{kernel}: it is alone");
    }
    for (name, kernel) in [("saxpy", "saxpy"), ("mandelbrot", "mandelbrot"), ("matmul", "matmul_tiled")] {
        assert!(!may(name, kernel, rows, Tier::Optimising), "{kernel}");
    }
}

#[test]
fn sub_groups_that_wait_for_each_other_may_have_a_rival() {
    let target = Target::limited(Isa::Avx2).expect("a target machine");
    let bundled = Variant { coarsening: Coarsening::AlongX(4), ..Variant::new(8, LaneMapping::Rows) };
    let may = |name: &str, kernel: &str, variant: Variant| {
        rivals(name, kernel, variant, Tier::Optimising, &target).unbundled
    };
    assert!(may("rivals", "few_go_on", bundled));
    assert!(!may("rivals", "few_go_on", bundled.with_factor(1)), "nobody to wait for");
    assert!(!may("saxpy", "saxpy", bundled));
}

/// What a kernel makes of random numbers in work-groups of a size.
struct Case {
    numbers: Vec<u32>,
    floats: Vec<f32>,
}

impl Case {
    fn new() -> Case {
        let mut random = Random::new(11);
        let numbers = (0..ITEMS * WIDTH).map(|_| random.float(0.0, 4e9) as u32).collect();
        let floats = (0..ITEMS * WIDTH).map(|_| random.float(0.5, 1.5)).collect();
        Case { numbers, floats }
    }

    fn run(&self, program: &std::sync::Arc<ze_engine::Program>, kernel: &str, size: u32) -> Vec<u32> {
        let mut out = vec![0u32; ITEMS * WIDTH];
        let (to, width) = (out.as_mut_ptr() as u64, WIDTH as u64);
        let [numbers, floats] = [address(&self.numbers), address(&self.floats)];
        let args = match kernel {
            "running_sums" | "scatter_counts" | "describe_rows" | "runs_until" | "pack_bits" => {
                vec![numbers, to, width]
            }
            "smooth_rows" | "blur_rows" | "few_go_on" => vec![floats, to, u64::from(0.7f32.to_bits()), width],
            _ => vec![floats, address(&self.floats[ITEMS..]), to, (ITEMS * WIDTH) as u64],
        };
        launch(program, kernel, [ITEMS as u32 / size, 1], [size, 1], &args);
        out
    }
}

#[test]
fn one_work_item_after_the_other_gives_the_same_to_the_last_bit() {
    let case = Case::new();
    for isa in [None, Some(Isa::Avx2), Some(Isa::Sse)] {
        let config = EngineConfig { threads: 2, isa, joins_groups: false, ..EngineConfig::default() };
        let program = load(&Engine::new(config), &file("rivals"));
        for kernel in KERNELS {
            let lanes = case.run(&program, kernel, 64);
            assert!(lanes.iter().any(|word| *word != 0), "{kernel}");
            assert!(lanes == case.run(&program, kernel, 1), "{kernel}, {isa:?}");
        }
    }
}

#[test]
fn launches_give_the_same_while_they_find_out_and_afterwards() {
    let case = Case::new();
    for threads in [1, 2, 3] {
        let engine = Engine::new(EngineConfig { threads, ..EngineConfig::default() });
        let program = load(&engine, &file("rivals"));
        // Of many work-groups, and of few.
        let alone = KERNELS.into_iter().zip([16, 16, 64, 1024, 16, 32, 64, 64, 32]);
        for (kernel, size) in alone.chain([("few_go_on", 64)]) {
            let first = case.run(&program, kernel, size);
            let start = Instant::now();
            let mut launches = 0;
            while launches < 60 || start.elapsed() < Duration::from_millis(200) {
                assert!(first == case.run(&program, kernel, size), "{kernel}, launch {launches}");
                launches += 1;
            }
        }
    }
}
