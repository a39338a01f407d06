//! Loads beside what has been loaded: the next letter of a text, the other side of a difference. Their lines are in the cache.

use super::Analysis;
use super::func::BlockId;
use super::members::{Extension, address};
use spirv::Op;
use spirv_env::Id;

/// Bytes of a line of the cache.
const LINE: u64 = 64;
/// Dominating blocks that are looked at.
const MOST_BLOCKS: usize = 8;

impl Analysis<'_> {
    /// Whether every lane that comes to a block has loaded, in blocks before, from where a pointer leads to or from less than a line beside it.
    pub fn is_beside_what_is_loaded(&self, at: BlockId, pointer: Id) -> bool {
        let own = address(self, pointer, Extension::Any);
        let is_beside = |other: Id| {
            let other = address(self, other, Extension::Any);
            other.root == own.root
                && other.scaled == own.scaled
                && other.constant.abs_diff(own.constant) < LINE
        };
        let above = |block: &BlockId| Some(self.doms.idom(*block)).filter(|above| above != block);
        std::iter::successors(above(&at), above)
            .take(MOST_BLOCKS)
            .flat_map(|block| &self.func.blocks[block].insts)
            .any(|inst| {
                inst.op == Op::Load && !self.builtins.contains_key(&inst.id(0)) && is_beside(inst.id(0))
            })
    }
}
