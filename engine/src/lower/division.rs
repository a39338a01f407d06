//! Division of integers, which no vector unit has: by floating-point numbers, and exact all the same.
//!
//! A quotient of numbers with fewer bits than a significand is exact when it is cut off, for rounding never reaches the next integer.
//! Where all lanes divide by one number, which is what indices of several dimensions are made with, its reciprocal is computed once, and
//! `(n + 1/2) * (1/d)` takes the place of the division: it is at least `1/2d` away from all integers, and the error of
//! two roundings is far less than that for the widths below. 64 bits are divided so where the numbers turn out to be small enough.

use super::Lowerer;
use super::builder::{Builder, IntPred, Opcode, Value};
use super::speculation::none_on;
use super::values::Reg;
use super::wide_division;
use crate::analysis::leaves::Scalar;
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use spirv::Op;
use spirv_env::{Id, Inst};

/// Bits of dividends that a reciprocal of double precision is good for.
const BITS_BY_RECIPROCAL: u32 = 44;
/// Bits of a significand of double precision.
const BITS_BY_QUOTIENT: u32 = 52;
/// More than any number whose quotient is exact in single precision.
const LEAST_OF_QUOTIENT: u64 = 1 << 23;
/// The bits of 2^52, whose significand's last bit is worth 1.
const TWO_TO_52: u64 = 0x4330_0000_0000_0000;

/// What a division divides by.
#[derive(Clone, Copy)]
pub(super) struct Divisor {
    /// The number, if the module says it.
    pub constant: Option<i64>,
    /// All lanes have the same.
    pub is_uniform: bool,
    /// Neither the dividend nor this is more, without a sign.
    pub most: u64,
    /// Both come from a loop's last iteration, as in Euclid's algorithm: what counts is how soon there is a quotient, not how many there are.
    pub is_awaited: bool,
}

impl Divisor {
    /// A component of what an instruction divides by.
    pub(super) fn of(this: &Lowerer<'_, '_>, inst: &Inst, component: usize, reg: Reg) -> Self {
        let a = this.a;
        let ids = [inst.id(0), inst.id(1)];
        let comes_around = |id: &Id| {
            let block = a.def.get(id).filter(|_| a.definition(*id).is_none());
            block.is_some_and(|block| a.loops.headed_by(*block).is_some())
        };
        Self {
            constant: a.func.constant_component(ids[1], component),
            is_uniform: reg.is_uniform(),
            most: ids.map(|id| a.upper(id, 0).unwrap_or(u64::MAX)).into_iter().fold(0, u64::max),
            is_awaited: ids.iter().all(comes_around),
        }
    }

    /// Neither 0 nor what the least number overflows by.
    fn is_safe(self) -> bool {
        self.constant.is_some_and(|divisor| divisor != 0 && divisor != -1)
    }
}

/// What lanes have that go up in small steps, divided by a number that all have: an index, by the length of a row.
///
/// Where the number is larger than what lanes differ by, their quotients are one of two: the first lane's is divided, and the others' are in the
/// next row from some lane on.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// Of the first lane.
    first: Value,
    step: u64,
    by: Value,
}

impl Run {
    /// Lanes that a dividend has, which is known to go up so, if a quotient or a remainder is no run itself.
    pub(super) fn divided_by(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Run>, EngineError> {
        /// More makes rows that are shorter than a sub-group.
        const MOST: u64 = 4;
        let (block, [n, d]) = (this.current_block(), [inst.id(0), inst.id(1)]);
        let bits = this.leaves_of(n)?.first().map_or(0, |leaf| leaf.scalar.bits());
        let is_own = inst.result.is_some_and(|result| this.a.shape(block, result)[..] == [Shape::Varying]);
        let step = this.a.proven_step(block, n).and_then(|step| u64::try_from(step).ok());
        let is_short = step.is_some_and(|step| (1..=MOST).contains(&step));
        // A shift is less.
        let is_shift = this.a.func.constant_bits(d).is_some_and(u64::is_power_of_two);
        let is_run = this.w > 1 && is_own && is_short && matches!(bits, 32 | 64) && inst.op != Op::SMod;
        if !is_run || is_shift || this.packing.is_some() {
            return Ok(None);
        }
        let (first, by) = (this.leaf(n)?.scalar(), this.leaf(d)?.of_all_lanes());
        Ok(first.zip(by).zip(step).map(|((first, by), step)| Run { first, step, by }))
    }

    /// The quotients or remainders; what `each` makes where rows are short or numbers wrap around.
    pub(super) fn divide(self, this: &Lowerer<'_, '_>, op: Op, each: impl FnOnce() -> Value) -> Value {
        let (b, w) = (&this.b, this.w);
        let (first, by) = (b.freeze(self.first), b.freeze(self.by));
        let scalar = b.scalar_of(first);
        let number = |number: u64| b.int(scalar, 1, number);
        let reach = self.step * (u64::from(w) - 1);
        let is_signed = matches!(op, Op::SDiv | Op::SRem);
        let (above, most) = match is_signed {
            true => (IntPred::LLVMIntSGT, u64::MAX >> (u64::BITS + 1 - scalar.bits())),
            false => (IntPred::LLVMIntUGT, u64::MAX >> (u64::BITS - scalar.bits())),
        };
        // As an unsigned number, one that is negative is too large as well.
        let stays = b.icmp(IntPred::LLVMIntULE, first, number(most - reach));
        let fits = b.and(b.icmp(above, by, number(reach)), stays);
        // In front of the branch, so that a quotient and a remainder share it.
        let row = b.bin(Opcode::LLVMUDiv, first, not_zero(b, by));
        let place = b.sub(first, b.mul(row, by));
        let in_rows = || {
            // Lanes from here on are in the next row.
            let left = b.sub(by, place);
            let far = number(reach + 1);
            let left = b.select(b.icmp(IntPred::LLVMIntULT, left, far), left, far);
            let left = b.splat(b.zext_or_trunc(left, Scalar::I32), w);
            let steps = || (0..u64::from(w)).map(|lane| lane * self.step);
            let is_next = b.icmp(IntPred::LLVMIntUGE, b.int_vector(Scalar::I32, steps()), left);
            let of_either = |own: Value, next: Value| b.select(is_next, b.splat(next, w), b.splat(own, w));
            match op {
                Op::UDiv | Op::SDiv => of_either(row, b.add(row, number(1))),
                _ => b.add(of_either(place, b.sub(place, by)), b.int_vector(scalar, steps())),
            }
        };
        b.branch_usually(fits, || vec![in_rows()], || vec![each()])[0]
    }
}

/// A quotient or remainder, by no trap: a divisor of zero counts as one, and so does -1 under the least number.
pub(super) fn divide(this: &Lowerer<'_, '_>, op: Op, n: Value, d: Value, divisor: Divisor) -> Value {
    let b = &this.b;
    let (scalar, lanes) = (b.scalar_of(n), b.lanes(n));
    let signed = matches!(op, Op::SDiv | Op::SRem | Op::SMod);
    let zero = b.zero(scalar, lanes);
    // Lanes that are off may hold poison, by which LLVM must not divide.
    let (n, d) = if divisor.is_safe() { (n, d) } else { (b.freeze(n), b.freeze(d)) };
    let d = match (divisor.is_safe(), b.splatted(d)) {
        (true, _) => d,
        (false, Some(of_all)) => b.splat(not_zero(b, of_all), lanes),
        (false, None) => not_zero(b, d),
    };
    let quotient = quotient(this, signed, n, d, divisor);
    if matches!(op, Op::UDiv | Op::SDiv) {
        return quotient;
    }
    let rem = b.sub(n, b.mul(quotient, d));
    if op != Op::SMod {
        return rem;
    }
    let wrong =
        b.and(b.icmp(IntPred::LLVMIntNE, rem, zero), b.icmp(IntPred::LLVMIntSLT, b.xor(rem, d), zero));
    b.select(wrong, b.add(rem, d), rem)
}

/// A divisor, or 1 for 0: no division may trap.
fn not_zero(b: &Builder, d: Value) -> Value {
    let (scalar, lanes) = (b.scalar_of(d), b.lanes(d));
    b.select(b.icmp(IntPred::LLVMIntEQ, d, b.zero(scalar, lanes)), b.int(scalar, lanes, 1), d)
}

/// A quotient by what is not 0.
fn quotient(this: &Lowerer<'_, '_>, signed: bool, n: Value, d: Value, divisor: Divisor) -> Value {
    let b = &this.b;
    let (scalar, lanes) = (b.scalar_of(n), b.lanes(n));
    let minus_one = b.wide_int(scalar, lanes, u128::MAX);
    // Of no use for the reciprocal, which is that of all lanes.
    let without_overflow = || match signed && !divisor.is_safe() {
        true => {
            let least = b.wide_int(scalar, lanes, 1 << (scalar.bits() - 1));
            let overflow =
                b.and(b.icmp(IntPred::LLVMIntEQ, n, least), b.icmp(IntPred::LLVMIntEQ, d, minus_one));
            b.select(overflow, b.int(scalar, lanes, 1), d)
        }
        false => d,
    };
    let plain = || b.bin(if signed { Opcode::LLVMSDiv } else { Opcode::LLVMUDiv }, n, without_overflow());
    let large = || wide_division::quotient(b, this.target, signed, n, d, divisor);
    let by_reciprocal = |float| {
        let quotient = by_reciprocal(b, signed, n, d, float);
        if !signed {
            return quotient;
        }
        // The least number by -1 is none that a conversion can make.
        let negated = b.sub(b.zero(scalar, lanes), n);
        b.select(b.icmp(IntPred::LLVMIntEQ, d, minus_one), negated, quotient)
    };
    match scalar.bits() {
        // The only divisor is 1, or -1 with the same effect on one bit.
        1 => n,
        _ if lanes == 1 => plain(),
        // LLVM multiplies by a constant's inverse.
        bits if divisor.constant.is_some() && bits <= 32 => plain(),
        _ if divisor.constant.is_some_and(|divisor| divisor.unsigned_abs().is_power_of_two()) => plain(),
        0..=16 if divisor.is_uniform => by_reciprocal(Scalar::F32),
        17..=32 if divisor.is_uniform => by_reciprocal(Scalar::F64),
        0..=23 => by_quotient(b, signed, n, without_overflow(), Scalar::F32),
        // No sign is set, and signed numbers are what all processors convert.
        24..=32 if divisor.most < LEAST_OF_QUOTIENT => by_quotient(b, true, n, d, Scalar::F32),
        bits @ 24..=52 => {
            let estimated = if bits == 32 && !divisor.is_awaited { large() } else { None };
            estimated.unwrap_or_else(|| by_quotient(b, signed, n, without_overflow(), Scalar::F64))
        }
        64 => {
            let (bits, of) = match divisor.is_uniform {
                true => (BITS_BY_RECIPROCAL, n),
                false => (BITS_BY_QUOTIENT, b.or(n, d)),
            };
            let of = b.freeze(of);
            let rest = b.lshr(of, b.int(scalar, lanes, bits.into()));
            let mut small = none_on(this, b.icmp(IntPred::LLVMIntNE, rest, b.zero(scalar, lanes)));
            if divisor.is_uniform && signed {
                let d = b.extract(d, b.i32(0));
                small = b.and(small, b.icmp(IntPred::LLVMIntSGT, d, b.zero(scalar, 1)));
            }
            let of_small = || vec![small_quotient(b, n, d, divisor)];
            b.branch_of_many(small, of_small, || vec![large().unwrap_or_else(plain)])[0]
        }
        _ => plain(),
    }
}

fn by_quotient(b: &Builder, signed: bool, n: Value, d: Value, float: Scalar) -> Value {
    let (up, down) = casts(signed);
    b.cast(down, b.fdiv(b.cast(up, n, float), b.cast(up, d, float)), b.scalar_of(n))
}

fn casts(signed: bool) -> (Opcode, Opcode) {
    match signed {
        true => (Opcode::LLVMSIToFP, Opcode::LLVMFPToSI),
        false => (Opcode::LLVMUIToFP, Opcode::LLVMFPToUI),
    }
}

/// The reciprocal of what all lanes divide by.
fn reciprocal(b: &Builder, up: Opcode, d: Value, float: Scalar) -> Value {
    let scalar = b.cast(up, b.extract(d, b.i32(0)), float);
    b.splat(b.fdiv(b.float(float, 1, 1.0), scalar), b.lanes(d))
}

/// Of at most 32 bits by double precision, and of 16 by single precision.
fn by_reciprocal(b: &Builder, signed: bool, n: Value, d: Value, float: Scalar) -> Value {
    let (scalar, lanes) = (b.scalar_of(n), b.lanes(n));
    let (up, down) = casts(signed);
    let (number, mut half) = (b.cast(up, n, float), b.float(float, lanes, 0.5));
    if signed {
        half = b.intrinsic("llvm.copysign", &[half, number]);
    }
    b.cast(down, b.fmul(b.fadd(number, half), reciprocal(b, up, d, float)), scalar)
}

/// Of 64 bits that are not negative, and of which the upper ones are 0.
fn small_quotient(b: &Builder, n: Value, d: Value, divisor: Divisor) -> Value {
    let lanes = b.lanes(n);
    let magic = b.int(Scalar::I64, lanes, TWO_TO_52);
    let two_to_52 = b.reinterpret(magic, Scalar::F64);
    // An integer is the significand of a number of this exponent; so few processors convert 64 bits that this is quicker.
    let up = |n: Value| b.fsub(b.reinterpret(b.or(n, magic), Scalar::F64), two_to_52);
    let quotient = match divisor.is_uniform {
        true => {
            let reciprocal = reciprocal(b, Opcode::LLVMUIToFP, d, Scalar::F64);
            b.fmul(b.fadd(up(n), b.float(Scalar::F64, lanes, 0.5)), reciprocal)
        }
        false => b.fdiv(up(n), up(d)),
    };
    let whole = b.intrinsic("llvm.floor", &[quotient]);
    b.xor(b.reinterpret(b.fadd(whole, two_to_52), Scalar::I64), magic)
}
