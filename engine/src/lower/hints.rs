//! Hints: what a value will be most of the time, what always holds, what will be read soon.

use super::Lowerer;
use super::values::Val;
use crate::error::EngineError;
use spirv::Op;
use spirv_env::{Inst, own_opcodes};

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    match inst.op {
        Op::ExpectKHR => this.value(inst.id(0)).map(Some),
        // What holds for the lanes that are on says nothing of a vector.
        Op::AssumeTrueKHR => Ok(None),
        // Hardware sees blocks coming by itself.
        Op::SubgroupBlockPrefetchINTEL | Op::Subgroup2DBlockPrefetchINTEL | own_opcodes::PREFETCH => Ok(None),
        _ => Err(this.no_lowering(inst)),
    }
}
