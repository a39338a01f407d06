use super::super::testing::{VARIANT, counted_loop, of_blocks};
use super::Shape;
use crate::abi::Axis;

const IDS: &str = "%ids = OpLoad %ulong3 %GlobalInvocationId\n%x = OpCompositeExtract %ulong %ids 0\n\
    %y = OpCompositeExtract %ulong %ids 1\n%z = OpCompositeExtract %ulong %ids 2\n\
    %rows = OpIMul %ulong %x %any_ulong\n%columns = OpIMul %ulong %y %any_ulong\n\
    %row0 = OpIAdd %ulong %rows %y\n%row1 = OpIAdd %ulong %columns %x\n";

/// The axis of a kernel of these instructions, which have `%x`, `%y` and `%z`, and elements `%row0` of rows along y and `%row1` along x.
fn axis(body: &str) -> Option<Axis> {
    of_blocks(&format!("{IDS}{body}"), VARIANT, |analysis| analysis.best_axis())
}

/// A store to the element of this number.
fn store(number: u32, index: &str) -> String {
    format!("%p{number} = OpPtrAccessChain %to_uint %pointer %{index}\nOpStore %p{number} %uint_7\n")
}

#[test]
fn lanes_go_where_neighbours_are() {
    assert_eq!(axis(&store(0, "row0")), Some(Axis::Y));
    assert_eq!(axis(&store(0, "row1")), Some(Axis::X));
    let deep = "%planes = OpIMul %ulong %row0 %any_ulong\n%row2 = OpIAdd %ulong %planes %z\n";
    assert_eq!(axis(&format!("{deep}{}", store(0, "row2"))), Some(Axis::Z));
    let narrow = "%low = OpUConvert %uint %x\n%length = OpUConvert %uint %any_ulong\n\
        %from = OpIMul %uint %low %length\n%other = OpUConvert %uint %y\n\
        %sum = OpIAdd %uint %from %other\n%index = OpUConvert %ulong %sum\n";
    assert_eq!(axis(&format!("{narrow}{}", store(0, "index"))), Some(Axis::Y), "ids of 32 bits");
}

#[test]
fn rows_along_x_are_worth_as_much_as_others() {
    let transpose = format!("{}{}", store(0, "row0"), store(1, "row1"));
    assert_eq!(axis(&transpose), Some(Axis::X));
    // Sub-groups side by side access columns together, so that it takes many.
    let few = (2..6).map(|number| store(number, "row0")).collect::<String>();
    assert_eq!(axis(&format!("{transpose}{few}")), Some(Axis::X));
    let many = (2..20).map(|number| store(number, "row0")).collect::<String>();
    assert_eq!(axis(&format!("{transpose}{many}")), Some(Axis::Y));
}

#[test]
fn what_a_loop_accesses_decides() {
    // As the product of a row and a column.
    let inside = "%wide = OpUConvert %ulong %n\n%at = OpIAdd %ulong %rows %wide\n\
        %a = OpPtrAccessChain %to_uint %pointer %at\n%left = OpLoad %uint %a\n\
        %from = OpIMul %ulong %wide %any_ulong\n%to = OpIAdd %ulong %from %y\n\
        %b = OpPtrAccessChain %to_uint %pointer %to\n%right = OpLoad %uint %b";
    assert_eq!(axis(&format!("{}{}", store(0, "row0"), counted_loop("", inside))), Some(Axis::Y));
    let other = inside.replace("%rows", "%columns").replace("%y", "%x");
    assert_eq!(axis(&format!("{}{}", store(0, "row0"), counted_loop("", &other))), Some(Axis::X));
}

#[test]
fn what_nobody_knows_or_is_the_same_is_no_reason() {
    assert_eq!(axis(&store(0, "x")), Some(Axis::X), "the same along y and z");
    let data = "%q = OpPtrAccessChain %to_uint %pointer %y\n%loaded = OpLoad %uint %q\n\
        %number = OpUConvert %ulong %loaded\n%index = OpIAdd %ulong %rows %number\n";
    assert_eq!(axis(&format!("{data}{}", store(0, "index"))), Some(Axis::X));
    assert_eq!(axis(&store(0, "rows")), Some(Axis::X), "nothing along y");
}

#[test]
fn who_can_tell_stays() {
    let sees = |what: &str| axis(&format!("{what}\n{}", store(0, "row0")));
    assert_eq!(sees("OpControlBarrier %uint_2 %uint_2 %uint_0"), Some(Axis::Y), "a work-group stays one");
    assert_eq!(sees("%linear = OpLoad %ulong %GlobalLinearId"), None);
    assert_eq!(sees("%linear = OpLoad %ulong %LocalInvocationIndex"), None);
    assert_eq!(sees("%dimensions = OpLoad %uint %WorkDim"), None);
    assert_eq!(sees("%lane = OpLoad %uint %SubgroupLocalInvocationId"), None);
    assert_eq!(sees("%all = OpGroupAll %bool %uint_2 %any_bool"), None);
}

/// The shape of groups of such a kernel.
fn shape(body: &str) -> Shape {
    of_blocks(&format!("{IDS}{body}"), VARIANT, |analysis| analysis.best_shape(Axis::X))
}

#[test]
fn groups_have_long_rows_where_all_accesses_do() {
    assert_eq!(shape(&store(0, "row1")), Shape::Rows);
    let stretched = "%twice = OpShiftLeftLogical %ulong %row1 %ulong_1\n";
    assert_eq!(shape(&format!("{stretched}{}", store(0, "twice"))), Shape::Rows);
    assert_eq!(shape(&format!("{}{}", store(0, "row0"), store(1, "row1"))), Shape::Tiles);
    let deep = "%planes = OpIMul %ulong %row0 %any_ulong\n%row2 = OpIAdd %ulong %planes %z\n";
    assert_eq!(shape(&format!("{deep}{}{}", store(0, "row2"), store(1, "row1"))), Shape::Layers);
    let data = "%q = OpPtrAccessChain %to_uint %pointer %x\n%loaded = OpLoad %uint %q\n\
        %number = OpUConvert %ulong %loaded\n";
    assert_eq!(shape(&format!("{data}{}", store(0, "number"))), Shape::Own, "what data names");
    assert_eq!(shape(&store(0, "rows")), Shape::Own, "lines of which nobody has the rest");
}

#[test]
fn turned_groups_have_the_shape_of_the_other_dimension() {
    let turned =
        |body: &str| of_blocks(&format!("{IDS}{body}"), VARIANT, |analysis| analysis.best_shape(Axis::Y));
    assert_eq!(turned(&store(0, "row0")), Shape::Rows);
    assert_eq!(turned(&format!("{}{}", store(0, "row0"), store(1, "row1"))), Shape::Tiles);
    assert_eq!(turned(&store(0, "columns")), Shape::Own);
}

#[test]
fn borders_are_rows() {
    let clamped = |function: &str| {
        let clamp = format!("%at = OpExtInst %ulong %std {function}\n");
        shape(&format!("{clamp}{}", store(0, "at")))
    };
    assert_eq!(clamped("u_min %row1 %any_ulong"), Shape::Rows);
    assert_eq!(clamped("s_clamp %row1 %any_ulong %any_ulong"), Shape::Rows);
    assert_eq!(clamped("u_max %row1 %row0"), Shape::Own, "neither is a border");
    assert_eq!(clamped("u_mul_hi %row1 %any_ulong"), Shape::Own);
    let chosen = "%at = OpSelect %ulong %any_bool %row1 %any_ulong\n";
    assert_eq!(shape(&format!("{chosen}{}", store(0, "at"))), Shape::Rows);
}

#[test]
fn rows_share_what_loops_load() {
    // As a product of matrices.
    let inside = "%wide = OpUConvert %ulong %n\n%from = OpIMul %ulong %wide %any_ulong\n\
        %to = OpIAdd %ulong %from %x\n%b = OpPtrAccessChain %to_uint %pointer %to\n%right = OpLoad %uint %b";
    assert_eq!(shape(&format!("{}{}", store(0, "row1"), counted_loop("", inside))), Shape::SharedRows);
    let own = inside.replace("%to = OpIAdd %ulong %from %x", "%to = OpIAdd %ulong %from %row1");
    assert_eq!(shape(&format!("{}{}", store(0, "row1"), counted_loop("", &own))), Shape::Rows);
}
