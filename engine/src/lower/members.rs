//! Loads and stores of members of the same structures together: a few vectors over all lanes' structures, and shuffles, or, of
//! structures that lie apart, pieces of each. Which they are is `analysis::members`'.

use super::access::{self, Place};
use super::apart::{self, Addresses};
use super::builder::Value;
use super::structures::Structures;
use super::values::{Mask, Reg, Val};
use super::{Lowerer, rows};
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
    /// The vectors of groups that have been loaded; of those that lie apart, each element's.
    loaded: FxHashMap<GroupId, Rc<[Value]>>,
    /// What is to be stored: by element of the group.
    stored: FxHashMap<GroupId, SmallVec<[(usize, Value); 8]>>,
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
    let vectors = match this.subgroup().members.loaded.get(&member.group) {
        Some(vectors) => Rc::clone(vectors),
        None => {
            let first = |this: &_, address| first(this, group, member, address);
            let vectors: Rc<[Value]> = match (access::place(this, inst.id(0))?, group.is_apart) {
                (Place::Strided { base, .. }, false) => load_all(this, group, first(this, base)),
                (Place::Uniform(_), _) | (_, false) => return Ok(None),
                (place, true) => {
                    let Some(addresses) = Addresses::of(place) else { return Ok(None) };
                    apart::load_elements(this, addresses.map(|address| first(this, address)), group).into()
                }
            };
            this.subgroup_mut().members.loaded.insert(member.group, Rc::clone(&vectors));
            vectors
        }
    };
    let leaves = this.leaves(ty)?;
    let val = (0..).zip(leaves.iter()).map(|(at, leaf)| {
        let element = member.element + at;
        let value = match group.elements.binary_search(&element) {
            Ok(place) if group.is_apart => vectors[place],
            _ => structures(this, group).take(&this.b, &vectors, element),
        };
        Reg::varying(this.b.reinterpret(value, leaf.scalar))
    });
    Ok(Some(val.collect()))
}

fn load_all(this: &Lowerer<'_, '_>, group: &Group, first: Value) -> Rc<[Value]> {
    let (b, structures) = (&*this.b, structures(this, group));
    let load = |mask| structures.load(this, first, group.bytes, mask);
    let vectors = match this.mask() {
        Mask::All => load(None),
        Mask::Lanes(mask) => b.branch_of_many(b.all(mask), || load(None), || load(Some(mask))),
    };
    vectors.into()
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
    match access::place(this, inst.id(0))? {
        Place::Strided { base, .. } => {
            let first = first(this, group, member, base);
            structures(this, group).store_lanes(&this.b, first, group.bytes, &values, this.mask().lanes());
        }
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
