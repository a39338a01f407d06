//! Rules about kernels and the functions they reach.

use super::{GUIDE, KernelRule, ModuleRule};
use crate::diagnostics::{Diagnostic, Fault, RuleId};
use crate::environment::Environment;
use crate::load::Loaded;
use crate::module::{ArgKind, Function, Kernel, Module, Type};
use crate::prune::callees;
use rustc_hash::FxHashSet;
use spirv::{AccessQualifier, ExecutionMode, Op, StorageClass};
use ze_extensions::FpFlags;
use ze_extensions::limits::{CALL_DEPTH, GLOBAL_BYTES, PRIVATE_BYTES};

const ARGUMENTS: &str = "L0 SPIR-V Guide, Kernel Arguments";
const LIMITS: &str = "Level Zero, ze_device_compute_properties_t";

const RECURSION: RuleId = RuleId { id: "env.recursion", source: GUIDE };

pub(super) const WHOLE: &[ModuleRule] = &[
    ModuleRule { id: RuleId { id: "limits.call-depth", source: "this driver" }, check: calls_nest },
    ModuleRule { id: RuleId { id: "limits.global-memory", source: "this driver" }, check: global_memory },
];

pub(super) const KERNELS: &[KernelRule] = &[
    KernelRule {
        id: RuleId { id: "env.kernel-return", source: "L0 SPIR-V Guide, Kernel Return Types" },
        check: returns_nothing,
    },
    KernelRule { id: RuleId { id: "env.kernel-struct-members", source: ARGUMENTS }, check: struct_members },
    KernelRule {
        id: RuleId { id: "limits.arguments", source: "Level Zero, ze_device_module_properties_t" },
        check: arguments_fit,
    },
    KernelRule {
        id: RuleId { id: "limits.image-arguments", source: "Level Zero, ze_device_image_properties_t" },
        check: image_arguments,
    },
    KernelRule { id: RuleId { id: "limits.group-size", source: LIMITS }, check: group_size },
    KernelRule { id: RuleId { id: "limits.sub-group-size", source: LIMITS }, check: sub_group_size },
    KernelRule {
        id: RuleId { id: "env.float-mode", source: "Level Zero, ze_device_fp_flags_t" },
        check: float_modes,
    },
    KernelRule { id: RuleId { id: "limits.private-memory", source: "this driver" }, check: private_memory },
    KernelRule { id: RuleId { id: "limits.fma-rounding", source: "this driver" }, check: fma_rounding },
];

/// A device without denormals, or with one way to round only, cannot do as the kernel asks.
fn float_modes(_: &Module, env: &Environment<'_>, kernel: &Kernel) -> Result<(), String> {
    use ExecutionMode as M;
    for (mode, literals) in &kernel.modes {
        let flag = match mode {
            M::DenormPreserve => FpFlags::DENORM,
            M::RoundingModeRTZ => FpFlags::ROUND_TO_ZERO,
            M::RoundingModeRTPINTEL | M::RoundingModeRTNINTEL => FpFlags::ROUND_TO_INF,
            _ => continue,
        };
        let width = literals.first().copied().unwrap_or(0);
        let has = env.profile.fp(width);
        // Modes of a width that the device does not compute in are of nothing.
        if !has.is_empty() && !has.contains(flag) {
            let names: Vec<_> =
                flag.iter_names().map(|(name, _)| format!("ZE_DEVICE_FP_FLAG_{name}")).collect();
            return Err(format!(
                "{mode:?} of {width} bits needs {}, which the device has not",
                names.join(" and ")
            ));
        }
    }
    Ok(())
}

/// The longest chain of calls that begins in a function: depth first, with the functions on the way marked. `Err`
/// has a function that calls itself.
fn call_depth(module: &Module) -> Result<usize, &Function> {
    #[derive(Clone, Copy)]
    enum State {
        New,
        Open,
        Done(usize),
    }
    let calls: Vec<Vec<usize>> = module
        .functions
        .iter()
        .map(|function| callees(function).filter_map(|id| module.functions.place(id)).collect())
        .collect();
    let mut state = vec![State::New; calls.len()];
    for root in 0..calls.len() {
        let mut stack = vec![(root, false)];
        while let Some((function, left)) = stack.pop() {
            if left {
                let depths = calls[function].iter().map(|&callee| match state[callee] {
                    State::Done(depth) => depth,
                    State::New | State::Open => 0,
                });
                state[function] = State::Done(1 + depths.max().unwrap_or(0));
                continue;
            }
            if !matches!(state[function], State::New) {
                continue;
            }
            state[function] = State::Open;
            stack.push((function, true));
            for &callee in &calls[function] {
                match state[callee] {
                    State::New => stack.push((callee, false)),
                    State::Done(_) => {}
                    State::Open => return Err(&module.functions[callee]),
                }
            }
        }
    }
    let depth = |state: &State| if let State::Done(depth) = state { *depth } else { 0 };
    Ok(state.iter().map(depth).max().unwrap_or(0))
}

pub(super) fn recursion(module: &Module, loaded: &[Loaded]) -> Option<Diagnostic> {
    let function = call_depth(module).err()?;
    let input =
        loaded.iter().rfind(|input| input.sources.iter().any(|source| source.function == function.id));
    let name = match input {
        Some(input) => input.function_name(module, function.id),
        None => format!("function {}", function.id),
    };
    let fault = Fault::new(RECURSION, format!("{name} calls itself, or a function that calls it"));
    Some(Diagnostic { function: Some(name), ..Diagnostic::new(fault) })
}

fn calls_nest(module: &Module, _: &Environment<'_>) -> Result<(), String> {
    match call_depth(module) {
        Ok(depth) if depth > CALL_DEPTH => {
            Err(format!("calls nest {depth} deep; {CALL_DEPTH} are supported"))
        }
        _ => Ok(()),
    }
}

fn global_memory(module: &Module, _: &Environment<'_>) -> Result<(), String> {
    let size = |ty| match module.types.get(ty) {
        Type::Pointer { pointee, .. } => module.types.layout(*pointee).size,
        _ => 0,
    };
    let outside = |class| matches!(class, StorageClass::CrossWorkgroup | StorageClass::UniformConstant);
    let total = module
        .globals
        .iter()
        .filter(|global| outside(global.class))
        .map(|global| size(global.ty))
        .fold(0, u64::saturating_add);
    if total <= GLOBAL_BYTES {
        Ok(())
    } else {
        Err(format!("{total} bytes of variables; {GLOBAL_BYTES} are supported"))
    }
}

fn returns_nothing(module: &Module, _: &Environment<'_>, kernel: &Kernel) -> Result<(), String> {
    match module.function(kernel.function).map(|function| module.types.get(function.result)) {
        Some(Type::Void) => Ok(()),
        _ => Err("a kernel returns nothing".into()),
    }
}

/// Structures hold no images, samplers or events. Generic pointers, arrays and Booleans, which the guide does not list, are
/// what producers pass and GPUs take: SYCL's compilers capture pointers as Generic ones.
fn struct_members(module: &Module, _: &Environment<'_>, kernel: &Kernel) -> Result<(), String> {
    let mut work: Vec<_> =
        kernel.args.iter().filter(|arg| arg.kind == ArgKind::Value).map(|arg| arg.ty).collect();
    if let Some(function) = module.function(kernel.function) {
        // Behind a ByVal pointer is the structure.
        for (arg, (_, ty)) in kernel.args.iter().zip(&function.params) {
            if let (ArgKind::Value, Type::Pointer { pointee, .. }) = (arg.kind, module.types.get(*ty)) {
                work.push(*pointee);
            }
        }
    }
    let mut seen = FxHashSet::default();
    while let Some(ty) = work.pop() {
        if !seen.insert(ty) {
            continue;
        }
        match module.types.get(ty) {
            Type::Struct { members, .. } => work.extend(members),
            Type::Array { elem, .. } => work.push(*elem),
            Type::Image(_) | Type::Sampler | Type::SampledImage(_) | Type::Event | Type::Opaque { .. } => {
                return Err(
                    "a structure argument holds an image, a sampler, an event or an opaque object".into()
                );
            }
            _ => {}
        }
    }
    Ok(())
}

fn arguments_fit(_: &Module, env: &Environment<'_>, kernel: &Kernel) -> Result<(), String> {
    let (size, limit) = (kernel.arg_block_size, u64::from(env.profile.module.max_arguments_size));
    if size <= limit { Ok(()) } else { Err(format!("arguments of {size} bytes; the device takes {limit}")) }
}

/// Whether it is an image of another access.
fn is_image_but(kind: ArgKind, access: AccessQualifier) -> bool {
    matches!(kind, ArgKind::Image(image) if image.access != access)
}

fn image_arguments(_: &Module, env: &Environment<'_>, kernel: &Kernel) -> Result<(), String> {
    let images = &env.profile.images;
    let count = |counts: fn(ArgKind) -> bool| kernel.args.iter().filter(|arg| counts(arg.kind)).count();
    let read = count(|kind| is_image_but(kind, AccessQualifier::WriteOnly));
    let written = count(|kind| is_image_but(kind, AccessQualifier::ReadOnly));
    let samplers = count(|kind| kind == ArgKind::Sampler);
    for (count, most, what) in [
        (read, images.max_read_args, "images that are read"),
        (written, images.max_write_args, "images that are written"),
        (samplers, images.max_samplers, "samplers"),
    ] {
        if count > most as usize {
            return Err(format!("{count} {what} as arguments; the device takes {most}"));
        }
    }
    Ok(())
}

fn group_size(_: &Module, env: &Environment<'_>, kernel: &Kernel) -> Result<(), String> {
    let Some(size) = kernel.required_group_size else { return Ok(()) };
    let compute = &env.profile.compute;
    let fits = size.iter().zip(&compute.max_group_size).all(|(size, max)| size <= max);
    let total = size.iter().map(|&size| u64::from(size)).fold(1, u64::saturating_mul);
    if fits && total <= u64::from(compute.max_total_group_size) {
        Ok(())
    } else {
        Err(format!(
            "a required work-group size of {size:?}, the device has at most {}",
            compute.max_total_group_size
        ))
    }
}

fn sub_group_size(_: &Module, env: &Environment<'_>, kernel: &Kernel) -> Result<(), String> {
    let sizes = &env.profile.compute.sub_group_sizes;
    match kernel.required_subgroup_size {
        Some(size) if !sizes.contains(&size) => {
            Err(format!("a required sub-group size of {size}, the device has {sizes:?}"))
        }
        _ => Ok(()),
    }
}

/// Of a fused operation on doubles no wider format holds the product, whose error says where a direction leads.
fn fma_rounding(module: &Module, _: &Environment<'_>, kernel: &Kernel) -> Result<(), String> {
    use ExecutionMode::{RoundingModeRTNINTEL, RoundingModeRTPINTEL, RoundingModeRTZ};
    const DOUBLE: u32 = 64;
    let directed = kernel.modes.iter().find(|(mode, of)| {
        matches!(mode, RoundingModeRTZ | RoundingModeRTPINTEL | RoundingModeRTNINTEL)
            && of.first() == Some(&DOUBLE)
    });
    let Some((mode, _)) = directed else { return Ok(()) };
    let insts = module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.insts);
    let mut fused = insts.filter(|inst| inst.op == Op::FmaKHR).filter_map(|inst| inst.ty);
    let of_doubles = |ty| match module.types.get(ty) {
        Type::Vector { elem, .. } => *module.types.get(*elem) == Type::Float { width: DOUBLE },
        ty => *ty == Type::Float { width: DOUBLE },
    };
    match fused.any(of_doubles) {
        true => Err(format!("OpFmaKHR of doubles in a kernel with {mode:?}")),
        false => Ok(()),
    }
}

fn private_memory(_: &Module, _: &Environment<'_>, kernel: &Kernel) -> Result<(), String> {
    let size = kernel.private_size;
    if size <= PRIVATE_BYTES {
        Ok(())
    } else {
        Err(format!("{size} bytes of variables for each work-item; {PRIVATE_BYTES} are supported"))
    }
}

#[cfg(test)]
mod tests {
    use crate::test_support::{
        assert_accepted, assert_rejected, build_text, declaring, kernel, rejected_on, with_parameter,
    };
    use ze_extensions::DeviceProfile;

    #[test]
    fn functions_do_not_call_themselves() {
        let calls = |callee: &str| {
            let functions = format!(
                "%f = OpFunction %void None %fn\n%fl = OpLabel\n%fc = OpFunctionCall %void %{callee}\nOpReturn\nOpFunctionEnd\n\
                 %g = OpFunction %void None %fn\n%gl = OpLabel\nOpReturn\nOpFunctionEnd\n"
            );
            format!("{}\n{functions}", kernel("", "%c = OpFunctionCall %void %f"))
        };
        assert_accepted(&calls("g"));
        assert_rejected(&calls("f"), "env.recursion");
        let named = calls("f").replace("%void = ", "OpName %f \"again\"\n%void = ");
        let log = build_text(&named).unwrap_err().to_string();
        assert!(log.contains("function again calls itself"), "{log}");
    }

    #[test]
    fn calls_nest_to_a_limit() {
        let chain = |length: usize| {
            let function = |at: usize| {
                let call = if at + 1 < length {
                    format!("%c{at} = OpFunctionCall %void %g{}\n", at + 1)
                } else {
                    String::new()
                };
                format!(
                    "%g{at} = OpFunction %void None %fn\n%l{at} = OpLabel\n{call}OpReturn\nOpFunctionEnd\n"
                )
            };
            format!(
                "{}\n{}",
                kernel("", "%c = OpFunctionCall %void %g0"),
                (0..length).map(function).collect::<String>()
            )
        };
        assert_accepted(&chain((1 << 14) - 1));
        assert_rejected(&chain(1 << 14), "limits.call-depth");
    }

    #[test]
    fn kernels_return_nothing() {
        let module = kernel("", "").replace("%fn = OpTypeFunction %void", "%fn = OpTypeFunction %uint");
        let module = module
            .replace("OpFunction %void None", "OpFunction %uint None")
            .replace("OpReturn\n", "OpReturnValue %u0\n");
        assert_rejected(&module, "env.kernel-return");
    }

    #[test]
    fn kernel_arguments_are_of_listed_types() {
        for (ty, declaration) in [
            ("%uint", ""),
            ("%float4", ""),
            ("%double", ""),
            ("%p", "%p = OpTypePointer CrossWorkgroup %uint"),
            ("%p", "%p = OpTypePointer Workgroup %uint"),
            ("%p", "%p = OpTypePointer UniformConstant %uint"),
        ] {
            assert_accepted(&with_parameter(declaration, ty));
        }
        let structure =
            with_parameter("%s = OpTypeStruct %uint %ulong\n%p = OpTypePointer Function %s", "%p");
        assert_rejected(&structure, "env.kernel-arguments");
        assert_accepted(&structure.replace("%void = ", "OpDecorate %param FuncParamAttr ByVal\n%void = "));
        let holding = |class: &str| {
            with_parameter(&format!("%p = OpTypePointer {class} %uint\n%s = OpTypeStruct %uint %p"), "%s")
        };
        assert_accepted(&holding("CrossWorkgroup"));
        assert_accepted(&holding("Generic"));
        assert_rejected(&with_parameter("%p = OpTypePointer Generic %uint", "%p"), "env.kernel-arguments");
        assert_rejected(&with_parameter("%e = OpTypeEvent", "%e"), "env.kernel-arguments");
        assert_rejected(
            &with_parameter("%e = OpTypeEvent\n%s = OpTypeStruct %e", "%s"),
            "env.kernel-struct-members",
        );
        let inside = "%e = OpTypeEvent\n%i = OpTypeStruct %e\n%n = OpConstant %uint 2\n%a = OpTypeArray %i %n\n%s = OpTypeStruct %a";
        assert_rejected(&with_parameter(inside, "%s"), "env.kernel-struct-members");
        assert_accepted(
            &with_parameter(&inside.replace("OpTypeEvent", "OpTypeInt 64 0"), "%s")
                .replace("%e = OpTypeInt 64 0\n", "")
                .replace("Struct %e", "Struct %ulong"),
        );
    }

    #[test]
    fn arguments_fit_the_device() {
        let array = |length: &str| {
            format!("%n = OpConstant %uint {length}\n%a = OpTypeArray %uint %n\n%s = OpTypeStruct %a")
        };
        assert_accepted(&with_parameter(&array("1024"), "%s"));
        assert_rejected(&with_parameter(&array("1025"), "%s"), "limits.arguments");
    }

    #[test]
    fn images_and_samplers_are_as_many_as_the_device_takes() {
        let taking = |access: &str| {
            let image = format!("%i = OpTypeImage %void 2D 0 0 0 0 Unknown {access}");
            declaring("ImageReadWrite", &declaring("ImageBasic", &with_parameter(&image, "%i")))
        };
        let sampler = declaring("ImageBasic", &with_parameter("%i = OpTypeSampler", "%i"));
        let limits = |read, write, samplers| {
            let mut profile = DeviceProfile::host();
            let images = &mut profile.images;
            (images.max_read_args, images.max_write_args, images.max_samplers) = (read, write, samplers);
            profile
        };
        for (module, least) in [
            (taking("ReadOnly"), (1, 0, 0)),
            (taking("WriteOnly"), (0, 1, 0)),
            (taking("ReadWrite"), (1, 1, 0)),
            (sampler, (0, 0, 1)),
        ] {
            let (read, write, samplers) = least;
            assert!(rejected_on(&module, &limits(read, write, samplers)).is_empty(), "{least:?}");
            for (read, write, samplers) in [(0, write, samplers), (read, 0, samplers), (read, write, 0)] {
                if (read, write, samplers) != least {
                    let broken = rejected_on(&module, &limits(read, write, samplers));
                    assert_eq!(broken, ["limits.image-arguments"], "{least:?}");
                }
            }
        }
    }

    fn with_mode(mode: &str) -> String {
        let text = kernel("", "").replace("OpSource", &format!("OpExecutionMode %main {mode}\nOpSource"));
        declaring("SubgroupDispatch", &text)
    }

    #[test]
    fn required_sizes_fit_the_device() {
        assert_accepted(&with_mode("LocalSize 32 32 1"));
        assert_rejected(&with_mode("LocalSize 32 33 1"), "limits.group-size");
        assert_accepted(&with_mode("SubgroupSize 16"));
        assert_rejected(&with_mode("SubgroupSize 64"), "limits.sub-group-size");
    }

    fn with_variable(class: &str, length: &str) -> String {
        let types = format!(
            "%n = OpConstant %uint {length}\n%a = OpTypeArray %uint %n\n%p = OpTypePointer {class} %a"
        );
        if class == "Function" {
            kernel(&types, "%v = OpVariable %p Function")
        } else {
            kernel(&format!("{types}\n%v = OpVariable %p {class}"), "")
        }
    }

    #[test]
    fn variables_have_limits() {
        assert_accepted(&with_variable("Function", "262144"));
        assert_rejected(&with_variable("Function", "262145"), "limits.private-memory");
        assert_accepted(&with_variable("CrossWorkgroup", "268435456"));
        assert_rejected(&with_variable("CrossWorkgroup", "268435457"), "limits.global-memory");
    }
}
