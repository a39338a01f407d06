//! Work-item built-ins: ids and sizes, computed once in the prologue from where the sub-group is.

use super::Lowerer;
use super::builder::{Builder, IntPred, Opcode, Value};
use super::values::{Reg, Val};
use crate::abi::{LaneMapping, LaunchInfo, Worker};
use crate::analysis::builtins::{BuiltinPointer, Part};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::error::EngineError;
use rustc_hash::FxHashMap;
use spirv::BuiltIn;
use spirv_env::TypeId;
use std::mem::offset_of;
use std::ops::Range;

/// Where the sub-group that a body runs for is. All numbers are 64-bit scalars.
#[derive(Debug)]
pub struct WorkItems {
    /// `*const LaunchInfo`.
    pub info: Value,
    /// `*mut Worker`.
    pub worker: Value,
    /// Work-group id.
    pub group: [Value; 3],
    /// Local id of lane 0; where lanes go across rows, x is the linear local id of lane 0 and the rest is unused.
    pub local: [Value; 3],
    /// Number of the sub-group in its work-group.
    pub subgroup: Value,
    /// Lanes that stand for work-items, if not all do.
    pub active: Option<Value>,
    /// Work-items of a work-group, and its sub-groups.
    pub size: [Value; 3],
    pub subgroups: Value,
    pub(super) cache: FxHashMap<(BuiltIn, u32), Reg>,
    pub(super) local_memory: Option<Value>,
    /// The address of a number: which half of the collectives' scratch the next one uses.
    pub(super) collective_turn: Option<Value>,
}

/// A 32-bit field of [`LaunchInfo`].
fn word(b: &Builder, info: Value, offset: usize) -> Value {
    b.load_invariant(Scalar::I32, b.offset_const(info, offset as u64), 4)
}

/// The same, zero-extended to 64 bits.
pub(super) fn field(b: &Builder, info: Value, offset: usize) -> Value {
    b.zext_or_trunc(word(b, info, offset), Scalar::I64)
}

/// The work-items of a work-group in each dimension. LLVM sees that ids within it are small, so that what code makes of them in 32 bits with
/// signs is the same in 64, and the rows of a bundle are one address and numbers behind it.
pub(super) fn group_size(b: &Builder, info: Value, most_items: u32) -> [Value; 3] {
    let offset = offset_of!(LaunchInfo, group_size);
    [0, 4, 8].map(|at| {
        let size = b.within(word(b, info, offset + at), 1..u64::from(most_items) + 1);
        b.zext_or_trunc(size, Scalar::I64)
    })
}

/// Three such fields, one behind the other.
pub(super) fn three_fields(b: &Builder, info: Value, offset: usize) -> [Value; 3] {
    [0, 4, 8].map(|at| field(b, info, offset + at))
}

impl Lowerer<'_, '_> {
    /// The address of the work-group's local memory.
    pub fn local_memory(&mut self) -> Value {
        if let Some(base) = self.items().local_memory {
            return base;
        }
        let worker = self.items().worker;
        let base = self.in_prologue(|b| {
            let field = b.offset_const(worker, offset_of!(Worker, local_memory) as u64);
            b.load_invariant(Scalar::Ptr, field, 8)
        });
        self.subgroup_mut().items.local_memory = Some(base);
        base
    }

    /// Where it says which half of the collectives' scratch the next one uses.
    pub(super) fn collective_turn(&mut self) -> Value {
        if let Some(turn) = self.items().collective_turn {
            return turn;
        }
        let turn = self.prologue_alloca(Scalar::I64, 1);
        self.in_prologue(|b| b.store(b.i64(0), turn, 8));
        self.subgroup_mut().items.collective_turn = Some(turn);
        turn
    }

    fn info_u32(&self, offset: usize) -> Value {
        let info = self.items().info;
        self.in_prologue(|b| field(b, info, offset))
    }

    fn info_u64(&self, offset: usize) -> Value {
        let info = self.items().info;
        self.in_prologue(|b| b.load_invariant(Scalar::I64, b.offset_const(info, offset as u64), 8))
    }

    /// Whether the launch accesses more than the caches keep, if each work-item accesses so many bytes.
    pub(super) fn launch_streams(&self, bytes: u32) -> Value {
        let info = self.items().info;
        self.in_prologue(|b| {
            let field = b.offset_const(info, offset_of!(LaunchInfo, streams_from) as u64);
            b.icmp(IntPred::LLVMIntULE, b.load_invariant(Scalar::I32, field, 4), b.i32(bytes))
        })
    }

    /// The argument block.
    pub fn args(&self) -> Value {
        let info = self.items().info;
        let (bytes, align) = (self.a.func.kernel.arg_block_size, self.a.func.kernel.arg_block_align);
        self.in_prologue(|b| {
            let field = b.offset_const(info, offset_of!(LaunchInfo, args) as u64);
            b.readable(b.load_invariant(Scalar::Ptr, field, 8), bytes.max(1), align.next_power_of_two())
        })
    }

    /// What a load through a pointer to a built-in gives.
    pub fn load_builtin(&mut self, pointer: &BuiltinPointer, ty: TypeId) -> Result<Val, EngineError> {
        let leaves = self.leaves(ty)?;
        leaves.iter().map(|leaf| self.leaf_of_builtin(pointer, *leaf)).collect()
    }

    fn leaf_of_builtin(&mut self, pointer: &BuiltinPointer, leaf: Leaf) -> Result<Reg, EngineError> {
        let bits = leaf.scalar.bytes() as u32 * 8;
        let int = if leaf.scalar.is_int() { leaf.scalar } else { Scalar::int(bits).unwrap_or(Scalar::I64) };
        let reg = match pointer.part(leaf) {
            Part::Low(at) => {
                let reg = self.component(pointer, at)?;
                self.apply(&[reg], |this, values| this.b.zext_or_trunc(values[0], int))
            }
            Part::Bytes(first, end) => self.bytes_of_builtin(pointer, leaf, first..end, int)?,
            Part::Indexed => self.indexed_builtin(pointer, leaf, int)?,
        };
        if int == leaf.scalar {
            return Ok(reg);
        }
        Ok(self.apply_once(&[reg], |this, values| match leaf.scalar {
            Scalar::Bool => {
                let zero = this.b.zero(int, this.b.lanes(values[0]));
                this.b.icmp(IntPred::LLVMIntNE, values[0], zero)
            }
            scalar => this.b.reinterpret(values[0], scalar),
        }))
    }

    /// A component, in 64 bits; zero behind the last one.
    fn component(&mut self, pointer: &BuiltinPointer, at: u32) -> Result<Reg, EngineError> {
        if at < pointer.components {
            return self.builtin(pointer.builtin, pointer.in_code(at));
        }
        Ok(Reg::uniform(self.b.i64(0)))
    }

    /// A leaf at a known offset, from bytes of these components.
    fn bytes_of_builtin(
        &mut self,
        pointer: &BuiltinPointer,
        leaf: Leaf,
        components: Range<u32>,
        int: Scalar,
    ) -> Result<Reg, EngineError> {
        let start = pointer.offset.wrapping_add(leaf.offset as i64).wrapping_mul(8);
        let wide = if int.bits() > u64::BITS { int } else { Scalar::I64 };
        let mut sum = Reg::uniform(self.b.zero(wide, 1));
        for at in components {
            let component = self.component(pointer, at)?;
            let shift = i64::from(at) * pointer.component_bytes as i64 * 8 - start;
            sum = self.apply(&[sum, component], |this, values| {
                let (b, lanes) = (&this.b, this.b.lanes(values[1]));
                let own = Scalar::int(pointer.component_bytes as u32 * 8).unwrap_or(Scalar::I64);
                let part = b.zext_or_trunc(b.zext_or_trunc(values[1], own), wide);
                let by = b.int(wide, lanes, shift.unsigned_abs());
                let part = if shift < 0 { b.lshr(part, by) } else { b.shl(part, by) };
                b.or(values[0], part)
            });
        }
        Ok(self.apply(&[sum], |this, values| this.b.zext_or_trunc(values[0], int)))
    }

    /// A leaf at an offset that is known at run time.
    fn indexed_builtin(
        &mut self,
        pointer: &BuiltinPointer,
        leaf: Leaf,
        int: Scalar,
    ) -> Result<Reg, EngineError> {
        let mut components = Vec::new();
        for at in 0..pointer.components {
            components.push(self.component(pointer, at)?);
        }
        if let [(index, size)] = *pointer.indices.as_slice()
            && size == pointer.component_bytes
            && pointer.piece(leaf) == leaf.scalar.bytes()
            && (pointer.offset as u64).wrapping_add(leaf.offset) == 0
        {
            let index = self.leaf(index)?;
            let result = self.picked(index, &components);
            return Ok(self.apply(&[result], |this, values| this.b.zext_or_trunc(values[0], int)));
        }
        let mut offset = Reg::uniform(self.b.i64((pointer.offset as u64).wrapping_add(leaf.offset)));
        for &(index, size) in &pointer.indices {
            let index = self.leaf(index)?;
            offset = self.apply(&[offset, index], |this, values| {
                let (b, lanes) = (&this.b, this.b.lanes(values[1]));
                let bytes = b.mul(b.sext_or_trunc(values[1], Scalar::I64), b.int(Scalar::I64, lanes, size));
                b.add(values[0], bytes)
            });
        }
        // Pieces that lie in one component each, whatever the indices are.
        let piece = pointer.piece(leaf);
        let whole = pointer.component_bytes;
        let wide = if int.bits() > u64::BITS { int } else { Scalar::I64 };
        let mut sum = Reg::uniform(self.b.zero(wide, 1));
        for at in (0..leaf.scalar.bytes()).step_by(piece as usize) {
            let start = self.apply(&[offset], |this, values| {
                this.b.add(values[0], this.b.int(Scalar::I64, this.b.lanes(values[0]), at))
            });
            let number = self.apply(&[start], |this, values| {
                let by = this.b.int(Scalar::I64, this.b.lanes(values[0]), u64::from(whole.trailing_zeros()));
                this.b.ashr(values[0], by)
            });
            let component = self.picked(number, &components);
            sum = self.apply(&[sum, component, start], |this, values| {
                let b = &this.b;
                let (lanes, start) = (b.lanes(values[2]), values[2]);
                let int = |value| b.int(Scalar::I64, lanes, value);
                let by = b.shl(b.and(start, int(whole - 1)), int(3));
                let mask = if piece >= 8 { u64::MAX } else { (1 << (piece * 8)) - 1 };
                let bytes = b.and(b.lshr(values[1], by), int(mask));
                let bytes = b.shl(b.zext_or_trunc(bytes, wide), b.int(wide, lanes, at * 8));
                b.or(values[0], bytes)
            });
        }
        Ok(self.apply(&[sum], |this, values| this.b.zext_or_trunc(values[0], int)))
    }

    /// The component with this number; any one if there is none.
    fn picked(&self, number: Reg, components: &[Reg]) -> Reg {
        let mut result = components[0];
        for (at, component) in components.iter().enumerate().skip(1) {
            result = self.apply(&[number, *component, result], |this, values| {
                let lanes = this.b.lanes(values[0]);
                let at = this.b.int(this.b.scalar_of(values[0]), lanes, at as u64);
                let hit = this.b.icmp(IntPred::LLVMIntEQ, values[0], at);
                this.b.select(hit, values[1], values[2])
            });
        }
        result
    }

    /// A component of a built-in, in the variant's code, in 64 bits.
    pub fn builtin(&mut self, builtin: BuiltIn, component: u32) -> Result<Reg, EngineError> {
        if let Some(reg) = self.items().cache.get(&(builtin, component)) {
            return Ok(*reg);
        }
        let reg = self.compute_builtin(builtin, component)?;
        self.subgroup_mut().items.cache.insert((builtin, component), reg);
        Ok(reg)
    }

    fn compute_builtin(&mut self, builtin: BuiltIn, component: u32) -> Result<Reg, EngineError> {
        let at = component.min(2) as usize;
        let each_u32 = |field: usize| field + at * 4;
        let uniform = |value| Ok(Reg::uniform(value));
        match builtin {
            BuiltIn::WorkgroupId => uniform(self.items().group[at]),
            BuiltIn::NumWorkgroups => uniform(self.info_u32(each_u32(offset_of!(LaunchInfo, group_count)))),
            BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize => uniform(self.items().size[at]),
            BuiltIn::GlobalOffset => uniform(self.info_u64(offset_of!(LaunchInfo, global_offset) + at * 8)),
            BuiltIn::GlobalSize => {
                let (count, size) = (
                    self.scalar_of(BuiltIn::NumWorkgroups, at)?,
                    self.scalar_of(BuiltIn::WorkgroupSize, at)?,
                );
                uniform(self.in_prologue(|b| b.mul(count, size)))
            }
            BuiltIn::WorkDim => uniform(self.info_u32(offset_of!(LaunchInfo, work_dim))),
            BuiltIn::SubgroupId => uniform(self.items().subgroup),
            BuiltIn::NumSubgroups | BuiltIn::NumEnqueuedSubgroups => uniform(self.items().subgroups),
            BuiltIn::SubgroupMaxSize => uniform(self.b.i64(u64::from(self.w))),
            BuiltIn::SubgroupSize => {
                uniform(self.items().active.unwrap_or_else(|| self.b.i64(u64::from(self.w))))
            }
            BuiltIn::SubgroupLocalInvocationId => Ok(self.lanes_from(self.b.i64(0))),
            BuiltIn::LocalInvocationIndex if self.a.variant.mapping == LaneMapping::Ragged => {
                let ([x, y, z], [x_size, y_size, _]) = (self.items().local, self.items().size);
                let base = self.in_prologue(|b| b.add(b.mul(b.add(b.mul(z, y_size), y), x_size), x));
                Ok(self.lanes_from(base))
            }
            BuiltIn::LocalInvocationIndex => {
                let (subgroup, width) = (self.items().subgroup, self.b.i64(u64::from(self.w)));
                let base = self.in_prologue(|b| b.mul(subgroup, width));
                Ok(self.lanes_from(base))
            }
            BuiltIn::LocalInvocationId => self.local_id(at),
            BuiltIn::GlobalInvocationId => {
                let size = self.scalar_of(BuiltIn::WorkgroupSize, at)?;
                let offset = self.scalar_of(BuiltIn::GlobalOffset, at)?;
                let (group, local) =
                    (self.items().group[at], self.builtin(BuiltIn::LocalInvocationId, component)?);
                let base = self.in_prologue(|b| b.add(b.mul(group, size), offset));
                Ok(self.in_prologue_reg(|this| {
                    this.apply(&[local, Reg::uniform(base)], |this, values| {
                        match this.b.constant_sum(values[0]) {
                            Some((first, more)) => this.b.add(this.b.add(first, values[1]), more),
                            None => this.b.add(values[0], values[1]),
                        }
                    })
                }))
            }
            BuiltIn::GlobalLinearId => {
                let mut linear: Option<Reg> = None;
                for dim in [2, 1, 0] {
                    let id = self.builtin(BuiltIn::GlobalInvocationId, dim as u32)?;
                    let offset = self.builtin(BuiltIn::GlobalOffset, dim as u32)?;
                    let size = self.builtin(BuiltIn::GlobalSize, dim as u32)?;
                    linear = Some(self.in_prologue_reg(|this| {
                        let id = this.apply(&[id, offset], |this, v| this.b.sub(v[0], v[1]));
                        match linear {
                            None => id,
                            Some(linear) => {
                                let rows = this.apply(&[linear, size], |this, v| this.b.mul(v[0], v[1]));
                                this.apply(&[rows, id], |this, v| this.b.add(v[0], v[1]))
                            }
                        }
                    }));
                }
                Ok(linear.expect("three dimensions"))
            }
            BuiltIn::SubgroupEqMask
            | BuiltIn::SubgroupGeMask
            | BuiltIn::SubgroupGtMask
            | BuiltIn::SubgroupLeMask
            | BuiltIn::SubgroupLtMask => self.lane_mask(builtin, component),
            other => Err(self.unsupported(format!("BuiltIn {other:?}"))),
        }
    }

    fn scalar_of(&mut self, builtin: BuiltIn, at: usize) -> Result<Value, EngineError> {
        let reg = self.builtin(builtin, at as u32)?;
        Ok(reg.scalar().expect("sizes, counts and offsets are uniform"))
    }

    /// `base`, `base + 1`, ...
    fn lanes_from(&self, base: Value) -> Reg {
        if self.w == 1 {
            return Reg::uniform(base);
        }
        let w = self.w;
        let vector = self.in_prologue(|b| b.add(b.splat(base, w), b.lane_numbers(Scalar::I64)));
        Reg::strided(base, vector)
    }

    fn in_prologue_reg(&self, emit: impl FnOnce(&Self) -> Reg) -> Reg {
        let here = self.b.here();
        self.b.at_end(self.position.prologue);
        let reg = emit(self);
        self.b.at_end(here);
        reg
    }

    fn local_id(&mut self, at: usize) -> Result<Reg, EngineError> {
        let mapping = self.a.variant.mapping;
        if !mapping.crosses_rows() {
            let base = self.items().local[at];
            return Ok(if at == 0 { self.lanes_from(base) } else { Reg::uniform(base) });
        }
        let (x_size, y_size) =
            (self.scalar_of(BuiltIn::WorkgroupSize, 0)?, self.scalar_of(BuiltIn::WorkgroupSize, 1)?);
        let (row, x) = match mapping.short_rows() {
            Some(rows) => self.row_and_place(self.w / rows),
            None => self.divide(self.lanes_from(self.items().local[0]), x_size),
        };
        let (z, y) = self.divide(row, y_size);
        for (dim, reg) in [x, y, z].into_iter().enumerate() {
            self.subgroup_mut().items.cache.insert((BuiltIn::LocalInvocationId, dim as u32), reg);
        }
        Ok([x, y, z][at])
    }

    /// The row of each lane and its place in it, of rows of so many.
    fn row_and_place(&self, lanes: u32) -> (Reg, Reg) {
        let (w, first) = (self.w, self.items().local[0]);
        self.in_prologue(|b| {
            let of = |number: fn(u32, u32) -> u32| {
                b.int_vector(Scalar::I64, (0..w).map(|lane| u64::from(number(lane, lanes))))
            };
            let first_row = b.lshr(first, b.i64(u64::from(lanes.trailing_zeros())));
            let row = b.add(b.splat(first_row, w), of(|lane, lanes| lane / lanes));
            (Reg::varying(row), Reg::varying(of(|lane, lanes| lane % lanes)))
        })
    }

    /// Quotient and remainder of linear local ids by a group size. Exact in single precision: both are below
    /// 2^17, and `(n + 0.5) / d` is at least `0.5 / d` away from the next integer, far more than rounding moves it.
    fn divide(&self, n: Reg, d: Value) -> (Reg, Reg) {
        let one = |this: &Self, n: Value| {
            let (b, lanes) = (&this.b, this.b.lanes(n));
            let n32 = b.zext_or_trunc(n, Scalar::I32);
            let d32 = b.splat(b.zext_or_trunc(d, Scalar::I32), lanes);
            let half = b.float(Scalar::F32, lanes, 0.5);
            let dividend = b.fadd(b.cast(Opcode::LLVMUIToFP, n32, Scalar::F32), half);
            let quotient = b.fdiv(dividend, b.cast(Opcode::LLVMUIToFP, d32, Scalar::F32));
            let quotient = b.cast(Opcode::LLVMFPToUI, quotient, Scalar::I32);
            let remainder = b.sub(n32, b.mul(quotient, d32));
            (b.zext_or_trunc(quotient, Scalar::I64), b.zext_or_trunc(remainder, Scalar::I64))
        };
        let here = self.b.here();
        self.b.at_end(self.position.prologue);
        let result = if n.is_uniform() {
            let (q, r) = one(self, n.scalar().expect("uniform"));
            (Reg::uniform(q), Reg::uniform(r))
        } else {
            let (q, r) = one(self, self.vector(n));
            (Reg::varying(q), Reg::varying(r))
        };
        self.b.at_end(here);
        result
    }

    /// Bit masks of the lanes equal to, above or below each lane (`SPV_KHR_shader_ballot`): 128 bits in 4 components.
    fn lane_mask(&mut self, builtin: BuiltIn, component: u32) -> Result<Reg, EngineError> {
        let w = self.w;
        let of = |lane: u32| -> u64 {
            let below = (1u64 << lane) - 1;
            let all = (1u64 << w) - 1;
            let bits = match builtin {
                BuiltIn::SubgroupEqMask => 1 << lane,
                BuiltIn::SubgroupGeMask => all & !below,
                BuiltIn::SubgroupGtMask => all & !below & !(1 << lane),
                BuiltIn::SubgroupLeMask => below | 1 << lane,
                _ => below,
            };
            if component == 0 { bits } else { 0 }
        };
        if w == 1 {
            return Ok(Reg::uniform(self.b.i64(of(0))));
        }
        Ok(Reg::varying(self.b.int_vector(Scalar::I64, (0..w).map(of))))
    }
}
