//! Sub-group and work-group instructions: votes, ballots, shuffles, broadcasts, reductions, scans.

use super::Lowerer;
use super::values::Val;
use crate::error::EngineError;
use spirv_env::{Inst, Module};

/// Whether this file lowers an instruction.
pub fn supports(_inst: &Inst, _module: &Module) -> bool {
    false
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    Err(this.unsupported(format!("Op{:?}", inst.op)))
}

/// Whether an instruction makes the work-items of a work-group meet.
pub fn is_workgroup_collective(_inst: &Inst, _func: &crate::analysis::func::Func<'_>) -> bool {
    false
}
