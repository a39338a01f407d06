//! Selections by what lanes share, computed and read.

use super::super::pipeline::{self, Tier};
use super::super::target::{Isa, Target};
use super::super::tests::{compile, function};
use super::super::{Context, IrModule};

/// A loop in which a condition that is made in front of it leaves something out.
fn text(choice: &str) -> String {
    format!(
        "define void @f(ptr %out, ptr %in, i32 %rule, i32 %count) {{
         entry:
           %bit = and i32 %rule, 4
           %is = icmp ne i32 %bit, 0
           %first = insertelement <16 x i1> poison, i1 %is, i64 0
           %all = shufflevector <16 x i1> %first, <16 x i1> poison, <16 x i32> zeroinitializer
           %begin = load <16 x i32>, ptr %in, align 4
           br label %again
         again:
           %n = phi i32 [ 0, %entry ], [ %next, %again ]
           %sum = phi <16 x i32> [ %begin, %entry ], [ %more, %again ]
           %turned = call <16 x i32> @llvm.fshl.v16i32(<16 x i32> %sum, <16 x i32> %sum, <16 x i32> splat (i32 3))
           {choice}
           %next = add i32 %n, 1
           %goes = icmp ult i32 %next, %count
           br i1 %goes, label %again, label %done
         done:
           store <16 x i32> %more, ptr %out, align 4
           ret void
         }}
         declare <16 x i32> @llvm.fshl.v16i32(<16 x i32>, <16 x i32>, <16 x i32>)"
    )
}

type Step = fn(u32, u32) -> u32;

/// Selections, what they make of a turned number and itself where the condition holds, and where it does not.
const CHOICES: [(&str, Step, Step); 4] = [
    (
        "%joined = or <16 x i32> %turned, %sum
         %more = select <16 x i1> %all, <16 x i32> %joined, <16 x i32> %turned",
        |turned, number| turned | number,
        |turned, _| turned,
    ),
    (
        "%joined = xor <16 x i32> %turned, %sum
         %more = select <16 x i1> %all, <16 x i32> %turned, <16 x i32> %joined",
        |turned, _| turned,
        |turned, number| turned ^ number,
    ),
    (
        "%joined = and <16 x i32> %turned, %sum
         %more = select <16 x i1> %all, <16 x i32> %joined, <16 x i32> %turned",
        |turned, number| turned & number,
        |turned, _| turned,
    ),
    (
        "%joined = and <16 x i32> %turned, %sum
         %more = select <16 x i1> %all, <16 x i32> %turned, <16 x i32> %joined",
        |turned, _| turned,
        |turned, number| turned & number,
    ),
];

#[test]
fn what_is_left_out_is_what_it_was() {
    let numbers: [u32; 16] = std::array::from_fn(|at| (at as u32 + 1).wrapping_mul(0x9E37_79B9));
    for (choice, holds, does_not) in CHOICES {
        let code = compile(&text(choice), Tier::Optimising).expect("compiled");
        let f: extern "C" fn(*mut u32, *const u32, u32, u32) = function(&code, "f");
        for rule in [0, 4, 3, 7] {
            let mut out = [0; 16];
            f(out.as_mut_ptr(), numbers.as_ptr(), rule, 5);
            let step = if rule & 4 != 0 { holds } else { does_not };
            let want: [u32; 16] = std::array::from_fn(|at| {
                (0..5).fold(numbers[at], |number, _| step(number.rotate_left(3), number))
            });
            assert_eq!(out, want, "{choice}, {rule}");
        }
    }
}

#[test]
fn nothing_is_selected_where_masks_have_registers() {
    for (choice, ..) in CHOICES {
        let selected = [Isa::Avx2, Isa::Avx512].map(|isa| {
            let target = Target::limited(isa).expect("a target machine");
            let context = Context::new();
            let ir = IrModule::parse(&context, &text(choice), &target).expect("IR");
            pipeline::optimise(&ir, &target, Tier::Optimising).expect("optimised");
            ir.verify().expect("right");
            ir.text().contains("= select <16 x i1>")
        });
        assert_eq!(selected, [true, false], "{choice}");
    }
}
