//! Accesses whose addresses are expected to follow each other, made twice: as one access of a row for when they do, and
//! lane by lane. A uniform branch decides.
//!
//! Two looks decide between them (`Look`). Where an index of 32 bits may wrap around within the sub-group, and nowhere else is
//! in doubt, the last lane tells. What the analysis knows no step of, and takes for regular all the same
//! (`analysis::hope`), has all addresses compared: that is a few vector instructions, and a gather is dozens. They are fewer where
//! the indices have 32 bits: those are looked at then, which for the last lane is one comparison of the first one's, and
//! addresses are made of them only for a gather.
//!
//! Where such indices are no row, those of a load may still be within a register, or two for bytes and halves of a word, in any order: lanes that swap places are in an aligned
//! piece, and those that share elements (`x / 2`, clamped indices) or leave some out behind the first lane's. One access and a permutation is then enough, a third
//! of a gather's time. What lanes exchange in butterflies is in two registers, and stores to there are the same backwards (`butterflies`).

use super::access::{Access, Place, in_memory, lane_addresses, load_leaves, store_leaves, to_memory};
use super::builder::{Builder, IntPred, Value};
use super::butterflies::Side;
use super::groups::lanes::has_permute;
use super::memory::Indexed;
use super::values::{Mask, Reg, Val};
use super::{Lowerer, rows, runs, spaced, tables};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::shapes::Trust;

/// Accesses of one function that are made twice, so that code does not grow without bound.
pub(super) const MOST: u32 = 64;

/// What decides whether addresses follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// The distance from the first lane to the last one.
    LastLane,
    /// All addresses.
    AllLanes,
}

/// Addresses that may follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Hope {
    pub addresses: Value,
    /// The address of lane 0, and the bytes from lane to lane; without them those of the object that is accessed.
    first: Option<(Value, i64)>,
    /// What the addresses are made of, where the look may be at that.
    indexed: Option<Indexed>,
    look: Look,
}

impl Hope {
    /// Whether addresses are so many bytes apart unless an index wraps around.
    pub(super) fn has_step(self, bytes: i64) -> bool {
        self.first.is_some_and(|(_, step)| step == bytes)
    }

    /// What is done by row, or else lane by lane. An index hardly ever wraps around.
    fn branch(
        self,
        this: &Lowerer<'_, '_>,
        is_row: Value,
        by_row: impl FnOnce() -> Vec<Value>,
        apart: impl FnOnce() -> Vec<Value>,
    ) -> Vec<Value> {
        match self.look {
            Look::LastLane => this.b.branch_usually(is_row, by_row, apart),
            Look::AllLanes => this.b.branch_of_many(is_row, by_row, apart),
        }
    }

    /// The indices of a place of which no step is known.
    fn indices(self) -> Option<Indexed> {
        self.indexed.filter(|_| self.look == Look::AllLanes && self.first.is_none())
    }

    /// The same so many bytes further.
    pub(super) fn moved(self, this: &Lowerer<'_, '_>, bytes: Value) -> Hope {
        let further = |address| this.b.offset(address, bytes);
        Hope {
            addresses: further(self.addresses),
            first: self.first.map(|(base, step)| (further(base), step)),
            indexed: self.indexed.map(|indexed| Indexed { base: further(indexed.base), ..indexed }),
            look: self.look,
        }
    }
}

/// The look that an address of this trust needs before it is taken for a row.
pub(super) fn needs_look(trust: Trust) -> Option<Look> {
    match trust {
        Trust::Proven | Trust::Addresses => None,
        Trust::LastLane => Some(Look::LastLane),
        Trust::Unknown => Some(Look::AllLanes),
    }
}

/// Where addresses lead that may follow each other.
pub(super) fn place(
    this: &Lowerer<'_, '_>,
    addresses: Value,
    first: Option<(Value, i64)>,
    indexed: Option<Indexed>,
    look: Look,
) -> Place {
    let left = &this.storage.speculations;
    match left.get().checked_sub(1) {
        None => Place::Varying(addresses),
        Some(rest) => {
            left.set(rest);
            Place::Hoped(Hope { addresses, first, indexed, look })
        }
    }
}

/// The step from lane to lane that makes one access of leaves, or one of all that they lie in, if the hope is for that.
fn useful_step(
    this: &Lowerer<'_, '_>,
    hope: Hope,
    leaves: &[Leaf],
    bytes: u64,
    access: Access,
) -> Option<i64> {
    if access.volatile {
        return None;
    }
    let step = hope.first.map_or(bytes as i64, |(_, step)| step);
    let is_row = match leaves {
        [leaf] if !matches!(leaf.scalar, Scalar::Int(_)) => {
            let memory = in_memory(leaf.scalar);
            step.unsigned_abs() == memory.bytes() || spaced::is_worth_it(this.target, step, memory)
        }
        _ => runs::stride(leaves, step.saturating_abs()).is_some(),
    };
    is_row.then_some(step)
}

/// Whether a load of one leaf turns out to be one access of a row or of a piece.
pub(super) fn may_be_one_access(
    this: &Lowerer<'_, '_>,
    hope: Hope,
    leaf: Leaf,
    bytes: u64,
    access: Access,
) -> Value {
    let row = useful_step(this, hope, &[leaf], bytes, access).map(|step| is_row(this, hope, step).0);
    let piece = piece_of(this, hope, &[leaf]).map(|piece| Piece::of(this, piece).is_all);
    let either = row.into_iter().chain(piece).reduce(|row, piece| this.b.or(row, piece));
    either.unwrap_or_else(|| this.b.int(Scalar::Bool, 1, 0))
}

/// Whether the lanes that are on have addresses this far apart, and the first of the addresses.
fn is_row(this: &Lowerer<'_, '_>, hope: Hope, step: i64) -> (Value, Value) {
    let b = &this.b;
    if let Some(indexed) = hope.indexed
        && let Some(by) = whole_quotient(step, indexed.size)
        && (hope.look == Look::AllLanes || indexed.step == Some(by.into()))
    {
        return is_row_of_indices(this, indexed, by);
    }
    // Lanes that are off may have anything for an address, and code must not depend on that.
    let addresses = b.freeze(hope.addresses);
    let number = |value: Value| b.reinterpret(value, Scalar::I64);
    let base = match hope.first {
        Some((base, _)) => b.freeze(base),
        None => b.extract(addresses, b.i32(0)),
    };
    let row = match hope.look {
        Look::LastLane => {
            let last = b.extract(addresses, b.i32(this.w - 1));
            let expected = b.add(number(base), b.i64(step.wrapping_mul(i64::from(this.w) - 1) as u64));
            b.icmp(IntPred::LLVMIntEQ, number(last), expected)
        }
        Look::AllLanes => {
            let expected = lane_addresses(this, base, step);
            none_on(this, b.icmp(IntPred::LLVMIntNE, number(addresses), number(expected)))
        }
    };
    (row, base)
}

/// As [`is_row`] by the indices of the lanes, which grow by `by` from lane to lane. The look is at what lanes do not share, which may be
/// the same for many accesses: those of a filter, whose rows begin at what all lanes share.
fn is_row_of_indices(this: &Lowerer<'_, '_>, indexed: Indexed, by: u32) -> (Value, Value) {
    let (b, w) = (&this.b, this.w);
    let known = indexed.index.scalar().filter(|_| indexed.step == Some(by.into()));
    let (first, together) = match known {
        Some(first) => (b.freeze(first), None),
        None => {
            let (shared, own) =
                indexed.parts.map_or((None, indexed.index), |(shared, own)| (Some(shared), own));
            let own = b.freeze(this.vector(own));
            let first = b.extract(own, b.i32(0));
            let steps = b.int_vector(b.scalar_of(own), (0..w).map(|lane| u64::from(lane * by)));
            let expected = b.add(b.splat(first, w), steps);
            let together = none_on(this, b.icmp(IntPred::LLVMIntNE, own, expected));
            (shared.map_or(first, |shared| b.add(b.freeze(shared), first)), Some(together))
        }
    };
    // Where indices of 32 bits are a row, they do not wrap around within it.
    let span = (w - 1) * by;
    // Where lanes at 0 and above are on, those below may be off: `if (i >= n) x = a[i - n];`. Local memory has no more than 2^31 elements,
    // so the indices of those are negative as signed ones. To look at all lanes is one instruction more than at the first, and no jump
    // to mispredict, which pays where each work-group comes to it. (An address that is not far away is no matter of taste: a Zen 4 takes
    // hundreds of cycles to load for no lane from where nothing is.)
    let may_be_below = !indexed.is_wide && !indexed.is_signed && indexed.is_local && this.mask() != Mask::All;
    let (stays, first) = if may_be_below {
        let indices = b.freeze(this.vector(indexed.index));
        let negative = b.icmp(IntPred::LLVMIntSLT, indices, b.zero(Scalar::I32, w));
        (none_on(this, negative), b.sext_or_trunc(first, Scalar::I64))
    } else {
        (stays(b, indexed, first, span), indexed.widened(b, first))
    };
    let row = together.map_or(stays, |together| b.and(together, stays));
    (row, b.element(indexed.base, first, indexed.size))
}

/// Whether so many indices behind the first one do not wrap around.
pub(super) fn stays(b: &Builder, indexed: Indexed, first: Value, span: u32) -> Value {
    match (indexed.is_wide, indexed.is_signed) {
        (true, _) => b.int(Scalar::Bool, 1, 1),
        (_, true) => b.icmp(IntPred::LLVMIntSLE, first, b.i32(i32::MAX as u32 - span)),
        (_, false) => b.icmp(IntPred::LLVMIntULE, first, b.i32(u32::MAX - span)),
    }
}

/// Whether a mask is on in no lane that is. Packed components have no mask of their own: those of lanes that are off count as well.
pub(super) fn none_on(this: &Lowerer<'_, '_>, mask: Value) -> Value {
    let b = &this.b;
    let on = if this.packing.is_some() { Mask::All } else { this.mask() };
    let mask = match on {
        Mask::All => mask,
        Mask::Lanes(on) => b.and(mask, on),
    };
    b.not(b.any(mask))
}

/// How often a size is in a step, if it is that without a rest, and so often that a vector's indices can be told.
fn whole_quotient(step: i64, size: u64) -> Option<u32> {
    const MOST: u32 = 1 << 16;
    let by = u32::try_from(step).ok()?.checked_div(u32::try_from(size).ok()?)?;
    (u64::from(by) * size == step as u64 && (1..=MOST).contains(&by)).then_some(by)
}

pub(super) fn load(this: &Lowerer<'_, '_>, hope: Hope, leaves: &[Leaf], bytes: u64, access: Access) -> Val {
    let lanes = Place::Varying(hope.addresses);
    let Some(step) = useful_step(this, hope, leaves, bytes, access) else {
        return load_leaves(this, &lanes, leaves, bytes, access);
    };
    let load = |place: Place| -> Vec<Value> {
        let val = load_leaves(this, &place, leaves, bytes, access);
        val.into_iter().map(|reg| this.vector(reg)).collect()
    };
    let piece = piece_of(this, hope, leaves);
    let of_piece = |other: &dyn Fn() -> Vec<Value>| match piece {
        Some(piece) => {
            let piece = Piece::of(this, piece);
            let permuted = || vec![piece.load(this, leaves[0].scalar)];
            this.b.branch_of_many(piece.is_all, permuted, other)
        }
        None => other(),
    };
    let of_row = |other: &dyn Fn() -> Vec<Value>| {
        by_row(this, hope, step, |base| load(Place::Strided { base, step, into: 0 }), other)
    };
    // Those that swap places are a row where that is an aligned one, too, as a rule.
    let values = match piece.is_some_and(|piece| piece.is_exchange) {
        true => of_piece(&|| of_row(&|| load(lanes))),
        false => of_row(&|| of_piece(&|| load(lanes))),
    };
    values.into_iter().map(Reg::varying).collect()
}

/// An address that is not far away from all that there is, also if a sub-group of a bundle has no lane on. Nobody's index may be anything, and to load
/// for no lane from where nothing is takes a Zen 4 hundreds of cycles. Signed indices with a step are near those of other sub-groups.
fn near(this: &Lowerer<'_, '_>, hope: Hope, base: Value) -> Value {
    let is_near = hope.look == Look::LastLane && hope.indexed.is_some_and(|of| of.is_signed || of.is_wide);
    if is_near { base } else { this.readable(base) }
}

/// What is done with the first address if the others follow it so many bytes apart, else what `apart` does.
fn by_row(
    this: &Lowerer<'_, '_>,
    hope: Hope,
    step: i64,
    row: impl FnOnce(Value) -> Vec<Value>,
    apart: impl FnOnce() -> Vec<Value>,
) -> Vec<Value> {
    let (is_row, base) = is_row(this, hope, step);
    let base = near(this, hope, base);
    hope.branch(this, is_row, || row(base), apart)
}

/// What one access of a row of vectors gives if addresses follow each other so, else what `apart` does.
pub(super) fn as_row(
    this: &Lowerer<'_, '_>,
    hope: Hope,
    leaves: &[Leaf],
    bytes: u64,
    row: impl FnOnce(Value) -> Vec<Value>,
    apart: impl FnOnce() -> Vec<Value>,
) -> Vec<Value> {
    if useful_step(this, hope, leaves, bytes, Access::default()) != Some(bytes as i64) {
        return apart();
    }
    by_row(this, hope, bytes as i64, row, apart)
}

/// What is done for structures that follow each other unless an index wraps around, or for each lane's by its address, if the hope is
/// for so many bytes from one to the next.
pub(super) fn structures(
    this: &Lowerer<'_, '_>,
    hope: Hope,
    bytes: i64,
    row: impl FnOnce(Value) -> Vec<Value>,
    apart: impl FnOnce(Value) -> Vec<Value>,
) -> Option<Vec<Value>> {
    if hope.look != Look::LastLane || !hope.has_step(bytes) {
        return None;
    }
    Some(by_row(this, hope, bytes, row, || apart(hope.addresses)))
}

/// The indices of a load that may be one of a piece of memory, and a permutation, which is worth it where registers
/// are permuted by an instruction.
fn piece_of(this: &Lowerer<'_, '_>, hope: Hope, leaves: &[Leaf]) -> Option<Indexed> {
    let indexed = hope.indices()?;
    let [Leaf { scalar, .. }] = leaves else { return None };
    let fits = matches!(scalar.bits(), 8 | 16 | 32 | 64)
        && !matches!(scalar, Scalar::Ptr | Scalar::Int(_))
        && scalar.bytes() == indexed.size
        && indexed.size * u64::from(this.w) <= MOST_PIECE;
    (fits && this.w > 1 && has_permute(this, *scalar)).then_some(indexed)
}

/// Bytes of such a piece at most: two registers.
pub(super) const MOST_PIECE: u64 = 128;
/// Bytes of the largest elements that no instruction gathers.
const HAVE_NO_GATHER: u64 = 2;

/// Elements in which the lanes that are on may have theirs.
struct Piece {
    /// Whether they have, and there are some, and all of the elements are there to be read.
    is_all: Value,
    address: Value,
    /// Where each lane's is.
    places: Value,
    /// How many there are: W at least.
    elements: u32,
}

impl Piece {
    fn of(this: &Lowerer<'_, '_>, indexed: Indexed) -> Piece {
        // Instructions that permute two registers take as long as those for one, but more is loaded. What has a gather is not worth that, unless
        // there is a reason why it should be in two.
        let is_worth_two = indexed.size <= HAVE_NO_GATHER || indexed.may_be_side;
        let in_two = is_worth_two && tables::looks_up(this.target, indexed.size);
        let most = if in_two { (MOST_PIECE / indexed.size) as u32 } else { this.w };
        let elements = if indexed.is_exchange { this.w } else { most.max(this.w) };
        let (together, first, places) = match indexed.is_exchange {
            true => aligned(this, indexed),
            false => behind_first(this, indexed, elements),
        };
        let address = this.b.element(indexed.base, indexed.widened(&this.b, first), indexed.size);
        let readable = rows::can_be_read(this, address, indexed.size * u64::from(elements));
        Piece { is_all: this.b.and(together, readable), address, places, elements }
    }

    fn load(&self, this: &Lowerer<'_, '_>, scalar: Scalar) -> Value {
        let b = &this.b;
        let row = b.load(scalar, self.elements, self.address, 1);
        if self.elements == this.w {
            return this.permute(row, b.zext_or_trunc(self.places, Scalar::I32));
        }
        let integer = Scalar::machine_int(scalar.bits()).expect("a number of a register's");
        let table = tables::registers_of(b, b.reinterpret(row, integer));
        b.reinterpret(tables::look_up(b, &table, b.zext_or_trunc(self.places, integer)), scalar)
    }
}

/// Whether the lanes that are on have indices in one aligned piece, the piece's first index, and the places in it.
fn aligned(this: &Lowerer<'_, '_>, indexed: Indexed) -> (Value, Value, Value) {
    let (b, w) = (&this.b, this.w);
    let indices = b.freeze(this.vector(indexed.index));
    let aligned = |value: Value| b.and(value, b.int(b.scalar_of(value), b.lanes(value), !u64::from(w - 1)));
    let first = aligned(b.extract(indices, b.i32(0)));
    (none_on(this, b.icmp(IntPred::LLVMIntNE, aligned(indices), b.splat(first, w))), first, indices)
}

/// The same of a piece of so many elements that begins with the first lane's index. What is looked at is what lanes do not share. (To ask for the first lane that is on
/// is slower where all of them share an element: it goes through memory.)
fn behind_first(this: &Lowerer<'_, '_>, indexed: Indexed, elements: u32) -> (Value, Value, Value) {
    let b = &this.b;
    let (places, first) = places_behind_first(this, indexed);
    let far = b.icmp(IntPred::LLVMIntUGE, places, b.int(b.scalar_of(places), this.w, elements.into()));
    let stays = stays(b, indexed, first, elements - 1);
    (b.and(none_on(this, far), stays), first, places)
}

/// How far behind the first lane's index each lane's is, and that index.
pub(super) fn places_behind_first(this: &Lowerer<'_, '_>, indexed: Indexed) -> (Value, Value) {
    let (b, w) = (&this.b, this.w);
    let (shared, own) = indexed.parts.map_or((None, indexed.index), |(shared, own)| (Some(shared), own));
    let own = b.freeze(this.vector(own));
    let first = b.extract(own, b.i32(0));
    let places = b.sub(own, b.splat(first, w));
    (places, shared.map_or(first, |shared| b.add(b.freeze(shared), first)))
}

pub(super) fn store(this: &Lowerer<'_, '_>, hope: Hope, leaves: &[Leaf], val: &Val, access: Access) {
    let lanes = Place::Varying(hope.addresses);
    let bytes = leaves.iter().map(|leaf| in_memory(leaf.scalar).bytes()).sum();
    let Some(step) = useful_step(this, hope, leaves, bytes, access) else {
        return store_leaves(this, &lanes, leaves, val, access);
    };
    let store = |place: Place| {
        store_leaves(this, &place, leaves, val, access);
        Vec::new()
    };
    let words = || match (leaves, &val[..]) {
        ([leaf], [reg]) if leaf.scalar.bits() == u32::BITS => {
            Some(this.b.reinterpret(to_memory(this, this.vector(*reg)), Scalar::I32))
        }
        _ => None,
    };
    let apart = || match hope.indices().and_then(|indexed| Some((Side::of(this, indexed)?, words()?))) {
        Some((side, words)) => {
            let to_side = || {
                side.store(this, words);
                Vec::new()
            };
            this.b.branch_of_many(side.is_it, to_side, || store(lanes))
        }
        None => store(lanes),
    };
    by_row(this, hope, step, |base| store(Place::Strided { base, step, into: 0 }), apart);
}
