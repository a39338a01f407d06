//! A builder of LLVM IR whose values may be scalars or vectors of lanes.
//!
//! LLVM's own instructions work on both, so most methods do not care. `lanes` is 1 for a scalar. All calls of
//! the LLVM C API that lowering makes are in this file and its folder: values and types here, one subject a file there.

use crate::analysis::leaves::Scalar;
use crate::jit::target::Target;
use llvm_sys::LLVMTypeKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use std::cell::Cell;
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

mod arithmetic;
mod assembly;
mod atomics;
mod calls;
mod casts;
mod constants;
mod control;
mod functions;
mod lines;
mod memory;
mod vectors;

pub use functions::Inline;

pub struct Builder {
    context: LLVMContextRef,
    module: LLVMModuleRef,
    raw: LLVMBuilderRef,
    /// Lanes of a sub-group.
    pub width: u32,
    /// What stores under masks are worth.
    masked_stores: memory::MaskedStores,
    /// Accesses to images that have code in place.
    image_accesses: Cell<u32>,
    /// Floating-point instructions may be contracted (`fmul` and `fadd` to `fma`).
    pub contract: bool,
    i: [LLVMTypeRef; 5],
    f: [LLVMTypeRef; 3],
    ptr: LLVMTypeRef,
    void: LLVMTypeRef,
    invariant_load: u32,
    dereferenceable: u32,
    align: u32,
    nontemporal: u32,
    range: u32,
    empty_node: LLVMValueRef,
    /// Where code comes from, if that is recorded.
    lines: Option<lines::Lines>,
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
    pub unsafe fn new(context: LLVMContextRef, module: LLVMModuleRef, width: u32, target: &Target) -> Self {
        let int = |bits| llvm!(LLVMIntTypeInContext(context, bits));
        let kind = |name: &std::ffi::CStr| {
            llvm!(LLVMGetMDKindIDInContext(context, name.as_ptr(), name.to_bytes().len() as u32))
        };
        llvm!({
            Self {
                context,
                module,
                raw: LLVMCreateBuilderInContext(context),
                width,
                masked_stores: memory::MaskedStores::of(target),
                image_accesses: Cell::new(0),
                contract: false,
                i: [int(1), int(8), int(16), int(32), int(64)],
                f: [
                    LLVMHalfTypeInContext(context),
                    LLVMFloatTypeInContext(context),
                    LLVMDoubleTypeInContext(context),
                ],
                ptr: LLVMPointerTypeInContext(context, 0),
                void: LLVMVoidTypeInContext(context),
                invariant_load: kind(c"invariant.load"),
                dereferenceable: kind(c"dereferenceable"),
                align: kind(c"align"),
                nontemporal: kind(c"nontemporal"),
                range: kind(c"range"),
                empty_node: LLVMMetadataAsValue(
                    context,
                    LLVMMDNodeInContext2(context, std::ptr::null_mut(), 0),
                ),
                lines: None,
            }
        })
    }

    /// Whether one more access to an image may have its code in place: it has a piece for each common format, so that a
    /// program of many of them would be too large.
    pub fn image_access_in_place(&self) -> bool {
        const MOST: u32 = 40;
        let before = self.image_accesses.get();
        self.image_accesses.set(before.saturating_add(1));
        before < MOST
    }

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
}

/// Values get no names: they cost time and help nobody who reads the optimised IR.
const NAME: *const std::ffi::c_char = c"".as_ptr();

fn symbol(name: &str) -> CString {
    CString::new(name).expect("symbols have no null bytes")
}
