//! Reflection: kernels, their arguments and what they and the functions they call use.

mod args;

use crate::diagnostics::{Diagnostic, Diagnostics, Fault, RuleId};
use crate::load::{EntryPoint, Loaded};
use crate::module::{ConstantValue, Function, Id, Inst, Kernel, Module, Operand, Type};
use crate::prune::callees;
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, Capability, ExecutionMode, Op, Scope, StorageClass};

const ENTRY: RuleId = RuleId { id: "kernels.entry-point", source: "SPIR-V 1.2 §2.16.1" };
const MODES: RuleId = RuleId { id: "kernels.execution-mode", source: "SPIR-V 1.2 §3.6" };

/// What one function does itself.
#[derive(Default)]
struct Summary {
    callees: Vec<Id>,
    subgroups: bool,
    barrier: bool,
    private_size: u64,
    /// Places of `Workgroup` variables in the module's globals.
    locals: Vec<usize>,
}

/// Adds the kernels of all inputs to the module.
pub(crate) fn reflect(module: &mut Module, loaded: &[Loaded], diagnostics: &mut Diagnostics) {
    let globals: FxHashMap<Id, usize> =
        module.globals.iter().enumerate().map(|(at, global)| (global.id, at)).collect();
    let summaries: FxHashMap<Id, Summary> = module
        .functions
        .iter()
        .map(|function| (function.id, summarize(module, &globals, function)))
        .collect();
    let mut kernels: Vec<Kernel> = Vec::new();
    for input in loaded {
        for entry in &input.entry_points {
            let described = if kernels.iter().any(|kernel| kernel.name == entry.name) {
                Err(Fault::new(ENTRY, "two modules have a kernel of this name"))
            } else {
                kernel(module, input, entry, &summaries)
            };
            match described {
                Ok(kernel) => kernels.push(kernel),
                Err(fault) => diagnostics.push(Diagnostic {
                    function: Some(format!("kernel {}", entry.name)),
                    ..Diagnostic::new(fault)
                }),
            }
        }
    }
    module.kernels = kernels;
}

fn kernel(
    module: &Module,
    input: &Loaded,
    entry: &EntryPoint,
    summaries: &FxHashMap<Id, Summary>,
) -> Result<Kernel, Fault> {
    let function = module
        .function(entry.function)
        .ok_or_else(|| Fault::new(ENTRY, "the entry point is not a function of the module"))?;
    if function.blocks.is_empty() {
        return Err(Fault::new(ENTRY, "the entry point has no body"));
    }
    let (args, arg_block_size) = args::arguments(module, input, entry, function)?;
    let mut kernel = Kernel {
        name: entry.name.clone(),
        function: function.id,
        args,
        arg_block_size,
        required_group_size: None,
        group_size_hint: None,
        required_subgroup_size: None,
        uses_subgroups: false,
        uses_barrier: false,
        static_local_size: 0,
        private_size: 0,
        modes: Vec::new(),
        attributes: String::new(),
    };
    execution_modes(module, input, entry, &mut kernel)?;
    let mut locals: Vec<usize> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut work = vec![function.id];
    while let Some(id) = work.pop() {
        if !seen.insert(id) {
            continue;
        }
        let Some(summary) = summaries.get(&id) else { continue };
        kernel.uses_subgroups |= summary.subgroups;
        kernel.uses_barrier |= summary.barrier;
        kernel.private_size = kernel.private_size.saturating_add(summary.private_size);
        locals.extend(&summary.locals);
        work.extend(&summary.callees);
    }
    locals.sort_unstable();
    locals.dedup();
    for local in locals {
        let global = &module.globals[local];
        let size = pointee_size(module, global.ty);
        kernel.static_local_size = end_of(kernel.static_local_size, global.align, size);
    }
    Ok(kernel)
}

/// The end of `size` bytes that are put behind `end` with an alignment.
fn end_of(end: u64, align: u64, size: u64) -> u64 {
    end.checked_next_multiple_of(align).and_then(|at| at.checked_add(size)).unwrap_or(u64::MAX)
}

fn pointee_size(module: &Module, pointer: crate::module::TypeId) -> u64 {
    match module.types.get(pointer) {
        Type::Pointer { pointee, .. } => module.types.layout(*pointee).size,
        _ => 0,
    }
}

fn summarize(module: &Module, globals: &FxHashMap<Id, usize>, function: &Function) -> Summary {
    let mut summary = Summary { callees: callees(module, function).collect(), ..Summary::default() };
    let mut constants = Vec::new();
    let mut seen = FxHashSet::default();
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        match (group_scope(module, inst), inst.op) {
            // A barrier of a sub-group, whose lanes run in lockstep, shows nothing of its size.
            (Some(Scope::Subgroup), Op::ControlBarrier) => {}
            (Some(Scope::Subgroup), _) => summary.subgroups = true,
            (Some(_), _) => summary.barrier = true,
            (None, Op::Variable) => {
                let layout = inst.ty.map_or(0, |ty| pointee_size(module, ty));
                summary.private_size = end_of(summary.private_size, natural_alignment(module, inst), layout);
            }
            (None, _) => summary.subgroups |= is_subgroup_op(inst.op),
        }
        constants.extend(inst.ids());
        // Variables may hide in constant expressions.
        while let Some(id) = constants.pop() {
            if let Some(&at) = globals.get(&id) {
                let global = &module.globals[at];
                summary.subgroups |= global.builtin.is_some_and(is_subgroup_builtin);
                if global.class == StorageClass::Workgroup && seen.insert(id) {
                    summary.locals.push(at);
                }
            } else if let Some(constant) = module.constants.get(&id)
                && seen.insert(id)
            {
                match &constant.value {
                    ConstantValue::Composite(parts) => constants.extend(parts),
                    ConstantValue::Expression { operands, .. } => {
                        constants.extend(operands.iter().filter_map(|operand| match operand {
                            Operand::Id(id) => Some(*id),
                            Operand::Lit(_) => None,
                        }));
                    }
                    _ => {}
                }
            }
        }
    }
    summary
}

fn natural_alignment(module: &Module, variable: &Inst) -> u64 {
    match variable.ty.map(|ty| module.types.get(ty)) {
        Some(Type::Pointer { pointee, .. }) => module.types.layout(*pointee).align,
        _ => 1,
    }
}

/// The value of a constant integer.
pub(crate) fn constant_scalar(module: &Module, id: Id) -> Option<u64> {
    match module.constants.get(&id)?.value {
        ConstantValue::Scalar(value) => Some(value),
        ConstantValue::Null => Some(0),
        _ => None,
    }
}

/// The execution scope of an instruction that all work-items of a group execute together.
fn group_scope(module: &Module, inst: &Inst) -> Option<Scope> {
    use Op::*;
    let collective = matches!(
        inst.op,
        ControlBarrier
            | ControlBarrierArriveINTEL
            | ControlBarrierWaitINTEL
            | GroupAsyncCopy
            | GroupWaitEvents
            | GroupAll
            | GroupAny
            | GroupBroadcast
            | GroupIAdd
            | GroupFAdd
            | GroupFMin
            | GroupUMin
            | GroupSMin
            | GroupFMax
            | GroupUMax
            | GroupSMax
            | GroupIMulKHR
            | GroupFMulKHR
            | GroupBitwiseAndKHR
            | GroupBitwiseOrKHR
            | GroupBitwiseXorKHR
            | GroupLogicalAndKHR
            | GroupLogicalOrKHR
            | GroupLogicalXorKHR
    );
    let scope = collective.then(|| inst.ids().next()).flatten()?;
    constant_scalar(module, scope).and_then(|scope| Scope::from_u32(u32::try_from(scope).ok()?))
}

/// Instructions that exist for sub-groups only, by the capability that brings them.
fn is_subgroup_op(op: Op) -> bool {
    use Capability as C;
    let Some(entry) = crate::grammar::capabilities(op) else { return false };
    entry.iter().any(|capability| {
        matches!(
            capability,
            C::GroupNonUniform
                | C::GroupNonUniformVote
                | C::GroupNonUniformBallot
                | C::GroupNonUniformArithmetic
                | C::GroupNonUniformShuffle
                | C::GroupNonUniformShuffleRelative
                | C::GroupNonUniformClustered
                | C::GroupNonUniformRotateKHR
                | C::SubgroupShuffleINTEL
                | C::SubgroupBufferBlockIOINTEL
                | C::SubgroupImageBlockIOINTEL
                | C::SubgroupImageMediaBlockIOINTEL
                | C::SubgroupBallotKHR
                | C::SubgroupVoteKHR
        )
    })
}

fn is_subgroup_builtin(builtin: BuiltIn) -> bool {
    use BuiltIn as B;
    matches!(
        builtin,
        B::SubgroupSize
            | B::SubgroupMaxSize
            | B::NumSubgroups
            | B::NumEnqueuedSubgroups
            | B::SubgroupId
            | B::SubgroupLocalInvocationId
            | B::SubgroupEqMask
            | B::SubgroupGeMask
            | B::SubgroupGtMask
            | B::SubgroupLeMask
            | B::SubgroupLtMask
    )
}

fn execution_modes(
    module: &Module,
    input: &Loaded,
    entry: &EntryPoint,
    kernel: &mut Kernel,
) -> Result<(), Fault> {
    let mut attributes: Vec<String> = Vec::new();
    for (_, mode, literals) in input.modes.iter().filter(|(function, ..)| *function == entry.function) {
        let mut literals = literals.clone();
        if matches!(mode, ExecutionMode::LocalSizeId | ExecutionMode::LocalSizeHintId) {
            for literal in &mut literals {
                let value = constant_scalar(module, Id(*literal)).and_then(|value| u32::try_from(value).ok());
                *literal =
                    value.ok_or_else(|| Fault::new(MODES, format!("{mode:?} is not made of constants")))?;
            }
        }
        let three = || match literals.as_slice() {
            &[x, y, z] => Ok([x, y, z]),
            _ => Err(Fault::new(MODES, format!("{mode:?} has three sizes"))),
        };
        match mode {
            ExecutionMode::LocalSize | ExecutionMode::LocalSizeId => {
                let size = three()?;
                if size.contains(&0) {
                    return Err(Fault::new(MODES, format!("a required work-group size of {size:?}")));
                }
                kernel.required_group_size = Some(size);
                attributes.push(format!("reqd_work_group_size({},{},{})", size[0], size[1], size[2]));
            }
            ExecutionMode::LocalSizeHint | ExecutionMode::LocalSizeHintId => {
                let size = three()?;
                kernel.group_size_hint = Some(size);
                attributes.push(format!("work_group_size_hint({},{},{})", size[0], size[1], size[2]));
            }
            ExecutionMode::SubgroupSize => {
                let &[size] = literals.as_slice() else {
                    return Err(Fault::new(MODES, "SubgroupSize has one literal"));
                };
                kernel.required_subgroup_size = Some(size);
                attributes.push(format!("intel_reqd_sub_group_size({size})"));
            }
            ExecutionMode::VecTypeHint => {
                if let Some(hint) = literals.first().and_then(|&word| vector_type_name(word)) {
                    attributes.push(format!("vec_type_hint({hint})"));
                }
            }
            _ => {}
        }
        kernel.modes.push((*mode, literals));
    }
    kernel.attributes = attributes.join(" ");
    Ok(())
}

/// `VecTypeHint`: component type in the low half, component count in the high one.
fn vector_type_name(word: u32) -> Option<String> {
    const NAMES: [&str; 7] = ["char", "short", "int", "long", "half", "float", "double"];
    let name = NAMES.get((word & 0xFFFF) as usize)?;
    Some(match word >> 16 {
        0 | 1 => (*name).to_owned(),
        count => format!("{name}{count}"),
    })
}
