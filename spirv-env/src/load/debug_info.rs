//! Debug information: source lines, which diagnostics name, and instructions that mean nothing to a kernel.

use super::{LAYOUT, Loader};
use crate::binary::RawInst;
use crate::defs::Def;
use crate::diagnostics::Fault;
use crate::grammar::{Cursor, OPERANDS};
use crate::module::{ConstantValue, ExtSet, Id, Line};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{NonsemanticShaderDebuginfo100Op as DebugOp, Op};
use std::sync::Arc;

/// What `NonSemantic.Shader.DebugInfo` says of source files.
#[derive(Default)]
pub(super) struct ShaderDebug {
    /// The sets that are that one.
    pub sets: FxHashSet<Id>,
    /// The file names of sources.
    sources: FxHashMap<Id, Id>,
}

impl Loader<'_> {
    pub(super) fn op_line(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let file = self.id(cursor.word()?)?;
        let (line, column) = (cursor.word()?, cursor.word()?);
        cursor.end()?;
        let Def::Text(_) = self.out.defs.get(file) else {
            return Err(self.out.defs.wrong(file, self.out.defs.get(file), "a string"));
        };
        self.line = self.line_at(file, line, column);
        Ok(())
    }

    /// A place of a file that is a string, as an index into [`Module::lines`](crate::Module::lines). Compilers call what belongs to no line line 0.
    fn line_at(&mut self, file: Id, line: u32, column: u32) -> Option<u32> {
        let Def::Text(text) = self.out.defs.get(file) else { return None };
        let (lines, texts) = (&mut self.module.lines, &self.out.texts);
        let at = self.files.entry((file, line, column)).or_insert_with(|| {
            lines.push(Line { file: Arc::clone(&texts[text as usize]), line, column });
            (lines.len() - 1) as u32
        });
        (line != 0).then_some(*at)
    }

    /// What an instruction of `NonSemantic.Shader.DebugInfo` says of lines, in place of `OpLine`. The cursor is at its set.
    /// What it says wrong is nothing to refuse a module for.
    pub(super) fn debug_instruction(&mut self, result: Option<Id>, cursor: &Cursor<'_>) {
        let words = cursor.rest();
        let id = |at: usize| words.get(at).and_then(|word| self.id(*word).ok());
        let (Some(set), Some(number)) = (id(0), words.get(1)) else { return };
        if !self.shader_debug.sets.contains(&set) {
            return;
        }
        let number_at = |at: usize| match self.module.constants.get(&id(at)?)?.value {
            ConstantValue::Scalar(value) => u32::try_from(value).ok(),
            _ => None,
        };
        match DebugOp::from_u32(*number) {
            Some(DebugOp::DebugSource) => {
                if let (Some(source), Some(file)) = (result, id(2)) {
                    self.shader_debug.sources.insert(source, file);
                }
            }
            Some(DebugOp::DebugLine) => {
                // Source, first and last line, first and last column.
                let source = id(2).and_then(|source| self.shader_debug.sources.get(&source).copied());
                let place = source.zip(number_at(3)).zip(number_at(5));
                self.line = place.and_then(|((file, line), column)| self.line_at(file, line, column));
            }
            Some(DebugOp::DebugNoLine) => self.line = None,
            _ => {}
        }
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
        let at_set = Cursor::new(cursor.rest());
        let set = self.id(cursor.word()?)?;
        match self.module.ext_sets.get(&set) {
            Some(ExtSet::NonSemantic) => {
                self.debug_instruction(Some(result), &at_set);
                self.out.defs.define(result, Def::Inert)
            }
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

    fn lines(body: &str) -> Vec<Option<(String, u32, u32)>> {
        let text = kernel("%source = OpExtInst %void %debug 35 %file", body)
            .replace("%std = ", "%debug = OpExtInstImport \"NonSemantic.Shader.DebugInfo.100\"\n%std = ");
        let module = build_text(&text).unwrap();
        let insts = &module.functions[0].blocks[0].insts;
        let place = |line: u32| {
            let line = &module.lines[line as usize];
            (line.file.to_string(), line.line, line.column)
        };
        insts.iter().map(|inst| inst.line.map(place)).collect()
    }

    #[test]
    fn lines_are_those_of_shader_debug_information() {
        let found = lines(
            "%a = OpIAdd %uint %u1 %u1\n%l = OpExtInst %void %debug 103 %source %u2 %u2 %u1 %u1\n\
             %b = OpIAdd %uint %u1 %u1\n%n = OpExtInst %void %debug 104\n%c = OpIAdd %uint %u1 %u1",
        );
        let at = Some(("kernel.cl".to_owned(), 2, 1));
        assert_eq!(found[..3], [None, at, None]);
    }

    #[test]
    fn debug_information_has_no_effect() {
        let text = kernel("%d = OpExtInst %void %debug 0 %u1", "%e = OpExtInst %void %debug 1 %d")
            .replace("%std = ", "%debug = OpExtInstImport \"OpenCL.DebugInfo.100\"\n%std = ");
        let module = build_text(&text).unwrap();
        assert_eq!(module.functions[0].blocks[0].insts.len(), 1);
    }
}
