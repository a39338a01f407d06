//! Which function of floats an instruction of `OpenCL.std` is.

use super::super::builder::Value;
use super::element::{self, Element};
use super::{
    circular, common, error_function, exponential, gamma, hyperbolic, inverse, logarithm, native, parts,
    power, remainder, trigonometric,
};
use crate::analysis::leaves::Scalar;
use crate::jit::target::Target;
use spirv::OpenclStd100Op as StdOp;

/// A function of floats. Halves are computed as f32.
#[derive(Clone, Copy)]
pub enum Function {
    /// A function of the C library, by its name for f64; lanes of f32 and f64 have their own form where they are computed
    /// [in place](Element::is_in_place_or_f64): a call of libmvec spills every live vector register.
    Lanes(&'static str, element::Function),
    /// The same of functions of which f64 lanes have that only with AVX-512.
    Wide(&'static str, element::Function),
    /// The same of functions of which f64 lanes never have that.
    Single(&'static str, element::Function),
    Own(element::Function),
}

impl Function {
    pub fn call(self, m: &Element<'_>, x: &[Value]) -> Value {
        match self {
            Function::Lanes(_, own) if m.is_in_place_or_f64() => own(m, x),
            Function::Single(_, own) if m.is_in_place() => own(m, x),
            Function::Wide(_, own) if m.is_in_place() || (m.ty == Scalar::F64 && m.has_avx512()) => own(m, x),
            Function::Lanes(name, _) | Function::Wide(name, _) | Function::Single(name, _) => m.libm(name, x),
            Function::Own(function) => function(m, x),
        }
    }
}

/// A function with two results of which the second goes through a pointer.
pub type PairFunction = fn(&Element<'_>, &[Value]) -> [Value; 2];

pub fn function(op: StdOp) -> Option<Function> {
    use Function::{Lanes, Own, Single, Wide};
    Some(match op {
        StdOp::acos => Lanes("acos", inverse::acos),
        StdOp::acosh => Lanes("acosh", hyperbolic::acosh),
        StdOp::acospi => Own(inverse::acospi),
        StdOp::asin => Lanes("asin", inverse::asin),
        StdOp::asinh => Lanes("asinh", hyperbolic::asinh),
        StdOp::asinpi => Own(inverse::asinpi),
        StdOp::atan => Lanes("atan", inverse::atan),
        StdOp::atan2 => Lanes("atan2", inverse::atan2),
        StdOp::atanh => Lanes("atanh", hyperbolic::atanh),
        StdOp::atanpi => Own(inverse::atanpi),
        StdOp::atan2pi => Own(inverse::atan2pi),
        StdOp::cbrt => Own(power::cbrt),
        StdOp::ceil => Own(parts::ceil),
        StdOp::copysign => Own(parts::copysign),
        StdOp::cos => Own(trigonometric::cos),
        StdOp::cosh => Lanes("cosh", hyperbolic::cosh),
        StdOp::cospi => Own(circular::cospi),
        StdOp::erfc => Single("erfc", error_function::erfc),
        StdOp::erf => Wide("erf", error_function::erf),
        StdOp::exp => Own(exponential::exp),
        StdOp::half_exp | StdOp::native_exp => Own(native::exp),
        StdOp::exp2 => Own(exponential::exp2),
        StdOp::half_exp2 | StdOp::native_exp2 => Own(native::exp2),
        StdOp::exp10 => Own(exponential::exp10),
        StdOp::half_exp10 | StdOp::native_exp10 => Own(native::exp10),
        StdOp::expm1 => Lanes("expm1", exponential::expm1),
        StdOp::fabs => Own(parts::abs),
        StdOp::fdim => Own(parts::fdim),
        StdOp::floor => Own(parts::floor),
        StdOp::fma => Own(parts::fma),
        StdOp::fmax => Own(parts::fmax),
        StdOp::fmin => Own(parts::fmin),
        StdOp::fmod => Own(remainder::fmod),
        StdOp::hypot => Own(power::hypot),
        StdOp::ilogb => Own(parts::ilogb),
        StdOp::ldexp => Own(parts::ldexp),
        StdOp::lgamma => Own(gamma::lgamma),
        StdOp::log => Own(logarithm::log),
        StdOp::half_log | StdOp::native_log => Own(native::log),
        StdOp::log2 => Own(logarithm::log2),
        StdOp::half_log2 | StdOp::native_log2 => Own(native::log2),
        StdOp::log10 => Own(logarithm::log10),
        StdOp::half_log10 | StdOp::native_log10 => Own(native::log10),
        StdOp::log1p => Own(logarithm::log1p),
        StdOp::logb => Own(parts::logb),
        StdOp::mad => Own(parts::mad),
        StdOp::maxmag => Own(parts::maxmag),
        StdOp::minmag => Own(parts::minmag),
        StdOp::pow => Own(power::pow),
        StdOp::pown => Own(power::pown),
        StdOp::powr => Own(power::powr),
        StdOp::remainder => Own(remainder::remainder),
        StdOp::rint => Own(parts::rint),
        StdOp::rootn => Own(power::rootn),
        StdOp::round => Own(parts::round),
        StdOp::rsqrt | StdOp::native_rsqrt => Own(power::rsqrt),
        StdOp::half_rsqrt => Own(power::half_rsqrt),
        StdOp::sin => Own(trigonometric::sin),
        StdOp::sinh => Lanes("sinh", hyperbolic::sinh),
        StdOp::sinpi => Own(circular::sinpi),
        StdOp::sqrt | StdOp::half_sqrt | StdOp::native_sqrt => Own(power::sqrt),
        StdOp::tan => Own(trigonometric::tan),
        StdOp::tanh => Lanes("tanh", hyperbolic::tanh),
        StdOp::tanpi => Own(circular::tanpi),
        StdOp::tgamma => Own(gamma::tgamma),
        StdOp::trunc => Own(parts::trunc),
        StdOp::half_cos | StdOp::native_cos => Own(native::cos),
        StdOp::half_sin | StdOp::native_sin => Own(native::sin),
        StdOp::half_tan | StdOp::native_tan => Own(trigonometric::tan),
        StdOp::half_divide | StdOp::native_divide => Own(power::divide),
        StdOp::half_powr => Own(power::half_powr),
        StdOp::native_powr => Own(native::powr),
        StdOp::native_recip => Own(power::recip),
        StdOp::half_recip => Own(power::half_recip),
        StdOp::fclamp => Own(common::fclamp),
        StdOp::degrees => Own(common::degrees),
        StdOp::fmax_common => Own(common::fmax_common),
        StdOp::fmin_common => Own(common::fmin_common),
        StdOp::mix => Own(common::mix),
        StdOp::radians => Own(common::radians),
        StdOp::step => Own(common::step),
        StdOp::smoothstep => Own(common::smoothstep),
        StdOp::sign => Own(common::sign),
        _ => return None,
    })
}

/// Whether an instruction is a call for each lane, at least where there is no vector library, or as much code.
pub fn is_long(op: StdOp) -> bool {
    use StdOp::{
        cbrt, cos, fmod, hypot, lgamma, lgamma_r, pow, pown, powr, remainder, remquo, rootn, sin, sincos,
        tan, tgamma,
    };
    matches!(function(op), Some(Function::Lanes(..) | Function::Wide(..) | Function::Single(..)))
        || matches!(
            op,
            cbrt | cos
                | fmod
                | hypot
                | lgamma
                | lgamma_r
                | pow
                | pown
                | powr
                | remainder
                | remquo
                | rootn
                | sin
                | sincos
                | tan
                | tgamma
        )
}

/// Whether a function of scalars of this type is a call that is none for lanes, of which any number gives the same.
pub fn is_faster_in_lanes(op: StdOp, ty: Scalar, target: &Target) -> bool {
    use StdOp::{
        acospi, asinpi, atan2pi, atanpi, cbrt, exp, exp2, exp10, hypot, log, log1p, log2, log10, nextafter,
        pow, pown, powr, rootn, tgamma,
    };
    let has_fma = element::has_fma(target);
    match ty {
        Scalar::F16 | Scalar::F32 => has_fma && !is_short(op) && op != nextafter,
        Scalar::F64 if matches!(function(op), Some(Function::Lanes(..))) => has_fma,
        Scalar::F64 if matches!(function(op), Some(Function::Wide(..))) => target.has_avx512(),
        Scalar::F64 if op == hypot => has_fma && !target.has_avx512(),
        Scalar::F64 => {
            const IN_PLACE: [StdOp; 17] = [
                acospi, asinpi, atan2pi, atanpi, cbrt, exp, exp2, exp10, log, log1p, log2, log10, pow, pown,
                powr, rootn, tgamma,
            ];
            has_fma && IN_PLACE.contains(&op)
        }
        _ => false,
    }
}

/// Instructions of the processor that a function takes which is more than a few, and how many of them wait for each other: about.
pub const LENGTH: (usize, usize) = (18, 13);

/// The same for any instruction.
pub fn length(op: StdOp) -> (usize, usize) {
    if is_short(op) { (1, 1) } else { LENGTH }
}

/// Whether an instruction is a few instructions of the processor at most, of all those that are no functions of floats, too.
fn is_short(op: StdOp) -> bool {
    use StdOp::{
        ceil, copysign, fabs, fclamp, fdim, floor, fma, fmax, fmax_common, fmin, fmin_common, half_sqrt,
        ldexp, mad, maxmag, minmag, mix, native_sqrt, radians, rint, round, sign, sqrt, step, trunc,
    };
    const SHORT: [StdOp; 25] = [
        ceil,
        copysign,
        fabs,
        fclamp,
        fdim,
        floor,
        fma,
        fmax,
        fmax_common,
        fmin,
        fmin_common,
        half_sqrt,
        ldexp,
        mad,
        maxmag,
        minmag,
        mix,
        native_sqrt,
        radians,
        rint,
        round,
        sign,
        sqrt,
        step,
        trunc,
    ];
    SHORT.contains(&op) || (function(op).is_none() && pair_function(op).is_none())
}

/// Whether a function is an instruction of vectors, or two, neither of which takes long.
pub fn is_an_instruction(op: StdOp, target: &Target) -> bool {
    use StdOp::{
        bitselect, ceil, copysign, degrees, fabs, fclamp, fdim, floor, fma, fmax, fmax_common, fmin,
        fmin_common, mad, mix, radians, rint, rotate, s_abs, s_clamp, s_mad24, s_max, s_min, s_mul24, select,
        step, trunc, u_abs, u_clamp, u_mad24, u_max, u_min, u_mul24,
    };
    const ALL: [StdOp; 32] = [
        bitselect,
        ceil,
        copysign,
        degrees,
        fabs,
        fclamp,
        fdim,
        floor,
        fmax,
        fmax_common,
        fmin,
        fmin_common,
        mad,
        mix,
        radians,
        rint,
        rotate,
        s_abs,
        s_clamp,
        s_mad24,
        s_max,
        s_min,
        s_mul24,
        select,
        step,
        trunc,
        u_abs,
        u_clamp,
        u_mad24,
        u_max,
        u_min,
        u_mul24,
    ];
    ALL.contains(&op) || (op == fma && element::has_fma(target))
}

/// Functions that compute halves as halves.
pub fn native_function(op: StdOp) -> Option<element::Function> {
    Some(match op {
        StdOp::nextafter => parts::nextafter,
        StdOp::nan => |m, x| parts::nan(&Element { ty: float_of(m), rounded_to: float_of(m), ..*m }, x),
        _ => return None,
    })
}

/// The float as wide as the integers of this form.
fn float_of(m: &Element<'_>) -> crate::analysis::leaves::Scalar {
    use crate::analysis::leaves::Scalar;
    match m.ty {
        Scalar::I16 => Scalar::F16,
        Scalar::I32 => Scalar::F32,
        _ => Scalar::F64,
    }
}

pub fn pair_function(op: StdOp) -> Option<PairFunction> {
    Some(match op {
        StdOp::fract => parts::fract,
        StdOp::frexp => parts::frexp,
        StdOp::lgamma_r => gamma::lgamma_r,
        StdOp::modf => parts::modf,
        StdOp::remquo => remainder::remquo,
        StdOp::sincos => trigonometric::sincos,
        _ => return None,
    })
}
