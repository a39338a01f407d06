//! What every instruction of `OpenCL.std` is: one row a function (OpenCL C 2.0 §6.13).

use super::{Memory, Opcode, Uniformity};
use spirv::{Op, OpenclStd100Op};

/// `OpExtInst`: what it does is in the row of the function.
pub(super) const CALL: &[Opcode] =
    &[Opcode::new(Op::ExtInst, super::Family::Extended, super::Signature::Extended, Uniformity::Extended)
        .memory(Memory::ByCallee)];

/// The functions that one file of the engine's `lower/opencl_std` knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// A function of single floats, of which halves may be computed as f32.
    Float,
    /// A function of single floats whose bits matter.
    Bits,
    /// A function of single floats with a second result through a pointer.
    Pair,
    Integer,
    /// A function of whole vectors of floats.
    Geometric,
    VectorData,
    Selection,
    Hint,
    Print,
}

/// What an instruction takes and gives. `T` is the result's type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Signature {
    /// Floating-point: as many `T`.
    Float(usize),
    /// Integer: as many `T`.
    Int(usize),
    /// 32-bit integer: as many `T`.
    Int32(usize),
    /// Integer or floating-point: as many `T`.
    Any(usize),
    /// As many `T` and a pointer to `T`.
    FloatAndPointer(usize),
    /// As many `T` and a pointer to 32-bit integers.
    FloatAndIntPointer(usize),
    /// `T` and 32-bit integers.
    FloatAndInt,
    /// 32-bit integers from floating-point numbers.
    IntOfFloat,
    /// Floating-point numbers from integers of the same width.
    FloatOfInt,
    /// `T` is twice as wide as two integers.
    Upsample,
    /// Two `T` and an integer a component.
    Select,
    /// `T` of three or four components, twice.
    Cross,
    /// A scalar from as many vectors.
    Length(usize),
    VectorLoad,
    VectorStore,
    HalfLoad,
    HalfVectorLoad,
    HalfStore,
    HalfVectorStore,
    /// Like the one before, with a rounding mode.
    HalfStoreRounded,
    HalfVectorStoreRounded,
    Shuffle,
    Shuffle2,
    Printf,
    Prefetch,
}

/// What a function does with a pointer operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Through {
    Reads,
    Writes,
}

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    pub op: OpenclStd100Op,
    pub family: Family,
    pub signature: Signature,
}

const fn function(op: OpenclStd100Op, family: Family, signature: Signature) -> Function {
    Function { op, family, signature }
}

impl Function {
    /// The operand that is a literal, counted behind the function's number.
    pub fn literal(&self) -> Option<usize> {
        match self.signature {
            // The component count.
            Signature::VectorLoad | Signature::HalfVectorLoad => Some(2),
            // The rounding mode.
            Signature::HalfStoreRounded | Signature::HalfVectorStoreRounded => Some(3),
            _ => None,
        }
    }

    /// The operand that is a pointer, counted behind the function's number, and what is done with it.
    pub fn pointer(&self) -> Option<(usize, Through)> {
        use Signature as S;
        match self.signature {
            S::FloatAndPointer(args) | S::FloatAndIntPointer(args) => Some((args, Through::Writes)),
            S::VectorLoad | S::HalfLoad | S::HalfVectorLoad => Some((1, Through::Reads)),
            S::VectorStore
            | S::HalfStore
            | S::HalfVectorStore
            | S::HalfStoreRounded
            | S::HalfVectorStoreRounded => Some((2, Through::Writes)),
            S::Printf | S::Prefetch => Some((0, Through::Reads)),
            _ => None,
        }
    }

    /// Whether each component of the result is made of the same components of the operands, and of nothing else.
    pub fn is_componentwise(&self) -> bool {
        match (self.family, self.signature) {
            (Family::Selection, Signature::Shuffle | Signature::Shuffle2) => false,
            (Family::Float | Family::Bits | Family::Pair | Family::Integer | Family::Selection, _) => true,
            (Family::Geometric | Family::VectorData | Family::Hint | Family::Print, _) => false,
        }
    }

    /// Whether it does nothing but compute a result from its operands.
    pub fn is_pure(&self) -> bool {
        self.pointer().is_none()
    }
}

/// All functions.
pub const FUNCTIONS: &[Function] = {
    use Family::{Bits, Float, Geometric, Hint, Integer, Pair, Print, Selection, VectorData};
    use OpenclStd100Op as F;
    use Signature as S;
    &[
        // Functions of single floats (OpenCL C 2.0 §6.13.2, §6.13.4).
        function(F::acos, Float, S::Float(1)),
        function(F::acosh, Float, S::Float(1)),
        function(F::acospi, Float, S::Float(1)),
        function(F::asin, Float, S::Float(1)),
        function(F::asinh, Float, S::Float(1)),
        function(F::asinpi, Float, S::Float(1)),
        function(F::atan, Float, S::Float(1)),
        function(F::atanh, Float, S::Float(1)),
        function(F::atanpi, Float, S::Float(1)),
        function(F::cbrt, Float, S::Float(1)),
        function(F::ceil, Float, S::Float(1)),
        function(F::cos, Float, S::Float(1)),
        function(F::cosh, Float, S::Float(1)),
        function(F::cospi, Float, S::Float(1)),
        function(F::erfc, Float, S::Float(1)),
        function(F::erf, Float, S::Float(1)),
        function(F::exp, Float, S::Float(1)),
        function(F::exp2, Float, S::Float(1)),
        function(F::exp10, Float, S::Float(1)),
        function(F::expm1, Float, S::Float(1)),
        function(F::fabs, Float, S::Float(1)),
        function(F::floor, Float, S::Float(1)),
        function(F::lgamma, Float, S::Float(1)),
        function(F::log, Float, S::Float(1)),
        function(F::log2, Float, S::Float(1)),
        function(F::log10, Float, S::Float(1)),
        function(F::log1p, Float, S::Float(1)),
        function(F::logb, Float, S::Float(1)),
        function(F::rint, Float, S::Float(1)),
        function(F::round, Float, S::Float(1)),
        function(F::rsqrt, Float, S::Float(1)),
        function(F::sin, Float, S::Float(1)),
        function(F::sinh, Float, S::Float(1)),
        function(F::sinpi, Float, S::Float(1)),
        function(F::sqrt, Float, S::Float(1)),
        function(F::tan, Float, S::Float(1)),
        function(F::tanh, Float, S::Float(1)),
        function(F::tanpi, Float, S::Float(1)),
        function(F::tgamma, Float, S::Float(1)),
        function(F::trunc, Float, S::Float(1)),
        function(F::half_cos, Float, S::Float(1)),
        function(F::half_exp, Float, S::Float(1)),
        function(F::half_exp2, Float, S::Float(1)),
        function(F::half_exp10, Float, S::Float(1)),
        function(F::half_log, Float, S::Float(1)),
        function(F::half_log2, Float, S::Float(1)),
        function(F::half_log10, Float, S::Float(1)),
        function(F::half_recip, Float, S::Float(1)),
        function(F::half_rsqrt, Float, S::Float(1)),
        function(F::half_sin, Float, S::Float(1)),
        function(F::half_sqrt, Float, S::Float(1)),
        function(F::half_tan, Float, S::Float(1)),
        function(F::native_cos, Float, S::Float(1)),
        function(F::native_exp, Float, S::Float(1)),
        function(F::native_exp2, Float, S::Float(1)),
        function(F::native_exp10, Float, S::Float(1)),
        function(F::native_log, Float, S::Float(1)),
        function(F::native_log2, Float, S::Float(1)),
        function(F::native_log10, Float, S::Float(1)),
        function(F::native_recip, Float, S::Float(1)),
        function(F::native_rsqrt, Float, S::Float(1)),
        function(F::native_sin, Float, S::Float(1)),
        function(F::native_sqrt, Float, S::Float(1)),
        function(F::native_tan, Float, S::Float(1)),
        function(F::degrees, Float, S::Float(1)),
        function(F::radians, Float, S::Float(1)),
        function(F::sign, Float, S::Float(1)),
        function(F::atan2, Float, S::Float(2)),
        function(F::atan2pi, Float, S::Float(2)),
        function(F::copysign, Float, S::Float(2)),
        function(F::fdim, Float, S::Float(2)),
        function(F::fmax, Float, S::Float(2)),
        function(F::fmin, Float, S::Float(2)),
        function(F::fmod, Float, S::Float(2)),
        function(F::hypot, Float, S::Float(2)),
        function(F::maxmag, Float, S::Float(2)),
        function(F::minmag, Float, S::Float(2)),
        function(F::pow, Float, S::Float(2)),
        function(F::powr, Float, S::Float(2)),
        function(F::remainder, Float, S::Float(2)),
        function(F::half_divide, Float, S::Float(2)),
        function(F::half_powr, Float, S::Float(2)),
        function(F::native_divide, Float, S::Float(2)),
        function(F::native_powr, Float, S::Float(2)),
        function(F::fmax_common, Float, S::Float(2)),
        function(F::fmin_common, Float, S::Float(2)),
        function(F::step, Float, S::Float(2)),
        function(F::fma, Float, S::Float(3)),
        function(F::mad, Float, S::Float(3)),
        function(F::fclamp, Float, S::Float(3)),
        function(F::mix, Float, S::Float(3)),
        function(F::smoothstep, Float, S::Float(3)),
        function(F::ldexp, Float, S::FloatAndInt),
        function(F::pown, Float, S::FloatAndInt),
        function(F::rootn, Float, S::FloatAndInt),
        function(F::ilogb, Float, S::IntOfFloat),
        // Functions of single floats that look at their bits.
        function(F::nextafter, Bits, S::Float(2)),
        function(F::nan, Bits, S::FloatOfInt),
        // Functions with a second result through a pointer.
        function(F::fract, Pair, S::FloatAndPointer(1)),
        function(F::modf, Pair, S::FloatAndPointer(1)),
        function(F::sincos, Pair, S::FloatAndPointer(1)),
        function(F::frexp, Pair, S::FloatAndIntPointer(1)),
        function(F::lgamma_r, Pair, S::FloatAndIntPointer(1)),
        function(F::remquo, Pair, S::FloatAndIntPointer(2)),
        // Functions of single integers (§6.13.3).
        function(F::s_abs, Integer, S::Int(1)),
        function(F::u_abs, Integer, S::Int(1)),
        function(F::clz, Integer, S::Int(1)),
        function(F::ctz, Integer, S::Int(1)),
        function(F::popcount, Integer, S::Int(1)),
        function(F::s_abs_diff, Integer, S::Int(2)),
        function(F::u_abs_diff, Integer, S::Int(2)),
        function(F::s_add_sat, Integer, S::Int(2)),
        function(F::u_add_sat, Integer, S::Int(2)),
        function(F::s_hadd, Integer, S::Int(2)),
        function(F::u_hadd, Integer, S::Int(2)),
        function(F::s_rhadd, Integer, S::Int(2)),
        function(F::u_rhadd, Integer, S::Int(2)),
        function(F::s_max, Integer, S::Int(2)),
        function(F::u_max, Integer, S::Int(2)),
        function(F::s_min, Integer, S::Int(2)),
        function(F::u_min, Integer, S::Int(2)),
        function(F::s_mul_hi, Integer, S::Int(2)),
        function(F::u_mul_hi, Integer, S::Int(2)),
        function(F::rotate, Integer, S::Int(2)),
        function(F::s_sub_sat, Integer, S::Int(2)),
        function(F::u_sub_sat, Integer, S::Int(2)),
        function(F::s_clamp, Integer, S::Int(3)),
        function(F::u_clamp, Integer, S::Int(3)),
        function(F::s_mad_hi, Integer, S::Int(3)),
        function(F::u_mad_hi, Integer, S::Int(3)),
        function(F::s_mad_sat, Integer, S::Int(3)),
        function(F::u_mad_sat, Integer, S::Int(3)),
        function(F::s_mul24, Integer, S::Int32(2)),
        function(F::u_mul24, Integer, S::Int32(2)),
        function(F::s_mad24, Integer, S::Int32(3)),
        function(F::u_mad24, Integer, S::Int32(3)),
        function(F::s_upsample, Integer, S::Upsample),
        function(F::u_upsample, Integer, S::Upsample),
        // Functions of whole vectors (§6.13.5).
        function(F::normalize, Geometric, S::Float(1)),
        function(F::fast_normalize, Geometric, S::Float(1)),
        function(F::cross, Geometric, S::Cross),
        function(F::distance, Geometric, S::Length(2)),
        function(F::fast_distance, Geometric, S::Length(2)),
        function(F::length, Geometric, S::Length(1)),
        function(F::fast_length, Geometric, S::Length(1)),
        // Vector loads and stores (§6.13.7).
        function(F::vloadn, VectorData, S::VectorLoad),
        function(F::vstoren, VectorData, S::VectorStore),
        function(F::vload_half, VectorData, S::HalfLoad),
        function(F::vload_halfn, VectorData, S::HalfVectorLoad),
        function(F::vloada_halfn, VectorData, S::HalfVectorLoad),
        function(F::vstore_half, VectorData, S::HalfStore),
        function(F::vstore_half_r, VectorData, S::HalfStoreRounded),
        function(F::vstore_halfn, VectorData, S::HalfVectorStore),
        function(F::vstorea_halfn, VectorData, S::HalfVectorStore),
        function(F::vstore_halfn_r, VectorData, S::HalfVectorStoreRounded),
        function(F::vstorea_halfn_r, VectorData, S::HalfVectorStoreRounded),
        // Choosing bits, components and elements (§6.13.6, §6.13.12).
        function(F::bitselect, Selection, S::Any(3)),
        function(F::select, Selection, S::Select),
        function(F::shuffle, Selection, S::Shuffle),
        function(F::shuffle2, Selection, S::Shuffle2),
        // Hints.
        function(F::prefetch, Hint, S::Prefetch),
        // Output (§6.13.13).
        function(F::printf, Print, S::Printf),
    ]
};

/// Numbers of the set's instructions are below this.
const NUMBERS: usize = 256;

/// Where the row of a function is, plus one; 0 if nowhere.
static PLACES: [u8; NUMBERS] = {
    let mut places = [0; NUMBERS];
    let mut row = 0;
    while row < FUNCTIONS.len() {
        let number = FUNCTIONS[row].op as usize;
        assert!(places[number] == 0, "a function has two rows");
        row += 1;
        places[number] = row as u8;
    }
    places
};

/// The function with a number.
pub fn of_number(number: u64) -> Option<&'static Function> {
    let place = *PLACES.get(usize::try_from(number).ok()?)?;
    FUNCTIONS.get(usize::from(place).checked_sub(1)?)
}
