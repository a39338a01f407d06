//! Where the leaves of a value come from that is made of parts of others.
//!
//! Rows say of such instructions that they rearrange (`Uniformity::Rearranged`). Which leaf goes where is said here, for all
//! analyses that follow leaves.

use super::Analysis;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst};

/// Where a leaf comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// This leaf of an operand.
    Leaf(Id, usize),
    /// Nowhere: it may be anything.
    Undefined,
}

/// A component of `OpVectorShuffle` that may be anything (SPIR-V 1.2 §3.32.12).
const ANY_COMPONENT: u64 = 0xFFFF_FFFF;

impl Analysis<'_> {
    /// Where each leaf of the result comes from; none if that is not known.
    pub(super) fn sources(&self, inst: &Inst) -> Option<SmallVec<[Source; 4]>> {
        let count = inst.ty.map_or(0, |ty| self.leaves.count(ty));
        let leaves_of = |id: Id| self.func.type_of(id).map_or(1, |ty| self.leaves.count(ty));
        let all_of = |id: Id| (0..leaves_of(id)).map(move |leaf| Source::Leaf(id, leaf));
        let sources: SmallVec<[Source; 4]> = match inst.op {
            Op::Undef => (0..count).map(|_| Source::Undefined).collect(),
            Op::CopyObject | Op::CopyLogical | Op::ExpectKHR => all_of(inst.id(0)).collect(),
            Op::CompositeConstruct => inst.ids().flat_map(all_of).collect(),
            Op::CompositeExtract => {
                let (first, _) = self.leaves.path(self.func.type_of(inst.id(0)), &inst.operands[1..]);
                (first..first + count).map(|leaf| Source::Leaf(inst.id(0), leaf)).collect()
            }
            Op::CompositeInsert => {
                let (first, part) = self.leaves.path(inst.ty, &inst.operands[2..]);
                let inserted = first..first + self.leaves.count(part);
                let of = |leaf: usize| match inserted.contains(&leaf) {
                    true => Source::Leaf(inst.id(0), leaf - first),
                    false => Source::Leaf(inst.id(1), leaf),
                };
                (0..count).map(of).collect()
            }
            Op::VectorShuffle => {
                let [a, b] = [inst.id(0), inst.id(1)];
                let first = leaves_of(a);
                let of = |component: u64| match component as usize {
                    _ if component == ANY_COMPONENT => Source::Undefined,
                    leaf if leaf < first => Source::Leaf(a, leaf),
                    leaf => Source::Leaf(b, leaf - first),
                };
                (2..inst.operands.len()).map(|at| of(inst.lit(at))).collect()
            }
            _ => return None,
        };
        (sources.len() == count).then_some(sources)
    }
}
