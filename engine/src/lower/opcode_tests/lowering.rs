//! Every accepted opcode and every function of `OpenCL.std` is lowered, as a scalar, as lanes and for bundles.

use super::examples::{Example, VARIABLES, examples, operands};
use super::{STORED, build, kernel, std_examples};
use crate::abi::{Coarsening, LaneMapping, Variant};
use crate::analysis::inlining::Inlining;
use crate::jit::pipeline::{self, Tier};
use crate::jit::target::{Isa, Target};
use crate::jit::{Context, IrModule};
use crate::lower;
use spirv_env::opcodes::{self, Signature, opencl_std};

/// The operands are the same in all lanes, or not; or the instruction runs for some lanes only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Setting {
    Uniform,
    Varying,
    Masked,
}

fn text(example: &Example, setting: Setting) -> String {
    let at = if setting == Setting::Uniform { "%ul1" } else { "%gx" };
    let inst = match example.ty {
        Some(_) => format!("%r = {}\n", example.text),
        None => format!("{}\n", example.text),
    };
    // The result is used, so that nobody drops it.
    let (value, ty) = match example.ty {
        None | Some("void" | "event" | "ulong3" | "bool4" | "img2" | "si2" | "sampler") => ("", ""),
        Some("bool") => ("%rb = OpSelect %uint %r %u1 %u0\n", "uint"),
        Some(ty) if STORED.contains(&ty) => ("", ty),
        Some(_) => ("%rb = OpConvertPtrToU %ulong %r\n", "ulong"),
    };
    let stored = if value.is_empty() { "%r" } else { "%rb" };
    let store = match ty {
        "" => String::new(),
        ty => format!(
            "{value}%to = OpInBoundsPtrAccessChain %pg_uint %out %gx\n%to_as = OpBitcast %pg_{ty} %to\n\
             OpStore %to_as {stored} Aligned 1\n"
        ),
    };
    let body = match setting {
        Setting::Masked => format!(
            "{}OpBranchConditional %b %then %join\n%then = OpLabel\n{inst}{store}OpBranch %join\n%join = OpLabel\n",
            operands(at)
        ),
        _ => format!("{}{inst}{store}", operands(at)),
    };
    kernel(None, VARIABLES, &body)
}

fn lowers(example: &Example, target: &Target) {
    for setting in [Setting::Uniform, Setting::Varying, Setting::Masked] {
        if setting == Setting::Masked && example.everyone {
            continue;
        }
        let text = text(example, setting);
        let module = build(&text);
        let kernel = module.kernel("main").expect("the kernel");
        for (width, coarsening, one_bundle) in [
            (1, Coarsening::Off, false),
            (8, Coarsening::Off, false),
            (8, Coarsening::AlongX(2), false),
            (8, Coarsening::AlongX(2), true),
        ] {
            let variant = Variant { coarsening, one_bundle, ..Variant::new(width, LaneMapping::Rows) };
            let context = Context::new();
            let (ir, ..) = lower::lower(&module, kernel, variant, Inlining::default(), target, &context)
                .unwrap_or_else(|error| panic!("{error}: {} {setting:?} {variant:?}", example.text));
            ir.verify().unwrap_or_else(|error| panic!("{error}: {} {setting:?} {variant:?}", example.text));
            if setting == Setting::Varying && coarsening == Coarsening::Off {
                compiles(ir, target, example);
            }
        }
    }
}

/// What LLVM's own passes accept may still be more than its code generator knows.
fn compiles(ir: IrModule, target: &Target, example: &Example) {
    let tier = Tier::Fast;
    pipeline::optimise(&ir, target, tier).unwrap_or_else(|error| panic!("{error}: {}", example.text));
    pipeline::object_code(ir, target, tier).unwrap_or_else(|error| panic!("{error}: {}", example.text));
}

fn is_body(row: &&opcodes::Opcode) -> bool {
    !matches!(row.signature, Signature::Layout | Signature::Extended) && !is_of_matrices(row)
}

/// Those have tests of their own (`matrices`), which run each.
fn is_of_matrices(row: &opcodes::Opcode) -> bool {
    use Signature::{MatrixPrefetch, MatrixTimesScalar};
    row.family == opcodes::Family::Matrix || matches!(row.signature, MatrixPrefetch | MatrixTimesScalar)
}

#[test]
fn every_opcode_has_a_lowering() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    for row in opcodes::rows().filter(is_body) {
        let examples = examples(row);
        assert_eq!(examples.is_empty(), !row.family.is_lowered(), "{:?}", row.op);
        examples.iter().for_each(|example| lowers(example, &target));
    }
}

#[test]
fn every_function_of_opencl_std_has_a_lowering() {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    for function in opencl_std::FUNCTIONS {
        let examples = std_examples::examples(function);
        assert!(!examples.is_empty(), "{:?}", function.op);
        examples.iter().for_each(|example| lowers(example, &target));
    }
}

/// What has a row and no lowering is refused when the module is made, by name.
#[test]
fn what_has_no_lowering_is_refused_by_name() {
    for row in opcodes::rows().filter(|row| !row.family.is_lowered()) {
        let inst =
            spirv_env::Inst { op: row.op, ty: None, result: None, operands: Default::default(), line: None };
        let refused = lower::supports(&spirv_env::Module::default(), &inst).unwrap_err();
        assert!(refused.contains(&spirv_env::op_name(row.op)), "{refused}");
    }
}
