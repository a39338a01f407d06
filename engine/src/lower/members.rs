//! Loads and stores of members of the same structures together: a few vectors over all lanes' structures, and shuffles. Which
//! they are is `analysis::members`'.
//!
//! Nothing is accessed before the first member of the first lane and behind the last one of the last lane. What is read between
//! them lies between two elements that the kernel reads, less than a page apart; what lies between members that are stored is not
//! written.

use super::access::{self, Place};
use super::builder::Value;
use super::values::{Mask, Reg, Val};
use super::{Lowerer, spaced};
use crate::analysis::leaves::Scalar;
use crate::analysis::members::{Group, GroupId, Member};
use crate::error::EngineError;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv_env::{Inst, TypeId};
use std::rc::Rc;

/// What is known of a block's groups while it is lowered for a sub-group.
#[derive(Default)]
pub(super) struct Known {
    /// The vectors of groups that have been loaded.
    loaded: FxHashMap<GroupId, Rc<[Value]>>,
    /// What is to be stored: by element of the group.
    stored: FxHashMap<GroupId, SmallVec<[(usize, Value); 8]>>,
}

/// An unsigned integer of an element's size: members of a structure may have different types.
fn raw(group: &Group) -> Scalar {
    Scalar::int(8 * group.bytes as u32).expect("elements of 1, 2, 4 and 8 bytes")
}

/// Elements from the first member of the first lane to the last one of the last lane, with both.
fn all(group: &Group, w: usize) -> usize {
    (w - 1) * group.step + group.elements.last().map_or(0, |last| last + 1)
}

/// Where the group's first element is, given where a member is.
fn first(this: &Lowerer<'_, '_>, group: &Group, member: Member, address: Value) -> Value {
    let back = (member.element as u64 * group.bytes).wrapping_neg();
    this.b.offset(address, this.b.int(Scalar::I64, this.b.lanes(address), back))
}

/// What an access loads, if others of its block load from the same structures.
pub(super) fn load(this: &mut Lowerer<'_, '_>, inst: &Inst, ty: TypeId) -> Result<Option<Val>, EngineError> {
    let members = Rc::clone(&this.position.members);
    let Some(member) = inst.result.and_then(|result| members.loads.get(&result)).copied() else {
        return Ok(None);
    };
    let group = &members.groups[member.group];
    if matches!(this.mask(), Mask::Lanes(_)) && !spaced::has_masks(this.target, raw(group)) {
        return Ok(None);
    }
    let vectors = match this.subgroup().members.loaded.get(&member.group) {
        Some(vectors) => Rc::clone(vectors),
        None => {
            let Place::Strided { base, .. } = access::place(this, inst.id(0))? else { return Ok(None) };
            let vectors = load_all(this, group, first(this, group, member, base));
            this.subgroup_mut().members.loaded.insert(member.group, Rc::clone(&vectors));
            vectors
        }
    };
    let leaves = this.leaves(ty)?;
    let val = (0..).zip(leaves.iter()).map(|(at, leaf)| {
        let value = take(this, group, &vectors, member.element + at);
        Reg::varying(this.b.reinterpret(value, leaf.scalar))
    });
    Ok(Some(val.collect()))
}

/// Where vectors begin that cover all elements, in elements. The last one ends with the last element.
fn starts(group: &Group, w: usize) -> impl Iterator<Item = usize> {
    let all = all(group, w);
    (0..all.div_ceil(w)).map(move |at| (at * w).min(all - w))
}

fn load_all(this: &Lowerer<'_, '_>, group: &Group, first: Value) -> Rc<[Value]> {
    let (b, w) = (&this.b, this.w as usize);
    let address = |start: usize| b.offset_const(first, start as u64 * group.bytes);
    let whole =
        || starts(group, w).map(|start| b.load(raw(group), this.w, address(start), group.bytes)).collect();
    let masked = |mask: Value| {
        let vector = |start| {
            let mask = spread(this, mask, group, start);
            b.masked_load(raw(group), this.w, address(start), group.bytes, mask)
        };
        starts(group, w).map(vector).collect()
    };
    let vectors: Vec<Value> = match this.mask() {
        Mask::All => whole(),
        Mask::Lanes(mask) => b.branch_of_many(all_on(this, mask), whole, || masked(mask)),
    };
    vectors.into()
}

/// One element of each lane's structure.
fn take(this: &Lowerer<'_, '_>, group: &Group, vectors: &[Value], element: usize) -> Value {
    let (b, w) = (&this.b, this.w as usize);
    let starts: Vec<usize> = starts(group, w).collect();
    // Each lane's element comes from the first vector that has it.
    let place = |lane: usize| {
        let at = lane * group.step + element;
        let vector =
            starts.iter().position(|start| (*start..start + w).contains(&at)).expect("all are covered");
        (vector, at - starts[vector])
    };
    let places: Vec<(usize, usize)> = (0..w).map(place).collect();
    let mut joined: Option<Value> = None;
    for (at, vector) in vectors.iter().enumerate().filter(|(at, _)| places.iter().any(|place| place.0 == *at))
    {
        let lane = |(lane, (of, place)): (usize, &(usize, usize)), own: usize| match of.cmp(&at) {
            std::cmp::Ordering::Less => lane as i32,
            std::cmp::Ordering::Equal => (own + place) as i32,
            std::cmp::Ordering::Greater => -1,
        };
        let indices = |own: usize| places.iter().enumerate().map(|of| lane(of, own)).collect::<Vec<_>>();
        joined = Some(match joined {
            None => b.shuffle(*vector, *vector, &indices(0)),
            Some(before) => b.shuffle(before, *vector, &indices(w)),
        });
    }
    joined.expect("each lane has an element")
}

/// Whether a store is made with others of its block, at the last of them.
pub(super) fn store(this: &mut Lowerer<'_, '_>, inst: &Inst, val: &Val) -> Result<bool, EngineError> {
    let members = Rc::clone(&this.position.members);
    let Some(member) = members.stores.get(&inst.id(0)).copied() else { return Ok(false) };
    let group = &members.groups[member.group];
    // All of them are, or none.
    if !spaced::has_masks(this.target, raw(group)) {
        return Ok(false);
    }
    let values = (0..)
        .zip(val)
        .map(|(at, reg)| (member.element + at, this.b.reinterpret(this.vector(*reg), raw(group))));
    let values: SmallVec<[(usize, Value); 8]> = values.collect();
    let stored = this.subgroup_mut().members.stored.entry(member.group).or_default();
    stored.extend(values);
    if group.pointers.last() != Some(&inst.id(0)) {
        return Ok(true);
    }
    let mut values = this.subgroup_mut().members.stored.remove(&member.group).unwrap_or_default();
    values.sort_unstable_by_key(|(element, _)| *element);
    match access::place(this, inst.id(0))? {
        Place::Strided { base, .. } => store_all(this, group, first(this, group, member, base), &values),
        _ => {
            let pointers = this.leaf(inst.id(0))?;
            let addresses = first(this, group, member, this.vector(pointers));
            for (element, value) in values {
                let at = this.b.offset_const(addresses, element as u64 * group.bytes);
                this.b.scatter(value, at, group.bytes, this.mask_vector());
            }
        }
    }
    Ok(true)
}

fn store_all(this: &Lowerer<'_, '_>, group: &Group, first: Value, values: &[(usize, Value)]) {
    let (b, w) = (&this.b, this.w as usize);
    let mut parts: Vec<(usize, Value, bool)> = Vec::new();
    for start in (0..all(group, w)).step_by(w) {
        // Which of the values each element is.
        let of = |at: usize| {
            let (lane, element) = (at / group.step, at % group.step);
            values.iter().position(|value| value.0 == element).filter(|_| lane < w).map(|value| (value, lane))
        };
        let elements: Vec<_> = (start..start + w).map(of).collect();
        let mut joined: Option<Value> = None;
        for (at, (_, value)) in values.iter().enumerate() {
            if !elements.iter().flatten().any(|(of, _)| *of == at) {
                continue;
            }
            let index = |(place, element): (usize, &Option<(usize, usize)>), own: usize| match element {
                Some((of, lane)) if *of == at => (own + lane) as i32,
                Some((of, _)) if *of < at => place as i32,
                _ => -1,
            };
            let indices =
                |own: usize| elements.iter().enumerate().map(|of| index(of, own)).collect::<Vec<_>>();
            joined = Some(match joined {
                None => b.shuffle(*value, *value, &indices(0)),
                Some(before) => b.shuffle(before, *value, &indices(w)),
            });
        }
        let Some(vector) = joined else { continue };
        parts.push((start, vector, elements.iter().all(Option::is_some)));
    }
    let address = |start: usize| b.offset_const(first, start as u64 * group.bytes);
    let masked = |mask: Value, (start, vector, _): (usize, Value, bool)| {
        b.masked_store(vector, address(start), group.bytes, spread(this, mask, group, start));
    };
    let store_whole = || {
        let on = b.int(Scalar::Bool, this.w, 1);
        parts.iter().for_each(|part| match *part {
            (start, vector, true) => b.store(vector, address(start), group.bytes),
            part => masked(on, part),
        });
        Vec::new()
    };
    match this.mask() {
        Mask::All => {
            store_whole();
        }
        Mask::Lanes(mask) => {
            b.branch_of_many(all_on(this, mask), store_whole, || {
                parts.iter().for_each(|part| masked(mask, *part));
                Vec::new()
            });
        }
    }
}

/// Whether all lanes of a mask are on. Where they are, which is nearly always, there are no masks to be spread.
fn all_on(this: &Lowerer<'_, '_>, mask: Value) -> Value {
    this.b.not(this.b.any(this.b.not(mask)))
}

/// The mask of a vector that begins at an element: on where a member of a lane's structure is, and the lane is on.
fn spread(this: &Lowerer<'_, '_>, mask: Value, group: &Group, start: usize) -> Value {
    let w = this.w as usize;
    let lane = |at: usize| {
        let is_member = group.elements.contains(&(at % group.step));
        if is_member && at / group.step < w { (at / group.step) as i32 } else { w as i32 }
    };
    let lanes: Vec<i32> = (start..start + w).map(lane).collect();
    this.b.shuffle(mask, this.b.zero(Scalar::Bool, this.w), &lanes)
}
