//! Two tiers of code: the same results to the last bit, and launches that go from one to the other.

use crate::support::{file, load};
use spirv_env::{ArgKind, Type};
use std::sync::Arc;
use std::time::{Duration, Instant};
use ze_engine::jit::pipeline::{Tier, Tiering};
use ze_engine::jit::target::Isa;
use ze_engine::{Dispatch, Engine, EngineConfig, Kernel};
use ze_tests::Random;

/// Elements of the buffers that kernels are given, and of a side where they want one.
const ELEMENTS: usize = 16384;
const SIDE: u32 = 64;

fn engine(tiering: Tiering) -> Arc<Engine> {
    Engine::new(EngineConfig { tiering, threads: 2, ..EngineConfig::default() })
}

/// Runs a kernel with random floats in all buffers, and gives those back as bits.
fn results(kernel: &Arc<Kernel>, group_count: [u32; 3], group_size: [u32; 3]) -> Vec<Vec<u64>> {
    let mut random = Random::new(7);
    let reflection = kernel.reflection();
    let types = &kernel.program().module().types;
    let mut block = vec![0u8; reflection.arg_block_size as usize];
    let mut buffers: Vec<Vec<u64>> = Vec::new();
    for arg in &reflection.args {
        let value = match (arg.kind, types.get(arg.ty)) {
            (ArgKind::GlobalPointer, ty) => {
                let doubles = arg.type_name.starts_with("double");
                let mut float = || match doubles {
                    true => f64::from(random.float(0.5, 1.5)).to_bits(),
                    false => {
                        let [low, high] = [random.float(0.5, 1.5), random.float(0.5, 1.5)]
                            .map(|of| u64::from(of.to_bits()));
                        low | high << 32
                    }
                };
                assert!(matches!(ty, Type::Pointer { .. }));
                buffers.push((0..ELEMENTS).map(|_| float()).collect());
                buffers.last().expect("just made").as_ptr() as u64
            }
            (_, Type::Float { .. }) => u64::from(0.25f32.to_bits()),
            _ => u64::from(SIDE),
        };
        let (at, size) = (arg.offset as usize, arg.size as usize);
        block[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    kernel
        .launch(&Dispatch { group_count, group_size, global_offset: [0; 3], args: &block })
        .expect("launches");
    buffers
}

#[test]
fn tiers_agree_to_the_last_bit() {
    let line = ([4, 1, 1], [64, 1, 1]);
    let square = ([4, 4, 1], [16, 16, 1]);
    let kernels = [
        ("black_scholes", "black_scholes", line),
        ("nbody", "nbody_step", line),
        ("mandelbrot", "mandelbrot", square),
        ("matmul", "matmul_naive", square),
        ("matmul", "matmul_tiled", square),
        ("stencil", "stencil5", square),
        ("saxpy", "saxpy", line),
        ("floats", "float_float", line),
        ("floats", "float_float4", line),
        ("floats", "float_double", line),
        ("floats", "float_double8", line),
        ("guards", "guarded", line),
        ("guards", "guarded_loop", line),
        ("guards", "guarded_rows", square),
        ("guards", "guarded_join", line),
    ];
    // What code there is for guarded parts depends on the processor: with AVX2, that of the slowest kind.
    for isa in [None, Some(Isa::Avx2)] {
        let [fast, optimising] = [Tier::Fast, Tier::Optimising].map(|tier| {
            let tiering = Tiering::Only(tier);
            Engine::new(EngineConfig { isa, tiering, threads: 2, ..EngineConfig::default() })
        });
        for (module, name, (group_count, group_size)) in kernels {
            let [fast, optimising] = [&fast, &optimising].map(|engine| {
                let kernel = load(engine, &file(module)).kernel(name).expect("the module has the kernel");
                results(&kernel, group_count, group_size)
            });
            assert!(fast == optimising, "{name} {isa:?}");
        }
    }
}

#[test]
fn sub_groups_add_up_to_the_same_alone_and_in_bundles() {
    // Sub-groups are alone in the code that comes first, where better code is still to come.
    let [first, bundles] = [Tiering::FastFirst, Tiering::Only(Tier::Optimising)].map(engine);
    for operation in ["Reduce", "InclusiveScan", "ExclusiveScan"] {
        let text = format!(
            "OpCapability Addresses\nOpCapability Kernel\nOpCapability Int64\nOpCapability Groups\n\
             OpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %main \"main\" %id\n\
             OpDecorate %id BuiltIn GlobalLinearId\n\
             %uint = OpTypeInt 32 0\n%ulong = OpTypeInt 64 0\n%void = OpTypeVoid\n%float = OpTypeFloat 32\n\
             %group = OpConstant %uint 2\n%to_ulong = OpTypePointer Input %ulong\n\
             %to_float = OpTypePointer CrossWorkgroup %float\n%id = OpVariable %to_ulong Input\n\
             %f = OpTypeFunction %void %to_float %to_float\n%main = OpFunction %void None %f\n\
             %in = OpFunctionParameter %to_float\n%out = OpFunctionParameter %to_float\n%entry = OpLabel\n\
             %i = OpLoad %ulong %id\n%from = OpInBoundsPtrAccessChain %to_float %in %i\n\
             %own = OpLoad %float %from\n%sum = OpGroupFAdd %float %group {operation} %own\n\
             %to = OpInBoundsPtrAccessChain %to_float %out %i\nOpStore %to %sum\nOpReturn\nOpFunctionEnd\n"
        );
        let module = ze_tests::assembler::assemble(&text);
        for (group_count, group_size) in [([2, 1, 1], [256, 1, 1]), ([3, 1, 1], [32, 8, 1])] {
            let [first, bundles] = [&first, &bundles].map(|engine| {
                let kernel = load(engine, &module).kernel("main").expect("the module has the kernel");
                results(&kernel, group_count, group_size)
            });
            assert!(first == bundles, "{operation} {group_size:?}");
        }
    }
}

#[test]
fn a_captured_launch_goes_on_in_better_code() {
    let engine = engine(Tiering::FastFirst);
    let kernel = load(&engine, &file("saxpy")).kernel("saxpy").expect("the module has the kernel");
    let (size, groups) = (64u32, 1000u32);
    let total = (size * groups) as usize;
    let x: Vec<f32> = (0..total).map(|i| i as f32).collect();
    let mut y = vec![0f32; total];
    let values = [u64::from(1f32.to_bits()), x.as_ptr() as u64, y.as_mut_ptr() as u64, total as u64];
    let mut block = vec![0u8; kernel.reflection().arg_block_size as usize];
    for (arg, value) in kernel.reflection().args.iter().zip(values) {
        let (at, size) = (arg.offset as usize, arg.size as usize);
        block[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    let (group_count, group_size) = ([groups, 1, 1], [size, 1, 1]);
    let dispatch = Dispatch { group_count, group_size, global_offset: [0; 3], args: &block };
    let launch = kernel.capture(&dispatch).expect("a launch");
    assert!(!launch.has_final_code());
    let (start, mut runs) = (Instant::now(), 0u32);
    while !launch.has_final_code() {
        launch.run().expect("runs");
        runs += 1;
        assert!(start.elapsed() < Duration::from_secs(120), "{runs} runs, and there is no better code");
    }
    assert!(runs > 1, "better code is made for kernels that run for a while");
    launch.run().expect("runs");
    let expected = |i: usize| (0..=runs).fold(0f32, |y, _| 1f32.mul_add(i as f32, y));
    assert!((0..total).step_by(997).all(|i| y[i] == expected(i)));
    // So do others of the kernel.
    assert!(kernel.capture(&dispatch).expect("a launch").has_final_code());
}

#[test]
fn work_groups_that_wait_for_each_other_run_in_one_code() {
    let engine = engine(Tiering::FastFirst);
    let text = "OpCapability Addresses\nOpCapability Kernel\nOpCapability Int64\n\
        %std = OpExtInstImport \"OpenCL.std\"\nOpMemoryModel Physical64 OpenCL\nOpEntryPoint Kernel %main \"main\"\n\
        %uint = OpTypeInt 32 0\n%void = OpTypeVoid\n%device = OpConstant %uint 1\n%order = OpConstant %uint 528\n\
        %f = OpTypeFunction %void\n%main = OpFunction %void None %f\n%entry = OpLabel\n\
        OpControlBarrier %device %device %order\nOpReturn\nOpFunctionEnd\n";
    let program = load(&engine, &ze_tests::assembler::assemble(text));
    let kernel = program.kernel("main").expect("the kernel");
    let dispatch =
        Dispatch { group_count: [2, 1, 1], group_size: [8, 1, 1], global_offset: [0; 3], args: &[] };
    assert!(kernel.capture(&dispatch).expect("a launch").has_final_code());
}
