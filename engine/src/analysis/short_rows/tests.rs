//! What has a step in rows of half a sub-group.

use super::super::testing::{VARIANT, of_last};
use super::*;
use crate::analysis::func::ENTRY;

const HALVES: Variant = Variant { mapping: LaneMapping::Halves, ..VARIANT };

/// The local ids, and their low 32 bits, of which `%x` is the place in the row and `%y` the same in all of it.
const VALUES: &str = "%ids = OpLoad %ulong3 %LocalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
    %y = OpCompositeExtract %ulong %ids 1\n%i = OpUConvert %uint %x\n%j = OpUConvert %uint %y\n\
    %lane = OpLoad %uint %SubgroupLocalInvocationId\n";

/// The step of the address of element `%index` in a row.
fn step(body: &str) -> Option<(i64, Trust)> {
    let body = format!("{VALUES}{body}\nOpPtrAccessChain %to_uint %pointer %index");
    of_last(&body, HALVES, |analysis, inst| {
        let pointer = inst.result.expect("a result");
        let found = analysis.step_in_short_rows(ENTRY, pointer);
        found.map(|(lanes, step, trust)| {
            assert_eq!(lanes, 8);
            (step, trust)
        })
    })
}

#[test]
fn ids_and_what_is_made_of_them_have_steps_in_rows() {
    let proven = |step| Some((step, Trust::Proven));
    assert_eq!(step("%index = OpCopyObject %ulong %x"), proven(4));
    assert_eq!(step("%index = OpCopyObject %ulong %y"), proven(0));
    assert_eq!(step("%index = OpCopyObject %uint %lane"), proven(4));
    let row = "%row = OpIMul %ulong %y %any_ulong\n";
    assert_eq!(step(&format!("{row}%index = OpIAdd %ulong %row %x")), proven(4));
    assert_eq!(
        step(&format!("{row}%back = OpISub %ulong %row %x\n%index = OpCopyObject %ulong %back")),
        proven(-4)
    );
    assert_eq!(step("%index = OpIMul %ulong %x %any_ulong"), None);
    let far = "%far = OpIMul %uint %i %uint_16\n";
    assert_eq!(step(&format!("{far}%index = OpUDiv %uint %far %uint_8")), proven(8));
    assert_eq!(step(&format!("{far}%index = OpSDiv %uint %far %uint_8")), proven(8));
    assert_eq!(step(&format!("{far}%index = OpUDiv %uint %far %uint_12")), None);
    assert_eq!(
        step(&format!("{far}%sum = OpIAdd %uint %far %any_uint\n%index = OpUDiv %uint %sum %uint_8")),
        None
    );
}

#[test]
fn a_row_whose_index_may_wrap_around_is_looked_at() {
    let sum = "%rows = OpIMul %uint %j %any_uint\n%sum = OpIAdd %uint %rows %i\n";
    assert_eq!(step(&format!("{sum}%index = OpUConvert %ulong %sum")), Some((4, Trust::LastLane)));
    assert_eq!(step(&format!("{sum}%index = OpSConvert %ulong %sum")), Some((4, Trust::Addresses)));
}

#[test]
fn what_is_loaded_is_the_same_in_a_row_if_its_address_is() {
    let load = |of: &str, how: &str| {
        let load =
            format!("%at = OpPtrAccessChain %to_uint %pointer {of}\n%loaded = OpLoad %uint %at{how}\n");
        step(&format!("{load}%index = OpIAdd %uint %loaded %i"))
    };
    assert_eq!(load("%y", ""), Some((4, Trust::Addresses)));
    assert_eq!(load("%x", ""), None);
    assert_eq!(load("%y", " Volatile"), None, "lanes may load at different times");
}

#[test]
fn what_looks_beyond_the_row_is_no_more_alike_in_it() {
    let sum = |operation: &str| {
        let sum = format!("%sum = OpGroupIAdd %uint %uint_3 {operation} %j\n");
        step(&format!("{sum}%index = OpIAdd %uint %sum %i"))
    };
    assert_eq!(sum("Reduce"), Some((4, Trust::Addresses)));
    assert_eq!(sum("InclusiveScan"), None);
    let shuffled = |value: &str, lane: &str| {
        let taken = format!("%taken = OpSubgroupShuffleINTEL %uint {value} {lane}\n");
        step(&format!("{taken}%index = OpIAdd %uint %taken %i"))
    };
    assert_eq!(shuffled("%j", "%lane"), None, "lanes of a row may take from two rows");
    assert_eq!(shuffled("%j", "%uint_3"), Some((4, Trust::Addresses)), "all take from one lane");
}

#[test]
fn what_is_the_same_on_both_ways_of_a_row_is_so_behind_them() {
    // All lanes of a row go the same way.
    let body = format!(
        "{VALUES}%first = OpIEqual %bool %j %uint_0
         OpBranchConditional %first %one %join
         %one = OpLabel
         %other = OpIAdd %ulong %x %any_ulong
         OpBranch %join
         %join = OpLabel
         %index = OpPhi %ulong %x %entry %other %one
         %at = OpPtrAccessChain %to_uint %pointer %index"
    );
    let found = super::super::testing::of_blocks(&body, HALVES, |analysis| {
        let (block, inst) = analysis
            .func
            .block_ids()
            .flat_map(|block| analysis.func.blocks[block].insts.iter().map(move |inst| (block, inst)))
            .last()
            .expect("there are instructions");
        analysis.step_in_short_rows(block, inst.result.expect("a pointer"))
    });
    assert_eq!(found, Some((8, 4, Trust::Proven)));
}
