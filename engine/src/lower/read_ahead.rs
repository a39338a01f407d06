//! Loads of a loop that are made for several iterations at once. Which they are is `analysis::read_ahead`'s.
//!
//! A piece of four words a lane is loaded as objects that lie apart are (`apart`), which makes four vectors of one word of all lanes.
//! They wait in memory, where an iteration finds its element in a word of its own or as a part of one. A piece is loaded only where it is in one page
//! with an element that the iteration loads, so it is there to be read, and where no index on the way to the address wraps around
//! within it. Else this iteration gathers, and the next one looks again.

use super::access::{self, Place};
use super::apart::{self, Addresses};
use super::builder::{IntPred, Value};
use super::values::{Reg, Val};
use super::{Lowerer, rows, spaced, speculation};
use crate::analysis::func::BlockId;
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::read_ahead::{Ahead, WORDS};
use crate::error::EngineError;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv_env::{Id, Inst};
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
    words: Value,
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
            }
        }
    }

    fn pieces(&mut self, load: Id, member: usize, ahead: &Ahead) -> Pieces {
        if let Some(pieces) = self.flow.read_ahead.pieces.get(&(load, member)) {
            return *pieces;
        }
        let left = self.prologue_alloca(Scalar::I32, 1);
        self.in_prologue(|b| b.store(b.i32(0), left, 4));
        let words = self.prologue_alloca(ahead.word(), self.w * WORDS);
        let pieces = Pieces { left, words };
        self.flow.read_ahead.pieces.insert((load, member), pieces);
        pieces
    }
}

/// What an instruction loads, if it is one of those.
pub(super) fn load(this: &mut Lowerer<'_, '_>, inst: &Inst) -> Result<Option<Val>, EngineError> {
    let loads = Rc::clone(&this.flow.read_ahead.loads);
    let Some((id, ahead)) = inst.result.and_then(|id| Some((id, loads.get(&id)?))) else { return Ok(None) };
    let place = access::place(this, inst.id(0))?;
    let access = super::memory::accesses(inst)[1];
    let leaf = Leaf { scalar: ahead.scalar, offset: 0 };
    let addresses = match place {
        Place::Varying(addresses) => Addresses::Varying(addresses),
        Place::Hoped(hope) => Addresses::Varying(hope.addresses),
        Place::Strided { base, step, .. } if !spaced::is_worth_it(this.target, step, ahead.scalar) => {
            Addresses::Strided(base, step)
        }
        _ => return Ok(None),
    };
    let pieces = this.pieces(id, this.bundle.at, ahead);
    let stays = stays_on_its_way(this, ahead)?;
    let b = &this.b;
    let left = b.load(Scalar::I32, 1, pieces.left, 4);
    let bytes = ahead.scalar.bytes();
    let own = || access::load_leaves(this, &place, &[leaf], bytes, access);
    let gather = || this.vector(own()[0]);
    let next = || {
        let at = b.sub(b.i32(ahead.elements() as u32), left);
        b.store(b.sub(left, b.i32(1)), pieces.left, 4);
        element(this, ahead, pieces, at)
    };
    let anew = || {
        let in_page = rows::is_in_page(b, b.freeze(addresses.vector(this)), ahead.bytes());
        let fits = b.and(stays, speculation::none_on(this, b.not(in_page)));
        let read = match place {
            Place::Hoped(hope) => {
                b.and(fits, b.not(speculation::may_be_one_access(this, hope, leaf, bytes, access)))
            }
            _ => fits,
        };
        let read_piece = || {
            let first = load_piece(this, ahead, pieces, addresses);
            b.store(b.i32(ahead.elements() as u32 - 1), pieces.left, 4);
            first
        };
        b.branch(read, read_piece, gather)
    };
    let value = b.branch(b.icmp(IntPred::LLVMIntNE, left, b.i32(0)), next, anew);
    Ok(Some(smallvec![Reg::varying(value)]))
}

/// Whether no index of a lane that is on wraps around within a piece.
fn stays_on_its_way(this: &mut Lowerer<'_, '_>, ahead: &Ahead) -> Result<Value, EngineError> {
    let mut stays = this.b.int(Scalar::Bool, 1, 1);
    for widened in &ahead.widened {
        let index = this.leaf(widened.id)?;
        let b = &this.b;
        let most = if widened.is_signed { i32::MAX as u32 } else { u32::MAX };
        let last = most - widened.step * ahead.elements() as u32;
        let pred = if widened.is_signed { IntPred::LLVMIntSLE } else { IntPred::LLVMIntULE };
        let one = match index.scalar().filter(|_| index.is_uniform()) {
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

/// Loads a piece for each lane, and returns the first elements.
fn load_piece(this: &Lowerer<'_, '_>, ahead: &Ahead, pieces: Pieces, addresses: Addresses) -> Value {
    let (b, word) = (&this.b, ahead.word());
    let words = apart::load_words(this, addresses, word, WORDS, ahead.scalar.bytes());
    let size = u64::from(this.w) * word.bytes();
    for (at, reg) in (0..).zip(&words) {
        b.store(this.vector(*reg), b.offset_const(pieces.words, at * size), word.bytes());
    }
    part(this, ahead, this.vector(words[0]), b.i32(0))
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
    this.b.reinterpret(apart::part(this, words, ahead.scalar.bytes(), at), ahead.scalar)
}
