use super::super::testing::{VARIANT, of_last};
use super::Packing;
use crate::abi::{LaneMapping, Variant};

/// The global id, and two `uint2` of each work-item.
const VALUES: &str = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
    %a = OpExtInst %uint2 %std vloadn %x %pointer 2\n\
    %next = OpIAdd %ulong %x %ulong_1\n%b = OpExtInst %uint2 %std vloadn %next %pointer 2\n";

/// How the vectors of a kernel that stores `%result` are held, if they are packed.
fn packings_under(variant: Variant, body: &str) -> Vec<Packing> {
    let store = "%stored = OpExtInst %void %std vstoren %result %x %pointer";
    of_last(&format!("{VALUES}{body}\n{store}\nOpCopyObject %ulong %x"), variant, |analysis, _| {
        analysis.packed().values().copied().collect()
    })
}

fn packed(body: &str) -> usize {
    packings_under(VARIANT, body).len()
}

#[test]
fn what_is_done_to_all_components_is_packed() {
    let all = packings_under(VARIANT, "%sum = OpIAdd %uint2 %a %b\n%result = OpNot %uint2 %sum");
    assert_eq!(all, [Packing { components: 2, lanes: 16, registers: 2 }; 4]);
    // A register has room for the vectors of all work-items.
    let four = Variant { width: 4, ..VARIANT };
    let all = packings_under(four, "%result = OpIAdd %uint2 %a %b");
    assert_eq!(all, [Packing { components: 2, lanes: 8, registers: 1 }; 3]);
}

#[test]
fn registers_are_full_of_the_smallest_components() {
    let narrow = "%narrow = OpUConvert %ushort2 %a\n%wide = OpUConvert %uint2 %narrow\n";
    let all = packings_under(VARIANT, &format!("{narrow}%result = OpIAdd %uint2 %wide %b"));
    assert_eq!(all, [Packing { components: 2, lanes: 32, registers: 1 }; 5]);
}

#[test]
fn vectors_of_one_work_item_are_registers() {
    let alone = Variant { width: 1, ..VARIANT };
    let all = packings_under(alone, "%sum = OpIAdd %uint2 %a %b\n%result = OpNot %uint2 %sum");
    assert_eq!(all, [Packing { components: 2, lanes: 2, registers: 1 }; 4]);
    let parts = "%first = OpCompositeExtract %uint %a 0\n%second = OpCompositeExtract %uint %b 1\n\
        %sum = OpIMul %uint %first %second\n";
    let apart = format!("{parts}%result = OpCompositeConstruct %uint2 %sum %first");
    assert!(packings_under(alone, &apart).is_empty(), "its components are computed with");
    let iterations = Variant { mapping: LaneMapping::Iterations, ..alone };
    assert!(packings_under(iterations, "%result = OpIAdd %uint2 %a %b").is_empty());
}

/// Three have room for four, of which the last is behind them.
#[test]
fn what_is_behind_three_is_nobodys() {
    let three = Packing::new(3, 1, 0);
    assert_eq!(three, Packing { components: 3, lanes: 4, registers: 1 });
    assert_eq!([0, 2, 3].map(|lane| three.at(0, lane)), [(0, 0), (0, 2), (0, 2)]);
    assert_eq!([2, 3].map(|lane| three.is_behind(0, lane)), [false, true]);
    let of_lanes = Packing::new(3, 16, 16);
    assert!((0..16).all(|lane| !of_lanes.is_behind(2, lane)));
}

#[test]
fn components_that_meet_are_lanes() {
    let parts = "%first = OpCompositeExtract %uint %a 0\n%second = OpCompositeExtract %uint %b 1\n\
        %sum = OpIMul %uint %first %second\n";
    assert_eq!(packed(&format!("{parts}%result = OpCompositeConstruct %uint2 %sum %first")), 0);
}

#[test]
fn shuffles_and_casts_keep_what_is_packed() {
    assert_eq!(packed("%turned = OpVectorShuffle %uint2 %a %b 1 2\n%result = OpIAdd %uint2 %turned %b"), 4);
    let cast = "%bits = OpBitcast %ulong %a\n%more = OpIAdd %ulong %bits %any_ulong\n";
    assert_eq!(packed(&format!("{cast}%back = OpBitcast %uint2 %more\n%result = OpIAdd %uint2 %back %b")), 4);
}

/// A vector that has an id as a component is held by lanes, and turned for others where that is less than what those save.
#[test]
fn what_lanes_have_is_turned_where_that_pays() {
    let number = "%i = OpUConvert %uint %x\n%own = OpCompositeInsert %uint2 %i %a 0\n";
    assert_eq!(packed(&format!("{number}%result = OpIMul %uint2 %own %b")), 2);
    assert_eq!(
        packed(&format!("{number}%result = OpIMul %uint2 %own %own\n%other = OpIAdd %uint2 %own %b")),
        0
    );
}
