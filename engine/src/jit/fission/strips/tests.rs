//! Loops that are cut into strips: which are, and that each computes what it did.

use super::super::super::pipeline::{self, Tier};
use super::super::super::target::{Isa, Target};
use super::super::super::tests::{compile, function};
use super::super::super::{Context, IrModule};
use super::BUFFER;
use std::fmt::Write;

/// Lanes of a vector, which are two registers of AVX2.
const LANES: usize = 16;
/// Vectors of an iteration, of which the first ones are multiplied by each lane of the others.
const ROWS: usize = 2;
const VECTORS: usize = ROWS + 2;
const SUMS: usize = ROWS * (VECTORS - ROWS) * LANES;

/// What is particular about a loop.
#[derive(Default)]
struct Form {
    /// What becomes of a product `%p` and a sum `%s` with a number, instead of their sum `%t`.
    next: Option<fn(usize) -> String>,
    /// More that an iteration carries and computes.
    carried: &'static str,
    more: &'static str,
    /// What is stored behind the loop in the place of the first sum.
    first: Option<&'static str>,
}

/// A loop over `n` tiles, none or more, with a sum for each pair of a row and a lane. What it loads it divides, so that nobody computes it more than once.
fn tile(form: &Form) -> String {
    let ty = format!("<{LANES} x float>");
    let mut text = format!(
        "declare {ty} @llvm.fma.v{LANES}f32({ty}, {ty}, {ty})
         define void @f(ptr %in, ptr %out, i64 %n) {{\nentry:\n  %none = icmp eq i64 %n, 0
           br i1 %none, label %behind, label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n"
    );
    for sum in 0..SUMS {
        writeln!(text, "  %s{sum} = phi {ty} [ splat (float {sum}.0), %entry ], [ %t{sum}, %loop ]")
            .expect("text");
    }
    writeln!(text, "{}\n  %j = add i64 %i, 1\n  %first = mul i64 %i, {VECTORS}", form.carried).expect("text");
    for at in 0..VECTORS {
        writeln!(text, "  %at{at} = add i64 %first, {at}").expect("text");
        writeln!(text, "  %a{at} = getelementptr {ty}, ptr %in, i64 %at{at}").expect("text");
        writeln!(text, "  %l{at} = load {ty}, ptr %a{at}, align 4").expect("text");
        writeln!(text, "  %d{at} = fdiv {ty} %l{at}, splat (float 4.0)").expect("text");
        writeln!(text, "  %v{at} = fdiv {ty} %d{at}, splat (float 0.5)").expect("text");
    }
    for sum in 0..SUMS {
        let (row, lane) = (sum % ROWS, sum / ROWS);
        let (other, lane) = (ROWS + lane / LANES, lane % LANES);
        let mask = vec![format!("i32 {lane}"); LANES].join(", ");
        writeln!(text, "  %b{sum} = shufflevector {ty} %v{other}, {ty} poison, <{LANES} x i32> <{mask}>")
            .expect("text");
        match form.next {
            None => writeln!(
                text,
                "  %t{sum} = call {ty} @llvm.fma.v{LANES}f32({ty} %v{row}, {ty} %b{sum}, {ty} %s{sum})"
            )
            .expect("text"),
            Some(next) => {
                writeln!(text, "  %p{sum} = fmul {ty} %v{row}, %b{sum}").expect("text");
                text += &next(sum);
            }
        }
    }
    text += form.more;
    text += "\n  %end = icmp eq i64 %j, %n\n  br i1 %end, label %behind, label %loop\nbehind:\n";
    for sum in 0..SUMS {
        let last = match form.first {
            Some(first) if sum == 0 => first.to_owned(),
            _ => format!("%t{sum}"),
        };
        writeln!(text, "  %r{sum} = phi {ty} [ splat (float {sum}.0), %entry ], [ {last}, %loop ]")
            .expect("text");
    }
    writeln!(text, "  %rv = phi {ty} [ zeroinitializer, %entry ], [ %v0, %loop ]").expect("text");
    for (at, value) in (0..SUMS).map(|sum| format!("%r{sum}")).chain(["%rv".into()]).enumerate() {
        writeln!(text, "  %o{at} = getelementptr {ty}, ptr %out, i64 {at}").expect("text");
        writeln!(text, "  store {ty} {value}, ptr %o{at}, align 4").expect("text");
    }
    text + "  ret void\n}\n"
}

/// The IR that the optimising tier makes for a processor.
fn optimised(text: &str, isa: Isa) -> String {
    let target = Target::limited(isa).expect("a target machine");
    let context = Context::new();
    let ir = IrModule::parse(&context, text, &target).expect("IR");
    pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
    ir.verify().expect("valid");
    ir.text()
}

/// Loops over records of a buffer: one that writes them, and one for each part of the sums.
fn loops(text: &str) -> usize {
    text.matches("= phi ptr").count()
}

/// What both tiers compute, with each of these numbers of iterations.
fn check(text: &str, counts: &[usize]) -> Vec<Vec<f32>> {
    let codes = [Tier::Fast, Tier::Optimising].map(|tier| compile(text, tier).expect("code"));
    let run = |&n: &usize| {
        let input: Vec<f32> =
            (0..n * VECTORS * LANES).map(|number| (number * 37 % 101) as f32 - 50.0).collect();
        let [fast, optimised] = codes.each_ref().map(|code| {
            let f: extern "C" fn(*const f32, *mut f32, u64) = function(code, "f");
            let mut out = vec![0.0; (SUMS + 1) * LANES];
            f(input.as_ptr(), out.as_mut_ptr(), n as u64);
            out
        });
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        assert!(bits(&fast) == bits(&optimised), "{n} iterations");
        fast
    };
    counts.iter().map(run).collect()
}

/// Iterations around those of a strip.
fn counts() -> [usize; 7] {
    let strip = BUFFER as usize / (VECTORS * LANES * size_of::<f32>());
    [0, 1, 2, strip - 1, strip, strip + 1, 2 * strip + 3]
}

#[test]
fn a_tile_of_a_product_is_computed_in_strips() {
    let text = tile(&Form::default());
    for (isa, parts) in [(Isa::Avx2, 11), (Isa::Sse, 22)] {
        let made = optimised(&text, isa);
        assert_eq!(loops(&made), 1 + parts, "{isa:?}");
    }
    let made = optimised(&text, Isa::Avx2);
    let fused = |lanes: usize| made.contains(&format!("= call <{lanes} x float> @llvm.fma"));
    assert!(fused(8) && !fused(16), "registers are sums of their own");
    // A lane is loaded into all lanes of a register.
    assert!(!made.contains("<16 x i32> <i32 1, i32 1"));
    for (n, values) in counts().into_iter().zip(check(&text, &counts())) {
        let input = |vector: usize, lane: usize| ((vector * LANES + lane) * 37 % 101) as f32 - 50.0;
        for sum in [0, 5, SUMS - 1] {
            let (row, of, lane) = (sum % ROWS, ROWS + sum / ROWS / LANES, sum / ROWS % LANES);
            let expected = (0..n).fold(sum as f32, |all, i| {
                let [a, b] =
                    [(row, 3), (of, lane)].map(|(vector, lane)| input(i * VECTORS + vector, lane) / 2.0);
                a.mul_add(b, all)
            });
            assert_eq!(values[sum * LANES + 3], expected);
        }
    }
}

#[test]
fn with_avx512_a_lane_for_each_half_is_a_permutation() {
    // Registers are whole vectors, and what is loaded takes long to compute.
    let mut text = tile(&Form::default());
    for vector in 0..VECTORS {
        let mut steps = String::new();
        for step in 0..12 {
            let (to, from) = match step {
                0 => ("%q0".to_owned(), format!("%l{vector}")),
                _ => (format!("%q{step}"), format!("%q{}", step - 1)),
            };
            let names = [to, from].map(|name| name.replace("%q", &format!("%q{vector}.")));
            writeln!(steps, "  {} = fdiv <16 x float> {}, splat (float 3.0)", names[0], names[1])
                .expect("text");
        }
        let divided = format!("  %d{vector} = fdiv <16 x float> %l{vector}");
        text = text.replace(&divided, &format!("{steps}  %d{vector} = fdiv <16 x float> %q{vector}.11"));
    }
    for lane in 1..8 {
        let (low, high) = (format!("i32 {lane}"), format!("i32 {}", lane + 8));
        let halves = [vec![low.as_str(); 8], vec![high.as_str(); 8]].concat().join(", ");
        text = text.replace(&vec![low.as_str(); LANES].join(", "), &halves);
    }
    let made = optimised(&text, Isa::Avx512);
    assert_eq!(loops(&made), 1 + 3);
    let halves = [["i32 1"; 8], ["i32 9"; 8]].concat().join(", ");
    assert!(made.contains(&format!("x i32> <{halves}>")) && !made.contains("fma.v8f32"));
    check(&text, &counts());
}

#[test]
fn what_is_used_behind_the_loop_is_that_of_its_last_iteration() {
    let doubled: fn(usize) -> String = |sum| {
        format!(
            "  %u{sum} = fadd <16 x float> %s{sum}, %p{sum}\n  %t{sum} = fadd <16 x float> %u{sum}, %u{sum}\n"
        )
    };
    for first in ["%s0", "%u0", "%v3", "%b7", "%t1"] {
        let text = tile(&Form { next: Some(doubled), first: Some(first), ..Form::default() });
        assert!(loops(&optimised(&text, Isa::Avx2)) > 1, "{first}");
        // Sums double.
        check(&text, &counts().map(|n| n.min(40)));
    }
}

#[test]
fn a_sum_may_be_carried_twice_and_a_decision_may_be_an_operand() {
    let carried = "  %late = phi <16 x float> [ zeroinitializer, %entry ], [ %s3, %loop ]
           %x = phi <16 x float> [ zeroinitializer, %entry ], [ %v1, %loop ]";
    let more = "  %later = fadd <16 x float> %late, %x";
    let text = tile(&Form { carried, more, first: Some("%later"), ..Form::default() });
    assert!(loops(&optimised(&text, Isa::Avx2)) > 1);
    check(&text, &counts());
}

#[test]
fn sums_that_lanes_are_moved_in_stay_whole() {
    let turned: fn(usize) -> String = |sum| {
        let lanes: Vec<String> = (0..LANES).map(|lane| format!("i32 {}", (lane + 5) % LANES)).collect();
        format!(
            "  %u{sum} = shufflevector <16 x float> %s{sum}, <16 x float> poison, <16 x i32> <{}>
               %t{sum} = fadd <16 x float> %u{sum}, %p{sum}\n",
            lanes.join(", ")
        )
    };
    let text = tile(&Form { next: Some(turned), ..Form::default() });
    let made = optimised(&text, Isa::Avx2);
    assert!(loops(&made) > 1 && made.contains("fadd <16 x float>"));
    check(&text, &counts());
}

#[test]
fn a_loop_that_a_sum_ends_or_that_writes_has_no_strips() {
    let by_sum = "  %e = extractelement <16 x float> %all, i64 0\n";
    let all: String = (1..SUMS)
        .map(|sum| {
            let (to, before) = match sum {
                1 => ("%all1".to_owned(), "%t0".to_owned()),
                _ if sum == SUMS - 1 => ("%all".to_owned(), format!("%all{}", sum - 1)),
                _ => (format!("%all{sum}"), format!("%all{}", sum - 1)),
            };
            format!("  {to} = fadd <16 x float> {before}, %t{sum}\n")
        })
        .collect();
    let text = tile(&Form::default()).replace(
        "  %end = icmp eq i64 %j, %n\n",
        &format!("{all}{by_sum}  %end = fcmp olt float %e, 1.0e9\n"),
    );
    assert_eq!(loops(&optimised(&text, Isa::Avx2)), 0);
    let stored = tile(&Form { more: "  store <16 x float> %v0, ptr %a0, align 4\n", ..Form::default() });
    assert_eq!(loops(&optimised(&stored, Isa::Avx2)), 0);
}

#[test]
fn code_that_calls_has_no_buffer() {
    let text = tile(&Form::default());
    let calls = text.replace("  ret void\n", "  call void @g()\n  ret void\n") + "declare void @g()\n";
    assert_eq!(loops(&optimised(&calls, Isa::Avx2)), 0);
    let sums = SUMS * LANES * size_of::<f32>();
    assert!(optimised(&text, Isa::Avx2).contains(&format!("alloca [{} x i8]", sums as u64 + BUFFER)));
}
