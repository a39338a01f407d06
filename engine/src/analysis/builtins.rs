//! Work-item built-ins: which pointers lead to them, how they vary over lanes, and how large they get.

use super::func::Func;
use super::shapes::{Shape, Shapes};
use crate::abi::{LaneMapping, Variant};
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use spirv::BuiltIn;
use spirv_env::Id;
use spirv_env::opcodes::Derives;

/// A pointer to an `Input` variable, or to one component of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltinPointer {
    pub builtin: BuiltIn,
    pub component: Option<Component>,
}

/// A component of a 3-component built-in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Component {
    Constant(u32),
    /// Picked at run time by this index.
    Dynamic(Id),
}

/// All pointers of a function that lead to built-in variables.
pub fn pointers(func: &Func<'_>) -> FxHashMap<Id, BuiltinPointer> {
    let mut found: FxHashMap<Id, BuiltinPointer> = func
        .module
        .globals
        .iter()
        .filter_map(|global| Some((global.id, BuiltinPointer { builtin: global.builtin?, component: None })))
        .collect();
    // Blocks may come in any order, so chains of casts may need another pass.
    loop {
        let before = found.len();
        for inst in func.blocks.values().flat_map(|block| &block.insts) {
            let Some(result) = inst.result else { continue };
            let Some(base) = func.derived_from(inst).and_then(|base| found.get(&base).copied()) else {
                continue;
            };
            let last = match inst.row().derives {
                Derives::Chain => inst.ids().skip(1).last(),
                Derives::ElementChain => inst.ids().skip(2).last(),
                _ => None,
            };
            let component = match last {
                None => base.component,
                Some(id) => Some(match func.constant_bits(id) {
                    Some(at) => Component::Constant(at as u32),
                    None => Component::Dynamic(id),
                }),
            };
            found.insert(result, BuiltinPointer { component, ..base });
        }
        if found.len() == before {
            return found;
        }
    }
}

/// How one component varies over the lanes of a sub-group.
pub fn shape(builtin: BuiltIn, component: u32, variant: Variant) -> Shape {
    if variant.width == 1 {
        return Shape::Uniform;
    }
    match builtin {
        BuiltIn::GlobalInvocationId | BuiltIn::LocalInvocationId => match (variant.mapping, component) {
            (LaneMapping::Any, _) => Shape::Varying,
            (_, 0) => Shape::Strided(1),
            _ => Shape::Uniform,
        },
        BuiltIn::GlobalLinearId => match variant.mapping {
            LaneMapping::Any => Shape::Varying,
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

/// The shapes of a load of `count` leaves through a pointer to a built-in.
pub fn shapes(pointer: BuiltinPointer, count: usize, variant: Variant) -> Shapes {
    match pointer.component {
        Some(Component::Constant(at)) => smallvec![shape(pointer.builtin, at, variant)],
        Some(Component::Dynamic(_)) => smallvec![Shape::Varying],
        None => (0..count as u32).map(|at| shape(pointer.builtin, at, variant)).collect(),
    }
}

/// An upper bound of a built-in's components.
pub fn upper(pointer: BuiltinPointer, variant: Variant) -> Option<u64> {
    match pointer.builtin {
        BuiltIn::GlobalInvocationId
        | BuiltIn::GlobalLinearId
        | BuiltIn::GlobalSize
        | BuiltIn::GlobalOffset => {
            let linear = pointer.builtin == BuiltIn::GlobalLinearId;
            (!variant.large_ids && !linear).then_some((1 << 31) - 1)
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
