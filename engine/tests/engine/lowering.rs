//! What lowering makes of kernels, where speed depends on it: counts of instructions in the IR.

use ze_engine::abi::{Coarsening, LaneMapping, Variant};
use ze_engine::analysis::inlining::Inlining;
use ze_engine::jit::Context;
use ze_engine::jit::target::{Isa, Target};

use crate::support::{built, file};

/// The IR of a kernel with 16 lanes, before LLVM's passes.
fn ir(module: &str, kernel: &str) -> String {
    ir_of(module, kernel, Coarsening::Off, false)
}

fn ir_of(module: &str, kernel: &str, coarsening: Coarsening, one_bundle: bool) -> String {
    let module = built(&file(module)).expect("valid");
    let kernel = module.kernel(kernel).expect("the module has the kernel");
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let variant = Variant { coarsening, one_bundle, ..Variant::new(16, LaneMapping::Rows) };
    let (ir, ..) =
        ze_engine::lower::lower(&module, kernel, variant, Inlining::default(), &target, &Context::new())
            .expect("lowers");
    ir.verify().expect("valid IR");
    ir.text()
}

fn calls(ir: &str, name: &str) -> usize {
    ir.lines().filter(|line| line.contains("call") && line.contains(name)).count()
}

fn locked(ir: &str) -> usize {
    ir.lines().filter(|line| line.contains("atomicrmw") || line.contains("cmpxchg")).count()
}

#[test]
fn loads_of_grid_stride_loops_are_prefetched() {
    assert_eq!(calls(&ir("histogram", "histogram"), "llvm.prefetch"), 1);
    assert_eq!(calls(&ir("reduction", "reduce_float"), "llvm.prefetch"), 1);
}

#[test]
fn nobody_waits_where_a_work_group_is_one_bundle() {
    // Of the module's kernels, this one has a tile between barriers in a loop.
    let calls_through_pointers = |one_bundle| {
        let ir = ir_of("matmul", "matmul_tiled", Coarsening::AlongY(4), one_bundle);
        ir.lines().filter(|line| line.contains("call void %")).count()
    };
    assert_eq!(calls_through_pointers(true), 0);
    assert!(calls_through_pointers(false) > 0);
}

#[test]
fn what_has_no_gather_is_permuted_where_it_lies_together() {
    assert_eq!(calls(&ir("small_values", "bytes"), "llvm.x86.ssse3.pshuf.b.128"), 1);
    assert_eq!(calls(&ir("small_values", "shorts"), "llvm.x86.avx512.vpermi2var.hi.512"), 1);
    // One register is enough for those that have one.
    assert_eq!(calls(&ir("small_values", "words"), "llvm.x86.avx512.permvar.si.512"), 1);
}

#[test]
fn short_strides_are_left_to_the_hardware() {
    assert_eq!(calls(&ir("saxpy", "saxpy"), "llvm.prefetch"), 0);
    assert_eq!(calls(&ir("nbody", "nbody_step"), "llvm.prefetch"), 0);
}

#[test]
fn local_atomics_take_no_lock() {
    // The one lock is that of the sum over work-groups.
    assert_eq!(locked(&ir("histogram", "histogram")), 1);
    assert_eq!(locked(&ir("atomics", "local_int")), 0);
}

#[test]
fn lanes_that_share_a_counter_touch_it_once() {
    let ir = ir("atomics", "compact_positive");
    assert_eq!(locked(&ir), 1);
    assert!(!ir.contains("llvm.cttz"), "there is a loop over lanes");
}

#[test]
fn shuffles_are_permutations_of_registers() {
    let ir = ir("groups_intel", "shuffle_int_16");
    assert!(calls(&ir, "llvm.x86.avx512.permvar.si.512") > 0);
    assert_eq!(calls(&ir, "llvm.masked.gather"), 0);
}

#[test]
fn kernels_over_rows_gather_nothing() {
    for (module, kernel) in [
        ("vector_add", "vector_add"),
        ("saxpy", "saxpy"),
        ("matmul", "matmul_naive"),
        ("matmul", "matmul_tiled"),
        ("nbody", "nbody_step"),
        ("stencil", "stencil5"),
        ("mandelbrot", "mandelbrot"),
        ("black_scholes", "black_scholes"),
    ] {
        let ir = ir(module, kernel);
        assert_eq!(calls(&ir, "llvm.masked.gather"), 0, "{kernel} gathers");
        assert_eq!(calls(&ir, "llvm.masked.scatter"), 0, "{kernel} scatters");
    }
}

#[test]
fn int_indices_gather_nothing_with_or_without_optimisation() {
    for module in ["int_indices", "int_indices_o0"] {
        for kernel in ["saxpy_int", "reduce_int", "histogram_int", "drift"] {
            let ir = ir(module, kernel);
            assert_eq!(calls(&ir, "llvm.masked.gather"), 0, "{kernel} of {module} gathers");
            assert_eq!(calls(&ir, "llvm.masked.scatter"), 0, "{kernel} of {module} scatters");
        }
    }
}

#[test]
fn selections_that_always_choose_ids_keep_their_stride() {
    let ir = ir("selected_ids", "selected_ids");
    assert_eq!(calls(&ir, "gather") + calls(&ir, "scatter"), 0);
}

#[test]
fn closures_in_private_memory_have_uniform_pointers() {
    // What is gathered is `offsets[at & 1]`.
    let ir = ir("uniform_objects", "closure");
    assert_eq!((calls(&ir, "gather"), calls(&ir, "scatter")), (1, 0));
}

#[test]
fn arrays_that_are_set_up_by_a_copy_are_rows_of_lanes() {
    let ir = ir("private_copies", "blocked");
    assert_eq!(calls(&ir, "gather") + calls(&ir, "scatter"), 0);
}

#[test]
fn few_private_elements_are_blended_and_more_are_gathered_or_scattered() {
    // Lanes read different elements: up to 6 registers, or 16 of narrow elements.
    let both = |kernel: &str| {
        let ir = ir("private_rows", kernel);
        ["llvm.masked.gather", "llvm.masked.scatter"].map(|name| calls(&ir, name) > 0)
    };
    for (kernel, apart) in [
        ("exchange_int_5", false),
        ("exchange_int_11", true),
        ("exchange_double_3", false),
        ("exchange_double_5", true),
        ("exchange_short_11", false),
        ("exchange_short_19", true),
    ] {
        assert_eq!(both(kernel), [apart, apart], "{kernel}");
    }
    // All read the same one, and write different ones.
    for (kernel, apart) in [("sort_float_9", false), ("sort_float_17", true), ("sort_double_9", true)] {
        assert_eq!(both(kernel), [false, apart], "{kernel}");
    }
}

/// Sums of components that are smaller than a register, in loops with more than one way through: what pins them asks for registers that
/// there are.
#[test]
fn sums_of_all_sizes_have_code_on_all_processors() {
    use ze_engine::jit::pipeline::{Tier, object_code, optimise};
    let module = built(&file("packed")).expect("valid");
    for isa in [Isa::Avx512, Isa::Avx2, Isa::Sse] {
        let target = Target::limited(isa).expect("a target machine");
        for name in ["loops", "loops_by_components", "wide_choices"] {
            let kernel = module.kernel(name).expect("the module has the kernel");
            for width in [4, 8, 16, 32, 64] {
                let (context, variant) = (Context::new(), Variant::new(width, LaneMapping::Rows));
                let inlining = Inlining::default();
                let (ir, ..) = ze_engine::lower::lower(&module, kernel, variant, inlining, &target, &context)
                    .expect("lowers");
                optimise(&ir, &target, Tier::Optimising).expect("passes");
                let code = object_code(ir, &target, Tier::Optimising).map(drop);
                assert!(code.is_ok(), "{name}, {width} lanes, {isa:?}: {:?}", code.err());
            }
        }
    }
}
