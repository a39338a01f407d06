//! Where private variables live: on the stack, or in memory of the worker when they are large.

use crate::analysis::func::Func;
use crate::analysis::private::private_stride;
use crate::analysis::private::{Placement, Private};
use rustc_hash::FxHashMap;
use spirv::Op;
use spirv_env::{Id, Type};

/// Stack that the private variables of a sub-group may take together, in bytes. Registers are made from stack
/// variables only, so this is generous; sub-groups with barriers each have a stack of their own.
const STACK_BYTES: u64 = 48 << 10;

/// Alignment of each variable: one vector register.
pub const ALIGN: u64 = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    Stack,
    /// At this byte offset of the sub-group's part of `Worker::private_memory`.
    Memory(u64),
}

#[derive(Debug, Default)]
pub struct Layout {
    pub homes: FxHashMap<Id, Home>,
    pub stack_bytes: u64,
    pub memory_bytes: u64,
}

/// Bytes of a private object for all lanes, if its type has a size.
pub fn object_bytes(func: &Func<'_>, pointer: spirv_env::TypeId, width: u32) -> Option<u64> {
    match func.module.types.get(pointer) {
        Type::Pointer { pointee, .. } => {
            let size = func.module.types.layout(*pointee).size;
            private_stride(size).checked_mul(u64::from(width))?.checked_next_multiple_of(ALIGN)
        }
        _ => None,
    }
}

impl Layout {
    /// Finds a home for each variable; `None` if their sizes overflow.
    pub fn new(func: &Func<'_>, private: &Private, width: u32) -> Option<Self> {
        let mut layout = Layout::default();
        let variables =
            func.blocks.iter().flat_map(|block| &block.insts).filter(|inst| inst.op == Op::Variable);
        let objects = variables.filter_map(|inst| Some((inst.result?, inst.ty?))).chain(
            func.params.iter().copied().filter(|(id, _)| {
                matches!(private.placement.get(id), Some(Placement::PerLane | Placement::Uniform))
            }),
        );
        for (id, ty) in objects.collect::<Vec<_>>() {
            let uniform = private.placement.get(&id) == Some(&Placement::Uniform);
            let bytes = object_bytes(func, ty, if uniform { 1 } else { width })?;
            let home = if layout.stack_bytes + bytes <= STACK_BYTES {
                layout.stack_bytes += bytes;
                Home::Stack
            } else {
                let at = layout.memory_bytes;
                layout.memory_bytes = at.checked_add(bytes)?;
                Home::Memory(at)
            };
            layout.homes.insert(id, home);
        }
        Some(layout)
    }
}
