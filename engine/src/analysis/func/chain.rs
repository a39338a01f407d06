//! The address arithmetic of access chains.

use super::Func;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst, Type};

/// A part of an address: a byte offset, or an index (sign-extended to 64 bits) times a size.
#[derive(Clone, Copy, Debug)]
pub enum ChainStep {
    Constant(i64),
    Scaled { index: Id, size: u64 },
}

impl Func<'_> {
    /// What an access chain adds to its base.
    pub fn chain(&self, inst: &Inst) -> SmallVec<[ChainStep; 4]> {
        let types = &self.module.types;
        let mut steps = SmallVec::new();
        let Some(Type::Pointer { pointee, .. }) = self.type_of(inst.id(0)).map(|ty| types.get(ty)) else {
            return steps;
        };
        let mut ty = *pointee;
        let mut indices = inst.ids().skip(1);
        if matches!(inst.op, Op::PtrAccessChain | Op::InBoundsPtrAccessChain)
            && let Some(element) = indices.next()
        {
            steps.push(self.scaled(element, types.layout(ty).size));
        }
        for index in indices {
            match types.get(ty) {
                Type::Struct { members, .. } => {
                    let member = self.constant_bits(index).unwrap_or(0) as usize;
                    steps.push(ChainStep::Constant(types.member_offsets(ty)[member] as i64));
                    ty = members[member];
                }
                Type::Array { elem, .. } | Type::Vector { elem, .. } => {
                    steps.push(self.scaled(index, types.layout(*elem).size));
                    ty = *elem;
                }
                _ => break,
            }
        }
        steps
    }

    fn scaled(&self, index: Id, size: u64) -> ChainStep {
        match self.constant_int(index) {
            Some(index) => ChainStep::Constant(index.wrapping_mul(size as i64)),
            None => ChainStep::Scaled { index, size },
        }
    }
}
