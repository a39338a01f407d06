//! Loads from small tables, by permutations in registers. Which tables those are is `analysis::tables`'.
//!
//! A table of 256 words is sixteen registers: eight permutations of two registers each by the low bits of the index, and seven selections
//! by the bits above. On a Zen 4 that is 3.1 ns for 16 lanes, registers loaded anew, where a gather is 5.8; one of 16 words is one permutation.
//! Intel's processors gather in fewer cycles and permute in as many.
//!
//! Elements that are vectors or structures are looked up word by word.
//!
//! A table that is no variable is read if it is in one page, which a lane's access proves to be there. Where it may be large, the code asks first whether all
//! lanes find their elements at its beginning.

use super::access::{self, load_leaves};
use super::builder::{Builder, IntPred, Value};
use super::values::{Reg, Val};
use super::{Lowerer, apart, memory, rows, speculation};
use crate::analysis::Analysis;
use crate::analysis::func::BlockId;
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::tables::Table;
use crate::error::EngineError;
use crate::jit::target::Target;
use smallvec::SmallVec;
use spirv_env::{Inst, TypeId};

/// Registers of the beginning of a table, which one permutation looks up in.
const BEGINNING: u64 = 2;
/// Registers of a table whose beginning is asked for first.
const LEAST_WITH_BEGINNING: u64 = 8;
/// Bits of a register that is permuted.
pub(super) const REGISTER: u32 = 512;
/// Registers of a table for 16 lanes, each counted as often as lanes take something from it.
const MOST: u64 = 20;
/// The same for an access that may be one of a row.
const MOST_IF_ROW: u64 = 2;
/// The same in a function: code for 16 lanes and 256 words is as much as six gathers, and what does not fit into the first cache of
/// instructions is no faster.
pub(super) const MOST_OF_FUNCTION: u64 = 3072;

/// Whether there are instructions that look up elements of so many bytes in registers.
pub(super) fn looks_up(target: &Target, bytes: u64) -> bool {
    target.has_avx512() && (bytes > 1 || target.has_feature("avx512vbmi"))
}

/// The table that a block's load is from, and its registers, if permutations are faster than what else it would be.
pub(super) fn table(a: &Analysis<'_>, at: BlockId, load: &Inst, target: &Target) -> Option<(Table, u64)> {
    let lanes = u64::from(a.variant.width);
    if !target.has_avx512() || lanes < 8 {
        return None;
    }
    let table = a.table(at, load)?;
    let has_permutation = looks_up(target, table.word.bytes());
    let registers = (8 * table.bytes()).div_ceil(REGISTER.into());
    // Lanes of 64 bits are several registers, each of which is permuted for itself.
    let pieces = (table.word.bytes() * 8 * lanes).div_ceil(REGISTER.into());
    let mut looked_up: SmallVec<[u64; 4]> =
        a.leaves.get(load.ty?)?.iter().map(|leaf| table.word_of(*leaf)).collect();
    looked_up.dedup();
    let most = match a.may_be_row(at, load.id(0)) {
        true => MOST_IF_ROW,
        false if target.make.gathers_fast() => MOST * lanes / 32,
        false => MOST * lanes / 16,
    };
    let all = registers * pieces * looked_up.len() as u64;
    (has_permutation && all <= most.min(MOST)).then_some((table, all))
}

/// What a load loads, if it is from a small table.
pub(super) fn load(this: &mut Lowerer<'_, '_>, inst: &Inst, ty: TypeId) -> Result<Option<Val>, EngineError> {
    let found = table(this.a, this.current_block(), inst, this.target);
    let left = this.storage.table_registers.get();
    let Some((table, rest)) = found.and_then(|(table, all)| Some((table, left.checked_sub(all)?))) else {
        return Ok(None);
    };
    let Some(base) = memory::first_element(this, inst.id(0), table.index)? else { return Ok(None) };
    this.storage.table_registers.set(rest);
    let index = this.leaf(table.index)?;
    let place = access::place(this, inst.id(0))?;
    let (b, access) = (&this.b, memory::accesses(inst)[1]);
    let (leaves, bytes) = (this.leaves(ty)?, this.a.func.module.types.layout(ty).size);
    let permuted = |table: Table| load_permuted(this, table, base, index, &leaves);
    let all = || {
        let readable = rows::can_be_read(this, base, table.bytes());
        let own = || {
            let val = load_leaves(this, &place, &leaves, bytes, access);
            val.into_iter().map(|reg| this.vector(reg)).collect()
        };
        b.branch_of_many(readable, || permuted(table), own)
    };
    let values = match beginning(table, bytes) {
        _ if table.is_there => permuted(table),
        Some((begun, last)) => {
            let index = b.freeze(this.vector(index));
            let is_behind = b.icmp(IntPred::LLVMIntUGT, index, b.int(b.scalar_of(index), this.w, last));
            let readable = rows::can_be_read(this, base, begun.bytes());
            let is_in = b.and(speculation::none_on(this, is_behind), readable);
            b.branch_of_many(is_in, || permuted(begun), all)
        }
        None => all(),
    };
    Ok(Some(values.into_iter().map(Reg::varying).collect()))
}

/// The beginning of a large table, for elements of so many bytes, and the last index there. What a byte is an index of has often few elements all the same: of
/// letters, states or classes there are never 256.
fn beginning(table: Table, bytes: u64) -> Option<(Table, u64)> {
    let words = BEGINNING * u64::from(REGISTER) / 8 / table.word.bytes();
    let is_large = table.words >= LEAST_WITH_BEGINNING / BEGINNING * words;
    let last = words.checked_sub(bytes / table.word.bytes())?.checked_div(table.step)?;
    is_large.then_some((Table { words, ..table }, last))
}

/// The leaves of what lanes find at their indices.
fn load_permuted(
    this: &Lowerer<'_, '_>,
    table: Table,
    base: Value,
    index: Reg,
    leaves: &[Leaf],
) -> Vec<Value> {
    let b = &this.b;
    let registers = registers(b, table, base);
    let index = b.zext_or_trunc(b.freeze(this.vector(index)), table.word);
    let number = |number: u64| b.int(table.word, this.w, number);
    let first = b.mul(index, number(table.step));
    let mut word = None;
    let value = |leaf: &Leaf| {
        let at = table.word_of(*leaf);
        let found = match word.filter(|(latest, _)| *latest == at) {
            Some((_, found)) => found,
            None => look_up(b, &registers, b.add(first, number(at))),
        };
        word = Some((at, found));
        let size = leaf.scalar.bytes();
        let part = b.i32((leaf.offset % table.word.bytes() / size) as u32);
        b.reinterpret(apart::part(&this.b, found, size, part), leaf.scalar)
    };
    leaves.iter().map(value).collect()
}

/// The words of a table: what is behind its end is not read.
fn registers(b: &Builder, table: Table, base: Value) -> Vec<Value> {
    let size = table.word.bytes();
    let lanes = u64::from(REGISTER) / 8 / size;
    let register = |from: u64| {
        let address = b.offset_const(base, from * size);
        let count = lanes.min(table.words - from);
        if count == lanes {
            return b.load(table.word, lanes as u32, address, 1);
        }
        let mask = b.int_vector(Scalar::Bool, (0..lanes).map(|lane| u64::from(lane < count)));
        b.masked_load(table.word, lanes as u32, address, 1, mask)
    };
    (0..table.words).step_by(lanes as usize).map(register).collect()
}

/// A vector as whole registers. What is behind its end is anything.
pub(super) fn registers_of(b: &Builder, vector: Value) -> Vec<Value> {
    let (all, whole) = (b.lanes(vector), REGISTER / b.scalar_of(vector).bits());
    let register = |first: u32| {
        let lanes: Vec<i32> = (first..first + whole).map(|lane| (lane % all) as i32).collect();
        b.shuffle(vector, vector, &lanes)
    };
    (0..all).step_by(whole as usize).map(register).collect()
}

/// The elements of registers of integers that indices of as many bits name. Where an index is beyond them, any element.
pub(super) fn look_up(b: &Builder, table: &[Value], index: Value) -> Value {
    let (integer, lanes) = (b.scalar_of(index), b.lanes(index));
    let most = REGISTER / integer.bits();
    if lanes > most {
        let piece = |at: u32| {
            let own: Vec<i32> = (at * most..(at + 1) * most).map(|lane| lane as i32).collect();
            look_up(b, table, b.shuffle(index, index, &own))
        };
        return b.concat((0..lanes / most).map(piece).collect());
    }
    let all: Vec<i32> = (0..most).map(|lane| (lane % lanes) as i32).collect();
    let index = b.shuffle(index, index, &all);
    let found = look_up_register(b, table, index);
    let own: Vec<i32> = (0..lanes as i32).collect();
    b.shuffle(found, found, &own)
}

/// The same for as many indices as a register has.
fn look_up_register(b: &Builder, table: &[Value], index: Value) -> Value {
    let integer = b.scalar_of(index);
    let lanes = REGISTER / integer.bits();
    let (one, two) = match integer {
        Scalar::I8 => ("llvm.x86.avx512.permvar.qi.512", "llvm.x86.avx512.vpermi2var.qi.512"),
        Scalar::I16 => ("llvm.x86.avx512.permvar.hi.512", "llvm.x86.avx512.vpermi2var.hi.512"),
        Scalar::I32 => ("llvm.x86.avx512.permvar.si.512", "llvm.x86.avx512.vpermi2var.d.512"),
        _ => ("llvm.x86.avx512.permvar.di.512", "llvm.x86.avx512.vpermi2var.q.512"),
    };
    let of_two = |pair: &[Value]| match *pair {
        [low, high] => b.intrinsic_plain(two, &[low, index, high]),
        _ => b.intrinsic_plain(one, &[pair[0], index]),
    };
    let mut found: Vec<Value> = table.chunks(2).map(of_two).collect();
    let mut bit = u64::from(2 * lanes);
    while found.len() > 1 {
        let number = |number: u64| b.int(integer, lanes, number);
        let is_high = b.icmp(IntPred::LLVMIntNE, b.and(index, number(bit)), number(0));
        let of_two = |pair: &[Value]| match *pair {
            [low, high] => b.select(is_high, high, low),
            _ => pair[0],
        };
        found = found.chunks(2).map(of_two).collect();
        bit *= 2;
    }
    found[0]
}
