//! bfloat16 (`SPV_KHR_bfloat16`, `SPV_INTEL_bfloat16_arithmetic`): integers of 16 bits, of a type of their own. What converts
//! them or computes with them does so in f32, whose upper halves they are, and rounds its result once more, to nearest even.
//!
//! Everything behind the loading sees integers and their conversions only. The specification has it so: an operation is as
//! accurate as that on f32, and a conversion to or from another format goes through f32.

use super::functions::FunctionSource;
use super::rewriting::Rewriting;
use super::{Loader, operand_id};
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::op_name;
use crate::matrices::Matrix;
use crate::module::{Constant, ConstantValue, ExtSet, Function, Id, Inst, Operand, Type, TypeId};
use crate::opcodes::opencl_std::{self, Family as Functions, Signature as Extended};
use crate::opcodes::{self, Family, MatrixFlags, Signature};
use smallvec::smallvec;
use spirv::{Capability, Decoration, FPEncoding, FPRoundingMode, Op, OpenclStd100Op};
use ze_extensions::CapabilityId;

const BFLOAT: RuleId = RuleId { id: "types.bfloat16", source: "SPV_KHR_bfloat16" };
const BITS: u32 = 16;
const SINGLE: Type = Type::Float { width: 32 };
/// Brings arithmetic. LLVM's backend declares the extension without its capability.
const ARITHMETIC: &str = "SPV_INTEL_bfloat16_arithmetic";
/// A quiet NaN without a payload.
const QUIET_NAN: u64 = 0x7FC0;

/// What becomes of an instruction with bfloat16 among its operands and its result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    /// It moves bits.
    Moves,
    /// It computes, in f32.
    Computes,
    /// A product of matrices, which is told what its components are.
    Product,
    /// OpenCL's `nan`, whose bits are integer arithmetic.
    NotANumber,
}

/// Types and constants.
impl Loader<'_> {
    /// `OpTypeFloat` with an encoding.
    pub(super) fn encoded_float(&mut self, id: Id, width: u32, encoding: u32) -> Result<(), Fault> {
        if FPEncoding::from_u32(encoding) != Some(FPEncoding::BFloat16KHR) || width != BITS {
            let message = format!("floating-point numbers of {width} bits in encoding {encoding}");
            return Err(Fault::new(super::types::TYPES, message));
        }
        // Linked modules share the type.
        let ty = match self.module.types.bfloat {
            Some(ty) => ty,
            None => {
                let integer = self.module.types.push(Type::Int { width: BITS }, false);
                let ty = integer.ok_or_else(|| Fault::new(BFLOAT, "too many types"))?;
                self.measure(ty, 1, 1)?;
                self.module.types.bfloat = Some(ty);
                ty
            }
        };
        self.out.defs.define(id, Def::Type(ty))
    }

    /// The component of a scalar, vector or matrix.
    pub(super) fn component_of(&self, ty: TypeId) -> TypeId {
        match (self.module.types.matrix(ty), self.module.types.get(ty)) {
            (Some(matrix), _) => matrix.component,
            (None, Type::Vector { elem, .. }) => *elem,
            _ => ty,
        }
    }

    fn is_of_bfloat(&self, ty: TypeId) -> bool {
        self.module.types.is_bfloat(self.component_of(ty))
    }

    fn is_bfloat_value(&self, id: Id) -> bool {
        self.out.defs.type_of(id).is_some_and(|ty| self.is_of_bfloat(ty))
    }

    /// Among constants, bfloat16 is chosen and moved only: compilers compute with it before they write a module.
    pub(super) fn constant_of_bfloat(&self, op: Op, ty: TypeId, operands: &[Operand]) -> Result<(), Fault> {
        let is_value = |operand: &Operand| matches!(operand, Operand::Id(id) if self.is_bfloat_value(*id));
        let involved = self.is_of_bfloat(ty) || operands.iter().any(is_value);
        if !involved
            || op == Op::Select
            || opcodes::row(op).is_some_and(|row| row.family == Family::Composite)
        {
            return Ok(());
        }
        Err(Fault::new(BFLOAT, format!("{} on constants of bfloat16", op_name(op))))
    }

    /// The type in f32 of what is bfloat16.
    fn in_single(&mut self, ty: TypeId) -> Result<TypeId, Fault> {
        let single = self.intern(SINGLE, false)?;
        if let Some(&matrix) = self.module.types.matrix(ty) {
            let wide = self.module.types.intern_matrix(Matrix { component: single, ..matrix });
            let wide = wide.ok_or_else(|| Fault::new(BFLOAT, "too many types"))?;
            self.measure(wide, 2, u64::from(matrix.length()))?;
            return Ok(wide);
        }
        match *self.module.types.get(ty) {
            Type::Vector { len, .. } => self.intern(Type::Vector { elem: single, len }, false),
            _ => Ok(single),
        }
    }
}

/// Functions.
impl Loader<'_> {
    /// Makes all that computes with bfloat16 compute in f32.
    pub(super) fn resolve_bfloat(&mut self, function: &mut Function, source: &mut FunctionSource) {
        let has_type = self.module.types.bfloat.is_some();
        self.replace_within(function, source, |_, _| has_type, Self::resolve_number);
    }

    fn resolve_number(&mut self, mut inst: Inst, to: &mut Rewriting<()>) -> Result<(), Fault> {
        let result = inst.ty.is_some_and(|ty| self.is_of_bfloat(ty));
        if !result && !inst.ids().any(|id| self.is_bfloat_value(id)) {
            to.keep(inst);
            return Ok(());
        }
        match self.treatment(&inst)? {
            Treatment::Moves => {
                to.keep(inst);
                Ok(())
            }
            Treatment::Computes => self.compute_in_single(inst, to),
            Treatment::Product => {
                self.name_components(&mut inst)?;
                to.keep(inst);
                Ok(())
            }
            Treatment::NotANumber => self.not_a_number(&inst, to),
        }
    }

    fn treatment(&self, inst: &Inst) -> Result<Treatment, Fault> {
        let needs = |has: bool, what: &str| {
            let message = || format!("{} on bfloat16 needs capability {what}", op_name(inst.op));
            if has { Ok(Treatment::Computes) } else { Err(Fault::new(BFLOAT, message())) }
        };
        let arithmetic = || {
            let declared = self.module.own_capabilities.contains(&CapabilityId::BFLOAT16_ARITHMETIC_INTEL)
                || self.module.extensions.iter().any(|name| name == ARITHMETIC);
            needs(declared, "BFloat16ArithmeticINTEL")
        };
        let row = opcodes::row(inst.op).ok_or_else(|| super::not_supported(inst.op))?;
        let refused = || Err(Fault::new(BFLOAT, format!("{} takes no bfloat16", op_name(inst.op))));
        match (row.family, row.signature) {
            (_, Signature::Select | Signature::Bitcast) => Ok(Treatment::Moves),
            (_, Signature::MatrixMultiplyAdd) => Ok(Treatment::Product),
            (Family::Composite | Family::Phi | Family::Call | Family::Terminator, _) => Ok(Treatment::Moves),
            (Family::Memory | Family::Matrix, _) if row.signature != Signature::SubgroupMultiplyAdd => {
                Ok(Treatment::Moves)
            }
            (_, Signature::FloatToFloat | Signature::FloatToInt | Signature::IntToFloat) => {
                Ok(Treatment::Computes)
            }
            (_, Signature::FloatDot) => {
                let declared = self.module.capabilities.contains(&Capability::BFloat16DotProductKHR);
                needs(declared, "BFloat16DotProductKHR")
            }
            (
                _,
                Signature::FloatUnary
                | Signature::FloatBinary
                | Signature::FloatTernary
                | Signature::FloatCompare
                | Signature::FloatClassify
                | Signature::VectorTimesScalar
                | Signature::MatrixTimesScalar,
            ) => arithmetic(),
            (Family::Extended, _) => {
                match self.function_of(inst).map(|of| (of.op, of.family, of.signature)) {
                    Some((_, _, Extended::VectorLoad | Extended::VectorStore)) => Ok(Treatment::Moves),
                    Some((OpenclStd100Op::nan, ..)) => arithmetic().map(|_| Treatment::NotANumber),
                    // The next number is another one in f32.
                    Some((OpenclStd100Op::nextafter, ..)) => refused(),
                    Some((
                        _,
                        Functions::Float | Functions::Bits | Functions::Geometric | Functions::Selection,
                        Extended::Float(_) | Extended::FloatAndInt | Extended::IntOfFloat,
                    )) => arithmetic(),
                    _ => refused(),
                }
            }
            _ => refused(),
        }
    }

    pub(super) fn function_of(&self, inst: &Inst) -> Option<&'static opencl_std::Function> {
        let (Some(Operand::Id(set)), Some(&Operand::Lit(number))) =
            (inst.operands.first(), inst.operands.get(1))
        else {
            return None;
        };
        let known = self.module.ext_sets.get(set) == Some(&ExtSet::OpenClStd);
        opencl_std::of_number(number).filter(|_| known)
    }

    /// Conversions round to nearest even, and so does everything that is rounded after it was computed.
    fn rounds_to_even(&self, inst: &Inst) -> Result<(), Fault> {
        let mode = inst.result.and_then(|id| self.module.decoration(id, Decoration::FPRoundingMode));
        match mode {
            None => Ok(()),
            Some(mode) if mode.first() == Some(&(FPRoundingMode::RTE as u32)) => Ok(()),
            Some(_) => Err(Fault::new(BFLOAT, "numbers become bfloat16 by rounding to nearest even")),
        }
    }

    /// Whether an instruction has f32 among its operands and its result.
    fn has_single(&self, inst: &Inst) -> bool {
        let single = |ty: TypeId| *self.module.types.get(self.component_of(ty)) == SINGLE;
        inst.ids().filter_map(|id| self.out.defs.type_of(id)).chain(inst.ty).any(single)
    }

    fn compute_in_single(&mut self, mut inst: Inst, to: &mut Rewriting<()>) -> Result<(), Fault> {
        let narrows = inst.ty.filter(|ty| self.is_of_bfloat(*ty));
        if narrows.is_some() {
            self.rounds_to_even(&inst)?;
        }
        let converts = opcodes::row(inst.op).is_some_and(|row| row.family == Family::Conversion);
        // Widened, the two would not be told apart.
        if !converts && self.has_single(&inst) {
            return Err(Fault::new(BFLOAT, format!("{} of bfloat16 and f32", op_name(inst.op))));
        }
        for at in 0..inst.operands.len() {
            let Operand::Id(id) = inst.operands[at] else { continue };
            let Some(ty) = self.out.defs.type_of(id).filter(|ty| self.is_of_bfloat(*ty)) else { continue };
            let single = self.in_single(ty)?;
            let wide = self.fresh(Def::Value(single))?;
            to.push(Op::ConvertBF16ToFINTEL, Some(single), Some(wide), smallvec![Operand::Id(id)]);
            inst.operands[at] = Operand::Id(wide);
        }
        let (Some(ty), Some(result)) = (narrows, inst.result) else {
            to.keep(inst);
            return Ok(());
        };
        let single = self.in_single(ty)?;
        let wide = self.fresh(Def::Value(single))?;
        let says = self.module.decorations_of(result).to_vec();
        if !says.is_empty() {
            self.module.decorations.insert(wide, says);
        }
        to.keep(Inst { ty: Some(single), result: Some(wide), ..inst });
        to.push(Op::ConvertFToBF16INTEL, Some(ty), Some(result), smallvec![Operand::Id(wide)]);
        Ok(())
    }

    /// Says in a product of matrices which of them are bfloat16.
    fn name_components(&self, inst: &mut Inst) -> Result<(), Fault> {
        const FLAGS: usize = 3;
        let [a, b, c] = [0, 1, 2].map(|at| operand_id(&inst.operands, at, BFLOAT));
        let [a, b, c] = [a?, b?, c?].map(|id| self.is_bfloat_value(id));
        if a != b {
            return Err(Fault::new(BFLOAT, "a product of bfloat16 and of another type"));
        }
        let result = inst.ty.is_some_and(|ty| self.is_of_bfloat(ty));
        let mut flags = inst.matrix_flags();
        for (is, flag) in [
            (a, MatrixFlags::INPUTS_BFLOAT16),
            (c, MatrixFlags::C_BFLOAT16),
            (result, MatrixFlags::RESULT_BFLOAT16),
        ] {
            if is {
                flags = flags.with(flag);
            }
        }
        inst.operands.truncate(FLAGS);
        inst.operands.push(Operand::Lit(flags.bits()));
        Ok(())
    }

    /// The operand is the payload, in integers of as many bits.
    fn not_a_number(&mut self, inst: &Inst, to: &mut Rewriting<()>) -> Result<(), Fault> {
        const PAYLOAD: usize = 2;
        let payload = operand_id(&inst.operands, PAYLOAD, BFLOAT)?;
        let ty = self.out.defs.type_of(payload);
        let ty = ty.ok_or_else(|| self.out.defs.wrong(payload, self.out.defs.get(payload), "a value"))?;
        let elem = self.component_of(ty);
        if *self.module.types.get(elem) != (Type::Int { width: BITS }) {
            return Err(Fault::new(BFLOAT, "the payload of a NaN is not an integer of 16 bits"));
        }
        let mut quiet = self.fresh(Def::Constant(elem))?;
        let value = ConstantValue::Scalar(QUIET_NAN);
        self.module.constants.insert(quiet, Constant { ty: elem, value });
        if let Type::Vector { len, .. } = *self.module.types.get(ty) {
            let value = ConstantValue::Composite(vec![quiet; len as usize]);
            quiet = self.fresh(Def::Constant(ty))?;
            self.module.constants.insert(quiet, Constant { ty, value });
        }
        let bits = self.fresh(Def::Value(ty))?;
        to.push(Op::BitwiseOr, Some(ty), Some(bits), [payload, quiet].map(Operand::Id).into_iter().collect());
        to.push(Op::Bitcast, inst.ty, inst.result, smallvec![Operand::Id(bits)]);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
