//! Stores of rows that go past the caches, where the launch is larger than those (`analysis::streaming`).

use super::Lowerer;
use super::access::{Access, Place, store_leaves, to_memory};
use super::builder::{IntPred, Value};
use super::values::{Mask, Val};
use super::{runs, values::Reg};
use crate::analysis::leaves::{Leaf, Scalar};

/// Bytes of the caches' lines: a store of less than one joins those beside it on the way to memory.
const LINE: u64 = 64;

/// The address of a row that all lanes write together without a gap, and how many bytes each.
fn row(place: &Place, leaves: &[Leaf], access: Access) -> Option<(Value, u64)> {
    let Place::Strided { base, step, .. } = *place else { return None };
    let bytes = runs::element(leaves)?.bytes() * leaves.len() as u64;
    (step == bytes as i64 && !access.volatile).then_some((base, bytes))
}

/// Stores leaves past the caches if the launch is large enough, all lanes are on, and the row begins with a line; else as ever. Whether it
/// has done that: it is not done for places that are no rows.
pub(super) fn store(
    this: &Lowerer<'_, '_>,
    place: &Place,
    leaves: &[Leaf],
    val: &Val,
    access: Access,
) -> bool {
    let Some((base, bytes)) = row(place, leaves, access).filter(|_| access.streams) else { return false };
    let vectors = || {
        let to_vector = |reg: &Reg| to_memory(this, this.vector(*reg));
        match &val[..] {
            [reg] => vec![(0, to_vector(reg))],
            _ => runs::whole_vectors(this, leaves, val),
        }
    };
    let usual = || store_leaves(this, place, leaves, val, Access { streams: false, ..access });
    store_row(this, base, bytes, vectors, usual)
}

/// The same for a row of so many bytes a lane, of which vectors cover all, each with its place: stored past the caches, or as `usual` does.
pub(super) fn store_row(
    this: &Lowerer<'_, '_>,
    base: Value,
    bytes: u64,
    vectors: impl FnOnce() -> Vec<(u64, Value)>,
    usual: impl FnOnce(),
) -> bool {
    let b = &this.b;
    let align = (bytes * u64::from(this.w)).min(LINE);
    let is_whole = align.is_power_of_two() && (bytes * u64::from(this.w)).is_multiple_of(align);
    if !is_whole || align < this.target.make.shortest_past_caches() {
        return false;
    }
    let address = b.reinterpret(base, Scalar::I64);
    let is_line = b.icmp(IntPred::LLVMIntEQ, b.and(address, b.i64(align - 1)), b.i64(0));
    let streams = b.and(this.launch_streams(this.a.streaming().bytes), is_line);
    let condition = match this.mask() {
        Mask::All => streams,
        Mask::Lanes(mask) => b.and(streams, b.all(mask)),
    };
    let past = || {
        for (offset, vector) in vectors() {
            b.store_past_caches(vector, b.offset_const(base, offset), align);
        }
        Vec::new()
    };
    let usual = || {
        usual();
        Vec::new()
    };
    b.branch_of_many(condition, past, usual);
    true
}
