//! Phis that choose one of two private variables: whether it is the second one is a phi of truths, and each pointer is a selection.
//!
//! Two rows of a table that change their places with each iteration, one of them the last row and the other one the next, are two such phis.

use super::{MOST_STEPS, Made, sizes};
use crate::analysis::func::{ChainStep, Func, Phi, Terminator};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Type, TypeId};

/// Phis that are looked at.
const MOST_PHIS: usize = 64;
/// Bytes of such a variable: twice as much is accessed then.
const MOST_BYTES: u64 = 1024;

/// A variable, and the steps from it to a pointer, the last one first.
type Place = (Id, Vec<Id>);
/// What a phi may be.
type Places = SmallVec<[Place; 2]>;

/// Has such phis be selections.
pub(super) fn choose(func: &mut Func<'_>) {
    let is_pointer = |phi: &Phi| matches!(func.module.types.get(phi.ty), Type::Pointer { .. });
    let phis: FxHashMap<Id, Phi> = (func.blocks.values().flat_map(|block| &block.phis))
        .filter(|phi| !func.selectors.contains(&phi.result) && is_pointer(phi))
        .map(|phi| (phi.result, phi.clone()))
        .collect();
    let Some(bool) = bool_type(func).filter(|_| (1..=MOST_PHIS).contains(&phis.len())) else { return };
    let sizes = sizes(func);
    if sizes.len() < 2 {
        return;
    }
    let insts = func.blocks.values().flat_map(|block| &block.insts);
    let steps: Made = insts
        .filter(|inst| func.derived_from(inst).is_some())
        .filter_map(|inst| Some((inst.result?, inst.clone())))
        .collect();
    let incoming = phis.values().flat_map(|phi| &phi.incoming);
    let found: FxHashMap<Id, Place> =
        incoming.filter_map(|(_, id)| Some((*id, place_of(func, &sizes, &steps, *id)?))).collect();
    let places: FxHashMap<Id, Places> =
        (phis.values()).filter_map(|phi| Some((phi.result, places_of(&phis, &found, phi)?))).collect();
    let is_chosen = |of: &Places| match of[..] {
        [(a, _), (b, _)] => sizes[&a] == sizes[&b] && sizes[&a] <= MOST_BYTES,
        _ => false,
    };
    let chosen = places.iter().filter(|(_, of)| is_chosen(of));
    let chosen: Vec<Id> = chosen.map(|(phi, _)| *phi).collect();
    // One number says of all phis that lead to each other which variable it is. What may be one variable alone is known.
    let seconds: FxHashMap<Id, Id> = chosen.into_iter().map(|id| (id, func.fresh_of(bool))).collect();
    let truths = [0, 1].map(|bits| func.number(bits, bool));
    for block in func.block_ids() {
        let mut made = Vec::new();
        for at in 0..func.blocks[block].phis.len() {
            let phi = func.blocks[block].phis[at].clone();
            let Some(&second) = seconds.get(&phi.result) else { continue };
            let of = &places[&phi.result];
            let truth = |id: &Id| match seconds.get(id) {
                Some(second) => *second,
                None => {
                    let place = found.get(id).or_else(|| places.get(id)?.first());
                    truths[usize::from(place.is_some_and(|(variable, _)| *variable == of[1].0))]
                }
            };
            let incoming = phi.incoming.iter().map(|(pred, id)| (*pred, truth(id))).collect();
            func.blocks[block].phis[at] = Phi { result: second, ty: bool, incoming };
            let [a, b] = [0, 1].map(|at| super::follow(func, &steps, of[at].0, &of[at].1, &mut made));
            let (mut choice, _) = func.computed(Op::Select, phi.ty, &[second, b, a]);
            choice.result = Some(phi.result);
            made.push(choice);
        }
        func.blocks[block].insts.splice(0..0, made);
    }
}

/// The type of what is asked.
fn bool_type(func: &Func<'_>) -> Option<TypeId> {
    let asked = func.blocks.values().filter_map(|block| match block.term {
        Terminator::Cond { cond, .. } => func.type_of(cond),
        _ => None,
    });
    asked.into_iter().find(|ty| *func.module.types.get(*ty) == Type::Bool)
}

/// The variable that a pointer leads to the beginning of, and the steps to it, the last one first.
pub(super) fn place_of(
    func: &Func<'_>,
    sizes: &FxHashMap<Id, u64>,
    steps: &Made,
    pointer: Id,
) -> Option<Place> {
    let (mut at, mut taken) = (pointer, Vec::new());
    for _ in 0..MOST_STEPS {
        if sizes.contains_key(&at) {
            return Some((at, taken));
        }
        let inst = steps.get(&at)?;
        let is_beginning = |step: &ChainStep| matches!(step, ChainStep::Constant(0));
        func.chain(inst).iter().all(is_beginning).then_some(())?;
        taken.push(at);
        at = func.derived_from(inst)?;
    }
    None
}

/// What a phi may be, by way of others, each variable once, if those are no more than two.
fn places_of(phis: &FxHashMap<Id, Phi>, found: &FxHashMap<Id, Place>, phi: &Phi) -> Option<Places> {
    let (mut open, mut seen) = (vec![phi.result], FxHashSet::from_iter([phi.result]));
    let mut places = Places::new();
    while let Some(at) = open.pop() {
        for (_, id) in &phis[&at].incoming {
            if phis.contains_key(id) {
                if seen.insert(*id) {
                    open.push(*id);
                }
                continue;
            }
            let of = found.get(id)?;
            if !places.iter().any(|(variable, _)| *variable == of.0) {
                if places.len() == 2 {
                    return None;
                }
                places.push(of.clone());
            }
        }
    }
    // All that lead to each other have the same order.
    places.sort_unstable_by_key(|(variable, _)| *variable);
    Some(places)
}
