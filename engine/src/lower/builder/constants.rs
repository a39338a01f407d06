//! Constants, symbols and data.

use super::{Builder, Value, symbol};
use crate::analysis::leaves::Scalar;
use llvm_sys::LLVMLinkage;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

impl Builder {
    /// An integer constant (or a bool), in all lanes.
    pub fn int(&self, scalar: Scalar, lanes: u32, value: u64) -> Value {
        let scalar = llvm!(LLVMConstInt(self.scalar_ty(scalar), value, 0));
        self.constant_splat(scalar, lanes)
    }

    /// An integer constant of any width, in all lanes; bits that the type does not have are dropped.
    pub fn wide_int(&self, scalar: Scalar, lanes: u32, value: u128) -> Value {
        let words = [value as u64, (value >> 64) as u64];
        let scalar = llvm!(LLVMConstIntOfArbitraryPrecision(self.scalar_ty(scalar), 2, words.as_ptr()));
        self.constant_splat(scalar, lanes)
    }

    pub fn i32(&self, value: u32) -> Value {
        self.int(Scalar::I32, 1, u64::from(value))
    }

    pub fn i64(&self, value: u64) -> Value {
        self.int(Scalar::I64, 1, value)
    }

    /// A floating-point constant from its bits, in all lanes.
    pub fn float_bits(&self, scalar: Scalar, lanes: u32, bits: u64) -> Value {
        let int = Scalar::int(scalar.bits()).expect("floats have integer widths");
        let bits = llvm!(LLVMConstInt(self.scalar_ty(int), bits, 0));
        let value = llvm!(LLVMConstBitCast(bits, self.scalar_ty(scalar)));
        self.constant_splat(value, lanes)
    }

    /// A floating-point constant, rounded to the type, in all lanes.
    pub fn float(&self, scalar: Scalar, lanes: u32, value: f64) -> Value {
        let bits = match scalar {
            Scalar::F16 => u64::from(half::f16::from_f64(value).to_bits()),
            Scalar::F32 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        };
        self.float_bits(scalar, lanes, bits)
    }

    /// A vector of integer constants, or the only one.
    pub fn int_vector(&self, scalar: Scalar, values: impl IntoIterator<Item = u64>) -> Value {
        let ty = self.scalar_ty(scalar);
        let mut list: Vec<LLVMValueRef> =
            values.into_iter().map(|value| llvm!(LLVMConstInt(ty, value, 0))).collect();
        match list.as_slice() {
            [one] => Value(*one),
            _ => Value(llvm!(LLVMConstVector(list.as_mut_ptr(), list.len() as u32))),
        }
    }

    /// What each lane is away from the first where they are `step` apart: 0, `step`, twice that, ...
    pub fn steps(&self, scalar: Scalar, lanes: u32, step: i64) -> Value {
        self.int_vector(scalar, (0..i64::from(lanes)).map(|lane| lane.wrapping_mul(step) as u64))
    }

    /// The number of each lane: 0, 1, 2, ...
    pub fn lane_numbers(&self, scalar: Scalar) -> Value {
        self.int_vector(scalar, 0..u64::from(self.width))
    }

    /// All bits zero.
    pub fn zero(&self, scalar: Scalar, lanes: u32) -> Value {
        Value(llvm!(LLVMConstNull(self.ty(scalar, lanes))))
    }

    pub fn undef(&self, scalar: Scalar, lanes: u32) -> Value {
        Value(llvm!(LLVMGetUndef(self.ty(scalar, lanes))))
    }

    pub fn poison(&self, scalar: Scalar, lanes: u32) -> Value {
        Value(llvm!(LLVMGetPoison(self.ty(scalar, lanes))))
    }

    pub(super) fn constant_splat(&self, scalar: LLVMValueRef, lanes: u32) -> Value {
        if lanes == 1 {
            return Value(scalar);
        }
        let mut list = vec![scalar; lanes as usize];
        Value(llvm!(LLVMConstVector(list.as_mut_ptr(), lanes)))
    }

    /// The value of an integer constant of one lane, if it is one.
    pub fn constant_int(&self, value: Value) -> Option<u64> {
        llvm!({
            let constant = LLVMIsAConstantInt(value.0);
            let narrow = !constant.is_null() && LLVMGetIntTypeWidth(LLVMTypeOf(constant)) <= u64::BITS;
            narrow.then(|| LLVMConstIntGetZExtValue(constant))
        })
    }

    pub fn is_constant(&self, value: Value) -> bool {
        llvm!(LLVMIsConstant(value.0)) != 0
    }

    /// The address of a symbol that the loader supplies.
    pub fn external(&self, name: &str) -> Value {
        self.external_of(name, || None)
    }

    /// The same. What is there and never changes may be known: loads from known places of it become constants.
    pub fn external_of(&self, name: &str, known: impl FnOnce() -> Option<Vec<u8>>) -> Value {
        let name = symbol(name);
        llvm!({
            let found = LLVMGetNamedGlobal(self.module, name.as_ptr());
            if !found.is_null() {
                return Value(found);
            }
            let Some(bytes) = known() else {
                let global = LLVMAddGlobal(self.module, self.i[1], name.as_ptr());
                LLVMSetLinkage(global, LLVMLinkage::LLVMExternalLinkage);
                return Value(global);
            };
            let init = LLVMConstStringInContext2(self.context, bytes.as_ptr().cast(), bytes.len(), 1);
            let global = LLVMAddGlobal(self.module, LLVMTypeOf(init), name.as_ptr());
            LLVMSetInitializer(global, init);
            LLVMSetGlobalConstant(global, 1);
            LLVMSetLinkage(global, LLVMLinkage::LLVMAvailableExternallyLinkage);
            // As a symbol of which nothing is known.
            LLVMSetAlignment(global, 1);
            Value(global)
        })
    }

    /// Read-only data in the object code, aligned to `align` bytes.
    pub fn data(&self, name: &str, bytes: &[u8], align: u32) -> Value {
        let name = symbol(name);
        llvm!({
            let init = LLVMConstStringInContext2(self.context, bytes.as_ptr().cast(), bytes.len(), 1);
            let global = LLVMAddGlobal(self.module, LLVMTypeOf(init), name.as_ptr());
            LLVMSetInitializer(global, init);
            LLVMSetGlobalConstant(global, 1);
            LLVMSetLinkage(global, LLVMLinkage::LLVMPrivateLinkage);
            LLVMSetAlignment(global, align);
            Value(global)
        })
    }

    /// [`data`](Self::data) that all who ask for the name share.
    pub fn shared_data(&self, name: &str, bytes: &[u8], align: u32) -> Value {
        let found = llvm!(LLVMGetNamedGlobal(self.module, symbol(name).as_ptr()));
        if found.is_null() { self.data(name, bytes, align) } else { Value(found) }
    }
}
