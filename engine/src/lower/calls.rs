//! Functions that stay functions: `results f(context, mask, parameters)` for all lanes of a sub-group at once.
//!
//! The context is where the sub-group is (`work_item::WorkItems`), in memory of the body that called first, which hands
//! its address on: it is read-only, and a call passes one register for it. Uniform leaves are passed as scalars, strided
//! ones as the scalar of lane 0, others as vectors; so are results. Nobody calls for no lane at all, so a
//! function's uniform loops end, and what it reads from uniform addresses is there to read.

use super::builder::{Builder, Function, Inline, Value};
use super::dispatch::Dispatcher;
use super::values::{Mask, Reg, Val};
use super::work_item::{self, WorkItems};
use super::{Lowerer, private};
use crate::abi::{LaunchInfo, Worker};
use crate::analysis::Analysis;
use crate::analysis::calls::{AnalysedKernel, Callee};
use crate::analysis::func::{ENTRY, Func};
use crate::analysis::leaves::{Leaf, Scalar};
use crate::analysis::shapes::Shape;
use crate::error::EngineError;
use rustc_hash::FxHashMap;
use spirv_env::{CallShape, Id, Inst, TypeId};
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::rc::Rc;

/// A function that calls go to.
#[derive(Clone, Debug)]
pub(super) struct Callable {
    pub function: Function,
    /// It takes a mask.
    pub(super) masked: bool,
    pub(super) params: Vec<Passed>,
    pub(super) results: Vec<Passed>,
}

/// How a leaf is handed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed {
    pub(super) scalar: Scalar,
    shape: Shape,
}

impl Passed {
    /// A leaf that varies over `w` lanes.
    pub(super) fn varying(scalar: Scalar, w: u32) -> Passed {
        Passed { scalar, shape: if w == 1 { Shape::Uniform } else { Shape::Varying } }
    }

    /// Lanes of the LLVM value.
    pub(super) fn lanes(self, w: u32) -> u32 {
        if self.shape == Shape::Varying { w } else { 1 }
    }
}

/// The context: words of 64 bits, in this order.
pub(super) mod field {
    pub const INFO: u64 = 0;
    pub const WORKER: u64 = 8;
    pub const GROUP: u64 = 16;
    pub const LOCAL: u64 = 40;
    pub const SUBGROUP: u64 = 64;
    pub const ACTIVE: u64 = 72;
    pub const COLLECTIVE_TURN: u64 = 80;
    /// Where the stack of the body begins, and the end of what calls through pointers may begin on.
    pub const STACK_TOP: u64 = 88;
    pub const STACK_LIMIT: u64 = 96;
    pub const BYTES: u64 = 104;
}

/// The symbol of a function, by which its stack frame is found.
fn symbol(function: Id) -> String {
    format!("ze_cpu_function_{}", function.0)
}

/// What calls go to.
#[derive(Default)]
pub(super) struct Functions {
    pub by_id: FxHashMap<Id, Callable>,
    /// By what they hand over: functions that call through pointers.
    pub dispatchers: BTreeMap<usize, Dispatcher>,
    shapes: FxHashMap<CallShape, usize>,
}

impl Functions {
    /// There are calls.
    pub fn any(&self) -> bool {
        !self.by_id.is_empty() || !self.dispatchers.is_empty()
    }

    pub fn dispatcher(&self, shape: &CallShape) -> Option<&Dispatcher> {
        self.dispatchers.get(self.shapes.get(shape)?)
    }
}

/// How the function being lowered calls others, and returns.
pub(super) struct Linkage {
    /// What calls go to.
    functions: Rc<Functions>,
    /// Where the sub-group is, for those that are called.
    context: Option<Value>,
    /// What the function returns.
    returned: Vec<Value>,
}

impl Linkage {
    pub fn new(functions: Rc<Functions>, context: Option<Value>) -> Self {
        Linkage { functions, context, returned: Vec::new() }
    }
}

/// Declares the functions of a unit.
pub(super) fn declare(b: &Builder, unit: &AnalysedKernel<'_>) -> Result<Functions, EngineError> {
    let declare = |callee: &Callee<'_>| {
        let a = &callee.analysis;
        let mut params = Vec::new();
        for (param, ty) in &a.func.params {
            params.extend(passed(a, *ty, a.shape(ENTRY, *param))?);
        }
        let w = a.variant.width;
        let results = match a.func.result_of(a.func.function) {
            Some(ty) if callee.indirect && w > 1 => passed(a, ty, std::iter::repeat(Shape::Varying))?,
            Some(ty) => passed(a, ty, a.returned())?,
            None => Vec::new(),
        };
        let of = |list: &[Passed]| list.iter().map(|leaf| (leaf.scalar, leaf.lanes(w))).collect::<Vec<_>>();
        let mask = callee.masked.then_some((Scalar::Bool, w));
        let all: Vec<_> = [(Scalar::Ptr, 1)].into_iter().chain(mask).chain(of(&params)).collect();
        let function = b.function_with_results(&symbol(a.func.function), &all, &of(&results), Inline::Never);
        b.param_read_only(function, 0);
        let name = a.func.module.function(a.func.function).and_then(|function| function.name.as_deref());
        if let Some(name) = name {
            b.describe(function, name, a.func.first_line());
        }
        Ok((a.func.function, Callable { function, masked: callee.masked, params, results }))
    };
    let by_id = unit.callees.iter().map(declare).collect::<Result<FxHashMap<_, _>, _>>()?;
    let mut functions = Functions { by_id, ..Functions::default() };
    for a in unit.analyses() {
        for (_, call) in a.pointer_calls() {
            let shape = a.call_shape_of(call);
            let shape = shape.ok_or_else(|| a.func.unsupported("a call that hands over too much".into()))?;
            if !functions.shapes.contains_key(&shape) {
                let number = functions.shapes.len();
                functions.dispatchers.insert(number, Dispatcher::declare(b, unit, a, call, &shape, number)?);
                functions.shapes.insert(shape, number);
            }
        }
    }
    Ok(functions)
}

/// The leaves of a parameter or result; what has no known shape never comes to be.
fn passed(
    a: &Analysis<'_>,
    ty: TypeId,
    shapes: impl IntoIterator<Item = Shape>,
) -> Result<Vec<Passed>, EngineError> {
    let leaves = a.leaves.get(ty).ok_or_else(|| {
        a.func.unsupported(format!("a parameter or result of {:?}", a.func.module.types.get(ty)))
    })?;
    let shapes = shapes.into_iter().chain(std::iter::repeat(Shape::Uniform));
    let of = |(leaf, shape): (&Leaf, Shape)| Passed {
        scalar: leaf.scalar,
        shape: if shape.is_uniform() { Shape::Uniform } else { shape },
    };
    Ok(leaves.iter().zip(shapes).map(of).collect())
}

impl Lowerer<'_, '_> {
    /// Writes the context for the functions that the kernel calls.
    pub(super) fn share_context(&mut self) {
        let turn = self.collective_turn();
        let items = self.items();
        let all = self.b.i64(u64::from(self.w));
        let words = [
            (field::INFO, items.info),
            (field::WORKER, items.worker),
            (field::SUBGROUP, items.subgroup),
            (field::ACTIVE, items.active.unwrap_or(all)),
            (field::COLLECTIVE_TURN, turn),
        ];
        let has_pointers = !self.calls.functions.dispatchers.is_empty();
        let worker = items.worker;
        let of = |start: u64, values: [Value; 3]| (0..3).map(move |at| (start + at as u64 * 8, values[at]));
        let words: Vec<_> = words
            .into_iter()
            .chain(of(field::GROUP, items.group))
            .chain(of(field::LOCAL, items.local))
            .collect();
        self.calls.context = self.in_prologue(|b| {
            let context = b.alloca_bytes(field::BYTES, private::ALIGN as u32);
            words.iter().for_each(|(at, value)| b.store(*value, b.offset_const(context, *at), 8));
            if has_pointers {
                let top = b.reinterpret(b.frame_address(), Scalar::I64);
                let room = b.offset_const(worker, offset_of!(Worker, call_room) as u64);
                let limit = b.sub(top, b.load_invariant(Scalar::I64, room, 8));
                b.store(top, b.offset_const(context, field::STACK_TOP), 8);
                b.store(limit, b.offset_const(context, field::STACK_LIMIT), 8);
            }
            Some(context)
        });
    }

    /// The parameters of a called function.
    pub(super) fn parameters(&mut self, callable: &Callable) {
        let a = self.a;
        let mut passed = callable.params.iter();
        let mut at = 1 + u32::from(callable.masked);
        for (param, ty) in &a.func.params {
            let mut val = Val::new();
            for leaf in passed.by_ref().take(a.leaves.count(*ty)) {
                let value = self.b.param(callable.function, at);
                // Once for all of the function.
                val.push(self.in_prologue(|_| self.received(*leaf, value)));
                at += 1;
            }
            self.values_mut(false).entry.insert(*param, val);
        }
    }

    /// A leaf that was handed over, its lanes made here.
    fn received(&self, leaf: Passed, value: Value) -> Reg {
        match leaf.shape {
            Shape::Varying => Reg::varying(value),
            Shape::Strided(step) => {
                let w = self.w;
                let steps = |scalar| self.b.steps(scalar, w, step);
                let lanes = match leaf.scalar {
                    Scalar::Ptr => self.b.offset(value, steps(Scalar::I64)),
                    scalar => self.b.add(self.b.splat(value, w), steps(scalar)),
                };
                Reg::strided(value, lanes)
            }
            Shape::Uniform | Shape::Undefined => Reg::uniform(value),
        }
    }

    fn handed_over(&self, leaf: Passed, reg: Reg) -> Value {
        match (leaf.shape, reg.scalar()) {
            (Shape::Varying, _) => self.vector(reg),
            (_, Some(scalar)) => scalar,
            (_, None) => self.b.extract(self.vector(reg), self.b.i32(0)),
        }
    }

    /// What the function returns, in its exit block.
    pub(super) fn return_value(&mut self, inst: &Inst) -> Result<(), EngineError> {
        let val = self.value(inst.id(0))?;
        let results =
            self.calls.functions.by_id.get(&self.a.func.function).map(|callable| callable.results.clone());
        let leaves = results.unwrap_or_default().into_iter().zip(val);
        self.calls.returned = leaves.map(|(leaf, reg)| self.handed_over(leaf, reg)).collect();
        Ok(())
    }

    /// Ends a called function.
    pub(super) fn finish(&self, callable: &Callable) {
        if callable.results.len() == self.calls.returned.len() {
            return self.b.ret_values(&self.calls.returned);
        }
        // It never returns.
        let none = |leaf: &Passed| self.b.poison(leaf.scalar, leaf.lanes(self.w));
        self.b.ret_values(&callable.results.iter().map(none).collect::<Vec<_>>());
    }

    pub(super) fn call(&mut self, inst: &Inst) -> Result<Option<Val>, EngineError> {
        let calls = Rc::clone(&self.calls.functions);
        let (Some(callable), Some(context)) = (calls.by_id.get(&inst.id(0)), self.calls.context) else {
            return Err(self.unsupported("a call of something that is not a function".into()));
        };
        let mut operands = vec![context];
        if callable.masked {
            operands.push(self.mask_vector());
        }
        let mut passed = callable.params.iter();
        for ((_, ty), argument) in self.a.func.params_of(inst.id(0)).iter().zip(inst.ids().skip(1)) {
            let val = self.value(argument)?;
            let leaves = passed.by_ref().take(self.a.leaves.count(*ty));
            operands.extend(leaves.zip(val).map(|(leaf, reg)| self.handed_over(*leaf, reg)));
        }
        let values = self.call_unless_empty(callable.function, &operands, &callable.results);
        let Some(result) = inst.result else { return Ok(None) };
        // Calls with uniform arguments return the same to all lanes, also where the function does not know.
        let shapes = self.a.shape_at_definition(result);
        let received = |((value, leaf), shape): ((Value, &Passed), Shape)| {
            let reg = self.received(*leaf, value);
            if shape.is_uniform() { Reg::uniform(self.same(reg)) } else { reg }
        };
        Ok(Some(values.into_iter().zip(&callable.results).zip(shapes).map(received).collect()))
    }

    /// Calls through a pointer.
    pub(super) fn call_pointer(&mut self, inst: &Inst) -> Result<Option<Val>, EngineError> {
        let calls = Rc::clone(&self.calls.functions);
        let dispatcher = self.a.call_shape_of(inst).and_then(|shape| calls.dispatcher(&shape));
        let (Some(dispatcher), Some(context)) = (dispatcher, self.calls.context) else {
            return Err(self.unsupported("a call through a pointer here".into()));
        };
        let pointer = self.leaf(inst.id(0))?;
        let pointers = self.b.reinterpret(self.vector(pointer), Scalar::I64);
        let mut operands = vec![context, self.mask_vector(), pointers];
        for argument in inst.ids().skip(1) {
            let val = self.value(argument)?;
            operands.extend(val.into_iter().map(|reg| self.vector(reg)));
        }
        let values = self.call_unless_empty(dispatcher.function, &operands, &dispatcher.results);
        let received = |(value, leaf): (Value, &Passed)| self.received(*leaf, value);
        let val = values.into_iter().zip(&dispatcher.results).map(received).collect();
        Ok(inst.result.map(|_| val))
    }

    /// Calls a function, unless no lane is on.
    fn call_unless_empty(&self, function: Function, operands: &[Value], results: &[Passed]) -> Vec<Value> {
        match self.mask() {
            // A block that shares the mask of the whole body is never reached without a lane.
            Mask::Lanes(mask) if self.a.control.class[self.position.block].is_some() => {
                let [inside, done] = ["call", "called"].map(|name| self.label(name));
                let before = self.b.here();
                self.b.cond_br(self.b.any(mask), inside, done);
                self.b.at_end(inside);
                let values = self.b.call_with_results(function, operands, results.len());
                let after = self.b.here();
                self.b.br(done);
                self.b.at_end(done);
                let join = |(value, leaf): (Value, &Passed)| {
                    let lanes = leaf.lanes(self.w);
                    let phi = self.b.phi(leaf.scalar, lanes);
                    self.b.add_incoming(phi, value, after);
                    self.b.add_incoming(phi, self.b.poison(leaf.scalar, lanes), before);
                    phi
                };
                values.into_iter().zip(results).map(join).collect()
            }
            _ => self.b.call_with_results(function, operands, results.len()),
        }
    }

    /// The stack from here up to where the sub-group's body began, where private objects may be that pointers lead
    /// to: none if there are no calls through pointers.
    pub(super) fn live_stack(&self) -> Option<(Value, Value)> {
        let context = self.calls.context.filter(|_| !self.calls.functions.dispatchers.is_empty())?;
        let top = self.b.load(Scalar::I64, 1, self.b.offset_const(context, field::STACK_TOP), 8);
        let here = self.b.stack_pointer();
        let bytes = self.b.sub(top, self.b.reinterpret(here, Scalar::I64));
        Some((here, bytes))
    }
}

/// Where a called function is, from the context that it is handed.
pub(super) fn items(b: &Builder, callable: &Callable, is_partial: bool, most_items: u32) -> WorkItems {
    let context = b.param(callable.function, 0);
    let word = |at: u64, scalar: Scalar| b.load(scalar, 1, b.offset_const(context, at), 8);
    let three = |start: u64| [0, 8, 16].map(|at| word(start + at, Scalar::I64));
    let info = word(field::INFO, Scalar::Ptr);
    WorkItems {
        info,
        worker: word(field::WORKER, Scalar::Ptr),
        group: three(field::GROUP),
        local: three(field::LOCAL),
        subgroup: word(field::SUBGROUP, Scalar::I64),
        active: is_partial.then(|| word(field::ACTIVE, Scalar::I64)),
        size: work_item::group_size(b, info, most_items),
        subgroups: work_item::field(b, info, offset_of!(LaunchInfo, subgroups)),
        cache: FxHashMap::default(),
        local_memory: None,
        collective_turn: Some(word(field::COLLECTIVE_TURN, Scalar::Ptr)),
    }
}

impl Callable {
    /// The lanes that the function is called for.
    pub(super) fn mask(&self, b: &Builder) -> Mask {
        if self.masked { Mask::Lanes(b.param(self.function, 1)) } else { Mask::All }
    }
}

/// Whether a function looks for private objects by address: those of its callers then have to be where it can tell.
pub(super) fn casts_explicitly(func: &Func<'_>) -> bool {
    let mut insts = func.blocks.values().flat_map(|block| &block.insts);
    insts.any(|inst| inst.row().locates)
}

/// The functions of a unit and who calls whom, for the depth of the stack.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    functions: Vec<Node>,
    /// Functions that call through pointers, each with the places of those that they lead to.
    dispatchers: Vec<(String, Vec<usize>)>,
    /// Some function may be called again while it runs.
    recursive: bool,
}

/// A function of the tree. Callers come before callees.
#[derive(Clone, Debug, Default)]
struct Node {
    symbol: String,
    /// Places of the functions that it calls.
    calls: Vec<usize>,
    /// Places of the dispatchers that it calls.
    pointers: Vec<usize>,
}

/// Bytes of a call beside the frames: the return address, the saved frame pointer, and what aligns the next frame.
const CALL_BYTES: u64 = 96;

/// Stack for functions that call each other through pointers, beyond what one such call takes: a work-item of a GPU has
/// no more.
const RECURSION_BYTES: u64 = 1 << 20;

impl CallTree {
    pub(super) fn new(unit: &AnalysedKernel<'_>, calls: &Functions) -> Self {
        let places: FxHashMap<Id, usize> =
            unit.callees.iter().enumerate().map(|(at, callee)| (callee.analysis.func.function, at)).collect();
        let sorted = |mut list: Vec<usize>| {
            list.sort_unstable();
            list.dedup();
            list
        };
        let of = |callee: &Callee<'_>| {
            let a = &callee.analysis;
            let called = a.calls().filter_map(|(_, inst)| places.get(&inst.id(0)).copied());
            let shapes = a.pointer_calls().filter_map(|(_, inst)| a.call_shape_of(inst));
            let pointers = shapes.filter_map(|shape| calls.shapes.get(&shape).copied());
            Node {
                symbol: symbol(a.func.function),
                calls: sorted(called.collect()),
                pointers: sorted(pointers.collect()),
            }
        };
        let dispatchers = calls.dispatchers.values().map(|dispatcher| {
            let targets = dispatcher.targets.iter().filter_map(|(_, id)| places.get(id).copied());
            (dispatcher.symbol.clone(), targets.collect())
        });
        CallTree {
            functions: unit.callees.iter().map(of).collect(),
            dispatchers: dispatchers.collect(),
            recursive: unit.callees.iter().any(|callee| callee.recursive),
        }
    }

    /// Bytes of stack of the deepest calls, given the frames of all functions, and those of them that may be taken
    /// where a call through a pointer begins (`CodeInfo::call_room`). Frames of what is not in the tree, the
    /// entry and the bodies, are taken to be on the stack together.
    pub fn stack_bytes(&self, frames: &[(String, u64)]) -> (u64, u64) {
        let mut frame_of: FxHashMap<&str, u64> =
            frames.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
        let mut take = |name: &str| frame_of.remove(name).unwrap_or(0).saturating_add(CALL_BYTES);
        let dispatchers: Vec<u64> = self.dispatchers.iter().map(|(name, _)| take(name)).collect();
        // Down to the next call through a pointer, whose function looks at what is left.
        let mut depths = vec![0u64; self.functions.len()];
        for (at, node) in self.functions.iter().enumerate().rev() {
            let calls = node.calls.iter().map(|callee| depths[*callee]);
            let below = calls.chain(node.pointers.iter().map(|at| dispatchers[*at])).max().unwrap_or(0);
            depths[at] = take(&node.symbol).saturating_add(below);
        }
        let bodies = frame_of.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        let direct = depths.iter().chain(&dispatchers).copied().max().unwrap_or(0);
        let total = bodies.saturating_add(direct);
        if self.dispatchers.is_empty() {
            return (total, 0);
        }
        let of_call = |(own, (_, targets)): (&u64, &(String, Vec<usize>))| {
            own.saturating_add(targets.iter().map(|at| depths[*at]).max().unwrap_or(0))
        };
        let one_call = dispatchers.iter().zip(&self.dispatchers).map(of_call).max().unwrap_or(0);
        let recursion = if self.recursive { RECURSION_BYTES.max(one_call) } else { 0 };
        let room = total.saturating_add(recursion);
        (room.saturating_add(CALL_BYTES).saturating_add(one_call), room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stack_is_as_deep_as_the_deepest_calls_and_not_as_all_together() {
        let function = |name: &str, calls: &[usize]| Node {
            symbol: name.to_owned(),
            calls: calls.to_vec(),
            pointers: Vec::new(),
        };
        let functions =
            vec![function("a", &[1, 2]), function("b", &[3]), function("c", &[3]), function("d", &[])];
        let frame = |name: &str, bytes| (name.to_owned(), bytes);
        let frames = [
            frame("ze_cpu_kernel", 1_000),
            frame("partial", 500),
            frame("a", 100),
            frame("b", 10_000),
            frame("c", 20_000),
            // A function without a frame, and so without a report, still has a place to return to.
        ];
        let tree = CallTree { functions, ..CallTree::default() };
        assert_eq!(tree.stack_bytes(&frames), (1_500 + 100 + 20_000 + 3 * CALL_BYTES, 0));
        assert_eq!(CallTree::default().stack_bytes(&frames[..2]), (1_500, 0));
    }

    #[test]
    fn where_a_call_through_a_pointer_begins_there_is_stack_for_what_it_leads_to() {
        let node = |symbol: &str, pointers: &[usize]| Node {
            symbol: symbol.to_owned(),
            calls: Vec::new(),
            pointers: pointers.to_vec(),
        };
        let frames = [("body", 1_000), ("leaf", 5_000), ("again", 300), ("dispatch", 70)]
            .map(|(name, bytes)| (name.to_owned(), bytes));
        let dispatchers = vec![("dispatch".to_owned(), vec![0, 1])];
        let functions = vec![node("leaf", &[]), node("again", &[])];
        let tree = CallTree { functions, dispatchers: dispatchers.clone(), recursive: false };
        let (total, room) = tree.stack_bytes(&frames);
        assert_eq!(total - room, CALL_BYTES + 70 + 5_000 + 2 * CALL_BYTES);
        assert!(room >= 1_000 + 70 + CALL_BYTES);
        let functions = vec![node("leaf", &[]), node("again", &[0])];
        let (more, room) = CallTree { functions, dispatchers, recursive: true }.stack_bytes(&frames);
        assert!(more >= total + RECURSION_BYTES && room >= RECURSION_BYTES);
    }
}
