//! The processor's clock (`SPV_KHR_shader_clock`): one for all scopes.

use super::Lowerer;
use super::values::{Reg, Val};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use smallvec::smallvec;
use spirv::Op;
use spirv_env::Inst;

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    if inst.op != Op::ReadClockKHR {
        return Err(this.no_lowering(inst));
    }
    let leaves = this.leaves(inst.ty.expect("a reading has a type"))?;
    let b = &this.b;
    // The optimizer takes each reading for one of its own.
    let ticks = b.intrinsic_plain("llvm.readcyclecounter", &[]);
    Ok(match leaves.len() {
        1 => smallvec![Reg::uniform(ticks)],
        // The lower half comes first.
        _ => {
            let high = b.lshr(ticks, b.i64(32));
            [ticks, high].map(|half| Reg::uniform(b.zext_or_trunc(half, Scalar::I32))).into_iter().collect()
        }
    })
}
