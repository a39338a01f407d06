//! Errors in units in the last place (OpenCL SPIR-V Env 3.0 §6.6.1) and comparisons built on them.

use crate::mpfr::Reference;

/// The distance from `got` to `want` in units in the last place of `want` as a float. Not a number and infinities
/// match only themselves; an overflow to infinity counts as the next number after the largest.
pub fn ulp_f32(got: f32, want: f64) -> f64 {
    if want.is_nan() {
        return if got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_nan() {
        return f64::INFINITY;
    }
    // The overflow threshold: what rounds to infinity.
    const BEYOND: f64 = 340_282_366_920_938_463_463_374_607_431_768_211_456.0;
    let clamp = |value: f64| value.clamp(-BEYOND, BEYOND);
    let (got, want) = (clamp(f64::from(got)), clamp(want));
    if got == want {
        return 0.0;
    }
    let magnitude = want.abs().max(f64::from(f32::MIN_POSITIVE));
    let exponent = exponent_of(magnitude).min(127);
    (got - want).abs() / f64::powi(2.0, exponent - 23)
}

/// As [`ulp_f32`], for doubles.
pub fn ulp_f64(got: f64, want: Reference) -> f64 {
    if want.high.is_nan() {
        return if got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_nan() {
        return f64::INFINITY;
    }
    if got.is_infinite() || want.high.is_infinite() {
        let largest = |value: f64| value.abs() >= f64::MAX * (1.0 - 16.0 * f64::EPSILON);
        let same = got.is_sign_positive() == want.high.is_sign_positive();
        return if got == want.high || (same && largest(got) && largest(want.high)) {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let error = (got - want.high) - want.low;
    if error == 0.0 {
        return 0.0;
    }
    let exponent = exponent_of(want.high.abs().max(f64::MIN_POSITIVE));
    // Scaled in two steps: the unit of a small number is not a normal number.
    error.abs()
        * f64::powi(2.0, 52 - exponent.max(-500))
        * if exponent < -500 { f64::powi(2.0, -500 - exponent) } else { 1.0 }
}

/// The exponent of the power of two at or below a positive normal number.
fn exponent_of(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// Panics unless every element is within `bound` units in the last place of its reference.
#[track_caller]
pub fn assert_ulp_f32(what: &str, got: &[f32], want: &[f64], bound: f64) {
    assert_eq!(got.len(), want.len(), "{what}: lengths");
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        let error = ulp_f32(got, want);
        assert!(
            error <= bound,
            "{what}: element {i} is {got:e}, not {want:e}: {error:.2} ULP of {bound} allowed"
        );
    }
}

/// Panics unless every element differs from its reference by at most `relative` of `scale`.
#[track_caller]
pub fn assert_close_f32(what: &str, got: &[f32], want: &[f64], relative: f64, scale: f64) {
    assert_eq!(got.len(), want.len(), "{what}: lengths");
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        let error = (f64::from(got) - want).abs();
        assert!(
            error <= relative * scale.max(want.abs()),
            "{what}: element {i} is {got:e}, not {want:e}: off by {error:e}"
        );
    }
}

/// Panics with the first few differences unless the two are equal.
#[track_caller]
pub fn assert_same<T: PartialEq + std::fmt::Debug>(what: &str, got: &[T], want: &[T]) {
    assert_eq!(got.len(), want.len(), "{what}: lengths");
    let different: Vec<usize> = (0..got.len()).filter(|&i| got[i] != want[i]).collect();
    if let Some(&first) = different.first() {
        let shown: Vec<String> =
            different.iter().take(6).map(|&i| format!("[{i}] {:?}, not {:?}", got[i], want[i])).collect();
        panic!(
            "{what}: {} of {} differ, the first at {first}: {}",
            different.len(),
            got.len(),
            shown.join("; ")
        );
    }
}
