//! Loads and stores of members of the same structures together: a few vectors over all lanes' structures, and shuffles, or, of
//! structures that lie apart, pieces of each. Which they are is `analysis::members`'.

use super::access::{self, Access, Place};
use super::apart::{self, Addresses};
use super::builder::Value;
use super::structures::Structures;
use super::values::{Mask, Reg, Val};
use super::{Lowerer, rows, speculation};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::members::{Group, GroupId, Member};
use crate::error::EngineError;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv_env::{Inst, TypeId};
use std::rc::Rc;

/// What is known of a block's groups while it is lowered for a sub-group.
#[derive(Default)]
pub(super) struct Known {
    /// Groups that have been loaded.
    loaded: FxHashMap<GroupId, Loaded>,
    /// What is to be stored: by element of the group.
    stored: FxHashMap<GroupId, SmallVec<[(usize, Value); 8]>>,
}

/// What has been loaded of a group.
#[derive(Clone)]
enum Loaded {
    /// The vectors that cover all lanes' structures.
    Vectors(Rc<[Value]>),
    /// One vector for each of the group's elements.
    Elements(Rc<[Value]>),
}

/// The group's structures, of unsigned integers of an element's size: members of a structure may have different types.
fn structures<'g>(this: &Lowerer<'_, '_>, group: &'g Group) -> Structures<'g> {
    let memory = Scalar::int(8 * group.bytes as u32).expect("elements of 1, 2, 4 and 8 bytes");
    Structures { memory, lanes: this.w, step: group.step, elements: &group.elements }
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
    if !group.is_apart
        && matches!(this.mask(), Mask::Lanes(_))
        && !rows::has_masks(this.target, structures(this, group).memory)
    {
        return Ok(None);
    }
    let loaded = match this.subgroup().members.loaded.get(&member.group) {
        Some(loaded) => loaded.clone(),
        None => {
            let first = |this: &_, address| first(this, group, member, address);
            let loaded = match (access::place(this, inst.id(0))?, group.is_apart) {
                (Place::Strided { base, .. }, false) => {
                    Loaded::Vectors(load_all(this, group, first(this, base)).into())
                }
                (Place::Hoped(hope), false) => match load_hoped(this, group, member, hope) {
                    Some(elements) => Loaded::Elements(elements.into()),
                    None => return Ok(None),
                },
                (Place::Uniform(_), _) | (_, false) => return Ok(None),
                (place, true) => {
                    let Some(addresses) = Addresses::of(place) else { return Ok(None) };
                    let addresses = addresses.map(|address| first(this, address));
                    Loaded::Elements(apart::load_elements(this, addresses, group).into())
                }
            };
            this.subgroup_mut().members.loaded.insert(member.group, loaded.clone());
            loaded
        }
    };
    let leaves = this.leaves(ty)?;
    let val = (0..).zip(leaves.iter()).map(|(at, leaf)| {
        let element = member.element + at;
        let value = match &loaded {
            Loaded::Vectors(vectors) => structures(this, group).take(&this.b, vectors, element),
            Loaded::Elements(elements) => {
                elements[group.elements.binary_search(&element).expect("an element of the group")]
            }
        };
        Reg::varying(this.b.reinterpret(value, leaf.scalar))
    });
    Ok(Some(val.collect()))
}

fn load_all(this: &Lowerer<'_, '_>, group: &Group, first: Value) -> Vec<Value> {
    let (b, structures) = (&*this.b, structures(this, group));
    let load = |mask| structures.load(this, first, group.bytes, mask);
    match this.mask() {
        Mask::All => load(None),
        Mask::Lanes(mask) => b.branch_of_many(b.all(mask), || load(None), || load(Some(mask))),
    }
}

/// The elements of a group whose lanes follow each other unless an index wraps around.
fn load_hoped(
    this: &Lowerer<'_, '_>,
    group: &Group,
    member: Member,
    hope: speculation::Hope,
) -> Option<Vec<Value>> {
    let memory = structures(this, group).memory;
    let of_row = |base| {
        let vectors = load_all(this, group, first(this, group, member, base));
        let take = |element: &usize| structures(this, group).take(&this.b, &vectors, *element);
        group.elements.iter().map(take).collect()
    };
    let of_lanes = |addresses| {
        let place = Place::Varying(first(this, group, member, addresses));
        let at = |element: &usize| Leaf { scalar: memory, offset: *element as u64 * group.bytes };
        let leaves: Vec<Leaf> = group.elements.iter().map(at).collect();
        let access = Access { align: Some(group.bytes), ..Access::default() };
        let val = access::load_leaves(this, &place, &leaves, group.step as u64 * group.bytes, access);
        val.into_iter().map(|reg| this.vector(reg)).collect()
    };
    speculation::structures(this, hope, group.step as i64 * group.bytes as i64, of_row, of_lanes)
}

/// Whether a store is made with others of its block, at the last of them.
pub(super) fn store(this: &mut Lowerer<'_, '_>, inst: &Inst, val: &Val) -> Result<bool, EngineError> {
    let members = Rc::clone(&this.position.members);
    let Some(member) = members.stores.get(&inst.id(0)).copied() else { return Ok(false) };
    let group = &members.groups[member.group];
    // All of them are, or none.
    let raw = structures(this, group).memory;
    let has_gaps = group.elements.len() < group.step;
    if !rows::has_masks(this.target, raw) || has_gaps && !rows::stores_under_masks(this.target, raw) {
        return Ok(false);
    }
    let values =
        (0..).zip(val).map(|(at, reg)| (member.element + at, this.b.reinterpret(this.vector(*reg), raw)));
    let values: SmallVec<[(usize, Value); 8]> = values.collect();
    let stored = this.subgroup_mut().members.stored.entry(member.group).or_default();
    stored.extend(values);
    if group.pointers.last() != Some(&inst.id(0)) {
        return Ok(true);
    }
    let mut values = this.subgroup_mut().members.stored.remove(&member.group).unwrap_or_default();
    values.sort_unstable_by_key(|(element, _)| *element);
    let to_row = |this: &Lowerer<'_, '_>, base| {
        let first = first(this, group, member, base);
        structures(this, group).store_lanes(&this.b, first, group.bytes, &values, this.mask().lanes());
        Vec::new()
    };
    let to_lanes = |this: &Lowerer<'_, '_>, addresses| {
        let addresses = first(this, group, member, addresses);
        for (element, value) in &values {
            let at = this.b.offset_const(addresses, *element as u64 * group.bytes);
            this.b.scatter(*value, at, group.bytes, this.mask_vector());
        }
        Vec::new()
    };
    let place = access::place(this, inst.id(0))?;
    if let Place::Strided { base, .. } = place {
        to_row(this, base);
        return Ok(true);
    }
    let pointers = this.leaf(inst.id(0))?;
    let step = group.step as i64 * group.bytes as i64;
    if let Place::Hoped(hope) = place
        && speculation::structures(this, hope, step, |at| to_row(this, at), |at| to_lanes(this, at)).is_some()
    {
        return Ok(true);
    }
    to_lanes(this, this.vector(pointers));
    Ok(true)
}
