//! Functions that one work-item gets as lanes do: any number of lanes gives the same bits, so that code for one work-item after the other may take
//! turns with code for many.

use super::super::table;
use super::{call, compile, doubles, floats};
use crate::analysis::leaves::Scalar;
use crate::jit::target::{Isa, Target};
use spirv::OpenclStd100Op as StdOp;

/// Processors that this machine can stand for.
fn targets() -> Vec<Target> {
    let mut found = Vec::new();
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        found.push(Isa::Avx2);
    }
    if is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl") {
        found.push(Isa::Avx512);
    }
    found.into_iter().map(|isa| Target::limited(isa).expect("a target machine")).collect()
}

/// Compares each such function, of so many operands, in several forms; how many there were.
fn compare<T: Copy + Default + Into<f64>>(
    ops: &[(StdOp, usize)],
    ty: Scalar,
    a: &[T],
    b: &[T],
    bits: fn(T) -> u64,
) -> usize {
    let mut compared = 0;
    for target in targets() {
        for (op, operands) in ops.iter().filter(|(op, _)| table::is_faster_in_lanes(*op, ty, &target)) {
            let of = |lanes: u32| {
                compile(&target, lanes, &[ty, ty][..*operands], call(*op)).map::<T, T, u8, T>(a, b, &[])
            };
            let few = of(4);
            for lanes in [8, 16, 32] {
                let many = of(lanes);
                for (at, (few, many)) in few.iter().zip(&many).enumerate() {
                    let is_same =
                        bits(*few) == bits(*many) || ((*few).into().is_nan() && (*many).into().is_nan());
                    let of: [f64; 2] = [a[at].into(), b[at].into()];
                    assert!(is_same, "{op:?} of {of:?} in {lanes} lanes, {} bits", target.simd_bits());
                }
            }
            compared += 1;
        }
    }
    compared
}

#[test]
fn one_lane_gets_the_bits_that_it_would_get_among_many() {
    let reversed = |all: &[f32]| all.iter().rev().copied().collect::<Vec<_>>();
    let all: Vec<f32> = floats::sweep_f32().into_iter().step_by(3).take(16 << 10).collect();
    let count = compare(&floats::functions(), Scalar::F32, &all, &reversed(&all), |x| u64::from(x.to_bits()));
    assert!(count >= 30 * targets().len(), "{count}");
    let all: Vec<f64> = doubles::sweep().into_iter().take(4 << 10).collect();
    let reversed: Vec<f64> = all.iter().rev().copied().collect();
    let count = compare(&doubles::functions(), Scalar::F64, &all, &reversed, f64::to_bits);
    assert!(count >= 19 * targets().len(), "{count}");
}

/// What native functions make of results that are no normal numbers, others keep; what is less than all numbers is 0.
#[test]
fn tiny_exponentials_are_denormal_but_for_native_ones() {
    for target in targets() {
        for (own, native, scale) in [
            (StdOp::exp, StdOp::native_exp, std::f32::consts::LN_2),
            (StdOp::exp2, StdOp::native_exp2, 1.0),
            (StdOp::exp10, StdOp::native_exp10, std::f32::consts::LOG10_2),
        ] {
            let powers =
                [-125.5, -126.5, -135.0, -148.5, -152.0, -300.0, -1e4, -1e30, f32::NEG_INFINITY, f32::NAN];
            let x: Vec<f32> = powers.iter().map(|power| power * scale).collect();
            let results =
                |op| compile(&target, 16, &[Scalar::F32], call(op)).map::<f32, f32, u8, f32>(&x, &x, &[]);
            for (op, got) in [(own, results(own)), (native, results(native))] {
                for (power, got) in powers.iter().zip(got) {
                    let exact = power.exp2();
                    let is_right = match exact {
                        _ if exact.is_nan() => got.is_nan(),
                        _ if op == native && exact < f32::MIN_POSITIVE => got == 0.0,
                        _ => (got - exact).abs() <= 1e-4 * exact.max(f32::MIN_POSITIVE),
                    };
                    assert!(is_right, "{op:?} of 2^{power}: {got:e} with {} bits", target.simd_bits());
                }
            }
        }
    }
}
