//! By-value parameters of called functions (`FuncParamAttr` `ByVal`, SPIR-V 1.2 §3.25): the callee has an object
//! of its own.
//!
//! A copy that nobody can tell from the original is left out: neither changes. What a kernel hands on of its
//! arguments then stays the same for all lanes.

use super::{BlockId, Func};
use crate::analysis::leaves::LeafTable;
use crate::analysis::pointers::Pointers;
use crate::analysis::private::{is_by_value, unchanged};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;
use spirv::{MemoryAccess, Op, StorageClass};
use spirv_env::{Id, Inst, Operand, Type, TypeId};

/// Objects with more leaves than this are copied as bytes.
const MOST_LEAVES: usize = 64;

/// The object that a call makes for a parameter.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    /// What the callee knows it by.
    pub object: Id,
    /// Its type, a pointer.
    pub ty: TypeId,
    pub from: Id,
    /// The call ends this block.
    pub at: BlockId,
}

/// Emits the copies that calls ask for, outer calls first, or makes the original stand for the object.
pub(super) fn resolve(func: &mut Func<'_>, copies: &[Copy]) {
    let objects: Vec<(Id, TypeId)> = func
        .params
        .iter()
        .copied()
        .filter(|(param, ty)| is_by_value(func, *param, *ty))
        .chain(copies.iter().map(|copy| (copy.object, copy.ty)))
        .collect();
    let constant: FxHashSet<Id> = unchanged(func, &objects).collect();
    let roots = Pointers::new(func).into_roots();
    let mut same: FxHashMap<Id, Id> = FxHashMap::default();
    for copy in copies {
        let mut root = copy.from;
        while let Some(base) = roots.get(&root).or_else(|| same.get(&root)) {
            root = *base;
        }
        if constant.contains(&copy.object) && constant.contains(&root) {
            same.insert(copy.object, copy.from);
        } else {
            emit(func, copy);
        }
    }
    let original = |id: &mut Id| {
        while let Some(from) = same.get(id) {
            *id = *from;
        }
    };
    for block in func.blocks.values_mut().filter(|_| !same.is_empty()) {
        block.phis.iter_mut().flat_map(|phi| &mut phi.incoming).for_each(|(_, id)| original(id));
        for operand in block.insts.iter_mut().flat_map(|inst| &mut inst.operands) {
            if let Operand::Id(id) = operand {
                original(id);
            }
        }
    }
}

fn emit(func: &mut Func<'_>, copy: &Copy) {
    let types = &func.module.types;
    let Type::Pointer { pointee, .. } = *types.get(copy.ty) else { return };
    let layout = types.layout(pointee);
    let access = [u64::from(MemoryAccess::ALIGNED.bits()), layout.align.max(1)].map(Operand::Lit);
    let inst = |op, ty, result, operands| Inst { op, ty, result, operands, line: None };
    let class = Operand::Lit(StorageClass::Function as u64);
    // Padding may be in use under another type (a union), so only what has none is copied leaf by leaf.
    let leaves = LeafTable::new(func.module).get(pointee).filter(|leaves| {
        leaves.len() <= MOST_LEAVES
            && leaves.iter().map(|leaf| leaf.scalar.bytes()).sum::<u64>() == layout.size
    });
    let (object, from, [mask, align]) = (Operand::Id(copy.object), Operand::Id(copy.from), access);
    let mut new = vec![inst(Op::Variable, Some(copy.ty), Some(copy.object), smallvec![class])];
    if leaves.is_some() {
        let value = func.fresh_of(pointee);
        new.push(inst(Op::Load, Some(pointee), Some(value), smallvec![from, mask, align]));
        new.push(inst(Op::Store, None, None, smallvec![object, Operand::Id(value), mask, align]));
    } else {
        new.push(inst(Op::CopyMemory, None, None, smallvec![object, from, mask, align]));
    }
    func.types.insert(copy.object, copy.ty);
    func.blocks[copy.at].insts.extend(new);
}
