//! Instructions that others take the place of when a function is loaded: each says what becomes of it, and what is put in its
//! place has its source line, and its place in the module for diagnostics.

use super::Loader;
use super::functions::FunctionSource;
use crate::defs::Def;
use crate::diagnostics::Fault;
use crate::module::{Function, Id, Inst, Operand, TypeId};
use smallvec::SmallVec;
use spirv::Op;

pub(super) type Operands = SmallVec<[Operand; 4]>;

/// A block on its way, and what is known of its function.
#[derive(Default)]
pub(super) struct Rewriting<F> {
    pub function: F,
    insts: Vec<Inst>,
    offsets: Vec<u32>,
    /// Those of the instruction that is replaced.
    line: Option<u32>,
    offset: u32,
}

impl<F> Rewriting<F> {
    pub fn new(function: F) -> Self {
        Rewriting { function, insts: Vec::new(), offsets: Vec::new(), line: None, offset: 0 }
    }

    /// A new instruction behind those that the block has.
    pub fn push(&mut self, op: Op, ty: Option<TypeId>, result: Option<Id>, operands: Operands) {
        self.keep(Inst { op, ty, result, operands, line: self.line });
    }

    pub fn keep(&mut self, inst: Inst) {
        self.insts.push(inst);
        self.offsets.push(self.offset);
    }

    /// Ends the block: its instructions, and where each is from.
    pub fn take(&mut self) -> (Vec<Inst>, Vec<u32>) {
        (std::mem::take(&mut self.insts), std::mem::take(&mut self.offsets))
    }
}

impl Loader<'_> {
    /// Has each instruction of those blocks of a function replaced that `concerns` says something of.
    pub(super) fn replace_within(
        &mut self,
        function: &mut Function,
        source: &mut FunctionSource,
        concerns: impl Fn(&Self, &[Inst]) -> bool,
        replace: impl Fn(&mut Self, Inst, &mut Rewriting<()>) -> Result<(), Fault>,
    ) {
        let mut to = Rewriting::default();
        for (block, offsets) in function.blocks.iter_mut().zip(&mut source.blocks) {
            if concerns(self, &block.insts) {
                let whole = (std::mem::take(&mut block.insts), std::mem::take(offsets));
                self.replace_each(function.id, whole, &mut to, &replace);
                (block.insts, *offsets) = to.take();
            }
        }
    }

    /// Has each instruction of a block replaced, and notes what is wrong with it.
    pub(super) fn replace_each<F>(
        &mut self,
        function: Id,
        (insts, offsets): (Vec<Inst>, Vec<u32>),
        to: &mut Rewriting<F>,
        replace: impl Fn(&mut Self, Inst, &mut Rewriting<F>) -> Result<(), Fault>,
    ) {
        to.insts.reserve(insts.len());
        to.offsets.reserve(insts.len());
        for (inst, offset) in insts.into_iter().zip(offsets) {
            (to.line, to.offset) = (inst.line, offset);
            let result = inst.result;
            if let Err(fault) = replace(self, inst, to) {
                // Whatever uses it is not to blame.
                if let Some(result) = result {
                    self.out.defs.replace(result, Def::Poison);
                }
                self.replaced_faults.push((function, offset, fault));
            }
        }
    }
}
