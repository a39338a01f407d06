//! Inline assembly: what pins values and has no instructions is read, the rest is refused with its text.
//!
//! Compilers leave empty assembly behind as a barrier to the optimizer (`asm volatile("" : "+r"(x))`). Each call becomes
//! the input that its output is tied to.

use super::Loader;
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::Cursor;
use crate::module::{Id, Inst, Operand, Type};
use spirv::Op;

const ASSEMBLY: RuleId = RuleId { id: "env.inline-assembly", source: "SPV_INTEL_inline_assembly" };
/// Characters of a text that a message quotes.
const QUOTED: usize = 60;

/// `OpAsmINTEL` without instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assembly {
    /// The input that is the output, too.
    tied: Option<usize>,
    outputs: usize,
}

impl Loader<'_> {
    pub(super) fn assembly(&mut self, op: Op, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        if op == Op::AsmTargetINTEL {
            let id = self.id(cursor.word()?)?;
            cursor.string()?;
            cursor.end()?;
            return self.out.defs.define(id, Def::Inert);
        }
        self.ty(cursor)?;
        let id = self.id(cursor.word()?)?;
        let [_signature, _target] = [cursor.word()?, cursor.word()?];
        let (text, constraints) = (cursor.string()?, cursor.string()?);
        cursor.end()?;
        self.out.defs.define(id, Def::Inert)?;
        let text = text.trim();
        if !text.is_empty() {
            let quoted: String =
                text.chars().take(QUOTED).map(|c| if c.is_control() { ' ' } else { c }).collect();
            let message = format!(
                "inline assembly \"{quoted}\" is of a GPU's instructions; this device has no such unit"
            );
            return Err(Fault::new(ASSEMBLY, message));
        }
        self.assemblies.insert(id, pins(&constraints));
        Ok(())
    }

    /// The instruction that a call of empty assembly is.
    pub(super) fn assembly_call(&mut self, cursor: &mut Cursor<'_>) -> Result<Option<Inst>, Fault> {
        let ty = self.ty(cursor)?;
        let result = self.id(cursor.word()?)?;
        let called = self.id(cursor.word()?)?;
        let args = self.all_ids(cursor)?;
        let Some(&assembly) = self.assemblies.get(&called) else {
            return Err(self.out.defs.wrong(called, self.out.defs.get(called), "inline assembly"));
        };
        self.out.defs.define(result, Def::Value(ty))?;
        if *self.module.types.get(ty) == Type::Void {
            return Ok(None);
        }
        if assembly.outputs > 1 {
            return Err(Fault::new(ASSEMBLY, "inline assembly with more than one output is not supported"));
        }
        let tied = assembly.tied.map(|at| args.get(at).copied());
        let (op, operands) = match tied {
            Some(Some(Operand::Id(input))) => (Op::CopyObject, [Operand::Id(input)].into_iter().collect()),
            Some(_) => return Err(Fault::new(ASSEMBLY, "an output is tied to an input that is not there")),
            None => (Op::Undef, [].into_iter().collect()),
        };
        Ok(Some(Inst { op, ty: Some(ty), result: Some(result), operands, line: self.line }))
    }
}

/// What LLVM's constraints say: outputs begin with `=`, an input that is a number is in the place of that output.
fn pins(constraints: &str) -> Assembly {
    let operands = || constraints.split(',').filter(|part| !part.is_empty() && !part.starts_with('~'));
    let outputs = operands().filter(|part| part.starts_with('=')).count();
    let mut inputs = operands().filter(|part| !part.starts_with('='));
    Assembly { tied: inputs.position(|part| part == "0"), outputs }
}

/// The ids that assembly declares.
pub(super) type Assemblies = rustc_hash::FxHashMap<Id, Assembly>;

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_accepted, assert_rejected, build_text, declaring, kernel};
    use spirv::Op;

    fn called(text: &str, constraints: &str, ty: &str, args: &str) -> String {
        let declarations = format!(
            "%target = OpAsmTargetINTEL \"spirv64-unknown-unknown\"\n%ft = OpTypeFunction %uint %uint\n\
             %asm = OpAsmINTEL {ty} %ft %target \"{text}\" \"{constraints}\""
        );
        let text = kernel(&declarations, &format!("%r = OpAsmCallINTEL {ty} %asm {args}"));
        declaring("AsmINTEL", &text).replace("%std = ", "OpExtension \"SPV_INTEL_inline_assembly\"\n%std = ")
    }

    #[test]
    fn empty_assembly_passes_its_input_on() {
        let module = build_text(&called("", "=r,0,~{memory}", "%uint", "%u3")).unwrap();
        let inst = &module.functions[0].blocks[0].insts[0];
        assert_eq!(inst.op, Op::CopyObject);
        let undefined = build_text(&called("", "=r,r", "%uint", "%u3")).unwrap();
        assert_eq!(undefined.functions[0].blocks[0].insts[0].op, Op::Undef);
        let fence = build_text(&called("", "~{memory}", "%void", "")).unwrap();
        assert_eq!(fence.functions[0].blocks[0].insts.len(), 1);
    }

    #[test]
    fn assembly_with_instructions_is_refused_with_its_text() {
        let text = called("mov (M1, 16) $0, $1", "=rw,rw", "%uint", "%u3");
        assert_rejected(&text, "env.inline-assembly");
        assert!(build_text(&text).unwrap_err().to_string().contains("\"mov (M1, 16) $0, $1\""));
    }

    #[test]
    fn outputs_are_of_their_inputs_type() {
        assert_accepted(&called("", "=r,0", "%uint", "%u3"));
        assert_rejected(&called("", "=r,0", "%float", "%u3"), "types.operands");
        assert_rejected(&called("", "=r,0", "%uint", ""), "env.inline-assembly");
        assert_rejected(&called("", "=r,=r,0", "%uint", "%u3"), "env.inline-assembly");
    }
}
