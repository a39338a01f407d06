//! The choice of a width: how many lanes a sub-group has where the kernel cannot tell.
//!
//! The natural width is that of a register's 32-bit elements, which bytes and halves leave mostly empty: a sub-group of 16 compares 16 bytes in
//! a register that has room for 64. Where most of what a kernel does is done to small values, more lanes take as many instructions.
//! Values of 32 bits among those are several registers then, as in a bundle of as many sub-groups, which small values would have, too.

use super::choice::{SHARED_REGISTERS, extent, pressure_at, registers_of};
use crate::analysis::Analysis;
use crate::analysis::func::BlockId;
use crate::analysis::shapes::Shape;
use crate::jit::target::Target;
use spirv_env::opcodes::{Derives, Memory};
use spirv_env::{Id, Inst};

/// Wider sub-groups take no more than so many quarters of the instructions for each lane.
const WORTH: u64 = 3;
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
/// Bits of a lane that are compared to see that an access is a row, and for each of the instructions that do so.
const COMPARED: u64 = 3 * 32 * ONE;
/// Iterations of a loop, where nobody knows.
const ITERATIONS: u64 = 8;
/// Nested loops that are counted.
const MOST_LOOPS: usize = 4;

/// The lanes that serve a kernel best, up to the variant's widest.
pub fn best(a: &Analysis<'_>, target: &Target) -> u32 {
    let natural = a.variant.width;
    // Lanes that are through with a loop wait for the others: more of them the wider a sub-group is. Packed vectors have no room left.
    if !a.control.divergent_loops.is_empty() || !a.packed().is_empty() {
        return natural;
    }
    let simd_bits = target.simd_bits();
    let cost = |width: u32| {
        let of_block = |block: BlockId| {
            // Whether any of a few lanes is on is seldom in some iterations of a loop, and often for more lanes.
            let (width, times) = match is_seldom(a, block) {
                true => (natural, times(a, block) * u64::from(width / natural)),
                false => (width, times(a, block)),
            };
            insts_of(a, block, simd_bits, width) * times
        };
        // For as many lanes as the widest has.
        a.func.block_ids().map(of_block).sum::<u64>() * u64::from(a.variant.widest() / width)
    };
    let has_room =
        |width: u32| pressure_at(a, simd_bits, width) + SHARED_REGISTERS <= target.vector_registers();
    let wider = std::iter::successors(Some(2 * natural), |width| Some(2 * width));
    let wider = wider.take_while(|width| *width <= a.variant.widest() && has_room(*width));
    wider
        .fold((natural, cost(natural)), |(best, least), width| {
            let cost = cost(width);
            if cost * 4 <= least * WORTH { (width, cost) } else { (best, least) }
        })
        .0
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

/// The instructions of the CPU that a sub-group takes for a block, those aside that are for all lanes together.
fn insts_of(a: &Analysis<'_>, block: BlockId, simd_bits: u32, width: u32) -> u64 {
    let of_inst = |inst: &Inst| insts(a, block, inst, simd_bits, width);
    a.func.blocks[block].insts.iter().map(of_inst).sum()
}

fn insts(a: &Analysis<'_>, block: BlockId, inst: &Inst, simd_bits: u32, width: u32) -> u64 {
    let registers = |id: Id| ONE * registers_of(a, id, simd_bits, width) as u64;
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
            let widest = operands.map(registers).fold(registers(result), u64::max);
            extent(a, inst).0 as u64 * widest
        }
    }
}

#[cfg(test)]
mod tests;
