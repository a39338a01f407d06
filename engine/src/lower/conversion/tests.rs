//! Conversions from and to halves, and rounding to f32, which the end-to-end tests do not reach in all forms.

use super::*;
use crate::lower::opencl_std::tests::{compile, forms};
use half::f16;
use ze_tests::Random;

const MODES: [FPRoundingMode; 4] =
    [FPRoundingMode::RTE, FPRoundingMode::RTZ, FPRoundingMode::RTP, FPRoundingMode::RTN];

/// `x` rounded to one of its neighbours `below <= x <= above`, of which `below` is even or not.
fn pick<T: Copy>(x: f64, below: (f64, T), above: (f64, T), below_even: bool, mode: FPRoundingMode) -> T {
    if x == below.0 {
        return below.1;
    }
    let up = match mode {
        FPRoundingMode::RTP => true,
        FPRoundingMode::RTN => false,
        FPRoundingMode::RTZ => x < 0.0,
        FPRoundingMode::RTE => {
            let middle = (below.0 + above.0) / 2.0;
            x > middle || (x == middle && !below_even)
        }
    };
    if up { above.1 } else { below.1 }
}

/// The correctly rounded half, from the bits of its neighbours.
fn to_half(x: f64, mode: FPRoundingMode) -> f16 {
    if x.is_nan() {
        return f16::NAN;
    }
    let magnitude = x.abs();
    // Halves in order: bits 0..=0x7c00, the last being infinity, which counts as 2^16 for rounding.
    let value = |bits: u16| if bits == 0x7c00 { 65536.0 } else { f16::from_bits(bits).to_f64() };
    let mut below = 0u16;
    for bit in (0..15).rev() {
        let bits = below | 1 << bit;
        if bits <= 0x7c00 && value(bits) <= magnitude {
            below = bits;
        }
    }
    let above = (below + 1).min(0x7c00);
    let mode = match mode {
        FPRoundingMode::RTP if x < 0.0 => FPRoundingMode::RTN,
        FPRoundingMode::RTN if x < 0.0 => FPRoundingMode::RTP,
        mode => mode,
    };
    let largest = magnitude.is_finite() && below == 0x7c00;
    let bits = match mode {
        // Beyond the range, rounding inwards gives the largest number.
        FPRoundingMode::RTZ | FPRoundingMode::RTN if largest => 0x7bff,
        _ if below == 0x7c00 => below,
        mode => pick(magnitude, (value(below), below), (value(above), above), below.is_multiple_of(2), mode),
    };
    f16::from_bits(bits | if x.is_sign_negative() { 0x8000 } else { 0 })
}

fn same(got: f16, want: f16) -> bool {
    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())
}

/// Doubles at, beside and far from halves and the ties between them.
fn doubles() -> Vec<f64> {
    let mut all = vec![0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, -1e300, 5e-324, -5e-324];
    let tie = f64::powi(2.0, -25);
    all.extend([
        65504.0,
        65519.999,
        65520.0,
        65535.0,
        65536.0,
        tie,
        tie * 1.000_000_000_1,
        tie * 0.999_999_999_9,
    ]);
    let mut random = Random::new(5);
    for _ in 0..4000 {
        let half = f16::from_bits(random.next_u32() as u16 & 0xfbff).to_f64();
        let next = f16::from_bits((f16::from_f64(half).to_bits() + 1) & 0xfbff).to_f64();
        let middle = (half + next) / 2.0;
        all.extend([half, middle, middle.next_up(), middle.next_down(), half.next_up(), half.next_down()]);
        all.extend([f64::from(middle as f32), f64::from((middle as f32).next_up())]);
    }
    all.resize(all.len().next_multiple_of(32), 1.0);
    all
}

#[test]
fn floats_become_halves_in_every_rounding_mode() {
    let inputs = doubles();
    let singles: Vec<f32> = inputs.iter().map(|x| *x as f32).collect();
    for (target, lanes) in forms() {
        for lanes in lanes {
            for mode in MODES {
                let narrow = |m: &crate::lower::opencl_std::element::Element<'_>, x: &[Value]| {
                    vec![float_to_float(m.b, x[0], Scalar::F16, mode)]
                };
                let got: Vec<f16> =
                    compile(&target, lanes, &[Scalar::F64], narrow).map(&inputs, &[0u8; 0], &[0u8; 0]);
                for (x, got) in inputs.iter().zip(got) {
                    let want = to_half(*x, mode);
                    assert!(same(got, want), "{x:e} {mode:?} is {got:e}, not {want:e} ({lanes} lanes)");
                }
                let got: Vec<f16> =
                    compile(&target, lanes, &[Scalar::F32], narrow).map(&singles, &[0u8; 0], &[0u8; 0]);
                for (x, got) in singles.iter().zip(got) {
                    let want = to_half((*x).into(), mode);
                    assert!(same(got, want), "{x:e} {mode:?} is {got:e}, not {want:e} ({lanes} lanes)");
                }
            }
        }
    }
}

#[test]
fn integers_become_halves_in_every_rounding_mode() {
    let mut random = Random::new(6);
    let mut inputs: Vec<i64> = vec![0, 1, -1, 2049, 4099, -4097, 65519, 65520, -65520, i64::MAX, i64::MIN];
    inputs.extend((0..4000).map(|at| random.next_u64() as i64 >> (at % 64)));
    inputs.resize(inputs.len().next_multiple_of(32), 1);
    for (target, lanes) in forms() {
        for lanes in lanes {
            for mode in MODES {
                for signed in [true, false] {
                    let code = compile(&target, lanes, &[Scalar::I64], |m, x| {
                        vec![int_to_float(m.b, x[0], Scalar::F16, signed, mode)]
                    });
                    let got: Vec<f16> = code.map(&inputs, &[0u8; 0], &[0u8; 0]);
                    for (x, got) in inputs.iter().zip(got) {
                        let value = if signed { *x as f64 } else { *x as u64 as f64 };
                        let want = to_half(value, mode);
                        assert!(same(got, want), "{value} {mode:?} is {got:e}, not {want:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn halves_become_integers() {
    let inputs: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let round = |x: f64, mode: FPRoundingMode| match mode {
        FPRoundingMode::RTE => x.round_ties_even(),
        FPRoundingMode::RTZ => x.trunc(),
        FPRoundingMode::RTP => x.ceil(),
        FPRoundingMode::RTN => x.floor(),
    };
    for (target, lanes) in forms() {
        for mode in MODES {
            for saturated in [false, true] {
                let lanes = *lanes.last().expect("forms have lanes");
                let bytes = compile(&target, lanes, &[Scalar::F16], |m, x| {
                    vec![float_to_int(m.b, x[0], Scalar::I8, true, saturated, mode)]
                });
                let got: Vec<i8> = bytes.map(&inputs, &[0u8; 0], &[0u8; 0]);
                let words = compile(&target, lanes, &[Scalar::F16], |m, x| {
                    vec![float_to_int(m.b, x[0], Scalar::I32, false, saturated, mode)]
                });
                let wide: Vec<u32> = words.map(&inputs, &[0u8; 0], &[0u8; 0]);
                for ((x, byte), word) in inputs.iter().zip(got).zip(wide) {
                    let want = round(x.to_f64(), mode);
                    // Casts of Rust saturate, and what is not a number becomes 0.
                    if saturated || (-128.0..128.0).contains(&want) {
                        assert_eq!(byte, want as i8, "{x:e} {mode:?}");
                    }
                    if saturated || (0.0..4e9).contains(&want) {
                        assert_eq!(word, want as u32, "{x:e} {mode:?}");
                    }
                }
            }
        }
    }
}
