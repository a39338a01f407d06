//! How a kernel accesses memory: the share of its loads and stores that go lane by lane is what vector code stands or
//! falls with.

use super::access::in_memory;
use super::{analysed, apart, runs, spaced, speculation, tables};
use crate::abi::Variant;
use crate::analysis::Analysis;
use crate::analysis::func::BlockId;
use crate::analysis::inlining::Inlining;
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use crate::jit::target::Target;
use spirv_env::opcodes::Memory;
use spirv_env::{Inst, Kernel, Module};
use std::ops::AddAssign;

/// Loads and stores of one kernel outside of registers, by their form. A load of several scalars counts once for
/// each, unless they are loaded together.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Census {
    /// One scalar for all lanes.
    pub uniform: u64,
    /// One vector: neighbouring elements.
    pub rows: u64,
    /// Vectors and shuffles: runs of elements, elements with small gaps between them, and elements of small tables.
    pub shuffled: u64,
    /// Rows if they turn out to be that when the kernel runs, else lane by lane.
    pub looked_at: u64,
    pub gathers: u64,
    pub scatters: u64,
}

impl Census {
    pub fn all(&self) -> u64 {
        self.uniform + self.rows + self.shuffled + self.looked_at + self.gathers + self.scatters
    }

    /// Counts the accesses of a kernel in the code of a variant.
    pub fn of(
        module: &Module,
        kernel: &Kernel,
        variant: Variant,
        inlining: Inlining,
        target: &Target,
    ) -> Result<Census, EngineError> {
        let unit = analysed(module, kernel, variant, inlining, super::Options::default(), target)?;
        let mut census = Census::default();
        for a in std::iter::once(&unit.kernel).chain(unit.callees.iter().map(|callee| &callee.analysis)) {
            for (block, code) in &a.func.blocks {
                code.insts.iter().for_each(|inst| census.note(a, block, inst, target));
            }
        }
        Ok(census)
    }

    fn note(&mut self, a: &Analysis<'_>, block: BlockId, inst: &Inst, target: &Target) {
        let (ty, is_load) = match inst.row().memory {
            Memory::Read { .. } => (inst.ty, true),
            Memory::Write { .. } => (a.func.type_of(inst.id(1)), false),
            _ => return,
        };
        let pointer = inst.id(0);
        if a.builtins.contains_key(&pointer) || a.private.interleaved.contains_key(&pointer) {
            return;
        }
        let Some((ty, leaves)) = ty.and_then(|ty| Some((ty, a.leaves.get(ty)?))) else { return };
        let count = leaves.len() as u64;
        let bytes = a.func.module.types.layout(ty).size as i64;
        let together = |step| leaves.len() > 1 && runs::stride(&leaves, step).is_some();
        let is_row = |step: i64| {
            leaves.len() == 1 && step.unsigned_abs() == in_memory(leaves[0].scalar).bytes() || together(step)
        };
        let shape = a.shape(block, pointer)[0];
        if shape.is_uniform() || a.variant.width == 1 {
            self.uniform += count;
            return;
        }
        match shape {
            Shape::Strided(step) if is_row(step) => match speculation::needs_look(a.trust(pointer)) {
                None if together(step) => self.shuffled += 1,
                None => self.rows += count,
                Some(_) => self.looked_at += 1,
            },
            Shape::Strided(step)
                if leaves.iter().all(|leaf| spaced::is_worth_it(target, step, in_memory(leaf.scalar)))
                    && speculation::needs_look(a.trust(pointer)).is_none() =>
            {
                self.shuffled += count;
            }
            Shape::Varying if is_load && tables::table(a, block, inst, target).is_some() => {
                self.shuffled += count
            }
            Shape::Varying if is_row(bytes) && a.may_be_row(block, pointer) => self.looked_at += 1,
            _ => {
                // What lies apart is one access a lane.
                let count =
                    if apart::fits(a.variant.width, target.has_avx512(), &leaves) { 1 } else { count };
                *(if is_load { &mut self.gathers } else { &mut self.scatters }) += count;
            }
        }
    }
}

impl AddAssign for Census {
    fn add_assign(&mut self, other: Self) {
        self.uniform += other.uniform;
        self.rows += other.rows;
        self.shuffled += other.shuffled;
        self.looked_at += other.looked_at;
        self.gathers += other.gathers;
        self.scatters += other.scatters;
    }
}

#[cfg(test)]
mod tests {
    use super::Census;

    #[test]
    fn accesses_of_all_forms_are_counted_together() {
        let census = Census { uniform: 1, rows: 2, shuffled: 4, looked_at: 8, gathers: 16, scatters: 32 };
        assert_eq!(census.all(), 63);
    }
}
