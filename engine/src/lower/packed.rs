//! Vectors of the kernel that stay as they are in memory (`analysis::packed`).
//!
//! Such a value is a few registers, each with the components of some work-items, one work-item's behind the other's. What an instruction does to a component
//! it does to all, so arithmetic is emitted by the code that emits it for lanes: while it runs, operands are read in that form
//! (`Lowerer::packing`), and scalars are repeated for each component. Who asks for a packed value elsewhere gets lanes, and who defines
//! one by lanes has it packed: which values are packed is no matter of what is right.

use super::builder::{Builder, IntPred, Value};
use super::groups::lanes::byte_permutation;
use super::values::{Reg, Val};
use super::{Lowerer, access, runs, tables};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::packed::{Choice, Packed, Packing, Source};
use crate::error::EngineError;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst};

mod memory;

pub(super) use memory::store;

/// The registers of an instruction that gives a packed value; `None` if it has to be computed by lanes.
pub(super) fn compute(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    packing: Packing,
) -> Result<Option<Val>, EngineError> {
    match this.a.packed_kind(this.current_block(), inst) {
        None | Some(Packed::Store(_) | Packed::Vote) => Ok(None),
        Some(Packed::Load) => memory::load(this, inst, packing),
        Some(Packed::ByComponent) => this.packed(Some(packing), |this| this.compute(inst)),
        Some(Packed::Insert(component)) => {
            this.packed(Some(packing), |this| insert(this, inst, component, packing)).map(Some)
        }
        Some(Packed::Shuffle(sources)) => shuffle(this, &sources, packing),
        Some(Packed::Choose(choice)) => choose(this, choice, packing),
        Some(Packed::Bitcast) => bitcast(this, inst, packing),
    }
}

/// The registers of a packed value, of which all may be the same.
fn registers(this: &Lowerer<'_, '_>, val: &Val, packing: Packing) -> Vec<Value> {
    let lanes = |register: usize| this.spread(val[register.min(val.len() - 1)], packing.lanes);
    (0..packing.registers as usize).map(lanes).collect()
}

/// A scalar put in the place of a component.
fn insert(
    this: &mut Lowerer<'_, '_>,
    inst: &Inst,
    component: u32,
    packing: Packing,
) -> Result<Val, EngineError> {
    let (scalar, vector) = (this.value(inst.id(0))?, this.value(inst.id(1))?);
    let (new, old) = (registers(this, &scalar, packing), registers(this, &vector, packing));
    let put = |(register, (new, old)): (u32, (&Value, &Value))| {
        let indices = (0..packing.lanes).map(|lane| match packing.at(register, lane).1 == component {
            true => (packing.lanes + lane) as i32,
            false => lane as i32,
        });
        Reg::varying(this.b.shuffle(*old, *new, &indices.collect::<Vec<_>>()))
    };
    Ok((0..).zip(new.iter().zip(&old)).map(put).collect())
}

/// Components of vectors in other places.
fn shuffle(
    this: &mut Lowerer<'_, '_>,
    sources: &[Option<Source>],
    packing: Packing,
) -> Result<Option<Val>, EngineError> {
    // The registers of all operands, and where those of each begin.
    let mut all: Vec<Value> = Vec::new();
    let mut operands: SmallVec<[(Id, Packing, usize); 2]> = SmallVec::new();
    for source in sources.iter().flatten() {
        if operands.iter().any(|(id, ..)| *id == source.operand) {
            continue;
        }
        let components = this.leaves_of(source.operand)?.len() as u32;
        let like = || Packing::new(components, this.w, packing.lanes);
        let form = this.packing_of(source.operand).unwrap_or_else(like);
        let val = this.packed(Some(form), |this| this.value(source.operand))?;
        operands.push((source.operand, form, all.len()));
        all.extend(registers(this, &val, form));
    }
    if all.is_empty() {
        return Ok(None);
    }
    let place = |work_item: u32, source: Source| {
        let of = |(id, ..): &&(Id, Packing, usize)| *id == source.operand;
        let (_, form, begin) = operands.iter().find(of).expect("all were collected");
        let place = work_item * form.components + source.component;
        (begin + (place / form.lanes) as usize, place % form.lanes)
    };
    let register = |register: u32| {
        let lane = |lane: u32| {
            if packing.is_behind(register, lane) {
                // What is there anyway.
                return Some((0, lane)).filter(|_| lane < this.b.lanes(all[0]));
            }
            let (work_item, component) = packing.at(register, lane);
            sources[component as usize].map(|source| place(work_item, source))
        };
        let lanes: Vec<_> = (0..packing.lanes).map(lane).collect();
        Reg::varying(this.b.freeze(this.b.assembled(&all, &lanes)))
    };
    Ok(Some((0..packing.registers).map(register).collect()))
}

/// Components that a mask says. `None` where the CPU has no permutation that reaches as far.
fn choose(this: &mut Lowerer<'_, '_>, choice: Choice, packing: Packing) -> Result<Option<Val>, EngineError> {
    let scalar = this.packed(None, |this| this.leaves_of(choice.first))?[0].scalar;
    let Some(word) = Scalar::int(scalar.bytes() as u32 * 8).filter(|_| scalar != Scalar::Bool) else {
        return Ok(None);
    };
    let permutes = Permutes { word, packing };
    if !permutes.are_there(this) {
        return Ok(None);
    }
    let mut held = |id: Id| -> Result<Vec<Value>, EngineError> {
        let val = this.packed(Some(packing), |this| this.value(id))?;
        let all = registers(this, &val, packing).into_iter();
        Ok(all.map(|register| this.b.reinterpret(register, word)).collect())
    };
    let (first, mask) = (held(choice.first)?, held(choice.mask)?);
    let second = choice.second.map(held).transpose()?;
    let register = |at: usize| {
        let (b, lanes) = (&this.b, packing.lanes);
        let number = |number: u64| b.int(word, lanes, number);
        let count = u64::from(packing.components);
        let place = b.and(mask[at], number(count - 1));
        let found = permutes.of(this, first[at], place);
        let found = second.as_ref().map_or(found, |second| {
            let is_second = b.icmp(IntPred::LLVMIntNE, b.and(mask[at], number(count)), number(0));
            b.select(is_second, permutes.of(this, second[at], place), found)
        });
        Reg::varying(b.reinterpret(found, scalar))
    };
    Ok(Some((0..packing.registers as usize).map(register).collect()))
}

/// Permutations of components within the vectors of a register.
struct Permutes {
    word: Scalar,
    packing: Packing,
}

/// Bytes that `pshufb` permutes.
const PART: u64 = 16;

impl Permutes {
    fn are_in_parts(&self) -> bool {
        u64::from(self.packing.components) * self.word.bytes() <= PART
    }

    fn are_there(&self, this: &Lowerer<'_, '_>) -> bool {
        let bytes = u64::from(self.packing.lanes) * self.word.bytes();
        match self.are_in_parts() {
            true => bytes.is_multiple_of(PART) && this.target.has_feature("ssse3"),
            false => this.target.has_avx512() && self.word.bytes() > 1,
        }
    }

    /// The components at these places of each vector of a register.
    fn of(&self, this: &Lowerer<'_, '_>, register: Value, place: Value) -> Value {
        let (b, Packing { components, lanes, .. }) = (&this.b, self.packing);
        // Where the vector begins that a lane is of.
        let begin = |lane: u32| u64::from(lane / components * components);
        if !self.are_in_parts() {
            // Registers of the CPU, and as many of them as have whole vectors.
            let whole = tables::REGISTER / self.word.bits();
            let group = whole.max(components);
            let begins = b.int_vector(self.word, (0..lanes).map(|lane| begin(lane % group)));
            let numbers = b.add(place, begins);
            let all = |from: u32, count: u32| -> Vec<i32> {
                (from..from + count).map(|lane| (lane % lanes) as i32).collect()
            };
            let of_group = |from: u32| {
                let table = (from..from + group).step_by(whole as usize);
                let table: Vec<Value> =
                    table.map(|from| b.shuffle(register, register, &all(from, whole))).collect();
                let numbers = b.shuffle(numbers, numbers, &all(from, group.min(lanes)));
                tables::look_up(b, &table, numbers)
            };
            return b.concat((0..lanes).step_by(group as usize).map(of_group).collect());
        }
        // Each byte of a component has a number: that of the component's first one, and its own.
        let size = self.word.bytes();
        let each = |byte: u64| (0..size).fold(0, |word, at| word | byte << (8 * at));
        let own = (0..size).fold(0, |word, at| word | at << (8 * at));
        let begins = (0..lanes).map(|lane| own + each(begin(lane) * size % PART));
        let numbers = b.mul(place, b.int(self.word, lanes, each(size)));
        let numbers = b.add(numbers, b.int_vector(self.word, begins));
        let bytes = lanes * size as u32;
        let [data, numbers] = [register, numbers].map(|value| b.reshape(value, Scalar::I8, bytes));
        let (name, at_once) = byte_permutation(this.target, bytes);
        let pieces = b.regrouped(vec![data], at_once).into_iter().zip(b.regrouped(vec![numbers], at_once));
        let found = pieces.map(|(data, numbers)| b.intrinsic_plain(name, &[data, numbers]));
        b.reshape(b.concat(found.collect()), self.word, lanes)
    }
}

/// The same bits in registers of another size, out of those of a packed value or of a scalar.
fn bitcast(this: &mut Lowerer<'_, '_>, inst: &Inst, packing: Packing) -> Result<Option<Val>, EngineError> {
    let to = this.leaves(inst.ty.expect("a cast has a type"))?[0].scalar;
    let Some(all) = all_bits(this, inst.id(0))? else { return Ok(None) };
    let all = this.b.reshape(all, to, packing.components * this.w);
    Ok(Some(this.b.regrouped(vec![all], packing.lanes).into_iter().map(Reg::varying).collect()))
}

/// A scalar with the bits of a packed vector.
pub(super) fn bits_of_packed(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    if inst.op != Op::Bitcast || this.packing.is_some() || this.packing_of(inst.id(0)).is_none() {
        return Ok(None);
    }
    let leaves = this.leaves(inst.ty.expect("a cast has a type"))?;
    let [leaf] = leaves[..] else { return Ok(None) };
    let all = all_bits(this, inst.id(0))?.filter(|_| leaf.scalar != Scalar::Ptr);
    Ok(all.map(|all| Val::from_elem(this.lanes(this.b.reshape(all, leaf.scalar, this.w)), 1)))
}

/// Whether any or all components of a packed vector are true.
pub(super) fn vote(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    let Some(form) = this.packing_of(inst.id(0)) else { return Ok(None) };
    let val = this.packed(Some(form), |this| this.value(inst.id(0)))?;
    let b = &this.b;
    if this.w == 1 {
        let mask = registers(this, &val, form)[0];
        // What is behind three components does not matter.
        let is_own = |lane: u32| u64::from(!form.is_behind(0, lane));
        let own = b.int_vector(Scalar::Bool, (0..form.lanes).map(is_own));
        let voted = match inst.op {
            Op::Any => b.any(b.and(mask, own)),
            _ => b.all(b.or(mask, b.not(own))),
        };
        return Ok(Some(Val::from_elem(this.lanes(voted), 1)));
    }
    let Some(bits) = Scalar::machine_int(form.components) else { return Ok(None) };
    let vote = |register: Value| {
        let lanes = form.lanes / form.components;
        if !this.target.has_avx512() {
            return vote_by_words(b, inst.op == Op::Any, register, lanes);
        }
        let all = b.reshape(register, bits, lanes);
        match inst.op {
            Op::Any => b.icmp(IntPred::LLVMIntNE, all, b.zero(bits, lanes)),
            _ => b.icmp(IntPred::LLVMIntEQ, all, b.int(bits, lanes, u64::MAX)),
        }
    };
    let votes = registers(this, &val, form).into_iter().map(vote).collect();
    Ok(Some(Val::from_elem(Reg::varying(b.concat(votes)), 1)))
}

/// Whether any or all components of so many lanes are true, eight and more of each, where masks are bytes: each eight are one word. LLVM has no code for
/// bits of them that are compared in one block and used in another.
fn vote_by_words(b: &Builder, is_any: bool, register: Value, lanes: u32) -> Value {
    let words = b.lanes(register) / 8;
    let all = b.reshape(b.sext_or_trunc(register, Scalar::I8), Scalar::I64, words);
    let votes = match is_any {
        true => b.icmp(IntPred::LLVMIntNE, all, b.zero(Scalar::I64, words)),
        false => b.icmp(IntPred::LLVMIntEQ, all, b.int(Scalar::I64, words, u64::MAX)),
    };
    let votes = b.deinterleave(votes, (words / lanes) as usize).into_iter();
    let both = |a: Value, other: Value| if is_any { b.or(a, other) } else { b.and(a, other) };
    votes.reduce(both).expect("a word of each lane")
}

/// All work-items' bits of a packed value or of a scalar, in one vector.
fn all_bits(this: &mut Lowerer<'_, '_>, id: Id) -> Result<Option<Value>, EngineError> {
    if let Some(form) = this.packing_of(id) {
        let val = this.packed(Some(form), |this| this.value(id))?;
        return Ok(form.components.is_power_of_two().then(|| this.b.concat(registers(this, &val, form))));
    }
    let val = this.value(id)?;
    Ok(match val[..] {
        [scalar] => Some(this.vector(scalar)),
        _ => None,
    })
}

/// Packs what lanes have: a vector's components, or a scalar, once for each component.
pub(super) fn pack(this: &Lowerer<'_, '_>, val: &Val, packing: Packing) -> Val {
    let b = &this.b;
    let first = val[0];
    let is_one = val.iter().all(|reg| reg.is_same(&first));
    if is_one && first.is_uniform() {
        return std::iter::repeat_n(first, packing.registers as usize).collect();
    }
    let pattern = |register: u32, of: fn((u32, u32)) -> u32| -> Vec<i32> {
        (0..packing.lanes).map(|lane| of(packing.at(register, lane)) as i32).collect()
    };
    let every = 0..packing.registers;
    if is_one {
        let lanes = this.vector(first);
        let repeated = |register| Reg::varying(b.shuffle(lanes, lanes, &pattern(register, |(item, _)| item)));
        return every.map(repeated).collect();
    }
    if let Some(scalars) = val.iter().map(Reg::of_all_lanes).collect::<Option<Vec<Value>>>() {
        let vector = b.collected(&scalars);
        let repeated = |register| {
            Reg::varying(b.shuffle(vector, vector, &pattern(register, |(_, component)| component)))
        };
        return every.map(repeated).collect();
    }
    // A bool has a byte in memory.
    let scalar = b.scalar_of(this.vector(first));
    let memory = access::in_memory(scalar);
    let leaves = Leaf::consecutive(memory, packing.components as usize);
    let bytes: Val = val.iter().map(|reg| Reg::varying(access::to_memory(this, this.vector(*reg)))).collect();
    let vectors = runs::whole_vectors(this, &leaves, &bytes).into_iter().map(|(_, vector)| vector).collect();
    let packed = b.regrouped(vectors, packing.lanes).into_iter();
    packed.map(|register| Reg::varying(access::from_memory(this, register, scalar))).collect()
}

/// The lanes of a packed value.
fn unpack(this: &Lowerer<'_, '_>, val: &Val, packing: Packing, scalar: Scalar) -> Val {
    if this.w == 1 {
        let vector = registers(this, val, packing)[0];
        let component = |at: u32| Reg::uniform(this.b.extract(vector, this.b.i32(at)));
        return (0..packing.components).map(component).collect();
    }
    let memory = access::in_memory(scalar);
    let bytes = registers(this, val, packing).into_iter().map(|register| access::to_memory(this, register));
    let leaves = Leaf::consecutive(memory, packing.components as usize);
    let lanes = runs::parts(this, &leaves, bytes.collect());
    lanes.into_iter().map(|value| Reg::varying(access::from_memory(this, value, scalar))).collect()
}

impl Lowerer<'_, '_> {
    /// How a value is held, if it is packed.
    pub(super) fn packing_of(&self, id: Id) -> Option<Packing> {
        // What flushes denormals is computed from operands that others do not see.
        if self.float_modes.flushes_any() {
            return None;
        }
        self.a.packed().get(&id).copied()
    }

    /// Has values read in a form.
    pub(super) fn packed<T>(&mut self, packing: Option<Packing>, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.packing, packing);
        let made = make(self);
        self.packing = before;
        made
    }

    /// A value that is held in one form in the form that is asked for.
    pub(super) fn in_form(&mut self, id: Id, held: Val) -> Result<Val, EngineError> {
        let (own, wanted) = (self.packing_of(id), self.packing);
        if own == wanted {
            return Ok(held);
        }
        let scalar = self.packed(None, |this| this.leaves_of(id))?[0].scalar;
        let shapes = self.a.shape_at_definition(id);
        Ok(self.packed(None, |this| {
            let lanes = match own {
                None => held,
                Some(own) => {
                    let lanes = unpack(this, &held, own, scalar).into_iter().zip(&shapes);
                    // A component that is the same for all lanes is so wherever it is in the registers.
                    lanes
                        .map(|(reg, shape)| match shape.is_uniform() && !reg.is_uniform() {
                            true => Reg::uniform(this.b.extract(this.vector(reg), this.b.i32(0))),
                            false => reg,
                        })
                        .collect()
                }
            };
            match wanted {
                None => lanes,
                Some(wanted) => pack(this, &lanes, wanted),
            }
        }))
    }

    /// A mask for each register of a packed value.
    pub(super) fn packed_mask(&self, mask: Value, packing: Packing, register: u32) -> Value {
        let indices: Vec<i32> = (0..packing.lanes).map(|lane| packing.at(register, lane).0 as i32).collect();
        self.b.shuffle(mask, mask, &indices)
    }
}
