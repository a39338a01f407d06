use super::super::testing::{VARIANT, of_blocks};

/// The height for a kernel that stores at the element of this number, of four bytes.
fn height(index: &str) -> u32 {
    let body = format!(
        "%groups = OpLoad %ulong3 %WorkgroupId\n%gx = OpCompositeExtract %ulong %groups 0\n\
         %gy = OpCompositeExtract %ulong %groups 1\n%ids = OpLoad %ulong3 %GlobalInvocationId\n\
         %x = OpCompositeExtract %ulong %ids 0\n%y = OpCompositeExtract %ulong %ids 1\n\
         %local = OpLoad %ulong3 %LocalInvocationId\n%lx = OpCompositeExtract %ulong %local 0\n\
         %gx16 = OpIMul %ulong %gx %ulong_16\n%gy16 = OpIMul %ulong %gy %ulong_16\n\
         {index}\n%place = OpPtrAccessChain %to_uint %pointer %index\nOpStore %place %uint_7\n"
    );
    of_blocks(&body, VARIANT, |analysis| analysis.strips().height)
}

#[test]
fn rows_along_y_are_made_in_strips() {
    let tile = "%row = OpIAdd %ulong %gx16 %lx\n%from = OpIMul %ulong %row %any_ulong\n\
                %at = OpIAdd %ulong %gy16 %lx\n%index = OpIAdd %ulong %from %at";
    assert_eq!(height(tile), 8, "pieces of 64 bytes");
    let wide =
        tile.replace("%gy16", "%gy64").replace("%row =", "%gy64 = OpIMul %ulong %gy %ulong_64\n%row =");
    assert_eq!(height(&wide), 2, "pieces of 256 bytes");
    let narrow = "%low = OpUConvert %uint %x\n%length = OpUConvert %uint %any_ulong\n\
                  %from = OpIMul %uint %low %length\n%other = OpUConvert %uint %y\n\
                  %sum = OpIAdd %uint %from %other\n%index = OpUConvert %ulong %sum";
    assert_eq!(height(narrow), 8, "ids of 32 bits");
}

#[test]
fn rows_along_x_are_left_as_they_are() {
    let rows = "%from = OpIMul %ulong %y %any_ulong\n%index = OpIAdd %ulong %from %x";
    assert_eq!(height(rows), 1);
    assert_eq!(height("%index = OpCopyObject %ulong %gx16"), 1);
    let column = "%from = OpIMul %ulong %x %any_ulong\n%index = OpIAdd %ulong %from %lx";
    assert_eq!(height(column), 1, "nothing along y");
    let far = "%from = OpIMul %ulong %x %any_ulong\n%other = OpIMul %ulong %y %any_ulong\n\
               %index = OpIAdd %ulong %from %other";
    assert_eq!(height(far), 1);
    let data = "%p = OpPtrAccessChain %to_uint %pointer %y\n%loaded = OpLoad %uint %p\n\
                %number = OpUConvert %ulong %loaded\n%from = OpIMul %ulong %x %any_ulong\n\
                %index = OpIAdd %ulong %from %number";
    assert_eq!(height(data), 1, "nobody knows where");
}

#[test]
fn who_may_wait_for_others_keeps_the_order() {
    let tile = "%from = OpIMul %ulong %x %any_ulong\n%index = OpIAdd %ulong %from %y";
    assert_eq!(height(tile), 8);
    let waits = format!("%seen = OpAtomicLoad %uint %pointer %uint_1 %uint_0\n{tile}");
    assert_eq!(height(&waits), 1);
    let looks = format!("%seen = OpLoad %uint %pointer Volatile\n{tile}");
    assert_eq!(height(&looks), 1);
}

#[test]
fn what_goes_along_x_is_known_for_the_next_strip() {
    let body = "%groups = OpLoad %ulong3 %WorkgroupId\n%gx = OpCompositeExtract %ulong %groups 0\n\
        %gy = OpCompositeExtract %ulong %groups 1\n%from_x = OpIMul %ulong %gx %any_ulong\n\
        %to = OpIAdd %ulong %from_x %gy\n%from_y = OpIMul %ulong %gy %any_ulong\n\
        %gx8 = OpIMul %ulong %gx %ulong_8\n%from = OpIAdd %ulong %from_y %gx8\n\
        %source = OpPtrAccessChain %to_uint %pointer %from\n%target = OpPtrAccessChain %to_uint %pointer %to\n\
        %value = OpLoad %uint %source\nOpStore %target %value\n";
    let steps: Vec<i64> =
        of_blocks(body, VARIANT, |analysis| analysis.strips().along_x.values().copied().collect());
    assert_eq!(steps, [32]);
}
