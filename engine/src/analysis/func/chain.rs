//! Pointers that are made from pointers: access chains and casts.

use super::Func;
use smallvec::SmallVec;
use spirv_env::opcodes::Derives;
use spirv_env::{Id, Inst, Type, TypeId};

/// A part of an address: a byte offset, or an index (sign-extended to 64 bits) times a size.
#[derive(Clone, Copy, Debug)]
pub enum ChainStep {
    Constant(i64),
    Scaled { index: Id, size: u64 },
}

impl Func<'_> {
    /// The pointer into whose object an instruction makes another pointer.
    pub fn derived_from(&self, inst: &Inst) -> Option<Id> {
        if inst.row().derives == Derives::Nothing {
            return None;
        }
        let is_pointer = |ty: TypeId| matches!(self.module.types.get(ty), Type::Pointer { .. });
        let base = inst.id(0);
        (inst.ty.is_some_and(is_pointer) && self.type_of(base).is_some_and(is_pointer)).then_some(base)
    }

    /// The operands of an access chain that say a member of a structure: constants, which nothing may stand for.
    pub fn member_operands(&self, inst: &Inst) -> SmallVec<[usize; 2]> {
        let types = &self.module.types;
        let mut found = SmallVec::new();
        let Some(Type::Pointer { pointee, .. }) = self.type_of(inst.id(0)).map(|ty| types.get(ty)) else {
            return found;
        };
        let mut ty = *pointee;
        let first = if inst.row().derives == Derives::ElementChain { 2 } else { 1 };
        for (at, index) in inst.ids().enumerate().skip(first) {
            match types.get(ty) {
                Type::Struct { members, .. } => {
                    found.push(at);
                    match self.constant_bits(index).and_then(|member| members.get(member as usize)) {
                        Some(member) => ty = *member,
                        None => break,
                    }
                }
                Type::Array { elem, .. } | Type::Vector { elem, .. } => ty = *elem,
                _ => break,
            }
        }
        found
    }

    /// What an access chain adds to its base.
    pub fn chain(&self, inst: &Inst) -> SmallVec<[ChainStep; 4]> {
        let types = &self.module.types;
        let mut steps = SmallVec::new();
        let Some(Type::Pointer { pointee, .. }) = self.type_of(inst.id(0)).map(|ty| types.get(ty)) else {
            return steps;
        };
        let mut ty = *pointee;
        let mut indices = inst.ids().skip(1);
        if inst.row().derives == Derives::ElementChain
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
