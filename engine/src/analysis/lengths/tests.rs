//! How long loops are said to be.

use super::super::testing::{VARIANT, a_loop, of_blocks};
use super::Length;

/// Of a loop of a counter that begins and goes on so, while a condition holds.
fn length(before: &str, first: &str, next: &str, condition: &str) -> Option<Length> {
    let phi = format!("%n = OpPhi %uint {first} %entry %next %inside");
    let looped = a_loop(&phi, condition, &format!("%next = {next}"));
    let body = format!(
        "%ids = OpLoad %ulong3 %GlobalInvocationId
         %x = OpCompositeExtract %ulong %ids 0
         %item = OpUConvert %uint %x
         %own = OpIMul %uint %item %any_uint
         {before}
         {looped}"
    );
    of_blocks(&body, VARIANT, |analysis| {
        analysis.length(analysis.loops.loops.iter().next().expect("a loop").0)
    })
}

const UP: &str = "OpIAdd %uint %n %uint_1";
/// The place of `%any_uint`.
const ANY_UINT: Option<Length> = Some(Length::Parameter(2));

#[test]
fn a_loop_is_as_long_as_it_is_from_where_it_begins_to_where_it_ends() {
    assert_eq!(length("", "%uint_0", UP, "%more = OpULessThan %bool %n %any_uint"), ANY_UINT);
    assert_eq!(length("", "%uint_0", UP, "%more = OpSGreaterThan %bool %any_uint %n"), ANY_UINT);
    assert_eq!(
        length("", "%uint_4", UP, "%more = OpULessThan %bool %n %uint_64"),
        Some(Length::Constant(60))
    );
    let end = "%end = OpIAdd %uint %own %any_uint";
    assert_eq!(length(end, "%own", UP, "%more = OpSLessThan %bool %n %end"), ANY_UINT);
    assert_eq!(length("", "%own", UP, "%more = OpSLessThan %bool %n %any_uint"), None);
    // Downwards.
    let down = "OpISub %uint %n %uint_1";
    assert_eq!(
        length("", "%any_uint", "OpIAdd %uint %n %uint_minus_1", "%more = OpINotEqual %bool %n %uint_0"),
        ANY_UINT
    );
    assert_eq!(length("", "%any_uint", down, "%more = OpINotEqual %bool %n %uint_0"), None);
    // Each second one.
    assert_eq!(
        length("", "%uint_0", "OpIAdd %uint %n %uint_2", "%more = OpULessThan %bool %n %any_uint"),
        None
    );
}

#[test]
fn a_loop_that_looks_for_its_end_behind_an_iteration_has_one_before() {
    let length = |counter: &str, last: &str| {
        let body = format!(
            "OpBranch %head\n%head = OpLabel\n%n = OpPhi %uint %uint_0 %entry %next %head\n%next = {UP}\n\
             %more = OpULessThan %bool {counter} {last}\nOpBranchConditional %more %head %exit\n%exit = OpLabel"
        );
        of_blocks(&body, VARIANT, |analysis| {
            analysis.length(analysis.loops.loops.keys().next().expect("a loop"))
        })
    };
    assert_eq!(length("%next", "%uint_4"), Some(Length::Constant(4)));
    assert_eq!(length("%n", "%uint_4"), Some(Length::Constant(5)));
}

#[test]
fn one_of_several_conditions_is_enough() {
    let both = |op: &str| {
        format!(
            "%piece = OpSLessThan %bool %n %end\n%low = OpUConvert %uint %any_ulong\n\
             %text = OpSLessThan %bool %n %low\n%more = {op}"
        )
    };
    let end = "%end = OpIAdd %uint %own %any_uint";
    assert_eq!(length(end, "%own", UP, &both("OpLogicalAnd %bool %piece %text")), ANY_UINT);
    assert_eq!(length(end, "%own", UP, &both("OpLogicalAnd %bool %text %piece")), ANY_UINT);
    assert_eq!(length(end, "%own", UP, &both("OpIEqual %bool %own %own")), None);
}
