//! Programs from real modules: variants, launches, the code cache, compilation by several threads at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ze_engine::abi::LaneMapping;
use ze_engine::jit::dump::DumpConfig;
use ze_engine::jit::hash::digest;
use ze_engine::jit::pipeline::{Tier, Tiering};
use ze_engine::jit::target::Isa;
use ze_engine::{Dispatch, Engine, EngineConfig, EngineError, Kernel, LaunchFault, Program, Setup, Value};

use crate::support::{self, built, file};
use ze_tests::assembler::assemble;

fn load(engine: &Arc<Engine>, module: &str) -> Arc<Program> {
    load_changed(engine, module, |_| ())
}

/// A module that is changed after it was read, and keeps its key.
fn load_changed(
    engine: &Arc<Engine>,
    module: &str,
    change: impl FnOnce(&mut spirv_env::Module),
) -> Arc<Program> {
    let bytes = file(module);
    let mut built = built(&bytes).expect("valid");
    change(&mut built);
    engine.load(Arc::new(built), digest(&[&bytes])).expect("loads")
}

fn kernel(engine: &Arc<Engine>, module: &str, name: &str) -> Arc<Kernel> {
    load(engine, module).kernel(name).expect("the module has the kernel")
}

/// Writes each value to its argument's place.
fn block(kernel: &Kernel, values: &[u64]) -> Vec<u8> {
    let mut block = vec![0; kernel.reflection().arg_block_size as usize];
    for (arg, value) in kernel.reflection().args.iter().zip(values) {
        let (at, size) = (arg.offset as usize, arg.size as usize);
        block[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    block
}

/// y = 3 * x + y for the first `n` of `groups * size` work-items.
fn saxpy(kernel: &Arc<Kernel>, groups: u32, size: u32, n: usize) {
    let total = (groups * size) as usize;
    let x: Vec<f32> = (0..total).map(|i| i as f32).collect();
    let mut y = vec![0.5f32; total];
    let values = [u64::from(3f32.to_bits()), x.as_ptr() as u64, y.as_mut_ptr() as u64, n as u64];
    let args = block(kernel, &values);
    let (group_count, group_size) = ([groups, 1, 1], [size, 1, 1]);
    let dispatch = Dispatch { group_count, group_size, global_offset: [0; 3], args: &args };
    kernel.launch(&dispatch).expect("launches");
    for (i, y) in y.into_iter().enumerate() {
        let expected = if i < n { 3.0 * i as f32 + 0.5 } else { 0.5 };
        assert_eq!(y, expected, "item {i} of {groups} groups of {size}");
    }
}

/// A folder of this name for the test alone, which does not exist yet.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ze-cpu-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let mut files: Vec<PathBuf> = entries.unwrap_or_default();
    files.sort();
    files
}

/// The files of a cache with code in them, which are in a folder of its own. Others say in a few bytes which code serves a launch.
fn cached(cache: &Path) -> Vec<PathBuf> {
    const LEAST: u64 = 1000;
    let is_code = |file: &PathBuf| fs::metadata(file).is_ok_and(|of| of.len() >= LEAST);
    files(cache).iter().flat_map(|own| files(own)).filter(is_code).collect()
}

#[test]
fn every_group_size_computes_the_same_on_every_isa_and_tier() {
    for (isa, tier) in [(None, Tier::Optimising), (None, Tier::Fast), (Some(Isa::Avx2), Tier::Optimising)] {
        let engine =
            Engine::new(EngineConfig { isa, tiering: Tiering::Only(tier), ..EngineConfig::default() });
        let kernel = kernel(&engine, "saxpy", "saxpy");
        for size in [1, 3, 4, 8, 16, 24, 100, 256, 1000] {
            saxpy(&kernel, 7, size, 7 * size as usize - 2);
        }
    }
}

#[test]
fn launches_that_share_the_work_compute_the_same() {
    for threads in [1, 2, 7] {
        let engine = Engine::new(EngineConfig { threads, ..EngineConfig::default() });
        let kernel = kernel(&engine, "saxpy", "saxpy");
        for _ in 0..4 {
            saxpy(&kernel, 20_000, 64, 20_000 * 64 - 100);
        }
    }
}

#[test]
fn remainders_of_local_ids_know_how_large_groups_are() {
    const ITEMS: usize = 131_072;
    const REST: usize = 70_001;
    let engine = Engine::new(EngineConfig { max_group_size: ITEMS as u32, ..EngineConfig::default() });
    let kernel = kernel(&engine, "large_groups", "remainder");
    let mut dst = vec![0u32; ITEMS];
    let args = block(&kernel, &[dst.as_mut_ptr() as u64]);
    let (group_count, group_size) = ([1; 3], [ITEMS as u32, 1, 1]);
    kernel
        .launch(&Dispatch { group_count, group_size, global_offset: [0; 3], args: &args })
        .expect("launches");
    assert!(dst[..REST].iter().all(|value| *value == 1), "an element was left out");
    assert!(dst[REST..].iter().all(|value| *value == 0), "a store went out of range");
}

#[test]
fn second_engine_takes_code_from_the_cache() {
    let cache = folder("cache");
    let config = EngineConfig { cache_dir: Some(cache.clone()), ..EngineConfig::default() };
    let run = |config: &EngineConfig, size| {
        saxpy(&kernel(&Engine::new(config.clone()), "saxpy", "saxpy"), 2, size, 30);
    };
    run(&config, 16);
    let written = cached(&cache);
    assert_eq!(written.len(), 1);
    let entry = fs::read(&written[0]).expect("entry");

    run(&config, 16);
    assert_eq!(cached(&cache), written);

    // What is damaged is compiled and written again.
    let mut damaged = entry.clone();
    damaged[entry.len() / 2] ^= 1;
    fs::write(&written[0], damaged).expect("writable");
    run(&config, 16);
    assert_eq!(fs::read(&written[0]).expect("entry"), entry);

    // Another variant, tier or CPU is another entry.
    run(&config, 17);
    assert_eq!(cached(&cache).len(), 2);
    run(&EngineConfig { tiering: Tiering::Only(Tier::Fast), ..config.clone() }, 16);
    assert_eq!(cached(&cache).len(), 3);
    run(&EngineConfig { isa: Some(Isa::Avx2), ..config.clone() }, 32);
    assert_eq!(cached(&cache).len(), 4);
    let _ = fs::remove_dir_all(cache);
}

#[test]
fn likely_variant_is_loaded_from_the_cache_at_once() {
    let cache = folder("likely");
    let config = EngineConfig { cache_dir: Some(cache.clone()), ..EngineConfig::default() };
    let first = kernel(&Engine::new(config.clone()), "saxpy", "saxpy");
    first.prepare([256, 1, 1]).expect("compiles");
    let second = kernel(&Engine::new(config), "saxpy", "saxpy");
    second.prepare_likely();
    // Had it not been loaded, there would be no code for this launch.
    let _ = fs::remove_dir_all(&cache);
    saxpy(&second, 3, 256, 700);
    assert!(cached(&cache).is_empty(), "the launch compiled the kernel again");
}

#[test]
fn threads_that_want_the_same_kernel_get_one_compilation() {
    let cache = folder("once");
    let engine = Engine::new(EngineConfig { cache_dir: Some(cache.clone()), ..EngineConfig::default() });
    let kernel = kernel(&engine, "saxpy", "saxpy");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| saxpy(&kernel, 5, 32, 150));
        }
    });
    assert_eq!(cached(&cache).len(), 1);
    let _ = fs::remove_dir_all(cache);
}

#[test]
fn dumps_are_named_after_kernel_and_variant() {
    let dumps = folder("dumps");
    let dump = DumpConfig { ir: true, asm: true, dir: dumps.clone(), ..DumpConfig::default() };
    let engine = Engine::new(EngineConfig { dump: Some(dump), ..EngineConfig::default() });
    let kernel = kernel(&engine, "saxpy", "saxpy");
    kernel.prepare([8, 1, 1]).expect("compiles");
    let expected = ["saxpy.w8-rows.lowered.ll", "saxpy.w8-rows.optimised.ll", "saxpy.w8-rows.s"];
    assert_eq!(files(&dumps), expected.map(|name| dumps.join(name)));
    let _ = fs::remove_dir_all(dumps);
}

#[test]
fn groups_with_barriers_run_on_several_threads() {
    const N: usize = 96;
    let engine = Engine::new(EngineConfig { threads: 3, ..EngineConfig::default() });
    let kernel = kernel(&engine, "matmul", "matmul_tiled");
    let a: Vec<f32> = (0..N * N).map(|i| (i % 7) as f32).collect();
    let b: Vec<f32> = (0..N * N).map(|i| (i % 5) as f32).collect();
    let mut c = vec![0f32; N * N];
    let values = [a.as_ptr() as u64, b.as_ptr() as u64, c.as_mut_ptr() as u64, N as u64, N as u64, N as u64];
    let args = block(&kernel, &values);
    let (group_count, group_size) = ([N as u32 / 16, N as u32 / 16, 1], [16, 16, 1]);
    for _ in 0..20 {
        let dispatch = Dispatch { group_count, group_size, global_offset: [0; 3], args: &args };
        kernel.launch(&dispatch).expect("launches");
    }
    for (i, c) in c.into_iter().enumerate() {
        let want: f32 = (0..N).map(|k| a[i / N * N + k] * b[k * N + i % N]).sum();
        assert_eq!(c, want, "element {i}");
    }
}

#[test]
fn group_sizes_and_variants_follow_the_kernel() {
    let engine = Engine::new(EngineConfig { max_group_size: 512, ..EngineConfig::default() });
    let free = kernel(&engine, "saxpy", "saxpy");
    assert_eq!(free.max_group_size(), 512);
    let [x, y, z] = free.suggest_group_size([1 << 20, 1, 1]);
    assert!(x.is_multiple_of(free.subgroup_size()) && (y, z) == (1, 1));
    assert_eq!(free.variant([256, 1, 1]).mapping, LaneMapping::Rows);
    assert_eq!(free.variant([1, 1, 1]).width, 1);

    let tiled = kernel(&engine, "matmul", "matmul_tiled");
    assert_eq!(tiled.suggest_group_size([1024, 1024, 1]), [16, 16, 1]);
    assert_eq!(tiled.max_group_size(), 256);

    let args = block(&free, &[0; 4]);
    let (group_count, group_size) = ([1; 3], [1024, 1, 1]);
    let dispatch = Dispatch { group_count, group_size, global_offset: [0; 3], args: &args };
    let fault = free.launch(&dispatch).expect_err("more than 512 work-items");
    assert!(
        matches!(fault, EngineError::InvalidLaunch { fault: LaunchFault::GroupSize(_), .. }),
        "{fault:?}"
    );
}

#[test]
fn rows_of_eight_that_are_required_are_sub_groups() {
    let engine = Engine::new(EngineConfig::default());
    let of = |size: [u32; 3], looks: &str| {
        let text = format!(
            "OpCapability Addresses\nOpCapability Kernel\nOpCapability SubgroupDispatch\n\
             OpMemoryModel Physical64 OpenCL\n\
             OpEntryPoint Kernel %main \"main\" %lane\n\
             OpExecutionMode %main LocalSize {} {} {}\n\
             OpDecorate %lane BuiltIn SubgroupLocalInvocationId\n\
             %void = OpTypeVoid\n%uint = OpTypeInt 32 0\n%input = OpTypePointer Input %uint\n\
             %fn = OpTypeFunction %void\n%lane = OpVariable %input Input\n\
             %main = OpFunction %void None %fn\n%start = OpLabel\n{looks}OpReturn\nOpFunctionEnd\n",
            size[0], size[1], size[2]
        );
        let program = support::load(&engine, &assemble(&text));
        program.kernel("main").expect("the module has it").subgroup_size()
    };
    let looks = "%own = OpLoad %uint %lane\n";
    // What sees its sub-groups has at least 16 work-items in one, if nothing says otherwise.
    let natural = of([8, 4, 1], "").max(16);
    assert_eq!(of([8, 4, 1], looks), 8);
    assert_eq!(of([8, 2, 2], looks), 8);
    for size in [[8, 1, 1], [16, 4, 1], [4, 8, 1], [24, 2, 1]] {
        assert_eq!(of(size, looks), natural, "{size:?}");
    }
}

#[test]
fn kernels_are_found_by_name_only() {
    let program = load(&Engine::new(EngineConfig::default()), "matmul");
    for name in ["matmul_naive", "matmul_tiled"] {
        assert!(program.kernel_names().any(|of| of == name) && program.kernel(name).is_some(), "{name}");
    }
    assert!(program.kernel("matmul").is_none());
    assert!(program.global("matmul_naive").is_none());
}

#[test]
fn code_from_the_cache_is_neither_analysed_nor_compiled() {
    let cache = folder("no-analysis");
    let config = EngineConfig { cache_dir: Some(cache.clone()), ..EngineConfig::default() };
    // The largest bundle does not pay for the first; the second has one of that size.
    for (module, name, size) in
        [("matmul", "matmul_tiled", [16, 16, 1]), ("matmul", "matmul_naive", [16, 64, 1])]
    {
        kernel(&Engine::new(config.clone()), module, name).prepare(size).expect("compiles");
        let again = Engine::new(config.clone());
        let program = load_changed(&again, module, |module| module.functions.retain(|_| false));
        program.kernel(name).expect("still there").prepare(size).expect("it needs nothing but the cache");
    }
    let _ = fs::remove_dir_all(cache);
}

#[test]
fn faults_of_a_launch_say_what_is_wrong() {
    let engine = Engine::new(EngineConfig {
        max_group_dimensions: [1024, 512, 64],
        max_group_count: [100, 10, 1],
        max_local_bytes: 3000,
        ..EngineConfig::default()
    });
    let reduce = kernel(&engine, "reduction", "reduce_float");
    let mut setup = Setup::new(Arc::clone(&reduce)).expect("no static local memory");
    let fault = |error: EngineError| match error {
        EngineError::InvalidLaunch { fault, .. } => fault,
        error => panic!("{error:?}"),
    };
    for size in [[0, 1, 1], [1, 513, 1], [1, 1, 65], [64, 64, 1]] {
        let error = setup.set_group_size(size).expect_err("against the limits");
        assert!(matches!(fault(error), LaunchFault::GroupSize(_)), "{size:?}");
    }
    setup.set_group_size([32, 1, 1]).expect("within the limits");
    let error = setup.set_argument(9, Value::Bytes(&[0; 4])).expect_err("there are four");
    assert_eq!(fault(error), LaunchFault::ArgumentIndex { index: 9, count: 4 });
    let error = setup.set_argument(0, Value::Bytes(&[0; 4])).expect_err("a pointer has eight bytes");
    assert!(matches!(fault(error), LaunchFault::ArgumentSize { index: 0, expected: 8, size: 4, .. }));
    let error = setup.set_argument(2, Value::Bytes(&[0; 8])).expect_err("local memory has no value");
    assert!(matches!(fault(error), LaunchFault::ArgumentValue { index: 2, .. }));
    for count in [[101, 1, 1], [1, 11, 1], [1, 1, 2]] {
        let error = setup.launch(count).map(drop).expect_err("against the limits");
        assert!(matches!(fault(error), LaunchFault::GroupCount(_)), "{count:?}");
    }
    setup.set_argument(2, Value::Size(3000)).expect("as much as there is");
    setup.launch([100, 10, 1]).expect("it is not run");
    setup.set_argument(2, Value::Size(3001)).expect("a launch is refused");
    let error = setup.launch([1; 3]).map(drop).expect_err("too much");
    assert_eq!(fault(error), LaunchFault::LocalMemory { needed: 3001, limit: 3000 });
}

#[test]
fn a_kernel_with_more_static_local_memory_than_there_is_cannot_be_set_up() {
    for (max_local_bytes, fits) in [(2048, true), (2047, false)] {
        let engine = Engine::new(EngineConfig { max_local_bytes, ..EngineConfig::default() });
        // Two tiles of 16 by 16 floats.
        let tiled = kernel(&engine, "matmul", "matmul_tiled");
        assert_eq!(Setup::new(tiled).is_ok(), fits, "{max_local_bytes} bytes");
    }
}

/// Counts are those of the launch that is run, whatever it was captured with.
#[test]
fn a_captured_launch_runs_with_other_numbers_of_work_groups() {
    let engine = Engine::new(EngineConfig::default());
    let kernel = kernel(&engine, "saxpy", "saxpy");
    let (x, mut y) = (vec![1f32; 64], vec![0f32; 64]);
    let values = [u64::from(1f32.to_bits()), x.as_ptr() as u64, y.as_mut_ptr() as u64, 64];
    let args = block(&kernel, &values);
    let capture = |count| {
        let (group_count, group_size) = ([count, 1, 1], [16, 1, 1]);
        kernel.capture(&Dispatch { group_count, group_size, global_offset: [0; 3], args: &args })
    };
    // The second is captured with code for large ids.
    for (captured, count) in [(1, 3), (1 << 27, 1)] {
        let launch = capture(captured).expect("a launch");
        launch.run_groups([count, 1, 1]).expect("runs");
        launch.run_groups([0, 1, 1]).expect("nothing to run");
        assert!(launch.run_groups([u32::MAX; 3]).is_err(), "2^96 work-groups");
    }
    let want: Vec<f32> = (0..64)
        .map(|i| {
            if i < 16 {
                2.0
            } else if i < 48 {
                1.0
            } else {
                0.0
            }
        })
        .collect();
    // SAFETY: as many floats as there are; the kernel has written them.
    let y = unsafe { std::slice::from_raw_parts(y.as_mut_ptr(), y.len()) };
    assert_eq!(y, want);
}

#[test]
fn what_a_launch_takes_is_known_only_of_kernels_that_wait_for_nothing() {
    let engine = Engine::new(EngineConfig::default());
    let mut buffer = vec![0f32; 256];
    let address = buffer.as_mut_ptr() as u64;
    let mut flags = vec![1u32; 256];
    let flags = flags.as_mut_ptr() as u64;
    let straight = kernel(&engine, "saxpy", "saxpy");
    let loops = kernel(&engine, "reduction", "reduce_float");
    let waits = kernel(&engine, "memory_forms", "wait_for_host");
    let captured = |kernel: &Arc<Kernel>, values: &[u64]| {
        let args = block(kernel, values);
        let dispatch =
            Dispatch { group_count: [1; 3], group_size: [16, 1, 1], global_offset: [0; 3], args: &args };
        kernel.capture(&dispatch).expect("a launch")
    };
    for (kernel, values, known) in [
        (&straight, &[0, address, address, 16][..], true),
        (&loops, &[address, address, 64, 16], true),
        (&waits, &[flags, flags, flags], false),
    ] {
        let launch = captured(kernel, values);
        assert_eq!(launch.expected_time(), None, "it never ran");
        launch.run().expect("runs");
        assert_eq!(launch.expected_time().is_some(), known, "{}", kernel.reflection().name);
    }
    let elsewhere = captured(&loops, &[address + 64, address, 64, 16]);
    assert!(elsewhere.expected_time().is_some(), "it does as much");
    assert_eq!(captured(&loops, &[address, address, 64, 32]).expected_time(), None, "it does more");
}
