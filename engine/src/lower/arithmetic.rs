//! Integer and floating-point arithmetic, comparisons, logic and bits.

use super::builder::{Builder, IntPred, Opcode, RealPred, Value};
use super::division::{Divisor, Run, divide};
use super::values::{Reg, Val};
use super::{Lowerer, bounds, float_modes, opencl_std, packed, rounding};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use smallvec::{SmallVec, smallvec};
use spirv::{Decoration, FPRoundingMode, Op};
use spirv_env::opcodes::divides_integers;
use spirv_env::{Id, Inst, Module, Type};

/// Instructions that are one LLVM instruction on each leaf.
fn binary(op: Op) -> Option<Opcode> {
    Some(match op {
        Op::IAdd => Opcode::LLVMAdd,
        Op::ISub => Opcode::LLVMSub,
        Op::IMul => Opcode::LLVMMul,
        Op::FAdd => Opcode::LLVMFAdd,
        Op::FSub => Opcode::LLVMFSub,
        Op::FMul => Opcode::LLVMFMul,
        Op::FDiv => Opcode::LLVMFDiv,
        Op::BitwiseAnd | Op::LogicalAnd => Opcode::LLVMAnd,
        Op::BitwiseOr | Op::LogicalOr => Opcode::LLVMOr,
        Op::BitwiseXor | Op::LogicalNotEqual => Opcode::LLVMXor,
        _ => return None,
    })
}

pub(super) fn int_compare(op: Op) -> Option<IntPred> {
    Some(match op {
        Op::IEqual | Op::PtrEqual => IntPred::LLVMIntEQ,
        Op::INotEqual | Op::PtrNotEqual => IntPred::LLVMIntNE,
        Op::UGreaterThan => IntPred::LLVMIntUGT,
        Op::UGreaterThanEqual => IntPred::LLVMIntUGE,
        Op::ULessThan => IntPred::LLVMIntULT,
        Op::ULessThanEqual => IntPred::LLVMIntULE,
        Op::SGreaterThan => IntPred::LLVMIntSGT,
        Op::SGreaterThanEqual => IntPred::LLVMIntSGE,
        Op::SLessThan => IntPred::LLVMIntSLT,
        Op::SLessThanEqual => IntPred::LLVMIntSLE,
        _ => return None,
    })
}

fn float_compare(op: Op) -> Option<RealPred> {
    Some(match op {
        Op::FOrdEqual => RealPred::LLVMRealOEQ,
        Op::FUnordEqual => RealPred::LLVMRealUEQ,
        Op::FOrdNotEqual | Op::LessOrGreater => RealPred::LLVMRealONE,
        Op::FUnordNotEqual => RealPred::LLVMRealUNE,
        Op::FOrdLessThan => RealPred::LLVMRealOLT,
        Op::FUnordLessThan => RealPred::LLVMRealULT,
        Op::FOrdGreaterThan => RealPred::LLVMRealOGT,
        Op::FUnordGreaterThan => RealPred::LLVMRealUGT,
        Op::FOrdLessThanEqual => RealPred::LLVMRealOLE,
        Op::FUnordLessThanEqual => RealPred::LLVMRealULE,
        Op::FOrdGreaterThanEqual => RealPred::LLVMRealOGE,
        Op::FUnordGreaterThanEqual => RealPred::LLVMRealUGE,
        Op::Ordered => RealPred::LLVMRealORD,
        Op::Unordered => RealPred::LLVMRealUNO,
        _ => return None,
    })
}

/// A fused operation on doubles is rounded to nearest; kernels that ask for a direction have a rule of the intake.
pub fn supports_rounding(inst: &Inst, module: &Module) -> Result<(), String> {
    let double = |ty| match module.types.get(ty) {
        Type::Vector { elem, .. } => *module.types.get(*elem) == Type::Float { width: 64 },
        ty => *ty == Type::Float { width: 64 },
    };
    if inst.op != Op::FmaKHR || !inst.ty.is_some_and(double) {
        return Ok(());
    }
    let decorated = inst.result.and_then(|id| module.decoration(id, Decoration::FPRoundingMode));
    match decorated.and_then(|literals| literals.first()) {
        Some(&mode) if mode != FPRoundingMode::RTE as u32 => {
            Err("OpFmaKHR of doubles that is rounded in a direction".into())
        }
        _ => Ok(()),
    }
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let ty = inst.ty.expect("arithmetic has a type");
    let leaves = this.leaves(ty)?;
    let count = leaves.len();
    let ids: SmallVec<[Id; 4]> = inst.ids().collect();
    let mode = float_modes::rounding_of(this, inst, leaves[0].scalar);
    if mode != FPRoundingMode::RTE && leaves[0].scalar.is_float() {
        if rounding::covers(inst.op, leaves[0].scalar) {
            return this.map(&ids, count, |this, _, v| rounding::operate(&this.b, inst.op, v, mode));
        }
        if inst.op == Op::FmaKHR {
            return Err(this.unsupported(format!("OpFmaKHR of doubles that rounds by {mode:?}")));
        }
    }
    let contracts = float_modes::contracts(this, inst, leaves[0].scalar);
    if let Some(opcode) = binary(inst.op) {
        return this.map(&ids, count, |this, _, v| match contracts {
            true => this.b.bin(opcode, v[0], v[1]),
            false => this.b.bin_exact(opcode, v[0], v[1]),
        });
    }
    if let Some(predicate) = int_compare(inst.op) {
        if let Some(lanes) = bounds::compare(this, inst, predicate)? {
            return Ok(smallvec![Reg::varying(lanes)]);
        }
        return this.map(&ids, count, |this, _, v| this.b.icmp(predicate, v[0], v[1]));
    }
    if let Some(predicate) = float_compare(inst.op) {
        return this.map(&ids, count, |this, _, v| this.b.fcmp(predicate, v[0], v[1]));
    }
    match inst.op {
        Op::SNegate => this.map(&ids, count, |this, _, v| {
            let zero = this.b.zero(this.b.scalar_of(v[0]), this.b.lanes(v[0]));
            this.b.sub(zero, v[0])
        }),
        Op::FNegate => this.map(&ids, count, |this, _, v| this.b.fneg(v[0])),
        Op::Not | Op::LogicalNot => this.map(&ids, count, |this, _, v| this.b.not(v[0])),
        Op::LogicalEqual => this.map(&ids, count, |this, _, v| this.b.not(this.b.xor(v[0], v[1]))),
        op if divides_integers(op) => {
            let divisors = this.value(ids[1])?;
            let run = Run::divided_by(this, inst)?;
            this.map(&ids, count, |this, leaf, v| {
                let divisor = Divisor::of(this, inst, leaf, divisors[leaf.min(divisors.len() - 1)]);
                let each = || divide(this, inst.op, v[0], v[1], divisor);
                match run {
                    Some(run) if this.b.lanes(v[0]) > 1 => run.divide(this, inst.op, each),
                    _ => each(),
                }
            })
        }
        Op::FRem => this.map(&ids, count, |this, _, v| opencl_std::fmod(&this.b, this.target, v)),
        Op::FMod => this.map(&ids, count, |this, _, v| {
            // The remainder with the sign of the divisor.
            let b = &this.b;
            let rem = opencl_std::fmod(b, this.target, v);
            let (scalar, lanes) = (b.scalar_of(rem), b.lanes(rem));
            let zero = b.zero(scalar, lanes);
            let wrong = b.and(
                b.fcmp(RealPred::LLVMRealONE, rem, zero),
                b.xor(b.fcmp(RealPred::LLVMRealOLT, rem, zero), b.fcmp(RealPred::LLVMRealOLT, v[1], zero)),
            );
            b.select(wrong, b.fadd(rem, v[1]), rem)
        }),
        Op::ShiftLeftLogical => shift(this, &ids, count, Opcode::LLVMShl),
        Op::ShiftRightLogical => shift(this, &ids, count, Opcode::LLVMLShr),
        Op::ShiftRightArithmetic => shift(this, &ids, count, Opcode::LLVMAShr),
        Op::BitReverse => this.map(&ids, count, |this, _, v| this.b.intrinsic("llvm.bitreverse", &[v[0]])),
        Op::BitCount => {
            let to = leaves[0].scalar;
            this.map(&ids, count, |this, _, v| {
                let bits = this.b.intrinsic("llvm.ctpop", &[v[0]]);
                this.b.zext_or_trunc(bits, to)
            })
        }
        Op::BitFieldInsert => this.map(&ids, count, |this, _, v| {
            let b = &this.b;
            let (mask, offset) = field_mask(this, v[0], v[2], v[3]);
            b.or(b.and(v[0], b.not(mask)), b.and(b.shl(v[1], offset), mask))
        }),
        Op::BitFieldUExtract => this.map(&ids, count, |this, _, v| {
            let b = &this.b;
            let (mask, offset) = field_mask(this, v[0], v[1], v[2]);
            b.lshr(b.and(v[0], mask), offset)
        }),
        Op::BitFieldSExtract => this.map(&ids, count, |this, _, v| {
            let b = &this.b;
            let scalar = b.scalar_of(v[0]);
            let lanes = b.lanes(v[0]);
            let width = b.int(scalar, lanes, u64::from(scalar.bits()));
            let (offset, size) = (b.zext_or_trunc(v[1], scalar), b.zext_or_trunc(v[2], scalar));
            let up = b.sub(b.sub(width, offset), size);
            let down = b.sub(width, size);
            let none = b.icmp(IntPred::LLVMIntEQ, size, b.zero(scalar, lanes));
            let value = b.ashr(b.shl(v[0], within(b, up)), within(b, down));
            b.select(none, b.zero(scalar, lanes), value)
        }),
        Op::Select => this.map(&ids, count, |this, _, v| this.b.select(v[0], v[1], v[2])),
        Op::Any | Op::All => {
            if let Some(voted) = packed::vote(this, inst)? {
                return Ok(voted);
            }
            let val = this.value(ids[0])?;
            let mut result = val[0];
            for leaf in &val[1..] {
                result = this.apply(&[result, *leaf], |this, v| {
                    if inst.op == Op::Any { this.b.or(v[0], v[1]) } else { this.b.and(v[0], v[1]) }
                });
            }
            Ok(smallvec![result])
        }
        Op::IsNan => this.map(&ids, count, |this, _, v| this.b.fcmp(RealPred::LLVMRealUNO, v[0], v[0])),
        Op::IsInf | Op::IsFinite | Op::IsNormal => {
            let op = inst.op;
            this.map(&ids, count, |this, _, v| classify(this, op, v[0]))
        }
        Op::SignBitSet => this.map(&ids, count, |this, _, v| {
            let int = Scalar::int(this.b.scalar_of(v[0]).bits()).expect("floats have integer widths");
            let bits = this.b.reinterpret(v[0], int);
            this.b.icmp(IntPred::LLVMIntSLT, bits, this.b.zero(int, this.b.lanes(bits)))
        }),
        Op::VectorTimesScalar | Op::MatrixTimesScalar if leaves[0].scalar.is_float() => {
            this.map(&ids, count, |this, _, v| match contracts {
                true => this.b.fmul(v[0], v[1]),
                false => this.b.bin_exact(Opcode::LLVMFMul, v[0], v[1]),
            })
        }
        Op::MatrixTimesScalar => this.map(&ids, count, |this, _, v| this.b.mul(v[0], v[1])),
        Op::Dot => {
            let (x, y) = (this.value(ids[0])?, this.value(ids[1])?);
            let mut sum = this.apply(&[x[0], y[0]], |this, v| this.b.fmul(v[0], v[1]));
            for (x, y) in x.iter().zip(&y).skip(1) {
                sum = this.apply(&[*x, *y, sum], |this, v| this.b.fadd(this.b.fmul(v[0], v[1]), v[2]));
            }
            Ok(smallvec![sum])
        }
        Op::IAddCarry | Op::ISubBorrow | Op::UMulExtended | Op::SMulExtended => extended(this, inst.op, &ids),
        Op::PtrDiff => {
            let to = leaves[0].scalar;
            let size = match this.a.func.type_of(ids[0]).map(|ty| this.a.func.module.types.get(ty)) {
                Some(spirv_env::Type::Pointer { pointee, .. }) => {
                    this.a.func.module.types.layout(*pointee).size
                }
                _ => 1,
            };
            this.map(&ids, count, |this, _, v| {
                let b = &this.b;
                let (x, y) = (b.reinterpret(v[0], Scalar::I64), b.reinterpret(v[1], Scalar::I64));
                let bytes = b.sub(x, y);
                let size = b.int(Scalar::I64, b.lanes(bytes), size.max(1));
                b.sext_or_trunc(b.bin(Opcode::LLVMSDiv, bytes, size), to)
            })
        }
        Op::FmaKHR => this.map(&ids, count, |this, _, v| super::opencl_std::fma(&this.b, this.target, v)),
        Op::BitwiseFunctionINTEL => {
            let function = this.a.func.constant_bits(ids[3]).unwrap_or(0);
            this.map(&ids[..3], count, |this, _, v| bitwise_function(&this.b, function, [v[0], v[1], v[2]]))
        }
        Op::ArithmeticFenceEXT => this.map(&ids, count, |this, _, v| fence(this, v[0])),
        _ => Err(this.no_lowering(inst)),
    }
}

/// A value that algebra does not look through. Halves go through f32, which holds them exactly: not every
/// CPU's code generator knows a fence of halves.
fn fence(this: &Lowerer<'_, '_>, x: Value) -> Value {
    let (b, name) = (&this.b, "llvm.arithmetic.fence");
    match b.scalar_of(x) {
        Scalar::F16 => {
            let wide = b.cast(Opcode::LLVMFPExt, x, Scalar::F32);
            b.cast(Opcode::LLVMFPTrunc, b.intrinsic(name, &[wide]), Scalar::F16)
        }
        _ => b.intrinsic(name, &[x]),
    }
}

/// A function of three bits by its table: bit `a + 2b + 4c` of its number is its value
/// (`SPV_INTEL_ternary_bitwise_function`). The code generator has one instruction for the whole sum.
fn bitwise_function(b: &Builder, function: u64, operands: [Value; 3]) -> Value {
    let (scalar, lanes) = (b.scalar_of(operands[0]), b.lanes(operands[0]));
    let term = |row: u64| {
        let literal = |at: usize| if row >> at & 1 == 1 { operands[at] } else { b.not(operands[at]) };
        b.and(b.and(literal(0), literal(1)), literal(2))
    };
    let rows = (0..8).filter(|row| function >> row & 1 == 1);
    rows.map(term).reduce(|sum, term| b.or(sum, term)).unwrap_or_else(|| b.zero(scalar, lanes))
}

/// Shifts by at least the width are undefined in SPIR-V and poison in LLVM; OpenCL C takes the amount modulo
/// the width, and so do we.
fn shift(this: &mut Lowerer<'_, '_>, ids: &[Id], count: usize, opcode: Opcode) -> Result<Val, EngineError> {
    this.map(ids, count, |this, _, v| {
        let b = &this.b;
        let amount = b.zext_or_trunc(v[1], b.scalar_of(v[0]));
        b.bin(opcode, v[0], within(b, amount))
    })
}

/// An amount of less than the width of its type, if it is less: modulo the width where that is a power of two, as OpenCL C
/// has it, else 0.
fn within(b: &Builder, amount: Value) -> Value {
    let (scalar, lanes) = (b.scalar_of(amount), b.lanes(amount));
    let width = u64::from(scalar.bits());
    if width.is_power_of_two() {
        return b.and(amount, b.int(scalar, lanes, width - 1));
    }
    // Two bits and more hold their number.
    let fits = b.icmp(IntPred::LLVMIntULT, amount, b.int(scalar, lanes, width));
    b.select(fits, amount, b.zero(scalar, lanes))
}

/// The bits of a field, and its offset in the base's type.
fn field_mask(this: &Lowerer<'_, '_>, base: Value, offset: Value, size: Value) -> (Value, Value) {
    let b = &this.b;
    let (scalar, lanes) = (b.scalar_of(base), b.lanes(base));
    let offset = within(b, b.zext_or_trunc(offset, scalar));
    let size = b.zext_or_trunc(size, scalar);
    let ones = b.wide_int(scalar, lanes, u128::MAX);
    let width = b.int(scalar, lanes, u64::from(scalar.bits()));
    let none = b.icmp(IntPred::LLVMIntEQ, size, b.zero(scalar, lanes));
    let field = b.lshr(ones, within(b, b.sub(width, size)));
    (b.select(none, b.zero(scalar, lanes), b.shl(field, offset)), offset)
}

fn classify(this: &Lowerer<'_, '_>, op: Op, value: Value) -> Value {
    let b = &this.b;
    let (scalar, lanes) = (b.scalar_of(value), b.lanes(value));
    let magnitude = b.intrinsic("llvm.fabs", &[value]);
    let infinity = b.float(scalar, lanes, f64::INFINITY);
    match op {
        Op::IsInf => b.fcmp(RealPred::LLVMRealOEQ, magnitude, infinity),
        Op::IsFinite => b.fcmp(RealPred::LLVMRealOLT, magnitude, infinity),
        _ => {
            let least = match scalar {
                Scalar::F16 => 0x0400,
                Scalar::F32 => 0x0080_0000,
                _ => 0x0010_0000_0000_0000,
            };
            let least = b.float_bits(scalar, lanes, least);
            b.and(
                b.fcmp(RealPred::LLVMRealOGE, magnitude, least),
                b.fcmp(RealPred::LLVMRealOLT, magnitude, infinity),
            )
        }
    }
}

/// Instructions with a two-member structure as result: low (or sum) leaves, then high (or carry) leaves.
fn extended(this: &mut Lowerer<'_, '_>, op: Op, ids: &[Id]) -> Result<Val, EngineError> {
    let half = this.value(ids[0])?.len();
    let low = this.map(ids, half, |this, _, v| match op {
        Op::IAddCarry => this.b.add(v[0], v[1]),
        Op::ISubBorrow => this.b.sub(v[0], v[1]),
        _ => this.b.mul(v[0], v[1]),
    })?;
    let high = this.map(ids, half, |this, _, v| match op {
        Op::IAddCarry => {
            let sum = this.b.add(v[0], v[1]);
            let carry = this.b.icmp(IntPred::LLVMIntULT, sum, v[0]);
            this.b.zext_or_trunc(carry, this.b.scalar_of(v[0]))
        }
        Op::ISubBorrow => {
            let borrow = this.b.icmp(IntPred::LLVMIntULT, v[0], v[1]);
            this.b.zext_or_trunc(borrow, this.b.scalar_of(v[0]))
        }
        _ => multiply_high(this, v[0], v[1], op == Op::SMulExtended),
    })?;
    Ok(low.into_iter().chain(high).collect())
}

/// The upper half of a product.
pub fn multiply_high(this: &Lowerer<'_, '_>, x: Value, y: Value, signed: bool) -> Value {
    let b = &this.b;
    let (scalar, lanes) = (b.scalar_of(x), b.lanes(x));
    if scalar != Scalar::I64 {
        let wide = Scalar::int(scalar.bits() * 2).expect("twice what a module declares");
        let extend = if signed { Opcode::LLVMSExt } else { Opcode::LLVMZExt };
        let product = b.mul(b.cast(extend, x, wide), b.cast(extend, y, wide));
        let upper = b.lshr(product, b.int(wide, lanes, u64::from(scalar.bits())));
        return b.cast(Opcode::LLVMTrunc, upper, scalar);
    }
    // Four 32-bit products; a signed product is the unsigned one less what the sign bits stood for.
    let (low, shift) = (b.int(scalar, lanes, u64::from(u32::MAX)), b.int(scalar, lanes, 32));
    let (x0, x1) = (b.and(x, low), b.lshr(x, shift));
    let (y0, y1) = (b.and(y, low), b.lshr(y, shift));
    let middle = b.add(b.mul(x1, y0), b.lshr(b.mul(x0, y0), shift));
    let other = b.add(b.mul(x0, y1), b.and(middle, low));
    let unsigned = b.add(b.add(b.mul(x1, y1), b.lshr(middle, shift)), b.lshr(other, shift));
    if !signed {
        return unsigned;
    }
    let sign = b.int(scalar, lanes, 63);
    let from_x = b.and(b.ashr(x, sign), y);
    let from_y = b.and(b.ashr(y, sign), x);
    b.sub(b.sub(unsigned, from_x), from_y)
}
