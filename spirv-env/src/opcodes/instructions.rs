//! What single instructions say, read by their rows: memory operands and execution scopes.

use super::{Convergence, Opcode, opencl_std, row};
use crate::module::{ConstantValue, ExtSet, Id, Inst, Module, Operand};
use spirv::{MemoryAccess, Op, Scope};

/// Memory operands of one access (SPIR-V 1.2 §3.26).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryOperands {
    pub mask: MemoryAccess,
    /// The alignment in bytes that the instruction promises.
    pub align: Option<u64>,
}

impl Default for MemoryOperands {
    fn default() -> Self {
        Self { mask: MemoryAccess::NONE, align: None }
    }
}

/// Bits of the mask that bring an operand, in the order of their operands.
const WITH_OPERAND: MemoryAccess = MemoryAccess::ALIGNED
    .union(MemoryAccess::MAKE_POINTER_AVAILABLE)
    .union(MemoryAccess::MAKE_POINTER_VISIBLE)
    .union(MemoryAccess::ALIAS_SCOPE_INTEL_MASK)
    .union(MemoryAccess::NO_ALIAS_INTEL_MASK);

impl MemoryOperands {
    pub fn is_volatile(self) -> bool {
        self.mask.contains(MemoryAccess::VOLATILE)
    }

    /// Those whose mask stands at a place, if one does, and the place behind them.
    fn at(operands: &[Operand], at: usize) -> Option<(Self, usize)> {
        let Some(&Operand::Lit(mask)) = operands.get(at) else { return None };
        let mask = MemoryAccess::from_bits_truncate(mask as u32);
        let align = match operands.get(at + 1) {
            Some(&Operand::Lit(align)) if mask.contains(MemoryAccess::ALIGNED) => Some(align),
            _ => None,
        };
        let parameters = (mask & WITH_OPERAND).bits().count_ones() as usize;
        Some((Self { mask, align: align.filter(|align| align.is_power_of_two()) }, at + 1 + parameters))
    }
}

impl Inst {
    /// The row of its opcode.
    ///
    /// # Panics
    ///
    /// If there is none, which no instruction of a built module is without.
    pub fn row(&self) -> &'static Opcode {
        row(self.op).expect("the intake accepts no opcode without a row")
    }

    /// Memory operands of what the instruction writes and of what it reads. A copy's second ones are its source's,
    /// and the first ones are both's where there are no others (SPIR-V 1.4 §3.32.8).
    pub fn memory_operands(&self) -> [MemoryOperands; 2] {
        let first = self.row().memory.access().and_then(|at| MemoryOperands::at(&self.operands, at));
        let Some((first, next)) = first else { return Default::default() };
        [first, MemoryOperands::at(&self.operands, next).map_or(first, |(second, _)| second)]
    }

    /// Whether a load, store or copy is volatile.
    pub fn is_volatile(&self) -> bool {
        self.memory_operands().into_iter().any(MemoryOperands::is_volatile)
    }

    /// The function of `OpenCL.std` that an `OpExtInst` calls; none if it is of another set.
    pub fn opencl_std(&self, module: &Module) -> Option<&'static opencl_std::Function> {
        if self.op != Op::ExtInst || module.ext_sets.get(&self.id(0)) != Some(&ExtSet::OpenClStd) {
            return None;
        }
        opencl_std::of_number(self.lit(1))
    }

    /// The group that executes the instruction together, if it says so with a constant.
    pub fn execution_scope(&self, module: &Module) -> Option<Scope> {
        if !self.row().convergence.has_scope() {
            return None;
        }
        constant_scope(module, self.ids().next()?)
    }

    /// Whether the work-groups of a launch wait for each other in the instruction.
    pub fn waits_for_launch(&self, module: &Module) -> bool {
        self.row().convergence == Convergence::Barrier && self.execution_scope(module) == Some(Scope::Device)
    }

    /// Whether the sub-groups of a work-group wait for each other in the instruction.
    pub fn waits_for_work_group(&self, module: &Module) -> bool {
        self.row().convergence.has_scope()
            && self.execution_scope(module) != Some(Scope::Subgroup)
            && !self.row().convergence.is_of_subgroups()
    }
}

/// The scope that a constant is.
fn constant_scope(module: &Module, id: Id) -> Option<Scope> {
    match module.constants.get(&id)?.value {
        ConstantValue::Scalar(bits) => Scope::from_u32(u32::try_from(bits).ok()?),
        ConstantValue::Null => Some(Scope::CrossDevice),
        _ => None,
    }
}
