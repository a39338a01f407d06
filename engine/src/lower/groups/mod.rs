//! Sub-group and work-group instructions. A sub-group is one vector, so most of what it does together is a few
//! vector instructions; a work-group combines what its sub-groups have computed.
//!
//! | file | what |
//! |---|---|
//! | `lanes` | lanes that are on, single lanes, permutations |
//! | `combine` | associative operations over lanes |
//! | `reduction` | reductions and scans |
//! | `vote` | votes and ballots |
//! | `shuffle` | shuffles, broadcasts, block access |
//! | `collective` | the same for work-groups; barriers; asynchronous copies |

pub mod collective;
pub mod combine;
pub mod lanes;
pub mod reduction;
pub mod shuffle;
pub mod vote;

pub use lanes::{first_bit, parts};

use super::Lowerer;
use super::builder::Value;
use super::values::{Mask, Reg};
use crate::error::EngineError;
use combine::{Combine, widen};
use smallvec::SmallVec;
use spirv::Scope;
use spirv_env::opcodes::Convergence;
use spirv_env::{Inst, Module, op_name};

/// Whether an instruction is executed by a group that the engine knows it for; the error names what is missing.
pub fn supports_scope(inst: &Inst, module: &Module) -> Result<(), String> {
    let scope = inst.execution_scope(module);
    let fits = match inst.row().convergence {
        Convergence::None | Convergence::ImplicitSubgroup | Convergence::Barrier => true,
        Convergence::Group => matches!(scope, Some(Scope::Workgroup | Scope::Subgroup)),
        Convergence::Workgroup => scope == Some(Scope::Workgroup),
        Convergence::Subgroup => scope == Some(Scope::Subgroup),
    };
    match (fits, scope) {
        (true, _) => Ok(()),
        (false, Some(scope)) => Err(format!("{} of scope {scope:?}", op_name(inst.op))),
        (false, None) => Err(format!("{} of a scope that is no constant", op_name(inst.op))),
    }
}

/// Whether a work-group executes an instruction together, and not a sub-group.
pub(super) fn is_of_work_group(this: &Lowerer<'_, '_>, inst: &Inst) -> bool {
    inst.execution_scope(this.a.func.module) == Some(Scope::Workgroup)
}

/// What the lanes of each member of a bundle bring to a reduction or scan, whose value is operand 2.
fn contributions_of_each(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    combine: Combine,
) -> Result<SmallVec<[Value; 1]>, EngineError> {
    this.of_each(|this| {
        let reg = this.leaf(inst.id(2))?;
        Ok(contributions(this, combine, reg))
    })
}

/// What each lane brings to a reduction: its value, or what changes nothing if it is off.
pub(super) fn contributions(this: &Lowerer<'_, '_>, combine: Combine, reg: Reg) -> Value {
    let lanes = widen(&this.b, this.vector(reg));
    match this.mask() {
        Mask::All => lanes,
        Mask::Lanes(mask) => {
            let neutral = combine.neutral(&this.b, this.b.scalar_of(lanes), this.w);
            this.b.select(mask, lanes, neutral)
        }
    }
}
