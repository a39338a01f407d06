//! Debug information: source lines, which diagnostics name, and instructions that mean nothing to a kernel.

use super::{LAYOUT, Loader};
use crate::binary::RawInst;
use crate::defs::Def;
use crate::diagnostics::Fault;
use crate::grammar::{Cursor, OPERANDS};
use crate::module::{ExtSet, Line};
use spirv::Op;
use std::sync::Arc;

impl Loader<'_> {
    pub(super) fn op_line(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let file = self.id(cursor.word()?)?;
        let (line, column) = (cursor.word()?, cursor.word()?);
        cursor.end()?;
        let Def::Text(text) = self.out.defs.get(file) else {
            return Err(self.out.defs.wrong(file, self.out.defs.get(file), "a string"));
        };
        let (lines, texts) = (&mut self.module.lines, &self.out.texts);
        let at = self.files.entry((file, line, column)).or_insert_with(|| {
            lines.push(Line { file: Arc::clone(&texts[text as usize]), line, column });
            (lines.len() - 1) as u32
        });
        self.line = Some(*at);
        Ok(())
    }

    /// Debug information may refer to what comes later (`SPV_KHR_relaxed_extended_instruction`).
    pub(super) fn is_forward_debug_info(&self, inst: &RawInst<'_>) -> bool {
        const SET: usize = 2;
        let set = || self.id(*inst.operands.get(SET)?).ok().and_then(|set| self.module.ext_sets.get(&set));
        inst.op == Op::ExtInstWithForwardRefsKHR && set() == Some(&ExtSet::NonSemantic)
    }

    /// Debug information outside of functions.
    pub(super) fn inert_ext_inst(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        cursor.word()?;
        let result = self.id(cursor.word()?)?;
        let set = self.id(cursor.word()?)?;
        match self.module.ext_sets.get(&set) {
            Some(ExtSet::NonSemantic) => self.out.defs.define(result, Def::Inert),
            Some(ExtSet::OpenClStd) => {
                Err(Fault::new(LAYOUT, "an OpenCL.std instruction outside of a function"))
            }
            Some(ExtSet::Driver) | None => {
                Err(self.out.defs.wrong(set, self.out.defs.get(set), "an extended instruction set"))
            }
        }
    }

    /// Whether an extended instruction of a function is debug information.
    pub(super) fn is_non_semantic(&self, cursor: &Cursor<'_>) -> Result<bool, Fault> {
        let word = cursor.rest().first().ok_or_else(|| Fault::new(OPERANDS, "an operand is missing"))?;
        let set = self.id(*word)?;
        match self.module.ext_sets.get(&set) {
            Some(set) => Ok(*set == ExtSet::NonSemantic),
            None => Err(self.out.defs.wrong(set, self.out.defs.get(set), "an extended instruction set")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{build_text, kernel};

    #[test]
    fn debug_information_has_no_effect() {
        let text = kernel("%d = OpExtInst %void %debug 0 %u1", "%e = OpExtInst %void %debug 1 %d")
            .replace("%std = ", "%debug = OpExtInstImport \"OpenCL.DebugInfo.100\"\n%std = ");
        let module = build_text(&text).unwrap();
        assert_eq!(module.functions[0].blocks[0].insts.len(), 1);
    }
}
