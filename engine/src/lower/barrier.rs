//! Barriers: work-items that wait for each other, and the order of accesses to memory.

use super::Lowerer;
use super::atomics::semantics;
use super::groups::collective;
use crate::error::EngineError;
use spirv::{MemorySemantics, Op, Scope};
use spirv_env::Inst;

pub fn lower(this: &Lowerer<'_, '_>, inst: &Inst) -> Result<(), EngineError> {
    match inst.op {
        Op::MemoryBarrier => memory_barrier(this, inst),
        // Lanes of a sub-group run in lockstep, and their accesses stay in order.
        Op::ControlBarrier | Op::ControlBarrierWaitINTEL => {
            if inst.waits_for_launch(this.a.func.module) {
                collective::launch_barrier(this);
            } else if inst.waits_for_work_group(this.a.func.module) {
                collective::barrier(this);
                order_for_others(this, inst);
            }
        }
        // Who waits, waits until all wait: so all have arrived.
        Op::ControlBarrierArriveINTEL => {}
        _ => return Err(this.no_lowering(inst)),
    }
    Ok(())
}

/// What a work-group of one bundle keeps of a barrier: nobody waits, but others than the work-group may be meant to see an order.
fn order_for_others(this: &Lowerer<'_, '_>, inst: &Inst) {
    let is_within =
        |bits| matches!(Scope::from_u32(bits), Some(Scope::Workgroup | Scope::Subgroup | Scope::Invocation));
    let scope = this.a.func.constant_bits(inst.id(1)).and_then(|bits| u32::try_from(bits).ok());
    if this.a.variant.one_bundle && !scope.is_some_and(is_within) {
        this.b.fence_compiler();
    }
}

fn memory_barrier(this: &Lowerer<'_, '_>, inst: &Inst) {
    let semantics = semantics(this, inst.id(1));
    match this.a.func.constant_bits(inst.id(0)).and_then(|bits| Scope::from_u32(u32::try_from(bits).ok()?)) {
        // These work-items all run on this thread, in the order of the code.
        Some(Scope::Workgroup | Scope::Subgroup | Scope::Invocation) => this.b.fence_compiler(),
        _ if semantics.contains(MemorySemantics::SEQUENTIALLY_CONSISTENT) => this.b.fence(),
        _ => this.b.fence_acquire_release(),
    }
}
