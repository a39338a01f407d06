//! The geometric functions (OpenCL C 2.0 §6.13.5).
//!
//! `length`, `distance` and `normalize` may not overflow on the way to a result that does not: f32 and f64 scale by
//! a power of two first. Halves are f32 here and need no scaling.

use super::super::builder::{IntPred, Value};
use super::element::Element;
use spirv::OpenclStd100Op as StdOp;

/// A function of whole vectors: the components of all operands, one operand after the other.
pub type Function = fn(&Element<'_>, &[Value]) -> Vec<Value>;

pub fn function(op: StdOp) -> Option<Function> {
    Some(match op {
        StdOp::cross => cross,
        StdOp::length => |m, x| vec![length(m, x)],
        StdOp::distance => |m, x| vec![length(m, &difference(m, x))],
        StdOp::fast_length => |m, x| vec![m.sqrt(sum_of_squares(m, x))],
        StdOp::fast_distance => |m, x| vec![m.sqrt(sum_of_squares(m, &difference(m, x)))],
        StdOp::normalize => normalize,
        StdOp::fast_normalize => fast_normalize,
        _ => return None,
    })
}

fn cross(m: &Element<'_>, x: &[Value]) -> Vec<Value> {
    let (a, b) = x.split_at(x.len() / 2);
    let mut result: Vec<Value> = [(1, 2), (2, 0), (0, 1)]
        .into_iter()
        .map(|(i, j)| m.sub(m.mul(a[i], b[j]), m.mul(a[j], b[i])))
        .collect();
    // The fourth component, where there is one, is 0.
    result.resize(a.len(), m.c(0.0));
    result
}

fn difference(m: &Element<'_>, x: &[Value]) -> Vec<Value> {
    let (a, b) = x.split_at(x.len() / 2);
    a.iter().zip(b).map(|(a, b)| m.sub(*a, *b)).collect()
}

fn sum_of_squares(m: &Element<'_>, x: &[Value]) -> Value {
    let first = m.mul(x[0], x[0]);
    x[1..].iter().fold(first, |sum, x| m.mad(*x, *x, sum))
}

fn is_promoted(m: &Element<'_>) -> bool {
    m.rounded_to != m.ty
}

/// A power of two near the greatest component and its reciprocal, both normal numbers.
fn scale(m: &Element<'_>, x: &[Value]) -> (Value, Value) {
    let digits = m.digits();
    let least = m.i(1 << digits);
    let most = m.i((2 * m.bias() - 2) << digits);
    let exponents = m.i((2 * m.bias() + 1) << digits);
    // Magnitudes compare as integers, and what is not a number comes out on top.
    let greatest = x
        .iter()
        .map(|x| m.bits(m.abs(*x)))
        .reduce(|a, b| m.b.intrinsic("llvm.umax", &[a, b]))
        .expect("vectors have components");
    let power = m.b.and(greatest, exponents);
    let power = m.b.intrinsic("llvm.umin", &[m.b.intrinsic("llvm.umax", &[power, least]), most]);
    let reciprocal = m.b.sub(m.i((2 * m.bias()) << digits), power);
    (m.float(power), m.float(reciprocal))
}

fn length(m: &Element<'_>, x: &[Value]) -> Value {
    if let [x] = x {
        return m.abs(*x);
    }
    if is_promoted(m) {
        return m.sqrt(sum_of_squares(m, x));
    }
    let (power, reciprocal) = scale(m, x);
    let scaled: Vec<Value> = x.iter().map(|x| m.mul(*x, reciprocal)).collect();
    m.mul(m.sqrt(sum_of_squares(m, &scaled)), power)
}

fn normalize(m: &Element<'_>, x: &[Value]) -> Vec<Value> {
    let infinite: Vec<Value> = x.iter().map(|x| m.is_inf(*x)).collect();
    let any = infinite.iter().copied().reduce(|a, b| m.b.or(a, b)).expect("vectors have components");
    // An infinite vector points along its infinite components.
    let finite: Vec<Value> = x
        .iter()
        .zip(&infinite)
        .map(|(x, infinite)| {
            let unit = m.select(*infinite, m.c(1.0), m.mul(*x, m.c(0.0)));
            m.select(any, m.copysign(unit, *x), *x)
        })
        .collect();
    let scaled: Vec<Value> = if is_promoted(m) {
        finite
    } else {
        let (_, reciprocal) = scale(m, &finite);
        finite.iter().map(|x| m.mul(*x, reciprocal)).collect()
    };
    let length = m.sqrt(sum_of_squares(m, &scaled));
    let zero = m.is_zero(length);
    let length = m.select(zero, m.c(1.0), length);
    scaled.iter().map(|x| m.div(*x, length)).collect()
}

fn fast_normalize(m: &Element<'_>, x: &[Value]) -> Vec<Value> {
    let square = sum_of_squares(m, x);
    let factor = super::power::rsqrt(m, &[square]);
    let factor = m.select(m.is_zero(square), m.c(1.0), factor);
    x.iter().map(|x| m.mul(*x, factor)).collect()
}

/// Components of one vector picked by the low bits of another's.
pub fn shuffle(m: &Element<'_>, sources: &[Value], mask: &[Value]) -> Vec<Value> {
    let b = m.b;
    mask.iter()
        .map(|index| {
            let (scalar, lanes) = (b.scalar_of(*index), b.lanes(*index));
            // A tree: each level halves what may be meant. A vector of three counts as one of four.
            let mut left: Vec<Value> = sources.to_vec();
            let mut bit = 0;
            while left.len() > 1 {
                let wanted = b.and(*index, b.int(scalar, lanes, 1 << bit));
                let odd = b.icmp(IntPred::LLVMIntNE, wanted, b.zero(scalar, lanes));
                left = left
                    .chunks(2)
                    .map(|pair| b.select(odd, *pair.last().unwrap_or(&pair[0]), pair[0]))
                    .collect();
                bit += 1;
            }
            left[0]
        })
        .collect()
}
