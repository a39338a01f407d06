//! A builder of LLVM IR whose values may be scalars or vectors of lanes.
//!
//! LLVM's own instructions work on both, so most methods do not care. `lanes` is 1 for a scalar. All calls of
//! the LLVM C API that lowering makes are in this file.

use crate::analysis::leaves::Scalar;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMMetadataReplaceAllUsesWith, LLVMTemporaryMDNode};
use llvm_sys::prelude::*;
use llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMFastMathAllowContract, LLVMIntPredicate, LLVMLinkage,
    LLVMOpcode, LLVMRealPredicate, LLVMTypeKind,
};
use std::ffi::CString;

/// A value of the IR under construction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value(LLVMValueRef);

/// A basic block of the IR under construction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Label(LLVMBasicBlockRef);

/// A function of the IR under construction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Function {
    value: LLVMValueRef,
    ty: LLVMTypeRef,
}

pub use llvm_sys::{
    LLVMAtomicRMWBinOp as Rmw, LLVMIntPredicate as IntPred, LLVMOpcode as Opcode,
    LLVMRealPredicate as RealPred,
};

/// A call into LLVM.
///
/// Every reference that [`Builder`] passes on was made by LLVM in the builder's own context and module, which
/// outlive the builder's borrow; LLVM checks the rest (in assertion builds) or the IR verifier does.
macro_rules! llvm {
    ($call:expr) => {{
        // SAFETY: see the macro's documentation.
        #[allow(unused_unsafe)]
        unsafe {
            $call
        }
    }};
}

pub struct Builder {
    context: LLVMContextRef,
    module: LLVMModuleRef,
    raw: LLVMBuilderRef,
    /// Lanes of a sub-group.
    pub width: u32,
    /// Floating-point instructions may be contracted (`fmul` and `fadd` to `fma`).
    pub contract: bool,
    i: [LLVMTypeRef; 5],
    f: [LLVMTypeRef; 3],
    ptr: LLVMTypeRef,
    void: LLVMTypeRef,
    invariant_load: u32,
    empty_node: LLVMValueRef,
}

impl Drop for Builder {
    fn drop(&mut self) {
        llvm!(LLVMDisposeBuilder(self.raw));
    }
}

impl Builder {
    /// A builder for `module`, which lives in `context`.
    ///
    /// # Safety
    /// Both references are valid and outlive the builder.
    pub unsafe fn new(context: LLVMContextRef, module: LLVMModuleRef, width: u32) -> Self {
        let int = |bits| llvm!(LLVMIntTypeInContext(context, bits));
        let kind = c"invariant.load";
        llvm!({
            Self {
                context,
                module,
                raw: LLVMCreateBuilderInContext(context),
                width,
                contract: false,
                i: [int(1), int(8), int(16), int(32), int(64)],
                f: [
                    LLVMHalfTypeInContext(context),
                    LLVMFloatTypeInContext(context),
                    LLVMDoubleTypeInContext(context),
                ],
                ptr: LLVMPointerTypeInContext(context, 0),
                void: LLVMVoidTypeInContext(context),
                invariant_load: LLVMGetMDKindIDInContext(
                    context,
                    kind.as_ptr(),
                    kind.to_bytes().len() as u32,
                ),
                empty_node: LLVMMetadataAsValue(
                    context,
                    LLVMMDNodeInContext2(context, std::ptr::null_mut(), 0),
                ),
            }
        })
    }

    // Types.

    fn scalar_ty(&self, scalar: Scalar) -> LLVMTypeRef {
        match scalar {
            Scalar::Bool => self.i[0],
            Scalar::I8 => self.i[1],
            Scalar::I16 => self.i[2],
            Scalar::I32 => self.i[3],
            Scalar::I64 => self.i[4],
            Scalar::Int(bits) => llvm!(LLVMIntTypeInContext(self.context, u32::from(bits))),
            Scalar::F16 => self.f[0],
            Scalar::F32 => self.f[1],
            Scalar::F64 => self.f[2],
            Scalar::Ptr => self.ptr,
        }
    }

    fn ty(&self, scalar: Scalar, lanes: u32) -> LLVMTypeRef {
        let ty = self.scalar_ty(scalar);
        if lanes == 1 { ty } else { llvm!(LLVMVectorType(ty, lanes)) }
    }

    /// Number of lanes of a value: 1 for a scalar.
    pub fn lanes(&self, value: Value) -> u32 {
        llvm!({
            let ty = LLVMTypeOf(value.0);
            if LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMVectorTypeKind { LLVMGetVectorSize(ty) } else { 1 }
        })
    }

    /// The scalar type of a value's lanes.
    pub fn scalar_of(&self, value: Value) -> Scalar {
        let mut ty = llvm!(LLVMTypeOf(value.0));
        if llvm!(LLVMGetTypeKind(ty)) == LLVMTypeKind::LLVMVectorTypeKind {
            ty = llvm!(LLVMGetElementType(ty));
        }
        match llvm!(LLVMGetTypeKind(ty)) {
            LLVMTypeKind::LLVMHalfTypeKind => Scalar::F16,
            LLVMTypeKind::LLVMFloatTypeKind => Scalar::F32,
            LLVMTypeKind::LLVMDoubleTypeKind => Scalar::F64,
            LLVMTypeKind::LLVMPointerTypeKind => Scalar::Ptr,
            _ => Scalar::int(llvm!(LLVMGetIntTypeWidth(ty))).expect("lowering makes no other integer types"),
        }
    }

    // Constants.

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

    /// A vector of integer constants.
    pub fn int_vector(&self, scalar: Scalar, values: impl IntoIterator<Item = u64>) -> Value {
        let ty = self.scalar_ty(scalar);
        let mut list: Vec<LLVMValueRef> =
            values.into_iter().map(|value| llvm!(LLVMConstInt(ty, value, 0))).collect();
        Value(llvm!(LLVMConstVector(list.as_mut_ptr(), list.len() as u32)))
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

    fn constant_splat(&self, scalar: LLVMValueRef, lanes: u32) -> Value {
        if lanes == 1 {
            return Value(scalar);
        }
        let mut list = vec![scalar; lanes as usize];
        Value(llvm!(LLVMConstVector(list.as_mut_ptr(), lanes)))
    }

    pub fn is_constant(&self, value: Value) -> bool {
        llvm!(LLVMIsConstant(value.0)) != 0
    }

    /// The address of a symbol that the loader supplies.
    pub fn external(&self, name: &str) -> Value {
        let name = symbol(name);
        llvm!({
            let found = LLVMGetNamedGlobal(self.module, name.as_ptr());
            if !found.is_null() {
                return Value(found);
            }
            let global = LLVMAddGlobal(self.module, self.i[1], name.as_ptr());
            LLVMSetLinkage(global, LLVMLinkage::LLVMExternalLinkage);
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

    // Arithmetic.

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

    pub fn not(&self, a: Value) -> Value {
        Value(llvm!(LLVMBuildNot(self.raw, a.0, NAME)))
    }

    pub fn freeze(&self, a: Value) -> Value {
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

    /// A cast to `to` with as many lanes as `value` has.
    pub fn cast(&self, opcode: LLVMOpcode, value: Value, to: Scalar) -> Value {
        let ty = self.ty(to, self.lanes(value));
        Value(llvm!(LLVMBuildCast(self.raw, opcode, value.0, ty, NAME)))
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
            std::cmp::Ordering::Greater => self.cast(LLVMOpcode::LLVMTrunc, value, to),
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

    /// The bits of a vector of bools as one integer, lane 0 in bit 0. `lanes` is 8, 16, 32 or 64, else widened.
    pub fn mask_bits(&self, mask: Value) -> Value {
        let lanes = self.lanes(mask);
        if lanes == 1 {
            return self.cast(LLVMOpcode::LLVMZExt, mask, Scalar::I64);
        }
        let (wide, to) = match lanes {
            0..=8 => (8, Scalar::I8),
            9..=16 => (16, Scalar::I16),
            17..=32 => (32, Scalar::I32),
            _ => (64, Scalar::I64),
        };
        let mask = if wide == lanes {
            mask
        } else {
            let indices: Vec<i32> = (0..wide as i32).map(|at| at.min(lanes as i32)).collect();
            self.shuffle(mask, self.zero(Scalar::Bool, lanes), &indices)
        };
        self.zext_or_trunc(self.reshape(mask, to, 1), Scalar::I64)
    }

    /// Whether any lane of a mask is set.
    pub fn any(&self, mask: Value) -> Value {
        match self.lanes(mask) {
            1 => mask,
            _ => {
                let bits = self.mask_bits(mask);
                self.icmp(LLVMIntPredicate::LLVMIntNE, bits, self.i64(0))
            }
        }
    }

    // Vectors.

    /// One value in all lanes.
    pub fn splat(&self, scalar: Value, lanes: u32) -> Value {
        if lanes == 1 {
            return scalar;
        }
        if self.is_constant(scalar) && llvm!(LLVMIsAGlobalValue(scalar.0)).is_null() {
            return self.constant_splat(scalar.0, lanes);
        }
        let ty = self.scalar_of(scalar);
        let first = self.insert(self.poison(ty, lanes), scalar, self.i32(0));
        self.shuffle(first, self.poison(ty, lanes), &vec![0; lanes as usize])
    }

    pub fn extract(&self, vector: Value, lane: Value) -> Value {
        if self.lanes(vector) == 1 {
            return vector;
        }
        Value(llvm!(LLVMBuildExtractElement(self.raw, vector.0, lane.0, NAME)))
    }

    pub fn insert(&self, vector: Value, scalar: Value, lane: Value) -> Value {
        Value(llvm!(LLVMBuildInsertElement(self.raw, vector.0, scalar.0, lane.0, NAME)))
    }

    /// A shuffle by constant indices into the lanes of `a` and then `b`; -1 is any value.
    pub fn shuffle(&self, a: Value, b: Value, indices: &[i32]) -> Value {
        let mut list: Vec<LLVMValueRef> = indices
            .iter()
            .map(|at| match u64::try_from(*at) {
                Ok(at) => llvm!(LLVMConstInt(self.i[3], at, 0)),
                Err(_) => llvm!(LLVMGetPoison(self.i[3])),
            })
            .collect();
        llvm!({
            let mask = LLVMConstVector(list.as_mut_ptr(), list.len() as u32);
            Value(LLVMBuildShuffleVector(self.raw, a.0, b.0, mask, NAME))
        })
    }

    // Memory.

    /// Stack memory; call it only while the position is in the prologue.
    pub fn alloca(&self, scalar: Scalar, lanes: u32) -> Value {
        Value(llvm!(LLVMBuildAlloca(self.raw, self.ty(scalar, lanes), NAME)))
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

    pub fn store(&self, value: Value, address: Value, align: u64) {
        self.aligned_store(value, address, align);
    }

    /// The store's [`Builder::load_volatile`].
    pub fn store_volatile(&self, value: Value, address: Value, align: u64) {
        let store = self.aligned_store(value, address, align);
        llvm!(LLVMSetVolatile(store, 1));
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

    pub fn masked_store(&self, value: Value, address: Value, align: u64, mask: Value) {
        let align = self.i32(align as u32);
        let types = [llvm!(LLVMTypeOf(value.0)), self.ptr];
        self.intrinsic_typed("llvm.masked.store", &types, &[value, address, align, mask]);
    }

    /// One address a lane.
    pub fn gather(&self, scalar: Scalar, addresses: Value, align: u64, mask: Value) -> Value {
        let lanes = self.lanes(addresses);
        let align = self.i32(align as u32);
        let passthrough = self.zero(scalar, lanes);
        let types = [self.ty(scalar, lanes), self.ty(Scalar::Ptr, lanes)];
        self.intrinsic_typed("llvm.masked.gather", &types, &[addresses, align, mask, passthrough])
    }

    pub fn scatter(&self, value: Value, addresses: Value, align: u64, mask: Value) {
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

    /// Asks for a cache line that will be read. Any address will do.
    pub fn prefetch(&self, address: Value) {
        // Operands: for reading, for use soon, data.
        let operands = [address, self.i32(0), self.i32(3), self.i32(1)];
        self.intrinsic_typed("llvm.prefetch", &[self.ptr], &operands);
    }

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

    // Calls.

    /// A call of an LLVM intrinsic that is overloaded on the type of its first operand.
    pub fn intrinsic(&self, name: &str, operands: &[Value]) -> Value {
        let ty = llvm!(LLVMTypeOf(operands[0].0));
        self.intrinsic_typed(name, &[ty], operands)
    }

    /// A call of an LLVM intrinsic that is overloaded on these types of its operands.
    pub fn intrinsic_on(&self, name: &str, overloads: &[(Scalar, u32)], operands: &[Value]) -> Value {
        let types: Vec<LLVMTypeRef> =
            overloads.iter().map(|(scalar, lanes)| self.ty(*scalar, *lanes)).collect();
        self.intrinsic_typed(name, &types, operands)
    }

    /// A call of an intrinsic without overloads, such as those of one architecture.
    pub fn intrinsic_plain(&self, name: &str, operands: &[Value]) -> Value {
        self.intrinsic_typed(name, &[], operands)
    }

    fn intrinsic_typed(&self, name: &str, types: &[LLVMTypeRef], operands: &[Value]) -> Value {
        let mut types = types.to_vec();
        let function = llvm!({
            let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            assert_ne!(id, 0, "{name} is no intrinsic of this LLVM");
            let value = LLVMGetIntrinsicDeclaration(self.module, id, types.as_mut_ptr(), types.len());
            Function { value, ty: LLVMIntrinsicGetType(self.context, id, types.as_mut_ptr(), types.len()) }
        });
        let call = self.call(function, operands);
        if self.contract && matches!(name, "llvm.fma" | "llvm.sqrt" | "llvm.fmuladd") {
            llvm!(LLVMSetFastMathFlags(call.0, LLVMFastMathAllowContract));
        }
        call
    }

    pub fn call(&self, function: Function, operands: &[Value]) -> Value {
        let mut operands: Vec<LLVMValueRef> = operands.iter().map(|value| value.0).collect();
        Value(llvm!(LLVMBuildCall2(
            self.raw,
            function.ty,
            function.value,
            operands.as_mut_ptr(),
            operands.len() as u32,
            NAME
        )))
    }

    /// A function of the C library or a vector math library that only computes: its result depends on its
    /// operands alone. All operands and the result have the same type.
    pub fn call_math(&self, name: &str, operands: &[Value]) -> Value {
        let ty = llvm!(LLVMTypeOf(operands[0].0));
        let mut params = vec![ty; operands.len()];
        let function = self.extern_function(name, ty, &mut params);
        llvm!({
            for attribute in ["nounwind", "willreturn", "nofree", "nosync"] {
                self.add_attribute(function, attribute, 0);
            }
            // `memory(none)`: LLVM encodes no effects as 0.
            self.add_attribute(function, "memory", 0);
        });
        self.call(function, operands)
    }

    /// A call of a function of the engine (`jit::symbols`).
    pub fn call_engine(&self, name: &str, result: Scalar, operands: &[Value]) -> Value {
        let mut params: Vec<LLVMTypeRef> = operands.iter().map(|value| llvm!(LLVMTypeOf(value.0))).collect();
        let function = self.extern_function(name, self.ty(result, 1), &mut params);
        llvm!(self.add_attribute(function, "nounwind", 0));
        self.call(function, operands)
    }

    /// A call through a pointer to a C function that takes and returns nothing but `operands`.
    pub fn call_pointer(&self, pointer: Value, operands: &[Value]) {
        let mut params: Vec<LLVMTypeRef> = operands.iter().map(|value| llvm!(LLVMTypeOf(value.0))).collect();
        let ty = llvm!(LLVMFunctionType(self.void, params.as_mut_ptr(), params.len() as u32, 0));
        self.call(Function { value: pointer.0, ty }, operands);
    }

    fn extern_function(&self, name: &str, result: LLVMTypeRef, params: &mut [LLVMTypeRef]) -> Function {
        let name = symbol(name);
        llvm!({
            let ty = LLVMFunctionType(result, params.as_mut_ptr(), params.len() as u32, 0);
            let found = LLVMGetNamedFunction(self.module, name.as_ptr());
            let value = if found.is_null() { LLVMAddFunction(self.module, name.as_ptr(), ty) } else { found };
            Function { value, ty }
        })
    }

    fn add_attribute(&self, function: Function, name: &str, value: u64) {
        llvm!({
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let attribute = LLVMCreateEnumAttribute(self.context, kind, value);
            LLVMAddAttributeAtIndex(function.value, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        });
    }

    fn add_string_attribute(&self, function: Function, name: &str, value: &str) {
        llvm!({
            let attribute = LLVMCreateStringAttribute(
                self.context,
                name.as_ptr().cast(),
                name.len() as u32,
                value.as_ptr().cast(),
                value.len() as u32,
            );
            LLVMAddAttributeAtIndex(function.value, llvm_sys::LLVMAttributeFunctionIndex, attribute);
        });
    }

    // Functions and blocks.

    /// A function that returns nothing. `internal` ones are not seen from outside.
    pub fn function(&self, name: &str, params: &[(Scalar, u32)], internal: bool, inline: Inline) -> Function {
        self.any_function(name, params, self.void, internal, inline)
    }

    /// An internal function that returns these values: [`ret_values`](Self::ret_values) ends it, and
    /// [`call_with_results`](Self::call_with_results) calls it.
    pub fn function_with_results(
        &self,
        name: &str,
        params: &[(Scalar, u32)],
        results: &[(Scalar, u32)],
        inline: Inline,
    ) -> Function {
        let mut types: Vec<LLVMTypeRef> =
            results.iter().map(|(scalar, lanes)| self.ty(*scalar, *lanes)).collect();
        let result = match types.as_mut_slice() {
            [] => self.void,
            [only] => *only,
            all => llvm!(LLVMStructTypeInContext(self.context, all.as_mut_ptr(), all.len() as u32, 0)),
        };
        self.any_function(name, params, result, true, inline)
    }

    fn any_function(
        &self,
        name: &str,
        params: &[(Scalar, u32)],
        result: LLVMTypeRef,
        internal: bool,
        inline: Inline,
    ) -> Function {
        let mut types: Vec<LLVMTypeRef> =
            params.iter().map(|(scalar, lanes)| self.ty(*scalar, *lanes)).collect();
        let name = symbol(name);
        let function = llvm!({
            let ty = LLVMFunctionType(result, types.as_mut_ptr(), types.len() as u32, 0);
            let value = LLVMAddFunction(self.module, name.as_ptr(), ty);
            if internal {
                LLVMSetLinkage(value, LLVMLinkage::LLVMInternalLinkage);
            }
            Function { value, ty }
        });
        self.add_attribute(function, "nounwind", 0);
        // LLVM otherwise limits itself to 256-bit registers on some CPUs.
        self.add_string_attribute(function, "prefer-vector-width", "512");
        self.add_string_attribute(function, "min-legal-vector-width", "512");
        match inline {
            Inline::Always => self.add_attribute(function, "alwaysinline", 0),
            Inline::Never => self.add_attribute(function, "noinline", 0),
            Inline::Free => {}
        }
        function
    }

    /// Marks a pointer parameter: what it points to is reached through it alone and only read.
    pub fn param_read_only(&self, function: Function, at: u32) {
        for name in ["noalias", "readonly", "nocapture"] {
            llvm!({
                let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
                let attribute = LLVMCreateEnumAttribute(self.context, kind, 0);
                LLVMAddAttributeAtIndex(function.value, at + 1, attribute);
            });
        }
    }

    pub fn param(&self, function: Function, at: u32) -> Value {
        Value(llvm!(LLVMGetParam(function.value, at)))
    }

    pub fn block(&self, function: Function, name: &str) -> Label {
        let name = symbol(name);
        Label(llvm!(LLVMAppendBasicBlockInContext(self.context, function.value, name.as_ptr())))
    }

    /// The value of one of two pieces of code, of which only one runs.
    pub fn branch(
        &self,
        condition: Value,
        then: impl FnOnce() -> Value,
        els: impl FnOnce() -> Value,
    ) -> Value {
        let beside = || llvm!(LLVMGetBasicBlockParent(LLVMGetInsertBlock(self.raw)));
        let block = || Label(llvm!(LLVMAppendBasicBlockInContext(self.context, beside(), NAME)));
        let (then_start, els_start, join) = (block(), block(), block());
        self.cond_br(condition, then_start, els_start);
        self.at_end(then_start);
        let then_value = then();
        let then_end = self.here();
        self.br(join);
        self.at_end(els_start);
        let els_value = els();
        let els_end = self.here();
        self.br(join);
        self.at_end(join);
        let phi = self.phi(self.scalar_of(then_value), self.lanes(then_value));
        self.add_incoming(phi, then_value, then_end);
        self.add_incoming(phi, els_value, els_end);
        phi
    }

    /// Goes on at the end of a block.
    pub fn at_end(&self, label: Label) {
        llvm!(LLVMPositionBuilderAtEnd(self.raw, label.0));
    }

    /// The block where the next instruction goes.
    pub fn here(&self) -> Label {
        Label(llvm!(LLVMGetInsertBlock(self.raw)))
    }

    pub fn br(&self, to: Label) {
        llvm!(LLVMBuildBr(self.raw, to.0));
    }

    /// The branch back of a loop that LLVM shall not unroll.
    pub fn br_back_rolled(&self, to: Label) {
        let (kind, disable) = ("llvm.loop", "llvm.loop.unroll.disable");
        llvm!({
            let branch = LLVMBuildBr(self.raw, to.0);
            let name = LLVMMDStringInContext2(self.context, disable.as_ptr().cast(), disable.len());
            let mut name = [name];
            let property = LLVMMDNodeInContext2(self.context, name.as_mut_ptr(), name.len());
            // A loop's node names itself first, so that no two loops share it.
            let this = LLVMTemporaryMDNode(self.context, std::ptr::null_mut(), 0);
            let mut parts = [this, property];
            let node = LLVMMDNodeInContext2(self.context, parts.as_mut_ptr(), parts.len());
            LLVMMetadataReplaceAllUsesWith(this, node);
            let kind = LLVMGetMDKindIDInContext(self.context, kind.as_ptr().cast(), kind.len() as u32);
            LLVMSetMetadata(branch, kind, LLVMMetadataAsValue(self.context, node));
        });
    }

    pub fn cond_br(&self, condition: Value, then: Label, els: Label) {
        llvm!(LLVMBuildCondBr(self.raw, condition.0, then.0, els.0));
    }

    pub fn switch(&self, value: Value, default: Label, cases: &[(u64, Label)]) {
        llvm!({
            let switch = LLVMBuildSwitch(self.raw, value.0, default.0, cases.len() as u32);
            for (number, label) in cases {
                let number = LLVMConstInt(LLVMTypeOf(value.0), *number, 0);
                LLVMAddCase(switch, number, label.0);
            }
        });
    }

    pub fn ret(&self) {
        llvm!(LLVMBuildRetVoid(self.raw));
    }

    /// The end of a [function with results](Self::function_with_results).
    pub fn ret_values(&self, values: &[Value]) {
        let mut values: Vec<LLVMValueRef> = values.iter().map(|value| value.0).collect();
        match values.as_mut_slice() {
            [] => self.ret(),
            [only] => {
                llvm!(LLVMBuildRet(self.raw, *only));
            }
            all => {
                llvm!(LLVMBuildAggregateRet(self.raw, all.as_mut_ptr(), all.len() as u32));
            }
        }
    }

    /// Calls a [function with](Self::function_with_results) `count` results.
    pub fn call_with_results(&self, function: Function, operands: &[Value], count: usize) -> Vec<Value> {
        let result = self.call(function, operands);
        match count {
            0 => Vec::new(),
            1 => vec![result],
            _ => (0..count as u32)
                .map(|at| Value(llvm!(LLVMBuildExtractValue(self.raw, result.0, at, NAME))))
                .collect(),
        }
    }

    /// A phi to which [`Builder::add_incoming`] adds operands.
    pub fn phi(&self, scalar: Scalar, lanes: u32) -> Value {
        Value(llvm!(LLVMBuildPhi(self.raw, self.ty(scalar, lanes), NAME)))
    }

    pub fn add_incoming(&self, phi: Value, value: Value, from: Label) {
        let (mut value, mut from) = (value.0, from.0);
        llvm!(LLVMAddIncoming(phi.0, &mut value, &mut from, 1));
    }
}

/// Whether LLVM shall inline a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inline {
    Always,
    Never,
    Free,
}

/// The operand of `llvm.memcpy` that says whether it is volatile.
const MEMCPY_VOLATILE: u32 = 3;

/// Values get no names: they cost time and help nobody who reads the optimised IR.
const NAME: *const std::ffi::c_char = c"".as_ptr();

fn symbol(name: &str) -> CString {
    CString::new(name).expect("symbols have no null bytes")
}
