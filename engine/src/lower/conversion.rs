//! Conversions between number types: `OpConvert*`, `OpUConvert`, `OpSConvert`, `OpFConvert`, saturation and rounding.
//!
//! OpenCL C 2.0 §6.2.3: floats become integers by rounding towards zero and everything becomes a float by
//! rounding to nearest even, unless a decoration says otherwise. A conversion out of range without
//! saturation gives some value: LLVM's poison never leaves this file.

use super::Lowerer;
use super::builder::{Builder, IntPred, Opcode, RealPred, Value};
use super::float_modes::decorated_rounding;
use super::values::{Reg, Val};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use smallvec::smallvec;
use spirv::{Decoration, FPRoundingMode, Op};
use spirv_env::{Id, Inst};

/// What a conversion does to one number.
#[derive(Clone, Copy)]
enum Numeric {
    FloatToInt { signed: bool },
    IntToFloat { signed: bool },
    Resize { signed: bool },
    Saturate { from_signed: bool, to_signed: bool },
    FloatToFloat,
    ToBFloat16,
    FromBFloat16,
    ToTf32,
}

impl Numeric {
    fn of(op: Op, saturated: bool) -> Option<Self> {
        let int = |signed: bool| match saturated {
            true => Numeric::Saturate { from_signed: signed, to_signed: signed },
            false => Numeric::Resize { signed },
        };
        Some(match op {
            Op::ConvertFToS => Numeric::FloatToInt { signed: true },
            Op::ConvertFToU => Numeric::FloatToInt { signed: false },
            Op::ConvertSToF => Numeric::IntToFloat { signed: true },
            Op::ConvertUToF => Numeric::IntToFloat { signed: false },
            Op::SConvert => int(true),
            Op::UConvert => int(false),
            Op::SatConvertSToU => Numeric::Saturate { from_signed: true, to_signed: false },
            Op::SatConvertUToS => Numeric::Saturate { from_signed: false, to_signed: true },
            Op::FConvert => Numeric::FloatToFloat,
            Op::ConvertFToBF16INTEL => Numeric::ToBFloat16,
            Op::ConvertBF16ToFINTEL => Numeric::FromBFloat16,
            Op::RoundFToTF32INTEL => Numeric::ToTf32,
            _ => return None,
        })
    }
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let leaves = this.leaves(inst.ty.expect("a conversion has a type"))?;
    let to = leaves[0].scalar;
    let rounding = inst.result.and_then(|id| decorated_rounding(this, id));
    let saturated = inst.result.is_some_and(|id| has(this, id, Decoration::SaturatedConversion));
    let kind = Numeric::of(inst.op, saturated).ok_or_else(|| this.no_lowering(inst))?;
    if let Numeric::Resize { .. } = kind
        && leaves.len() == 1
        && this.packing.is_none()
        && let Some(reg) = narrow_row(this, inst, to)?
    {
        return Ok(smallvec![reg]);
    }
    // What is known to be small is converted as a signed number of 32 bits: only AVX-512 has instructions for others.
    let is_small = || this.a.upper(inst.id(0), 0).is_some_and(|upper| upper <= i32::MAX as u64);
    let is_small = matches!(kind, Numeric::IntToFloat { .. }) && is_small();
    let to_even = rounding.unwrap_or_else(|| this.float_modes.rounding(to));
    let to_zero = rounding.unwrap_or(FPRoundingMode::RTZ);
    this.map(&[inst.id(0)], leaves.len(), |this, _, values| {
        let (b, x) = (&this.b, values[0]);
        match kind {
            Numeric::FloatToInt { signed } => float_to_int(b, x, to, signed, saturated, to_zero),
            Numeric::IntToFloat { .. } if is_small && b.scalar_of(x).bits() >= 32 => {
                int_to_float(b, b.zext_or_trunc(x, Scalar::I32), to, true, to_even)
            }
            Numeric::IntToFloat { signed } => int_to_float(b, x, to, signed, to_even),
            Numeric::Resize { signed: true } => b.sext_or_trunc(x, to),
            Numeric::Resize { signed: false } => b.zext_or_trunc(x, to),
            Numeric::Saturate { from_signed, to_signed } => saturate(b, x, to, from_signed, to_signed),
            Numeric::FloatToFloat => float_to_float(b, x, to, to_even),
            Numeric::ToBFloat16 => to_bfloat16(b, x),
            Numeric::FromBFloat16 => from_bfloat16(b, x),
            Numeric::ToTf32 => to_tf32(b, x),
        }
    })
}

/// The low bits of a strided number, such as an id in 32 bits, counted from those of lane 0: LLVM would truncate the wide sums.
fn narrow_row(this: &mut Lowerer<'_, '_>, inst: &Inst, to: Scalar) -> Result<Option<Reg>, EngineError> {
    let wide = inst.id(0);
    let Some(step) = this.a.proven_step(this.current_block(), wide) else { return Ok(None) };
    let first = this.leaf(wide)?.scalar();
    let b = &this.b;
    Ok(match first {
        Some(first) if this.w > 1 && b.scalar_of(first).bits() > to.bits() => {
            let first = b.zext_or_trunc(first, to);
            Some(Reg::strided(first, b.add(b.splat(first, this.w), b.steps(to, this.w, step))))
        }
        _ => None,
    })
}

fn has(this: &Lowerer<'_, '_>, id: Id, kind: Decoration) -> bool {
    this.a.func.decoration(id, kind).is_some()
}

fn float_to_int(
    b: &Builder,
    x: Value,
    to: Scalar,
    signed: bool,
    saturated: bool,
    rounding: FPRoundingMode,
) -> Value {
    let x = if b.scalar_of(x) == Scalar::F16 { b.cast(Opcode::LLVMFPExt, x, Scalar::F32) } else { x };
    let (from, lanes, bits) = (b.scalar_of(x), b.lanes(x), to.bits());
    let x = match rounding {
        FPRoundingMode::RTE => b.intrinsic("llvm.roundeven", &[x]),
        FPRoundingMode::RTP => b.intrinsic("llvm.ceil", &[x]),
        FPRoundingMode::RTN => b.intrinsic("llvm.floor", &[x]),
        FPRoundingMode::RTZ => x,
    };
    let convert = |x: Value, to: Scalar, signed: bool| {
        b.freeze(b.cast(if signed { Opcode::LLVMFPToSI } else { Opcode::LLVMFPToUI }, x, to))
    };
    // Narrow integers go through 32 bits, which every CPU converts to in one instruction.
    let through_i32 = |x: Value| b.zext_or_trunc(convert(x, Scalar::I32, true), to);
    if !saturated {
        return if bits < 32 { through_i32(x) } else { convert(x, to, signed) };
    }
    let compare = |predicate, limit: f64| b.fcmp(predicate, x, b.float(from, lanes, limit));
    let top = f64::powi(2.0, bits as i32 - i32::from(signed));
    let bottom = if signed { -top } else { 0.0 };
    let is_number = b.fcmp(RealPred::LLVMRealORD, x, x);
    // All limits are numbers of the format here.
    if bits <= 24 {
        let (low, high) = (b.float(from, lanes, bottom), b.float(from, lanes, top - 1.0));
        let x = b.select(is_number, x, b.zero(from, lanes));
        let x = b.select(b.fcmp(RealPred::LLVMRealOLT, x, low), low, x);
        let x = b.select(b.fcmp(RealPred::LLVMRealOGT, x, high), high, x);
        return through_i32(x);
    }
    let most = u128::MAX >> (u128::BITS - bits + u32::from(signed));
    let least = if signed { !most } else { 0 };
    let result = convert(x, to, signed);
    let result = b.select(compare(RealPred::LLVMRealOGE, top), b.wide_int(to, lanes, most), result);
    let result = b.select(compare(RealPred::LLVMRealOLT, bottom), b.wide_int(to, lanes, least), result);
    b.select(is_number, result, b.zero(to, lanes))
}

/// Digits of a float's significand, with the implicit one.
fn precision(scalar: Scalar) -> u32 {
    match scalar {
        Scalar::F16 => 11,
        Scalar::F32 => 24,
        _ => 53,
    }
}

fn int_to_float(b: &Builder, x: Value, to: Scalar, signed: bool, rounding: FPRoundingMode) -> Value {
    if to == Scalar::F16 {
        // Rounding twice to nearest is harmless here: integers that f32 does not hold are infinite halves.
        let wide = int_to_float(b, x, Scalar::F32, signed, rounding);
        return float_to_float(b, wide, to, rounding);
    }
    let (from, lanes) = (b.scalar_of(x), b.lanes(x));
    let digits = precision(to);
    if rounding == FPRoundingMode::RTE || from.bits() - u32::from(signed) <= digits {
        return b.cast(if signed { Opcode::LLVMSIToFP } else { Opcode::LLVMUIToFP }, x, to);
    }
    // Convert the digits of the magnitude that fit, exactly, and step away from zero where some did not.
    let int = |value: u64| b.int(from, lanes, value);
    let negative = if signed { b.icmp(IntPred::LLVMIntSLT, x, int(0)) } else { b.zero(Scalar::Bool, lanes) };
    let magnitude = b.select(negative, b.sub(int(0), x), x);
    let leading = b.intrinsic("llvm.ctlz", &[magnitude, b.int(Scalar::Bool, 1, 0)]);
    let excess = b.sub(int(u64::from(from.bits() - digits)), leading);
    let excess = b.select(b.icmp(IntPred::LLVMIntSGT, excess, int(0)), excess, int(0));
    let kept = b.shl(b.lshr(magnitude, excess), excess);
    let float = b.cast(Opcode::LLVMUIToFP, kept, to);
    let away = match rounding {
        FPRoundingMode::RTP => b.not(negative),
        FPRoundingMode::RTN => negative,
        _ => b.zero(Scalar::Bool, lanes),
    };
    let inexact = b.icmp(IntPred::LLVMIntNE, kept, magnitude);
    let same_width = Scalar::int(to.bits()).expect("floats have integer widths");
    let step = b.zext_or_trunc(b.and(inexact, away), same_width);
    let float = b.reinterpret(b.add(b.reinterpret(float, same_width), step), to);
    b.select(negative, b.fneg(float), float)
}

/// Converts between floats of any width, correctly rounded.
pub fn float_to_float(b: &Builder, x: Value, to: Scalar, rounding: FPRoundingMode) -> Value {
    let from = b.scalar_of(x);
    if from.bits() <= to.bits() {
        return if from == to { x } else { b.cast(Opcode::LLVMFPExt, x, to) };
    }
    if from == Scalar::F64 && to == Scalar::F16 {
        // Rounding in two steps in the same direction is exact; for nearest, the first step rounds to odd.
        let middle = match rounding {
            FPRoundingMode::RTE => narrow_to_odd(b, x, Scalar::F32),
            _ => narrow(b, x, Scalar::F32, rounding),
        };
        return narrow(b, middle, to, rounding);
    }
    narrow(b, x, to, rounding)
}

/// One step down in width. The nearest number, and its neighbour where that is on the wrong side.
fn narrow(b: &Builder, x: Value, to: Scalar, rounding: FPRoundingMode) -> Value {
    let nearest = b.cast(Opcode::LLVMFPTrunc, x, to);
    if rounding == FPRoundingMode::RTE {
        return nearest;
    }
    let from = b.scalar_of(x);
    let int = Scalar::int(to.bits()).expect("floats have integer widths");
    let back = b.cast(Opcode::LLVMFPExt, nearest, from);
    let bits = b.reinterpret(nearest, int);
    let one = b.int(int, b.lanes(x), 1);
    let negative = b.icmp(IntPred::LLVMIntSLT, bits, b.zero(int, b.lanes(x)));
    let (inward, outward) = (b.sub(bits, one), b.add(bits, one));
    let (wrong, neighbour) = match rounding {
        FPRoundingMode::RTP => (b.fcmp(RealPred::LLVMRealOLT, back, x), b.select(negative, inward, outward)),
        FPRoundingMode::RTN => (b.fcmp(RealPred::LLVMRealOGT, back, x), b.select(negative, outward, inward)),
        _ => {
            let magnitude = |x: Value| b.intrinsic("llvm.fabs", &[x]);
            (b.fcmp(RealPred::LLVMRealOGT, magnitude(back), magnitude(x)), inward)
        }
    };
    b.reinterpret(b.select(wrong, neighbour, bits), to)
}

/// Rounds towards zero and sets the last bit where something was cut off: a later rounding to fewer digits
/// then sees on which side of a tie it is (Boldo and Melquiond, "When double rounding is odd", 2005).
fn narrow_to_odd(b: &Builder, x: Value, to: Scalar) -> Value {
    let from = b.scalar_of(x);
    let int = Scalar::int(to.bits()).expect("floats have integer widths");
    let cut = narrow(b, x, to, FPRoundingMode::RTZ);
    let inexact = b.fcmp(RealPred::LLVMRealONE, b.cast(Opcode::LLVMFPExt, cut, from), x);
    b.reinterpret(b.or(b.reinterpret(cut, int), b.zext_or_trunc(inexact, int)), to)
}

/// An integer of another width and signedness, the nearest that it can hold.
fn saturate(b: &Builder, x: Value, to: Scalar, from_signed: bool, to_signed: bool) -> Value {
    let (from, lanes) = (b.scalar_of(x), b.lanes(x));
    let most = u128::MAX.checked_shr(u128::BITS - to.bits() + u32::from(to_signed)).unwrap_or(0);
    let fits = from.bits() - u32::from(from_signed) <= to.bits() - u32::from(to_signed);
    let mut x = x;
    if !fits {
        let name = if from_signed { "llvm.smin" } else { "llvm.umin" };
        x = b.intrinsic(name, &[x, b.wide_int(from, lanes, most)]);
    }
    if from_signed && !(to_signed && fits) {
        // Two's complement: the bits of the least number, cut to the width of `from`.
        let least = if to_signed { !most } else { 0 };
        x = b.intrinsic("llvm.smax", &[x, b.wide_int(from, lanes, least)]);
    }
    if from_signed { b.sext_or_trunc(x, to) } else { b.zext_or_trunc(x, to) }
}

/// The upper half of an f32, rounded to nearest even; NaNs stay NaNs (`SPV_INTEL_bfloat16_conversion`).
pub(super) fn to_bfloat16(b: &Builder, x: Value) -> Value {
    const QUIET: u64 = 1 << 6;
    let lanes = b.lanes(x);
    let int = |value: u64| b.int(Scalar::I32, lanes, value);
    let bits = b.reinterpret(x, Scalar::I32);
    let cut = b.lshr(bits, int(16));
    let to_even = b.add(int(0x7FFF), b.and(cut, int(1)));
    let rounded = b.lshr(b.add(bits, to_even), int(16));
    let is_nan = b.fcmp(RealPred::LLVMRealUNO, x, x);
    b.zext_or_trunc(b.select(is_nan, b.or(cut, int(QUIET)), rounded), Scalar::I16)
}

pub(super) fn from_bfloat16(b: &Builder, x: Value) -> Value {
    let wide = b.zext_or_trunc(x, Scalar::I32);
    b.reinterpret(b.shl(wide, b.int(Scalar::I32, b.lanes(x), 16)), Scalar::F32)
}

/// An f32 whose significand has 10 bits, rounded to nearest even; NaNs and infinities stay what they are
/// (`SPV_INTEL_tensor_float32_conversion`).
fn to_tf32(b: &Builder, x: Value) -> Value {
    const CUT: u64 = 13;
    let lanes = b.lanes(x);
    let int = |value: u64| b.int(Scalar::I32, lanes, value);
    let bits = b.reinterpret(x, Scalar::I32);
    let to_even = b.add(int((1 << (CUT - 1)) - 1), b.and(b.lshr(bits, int(CUT)), int(1)));
    let rounded = b.reinterpret(b.and(b.add(bits, to_even), int(u64::from(u32::MAX) << CUT)), Scalar::F32);
    let is_nan = b.fcmp(RealPred::LLVMRealUNO, x, x);
    b.select(is_nan, x, rounded)
}

#[cfg(test)]
mod tests;
