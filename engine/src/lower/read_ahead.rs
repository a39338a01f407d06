//! Loads of a loop that are made for several iterations at once. Which they are is `analysis::read_ahead`'s.
//!
//! A piece of four words a lane is loaded as objects that lie apart are (`apart`), which makes four vectors of one word of all lanes.
//! They wait in memory, where an iteration finds its element in a word of its own or as a part of one. A piece is loaded only where it is in one page
//! with an element that the iteration loads, so it is there to be read, and where no index on the way to the address wraps around
//! within it, or where so many iterations are left; if those of a line of the caches are, all of its pieces are loaded. Else this iteration gathers, and the next one looks again. A store of the loop into what waits ends
//! that: the other iterations gather.

use super::access::{self, Place};
use super::apart::{self, Addresses};
use super::builder::{IntPred, Value};
use super::values::{Reg, Val};
use super::{Lowerer, rows, spaced, speculation};
use crate::analysis::func::BlockId;
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::read_ahead::{Ahead, Left, Until, WORDS};
use crate::error::EngineError;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use spirv_env::{Id, Inst};
use std::mem::discriminant;
use std::rc::Rc;

/// What is read ahead in a function.
pub(super) struct ReadAhead {
    loads: Rc<FxHashMap<Id, Ahead>>,
    /// By load and member of the bundle.
    pieces: FxHashMap<(Id, usize), Pieces>,
}

/// Where a load's elements wait.
#[derive(Clone, Copy)]
struct Pieces {
    /// How many of them there still are, in 32 bits.
    left: Value,
    /// Whether the loop has stored into what was left, in 32 bits.
    is_over: Value,
    words: Value,
    /// Where in memory the addresses of the latest one that is not left wait for stores of the same iteration, if any of the loop's
    /// may be there.
    latest: Option<Addresses>,
}

impl ReadAhead {
    pub fn new(loads: FxHashMap<Id, Ahead>) -> ReadAhead {
        ReadAhead { loads: Rc::new(loads), pieces: FxHashMap::default() }
    }
}

impl Lowerer<'_, '_> {
    /// Forgets what was read for the loops that this block is in front of.
    pub(super) fn begin_reading_ahead(&mut self, block: BlockId) {
        let loads = Rc::clone(&self.flow.read_ahead.loads);
        for (load, ahead) in loads.iter().filter(|(_, ahead)| ahead.preheader == block) {
            for member in 0..self.bundle.subgroups.len() {
                let pieces = self.pieces(*load, member, ahead);
                self.b.store(self.b.i32(0), pieces.left, 4);
                self.b.store(self.b.i32(0), pieces.is_over, 4);
            }
        }
    }

    fn pieces(&mut self, load: Id, member: usize, ahead: &Ahead) -> Pieces {
        if let Some(pieces) = self.flow.read_ahead.pieces.get(&(load, member)) {
            return *pieces;
        }
        let [left, is_over] = [(); 2].map(|()| self.prologue_alloca(Scalar::I32, 1));
        self.in_prologue(|b| [left, is_over].iter().for_each(|slot| b.store(b.i32(0), *slot, 4)));
        let words = self.prologue_alloca(ahead.word(), self.w * WORDS * ahead.pieces() as u32);
        let pieces = Pieces { left, is_over, words, latest: None };
        self.flow.read_ahead.pieces.insert((load, member), pieces);
        pieces
    }

    /// Has stores of this iteration find these addresses.
    fn note_latest(&mut self, load: Id, addresses: Addresses) {
        let member = self.bundle.at;
        // Where the load is there twice, stores look at one place.
        let known = self.flow.read_ahead.pieces.get(&(load, member)).and_then(|pieces| pieces.latest);
        let known = known.filter(|known| discriminant(known) == discriminant(&addresses));
        let latest = addresses.map(|value| {
            let slot = known.map_or_else(|| self.slot_of_latest(value), Addresses::value);
            self.b.store(value, slot, 8);
            slot
        });
        if let Some(pieces) = self.flow.read_ahead.pieces.get_mut(&(load, member)) {
            pieces.latest = Some(latest);
        }
    }

    fn slot_of_latest(&self, value: Value) -> Value {
        let lanes = self.b.lanes(value);
        let slot = self.prologue_alloca(Scalar::Ptr, lanes);
        self.in_prologue(|b| b.store(b.zero(Scalar::Ptr, lanes), slot, 8));
        slot
    }
}

/// Reads nothing ahead any more of what an instruction stores into.
pub(super) fn store(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<(), EngineError> {
    let loads = Rc::clone(&this.flow.read_ahead.loads);
    let pointer = inst.id(0);
    let (block, member) = (this.current_block(), this.bundle.at);
    let is_concerned = |ahead: &Ahead| {
        ahead.stores.contains(&pointer) && this.a.loops.get(ahead.inside).blocks.contains(&block)
    };
    let concerned: SmallVec<[(Id, &Ahead); 2]> =
        loads.iter().filter(|(_, ahead)| is_concerned(ahead)).map(|(load, ahead)| (*load, ahead)).collect();
    if concerned.is_empty() {
        return Ok(());
    }
    let place = access::place(this, pointer)?;
    let ty = this.a.func.type_of(inst.id(1)).map(|ty| this.a.func.module.types.layout(ty));
    let size = ty.map_or(0, |layout| layout.size);
    for (load, ahead) in concerned {
        let Some(pieces) = this.flow.read_ahead.pieces.get(&(load, member)).copied() else { continue };
        let (Some(latest), Some(stored)) = (pieces.latest, Addresses::of(place)) else { continue };
        let latest = latest.map(|slot| {
            let lanes = if let Addresses::Strided(..) = latest { 1 } else { this.w };
            this.b.load(Scalar::Ptr, lanes, slot, 8)
        });
        // How far a store is behind the latest element, if it is into one that is left: from 1 - its size + an element's to the end.
        let first = ahead.scalar.bytes().wrapping_sub(size).wrapping_add(1);
        let is_left = |this: &Lowerer<'_, '_>, stored: Value, latest: Value| {
            let b = &this.b;
            let number = |number: u64| b.int(Scalar::I64, b.lanes(stored), number);
            let [stored, latest] = [stored, latest].map(|at| b.reinterpret(at, Scalar::I64));
            let behind = b.sub(b.sub(stored, latest), number(first));
            b.icmp(IntPred::LLVMIntULT, behind, number(ahead.bytes().wrapping_sub(first)))
        };
        let b = &this.b;
        let is_left = match (stored, latest) {
            (Addresses::Strided(base, step), Addresses::Strided(first, of)) if step == of => {
                b.freeze(is_left(this, base, first))
            }
            _ => {
                let into = b.freeze(is_left(this, stored.vector(this), latest.vector(this)));
                b.not(speculation::none_on(this, into))
            }
        };
        let left = b.load(Scalar::I32, 1, pieces.left, 4);
        b.store(b.select(is_left, b.i32(0), left), pieces.left, 4);
        let is_over = b.load(Scalar::I32, 1, pieces.is_over, 4);
        b.store(b.select(is_left, b.i32(1), is_over), pieces.is_over, 4);
    }
    Ok(())
}

/// What an instruction loads, if it is one of those.
pub(super) fn load(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    let loads = Rc::clone(&this.flow.read_ahead.loads);
    let Some((id, ahead)) = inst.result.and_then(|id| Some((id, loads.get(&id)?))) else { return Ok(None) };
    let place = access::place(this, inst.id(0))?;
    let access = super::memory::accesses(inst)[1];
    let leaf = Leaf { scalar: ahead.scalar, offset: 0 };
    let is_read_otherwise = match place {
        Place::Uniform(_) => true,
        Place::Strided { step, .. } => spaced::is_worth_it(this.target, step, ahead.scalar),
        _ => false,
    };
    let Some(addresses) = Addresses::of(place).filter(|_| !is_read_otherwise) else { return Ok(None) };
    let pieces = this.pieces(id, this.bundle.at, ahead);
    if !ahead.stores.is_empty() {
        this.note_latest(id, addresses);
    }
    let stays = stays_on_its_way(this, ahead, ahead.elements())?;
    let all = ahead.pieces() * ahead.elements();
    let are_left = match ahead.left {
        Some(of) => are_left(this, of, ahead.elements())?,
        None => None,
    };
    let all_are_left = match ahead.left.filter(|_| ahead.pieces() > 1) {
        Some(of) => are_left_on_their_way(this, ahead, of, all)?,
        None => None,
    };
    let b = &this.b;
    let left = b.load(Scalar::I32, 1, pieces.left, 4);
    let bytes = ahead.scalar.bytes();
    let own = || access::load_leaves(this, &place, &[leaf], bytes, access);
    let gather = || this.vector(own()[0]);
    let next = || {
        let at = b.sub(b.i32(all as u32), left);
        b.store(b.sub(left, b.i32(1)), pieces.left, 4);
        element(this, ahead, pieces, at)
    };
    let read_pieces = |count: u64| {
        let first = load_pieces(this, ahead, pieces, addresses, count);
        b.store(b.i32((count * ahead.elements()) as u32 - 1), pieces.left, 4);
        first
    };
    // Where all lanes may be one access, they are that.
    let are_apart = |fits: Value| match place {
        Place::Hoped(hope) => {
            b.and(fits, b.not(speculation::may_be_one_access(this, hope, leaf, bytes, access)))
        }
        _ => fits,
    };
    let read_one = || {
        let are_in_page = || {
            let in_page = rows::is_in_page(b, b.freeze(addresses.vector(this)), ahead.bytes());
            speculation::none_on(this, b.not(in_page))
        };
        let is_there = match are_left {
            Some(are_left) => b.branch(are_left, || b.int(Scalar::Bool, 1, 1), are_in_page),
            None => are_in_page(),
        };
        let mut fits = b.and(stays, is_there);
        if !ahead.stores.is_empty() {
            let is_over = b.load(Scalar::I32, 1, pieces.is_over, 4);
            fits = b.and(fits, b.icmp(IntPred::LLVMIntEQ, is_over, b.i32(0)));
        }
        b.branch(are_apart(fits), || read_pieces(1), gather)
    };
    let anew = || match all_are_left {
        Some(fit) => b.branch(are_apart(fit), || read_pieces(ahead.pieces()), read_one),
        None => read_one(),
    };
    let value = b.branch(b.icmp(IntPred::LLVMIntNE, left, b.i32(0)), next, anew);
    Ok(Some(smallvec![Reg::varying(value)]))
}

/// Whether a loop has so many iterations left, if the work-items know.
fn are_left(this: &mut Lowerer<'_, '_>, left: Left, count: u64) -> Result<Option<Value>, EngineError> {
    let [counter, bound] = [this.leaf(left.counter)?, this.leaf(left.bound)?].map(|reg| reg.of_all_lanes());
    let (Some(counter), Some(bound)) = (counter, bound) else { return Ok(None) };
    let b = &this.b;
    let [counter, bound] = [counter, bound].map(|number| b.freeze(number));
    let are_left = b.icmp(IntPred::LLVMIntUGE, b.sub(bound, counter), b.int(b.scalar_of(bound), 1, count));
    let pred = match left.until {
        Until::Equal => return Ok(Some(are_left)),
        Until::NotLess { signed: true } => IntPred::LLVMIntSGT,
        Until::NotLess { signed: false } => IntPred::LLVMIntUGT,
    };
    Ok(Some(b.and(b.icmp(pred, bound, counter), are_left)))
}

/// The same, and that no index on the way to the address wraps around by then.
fn are_left_on_their_way(
    this: &mut Lowerer<'_, '_>,
    ahead: &Ahead,
    left: Left,
    count: u64,
) -> Result<Option<Value>, EngineError> {
    let Some(are_left) = are_left(this, left, count)? else { return Ok(None) };
    let stays = stays_on_its_way(this, ahead, count)?;
    Ok(Some(this.b.and(are_left, stays)))
}

/// Whether no index of a lane that is on wraps around within so many iterations.
fn stays_on_its_way(this: &mut Lowerer<'_, '_>, ahead: &Ahead, count: u64) -> Result<Value, EngineError> {
    let mut stays = this.b.int(Scalar::Bool, 1, 1);
    for widened in &ahead.widened {
        let index = this.leaf(widened.id)?;
        let b = &this.b;
        let most = if widened.is_signed { i32::MAX as u32 } else { u32::MAX };
        let last = most - widened.step.unsigned_abs() * count as u32;
        let pred = if widened.is_signed { IntPred::LLVMIntSLE } else { IntPred::LLVMIntULE };
        let one = match index.of_all_lanes() {
            Some(index) => b.icmp(pred, b.freeze(index), b.i32(last)),
            None => {
                let indices = b.freeze(this.vector(index));
                let stay = b.icmp(pred, indices, b.int(Scalar::I32, this.w, last.into()));
                speculation::none_on(this, b.not(stay))
            }
        };
        stays = b.and(stays, one);
    }
    Ok(stays)
}

/// Loads so many pieces for each lane, and returns the first elements. They are the last that wait.
fn load_pieces(
    this: &Lowerer<'_, '_>,
    ahead: &Ahead,
    pieces: Pieces,
    addresses: Addresses,
    count: u64,
) -> Value {
    let (b, word) = (&this.b, ahead.word());
    let size = u64::from(this.w) * word.bytes();
    let mut first = None;
    for (number, at) in (ahead.pieces() - count..ahead.pieces()).enumerate() {
        let from = addresses.moved(this, (number as u64 * ahead.bytes()) as i64);
        let words = apart::load_words(this, from, word, WORDS, ahead.scalar.bytes());
        for (of_piece, reg) in (0..).zip(&words) {
            let slot = b.offset_const(pieces.words, (at * u64::from(WORDS) + of_piece) * size);
            b.store(this.vector(*reg), slot, word.bytes());
        }
        first.get_or_insert(words[0]);
    }
    let first = first.expect("at least one piece is loaded");
    part(this, ahead, this.vector(first), b.i32(0))
}

/// The elements with a number below that of a piece, of all lanes.
fn element(this: &Lowerer<'_, '_>, ahead: &Ahead, pieces: Pieces, at: Value) -> Value {
    let (b, word) = (&this.b, ahead.word());
    let of_word = (word.bytes() / ahead.scalar.bytes()) as u32;
    let [which, within] = [b.lshr(at, b.i32(of_word.trailing_zeros())), b.and(at, b.i32(of_word - 1))];
    let size = u64::from(this.w) * word.bytes();
    let offset = b.mul(b.zext_or_trunc(which, Scalar::I64), b.i64(size));
    let words = b.load(word, this.w, b.offset(pieces.words, offset), word.bytes());
    part(this, ahead, words, within)
}

fn part(this: &Lowerer<'_, '_>, ahead: &Ahead, words: Value, at: Value) -> Value {
    this.b.reinterpret(apart::part(&this.b, words, ahead.scalar.bytes(), at), ahead.scalar)
}
