//! Casts between scalar types, and between ways to see the same bits.

use super::{Builder, NAME, Value};
use crate::analysis::leaves::Scalar;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;

impl Builder {
    /// A cast to `to` with as many lanes as `value` has.
    pub fn cast(&self, opcode: LLVMOpcode, value: Value, to: Scalar) -> Value {
        let ty = self.ty(to, self.lanes(value));
        Value(llvm!(LLVMBuildCast(self.raw, opcode, value.0, ty, NAME)))
    }

    /// An integer made of others, given the bytes at which they begin in it.
    pub fn of_bytes(&self, whole: Scalar, parts: impl IntoIterator<Item = (u64, Value)>) -> Value {
        let shifted = parts.into_iter().map(|(at, part)| {
            self.shl(self.zext_or_trunc(part, whole), self.int(whole, self.lanes(part), 8 * at))
        });
        shifted.reduce(|low, high| self.or(low, high)).expect("an integer has bytes")
    }

    /// The part of an integer that begins at a byte.
    pub fn bytes_from(&self, whole: Value, at: u64, part: Scalar) -> Value {
        let shift = self.int(self.scalar_of(whole), self.lanes(whole), 8 * at);
        self.zext_or_trunc(self.lshr(whole, shift), part)
    }

    /// Zero-extends or truncates an integer.
    pub fn zext_or_trunc(&self, value: Value, to: Scalar) -> Value {
        self.resize(value, to, LLVMOpcode::LLVMZExt)
    }

    /// Sign-extends or truncates an integer.
    pub fn sext_or_trunc(&self, value: Value, to: Scalar) -> Value {
        self.resize(value, to, LLVMOpcode::LLVMSExt)
    }

    fn resize(&self, value: Value, to: Scalar, extend: LLVMOpcode) -> Value {
        let from = self.scalar_of(value).bits();
        match from.cmp(&to.bits()) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Less => self.cast(extend, value, to),
            // What is a constant behind another number stays that far behind it.
            std::cmp::Ordering::Greater => match self.constant_sum(value) {
                Some((first, more)) => {
                    let [first, more] = [first, more].map(|of| self.cast(LLVMOpcode::LLVMTrunc, of, to));
                    self.add(first, more)
                }
                None => self.cast(LLVMOpcode::LLVMTrunc, value, to),
            },
        }
    }

    /// Reinterprets each lane as another scalar type of the same width (also between pointers and integers).
    pub fn reinterpret(&self, value: Value, to: Scalar) -> Value {
        let from = self.scalar_of(value);
        match (from, to) {
            _ if from == to => value,
            (Scalar::Ptr, Scalar::I64) => self.cast(LLVMOpcode::LLVMPtrToInt, value, to),
            (Scalar::I64, Scalar::Ptr) => self.cast(LLVMOpcode::LLVMIntToPtr, value, to),
            (Scalar::Ptr, _) => self.reinterpret(self.reinterpret(value, Scalar::I64), to),
            (_, Scalar::Ptr) => self.reinterpret(self.reinterpret(value, Scalar::I64), to),
            _ => self.cast(LLVMOpcode::LLVMBitCast, value, to),
        }
    }

    /// Reinterprets the bits of a whole value (say 16 lanes of 32 bits as 64 of 8).
    pub fn reshape(&self, value: Value, scalar: Scalar, lanes: u32) -> Value {
        Value(llvm!(LLVMBuildBitCast(self.raw, value.0, self.ty(scalar, lanes), NAME)))
    }
}
