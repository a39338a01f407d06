use super::super::testing::{VARIANT, of_last};
use crate::abi::{LaneMapping, Variant};

/// The global id of 64 bits, its low 32, and what is loaded from memory by it.
const VALUES: &str = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
    %i = OpUConvert %uint %x\n%mine = OpPtrAccessChain %to_uint %pointer %x\n%data = OpLoad %uint %mine\n";

fn may_be_row_under(variant: Variant, body: &str) -> bool {
    let body = format!("{VALUES}{body}\nOpPtrAccessChain %to_uint %pointer %index");
    of_last(&body, variant, |analysis, inst| {
        analysis.may_be_row(crate::analysis::func::ENTRY, inst.result.expect("a result"))
    })
}

fn may_be_row(body: &str) -> bool {
    may_be_row_under(VARIANT, body)
}

#[test]
fn arithmetic_with_ids_and_arguments_may_make_rows() {
    assert!(may_be_row("%index = OpUMod %uint %i %any_uint"));
    assert!(may_be_row("%index = OpSDiv %uint %i %uint_12"));
    assert!(may_be_row("%index = OpIMul %ulong %x %any_ulong"));
    assert!(may_be_row("%less = OpULessThan %bool %i %uint_8\n%index = OpSelect %uint %less %uint_8 %i"));
    assert!(may_be_row("%square = OpIMul %ulong %x %x\n%index = OpIAdd %ulong %square %x"));
}

#[test]
fn what_depends_on_memory_is_not_taken_for_a_row() {
    assert!(!may_be_row("%index = OpIAdd %uint %i %data"));
    assert!(!may_be_row("%own = OpULessThan %bool %data %uint_8\n%index = OpSelect %uint %own %uint_8 %i"));
}

/// Their distances are rounded.
#[test]
fn what_comes_of_floating_point_numbers_is_not_taken_for_a_row() {
    assert!(!may_be_row("%f = OpConvertUToF %float %i\n%index = OpConvertFToU %uint %f"));
}

#[test]
fn work_items_that_are_no_rows_themselves_address_none() {
    let any = Variant { mapping: LaneMapping::Any, ..VARIANT };
    assert!(!may_be_row_under(any, "%index = OpUMod %uint %i %any_uint"));
}

#[test]
fn what_lies_further_apart_than_its_elements_is_not_taken_for_a_row() {
    let remainder = "%rest = OpUMod %uint %i %any_uint\n";
    let is_row = |index: &str| may_be_row(&format!("{remainder}{index}"));
    assert!(is_row("%index = OpCopyObject %uint %rest"));
    assert!(!is_row("%index = OpIMul %uint %rest %uint_8"));
    assert!(!is_row("%index = OpBitwiseAnd %uint %rest %uint_8"));
    assert!(!is_row("%places = OpIMul %uint %rest %uint_8\n%index = OpIAdd %uint %places %any_uint"));
    assert!(is_row("%places = OpIMul %uint %rest %uint_8\n%index = OpIAdd %uint %places %rest"));
    assert!(!is_row("%places = OpIMul %uint %rest %uint_8\n%index = OpUConvert %ulong %places"));
    assert!(is_row("%places = OpIMul %uint %rest %any_uint\n%index = OpUConvert %ulong %places"));
}
