//! Parts of runs, by every operation that makes one, and where sub-groups begin in every mapping.

use super::super::testing::{VARIANT, of_last};
use super::*;
use crate::abi::{Ids, RowLengths, Variant};

/// The shape of the last instruction, with the global id as `%x`, its low 32 bits as `%i`, and the local id as `%l`.
fn shape_of(variant: Variant, body: &str) -> Shape {
    let ids = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
               %locals = OpLoad %ulong3 %LocalInvocationId\n%l = OpCompositeExtract %ulong %locals 0\n%i = OpUConvert %uint %x";
    of_last(&format!("{ids}\n{body}"), variant, |analysis, inst| {
        analysis.shape_at_definition(inst.result.expect("a result"))[0]
    })
}

fn shape(body: &str) -> Shape {
    shape_of(VARIANT, body)
}

#[test]
fn quotients_and_high_bits_of_a_run_are_uniform() {
    for body in [
        "OpUDiv %ulong %x %ulong_16",
        "OpUDiv %uint %i %uint_16",
        "OpSDiv %uint %i %uint_32",
        "OpShiftRightLogical %ulong %x %ulong_4",
        "OpShiftRightArithmetic %uint %i %uint_5",
        "OpUDiv %uint %i %uint_64",
    ] {
        assert_eq!(shape(body), Shape::Uniform, "{body}");
    }
    // Two blocks, or parts of blocks, for some sub-groups.
    for body in [
        "OpUDiv %ulong %x %ulong_8",
        "OpUDiv %ulong %x %ulong_24",
        "OpUDiv %ulong %x %any_ulong",
        "OpShiftRightLogical %ulong %x %ulong_3",
    ] {
        assert_eq!(shape(body), Shape::Varying, "{body}");
    }
}

#[test]
fn remainders_and_low_bits_of_a_run_keep_its_step() {
    for body in [
        "OpUMod %ulong %x %ulong_16",
        "OpSRem %uint %i %uint_64",
        "OpSMod %uint %i %uint_16",
        "OpBitwiseAnd %ulong %x %ulong_63",
        "OpBitwiseAnd %uint %i %uint_31",
    ] {
        assert_eq!(shape(body), Shape::Strided(1), "{body}");
    }
    assert_eq!(shape("OpUMod %ulong %x %ulong_24"), Shape::Varying);
    assert_eq!(shape("OpBitwiseAnd %ulong %x %ulong_7"), Shape::Varying);
    let high = "%mask = OpNot %ulong %ulong_0\n%x32 = OpShiftLeftLogical %ulong %x %ulong_5\n";
    assert_eq!(shape(&format!("{high}OpBitwiseAnd %ulong %x %ulong_32")), Shape::Uniform);
}

#[test]
fn a_run_of_larger_steps_takes_larger_blocks() {
    let times = "%y = OpIMul %ulong %x %ulong_4\n";
    assert_eq!(shape(&format!("{times}OpUDiv %ulong %y %ulong_64")), Shape::Uniform);
    assert_eq!(shape(&format!("{times}OpUMod %ulong %y %ulong_64")), Shape::Strided(4));
    assert_eq!(shape(&format!("{times}OpUDiv %ulong %y %ulong_32")), Shape::Varying);
    // What is added moves where it begins.
    let moved = |by: u64| format!("%y = OpIAdd %ulong %x %ulong_{by}\nOpUDiv %ulong %y %ulong_16");
    assert_eq!(shape(&moved(32)), Shape::Uniform);
    assert_eq!(shape(&moved(8)), Shape::Varying);
}

#[test]
fn quotients_of_what_may_be_negative_are_not_known() {
    let negative = "%y = OpISub %uint %i %uint_64\n";
    assert_eq!(shape(&format!("{negative}OpSDiv %uint %y %uint_16")), Shape::Varying);
    assert_eq!(shape(&format!("{negative}OpShiftRightArithmetic %uint %y %uint_4")), Shape::Uniform);
}

#[test]
fn sub_groups_begin_at_multiples_where_rows_are_full() {
    let by_id = "OpUDiv %ulong %x %ulong_16";
    let by_local = "OpUDiv %ulong %l %ulong_16";
    assert_eq!(shape(by_local), Shape::Uniform);
    let odd = Variant { ids: Ids { odd: true, ..Ids::SMALL }, ..VARIANT };
    assert_eq!(shape_of(odd, by_id), Shape::Varying);
    assert_eq!(shape_of(odd, by_local), Shape::Uniform);
    let without = "%offsets = OpLoad %ulong3 %GlobalOffset\n%offset = OpCompositeExtract %ulong %offsets 0\n\
                   %y = OpISub %ulong %x %offset\nOpUDiv %ulong %y %ulong_16";
    assert_eq!(shape_of(odd, without), Shape::Uniform);
    let line = Variant { mapping: LaneMapping::Line, ..VARIANT };
    assert_eq!(shape_of(line, by_id), Shape::Varying);
    assert_eq!(shape_of(line, by_local), Shape::Uniform);
    let any = Variant { mapping: LaneMapping::Any, ..VARIANT };
    assert_eq!(shape_of(any, by_local), Shape::Varying);
    let index = "%n = OpLoad %ulong %LocalInvocationIndex\nOpUDiv %ulong %n %ulong_16";
    assert_eq!(shape_of(any, index), Shape::Uniform);
}

#[test]
fn divisors_may_be_sizes_of_rows() {
    let by = |builtin: &str| {
        format!(
            "%sizes = OpLoad %ulong3 %{builtin}\n%size = OpCompositeExtract %ulong %sizes 0\nOpUDiv %ulong %x %size"
        )
    };
    assert_eq!(shape(&by("WorkgroupSize")), Shape::Uniform);
    assert_eq!(shape(&by("GlobalSize")), Shape::Uniform);
    assert_eq!(shape(&by("NumWorkgroups")), Shape::Varying);
}

#[test]
fn no_lane_of_a_run_wraps_around() {
    // Of 16 bits whose upper ones are anything.
    let sum = "%s = OpUConvert %ushort %x\n%far = OpShiftLeftLogical %ushort %any_ushort %ushort_4\n%y = OpIAdd %ushort %s %far\n";
    assert_eq!(shape(&format!("{sum}OpSConvert %ulong %y")), Shape::Strided(1));
    assert_eq!(
        shape(&format!("{sum}%z = OpSConvert %ulong %y\nOpShiftRightArithmetic %ulong %z %ulong_4")),
        Shape::Uniform
    );
}

#[test]
fn divisors_may_be_arguments_that_are_multiples() {
    let with = |of: u8, zeros: u8| {
        let rows = RowLengths { of, zeros };
        Variant { ids: Ids { rows, ..Ids::SMALL }, ..VARIANT }
    };
    let known = with(0xff, 4);
    for (body, shape) in [
        ("OpUDiv %ulong %x %any_ulong", Shape::Uniform),
        ("OpUMod %ulong %x %any_ulong", Shape::Strided(1)),
        ("OpSDiv %uint %i %any_uint", Shape::Uniform),
        ("OpSRem %uint %i %any_uint", Shape::Strided(1)),
        ("%wide = OpSConvert %ulong %any_uint\nOpSDiv %ulong %x %wide", Shape::Uniform),
        ("%wide = OpUConvert %ulong %any_uint\nOpUMod %ulong %x %wide", Shape::Strided(1)),
        (
            "%row = OpUDiv %uint %i %any_uint\n%begin = OpIMul %uint %row %any_uint\nOpISub %uint %i %begin",
            Shape::Strided(1),
        ),
    ] {
        assert_eq!(shape_of(known, body), shape, "{body}");
        assert_eq!(shape_of(VARIANT, body), Shape::Varying, "{body}");
        assert_eq!(shape_of(with(0xff, 3), body), Shape::Varying, "{body}, half of the lanes");
    }
    let area = "%area = OpIMul %uint %any_uint %uint_3\n";
    assert_eq!(shape_of(known, &format!("{area}OpSDiv %uint %i %area")), Shape::Uniform);
    assert_eq!(shape_of(known, &format!("{area}OpSRem %uint %i %area")), Shape::Strided(1));
    // Of what is cut off, nothing says that it is positive.
    let cut = |op: &str| format!("%low = OpUConvert %uint %any_ulong\n{op} %uint %i %low");
    assert_eq!(shape_of(known, &cut("OpSRem")), Shape::Strided(1));
    assert_eq!(shape_of(known, &cut("OpSMod")), Shape::Varying);
    let sum = "%more = OpIAdd %ulong %any_ulong %ulong_1\nOpUDiv %ulong %x %more";
    assert_eq!(shape_of(known, sum), Shape::Varying);
}
