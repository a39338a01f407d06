//! Dot products of integers (`SPV_KHR_integer_dot_product`).
//!
//! Products and their sum are computed in the result's width, modulo which they are defined. Only what is accumulated
//! saturates.

use super::builder::{Builder, Value};
use super::values::Val;
use super::{Lowerer, groups};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use crate::jit::target::Target;
use smallvec::{SmallVec, smallvec};
use spirv::Op;
use spirv_env::Inst;

/// Which operands have a sign, and how the accumulator is added.
struct DotForm {
    first_signed: bool,
    second_signed: bool,
    accumulate: Option<&'static str>,
}

impl DotForm {
    fn of(op: Op) -> Option<Self> {
        let (first_signed, second_signed, accumulate) = match op {
            Op::SDot => (true, true, None),
            Op::UDot => (false, false, None),
            Op::SUDot => (true, false, None),
            Op::SDotAccSat => (true, true, Some("llvm.sadd.sat")),
            Op::UDotAccSat => (false, false, Some("llvm.uadd.sat")),
            Op::SUDotAccSat => (true, false, Some("llvm.sadd.sat")),
            _ => return None,
        };
        Some(Self { first_signed, second_signed, accumulate })
    }
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let form = DotForm::of(inst.op).ok_or_else(|| this.no_lowering(inst))?;
    let to = this.leaves(inst.ty.expect("a dot product has a type"))?[0].scalar;
    let signed = [form.first_signed, form.second_signed];
    let (x, y) = (this.value(inst.id(0))?, this.value(inst.id(1))?);
    let sum = match (x.as_slice(), y.as_slice()) {
        // Four bytes that are packed into a 32-bit number, whose products' sum has 19 bits at most.
        (&[x], &[y]) => this.apply(&[x, y], |this, v| this.b.sext_or_trunc(of_bytes(this, v, signed), to)),
        _ => {
            let products = x.into_iter().zip(y).map(|(x, y)| {
                this.apply(&[x, y], |this, v| {
                    let [x, y] = [0, 1].map(|at: usize| extended(&this.b, v[at], signed[at], to));
                    this.b.mul(x, y)
                })
            });
            let sum =
                products.reduce(|sum, product| this.apply(&[sum, product], |this, v| this.b.add(v[0], v[1])));
            sum.ok_or_else(|| this.unsupported("a dot product of nothing".into()))?
        }
    };
    let Some(add) = form.accumulate else { return Ok(smallvec![sum]) };
    let accumulator = this.leaf(inst.id(2))?;
    Ok(smallvec![this.apply(&[sum, accumulator], |this, v| this.b.intrinsic(add, v))])
}

fn extended(b: &Builder, value: Value, signed: bool, to: Scalar) -> Value {
    if signed { b.sext_or_trunc(value, to) } else { b.zext_or_trunc(value, to) }
}

/// The sum of the products of the four bytes in numbers of 32 bits.
fn of_bytes(this: &Lowerer<'_, '_>, words: &[Value], signed: [bool; 2]) -> Value {
    const BYTES: u32 = 4;
    let (b, lanes) = (&*this.b, this.b.lanes(words[0]));
    if let Some(dots) = Dots::of(this.target, lanes, [8, 8], signed) {
        let parts = [0, 1].map(|at: usize| dots.of_packed(b, words[at], at));
        let sum = match dots.excess(b, &parts[1]) {
            Some(excess) => b.sub(b.zero(Scalar::I32, lanes), excess),
            None => b.zero(Scalar::I32, lanes),
        };
        return parts[0].iter().zip(&parts[1]).fold(sum, |sum, (x, y)| dots.add(b, sum, *x, *y));
    }
    let products = (0..BYTES).map(|at| {
        let [x, y] = [0, 1].map(|of: usize| {
            let byte = b.lshr(words[of], b.int(Scalar::I32, lanes, u64::from(8 * at)));
            extended(b, b.zext_or_trunc(byte, Scalar::I8), signed[of], Scalar::I32)
        });
        b.mul(x, y)
    });
    products.reduce(|sum, product| b.add(sum, product)).expect("there are four bytes")
}

/// Adds to 32-bit numbers the sums of the products of the small integers in words of 32 bits, modulo 2^32: one instruction
/// for four bytes or two numbers of 16 bits on processors with VNNI, and two for numbers of 16 bits on all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dots {
    /// The type of the integers in a word.
    unit: Scalar,
    signed: [bool; 2],
    /// Products are added to a sum by the instruction that multiplies.
    fused: bool,
    /// Words that one instruction takes.
    lanes: u32,
}

impl Dots {
    /// For integers of at most so many bits, in this many lanes; none where there is no such instruction.
    pub fn of(target: &Target, lanes: u32, bits: [u32; 2], signed: [bool; 2]) -> Option<Dots> {
        const LEAST: u32 = 4;
        let register = target.simd_bits() / Scalar::I32.bits();
        if !cfg!(target_arch = "x86_64") || lanes < LEAST || !lanes.is_power_of_two() {
            return None;
        }
        let fused = target.has_feature("avx512vnni") && target.has_avx512()
            || target.has_feature("avxvnni") && target.simd_bits() >= 256;
        let fits =
            |most: u32| (0..2).all(|at| bits[at] < most || bits[at] == most && (most == 8 || signed[at]));
        let unit = match () {
            () if fused && fits(8) => Scalar::I8,
            () if fits(16) => Scalar::I16,
            () => return None,
        };
        let register = if target.has_avx512() || !fused { register } else { 8 };
        Some(Dots { unit, signed, fused, lanes: register.min(lanes) })
    }

    /// Integers in a word.
    pub fn each(self) -> u32 {
        Scalar::I32.bits() / self.unit.bits()
    }

    /// Integers of the first or the second factor, in the type that words hold.
    pub fn prepared(self, b: &Builder, value: Value, factor: usize) -> Value {
        let value = extended(b, value, self.signed[factor], self.unit);
        match factor == 0 && self.flips() {
            true => b.xor(value, b.int(self.unit, b.lanes(value), SIGN)),
            false => value,
        }
    }

    /// The words for numbers in which four bytes are packed.
    fn of_packed(self, b: &Builder, packed: Value, factor: usize) -> SmallVec<[Value; 2]> {
        let lanes = b.lanes(packed);
        if self.unit == Scalar::I8 {
            let bytes = b.reshape(packed, Scalar::I8, 4 * lanes);
            return smallvec![b.reshape(self.prepared(b, bytes, factor), Scalar::I32, lanes)];
        }
        // The even bytes and the odd ones, which is as good an order as any.
        let pairs = b.reshape(packed, Scalar::I16, 2 * lanes);
        let byte = b.int(Scalar::I16, 2 * lanes, 8);
        let high = |pairs| if self.signed[factor] { b.ashr(pairs, byte) } else { b.lshr(pairs, byte) };
        [high(b.shl(pairs, byte)), high(pairs)].map(|pairs| b.reshape(pairs, Scalar::I32, lanes)).into()
    }

    /// The instruction for bytes takes one factor as numbers with a sign, and the other one as numbers without. Where that is not so, the
    /// first one's sign bits are changed, which adds 128 to them or subtracts it.
    fn flips(self) -> bool {
        self.unit == Scalar::I8 && self.signed[0] == self.signed[1]
    }

    /// What is to be subtracted from sums to which the products with these second factors are added.
    pub fn excess(self, b: &Builder, words: &[Value]) -> Option<Value> {
        let lanes = b.lanes(*words.first()?);
        let flipped = b.int(Scalar::I32, lanes, SIGN * 0x0101_0101);
        let add = |sum, word: &Value| self.add(b, sum, flipped, *word);
        self.flips().then(|| words.iter().fold(b.zero(Scalar::I32, lanes), add))
    }

    pub fn add(self, b: &Builder, sum: Value, x: Value, y: Value) -> Value {
        let parts = |value| groups::parts(b, value, self.lanes);
        if b.lanes(sum) > self.lanes {
            let parts = parts(sum).into_iter().zip(parts(x)).zip(parts(y));
            return b.concat(parts.map(|((sum, x), y)| self.add(b, sum, x, y)).collect());
        }
        let bits = self.lanes * Scalar::I32.bits();
        if self.unit == Scalar::I8 {
            let (unsigned, signed) = if self.signed[1] { (x, y) } else { (y, x) };
            return b.intrinsic_plain(&format!("llvm.x86.avx512.vpdpbusd.{bits}"), &[sum, unsigned, signed]);
        }
        if self.fused {
            return b.intrinsic_plain(&format!("llvm.x86.avx512.vpdpwssd.{bits}"), &[sum, x, y]);
        }
        let name = match bits {
            512 => "llvm.x86.avx512.pmaddw.d.512",
            256 => "llvm.x86.avx2.pmadd.wd",
            _ => "llvm.x86.sse2.pmadd.wd",
        };
        let halves = [x, y].map(|words| b.reshape(words, Scalar::I16, 2 * self.lanes));
        b.add(sum, b.intrinsic_plain(name, &halves))
    }
}

/// The sign bit of a byte.
const SIGN: u64 = 0x80;
