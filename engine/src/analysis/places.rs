//! Pointers into private objects that a phi or a selection chooses: which element is chosen then, not which address.
//!
//! Compilers store once behind two branches that would store to different elements of an array, through a phi of their addresses, and load
//! once from a selection of two. A private object whose address is chosen has lost it, for all that the layout of private memory
//! knows (`private`): it is no rows of lanes any more, and each access goes from lane to lane. Two chains of the same steps that differ
//! in an index are one chain behind the choice, of the index.

use super::func::{Func, Phi};
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use spirv::{Op, StorageClass};
use spirv_env::opcodes::Derives;
use spirv_env::{Id, Inst, Operand};

/// Chains into private objects, by their results.
type Chains = FxHashMap<Id, Inst>;

/// Has chains behind phis and selections choose their indices.
pub fn choose_indices(func: &mut Func<'_>) {
    let is_chain = |inst: &&Inst| {
        matches!(inst.row().derives, Derives::Chain | Derives::ElementChain) && is_private(func, inst.result)
    };
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    let mut chains: Chains =
        insts.filter(is_chain).filter_map(|inst| Some((inst.result?, inst.clone()))).collect();
    if chains.is_empty() {
        return;
    }
    for block in func.block_ids() {
        let phis = std::mem::take(&mut func.blocks[block].phis);
        let (mut kept, mut made) = (Vec::new(), Vec::new());
        for phi in phis {
            let incoming: SmallVec<[Id; 2]> = phi.incoming.iter().map(|(_, id)| *id).collect();
            let choose = |func: &mut Func<'_>, ids: &[Id]| {
                let (result, ty) = (func.fresh(), func.type_of(ids[0])?);
                func.types.insert(result, ty);
                let from = phi.incoming.iter().zip(ids).map(|((pred, _), id)| (*pred, *id));
                kept.push(Phi { result, ty, incoming: from.collect() });
                Some(result)
            };
            match chosen(func, &chains, phi.result, &incoming, choose) {
                Some(chain) => {
                    chains.insert(phi.result, chain.clone());
                    made.push(chain);
                }
                None => kept.push(phi),
            }
        }
        for inst in std::mem::take(&mut func.blocks[block].insts) {
            let selection = (inst.op == Op::Select).then_some(inst.result).flatten();
            let Some(result) = selection else {
                made.push(inst);
                continue;
            };
            let mut indices = Vec::new();
            let choose = |func: &mut Func<'_>, ids: &[Id]| {
                let (result, ty) = (func.fresh(), func.type_of(ids[0])?);
                func.types.insert(result, ty);
                let operands = smallvec![inst.operands[0], Operand::Id(ids[0]), Operand::Id(ids[1])];
                indices.push(Inst {
                    op: Op::Select,
                    ty: Some(ty),
                    result: Some(result),
                    operands,
                    line: inst.line,
                });
                Some(result)
            };
            match chosen(func, &chains, result, &[inst.id(1), inst.id(2)], choose) {
                Some(chain) => {
                    made.append(&mut indices);
                    chains.insert(result, chain.clone());
                    made.push(chain);
                }
                None => made.push(inst),
            }
        }
        let block = &mut func.blocks[block];
        (block.phis, block.insts) = (kept, made);
    }
}

fn is_private(func: &Func<'_>, pointer: Option<Id>) -> bool {
    pointer.and_then(|pointer| func.class_of(pointer)) == Some(StorageClass::Function)
}

/// The chain that a choice of these pointers is: of the same steps, with a choice of indices where theirs differ.
fn chosen<'m>(
    func: &mut Func<'m>,
    chains: &Chains,
    result: Id,
    pointers: &[Id],
    mut choose: impl FnMut(&mut Func<'m>, &[Id]) -> Option<Id>,
) -> Option<Inst> {
    let all: SmallVec<[&Inst; 2]> = pointers.iter().map(|id| chains.get(id)).collect::<Option<_>>()?;
    let like = *all.first()?;
    let is_alike = |inst: &&Inst| {
        (inst.op, inst.ty, inst.operands.len(), inst.id(0))
            == (like.op, like.ty, like.operands.len(), like.id(0))
    };
    if func.type_of(result) != like.ty || !all.iter().all(is_alike) {
        return None;
    }
    let index = |inst: &Inst, at: usize| match inst.operands[at] {
        Operand::Id(id) => Some(id),
        Operand::Lit(_) => None,
    };
    // All or nothing: what is chosen has types of the same.
    let columns = (1..like.operands.len()).map(|at| {
        let ids = all.iter().map(|inst| index(inst, at)).collect::<Option<SmallVec<[Id; 2]>>>()?;
        let ty = func.type_of(ids[0])?;
        ids.iter().all(|id| func.type_of(*id) == Some(ty)).then_some(ids)
    });
    let columns = columns.collect::<Option<SmallVec<[_; 4]>>>()?;
    let is_one = |ids: &SmallVec<[Id; 2]>| ids.iter().all(|id| *id == ids[0]);
    // Nothing chooses a member of a structure but a constant.
    if func.member_operands(like).into_iter().any(|at| !is_one(&columns[at - 1])) {
        return None;
    }
    let mut operands: SmallVec<_> = smallvec![like.operands[0]];
    for ids in columns {
        let one = match is_one(&ids) {
            true => ids[0],
            false => choose(func, &ids)?,
        };
        operands.push(Operand::Id(one));
    }
    Some(Inst { result: Some(result), operands, ..like.clone() })
}

#[cfg(test)]
mod tests;
