//! What functions of single elements are written with: a builder that knows the element type and the lanes.
//!
//! Operations here are never contracted: most functions rely on each rounding. [`Element::mad`] is the one
//! where fusing is welcome.

use super::super::builder::{Builder, Opcode, RealPred, Value};
use super::super::tables;
use crate::analysis::leaves::Scalar;
use crate::builtins::libmvec;
use crate::jit::target::Target;

/// A function of single elements, all operands given as scalars or as lanes.
pub type Function = fn(&Element<'_>, &[Value]) -> Value;

/// An AVX-512 instruction: LLVM's intrinsic without `llvm.x86.avx512.` and the suffix of the vector form.
pub struct Avx512 {
    pub name: &'static str,
    /// Comes after the operands.
    pub immediate: Option<u32>,
    /// It has an operand for the lanes that a mask leaves out.
    pub merges: bool,
    /// Its 512-bit form has a rounding operand.
    pub rounds: bool,
}

const FIX_UP: Avx512 = Avx512 { name: "mask.fixupimm", immediate: Some(0), merges: false, rounds: true };

/// Classes of floats as `vfixupimm` numbers them.
#[derive(Clone, Copy)]
pub enum Class {
    Zero = 2,
    NegativeInfinity = 4,
    Infinity = 5,
}

/// What `vfixupimm` puts in the place of a result.
#[derive(Clone, Copy)]
pub enum Response {
    NegativeInfinity = 4,
    Infinity = 5,
    SignedInfinity = 6,
    Zero = 8,
}

#[derive(Clone, Copy)]
pub struct Element<'a> {
    pub b: &'a Builder,
    pub target: &'a Target,
    /// The type that is computed with.
    pub ty: Scalar,
    pub lanes: u32,
    /// The type that the result is rounded to: f16 where `ty` is f32 in its place.
    pub rounded_to: Scalar,
}

/// Whether products and sums are fused by one instruction.
pub fn has_fma(target: &Target) -> bool {
    target.simd_bits() >= 256
}

impl<'a> Element<'a> {
    /// The form of a value.
    pub fn of(b: &'a Builder, target: &'a Target, value: Value) -> Self {
        let ty = b.scalar_of(value);
        Element { b, target, ty, lanes: b.lanes(value), rounded_to: ty }
    }

    /// Calls `f` with halves extended to f32 and rounds its result (where it is f32) to half.
    pub fn promoted(&self, operands: &[Value], f: impl FnOnce(&Element<'_>, &[Value]) -> Value) -> Value {
        if self.ty != Scalar::F16 {
            return f(self, operands);
        }
        let wide: Vec<Value> = operands.iter().map(|x| self.widened(*x)).collect();
        self.narrowed(f(&Element { ty: Scalar::F32, ..*self }, &wide))
    }

    /// A half as f32; anything else as it is.
    pub fn widened(&self, x: Value) -> Value {
        if self.b.scalar_of(x) == Scalar::F16 { self.b.cast(Opcode::LLVMFPExt, x, Scalar::F32) } else { x }
    }

    /// An f32 that stands for a half as a half; anything else as it is.
    pub fn narrowed(&self, x: Value) -> Value {
        let stands = self.rounded_to == Scalar::F16 && self.b.scalar_of(x) == Scalar::F32;
        if stands { self.b.cast(Opcode::LLVMFPTrunc, x, Scalar::F16) } else { x }
    }

    /// Calls `f` with f32 operands extended to f64 and rounds its result.
    pub fn in_f64(&self, operands: &[Value], f: impl FnOnce(&Element<'_>, &[Value]) -> Value) -> Value {
        if self.ty == Scalar::F64 {
            return f(self, operands);
        }
        let wide: Vec<Value> = operands
            .iter()
            .map(|x| match self.b.scalar_of(*x) {
                Scalar::F32 => self.b.cast(Opcode::LLVMFPExt, *x, Scalar::F64),
                _ => *x,
            })
            .collect();
        let result = f(&Element { ty: Scalar::F64, ..*self }, &wide);
        self.b.cast(Opcode::LLVMFPTrunc, result, self.ty)
    }

    // Constants and types.

    /// The integer type of the element's width.
    pub fn int_ty(&self) -> Scalar {
        Scalar::int(self.ty.bits()).expect("numbers have integer widths")
    }

    /// A floating-point constant.
    pub fn c(&self, value: f64) -> Value {
        self.b.float(self.ty, self.lanes, value)
    }

    /// An integer constant of the element's width.
    pub fn i(&self, value: i64) -> Value {
        self.b.int(self.int_ty(), self.lanes, value as u64)
    }

    pub fn nan(&self) -> Value {
        self.c(f64::NAN)
    }

    pub fn inf(&self) -> Value {
        self.c(f64::INFINITY)
    }

    /// Explicit bits of the significand: 10, 23 or 52.
    pub fn digits(&self) -> u32 {
        match self.ty {
            Scalar::F16 => 10,
            Scalar::F32 => 23,
            _ => 52,
        }
    }

    /// The exponent of 1.0, biased.
    pub fn bias(&self) -> i64 {
        (1 << (self.ty.bits() - self.digits() - 2)) - 1
    }

    pub fn bits(&self, x: Value) -> Value {
        self.b.reinterpret(x, self.int_ty())
    }

    pub fn float(&self, bits: Value) -> Value {
        self.b.reinterpret(bits, self.ty)
    }

    // Arithmetic.

    pub fn add(&self, a: Value, b: Value) -> Value {
        self.b.bin_exact(Opcode::LLVMFAdd, a, b)
    }

    pub fn sub(&self, a: Value, b: Value) -> Value {
        self.b.bin_exact(Opcode::LLVMFSub, a, b)
    }

    pub fn mul(&self, a: Value, b: Value) -> Value {
        self.b.bin_exact(Opcode::LLVMFMul, a, b)
    }

    pub fn div(&self, a: Value, b: Value) -> Value {
        self.b.bin_exact(Opcode::LLVMFDiv, a, b)
    }

    pub fn neg(&self, a: Value) -> Value {
        self.b.fneg(a)
    }

    /// `a * b + c`, rounded once.
    pub fn fma(&self, a: Value, b: Value, c: Value) -> Value {
        self.b.intrinsic("llvm.fma", &[a, b, c])
    }

    /// `a * b + c`, rounded once where that is fast.
    pub fn mad(&self, a: Value, b: Value, c: Value) -> Value {
        if self.has_fma() { self.fma(a, b, c) } else { self.add(self.mul(a, b), c) }
    }

    pub fn has_fma(&self) -> bool {
        has_fma(self.target)
    }

    /// Whether functions that are written for f32 lanes with fused products and sums serve values of this form. Where they do not,
    /// the C library does.
    pub fn is_in_place(&self) -> bool {
        self.ty == Scalar::F32 && self.lanes > 1 && self.has_fma()
    }

    /// The same of functions that are written for f64 lanes, too.
    pub fn is_in_place_or_f64(&self) -> bool {
        matches!(self.ty, Scalar::F32 | Scalar::F64) && self.lanes > 1 && self.has_fma()
    }

    /// The polynomial with these coefficients, lowest power first.
    pub fn polynomial(&self, x: Value, coefficients: &[f64]) -> Value {
        let (last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
        rest.iter().rev().fold(self.c(*last), |sum, c| self.mad(sum, x, self.c(*c)))
    }

    /// The same as the sum of its even and its odd powers: for one operation more, each waits for half as many others. What a processor looks
    /// ahead to is too little for a function to meet the next one's beginning.
    pub fn polynomial_in_halves(&self, x: Value, coefficients: &[f64]) -> Value {
        let [even, odd] = self.halves_of_polynomial(x, coefficients);
        self.mad(odd, x, even)
    }

    /// The sum of a polynomial's even powers, and that of its odd ones divided by `x`.
    pub fn halves_of_polynomial(&self, x: Value, coefficients: &[f64]) -> [Value; 2] {
        let half = |from: usize| coefficients[from..].iter().step_by(2).copied().collect::<Vec<f64>>();
        let square = self.mul(x, x);
        [0, 1].map(|from| self.polynomial(square, &half(from)))
    }

    pub fn abs(&self, x: Value) -> Value {
        self.b.intrinsic("llvm.fabs", &[x])
    }

    pub fn sqrt(&self, x: Value) -> Value {
        self.b.intrinsic("llvm.sqrt", &[x])
    }

    pub fn copysign(&self, magnitude: Value, sign: Value) -> Value {
        self.b.intrinsic("llvm.copysign", &[magnitude, sign])
    }

    /// To the nearest integer, ties to even.
    pub fn rint(&self, x: Value) -> Value {
        self.b.intrinsic("llvm.roundeven", &[x])
    }

    pub fn floor(&self, x: Value) -> Value {
        self.b.intrinsic("llvm.floor", &[x])
    }

    pub fn trunc(&self, x: Value) -> Value {
        self.b.intrinsic("llvm.trunc", &[x])
    }

    // Comparisons; false where an operand is not a number, but for `ne`.

    pub fn eq(&self, a: Value, b: Value) -> Value {
        self.b.fcmp(RealPred::LLVMRealOEQ, a, b)
    }

    pub fn ne(&self, a: Value, b: Value) -> Value {
        self.b.fcmp(RealPred::LLVMRealUNE, a, b)
    }

    pub fn lt(&self, a: Value, b: Value) -> Value {
        self.b.fcmp(RealPred::LLVMRealOLT, a, b)
    }

    pub fn le(&self, a: Value, b: Value) -> Value {
        self.b.fcmp(RealPred::LLVMRealOLE, a, b)
    }

    pub fn gt(&self, a: Value, b: Value) -> Value {
        self.b.fcmp(RealPred::LLVMRealOGT, a, b)
    }

    pub fn is_nan(&self, x: Value) -> Value {
        self.unordered(x, x)
    }

    pub fn unordered(&self, a: Value, b: Value) -> Value {
        self.b.fcmp(RealPred::LLVMRealUNO, a, b)
    }

    pub fn is_inf(&self, x: Value) -> Value {
        self.eq(self.abs(x), self.inf())
    }

    pub fn is_zero(&self, x: Value) -> Value {
        self.eq(x, self.c(0.0))
    }

    pub fn select(&self, condition: Value, a: Value, b: Value) -> Value {
        self.b.select(condition, a, b)
    }

    /// `x` limited to constants; what is not a number stays so.
    pub fn limited(&self, x: Value, low: f64, high: f64) -> Value {
        let x = self.at_most(x, high);
        self.select(self.lt(x, self.c(low)), self.c(low), x)
    }

    /// `x`, or `high` where it is more. What is not a number stays that.
    pub fn at_most(&self, x: Value, high: f64) -> Value {
        self.select(self.gt(x, self.c(high)), self.c(high), x)
    }

    /// `1.5 * 2^digits`: added to a number, it leaves the nearest integer in the low bits of the sum.
    pub fn shift_to_integer(&self) -> Value {
        self.c(1.5 * f64::powi(2.0, self.digits() as i32))
    }

    /// `2^n` of integer-valued floats whose result is a normal number. Gives some number for what is not one.
    pub fn power_of_two(&self, n: Value) -> Value {
        let digits = self.digits();
        let shifted = self.add(n, self.shift_to_integer());
        let exponent = self.b.shl(self.bits(shifted), self.i(i64::from(digits)));
        self.float(self.b.add(exponent, self.i(self.bias() << digits)))
    }

    // Instructions and functions of the machine.

    /// Whether AVX-512's floating-point instructions serve values of this form.
    pub fn has_avx512(&self) -> bool {
        self.lanes > 1 && self.target.has_avx512() && matches!(self.ty, Scalar::F32 | Scalar::F64)
    }

    /// An AVX-512 instruction on packed floats.
    pub fn avx512(&self, of: &Avx512, operands: &[Value]) -> Value {
        const CURRENT_ROUNDING: u32 = 4;
        let element = if self.ty == Scalar::F64 { "pd" } else { "ps" };
        self.in_chunks(512 / self.ty.bits(), operands, |m, operands| {
            let bits = m.lanes * m.ty.bits();
            let mut all = operands.to_vec();
            all.extend(of.immediate.map(|value| m.b.i32(value)));
            if of.merges {
                all.push(m.b.zero(m.ty, m.lanes));
            }
            all.push(m.b.int(if m.lanes == 16 { Scalar::I16 } else { Scalar::I8 }, 1, u64::MAX >> 48));
            if of.rounds && bits == 512 {
                all.push(m.b.i32(CURRENT_ROUNDING));
            }
            m.b.intrinsic_plain(&format!("llvm.x86.avx512.{}.{element}.{bits}", of.name), &all)
        })
    }

    /// `value`, but what the table says where `x` is of a special class.
    pub fn fixed_up(&self, value: Value, x: Value, table: &[(Class, Response)]) -> Value {
        let table =
            table.iter().fold(0, |all, (class, response)| all | (*response as i64) << (4 * *class as u32));
        self.avx512(&FIX_UP, &[value, x, self.i(table)])
    }

    /// The numbers of a table of a power of two of registers at the last bits of the indices, with AVX-512.
    pub fn looked_up(&self, table: &[f64], index: Value) -> Value {
        let integer = self.int_ty();
        let lanes = 512 / self.ty.bits() as usize;
        assert!(table.len().is_multiple_of(lanes) && (table.len() / lanes).is_power_of_two());
        let register = |numbers: &[f64]| {
            let bits = |number: &f64| match self.ty {
                Scalar::F64 => number.to_bits(),
                _ => (*number as f32).to_bits().into(),
            };
            self.b.int_vector(integer, numbers.iter().map(bits))
        };
        let registers: Vec<Value> = table.chunks(lanes).map(register).collect();
        self.float(tables::look_up(self.b, &registers, index))
    }

    /// Calls `f` for pieces of at most `most` lanes and joins its results.
    pub fn in_chunks(
        &self,
        most: u32,
        operands: &[Value],
        mut f: impl FnMut(&Element<'_>, &[Value]) -> Value,
    ) -> Value {
        if self.lanes <= most {
            return f(self, operands);
        }
        let piece = Element { lanes: most, ..*self };
        let parts = (0..self.lanes / most)
            .map(|at| {
                let lanes: Vec<i32> = (0..most).map(|lane| (at * most + lane) as i32).collect();
                let operands: Vec<Value> = operands.iter().map(|x| self.b.shuffle(*x, *x, &lanes)).collect();
                f(&piece, &operands)
            })
            .collect();
        self.b.concat(parts)
    }

    /// A function of the C library, named without the `f` of f32: its vector form where there is one within
    /// OpenCL's error bound, else lane by lane.
    pub fn libm(&self, name: &str, operands: &[Value]) -> Value {
        self.library(name, operands, libmvec::lookup)
    }

    /// As [`Self::libm`], also where the vector form is beyond the bound.
    pub fn libm_relaxed(&self, name: &str, operands: &[Value]) -> Value {
        self.library(name, operands, libmvec::lookup_relaxed)
    }

    fn library(
        &self,
        name: &str,
        operands: &[Value],
        lookup: fn(&str, bool, u32) -> Option<&'static str>,
    ) -> Value {
        let double = self.ty == Scalar::F64;
        if self.lanes > 1 && self.target.libmvec {
            let widest = (self.target.simd_bits() / self.ty.bits()).min(self.lanes);
            let form = std::iter::successors(Some(widest), |lanes| Some(lanes / 2))
                .take_while(|lanes| *lanes > 1)
                .find_map(|lanes| Some((lanes, lookup(name, double, lanes)?)));
            if let Some((lanes, symbol)) = form {
                return self.in_chunks(lanes, operands, |m, operands| m.b.call_math(symbol, operands));
            }
        }
        let symbol = if double { name.to_owned() } else { format!("{name}f") };
        self.lane_by_lane(operands, |m, operands| m.b.call_math(&symbol, operands))
    }

    /// Calls `f` for the scalars of each lane.
    pub fn lane_by_lane(
        &self,
        operands: &[Value],
        mut f: impl FnMut(&Element<'_>, &[Value]) -> Value,
    ) -> Value {
        if self.lanes == 1 {
            return f(self, operands);
        }
        let one = Element { lanes: 1, ..*self };
        let mut result = None;
        for lane in 0..self.lanes {
            let lane = self.b.i32(lane);
            let scalars: Vec<Value> = operands.iter().map(|x| self.b.extract(*x, lane)).collect();
            let value = f(&one, &scalars);
            let sum = result.unwrap_or_else(|| self.b.poison(self.b.scalar_of(value), self.lanes));
            result = Some(self.b.insert(sum, value, lane));
        }
        result.expect("values have lanes")
    }
}
