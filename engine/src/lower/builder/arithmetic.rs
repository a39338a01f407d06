//! Arithmetic, comparisons and selections.

use super::{Builder, NAME, Value};
use llvm_sys::core::*;
use llvm_sys::{LLVMFastMathAllowContract, LLVMIntPredicate, LLVMOpcode, LLVMRealPredicate};

impl Builder {
    pub fn bin(&self, opcode: LLVMOpcode, a: Value, b: Value) -> Value {
        let value = llvm!(LLVMBuildBinOp(self.raw, opcode, a.0, b.0, NAME));
        if self.contract
            && matches!(opcode, LLVMOpcode::LLVMFAdd | LLVMOpcode::LLVMFSub | LLVMOpcode::LLVMFMul)
            && !llvm!(LLVMIsAInstruction(value)).is_null()
        {
            llvm!(LLVMSetFastMathFlags(value, LLVMFastMathAllowContract));
        }
        Value(value)
    }

    /// Like [`Self::bin`] and never contracted: for algorithms that rely on each rounding.
    pub fn bin_exact(&self, opcode: LLVMOpcode, a: Value, b: Value) -> Value {
        Value(llvm!(LLVMBuildBinOp(self.raw, opcode, a.0, b.0, NAME)))
    }

    pub fn add(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMAdd, a, b)
    }

    /// A number and a constant whose sum a scalar is, modulo its width. Where several sub-groups are side by side, their numbers are such sums, and
    /// stay comparable if constants come last: LLVM puts none of them in another order.
    pub fn constant_sum(&self, sum: Value) -> Option<(Value, Value)> {
        llvm!({
            let is_sum = self.lanes(sum) == 1
                && !LLVMIsABinaryOperator(sum.0).is_null()
                && LLVMGetInstructionOpcode(sum.0) == LLVMOpcode::LLVMAdd
                && LLVMGetNSW(sum.0) == 0
                && LLVMGetNUW(sum.0) == 0;
            let operands = is_sum.then(|| [0, 1].map(|at| Value(LLVMGetOperand(sum.0, at))))?;
            (!LLVMIsAConstantInt(operands[1].0).is_null()).then_some(operands.into())
        })
    }

    pub fn sub(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMSub, a, b)
    }

    pub fn mul(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMMul, a, b)
    }

    pub fn and(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMAnd, a, b)
    }

    pub fn or(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMOr, a, b)
    }

    pub fn xor(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMXor, a, b)
    }

    pub fn shl(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMShl, a, b)
    }

    pub fn lshr(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMLShr, a, b)
    }

    pub fn ashr(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMAShr, a, b)
    }

    pub fn fadd(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMFAdd, a, b)
    }

    pub fn fsub(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMFSub, a, b)
    }

    pub fn fmul(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMFMul, a, b)
    }

    pub fn fdiv(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMFDiv, a, b)
    }

    pub fn fneg(&self, a: Value) -> Value {
        Value(llvm!(LLVMBuildFNeg(self.raw, a.0, NAME)))
    }

    /// The first multiple of a power of two that is not below an integer of 64 bits.
    pub fn next_multiple(&self, a: Value, of: u64) -> Value {
        self.and(self.add(a, self.i64(of - 1)), self.i64(!(of - 1)))
    }

    pub fn not(&self, a: Value) -> Value {
        Value(llvm!(LLVMBuildNot(self.raw, a.0, NAME)))
    }

    pub fn freeze(&self, a: Value) -> Value {
        if let Some((first, more)) = self.constant_sum(a) {
            return self.add(Value(llvm!(LLVMBuildFreeze(self.raw, first.0, NAME))), more);
        }
        // A frozen splat would be one number in one lane and whatever a register holds in the others, which code waits for.
        if let Some(scalar) = self.splatted(a).filter(|scalar| *scalar != a) {
            return self.splat(self.freeze(scalar), self.lanes(a));
        }
        Value(llvm!(LLVMBuildFreeze(self.raw, a.0, NAME)))
    }

    pub fn icmp(&self, predicate: LLVMIntPredicate, a: Value, b: Value) -> Value {
        Value(llvm!(LLVMBuildICmp(self.raw, predicate, a.0, b.0, NAME)))
    }

    pub fn fcmp(&self, predicate: LLVMRealPredicate, a: Value, b: Value) -> Value {
        Value(llvm!(LLVMBuildFCmp(self.raw, predicate, a.0, b.0, NAME)))
    }

    /// Lane by lane; the condition may be one bool for all lanes.
    pub fn select(&self, condition: Value, a: Value, b: Value) -> Value {
        Value(llvm!(LLVMBuildSelect(self.raw, condition.0, a.0, b.0, NAME)))
    }
}
