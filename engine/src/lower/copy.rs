//! Copies of memory (`OpCopyMemory`, `OpCopyMemorySized`), and code that runs for one lane after the other.

use super::Lowerer;
use super::access::{Access, Place, load_leaf, of_one, place, store_leaf};
use super::builder::{IntPred, Value};
use super::values::{Mask, Reg};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::moves::MOST_LOADED_FIRST;
use crate::error::EngineError;
use spirv::StorageClass;
use spirv_env::Id;

/// How many bytes a copy takes.
pub(super) enum Size {
    Bytes(u64),
    Value(Id),
}

/// Copies memory for each lane that is on.
pub(super) fn copy(
    this: &mut Lowerer<'_, '_>,
    to: Id,
    from: Id,
    size: Size,
    [write, read]: [Access; 2],
) -> Result<(), EngineError> {
    /// Copies up to this size become loads and stores.
    const SMALL: u64 = 256;
    let [to_align, from_align] = [write, read].map(|access| access.align.unwrap_or(1).min(16) as u32);
    let volatile = write.volatile || read.volatile;
    let (target, source) = (whole(this, to)?, whole(this, from)?);
    let uniform_size = match size {
        Size::Bytes(bytes) => Some(this.b.i64(bytes)),
        Size::Value(id) => {
            let reg = this.leaf(id)?;
            reg.of_all_lanes().map(|size| this.b.zext_or_trunc(size, Scalar::I64))
        }
    };
    if let (Place::Uniform(target), Place::Uniform(source), Some(length)) = (target, source, uniform_size) {
        let (target, source) = ((target, to_align), (source, from_align));
        match size {
            // What is moved may overlap (`analysis::moves`).
            Size::Bytes(bytes) if bytes <= SMALL && !volatile => this.b.relocate(target, source, length),
            _ => this.b.copy(target, source, length, volatile),
        }
        return Ok(());
    }
    // A row of an interleaved variable is a leaf, and moves as a whole.
    let private = &this.a.private;
    let row = |pointer: Id| private.leaf_bytes.get(private.interleaved.get(&pointer)?).copied();
    let row = row(to).or(row(from));
    if let Size::Bytes(bytes) = size
        && (bytes <= SMALL || row.is_some())
    {
        let aligns = [to_align, from_align];
        // Those of lanes, where they are not interleaved, are read element by element elsewhere.
        let is_private = |id: Id| this.a.func.class_of(id) == Some(StorageClass::Function);
        let is_plain = !volatile && !is_private(to) && !is_private(from);
        if is_plain && copy_structures(this, [&target, &source], aligns, bytes) {
            return Ok(());
        }
        let mut leaves: Vec<Leaf> = Vec::new();
        let mut at = 0;
        while at < bytes {
            let fits =
                |unit: &u64| at + unit <= bytes && u64::from(to_align.min(from_align)).is_multiple_of(*unit);
            let unit = row.or_else(|| [8, 4, 2, 1].into_iter().find(fits)).unwrap_or(1);
            let scalar = Scalar::int(unit as u32 * 8).expect("units are integer sizes");
            leaves.push(Leaf { scalar, offset: at });
            at += unit;
        }
        // What is moved may overlap (`analysis::moves`).
        let first = if leaves.len() as u64 <= MOST_LOADED_FIRST { leaves.len() } else { 1 };
        for leaves in leaves.chunks(first.max(1)) {
            let regs: Vec<Reg> = leaves.iter().map(|leaf| load_leaf(this, &source, *leaf, read)).collect();
            leaves.iter().zip(regs).for_each(|(leaf, reg)| store_leaf(this, &target, *leaf, reg, write));
        }
        return Ok(());
    }
    // One lane after the other.
    let (target, source) = (this.leaf(to)?, this.leaf(from)?);
    let size = match size {
        Size::Bytes(bytes) => Reg::uniform(this.b.i64(bytes)),
        Size::Value(id) => this.leaf(id)?,
    };
    this.for_each_lane(|this, lane| {
        let pick = |reg: Reg| {
            if reg.is_uniform() { this.vector_or_scalar(reg) } else { this.b.extract(this.vector(reg), lane) }
        };
        let bytes = this.b.zext_or_trunc(pick(size), Scalar::I64);
        this.b.copy((pick(target), to_align), (pick(source), from_align), bytes, volatile);
    });
    Ok(())
}

/// Copies a structure of each lane as a whole, if elements of lanes are not to be brought together anyway: one access of 32 bytes for each lane
/// does what four gathers and four scatters do. Structures that lie side by side on both sides are one piece of memory.
fn copy_structures(this: &Lowerer<'_, '_>, places: [&Place; 2], aligns: [u32; 2], bytes: u64) -> bool {
    /// Less is an element.
    const LEAST: u64 = 16;
    /// Bytes that all lanes copy one after the other in straight code, and not in a loop.
    const STRAIGHT: u64 = 1024;
    /// More at once is a call of the C library.
    const MOST_REGISTERS: u64 = 8;
    /// Elements from one structure to the next up to which a few vectors have those of all lanes (`structures`).
    const NEAR: u64 = 8;
    let [to, from] = aligns;
    let register = u64::from(this.target.simd_bits() / 8);
    let (w, is_full) = (u64::from(this.w), this.mask() == Mask::All);
    let [target, source] = places;
    let is_of_lanes = |place: &Place| matches!(place, Place::Strided { .. } | Place::Varying(_));
    let is_served = is_of_lanes(target) && (is_of_lanes(source) || matches!(source, Place::Uniform(_)));
    if w == 1 || bytes < LEAST || !is_served {
        return false;
    }
    if let [Place::Strided { base: target, step, .. }, Place::Strided { base: source, step: of_source, .. }] =
        places
        && [*step, *of_source] == [bytes as i64; 2]
    {
        let pieces = (0..w * bytes).step_by(register as usize).filter(|_| is_full);
        for (at, length) in pieces.map(|at| (at, register.min(w * bytes - at))) {
            let here = this.b.load(Scalar::I8, length as u32, this.b.offset_const(*source, at), from.into());
            this.b.store(here, this.b.offset_const(*target, at), to.into());
        }
        return is_full;
    }
    let unit = u64::from(to.min(from).clamp(1, 8));
    let is_far = |place: &Place| match place {
        Place::Varying(_) => true,
        Place::Strided { step, .. } => step.unsigned_abs() > NEAR * unit,
        _ => false,
    };
    // What is moved may overlap (`analysis::moves`).
    let most = MOST_REGISTERS * register;
    if !places.into_iter().any(is_far) || (bytes > most && bytes <= MOST_LOADED_FIRST * unit) {
        return false;
    }
    let copy_lane = |this: &Lowerer<'_, '_>, lane: Value| {
        let b = &this.b;
        let address = |place: &Place| match place {
            Place::Uniform(address) => Some(*address),
            Place::Strided { base, step, .. } => {
                let lane = b.zext_or_trunc(lane, Scalar::I64);
                Some(b.offset(*base, b.mul(lane, b.i64(*step as u64))))
            }
            Place::Varying(pointers) => Some(b.extract(*pointers, lane)),
            _ => None,
        };
        if let [Some(target), Some(source)] = places.map(address) {
            for at in (0..bytes).step_by(most as usize) {
                let place = |address: Value, align: u32| (b.offset_const(address, at), align);
                b.relocate(place(target, to), place(source, from), b.i64(most.min(bytes - at)));
            }
        }
    };
    if is_full && w * bytes <= STRAIGHT {
        (0..this.w).for_each(|lane| copy_lane(this, this.b.i32(lane)));
    } else {
        this.for_each_lane(|this, lane| copy_lane(this, lane));
    }
    true
}

/// Where a pointer leads. A single lane's rows follow each other in memory: they are copied at once.
fn whole(this: &mut Lowerer<'_, '_>, pointer: Id) -> Result<Place, EngineError> {
    place(this, pointer).map(|place| of_one(this, place))
}

impl Lowerer<'_, '_> {
    /// The scalar of a uniform leaf.
    fn vector_or_scalar(&self, reg: Reg) -> Value {
        reg.scalar().unwrap_or_else(|| self.vector(reg))
    }

    /// Runs code once for each lane that is on, with the lane's number (32 bits).
    pub fn for_each_lane(&self, emit: impl FnOnce(&Self, Value)) {
        let b = &self.b;
        if self.w == 1 {
            return emit(self, b.i32(0));
        }
        let bits = b.mask_bits(self.mask_vector());
        let (head, inside, done) = (self.label("lanes"), self.label("lane"), self.label("lanes.done"));
        let before = b.here();
        b.br(head);
        b.at_end(head);
        let rest = b.phi(Scalar::I64, 1);
        b.add_incoming(rest, bits, before);
        b.cond_br(b.icmp(IntPred::LLVMIntNE, rest, b.i64(0)), inside, done);
        b.at_end(inside);
        let lane = b.intrinsic("llvm.cttz", &[rest, b.int(Scalar::Bool, 1, 1)]);
        emit(self, b.zext_or_trunc(lane, Scalar::I32));
        let next = b.and(rest, b.sub(rest, b.i64(1)));
        b.add_incoming(rest, next, b.here());
        b.br(head);
        b.at_end(done);
    }
}
