//! Kernels of one work-item: LLVM makes vectors of the iterations of their loops, and they compute the same.

use crate::support::{address, built, file, launch, load, on_all_processors};
use std::sync::Arc;
use ze_engine::abi::LaneMapping;
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::pipeline::{self, Loops, Tier};
use ze_engine::jit::target::{Isa, Target};
use ze_engine::{Engine, EngineConfig, Program, lower};

const LENGTHS: [usize; 8] = [0, 1, 7, 16, 33, 64, 255, 1000];

fn everywhere(check: impl Fn(&Arc<Program>, &str)) {
    on_all_processors("tasks", 1, check);
}

fn task(program: &Arc<Program>, kernel: &str, values: &[u64]) {
    launch(program, kernel, [1, 1], [1, 1], values);
}

fn floats(count: usize) -> Vec<f32> {
    (0..count as u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 8) as f32 / 3e5 - 20.0).collect()
}

#[test]
fn elements_are_added_wherever_they_lie() {
    everywhere(|program, isa| {
        for n in LENGTHS {
            // The sum lies apart, behind what is read by a few elements, before it, and at the same place.
            for distance in [2000i64, 1, 3, 17, -1, -5, 0] {
                let mut memory = floats(4096);
                let at = |from: i64| (1000 + from) as usize;
                let start = address(&memory);
                let values = [start + 4 * at(0) as u64, start + 4 * 500, start + 4 * at(distance) as u64];
                let mut want = memory.clone();
                for i in 0..n as i64 {
                    want[at(distance + i)] = want[at(i)] + want[500 + i as usize];
                }
                task(program, "add", &[values[0], values[1], values[2], n as u64]);
                // What the kernel wrote is seen through the vector, too.
                let got = std::mem::take(&mut memory);
                assert!(got == want, "{n} elements, {distance} apart, {isa}");
            }
        }
    });
}

#[test]
fn sums_and_counts_are_those_of_the_loop() {
    everywhere(|program, isa| {
        for n in LENGTHS {
            let numbers: Vec<i32> = (0..n as u32).map(|at| at.wrapping_mul(0x9e37_79b9) as i32).collect();
            let bytes: Vec<u8> = numbers.iter().map(|number| (number >> 28) as u8).collect();
            let real = floats(n);
            let out = vec![-1i32; 256];
            task(program, "sum", &[address(&numbers), address(&out), n as u64]);
            assert_eq!(out[0], numbers.iter().fold(0, |sum: i32, own| sum.wrapping_add(*own)), "{n}, {isa}");
            task(program, "count", &[address(&bytes), address(&out), n as u64, 3]);
            assert_eq!(out[0] as usize, bytes.iter().filter(|own| **own == 3).count(), "{n}, {isa}");
            task(program, "sum_floats", &[address(&real), address(&out), n as u64]);
            let want = real.iter().fold(0f32, |sum, own| sum + own);
            assert_eq!(f32::from_bits(out[0] as u32).to_bits(), want.to_bits(), "{n}, {isa}");
            task(program, "histogram", &[address(&bytes), address(&out), n as u64]);
            for (bin, got) in out.iter().enumerate() {
                let want = bytes.iter().filter(|own| usize::from(**own) == bin).count();
                assert_eq!(*got as usize, want, "{n}, bin {bin}, {isa}");
            }
        }
    });
}

#[test]
fn a_group_of_one_work_item_has_barriers() {
    everywhere(|program, isa| {
        for n in LENGTHS {
            let numbers: Vec<i32> = (0..5 * n as u32).map(|at| at.wrapping_mul(0x9e37_79b9) as i32).collect();
            let out = [0i32; 5];
            launch(program, "alone", [5, 1], [1, 1], &[address(&numbers), address(&out), n as u64]);
            for (group, got) in out.iter().enumerate() {
                let mut seen = [0i32; 64];
                (0..n).for_each(|i| seen[i & 63] = seen[i & 63].wrapping_add(numbers[group * n + i]));
                let want = seen.iter().fold(0i32, |sum, own| sum.wrapping_mul(3).wrapping_add(*own));
                assert_eq!(*got, want, "{n}, group {group}, {isa}");
            }
        }
    });
}

#[test]
fn products_of_matrices_are_those_of_the_loops() {
    everywhere(|program, isa| {
        for n in [1usize, 5, 16, 37] {
            let [a, b] = [3usize, 5]
                .map(|step| (0..n * n).map(|at| (at * step % 17) as f32 - 8.0).collect::<Vec<f32>>());
            let out = vec![0f32; n * n];
            task(program, "multiply", &[address(&a), address(&b), address(&out), n as u64]);
            for at in 0..n * n {
                let want: f32 = (0..n).map(|k| a[at / n * n + k] * b[k * n + at % n]).sum();
                assert_eq!(out[at], want, "{n}, {at}, {isa}");
            }
        }
    });
}

#[test]
fn iterations_become_lanes_where_their_order_is_not_seen() {
    let target = Target::limited(Isa::Avx2).expect("a target machine");
    let module = built(&file("tasks")).expect("valid");
    let engine = Engine::new(EngineConfig::default());
    let program = load(&engine, &file("tasks"));
    for (name, vectors) in [("add", true), ("sum", true), ("count", true), ("sum_floats", false)] {
        let kernel = module.kernel(name).expect("the module has it");
        let variant = program.kernel(name).expect("the program has it").variant([1, 1, 1]);
        assert_eq!((variant.width, variant.mapping), (1, LaneMapping::Iterations));
        let (ir, ..) = lower::lower(&module, kernel, variant, Inlining::default(), &target, &Context::new())
            .expect("IR");
        let made = pipeline::optimise_loops(&ir, &target, Tier::Optimising, Loops::Vectorised);
        assert_eq!(made.expect("passes"), vectors, "{name}");
    }
}
