//! Functions, blocks and the instructions inside them.

use super::types::MATRIX;
use super::{LAYOUT, Loader, OPCODE, Section};
use crate::binary::RawInst;
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::{Cursor, Format, OPERANDS, format, heads, op_name, operands};
use crate::matrices::{self, Matrix};
use crate::module::{Block, Function, Id, Inst, Operand, Type, TypeId};
use crate::opcodes::{Family, Opcode, opencl_std};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use spirv::{FunctionControl, Op};

const FUNCTIONS: RuleId = RuleId { id: "functions.well-formed", source: "SPIR-V 1.2 §3.32.9" };
const BLOCKS: RuleId = RuleId { id: "blocks.well-formed", source: "SPIR-V 1.2 §2.16.1" };

/// Word offsets of a function's instructions, block by block, for diagnostics.
#[derive(Debug)]
pub(crate) struct FunctionSource {
    pub function: Id,
    pub offset: u32,
    pub blocks: Vec<Vec<u32>>,
}

/// A function whose `OpFunctionEnd` is still to come.
pub(super) struct OpenFunction {
    function: Function,
    param_types: Vec<TypeId>,
    source: FunctionSource,
    block: Option<(Block, Vec<u32>)>,
    /// `OpSwitch` of blocks, by their numbers, whose selectors are defined in blocks that come later in the module, with their operands.
    waiting: Vec<(usize, Vec<u32>)>,
}

impl OpenFunction {
    pub fn is_in_block(&self) -> bool {
        self.block.is_some()
    }

    pub fn id(&self) -> Id {
        self.function.id
    }
}

/// The values of a phi and their blocks, each pair once. The LLVM translator writes one for each case of a switch that leads to
/// the phi's block.
fn without_repeated_pairs(operands: &[Operand]) -> SmallVec<[Operand; 4]> {
    let mut seen = FxHashSet::default();
    operands.chunks(2).filter(|pair| seen.insert(*pair)).flatten().copied().collect()
}

/// Brings the variables of a function's first block to its front. The LLVM translator makes some where they are used first,
/// such as the table that `memmove` copies.
pub(super) fn lead_with_variables(block: &mut Block, offsets: &mut Vec<u32>) {
    let is_variable = |inst: &Inst| inst.op == Op::Variable;
    if block.insts.is_sorted_by_key(|inst| !is_variable(inst)) {
        return;
    }
    let insts = std::mem::take(&mut block.insts);
    let mut placed: Vec<(Inst, u32)> = insts.into_iter().zip(offsets.drain(..)).collect();
    placed.sort_by_key(|(inst, _)| !is_variable(inst));
    (block.insts, *offsets) = placed.into_iter().unzip();
}

/// Brings variables that bytes are only copied through from other blocks to the first one. The LLVM translator makes `memmove` two copies,
/// and a variable between them in the block where it is; nothing else is left where it may not be.
fn lead_with_places_of_moves(function: &mut Function, source: &mut FunctionSource) {
    let is_bare = |inst: &&Inst| inst.op == Op::Variable && inst.operands.len() == 1;
    let others = || function.blocks.iter().skip(1).flat_map(|block| &block.insts);
    let mut places: FxHashSet<Id> = others().filter(is_bare).filter_map(|inst| inst.result).collect();
    if places.is_empty() {
        return;
    }
    let all = || function.blocks.iter().flat_map(|block| &block.insts);
    // The variables that pointers are casts of. Casts stand behind what they cast, or the module is refused.
    let mut of: FxHashMap<Id, Id> = places.iter().map(|id| (*id, *id)).collect();
    for inst in all().filter(|inst| inst.op == Op::Bitcast) {
        let variable = inst.ids().next().and_then(|id| of.get(&id).copied());
        of.extend(inst.result.zip(variable));
    }
    let mut copied = FxHashSet::default();
    for inst in all() {
        let variables = inst.ids().filter_map(|id| of.get(&id).copied());
        match inst.op {
            Op::Bitcast if inst.result.is_some_and(|cast| of.contains_key(&cast)) => {}
            Op::LifetimeStart | Op::LifetimeStop => {}
            Op::CopyMemory | Op::CopyMemorySized => copied.extend(variables),
            _ => variables.for_each(|variable| {
                places.remove(&variable);
            }),
        }
    }
    places.retain(|variable| copied.contains(variable));
    let is_place =
        |inst: &Inst| inst.op == Op::Variable && inst.result.is_some_and(|id| places.contains(&id));
    let mut moved: Vec<(Inst, u32)> = Vec::new();
    let blocks = function.blocks.iter_mut().zip(&mut source.blocks).skip(1);
    for (block, offsets) in blocks.filter(|(block, _)| block.insts.iter().any(is_place)) {
        let insts = std::mem::take(&mut block.insts).into_iter().zip(std::mem::take(offsets));
        let (here, rest): (Vec<_>, Vec<_>) = insts.partition(|(inst, _)| is_place(inst));
        moved.extend(here);
        (block.insts, *offsets) = rest.into_iter().unzip();
    }
    if let (Some(entry), Some(offsets)) = (function.blocks.first_mut(), source.blocks.first_mut()) {
        let (insts, of_insts): (Vec<_>, Vec<_>) = moved.into_iter().unzip();
        entry.insts.splice(0..0, insts);
        offsets.splice(0..0, of_insts);
    }
}

impl Loader<'_> {
    pub(super) fn function_level(&mut self, inst: &RawInst<'_>) -> Result<(), Fault> {
        let cursor = &mut Cursor::new(inst.operands);
        match inst.op {
            Op::Function => self.function(cursor, inst.offset),
            Op::FunctionParameter => self.function_parameter(cursor),
            _ => self.function_end(cursor),
        }
    }

    fn function(&mut self, cursor: &mut Cursor<'_>, offset: u32) -> Result<(), Fault> {
        if self.open.is_some() {
            return Err(Fault::new(LAYOUT, "a function inside a function"));
        }
        self.enter(Section::Functions)?;
        let result = self.ty(cursor)?;
        let id = self.id(cursor.word()?)?;
        let control = FunctionControl::from_bits_truncate(cursor.word()?);
        let ty = self.ty(cursor)?;
        cursor.end()?;
        let Type::Function { result: declared, params } = self.module.types.get(ty) else {
            return Err(Fault::new(FUNCTIONS, "the function's type is not a function type"));
        };
        if *declared != result {
            return Err(Fault::new(FUNCTIONS, "the function's result type is not its type's"));
        }
        let param_types = params.clone();
        self.out.defs.define(id, Def::Function(ty))?;
        self.left_behind.enter(id);
        let linkage = self.out.linkage.get(&id);
        let name = linkage.map(|linkage| &linkage.name).or_else(|| self.module.names.get(&id)).cloned();
        let linkage = linkage.map(|linkage| linkage.kind);
        self.open = Some(OpenFunction {
            function: Function { id, result, params: Vec::new(), control, blocks: Vec::new(), name, linkage },
            param_types,
            source: FunctionSource { function: id, offset, blocks: Vec::new() },
            block: None,
            waiting: Vec::new(),
        });
        Ok(())
    }

    fn function_parameter(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let ty = self.ty(cursor)?;
        let id = self.id(cursor.word()?)?;
        cursor.end()?;
        let open =
            self.open.as_mut().ok_or_else(|| Fault::new(LAYOUT, "a parameter outside of a function"))?;
        if open.block.is_some() || !open.function.blocks.is_empty() {
            return Err(Fault::new(LAYOUT, "a parameter behind a block"));
        }
        if open.param_types.get(open.function.params.len()) != Some(&ty) {
            return Err(Fault::new(FUNCTIONS, "the parameters are not those of the function's type"));
        }
        open.function.params.push((id, ty));
        self.out.defs.define(id, Def::Value(ty))
    }

    fn function_end(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        cursor.end()?;
        let mut open = self.open.take().ok_or_else(|| Fault::new(LAYOUT, "the end of no function"))?;
        self.line = None;
        let fault = if open.block.is_some() {
            Some(Fault::new(BLOCKS, "the function ends inside a block"))
        } else if open.function.params.len() != open.param_types.len() {
            Some(Fault::new(FUNCTIONS, "parameters of the function's type are missing"))
        } else {
            None
        };
        if let Some(fault) = fault {
            self.open = Some(open);
            return Err(fault);
        }
        self.read_waiting(&mut open);
        self.resolve_untyped(&mut open.function, &mut open.source);
        lead_with_places_of_moves(&mut open.function, &mut open.source);
        self.resolve_masked(&mut open.function, &mut open.source);
        self.resolve_narrow_builtins(&mut open.function, &mut open.source);
        self.resolve_opencl_c(&mut open.function, &mut open.source);
        self.resolve_bfloat(&mut open.function, &mut open.source);
        self.module.functions.push(open.function);
        self.out.sources.push(open.source);
        Ok(())
    }

    pub(super) fn body_instruction(&mut self, inst: &RawInst<'_>, row: &Opcode) -> Result<(), Fault> {
        if !row.in_function {
            return Err(Fault::new(OPCODE, format!("{} is not supported in a function", op_name(inst.op))));
        }
        let cursor = &mut Cursor::new(inst.operands);
        if inst.op == Op::Label {
            return self.label(cursor);
        }
        let format = format(inst.op).ok_or_else(|| Fault::new(OPCODE, "an opcode without a grammar"))?;
        let open =
            self.open.as_ref().ok_or_else(|| Fault::new(LAYOUT, "an instruction outside of a function"))?;
        if open.block.is_none() {
            return Err(Fault::new(BLOCKS, "an instruction outside of a block"));
        }
        if row.family == Family::Merge {
            return Ok(());
        }
        if inst.op == Op::AsmCallINTEL {
            let made = self.assembly_call(cursor)?;
            let block = self.open.as_mut().and_then(|open| open.block.as_mut());
            if let (Some(made), Some((block, offsets))) = (made, block) {
                block.insts.push(made);
                offsets.push(inst.offset);
            }
            return Ok(());
        }
        let heads = heads(format, cursor)?;
        let ty = heads.ty.map(|word| self.id(word).and_then(|id| self.out.defs.ty(id))).transpose()?;
        let result = heads.result.map(|word| self.id(word)).transpose()?;
        if inst.op == Op::ExtInst && self.is_non_semantic(cursor)? {
            self.debug_instruction(result, cursor);
            return result.map_or(Ok(()), |id| self.out.defs.define(id, Def::Inert));
        }
        let mut op = inst.op;
        let operands = match inst.op {
            Op::CompositeConstruct => match (self.all_ids(cursor)?, ty) {
                // One value for all elements of a matrix.
                (one, Some(ty)) if one.len() == 1 => {
                    let length = self.module.types.matrix(ty).map_or(1, Matrix::length);
                    smallvec![one[0]; length as usize]
                }
                (all, _) => all,
            },
            Op::ExtInst => self.ext_inst(cursor)?,
            Op::CooperativeMatrixLengthKHR => self.matrix_length(cursor)?,
            // Device and host memory are global memory.
            Op::PtrCastToCrossWorkgroupALTERA | Op::CrossWorkgroupCastToPtrALTERA => {
                op = Op::Bitcast;
                self.all_ids(cursor)?
            }
            Op::Switch if self.waits_for_selector(cursor)? => {
                let Some(open) = self.open.as_mut() else { return Ok(()) };
                open.waiting.push((open.function.blocks.len(), cursor.rest().to_vec()));
                SmallVec::new()
            }
            Op::Switch => self.switch(format, cursor)?,
            _ => {
                let defs = &self.out.defs;
                let operands = operands(format, cursor, u32::BITS, &mut |raw| defs.id(raw))?;
                if inst.op == Op::Phi { without_repeated_pairs(&operands) } else { operands }
            }
        };
        if let Some(id) = result {
            let def = match ty {
                Some(ty) => Def::Value(ty),
                None => Def::Inert,
            };
            self.out.defs.define(id, def)?;
            self.left_behind.see(row.family == Family::Conversion, id);
        }
        if inst.op == Op::FunctionCall
            && let Some(Operand::Id(callee)) = operands.first()
        {
            self.references.calls.push((*callee, inst.offset));
        }
        let lowered = Inst { op, ty, result, operands, line: self.line };
        let Some(open) = self.open.as_mut() else { return Ok(()) };
        let Some((block, offsets)) = open.block.as_mut() else { return Ok(()) };
        block.insts.push(lowered);
        offsets.push(inst.offset);
        if row.family == Family::Terminator
            && let Some((mut block, mut offsets)) = open.block.take()
        {
            if open.function.blocks.is_empty() {
                lead_with_variables(&mut block, &mut offsets);
            }
            open.function.blocks.push(block);
            open.source.blocks.push(offsets);
            self.line = None;
        }
        Ok(())
    }

    /// The number of elements that a work-item has of a matrix. The translator names a value where a type belongs.
    fn matrix_length(&self, cursor: &mut Cursor<'_>) -> Result<SmallVec<[Operand; 4]>, Fault> {
        let id = self.id(cursor.word()?)?;
        cursor.end()?;
        let matrix = matrices::of_type_or_value(&self.out, &self.module.types, id);
        let matrix = matrix.ok_or_else(|| Fault::new(MATRIX, "neither a matrix nor the type of one"))?;
        Ok(smallvec![Operand::Lit(u64::from(matrix.length()))])
    }

    fn label(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        let label = self.id(cursor.word()?)?;
        cursor.end()?;
        let open = self.open.as_mut().ok_or_else(|| Fault::new(LAYOUT, "a label outside of a function"))?;
        if let Some((block, _)) = &open.block {
            let message = format!("block {} has no terminator", self.out.defs.raw(block.label));
            return Err(Fault::new(BLOCKS, message));
        }
        if open.function.params.len() != open.param_types.len() {
            return Err(Fault::new(FUNCTIONS, "parameters of the function's type are missing"));
        }
        open.block = Some((Block { label, insts: Vec::new() }, Vec::new()));
        self.out.defs.define(label, Def::Label)
    }

    pub(super) fn all_ids(&self, cursor: &mut Cursor<'_>) -> Result<SmallVec<[Operand; 4]>, Fault> {
        cursor.rest().iter().map(|&word| self.id(word).map(Operand::Id)).collect()
    }

    /// Extended instructions have operands that only their own set tells to be literals.
    fn ext_inst(&self, cursor: &mut Cursor<'_>) -> Result<SmallVec<[Operand; 4]>, Fault> {
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        operands.push(Operand::Id(self.id(cursor.word()?)?));
        let number = cursor.word()?;
        operands.push(Operand::Lit(u64::from(number)));
        let literal = opencl_std::of_number(u64::from(number)).and_then(|function| function.literal());
        for (at, &word) in cursor.rest().iter().enumerate() {
            operands.push(if literal == Some(at) {
                Operand::Lit(u64::from(word))
            } else {
                Operand::Id(self.id(word)?)
            });
        }
        Ok(operands)
    }

    /// Whether nothing is known yet of the selector of `OpSwitch`. Blocks may come in any order here that control flow has: the LLVM
    /// translator writes them as LLVM has them, which asks for no more.
    fn waits_for_selector(&self, cursor: &Cursor<'_>) -> Result<bool, Fault> {
        let Some(word) = cursor.rest().first() else { return Ok(false) };
        Ok(self.out.defs.get(self.id(*word)?) == Def::None)
    }

    /// Reads what had to wait, now that all of the function is known.
    fn read_waiting(&mut self, open: &mut OpenFunction) {
        for (block, words) in std::mem::take(&mut open.waiting) {
            let block = open.function.blocks.get_mut(block).zip(open.source.blocks.get(block));
            let Some((inst, offset)) = block.and_then(|(block, at)| block.insts.last_mut().zip(at.last()))
            else {
                continue;
            };
            let Some(format) = format(Op::Switch) else { continue };
            match self.switch(format, &mut Cursor::new(&words)) {
                Ok(operands) => inst.operands = operands,
                Err(fault) => {
                    // What leads nowhere is no block's end.
                    *inst = Inst { op: Op::Unreachable, operands: SmallVec::new(), ..inst.clone() };
                    self.replaced_faults.push((open.function.id, *offset, fault));
                }
            }
        }
    }

    fn switch(&self, format: &Format, cursor: &mut Cursor<'_>) -> Result<SmallVec<[Operand; 4]>, Fault> {
        let width = self.selector_width(cursor)?;
        operands(format, cursor, width, &mut |raw| self.out.defs.id(raw))
    }

    /// `OpSwitch`'s literals are as wide as its selector.
    fn selector_width(&self, cursor: &Cursor<'_>) -> Result<u32, Fault> {
        let word = cursor.rest().first().ok_or_else(|| Fault::new(OPERANDS, "an operand is missing"))?;
        let selector = self.id(*word)?;
        let def = self.out.defs.get(selector);
        match self.out.defs.type_of(selector).map(|ty| self.module.types.get(ty)) {
            Some(Type::Int { width }) => Ok(*width),
            Some(_) => Err(Fault::new(OPERANDS, "the selector of OpSwitch is an integer")),
            None => Err(self.out.defs.wrong(selector, def, "a selector")),
        }
    }
}
