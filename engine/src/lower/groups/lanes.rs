//! Lanes of a sub-group: which are on, one of them, and any permutation of them.

use crate::analysis::leaves::Scalar;
use crate::jit::target::Target;
use crate::lower::builder::{Builder, IntPred, Opcode, Value};
use crate::lower::values::{Mask, Reg};
use crate::lower::{Lowerer, tables};

/// Where each lane of a shuffle takes its value from: lane numbers below W, or, with two sources, below 2 W
/// where the second source begins.
pub enum Indices {
    Constant(Vec<i32>),
    /// A 32-bit integer a lane.
    Vector(Value),
}

impl Lowerer<'_, '_> {
    /// A result that is computed for each lane.
    pub(in crate::lower) fn lanes(&self, value: Value) -> Reg {
        if self.w == 1 { Reg::uniform(value) } else { Reg::varying(value) }
    }

    /// The lanes that are on, lane 0 in bit 0 of a 64-bit integer.
    pub(in crate::lower) fn active_bits(&self) -> Value {
        match self.mask() {
            Mask::All => self.b.i64(self.all_bits()),
            Mask::Lanes(mask) => self.b.mask_bits(mask),
        }
    }

    /// The bits of all lanes of a sub-group.
    pub(in crate::lower) fn all_bits(&self) -> u64 {
        u64::MAX >> (u64::BITS - self.w)
    }

    /// The number of the first lane that is on, as a 32-bit scalar; some lane if none is.
    pub(in crate::lower) fn first_active(&self) -> Value {
        match self.mask() {
            Mask::All => self.b.i32(0),
            Mask::Lanes(_) => first_bit(&self.b, self.active_bits(), self.w),
        }
    }

    /// A value that has to be the same in all lanes that are on.
    pub(in crate::lower) fn same(&self, reg: Reg) -> Value {
        match reg.scalar() {
            Some(scalar) if reg.is_uniform() => scalar,
            _ => self.pick(self.vector(reg), self.first_active()),
        }
    }

    /// A group operand that numbers lanes or counts them, as a 32-bit scalar.
    pub(in crate::lower) fn same_i32(&self, reg: Reg) -> Value {
        self.b.zext_or_trunc(self.same(reg), Scalar::I32)
    }

    /// One lane of a vector; `lane` is a 32-bit scalar, taken modulo W.
    pub(in crate::lower) fn pick(&self, vector: Value, lane: Value) -> Value {
        if self.w == 1 {
            return vector;
        }
        let lane = self.b.and(lane, self.b.i32(self.w - 1));
        let scalar = self.b.scalar_of(vector);
        if self.b.is_constant(lane) || !has_permute(self, scalar) || is_picked_in_memory(self, scalar) {
            return self.b.extract(vector, lane);
        }
        let moved = self.permute(vector, self.b.splat(lane, self.w));
        self.b.extract(moved, self.b.i32(0))
    }

    /// The same of a vector of which lanes are taken again and again, in a loop that does not make it. What multiplies then takes the lane from where
    /// the vector is stored once (`jit/picks.rs`), into all of its own lanes at no cost.
    pub(in crate::lower) fn pick_again(&self, vector: Value, lane: Value) -> Value {
        match self.b.scalar_of(vector).bits() {
            32 | 64 if self.w > 1 => self.b.extract(vector, self.b.and(lane, self.b.i32(self.w - 1))),
            _ => self.pick(vector, lane),
        }
    }

    /// Each lane takes its value from the lane that its index names, modulo W.
    pub(in crate::lower) fn permute(&self, vector: Value, indices: Value) -> Value {
        if self.w == 1 {
            return vector;
        }
        let b = &self.b;
        let scalar = b.scalar_of(vector);
        let indices = b.and(indices, b.int(Scalar::I32, self.w, u64::from(self.w - 1)));
        match scalar {
            Scalar::I32 => permute_32(self, vector, indices),
            Scalar::I64 => permute_64(self, vector, indices),
            Scalar::F32 => {
                let moved = permute_32(self, b.reinterpret(vector, Scalar::I32), indices);
                b.reinterpret(moved, scalar)
            }
            Scalar::F64 | Scalar::Ptr => {
                let moved = permute_64(self, b.reinterpret(vector, Scalar::I64), indices);
                b.reinterpret(moved, scalar)
            }
            Scalar::F16 => {
                let moved = self.permute(b.reinterpret(vector, Scalar::I16), indices);
                b.reinterpret(moved, scalar)
            }
            // In parts that registers hold.
            Scalar::Int(bits) if bits > 64 => {
                let shift = b.int(scalar, self.w, 64);
                let [low, high] = [vector, b.lshr(vector, shift)].map(|half| {
                    b.zext_or_trunc(permute_64(self, b.zext_or_trunc(half, Scalar::I64), indices), scalar)
                });
                b.or(low, b.shl(high, shift))
            }
            Scalar::Int(bits) if bits > 32 => {
                let wide = b.cast(Opcode::LLVMZExt, vector, Scalar::I64);
                b.cast(Opcode::LLVMTrunc, permute_64(self, wide, indices), scalar)
            }
            Scalar::I8 | Scalar::I16 if has_permute(self, scalar) => permute_small(self, vector, indices),
            Scalar::Bool | Scalar::I8 | Scalar::I16 | Scalar::Int(_) => {
                let wide = b.cast(Opcode::LLVMZExt, vector, Scalar::I32);
                b.cast(Opcode::LLVMTrunc, permute_32(self, wide, indices), scalar)
            }
        }
    }

    /// Each lane takes its value from the lane of `first` (or, from W on, of `second`) that its index names.
    pub(in crate::lower) fn permute_two(&self, first: Value, second: Value, indices: &Indices) -> Value {
        match indices {
            Indices::Constant(indices) if self.w > 1 => self.b.shuffle(first, second, indices),
            Indices::Constant(indices) => {
                if indices[0] == 0 {
                    first
                } else {
                    second
                }
            }
            Indices::Vector(indices) => {
                let beyond = self.b.and(*indices, self.b.int(Scalar::I32, self.w, u64::from(self.w)));
                let in_first = self.b.icmp(IntPred::LLVMIntEQ, beyond, self.b.int(Scalar::I32, self.w, 0));
                let (first, second) = (self.permute(first, *indices), self.permute(second, *indices));
                self.b.select(in_first, first, second)
            }
        }
    }
}

/// The number of the lowest bit that is set, as a 32-bit scalar below W, also if none is.
pub fn first_bit(b: &Builder, bits: Value, w: u32) -> Value {
    let first = b.intrinsic_on("llvm.cttz", &[(Scalar::I64, 1)], &[bits, b.int(Scalar::Bool, 1, 0)]);
    b.and(b.zext_or_trunc(first, Scalar::I32), b.i32(w - 1))
}

/// Whether lanes of a type can be permuted in registers.
pub(in crate::lower) fn has_permute(this: &Lowerer<'_, '_>, scalar: Scalar) -> bool {
    let simd = this.target.simd_bits();
    let bits = scalar.bits();
    simd == 512
        || (simd == 256 && bits <= 32)
        || (matches!(bits, 8 | 16) && this.target.has_feature("ssse3") && bits * this.w <= PART_BITS)
}

/// Whether a lane is taken out of memory, where the vector is stored when it is made (`jit/picks.rs`), and not permuted: AVX2's permutation takes as long
/// as that, and one for each register. (Broadcasts by a counter, as products of matrices have them.)
fn is_picked_in_memory(this: &Lowerer<'_, '_>, scalar: Scalar) -> bool {
    this.target.simd_bits() == 256 && scalar.bits() == u32::BITS
}

/// Bits of the parts of a register whose bytes one instruction permutes (`pshufb`).
const PART_BITS: u32 = 128;

/// The same of bytes and halves of a word.
fn permute_small(this: &Lowerer<'_, '_>, vector: Value, indices: Value) -> Value {
    let (b, w, target) = (&this.b, this.w, this.target);
    let scalar = b.scalar_of(vector);
    let numbers = b.zext_or_trunc(indices, scalar);
    // A part is permuted by an instruction that all have.
    if scalar.bits() * w > PART_BITS && tables::looks_up(target, scalar.bytes()) {
        return tables::look_up(b, &tables::registers_of(b, vector), numbers);
    }
    if scalar == Scalar::I8 {
        return permute_bytes(this, vector, numbers);
    }
    // The two bytes of each.
    let both = b.mul(numbers, b.int(scalar, w, 0x0202));
    let both = b.add(both, b.int(scalar, w, 0x0100));
    let [vector, both] = [vector, both].map(|of| b.reshape(of, Scalar::I8, 2 * w));
    b.reshape(permute_bytes(this, vector, both), scalar, w)
}

/// The instruction that permutes so many bytes within the parts that they lie in, and how many it takes at once.
pub(in crate::lower) fn byte_permutation(target: &Target, bytes: u32) -> (&'static str, u32) {
    match (target.simd_bits() / u8::BITS).min(bytes) {
        64 => ("llvm.x86.avx512.pshuf.b.512", 64),
        32 => ("llvm.x86.avx2.pshuf.b", 32),
        _ => ("llvm.x86.ssse3.pshuf.b.128", PART_BITS / u8::BITS),
    }
}

/// Bytes of a vector by their numbers in it. Each part of it may hold what a place wants.
fn permute_bytes(this: &Lowerer<'_, '_>, vector: Value, numbers: Value) -> Value {
    let b = &this.b;
    let (part, count) = (PART_BITS / u8::BITS, b.lanes(vector));
    let (name, at_once) = byte_permutation(this.target, count);
    let places: Vec<i32> = (0..at_once.max(count)).map(|at| (at % count) as i32).collect();
    let wide = b.shuffle(numbers, numbers, &places);
    let of_part = |at: u32| {
        let from: Vec<i32> = (0..at_once).map(|place| ((at * part + place % part) % count) as i32).collect();
        b.shuffle(vector, vector, &from)
    };
    let sources: Vec<Value> = (0..count.div_ceil(part)).map(of_part).collect();
    let int = |value: u32| b.int(Scalar::I8, at_once, value.into());
    let found = b.regrouped(vec![wide], at_once).into_iter().map(|numbers| {
        // The highest bit of a number would say that a byte is 0.
        let places = b.and(numbers, int(part - 1));
        let of = |source: &Value| b.intrinsic_plain(name, &[*source, places]);
        let first = of(&sources[0]);
        (1u32..).zip(&sources[1..]).fold(first, |found, (at, source)| {
            let is_here = b.icmp(IntPred::LLVMIntUGE, numbers, int(at * part));
            b.select(is_here, of(source), found)
        })
    });
    let all = b.concat(found.collect());
    let own: Vec<i32> = (0..count as i32).collect();
    b.shuffle(all, all, &own)
}

fn permute_32(this: &Lowerer<'_, '_>, vector: Value, indices: Value) -> Value {
    let (b, w) = (&this.b, this.w);
    if this.target.simd_bits() < 256 {
        return permute_in_memory(this, vector, indices);
    }
    match w {
        4 => {
            let floats = b.reinterpret(vector, Scalar::F32);
            let moved = b.intrinsic_plain("llvm.x86.avx.vpermilvar.ps", &[floats, indices]);
            b.reinterpret(moved, Scalar::I32)
        }
        8 => b.intrinsic_plain("llvm.x86.avx2.permd", &[vector, indices]),
        16 if this.target.has_avx512() => {
            b.intrinsic_plain("llvm.x86.avx512.permvar.si.512", &[vector, indices])
        }
        32 if this.target.has_avx512() => {
            let [low, high] = halves(b, vector);
            let moved = halves(b, indices)
                .map(|indices| b.intrinsic_plain("llvm.x86.avx512.vpermi2var.d.512", &[low, indices, high]));
            b.concat(moved.to_vec())
        }
        _ => {
            // Every register of 8 lanes may hold what a lane wants.
            let sources = parts(b, vector, 8);
            let moved = parts(b, indices, 8).into_iter().map(|indices| {
                let register = b.lshr(indices, b.int(Scalar::I32, 8, 3));
                let permuted = sources
                    .iter()
                    .map(|source| b.intrinsic_plain("llvm.x86.avx2.permd", &[*source, indices]));
                permuted
                    .enumerate()
                    .reduce(|(_, result), (at, lanes)| {
                        let hit = b.icmp(IntPred::LLVMIntEQ, register, b.int(Scalar::I32, 8, at as u64));
                        (at, b.select(hit, lanes, result))
                    })
                    .map(|(_, result)| result)
                    .expect("there is at least one register")
            });
            b.concat(moved.collect())
        }
    }
}

fn permute_64(this: &Lowerer<'_, '_>, vector: Value, indices: Value) -> Value {
    let (b, w) = (&this.b, this.w);
    let simd = this.target.simd_bits();
    if simd < 256 {
        return permute_in_memory(this, vector, indices);
    }
    let wide = || b.cast(Opcode::LLVMZExt, indices, Scalar::I64);
    match w {
        4 if simd == 512 => b.intrinsic_plain("llvm.x86.avx512.permvar.di.256", &[vector, wide()]),
        8 if simd == 512 => b.intrinsic_plain("llvm.x86.avx512.permvar.di.512", &[vector, wide()]),
        16 if simd == 512 => {
            let [low, high] = halves(b, vector);
            let moved = halves(b, wide())
                .map(|indices| b.intrinsic_plain("llvm.x86.avx512.vpermi2var.q.512", &[low, indices, high]));
            b.concat(moved.to_vec())
        }
        _ => {
            let shift = b.int(Scalar::I64, w, 32);
            let low = permute_32(this, b.cast(Opcode::LLVMTrunc, vector, Scalar::I32), indices);
            let high = b.cast(Opcode::LLVMTrunc, b.lshr(vector, shift), Scalar::I32);
            let high = b.cast(Opcode::LLVMZExt, permute_32(this, high, indices), Scalar::I64);
            b.or(b.cast(Opcode::LLVMZExt, low, Scalar::I64), b.shl(high, shift))
        }
    }
}

fn permute_in_memory(this: &Lowerer<'_, '_>, vector: Value, indices: Value) -> Value {
    let (b, scalar) = (&this.b, this.b.scalar_of(vector));
    let slot = this.prologue_alloca(scalar, this.w);
    b.store(vector, slot, 1);
    // Lanes that are off may be poison, and they read as well.
    let last = b.int(b.scalar_of(indices), this.w, u64::from(this.w) - 1);
    let addresses = b.gep(slot, b.and(b.freeze(indices), last), scalar);
    b.gather(scalar, addresses, scalar.bytes(), b.int(Scalar::Bool, this.w, 1))
}

/// A vector in parts of `lanes` lanes.
pub fn parts(b: &Builder, vector: Value, lanes: u32) -> Vec<Value> {
    let all = b.lanes(vector);
    let poison = b.poison(b.scalar_of(vector), all);
    (0..all)
        .step_by(lanes as usize)
        .map(|first| {
            b.shuffle(vector, poison, &(first..first + lanes).map(|at| at as i32).collect::<Vec<_>>())
        })
        .collect()
}

fn halves(b: &Builder, vector: Value) -> [Value; 2] {
    let parts = parts(b, vector, b.lanes(vector) / 2);
    [parts[0], parts[1]]
}
