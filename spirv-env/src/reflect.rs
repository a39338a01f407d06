//! Reflection: kernels, their arguments and what they and the functions they call use.

mod args;
mod divisors;

use crate::diagnostics::{Diagnostic, Diagnostics, Fault, RuleId};
use crate::indirect::{self, CallShape};
use crate::least_lanes::least_lanes;
use crate::load::{EntryPoint, Loaded};
use crate::module::{ArgKind, ConstantValue, Function, Id, Inst, Kernel, Module, Operand, Type, TypeId};
use crate::opcodes::{Convergence, Family, Memory};
use crate::prune::{callees, successors};
use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{BuiltIn, ExecutionMode, StorageClass};
use ze_extensions::DeviceProfile;

const ENTRY: RuleId = RuleId { id: "kernels.entry-point", source: "SPIR-V 1.2 §2.16.1" };
const GRAPH: RuleId = RuleId { id: "limits.call-graph", source: "this driver" };
/// Kernels times functions that each reaches: beyond this, looking at them takes minutes.
const MOST_VISITS: usize = 1 << 22;
const MATRICES: RuleId = RuleId { id: "kernels.matrices", source: "this driver" };
const MODES: RuleId = RuleId { id: "kernels.execution-mode", source: "SPIR-V 1.2 §3.6" };

/// What one function does itself.
#[derive(Default)]
struct Summary {
    callees: Vec<Id>,
    subgroups: bool,
    least_lanes: u32,
    barrier: bool,
    loops: bool,
    small_values: bool,
    size: u32,
    prints: bool,
    matrices: bool,
    /// It can tell which work-items are of one work-group.
    groups: bool,
    /// It has atomic or volatile accesses, with which work-items may wait for each other.
    shares: bool,
    /// It orders its accesses to memory without a barrier.
    fences: bool,
    /// What its calls through pointers hand over, each once.
    indirect: Vec<CallShape>,
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
    let mut context = Context {
        module,
        summaries,
        targets: indirect::targets(module),
        visits: 0,
        divisors: FxHashMap::default(),
    };
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut names: FxHashSet<&str> = FxHashSet::default();
    for input in loaded {
        let source = args::SourceLists::new(&input.texts);
        for entry in &input.entry_points {
            let described = if names.insert(&entry.name) {
                context.kernel(input, &source, entry)
            } else {
                Err(Fault::new(ENTRY, "two modules have a kernel of this name"))
            };
            match described {
                Ok(kernel) => kernels.push(kernel),
                Err(fault) => diagnostics.judge(Diagnostic {
                    function: Some(format!("kernel {}", entry.name)),
                    ..Diagnostic::new(fault)
                }),
            }
        }
    }
    module.kernels = kernels;
}

struct Context<'m> {
    module: &'m Module,
    summaries: FxHashMap<Id, Summary>,
    /// By what they are handed: functions that may be called through pointers.
    targets: FxHashMap<CallShape, Vec<Id>>,
    /// Functions that kernels reached, counted once for each kernel.
    visits: usize,
    /// Parameters that functions divide by, of those that have been looked at.
    divisors: divisors::Known,
}

impl Context<'_> {
    fn kernel(
        &mut self,
        input: &Loaded,
        source: &args::SourceLists<'_>,
        entry: &EntryPoint,
    ) -> Result<Kernel, Fault> {
        let module = self.module;
        let function = module
            .function(entry.function)
            .ok_or_else(|| Fault::new(ENTRY, "the entry point is not a function of the module"))?;
        if function.blocks.is_empty() {
            return Err(Fault::new(ENTRY, "the entry point has no body"));
        }
        let args::Arguments { args, block_size, block_align } =
            args::arguments(module, source, entry, function)?;
        let mut kernel = Kernel {
            name: entry.name.clone(),
            function: function.id,
            sees_groups: args.iter().any(|arg| arg.kind == ArgKind::LocalPointer),
            args,
            arg_block_size: block_size,
            arg_block_align: block_align,
            required_group_size: None,
            group_size_hint: None,
            required_subgroup_size: None,
            subgroup_sizes: Vec::new(),
            uses_subgroups: false,
            least_lanes: 0,
            uses_barrier: false,
            has_loops: false,
            has_small_values: false,
            divisors: divisors::divisors(module, function, &mut self.divisors),
            may_wait: false,
            size: 0,
            prints: false,
            indirect: Vec::new(),
            local_variables: Vec::new(),
            static_local_size: 0,
            zeroed_local: 0..0,
            private_size: 0,
            modes: Vec::new(),
            attributes: String::new(),
        };
        execution_modes(module, input, entry, &mut kernel)?;
        let (mut matrices, mut shares, mut fences) = (false, false, false);
        let mut locals: Vec<usize> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut shapes: FxHashSet<&CallShape> = FxHashSet::default();
        let mut work = vec![function.id];
        while let Some(id) = work.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(summary) = self.summaries.get(&id) else { continue };
            self.visits += 1;
            if self.visits > MOST_VISITS {
                return Err(Fault::new(
                    GRAPH,
                    format!("the kernels reach functions more than {MOST_VISITS} times"),
                ));
            }
            kernel.uses_subgroups |= summary.subgroups;
            kernel.least_lanes = kernel.least_lanes.max(summary.least_lanes);
            kernel.uses_barrier |= summary.barrier;
            kernel.has_loops |= summary.loops;
            kernel.has_small_values |= summary.small_values;
            kernel.size = kernel.size.saturating_add(summary.size);
            kernel.prints |= summary.prints;
            kernel.sees_groups |= summary.groups;
            matrices |= summary.matrices;
            shares |= summary.shares;
            fences |= summary.fences;
            kernel.private_size = kernel.private_size.saturating_add(summary.private_size);
            locals.extend(&summary.locals);
            work.extend(&summary.callees);
            for targets in summary
                .indirect
                .iter()
                .filter(|shape| shapes.insert(*shape))
                .filter_map(|shape| self.targets.get(shape))
            {
                work.extend(targets);
                kernel.indirect.extend(targets);
            }
        }
        if let (true, Some(lanes)) = (matrices, module.matrix_lanes) {
            match kernel.required_subgroup_size.replace(lanes) {
                Some(other) if other != lanes => {
                    let message = format!(
                        "a kernel with sub-groups of {other} uses matrices that sub-groups of {lanes} hold in this module"
                    );
                    return Err(Fault::new(MATRICES, message));
                }
                _ => {}
            }
        }
        kernel.may_wait = !kernel.indirect.is_empty() || ((shares || fences) && kernel.has_loops);
        // What work-items print is in the order of their groups, and who waits for another work-item in a loop may count on that
        // being in another group.
        kernel.sees_groups |= kernel.prints || !kernel.indirect.is_empty() || (shares && kernel.has_loops);
        kernel.indirect.sort_unstable();
        locals.sort_unstable();
        locals.dedup();
        for local in locals {
            let global = &module.globals[local];
            let size = pointee_size(module, global.ty);
            let end = end_of(kernel.static_local_size, global.align, size);
            kernel.local_variables.push((global.id, end - size));
            if global.initializer.is_some() {
                let first =
                    if kernel.zeroed_local.is_empty() { end - size } else { kernel.zeroed_local.start };
                kernel.zeroed_local = first..end;
            }
            kernel.static_local_size = end;
        }
        Ok(kernel)
    }
}

/// What an instruction of an extended set counts for in [`Kernel::size`]: functions of the math library are about as long.
const EXTENDED_SIZE: u32 = 16;

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
    let mut summary = Summary {
        callees: callees(function).collect(),
        loops: has_loops(function),
        indirect: indirect::calls(module, function),
        least_lanes: least_lanes(module, function),
        ..Summary::default()
    };
    let mut constants = Vec::new();
    let mut seen = FxHashSet::default();
    for inst in function.blocks.iter().flat_map(|block| &block.insts) {
        let row = inst.row();
        summary.size += if row.family == Family::Extended { EXTENDED_SIZE } else { 1 };
        summary.prints |= inst.prints(module);
        summary.small_values |= inst.ty.is_some_and(|ty| is_small(module, ty));
        summary.matrices |= row.family == Family::Matrix;
        summary.groups |= row.convergence != Convergence::None;
        summary.fences |= row.memory == Memory::Fence;
        summary.shares |= inst.is_volatile()
            || matches!(row.memory, Memory::AtomicRead | Memory::AtomicWrite | Memory::AtomicUpdate);
        match row.convergence {
            Convergence::None => {}
            Convergence::Subgroup | Convergence::ImplicitSubgroup => summary.subgroups = true,
            _ if inst.waits_for_work_group(module) => summary.barrier = true,
            // A barrier of a sub-group, whose lanes run in lockstep, shows nothing of its size.
            Convergence::Barrier => {}
            Convergence::Group | Convergence::Workgroup => summary.subgroups = true,
        }
        if row.memory == Memory::Object {
            let layout = inst.ty.map_or(0, |ty| pointee_size(module, ty));
            summary.private_size = end_of(summary.private_size, natural_alignment(module, inst), layout);
        }
        constants.extend(inst.ids());
        // Variables may hide in constant expressions.
        while let Some(id) = constants.pop() {
            if let Some(&at) = globals.get(&id) {
                let global = &module.globals[at];
                summary.subgroups |= global.builtin.is_some_and(is_subgroup_builtin);
                summary.groups |= global.builtin.is_some_and(|builtin| !is_of_the_launch(builtin));
                summary.groups |= global.class == StorageClass::Workgroup;
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

/// Whether a value is a number of at most 16 bits, or a vector of those.
fn is_small(module: &Module, ty: TypeId) -> bool {
    let number = match *module.types.get(ty) {
        Type::Vector { elem, .. } => elem,
        _ => ty,
    };
    matches!(module.types.get(number), Type::Int { width, .. } | Type::Float { width, .. } if *width <= u16::BITS)
}

/// Whether a block leads to itself or an earlier one. A block stands before those that it dominates
/// (SPIR-V 1.2 §2.4), so every loop has such a branch.
fn has_loops(function: &Function) -> bool {
    let mut seen = FxHashSet::default();
    function.blocks.iter().any(|block| {
        seen.insert(block.label);
        successors(block).iter().any(|to| seen.contains(to))
    })
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

/// Whether a built-in variable is of a work-item's place in the whole launch.
fn is_of_the_launch(builtin: BuiltIn) -> bool {
    use BuiltIn as B;
    matches!(
        builtin,
        B::GlobalInvocationId | B::GlobalSize | B::GlobalOffset | B::GlobalLinearId | B::WorkDim
    )
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
    for (mode, literals) in input.modes.get(&entry.function).into_iter().flatten() {
        let mut literals = literals.clone();
        if matches!(mode, ExecutionMode::LocalSizeId | ExecutionMode::LocalSizeHintId) {
            for literal in &mut literals {
                let value = constant_scalar(module, Id(*literal)).and_then(|value| u32::try_from(value).ok());
                *literal =
                    value.ok_or_else(|| Fault::new(MODES, format!("{mode:?} is not made of constants")))?;
            }
        }
        if *mode == ExecutionMode::SubgroupsPerWorkgroupId {
            for literal in &mut literals {
                let value = constant_scalar(module, Id(*literal)).and_then(|value| u32::try_from(value).ok());
                *literal = value.ok_or_else(|| Fault::new(MODES, format!("{mode:?} is not a constant")))?;
            }
        }
        if *mode == ExecutionMode::FPFastMathDefault {
            literals = fast_math_default(module, input, &literals)?;
        }
        if is_of_a_width(*mode) && !matches!(literals.first(), Some(16 | 32 | 64)) {
            return Err(Fault::new(MODES, format!("{mode:?} is for numbers of 16, 32 or 64 bits")));
        }
        let contradicts = |(other, of): &&(ExecutionMode, Vec<u32>)| {
            of.first() == literals.first() && is_of_a_width(*mode) && other != mode && opposed(*mode, *other)
        };
        if let Some((other, _)) = kernel.modes.iter().find(contradicts) {
            return Err(Fault::new(MODES, format!("{mode:?} and {other:?} for one width")));
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

/// Gives the kernels what the device has of its own: sizes of sub-groups, and modes. Without denormal numbers, results that are some are zeros.
pub(crate) fn add_device(module: &mut Module, profile: &DeviceProfile) {
    for kernel in &mut module.kernels {
        kernel.subgroup_sizes.clone_from(&profile.compute.sub_group_sizes);
    }
    for width in profile.flushed_widths() {
        let flush = (ExecutionMode::DenormFlushToZero, vec![width]);
        for kernel in &mut module.kernels {
            if !kernel.modes.contains(&flush) {
                kernel.modes.push(flush.clone());
            }
        }
    }
}

/// Modes of floating-point numbers whose first literal is a width in bits.
fn is_of_a_width(mode: ExecutionMode) -> bool {
    is_of_denormals(mode)
        || is_of_rounding(mode)
        || matches!(mode, ExecutionMode::SignedZeroInfNanPreserve | ExecutionMode::FPFastMathDefault)
}

fn is_of_denormals(mode: ExecutionMode) -> bool {
    matches!(mode, ExecutionMode::DenormPreserve | ExecutionMode::DenormFlushToZero)
}

fn is_of_rounding(mode: ExecutionMode) -> bool {
    use ExecutionMode as M;
    matches!(
        mode,
        M::RoundingModeRTE | M::RoundingModeRTZ | M::RoundingModeRTPINTEL | M::RoundingModeRTNINTEL
    )
}

/// Whether two different modes say different things of one subject.
fn opposed(a: ExecutionMode, b: ExecutionMode) -> bool {
    (is_of_denormals(a) && is_of_denormals(b)) || (is_of_rounding(a) && is_of_rounding(b))
}

/// `FPFastMathDefault`, a type and flags, as width and flags.
fn fast_math_default(module: &Module, input: &Loaded, ids: &[u32]) -> Result<Vec<u32>, Fault> {
    let &[ty, flags] = ids else {
        return Err(Fault::new(MODES, "FPFastMathDefault has a type and flags"));
    };
    let ty = input.defs.ty(Id(ty))?;
    let flags = constant_scalar(module, Id(flags)).and_then(|flags| u32::try_from(flags).ok());
    match (module.types.get(ty), flags) {
        (Type::Float { width }, Some(flags)) => Ok(vec![*width, flags]),
        _ => {
            Err(Fault::new(MODES, "FPFastMathDefault is for a floating-point type, its flags are a constant"))
        }
    }
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

#[cfg(test)]
mod tests {
    use crate::module::{ArgKind, Divisor, Kernel};
    use crate::test_support::{KERNEL, build_on, build_text, declaring, kernel, profile_without_denormals};
    use spirv::ExecutionMode;
    use ze_extensions::DeviceProfile;

    fn reflected(text: &str) -> Kernel {
        let module = build_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        module.kernels.into_iter().next().unwrap()
    }

    #[test]
    fn arguments_are_placed_at_their_natural_alignment() {
        let text = kernel(
            "%s = OpTypeStruct %uchar %ulong\n%ps = OpTypePointer Function %s\n%pg = OpTypePointer CrossWorkgroup %float\n\
             %pl = OpTypePointer Workgroup %float\n%pc = OpTypePointer UniformConstant %float",
            "",
        )
        .replace("%fn = OpTypeFunction %void\n", "")
        .replace("%main = OpFunction", "%fn = OpTypeFunction %void %uchar %float4 %ps %pg %pl %pc %bool\n%main = OpFunction")
        .replace(
            "%entry = OpLabel",
            "%a = OpFunctionParameter %uchar\n%b = OpFunctionParameter %float4\n%c = OpFunctionParameter %ps\n\
             %d = OpFunctionParameter %pg\n%e = OpFunctionParameter %pl\n%f = OpFunctionParameter %pc\n\
             %g = OpFunctionParameter %bool\n%entry = OpLabel",
        )
        .replace(
            "%void = OpTypeVoid",
            "%x = OpString \"kernel_arg_type.main.char,float4,struct S,float*,float*,float*,bool,\"\n\
             %y = OpString \"kernel_arg_type_qual.main.,,,const restrict,volatile,,,\"\n\
             OpName %a \"first\"\nOpDecorate %c FuncParamAttr ByVal\nOpDecorate %f FuncParamAttr NoWrite\n%void = OpTypeVoid",
        );
        let kernel = reflected(&text);
        let places: Vec<(ArgKind, u64, u64)> =
            kernel.args.iter().map(|arg| (arg.kind, arg.offset, arg.size)).collect();
        assert_eq!(
            places,
            [
                (ArgKind::Value, 0, 1),
                (ArgKind::Value, 16, 16),
                (ArgKind::Value, 32, 16),
                (ArgKind::GlobalPointer, 48, 8),
                (ArgKind::LocalPointer, 56, 8),
                (ArgKind::ConstantPointer, 64, 8),
                (ArgKind::Value, 72, 1),
            ]
        );
        assert_eq!((kernel.arg_block_size, kernel.arg_block_align), (80, 16));
        assert_eq!((kernel.args[0].name.as_str(), kernel.args[1].type_name.as_str()), ("first", "float4"));
        assert!(kernel.args[3].constant && kernel.args[3].restrict && kernel.args[4].volatile);
        assert!(kernel.args[5].constant && !kernel.args[1].constant);
    }

    #[test]
    fn arguments_that_something_is_divided_by_are_known_through_casts_and_calls() {
        let text = kernel("%of = OpTypeFunction %uint %uint %ulong", "%q = OpFunctionCall %uint %f %a %wide")
            .replace("%fn = OpTypeFunction %void\n", "")
            .replace("%main = OpFunction", "%fn = OpTypeFunction %void %uint %uint %uint %float\n%main = OpFunction")
            .replace(
                "%entry = OpLabel",
                "%p = OpFunctionParameter %uint\n%a = OpFunctionParameter %uint\n%b = OpFunctionParameter %uint\n\
                 %c = OpFunctionParameter %float\n%entry = OpLabel\n%wide = OpSConvert %ulong %b\n\
                 %area = OpIMul %uint %p %u2\n%part = OpUDiv %uint %a %area",
            );
        let callee = "\n%f = OpFunction %uint None %of\n%n = OpFunctionParameter %uint\n%m = OpFunctionParameter %ulong\n\
            %begin = OpLabel\n%w = OpUConvert %ulong %n\n%r = OpUMod %ulong %w %m\n%s = OpUConvert %uint %r\nOpReturnValue %s\nOpFunctionEnd\n";
        let word = |argument| Divisor { argument, offset: 0, bytes: 4 };
        assert_eq!(reflected(&(text + callee)).divisors, [word(0), word(2)]);
    }

    #[test]
    fn members_that_something_is_divided_by_are_known_through_chains_casts_and_calls() {
        let text = kernel(
            "%ulong2s = OpTypeStruct %ulong %ulong\n%view = OpTypeStruct %uint %ulong2s\n%u16 = OpConstant %uint 16\n\
             %to_view = OpTypePointer Function %view\n%to_lengths = OpTypePointer Function %ulong2s\n\
             %to_ulong = OpTypePointer Function %ulong\n%to_uchar = OpTypePointer Function %uchar\n\
             %of = OpTypeFunction %ulong %to_lengths %ulong",
            "%lengths = OpInBoundsPtrAccessChain %to_lengths %by_value %u0 %u1\n\
             %q = OpFunctionCall %ulong %f %lengths %wide",
        )
        .replace("%fn = OpTypeFunction %void\n", "")
        .replace("%main = OpFunction", "%fn = OpTypeFunction %void %uint %to_view\n%main = OpFunction")
        .replace(
            "%entry = OpLabel",
            "%a = OpFunctionParameter %uint\n%by_value = OpFunctionParameter %to_view\n%entry = OpLabel\n\
             %wide = OpUConvert %ulong %a\n%bytes = OpBitcast %to_uchar %by_value\n\
             %there = OpPtrAccessChain %to_uchar %bytes %u16\n%place = OpBitcast %to_ulong %there\n\
             %length = OpLoad %ulong %place\n%part = OpUMod %ulong %wide %length",
        )
        .replace("%void = OpTypeVoid", "OpDecorate %by_value FuncParamAttr ByVal\n%void = OpTypeVoid");
        let callee = "\n%f = OpFunction %ulong None %of\n%n = OpFunctionParameter %to_lengths\n\
            %m = OpFunctionParameter %ulong\n%begin = OpLabel\n%p = OpInBoundsPtrAccessChain %to_ulong %n %u0 %u0\n\
            %w = OpLoad %ulong %p\n%r = OpUDiv %ulong %m %w\nOpReturnValue %r\nOpFunctionEnd\n";
        let member = |offset| Divisor { argument: 1, offset, bytes: 8 };
        assert_eq!(reflected(&(text + callee)).divisors, [member(8), member(16)]);
    }

    #[test]
    fn execution_modes_are_reflected() {
        let modes = "OpExecutionMode %main LocalSize 8 4 2\nOpExecutionMode %main SubgroupSize 16\n\
            OpExecutionMode %main LocalSizeHint 1 2 3\nOpExecutionMode %main VecTypeHint 262149\nOpSource";
        let kernel = reflected(&declaring("SubgroupDispatch", &kernel("", "").replace("OpSource", modes)));
        assert_eq!(kernel.required_group_size, Some([8, 4, 2]));
        assert_eq!(kernel.group_size_hint, Some([1, 2, 3]));
        assert_eq!(kernel.required_subgroup_size, Some(16));
        assert_eq!(
            kernel.attributes,
            "reqd_work_group_size(8,4,2) intel_reqd_sub_group_size(16) work_group_size_hint(1,2,3) vec_type_hint(float4)"
        );
    }

    #[test]
    fn kernels_of_a_device_without_denormals_flush_them() {
        let modes = |text: &str, profile: &DeviceProfile| {
            build_on(text, profile).expect("valid").kernels.remove(0).modes
        };
        let flushed = (ExecutionMode::DenormFlushToZero, vec![32]);
        assert_eq!(modes(KERNEL, &profile_without_denormals()), vec![flushed.clone()]);
        assert_eq!(modes(KERNEL, &DeviceProfile::host()), []);
        let asks = KERNEL.replace("%void = ", "OpExecutionMode %main DenormFlushToZero 32\n%void = ");
        assert_eq!(
            modes(&declaring("DenormFlushToZero", &asks), &profile_without_denormals()),
            vec![flushed]
        );
    }

    /// The kernel calls a function that has `body`.
    fn through_a_call(declarations: &str, body: &str) -> Kernel {
        reflected(&calling(declarations, body))
    }

    fn calling(declarations: &str, body: &str) -> String {
        let function = format!(
            "%f = OpFunction %void None %fn\n%l = OpLabel\n{body}\nOpReturn\nOpFunctionEnd\n%main = OpFunction"
        );
        kernel(declarations, "%c = OpFunctionCall %void %f").replace("%main = OpFunction", &function)
    }

    #[test]
    fn loops_are_found_through_calls() {
        let has_loops = |body: &str| through_a_call("", body).has_loops;
        assert!(!has_loops("OpBranch %next\n%next = OpLabel"));
        assert!(has_loops(
            "OpBranch %head\n%head = OpLabel\nOpBranchConditional %true %head %next\n%next = OpLabel"
        ));
    }

    #[test]
    fn small_values_are_found_through_calls() {
        let types = "%smalls = OpTypeVector %ushort 4\n";
        let is_found = |ty: &str| {
            reflected(&declaring("Int16", &calling(types, &format!("%v = OpUndef %{ty}")))).has_small_values
        };
        assert!(is_found("ushort") && is_found("smalls"));
        assert!(!is_found("ulong"));
    }

    #[test]
    fn who_looks_again_at_what_others_write_may_wait_for_them() {
        let in_loop = |body: &str| {
            let body = format!(
                "OpBranch %head\n%head = OpLabel\n{body}\nOpBranchConditional %true %head %next\n%next = OpLabel"
            );
            through_a_call("", &body).may_wait
        };
        assert!(!in_loop("OpControlBarrier %u2 %u2 %u0"), "a work-group's own work-items come");
        assert!(in_loop("OpMemoryBarrier %u1 %u0"));
        assert!(!through_a_call("", "OpMemoryBarrier %u1 %u0").may_wait, "it looks once");
    }

    #[test]
    fn barriers_and_sub_groups_are_found_through_calls() {
        let flags = |body: &str| {
            let kernel = through_a_call("", body);
            (kernel.uses_barrier, kernel.uses_subgroups)
        };
        assert_eq!(flags(""), (false, false));
        assert_eq!(flags("OpControlBarrier %u2 %u2 %u0"), (true, false));
        assert_eq!(flags("OpControlBarrier %u3 %u3 %u0"), (false, false));
        assert_eq!(flags("%r = OpGroupIAdd %uint %u3 Reduce %u1"), (false, true));
        assert_eq!(flags("%r = OpGroupIAdd %uint %u2 Reduce %u1"), (true, false));
    }

    #[test]
    fn lanes_that_an_exchange_counts_on_are_found_through_calls() {
        let lanes = |body: &str| {
            let text = calling(
                "%u8 = OpConstant %uint 8\n%u15 = OpConstant %uint 15\n%u16 = OpConstant %uint 16\n\
                 %not15 = OpConstant %uint 0xfffffff0\n",
                body,
            );
            let capabilities =
                ["GroupNonUniformShuffle", "GroupNonUniformShuffleRelative", "GroupNonUniformClustered"];
            let text = capabilities.iter().fold(text, |text, capability| declaring(capability, &text));
            reflected(&text).least_lanes
        };
        assert_eq!(lanes(""), 0);
        assert_eq!(lanes("%r = OpGroupNonUniformShuffleDown %uint %u3 %u1 %u16"), 17);
        assert_eq!(
            lanes(
                "%r = OpGroupNonUniformShuffleXor %uint %u3 %u1 %u8\n%s = OpGroupNonUniformShuffleXor %uint %u3 %r %u1"
            ),
            9
        );
        assert_eq!(lanes("%r = OpGroupNonUniformIAdd %uint %u3 ClusteredReduce %u1 %u16"), 16);
        assert_eq!(lanes("%r = OpGroupNonUniformIAdd %uint %u3 Reduce %u1"), 0);
        let halves = "OpBranch %head\n%head = OpLabel\n%by = OpPhi %uint %u16 %l %less %head\n\
             %r = OpGroupNonUniformShuffleDown %uint %u3 %u1 %by\n%less = OpShiftRightLogical %uint %by %u1\n\
             OpBranchConditional %true %head %next\n%next = OpLabel";
        assert_eq!(lanes(halves), 17);
        // A lane whose number differs in a bit from one's own, within a row of 16.
        let other = |low: &str| {
            format!(
                "%low = {low}\n%high = OpBitwiseAnd %uint %u1 %not15\nOpBranch %head\n%head = OpLabel\n\
                 %by = OpPhi %uint %u8 %l %less %head\n%bit = OpBitwiseXor %uint %low %by\n%at = OpBitwiseOr %uint %high %bit\n\
                 %r = OpGroupNonUniformShuffle %uint %u3 %u1 %at\n%less = OpShiftRightLogical %uint %by %u1\n\
                 OpBranchConditional %true %head %next\n%next = OpLabel"
            )
        };
        assert_eq!(lanes(&other("OpBitwiseAnd %uint %u1 %u15")), 16);
        assert_eq!(lanes(&other("OpUMod %uint %u1 %u16")), 16);
        assert_eq!(lanes(&other("OpBitwiseAnd %uint %u1 %not15")), 9);
        assert_eq!(lanes("%r = OpGroupNonUniformShuffle %uint %u3 %u1 %not15"), 0, "no lane's number");
    }

    #[test]
    fn sub_group_built_ins_make_the_size_observable() {
        let text = kernel("%p = OpTypePointer Input %uint\n%v = OpVariable %p Input", "%r = OpLoad %uint %v");
        let decorated = |name: &str| {
            text.replace("%void = OpTypeVoid", &format!("OpDecorate %v BuiltIn {name}\n%void = OpTypeVoid"))
        };
        assert!(reflected(&decorated("SubgroupLocalInvocationId")).uses_subgroups);
        assert!(!reflected(&decorated("WorkDim")).uses_subgroups);
    }

    #[test]
    fn what_can_tell_work_groups_apart_is_found_through_calls() {
        let sees = |declarations: &str, body: &str| through_a_call(declarations, body).sees_groups;
        assert!(!sees("", ""));
        for body in [
            "OpControlBarrier %u2 %u2 %u0",
            "OpControlBarrier %u3 %u3 %u0",
            "%r = OpGroupIAdd %uint %u3 Reduce %u1",
        ] {
            assert!(sees("", body), "{body}");
        }
        let local = "%pw = OpTypePointer Workgroup %uint\n%shared = OpVariable %pw Workgroup";
        assert!(sees(local, "%r = OpLoad %uint %shared"));
        assert!(!sees(local, ""));
        // Who waits has a loop.
        let global = "%pc = OpTypePointer CrossWorkgroup %uint\n%word = OpVariable %pc CrossWorkgroup %u1";
        let around = |inside: &str| {
            format!(
                "OpBranch %head\n%head = OpLabel\n{inside}\nOpBranchConditional %true %head %next\n%next = OpLabel"
            )
        };
        for (inside, waits) in [
            ("%r = OpAtomicIAdd %uint %word %u1 %u0 %u1", true),
            ("%r = OpAtomicLoad %uint %word %u1 %u0", true),
            ("%r = OpLoad %uint %word Volatile", true),
            ("%r = OpLoad %uint %word", false),
        ] {
            assert!(!sees(global, inside), "{inside}");
            assert_eq!(sees(global, &around(inside)), waits, "{inside}");
        }
        let text = kernel("%p = OpTypePointer Input %uint\n%v = OpVariable %p Input", "%r = OpLoad %uint %v");
        let of = |name: &str| {
            let decorated = format!("OpDecorate %v BuiltIn {name}\n%void = OpTypeVoid");
            reflected(&text.replace("%void = OpTypeVoid", &decorated)).sees_groups
        };
        assert!(of("SubgroupLocalInvocationId") && of("NumSubgroups") && of("SubgroupSize"));
        assert!(!of("WorkDim"));
    }

    #[test]
    fn local_and_private_memory_are_added_up() {
        let declarations = "%arr = OpTypeArray %uint %u5\n%pa = OpTypePointer Workgroup %arr\n%pd = OpTypePointer Workgroup %double\n\
            %pf = OpTypePointer Function %double\n%a = OpVariable %pa Workgroup\n%d = OpVariable %pd Workgroup\n\
            %unused = OpVariable %pa Workgroup\n%pe = OpTypePointer Workgroup %uint\n\
            %e = OpSpecConstantOp %pe InBoundsPtrAccessChain %a %u0 %u1";
        let kernel = through_a_call(
            declarations,
            "%x = OpVariable %pf Function\nOpStore %e %u1\n%y = OpLoad %double %d\n%z = OpLoad %double %d",
        );
        assert_eq!(kernel.static_local_size, 32);
        let places: Vec<u64> = kernel.local_variables.iter().map(|(_, place)| *place).collect();
        assert_eq!(places, [0, 24]);
        assert_eq!(kernel.private_size, 8);
    }
}
