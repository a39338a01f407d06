//! What a kernel and its instructions ask of floating-point arithmetic: rounding, denormals and contraction
//! (`SPV_KHR_float_controls` and `float_controls2`, `SPV_INTEL_float_controls2`, SPIR-V 1.2 §3.6).
//!
//! The modes of a kernel are of its own instructions and for one width each, so they are code, not the thread's mode:
//! other widths, the library's functions and other kernels keep theirs.

use super::Lowerer;
use super::builder::{Builder, RealPred, Value};
use super::values::Val;
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use smallvec::SmallVec;
use spirv::{Capability, Decoration, ExecutionMode, FPFastMathMode, FPRoundingMode, Op};
use spirv_env::opcodes::{Family, opencl_std};
use spirv_env::{Id, Inst, Kernel, Module};

/// The modes of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct FloatModes {
    /// For 16, 32 and 64 bits.
    rounding: [FPRoundingMode; 3],
    flush: [bool; 3],
    /// Whether what no decoration speaks of may be contracted.
    contract: [bool; 3],
    /// Fast-math flags say whether an instruction may be contracted.
    flags_decide: bool,
}

fn place(width: u32) -> Option<usize> {
    [16, 32, 64].iter().position(|of| *of == width)
}

impl FloatModes {
    pub fn of(module: &Module, kernel: &Kernel) -> Self {
        let mut modes = FloatModes {
            rounding: [FPRoundingMode::RTE; 3],
            flush: [false; 3],
            contract: [true; 3],
            flags_decide: module.capabilities.contains(&Capability::FloatControls2),
        };
        for (mode, literals) in &kernel.modes {
            let at = literals.first().and_then(|width| place(*width));
            match (mode, at) {
                (ExecutionMode::ContractionOff, _) => modes.contract = [false; 3],
                (ExecutionMode::DenormFlushToZero, Some(at)) => modes.flush[at] = true,
                (ExecutionMode::RoundingModeRTZ, Some(at)) => modes.rounding[at] = FPRoundingMode::RTZ,
                (ExecutionMode::RoundingModeRTPINTEL, Some(at)) => modes.rounding[at] = FPRoundingMode::RTP,
                (ExecutionMode::RoundingModeRTNINTEL, Some(at)) => modes.rounding[at] = FPRoundingMode::RTN,
                (ExecutionMode::FPFastMathDefault, Some(at)) => {
                    // LLVM's SPIR-V backend leaves the capability out.
                    modes.flags_decide = true;
                    modes.contract[at] = literals.get(1).is_some_and(|flags| allows_contraction(*flags));
                }
                _ => {}
            }
        }
        modes
    }

    /// Whether some of the kernel's instructions may be contracted.
    pub fn contracts(&self) -> bool {
        self.contract.contains(&true) || self.flags_decide
    }

    /// Whether denormals of some type are zeros.
    pub fn flushes_any(&self) -> bool {
        self.flush.contains(&true)
    }

    fn flushes(&self, scalar: Scalar) -> bool {
        scalar.is_float() && place(scalar.bits()).is_some_and(|at| self.flush[at])
    }

    /// How results of this type are rounded where nothing else says so.
    pub fn rounding(&self, scalar: Scalar) -> FPRoundingMode {
        place(scalar.bits()).map_or(FPRoundingMode::RTE, |at| self.rounding[at])
    }
}

fn allows_contraction(flags: u32) -> bool {
    FPFastMathMode::from_bits_truncate(flags).contains(FPFastMathMode::ALLOW_CONTRACT)
}

/// The rounding mode that an instruction is decorated with.
pub fn decorated_rounding(this: &Lowerer<'_, '_>, id: Id) -> Option<FPRoundingMode> {
    let literals = this.a.func.decoration(id, Decoration::FPRoundingMode)?;
    FPRoundingMode::from_u32(*literals.first()?)
}

/// How an instruction with a result of this type is rounded.
pub fn rounding_of(this: &Lowerer<'_, '_>, inst: &Inst, scalar: Scalar) -> FPRoundingMode {
    let decorated = inst.result.and_then(|id| decorated_rounding(this, id));
    decorated.unwrap_or_else(|| this.float_modes.rounding(scalar))
}

/// Whether an instruction with a result of this type may be fused with others.
///
/// A product that has several uses is not: it would be computed anyway, and `a * a - b * b` is 0 where both are the same. Nor is one of another block
/// than its sum (`Analysis::is_summed_in_place`).
pub fn contracts(this: &Lowerer<'_, '_>, inst: &Inst, scalar: Scalar) -> bool {
    let is_product = matches!(inst.op, Op::FMul | Op::VectorTimesScalar | Op::MatrixTimesScalar);
    if is_product && inst.result.is_some_and(|result| !this.a.is_summed_in_place(result)) {
        return false;
    }
    let decoration = |kind| inst.result.and_then(|id| this.a.func.decoration(id, kind));
    if decoration(Decoration::NoContraction).is_some() {
        return false;
    }
    let flags = decoration(Decoration::FPFastMathMode).filter(|_| this.float_modes.flags_decide);
    match (flags, place(scalar.bits())) {
        (Some(flags), _) => flags.first().is_some_and(|flags| allows_contraction(*flags)),
        (None, Some(at)) => this.float_modes.contract[at],
        (None, None) => true,
    }
}

/// Whether denormals count as zeros for an instruction: it computes, and does not only move values.
fn is_computation(inst: &Inst, module: &Module) -> bool {
    match inst.row().family {
        Family::Arithmetic => inst.op != spirv::Op::Select,
        Family::Conversion => true,
        Family::Extended => inst.opencl_std(module).is_some_and(|function| {
            matches!(function.family, opencl_std::Family::Float | opencl_std::Family::Geometric)
        }),
        _ => false,
    }
}

impl Lowerer<'_, '_> {
    /// Computes an instruction of a kernel that flushes denormals: operands and results that are denormal are zeros of
    /// their sign.
    pub(super) fn compute_flushed(&mut self, inst: &Inst) -> Result<Option<Val>, EngineError> {
        let module = self.a.func.module;
        if !self.float_modes.flushes_any() || !is_computation(inst, module) {
            return self.compute_kept(inst);
        }
        let mut changed: SmallVec<[(Id, Option<Val>); 3]> = SmallVec::new();
        for id in inst.ids().collect::<SmallVec<[Id; 4]>>() {
            let flushed = match self.a.func.type_of(id) {
                Some(_) if !changed.iter().any(|(other, _)| *other == id) => self.flushed(id)?,
                _ => None,
            };
            if let Some(flushed) = flushed {
                changed.push((id, self.subgroup_mut().values.block.insert(id, flushed)));
            }
        }
        let result = self.compute_kept(inst);
        for (id, before) in changed {
            let seen = &mut self.subgroup_mut().values.block;
            match before {
                Some(before) => seen.insert(id, before),
                None => seen.remove(&id),
            };
        }
        Ok(result?.map(|val| self.without_denormals(val)))
    }

    /// An operand without denormals, if it is of a type for which that makes a difference.
    fn flushed(&mut self, id: Id) -> Result<Option<Val>, EngineError> {
        let leaves = self.leaves_of(id)?;
        if !leaves.iter().any(|leaf| self.float_modes.flushes(leaf.scalar)) {
            return Ok(None);
        }
        let val = self.value(id)?;
        Ok(Some(self.without_denormals(val)))
    }

    fn without_denormals(&self, val: Val) -> Val {
        val.into_iter()
            .map(|reg| {
                self.apply(&[reg], |this, v| {
                    if this.float_modes.flushes(this.b.scalar_of(v[0])) { flush(&this.b, v[0]) } else { v[0] }
                })
            })
            .collect()
    }
}

/// Zero of its sign in the place of a denormal.
pub(super) fn flush(b: &Builder, x: Value) -> Value {
    let (scalar, lanes) = (b.scalar_of(x), b.lanes(x));
    let least = match scalar {
        Scalar::F16 => 0x0400,
        Scalar::F32 => 0x0080_0000,
        _ => 0x0010_0000_0000_0000,
    };
    let tiny =
        b.fcmp(RealPred::LLVMRealOLT, b.intrinsic("llvm.fabs", &[x]), b.float_bits(scalar, lanes, least));
    b.select(tiny, b.intrinsic("llvm.copysign", &[b.zero(scalar, lanes), x]), x)
}
