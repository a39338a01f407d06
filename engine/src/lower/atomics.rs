//! Atomic instructions and barriers.

use super::Lowerer;
use super::values::Val;
use crate::error::EngineError;
use spirv::Op;
use spirv_env::Inst;

/// Whether this file lowers an instruction.
pub fn supports(_op: Op) -> bool {
    false
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    Err(this.unsupported(format!("Op{:?}", inst.op)))
}
