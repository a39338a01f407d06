//! Addresses, loads, stores and copies.

use super::{Builder, NAME, Value};
use crate::analysis::leaves::Scalar;
use crate::jit::target::Target;
use crate::lower::rows;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// The operand of `llvm.memcpy` that says whether it is volatile.
const MEMCPY_VOLATILE: u32 = 3;

/// Which stores under a mask are one instruction that takes about as long as one without. Before the others it is asked whether all
/// lanes are on, which they nearly always are: a branch that is predicted.
pub(super) struct MaskedStores {
    words: bool,
    narrow: bool,
    scattered: bool,
    /// Whether there is an instruction for rows of words, and of smaller elements.
    of_rows: [bool; 2],
}

impl MaskedStores {
    pub(super) fn of(target: &Target) -> MaskedStores {
        let rows = |element| rows::stores_under_masks(target, element);
        MaskedStores {
            words: rows(Scalar::I32),
            narrow: rows(Scalar::I8),
            scattered: target.has_avx512(),
            of_rows: [Scalar::I32, Scalar::I8].map(|element| rows::has_masks(target, element)),
        }
    }

    fn are_fast(&self, element: Scalar) -> bool {
        if element.bytes() < Scalar::I32.bytes() { self.narrow } else { self.words }
    }
}

impl Builder {
    /// Stack memory; call it only while the position is in the prologue.
    pub fn alloca(&self, scalar: Scalar, lanes: u32) -> Value {
        Value(llvm!(LLVMBuildAlloca(self.raw, self.ty(scalar, lanes), NAME)))
    }

    /// Stack memory that loads for nobody read. It is zero: what else was there would be numbers to compute with, and an Intel processor takes a hundred
    /// cycles and more for each vector with a denormal one in it.
    pub fn nowhere(&self, scalar: Scalar, lanes: u32) -> Value {
        let slot = self.alloca(scalar, lanes);
        self.store(self.zero(scalar, lanes), slot, scalar.bytes());
        slot
    }

    /// `size` bytes of stack memory; call it only while the position is in the prologue.
    pub fn alloca_bytes(&self, size: u64, align: u32) -> Value {
        llvm!({
            let slot = LLVMBuildAlloca(self.raw, LLVMArrayType2(self.i[1], size), NAME);
            LLVMSetAlignment(slot, align);
            Value(slot)
        })
    }

    /// An address `offset` bytes behind `base`; either may be a vector.
    pub fn offset(&self, base: Value, offset: Value) -> Value {
        self.gep(base, offset, Scalar::I8)
    }

    /// The address of element `index` of an array of `element` at `base`; either may be a vector.
    pub fn gep(&self, base: Value, index: Value, element: Scalar) -> Value {
        let mut index = index.0;
        let ty = self.scalar_ty(element);
        Value(llvm!(LLVMBuildGEP2(self.raw, ty, base.0, &mut index, 1, NAME)))
    }

    /// The address of element `index`, of 64 bits, of an array of elements of so many bytes.
    pub fn element(&self, base: Value, index: Value, bytes: u64) -> Value {
        match Scalar::machine_int(u32::try_from(bytes * 8).unwrap_or(0)) {
            Some(element) => self.gep(base, index, element),
            None => self.offset(base, self.mul(index, self.int(Scalar::I64, self.lanes(index), bytes))),
        }
    }

    pub fn offset_const(&self, base: Value, offset: u64) -> Value {
        if offset == 0 { base } else { self.offset(base, self.i64(offset)) }
    }

    pub fn load(&self, scalar: Scalar, lanes: u32, address: Value, align: u64) -> Value {
        llvm!({
            let load = LLVMBuildLoad2(self.raw, self.ty(scalar, lanes), address.0, NAME);
            LLVMSetAlignment(load, align as u32);
            Value(load)
        })
    }

    /// A load that happens as often as the program says, in the order in which it says so.
    pub fn load_volatile(&self, scalar: Scalar, lanes: u32, address: Value, align: u64) -> Value {
        let load = self.load(scalar, lanes, address, align);
        llvm!(LLVMSetVolatile(load.0, 1));
        load
    }

    /// A load of memory that does not change while the kernel runs.
    pub fn load_invariant(&self, scalar: Scalar, address: Value, align: u64) -> Value {
        let load = self.load(scalar, 1, address, align);
        llvm!(LLVMSetMetadata(load.0, self.invariant_load, self.empty_node));
        load
    }

    /// What is loaded, which is known to be in a range.
    pub fn within(&self, load: Value, range: std::ops::Range<u64>) -> Value {
        llvm!({
            let number = |number: u64| LLVMValueAsMetadata(LLVMConstInt(LLVMTypeOf(load.0), number, 0));
            let mut ends = [range.start, range.end].map(number);
            let node = LLVMMDNodeInContext2(self.context, ends.as_mut_ptr(), ends.len());
            LLVMSetMetadata(load.0, self.range, LLVMMetadataAsValue(self.context, node));
        });
        load
    }

    /// A loaded pointer to so many bytes that may be read wherever the code is, aligned to a power of two. Loads of what does not change there need no
    /// condition, so LLVM takes them out of loops.
    pub fn readable(&self, load: Value, bytes: u64, align: u64) -> Value {
        for (kind, number) in [(self.dereferenceable, bytes), (self.align, align)] {
            llvm!({
                let mut number = LLVMValueAsMetadata(self.i64(number).0);
                let node = LLVMMDNodeInContext2(self.context, &mut number, 1);
                LLVMSetMetadata(load.0, kind, LLVMMetadataAsValue(self.context, node));
            });
        }
        load
    }

    pub fn store(&self, value: Value, address: Value, align: u64) {
        self.aligned_store(value, address, align);
    }

    /// The store's [`Builder::load_volatile`].
    pub fn store_volatile(&self, value: Value, address: Value, align: u64) {
        let store = self.aligned_store(value, address, align);
        llvm!(LLVMSetVolatile(store, 1));
    }

    /// A store with a non-temporal hint, at an address of this alignment.
    pub fn store_past_caches(&self, value: Value, address: Value, align: u64) {
        let store = self.aligned_store(value, address, align);
        llvm!({
            let one = LLVMValueAsMetadata(self.i32(1).0);
            let node = LLVMMDNodeInContext2(self.context, [one].as_mut_ptr(), 1);
            LLVMSetMetadata(store, self.nontemporal, LLVMMetadataAsValue(self.context, node));
        });
    }

    fn aligned_store(&self, value: Value, address: Value, align: u64) -> LLVMValueRef {
        llvm!({
            let store = LLVMBuildStore(self.raw, value.0, address.0);
            LLVMSetAlignment(store, align as u32);
            store
        })
    }

    /// Contiguous lanes at one address; lanes that are off read as `passthrough` and touch no memory.
    pub fn masked_load(&self, scalar: Scalar, lanes: u32, address: Value, align: u64, mask: Value) -> Value {
        let align = self.i32(align as u32);
        let passthrough = self.zero(scalar, lanes);
        let types = [self.ty(scalar, lanes), self.ptr];
        self.intrinsic_typed("llvm.masked.load", &types, &[address, align, mask, passthrough])
    }

    /// Contiguous lanes at one address; lanes that are off touch no memory.
    pub fn masked_store(&self, value: Value, address: Value, align: u64, mask: Value) {
        if self.masked_stores.are_fast(self.scalar_of(value)) {
            return self.store_under(value, address, align, mask);
        }
        self.if_all(
            mask,
            || self.store(value, address, align),
            || self.store_under(value, address, align, mask),
        );
    }

    fn store_under(&self, value: Value, address: Value, align: u64, mask: Value) {
        let bytes = self.scalar_of(value).bytes();
        let [of_words, of_narrow] = self.masked_stores.of_rows;
        let has_instruction = if bytes < Scalar::I32.bytes() { of_narrow } else { of_words };
        if !has_instruction && !self.is_constant(mask) {
            // LLVM makes a branch for each lane, which data decides and the processor mispredicts. Scattered, lanes that are off go nowhere.
            let steps = self.steps(Scalar::I64, self.lanes(value), bytes as i64);
            return self.scatter_under(value, self.offset(address, steps), align, mask);
        }
        let align = self.i32(align as u32);
        let types = [llvm!(LLVMTypeOf(value.0)), self.ptr];
        self.intrinsic_typed("llvm.masked.store", &types, &[value, address, align, mask]);
    }

    /// One address a lane; what lanes that are off get is nobody's.
    pub fn gather(&self, scalar: Scalar, addresses: Value, align: u64, mask: Value) -> Value {
        let lanes = self.lanes(addresses);
        let align = self.i32(align as u32);
        let passthrough = self.zero(scalar, lanes);
        let types = [self.ty(scalar, lanes), self.ty(Scalar::Ptr, lanes)];
        self.intrinsic_typed("llvm.masked.gather", &types, &[addresses, align, mask, passthrough])
    }

    /// One address a lane; of lanes with the same address the last one's value stays.
    pub fn scatter(&self, value: Value, addresses: Value, align: u64, mask: Value) {
        if self.masked_stores.scattered {
            return self.scatter_under(value, addresses, align, mask);
        }
        let every = self.int(Scalar::Bool, self.lanes(mask), 1);
        let scatter = |mask| self.scatter_under(value, addresses, align, mask);
        self.if_all(mask, || scatter(every), || scatter(mask));
    }

    /// One of two stores: the first where all lanes of the mask are on, without a mask to look at.
    fn if_all(&self, mask: Value, all: impl FnOnce(), some: impl FnOnce()) {
        if self.is_constant(mask) {
            return some();
        }
        let all = || {
            all();
            Vec::new()
        };
        let some = || {
            some();
            Vec::new()
        };
        self.branch_of_many(self.all(mask), all, some);
    }

    fn scatter_under(&self, value: Value, addresses: Value, align: u64, mask: Value) {
        let align = self.i32(align as u32);
        let types = [llvm!(LLVMTypeOf(value.0)), llvm!(LLVMTypeOf(addresses.0))];
        self.intrinsic_typed("llvm.masked.scatter", &types, &[value, addresses, align, mask]);
    }

    pub fn memcpy(&self, to: Value, from: Value, size: Value, align: u32) {
        self.copy((to, align), (from, align), size, false);
    }

    /// Copies `size` bytes between two addresses that have these alignments.
    pub fn copy(&self, to: (Value, u32), from: (Value, u32), size: Value, volatile: bool) {
        llvm!({
            let call = LLVMBuildMemCpy(self.raw, to.0.0, to.1, from.0.0, from.1, size.0);
            if volatile {
                LLVMSetOperand(call, MEMCPY_VOLATILE, LLVMConstInt(self.i[0], 1, 0));
            }
        });
    }

    /// Fills `size` bytes with zeros.
    pub fn zero_bytes(&self, to: Value, align: u32, size: Value) {
        llvm!(LLVMBuildMemSet(self.raw, to.0, LLVMConstInt(self.i[1], 0, 0), size.0, align));
    }

    /// As [`copy`](Self::copy), of places that may overlap.
    pub fn relocate(&self, to: (Value, u32), from: (Value, u32), size: Value) {
        llvm!(LLVMBuildMemMove(self.raw, to.0.0, to.1, from.0.0, from.1, size.0));
    }

    /// Asks for a cache line that will be read, for the second level of caches: more lines can be on their way there than to the first, and more
    /// that are a power of two apart have room. Any address will do.
    pub fn prefetch(&self, address: Value) {
        // Operands: for reading, into the second level, data.
        let operands = [address, self.i32(0), self.i32(2), self.i32(1)];
        self.intrinsic_typed("llvm.prefetch", &[self.ptr], &operands);
    }
}
