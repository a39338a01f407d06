//! Values that all ways to a block compute alike are computed in it.
//!
//! Compilers move what two branches have in common into both, or leave it there, and join the results by a phi (partial redundancy
//! elimination). Behind a branch that lanes take differently, nothing would be known of such a value: no stride, and so no row of memory.
//! Two values are taken for the same if the same instructions make them of the same operands, which is value numbering (Alpern, Wegman and
//! Zadeck, POPL 1988) along the operands of a phi only.

use super::func::{Func, Phi};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::{Decoration, Op, StorageClass};
use spirv_env::{Id, Inst, Operand};
use std::collections::VecDeque;

/// Instructions that are computed again in front of a block's own for one of its phis, at most.
const MOST_INSTS: usize = 8;
/// Phis of a block that are compared with each other, at most, and ways to it.
const MOST_COMPARED: usize = 64;
const MOST_WAYS: usize = 16;

/// Instructions that may be computed elsewhere, by their results.
pub(super) type Plain = FxHashMap<Id, Inst>;

/// What depends on nothing but its operands; conversions are looked at.
const PLAIN: [Op; 23] = [
    Op::SConvert,
    Op::UConvert,
    Op::IAdd,
    Op::ISub,
    Op::IMul,
    Op::SNegate,
    Op::Not,
    Op::ShiftLeftLogical,
    Op::ShiftRightLogical,
    Op::ShiftRightArithmetic,
    Op::BitwiseAnd,
    Op::BitwiseOr,
    Op::BitwiseXor,
    Op::Bitcast,
    Op::CompositeExtract,
    Op::AccessChain,
    Op::InBoundsAccessChain,
    Op::PtrAccessChain,
    Op::InBoundsPtrAccessChain,
    Op::CopyObject,
    Op::LogicalAnd,
    Op::LogicalOr,
    Op::LogicalNot,
];

/// Comparisons of integers, which may be, too.
pub(super) const COMPARISONS: [Op; 10] = [
    Op::IEqual,
    Op::INotEqual,
    Op::ULessThan,
    Op::ULessThanEqual,
    Op::UGreaterThan,
    Op::UGreaterThanEqual,
    Op::SLessThan,
    Op::SLessThanEqual,
    Op::SGreaterThan,
    Op::SGreaterThanEqual,
];

/// Replaces phis whose operands are the same by what makes them.
pub fn compute_behind(func: &mut Func<'_>) {
    if func.blocks.values().all(|block| block.phis.is_empty()) {
        return;
    }
    let plain = plain_insts(func);
    for block in func.block_ids() {
        let phis = std::mem::take(&mut func.blocks[block].phis);
        let (mut kept, mut made) = (Vec::new(), Vec::new());
        for phi in phis {
            match computed(func, &plain, &phi) {
                Some(insts) => made.extend(insts),
                None => kept.push(phi),
            }
        }
        made.extend(widened_behind(&plain, &mut kept));
        let block = &mut func.blocks[block];
        block.phis = kept;
        block.insts.splice(0..0, made);
    }
}

/// Takes away phis of what is widened before where there is one of the same numbers as they are, and returns what widens that: compilers
/// keep an index and what an address takes of it.
fn widened_behind(plain: &Plain, phis: &mut Vec<Phi>) -> VecDeque<Inst> {
    let mut made = VecDeque::new();
    let mut at = 0;
    while at < phis.len() && phis.len() <= MOST_COMPARED {
        let phi = &phis[at];
        let ways = if phi.incoming.len() > MOST_WAYS { &[] } else { phi.incoming.as_slice() };
        let widened = ways.iter().map(|(pred, id)| Some((*pred, plain.get(id)?)));
        let narrow = widened.collect::<Option<SmallVec<[_; 4]>>>().and_then(|widened| {
            let (_, first) = *widened.first()?;
            let is_alike =
                |inst: &Inst| inst.op == first.op && matches!(inst.op, Op::SConvert | Op::UConvert);
            let brings = |of: &Phi| widened.iter().all(|(pred, inst)| of.from(*pred) == Some(inst.id(0)));
            let of = phis.iter().find(|of| of.result != phi.result && brings(of))?;
            widened.iter().all(|(_, inst)| is_alike(inst)).then_some((first.op, of.result))
        });
        let Some((op, of)) = narrow else {
            at += 1;
            continue;
        };
        let phi = phis.remove(at);
        let operands = SmallVec::from_iter([Operand::Id(of)]);
        // Of two in a row, the one that is found later is in front.
        made.push_front(Inst { op, ty: Some(phi.ty), result: Some(phi.result), operands, line: None });
    }
    made
}

/// The instructions that may be computed elsewhere, by their results. Built-ins are the same wherever they are read.
pub(super) fn plain_insts(func: &Func<'_>) -> Plain {
    let is_plain = |inst: &&Inst| match inst.op {
        Op::Load => func.class_of(inst.id(0)) == Some(StorageClass::Input),
        Op::SConvert | Op::UConvert => {
            inst.result.is_some_and(|id| func.decoration(id, Decoration::SaturatedConversion).is_none())
        }
        op => PLAIN.contains(&op) || COMPARISONS.contains(&op),
    };
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    insts.filter(is_plain).filter_map(|inst| Some((inst.result?, inst.clone()))).collect()
}

/// The instructions that compute a phi's result, if the same is handed on to it by all blocks before.
fn computed(func: &mut Func<'_>, plain: &Plain, phi: &Phi) -> Option<Vec<Inst>> {
    let own = |id: &Id| *id != phi.result;
    let incoming: SmallVec<[Id; 4]> = phi.incoming.iter().map(|(_, id)| *id).filter(own).collect();
    let first = *incoming.first()?;
    if incoming.iter().all(|id| *id == first) {
        let operands = SmallVec::from_iter([Operand::Id(first)]);
        let copy =
            Inst { op: Op::CopyObject, ty: Some(phi.ty), result: Some(phi.result), operands, line: None };
        return Some(vec![copy]);
    }
    let mut made = Vec::new();
    computed_as(func, plain, &incoming, Some(phi.result), &mut made).map(|_| made)
}

/// A value that is the same as each of these where they all lead, and what makes it.
pub(super) fn same(func: &mut Func<'_>, plain: &Plain, values: &[Id], made: &mut Vec<Inst>) -> Option<Id> {
    computed_as(func, plain, values, None, made)
}

/// A value that is the same as each of these, and what makes it: the one that all are, or a new one. What they are all made of is there in
/// every block that they lead to, for it is in front of each of them.
fn computed_as(
    func: &mut Func<'_>,
    plain: &Plain,
    values: &[Id],
    result: Option<Id>,
    made: &mut Vec<Inst>,
) -> Option<Id> {
    let first = *values.first()?;
    if result.is_none() && values.iter().all(|value| *value == first) {
        return Some(first);
    }
    let insts: SmallVec<[&Inst; 4]> = values.iter().map(|value| plain.get(value)).collect::<Option<_>>()?;
    let like = insts[0];
    let is_alike =
        |inst: &&Inst| (inst.op, inst.ty, inst.operands.len()) == (like.op, like.ty, like.operands.len());
    if made.len() >= MOST_INSTS || !insts.iter().all(is_alike) {
        return None;
    }
    let mut operands = SmallVec::new();
    for (at, operand) in like.operands.iter().enumerate() {
        operands.push(match operand {
            Operand::Lit(_) => insts.iter().all(|inst| inst.operands[at] == *operand).then_some(*operand)?,
            Operand::Id(_) => {
                let values = insts.iter().map(|inst| match inst.operands[at] {
                    Operand::Id(id) => Some(id),
                    Operand::Lit(_) => None,
                });
                let values = values.collect::<Option<SmallVec<[Id; 4]>>>()?;
                Operand::Id(computed_as(func, plain, &values, None, made)?)
            }
        });
    }
    let result = result.unwrap_or_else(|| func.fresh());
    func.types.extend(like.ty.map(|ty| (result, ty)));
    made.push(Inst { result: Some(result), operands, ..like.clone() });
    Some(result)
}

#[cfg(test)]
mod tests;
