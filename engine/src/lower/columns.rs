//! Columns that a bundle accesses: what each lane's sub-groups access lies together (`analysis::columns`).
//!
//! Where all lanes of all sub-groups are on and no index wraps around, a lane's elements are one access, and vectors of those are turned into
//! vectors of sub-groups as structures are (`apart`): 16 loads and 24 permutations for eight sub-groups, where gathers load 128 times.

use super::Lowerer;
use super::access::{Access, Place, load_leaves, place, store_leaves};
use super::apart::{self, Addresses};
use super::builder::{IntPred, Value};
use super::memory::accesses;
use super::values::{Mask, Reg, Val};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::error::EngineError;
use smallvec::{SmallVec, smallvec};
use spirv_env::{Id, Inst, TypeId};
use std::cell::RefCell;

/// What the members of a bundle access.
struct Columns {
    /// Where each does.
    places: SmallVec<[Place; 1]>,
    first: Addresses,
    leaf: Leaf,
    access: Access,
    /// Whether each lane's elements follow each other, and all lanes of all members are on.
    together: Value,
}

impl Columns {
    /// Those of an instruction that is lowered for a bundle's first member.
    fn of(
        this: &mut Lowerer<'_, '_>,
        pointer: Id,
        ty: TypeId,
        access: Access,
    ) -> Result<Option<Columns>, EngineError> {
        let leaves = this.leaves(ty)?;
        let [leaf] = leaves[..] else { return Ok(None) };
        let members = this.bundle.subgroups.len();
        let fits = apart::fits(this.w, this.target.has_avx512(), &column(leaf, members));
        if !fits {
            return Ok(None);
        }
        let places = this.of_each(|this| place(this, pointer))?;
        let masks = this.of_each(|this| Ok(this.mask()))?;
        let Some(all) = places.iter().map(|place| Addresses::of(*place)).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        // An index that a branch or a bound has chosen may be another in the middle only; others can wrap around, which the last one shows.
        let looked_at = if this.a.is_chosen(pointer) { 1 } else { members - 1 };
        let (b, first) = (&this.b, all[0]);
        let behind = (looked_at as u64..).zip(&all[looked_at..]).map(|(member, other)| {
            let bytes = member * leaf.scalar.bytes();
            match (first, *other) {
                (Addresses::Strided(first, step), Addresses::Strided(other, its)) if step == its => {
                    let [first, other] = [first, other].map(|address| b.reinterpret(address, Scalar::I64));
                    b.icmp(IntPred::LLVMIntEQ, b.sub(other, first), b.i64(bytes))
                }
                _ => {
                    let [first, other] =
                        [first, *other].map(|addresses| b.reinterpret(addresses.vector(this), Scalar::I64));
                    let bytes = b.int(Scalar::I64, this.w, bytes);
                    b.icmp(IntPred::LLVMIntEQ, b.sub(other, first), bytes)
                }
            }
        });
        let (lanes, scalars): (Vec<_>, Vec<_>) = behind.partition(|follows| b.lanes(*follows) > 1);
        let both = |all: Vec<Value>| all.into_iter().reduce(|all, one| b.and(all, one));
        let parts = both(lanes).map(|lanes| b.all(lanes)).into_iter().chain(both(scalars));
        let Some(follow) = parts.reduce(|all, one| b.and(all, one)) else { return Ok(None) };
        let on = masks.iter().filter_map(|mask| mask.lanes()).reduce(|all, lanes| b.and(all, lanes));
        let together = b.freeze(follow);
        let together = on.map_or(together, |on| b.and(together, this.b.all(on)));
        Ok(Some(Columns { places, first, leaf, access, together }))
    }

    fn members(&self) -> usize {
        self.places.len()
    }
}

/// A lane's elements as the leaves of an object.
fn column(leaf: Leaf, members: usize) -> Vec<Leaf> {
    (0..members as u64).map(|at| Leaf { offset: at * leaf.scalar.bytes(), ..leaf }).collect()
}

/// Emits code for the bundle as one, under the mask of all lanes.
fn as_one<T>(this: &mut Lowerer<'_, '_>, emit: impl FnOnce(&Lowerer<'_, '_>) -> T) -> T {
    let before = this.bundle.mask_of_all.replace(Mask::All);
    let made = emit(this);
    this.bundle.mask_of_all = before;
    made
}

/// Emits code for each member.
fn one_by_one(this: &mut Lowerer<'_, '_>, members: usize, mut emit: impl FnMut(&Lowerer<'_, '_>, usize)) {
    let before = this.bundle.at;
    for member in 0..members {
        this.bundle.at = member;
        emit(this, member);
    }
    this.bundle.at = before;
}

/// Whether an instruction may be an access to a column that is lowered for one member of a bundle after the other.
fn may_be_one(this: &Lowerer<'_, '_>, inst: &Inst) -> bool {
    this.takes_turns() && !inst.is_volatile() && this.a.columns().contains(&inst.id(0))
}

/// Loads a column, for the first member and those after it.
pub(super) fn load(this: &mut Lowerer<'_, '_>, inst: &Inst, ty: TypeId) -> Result<Option<Val>, EngineError> {
    if !may_be_one(this, inst) {
        return Ok(None);
    }
    if let Some(made) = this.bundle.ahead.pop_front() {
        return Ok(Some(made));
    }
    if this.bundle.at > 0 {
        return Ok(None);
    }
    let Some(columns) = Columns::of(this, inst.id(0), ty, accesses(inst)[1])? else { return Ok(None) };
    let (b, leaf, access) = (this.b.clone(), columns.leaf, columns.access);
    let this = RefCell::new(this);
    let values = b.branch_of_many(
        columns.together,
        || {
            as_one(*this.borrow_mut(), |this| {
                let leaves = column(leaf, columns.members());
                let val = apart::load(this, columns.first, &leaves, access.align);
                val.into_iter().map(|reg| this.vector(reg)).collect()
            })
        },
        || {
            let mut values = Vec::new();
            one_by_one(*this.borrow_mut(), columns.members(), |this, member| {
                let val = load_leaves(this, &columns.places[member], &[leaf], leaf.scalar.bytes(), access);
                values.push(this.vector(val[0]));
            });
            values
        },
    );
    let mut vals = values.into_iter().map(|value| smallvec![Reg::varying(value)]);
    let own = vals.next();
    this.into_inner().bundle.ahead = vals.collect();
    Ok(own)
}

/// Stores a column, for all members when it is the first one's turn; whether that is so.
pub(super) fn store(this: &mut Lowerer<'_, '_>, inst: &Inst, ty: TypeId) -> Result<bool, EngineError> {
    if !may_be_one(this, inst) {
        return Ok(false);
    }
    if this.bundle.ahead.pop_front().is_some() {
        return Ok(true);
    }
    if this.bundle.at > 0 {
        return Ok(false);
    }
    let Some(columns) = Columns::of(this, inst.id(0), ty, accesses(inst)[0])? else { return Ok(false) };
    let vals = this.of_each(|this| this.value(inst.id(1)))?;
    let (b, leaf, access) = (this.b.clone(), columns.leaf, columns.access);
    let this = RefCell::new(this);
    b.branch_of_many(
        columns.together,
        || {
            as_one(*this.borrow_mut(), |this| {
                let leaves = column(leaf, columns.members());
                let val = vals.iter().map(|val| val[0]).collect();
                apart::store(this, columns.first, &leaves, &val, access.align);
            });
            Vec::new()
        },
        || {
            one_by_one(*this.borrow_mut(), columns.members(), |this, member| {
                store_leaves(this, &columns.places[member], &[leaf], &vals[member], access);
            });
            Vec::new()
        },
    );
    // So the others know.
    this.into_inner().bundle.ahead = vals.iter().skip(1).map(|_| Val::new()).collect();
    Ok(true)
}
