//! The `OpenCL.std` extended instruction set.

use super::Lowerer;
use super::values::Val;
use crate::error::EngineError;
use spirv_env::{Inst, Module};

/// Whether this file lowers an instruction; the error names what is missing.
pub fn supports(inst: &Inst, _module: &Module) -> Result<(), String> {
    Err(format!("OpenCL.std instruction {}", inst.lit(1)))
}

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    Err(this.unsupported(format!("OpenCL.std instruction {}", inst.lit(1))))
}
