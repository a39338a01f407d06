//! The function that the scheduler calls, and the bodies that it calls for each sub-group.

use super::access::join_parts;
use super::builder::{Builder, Function, Inline, IntPred, Label, Value};
use super::calls::{self, CallTree, Callable, Functions, Linkage};
use super::control::Flow;
use super::float_modes::FloatModes;
use super::remembered::Remembered;
use super::values::{DistantUses, Mask, Reg};
use super::work_item::{self, WorkItems};
use super::{Lowerer, Options, Position, Storage, coarsening, private};
use crate::abi::{CodeInfo, ENTRY_SYMBOL, LaneMapping, LaunchInfo, Rivals, Worker};
use crate::analysis::Analysis;
use crate::analysis::calls::AnalysedKernel;
use crate::analysis::func::{BlockId, ENTRY, Func};
use crate::analysis::guards::Worth;
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::private::Placement;
use crate::analysis::touched::Touched;
use crate::error::EngineError;
use crate::jit::target::Target;
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv_env::{ArgKind, Id};
use std::cell::Cell;
use std::mem::offset_of;
use std::rc::Rc;

/// Parameters of a body: info, worker, group x y z, local x y z of lane 0, sub-group, active lanes, work-items of a work-group in x y z,
/// its sub-groups, and the memory for what is remembered.
const BODY_PARAMS: [(Scalar, u32); 15] = [
    (Scalar::Ptr, 1),
    (Scalar::Ptr, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::I64, 1),
    (Scalar::Ptr, 1),
];

/// Emits the entry point, the bodies and the functions that they call.
pub fn emit(
    unit: &AnalysedKernel<'_>,
    mut builder: Builder,
    target: &Target,
    options: Options,
) -> Result<(CodeInfo, CallTree), EngineError> {
    let a = &unit.kernel;
    builder.contract = FloatModes::of(a.func.module, a.func.kernel).contracts();
    let b = Rc::new(builder);
    let (layouts, private) = private::layouts(unit)
        .ok_or_else(|| a.func.unsupported("private variables of more than 2^64 bytes".into()))?;
    let has_launch_barrier = unit.analyses().any(|of| {
        let mut insts = of.func.blocks.values().flat_map(|block| &block.insts);
        insts.any(|inst| inst.waits_for_launch(of.func.module))
    });
    // Where a work-group is one bundle, nobody in it waits.
    let has_barrier = has_launch_barrier
        || (!a.variant.one_bundle
            && unit.analyses().any(|of| of.func.block_ids().any(|block| meets_at_barrier(&of.func, block))));
    let offsets = Rc::new(a.func.kernel.local_variables.iter().copied().collect());
    let calls = Rc::new(calls::declare(&b, unit)?);
    let mut layouts = layouts.into_iter().map(Rc::new);
    let mut bodies = |a| Bodies {
        a,
        b: b.clone(),
        target,
        layout: layouts.next().expect("each function has a layout"),
        offsets: Rc::clone(&offsets),
        calls: Rc::clone(&calls),
        bypasses: target.bypasses_masks().filter(|_| options.bypasses),
        remembered: None,
    };
    let touched = a.touched(!unit.callees.is_empty());
    let remembered = Rc::new(Cell::new(0));
    let entry = EntryPoint { a, b: b.clone(), has_barrier, touched, remembered: remembered.clone() };
    // Who waits has a stack of its own, and so would what is remembered.
    entry.emit(&Bodies { remembered: (!has_barrier).then_some(remembered), ..bodies(a) })?;
    for callee in &unit.callees {
        bodies(&callee.analysis).function(&calls.by_id[&callee.analysis.func.function])?;
    }
    calls.dispatchers.values().for_each(|dispatcher| dispatcher.emit(&b, &calls));
    let factor = a.factor();
    let stack_bytes = private.stack_bytes * u64::from(factor);
    let private_bytes = private.memory_bytes;
    let zeroed = &a.func.kernel.zeroed_local;
    let zeroed_local = [zeroed.start, zeroed.end];
    let info = CodeInfo {
        has_barrier,
        has_launch_barrier,
        factor,
        width: a.variant.width,
        private_bytes,
        stack_bytes,
        zeroed_local,
        call_room: 0,
        strip_height: a.strips().height,
        streams: target.streams_stores && !a.streaming().pointers.is_empty(),
        loop_inputs: a.loop_inputs(),
        rivals: if options.bypasses { super::rivals(a, target, factor) } else { Rivals::default() },
        is_best: false,
    };
    Ok((info, CallTree::new(unit, &calls)))
}

/// Whether the sub-groups of a work-group meet in a block.
pub(super) fn meets_at_barrier(func: &Func<'_>, block: BlockId) -> bool {
    func.blocks[block].insts.iter().any(|inst| inst.waits_for_work_group(func.module))
}

struct Bodies<'a, 'm> {
    a: &'a Analysis<'m>,
    b: Rc<Builder>,
    target: &'a Target,
    layout: Rc<private::Layout>,
    offsets: Rc<FxHashMap<Id, u64>>,
    calls: Rc<Functions>,
    /// Guarded parts get code for full masks beside the other.
    bypasses: Option<Worth>,
    /// Bytes of what is remembered, where anything can be.
    remembered: Option<Rc<Cell<u64>>>,
}

impl<'a, 'm> Bodies<'a, 'm> {
    /// Emits a body; with `partial`, one whose last lanes may stand for no work-item.
    fn emit(&self, name: &str, partial: bool, inline: Inline) -> Result<Function, EngineError> {
        let b = &self.b;
        let function = b.function(name, &BODY_PARAMS, true, inline);
        b.describe(function, &self.a.func.kernel.name, self.a.func.first_line());
        b.param_read_only(function, 0);
        let prologue = b.block(function, "prologue");
        let param = |at| b.param(function, at);
        b.at_end(prologue);
        let w = self.a.variant.width;
        let mask = if partial && w > 1 {
            let active = b.splat(param(9), w);
            Mask::Lanes(b.icmp(IntPred::LLVMIntULT, b.lane_numbers(Scalar::I64), active))
        } else {
            Mask::All
        };
        let first = WorkItems {
            info: param(0),
            worker: param(1),
            group: [param(2), param(3), param(4)],
            local: [param(5), param(6), param(7)],
            subgroup: param(8),
            active: partial.then(|| param(9)),
            size: [10, 11, 12].map(param),
            subgroups: param(13),
            cache: FxHashMap::default(),
            local_memory: None,
            collective_turn: None,
        };
        let mut lowerer = self.lowerer(function, prologue, first, mask, None);
        let bytes = self.remembered.clone();
        lowerer.storage.remembered = bytes.map(|bytes| Remembered::new(param(14), bytes));
        if self.calls.any() {
            lowerer.share_context();
        }
        lowerer.arguments()?;
        let end = b.block(function, "end");
        lowerer.body(end)?;
        b.at_end(end);
        b.ret();
        Ok(function)
    }

    /// Emits a function that stays a function.
    fn function(&self, callable: &Callable) -> Result<(), EngineError> {
        let b = &self.b;
        let prologue = b.block(callable.function, "prologue");
        b.at_end(prologue);
        let is_partial = self.a.variant.width > 1 && !self.a.variant.mapping.fills_subgroups();
        let items = calls::items(b, callable, is_partial, self.a.variant.most_items);
        let context = Some(b.param(callable.function, 0));
        let mut lowerer = self.lowerer(callable.function, prologue, items, callable.mask(b), context);
        lowerer.parameters(callable);
        let end = b.block(callable.function, "end");
        lowerer.body(end)?;
        b.at_end(end);
        lowerer.finish(callable);
        Ok(())
    }

    /// The state of lowering a function, whose prologue has begun.
    fn lowerer(
        &self,
        function: Function,
        prologue: Label,
        first: WorkItems,
        mask: Mask,
        context: Option<Value>,
    ) -> Lowerer<'a, 'm> {
        let b = &self.b;
        // The last sub-groups of rows that are no multiple of it are rare.
        let is_rare = mask != Mask::All && self.a.variant.mapping == LaneMapping::Line;
        let worth = self.bypasses.filter(|_| !is_rare);
        let guarded = worth.map(|worth| self.a.guarded(worth)).unwrap_or_default();
        let bundle = coarsening::Bundle::new(self.a, b, self.target, first, mask, &guarded);
        Lowerer {
            a: self.a,
            b: b.clone(),
            target: self.target,
            w: self.a.variant.width,
            packing: None,
            position: Position {
                function,
                prologue,
                block: ENTRY,
                on_edge: false,
                members: Default::default(),
                atomic_runs: Default::default(),
            },
            flow: Flow::new(self.a, guarded),
            uses: DistantUses::new(self.a, &bundle.lockstep, self.target.has_avx512(), |at, id| {
                !self.a.packed().contains_key(&id)
                    && (bundle.subgroups.len() == 1 || !self.a.is_common(at, id))
            }),
            bundle,
            storage: Storage {
                local_offsets: self.offsets.clone(),
                private: self.layout.clone(),
                speculations: super::speculation::MOST.into(),
                table_registers: super::tables::MOST_OF_FUNCTION.into(),
                print_words: None,
                remembered: None,
                factors: None,
            },
            calls: Linkage::new(self.calls.clone(), context),
            float_modes: FloatModes::of(self.a.func.module, self.a.func.kernel),
        }
    }
}

impl Lowerer<'_, '_> {
    /// The kernel's parameters, read from the argument block.
    fn arguments(&mut self) -> Result<(), EngineError> {
        self.each_subgroup(None, Self::arguments_of_subgroup)
    }

    fn arguments_of_subgroup(&mut self) -> Result<(), EngineError> {
        let a = self.a;
        let args = self.args();
        for (arg, (id, ty)) in a.func.kernel.args.iter().zip(&a.func.params) {
            let common = self.is_common(ENTRY, *id);
            if common && self.bundle.at > 0 {
                continue;
            }
            let address = self.b.offset_const(args, arg.offset);
            let val = match a.private.placement.get(id) {
                Some(Placement::Argument) => smallvec![Reg::uniform(address)],
                Some(Placement::Uniform) => {
                    let object = self.private_memory(*id, *ty)?;
                    self.b.memcpy(object, address, self.b.i64(arg.size), 1);
                    smallvec![Reg::uniform(object)]
                }
                Some(_) => {
                    let size = arg.size;
                    let reg = self.private_object(*id, *ty)?;
                    let base = reg.scalar().expect("objects of lanes are strided");
                    let stride = self.private_stride(*id, *ty)?;
                    for lane in 0..u64::from(self.w) {
                        let to = self.b.offset_const(base, lane * stride);
                        self.b.memcpy(to, address, self.b.i64(size), 1);
                    }
                    smallvec![reg]
                }
                None if arg.kind == ArgKind::LocalPointer => {
                    let offset = self.b.load_invariant(Scalar::I64, address, 8);
                    let base = self.local_memory();
                    smallvec![Reg::uniform(self.b.offset(base, offset))]
                }
                None => {
                    let leaves = self.leaves(*ty)?;
                    leaves
                        .iter()
                        .map(|leaf| {
                            let at = self.b.offset_const(address, leaf.offset);
                            Reg::uniform(self.load_argument(leaf.scalar, at))
                        })
                        .collect()
                }
            };
            self.values_mut(common).entry.insert(*id, val);
        }
        Ok(())
    }

    fn load_argument(&self, scalar: Scalar, address: Value) -> Value {
        if scalar == Scalar::Bool {
            let byte = self.b.load_invariant(Scalar::I8, address, 1);
            return self.b.icmp(IntPred::LLVMIntNE, byte, self.b.int(Scalar::I8, 1, 0));
        }
        if let Scalar::Int(_) = scalar {
            let parts: Vec<Value> = scalar
                .accesses(0)
                .iter()
                .map(|part| self.load_argument(part.scalar, self.b.offset_const(address, part.offset)))
                .collect();
            return join_parts(self, Leaf { scalar, offset: 0 }, &parts);
        }
        self.b.load_invariant(scalar, address, scalar.bytes())
    }
}

/// The exported function.
struct EntryPoint<'a, 'm> {
    a: &'a Analysis<'m>,
    b: Rc<Builder>,
    has_barrier: bool,
    /// What one work-group leaves that the next one finds to be zeros.
    touched: Vec<Touched>,
    /// Bytes of what the bodies remember.
    remembered: Rc<Cell<u64>>,
}

/// What all work-groups of a call share, as 64-bit scalars.
#[derive(Clone, Copy)]
struct LaunchScalars {
    info: Value,
    worker: Value,
    count: [Value; 3],
    size: [Value; 3],
    subgroups: Value,
}

impl EntryPoint<'_, '_> {
    fn emit(&self, bodies: &Bodies<'_, '_>) -> Result<(), EngineError> {
        let b = &self.b;
        let width = self.a.variant.width;
        let (full, partial) = match self.a.variant.mapping {
            // The only sub-group is a partial one.
            LaneMapping::Line if self.a.variant.one_bundle => {
                (None, Some(bodies.emit("partial", true, Inline::Always)?))
            }
            // The partial sub-group is the last of its group: rare code, kept out of the way.
            LaneMapping::Line => (
                Some(bodies.emit("full", false, Inline::Always)?),
                Some(bodies.emit("partial", true, Inline::Never)?),
            ),
            LaneMapping::Ragged | LaneMapping::Any if width > 1 => {
                (None, Some(bodies.emit("partial", true, Inline::Always)?))
            }
            _ => (Some(bodies.emit("full", false, Inline::Always)?), None),
        };
        let params = [Scalar::Ptr, Scalar::Ptr, Scalar::I64, Scalar::I64, Scalar::I32, Scalar::I32];
        let params = &params.map(|scalar| (scalar, 1))[..if self.has_barrier { 6 } else { 5 }];
        let function = b.function(ENTRY_SYMBOL, params, false, Inline::Free);
        b.describe_frame(function, ENTRY_SYMBOL);
        b.param_read_only(function, 0);
        let start = b.block(function, "start");
        b.at_end(start);
        let (info, worker) = (b.param(function, 0), b.param(function, 1));
        let shared = LaunchScalars {
            info,
            worker,
            count: work_item::three_fields(b, info, offset_of!(LaunchInfo, group_count)),
            size: work_item::group_size(b, info, self.a.variant.most_items),
            subgroups: work_item::field(b, info, offset_of!(LaunchInfo, subgroups)),
        };
        let remembered = match self.remembered.get() {
            0 => b.zero(Scalar::Ptr, 1),
            bytes => {
                let memory = b.alloca_bytes(bytes, 8);
                b.zero_bytes(memory, 8, b.i64(bytes));
                memory
            }
        };
        let code = Calls { entry: self, function, shared, full, partial, remembered };
        // The only bundle is all of its work-group, also where the launch waits.
        if self.has_barrier && !self.a.variant.one_bundle {
            let bundle = b.zext_or_trunc(b.param(function, 5), Scalar::I64);
            code.each_group(|group| code.one(group, bundle));
        } else {
            code.each_group(|group| code.all(group));
        }
        b.ret();
        Ok(())
    }
}

struct Calls<'a, 'e, 'm> {
    entry: &'a EntryPoint<'e, 'm>,
    function: Function,
    shared: LaunchScalars,
    full: Option<Function>,
    partial: Option<Function>,
    remembered: Value,
}

impl Calls<'_, '_, '_> {
    fn b(&self) -> &Builder {
        &self.entry.b
    }

    fn width(&self) -> Value {
        self.b().i64(u64::from(self.entry.a.variant.width))
    }

    /// Work-items of a bundle in x and y.
    fn bundle_size(&self) -> [u64; 2] {
        let variant = &self.entry.a.variant;
        let [x, y, _] = variant.coarsening.count();
        [u64::from(variant.width * x), u64::from(y)]
    }

    /// The work-group with a linear number.
    fn group(&self, linear: Value) -> [Value; 3] {
        let b = self.b();
        let [x, y, _] = self.shared.count;
        let divide = |n, d| {
            let q = b.bin(super::builder::Opcode::LLVMUDiv, n, d);
            (q, b.sub(n, b.mul(q, d)))
        };
        let (rest, gx) = divide(linear, x);
        let (gz, gy) = divide(rest, y);
        [gx, gy, gz]
    }

    fn call(&self, body: Function, group: [Value; 3], local: [Value; 3], subgroup: Value, active: Value) {
        let [gx, gy, gz] = group;
        let [x, y, z] = local;
        let LaunchScalars { info, worker, .. } = self.shared;
        let ([sx, sy, sz], subgroups) = self.group_size();
        let kept = self.remembered;
        let arguments = [info, worker, gx, gy, gz, x, y, z, subgroup, active, sx, sy, sz, subgroups, kept];
        self.b().call(body, &arguments);
    }

    /// The work-items and sub-groups of a work-group: known where that is one bundle.
    fn group_size(&self) -> ([Value; 3], Value) {
        let (b, a) = (self.b(), self.entry.a);
        match a.variant.known_group_size() {
            Some(size) => (size.map(|size| b.i64(size.into())), b.i64(a.factor().into())),
            None => (self.shared.size, self.shared.subgroups),
        }
    }

    /// Each of the work-groups that the entry point is called for. Which one the first is takes divisions; from one to the next is
    /// counted, for beginning a group is much of the time of a small one.
    fn each_group(&self, body: impl FnOnce([Value; 3])) {
        let b = self.b();
        let (head, between, end) = self.blocks();
        let [first, count, along_y] = [2, 3, 4].map(|at| b.param(self.function, at));
        // Numbers of groups in a dimension fit 32 bits, and LLVM sees that they do.
        let narrow = |values: [Value; 3]| values.map(|value| b.zext_or_trunc(value, Scalar::I32));
        let (start, [columns, rows, _]) = (narrow(self.group(first)), narrow(self.shared.count));
        let has_strips = self.entry.a.strips().height > 1;
        let along_y = if has_strips {
            b.icmp(IntPred::LLVMIntNE, along_y, b.i32(0))
        } else {
            b.int(Scalar::Bool, 1, 0)
        };
        let before = b.here();
        b.br(head);
        b.at_end(head);
        let done = b.phi(Scalar::I64, 1);
        let group = start.map(|_| b.phi(Scalar::I32, 1));
        b.add_incoming(done, b.i64(0), before);
        group.iter().zip(start).for_each(|(phi, start)| b.add_incoming(*phi, start, before));
        body(group.map(|at| b.zext_or_trunc(at, Scalar::I64)));
        if !self.entry.has_barrier {
            self.zero_touched();
        }
        let now_done = b.add(done, b.i64(1));
        b.cond_br(b.icmp(IntPred::LLVMIntULT, now_done, count), between, end);
        b.at_end(between);
        if self.entry.has_barrier {
            let field = b.offset_const(self.shared.worker, offset_of!(Worker, next_group) as u64);
            b.call_pointer(b.load_invariant(Scalar::Ptr, field, 8), &[self.shared.worker]);
        }
        let [x, y, z] = group;
        let step = |at: Value, by: Value| b.add(at, b.zext_or_trunc(by, Scalar::I32));
        let wrap = |at: Value, ends: Value| b.select(ends, b.i32(0), at);
        let next_x = step(x, b.not(along_y));
        let row_ends = b.icmp(IntPred::LLVMIntEQ, next_x, columns);
        let next_y = step(y, b.or(row_ends, along_y));
        let plane_ends = b.icmp(IntPred::LLVMIntEQ, next_y, rows);
        let next = [wrap(next_x, row_ends), wrap(next_y, plane_ends), step(z, plane_ends)];
        let here = b.here();
        b.add_incoming(done, now_done, here);
        group.iter().zip(next).for_each(|(phi, next)| b.add_incoming(*phi, next, here));
        b.br_back_rolled(head);
        b.at_end(end);
    }

    /// Makes zeros of what a work-group may have written where the next one finds zeros, be that of this call or of another one: work-groups
    /// are executed in several calls where their order is not that of their numbers. (Where work-groups have barriers, who ends one last begins the
    /// next, and `exec::workgroup` does this for each.)
    fn zero_touched(&self) {
        let b = self.b();
        for touched in &self.entry.touched {
            let most = b.i64(touched.size);
            let bytes = touched.bytes.map(|bytes| {
                let (sizes, _) = self.group_size();
                let of_ids = sizes.into_iter().zip(bytes.of_ids).filter(|(_, factor)| *factor > 0);
                let of_ids = of_ids.map(|(size, factor)| b.mul(b.sub(size, b.i64(1)), b.i64(factor)));
                let sum = of_ids.fold(b.i64(bytes.constant), |sum, of| b.add(sum, of));
                b.select(b.icmp(IntPred::LLVMIntULT, sum, most), sum, most)
            });
            let field = b.offset_const(self.shared.worker, offset_of!(Worker, local_memory) as u64);
            let at = b.offset_const(b.load_invariant(Scalar::Ptr, field, 8), touched.offset);
            b.zero_bytes(at, 1, bytes.unwrap_or(most));
        }
    }

    /// `for i in (from..to).step_by(step)`.
    fn each(&self, from: Value, to: Value, step: Value, body: impl FnOnce(Value)) {
        let b = self.b();
        let (head, inside, done) = self.blocks();
        let before = b.here();
        b.br(head);
        b.at_end(head);
        let i = b.phi(Scalar::I64, 1);
        b.add_incoming(i, from, before);
        b.cond_br(b.icmp(IntPred::LLVMIntULT, i, to), inside, done);
        b.at_end(inside);
        body(i);
        let next = b.add(i, step);
        b.add_incoming(i, next, b.here());
        // The kernel is large beside the loop: a second copy would only cost time to make.
        b.br_back_rolled(head);
        b.at_end(done);
    }

    /// The same where there is a first one. What all turns share is then executed in any case, so that LLVM moves loads of it,
    /// too, out of the loop.
    fn each_of_some(&self, to: Value, step: Value, body: impl FnOnce(Value)) {
        let b = self.b();
        let (head, done) = (b.block(self.function, "head"), b.block(self.function, "done"));
        let before = b.here();
        b.br(head);
        b.at_end(head);
        let i = b.phi(Scalar::I64, 1);
        b.add_incoming(i, b.i64(0), before);
        body(i);
        let next = b.add(i, step);
        b.add_incoming(i, next, b.here());
        b.cond_br_back_rolled(b.icmp(IntPred::LLVMIntULT, next, to), head, done);
        b.at_end(done);
    }

    fn blocks(&self) -> (Label, Label, Label) {
        let b = self.b();
        (b.block(self.function, "head"), b.block(self.function, "inside"), b.block(self.function, "done"))
    }

    fn when(&self, condition: Value, then: impl FnOnce()) {
        let b = self.b();
        let (inside, done) = (b.block(self.function, "then"), b.block(self.function, "after"));
        b.cond_br(condition, inside, done);
        b.at_end(inside);
        then();
        b.br(done);
        b.at_end(done);
    }

    /// All sub-groups of a work-group.
    fn all(&self, group: [Value; 3]) {
        let b = self.b();
        let (zero, one, width) = (b.i64(0), b.i64(1), self.width());
        let [x_size, y_size, z_size] = self.shared.size;
        match self.entry.a.variant.mapping {
            LaneMapping::Rows if self.entry.a.variant.one_bundle => {
                self.call(self.full.expect("rows are full"), group, [zero; 3], zero, width);
            }
            LaneMapping::Line if self.entry.a.variant.one_bundle => {
                self.call(self.partial.expect("it is partial"), group, [zero; 3], zero, x_size);
            }
            LaneMapping::Ragged if self.entry.a.variant.one_bundle => {
                self.row(group, [zero; 3], zero);
            }
            LaneMapping::Rows | LaneMapping::Ragged | LaneMapping::Iterations => {
                let row = b.bin(super::builder::Opcode::LLVMUDiv, self.row_lanes(), width);
                let [x_step, y_step] = self.bundle_size();
                // Work-groups have at least one work-item, so each of these loops has a turn.
                self.each_of_some(z_size, one, |z| {
                    self.each_of_some(y_size, b.i64(y_step), |y| {
                        let first = b.mul(b.add(b.mul(z, y_size), y), row);
                        self.each_of_some(x_size, b.i64(x_step), |x| {
                            let subgroup = b.add(first, b.bin(super::builder::Opcode::LLVMUDiv, x, width));
                            self.row(group, [x, y, z], subgroup);
                        });
                    });
                });
            }
            LaneMapping::Line => {
                let whole = b.and(x_size, b.sub(zero, width));
                self.each(zero, whole, width, |x| {
                    let subgroup = b.bin(super::builder::Opcode::LLVMUDiv, x, width);
                    self.call(
                        self.full.expect("lines have full sub-groups"),
                        group,
                        [x, zero, zero],
                        subgroup,
                        width,
                    );
                });
                let rest = b.sub(x_size, whole);
                self.when(b.icmp(IntPred::LLVMIntNE, rest, zero), || {
                    let subgroup = b.bin(super::builder::Opcode::LLVMUDiv, whole, width);
                    self.call(
                        self.partial.expect("and a partial one"),
                        group,
                        [whole, zero, zero],
                        subgroup,
                        rest,
                    );
                });
            }
            LaneMapping::Halves | LaneMapping::Quarters | LaneMapping::Eighths | LaneMapping::Any => {
                let total = b.mul(b.mul(x_size, y_size), z_size);
                self.each_of_some(total, width, |base| {
                    let subgroup = b.bin(super::builder::Opcode::LLVMUDiv, base, width);
                    self.any(group, base, subgroup, total);
                });
            }
        }
    }

    /// The lanes of the sub-groups of a row.
    fn row_lanes(&self) -> Value {
        let (variant, x_size) = (&self.entry.a.variant, self.shared.size[0]);
        match variant.mapping {
            LaneMapping::Ragged => self.b().next_multiple(x_size, variant.width.into()),
            _ => x_size,
        }
    }

    /// A bundle of sub-groups of rows.
    fn row(&self, group: [Value; 3], local: [Value; 3], subgroup: Value) {
        let (b, width) = (self.b(), self.width());
        let Some(partial) = self.partial else {
            return self.call(self.full.expect("rows are full"), group, local, subgroup, width);
        };
        // Only the last sub-group of a bundle along x can have fewer lanes than others.
        let [lanes, _] = self.bundle_size();
        let before = b.i64(lanes - u64::from(self.entry.a.variant.width));
        let rest = b.sub(self.shared.size[0], b.add(local[0], before));
        let active = b.select(b.icmp(IntPred::LLVMIntULT, rest, width), rest, width);
        self.call(partial, group, local, subgroup, active);
    }

    /// A sub-group of a work-group without any regularity.
    fn any(&self, group: [Value; 3], base: Value, subgroup: Value, total: Value) {
        let b = self.b();
        let zero = b.i64(0);
        let rest = b.sub(total, base);
        let active = b.select(b.icmp(IntPred::LLVMIntULT, rest, self.width()), rest, self.width());
        let body = self.partial.or(self.full).expect("there is a body");
        self.call(body, group, [base, zero, zero], subgroup, active);
    }

    /// One bundle of one work-group.
    fn one(&self, group: [Value; 3], bundle: Value) {
        let b = self.b();
        let (zero, width) = (b.i64(0), self.width());
        let [x_size, y_size, z_size] = self.shared.size;
        // A bundle is one sub-group, but for rows.
        let (subgroup, base) = (bundle, b.mul(bundle, width));
        match self.entry.a.variant.mapping {
            LaneMapping::Rows | LaneMapping::Ragged | LaneMapping::Iterations => {
                let divide = |n: Value, d: Value| {
                    // Numbers of work-items of a group fit 32 bits, whose division is faster.
                    let (n, d) = (b.zext_or_trunc(n, Scalar::I32), b.zext_or_trunc(d, Scalar::I32));
                    let q = b.bin(super::builder::Opcode::LLVMUDiv, n, d);
                    let r = b.sub(n, b.mul(q, d));
                    (b.zext_or_trunc(q, Scalar::I64), b.zext_or_trunc(r, Scalar::I64))
                };
                let [x_step, y_step] = self.bundle_size();
                let lanes = self.row_lanes();
                let (rows, x) = divide(b.mul(bundle, b.i64(x_step)), lanes);
                let first_row = b.mul(rows, b.i64(y_step));
                let (z, y) = divide(first_row, y_size);
                let (row, _) = divide(lanes, width);
                let (in_row, _) = divide(x, width);
                let subgroup = b.add(b.mul(first_row, row), in_row);
                self.row(group, [x, y, z], subgroup);
            }
            LaneMapping::Line => {
                let rest = b.sub(x_size, base);
                let (whole, part, done) = (
                    b.block(self.function, "whole"),
                    b.block(self.function, "part"),
                    b.block(self.function, "done"),
                );
                b.cond_br(b.icmp(IntPred::LLVMIntUGE, rest, width), whole, part);
                b.at_end(whole);
                self.call(
                    self.full.expect("lines have full sub-groups"),
                    group,
                    [base, zero, zero],
                    subgroup,
                    width,
                );
                b.br(done);
                b.at_end(part);
                self.call(
                    self.partial.expect("and a partial one"),
                    group,
                    [base, zero, zero],
                    subgroup,
                    rest,
                );
                b.br(done);
                b.at_end(done);
            }
            LaneMapping::Halves | LaneMapping::Quarters | LaneMapping::Eighths | LaneMapping::Any => {
                let total = b.mul(b.mul(x_size, y_size), z_size);
                self.any(group, base, subgroup, total);
            }
        }
    }
}
