//! Fences and atomic accesses.

use super::{Builder, NAME, Value};
use llvm_sys::core::*;
use llvm_sys::{LLVMAtomicOrdering, LLVMAtomicRMWBinOp};

impl Builder {
    /// A fence of the machine in the total order of all such.
    pub fn fence(&self) {
        self.emit_fence(LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent, false);
    }

    pub fn fence_acquire_release(&self) {
        self.emit_fence(LLVMAtomicOrdering::LLVMAtomicOrderingAcquireRelease, false);
    }

    /// Keeps the compiler from moving memory accesses across; no instruction.
    pub fn fence_compiler(&self) {
        self.emit_fence(LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent, true);
    }

    fn emit_fence(&self, ordering: LLVMAtomicOrdering, one_thread: bool) {
        llvm!(LLVMBuildFence(self.raw, ordering, i32::from(one_thread), NAME));
    }

    /// An atomic load or store is an ordinary one with an ordering set afterwards.
    pub fn set_atomic(&self, access: Value, is_store: bool) {
        let ordering = if is_store {
            LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent
        } else {
            LLVMAtomicOrdering::LLVMAtomicOrderingAcquire
        };
        llvm!(LLVMSetOrdering(access.0, ordering));
    }

    /// A store in the total order of all such.
    pub fn atomic_store(&self, value: Value, address: Value, align: u64) {
        self.ordered_store(
            value,
            address,
            align,
            LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent,
        );
    }

    pub fn atomic_store_release(&self, value: Value, address: Value, align: u64) {
        self.ordered_store(value, address, align, LLVMAtomicOrdering::LLVMAtomicOrderingRelease);
    }

    fn ordered_store(&self, value: Value, address: Value, align: u64, ordering: LLVMAtomicOrdering) {
        llvm!({
            let store = LLVMBuildStore(self.raw, value.0, address.0);
            LLVMSetAlignment(store, align as u32);
            LLVMSetOrdering(store, ordering);
        });
    }

    pub fn atomic_rmw(&self, op: LLVMAtomicRMWBinOp, address: Value, value: Value) -> Value {
        Value(llvm!(LLVMBuildAtomicRMW(
            self.raw,
            op,
            address.0,
            value.0,
            LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent,
            0
        )))
    }

    /// The value that was there before.
    pub fn compare_exchange(&self, address: Value, expected: Value, new: Value) -> Value {
        let order = LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;
        llvm!({
            let pair = LLVMBuildAtomicCmpXchg(self.raw, address.0, expected.0, new.0, order, order, 0);
            Value(LLVMBuildExtractValue(self.raw, pair, 0, NAME))
        })
    }
}
