//! Sums that stay vectors, and such as do not.

use super::super::target::{Isa, Target};
use super::super::{Context, IrModule};
use super::keep;

/// A loop that carries `%s`, of which `made` makes `%next` in each iteration.
fn kept(made: &str, behind: &str) -> (bool, String) {
    let text = format!(
        "declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>)
         declare i32 @llvm.vector.reduce.umin.v4i32(<4 x i32>)
         declare <4 x i32> @llvm.umin.v4i32(<4 x i32>, <4 x i32>)
         define i32 @f(ptr %in, i32 %first) {{
         entry:
           br label %head
         head:
           %i = phi i64 [ 0, %entry ], [ %j, %head ]
           %s = phi i32 [ %first, %entry ], [ %next, %head ]
           %at = getelementptr <4 x i32>, ptr %in, i64 %i
           %v = load <4 x i32>, ptr %at
           {made}
           %j = add i64 %i, 1
           %more = icmp ult i64 %j, 9
           br i1 %more, label %head, label %left
         left:
           {behind}
         }}"
    );
    let target = Target::limited(Isa::Avx2).expect("a target machine");
    let context = Context::new();
    let ir = IrModule::parse(&context, &text, &target).expect("IR");
    ir.verify().expect("right");
    keep(&ir);
    ir.verify().expect("right");
    let text = ir.text();
    (text.contains("phi <4 x i32>") && !text.contains("phi i32"), text)
}

const SUM: &str = "%start = insertelement <4 x i32> <i32 poison, i32 0, i32 0, i32 0>, i32 %s, i64 0
    %sum = add nsw <4 x i32> %start, %v
    %next = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> %sum)";

#[test]
fn sums_and_the_least_stay_vectors() {
    let (is_kept, text) = kept(SUM, "ret i32 %next");
    assert!(is_kept && !text.contains("nsw"), "{text}");
    let least = "%one = insertelement <4 x i32> poison, i32 %s, i64 0
        %start = shufflevector <4 x i32> %one, <4 x i32> poison, <4 x i32> zeroinitializer
        %sum = call <4 x i32> @llvm.umin.v4i32(<4 x i32> %v, <4 x i32> %start)
        %next = call i32 @llvm.vector.reduce.umin.v4i32(<4 x i32> %sum)";
    assert!(kept(least, "ret i32 %next").0);
    let twice = SUM.replace(
        "%sum = add nsw <4 x i32> %start, %v",
        "%one = add <4 x i32> %v, %start\n%sum = add <4 x i32> %v, %one",
    );
    assert!(kept(&twice, "ret i32 %next").0);
}

#[test]
fn numbers_that_are_seen_stay_numbers() {
    for made in [
        // What it is, in the loop; another constant; what is no sum; both operands; a part that is seen.
        format!("{SUM}\n%seen = add i32 %s, 1\nstore i32 %seen, ptr %in"),
        SUM.replace("i32 0, i32 0, i32 0>", "i32 0, i32 1, i32 0>"),
        SUM.replace("add nsw", "sub nsw"),
        SUM.replace("%start, %v", "%start, %start"),
        format!("{SUM}\nstore <4 x i32> %sum, ptr %in"),
    ] {
        let (is_kept, text) = kept(&made, "ret i32 %next");
        assert!(!is_kept, "{text}");
    }
}
