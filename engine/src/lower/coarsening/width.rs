//! The choice of a width: how many lanes a sub-group has where the kernel cannot tell.
//!
//! The natural width is that of a register's 32-bit elements, which bytes and halves leave mostly empty: a sub-group of 16 compares 16 bytes in
//! a register that has room for 64. Where most of what a kernel does is done to small values, more lanes take as many instructions.
//! Values of 32 bits among those are several registers then, as in a bundle of as many sub-groups, which small values would have, too.

use super::choice::{SHARED_REGISTERS, extent, pressure_at, registers_of};
use crate::analysis::Analysis;
use crate::analysis::func::BlockId;
use crate::analysis::loops::{ITERATIONS, MOST_LOOPS};
use crate::analysis::shapes::{Shape, Trust};
use crate::jit::target::Target;
use spirv_env::opcodes::{Derives, Memory};
use spirv_env::{Id, Inst};

/// Wider sub-groups take no more than so many hundredths of the instructions for each lane, and still wider ones of those.
const WORTH: u64 = 75;
const WORTH_MORE: u64 = 90;
/// The same of those whose words fill a line of the cache, where the natural ones fill half of it.
const WORTH_OF_A_LINE: u64 = 100;
/// Of the time of an instruction, the parts that it takes to begin it and for each piece of a data path's bits.
const TO_BEGIN: u64 = 2;
const FOR_A_PIECE: u64 = 3;
/// What an instruction counts: parts of it are counted, too.
const ONE: u64 = 64;
/// What lanes access each for itself costs as much as so many instructions.
const A_LANE: u64 = 2 * ONE;
/// The same of an atomic operation, and of an access to an image.
const A_SLOW_LANE: u64 = 8 * ONE;
/// Elements with gaps between them, and vectors, are loaded whole and taken apart, with as many instructions for each register.
const SPACED: u64 = 3 * ONE;
/// Elements at most from one lane to the next of such an access.
const GAP: u64 = 4;
/// Parts of an instruction that one which is the same for all lanes costs each sub-group, where lanes may be a line: what fewer of those do less often.
const UNIFORM: u64 = ONE / 2;
/// What it costs to make one mask of two registers' comparisons, and to make those of it again.
const OF_TWO_MASKS: u64 = 2 * ONE;
/// Where lanes are a line, what they access each for itself and numbers of 64 bits, which are a line without that, cost so many hundredths more.
const CROWDED: u64 = 15;
/// Elements of a structure that is taken apart, at most.
const MOST_MEMBERS: u64 = 8;
/// Bits of a lane that are compared to see that an access is a row, and for each of the instructions that do so.
const COMPARED: u64 = 3 * 32 * ONE;
/// Lanes of all accesses that have code for each of them, at most, with all sub-groups of a bundle: more than that is no loop that a CPU keeps
/// decoded.
const MOST_LANES: u64 = 512;

/// The lanes that serve a kernel best, up to the variant's widest.
pub fn best(a: &Analysis<'_>, target: &Target) -> u32 {
    let natural = a.variant.width;
    // Lanes that are through with a loop wait for the others: more of them the wider a sub-group is. Packed vectors have no room left.
    if a.control.divergent_loops.iter().any(|id| !a.is_grid_stride(id)) || !a.packed().is_empty() {
        return natural;
    }
    let line = target.lanes_of_a_line();
    let costs = Costs::of(a, target);
    let cost = |width: u32| {
        let of_block = |block: BlockId| {
            // Whether any of a few lanes is on is seldom in some iterations of a loop, and often for more lanes.
            let (width, times) = match is_seldom(a, block) {
                true => (natural, times(a, block) * u64::from(width / natural)),
                false => (width, times(a, block)),
            };
            costs.of_block(block, width) * times
        };
        // For as many lanes as the widest has.
        a.func.block_ids().map(of_block).sum::<u64>() * u64::from(a.variant.widest() / width)
    };
    let (lane_by_lane, structure) = (lane_by_lane(a), largest_structure(a));
    let has_room = |width: u32| {
        // What structures are taken apart to needs as many registers again.
        let of_structure = structure * u64::from(width * u8::BITS) / u64::from(costs.simd_bits);
        pressure_at(a, costs.simd_bits, width) + SHARED_REGISTERS <= target.vector_registers()
            && a.variant.ids.rows.have_room_for(width)
            && 2 * of_structure <= target.vector_registers() as u64
            && lane_by_lane * u64::from(width) <= MOST_LANES
    };
    let wider = std::iter::successors(Some(2 * natural), |width| Some(2 * width));
    let wider = wider.take_while(|width| *width <= a.variant.widest() && has_room(*width));
    wider
        .fold((natural, cost(natural)), |(best, least), width| {
            let cost = cost(width);
            let worth = match best == natural {
                _ if line == Some(width) => WORTH_OF_A_LINE,
                true => WORTH,
                false => WORTH_MORE,
            };
            if cost * 100 <= least * worth { (width, cost) } else { (best, least) }
        })
        .0
}

/// Sub-groups of more lanes than is natural that a bundle may have of a kernel.
pub(super) fn most_subgroups(a: &Analysis<'_>, target: &Target) -> u32 {
    let lanes = lane_by_lane(a) * u64::from(a.variant.width);
    match a.variant.width > target.natural_width() && lanes > 0 {
        true => (MOST_LANES / lanes).max(1) as u32,
        false => u32::MAX,
    }
}

/// Bytes of the largest structures that vectors are taken apart to, one a lane.
fn largest_structure(a: &Analysis<'_>) -> u64 {
    let of_inst = |block: BlockId, inst: &Inst| {
        let is_access = matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. });
        let pointer = Some(inst).filter(|_| is_access)?.id(0);
        let [Shape::Strided(step)] = *a.shape(block, pointer) else { return None };
        let (step, bytes) = (step.unsigned_abs(), a.func.pointee_bytes(pointer)?);
        (step <= MOST_MEMBERS * bytes).then_some(step)
    };
    let of_block =
        |block| a.func.blocks[block].insts.iter().filter_map(move |inst| of_inst(block, inst)).max();
    a.func.block_ids().filter_map(of_block).max().unwrap_or(0)
}

/// Accesses to memory that are made lane by lane, or may have to be.
fn lane_by_lane(a: &Analysis<'_>) -> u64 {
    let is_known = |block: BlockId, pointer: Id| match a.shape(block, pointer)[0] {
        Shape::Uniform => true,
        Shape::Strided(_) => matches!(a.trust(pointer), Trust::Proven | Trust::Addresses),
        Shape::Varying | Shape::Undefined => false,
    };
    let of_block = |block: BlockId| {
        let insts = a.func.blocks[block].insts.iter();
        let accesses =
            insts.filter(|inst| matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. }));
        accesses.filter(|inst| a.is_in_memory(inst.id(0)) && !is_known(block, inst.id(0))).count() as u64
    };
    a.func.block_ids().map(of_block).sum()
}

/// Whether not all lanes that are in a loop come to a block of it.
fn is_seldom(a: &Analysis<'_>, block: BlockId) -> bool {
    let class = &a.control.class;
    a.loops.of(block).is_some_and(|around| class[a.loops.loops[around].header] != class[block])
}

/// How often a block is executed, about.
fn times(a: &Analysis<'_>, block: BlockId) -> u64 {
    ITERATIONS.pow(a.loops.around(block).take(MOST_LOOPS).count() as u32)
}

/// What instructions cost a sub-group of a kernel, those aside that are for all lanes together.
struct Costs<'a, 'm> {
    a: &'a Analysis<'m>,
    simd_bits: u32,
    /// Bits that are computed at once.
    path_bits: u32,
    /// The lanes that are a line of the cache, where the natural ones are half of it.
    line: Option<u32>,
}

impl<'a, 'm> Costs<'a, 'm> {
    fn of(a: &'a Analysis<'m>, target: &Target) -> Self {
        let simd_bits = target.simd_bits();
        let halves = simd_bits == 512 && target.make.halves_registers();
        Costs {
            a,
            simd_bits,
            path_bits: if halves { simd_bits / 2 } else { simd_bits },
            line: target.lanes_of_a_line(),
        }
    }

    fn of_block(&self, block: BlockId, width: u32) -> u64 {
        let cost = |inst: &Inst| self.of_inst(block, inst, width) + self.of_line(block, inst, width);
        self.a.func.blocks[block].insts.iter().map(cost).sum()
    }

    /// What an instruction costs beside its vectors, where sub-groups of two registers are one of the choices.
    fn of_line(&self, block: BlockId, inst: &Inst, width: u32) -> u64 {
        let a = self.a;
        let Some(line) = self.line else { return 0 };
        let of_builtin = || inst.ids().next().is_some_and(|id| a.builtins.contains_key(&id));
        if inst.row().derives != Derives::Nothing || of_builtin() {
            return 0;
        }
        let is_vector = |id: Id| a.shape(block, id).contains(&Shape::Varying);
        let bits = |id: Id| {
            let leaves = a.func.type_of(id).and_then(|ty| a.leaves.get(ty));
            leaves.and_then(|leaves| leaves.iter().map(|leaf| leaf.scalar.bits()).max()).unwrap_or(0)
        };
        let accesses = matches!(inst.row().memory, Memory::Read { .. } | Memory::Write { .. });
        let value = inst.result.or_else(|| accesses.then(|| inst.id(1)));
        let is_row = |pointer: Id| matches!(*a.shape(block, pointer), [Shape::Strided(_)]);
        let moves_row = accesses && is_row(inst.id(0));
        let Some(value) = value.filter(|id| moves_row || is_vector(*id)) else { return UNIFORM };
        if width < line {
            return 0;
        }
        let of_masks = || {
            let operands = || inst.ids().filter(|id| a.def.contains_key(id) && is_vector(*id));
            let widest = operands().map(bits).max().unwrap_or(0);
            let is_mask = |bits: u32| bits == 1;
            let made = is_mask(bits(value)) && widest >= u32::BITS;
            let taken = !is_mask(bits(value)) && operands().any(|id| is_mask(bits(id)));
            if made || taken { OF_TWO_MASKS } else { 0 }
        };
        let each = accesses && !moves_row && a.is_in_memory(inst.id(0));
        let crowded = each || bits(value) > u32::BITS;
        let more = if crowded { self.of_inst(block, inst, width) * CROWDED / 100 } else { 0 };
        more + if accesses { 0 } else { of_masks() }
    }

    /// A value's registers for as many lanes, loaded or stored.
    fn moved(&self, id: Id, width: u32) -> u64 {
        ONE * registers_of(self.a, id, self.simd_bits, width) as u64
    }

    /// The same computed. Data paths are what loops wait for: code without one has as much to load and store, and to begin.
    fn computed(&self, block: BlockId, id: Id, width: u32) -> u64 {
        if self.a.loops.of(block).is_none() {
            return self.moved(id, width);
        }
        let pieces = ONE * registers_of(self.a, id, self.path_bits, width) as u64;
        (TO_BEGIN * self.moved(id, width) + FOR_A_PIECE * pieces) / (TO_BEGIN + FOR_A_PIECE)
    }

    fn of_inst(&self, block: BlockId, inst: &Inst, width: u32) -> u64 {
        let (a, simd_bits) = (self.a, self.simd_bits);
        let registers = |id: Id| self.moved(id, width);
        let lanes = u64::from(width);
        let row = inst.row();
        match row.memory {
            // Lanes with one place are one operation.
            memory if memory.is_atomic() && a.shape(block, inst.id(0))[0].is_uniform() => A_SLOW_LANE,
            memory if memory.is_of_images() || memory.is_atomic() => lanes * A_SLOW_LANE,
            Memory::Read { .. } | Memory::Write { .. } => {
                let pointer = inst.id(0);
                if a.builtins.contains_key(&pointer) {
                    return 0;
                }
                let value = inst.result.unwrap_or_else(|| inst.id(1));
                match *a.shape(block, pointer) {
                    [Shape::Uniform] => 0,
                    [Shape::Strided(step)] => {
                        let bytes = a.func.pointee_bytes(pointer).unwrap_or(1).max(1);
                        let step = step.unsigned_abs();
                        // What is put together from what is loaded, or the other way round, is as much as there is.
                        let spaced = || SPACED * step * lanes * u64::from(u8::BITS) / u64::from(simd_bits);
                        match a.func.type_of(value).map_or(0, |ty| a.leaves.count(ty)) {
                            _ if step > GAP * bytes => lanes * A_LANE,
                            1 if step == bytes => registers(value),
                            _ => spaced(),
                        }
                    }
                    // A private object of each lane's is a row.
                    _ if !a.is_in_memory(pointer) => registers(value),
                    _ if a.may_be_row(block, pointer) => {
                        registers(value) + lanes * COMPARED / u64::from(simd_bits)
                    }
                    _ => lanes * A_LANE,
                }
            }
            _ if row.derives != Derives::Nothing => 0,
            _ => {
                let is_vector = |id: &Id| a.shape(block, *id).contains(&Shape::Varying);
                let Some(result) = inst.result.filter(is_vector) else { return 0 };
                let operands = inst.ids().filter(|id| a.def.contains_key(id) && !a.builtins.contains_key(id));
                let computed = |id: Id| self.computed(block, id, width);
                let widest = operands.map(computed).fold(computed(result), u64::max);
                extent(a, inst).0 as u64 * widest
            }
        }
    }
}

#[cfg(test)]
mod tests;
