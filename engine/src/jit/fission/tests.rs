//! Loops with more sums than registers, as they are split, and what they compute.

use super::super::pipeline::{self, Tier};
use super::super::target::{Isa, Target};
use super::super::tests::{compile, function};
use super::super::{Context, IrModule};
use std::fmt::Write;

const SUMS: usize = 48;
const LANES: usize = 4;

/// A loop over `n` vectors, at least one, that carries sums; `next` computes the next value `%t` of a sum `%s` by its number, from the
/// iteration's vector `%x`, and `end` whether it is the last iteration, `%end`. Sums are stored behind it, and the last vector.
fn loop_of_sums(next: impl Fn(usize) -> String, end: &str) -> String {
    let mut text =
        String::from("define void @f(ptr %in, ptr %out, i64 %n) {\nentry:\n  br label %loop\nloop:\n");
    text += "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n";
    for sum in 0..SUMS {
        let first = format!("splat (float {sum}.0)");
        writeln!(text, "  %s{sum} = phi <{LANES} x float> [ {first}, %entry ], [ %t{sum}, %loop ]")
            .expect("text");
    }
    writeln!(text, "  %a = getelementptr <{LANES} x float>, ptr %in, i64 %i").expect("text");
    writeln!(text, "  %x = load <{LANES} x float>, ptr %a, align 4\n  %j = add i64 %i, 1").expect("text");
    for sum in 0..SUMS {
        text += &next(sum);
    }
    writeln!(text, "{end}  br i1 %end, label %behind, label %loop\nbehind:").expect("text");
    for (at, value) in (0..SUMS).map(|sum| format!("%t{sum}")).chain(["%x".into()]).enumerate() {
        writeln!(text, "  %o{at} = getelementptr <{LANES} x float>, ptr %out, i64 {at}").expect("text");
        writeln!(text, "  store <{LANES} x float> {value}, ptr %o{at}, align 4").expect("text");
    }
    text + "  ret void\n}\n"
}

const AT_N: &str = "  %end = icmp eq i64 %j, %n\n";

/// Sum `s` gets `x` times its number plus one.
fn own(sum: usize) -> String {
    let (ty, factor) = (format!("<{LANES} x float>"), sum + 1);
    format!("  %p{sum} = fmul {ty} %x, splat (float {factor}.0)\n  %t{sum} = fadd {ty} %s{sum}, %p{sum}\n")
}

/// Loops in the code that the optimising tier makes.
fn loops(text: &str) -> usize {
    let target = Target::limited(Isa::Avx512).expect("a target machine");
    let context = Context::new();
    let ir = IrModule::parse(&context, text, &target).expect("IR");
    pipeline::optimise(&ir, &target, Tier::Optimising).expect("passes");
    ir.verify().expect("valid");
    ir.text().matches("phi i64").count()
}

/// What both tiers compute of the numbers from 1, so many vectors of them.
fn results(text: &str, n: usize) -> [Vec<f32>; 2] {
    let input: Vec<f32> = (1..=n * LANES).map(|number| number as f32).collect();
    [Tier::Fast, Tier::Optimising].map(|tier| {
        let code = compile(text, tier).expect("code");
        let f: extern "C" fn(*const f32, *mut f32, u64) = function(&code, "f");
        let mut out = vec![0.0; (SUMS + 1) * LANES];
        f(input.as_ptr(), out.as_mut_ptr(), n as u64);
        out
    })
}

#[test]
fn more_sums_than_registers_are_several_loops() {
    let text = loop_of_sums(own, AT_N);
    assert_eq!(loops(&text), 2, "24 of 32 registers are for sums, and 48 sums are many");
    for n in [1, 2, 7] {
        let [fast, optimised] = results(&text, n);
        let expected = |sum: usize, lane: usize| -> f32 {
            (0..n).fold(sum as f32, |all, i| all + (i * LANES + lane + 1) as f32 * (sum + 1) as f32)
        };
        let sums = (0..SUMS).flat_map(|sum| (0..LANES).map(move |lane| expected(sum, lane)));
        let last = (0..LANES).map(|lane| ((n - 1) * LANES + lane + 1) as f32);
        let expected: Vec<f32> = sums.chain(last).collect();
        assert_eq!(fast, expected);
        assert_eq!(optimised, expected);
    }
}

#[test]
fn sums_that_need_each_other_stay_together() {
    // Those of a half are made of one another: two loops of 24. Those of one row of 48 are one.
    let chained = |of: usize| {
        move |sum: usize| {
            let before = if sum.is_multiple_of(of) { "%x".into() } else { format!("%s{}", sum - 1) };
            format!("  %t{sum} = fadd <{LANES} x float> %s{sum}, {before}\n")
        }
    };
    for (of, expected) in [(SUMS / 2, 2), (SUMS, 1)] {
        let text = loop_of_sums(chained(of), AT_N);
        assert_eq!(loops(&text), expected);
        let [fast, optimised] = results(&text, 5);
        assert_eq!(fast, optimised);
    }
}

#[test]
fn a_loop_that_all_sums_end_or_that_stores_stays_one() {
    // One that a single sum ends is several loops, of which each has that sum.
    let end_at = |value: &str| {
        format!("  %e = extractelement <4 x float> {value}, i64 0\n  %end = fcmp ogt float %e, 1.0e3\n")
    };
    let all = (0..SUMS).map(|sum| {
        let before = if sum == 0 { "%x".into() } else { format!("%all{}", sum - 1) };
        format!("  %all{sum} = fadd <{LANES} x float> {before}, %t{sum}\n")
    });
    let by_all = format!("{}{}", all.collect::<String>(), end_at(&format!("%all{}", SUMS - 1)));
    for (end, expected) in [(end_at("%t47"), 3), (by_all, 1)] {
        let text = loop_of_sums(own, &end);
        assert_eq!(loops(&text), expected, "{end}");
        let [fast, optimised] = results(&text, 16);
        assert_eq!(fast, optimised);
    }
    let stored = format!("  store float 1.0, ptr %a, align 4\n{AT_N}");
    assert_eq!(loops(&loop_of_sums(own, &stored)), 1);
}

#[test]
fn a_loop_whose_operands_cost_more_than_its_sums_stays_one() {
    // Each sum takes an own part of a long chain, all of which the last one needs.
    let chain = |sum: usize| {
        let ty = format!("<{LANES} x float>");
        let mut text = String::new();
        for step in 0..8 {
            let before = match (sum, step) {
                (0, 0) => "%x".into(),
                (_, 0) => format!("%c{}.7", sum - 1),
                _ => format!("%c{sum}.{}", step - 1),
            };
            writeln!(text, "  %c{sum}.{step} = fdiv {ty} %x, {before}").expect("text");
        }
        text + &format!("  %t{sum} = fadd {ty} %s{sum}, %c{sum}.7\n")
    };
    assert_eq!(loops(&loop_of_sums(chain, AT_N)), 1);
}

/// The same sums of vectors that are loaded one iteration ahead, where there are two ways: as they are, or from the fourth on doubled.
fn loop_of_two_ways() -> String {
    let ty = format!("<{LANES} x float>");
    let mut text = format!(
        "define void @f(ptr %in, ptr %out, i64 %n) {{\nentry:\n  %x0 = load {ty}, ptr %in, align 4\n"
    );
    text += "  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %j, %latch ]\n";
    writeln!(text, "  %x = phi {ty} [ %x0, %entry ], [ %y, %latch ]").expect("text");
    for sum in 0..SUMS {
        let first = format!("splat (float {sum}.0)");
        writeln!(text, "  %s{sum} = phi {ty} [ {first}, %entry ], [ %t{sum}, %latch ]").expect("text");
    }
    text += "  %j = add i64 %i, 1\n";
    (0..SUMS).for_each(|sum| text += &own(sum));
    write!(
        text,
        "  %a = getelementptr {ty}, ptr %in, i64 %j\n  %early = icmp ult i64 %j, 3
           br i1 %early, label %plain, label %doubled\nplain:\n  %p = load {ty}, ptr %a, align 4\n  br label %latch
         doubled:\n  %q = load {ty}, ptr %a, align 4\n  %d = fadd {ty} %q, %q\n  call void @g(ptr %out)\n  br label %latch
         latch:\n  %y = phi {ty} [ %p, %plain ], [ %d, %doubled ]\n{AT_N}  br i1 %end, label %behind, label %loop\nbehind:\n"
    )
    .expect("text");
    for at in 0..SUMS {
        writeln!(text, "  %o{at} = getelementptr {ty}, ptr %out, i64 {at}").expect("text");
        writeln!(text, "  store {ty} %t{at}, ptr %o{at}, align 4").expect("text");
    }
    text + "  ret void\n}\n"
}

#[test]
fn loops_with_two_ways_through_are_split_if_neither_has_an_effect() {
    let effect = "  call void @g(ptr %out)\n";
    let text = loop_of_two_ways().replace(effect, "");
    assert_eq!(loops(&text), 3, "each has the vector, too");
    for n in [1, 2, 3, 4, 9] {
        // One vector more is loaded than there are iterations.
        let input: Vec<f32> = (1..=(n + 1) * LANES).map(|number| number as f32).collect();
        let run = |tier| {
            let code = compile(&text, tier).expect("code");
            let f: extern "C" fn(*const f32, *mut f32, u64) = function(&code, "f");
            let mut out = vec![0.0; SUMS * LANES];
            f(input.as_ptr(), out.as_mut_ptr(), n as u64);
            out
        };
        let of = |sum: usize, lane: usize| {
            let x = |i: usize| (i * LANES + lane + 1) as f32 * if i < 3 { 1.0 } else { 2.0 };
            (0..n).fold(sum as f32, |all, i| all + x(i) * (sum + 1) as f32)
        };
        let expected: Vec<f32> =
            (0..SUMS).flat_map(|sum| (0..LANES).map(move |lane| of(sum, lane))).collect();
        assert_eq!(run(Tier::Fast), expected);
        assert_eq!(run(Tier::Optimising), expected);
    }
    let with_effect = format!("declare void @g(ptr)\n{}", loop_of_two_ways());
    assert_eq!(loops(&with_effect), 1);
}
