//! Values that go through memory: what they take of it, and what is refused.

use crate::test_support::{assert_accepted, assert_rejected, build_text, kernel};

const BYTES: u64 = 4 * 5000;
const TYPES: &str = "%n = OpConstant %uint 5000\n%arr = OpTypeArray %uint %n\n%pa = OpTypePointer CrossWorkgroup %arr\n\
        %var = OpVariable %pa CrossWorkgroup\n%zeros = OpConstantNull %arr\n%tail = OpTypeStruct %arr %uchar\n\
        %other = OpTypeStruct %arr %uchar\n%bits = OpTypeStruct %uchar %arr\n%packed = OpTypeStruct %uchar %arr\n\
        %pt = OpTypePointer CrossWorkgroup %tail\n%vt = OpVariable %pt CrossWorkgroup\n\
        %pb = OpTypePointer CrossWorkgroup %bits\n%vb = OpVariable %pb CrossWorkgroup";

fn private_bytes(body: &str) -> u64 {
    let text = kernel(TYPES, body);
    let module = build_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for inst in module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.insts) {
        assert!(inst.ty.is_none_or(|ty| module.types.layout(ty).size < BYTES), "{inst:?}");
    }
    module.kernels[0].private_size
}

#[test]
fn insertions_in_a_row_take_one_variable() {
    let chain: String = (1..100)
        .map(|at| format!("%v{at} = OpCompositeInsert %arr %u{} %v{} {at}\n", at % 6, at - 1))
        .collect();
    let body = format!("%v0 = OpLoad %arr %var\n{chain}OpStore %var %v99");
    assert_eq!(private_bytes(&body), BYTES);
    // A value that is used again stays what it is.
    assert_eq!(private_bytes(&format!("{body}\n%r = OpCompositeExtract %uint %v50 3")), 2 * BYTES);
}

#[test]
fn values_of_one_block_share_memory() {
    let pairs: String = (0..50)
        .map(|at| format!("%v{at} = OpLoad %arr %var\n%r{at} = OpCompositeExtract %uint %v{at} 7\n"))
        .collect();
    assert_eq!(private_bytes(&pairs), BYTES);
    let across = format!("{pairs}OpBranch %next\n%next = OpLabel\n%r = OpCompositeExtract %uint %v3 7");
    assert_eq!(private_bytes(&across), 2 * BYTES);
}

#[test]
fn what_may_be_anything_and_constants_take_no_private_memory() {
    assert_eq!(private_bytes("%v = OpUndef %arr\nOpStore %var %v\n%r = OpCompositeExtract %uint %v 7"), 0);
    assert_eq!(private_bytes("%r = OpCompositeExtract %uint %zeros 7\nOpStore %var %zeros"), 0);
}

#[test]
fn large_values_are_copied_to_types_of_their_layout_only() {
    let text = |decorations: &str, body: &str| {
        kernel(TYPES, body).replacen("%void = ", &format!("{decorations}\n%void = "), 1)
    };
    let copy =
        |from: &str, to: &str, ty: &str| format!("%v = OpLoad %{ty} %{from}\n%r = OpCopyLogical %{to} %v");
    assert_accepted(&text("", &copy("vt", "other", "tail")));
    assert_rejected(&text("OpDecorate %packed CPacked", &copy("vb", "packed", "bits")), "types.operands");
}

#[test]
fn values_beyond_private_memory_are_refused_by_their_instruction() {
    let types = "%n = OpConstant %uint 262145\n%arr = OpTypeArray %uint %n\n%pa = OpTypePointer CrossWorkgroup %arr\n\
            %var = OpVariable %pa CrossWorkgroup";
    let text = kernel(types, "%v = OpLoad %arr %var");
    let error = build_text(&text).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("OpLoad") && error.contains("1048580 bytes"), "{error}");
}
