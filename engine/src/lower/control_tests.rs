//! Random control flow, checked against an interpreter that runs one work-item after the other.
//!
//! Graphs are arbitrary: nested, unstructured, irreducible, with loops left in several ways. Values are in
//! pruned SSA form, so that phis, uses across blocks and uses after loops all occur. Programs call functions, made in
//! the same way, that call further ones: inlined and not, both have to compute the same. Where all work-items of a group come,
//! they exchange values through local memory and barriers, and by operations of sub-groups and of the work-group.

mod assembler;
mod interpreter;
mod programs;

use crate::analysis::inlining::Inlining;
use crate::{Dispatch, Engine, EngineConfig};
use assembler::assemble;
use interpreter::{interpret, start};
use programs::{Random, VARS, whole_program};
use std::sync::Arc;

fn check(
    seed: u64,
    calm: bool,
    engine: &Arc<Engine>,
    width: Option<u32>,
    group_size: [u32; 3],
    group_count: [u32; 3],
) {
    let per_group: u32 = group_size.iter().product();
    let source = whole_program(&mut Random(seed), calm, width.is_some());
    let bytes = assemble(&source, width, per_group);
    let profile = ze_extensions::DeviceProfile::host();
    let environment = spirv_env::Environment::new(&profile);
    let module = spirv_env::build(&[spirv_env::ModuleInput::new(&bytes)], &environment)
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let key = crate::jit::hash::digest(&[&bytes]);
    let program = engine.load(Arc::new(module), key).expect("a module without variables");
    let kernel = program.kernel("random").expect("the kernel");
    let items = (per_group * group_count.iter().product::<u32>()) as usize;
    let mut random = Random(seed ^ 0xABCD_EF01);
    let input: Vec<i32> = (0..items).map(|_| random.below(64) as i32 - 8).collect();
    let mut output = vec![0i32; items];
    let mut args = Vec::new();
    args.extend((input.as_ptr() as u64).to_le_bytes());
    args.extend((output.as_mut_ptr() as u64).to_le_bytes());
    kernel
        .launch(&Dispatch { group_count, group_size, global_offset: [0; 3], args: &args })
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let global = [0, 1, 2].map(|dim| group_size[dim] * group_count[dim]);
    for number in 0..group_count.iter().product() {
        let group = coordinates(number, group_count);
        // Places of the group's work-items in the buffers, in the order of their local index.
        let places: Vec<(u32, u32)> = (0..per_group)
            .map(|index| {
                let local = coordinates(index, group_size);
                let [x, y, z] = [0, 1, 2].map(|dim| group[dim] * group_size[dim] + local[dim]);
                ((z * global[1] + y) * global[0] + x, y)
            })
            .collect();
        let start_of = |(at, row): &(u32, u32)| start(input[*at as usize], group[0] as i32, *row as i32);
        let starts: Vec<[i32; VARS]> = places.iter().map(start_of).collect();
        let width_of_all = width.unwrap_or(per_group) as usize;
        for ((at, _), expected) in places.iter().zip(interpret(&source, &starts, width_of_all)) {
            assert_eq!(
                output[*at as usize],
                expected,
                "seed {seed}, {:?}, width {width:?}, groups of {group_size:?}, work-item {at}, input {}\n{source:#?}",
                engine.config().inlining,
                input[*at as usize]
            );
        }
    }
}

/// The coordinates of what has this number, counted along the first dimension.
fn coordinates(number: u32, size: [u32; 3]) -> [u32; 3] {
    [number % size[0], number / size[0] % size[1], number / size[0] / size[1]]
}

/// Compares programs with the interpreter: as many, from the first on, as the environment says.
fn compare(inlining: Inlining, programs: u64) {
    let variable = |name| std::env::var(name).ok().and_then(|value: String| value.parse().ok());
    let first: u64 = variable("ZE_CPU_TEST_SEED").unwrap_or(1);
    compare_these(inlining, first..first + variable("ZE_CPU_TEST_COUNT").unwrap_or(programs));
}

fn compare_these(inlining: Inlining, programs: impl IntoIterator<Item = u64>) {
    let engine =
        Engine::new(EngineConfig { threads: 1, inlining, joins_groups: false, ..EngineConfig::default() });
    for number in programs {
        let seed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let calm = number % 2 == 0;
        match seed >> 61 {
            0 => check(seed, calm, &engine, Some(16), [32, 1, 1], [3, 1, 1]),
            1 => check(seed, calm, &engine, Some(8), [20, 1, 1], [3, 1, 1]),
            2 => check(seed, calm, &engine, None, [5, 3, 2], [2, 2, 1]),
            3 => check(seed, calm, &engine, Some(32), [32, 3, 1], [2, 1, 1]),
            // Several sub-groups side by side.
            4 => check(seed, calm, &engine, Some(8), [64, 1, 1], [2, 1, 1]),
            5 => check(seed, calm, &engine, Some(16), [16, 4, 1], [2, 1, 2]),
            6 => check(seed, calm, &engine, Some(8), [8, 6, 2], [2, 2, 1]),
            _ => check(seed, calm, &engine, Some(8), [24, 2, 1], [2, 1, 1]),
        }
        check(seed, calm, &engine, None, [1, 1, 1], [8, 1, 1]);
    }
}

#[test]
fn random_control_flow_agrees_with_an_interpreter() {
    compare(Inlining::Always, 60);
}

#[test]
fn random_control_flow_agrees_with_an_interpreter_where_calls_stay_calls() {
    compare(Inlining::Never, 60);
}

/// Two phis behind loops that have the place of a loop's phi, one of which is also what another loop goes on with, and what is used once more behind the loop. A
/// loop that goes away, and with it what a loop with several entries would take from it.
#[test]
fn programs_that_were_compiled_wrong_or_not_at_all() {
    compare_these(Inlining::Always, [1128, 1224, 12_356, 16_776]);
}
