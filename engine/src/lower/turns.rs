//! What lanes do one after the other: atomic instructions, each lane in its turn.
//!
//! Several that stand next to each other (`analysis::atomic_runs`) are made together, all of a lane's before the next lane's: count, sum, minimum and
//! maximum of a group are in four tables, and where the next lane has the same group, its count waits for what three others took meanwhile. Each work-item
//! does what it does in the kernel's order.

use super::atomics::Access;
use super::builder::{IntPred, Value};
use super::groups::first_bit;
use super::values::{Mask, Reg};
use super::{Lowerer, memory};
use crate::analysis::leaves::Scalar;
use crate::error::EngineError;
use smallvec::SmallVec;
use spirv_env::Inst;

/// Lanes whose turns a loop over all of them takes at a time: its jump would be a third of what a histogram takes.
const AT_A_TIME: u32 = 4;

/// What each lane does in its turn.
#[derive(Clone)]
pub(super) struct Turn {
    pub access: Access,
    /// The first is what the address is made of.
    pub operands: SmallVec<[Reg; 3]>,
    pub place: Place,
}

/// What the first operand of a turn is.
#[derive(Clone)]
pub(super) enum Place {
    /// The address.
    Own,
    /// Bytes behind an address that all lanes share, in 32 bits.
    ///
    /// For processors that want one address each in a loop that stays one (`Make::prefers_turns`): straight code would have the addresses in two or
    /// three registers in turn.
    Behind(Value),
    Small(Small),
}

/// Addresses in local memory by indices that are known to be small: histograms.
#[derive(Clone)]
pub(super) struct Small {
    base: Value,
    step: u64,
    /// Bits of the greatest index: 8 or 16.
    bits: u32,
}

impl Small {
    /// What a pointer is made of, and its index.
    pub fn of(
        this: &mut Lowerer<'_, '_>,
        inst: &Inst,
        scalar: Scalar,
    ) -> Result<Option<(Small, Reg)>, EngineError> {
        let pointer = inst.id(0);
        let found = this.a.small_index(this.current_block(), pointer, scalar.bytes());
        let Some(small) = found.filter(|small| this.w >= 8 && small.last < 1 << 16) else { return Ok(None) };
        let Some(base) = memory::first_element(this, pointer, small.index)? else { return Ok(None) };
        let bits = if small.last < 1 << 8 { 8 } else { 16 };
        Ok(Some((Small { base, step: small.step, bits }, this.leaf(small.index)?)))
    }

    /// The address of an index of 64 bits, of which only the lowest count.
    fn address(&self, this: &Lowerer<'_, '_>, index: Value) -> Value {
        let b = &this.b;
        b.element(self.base, b.and(index, b.i64((1 << self.bits) - 1)), self.step)
    }

    /// The addresses of all lanes. Indices leave vectors several at a time: an instruction for each would be the most of a histogram.
    fn addresses(&self, this: &Lowerer<'_, '_>, index: Reg) -> Vec<Value> {
        const WORD: u32 = 64;
        let b = &this.b;
        let narrow = Scalar::int(self.bits).expect("8 or 16 bits");
        let indices = b.zext_or_trunc(b.freeze(this.vector(index)), narrow);
        let of_word = WORD / self.bits;
        let words = b.reshape(indices, Scalar::I64, this.w / of_word);
        let word_at = |at: u32| if this.w == of_word { words } else { b.extract(words, b.i32(at)) };
        let words: Vec<Value> = (0..this.w / of_word).map(word_at).collect();
        let address = |lane: u32| {
            let word = words[(lane / of_word) as usize];
            self.address(this, b.lshr(word, b.i64((lane % of_word * self.bits).into())))
        };
        (0..this.w).map(address).collect()
    }
}

impl Turn {
    /// The same with its table's address in a register of its own.
    fn apart(&self, this: &Lowerer<'_, '_>) -> Turn {
        let mut turn = self.clone();
        match &mut turn.place {
            Place::Behind(base) | Place::Small(Small { base, .. }) => *base = this.b.in_register(*base),
            Place::Own => {}
        }
        turn
    }

    /// A lane's address, given what it is made of.
    fn address(&self, this: &Lowerer<'_, '_>, first: Value) -> Value {
        let b = &this.b;
        match &self.place {
            Place::Own => first,
            Place::Behind(base) => b.offset(*base, b.sext_or_trunc(first, Scalar::I64)),
            Place::Small(small) => small.address(this, b.zext_or_trunc(first, Scalar::I64)),
        }
    }
}

/// How turns are taken where all lanes are on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One behind the other.
    Straight,
    /// In a loop over all lanes.
    Counted,
    /// In that over the lanes which are on.
    OverBits,
}

fn form(this: &Lowerer<'_, '_>, turns: &[Turn]) -> Form {
    let any = |is: fn(&Turn) -> bool| turns.iter().any(is);
    match this.w {
        1 => Form::Straight,
        _ if any(|turn| turn.access.is_atomic()) => Form::OverBits,
        _ if any(|turn| matches!(turn.place, Place::Behind(_))) => Form::Counted,
        _ => Form::Straight,
    }
}

/// Has each lane that is on take its turns, one lane after the other. The results of the only turn, if they have a type here.
pub(super) fn take(this: &Lowerer<'_, '_>, turns: &[Turn], result: Option<Scalar>) -> Option<Value> {
    let form = form(this, turns);
    // A Zen 4 takes a load for one of what has just been stored where both have the same registers for an address, and distances from
    // there which differ by a multiple of 1024: by tables of 256 counters. It finds out 5 ns later.
    let apart: SmallVec<[Turn; 1]>;
    let turns = match turns {
        [_, _, ..] if this.target.make.prefers_turns() => {
            apart = turns.iter().map(|turn| turn.apart(this)).collect();
            &apart
        }
        _ => turns,
    };
    let all = || match form {
        Form::Straight => straight(this, turns, result),
        Form::Counted => {
            let kept = Kept::new(this, turns, result);
            counted(this, |this, lane| kept.take(this, lane));
            kept.results(this)
        }
        Form::OverBits => one_by_one(this, turns, result),
    };
    match this.mask() {
        Mask::Lanes(mask) if form != Form::OverBits && this.w > 1 => {
            let of_part = || one_by_one(this, turns, result).into_iter().collect();
            this.b.branch_of_many(this.b.all(mask), || all().into_iter().collect(), of_part).pop()
        }
        Mask::Lanes(_) => one_by_one(this, turns, result),
        Mask::All => all(),
    }
}

/// Code for one lane after the other, all of which are on.
fn straight(this: &Lowerer<'_, '_>, turns: &[Turn], result: Option<Scalar>) -> Option<Value> {
    let (b, w) = (&this.b, this.w);
    let addresses: SmallVec<[Option<Vec<Value>>; 1]> = (turns.iter())
        .map(|turn| match &turn.place {
            Place::Small(small) => Some(small.addresses(this, turn.operands[0])),
            _ => None,
        })
        .collect();
    let mut results = result.map(|scalar| b.poison(scalar, w));
    for lane in 0..w {
        let of_lane = |reg: &Reg| match reg.is_uniform() {
            true => this.same(*reg),
            false => b.extract(this.vector(*reg), b.i32(lane)),
        };
        for (turn, addresses) in turns.iter().zip(&addresses) {
            let address = match addresses {
                Some(addresses) => addresses[lane as usize],
                None => turn.address(this, of_lane(&turn.operands[0])),
            };
            let operands: SmallVec<[Value; 2]> = turn.operands[1..].iter().map(of_lane).collect();
            let value = turn.access.make(this, address, &operands);
            results =
                results.map(|results| if w == 1 { value } else { b.insert(results, value, b.i32(lane)) });
        }
    }
    results
}

/// Operands of lanes in memory, where they have addresses, and room for results.
struct Kept<'t> {
    turns: &'t [Turn],
    /// Of each turn's operands, where they are in memory.
    operands: Vec<SmallVec<[Option<Value>; 3]>>,
    result: Option<(Scalar, Value)>,
}

impl<'t> Kept<'t> {
    fn new(this: &Lowerer<'_, '_>, turns: &'t [Turn], result: Option<Scalar>) -> Self {
        let (b, w) = (&this.b, this.w);
        let mut all: Vec<(Value, Value)> = Vec::new();
        let mut keep = |vector: Value| {
            if let Some((_, slot)) = all.iter().find(|(kept, _)| *kept == vector) {
                return *slot;
            }
            let slot = this.prologue_alloca(b.scalar_of(vector), w);
            b.store(vector, slot, 1);
            all.push((vector, slot));
            slot
        };
        let of_turn = |turn: &Turn| {
            turn.operands.iter().map(|reg| (!reg.is_uniform()).then(|| keep(this.vector(*reg)))).collect()
        };
        let operands = turns.iter().map(of_turn).collect();
        let result = result.map(|scalar| {
            let slot = this.prologue_alloca(scalar, w);
            b.store(b.zero(scalar, w), slot, 1);
            (scalar, slot)
        });
        Kept { turns, operands, result }
    }

    /// Takes the turns of a lane, a 64-bit number.
    fn take(&self, this: &Lowerer<'_, '_>, lane: Value) {
        let b = &this.b;
        for (turn, slots) in self.turns.iter().zip(&self.operands) {
            let of = |(reg, slot): (&Reg, &Option<Value>)| match slot {
                None => this.same(*reg),
                Some(slot) => {
                    let scalar = b.scalar_of(this.vector(*reg));
                    b.load(scalar, 1, b.gep(*slot, lane, scalar), 1)
                }
            };
            let values: SmallVec<[Value; 3]> = turn.operands.iter().zip(slots).map(of).collect();
            let value = turn.access.make(this, turn.address(this, values[0]), &values[1..]);
            if let Some((scalar, slot)) = self.result {
                b.store(value, b.gep(slot, lane, scalar), 1);
            }
        }
    }

    fn results(&self, this: &Lowerer<'_, '_>) -> Option<Value> {
        self.result.map(|(scalar, slot)| this.b.load(scalar, this.w, slot, 1))
    }
}

/// A loop over all lanes that stays one.
fn counted(this: &Lowerer<'_, '_>, f: impl Fn(&Lowerer<'_, '_>, Value)) {
    let b = &this.b;
    let before = b.here();
    let (inside, done) = (this.label("lane"), this.label("lanes.done"));
    b.br(inside);
    b.at_end(inside);
    let first = b.phi(Scalar::I64, 1);
    b.add_incoming(first, b.i64(0), before);
    let at_a_time = AT_A_TIME.min(this.w);
    for lane in 0..at_a_time {
        f(this, b.add(first, b.i64(lane.into())));
    }
    let next = b.add(first, b.i64(at_a_time.into()));
    b.add_incoming(first, next, b.here());
    b.cond_br_back_rolled(b.icmp(IntPred::LLVMIntNE, next, b.i64(this.w.into())), inside, done);
    b.at_end(done);
}

/// A loop over the bits of the mask.
fn over_bits(this: &Lowerer<'_, '_>, f: impl Fn(&Lowerer<'_, '_>, Value)) {
    let b = &this.b;
    let bits = this.active_bits();
    let before = b.here();
    let (inside, done) = (this.label("lane"), this.label("lanes.done"));
    b.cond_br(b.icmp(IntPred::LLVMIntNE, bits, b.i64(0)), inside, done);
    b.at_end(inside);
    let left = b.phi(Scalar::I64, 1);
    b.add_incoming(left, bits, before);
    f(this, b.zext_or_trunc(first_bit(b, left, this.w), Scalar::I64));
    let rest = b.and(left, b.sub(left, b.i64(1)));
    b.add_incoming(left, rest, b.here());
    b.cond_br(b.icmp(IntPred::LLVMIntNE, rest, b.i64(0)), inside, done);
    b.at_end(done);
}

/// Turns in a loop over the lanes that are on. Operands and results go through memory, where lanes have addresses.
pub(super) fn one_by_one(this: &Lowerer<'_, '_>, turns: &[Turn], result: Option<Scalar>) -> Option<Value> {
    let kept = Kept::new(this, turns, result);
    over_bits(this, |this, lane| kept.take(this, lane));
    kept.results(this)
}
