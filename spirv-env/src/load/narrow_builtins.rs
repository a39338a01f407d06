//! Built-in variables of 32 bits where they have `size_t` (OpenCL SPIR-V Env 3.0, Built-in Variables), as Zig's compiler declares
//! ids and sizes: they become those of 64 bits, and what is loaded from them is narrowed.

use super::Loader;
use super::functions::FunctionSource;
use super::rewriting::Rewriting;
use crate::defs::Def;
use crate::diagnostics::Fault;
use crate::module::{Function, Id, Inst, Operand, Type, TypeId};
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv::{Op, StorageClass};

/// The types of a variable as it is declared, and as it is.
#[derive(Clone, Copy)]
struct Declared {
    narrow: TypeId,
    wide: TypeId,
}

#[derive(Default)]
pub(super) struct NarrowBuiltins(FxHashMap<Id, Declared>);

impl Loader<'_> {
    /// The types of a built-in variable of `size_t`, of its pointer and of itself, which may be declared with words.
    pub(super) fn widened_builtin(
        &mut self,
        id: Id,
        pointer: TypeId,
        narrow: TypeId,
    ) -> Result<(TypeId, TypeId), Fault> {
        let is_word = |ty: TypeId| *self.module.types.get(ty) == Type::Int { width: u32::BITS };
        let len = match *self.module.types.get(narrow) {
            Type::Vector { elem, len } if is_word(elem) => Some(len),
            _ if is_word(narrow) => None,
            _ => return Ok((pointer, narrow)),
        };
        let size = self.intern(Type::Int { width: u64::BITS }, false)?;
        let wide = match len {
            Some(len) => self.intern(Type::Vector { elem: size, len }, false)?,
            None => size,
        };
        self.narrow_builtins.0.insert(id, Declared { narrow, wide });
        let pointer = Type::Pointer { class: StorageClass::Input, pointee: wide };
        Ok((self.intern(pointer, false)?, wide))
    }

    pub(super) fn resolve_narrow_builtins(&mut self, function: &mut Function, source: &mut FunctionSource) {
        let are_there = !self.narrow_builtins.0.is_empty();
        self.replace_within(function, source, |_, _| are_there, Self::narrow_what_is_loaded);
    }

    fn narrow_what_is_loaded(&mut self, inst: Inst, to: &mut Rewriting<()>) -> Result<(), Fault> {
        let declared = match inst.operands.first() {
            Some(Operand::Id(from)) if inst.op == Op::Load => self.narrow_builtins.0.get(from).copied(),
            _ => None,
        };
        let Some(Declared { narrow, wide }) = declared.filter(|declared| inst.ty == Some(declared.narrow))
        else {
            to.keep(inst);
            return Ok(());
        };
        let loaded = self.fresh(Def::Value(wide))?;
        to.push(Op::Load, Some(wide), Some(loaded), inst.operands);
        to.push(Op::UConvert, Some(narrow), inst.result, smallvec![Operand::Id(loaded)]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_accepted, assert_rejected, kernel};

    fn with_builtins(body: &str) -> String {
        let declarations = "%uint3 = OpTypeVector %uint 3\n%pi_uint3 = OpTypePointer Input %uint3
%pi_uint = OpTypePointer Input %uint\n%gid = OpVariable %pi_uint3 Input\n%linear = OpVariable %pi_uint Input
%dimensions = OpVariable %pi_uint Input";
        kernel(declarations, body).replace(
            "%void = ",
            "OpDecorate %gid BuiltIn GlobalInvocationId\nOpDecorate %linear BuiltIn GlobalLinearId
OpDecorate %dimensions BuiltIn WorkDim\n%void = ",
        )
    }

    #[test]
    fn ids_and_sizes_of_32_bits_are_accepted() {
        assert_accepted(&with_builtins(
            "%ids = OpLoad %uint3 %gid\n%at = OpLoad %uint %linear Aligned 4\n%count = OpLoad %uint %dimensions
%x = OpCompositeExtract %uint %ids 0\n%sum = OpIAdd %uint %x %at\n%all = OpIAdd %uint %sum %count",
        ));
    }

    #[test]
    fn other_types_than_the_declared_one_are_not_loaded() {
        assert_rejected(&with_builtins("%ids = OpLoad %uint4 %gid"), "types.operands");
    }

    #[test]
    fn other_words_than_those_of_32_bits_are_rejected() {
        let text =
            with_builtins("").replace("%uint3 = OpTypeVector %uint 3", "%uint3 = OpTypeVector %ushort 3");
        assert_rejected(&text, "env.builtin");
    }
}
