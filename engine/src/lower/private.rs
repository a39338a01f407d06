//! Where private variables live: on the stack, or in memory of the worker when they are large.

use crate::abi::PRIVATE_ALIGN;
use crate::analysis::Analysis;
use crate::analysis::calls::AnalysedKernel;
use crate::analysis::func::Func;
use crate::analysis::private::{Placement, object_layout, private_stride};
use rustc_hash::FxHashMap;
use spirv::Op;
use spirv_env::{Id, TypeId};

/// Stack that the private variables of a sub-group may take together, in bytes. Registers are made from stack
/// variables only, so this is generous; sub-groups with barriers each have a stack of their own.
const STACK_BYTES: u64 = 48 << 10;

/// Alignment of each variable at least: one vector register.
pub const ALIGN: u64 = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    Stack,
    /// At this byte offset of the sub-group's part of `Worker::private_memory`.
    Memory(u64),
}

/// Bytes that variables take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    pub stack_bytes: u64,
    pub memory_bytes: u64,
}

/// Where the variables of a function are.
#[derive(Debug, Default)]
pub struct Layout {
    pub homes: FxHashMap<Id, Home>,
    /// Of the sub-group's part of the memory.
    pub memory_bytes: u64,
    /// All objects that pointers may lead to, whichever function's, are in that part, or on the stack if there are calls
    /// through pointers.
    pub tells_objects: bool,
}

/// Alignment of a private object, of all lanes' together.
pub fn object_align(func: &Func<'_>, object: Id, pointer: TypeId) -> u64 {
    object_layout(func, object, pointer).map_or(ALIGN, |layout| layout.align.max(ALIGN))
}

/// Bytes of a private object for all lanes, if its type has a size.
pub fn object_bytes(func: &Func<'_>, object: Id, pointer: TypeId, width: u32) -> Option<u64> {
    let stride = private_stride(object_layout(func, object, pointer)?);
    stride.checked_mul(u64::from(width))?.checked_next_multiple_of(ALIGN)
}

/// The layouts of a unit's functions, callers before callees, and what they take together; `None` if their sizes
/// overflow. Functions that are never active at the same time use the same memory.
pub fn layouts(unit: &AnalysedKernel<'_>) -> Option<(Vec<Layout>, Taken)> {
    let tells_objects =
        !unit.callees.is_empty() && unit.analyses().any(|of| super::calls::casts_explicitly(&of.func));
    // What is taken where a function begins: the most that those take which may be active then.
    let mut before: FxHashMap<Id, Taken> = FxHashMap::default();
    let (mut layouts, mut most) = (Vec::new(), Taken::default());
    // What is taken where calls through pointers are made: they lead to functions that come later in the unit.
    let mut before_pointers = Taken::default();
    let callees = std::iter::once(None).chain(unit.callees.iter().map(Some));
    for (a, callee) in unit.analyses().zip(callees) {
        let mut start = before.get(&a.func.function).copied().unwrap_or_default();
        if callee.is_some_and(|callee| callee.indirect) {
            start.cover(before_pointers);
        }
        let recursive = callee.is_some_and(|callee| callee.recursive);
        let (layout, end) = Layout::new(a, start, tells_objects, recursive)?;
        if callee.is_none_or(|callee| callee.reaches_pointers && !callee.behind_pointer) {
            before_pointers.cover(end);
        }
        for (_, call) in a.calls() {
            before.entry(call.id(0)).or_default().cover(end);
        }
        most.cover(end);
        layouts.push(layout);
    }
    // Sub-groups' parts follow each other.
    most.memory_bytes = most.memory_bytes.checked_next_multiple_of(PRIVATE_ALIGN)?;
    layouts.iter_mut().for_each(|layout| layout.memory_bytes = most.memory_bytes);
    Some((layouts, most))
}

impl Taken {
    fn cover(&mut self, other: Taken) {
        self.stack_bytes = self.stack_bytes.max(other.stack_bytes);
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
    }
}

impl Layout {
    /// Finds a home for each variable behind what is taken already, and says what is taken then. A function that may be
    /// active more than once has all of them on the stack, where each activation has its own.
    fn new(
        a: &Analysis<'_>,
        mut taken: Taken,
        tells_objects: bool,
        recursive: bool,
    ) -> Option<(Self, Taken)> {
        let (func, private) = (&a.func, &a.private);
        let mut layout = Layout { tells_objects, ..Layout::default() };
        let variables =
            func.blocks.values().flat_map(|block| &block.insts).filter(|inst| inst.op == Op::Variable);
        let objects = variables.filter_map(|inst| Some((inst.result?, inst.ty?))).chain(
            func.params.iter().copied().filter(|(id, _)| {
                matches!(private.placement.get(id), Some(Placement::PerLane | Placement::Uniform))
            }),
        );
        for (id, ty) in objects.collect::<Vec<_>>() {
            let placement = private.placement.get(&id);
            let lanes = if placement == Some(&Placement::Uniform) { 1 } else { a.variant.width };
            let bytes = object_bytes(func, id, ty, lanes)?;
            let in_memory = tells_objects && placement == Some(&Placement::PerLane);
            let home = if recursive {
                Home::Stack
            } else if !in_memory && taken.stack_bytes.checked_add(bytes)? <= STACK_BYTES {
                taken.stack_bytes += bytes;
                Home::Stack
            } else {
                let at = taken.memory_bytes.checked_next_multiple_of(object_align(func, id, ty))?;
                taken.memory_bytes = at.checked_add(bytes)?;
                Home::Memory(at)
            };
            layout.homes.insert(id, home);
        }
        Some((layout, taken))
    }
}
