//! Which loops are walks, and what their values go on by.

use super::super::lengths::Length;
use super::super::testing::{VARIANT, counted_loop, of_blocks};
use super::Walk;

/// A loop of `%any_uint` iterations that counts in `%n`, with these phis beside that and these instructions.
fn looped(before: &str, phis: &str, body: &str) -> String {
    let looped = counted_loop(phis, body);
    format!(
        "%ids = OpLoad %ulong3 %GlobalInvocationId
         %x = OpCompositeExtract %ulong %ids 0
         %item = OpUConvert %uint %x
         %own = OpIMul %uint %item %any_uint
         {before}
         {looped}"
    )
}

fn walks(before: &str, phis: &str, body: &str) -> bool {
    of_blocks(&looped(before, phis, body), VARIANT, |analysis| analysis.walks().is_some())
}

/// A load of the element with an index of 32 bits, and what is before it.
fn load_of(index: &str) -> String {
    format!(
        "{index}\n%wide = OpSConvert %ulong %i\n%at = OpInBoundsPtrAccessChain %to_uint %pointer %wide\n%v = OpLoad %uint %at"
    )
}

#[test]
fn a_work_item_walks_where_the_next_element_is_its_own_and_the_next_item_is_far() {
    assert!(walks("", "", &load_of("%i = OpIAdd %uint %own %n")));
    // Rows of a known length.
    assert!(walks("%row = OpIMul %uint %item %uint_64", "", &load_of("%i = OpIAdd %uint %row %n")));
    // Rows of four elements, and work-items beside each other.
    assert!(!walks("%row = OpIMul %uint %item %uint_4", "", &load_of("%i = OpIAdd %uint %row %n")));
    assert!(!walks("", "", &load_of("%i = OpIAdd %uint %item %n")));
    // Each second element, and a column.
    assert!(!walks("", "", &load_of("%twice = OpIMul %uint %n %uint_2\n%i = OpIAdd %uint %own %twice")));
    assert!(!walks("", "", &load_of("%line = OpIMul %uint %n %any_uint\n%i = OpIAdd %uint %line %item")));
    // Neighbours, most likely.
    assert!(!walks("", "", &load_of("%rest = OpUMod %uint %item %any_uint\n%i = OpIAdd %uint %rest %n")));
    // What all have.
    assert!(!walks("", "", &load_of("%i = OpIAdd %uint %any_uint %n")));
}

#[test]
fn a_loop_that_does_what_iterations_cannot_do_at_once_is_no_walk() {
    let load = load_of("%i = OpIAdd %uint %own %n");
    let with = |more: &str| walks("", "", &format!("{load}\n{more}"));
    assert!(with("%w = OpIAdd %uint %v %v"));
    assert!(!with("%w = OpUDiv %uint %v %any_uint"));
    assert!(!with("%w = OpAtomicIIncrement %uint %pointer %uint_1 %uint_0"));
    assert!(!with("%w = OpLoad %uint %at Volatile"));
    assert!(!walks(
        "",
        "%sum = OpPhi %float %any_float %entry %added %inside",
        &format!("{load}\n%f = OpConvertUToF %float %v\n%added = OpFAdd %float %sum %f")
    ));
    assert!(walks(
        "",
        "%sum = OpPhi %uint %uint_0 %entry %added %inside",
        &format!("{load}\n%added = OpIAdd %uint %sum %v")
    ));
    // What each iteration makes of what the one before it made: sums, but not hashes.
    let goes_on =
        |by: &str| walks("", "%sum = OpPhi %uint %uint_0 %entry %made %inside", &format!("{load}\n{by}"));
    assert!(goes_on("%once = OpBitwiseXor %uint %sum %v\n%made = OpBitwiseXor %uint %once %n"));
    assert!(goes_on("%less = OpISub %uint %sum %v\n%made = OpIAdd %uint %less %n"));
    assert!(goes_on(
        "%is = OpIEqual %bool %v %n\n%greater = OpIAdd %uint %sum %v\n%made = OpSelect %uint %is %greater %sum"
    ));
    assert!(goes_on("%made = OpIMul %uint %v %n"), "it is the last one's");
    assert!(!goes_on("%mixed = OpBitwiseXor %uint %sum %v\n%made = OpIMul %uint %mixed %uint_3"));
    assert!(!goes_on("%up = OpShiftLeftLogical %uint %sum %uint_1\n%made = OpIAdd %uint %up %v"));
    assert!(!goes_on("%made = OpIAdd %uint %sum %sum"));
    assert!(!goes_on("%is = OpIEqual %bool %sum %v\n%made = OpSelect %uint %is %n %v"));
    // No memory at all.
    assert!(!walks("", "", "%w = OpIAdd %uint %n %n"));
}

#[test]
fn from_half_a_vector_of_the_smallest_elements_on_iterations_promise_more() {
    let walks = |before: &str, body: &str, end: &str| {
        let body = looped(before, "", body).replace("%n %any_uint\n", &format!("%n {end}\n"));
        of_blocks(&body, VARIANT, |analysis| analysis.walks().expect("it walks"))
    };
    let load = load_of("%i = OpIAdd %uint %own %n");
    let parameter = Length::Parameter(2);
    assert_eq!(walks("", &load, "%any_uint"), [Walk { length: parameter, least: 8 }]);
    assert_eq!(walks("", &load, "%uint_64"), [Walk { length: Length::Constant(64), least: 8 }]);
}

#[test]
fn values_go_on_by_what_the_counters_behind_them_do() {
    let step = |phis: &str, body: &str, id: &str| {
        let body = format!("{body}\n%last = OpIAdd %uint {id} %uint_0");
        of_blocks(&looped("%later = OpIAdd %uint %own %uint_3", phis, &body), VARIANT, |analysis| {
            let (inside, this) = analysis.loops.loops.iter().next().expect("a loop");
            let insts = this.blocks.iter().flat_map(|block| &analysis.func.blocks[*block].insts);
            let sums = insts.filter(|inst| inst.op == spirv::Op::IAdd);
            let last = sums.filter(|inst| analysis.func.constant_int(inst.id(1)) == Some(0)).last();
            analysis.iteration_step(inside, last.expect("the last one").id(0))
        })
    };
    assert_eq!(step("", "", "%n"), Some(1));
    assert_eq!(step("", "%i = OpISub %uint %own %n", "%i"), Some(-1));
    assert_eq!(step("", "%i = OpShiftLeftLogical %uint %n %uint_3", "%i"), Some(8));
    assert_eq!(step("", "%i = OpIMul %uint %n %n", "%i"), None);
    assert_eq!(step("", "", "%own"), Some(0));
    // A counter that runs ahead of another one by three, and one that does not begin where it would have been.
    let ahead = |first: &str| {
        let phis =
            format!("%p = OpPhi %uint %own %entry %p1 %inside\n%q = OpPhi %uint {first} %entry %q1 %inside");
        step(&phis, "%p1 = OpIAdd %uint %p %uint_1\n%q1 = OpIAdd %uint %p %uint_4", "%q")
    };
    assert_eq!(ahead("%later"), Some(1));
    assert_eq!(ahead("%own"), None);
    // One that follows it.
    let behind = "%p = OpPhi %uint %later %entry %p1 %inside\n%q = OpPhi %uint %own %entry %p %inside";
    assert_eq!(step(behind, "%p1 = OpIAdd %uint %p %uint_3", "%q"), Some(3));
}
