//! Blocks of images, which a sub-group reads and writes together (`SPV_INTEL_subgroups`, `SPV_INTEL_media_block_io`;
//! L0 SPIR-V Guide, Intel Subgroups): bytes of rows, whatever the format is.
//!
//! The coordinate of the first lane counts for all; its first component is in bytes. Reads beside the image give what is at
//! the edge, in units of 32 bits; writes beside it do nothing.

use super::super::builder::{IntPred, Value};
use super::emit::Emitter;
use super::surface::Surface;
use crate::analysis::leaves::Scalar;
use crate::image::descriptor::field;

/// A block: `rows` rows of `elements`, of which lanes have one each in turn.
pub(super) struct Block {
    pub element: Scalar,
    /// The coordinate of the block's first byte and row, scalars.
    pub x: Value,
    pub y: Value,
}

/// Bytes of a row, as a signed number.
fn row_bytes(em: &Emitter<'_>, surface: &Surface) -> Value {
    let b = em.b;
    let bytes = em.word(surface.descriptor, field::BYTES);
    b.mul(b.zext_or_trunc(surface.sizes[0], Scalar::I64), b.zext_or_trunc(bytes, Scalar::I64))
}

/// Byte offsets in a row, in 64 bits: `at` elements behind the block's first.
fn offsets(em: &Emitter<'_>, block: &Block, at: Value) -> Value {
    let b = em.b;
    let size = b.int(Scalar::I64, em.lanes, block.element.bytes());
    let start = em.all(b.sext_or_trunc(block.x, Scalar::I64));
    b.add(start, b.mul(b.sext_or_trunc(at, Scalar::I64), size))
}

/// The rows `first` + `row`, one for each lane; bounded to the image, and whether they are inside.
fn rows(em: &Emitter<'_>, surface: &Surface, block: &Block, row: Value) -> (Value, Value) {
    let b = em.b;
    // Beyond 31 bits there is no image: saturation keeps what is outside there.
    let y = b.intrinsic("llvm.sadd.sat", &[em.all(block.y), row]);
    let height = em.all(surface.sizes[1]);
    let last = b.sub(height, em.int(1));
    (em.smax(em.smin(y, last), em.int(0)), em.below(y, height))
}

/// Reads the elements at places `column` and `row` of a block, one for each lane.
pub(super) fn read(em: &Emitter<'_>, surface: &Surface, block: &Block, column: Value, row: Value) -> Value {
    let b = em.b;
    let wide = |value: u64| b.int(Scalar::I64, em.lanes, value);
    let width = em.all(row_bytes(em, surface));
    let at = offsets(em, block, column);
    // To the edge in units of 32 bits, as far as there are so many bytes.
    let words = b.lshr(b.add(width, wide(3)), wide(2));
    let word = b.ashr(at, wide(2));
    let word = em.smax(em.smin(word, b.sub(words, wide(1))), wide(0));
    let at = b.or(b.shl(word, wide(2)), b.and(at, wide(3)));
    let last = b.sub(width, wide(block.element.bytes()));
    let fits = b.icmp(IntPred::LLVMIntSGE, last, wide(0));
    let at = em.smax(em.smin(at, last), wide(0));
    let (y, _) = rows(em, surface, block, row);
    let address = b.offset(surface.row(em, &[y]), at);
    // Rows that are shorter than an element have none.
    let nowhere = b.zero(block.element, em.lanes);
    match em.lanes {
        1 => em.choose(fits, || b.load(block.element, 1, address, 1), || nowhere),
        _ => b.gather(block.element, address, 1, fits),
    }
}

/// The address of a row of elements, one for each lane from the block's first on, and whether all of them are inside.
pub(super) fn line(em: &Emitter<'_>, surface: &Surface, block: &Block, row: u32) -> (Value, Value) {
    let b = em.b;
    let bytes = u64::from(em.lanes) * block.element.bytes();
    let x = b.sext_or_trunc(block.x, Scalar::I64);
    let room = b.sub(row_bytes(em, surface), b.i64(bytes));
    let y = b.add(block.y, b.i32(row));
    let from = b.icmp(IntPred::LLVMIntSGE, x, b.i64(0));
    let to = b.icmp(IntPred::LLVMIntSLE, x, room);
    let inside = b.and(b.and(from, to), em.below(y, surface.sizes[1]));
    (b.offset(surface.row(em, &[y]), x), inside)
}

/// Writes the elements at places `column` and `row` of a block, those of lanes that are on.
pub(super) fn write(
    em: &Emitter<'_>,
    surface: &Surface,
    block: &Block,
    (column, row): (Value, Value),
    value: Value,
    mask: Value,
) {
    let b = em.b;
    let width = em.all(row_bytes(em, surface));
    let at = offsets(em, block, column);
    let end = b.add(at, b.int(Scalar::I64, em.lanes, block.element.bytes()));
    let (y, is_row) = rows(em, surface, block, row);
    let zero = b.zero(Scalar::I64, em.lanes);
    let from = b.icmp(IntPred::LLVMIntSGE, at, zero);
    let inside = b.and(b.and(from, b.icmp(IntPred::LLVMIntSLE, end, width)), is_row);
    let address = b.offset(surface.row(em, &[y]), em.smax(at, zero));
    em.store_each(value, address, b.and(mask, inside));
}
