//! Work-item built-ins: which pointers lead to them, how they vary over lanes, and how large they get.
//!
//! A built-in is no memory, so a load of it is made from its components. Which of their bytes a load wants follows from the
//! types and steps of the pointers on the way: compilers index components, and bytes of them, in many ways.

use super::Analysis;
use super::func::{ChainStep, Func};
use super::leaves::Leaf;
use super::pointers::Pointers;
use super::ranges::GREATEST_ID;
use super::shapes::{Shape, Shapes};
use crate::abi::{Axis, Variant};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::{BuiltIn, Op};
use spirv_env::opcodes::{Derives, Memory};
use spirv_env::{Id, Type, TypeId};

/// A pointer into an `Input` variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuiltinPointer {
    pub builtin: BuiltIn,
    pub components: u32,
    /// Of a component.
    pub component_bytes: u64,
    /// That of the variant, if components are dimensions.
    axis: Axis,
    /// The known part of the offset, in bytes.
    pub offset: i64,
    /// The rest of it: indices, sign-extended to 64 bits, and what they count, in bytes.
    pub indices: SmallVec<[(Id, u64); 1]>,
}

/// What of a built-in a leaf is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The low bytes of a component, or all.
    Low(u32),
    /// Bytes of the components from the first to before the second.
    Bytes(u32, u32),
    /// Said by indices at run time.
    Indexed,
}

/// Pointers with more indices than this are not followed.
const MOST_INDICES: usize = 16;

impl BuiltinPointer {
    fn new(func: &Func<'_>, builtin: BuiltIn, pointer: TypeId, axis: Axis) -> Option<Self> {
        let types = &func.module.types;
        let Type::Pointer { pointee, .. } = *types.get(pointer) else { return None };
        let (component, components) = match *types.get(pointee) {
            Type::Vector { elem, len } => (elem, len),
            _ => (pointee, 1),
        };
        let component_bytes = types.layout(component).size;
        let axis = if is_of_dimensions(builtin) { axis } else { Axis::X };
        Some(BuiltinPointer {
            builtin,
            components,
            component_bytes,
            axis,
            offset: 0,
            indices: SmallVec::new(),
        })
    }

    /// The component of the variant's code that one of the kernel is: the other way round it is the same.
    pub fn in_code(&self, component: u32) -> u32 {
        self.axis.exchanged(component)
    }

    /// What a leaf of a load through the pointer is. Bytes behind the last component are undefined.
    pub fn part(&self, leaf: Leaf) -> Part {
        if !self.indices.is_empty() {
            return Part::Indexed;
        }
        let bytes = leaf.scalar.bytes();
        let whole = u64::from(self.components) * self.component_bytes;
        // What lies before the built-in is far behind it as well.
        let start = (self.offset as u64).wrapping_add(leaf.offset).min(whole);
        let first = (start / self.component_bytes) as u32;
        if start.is_multiple_of(self.component_bytes) && bytes <= self.component_bytes {
            return Part::Low(first);
        }
        let end = start.saturating_add(bytes).min(whole).div_ceil(self.component_bytes);
        Part::Bytes(first, end as u32)
    }

    /// The largest number of bytes in which a leaf can be read, each time from one component, whatever the indices are.
    pub fn piece(&self, leaf: Leaf) -> u64 {
        let offset = (self.offset as u64).wrapping_add(leaf.offset);
        let steps = self.indices.iter().fold(offset, |steps, (_, size)| steps | size);
        1 << (steps | leaf.scalar.bytes() | self.component_bytes).trailing_zeros()
    }
}

/// All pointers of a function that lead to built-in variables, in code for this axis.
pub fn pointers(func: &Func<'_>, axis: Axis) -> FxHashMap<Id, BuiltinPointer> {
    let globals = func.module.globals.iter();
    let variable = |global: &spirv_env::GlobalVariable| {
        Some((global.id, BuiltinPointer::new(func, global.builtin?, global.ty, axis)?))
    };
    let mut found: FxHashMap<Id, BuiltinPointer> = globals.filter_map(variable).collect();
    for derived in Pointers::new(func).iter() {
        let Some(mut pointer) = found.get(&derived.base).cloned() else { continue };
        if matches!(derived.inst.row().derives, Derives::Chain | Derives::ElementChain) {
            for step in func.chain(derived.inst) {
                match step {
                    ChainStep::Constant(bytes) => pointer.offset = pointer.offset.wrapping_add(bytes),
                    ChainStep::Scaled { index, size } => pointer.indices.push((index, size)),
                }
            }
        }
        if pointer.indices.len() <= MOST_INDICES {
            found.insert(derived.pointer, pointer);
        }
    }
    found
}

impl Analysis<'_> {
    /// The built-in and the component of it, in the variant's code, that a value is, if it is all of one.
    pub fn whole_component(&self, id: Id) -> Option<(BuiltIn, u32)> {
        let inst = self.definition(id)?;
        let (load, at) = match inst.op {
            Op::CompositeExtract => {
                let load = self.definition(inst.id(0))?;
                (load, self.leaves.path(load.ty, &inst.operands[1..]).0)
            }
            _ => (inst, 0),
        };
        if !matches!(load.row().memory, Memory::Read { .. }) {
            return None;
        }
        let pointer = self.builtins.get(&load.id(0))?;
        let leaf = *self.leaves.get(load.ty?)?.get(at)?;
        match pointer.part(leaf) {
            Part::Low(at) if at < pointer.components && leaf.scalar.bytes() == pointer.component_bytes => {
                Some((pointer.builtin, pointer.in_code(at)))
            }
            _ => None,
        }
    }
}

/// Whether the components of a built-in are the dimensions of a launch.
fn is_of_dimensions(builtin: BuiltIn) -> bool {
    matches!(
        builtin,
        BuiltIn::GlobalInvocationId
            | BuiltIn::LocalInvocationId
            | BuiltIn::WorkgroupId
            | BuiltIn::NumWorkgroups
            | BuiltIn::WorkgroupSize
            | BuiltIn::EnqueuedWorkgroupSize
            | BuiltIn::GlobalSize
            | BuiltIn::GlobalOffset
    )
}

/// How one component of a variant's code varies over the lanes of a sub-group.
pub fn shape(builtin: BuiltIn, component: u32, variant: Variant) -> Shape {
    if variant.width == 1 {
        return Shape::Uniform;
    }
    match builtin {
        BuiltIn::GlobalInvocationId | BuiltIn::LocalInvocationId => match (variant.mapping, component) {
            (mapping, _) if mapping.crosses_rows() => Shape::Varying,
            (_, 0) => Shape::Strided(1),
            _ => Shape::Uniform,
        },
        BuiltIn::GlobalLinearId => match variant.mapping {
            mapping if mapping.crosses_rows() => Shape::Varying,
            _ => Shape::Strided(1),
        },
        // Lanes follow the linear local id, whatever the shape.
        BuiltIn::LocalInvocationIndex | BuiltIn::SubgroupLocalInvocationId => Shape::Strided(1),
        BuiltIn::SubgroupEqMask
        | BuiltIn::SubgroupGeMask
        | BuiltIn::SubgroupGtMask
        | BuiltIn::SubgroupLeMask
        | BuiltIn::SubgroupLtMask => Shape::Varying,
        _ => Shape::Uniform,
    }
}

/// The shapes of a load through a pointer to a built-in.
pub fn shapes(pointer: &BuiltinPointer, leaves: &[Leaf], variant: Variant) -> Shapes {
    // What is behind the last component is zero.
    let of = |at: u32| {
        if at < pointer.components {
            shape(pointer.builtin, pointer.in_code(at), variant)
        } else {
            Shape::Uniform
        }
    };
    let one = |leaf: &Leaf| match pointer.part(*leaf) {
        Part::Low(at) if leaf.scalar.is_int() => of(at),
        Part::Low(at) if of(at).is_uniform() => Shape::Uniform,
        Part::Bytes(first, end) if (first..end).all(|at| of(at).is_uniform()) => Shape::Uniform,
        _ => Shape::Varying,
    };
    leaves.iter().map(one).collect()
}

/// Whether a built-in is the number of work-items of a work-group. All work-groups of a launch have as many.
pub fn is_group_size(builtin: BuiltIn) -> bool {
    matches!(builtin, BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize)
}

/// An upper bound of the leaves of a load through a pointer to a built-in.
pub fn upper(pointer: &BuiltinPointer, leaves: &[Leaf], variant: Variant) -> Option<u64> {
    if leaves.iter().any(|leaf| pointer.piece(*leaf) < leaf.scalar.bytes()) {
        // Bytes of several components, or high ones.
        return None;
    }
    match pointer.builtin {
        BuiltIn::GlobalInvocationId
        | BuiltIn::GlobalLinearId
        | BuiltIn::GlobalSize
        | BuiltIn::GlobalOffset => {
            let linear = pointer.builtin == BuiltIn::GlobalLinearId;
            (!variant.ids.large && !linear).then_some(GREATEST_ID)
        }
        // A launch of larger groups is refused (`Kernel::launch`).
        BuiltIn::LocalInvocationId | BuiltIn::LocalInvocationIndex | BuiltIn::SubgroupId => {
            Some(u64::from(variant.most_items).saturating_sub(1))
        }
        BuiltIn::WorkgroupSize | BuiltIn::EnqueuedWorkgroupSize | BuiltIn::NumSubgroups => {
            Some(u64::from(variant.most_items))
        }
        BuiltIn::SubgroupLocalInvocationId => Some(u64::from(variant.width) - 1),
        BuiltIn::SubgroupSize | BuiltIn::SubgroupMaxSize => Some(u64::from(variant.width)),
        BuiltIn::WorkgroupId | BuiltIn::NumWorkgroups => Some(u64::from(u32::MAX)),
        BuiltIn::WorkDim => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{VARIANT, of_last};
    use super::*;

    /// The shape of what the last instruction loads, and its upper bound, with a cast of the global id's pointer as `%p`.
    fn load(ty: &str, body: &str) -> (Shape, Option<u64>) {
        let cast = format!("%p = OpBitcast %input_{ty} %GlobalInvocationId\n");
        of_last(&format!("{cast}{body}"), VARIANT, |analysis, inst| {
            let result = inst.result.expect("a result");
            (analysis.shape_at_definition(result)[0], analysis.upper(result, 0))
        })
    }

    #[test]
    fn components_vary_as_they_are_reached_by_any_type() {
        const BOUND: Option<u64> = Some((1 << 31) - 1);
        let second = "%q = OpPtrAccessChain %input_ulong %p %uint_1\n";
        assert_eq!(load("ulong", "OpLoad %ulong %p"), (Shape::Strided(1), BOUND));
        assert_eq!(load("ulong", &format!("{second}OpLoad %ulong %q")), (Shape::Uniform, BOUND));
        assert_eq!(load("uint", "OpLoad %uint %p"), (Shape::Strided(1), BOUND));
        let half = |at: u32| format!("%q = OpPtrAccessChain %input_uint %p %uint_{at}\nOpLoad %uint %q");
        // The upper half of what has a step between lanes has none; that of what is the same in all is.
        assert_eq!(load("uint", &half(1)).0, Shape::Varying);
        assert_eq!(load("uint", &half(2)), (Shape::Uniform, BOUND));
        assert_eq!(load("uint", &half(3)).0, Shape::Uniform);
        // Nothing is behind the last component.
        assert_eq!(load("uint", &half(6)).0, Shape::Uniform);
        let any = "%q = OpPtrAccessChain %input_ulong %p %any_uint\nOpLoad %ulong %q";
        assert_eq!(load("ulong", any), (Shape::Varying, BOUND));
    }

    #[test]
    fn bytes_of_two_components_have_no_bound() {
        let bytes = "%b = OpBitcast %input_uint %p\n%q = OpPtrAccessChain %input_uint %b %uint_1\n\
                     %r = OpBitcast %input_ulong %q\nOpLoad %ulong %r";
        assert_eq!(load("ulong", bytes), (Shape::Varying, None));
    }
}
