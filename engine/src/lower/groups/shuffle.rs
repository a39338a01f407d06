//! Sub-group shuffles, broadcasts and block access: values that move between lanes.

use super::lanes::Indices;
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use crate::lower::Lowerer;
use crate::lower::builder::{Builder, Value};
use crate::lower::values::{Mask, Reg, Val};
use spirv::Op;
use spirv_env::{Id, Inst};

pub fn lower(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    let id = |at: usize| inst.id(at);
    match inst.op {
        Op::GroupNonUniformBroadcast => broadcast(this, id(1), id(2)),
        Op::SubgroupReadInvocationKHR => broadcast(this, id(0), id(1)),
        Op::GroupNonUniformBroadcastFirst => broadcast_first(this, id(1)),
        Op::SubgroupFirstInvocationKHR => broadcast_first(this, id(0)),
        Op::GroupNonUniformShuffle => move_lanes(this, id(1), id(2), Motion::To),
        Op::GroupNonUniformShuffleXor => move_lanes(this, id(1), id(2), Motion::Xor),
        Op::GroupNonUniformShuffleUp => move_lanes(this, id(1), id(2), Motion::Up),
        Op::GroupNonUniformShuffleDown => move_lanes(this, id(1), id(2), Motion::Down),
        Op::GroupNonUniformRotateKHR => {
            let cluster =
                inst.operands.get(3).map_or(Some(u64::from(this.w)), |_| this.a.func.constant_bits(id(3)));
            match cluster {
                Some(cluster) if cluster.is_power_of_two() => {
                    let cluster = cluster.min(u64::from(this.w)) as u32;
                    move_lanes(this, id(1), id(2), Motion::Rotate(cluster))
                }
                _ => Err(this.unsupported(
                    "OpGroupNonUniformRotateKHR with a cluster size that is no power of two".into(),
                )),
            }
        }
        Op::SubgroupShuffleINTEL => move_lanes(this, id(0), id(1), Motion::To),
        Op::SubgroupShuffleXorINTEL => move_lanes(this, id(0), id(1), Motion::Xor),
        // Lane numbers from W on, and below 0, which is the same modulo 2 W, are lanes of the other operand.
        Op::SubgroupShuffleDownINTEL => move_between(this, id(0), id(1), id(2), Motion::Down),
        Op::SubgroupShuffleUpINTEL => move_between(this, id(1), id(0), id(2), Motion::Up),
        Op::SubgroupBlockReadINTEL => return block_read(this, inst).map(Some),
        Op::SubgroupBlockWriteINTEL => return block_write(this, inst).map(|()| None),
        _ => return Err(this.no_lowering(inst)),
    }
    .map(Some)
}

/// The value of one lane in all lanes.
fn broadcast(this: &mut Lowerer<'_, '_>, value: Id, lane: Id) -> Result<Val, EngineError> {
    let lane = this.leaf(lane)?;
    let lane = this.same_i32(lane);
    broadcast_lane(this, value, lane)
}

/// The value of the lane with this number, a 32-bit scalar.
pub fn broadcast_lane(this: &mut Lowerer<'_, '_>, value: Id, lane: Value) -> Result<Val, EngineError> {
    let is_made_before = is_made_before_loop(this, value);
    let one = |this: &Lowerer<'_, '_>, reg: Reg| match reg.is_uniform() {
        true => reg,
        false if is_made_before => Reg::uniform(this.pick_again(this.vector(reg), lane)),
        false => Reg::uniform(this.pick(this.vector(reg), lane)),
    };
    Ok(this.value(value)?.into_iter().map(|reg| one(this, reg)).collect())
}

/// Whether the loop that is being lowered uses a value that it does not make.
fn is_made_before_loop(this: &Lowerer<'_, '_>, value: Id) -> bool {
    let loops = &this.a.loops;
    let inside = loops.of(this.current_block());
    inside.is_some() && this.a.def.get(&value).is_some_and(|def| !loops.encloses(inside, loops.of(*def)))
}

fn broadcast_first(this: &mut Lowerer<'_, '_>, value: Id) -> Result<Val, EngineError> {
    Ok(this.value(value)?.into_iter().map(|reg| Reg::uniform(this.same(reg))).collect())
}

/// From which lane a lane takes its value, given the instruction's last operand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Motion {
    /// The operand is the lane.
    To,
    Xor,
    Up,
    Down,
    /// Down and around, within clusters of this many lanes.
    Rotate(u32),
}

impl Motion {
    fn source(self, lane: u32, operand: u32) -> u32 {
        match self {
            Motion::To => operand,
            Motion::Xor => lane ^ operand,
            Motion::Up => lane.wrapping_sub(operand),
            Motion::Down => lane.wrapping_add(operand),
            Motion::Rotate(cluster) => (lane & !(cluster - 1)) | (lane.wrapping_add(operand) & (cluster - 1)),
        }
    }

    fn sources(self, b: &Builder, operand: Value) -> Value {
        let w = b.lanes(operand);
        let lane = if w == 1 { b.i32(0) } else { b.lane_numbers(Scalar::I32) };
        let all = |bits: u32| b.int(Scalar::I32, w, u64::from(bits));
        match self {
            Motion::To => operand,
            Motion::Xor => b.xor(lane, operand),
            Motion::Up => b.sub(lane, operand),
            Motion::Down => b.add(lane, operand),
            Motion::Rotate(cluster) => {
                let within = b.and(b.add(lane, operand), all(cluster - 1));
                b.or(within, b.and(lane, all(!(cluster - 1))))
            }
        }
    }
}

/// The source lanes modulo `modulus`, a power of two.
fn indices(
    this: &mut Lowerer<'_, '_>,
    operand: Id,
    motion: Motion,
    modulus: u32,
) -> Result<Indices, EngineError> {
    if let Some(operand) = this.a.func.constant_bits(operand) {
        let source = |lane: u32| (motion.source(lane, operand as u32) & (modulus - 1)) as i32;
        return Ok(Indices::Constant((0..this.w).map(source).collect()));
    }
    let reg = this.leaf(operand)?;
    let operand = this.b.zext_or_trunc(this.vector(reg), Scalar::I32);
    Ok(Indices::Vector(motion.sources(&this.b, operand)))
}

fn move_lanes(
    this: &mut Lowerer<'_, '_>,
    value: Id,
    operand: Id,
    motion: Motion,
) -> Result<Val, EngineError> {
    // A lane that all agree on is a broadcast.
    if motion == Motion::To && this.leaf(operand)?.is_uniform() {
        return broadcast(this, value, operand);
    }
    let indices = indices(this, operand, motion, this.w)?;
    let one = |this: &Lowerer<'_, '_>, reg: Reg| {
        if reg.is_uniform() {
            return reg;
        }
        let vector = this.vector(reg);
        this.lanes(match &indices {
            Indices::Constant(_) => this.permute_two(vector, vector, &indices),
            Indices::Vector(indices) => this.permute(vector, *indices),
        })
    };
    Ok(this.value(value)?.into_iter().map(|reg| one(this, reg)).collect())
}

fn move_between(
    this: &mut Lowerer<'_, '_>,
    first: Id,
    second: Id,
    operand: Id,
    motion: Motion,
) -> Result<Val, EngineError> {
    let indices = indices(this, operand, motion, 2 * this.w)?;
    let (first, second) = (this.value(first)?, this.value(second)?);
    let one = |first: &Reg, second: Reg| {
        this.lanes(this.permute_two(this.vector(*first), this.vector(second), &indices))
    };
    Ok(first.iter().zip(second).map(|(first, second)| one(first, second)).collect())
}

/// Component `c` of lane `l` is element `c * W + l` behind a pointer that all lanes share.
fn block_read(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Val, EngineError> {
    let pointer = this.leaf(inst.id(0))?;
    let base = this.same(pointer);
    let leaves = this.leaves(inst.ty.expect("a block read has a type"))?;
    Ok(leaves
        .iter()
        .enumerate()
        .map(|(component, leaf)| {
            let (scalar, align) = (leaf.scalar, leaf.scalar.bytes());
            let address = this.b.offset_const(base, component as u64 * u64::from(this.w) * align);
            this.lanes(match this.mask() {
                Mask::Lanes(mask) if this.w > 1 => this.b.masked_load(scalar, this.w, address, align, mask),
                _ => this.b.load(scalar, this.w, address, align),
            })
        })
        .collect())
}

fn block_write(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<(), EngineError> {
    let pointer = this.leaf(inst.id(0))?;
    let base = this.same(pointer);
    for (component, reg) in this.value(inst.id(1))?.into_iter().enumerate() {
        let vector = this.vector(reg);
        let align = this.b.scalar_of(vector).bytes();
        let address = this.b.offset_const(base, component as u64 * u64::from(this.w) * align);
        match this.mask() {
            Mask::Lanes(mask) if this.w > 1 => this.b.masked_store(vector, address, align, mask),
            _ => this.b.store(vector, address, align),
        }
    }
    Ok(())
}
