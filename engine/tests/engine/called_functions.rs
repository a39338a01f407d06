//! Functions that do what kernels do (collectives, casts of pointers, atomics, large private objects), with calls that
//! stay calls and inlined, on processors with registers of different sizes.

use std::sync::Arc;
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::target::Isa;
use ze_engine::{Dispatch, Engine, EngineConfig, Kernel};

use crate::support::{file, load};

/// Sizes of work-groups: one work-item, whole sub-groups, partial ones.
const SIZES: [u32; 4] = [1, 8, 48, 57];
const GROUPS: u32 = 3;

/// Calls `check` with a kernel of `called_functions` compiled in all ways.
fn with_kernel(name: &str, check: impl Fn(&Arc<Kernel>, u32)) {
    let bytes = file("called_functions");
    for (isa, inlining) in [
        (None, Inlining::Never),
        (Some(Isa::Avx2), Inlining::Never),
        (Some(Isa::Sse), Inlining::Never),
        (None, Inlining::Always),
    ] {
        let engine = Engine::new(EngineConfig { isa, inlining, threads: 1, ..EngineConfig::default() });
        let kernel = load(&engine, &bytes).kernel(name).expect("the module has the kernel");
        SIZES.into_iter().for_each(|size| check(&kernel, size));
    }
}

fn launch(kernel: &Arc<Kernel>, size: u32, values: &[u64]) {
    let args: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let dispatch = Dispatch {
        group_count: [GROUPS, 1, 1],
        group_size: [size, 1, 1],
        global_offset: [0; 3],
        args: &args,
    };
    kernel
        .capture(&dispatch)
        .and_then(|launch| launch.run())
        .unwrap_or_else(|error| panic!("groups of {size}: {error}"));
}

fn address(buffer: &[i32]) -> u64 {
    buffer.as_ptr() as u64
}

/// Inputs for all work-items, none of them negative.
fn inputs(size: u32) -> Vec<i32> {
    (0..GROUPS * size).map(|i| (i * 37 % 101) as i32).collect()
}

#[test]
fn collectives_alternate_between_kernel_and_functions() {
    with_kernel("collectives_in_turns", |kernel, size| {
        let input = inputs(size);
        let output = vec![0i32; input.len()];
        launch(kernel, size, &[address(&input), address(&output)]);
        for (group, output) in input.chunks(size as usize).zip(output.chunks(size as usize)) {
            let sum: i32 = group.iter().sum();
            let most = *group.iter().max().expect("not empty");
            let mut results = vec![0i32; group.len()];
            for round in 0..3 {
                let mut before = 0;
                for (v, r) in group.iter().zip(&mut results) {
                    before += v;
                    *r += most + round + (before + 2 * sum) * 3;
                }
                let low: i32 = results.iter().map(|r| r & 15).sum();
                // A broadcast from a work-item that is not there has no defined result.
                let told = group.get(round as usize).copied().unwrap_or(0);
                let any = i32::from(group.contains(&round));
                results.iter_mut().for_each(|r| *r += told + low + any);
            }
            if size >= 3 {
                assert_eq!(output, results, "groups of {size}");
            }
        }
    });
}

#[test]
fn functions_tell_private_objects_of_their_callers() {
    with_kernel("kinds_of_pointers", |kernel, size| {
        let input = inputs(size);
        let output = vec![0i32; 2 * input.len()];
        let local_bytes = u64::from(size) * 4;
        launch(kernel, size, &[address(&input), address(&output), local_bytes]);
        for (v, found) in input.iter().zip(output.chunks(2)) {
            let own = v + (v & 7);
            let second = if v & 2 != 0 { 141_000 + own } else { 0 };
            assert_eq!(found, [112_000 + own, second], "groups of {size}, input {v}");
        }
    });
}

#[test]
fn functions_act_for_the_lanes_that_call() {
    with_kernel("lanes_that_call", |kernel, size| {
        let input = inputs(size);
        let (output, counter) = (vec![0i32; input.len()], vec![0i32]);
        launch(kernel, size, &[address(&input), address(&output), address(&counter)]);
        let odd = |values: &[i32]| -> Vec<i32> { values.iter().copied().filter(|v| v & 1 != 0).collect() };
        assert_eq!(counter[0], odd(&input).iter().sum::<i32>(), "groups of {size}");
        let width = kernel.subgroup_size() as usize;
        let of_group = |at: usize| at / size as usize * size as usize;
        for (at, (v, found)) in input.iter().zip(&output).enumerate() {
            let first = of_group(at) + (at - of_group(at)) / width * width;
            let last = (first + width).min(of_group(at) + size as usize);
            let members = odd(&input[first..last]);
            let vote = if members.iter().any(|v| *v > 60) { 1000 } else { 0 };
            let expected = if v & 1 == 0 { -1 } else { members.iter().sum::<i32>() + vote };
            assert_eq!(*found, expected, "groups of {size}, input {v}");
        }
    });
}

#[test]
fn objects_of_nested_calls_do_not_overlap() {
    with_kernel("large_objects", |kernel, size| {
        let input = inputs(size);
        let output = vec![0i32; input.len()];
        launch(kernel, size, &[address(&input), address(&output)]);
        let filled = |seed: i32| -> Vec<i32> { (0..300).map(|k| seed * k).collect() };
        let picked = |mut block: Vec<i32>, at: i32| -> i32 {
            block[at as usize % 300] += filled(at)[(at as usize + 1) % 300];
            (0..300).step_by(7).map(|k| block[(k + at as usize) % 300]).sum()
        };
        for (v, found) in input.iter().zip(output) {
            let block = filled(*v);
            let mut expected = picked(block.clone(), *v);
            if v & 1 != 0 {
                expected += picked(block.clone(), v + 100);
            }
            assert_eq!(found, expected + block[*v as usize % 300], "groups of {size}, input {v}");
        }
    });
}
