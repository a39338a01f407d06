//! What code for images is made of: operations on a number of lanes, uniform choices, loads from descriptors.
//!
//! Everything here works on `lanes` lanes, 1 for a value that all lanes share, and knows nothing of the kernel: the same
//! code is emitted in place and in functions that all of a program's instructions call.

use super::super::builder::{Builder, IntPred, Opcode, RealPred, Value};
use crate::analysis::leaves::Scalar;
use crate::jit::target::Target;

/// Emits code for a number of lanes.
#[derive(Clone, Copy)]
pub(super) struct Emitter<'b> {
    pub b: &'b Builder,
    pub lanes: u32,
    /// The CPU has fused multiply-add: without instructions for it, it is a call of the C library.
    pub fma: bool,
    /// The CPU has AVX-512.
    avx512: bool,
}

impl<'b> Emitter<'b> {
    pub fn new(b: &'b Builder, lanes: u32, target: &Target) -> Emitter<'b> {
        Emitter { b, lanes, fma: target.simd_bits() >= 256, avx512: target.has_avx512() }
    }

    /// The intrinsic that takes 32-bit lanes out of two vectors by number, if one instruction does.
    pub fn permutation(&self) -> Option<&'static str> {
        match (self.avx512, self.lanes) {
            (true, 16) => Some("llvm.x86.avx512.vpermi2var.d.512"),
            (true, 8) => Some("llvm.x86.avx512.vpermi2var.d.256"),
            _ => None,
        }
    }

    /// The same for another number of lanes.
    pub fn with_lanes(self, lanes: u32) -> Emitter<'b> {
        Emitter { lanes, ..self }
    }

    // Constants and lanes.

    /// A 32-bit integer in all lanes.
    pub fn int(&self, value: u32) -> Value {
        self.b.int(Scalar::I32, self.lanes, u64::from(value))
    }

    pub fn float(&self, value: f32) -> Value {
        self.b.float(Scalar::F32, self.lanes, f64::from(value))
    }

    /// A scalar in all lanes; what has all lanes already stays.
    pub fn all(&self, value: Value) -> Value {
        if self.b.lanes(value) == self.lanes { value } else { self.b.splat(value, self.lanes) }
    }

    /// A bool in all lanes.
    pub fn yes(&self) -> Value {
        self.b.int(Scalar::Bool, self.lanes, 1)
    }

    /// Lane 0, 1, 2 ...
    pub fn lane_numbers(&self) -> Value {
        if self.lanes == 1 { self.b.i32(0) } else { self.b.int_vector(Scalar::I32, 0..u64::from(self.lanes)) }
    }

    pub fn first(&self, value: Value) -> Value {
        self.b.extract(value, self.b.i32(0))
    }

    /// Whether a condition holds in every lane.
    pub fn every(&self, condition: Value) -> Value {
        if self.b.lanes(condition) == 1 { condition } else { self.b.not(self.b.any(self.b.not(condition))) }
    }

    // Arithmetic.

    pub fn smin(&self, a: Value, b: Value) -> Value {
        self.b.intrinsic("llvm.smin", &[a, b])
    }

    pub fn smax(&self, a: Value, b: Value) -> Value {
        self.b.intrinsic("llvm.smax", &[a, b])
    }

    pub fn umin(&self, a: Value, b: Value) -> Value {
        self.b.intrinsic("llvm.umin", &[a, b])
    }

    /// Between two bounds; what is no number is the lower one. One instruction each.
    pub fn clamp(&self, x: Value, least: Value, most: Value) -> Value {
        let b = self.b;
        let raised = b.select(b.fcmp(RealPred::LLVMRealOGT, x, least), x, least);
        b.select(b.fcmp(RealPred::LLVMRealOLT, raised, most), raised, most)
    }

    pub fn floor(&self, x: Value) -> Value {
        self.b.intrinsic("llvm.floor", &[x])
    }

    /// To the nearest integer, to the even one of two.
    pub fn rint(&self, x: Value) -> Value {
        self.b.intrinsic("llvm.roundeven", &[x])
    }

    pub fn abs(&self, x: Value) -> Value {
        self.b.intrinsic("llvm.fabs", &[x])
    }

    /// Never contracted: where texels are must not depend on how a kernel was compiled.
    pub fn fmul(&self, a: Value, b: Value) -> Value {
        self.b.bin_exact(Opcode::LLVMFMul, a, b)
    }

    pub fn fadd(&self, a: Value, b: Value) -> Value {
        self.b.bin_exact(Opcode::LLVMFAdd, a, b)
    }

    pub fn fsub(&self, a: Value, b: Value) -> Value {
        self.b.bin_exact(Opcode::LLVMFSub, a, b)
    }

    pub fn fdiv(&self, a: Value, b: Value) -> Value {
        self.b.bin_exact(Opcode::LLVMFDiv, a, b)
    }

    pub fn fma(&self, a: Value, b: Value, c: Value) -> Value {
        self.b.intrinsic("llvm.fma", &[a, b, c])
    }

    /// A float's integer part.
    pub fn truncated(&self, x: Value) -> Value {
        self.b.cast(Opcode::LLVMFPToSI, x, Scalar::I32)
    }

    /// A signed integer as a float.
    pub fn converted(&self, x: Value) -> Value {
        self.b.cast(Opcode::LLVMSIToFP, x, Scalar::F32)
    }

    pub fn bits_of(&self, x: Value) -> Value {
        self.b.reinterpret(x, Scalar::I32)
    }

    pub fn float_of(&self, x: Value) -> Value {
        self.b.reinterpret(x, Scalar::F32)
    }

    /// A half, given as the low bits of an integer, as a float.
    pub fn half_to_float(&self, bits: Value) -> Value {
        let half = self.b.reinterpret(self.b.cast(Opcode::LLVMTrunc, bits, Scalar::I16), Scalar::F16);
        self.b.cast(Opcode::LLVMFPExt, half, Scalar::F32)
    }

    /// The bits of a float rounded to half.
    pub fn float_to_half(&self, x: Value) -> Value {
        let half = self.b.cast(Opcode::LLVMFPTrunc, x, Scalar::F16);
        self.b.zext_or_trunc(self.b.reinterpret(half, Scalar::I16), Scalar::I32)
    }

    /// Less than, of integers without sign: with `x` an index, whether it is one of `size`.
    pub fn below(&self, x: Value, size: Value) -> Value {
        self.b.icmp(IntPred::LLVMIntULT, x, size)
    }

    pub fn equal(&self, x: Value, y: Value) -> Value {
        self.b.icmp(IntPred::LLVMIntEQ, x, y)
    }

    // Choices.

    /// One of two values by a scalar condition: by a branch, or without one where the condition is known.
    pub fn choose(
        &self,
        condition: Value,
        then: impl FnOnce() -> Value,
        els: impl FnOnce() -> Value,
    ) -> Value {
        match self.b.constant_int(condition) {
            Some(0) => els(),
            Some(_) => then(),
            None => self.b.branch(condition, then, els),
        }
    }

    /// The same for several values at once.
    pub fn choose_all(
        &self,
        condition: Value,
        then: impl FnOnce() -> Vec<Value>,
        els: impl FnOnce() -> Vec<Value>,
    ) -> Vec<Value> {
        match self.b.constant_int(condition) {
            Some(0) => els(),
            Some(_) => then(),
            None => self.b.branch_of_many(condition, then, els),
        }
    }

    /// The values of that one of several pieces of code whose number is `selector`, or of the last one.
    pub fn select_case(
        &self,
        selector: Value,
        cases: &[u64],
        mut case: impl FnMut(Option<usize>) -> Vec<Value>,
    ) -> Vec<Value> {
        if let Some(known) = self.b.constant_int(selector) {
            return case(cases.iter().position(|number| *number == known));
        }
        let labels: Vec<_> = cases.iter().map(|_| self.b.block_here()).collect();
        let (other, join) = (self.b.block_here(), self.b.block_here());
        let targets: Vec<_> = cases.iter().copied().zip(labels.iter().copied()).collect();
        self.b.switch(selector, other, &targets);
        let pieces = labels.into_iter().enumerate().map(|(at, label)| (Some(at), label));
        let pieces: Vec<_> = pieces.chain([(None, other)]).collect();
        let mut ends = Vec::new();
        for (at, label) in pieces {
            self.b.at_end(label);
            let values = case(at);
            ends.push((self.b.here(), values));
            self.b.br(join);
        }
        self.b.at_end(join);
        self.join(&ends)
    }

    fn join(&self, ends: &[(super::super::builder::Label, Vec<Value>)]) -> Vec<Value> {
        let count = ends[0].1.len();
        let phi = |at: usize| {
            let like = ends[0].1[at];
            self.b.phi(self.b.scalar_of(like), self.b.lanes(like))
        };
        let phis: Vec<Value> = (0..count).map(phi).collect();
        for (label, values) in ends {
            phis.iter().zip(values).for_each(|(phi, value)| self.b.add_incoming(*phi, *value, *label));
        }
        phis
    }

    /// Runs code once for each combination of values that `keys` have in lanes that are on: with the combination as scalars
    /// and with the lanes that have it. Keys that are scalars already are the same for all. The results are `like` these.
    pub fn waterfall(
        &self,
        keys: &[Value],
        mask: Value,
        like: &[Scalar],
        body: impl FnOnce(&[Value], Value) -> Vec<Value>,
    ) -> Vec<Value> {
        let b = self.b;
        if keys.iter().all(|key| b.lanes(*key) == 1) {
            return body(keys, mask);
        }
        let (before, head, done) = (b.here(), b.block_here(), b.block_here());
        let zeros: Vec<Value> = like.iter().map(|scalar| b.zero(*scalar, self.lanes)).collect();
        let start = b.block_here();
        b.cond_br(b.any(mask), start, done);
        b.at_end(start);
        b.br(head);
        b.at_end(head);
        let left = b.phi(Scalar::Bool, self.lanes);
        b.add_incoming(left, mask, start);
        let sums: Vec<Value> = like.iter().map(|scalar| b.phi(*scalar, self.lanes)).collect();
        sums.iter().zip(&zeros).for_each(|(phi, zero)| b.add_incoming(*phi, *zero, start));
        let no = b.int(Scalar::Bool, 1, 0);
        let lane = b.zext_or_trunc(b.intrinsic("llvm.cttz", &[b.mask_bits(left), no]), Scalar::I32);
        let of_lane = |key: &Value| if b.lanes(*key) == 1 { *key } else { b.extract(*key, lane) };
        let own: Vec<Value> = keys.iter().map(of_lane).collect();
        let same = keys.iter().zip(&own).filter(|(key, _)| b.lanes(**key) != 1);
        let mine = same.fold(left, |mine, (key, own)| b.and(mine, self.equal(*key, self.all(*own))));
        let values = body(&own, mine);
        let blended: Vec<Value> =
            values.iter().zip(&sums).map(|(value, sum)| b.select(mine, self.all(*value), *sum)).collect();
        let rest = b.and(left, b.not(mine));
        let end = b.here();
        b.add_incoming(left, rest, end);
        sums.iter().zip(&blended).for_each(|(phi, value)| b.add_incoming(*phi, *value, end));
        b.cond_br(b.any(rest), head, done);
        b.at_end(done);
        self.join(&[(before, zeros), (end, blended)])
    }

    // Descriptors: they do not change while the kernel runs.

    pub fn field(&self, scalar: Scalar, base: Value, at: u64) -> Value {
        self.b.load_invariant(scalar, self.b.offset_const(base, at), scalar.bytes())
    }

    pub fn word(&self, base: Value, at: u64) -> Value {
        self.field(Scalar::I32, base, at)
    }
}

impl Emitter<'_> {
    /// Stores a value to each address whose lane is on.
    pub fn store_each(&self, value: Value, addresses: Value, mask: Value) {
        let b = self.b;
        if self.lanes > 1 {
            return b.scatter(value, addresses, 1, mask);
        }
        let (inside, done) = (b.block_here(), b.block_here());
        b.cond_br(mask, inside, done);
        b.at_end(inside);
        b.store(value, addresses, 1);
        b.br(done);
        b.at_end(done);
    }
}
