//! What OpenCL C has and SPIR-V has not, which LLVM's SPIR-V backend passes on: `any` and `all` of integers, which look at their
//! sign bits (OpenCL C 3.0 §6.15.6), and scalars where a function takes vectors, for each of their components (§6.15.2 to §6.15.4).
//!
//! They become what SPIR-V has when a function is loaded.

use super::Loader;
use super::functions::FunctionSource;
use super::rewriting::Rewriting;
use crate::defs::Def;
use crate::diagnostics::Fault;
use crate::module::{Constant, ConstantValue, Function, Id, Inst, Operand, Type, TypeId};
use smallvec::smallvec;
use spirv::{Op, OpenclStd100Op as F};

/// Operands of an extended instruction begin behind the set and the instruction's number.
const FIRST: usize = 2;

#[derive(Clone, Copy)]
enum Form {
    /// `any` or `all` of integers of this type.
    SignBits(TypeId),
    /// A function on vectors of as many components with scalars among its operands.
    Scalars(u32),
}

impl Loader<'_> {
    pub(super) fn resolve_opencl_c(&mut self, function: &mut Function, source: &mut FunctionSource) {
        let has_forms =
            |this: &Self, insts: &[Inst]| insts.iter().any(|inst| this.form_of_opencl_c(inst).is_some());
        self.replace_within(function, source, has_forms, Self::resolve_form);
    }

    fn form_of_opencl_c(&self, inst: &Inst) -> Option<Form> {
        let type_at = |at: usize| match inst.operands.get(at) {
            Some(Operand::Id(id)) => self.out.defs.type_of(*id),
            _ => None,
        };
        match inst.op {
            Op::Any | Op::All => {
                let ty = type_at(0)?;
                let component = self.component_of(ty);
                let integers = matches!(self.module.types.get(component), Type::Int { .. });
                (integers && !self.module.types.is_bfloat(component)).then_some(Form::SignBits(ty))
            }
            Op::ExtInst => {
                let takes_scalars = self.function_of(inst).is_some_and(|function| takes_scalars(function.op));
                let Type::Vector { len, .. } = *self.module.types.get(inst.ty.filter(|_| takes_scalars)?)
                else {
                    return None;
                };
                let scalar = |at| type_at(at).is_some_and(|ty| self.is_scalar(ty));
                (FIRST..inst.operands.len()).any(scalar).then_some(Form::Scalars(len))
            }
            _ => None,
        }
    }

    fn is_scalar(&self, ty: TypeId) -> bool {
        matches!(self.module.types.get(ty), Type::Int { .. } | Type::Float { .. })
    }

    fn resolve_form(&mut self, mut inst: Inst, to: &mut Rewriting<()>) -> Result<(), Fault> {
        match (self.form_of_opencl_c(&inst), inst.ty) {
            (Some(Form::SignBits(ty)), Some(boolean)) if *self.module.types.get(boolean) == Type::Bool => {
                let none = self.fresh(Def::Constant(ty))?;
                self.module.constants.insert(none, Constant { ty, value: ConstantValue::Null });
                let len = match *self.module.types.get(ty) {
                    Type::Vector { len, .. } => Some(len),
                    _ => None,
                };
                let compared = match len {
                    Some(len) => self.intern(Type::Vector { elem: boolean, len }, false)?,
                    None => boolean,
                };
                // One integer has nothing to be reduced.
                let negative = match (len, inst.result) {
                    (None, Some(result)) => result,
                    _ => self.fresh(Def::Value(compared))?,
                };
                let operands = smallvec![inst.operands[0], Operand::Id(none)];
                to.push(Op::SLessThan, Some(compared), Some(negative), operands);
                if len.is_some() {
                    inst.operands[0] = Operand::Id(negative);
                    to.keep(inst);
                }
            }
            (Some(Form::Scalars(len)), _) => {
                for at in FIRST..inst.operands.len() {
                    let Operand::Id(id) = inst.operands[at] else { continue };
                    let Some(ty) = self.out.defs.type_of(id).filter(|ty| self.is_scalar(*ty)) else {
                        continue;
                    };
                    inst.operands[at] = Operand::Id(self.in_each_component(id, ty, len, to)?);
                }
                to.keep(inst);
            }
            _ => to.keep(inst),
        }
        Ok(())
    }

    /// A vector of a scalar.
    fn in_each_component(
        &mut self,
        scalar: Id,
        ty: TypeId,
        len: u32,
        to: &mut Rewriting<()>,
    ) -> Result<Id, Fault> {
        let wanted = self.intern(Type::Vector { elem: ty, len }, false)?;
        let vector = self.fresh(Def::Value(wanted))?;
        let components = std::iter::repeat_n(Operand::Id(scalar), len as usize).collect();
        to.push(Op::CompositeConstruct, Some(wanted), Some(vector), components);
        Ok(vector)
    }
}

/// Whether OpenCL C has the function with vectors and scalars.
fn takes_scalars(function: F) -> bool {
    matches!(
        function,
        F::fmin
            | F::fmax
            | F::fmin_common
            | F::fmax_common
            | F::fclamp
            | F::mix
            | F::step
            | F::smoothstep
            | F::ldexp
            | F::s_min
            | F::s_max
            | F::s_clamp
            | F::u_min
            | F::u_max
            | F::u_clamp
    )
}

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_accepted, assert_rejected, kernel};

    const VECTORS: &str = "%v2 = OpConstantNull %uint2\n%f2 = OpConstantNull %float2";

    #[test]
    fn votes_of_integers_and_scalars_for_vectors_are_accepted() {
        assert_accepted(&kernel(
            VECTORS,
            "%a = OpAny %bool %v2\n%b = OpAll %bool %u1\n%c = OpExtInst %float2 %std fclamp %f2 %f1 %f1
%d = OpExtInst %float2 %std ldexp %f2 %u1\n%e = OpExtInst %float2 %std smoothstep %f1 %f1 %f2
%f = OpExtInst %uint2 %std s_max %v2 %u1",
        ));
    }

    #[test]
    fn what_opencl_c_has_not_either_is_rejected() {
        for text in [
            "%a = OpAny %uint %v2",
            "%a = OpAny %bool %f2",
            "%a = OpExtInst %float2 %std fclamp %f2 %u1 %f1",
            "%a = OpExtInst %float2 %std pow %f2 %f1",
            "%a = OpExtInst %float %std fmin %f1 %f2",
        ] {
            assert_rejected(&kernel(VECTORS, text), "types.operands");
        }
    }
}
