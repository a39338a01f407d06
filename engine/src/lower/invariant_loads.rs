//! Loads that are the same in each iteration of a loop, made once for each lane: for those that come to it for the first time. Which
//! they are is `analysis::invariant_loads`'s.
//!
//! What lanes have loaded, and which of them have, waits in variables that LLVM turns into registers of the loop.

use super::Lowerer;
use super::access::{self, Place};
use super::builder::Value;
use super::values::{Mask, Reg, Val};
use crate::analysis::func::BlockId;
use crate::analysis::invariant_loads::InvariantLoad;
use crate::analysis::leaves::{Leaf, Scalar};
use crate::error::EngineError;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv_env::{Id, Inst};
use std::rc::Rc;

/// Those of a function.
pub(super) struct InvariantLoads {
    loads: Rc<FxHashMap<Id, InvariantLoad>>,
    /// By load and member of the bundle.
    kept: FxHashMap<(Id, usize), Kept>,
}

/// Where a load's elements are kept.
#[derive(Clone, Copy)]
struct Kept {
    elements: Value,
    /// The lanes that have theirs.
    lanes: Value,
}

impl InvariantLoads {
    pub fn new(loads: FxHashMap<Id, InvariantLoad>) -> InvariantLoads {
        InvariantLoads { loads: Rc::new(loads), kept: FxHashMap::default() }
    }
}

impl Lowerer<'_, '_> {
    /// Forgets what lanes have loaded for the loops that this block is in front of.
    pub(super) fn begin_invariant_loads(&mut self, block: BlockId) {
        let loads = Rc::clone(&self.flow.invariant_loads.loads);
        for (load, of) in loads.iter().filter(|(_, load)| load.preheader == block) {
            for member in 0..self.bundle.subgroups.len() {
                let kept = self.kept(*load, member, of.scalar);
                self.b.store(self.b.zero(Scalar::Bool, self.w), kept.lanes, 1);
            }
        }
    }

    fn kept(&mut self, load: Id, member: usize, scalar: Scalar) -> Kept {
        if let Some(kept) = self.flow.invariant_loads.kept.get(&(load, member)) {
            return *kept;
        }
        let [elements, lanes] = [scalar, Scalar::Bool].map(|scalar| self.prologue_alloca(scalar, self.w));
        self.in_prologue(|b| {
            b.store(b.zero(scalar, self.w), elements, scalar.bytes());
            b.store(b.zero(Scalar::Bool, self.w), lanes, 1);
        });
        let kept = Kept { elements, lanes };
        self.flow.invariant_loads.kept.insert((load, member), kept);
        kept
    }
}

/// What an instruction loads, if it is one of those.
pub(super) fn load(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    let loads = Rc::clone(&this.flow.invariant_loads.loads);
    let Some((id, of)) = inst.result.and_then(|id| Some((id, loads.get(&id)?))) else { return Ok(None) };
    let place = access::place(this, inst.id(0))?;
    if !matches!(place, Place::Varying(_)) {
        return Ok(None);
    }
    let at = this.bundle.at;
    let kept = this.kept(id, at, of.scalar);
    let own = this.b.load(of.scalar, this.w, kept.elements, of.scalar.bytes());
    let have = this.b.load(Scalar::Bool, this.w, kept.lanes, 1);
    let missing = this.b.and(this.mask_vector(), this.b.not(have));
    let mask = this.replace_mask(Mask::Lanes(missing));
    let leaf = Leaf { scalar: of.scalar, offset: 0 };
    let access = super::memory::accesses(inst)[1];
    let b = &this.b;
    let first = || {
        let loaded = this.vector(access::load_leaf(this, &place, leaf, access));
        let all = b.select(missing, loaded, own);
        b.store(all, kept.elements, of.scalar.bytes());
        b.store(b.or(have, missing), kept.lanes, 1);
        all
    };
    let value = b.branch_rarely(b.any(missing), first, own);
    this.replace_mask(mask);
    Ok(Some(smallvec![Reg::varying(value)]))
}
