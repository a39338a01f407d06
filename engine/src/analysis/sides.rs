//! Indices of one side of butterflies, as `2 * l - (l & (stride - 1))`, and addresses made of them.
//!
//! Networks that sort, and transforms, load both sides and then, as they compare, store to them or do not: in a block of its own. What an
//! address is made of is known in the block that makes it (`lower::memory::indexed`), so such an address is made once more in the block
//! behind a branch which accesses memory by it. It is the index that lives from block to block then, in half as many bits.

use super::cfg::Cfg;
use super::func::{BlockId, Func};
use rustc_hash::FxHashMap;
use spirv::Op;
use spirv_env::opcodes::Derives;
use spirv_env::{Id, Inst, Operand};

/// How deep an index is looked into for what takes its low bits.
const DEPTH: u32 = 5;

/// Whether an index may be one of a side: something takes the low bits of what it is made of.
pub fn may_be_of_side<'i>(index: Id, definition: &impl Fn(Id) -> Option<&'i Inst>) -> bool {
    fn within<'i>(index: Id, definition: &impl Fn(Id) -> Option<&'i Inst>, depth: u32) -> bool {
        let Some(inst) = definition(index).filter(|_| depth > 0) else { return false };
        let of = |at: usize| within(inst.id(at), definition, depth - 1);
        match inst.op {
            _ if takes_low_bits(inst) => true,
            Op::IAdd | Op::ISub | Op::BitwiseOr => of(0) || of(1),
            Op::UConvert | Op::SConvert | Op::CopyObject => of(0),
            _ => false,
        }
    }
    within(index, definition, DEPTH)
}

/// An address, and the instructions that make it, in their order.
struct Address {
    pointer: Id,
    insts: Vec<Inst>,
}

/// Makes addresses of sides where they are used.
pub fn make_where_used(func: &mut Func<'_>) {
    if func.blocks.len() == 1 || !func.blocks.values().flat_map(|block| &block.insts).any(takes_low_bits) {
        return;
    }
    let cfg = Cfg::new(func);
    let made: Vec<(BlockId, Vec<Address>)> = {
        let mut definitions: FxHashMap<Id, (BlockId, &Inst)> = FxHashMap::default();
        for (block, code) in &func.blocks {
            definitions.extend(code.insts.iter().filter_map(|inst| Some((inst.result?, (block, inst)))));
        }
        let behind = |block: BlockId| match cfg.preds[block][..] {
            [before] => Some(addresses(func, &definitions, block, before)),
            _ => None,
        };
        let all = func.block_ids().filter_map(|block| Some((block, behind(block)?)));
        all.filter(|(_, addresses)| !addresses.is_empty()).collect()
    };
    for (block, addresses) in made {
        let mut new: FxHashMap<Id, Id> = FxHashMap::default();
        let mut insts = Vec::new();
        for inst in addresses.iter().flat_map(|address| &address.insts) {
            let copy = func.copied(inst, |id| new.get(&id).copied().unwrap_or(id));
            new.extend(inst.result.zip(copy.result));
            insts.push(copy);
        }
        let code = &mut func.blocks[block];
        for access in code.insts.iter_mut().filter(|inst| is_access(inst)) {
            let pointer = access.id(0);
            let place = access.operands.iter_mut().find(|operand| **operand == Operand::Id(pointer));
            if let (Some(place), Some(copy)) = (place, new.get(&pointer)) {
                *place = Operand::Id(*copy);
            }
        }
        code.insts.splice(0..0, insts);
    }
}

fn takes_low_bits(inst: &Inst) -> bool {
    matches!(inst.op, Op::BitwiseAnd | Op::UMod | Op::SRem | Op::SMod)
}

fn is_access(inst: &Inst) -> bool {
    matches!(inst.op, Op::Load | Op::Store)
}

/// The addresses of sides that a block uses and the one before it makes.
fn addresses(
    func: &Func<'_>,
    definitions: &FxHashMap<Id, (BlockId, &Inst)>,
    block: BlockId,
    before: BlockId,
) -> Vec<Address> {
    let definition = |id: Id| definitions.get(&id).map(|(_, inst)| *inst);
    let made_before =
        |id: Id| definitions.get(&id).filter(|(block, _)| *block == before).map(|(_, inst)| *inst);
    let mut all: Vec<Address> = Vec::new();
    for access in func.blocks[block].insts.iter().filter(|inst| is_access(inst)) {
        let pointer = access.id(0);
        let is_chain = |inst: &&Inst| matches!(inst.row().derives, Derives::Chain | Derives::ElementChain);
        let Some(chain) = made_before(pointer).filter(is_chain) else { continue };
        let mut indices = chain.ids().skip(1);
        if all.iter().any(|known| known.pointer == pointer)
            || !indices.any(|index| may_be_of_side(index, &definition))
        {
            continue;
        }
        let widens = |inst: &&Inst| matches!(inst.op, Op::SConvert | Op::UConvert) && !func.saturates(inst);
        // What all lanes add to an index is told apart from it where that is made.
        let adds = |inst: &&Inst| inst.op == Op::IAdd && inst.ids().any(|of| made_before(of).is_none());
        let mut insts: Vec<Inst> = Vec::new();
        for index in chain.ids().skip(1) {
            let widened = made_before(index).filter(widens);
            let sum = made_before(widened.map_or(index, |inst| inst.id(0))).filter(adds);
            for inst in sum.into_iter().chain(widened) {
                if insts.iter().all(|known| known.result != inst.result) {
                    insts.push(inst.clone());
                }
            }
        }
        insts.push(chain.clone());
        all.push(Address { pointer, insts });
    }
    all
}

#[cfg(test)]
mod tests;
