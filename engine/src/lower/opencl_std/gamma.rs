//! The gamma function and its logarithm, lane by lane.

use super::super::builder::Value;
use super::element::Element;
use crate::analysis::leaves::Scalar;

pub fn tgamma(m: &Element<'_>, x: &[Value]) -> Value {
    m.libm("tgamma", x)
}

pub fn lgamma(m: &Element<'_>, x: &[Value]) -> Value {
    m.libm("lgamma", x)
}

/// [`lgamma`] and the sign of the gamma function: 0 at its poles.
pub fn lgamma_r(m: &Element<'_>, x: &[Value]) -> [Value; 2] {
    let sign = |value: i32| m.b.int(Scalar::I32, m.lanes, value as u32 as u64);
    let floor = m.floor(x[0]);
    let half = m.mul(floor, m.c(0.5));
    let odd = m.ne(half, m.floor(half));
    let pole = m.b.and(m.eq(x[0], floor), m.le(x[0], m.c(0.0)));
    let negative = m.b.and(m.lt(x[0], m.c(0.0)), odd);
    let result = m.select(pole, sign(0), m.select(negative, sign(-1), sign(1)));
    [lgamma(m, x), result]
}
