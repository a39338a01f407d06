//! Accesses under a mask: what becomes of them, and what is refused.

use crate::module::{Module, Operand};
use crate::test_support::{assemble, build_text, declaring, kernel};
use crate::{Environment, ModuleInput, build};
use spirv::Op;
use ze_extensions::{CapabilityId, DeviceProfile};

const TYPES: &str = "%p = OpTypePointer CrossWorkgroup %uint
%pf = OpTypePointer CrossWorkgroup %float
%v = OpTypeVector %p 2
%vf = OpTypeVector %pf 2
%pv = OpTypePointer Function %v
%bool2 = OpTypeVector %bool 2
%ulong2 = OpTypeVector %ulong 2
%nv = OpConstantNull %v
%nvf = OpConstantNull %vf
%np = OpConstantNull %p
%n2 = OpConstantNull %uint2
%false = OpConstantFalse %bool
%both = OpConstantComposite %bool2 %true %true
%one = OpConstantComposite %bool2 %true %false
%none = OpConstantNull %bool2
%unknown = OpUndef %bool2
%ul2 = OpConstantComposite %ulong2 %ul1 %ul1";

fn text(body: &str) -> String {
    let extension = "OpExtension \"SPV_INTEL_masked_gather_scatter\"\n%std = ";
    declaring("MaskedGatherScatterINTEL", &kernel(TYPES, body).replacen("%std = ", extension, 1))
}

fn built(body: &str) -> Module {
    build_text(&text(body)).unwrap_or_else(|error| panic!("{body}: {error}"))
}

/// The instructions of each block of the kernel.
fn ops(body: &str) -> Vec<Vec<Op>> {
    let module = built(body);
    let blocks = &module.functions[0].blocks;
    blocks.iter().map(|block| block.insts.iter().map(|inst| inst.op).collect()).collect()
}

#[test]
fn a_known_mask_needs_no_branch() {
    use Op::{CompositeConstruct as Construct, CompositeExtract as Extract, CopyObject, Load, Return};
    let gather = |mask: &str| ops(&format!("%r = OpMaskedGatherINTEL %uint2 %nv 4 {mask} %n2"));
    let parts = [Extract; 4];
    assert_eq!(gather("%both"), [[&parts[..], &[Load, Load, Construct, Return]].concat()]);
    assert_eq!(gather("%one"), [[&parts[..], &[Load, CopyObject, Construct, Return]].concat()]);
    assert_eq!(ops("OpMaskedScatterINTEL %n2 %nv 4 %one"), [[&parts[..], &[Op::Store, Return]].concat()]);
}

#[test]
fn a_mask_becomes_branches_and_phis_know_their_new_blocks() {
    // The loop's phis name the block that the gather splits.
    let module = built(
        "OpBranch %loop\n%loop = OpLabel\n%i = OpPhi %uint2 %n2 %entry %r %loop\n\
         %r = OpMaskedGatherINTEL %uint2 %nv 4 %unknown %i\nOpBranchConditional %true %loop %end\n%end = OpLabel\n\
         %s = OpPhi %uint2 %r %loop",
    );
    let blocks = &module.functions[0].blocks;
    // The entry, two diamonds of a gather and the rest of the block, and the end.
    assert_eq!(blocks.len(), 7);
    let last = |phi: usize, pair: usize| {
        let block = blocks.iter().filter(|block| block.insts[0].op == Op::Phi).nth(phi).unwrap();
        let Operand::Id(from) = block.insts[0].operands[2 * pair + 1] else { panic!() };
        blocks.iter().position(|block| block.label == from).unwrap()
    };
    let tail = blocks
        .iter()
        .position(|block| block.insts.last().unwrap().op == Op::BranchConditional && block.insts.len() == 3);
    assert_eq!(Some(last(0, 1)), tail, "the loop's own edge comes from the block that ends it");
    assert_eq!(Some(last(3, 0)), tail, "what follows the loop comes from there, too");
}

#[test]
fn what_is_done_with_a_vector_of_pointers_is_done_with_each() {
    use Op::{CompositeConstruct as Construct, CompositeExtract as Extract};
    for (body, extracts, op) in [
        ("%r = OpPtrAccessChain %v %nv %ul2", 4, Op::PtrAccessChain),
        ("%r = OpInBoundsPtrAccessChain %v %nv %ul1", 2, Op::InBoundsPtrAccessChain),
        ("%r = OpPtrAccessChain %v %np %ul2", 2, Op::PtrAccessChain),
        ("%r = OpConvertPtrToU %ulong2 %nv", 2, Op::ConvertPtrToU),
        ("%r = OpConvertUToPtr %v %ul2", 2, Op::ConvertUToPtr),
        ("%r = OpBitcast %vf %nv", 2, Op::Bitcast),
        ("%r = OpPtrEqual %bool2 %nv %nv", 4, Op::PtrEqual),
        ("%r = OpSelect %v %unknown %nv %nv", 6, Op::Select),
    ] {
        let expected = [&vec![Extract; extracts][..], &[op, op, Construct, Op::Return]].concat();
        assert_eq!(ops(body), [expected], "{body}");
    }
    let composites = "%x = OpCompositeExtract %p %nv 1\n%y = OpCompositeConstruct %v %x %x\n\
        %z = OpVectorShuffle %v %y %nv 0 3\n%w = OpVectorExtractDynamic %p %z %u1\n%s = OpSelect %v %true %z %y";
    assert_eq!(ops(composites)[0].len(), 6);
}

#[test]
fn what_compilers_guess_of_pointees_is_cast() {
    let gather = ops("%r = OpMaskedGatherINTEL %uint2 %nvf 4 %both %n2");
    assert_eq!(gather[0].iter().filter(|op| **op == Op::Bitcast).count(), 2);
}

#[test]
fn accesses_of_other_shapes_are_refused() {
    for (body, rule) in [
        ("%r = OpMaskedGatherINTEL %uint2 %np 4 %both %n2", "types.masked-access"),
        ("%r = OpMaskedGatherINTEL %uint4 %nv 4 %both %n2", "types.masked-access"),
        ("%r = OpMaskedGatherINTEL %uint2 %nv 3 %both %n2", "types.masked-access"),
        ("%r = OpMaskedGatherINTEL %uint2 %nv 4 %both %u1", "types.masked-access"),
        ("%r = OpMaskedGatherINTEL %uint2 %nv 4 %n2 %n2", "types.masked-access"),
        ("OpMaskedScatterINTEL %u1 %nv 4 %both", "types.masked-access"),
        ("%r = OpPtrAccessChain %p %nv %ul1", "types.masked-access"),
        ("%r = OpPtrAccessChain %v %nv %f1", "types.operands"),
    ] {
        let error = build_text(&text(body)).expect_err(body);
        assert_eq!(error.diagnostics[0].rule, rule, "{body}: {error}");
    }
    let undeclared = text("").replace("OpCapability MaskedGatherScatterINTEL\n", "");
    assert_eq!(build_text(&undeclared).unwrap_err().diagnostics[0].rule, "types.well-formed");
}

/// A module that declares the capability, of which the assembler knows no name.
fn predicated(body: &str, declared: bool) -> Result<Module, String> {
    let types = "%p = OpTypePointer CrossWorkgroup %uint\n%np = OpConstantNull %p\n%unknown = OpUndef %bool";
    let extension = "OpExtension \"SPV_INTEL_predicated_io\"\n%std = ";
    let mut bytes = assemble(&kernel(types, body).replacen("%std = ", extension, 1));
    if declared {
        const HEADER: usize = 20;
        let words = [2 << 16 | Op::Capability as u32, CapabilityId::PREDICATED_IO_INTEL.0];
        let declaration: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.splice(HEADER..HEADER, declaration);
    }
    let profile = DeviceProfile::host();
    build(&[ModuleInput::new(&bytes)], &Environment::new(&profile))
        .map_err(|error| error.diagnostics[0].rule.to_owned())
}

#[test]
fn predicated_accesses_are_behind_branches() {
    let body =
        "%r = OpPredicatedLoadINTEL %uint %np %unknown %u1 2 4\nOpPredicatedStoreINTEL %np %r %unknown";
    assert_eq!(predicated(body, true).unwrap().functions[0].blocks.len(), 5);
    assert_eq!(predicated(body, false).unwrap_err(), "types.masked-access");
    let wrong = "%r = OpPredicatedLoadINTEL %uint %np %unknown %f1";
    assert_eq!(predicated(wrong, true).unwrap_err(), "types.masked-access");
    let wrong = "%r = OpPredicatedLoadINTEL %uint %np %u1 %u1";
    assert_eq!(predicated(wrong, true).unwrap_err(), "types.operands");
}
